/* Ops over axes: reductions, softmax, running sums and products. */
#include "onnx/op_table.h"
#include "ops/reduce/reduce.h"

/* The layout in which an input is reduced: axes that stay must be in the same order as in liana. */
static liana__onnx_layout layout_of(const liana__onnx_scope *scope, const liana__node *node)
{
    const liana__reduce_attributes *own = node->attributes;
    const liana__node *input = node->inputs[0];
    const int rank = input->shape.rank;
    const liana__onnx_value *value = liana__onnx_value_of(scope, input);
    if (own->keep_dims) return liana__onnx_value_of(scope, node)->layout;
    if (rank < 3 || value->layout != LIANA__ONNX_CHANNELS_FIRST) return LIANA__ONNX_NATURAL;
    unsigned gone = 0;
    for (int64_t i = 0; i < own->axes.count; i++) gone |= 1u << own->axes.values[i];
    const unsigned between = ((1u << (rank - 1)) - 1) & ~1u, last = 1u << (rank - 1);
    return (gone & last) || (gone & between) == between ? LIANA__ONNX_CHANNELS_FIRST : LIANA__ONNX_NATURAL;
}

/* Whether exactly the axes between the first and the last are reduced: pooling of whole images. */
static bool is_global(const liana__node *node)
{
    const liana__reduce_attributes *own = node->attributes;
    const int rank = node->inputs[0]->shape.rank;
    if (own->axes.count != rank - 2) return false;
    for (int i = 0; i < rank - 2; i++) {
        if (own->axes.values[i] != i + 1) return false;
    }
    return true;
}

static const char *global_type(const liana__node *node)
{
    if (node->dtype != LIANA_F32 || !is_global(node)) return NULL;
    if (node->op == &liana__op_reduce_mean) return "GlobalAveragePool";
    return node->op == &liana__op_reduce_max ? "GlobalMaxPool" : NULL;
}

/* ONNX adds no booleans and no integers of 8 or 16 bits. */
static liana_dtype computed_dtype(liana_dtype dtype)
{
    return liana_dtype_size(dtype) < 4 && dtype != LIANA_F16 ? LIANA_S32 : dtype;
}

static const char *reduce(liana__onnx_scope *scope, const liana__node *node, const char *type, const char *x,
                          const int64_t *axes)
{
    const liana__reduce_attributes *own = node->attributes;
    const size_t count = (size_t)own->axes.count;
    if (count == 0) return x;
    if (node->op == &liana__op_reduce_sum) {
        const char *list = liana__onnx_list_of(scope, "axes", axes, count);
        return liana__onnx_say(scope, node, type, LIANA__ONNX_OF(x, list),
                               LIANA__ONNX_WITH(LIANA__ONNX_INT("keepdims", own->keep_dims)));
    }
    return liana__onnx_say(scope, node, type, LIANA__ONNX_OF(x),
                           LIANA__ONNX_WITH(LIANA__ONNX_INTS("axes", axes, count),
                                            LIANA__ONNX_INT("keepdims", own->keep_dims)));
}

void liana__onnx_to_reduce(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__reduce_attributes *own = node->attributes;
    const liana__node *input = node->inputs[0];
    const liana__onnx_layout layout = layout_of(scope, node);
    const char *pooling = layout == LIANA__ONNX_CHANNELS_FIRST ? global_type(node) : NULL;
    const char *x = liana__onnx_name(scope, input, layout);
    int64_t axes[LIANA_MAX_RANK];
    if (pooling) {
        x = liana__onnx_say(scope, node, pooling, LIANA__ONNX_OF(x), NULL);
        liana__onnx_value_of(scope, node)->pooled = x;
        if (!own->keep_dims) x = liana__onnx_say(scope, node, "Flatten", LIANA__ONNX_OF(x), NULL);
    } else {
        const liana_dtype computed = computed_dtype(input->dtype);
        for (int64_t i = 0; i < own->axes.count; i++) {
            axes[i] = liana__onnx_axis(layout, input->shape.rank, (int)own->axes.values[i]);
        }
        x = liana__onnx_convert(scope, node, x, input->dtype, computed);
        x = liana__onnx_convert(scope, node, reduce(scope, node, type, x, axes), computed, node->dtype);
    }
    liana__onnx_give(scope, node, x, own->keep_dims ? layout : LIANA__ONNX_NATURAL);
}

