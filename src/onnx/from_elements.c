/* Operators that work element by element: activations, arithmetic, comparisons. */
#include "onnx/import_elements.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- of one value ---- */

static liana_status add_one(liana__import *own, liana__import_node *node, const char *type,
                            const liana__import_options *options)
{
    liana__import_value *x;
    size_t result;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_add(own, node, type, NULL, options, &x->result, 1, &result));
    liana__import_set_like(node->outputs[0], x, result);
    return LIANA_OK;
}

static liana_status activate(liana__import *own, liana__import_node *node, const char *text)
{
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_text(&options, "activation", text);
    return add_one(own, node, "Activation", &options);
}

static liana_status operate(liana__import *own, liana__import_node *node, const char *text)
{
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_text(&options, "function", text);
    return add_one(own, node, "Operation", &options);
}

/* Operators whose names are liana's in other words. */
typedef struct name_row {
    const char *op, *name;
} name_row;

static const name_row activations[] = {
    {"Sigmoid", "sigmoid"},
    {"Tanh", "tanh"},
    {"Softplus", "softplus"},
    {"Softsign", "softsign"},
    {"HardSwish", "hard_silu"},
    {"Mish", "mish"},
    {NULL, NULL},
};
static const name_row operations[] = {
    {"Exp", "exp"},       {"Log", "log"},         {"Sqrt", "sqrt"},
    {"Neg", "negative"},  {"Abs", "abs"},         {"Reciprocal", "reciprocal"},
    {"Floor", "floor"},   {"Ceil", "ceil"},       {"Round", "round"},
    {"Sign", "sign"},     {"Erf", "erf"},         {"Sin", "sin"},
    {"Cos", "cos"},       {"Tan", "tan"},         {"Sinh", "sinh"},
    {"Cosh", "cosh"},     {"Asin", "arcsin"},     {"Acos", "arccos"},
    {"Atan", "arctan"},   {"Asinh", "arcsinh"},   {"Acosh", "arccosh"},
    {"Atanh", "arctanh"}, {"Not", "logical_not"}, {"IsNaN", "isnan"},
    {"IsInf", "isinf"},   {NULL, NULL},
};

static const char *find_name(const name_row *rows, const char *op)
{
    for (; rows->op; rows++) {
        if (strcmp(rows->op, op) == 0) return rows->name;
    }
    return "";
}

static liana_status read_activation(liana__import *own, liana__import_node *node)
{
    return activate(own, node, find_name(activations, node->op));
}

static liana_status read_operation(liana__import *own, liana__import_node *node)
{
    const bool has_both =
        liana__import_int(node, "detect_positive", 1) && liana__import_int(node, "detect_negative", 1);
    if (!has_both) return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "infinities of one sign");
    return operate(own, node, find_name(operations, node->op));
}

static liana_status read_relu(liana__import *own, liana__import_node *node)
{
    return add_one(own, node, "ReLU", NULL);
}

static liana_status read_leaky_relu(liana__import *own, liana__import_node *node)
{
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_float(&options, "negative_slope", liana__import_float(node, "alpha", 0.01));
    return add_one(own, node, "LeakyReLU", &options);
}

static liana_status read_elu(liana__import *own, liana__import_node *node)
{
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_float(&options, "alpha", liana__import_float(node, "alpha", 1));
    return add_one(own, node, "ELU", &options);
}

static liana_status read_with_alpha(liana__import *own, liana__import_node *node)
{
    char text[64];
    const bool is_celu = strcmp(node->op, "Celu") == 0;
    const double alpha = liana__import_float(node, "alpha", 1);
    snprintf(text, sizeof text, is_celu ? "celu(alpha=%.9e)" : "threshold(threshold=%.9e, default_value=0.0)", alpha);
    return activate(own, node, text);
}

/* selu has its own constants in liana; another Selu is made of an elu. */
static liana_status read_selu(liana__import *own, liana__import_node *node)
{
    const double alpha = liana__import_float(node, "alpha", 1.67326319217681884765625);
    const double gamma = liana__import_float(node, "gamma", 1.05070102214813232421875);
    if (fabs(alpha - 1.6732632) < 1e-6 && fabs(gamma - 1.0507010) < 1e-6) return activate(own, node, "selu");
    return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "found alpha %g and gamma %g, expected those of SELU",
                              alpha, gamma);
}

