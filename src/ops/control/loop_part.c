/* A tensor out of a list of numbers: of the results of a loop. */
#include "ops/control/flat.h"
#include "ops/gradients.h"
#include "ops/index.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

typedef struct part_attributes {
    int64_t offset;
    liana__ints shape;
} part_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(part_attributes, offset, INT, .doc = "The element with which it begins."),
    LIANA__FIELD_ROW(part_attributes, shape, INTS, .doc = "Its shape."),
};
static const liana__fields attributes = {"loop_part", sizeof(part_attributes), 2, fields};

static liana_status infer_part(liana__infer *infer)
{
    const part_attributes *part = infer->attributes;
    LIANA_TRY(liana__infer_rank(infer, 0, 1, "a list"));
    LIANA_TRY(liana__infer_given_shape(infer, &part->shape, 0, &infer->shape));
    infer->dtype = infer->inputs[0]->dtype;
    const int64_t all = infer->inputs[0]->shape.dims[0];
    if (liana__shape_valid(infer->dtype, &infer->shape) && part->offset >= 0 && part->offset <= all &&
        liana_shape_size(&infer->shape) <= all - part->offset) {
        return LIANA_OK;
    }
    return liana__infer_fail(infer, "the part %s from element %lld on does not lie in %lld elements",
                             liana__shape_print(&infer->shape).text, (long long)part->offset, (long long)all);
}

static void part_gradient(liana__gradient *g)
{
    const part_attributes *part = g->node->attributes;
    const int64_t size = liana_shape_size(&g->node->shape), all = g->node->inputs[0]->shape.dims[0];
    const int64_t high = all - part->offset - size, none = 0;
    liana_tensor list = liana_op_reshape(g->output_gradient, liana_shape_of(size));
    g->input_gradients[0] = liana__pad_interior(LIANA_HERE, list, &part->offset, &high, &none, 0);
}

static size_t offset_of(const liana__node *node)
{
    const part_attributes *part = node->attributes;
    return (size_t)part->offset * liana_dtype_size(node->dtype);
}

static liana_status lower_part(liana__lowering *l, const liana__node *node)
{
    const part_attributes *part = node->attributes;
    const int64_t limit = part->offset + liana_shape_size(&node->shape), stride = 1;
    liana__hlo list = liana__hlo_slice(l, liana__hlo_input(l, node, 0), &part->offset, &limit, &stride);
    return liana__hlo_give(l, node, liana__hlo_reshape(l, list, node->shape));
}

static liana_status run_reference(const liana__call *call)
{
    const liana__node *node = call->node;
    memmove(call->dst, (const char *)call->src[0] + offset_of(node), liana__byte_size(node->dtype, &node->shape));
    return LIANA_OK;
}

const liana__op liana__op_loop_part = {
    .name = "loop_part",
    .doc = "A tensor out of the results of a scan, while or cond.",
    .attributes = &attributes,
    .num_inputs = 1,
    .infer = infer_part,
    .gradient = part_gradient,
    .placement = LIANA__PLACE_ALIAS,
    .alias_offset = offset_of,
    .precision = LIANA__MOVES_DATA,
    .lower = lower_part,
    .kernels = LIANA__KERNELS(LIANA__REFERENCE(run_reference)),
};

liana_tensor liana__loop_part(liana_location here, liana_tensor list, int64_t offset, liana_shape shape)
{
    const part_attributes options = {offset, liana__ints_of(shape.dims, shape.rank)};
    return liana__build1(here, &liana__op_loop_part, list, &options);
}
