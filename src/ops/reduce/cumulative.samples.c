/* Samples of cumsum and cumprod for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana__sample_values x;
    int axis;
    bool reverse, exclusive;
} problem;

/* Factors near 1 keep products of many elements within reach. */
static const problem problems[] = {
    {"rows", {"x", LIANA__DIMS(5, 9), 0.5, 1.5, LIANA_F32}, -1, false, false},
    {"middle_reverse", {"x", LIANA__DIMS(3, 7, 4), 0.5, 1.5, LIANA_F32}, 1, true, false},
    {"exclusive", {"x", LIANA__DIMS(2, 11), 0.5, 1.5, LIANA_F32}, 1, false, true},
    {"first_axis_both", {"x", LIANA__DIMS(6, 3), 0.5, 1.5, LIANA_F32}, 0, true, true},
    {"long", {"x", LIANA__DIMS(2, 300), 0.99, 1.01, LIANA_F32}, -1, false, false},
    {"one", {"x", LIANA__DIMS(4, 1), 0.5, 1.5, LIANA_F32}, -1, false, true},
    {"ids", {"x", LIANA__DIMS(3, 6), -2, 3, LIANA_S32}, 1, false, false},
    {"halves", {"x", LIANA__DIMS(3, 6), 0.5, 1.5, LIANA_F16}, 1, false, false},
    {"16 bits", {"x", LIANA__DIMS(3, 6), -4, 4, LIANA_S16}, 1, false, false},
    {"signed bytes", {"x", LIANA__DIMS(3, 6), -2, 3, LIANA_S8}, 0, true, false},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    liana_tensor x = liana__sample_given(graph, dtype, &p->x);
    return op == &liana__op_cumsum ? liana_op_cumsum(x, p->axis, p->reverse, p->exclusive)
                                   : liana_op_cumprod(x, p->axis, p->reverse, p->exclusive);
}

LIANA__SAMPLE_ROWS(cumsum, problems, build);
LIANA__SAMPLE_ROWS(cumprod, problems, build);