static liana_status read_gelu(liana__import *own, liana__import_node *node)
{
    const bool is_tanh = strcmp(liana__import_text(node, "approximate", "none").text, "tanh") == 0;
    return activate(own, node, is_tanh ? "gelu(approximate=true)" : "gelu(approximate=false)");
}

/* max(0, min(1, alpha x + beta)): liana's has alpha 1/6 and beta 1/2. */
static liana_status read_hard_sigmoid(liana__import *own, liana__import_node *node)
{
    const double alpha = liana__import_float(node, "alpha", 0.2), beta = liana__import_float(node, "beta", 0.5);
    liana__import_value *x;
    size_t result;
    if (fabs(alpha - 1.0 / 6) < 1e-6 && beta == 0.5) return activate(own, node, "hard_sigmoid");
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_operation(own, node, &x->result, 1, &result, "multiply(x2=%.9e)", alpha));
    LIANA_TRY(liana__import_operation(own, node, &result, 1, &result, "add(x2=%.9e)", beta));
    LIANA_TRY(liana__import_operation(own, node, &result, 1, &result, "clip(x_min=0.0, x_max=1.0)"));
    liana__import_set_like(node->outputs[0], x, result);
    return LIANA_OK;
}

static liana_status read_clip(liana__import *own, liana__import_node *node)
{
    double low, high;
    char text[96];
    LIANA_TRY(liana__import_number(own, node, "min", 1, -INFINITY, &low));
    LIANA_TRY(liana__import_number(own, node, "max", 2, INFINITY, &high));
    if (low == 0 && high > 0) {
        const liana__import_options options = liana__import_options_new(own);
        if (high < 3e38) liana__import_set_float(&options, "max_value", high);
        return add_one(own, node, "ReLU", &options);
    }
    if (!(low <= high)) return liana__import_fail(own, node, LIANA_INVALID_DATA, "min %g is above max %g", low, high);
    snprintf(text, sizeof text, "clip(x_min=%.9e, x_max=%.9e)", low < -3e38 ? -3.4e38 : low,
             high > 3e38 ? 3.4e38 : high);
    return operate(own, node, text);
}

static liana_status read_prelu(liana__import *own, liana__import_node *node)
{
    liana__import_value *x, *slope = liana__import_input(node, 1);
    size_t images, result;
    float *values;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_images(own, node, x, &images));
    const liana_shape shape = *liana__import_shape(own, images);
    const int64_t channels = shape.dims[shape.rank - 1];
    /* [channels] would stand for the last axis of ONNX. */
    const liana__import_constant *given = liana__import_is_constant(slope) ? slope->constant : NULL;
    const int axis = given ? given->rank - x->rank + 1 : 0;
    const bool is_of_channels = given && given->count == channels && axis >= 0 && given->dims[axis] == channels;
    if (!given || !given->is_float || (!is_of_channels && given->count != 1)) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "its slope is no initializer with a number for each channel: [channels, 1, ...]");
    }
    const liana__import_options options = liana__import_options_new(own);
    int64_t axes[LIANA_MAX_RANK];
    int count = 0;
    for (int i = 1; i < shape.rank; i++) {
        if (i < shape.rank - 1 || (slope->constant->count == 1 && channels > 1)) axes[count++] = i;
    }
    if (count) liana__import_set_ints(&options, "shared_axes", axes, count);
    const char *stem = liana__import_stem(own, slope->constant);
    LIANA_TRY(liana__import_add(own, node, "PReLU", stem, &options, &images, 1, &result));
    const int order[LIANA_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    LIANA_TRY(liana__import_permuted(own, slope->constant, order, &values));
    LIANA_TRY(liana__import_give(own, node, result, 0, values));
    liana__import_set_images(node->outputs[0], result, shape.rank);
    return LIANA_OK;
}

