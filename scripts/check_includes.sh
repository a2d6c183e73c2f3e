#!/bin/sh
# Checks the order of the house: which room may include which, that files do not include each other in circles, which
# headers a public header may include, where a library may be named, how long files, functions and lines of comments may
# be, how many stems a folder may have, that tests lie as the source does and print both operands of a comparison, that
# each file opens with a description, and that no path of somebody's machine is in the tree. A stem is a module: x.c,
# x.h, x_internal.h, x.avx2.c and x.part.kernels.h are one.
#   scripts/check_includes.sh [ROOT]
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"

files=$(find include src tests bench examples tools scripts cmake docs .ci Makefile CMakeLists.txt ./*.md -type f 2>/dev/null |
    sort)
if [ -z "$files" ]; then
    echo "check_includes.sh: no files below $root" >&2
    exit 1
fi

machine_paths=$(printf '%s\n' "$files" |
    xargs grep -IHnE '(^|[^A-Za-z0-9_.$}])/(home|Users|root|work|workspace)/' || true)
if [ -n "$machine_paths" ]; then
    printf '%s\n' "$machine_paths" "These are paths of one machine; write them relative to the tree." >&2
    exit 1
fi

printf '%s\n' "$files" | LC_ALL=C awk '
function fail(text) {
    print text > "/dev/stderr"
    failures++
}

# The one table of the rule: each room, and the rooms it stands on. The rooms below these may be included as well.
function rules(    lines, count, i, parts) {
    count = split( \
        "base:;" \
        "formats: base;" \
        "distribute/transport: formats;" \
        "ir: base;" \
        "batch: base;" \
        "kernels: ir;" \
        "stablehlo: ir;" \
        "ops: kernels stablehlo;" \
        "passes: ops;" \
        "plan: passes;" \
        "backends: plan formats batch;" \
        "backends/remote: backends distribute/transport;" \
        "exec: backends;" \
        "layers/rules: ops;" \
        "layers: layers/rules;" \
        "layers/model: layers;" \
        "layers/keras: layers;" \
        "models: layers;" \
        "onnx: models passes formats;" \
        "losses: ops;" \
        "metrics: losses;" \
        "optimizers: ops;" \
        "program: exec backends/remote layers optimizers;" \
        "remote: formats;" \
        "known: remote;" \
        "data: known batch;" \
        "distribute: exec backends/remote;" \
        "distribute/cluster: distribute;" \
        "distribute/strategies: distribute/cluster;" \
        "step: distribute/strategies program batch;" \
        "train/objective: step models losses metrics data;" \
        "train/training: train/objective;" \
        "train/checkpoint: train/training onnx;" \
        "train/callbacks: train/checkpoint;" \
        "train/job: train/callbacks;" \
        "train/config: train/job;" \
        "train/model: train/config onnx;" \
        "train/estimator: train/model;" \
        "train/predictor: train/model;" \
        "train/run: train/model;" \
        "train/export: train/run train/predictor;" \
        "train: train/run train/estimator train/predictor train/export;" \
        "report: train;" \
        "serve: report;" \
        "cli: serve", lines, /; */)
    for (i = 1; i <= count; i++) {
        split(lines[i], parts, /: */)
        known[parts[1]] = 1
        add(parts[1], parts[1])
        reach(parts[1], parts[2])
    }
}
function add(room, below) { allowed[room, below] = 1 }
# The table is in the order of building, so the rooms below each direct neighbour are complete already.
function reach(room, neighbours,    names, count, i, below) {
    count = split(neighbours, names, / +/)
    for (i = 1; i <= count; i++) {
        if (!(names[i] in known)) fail("check_includes.sh: the table names " names[i] " before it stands in it")
        for (below in known) if ((names[i], below) in allowed) add(room, below)
    }
}

# Libraries that only some files may include.
function library_place(header) {
    if (header ~ /dnnl/) return "src/kernels/onednn."
    # Loaded when they are needed: their functions are called through these.
    if (header ~ /^(hdf5|H5)/) return "src/formats/hdf5/hdf5_calls."
    if (header ~ /^zip\.h/) return "src/formats/zip_calls."
    if (header ~ /^cairo/) return "src/formats/cairo_calls."
    if (header ~ /^pango/) return "src/formats/pango_calls."
    if (header ~ /^(curl|openssl|expat)/) return "src/remote/calls."
    if (header ~ /^mpi\.h/) return "src/distribute/transport/module/"
    if (header ~ /^zmq/) return "src/distribute/transport/zmq_calls."
    if (header ~ /^(jansson|libfyaml)/) return "src/formats/"
    if (header ~ /^utf8proc/) return "src/data/source/name_key."
    return ""
}

