/* Samples of transpose for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana__sample_values x;
    int64_t axes[LIANA_MAX_RANK];
} problem;

static const problem problems[] = {
    {"matrix", {"x", LIANA__DIMS(37, 70), -1, 1, LIANA_F32}, {1, 0}},
    {"channels_first", {"x", LIANA__DIMS(2, 5, 7, 3), -1, 1, LIANA_F32}, {0, -1, 1, 2}},
    {"rows", {"x", LIANA__DIMS(3, 4, 5), -1, 1, LIANA_F32}, {1, 0, 2}},
    {"rank5", {"x", LIANA__DIMS(2, 3, 1, 4, 5), -1, 1, LIANA_F32}, {4, 2, 0, 3, 1}},
    {"vector", {"x", LIANA__DIMS(6), -1, 1, LIANA_F32}, {0}},
    {"halves", {"x", LIANA__DIMS(37, 70), -1, 1, LIANA_F16}, {1, 0}},
    {"signed bytes", {"x", LIANA__DIMS(5, 7, 3), -128, 127, LIANA_S8}, {2, 0, 1}},
    {"16 unsigned bits", {"x", LIANA__DIMS(5, 7, 3), 0, 65535, LIANA_U16}, {2, 0, 1}},
    {"bools", {"x", LIANA__DIMS(35, 3, 33), 0, 1, LIANA_BOOL}, {2, 1, 0}},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    liana_axes axes = {.count = p->x.shape.rank};
    memcpy(axes.values, p->axes, (size_t)axes.count * sizeof *axes.values);
    return liana_op_transpose(liana__sample_given(graph, dtype, &p->x), axes);
}
LIANA__SAMPLE_ROWS(transpose, problems, build);
