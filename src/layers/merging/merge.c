/* Add, Subtract, Multiply, Average, Maximum and Minimum: element by element. */
#include "layers/option_rows.h"

#include <liana/layers/merging.h>

#include <stdio.h>

/* The inputs as the layer joins them. As in Keras 3, those of lower rank get axes of size 1 behind the batch, and lose
 * their masks within the layer. */
typedef struct joint {
    liana_tensor x[LIANA_MAX_LAYER_INPUTS];
    liana_tensor masks[LIANA_MAX_LAYER_INPUTS]; /* [.., 1]; id 0: none */
    size_t count;
} joint;

static liana_tensor insert_axes(const liana_layer_call *call, liana_tensor x, int rank)
{
    const liana_shape old = liana_tensor_shape(x);
    liana_shape shape = {.rank = rank, .dims = {old.dims[0]}};
    for (int i = 1; i < rank; i++) shape.dims[i] = i <= rank - old.rank ? 1 : old.dims[i - (rank - old.rank)];
    return liana_op_reshape_at(call->here, x, shape);
}

static liana_tensor stretch_mask(const liana_layer_call *call, liana_tensor mask)
{
    liana_shape shape = liana_tensor_shape(mask);
    shape.dims[shape.rank++] = 1;
    return liana_op_reshape_at(call->here, mask, shape);
}

static bool is_of_keras2(const liana_layer_call *call)
{
    return ((const liana_merge_options *)call->options)->masks_of_keras2;
}

static joint find_joint(const liana_layer_call *call)
{
    joint found = {.count = call->num_inputs};
    int rank = 0;
    for (size_t i = 0; i < call->num_inputs; i++) {
        const int own = liana_tensor_shape(call->inputs[i]).rank;
        rank = own > rank ? own : rank;
    }
    for (size_t i = 0; i < call->num_inputs; i++) {
        const int own = liana_tensor_shape(call->inputs[i]).rank;
        const bool is_masked = call->masks[i].id && own == rank && liana_tensor_shape(call->masks[i]).rank == rank - 1;
        found.x[i] = own < rank ? insert_axes(call, call->inputs[i], rank) : call->inputs[i];
        if (is_masked && !is_of_keras2(call)) found.masks[i] = stretch_mask(call, call->masks[i]);
    }
    return found;
}

static liana_tensor number(const liana_layer_call *call, double value)
{
    return liana_graph_scalar_at(call->here, call->inputs[0].graph, liana_tensor_dtype(call->inputs[0]), value);
}

static liana_tensor call_add(liana_layer_call *call)
{
    const joint of = find_joint(call);
    liana_tensor y = of.x[0];
    for (size_t i = 1; i < of.count; i++) y = liana_op_add_at(call->here, y, of.x[i]);
    return y;
}

static liana_tensor call_average(liana_layer_call *call)
{
    return liana_op_divide_at(call->here, call_add(call), number(call, (double)call->num_inputs));
}

static liana_tensor call_subtract(liana_layer_call *call)
{
    const joint of = find_joint(call);
    return liana_op_subtract_at(call->here, of.x[0], of.x[1]);
}

/* An input counts as 1 where its mask leaves it out. Where the masks of all inputs do, the result is 0. */
static liana_tensor call_multiply(liana_layer_call *call)
{
    const joint of = find_joint(call);
    liana_tensor y = {0}, mask = {0};
    bool all = true;
    for (size_t i = 0; i < of.count; i++) {
        liana_tensor x = of.x[i], own = of.masks[i];
        all = all && own.id;
        if (own.id) {
            x = liana_op_select_at(call->here, own, x, number(call, 1));
            mask = mask.id ? liana_op_logical_or_at(call->here, mask, own) : own;
        }
        y = i ? liana_op_multiply_at(call->here, y, x) : x;
    }
    return all ? liana_op_select_at(call->here, mask, y, number(call, 0)) : y;
}

