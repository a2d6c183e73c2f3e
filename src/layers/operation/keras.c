/* Operations in Keras's files: the nodes of keras.ops, and Keras 2's TFOpLambda. */
#include "layers/operation/operation.h"

#include "base/scoped.h"
#include "base/value_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
    const liana__operation_row *row;
    const char *said; /* the operation's name in the file */
    const liana__value *node;
    liana__arena *arena;
    liana__value *arguments;
    liana__error *error;
} reader;

static liana_status refuse(reader *r, const liana__value *value, const char *format, ...) LIANA__PRINTF(3, 4);
static liana_status refuse(reader *r, const liana__value *value, const char *format, ...)
{
    char message[300], where[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const liana__value *config = liana__value_get(r->node, "config");
    snprintf(where, sizeof where, "layer '%.60s'",
             liana__value_text_of(r->node, "name", liana__value_text_of(config, "name", r->said)));
    liana__fail_at(r->error, value ? &value->place : &r->node->place, where, "%s", message);
    if (r->error) r->error->status = LIANA_UNIMPLEMENTED;
    return LIANA_UNIMPLEMENTED;
}

/* ---- values ---- */

/* Whether a value is a tensor of the graph, or holds one. */
static bool holds_tensor(const liana__value *value, int depth)
{
    if (value->kind == LIANA__VALUE_MAP) {
        return liana__value_get(liana__value_get(value, "config"), "keras_history") != NULL;
    }
    bool found = false;
    if (value->kind != LIANA__VALUE_LIST || depth > 8) return false;
    const bool is_reference = value->count >= 3 && value->items[0]->kind == LIANA__VALUE_STRING &&
                              value->items[1]->kind == LIANA__VALUE_INT && value->items[2]->kind == LIANA__VALUE_INT;
    for (size_t i = 0; !is_reference && i < value->count; i++)
        found = found || holds_tensor(value->items[i], depth + 1);
    return is_reference || found;
}

static void write_end(liana__text *text, const liana__value *slice, const char *key)
{
    const liana__value *end = liana__value_get(slice, key);
    if (end && end->kind == LIANA__VALUE_INT) liana__text_add(text, "%lld", (long long)end->integer);
}

/* A slice {start, stop, step} as "start:stop:step". */
static liana__value *write_slice(reader *r, const liana__value *slice)
{
    LIANA__SCOPED(liana__text) text = {0};
    const liana__value *step = liana__value_get(slice, "step");
    write_end(&text, slice, "start");
    liana__text_add(&text, ":");
    write_end(&text, slice, "stop");
    if (step && step->kind == LIANA__VALUE_INT) liana__text_add(&text, ":%lld", (long long)step->integer);
    return text.failed ? NULL : liana__value_string(r->arena, text.data);
}

/* A constant as the text has it. NULL: it is none, or out of memory. */
static liana__value *plain_value(reader *r, const liana__value *value, bool is_key, int depth)
{
    const bool is_map = value->kind == LIANA__VALUE_MAP;
    const char *class_name = is_map ? liana__value_text_of(value, "class_name", "") : "";
    const liana__value *config = liana__value_get(value, "config");
    if (depth > LIANA_MAX_RANK + 1) return NULL;
    if (is_key && value->kind == LIANA__VALUE_NULL) return liana__value_string(r->arena, "None");
    if (strcmp(class_name, "__ellipsis__") == 0) return liana__value_string(r->arena, "...");
    if (is_map && is_key) return write_slice(r, strcmp(class_name, "__slice__") == 0 ? config : value);
    if (is_map) {
        const liana__value *inner = liana__value_get(config, "value");
        return inner ? plain_value(r, inner, false, depth) : NULL;
    }
    if (value->kind != LIANA__VALUE_LIST) return liana__value_copy(r->arena, value);
    liana__value *list = liana__value_list(r->arena);
    for (size_t i = 0; list && i < value->count; i++) {
        liana__value *item = plain_value(r, value->items[i], is_key, depth + 1);
        if (!item) return NULL;
        liana__value_add(r->arena, list, item);
    }
    return list;
}

/* Tensors are the inputs of the layer, and are left out; null is a default. */
static liana_status take(reader *r, const char *name, const liana__value *value)
{
    const bool is_key = strcmp(name, "key") == 0;
    if ((value->kind == LIANA__VALUE_NULL && !is_key) || holds_tensor(value, 0)) return LIANA_OK;
    if (!liana__operation_has(r->row->operands, name) && !liana__operation_has(r->row->settings, name)) {
        const bool is_false = value->kind == LIANA__VALUE_BOOL && !value->boolean;
        const bool is_zero = value->kind == LIANA__VALUE_INT && value->integer == 0;
        if (is_false || is_zero) return LIANA_OK;
        return refuse(r, value, "the operation '%.60s' has the argument '%.60s', which liana's does not have", r->said,
                      name);
    }
    liana__value *made = plain_value(r, value, is_key, 0);
    if (r->arena->failed) return liana__fail_memory(r->error, "an operation");
    if (!made) {
        return refuse(r, value, "the operation '%.60s' has an argument '%.60s' that is no number, word or list of them",
                      r->said, name);
    }
    if (is_key && made->kind != LIANA__VALUE_LIST) {
        liana__value *list = liana__value_list(r->arena);
        if (!list) return liana__fail_memory(r->error, "an operation");
        liana__value_add(r->arena, list, made);
        made = list;
    }
    liana__value_set(r->arena, r->arguments, name, made);
    return LIANA_OK;
}

/* ---- Keras 3 ---- */

static const liana__operation_row *row_of_class(const char *class_name)
{
    const liana__operation_row *row = liana__operations;
    while (row->name && strcmp(row->class_name, class_name) != 0) row++;
    return row->name ? row : NULL;
}

bool liana__operation_is_class(const char *class_name)
{
    return row_of_class(class_name) != NULL;
}

static liana_status read_keras3(reader *r, const liana__value *call)
{
    const liana__value *config = liana__value_get(r->node, "config");
    const liana__value *args = liana__value_list_of(call, "args"), *kwargs = liana__value_get(call, "kwargs");
    for (size_t i = 0; config && config->kind == LIANA__VALUE_MAP && i < config->count; i++) {
        const bool is_own = liana__operation_has(r->row->settings, config->keys[i]);
        const bool says_nothing = strcmp(config->keys[i], "name") == 0 || strcmp(config->keys[i], "dtype") == 0;
        if (is_own || !says_nothing) LIANA_TRY(take(r, config->keys[i], config->items[i]));
    }
    const char *operands = r->row->operands, *settings = r->row->settings;
    char name[32];
    for (size_t i = 0; args && i < args->count; i++) {
        const bool is_named = liana__operation_next(&operands, name) || liana__operation_next(&settings, name);
        if (!is_named) return refuse(r, args, "the operation '%.60s' has more arguments than liana's", r->said);
        LIANA_TRY(take(r, name, args->items[i]));
        if (operands[-1] == '+') operands = r->row->operands;
    }
    for (size_t i = 0; kwargs && kwargs->kind == LIANA__VALUE_MAP && i < kwargs->count; i++) {
        LIANA_TRY(take(r, kwargs->keys[i], kwargs->items[i]));
    }
    return LIANA_OK;
}

/* ---- Keras 2 ---- */

/* TensorFlow's functions, and "theirs=ours" for arguments of other names; "theirs=" is passed over. The first argument
 * is the first operand. */
static const struct {
    const char *function, *name, *renamed;
} functions[] = {
    {"__operators__.add", "add", "y=x2"},
    {"math.add", "add", "y=x2"},
    {"nn.bias_add", "add", "bias=x2 data_format="},
    {"math.subtract", "subtract", "y=x2"},
    {"math.multiply", "multiply", "y=x2"},
    {"math.divide", "divide", "y=x2"},
    {"math.truediv", "true_divide", "y=x2"},
    {"math.divide_no_nan", "divide_no_nan", "y=x2"},
    {"math.floordiv", "floor_divide", "y=x2"},
    {"math.floormod", "mod", "y=x2"},
    {"math.pow", "power", "y=x2"},
    {"math.maximum", "maximum", "y=x2"},
    {"math.minimum", "minimum", "y=x2"},
    {"math.atan2", "arctan2", "x=x2"},
    {"math.equal", "equal", "y=x2"},
    {"math.not_equal", "not_equal", "y=x2"},
    {"__operators__.eq", "equal", "other=x2"},
    {"__operators__.ne", "not_equal", "other=x2"},
    {"math.less", "less", "y=x2"},
    {"math.less_equal", "less_equal", "y=x2"},
    {"math.greater", "greater", "y=x2"},
    {"math.greater_equal", "greater_equal", "y=x2"},
    {"math.logical_and", "logical_and", "y=x2"},
    {"math.logical_or", "logical_or", "y=x2"},
    {"math.logical_not", "logical_not", ""},
    {"math.abs", "abs", ""},
    {"math.negative", "negative", ""},
    {"math.sign", "sign", ""},
    {"math.square", "square", ""},
    {"math.sqrt", "sqrt", ""},
    {"math.rsqrt", "rsqrt", ""},
    {"math.reciprocal", "reciprocal", ""},
    {"math.exp", "exp", ""},
    {"math.expm1", "expm1", ""},
    {"math.erf", "erf", ""},
    {"math.log", "log", ""},
    {"math.log1p", "log1p", ""},
    {"math.ceil", "ceil", ""},
    {"math.floor", "floor", ""},
    {"math.round", "round", ""},
    {"math.sin", "sin", ""},
    {"math.cos", "cos", ""},
    {"math.tan", "tan", ""},
    {"math.asin", "arcsin", ""},
    {"math.acos", "arccos", ""},
    {"math.atan", "arctan", ""},
    {"math.sinh", "sinh", ""},
    {"math.cosh", "cosh", ""},
    {"math.tanh", "tanh", ""},
    {"math.asinh", "arcsinh", ""},
    {"math.acosh", "arccosh", ""},
    {"math.atanh", "arctanh", ""},
    {"math.is_finite", "isfinite", ""},
    {"math.is_inf", "isinf", ""},
    {"math.is_nan", "isnan", ""},
    {"math.sigmoid", "sigmoid", ""},
    {"math.softplus", "softplus", ""},
    {"math.reduce_sum", "sum", ""},
    {"math.reduce_mean", "mean", ""},
    {"math.reduce_max", "max", ""},
    {"math.reduce_min", "min", ""},
    {"math.reduce_prod", "prod", ""},
    {"math.reduce_any", "any", ""},
    {"math.reduce_all", "all", ""},
    {"math.reduce_variance", "var", ""},
    {"math.reduce_std", "std", ""},
    {"math.reduce_logsumexp", "logsumexp", ""},
    {"math.argmax", "argmax", "output_type="},
    {"math.argmin", "argmin", "output_type="},
    {"nn.relu", "relu", ""},
    {"nn.relu6", "relu6", ""},
    {"nn.elu", "elu", ""},
    {"nn.selu", "selu", ""},
    {"nn.silu", "silu", "beta="},
    {"nn.swish", "silu", "beta="},
    {"nn.softsign", "softsign", ""},
    {"nn.softplus", "softplus", ""},
    {"nn.sigmoid", "sigmoid", ""},
    {"nn.tanh", "tanh", ""},
    {"nn.softmax", "softmax", ""},
    {"nn.log_softmax", "log_softmax", ""},
    {"nn.leaky_relu", "leaky_relu", "alpha=negative_slope"},
    {"nn.gelu", "gelu", ""},
    {"clip_by_value", "clip", "clip_value_min=x_min clip_value_max=x_max"},
    {"cast", "cast", ""},
    {"where", "where", "x=x1 y=x2"},
    {"reshape", "reshape", "shape=newshape"},
    {"transpose", "transpose", "perm=axes"},
    {"compat.v1.transpose", "transpose", "perm=axes"},
    {"expand_dims", "expand_dims", ""},
    {"squeeze", "squeeze", ""},
    {"compat.v1.squeeze", "squeeze", ""},
    {"concat", "concatenate", ""},
    {"stack", "stack", ""},
    {"reverse", "flip", ""},
    {"roll", "roll", ""},
    {"repeat", "repeat", ""},
    {"tile", "tile", "multiples=repeats"},
    {"gather", "take", ""},
    {"compat.v1.gather", "take", "validate_indices= batch_dims="},
    {"one_hot", "one_hot", "depth=num_classes"},
    {"sort", "sort", ""},
    {"argsort", "argsort", ""},
    {"math.top_k", "top_k", ""},
    {"nn.top_k", "top_k", ""},
    {"math.cumsum", "cumsum", ""},
    {"math.cumprod", "cumprod", ""},
    {"split", "split", "num_or_size_splits=indices_or_sections"},
    {"unstack", "unstack", ""},
    {"nn.moments", "moments", ""},
    {"pad", "pad", "paddings=pad_width"},
    {"compat.v1.pad", "pad", "paddings=pad_width"},
    {"linalg.matmul", "matmul", "b=x2"},
    {"stop_gradient", "stop_gradient", ""},
    {"identity", "copy", ""},
    {"zeros_like", "zeros_like", ""},
    {"ones_like", "ones_like", ""},
    {"__operators__.getitem", "get_item", "slice_spec=key"},
};

static bool find_function(reader *r, const char *function, const char **renamed)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].function, function) != 0) continue;
        *renamed = functions[i].renamed;
        for (r->row = liana__operations; r->row->name; r->row++) {
            if (strcmp(r->row->name, functions[i].name) == 0) return true;
        }
    }
    return false;
}

