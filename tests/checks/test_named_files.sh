#!/bin/sh
# Files and folders that documents name must exist: paths from the root in all documents (src/step/step.c, tests/checks/),
# and in those about the inside also the ends of paths (step/step.c, step.c). A word may have a `*`. Then a small tree
# shows that each kind of wrong name is caught.
set -eu

check() { # ROOT
    (
        cd "$1"
        files=$(find include src tests bench examples scripts cmake docs proto ./*.md Makefile CMakeLists.txt -type f \
            2>/dev/null | sed 's/^\.\///')
        # A tutorial tells its reader to write files.
        files="$files
$(sed -nE 's/^cat >((src|tests)\/[^ ]+) <<.*/\1/p' docs/guides/*.md 2>/dev/null)"
        {
            printf '%s\n' "$files" | sed 's/^/file /; s/\.in$//'
            # Links begin where their document is: ../examples/line.c.
            grep -noE '[A-Za-z0-9_./*-]+' README.md CONTRIBUTING.md $(find docs bench -name '*.md' 2>/dev/null | sort) |
                sed -nE 's/^([^:]*:[^:]*):(\.\.\/)*/name \1 /p'
        } | awk '
            function escape(text) { gsub(/[.+]/, "[&]", text); gsub(/\*/, "[^/]*", text); return text }
            function exists(name,    pattern, known) {
                if (name !~ /\*/) return (name in is_end)
                pattern = "^" escape(name) "$"
                for (known in is_end) if (known ~ pattern) return 1
                return 0
            }
            # All ends of a path, and all beginnings: a folder may be named as well.
            $1 == "file" {
                for (path = $2; path != ""; ) {
                    for (folder = path; folder != ""; ) {
                        is_end[folder] = 1
                        if (!sub(/\/[^\/]*$/, "", folder)) folder = ""
                    }
                    if (!sub(/^[^\/]*\//, "", path)) path = ""
                }
                top = $2
                sub(/\/.*/, "", top)
                is_top[top] = 1
                next
            }
            {
                name = $3
                sub(/[.\/]+$/, "", name)
                top = name
                sub(/\/.*/, "", top)
                from_root = name ~ /\// && (top in is_top) && name != "examples/s" && name !~ /[A-Z][A-Z]|\.so$/
                ends = ($2 ~ /^(docs\/explanation\/|CONTRIBUTING)/) && name ~ /^[A-Za-z0-9_*].*\.(c|h|def|sh|py|cmake)$/ &&
                    name !~ /[A-Z][A-Z]|^std[a-z]*\.h$/
                if (!from_root && !ends) next
                checked++
                if (exists(name)) next
                print $2 ": there is no " name > "/dev/stderr"
                failures++
            }
            END {
                if (failures) exit 1
                print checked " names of files in documents are right"
            }'
    )
}

check "$(dirname "$0")/../.."

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/src/step" "$tree/docs/explanation" "$tree/docs/guides" "$tree/tests/step" "$tree/examples"
touch "$tree/src/step/step.c" "$tree/src/step/step.h" "$tree/tests/step/test_step.c" "$tree/examples/line.c"
right='`src/step/step.c`, `src/step/`, src/*/step.h, (../examples/line.c), `tests/step/test_*.c`, 5 examples/s.'
start_clean() {
    printf '%s\n' "$right" 'Ask train.py.' >"$tree/docs/guides/guide.md"
    printf '%s\n' "$right" '`step.c`, `step/step.h`, `STEM.c`, `.avx2.c`, `stdio.h`.' >"$tree/docs/explanation/house.md"
    printf '%s\n' "$right" >"$tree/README.md"
    printf '%s\n' "$right" >"$tree/CONTRIBUTING.md"
}
must_fail() { # FILE TEXT NAME: the file with this text too fails, and the message has the place and the name
    start_clean
    printf '%s\n' "$2" >>"$tree/$1"
    if output=$(check "$tree" 2>&1); then
        echo "not caught: $2 in $1"
        exit 1
    fi
    line=$(wc -l <"$tree/$1")
    if [ "$output" != "$1:$line: there is no $3" ]; then
        echo "expected the place of $3, got: $output"
        exit 1
    fi
}
start_clean
check "$tree" >/dev/null
for document in README.md CONTRIBUTING.md docs/guides/guide.md docs/explanation/house.md; do
    must_fail $document 'Look into `src/step/other.c`.' src/step/other.c
    must_fail $document 'Look into src/trainer/.' src/trainer
    must_fail $document 'Look into [it](../examples/lines.c).' examples/lines.c
    must_fail $document 'Look into `tests/step/check_*.c`' 'tests/step/check_*.c'
done
for document in CONTRIBUTING.md docs/explanation/house.md; do
    must_fail $document 'Look into `other.c`.' other.c
    must_fail $document 'Look into `train/step.h`.' train/step.h
done
echo "every wrong name is caught"
