#!/bin/sh
# Runs the commands that the documents show: every ```sh block of README.md, CONTRIBUTING.md and docs/, in order, each
# document in a fresh copy of the tree (with the build, and the test data beside it). A comment on the line before a
# block says otherwise:
#   <!-- test: long -->      takes minutes or needs the network: run with --long only (make check-docs-long), when
#                            every block is run, in a build of its own
#   <!-- test: data -->      needs the test data: skipped where it is missing
#   <!-- test: plugin -->    needs the PJRT plugin for CPUs: skipped where it is missing
#   <!-- test: not run: REASON -->
#   test_docs.sh BUILD_FOLDER|--long
set -eu
long=
build=
if [ "$1" = --long ]; then
    long=yes
else
    build=$(cd "$1" && pwd)
fi
source=$(cd "$(dirname "$0")/../.." && pwd)
data=${LIANA_TEST_DATA:-$source/../shared/data}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

blocks=0
skipped=0
for document in "$source"/README.md "$source"/CONTRIBUTING.md "$source"/docs/*.md "$source"/docs/*/*.md; do
    [ -e "$document" ] || continue
    name=${document#"$source"/}
    rm -rf "$folder/house" "$folder/blocks"
    mkdir -p "$folder/house/liana" "$folder/blocks" "$folder/house/shared"
    # One file for each block, named by its line, with what its comment says in the first line.
    awk -v folder="$folder/blocks" '
        /^```/ && inside { inside = 0; close(file); next }
        inside { print > file }
        /^```sh$/ && !inside { inside = 1; file = sprintf("%s/%05d", folder, NR); print "# " mark > file }
        /^```/ && !/^```sh$/ && !other { other = 1; next }
        /^```$/ && other { other = 0 }
        { mark = /^<!-- test: .* -->$/ ? $0 : "" }' "$document"
    [ -n "$(ls "$folder/blocks")" ] || continue
    tar -C "$source" -cf - --exclude='./build*' --exclude=./runs --exclude=./.git --exclude=node_modules . |
        tar -C "$folder/house/liana" -xf -
    # Long commands build; what they build must come from the copy.
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
        *"test: not run: "*) reason=$(echo "$mark" | sed 's/.*not run: \(.*\) -->/\1/') ;;
        *"test: long "*) [ -n "$long" ] || reason="takes long" ;;
        *"test: data "*) [ -d "$data" ] || reason="no data" ;;
        *"test: plugin "*)
            "$folder/house/liana/build/liana" devices pjrt:cpu >"$folder/output" 2>&1 || reason="no PJRT plugin"
            ;;
        "") ;;
        *)
            echo "$name:$line: unknown mark: $mark" >&2
            exit 1
            ;;
        esac
        if [ -n "$reason" ]; then
            echo "$name:$line: skipped: $reason"
            skipped=$((skipped + 1))
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
echo "$blocks blocks run, $skipped skipped"