/* liana's name of an argument: "" for one that is passed over. */
static const char *name_of_argument(const char *renamed, const char *name, char found[32])
{
    while (liana__operation_next(&renamed, found)) {
        char *equals = strchr(found, '=');
        *equals = 0;
        if (strcmp(found, name) == 0) return equals + 1;
    }
    return strcmp(name, "name") == 0 ? "" : name;
}

/* [input, number, output, {arguments}], where the input may be "_CONSTANT_VALUE", number -1 and the value. */
static liana_status read_keras2(reader *r, const liana__value *call, const char *renamed)
{
    while (call && call->kind == LIANA__VALUE_LIST && call->count && call->items[0]->kind == LIANA__VALUE_LIST) {
        call = call->items[0];
    }
    if (!call || call->kind != LIANA__VALUE_LIST || call->count < 3) return LIANA_OK;
    char first[32], word[32];
    const char *operands = r->row->operands;
    const bool is_constant =
        call->items[0]->kind == LIANA__VALUE_STRING && strcmp(call->items[0]->string, "_CONSTANT_VALUE") == 0;
    if (is_constant && liana__operation_next(&operands, first)) LIANA_TRY(take(r, first, call->items[2]));
    const liana__value *given = call->count > 3 ? call->items[3] : NULL;
    for (size_t i = 0; given && given->kind == LIANA__VALUE_MAP && i < given->count; i++) {
        const char *name = name_of_argument(renamed, given->keys[i], word);
        if (*name) LIANA_TRY(take(r, name, given->items[i]));
    }
    return LIANA_OK;
}