# A room is a folder of src, or one of its folders that stands in the table itself. The list x/ys.def belongs to x/y.
function room_of(path,    room, inner) {
    room = inner = path
    sub(/\/.*/, "", room)
    sub(/s\.def$/, "/", inner)
    if (sub(/\/[^\/]*$/, "", inner)) for (; inner != room; sub(/\/[^\/]*$/, "", inner)) if (inner in known) return inner
    return room
}

function check_include(file, line, text,    quoted, header, room, target, place) {
    quoted = text ~ /^[ \t]*#[ \t]*include[ \t]*"/
    header = text
    sub(/^[^"<]*["<]/, "", header)
    sub(/[">].*/, "", header)
    place = library_place(header)
    if (place != "" && file ~ /^(src|include)\// && index(file, place) != 1)
        fail(file ":" line ": includes " header ", which only " place "* may")
    if (file ~ /^include\//) {
        if (quoted || header !~ /^(liana\/(layers\/|ops\/)?[a-z0-9_]+|stdarg|stdbool|stddef|stdint|stdio)\.h$/ && header != "initializer_list")
            fail(file ":" line ": includes " header "; a public header includes only <liana/...> and the standard library")
        return
    }
    if (file !~ /^src\// || !quoted) return
    room = file
    sub(/^src\//, "", room)
    room = room_of(room)
    target = room_of(header)
    if (!(room in known)) {
        fail(file ": src/" room " is no room of the house; add it to the table in scripts/check_includes.sh")
        return
    }
    # Samples of ops are tests that lie in the folder of the op.
    if (file ~ /\.samples\.c$/ && target == "harness") return
    if (header !~ /\//)
        fail(file ":" line ": includes \"" header "\"; write the room as well: \"" room "/" header "\"")
    else if (!(target in known))
        fail(file ":" line ": includes \"" header "\", but src/" target " is no room of the house")
    else if (!((room, target) in allowed))
        fail(file ":" line ": " room " must not include " target " (\"" header "\"); see the table in scripts/check_includes.sh")
}

# src/base/text.avx2.c and src/base/text_internal.h to base/text; tests/base/test_text.c to tests/base/test_text.
function stem_of(file,    folder, name) {
    sub(/^src\//, "", file)
    folder = name = file
    if (!sub(/\/[^\/]*$/, "", folder)) folder = ""
    sub(/.*\//, "", name)
    sub(/\..*/, "", name)
    sub(/_internal$/, "", name)
    return folder "/" name
}
function note_stem(file,    stem, folder) {
    stem = folder = stem_of(file)
    sub(/\/[^\/]*$/, "", folder)
    if (stem in is_stem) return
    is_stem[stem] = 1
    stems_of[folder]++
}

# Tests lie as the source does: tests/ROOM/test_x.c tests src/ROOM. Three folders are no rooms: public (the public
# interface as a whole), docs (the code in documents), and checks (the house itself).
function check_place_of_test(file,    room) {
    room = file
    if (!sub(/^tests\//, "", room) || room !~ /(^|\/)test_[^\/]*\.c$/) return
    if (!sub(/\/.*/, "", room)) fail(file ": lies in no room of tests; src/x is tested in tests/x")
    else if (!(room in known) && room !~ /^(public|docs|checks)$/)
        fail(file ": tests/" room " is like no room of src; src/x is tested in tests/x")
}

# A comparison that fails prints both operands, which assert_true(a < b) cannot: harness/compare.h has assertions that
# do. An assertion may go on in further lines, up to its semicolon.
function check_assertion(file, line, text,    call) {
    if (assertion == "") {
        if (!match(text, /assert_(true|false|null|non_null)\(/)) return
        text = substr(text, RSTART)
        assertion_line = line
    }
    assertion = assertion " " text
    if (assertion !~ /;/) return
    call = assertion
    assertion = ""
    gsub(/"([^"\\]|\\.)*"/, "\"\"", call)
    sub(/;.*/, "", call)
    if (call ~ /assert_(true|false)\(.* ([<>]=?|[=!]=)( |$)/ ||
        call ~ /(fabsf?|strcmp|strncmp|memcmp|strstr|liana__starts_with)\(/)
        fail(file ":" assertion_line ": this comparison does not print its operands when it fails; " \
             "tests/harness/compare.h has assertions that do")
}

# Samples are tests of an op, and may include any user of the op.
function note_edge(file, text,    from, to) {
    if (file !~ /^src\// || file ~ /\.samples\.c$/ || text !~ /^[ \t]*#[ \t]*include[ \t]*"[^"]*\/[^"]*\.h"/) return
    sub(/^[^"]*"/, "", text)
    sub(/".*/, "", text)
    from = stem_of(file)
    to = stem_of(text)
    if (from == to || (from, to) in edge_file) return
    edge_file[from, to] = file
    edges_from[from] = edges_from[from] " " to
}

# The first step from a stem to one that is left; stems are left from which every way goes on.
function next_stem(stem,    names, count, i) {
    count = split(edges_from[stem], names, / +/)
    for (i = 1; i <= count; i++) if (names[i] in left && (stem, names[i]) in edge_file) return names[i]
    return ""
}
function drop_ends(    stem, dropped) {
    do {
        dropped = 0
        for (stem in left) if (next_stem(stem) == "") {
            delete left[stem]
            dropped = 1
        }
    } while (dropped)
}
# Names a circle, and takes one step out of it, until no circle is left.
function check_circles(    stem, at, text, order, seen, i) {
    for (stem in edges_from) left[stem] = 1
    drop_ends()
    for (;;) {
        stem = ""
        for (at in left) if (stem == "" || at < stem) stem = at
        if (stem == "") return
        split("", seen)
        split("", order)
        for (i = 0; !(stem in seen); stem = next_stem(stem)) {
            seen[stem] = i
            order[i++] = stem
        }
        text = ""
        for (at = seen[stem]; at < i; at++)
            text = text order[at] " (" edge_file[order[at], next_stem(order[at])] ") -> "
        fail("files include each other in a circle: " text stem)
        delete edge_file[order[i - 1], stem]
        drop_ends()
    }
}

# A function begins with { in column 0, behind a head that begins there too, and ends with } in column 0.
function check_function(file, line, text,    name) {
    if (text ~ /^[A-Za-z_].*\(/) head = text
    if (text ~ /^\{/) body = line
    if (text !~ /^}/ || !body) return
    name = head
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    if (line - body + 1 > 60) fail(file ":" body ": " name " has " line - body + 1 " lines; at most 60")
    body = 0
}

# clang-format breaks code at 120 columns and leaves comments as they are. A line of a comment begins, ends or goes on
# with one. Columns are characters, not bytes.
function check_comment(file, line, text,    columns, commented) {
    if (length(text) <= 120 && text !~ /\*\/|\/\*/) return
    commented = in_comment
    columns = text
    gsub(/[\200-\277]/, "", columns)
    gsub(/"([^"\\]|\\.)*"|\047(\\.|[^\\])\047/, "", text)
    while (match(text, in_comment ? "[*]/" : "/[*/]")) {
        commented = 1
        if (substr(text, RSTART, 2) == "//") break
        in_comment = !in_comment
        text = substr(text, RSTART + 2)
    }
    if (commented && length(columns) > 120)
        fail(file ":" line ": a line of a comment has " length(columns) " columns; at most 120")
}

BEGIN { rules() }
{
    file = $0
    sub(/^\.\//, "", file)
    if (file ~ /\.def$/) {
        line = in_comment = 0
        while ((getline text < file) > 0) check_comment(file, ++line, text)
        close(file)
        next
    }
    if (file !~ /\.[ch]$/) next
    in_source = file ~ /^src\//
    in_tests = file ~ /^tests\//
    line = body = in_comment = 0
    assertion = ""
    while ((getline text < file) > 0) {
        line++
        if (line == 1 && text !~ /^(\/\*|\/\/) *[A-Za-z0-9]/)
            fail(file ":1: opens with no comment that says what it is")
        check_comment(file, line, text)
        if (in_source) check_function(file, line, text)
        if (in_tests) check_assertion(file, line, text)
        if (text !~ /^[ \t]*#[ \t]*include[ \t]*["<]/) continue
        check_include(file, line, text)
        note_edge(file, text)
    }
    close(file)
    checked++
    if (in_source || in_tests) note_stem(file)
    check_place_of_test(file)
    if (line > 900) fail(file ": " line " lines; at most 900, better 800: is it one thing?")
    else if (line > 800) print file ": " line " lines, more than 800: is it one thing?"
}
END {
    check_circles()
    for (folder in stems_of) if (stems_of[folder] > 40)
        fail((folder ~ /^tests/ ? "" : "src/") folder " has " stems_of[folder] " stems; at most 40: which rooms are in it?")
    if (failures) exit 1
    print checked " files: includes go one way"
}'
