/* Samples of one_hot for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana__sample_values indices;
    int64_t depth;
    liana_dtype dtype; /* LIANA_F32: the one that is asked for */
} problem;

static const problem problems[] = {
    {"labels", {"indices", LIANA__DIMS(13), 0, 6, LIANA_S32}, 7, LIANA_F32},
    /* Some indices are out of range. */
    {"outside", {"indices", LIANA__DIMS(3, 4, 2), -3, 8, LIANA_S32}, 5, LIANA_BOOL},
    {"scalar", {"index", LIANA__NO_DIMS, 0, 2, LIANA_S32}, 3, LIANA_BF16},
    {"halves", {"index", LIANA__DIMS(5), 0, 2, LIANA_S32}, 3, LIANA_F16},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    liana_tensor indices = liana__sample_given(graph, dtype, &p->indices);
    return liana_op_one_hot(indices, p->depth, p->dtype == LIANA_F32 ? dtype : p->dtype);
}
LIANA__SAMPLE_ROWS(one_hot, problems, build);
