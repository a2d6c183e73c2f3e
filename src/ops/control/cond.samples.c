/* Samples of cond for the generated tests of ops. */
#include "ops/control/control_samples.h"

static void multiply_both(const liana_loop_step *step, void *user)
{
    (void)user;
    step->ys[0] = liana_op_multiply(step->constants[0], step->constants[1]);
    step->ys[1] = liana_op_exp(step->constants[1]);
}

static void add_one(const liana_loop_step *step, void *user)
{
    (void)user;
    step->ys[0] = liana_op_sin(step->constants[0]);
    step->ys[1] = step->constants[0];
}

static liana_tensor build(liana_graph *graph, liana_dtype dtype, double least)
{
    liana_tensor a = liana__sample_input(graph, "a", dtype, liana_shape_of(2, 3), -1, 1);
    liana_tensor b = liana__sample_input(graph, "b", dtype, liana_shape_of(2, 3), -1, 1);
    const liana_axes all = LIANA_ALL_AXES;
    liana_tensor sum = liana_op_reduce_sum(a, all, false);
    const liana_tensor constants[] = {a, b};
    const liana_cond cond = {.predicate = liana_op_greater(sum, liana_graph_scalar(graph, dtype, least)),
                             .then_body = multiply_both,
                             .else_body = add_one,
                             .constants = constants,
                             .num_constants = 2,
                             .num_ys = 2};
    liana_tensor ys[2];
    liana_op_cond(&cond, ys);
    return liana__sample_join(ys, 2);
}

static liana_tensor build_true(liana_graph *graph, liana_dtype dtype)
{
    return build(graph, dtype, -100);
}

static liana_tensor build_false(liana_graph *graph, liana_dtype dtype)
{
    return build(graph, dtype, 100);
}

static const liana__built_sample samples[] = {{"true", build_true, 0}, {"false", build_false, 0}};

LIANA__SAMPLES(cond, samples);
