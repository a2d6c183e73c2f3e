#!/bin/sh
# The completion for bash offers every subcommand and option, and the manual page has them all. The subcommands are those of
# src/cli/subcommands.def; the options are those that their --help lists.
#   test_completion.sh BUILD_FOLDER
set -eu
liana=$(cd "$1" && pwd)/liana
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v bash >/dev/null || { echo "skipped: no bash"; exit 77; }

fail() {
    echo "$*" >&2
    exit 1
}

# The words offered for the last word, one a line.
offered() {
    bash -c '. "$1/scripts/completion.bash"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _liana
        printf "%s\n" "${COMPREPLY[@]}"' bash "$root" "$liana" "$@" | grep -v '^$' | sort
}

names=$(sed -n 's/^LIANA__SUBCOMMAND([a-z_]*, \([a-z_]*\))$/\1/p' "$root/src/cli/subcommands.def" | tr _ - | sort)
[ "$(echo "$names" | wc -l)" -ge 25 ] || fail "found only these subcommands: $names"
[ "$(offered '')" = "$names" ] || fail "offered are $(offered ''); expected $names"
[ "$(offered help '')" = "$names" ] || fail "offered after help are $(offered help ''); expected $names"
[ "$(offered find-)" = find-lr ] || fail "find-: $(offered find-)"
[ "$(offered compare-)" = compare-devices ] || fail "compare-: $(offered compare-)"
manual=$("$root/scripts/manual.sh" "$liana")
for name in $names; do
    options=$("$liana" "$name" --help | awk '/^Options:/ { on = 1; next } on && /^  -/ { print $1 }' | sort)
    [ -n "$options" ] || fail "liana $name --help lists no option"
    [ "$(offered "$name" -)" = "$options" ] || fail "liana $name: offered are $(offered "$name" -); expected $options"
    echo "$manual" | grep -qx ".SS liana $name" || fail "the manual page lacks $name"
done
echo "$(echo "$names" | wc -l) subcommands with their options"
