#!/bin/sh
# Checks what keeps the house in order: which room may include which, what public headers may include, where a library
# may be named, how long a file may be, and that no path of somebody's machine is in the tree.
#   scripts/check_includes.sh [ROOT]
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"

files=$(find include src tests bench examples tools scripts cmake docs .ci Makefile CMakeLists.txt ./*.md -type f \
    -not -path '*/node_modules/*' 2>/dev/null | sort)
if [ -z "$files" ]; then
    echo "check_includes.sh: no files below $root" >&2
    exit 1
fi

machine_paths=$(printf '%s\n' "$files" |
    xargs grep -IHnE '(^|[^A-Za-z0-9_.$}])/(home|Users|root|work|workspace)/' || true)
if [ -n "$machine_paths" ]; then
    printf '%s\n' "$machine_paths" "These are paths of one machine; write them relative to the tree." >&2
    exit 1
fi

printf '%s\n' "$files" | awk '
function fail(text) {
    print text > "/dev/stderr"
    failures++
}

# The one table of the rule: each room, and the rooms it stands on. What those stand on may be included as well.
function rules(    lines, count, i, parts) {
    count = split( \
        "base:;" \
        "ir: base;" \
        "kernels: ir;" \
        "ops: kernels;" \
        "passes: ops;" \
        "plan: passes;" \
        "backends: plan;" \
        "exec: backends;" \
        "layers: ops;" \
        "models: layers;" \
        "losses: ops;" \
        "metrics: ops;" \
        "optimizers: ops;" \
        "formats: base;" \
        "remote: formats;" \
        "data: remote;" \
        "distribute: exec;" \
        "train: distribute models losses metrics optimizers data;" \
        "report: train;" \
        "cli: report", lines, /; */)
    for (i = 1; i <= count; i++) {
        split(lines[i], parts, /: */)
        known[parts[1]] = 1
        add(parts[1], parts[1])
        reach(parts[1], parts[2])
    }
}
function add(room, below) { allowed[room, below] = 1 }
# The table is in the order of building, so what lies below each direct neighbour is complete already.
function reach(room, neighbours,    names, count, i, below) {
    count = split(neighbours, names, / +/)
    for (i = 1; i <= count; i++) {
        if (!(names[i] in known)) fail("check_includes.sh: the table names " names[i] " before it stands in it")
        for (below in known) if ((names[i], below) in allowed) add(room, below)
    }
}

# Libraries that only some files may include.
function library_place(header) {
    if (header ~ /dnnl/) return "src/kernels/onednn."
    # Loaded when they are needed: their functions are called through these.
    if (header ~ /^(hdf5|H5)/) return "src/formats/hdf5_calls."
    if (header ~ /^cairo/) return "src/formats/cairo_calls."
    if (header ~ /^fontconfig/) return "src/formats/fontconfig_calls."
    if (header ~ /^(curl|openssl|expat)/) return "src/remote/calls."
    if (header ~ /^(jansson|libfyaml)/) return "src/formats/"
    return ""
}

function check_include(file, line, text,    quoted, header, room, target, place) {
    quoted = text ~ /^[ \t]*#[ \t]*include[ \t]*"/
    header = text
    sub(/^[^"<]*["<]/, "", header)
    sub(/[">].*/, "", header)
    place = library_place(header)
    if (place != "" && file ~ /^(src|include)\// && index(file, place) != 1)
        fail(file ":" line ": includes " header ", which only " place "* may")
    if (file ~ /^include\//) {
        if (quoted || header !~ /^(liana\/[a-z0-9_]+|stdarg|stdbool|stddef|stdint|stdio)\.h$/)
            fail(file ":" line ": includes " header "; a public header includes only <liana/...> and the standard library")
        return
    }
    if (file !~ /^src\// || !quoted) return
    room = file
    sub(/^src\//, "", room)
    sub(/\/.*/, "", room)
    target = header
    sub(/\/.*/, "", target)
    if (!(room in known)) {
        fail(file ": src/" room " is no room of the house; add it to the table in scripts/check_includes.sh")
        return
    }
    # Samples of ops are tests that lie beside what they test.
    if (file ~ /\.samples\.c$/ && target == "harness") return
    if (header !~ /\//)
        fail(file ":" line ": includes \"" header "\"; write the room as well: \"" room "/" header "\"")
    else if (!(target in known))
        fail(file ":" line ": includes \"" header "\", but src/" target " is no room of the house")
    else if (!((room, target) in allowed))
        fail(file ":" line ": " room " must not include " target " (\"" header "\"); see the table in scripts/check_includes.sh")
}

BEGIN { rules() }
{
    file = $0
    sub(/^\.\//, "", file)
    if (file !~ /\.[ch]$/) next
    line = 0
    while ((getline text < file) > 0) {
        line++
        if (text ~ /^[ \t]*#[ \t]*include[ \t]*["<]/) check_include(file, line, text)
    }
    close(file)
    checked++
    if (line > 900) fail(file ": " line " lines; at most 900, better 800: is it one thing?")
    else if (line > 800) print file ": " line " lines, more than 800: is it one thing?"
}
END {
    if (failures) exit 1
    print checked " files: includes go one way"
}'
