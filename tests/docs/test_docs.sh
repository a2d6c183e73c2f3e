#!/bin/sh
# Runs the commands that the documents show: every ```sh block of README.md, CONTRIBUTING.md, docs/ and bench/, in order,
# each document in a fresh copy of the tree (with the build, and the test data next to it). A comment on the line before a
# block says otherwise:
#   <!-- test: long -->      takes minutes or needs the network: run with --long only (make check-docs-long), when
#                            every block is run, in a build of its own
#   <!-- test: data -->      needs the test data: skipped where it is missing
#   <!-- test: webassembly -->  needs a build with WebAssembly (cmake/web.cmake): skipped without
#   <!-- test: plugin -->    needs the PJRT plugin for CPUs: left to --plugin (make check-peers), which runs the documents
#                            that have such blocks
#   <!-- test: not run: REASON -->
# A block that needs a file or folder below runs/ which a block that was not run would have made is skipped.
#   test_docs.sh BUILD_FOLDER [--plugin]
#   test_docs.sh --long
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/checks/needs.sh"
long=
build=
plugin=
case "$1 ${2-}" in
--long*) long=yes ;;
*--plugin)
    need_peer plugin
    plugin=yes
    ;;
esac
[ -n "$long" ] || build=$(cd "$1" && pwd)
# Long runs have it if it is there.
LIANA_PLUGIN_PATH=
if [ -n "$plugin" ] || { [ -n "$long" ] && [ -e "$peers/plugin/installed.txt" ]; }; then LIANA_PLUGIN_PATH=$peers/plugin; fi
export LIANA_PLUGIN_PATH
data=${LIANA_TEST_DATA:-$source/../shared/data}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The names below runs/ in a block, and those that it does not make itself.
named() {
    grep -oE 'runs/[A-Za-z0-9._/-]+' "$@" | sed 's/[./]*$//' | sort -u
}
needed() {
    grep -oE "(--out|output=|>)[ ']*runs/[A-Za-z0-9._/-]+" "$1" >"$folder/made" || true
    named "$folder/made" >"$folder/made-paths"
    named "$1" | grep -vxF -f "$folder/made-paths"
}
blocks=0
left=0
for document in "$source"/README.md "$source"/CONTRIBUTING.md "$source"/docs/*.md "$source"/docs/*/*.md "$source"/bench/*.md; do
    [ -e "$document" ] || continue
    name=${document#"$source"/}
    # Its changes are built and tested by tests/docs/test_first_change.sh.
    [ -n "$long" ] || [ "$name" != docs/guides/first-change.md ] || continue
    [ -z "$plugin" ] || grep -q '^<!-- test: plugin -->$' "$document" || continue
    rm -rf "$folder/house" "$folder/blocks"
    : >"$folder/missing"
    mkdir -p "$folder/house/liana" "$folder/blocks" "$folder/house/shared"
    # One file for each block, named by its line, with its comment in the first line.
    awk -v folder="$folder/blocks" '
        /^```/ && inside { inside = 0; close(file); next }
        inside { print > file }
        /^```sh$/ && !inside { inside = 1; file = sprintf("%s/%05d", folder, NR); print "# " mark > file }
        /^```/ && !/^```sh$/ && !other { other = 1; next }
        /^```$/ && other { other = 0 }
        { mark = /^<!-- test: .* -->$/ ? $0 : "" }' "$document"
    [ -n "$(ls "$folder/blocks")" ] || continue
    tar -C "$source" -cf - --exclude='./build*' --exclude=./runs --exclude=./.git . |
        tar -C "$folder/house/liana" -xf -
    # Long commands build; their results must come from the copy.
    if [ -n "$long" ]; then
        make -C "$folder/house/liana" >/dev/null
    else
        ln -s "$build" "$folder/house/liana/build"
    fi
    [ -d "$data" ] && ln -s "$data" "$folder/house/shared/data"
    for block in "$folder"/blocks/*; do
        line=$(basename "$block" | sed 's/^0*//')
        mark=$(sed -n '1s/^# //p' "$block")
        reason=
        case $mark in
        *"test: not run: "*) reason=$(echo "$mark" | sed 's/.*test: \(not run: .*\) -->/\1/') ;;
        *"test: long "*) [ -n "$long" ] || reason="not run: make check-docs-long" ;;
        *"test: data "*) [ -d "$data" ] || reason="skipped: no data (looked for $data)" ;;
        *"test: webassembly "*)
            [ -e "$folder/house/liana/build/web/augment.wasm" ] || reason="skipped: liana was built without WebAssembly"
            ;;
        *"test: plugin "*) [ -n "$LIANA_PLUGIN_PATH" ] || reason="skipped: left to make check-peers" ;;
        "") ;;
        *)
            echo "$name:$line: unknown mark: $mark" >&2
            exit 1
            ;;
        esac
        if [ -z "$reason" ]; then
            for path in $(needed "$block"); do
                maker=$(awk -v path="$path" 'index(path "/", $1 "/") == 1 { print $2; exit }' "$folder/missing")
                [ -z "$maker" ] || [ -e "$folder/house/liana/$path" ] ||
                    reason="skipped: it needs $path of line $maker, which is not run"
            done
        fi
        if [ -n "$reason" ]; then
            named "$block" | while read -r path; do
                [ -e "$folder/house/liana/$path" ] || echo "$path $line" >>"$folder/missing"
            done
            echo "$name:$line: $reason"
            left=$((left + 1))
            continue
        fi
        echo "$name:$line"
        if ! (cd "$folder/house/liana" && sh -eu "$block") >"$folder/output" 2>&1 </dev/null; then
            cat "$folder/output"
            echo "$name:$line: this block fails:" >&2
            sed 1d "$block" >&2
            exit 1
        fi
        blocks=$((blocks + 1))
    done
done
echo "$blocks blocks run, $left not run"
