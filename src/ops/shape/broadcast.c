/* Repeats a tensor to a wider shape. */
#include "kernels/strided_copy.h"
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
    if (options->shape.count < 0 || options->shape.count > LIANA_MAX_RANK) {
        return liana__infer_fail(infer, "rank %lld is out of range, expected 0 to %d", (long long)options->shape.count,
                                 LIANA_MAX_RANK);
    }
    const liana_shape *shape = &infer->inputs[0]->shape;
    liana_shape wide = {.rank = (int)options->shape.count}, both;
    for (int i = 0; i < wide.rank; i++) wide.dims[i] = options->shape.values[i];
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

/* Element by element for any element size; numbers are not looked at. */
static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    size_t element = liana_dtype_size(node->dtype);
    int64_t strides[LIANA_MAX_RANK], index[LIANA_MAX_RANK] = {0};
    liana__broadcast_strides(liana__input_shape(node, 0), &node->shape, strides);
    int64_t size = liana_shape_size(&node->shape), from = 0;
    for (int64_t i = 0; i < size; i++) {
        memcpy((char *)call->dst + (size_t)i * element, (const char *)call->src[0] + (size_t)from * element, element);
        for (int axis = node->shape.rank - 1; axis >= 0; axis--) {
            from += strides[axis];
            if (++index[axis] < node->shape.dims[axis]) break;
            from -= strides[axis] * node->shape.dims[axis];
            index[axis] = 0;
        }
    }
    return LIANA_OK;
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
    broadcast_attributes options = {.shape.count = shape.rank};
    for (int i = 0; i < shape.rank && i < LIANA_MAX_RANK; i++) options.shape.values[i] = shape.dims[i];
    return liana__build1(here, &liana__op_broadcast_to, x, &options);
}