static liana_status read_softmax(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    size_t result;
    int axis, single;
    const bool is_old = own->opset < 13, is_log = strcmp(node->op, "LogSoftmax") == 0;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_axis_of(own, node, liana__import_int(node, "axis", is_old ? 1 : -1), x->rank, &axis));
    for (int i = axis + 1; is_old && i < x->rank; i++) {
        if (liana__import_size(own, x, i) == 1) continue;
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "softmax over several axes together");
    }
    if (liana__import_has_batch(x, axis))
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "softmax over the batch");
    LIANA_TRY(liana__import_single(own, node, x, axis, &single));
    if (is_log) {
        LIANA_TRY(liana__import_operation(own, node, &x->result, 1, &result, "log_softmax(axis=%d)", single));
    } else {
        const liana__import_options options = liana__import_options_new(own);
        const int64_t place = single;
        const bool is_last = single == liana__import_shape(own, x->result)->rank - 1;
        if (!is_last) liana__import_set_ints(&options, "axis", &place, 1);
        LIANA_TRY(liana__import_add(own, node, "Softmax", NULL, &options, &x->result, 1, &result));
    }
    liana__import_set_like(node->outputs[0], x, result);
    return LIANA_OK;
}

/* Its input; constants pass as well. */
static liana_status read_identity(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    liana__import_set_like(node->outputs[0], x, x->result);
    return LIANA_OK;
}

static liana_status read_dropout(liana__import *own, liana__import_node *node)
{
    double rate;
    LIANA_TRY(liana__import_number(own, node, "ratio", 1, 0.5, &rate));
    if (!(rate > 0)) return read_identity(own, node);
    if (rate >= 1)
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "found a ratio of %g, expected less than 1", rate);
    if (node->num_outputs > 1 && node->outputs[1] && node->outputs[1]->num_users) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "its mask is read");
    }
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_float(&options, "rate", rate);
    return add_one(own, node, "Dropout", &options);
}

static liana_status read_cast(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    const liana_dtype dtype = own->model->nodes[x->result].dtype;
    switch (liana__import_int(node, "to", 0)) {
    case LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT:
    case LIANA__ONNX__TENSOR__DATA_TYPE__DOUBLE:
    case LIANA__ONNX__TENSOR__DATA_TYPE__FLOAT16:
    case LIANA__ONNX__TENSOR__DATA_TYPE__BFLOAT16:
        return dtype == LIANA_F32 ? read_identity(own, node) : operate(own, node, "cast(dtype=float32)");
    case LIANA__ONNX__TENSOR__DATA_TYPE__INT32:
    case LIANA__ONNX__TENSOR__DATA_TYPE__INT64:
        return dtype == LIANA_S32 ? read_identity(own, node) : operate(own, node, "cast(dtype=int32)");
    case LIANA__ONNX__TENSOR__DATA_TYPE__BOOL:
        return dtype == LIANA_BOOL ? read_identity(own, node) : operate(own, node, "cast(dtype=bool)");
    default:
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "a cast to dtype %lld of ONNX",
                                  (long long)liana__import_int(node, "to", 0));
    }
}

/* ---- constants as operands ---- */

typedef struct written {
    liana__import *own;
    const liana__import_constant *constant;
    const float *floats;
    const int64_t *ints;
    liana__text *text;
    int rank;                        /* of the result */
    int64_t sizes[LIANA_MAX_RANK];   /* along each axis of the result */
    int64_t strides[LIANA_MAX_RANK]; /* in the constant; 0: it has one element there */
} written;

static void write_number(const written *own, int64_t place)
{
    char number[32];
    if (own->constant->is_bool) {
        liana__text_add(own->text, own->ints[place] ? "true" : "false");
        return;
    }
    if (!own->constant->is_float) {
        liana__text_add(own->text, "%lld", (long long)own->ints[place]);
        return;
    }
    double value = (double)own->floats[place];
    if (value > 3.4e38) value = 3.4e38;
    if (value < -3.4e38) value = -3.4e38;
    snprintf(number, sizeof number, "%.9g", value);
    const bool is_whole = !strpbrk(number, ".en");
    if (strchr(number, 'e') && !strchr(number, '.')) snprintf(number, sizeof number, "%.8e", value);
    liana__text_add(own->text, "%s%s", number, is_whole ? ".0" : "");
}

