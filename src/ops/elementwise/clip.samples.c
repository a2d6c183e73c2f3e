/* Samples of clip for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana__sample_values x;
    double low, high;
} problem;

static const problem problems[] = {
    {"both_sides", {"x", LIANA__DIMS(3, 19), -2, 3, LIANA_F32}, -0.75, 1.5},
    {"one_side", {"x", LIANA__DIMS(2, 3, 5), -2, 3, LIANA_F32}, -INFINITY, 0.5},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    return liana_op_clip(liana__sample_given(graph, dtype, &p->x), p->low, p->high);
}
LIANA__SAMPLE_ROWS(clip, problems, build);
