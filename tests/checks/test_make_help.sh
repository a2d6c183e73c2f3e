#!/bin/sh
# `make help` lists every target that a person may ask for, once, in a group of which there are few; each is phony.
set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "test_make_help.sh: $*" >&2
    exit 1
}
make --no-print-directory help >"$folder/help"
sed -n 's/^  make \([a-z0-9-]*\) .*/\1/p' "$folder/help" | sort >"$folder/listed"
# make itself says which targets there are.
make -pRrq : 2>/dev/null | awk '/^# Files/ { on = 1 } /^# Not a target/ { getline; next } on && /^[a-z0-9-]+:/ { sub(/:.*/, ""); print }' |
    grep -vxF build | sort -u >"$folder/targets"
[ "$(wc -l <"$folder/targets")" -gt 35 ] || fail "make knows only $(wc -l <"$folder/targets") targets; are they still found?"
[ "$(uniq "$folder/listed")" = "$(cat "$folder/listed")" ] || fail "a target is listed twice"
diff "$folder/targets" "$folder/listed" >"$folder/said" || fail "targets (<) and those that make help lists (>): $(cat "$folder/said")"
make -pRrq : 2>/dev/null | sed -n 's/^\.PHONY: //p' | tr ' ' '\n' | sort -u >"$folder/phony"
diff "$folder/targets" "$folder/phony" >"$folder/said" || fail "targets (<) and .PHONY (>): $(cat "$folder/said")"
groups=$(grep -c '^[A-Z]' "$folder/help")
[ "$groups" -ge 5 ] && [ "$groups" -le 8 ] || fail "the targets are in $groups groups"
awk 'length > 100 { exit 1 }' "$folder/help" || fail "a line is longer than 100 characters"
# A target without a group is seen.
printf 'new: ## does something\n' | cat Makefile - | awk -f scripts/make_help.awk | grep -qx 'does something' || fail "a missing group is not seen"
echo "$(wc -l <"$folder/listed") targets in $groups groups"
