/* The same elements under another shape. */
#include "kernels/copy.h"
#include "ops/index.h"
#include "ops/ops.h"
#include "stablehlo/lowering.h"

typedef struct reshape_attributes {
    liana__ints shape;
} reshape_attributes;

static const liana__field fields[] = {
    LIANA__FIELD_ROW(reshape_attributes, shape, INTS, .doc = "The new shape."),
};
static const liana__fields attributes = {"reshape", sizeof(reshape_attributes), 1, fields};

static liana_status infer_reshape(liana__infer *infer)
{
    reshape_attributes *options = infer->attributes;
    liana_shape asked;
    LIANA_TRY(liana__infer_given_shape(infer, &options->shape, 0, &asked));
    LIANA_TRY(liana__infer_like_input(infer));
    int64_t size = liana_shape_size(&infer->shape), known = 1;
    int open = -1;
    infer->shape.rank = asked.rank;
    for (int i = 0; i < asked.rank; i++) {
        int64_t dim = asked.dims[i];
        if (dim == -1 && open < 0) {
            open = i;
        } else if (dim < 1 || dim > size / known) {
            known = 0; /* cannot fit */
            break;
        } else {
            known *= dim;
        }
        infer->shape.dims[i] = dim;
    }
    if (known && open >= 0 && size % known == 0) {
        infer->shape.dims[open] = options->shape.values[open] = size / known;
        known = size;
    }
    if (known == size) return LIANA_OK;
    return liana__infer_fail(infer, "%lld elements cannot take the shape %s", (long long)size,
                             liana__shape_print(&asked).text);
}

static void reshape_gradient(liana__gradient *g)
{
    g->input_gradients[0] = liana_op_reshape(g->output_gradient, *liana__input_shape(g->node, 0));
}

static liana_status lower_reshape(liana__lowering *l, const liana__node *node)
{
    return liana__hlo_give(l, node, liana__hlo_reshape(l, liana__hlo_input(l, node, 0), node->shape));
}

const liana__op liana__op_reshape = {
    .name = "reshape",
    .doc = "The same elements in row-major order.",
    .attributes = &attributes,
    .num_inputs = 1,
    .infer = infer_reshape,
    .gradient = reshape_gradient,
    .precision = LIANA__MOVES_DATA,
    .placement = LIANA__PLACE_ALIAS,
    .parts = liana__parts_all_inputs,
    .lower = lower_reshape,
    .kernels = LIANA__KERNELS(&liana__copy_reference, NULL),
};

liana_tensor liana_op_reshape_at(liana_location here, liana_tensor x, liana_shape shape)
{
    const reshape_attributes options = {liana__ints_of(shape.dims, shape.rank)};
    return liana__build1(here, &liana__op_reshape, x, &options);
}
