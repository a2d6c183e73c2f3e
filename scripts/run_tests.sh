#!/bin/sh
# Runs tests with ctest, and says at the end which were skipped, whole tests and single cases, and why. The closing lines are
# ctest's own.
#   run_tests.sh BUILD_FOLDER CTEST_OPTION...
# A test says why it is skipped in a line "skipped: REASON". "skipped: left to make TARGET" is only counted.
set -u
build=$1
shift
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
log=$build/Testing/Temporary/LastTest.log
rm -f "$log"

# Lines appear as they come: awk would wait for more of them. The closing ones wait for the list.
{
    ctest --test-dir "$build" --output-on-failure --no-label-summary "$@" 2>&1
    echo $? >"$folder/status"
} | {
    closes=
    : >"$folder/closing"
    while IFS= read -r line; do
        case $line in [0-9]*"% tests passed, "*) closes=yes ;; esac
        if [ -n "$closes" ]; then
            printf '%s\n' "$line" >>"$folder/closing"
        else
            printf '%s\n' "$line"
        fi
    done
}

[ ! -e "$log" ] || awk '
    # First the closing lines: the tests that ctest itself calls skipped.
    FNR == NR {
        if (/ \(Skipped\)$/) whole[$3] = 1
        next
    }
    function left(name, target) {
        cases[target]++
        if (!((target, name) in counted)) programs[target]++
        counted[target, name] = 1
    }
    /^[0-9]+\/[0-9]+ Test: / { name = $3; inside = 0 }
    /^Output:$/ { inside = 1; next }
    /^<end of output>$/ { inside = 0 }
    inside && /(^|: )skipped: / {
        reason = $0
        sub(/skipped: /, "", reason)
        said[name] = 1
        if (match(reason, /left to make [a-z-]+$/)) { left(name, substr(reason, RSTART + 8)); next }
        if (!((name, reason) in seen)) lines[count++] = "  " name ": " reason
        seen[name, reason] = 1
    }
    END {
        for (name in whole) if (!(name in said)) lines[count++] = "  " name ": it gives no reason"
        if (count) print "Skipped:"
        for (i = 0; i < count; i++) print lines[i]
        for (target in cases) print "Left to " target ": " cases[target] " cases of " programs[target] " tests"
        if (count || length(cases)) print ""
    }' "$folder/closing" "$log"

# The list above stands for the one of ctest, which has no reasons.
awk '
    /^The following tests did not run:$/ { header = $0; next }
    header != "" && / \(Skipped\)$/ { next }
    header != "" && /^\t/ { print header }
    { header = "" }
    !/^$/ || !empty { print }
    { empty = /^$/ }' "$folder/closing"
exit "$(cat "$folder/status" 2>/dev/null || echo 1)"