liana_status liana__operation_from_keras(const liana__value *node, const liana__value *call, liana__arena *arena,
                                         const char **text, liana__error *error)
{
    const char *class_name = liana__value_text_of(node, "class_name", "?");
    const char *function = liana__value_text_of(liana__value_get(node, "config"), "function", NULL), *renamed = "";
    reader r = {.said = function ? function : class_name, .node = node, .arena = arena, .error = error};
    r.arguments = liana__value_map(arena);
    if (!r.arguments) return liana__fail_memory(error, "an operation");
    const bool is_known = function ? find_function(&r, function, &renamed) : (r.row = row_of_class(class_name)) != NULL;
    if (!is_known) {
        return refuse(&r, NULL, "liana has no operation '%.60s' (%s); in Keras, put layers in its place", r.said,
                      function ? "TensorFlow" : "keras.ops");
    }
    LIANA_TRY(function ? read_keras2(&r, call, renamed) : read_keras3(&r, call));
    const liana__function_call operation = {r.row, r.arguments};
    *text = liana__operation_text(arena, &operation);
    return *text ? LIANA_OK : liana__fail_memory(error, "an operation");
}

/* ---- writing ---- */

const char *liana__operation_module(liana__arena *arena, const liana__function_call *operation)
{
    return liana__arena_format(arena, "keras.src.ops.%s", operation->row->module);
}