static void write_list(const written *own, int axis, int64_t place)
{
    if (axis == own->rank) {
        write_number(own, place);
        return;
    }
    liana__text_add(own->text, "[");
    for (int64_t i = 0; i < own->sizes[axis]; i++) {
        if (i) liana__text_add(own->text, ", ");
        write_list(own, axis + 1, place + i * own->strides[axis]);
    }
    liana__text_add(own->text, "]");
}

/* A constant that was made for each example of the batch, with the same numbers: those of one example. */
static liana_status take_example(liana__import *own, liana__import_node *node, const liana__import_value *value,
                                 liana__import_constant **constant)
{
    const liana__import_constant *all = *constant;
    const int axis = value->rank - all->rank;
    int batch = -1;
    for (int i = 0; i < all->rank; i++) {
        const bool meets = axis + i >= 0 && liana__import_has_batch(value, axis + i);
        if (meets && all->dims[i] == own->batch && all->dims[i] > 1) batch = i;
    }
    if (batch < 0) return LIANA_OK;
    liana__import_constant *one = liana__arena_copy(&own->arena, all, sizeof *all);
    int64_t inner = 1;
    for (int i = batch + 1; i < all->rank; i++) inner *= all->dims[i];
    const float *floats = all->is_float ? liana__import_floats(own, *constant) : NULL;
    const int64_t *ints = all->is_float ? NULL : liana__import_ints(own, *constant);
    if (!one || (!floats && !ints)) return one ? own->error->status : liana__fail_memory(own->error, own->path);
    const int64_t count = all->count / own->batch;
    float *some = liana__arena_allocate(&own->arena, (size_t)(count + 1) * sizeof *some);
    int64_t *whole = liana__arena_allocate(&own->arena, (size_t)(count + 1) * sizeof *whole);
    if (!some || !whole) return liana__fail_memory(own->error, own->path);
    bool is_same = true;
    for (int64_t i = 0; i < all->count; i++) {
        const int64_t first = i / (inner * own->batch) * inner * own->batch + i % inner;
        const int64_t place = i / (inner * own->batch) * inner + i % inner;
        is_same = is_same && (floats ? floats[i] == floats[first] : ints[i] == ints[first]);
        if (floats) some[place] = floats[first];
        if (ints) whole[place] = ints[first];
    }
    if (!is_same)
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "a constant has other numbers for each example");
    one->dims[batch] = 1;
    one->count = count;
    one->tensor = NULL;
    one->floats = floats ? some : NULL;
    one->ints = floats ? NULL : whole;
    *constant = one;
    return LIANA_OK;
}

/* Gives the value axes for those of the constant: its axes are then whole or several axes of the result. */
static liana_status make_room(liana__import *own, liana__import_node *node, const liana__import_constant *constant,
                              liana__import_value *value)
{
    const int more = constant->rank - value->rank;
    if (more > 0) {
        memmove(value->axes + more, value->axes, (size_t)value->rank * sizeof *value->axes);
        memset(value->axes, 0, (size_t)more * sizeof *value->axes);
        value->rank += more;
    }
    for (int i = 0; i < constant->rank; i++) {
        const int axis = i + value->rank - constant->rank;
        const int64_t size = liana__import_size(own, value, axis);
        int single;
        if (constant->dims[i] == 1 || constant->dims[i] == size) continue;
        if (size != 1 || liana__import_has_batch(value, axis)) {
            return liana__import_fail(own, node, LIANA_INVALID_DATA,
                                      "a constant has %lld elements along an axis, the data %lld",
                                      (long long)constant->dims[i], (long long)size);
        }
        LIANA_TRY(liana__import_single(own, node, value, axis, &single));
    }
    return LIANA_OK;
}

