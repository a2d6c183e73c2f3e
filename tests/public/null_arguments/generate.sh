#!/bin/sh
# Writes the calls of test_null_arguments.c: a C function for each function of the public headers that takes a pointer or
# a handle. It calls it with valid arguments but one, which is NULL (a handle without an object), or with all of them
# NULL. A parameter of a type that the table below does not know is an error, so no new function is left out.
#   tests/public/null_arguments/generate.sh COMPILER INCLUDE_FOLDER OUT
set -eu
directory=$(dirname "$0")
declarations=$(printf '#include <liana/liana.h>\n' | "$1" -std=c17 -I"$2" -E -P - | tr '\n' ' ' |
    grep -o '__attribute__((visibility("default")))[^;]*;' |
    sed 's/__attribute__(([a-z_]*\(("default")\)\{0,1\}))//g; s/ *__attribute__((format([^)]*)))//g; s/  */ /g')
printf '%s\n' "$declarations" | awk -v optional_list="$directory/may_be_null.txt" '
function fail(text) {
    print "generate.sh: " text > "/dev/stderr"
    failures++
}
# A valid argument of a type; sets `null` to the text of NULL, or to "" where there is none.
function valid(type, name,    plain) {
    plain = type
    gsub(/const /, "", plain)
    gsub(/ \*const /, " *", plain)
    null = "NULL"
    if (plain in objects) return objects[plain]
    if (plain == "char *") return "\"x\""
    if (plain ~ /_function$/) return "(" type ")some_function"
    if (plain ~ /\*$/) return "(void *)zeros"
    if (plain in handles) {
        null = "(" plain "){0}"
        return handles[plain]
    }
    null = ""
    if (plain == "liana_location") return "LIANA_HERE"
    if (plain == "liana_shape") return "liana_shape_of(2)"
    if (plain ~ /^liana_(axes|conv_options(_[13]d)?|pool_options(_[13]d)?|kept)$/) return "(" plain "){0}"
    if (plain ~ /^(liana_(dtype|status|precision|scale|reduction|balance|task_type|graph_list|kept_kind))$/) return "(" plain ")0"
    if (plain ~ /^(int|int64_t|uint64_t|uint32_t|size_t|double|_Bool)$/) return "1"
    fail("parameter " name " has the type " type ", which the test does not know")
}
function row(name, argument, number, may, told) {
    return sprintf("    {\"%s\", %s, %d, %s, %s, %s, call_%s},\n", name, argument, number, may, told, inside, name)
}
BEGIN {
    split("context graph device device_list variables replicas per_replica replica_program replica_iterator program model iterator estimator element summary callback_state fit_context", names, " ")
    for (i in names) objects["liana_" names[i] " *"] = "a." names[i]
    # Steps have no example here: test_step.c tests their arguments.
    objects["liana_step *"] = "NULL"
    # A server has threads, which the processes of these calls would lack: test_server.c gives it NULL.
    objects["liana_server *"] = "NULL"
    # The same with predictors: test_predictor.c.
    objects["liana_predictor *"] = "NULL"
    objects["liana_image_decoder *"] = "NULL"
    objects["liana_dataset *"] = "liana_dataset_retain(a.dataset)"
    handles["liana_tensor"] = "a.tensor"
    handles["liana_layer"] = "a.layer"
    while ((getline line < optional_list) > 0) {
        if (line ~ /^#/ || line == "") continue
        split(line, words, " ")
        optional[words[1] " " words[2]] = 1
    }
    close(optional_list)
    print "/* Written by generate.sh. */"
}
{
    open = index($0, "(")
    head = substr($0, 1, open - 1)
    tail = substr($0, open + 1)
    sub(/\) *;.*$/, "", tail)
    match(head, /liana_[a-z0-9_]+$/)
    name = substr(head, RSTART)
    result = substr(head, 1, RSTART - 1)
    gsub(/^ +| +$/, "", result)
    count = split(tail, parameters, ", ")
    arguments = ""
    cases = ""
    delete argument_of
    reachable = 0
    inside = "false"
    for (i = 1; i <= count; i++) {
        parameter = parameters[i]
        if (parameter == "void" || parameter == "...") continue
        sub(/\[[0-9]*\]$/, "", parameter) && sub(/ [a-z_0-9]+$/, " *&", parameter) && gsub(/\* /, "*", parameter)
        match(parameter, /[a-z_0-9]+$/)
        argument = substr(parameter, RSTART)
        type = substr(parameter, 1, RSTART - 1)
        sub(/ $/, "", type)
        if (type ~ /liana_(fit_context|callback_state) /) inside = "true"
        value = valid(type, name ":" argument)
        owns = value ~ /^(a\.|liana_dataset_retain)/ && value !~ /^a\.(element|callback_state)$/
        reachable += owns
        if (null != "") {
            key = name " " argument
            may = key in optional ? "true" : "false"
            seen[key] = 1
            argument_of[i] = argument " " (null == "NULL" ? may : "true") " " owns
            value = "null == " i " || null == 0 ? " null " : " value
        }
        arguments = arguments (i > 1 ? ", " : "") value
    }
    functions++
    for (i = 1; i <= count; i++) {
        if (!(i in argument_of)) continue
        split(argument_of[i], words, " ")
        cases = cases row(name, "\"" words[1] "\"", i, words[2], reachable > words[3] ? "true" : "false")
    }
    if (cases == "") next
    cases = cases row(name, "NULL", 0, "true", "false")
    printf "static outcome call_%s(int null)\n{\n", name
    if (result == "liana_status") {
        printf "    return (outcome){.has_status = true, .status = %s(%s)};\n}\n", name, arguments
    } else if (result == "liana_dataset *") {
        printf "    return (outcome){.failed = !%s(%s), .makes = true};\n}\n", name, arguments
    } else {
        printf "    (void)%s(%s);\n    return (outcome){.builds = %s};\n}\n", name, arguments,
            tail ~ /liana_location here/ ? "true" : "false"
    }
    table = table cases
}
END {
    for (key in optional) if (!(key in seen)) fail("may_be_null.txt names \"" key "\", which no header declares")
    if (functions < 200) fail("only " functions + 0 " functions were found in the headers")
    if (failures) exit 1
    printf "static const null_case cases[] = {\n%s};\n", table
}' >"$3.new"
mv "$3.new" "$3"
