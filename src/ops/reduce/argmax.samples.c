/* Samples of argmax for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana__sample_values x;
    int axis;
} problem;

static const problem problems[] = {
    {"classes", {"x", LIANA__DIMS(9, 10), -1, 1, LIANA_F32}, -1},
    {"long", {"x", LIANA__DIMS(3, 2, 67), -1, 1, LIANA_F32}, 2},
    {"middle", {"x", LIANA__DIMS(3, 5, 4), -1, 1, LIANA_F32}, -2},
    {"bytes", {"x", LIANA__DIMS(11), 0, 255, LIANA_U8}, 0},
    {"halves", {"x", LIANA__DIMS(3, 21), -9, 9, LIANA_F16}, 1},
    {"16 bits", {"x", LIANA__DIMS(11, 3), -300, 300, LIANA_S16}, 0},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    return liana_op_argmax(liana__sample_given(graph, dtype, &p->x), p->axis);
}

/* Many equal elements: the first wins. */
static liana_tensor build_ties(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", LIANA_S32, liana_shape_of(7, 40), 0, 3);
    return liana_op_argmax(liana_op_cast(x, dtype), 1);
}

static const liana__built_sample ties[] = {{"ties", build_ties, 0}};
LIANA__SAMPLE_ROWS_AND(argmax, problems, LIANA__COUNT(problems), build, ties);