static void find_strides(const liana__import *own, const liana__import_constant *constant,
                         const liana__import_value *value, written *made)
{
    const liana_shape *shape = liana__import_shape(own, value->result);
    int64_t stride = 1;
    made->rank = shape->rank;
    for (int i = 0; i < made->rank; i++) made->sizes[i] = 1;
    for (int i = constant->rank - 1; i >= 0; i--) {
        const liana__import_axis *axis = &value->axes[i + value->rank - constant->rank];
        int64_t inner = stride;
        for (int k = axis->count - 1; constant->dims[i] > 1 && k >= 0; k--) {
            const int at = axis->at[k];
            made->sizes[at] = axis->count == 1 ? constant->dims[i] : shape->dims[at];
            made->strides[at] = inner;
            inner *= made->sizes[at];
        }
        stride *= constant->dims[i];
    }
}

liana_status liana__import_write_constant(liana__import *own, liana__import_node *node,
                                          liana__import_constant *constant, liana__import_value *value, bool whole,
                                          liana__text *text)
{
    LIANA_TRY(take_example(own, node, value, &constant));
    written made = {.own = own, .constant = constant, .text = text};
    if (constant->count > 1 << 16) {
        return liana__import_fail(
            own, node, LIANA_UNIMPLEMENTED,
            "a constant of %lld numbers is no weight of a layer; at most %d can stand in an operation",
            (long long)constant->count, 1 << 16);
    }
    LIANA_TRY(make_room(own, node, constant, value));
    made.floats = constant->is_float ? liana__import_floats(own, constant) : NULL;
    made.ints = constant->is_float ? NULL : liana__import_ints(own, constant);
    if (!made.floats && !made.ints) return own->error->status;
    find_strides(own, constant, value, &made);
    if (made.sizes[0] != 1) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "a constant has other numbers for each example");
    }
    int first = whole ? 0 : 1;
    while (!whole && first < made.rank && made.sizes[first] == 1) first++;
    write_list(&made, first, 0);
    if (constant->count > 1 && constant->is_float && !own->told_constants) {
        own->told_constants = true;
        liana__note(
            &own->options->notes,
            "%s: constants in arithmetic, such as '%.100s' of %s '%.100s', are kept as they are; training does not "
            "change them",
            own->path, constant->name ? constant->name : "", node->op, node->name);
    }
    return text->failed ? liana__fail_memory(own->error, own->path) : LIANA_OK;
}

/* ---- of two values ---- */

typedef struct binary_row {
    const char *op, *name; /* of an operation */
    const char *layer;     /* of a layer that does the same; NULL: none */
} binary_row;

static const binary_row binaries[] = {
    {"Add", "add", "Add"},
    {"Sub", "subtract", "Subtract"},
    {"Mul", "multiply", "Multiply"},
    {"Div", "divide", NULL},
    {"Pow", "power", NULL},
    {"Max", "maximum", "Maximum"},
    {"Min", "minimum", "Minimum"},
    {"Sum", "add", "Add"},
    {"Mean", "add", "Average"},
    {"Mod", "mod", NULL},
    {"Equal", "equal", NULL},
    {"Less", "less", NULL},
    {"LessOrEqual", "less_equal", NULL},
    {"Greater", "greater", NULL},
    {"GreaterOrEqual", "greater_equal", NULL},
    {"And", "logical_and", NULL},
    {"Or", "logical_or", NULL},
    {"Xor", "logical_xor", NULL},
    {NULL, NULL, NULL},
};

/* A quotient of integers is cut off towards zero: that of their magnitudes, with the signs of both. */
static liana_status divide_integers(liana__import *own, liana__import_node *node, const size_t inputs[2],
                                    size_t *result)
{
    size_t magnitudes[2], signs[2], parts[2];
    for (size_t i = 0; i < 2; i++) {
        LIANA_TRY(liana__import_operation(own, node, &inputs[i], 1, &magnitudes[i], "abs"));
        LIANA_TRY(liana__import_operation(own, node, &inputs[i], 1, &signs[i], "sign"));
    }
    LIANA_TRY(liana__import_operation(own, node, magnitudes, 2, &parts[0], "floor_divide"));
    LIANA_TRY(liana__import_operation(own, node, signs, 2, &parts[1], "multiply"));
    return liana__import_operation(own, node, parts, 2, result, "multiply");
}