/* Where a mask leaves an input out, the others decide. */
static liana_tensor choose(liana_layer_call *call,
                           liana_tensor (*of_two)(liana_location here, liana_tensor a, liana_tensor b))
{
    const joint of = find_joint(call);
    liana_tensor y = of.x[0], mask = of.masks[0];
    for (size_t i = 1; i < of.count; i++) {
        liana_tensor x = of.x[i], own = of.masks[i];
        if (own.id) x = liana_op_select_at(call->here, own, x, y);
        if (mask.id) y = liana_op_select_at(call->here, mask, y, x);
        mask = mask.id && own.id ? liana_op_logical_or_at(call->here, mask, own) : (liana_tensor){0};
        y = of_two(call->here, y, x);
    }
    return y;
}

static liana_tensor call_maximum(liana_layer_call *call)
{
    return choose(call, liana_op_maximum_at);
}

static liana_tensor call_minimum(liana_layer_call *call)
{
    return choose(call, liana_op_minimum_at);
}

/* Keras 2's rule: and of the masks that there are. */
static liana_tensor all_masks(const liana_layer_call *call)
{
    liana_tensor mask = {0};
    for (size_t i = 0; i < call->num_inputs; i++) {
        if (!call->masks[i].id) continue;
        mask = mask.id ? liana_op_logical_and_at(call->here, mask, call->masks[i]) : call->masks[i];
    }
    return mask;
}

/* The shape of all inputs together, by numpy's rule behind the batch. */
static liana_status check_shapes(liana_layer_build *build)
{
    liana_shape joined = build->inputs[0];
    for (size_t i = 1; i < build->num_inputs; i++) {
        liana_shape own = build->inputs[i];
        for (int back = 1; back < own.rank && back < joined.rank; back++) {
            int64_t *size = &joined.dims[joined.rank - back];
            const int64_t other = own.dims[own.rank - back];
            if (*size == 1) *size = other;
            if (*size == other || other == 1) continue;
            char expected[80];
            snprintf(expected, sizeof expected, "the size %lld or 1 along axis %d, as the inputs before it",
                     (long long)*size, own.rank - back);
            return liana_layer_refuse(build, i, expected);
        }
        if (own.rank <= joined.rank) continue;
        const int lead = own.rank - joined.rank;
        for (int k = 1; k < joined.rank; k++) own.dims[k + lead] = joined.dims[k];
        joined = own;
    }
    return LIANA_OK;
}

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_merge_options, masks_of_keras2, BOOL, .default_text = "false",
                     .doc = "true: masks change no value, and a step counts if it counts in all inputs with a mask"),
};

#define MERGE(op, class_name, most, doc)                                                                     \
    static liana_tensor merge_##op(liana_layer_call *call)                                                   \
    {                                                                                                        \
        const bool old = is_of_keras2(call);                                                                 \
        call->mask = old ? all_masks(call) : liana__layer_join_masks(&liana__layer_##op, call);              \
        return call_##op(call);                                                                              \
    }                                                                                                        \
    const liana_layer_type liana__layer_##op = {                                                             \
        LIANA_PART(LAYER, liana_layer_type, class_name, doc, LIANA_PART_OPTIONS(liana_merge_options, rows)), \
        LIANA__INPUTS(2, most),                                                                              \
        .masking = LIANA_MASKING_OWN,                                                                        \
        .weights = check_shapes,                                                                             \
        .call = merge_##op,                                                                                  \
    };
MERGE(add, "Add", LIANA_MAX_LAYER_INPUTS, "the sum of its inputs")
MERGE(subtract, "Subtract", 2, "its first input less the second")
MERGE(multiply, "Multiply", LIANA_MAX_LAYER_INPUTS, "the product of its inputs")
MERGE(average, "Average", LIANA_MAX_LAYER_INPUTS, "the mean of its inputs")
MERGE(maximum, "Maximum", LIANA_MAX_LAYER_INPUTS, "the greatest of its inputs, element by element")
MERGE(minimum, "Minimum", LIANA_MAX_LAYER_INPUTS, "the least of its inputs, element by element")
