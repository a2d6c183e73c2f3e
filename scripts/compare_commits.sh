#!/bin/sh
# Compares the outputs of two commits, to the byte: graphs, weights, histories, predictions, configurations, messages.
#   scripts/compare_commits.sh [--base COMMIT] [--build FOLDER] [--folder FOLDER] [--anew] [--jobs N] [SECTION|CASE ...]
#   scripts/compare_commits.sh --list | --numbers | --speed [ROUNDS [WORD OF A ROW ...]]
# --base the commit that today's tree is compared with (default: the commit before one engine was made of many) --build
# the build of today's tree (default: build); the base is built with the same options --folder where the base's copy,
# its build and all results lie (default: compare/ in the build); they are kept, and
#            used again
# --anew runs the base's cases again --list lists sections and cases --numbers prints numbers of both trees instead:
# lines of code, public functions, rooms, circles --speed measures both instead, in turn (nothing else should run) Exit
# status: 0 all is the same, 1 something differs. The cases are in scripts/compare/cases/, permitted differences in
# scripts/compare/masks.txt (times) and allowed.txt (changes that were asked for).
set -eu
tree=$(cd "$(dirname "$0")/.." && pwd)
tools=$tree/scripts/compare
base=f028e65e
build=$tree/build
folder=
mode=cases
options=
fail() {
    echo "compare_commits.sh: $*" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
    --base | --build | --folder | --jobs | --limit | --shown)
        [ $# -ge 2 ] || fail "$1 needs a value"
        case $1 in
        --base) base=$2 ;;
        --build) build=$2 ;;
        --folder) folder=$2 ;;
        *) options="$options $1 $2" ;;
        esac
        shift ;;
    --anew) options="$options --anew" ;;
    --list) mode=list ;;
    --numbers) mode=numbers ;;
    --speed) mode=speed ;;
    --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" && exit 0 ;;
    -*) fail "unknown option '$1'; --help lists them" ;;
    *) break ;;
    esac
    shift
done
[ $mode != list ] || exec awk '
    FNR == 1 { section = FILENAME; sub(/.*\//, "", section); sub(/\.sh$/, "", section) }
    /^case_[a-z0-9_]*\(\)/ { sub(/^case_/, ""); sub(/\(\).*/, ""); print section "." $0 }
    END { print "tests" }' "$tools"/cases/*.sh
commit=$(git -C "$tree" rev-parse --verify --quiet "$base^{commit}") || fail "there is no commit '$base'"
short=$(printf %.10s "$commit")
[ $mode = numbers ] || [ -f "$build/CMakeCache.txt" ] || fail "'$build' is no build: make, or name it with --build"
mkdir -p "$build"
build=$(cd "$build" && pwd)
folder=${folder:-$build/compare}
mkdir -p "$folder/$short"
folder=$(cd "$folder/$short" && pwd)
base_tree=$folder/tree
base_build=$folder/build

# ---- the base: a clean copy, built with the options of today's build ----

if [ ! -d "$base_tree" ]; then
    rm -rf "$base_tree.new"
    git clone --quiet --shared --no-checkout "$tree" "$base_tree.new"
    git -C "$base_tree.new" checkout --quiet --detach "$commit"
    mv "$base_tree.new" "$base_tree"
fi
# Data next to the tree are next to the copy too.
[ ! -d "$tree/../shared" ] || ln -sfn "$(cd "$tree/../shared" && pwd)" "$folder/shared"
[ $mode != numbers ] || exec python3 "$tools/count.py" "$base_tree" "$tree"

# An option of today's build.
option() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
if [ ! -f "$base_build/build.ninja" ] && [ ! -f "$base_build/Makefile" ]; then
    for name in CMAKE_BUILD_TYPE CMAKE_C_COMPILER CMAKE_C_FLAGS CMAKE_C_COMPILER_LAUNCHER LIANA_X86 LIANA_HDF5 \
        LIANA_REMOTE LIANA_ZMQ LIANA_MPI LIANA_SANITIZE; do
        printf 'set(%s "%s" CACHE STRING "")\n' $name "$(option $name)"
    done >"$folder/options.cmake"
    cmake -C "$folder/options.cmake" -S "$base_tree" -B "$base_build" -G "$(option CMAKE_GENERATOR)" \
        --log-level=WARNING -Wno-dev >/dev/null
fi

# ---- files of both that are needed ----

# Test programs are needed where nothing is chosen, or they are.
tests=no
case " $* " in "  " | *" tests "*) [ $mode = speed ] || tests=yes ;; esac

# Programs of a tree: the command, modules for MPI, the examples, and those of tests.txt that the tree has.
targets() {
    echo liana
    for library in openmpi mpich; do
        ! cmake --build "$2" --target help | grep -q "\bliana_$library\b" || echo liana_$library
    done
    for file in "$1"/examples/*.c; do echo "example_$(basename "$file" .c)"; done
    [ $tests = no ] || grep -v '^#' "$tools/tests.txt" | sed 's/:graphs//g' | tr ' ' '\n' | while read -r name; do
        [ -z "$(find "$1/tests" -name "$name.c")" ] || echo "$name"
    done
}
jobs=${COMPARE_BUILD_JOBS:-$(nproc)}
for each in base today; do
    [ $each = base ] && source=$base_tree in=$base_build || source=$tree in=$build
    log=$folder/$each.log
    more=
    [ $mode != speed ] || more="bench_step bench_program"
    # shellcheck disable=SC2046,SC2086
    cmake --build "$in" --parallel "$jobs" --target $(targets "$source" "$in") $more >"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        fail "the build of $each failed ($log)"
    }
done
compare() {
    # shellcheck disable=SC2086
    python3 "$tools/compare.py" --base-build "$base_build" --base-tree "$base_tree" --build "$build" --tree "$tree" \
        --folder "$folder" $options "$@"
}
[ $mode = speed ] || { compare "$@" && exit 0 || exit $?; }
compare --draw
exec python3 "$tools/speed.py" "$base_build" "$build" "$folder/drawn" "$@"