/* The same with a constant. */
static liana_status divide_constant(liana__import *own, liana__import_node *node, size_t x, const char *text,
                                    bool is_first, size_t *result)
{
    size_t number;
    LIANA_TRY(liana__import_operation(own, node, &x, 1, &number, "full_like(fill_value=0)"));
    LIANA_TRY(liana__import_operation(own, node, &number, 1, &number, "add(x2=%s)", text));
    const size_t both[] = {is_first ? number : x, is_first ? x : number};
    return divide_integers(own, node, both, result);
}

static bool is_integer(const liana__import *own, size_t result)
{
    return own->model->nodes[result].dtype == LIANA_S32;
}

/* What no operation of liana does as ONNX does. */
static liana_status check_binary(const liana__import *own, const liana__import_node *node, bool are_floats)
{
    if (strcmp(node->op, "Mod") == 0 && liana__import_int(node, "fmod", 0)) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "fmod: a remainder with the sign of the dividend");
    }
    if (strcmp(node->op, "Mean") == 0 && !are_floats) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "a mean of integers");
    }
    return LIANA_OK;
}

static liana_status with_constant(liana__import *own, liana__import_node *node, const binary_row *row,
                                  const liana__import_value *x, liana__import_constant *constant, bool is_first)
{
    LIANA__SCOPED(liana__text) text = {0};
    liana__import_value like = *x;
    size_t result;
    LIANA_TRY(check_binary(own, node, !is_integer(own, x->result)));
    LIANA_TRY(liana__import_write_constant(own, node, constant, &like, false, &text));
    if (is_integer(own, x->result) && strcmp(row->op, "Div") == 0) {
        LIANA_TRY(divide_constant(own, node, like.result, text.data, is_first, &result));
    } else {
        LIANA_TRY(liana__import_operation(own, node, &like.result, 1, &result, "%s(%s=%s)", row->name,
                                          is_first ? "x1" : "x2", text.data));
    }
    if (strcmp(row->op, "Mean") == 0) {
        LIANA_TRY(liana__import_operation(own, node, &result, 1, &result, "multiply(x2=0.5)"));
    }
    liana__import_set_like(node->outputs[0], &like, result);
    return LIANA_OK;
}

static liana_status of_results(liana__import *own, liana__import_node *node, const binary_row *row)
{
    liana__import_value values[LIANA_MAX_LAYER_INPUTS];
    size_t inputs[LIANA_MAX_LAYER_INPUTS], result;
    const size_t count = node->num_inputs;
    bool are_floats = true;
    for (size_t i = 0; i < count; i++) {
        liana__import_value *x;
        LIANA_TRY(liana__import_result(own, node, i, &x));
        values[i] = *x;
        are_floats = are_floats && own->model->nodes[x->result].dtype == LIANA_F32;
    }
    LIANA_TRY(check_binary(own, node, are_floats));
    LIANA_TRY(liana__import_align(own, node, values, count));
    for (size_t i = 0; i < count; i++) inputs[i] = values[i].result;
    if (strcmp(row->op, "Div") == 0 && is_integer(own, inputs[0]) && is_integer(own, inputs[1])) {
        LIANA_TRY(divide_integers(own, node, inputs, &result));
    } else if (row->layer && are_floats) {
        LIANA_TRY(liana__import_add(own, node, row->layer, NULL, NULL, inputs, count, &result));
    } else if (count == 2) {
        LIANA_TRY(liana__import_operation(own, node, inputs, 2, &result, "%s", row->name));
    } else {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "found %zu inputs, expected 2", count);
    }
    liana__import_set_like(node->outputs[0], &values[0], result);
    return LIANA_OK;
}

static liana_status read_binary(liana__import *own, liana__import_node *node)
{
    const binary_row *row = binaries;
    while (row->op && strcmp(row->op, node->op) != 0) row++;
    if (node->num_inputs < 1 || node->num_inputs > LIANA_MAX_LAYER_INPUTS || !row->op) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "found %zu inputs, expected 1 to %d", node->num_inputs,
                                  LIANA_MAX_LAYER_INPUTS);
    }
    if (node->num_inputs == 1) return read_identity(own, node);
    liana__import_value *a = node->inputs[0], *b = node->inputs[1];
    if (node->num_inputs == 2 && liana__import_is_constant(b) && a)
        return with_constant(own, node, row, a, b->constant, false);
    if (node->num_inputs == 2 && liana__import_is_constant(a) && b)
        return with_constant(own, node, row, b, a->constant, true);
    return of_results(own, node, row);
}

