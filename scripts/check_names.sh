#!/bin/sh
# Checks that a name means one thing: each type, enumeration and function of liana's (liana_..., liana__...) is defined
# in one place of src/ and include/, and so is each header guard; no two headers declare the same type.
# Two definitions in one file are branches of an #if. STEM_missing.c stands in for another file in builds without a
# library. Functions that are static in a .c file are of no interest to others.
#   scripts/check_names.sh [ROOT]
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"

files=$(find include src -type f -name '*.[ch]' 2>/dev/null | sort)
if [ -z "$files" ]; then
    echo "check_names.sh: no files below $root" >&2
    exit 1
fi

printf '%s\n' "$files" | awk '
function fail(text) {
    print text > "/dev/stderr"
    failures++
}

# Notes where a name is defined. Of the kinds, "tag" (struct x) and "name" (types, functions) are the two spaces of names
# that C has; a type usually has the same name in both, which no function may have.
function define(kind, name,    place) {
    if (name !~ /^(liana_|LIANA_)/) return
    place = kind SUBSEP name
    if (!(place in first)) {
        first[place] = file
        where[place] = file ":" line
        names++
    } else if (first[place] != file)
        fail(file ":" line ": " name " is defined in " where[place] " already; one of the two needs another name")
}

# The last name before the first of some character.
function name_before(text, stop) {
    sub(stop ".*", "", text)
    sub(/[ \t]+$/, "", text)
    sub(/.*[ *(]/, "", text)
    return text
}

# struct x {, typedef struct x {, } x;, typedef struct x x;, typedef int (*x)(int);, typedef int x(int);
function note_type(text,    name) {
    if (text ~ /^(typedef )?(struct|union|enum) [A-Za-z0-9_]+ *\{/) define("tag", name_before(text, "\\{"))
    if (text ~ /^typedef/ && text ~ /\{$/) in_typedef = 1
    if (text ~ /^\} *[A-Za-z0-9_]+;/ && in_typedef) define("name", name_before(text, ";"))
    if (text ~ /^\}/) in_typedef = 0
    if (text ~ /^typedef/ && text ~ /\(\*[A-Za-z0-9_]+\)/) {
        name = text
        sub(/.*\(\*/, "", name)
        define("name", name_before(name, "\\)"))
    } else if (text ~ /^typedef/ && text ~ /[A-Za-z0-9_]\(/) define("name", name_before(text, "\\("))
    else if (text ~ /^typedef/ && text ~ /;/) define("name", name_before(text, ";"))
}

function note_defined_function(name) {
    define("name", name)
    if (!(name in function_place)) function_place[name] = file ":" line
}

# A function is defined where { in column 0 follows a head.
function note_function(text) {
    if (text ~ /^[A-Za-z_].*\(/) {
        head = text
        head_line = line
    }
    if (text ~ /;[ \t]*$/) head = ""
    if (text !~ /^\{/ || head == "") return
    if (head !~ /^static/ || file ~ /\.h$/) note_defined_function(name_before(head, "\\("))
    head = ""
}

{
    file = $0
    missing = file ~ /_missing\.c$/
    line = in_typedef = 0
    head = ""
    while ((getline text < file) > 0) {
        line++
        if (missing) continue
        note_type(text)
        note_function(text)
        if (file ~ /\.h$/ && text ~ /^#ifndef LIANA_[A-Z0-9_]+_H$/) define("guard", substr(text, 9))
    }
    close(file)
}
END {
    for (name in function_place) if (("tag", name) in where)
        fail(function_place[name] ": " name " is a function here, and a type in " where["tag", name])
    if (failures) exit 1
    print names " names, each for one thing"
}'