liana__value *liana__operation_config(liana__arena *arena, const liana__function_call *operation)
{
    liana__value *config = liana__value_map(arena);
    for (size_t i = 0; config && i < operation->arguments->count; i++) {
        const char *name = operation->arguments->keys[i];
        if (!liana__operation_has(operation->row->settings, name)) continue;
        liana__value_set(arena, config, name, liana__value_copy(arena, operation->arguments->items[i]));
    }
    return config;
}

static liana__value *object(liana__arena *arena, const char *class_name, liana__value *config)
{
    liana__value *map = liana__value_map(arena);
    if (!map || !config) return NULL;
    liana__value_set(arena, map, "class_name", liana__value_string(arena, class_name));
    liana__value_set(arena, map, "config", config);
    return map;
}

/* "1:", "...", "None" or a number, as Keras writes a part of a key. */
static liana__value *write_part(liana__arena *arena, const liana__value *part)
{
    static const char *const ends[] = {"start", "stop", "step"};
    if (part->kind != LIANA__VALUE_STRING) return liana__value_copy(arena, part);
    if (strcmp(part->string, "None") == 0) return liana__value_null(arena);
    liana__value *config = liana__value_map(arena);
    if (!config) return NULL;
    if (strcmp(part->string, "...") == 0) return object(arena, "__ellipsis__", config);
    const char *at = part->string;
    for (size_t i = 0; i < 3; i++) {
        const size_t length = at ? strcspn(at, ":") : 0;
        const char *word = length ? liana__arena_format(arena, "%.*s", (int)length, at) : NULL;
        liana__value_set(arena, config, ends[i], word ? liana__value_from_word(arena, word) : liana__value_null(arena));
        at = at && at[length] == ':' ? at + length + 1 : NULL;
    }
    return object(arena, "__slice__", config);
}

