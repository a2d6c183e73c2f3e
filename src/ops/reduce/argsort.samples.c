/* Samples of argsort, and of the functions that are built of it, for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana__sample_values x;
    int axis;
    bool descending;
    int64_t count;
} problem;

static const problem problems[] = {
    {"rows", {"x", LIANA__DIMS(9, 10), -1, 1, LIANA_F32}, -1, false, 0},
    {"long_down", {"x", LIANA__DIMS(3, 2, 67), -1, 1, LIANA_F32}, 2, true, 0},
    {"middle", {"x", LIANA__DIMS(3, 5, 4), -1, 1, LIANA_F32}, -2, true, 0},
    {"first_axis", {"x", LIANA__DIMS(7, 3), -1, 1, LIANA_F32}, 0, false, 0},
    {"few", {"x", LIANA__DIMS(4, 51), -1, 1, LIANA_F32}, -1, true, 5},
    {"few_in_the_middle", {"x", LIANA__DIMS(2, 40, 3), -1, 1, LIANA_F32}, 1, false, 33},
    {"bytes", {"x", LIANA__DIMS(11), 0, 255, LIANA_U8}, 0, false, 0},
    {"halves", {"x", LIANA__DIMS(3, 21), -9, 9, LIANA_F16}, 1, true, 0},
    {"signed bytes", {"x", LIANA__DIMS(11), -128, 127, LIANA_S8}, 0, false, 0},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    return liana_op_argsort(liana__sample_given(graph, dtype, &p->x), p->axis, p->descending, p->count);
}

/* Many equal elements: they stay in their order. */
static liana_tensor build_ties(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", LIANA_S32, liana_shape_of(7, 40), 0, 3);
    return liana_op_argsort(liana_op_cast(x, dtype), 1, true, 0);
}

static liana_tensor build_sort(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(3, 6, 5), -1, 1);
    return liana_sort(x, 1, true);
}

static liana_tensor build_top_k(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(4, 9), -1, 1);
    return liana_top_k(x, 3, NULL);
}

static const liana__built_sample others[] = {{"ties", build_ties, 0},
                                             {"sort", build_sort, 0},
                                             {"top_k", build_top_k, 0}};
LIANA__SAMPLE_ROWS_AND(argsort, problems, LIANA__COUNT(problems), build, others);
