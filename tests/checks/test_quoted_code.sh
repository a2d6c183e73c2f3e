#!/bin/sh
# Checks that code which documents quote is in the file that they name: a block
#   <!-- from: FILE -->
#   ```c
# must stand in FILE, line by line. So must blocks of python and yaml with such a mark. Every ```c block of README.md,
# CONTRIBUTING.md and docs/ has one. FILE is compiled or run by other tests.
# Pages of the reference have their C from the headers (reference_is_current).
set -eu
cd "$(dirname "$0")/../.."
awk '
function fail(text) {
    print text > "/dev/stderr"
    failures++
}
function load(path,    line, text) {
    text = "\n"
    while ((getline line < path) > 0) text = text line "\n"
    close(path)
    return text
}
/^<!-- from: .* -->$/ { from = $3; next }
/^```(python|yaml)$/ && from != "" { inside = 1 }
/^```c$/ { inside = 1 }
/^```(c|python|yaml)$/ && inside {
    block = "\n"
    begin = FNR
    if (from == "") fail(FILENAME ":" FNR ": a block of C without <!-- from: FILE -->")
    next
}
/^```$/ && inside {
    inside = 0
    blocks++
    if (from != "" && index(load(from), block) == 0) fail(FILENAME ":" begin ": this code is not in " from)
    from = ""
    next
}
inside { block = block $0 "\n" }
END {
    if (failures) exit 1
    if (!blocks) { print "no quoted code was found" > "/dev/stderr"; exit 1 }
    print blocks " blocks of code are in the files that they are from"
}' README.md CONTRIBUTING.md $(find docs -name '*.md' -exec grep -L '^<!-- Written by `make reference`' {} + | sort)
