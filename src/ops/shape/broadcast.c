/* Repeats a tensor to a wider shape. */
#include "kernels/strided_copy.h"
#include "ops/index.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

typedef struct broadcast_attributes {
    liana__ints shape;
} broadcast_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(broadcast_attributes, shape, INTS, .doc = "The new shape."),
};
static const liana__fields attributes = {"broadcast_to", sizeof(broadcast_attributes), 1, fields};

static liana_status infer_broadcast(liana__infer *infer)
{
    const broadcast_attributes *options = infer->attributes;
    const liana_shape *shape = &infer->inputs[0]->shape;
    liana_shape wide, both;
    LIANA_TRY(liana__infer_given_shape(infer, &options->shape, 0, &wide));
    if (!liana__shape_broadcast(shape, &wide, &both) || !liana_shape_equal(&both, &wide)) {
        return liana__infer_fail(infer, "%s cannot be broadcast to %s", liana__shape_print(shape).text,
                                 liana__shape_print(&wide).text);
    }
    infer->dtype = infer->inputs[0]->dtype;
    infer->shape = wide;
    return LIANA_OK;
}

static void broadcast_gradient(liana__gradient *g)
{
    g->input_gradients[0] = liana__sum_to_shape(LIANA_HERE, g->output_gradient, liana__input_shape(g->node, 0));
}

static liana_status lower_broadcast(liana__lowering *l, const liana__node *node)
{
    return liana__hlo_give(l, node, liana__hlo_broadcast(l, liana__hlo_input(l, node, 0), node->shape));
}

static int64_t source_of(const liana__node *node, const liana__call *call, int64_t *at, size_t *input)
{
    (void)call, (void)input;
    int64_t strides[LIANA_MAX_RANK];
    liana__broadcast_strides(liana__input_shape(node, 0), &node->shape, strides);
    return liana__strided_index(strides, at, node->shape.rank);
}

static liana_status run_reference(const liana__call *call)
{
    return liana__move_elements(call, source_of);
}

static liana_status run_strided(const liana__call *call)
{
    const liana__node *node = call->node;
    const liana_shape *const shapes[] = {&node->shape, liana__input_shape(node, 0)};
    liana__walk walk = liana__walk_broadcast(&node->shape, shapes, 2);
    liana__copy_strided(&walk, liana_dtype_size(node->dtype), call->dst, call->src[0]);
    return LIANA_OK;
}

static const liana__kernel strided = {.name = "strided", .run = run_strided};

const liana__op liana__op_broadcast_to = {
    .name = "broadcast_to",
    .doc = "Repeats a tensor to a larger shape, by numpy's rule.",
    .attributes = &attributes,
    .num_inputs = 1,
    .infer = infer_broadcast,
    .gradient = broadcast_gradient,
    .parts = liana__parts_element_wise,
    .precision = LIANA__MOVES_DATA,
    .lower = lower_broadcast,
    .kernels = LIANA__KERNELS(&strided, LIANA__REFERENCE(run_reference)),
};

liana_tensor liana_op_broadcast_to_at(liana_location here, liana_tensor x, liana_shape shape)
{
    const broadcast_attributes options = {liana__ints_of(shape.dims, shape.rank)};
    return liana__build1(here, &liana__op_broadcast_to, x, &options);
}
