/* Samples of while for the generated tests of ops. */
#include "ops/control/control_samples.h"

/* Newton's square root, until it changes little; the number of steps depends on the values. */
static void newton(const liana_loop_step *step, void *user)
{
    (void)user;
    liana_tensor root = step->carries[0], x = step->constants[0];
    liana_tensor half = liana_graph_scalar(step->graph, liana_tensor_dtype(root), 0.5);
    step->next[0] = liana_op_multiply(liana_op_add(root, liana_op_divide(x, root)), half);
    step->next[1] = liana_op_add(step->carries[1], liana_graph_scalar(step->graph, LIANA_S32, 1));
}

static liana_tensor is_far(const liana_loop_step *step, void *user)
{
    (void)user;
    const liana_axes all = LIANA_ALL_AXES;
    liana_tensor root = step->carries[0];
    /* A square root, so that whole numbers are refused: their halves would be 0, for ever. */
    liana_tensor difference = liana_op_subtract(liana_op_square(root), step->constants[0]);
    liana_tensor error = liana_op_sqrt(liana_op_square(difference));
    liana_tensor worst = liana_op_reduce_max(error, all, false);
    /* In bf16 the square of the nearest root is up to 1/8 off. */
    return liana_op_greater(worst, liana_graph_scalar(step->graph, liana_tensor_dtype(root), 0.5));
}

static liana_tensor build(liana_graph *graph, liana_dtype dtype, int64_t most_steps)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(5), 1, 9);
    const liana_tensor carries[] = {x, liana_graph_scalar(graph, LIANA_S32, 0)};
    const liana_while loop = {.condition = is_far,
                              .body = newton,
                              .carries = carries,
                              .num_carries = 2,
                              .constants = &x,
                              .num_constants = 1,
                              .most_steps = most_steps};
    liana_tensor last[2];
    liana_op_while(&loop, last);
    last[1] = liana_op_cast(last[1], dtype);
    return liana__sample_join(last, 2);
}

static liana_tensor build_open(liana_graph *graph, liana_dtype dtype)
{
    return build(graph, dtype, 0);
}

static liana_tensor build_bounded(liana_graph *graph, liana_dtype dtype)
{
    return build(graph, dtype, 2);
}

static const liana__built_sample samples[] = {{"open", build_open, 0}, {"bounded", build_bounded, 0}};

LIANA__SAMPLES(while, samples);