/* Where: condition and choices may be constants. */
static liana_status read_where(liana__import *own, liana__import_node *node)
{
    static const char *const names[] = {"condition", "x1", "x2"};
    liana__import_value values[3];
    size_t inputs[3], count = 0, result;
    LIANA__SCOPED(liana__text) text = {0};
    for (size_t i = 0; i < 3; i++) {
        const liana__import_value *value = liana__import_input(node, i);
        if (!value)
            return liana__import_fail(own, node, LIANA_INVALID_DATA, "found %zu inputs, expected 3", node->num_inputs);
        if (value->kind == LIANA__IMPORT_RESULT) values[count++] = *value;
    }
    LIANA_TRY(liana__import_align(own, node, values, count));
    for (size_t i = 0; i < 3; i++) {
        const liana__import_value *value = node->inputs[i];
        if (value->kind != LIANA__IMPORT_CONSTANT) continue;
        const int before = liana__import_shape(own, values[0].result)->rank;
        liana__text_add(&text, "%s%s=", text.data ? ", " : "", names[i]);
        LIANA_TRY(
            liana__import_write_constant(own, node, value->constant, &values[0], value->constant->count > 1, &text));
        if (before != liana__import_shape(own, values[0].result)->rank) {
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "its constants have more axes than its data");
        }
    }
    for (size_t i = 0; i < count; i++) inputs[i] = values[i].result;
    LIANA_TRY(liana__import_operation(own, node, inputs, count, &result, "where(%s)", text.data ? text.data : ""));
    liana__import_set_like(node->outputs[0], &values[0], result);
    return LIANA_OK;
}

const liana__import_op liana__import_elements[] = {
    {"Relu", read_relu},
    {"LeakyRelu", read_leaky_relu},
    {"Elu", read_elu},
    {"Celu", read_with_alpha},
    {"ThresholdedRelu", read_with_alpha},
    {"Selu", read_selu},
    {"Gelu", read_gelu},
    {"HardSigmoid", read_hard_sigmoid},
    {"Sigmoid", read_activation},
    {"Tanh", read_activation},
    {"Softplus", read_activation},
    {"Softsign", read_activation},
    {"HardSwish", read_activation},
    {"Mish", read_activation},
    {"Clip", read_clip},
    {"PRelu", read_prelu},
    {"Softmax", read_softmax},
    {"LogSoftmax", read_softmax},
    {"Identity", read_identity},
    {"Dropout", read_dropout},
    {"Cast", read_cast},
    {"Where", read_where},
    {"Add", read_binary},
    {"Sub", read_binary},
    {"Mul", read_binary},
    {"Div", read_binary},
    {"Pow", read_binary},
    {"Max", read_binary},
    {"Min", read_binary},
    {"Sum", read_binary},
    {"Mean", read_binary},
    {"Mod", read_binary},
    {"Equal", read_binary},
    {"Less", read_binary},
    {"LessOrEqual", read_binary},
    {"Greater", read_binary},
    {"GreaterOrEqual", read_binary},
    {"And", read_binary},
    {"Or", read_binary},
    {"Xor", read_binary},
    {"Exp", read_operation},
    {"Log", read_operation},
    {"Sqrt", read_operation},
    {"Neg", read_operation},
    {"Abs", read_operation},
    {"Reciprocal", read_operation},
    {"Floor", read_operation},
    {"Ceil", read_operation},
    {"Round", read_operation},
    {"Sign", read_operation},
    {"Erf", read_operation},
    {"Sin", read_operation},
    {"Cos", read_operation},
    {"Tan", read_operation},
    {"Sinh", read_operation},
    {"Cosh", read_operation},
    {"Asin", read_operation},
    {"Acos", read_operation},
    {"Atan", read_operation},
    {"Asinh", read_operation},
    {"Acosh", read_operation},
    {"Atanh", read_operation},
    {"Not", read_operation},
    {"IsNaN", read_operation},
    {"IsInf", read_operation},
    {0},
};
