/* Samples of random numbers for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    int64_t batch;
    liana_shape example;
    double most_position, shift, scale;
    uint64_t seed;
    uint32_t salt;
} problem;

static const problem problems[] = {
    {"features", 5, LIANA__DIMS(37), 1e15, 0, 1, 7, 1},
    {"image", 3, LIANA__DIMS(5, 3, 11), 1000, -2, 0.5, UINT64_MAX, UINT32_MAX},
    {"one_each", 9, LIANA__NO_DIMS, 1000, 1, 3, 0, 0},
    {"constant", 2, LIANA__DIMS(130), 1000, 4, 0, 3, 2},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    liana_tensor positions =
        liana__sample_input(graph, "positions", LIANA_U64, liana_shape_of(p->batch), 0, p->most_position);
    if (op == &liana__op_random_normal) {
        return liana_op_random_normal(positions, dtype, p->example, p->shift, p->scale, p->seed, p->salt);
    }
    return liana_op_random_uniform(positions, dtype, p->example, p->shift, p->shift + p->scale, p->seed, p->salt);
}
LIANA__SAMPLE_ROWS(random_uniform, problems, build);
LIANA__SAMPLE_ROWS(random_normal, problems, build);
