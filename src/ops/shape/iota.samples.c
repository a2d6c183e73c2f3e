/* Samples of iota for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana_dtype dtype; /* LIANA_F32: the one that is asked for */
    liana_shape shape;
    int64_t axis;
} problem;

static const problem problems[] = {
    {"vector", LIANA_F32, LIANA__DIMS(11), 0},
    {"middle", LIANA_S32, LIANA__DIMS(2, 5, 3), -2},
    {"bytes", LIANA_U8, LIANA__DIMS(3, 256), 1},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    return liana_op_iota(graph, p->dtype == LIANA_F32 ? dtype : p->dtype, p->shape, p->axis);
}
LIANA__SAMPLE_ROWS(iota, problems, build);