static bool is_whole(const liana__value *value)
{
    bool whole = value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_LIST;
    for (size_t i = 0; whole && value->kind == LIANA__VALUE_LIST && i < value->count; i++) {
        whole = is_whole(value->items[i]);
    }
    return whole;
}

static liana__value *write_constant(liana__arena *arena, const char *name, const liana__value *value)
{
    if (value->kind != LIANA__VALUE_LIST) return liana__value_copy(arena, value);
    if (strcmp(name, "key") == 0) {
        liana__value *list = liana__value_list(arena);
        for (size_t i = 0; list && i < value->count; i++) {
            liana__value_add(arena, list, write_part(arena, value->items[i]));
        }
        return list;
    }
    liana__value *config = liana__value_map(arena);
    if (!config) return NULL;
    liana__value_set(arena, config, "value", liana__value_copy(arena, value));
    liana__value_set(arena, config, "dtype", liana__value_string(arena, is_whole(value) ? "int32" : "float32"));
    return object(arena, "__numpy__", config);
}

static bool is_any_given(const liana__value *arguments, const char *operands)
{
    char name[32];
    bool found = false;
    while (!found && liana__operation_next(&operands, name)) found = liana__value_get(arguments, name) != NULL;
    return found;
}

/* Operands that are left out before a constant are null. */
liana__value *liana__operation_args(liana__arena *arena, const liana__function_call *operation,
                                    liana__value *const *tensors, size_t count)
{
    liana__value *args = liana__value_list(arena);
    const char *operands = operation->row->operands;
    char name[32];
    size_t used = 0;
    while (args && liana__operation_next(&operands, name)) {
        const liana__value *given = liana__value_get(operation->arguments, name);
        if (given) {
            liana__value_add(arena, args, write_constant(arena, name, given));
            continue;
        }
        if (used == count && !is_any_given(operation->arguments, operands)) break;
        if (used == count) {
            liana__value_add(arena, args, liana__value_null(arena));
            continue;
        }
        liana__value *list = operands[-1] == '*' ? liana__value_list(arena) : NULL;
        do {
            liana__value_add(arena, list ? list : args, tensors[used++]);
        } while (liana__operation_is_list(operands) && used < count);
        if (list) liana__value_add(arena, args, list);
    }
    return args;
}
