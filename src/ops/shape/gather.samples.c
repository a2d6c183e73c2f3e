/* Samples of gather for the generated tests of ops. */
#include "ops/gradients.h"
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana__sample_values x, indices;
    int64_t axis, size; /* size: of the axis that updates are added to */
} problem;

static const problem gathers[] = {
    {"rows", {"x", LIANA__DIMS(5, 7), -1, 1, LIANA_F32}, {"indices", LIANA__DIMS(9), 0, 4, LIANA_S32}, 0, 0},
    /* Two axes of indices take the place of the middle one; some are out of range. */
    {"middle", {"x", LIANA__DIMS(3, 4, 2), -1, 1, LIANA_F32}, {"indices", LIANA__DIMS(2, 3), -2, 5, LIANA_S32}, -2, 0},
    {"last", {"x", LIANA__DIMS(2, 3, 6), -1, 1, LIANA_F32}, {"indices", LIANA__DIMS(5), 0, 5, LIANA_S32}, 2, 0},
    {"scalar_index", {"x", LIANA__DIMS(4, 3), -1, 1, LIANA_F32}, {"index", LIANA__NO_DIMS, 0, 3, LIANA_S32}, 0, 0},
    {"halves", {"x", LIANA__DIMS(6, 3), -9, 9, LIANA_F16}, {"indices", LIANA__DIMS(4), 0, 5, LIANA_S32}, 0, 0},
    {"signed bytes", {"x", LIANA__DIMS(6, 3), -9, 9, LIANA_S8}, {"indices", LIANA__DIMS(4), 0, 5, LIANA_S32}, 0, 0},
    {"s64", {"x", LIANA__DIMS(6), -1e15, 1e15, LIANA_S64}, {"indices", LIANA__DIMS(4), 0, 5, LIANA_S32}, 0, 0},
};
static const problem scatters[] = {
    {"middle",
     {"updates", LIANA__DIMS(2, 9, 5), -1, 1, LIANA_F32},
     {"indices", LIANA__DIMS(9), -1, 4, LIANA_S32},
     1,
     4},
    {"wide",
     {"updates", LIANA__DIMS(3, 2, 7), -1, 1, LIANA_F32},
     {"indices", LIANA__DIMS(3, 2), 0, 10, LIANA_S32},
     0,
     11},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    liana_tensor x = liana__sample_given(graph, dtype, &p->x), indices = liana__sample_given(graph, dtype, &p->indices);
    if (op == &liana__op_gather) return liana_op_gather(x, indices, p->axis);
    return liana__op_scatter_add_at(LIANA_HERE, x, indices, p->axis, p->size);
}
LIANA__SAMPLE_ROWS(gather, gathers, build);
LIANA__SAMPLE_ROWS(scatter_add, scatters, build);