void liana__onnx_to_softmax(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const liana__onnx_layout layout = liana__onnx_value_of(scope, node)->layout;
    const int rank = node->shape.rank;
    const char *x = liana__onnx_name(scope, node->inputs[0], layout);
    const int axis = layout == LIANA__ONNX_NATURAL ? -1 : liana__onnx_axis(layout, rank, rank - 1);
    x = liana__onnx_say(scope, node, type, LIANA__ONNX_OF(x), LIANA__ONNX_WITH(LIANA__ONNX_INT("axis", axis)));
    liana__onnx_give(scope, node, x, layout);
}

/* ---- running sums and products ---- */

/* One step of a running product: the product so far, and an element of each line. */
static Liana__Onnx__Graph *product_step(liana__onnx_scope *scope, const liana__node *node, bool exclusive)
{
    liana__onnx_export *file = scope->file;
    liana__onnx_scope body = {.file = file, .outer = scope, .layer = liana__onnx_layer_of(scope, node)};
    liana__onnx_list inputs = {0}, outputs = {0};
    liana__onnx_type type = {.dtype = node->dtype};
    const int axis = (int)liana__onnx_int(node, "axis");
    for (int i = 0; i < node->shape.rank; i++) {
        if (i != axis) type.sizes[type.rank++] = liana__onnx_dim(scope, node, i);
    }
    const char *before = liana__onnx_free_name(file, "product"), *x = liana__onnx_free_name(file, "factor");
    const char *after = liana__onnx_say(&body, NULL, "Mul", LIANA__ONNX_OF(before, x), NULL);
    const char *y = liana__onnx_say(&body, NULL, "Identity", LIANA__ONNX_OF(exclusive ? before : after), NULL);
    liana__onnx_append(file, &inputs, liana__onnx_value_info(file, before, &type));
    liana__onnx_append(file, &inputs, liana__onnx_value_info(file, x, &type));
    liana__onnx_append(file, &outputs, liana__onnx_value_info(file, after, &type));
    liana__onnx_append(file, &outputs, liana__onnx_value_info(file, y, &type));
    return liana__onnx_close(&body, "product", &inputs, &outputs);
}

static const char *product(liana__onnx_scope *scope, const liana__node *node, const char *x)
{
    const int64_t axis = liana__onnx_int(node, "axis"), reverse = liana__onnx_int(node, "reverse");
    liana__onnx_size sizes[LIANA_MAX_RANK];
    size_t count = 0;
    for (int i = 0; i < node->shape.rank; i++) {
        if (i != axis) sizes[count++] = liana__onnx_dim(scope, node, i);
    }
    const char *one = liana__onnx_number(scope, node->dtype, 1), *outputs[2];
    if (count) {
        const char *shape = liana__onnx_sizes(scope, node, sizes, count);
        one = liana__onnx_say(scope, node, "Expand", LIANA__ONNX_OF(one, shape), NULL);
    }
    Liana__Onnx__Graph *step = product_step(scope, node, liana__onnx_int(node, "exclusive") != 0);
    liana__onnx_say_many(scope, node, "Scan", LIANA__ONNX_OF(one, x),
                         LIANA__ONNX_WITH(LIANA__ONNX_GRAPH("body", step), LIANA__ONNX_INT("num_scan_inputs", 1),
                                          LIANA__ONNX_INTS("scan_input_axes", &axis, 1),
                                          LIANA__ONNX_INTS("scan_output_axes", &axis, 1),
                                          LIANA__ONNX_INTS("scan_input_directions", &reverse, 1),
                                          LIANA__ONNX_INTS("scan_output_directions", &reverse, 1)),
                         outputs, 2);
    return outputs[1];
}

void liana__onnx_to_cumulative(liana__onnx_scope *scope, const liana__node *node, const char *type)
{
    const char *x = liana__onnx_input(scope, node, 0);
    if (!type) {
        x = product(scope, node, x);
    } else {
        const int64_t axis = liana__onnx_int(node, "axis");
        const liana_dtype computed = computed_dtype(node->dtype);
        x = liana__onnx_convert(scope, node, x, node->dtype, computed);
        const char *along = liana__onnx_constant(scope, "axis", LIANA_S64, &LIANA_SCALAR, &axis);
        x = liana__onnx_say(scope, node, type, LIANA__ONNX_OF(x, along),
                            LIANA__ONNX_WITH(LIANA__ONNX_INT("exclusive", liana__onnx_int(node, "exclusive")),
                                             LIANA__ONNX_INT("reverse", liana__onnx_int(node, "reverse"))));
        x = liana__onnx_convert(scope, node, x, computed, node->dtype);
    }
    liana__onnx_give(scope, node, x, LIANA__ONNX_NATURAL);
}
