/* Samples of broadcast for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana_shape from, to;
} problem;

static const problem problems[] = {
    {"last axis", LIANA__DIMS(7), LIANA__DIMS(3, 5, 7)},
    {"channel of image", LIANA__DIMS(2, 1, 1, 5), LIANA__DIMS(2, 3, 4, 5)},
    {"scalar", LIANA__NO_DIMS, LIANA__DIMS(37)},
    {"column", LIANA__DIMS(5, 1), LIANA__DIMS(5, 9)},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    return liana_op_broadcast_to(liana__sample_input(graph, "x", dtype, p->from, -2, 2), p->to);
}
LIANA__SAMPLE_ROWS(broadcast_to, problems, build);
