/* Reads and writes the arguments of operations. */
#include "layers/operation/arguments.h"

#include "base/scoped.h"
#include "ir/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

liana_tensor liana__operation_fail(const liana__operation_call *call, const char *format, ...)
{
    char message[400];
    liana_graph *graph = call->layer->inputs[0].graph;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    liana__graph_fail(graph, call->here, LIANA_INVALID_ARGUMENT, "%s: %s", call->row->name, message);
    return (liana_tensor){graph, 0};
}

bool liana__operation_flag(const liana__operation_call *call, const char *name)
{
    const liana__value *value = liana__value_get(call->arguments, name);
    return value && value->kind == LIANA__VALUE_BOOL && value->boolean;
}

const char *liana__operation_word(const liana__operation_call *call, const char *name)
{
    const liana__value *value = liana__value_get(call->arguments, name);
    return value && value->kind == LIANA__VALUE_STRING ? value->string : NULL;
}

static bool refuse(const liana__operation_call *call, const char *name, const char *expected)
{
    char found[128];
    const liana__value *value = liana__value_get(call->arguments, name);
    liana__operation_fail(call, "%s: found %s, expected %s", name,
                          value ? liana__value_describe(value, found, sizeof found) : "nothing", expected);
    return false;
}

bool liana__operation_number(const liana__operation_call *call, const char *name, double if_none, double *number)
{
    const liana__value *value = liana__value_get(call->arguments, name);
    const bool is_number = value && (value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT);
    *number = is_number ? value->number : if_none;
    return is_number || !value ? true : refuse(call, name, "a number");
}

bool liana__operation_integers(const liana__operation_call *call, const char *name, liana_ints *found)
{
    const liana__value *value = liana__value_get(call->arguments, name);
    const bool is_list = value && value->kind == LIANA__VALUE_LIST;
    const size_t count = is_list ? value->count : 1;
    *found = (liana_ints){0};
    if (!value || count > LIANA_MAX_INTS) return refuse(call, name, "whole numbers");
    for (size_t i = 0; i < count; i++) {
        const liana__value *item = is_list ? value->items[i] : value;
        if (item->kind != LIANA__VALUE_INT) return refuse(call, name, "whole numbers");
        found->values[found->count++] = item->integer;
    }
    return true;
}

/* Counted from 0. */
static bool normalize(const liana__operation_call *call, const char *name, int rank, int64_t *axis)
{
    const int64_t given = *axis;
    *axis += given < 0 ? rank : 0;
    if (*axis > 0 && *axis < rank) return true;
    if (*axis == 0) {
        liana__operation_fail(call,
                              "%s: found %lld, which is the batch: examples do not meet within a model; expected "
                              "another axis",
                              name, (long long)given);
    } else {
        liana__operation_fail(call, "%s: found %lld, expected an axis of %d", name, (long long)given, rank);
    }
    return false;
}

bool liana__operation_axis(const liana__operation_call *call, const char *name, int more, const int64_t *if_none,
                           int64_t *axis)
{
    liana_ints found;
    const int rank = liana_tensor_shape(call->operands[0]).rank + more;
    const bool is_given = liana__value_get(call->arguments, name) != NULL;
    if (!is_given && if_none) {
        *axis = *if_none;
        return normalize(call, name, rank, axis);
    }
    if (!is_given) return refuse(call, name, "an axis: all of them would join examples");
    if (!liana__operation_integers(call, name, &found)) return false;
    if (found.count != 1) return refuse(call, name, "one axis");
    *axis = found.values[0];
    return normalize(call, name, rank, axis);
}

bool liana__operation_axes(const liana__operation_call *call, const char *name, int more, liana_axes *axes)
{
    liana_ints found;
    const int rank = liana_tensor_shape(call->operands[0]).rank + more;
    if (!liana__value_get(call->arguments, name)) return refuse(call, name, "axes: all of them would join examples");
    if (!liana__operation_integers(call, name, &found)) return false;
    *axes = (liana_axes){.count = 0};
    if (found.count < 1 || found.count > LIANA_MAX_RANK) return refuse(call, name, "at least one axis");
    for (int64_t i = 0; i < found.count; i++) {
        if (!normalize(call, name, rank, &found.values[i])) return false;
        axes->values[axes->count++] = found.values[i];
    }
    return true;
}

/* ---- writing ---- */

static void write_value(liana__text *text, const liana__value *value)
{
    switch (value->kind) {
    case LIANA__VALUE_INT: liana__text_add(text, "%lld", (long long)value->integer); return;
    case LIANA__VALUE_FLOAT: liana__text_add_double(text, value->number); return;
    case LIANA__VALUE_BOOL: liana__text_add(text, value->boolean ? "true" : "false"); return;
    case LIANA__VALUE_STRING:
        liana__text_add(text, strpbrk(value->string, ",[]() ") ? "'%s'" : "%s", value->string);
        return;
    case LIANA__VALUE_LIST: break;
    default: liana__text_add(text, "null"); return;
    }
    liana__text_add(text, "[");
    for (size_t i = 0; i < value->count; i++) {
        if (i) liana__text_add(text, ", ");
        write_value(text, value->items[i]);
    }
    liana__text_add(text, "]");
}

const char *liana__operation_text(liana__arena *arena, const liana__function_call *operation)
{
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "%s", operation->row->name);
    for (size_t i = 0; i < operation->arguments->count; i++) {
        liana__text_add(&text, "%s%s=", i ? ", " : "(", operation->arguments->keys[i]);
        write_value(&text, operation->arguments->items[i]);
    }
    if (operation->arguments->count) liana__text_add(&text, ")");
    return text.failed ? NULL : liana__arena_string(arena, text.data);
}
