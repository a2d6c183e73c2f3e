#!/bin/sh
# Checks that C code which documents quote is in the file that they name: a block
#   <!-- from: FILE -->
#   ```c
# must stand in FILE, line by line. FILE is compiled and run by other tests. So is every ```c block of
# README.md, CONTRIBUTING.md and docs/.
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
/^```c$/ {
    inside = 1
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
    print blocks " blocks of C are in the files that they are from"
}' README.md CONTRIBUTING.md $(find docs -name '*.md' | sort)
