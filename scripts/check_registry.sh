#!/bin/sh
# Checks the lists (*.def) that register ops, layers, models, ... : every file has its row, every row its file and a
# test. A row is MACRO(stem, name, ...) or MACRO(stem): `stem` is the file STEM.c or the folder STEM/ in the folder of
# the list (or below the folder that is called as the list without its s: data/sources.def and data/source/), `name` is
# the users' word. A family may have several rows for one file. Where stems name subfolders (conv/conv2d) all files
# below the list need a row; a stem may also lie in another room (plan/slice_batch). Two sentences in the comment of a
# list are read:
#   "Without a row: a, b/."    files, and folders (b/), that are the room's own machinery
#   "Rows name no files."      a list of something else
# A test of a row is STEM.samples.c in the file's folder where the folder has samples (generated tests run them),
# elsewhere the name as a word in a file below tests/ (MaxPooling2D and liana_max_pooling2d are max_pooling2d).
#   scripts/check_registry.sh [ROOT]
set -eu
cd "${1:-$(dirname "$0")/..}"

# All words of the tests, once; words of the harness alone test nothing.
spoken=$(mktemp)
trap 'rm -f "$spoken"' EXIT
find tests -type f -not -path 'tests/harness/*' -not -path 'tests/checks/*' -exec cat {} + >"$spoken" 2>/dev/null || true

find src -name '*.def' | sort | while read -r list; do
    folder=$(dirname "$list")
    kind=$(basename "$list" .def)
    [ -d "$folder/${kind%s}" ] && [ "${kind%s}" != "$kind" ] && folder=$folder/${kind%s}
    printf 'list %s %s\n' "$folder" "$list"
    depth=1
    grep -Eq '^[A-Z_0-9]+\([a-z0-9_]+/' "$list" && depth=2
    find "$folder" -mindepth 1 -maxdepth $depth | sort | while read -r file; do
        name=${file#"$folder"/}
        if [ -d "$file" ]; then
            printf 'folder %s\n' "$name"
        else
            printf 'file %s\n' "$name"
        fi
    done
done | awk -v spoken="$spoken" '
function fail(text) {
    print text > "/dev/stderr"
    failures++
}

# Reads a list: its rows, and the facts in its comment.
function read_list(path,    text, comment, row, names, count, i, parts) {
    while ((getline text < path) > 0) {
        if (text ~ /^[A-Z_0-9]+\(/) {
            row = text
            sub(/^[A-Z_0-9]+\(/, "", row)
            count = split(row, parts, /[,)]/)
            for (i = 1; i <= 2; i++) gsub(/^[ \t"]+|[ \t"]+$/, "", parts[i])
            if (count < 3 || parts[2] !~ /^[A-Za-z0-9_]+$/) parts[2] = parts[1]
            num_rows++
            row_list[num_rows] = path
            row_folder[num_rows] = folder
            row_stem[num_rows] = parts[1]
            row_name[num_rows] = parts[2]
            has_row[folder, parts[1]] = 1
        } else comment = comment " " text
    }
    close(path)
    if (comment ~ /Rows name no files\./) no_files[path] = 1
    if (match(comment, /Without a row: [^.]*/)) {
        text = substr(comment, RSTART + 15, RLENGTH - 15)
        gsub(/\*\/|\*/, " ", text)
        count = split(text, names, /[ ,]+/)
        for (i = 1; i <= count; i++) if (names[i] != "") machinery[folder, names[i]] = path
    }
}

# One spelling for max_pooling2d, MaxPooling2D and liana_max_pooling2d.
function plain(name) {
    name = tolower(name)
    sub(/^liana_+/, "", name)
    gsub(/_/, "", name)
    return name
}
# Words of tests; a name is tested where it stands as a word.
function read_tests(    text, count, words, i) {
    while ((getline text < spoken) > 0) {
        count = split(text, words, /[^A-Za-z0-9_]+/)
        for (i = 1; i <= count; i++) said[plain(words[i])] = 1
    }
}

$1 == "list" {
    folder = $2
    list = $3
    read_list(list)
    if (!(list in no_files)) list_of[folder] = list_of[folder] " " list
}
$1 == "folder" { folders[folder, $2] = 1 }
$1 == "file" {
    files[folder, $2] = 1
    if ($2 ~ /\.samples\.c$/) has_samples[folder] = 1
}

END {
    if (NR == 0) {
        print "no lists yet"
        exit
    }
    read_tests()
    for (i = 1; i <= num_rows; i++) {
        if (row_list[i] in no_files) continue
        stem = row_stem[i]
        where = row_folder[i]
        what = row_list[i] ": the row of " row_name[i]
        elsewhere = "src/" stem ".c"
        if (stem ~ /\// && !((where, stem ".c") in files) && (getline text < elsewhere) > 0) files[where, stem ".c"] = 1
        if (!((where, stem ".c") in files) && !((where, stem) in folders))
            fail(what ": there is no " where "/" stem ".c (and no folder " where "/" stem ")")
        if ((where, stem) in machinery) fail(what ": " stem " is also said to be without a row")
        if (has_samples[where]) {
            if (!((where, stem ".samples.c") in files)) fail(what ": no samples; write " where "/" stem ".samples.c")
        } else if (!(plain(row_name[i]) in said)) fail(what ": no test below tests/ says " row_name[i])
        checked++
    }
    for (pair in files) {
        split(pair, at, SUBSEP)
        if (!(at[1] in list_of) || at[2] !~ /\.c$/) continue
        stem = at[2]
        sub(/\.[^\/]*$/, "", stem)
        stems[at[1], stem] = 1
        part = stem
        if (sub(/\/.*/, "/", part)) stems[at[1], part] = 1
        if (!has_row[at[1], stem] && !((at[1], stem) in machinery) && !((at[1], part) in machinery))
            fail(at[1] "/" at[2] ": no row in" list_of[at[1]] " (nor in its sentence \"Without a row: ...\")")
    }
    for (pair in machinery) {
        split(pair, at, SUBSEP)
        if (!((at[1], at[2]) in stems))
            fail(machinery[pair] ": says that " at[2] " is without a row, but there is no " at[1] "/" at[2] ".c")
    }
    if (failures) exit 1
    print checked + 0 " rows, each with its file and a test"
}'
