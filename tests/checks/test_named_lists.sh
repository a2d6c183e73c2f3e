#!/bin/sh
# Messages, headers and pages tell people to run 'liana list KIND' or 'liana list KIND NAME': each of these must work.
#   test_named_lists.sh BUILD
set -eu
build=$1
cd "$(dirname "$0")/../.."
named=$(mktemp)
trap 'rm -f "$named"' EXIT
# Between quotes or backquotes, after "(", or at the end of a line: there it is a command. Sentences also say "liana list".
# The page on a first change names a layer that its reader writes.
grep -rhoE --exclude=first-change.md "[\`'( /]liana list( [A-Za-z0-9_]+){1,2}( [a-z]*)?" README.md docs include examples src |
    sed -E "s/^.?liana list //" | sort -u >"$named"
count=0
while read -r kind name rest; do
    case $kind in KIND) continue ;; esac # it stands for all of them
    "$build/liana" list "$kind" >/dev/null || { echo "test_named_lists.sh: 'liana list $kind' is named, and fails" >&2; exit 1; }
    # The word behind a kind may be the sentence's next word.
    case $name in
    NAME) ;;
    [A-Z]*) "$build/liana" list "$kind" "$name" >/dev/null || { echo "test_named_lists.sh: 'liana list $kind $name' is named, and fails" >&2; exit 1; } ;;
    esac
    count=$((count + 1))
done <"$named"
[ "$count" -gt 15 ] || { echo "test_named_lists.sh: only $count lists are named; are they still found?" >&2; exit 1; }
echo "$count named lists work"
