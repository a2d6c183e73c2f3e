/* Samples of dropout for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana_shape shape;
    double most_position, rate;
    uint64_t seed;
    uint32_t salt;
} problem;

static const problem problems[] = {
    {"features", LIANA__DIMS(5, 37), 1e15, 0.3, 7, 1},
    {"image", LIANA__DIMS(3, 5, 3, 11), 1000, 0.5, UINT64_MAX, UINT32_MAX},
    {"one_each", LIANA__DIMS(9), 1000, 0.9, 0, 0},
    {"nothing", LIANA__DIMS(2, 130), 1000, 0, 3, 2},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    liana_tensor x = liana__sample_input(graph, "x", dtype, p->shape, -1, 1);
    liana_tensor positions =
        liana__sample_input(graph, "positions", LIANA_U64, liana_shape_of(p->shape.dims[0]), 0, p->most_position);
    return liana_op_dropout(x, positions, p->rate, p->seed, p->salt);
}
LIANA__SAMPLE_ROWS(dropout, problems, build);
