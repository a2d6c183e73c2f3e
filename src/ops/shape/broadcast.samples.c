/* Samples of broadcast for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana_shape from, to;
    liana_dtype dtype; /* LIANA_F32: the one that is asked for */
} problem;

static const problem problems[] = {
    {"last axis", LIANA__DIMS(7), LIANA__DIMS(3, 5, 7), LIANA_F32},
    {"channel of image", LIANA__DIMS(2, 1, 1, 5), LIANA__DIMS(2, 3, 4, 5), LIANA_F32},
    {"scalar", LIANA__NO_DIMS, LIANA__DIMS(37), LIANA_F32},
    {"column", LIANA__DIMS(5, 1), LIANA__DIMS(5, 9), LIANA_F32},
    {"halves", LIANA__DIMS(5, 1), LIANA__DIMS(5, 9), LIANA_F16},
    {"16 bits", LIANA__DIMS(1, 7), LIANA__DIMS(5, 7), LIANA_S16},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    const liana_dtype own = p->dtype == LIANA_F32 ? dtype : p->dtype;
    return liana_op_broadcast_to(liana__sample_input(graph, "x", own, p->from, -2, 2), p->to);
}
LIANA__SAMPLE_ROWS(broadcast_to, problems, build);
