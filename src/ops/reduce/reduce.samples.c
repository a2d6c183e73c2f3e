/* Samples of reduce for the generated tests of ops. */
#include "ops/reduce/reduce.h"
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana_shape shape;
    liana__ints axes;
    bool keep_dims;
    bool wide; /* a sum or mean of bf16, in f32 */
} problem;

static const problem problems[] = {
    {"all axes", LIANA__DIMS(5, 7, 9), {-1, {0}}, false, false},
    {"last axis", LIANA__DIMS(5, 19), {1, {-1}}, false, false},
    {"leading axes", LIANA__DIMS(13, 3, 11), {2, {0, 1}}, false, false},
    {"image axes, kept", LIANA__DIMS(2, 3, 5, 17), {2, {1, 2}}, true, false},
    {"axes apart", LIANA__DIMS(3, 4, 5), {2, {0, 2}}, false, false},
    {"many rows", LIANA__DIMS(131, 150), {1, {0}}, false, false},
    {"long rows", LIANA__DIMS(3, 2100), {1, {1}}, false, false},
    {"wide, leading axis", LIANA__DIMS(67, 75), {1, {0}}, false, true},
    {"wide, last axis", LIANA__DIMS(67, 75), {1, {1}}, false, true},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    const bool is_product = op == &liana__op_reduce_prod;
    const bool wide = p->wide && (op == &liana__op_reduce_sum || op == &liana__op_reduce_mean);
    const liana_dtype narrow = wide && dtype != LIANA_F64 ? LIANA_BF16 : dtype;
    liana_tensor x = liana__sample_input(graph, "x", narrow, p->shape, is_product ? 0.9 : -2, is_product ? 1.1 : 2);
    return liana__build1(LIANA_HERE, op, x, &(liana__reduce_attributes){p->axes, p->keep_dims, wide});
}

/* Narrow numbers, whose sum is rounded or clamped once. */
static liana_tensor build_halves(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    return liana_op_reduce_sum(liana__sample_input(graph, "x", LIANA_F16, liana_shape_of(5, 19), -2, 2), LIANA_AXES(1),
                               false);
}

static liana_tensor build_bytes(liana_graph *graph, liana_dtype dtype)
{
    (void)dtype;
    return liana_op_reduce_sum(liana__sample_input(graph, "x", LIANA_S8, liana_shape_of(5, 19), -128, 127),
                               LIANA_AXES(1), true);
}

static const liana__built_sample narrow[] = {{"halves", build_halves, 0}, {"signed bytes", build_bytes, 0}};
LIANA__SAMPLE_ROWS_AND(reduce_sum, problems, LIANA__COUNT(problems), build, narrow);
LIANA__SAMPLE_ROWS(reduce_mean, problems, build);
LIANA__SAMPLE_ROWS(reduce_max, problems, build);
LIANA__SAMPLE_ROWS(reduce_min, problems, build);
LIANA__SAMPLE_ROWS(reduce_prod, problems, build);
