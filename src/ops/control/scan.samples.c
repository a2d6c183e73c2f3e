/* Samples of scan for the generated tests of ops. */
#include "ops/control/control_samples.h"

/* h' = tanh(x W + h U + b): weights whose gradients are products and sums of all steps. */
static void recurrent_step(const liana_loop_step *step, void *user)
{
    (void)user;
    liana_tensor xw = liana_op_matmul(step->xs[0], step->constants[0], false, false);
    liana_tensor hu = liana_op_matmul(step->carries[0], step->constants[1], false, false);
    liana_tensor z = liana_op_add(liana_op_add(xw, hu), step->constants[2]);
    step->next[0] = step->ys[0] = liana_op_tanh(z);
}

static liana_tensor build_recurrent(liana_graph *graph, liana_dtype dtype, bool reverse)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(4, 5, 3), -1, 1);
    liana_tensor h = liana__sample_input(graph, "h", dtype, liana_shape_of(5, 7), -1, 1);
    liana_tensor w = liana__sample_input(graph, "w", dtype, liana_shape_of(3, 7), -0.5, 0.5);
    liana_tensor u = liana__sample_input(graph, "u", dtype, liana_shape_of(7, 7), -0.5, 0.5);
    liana_tensor b = liana__sample_input(graph, "b", dtype, liana_shape_of(7), -0.5, 0.5);
    const liana_tensor constants[] = {w, u, b};
    const liana_scan scan = {.body = recurrent_step,
                             .carries = &h,
                             .num_carries = 1,
                             .xs = &x,
                             .num_xs = 1,
                             .constants = constants,
                             .num_constants = 3,
                             .num_ys = 1,
                             .reverse = reverse};
    liana_tensor results[2];
    liana_op_scan(&scan, &results[0], &results[1]);
    return liana__sample_join(results, 2);
}

static liana_tensor build_forwards(liana_graph *graph, liana_dtype dtype)
{
    return build_recurrent(graph, dtype, false);
}

static liana_tensor build_backwards(liana_graph *graph, liana_dtype dtype)
{
    return build_recurrent(graph, dtype, true);
}

/* Scalars, and a constant whose gradient is no product: 1.5^k. */
static void scaled_sum(const liana_loop_step *step, void *user)
{
    (void)user;
    step->next[0] = liana_op_add(liana_op_multiply(step->carries[0], step->constants[0]), step->xs[0]);
    step->ys[0] = step->carries[0];
    step->ys[1] = liana_op_multiply(step->next[0], step->xs[0]);
}

static liana_tensor build_scalars(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(6), -1, 1);
    liana_tensor first = liana__sample_input(graph, "first", dtype, LIANA_SCALAR, -1, 1);
    liana_tensor factor = liana__sample_input(graph, "factor", dtype, LIANA_SCALAR, 0.5, 1.5);
    const liana_scan scan = {.body = scaled_sum,
                             .carries = &first,
                             .num_carries = 1,
                             .xs = &x,
                             .num_xs = 1,
                             .constants = &factor,
                             .num_constants = 1,
                             .num_ys = 2};
    liana_tensor results[3];
    liana_op_scan(&scan, &results[0], &results[1]);
    return liana__sample_join(results, 3);
}

/* A counter of another dtype; two carries that change places; a row that is passed on. */
static void counted_swap(const liana_loop_step *step, void *user)
{
    (void)user;
    const liana_dtype dtype = liana_tensor_dtype(step->carries[0]);
    liana_tensor count = liana_op_cast(step->carries[2], dtype);
    step->next[0] = step->carries[1];
    step->next[1] = liana_op_sin(liana_op_add(step->carries[0], liana_op_multiply(step->xs[0], count)));
    step->next[2] = liana_op_add(step->carries[2], liana_graph_scalar(step->graph, LIANA_S32, 1));
    step->ys[0] = step->xs[0];
    step->ys[1] = step->next[1];
}

static liana_tensor build_mixed(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(3, 4), -1, 1);
    liana_tensor a = liana__sample_input(graph, "a", dtype, liana_shape_of(4), -1, 1);
    liana_tensor b = liana__sample_input(graph, "b", dtype, liana_shape_of(4), -1, 1);
    const liana_tensor carries[] = {a, b, liana_graph_scalar(graph, LIANA_S32, 1)};
    const liana_scan scan = {
        .body = counted_swap, .carries = carries, .num_carries = 3, .xs = &x, .num_xs = 1, .num_ys = 2};
    liana_tensor results[5];
    liana_op_scan(&scan, results, results + 3);
    results[2] = results[4];
    return liana__sample_join(results, 4);
}

/* No carries: the body by itself for each row. */
static void squares(const liana_loop_step *step, void *user)
{
    (void)user;
    step->ys[0] = liana_op_multiply(step->xs[0], liana_op_add(step->xs[0], step->constants[0]));
}

static liana_tensor build_map(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(5, 2, 3), -1, 1);
    liana_tensor c = liana__sample_input(graph, "c", dtype, liana_shape_of(2, 3), -1, 1);
    const liana_scan scan = {.body = squares, .xs = &x, .num_xs = 1, .constants = &c, .num_constants = 1, .num_ys = 1};
    liana_tensor ys;
    liana_op_scan(&scan, NULL, &ys);
    return ys;
}

/* A scan of scans. */
static void inner_loop(const liana_loop_step *step, void *user)
{
    const liana_scan scan = {.body = scaled_sum,
                             .user = user,
                             .carries = step->carries,
                             .num_carries = 1,
                             .xs = step->xs,
                             .num_xs = 1,
                             .constants = step->constants,
                             .num_constants = 1,
                             .num_ys = 2};
    liana_tensor ys[2];
    liana_op_scan(&scan, step->next, ys);
    step->ys[0] = ys[1];
}

static liana_tensor build_nested(liana_graph *graph, liana_dtype dtype)
{
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(3, 4), -1, 1);
    liana_tensor first = liana__sample_input(graph, "first", dtype, LIANA_SCALAR, -1, 1);
    liana_tensor factor = liana__sample_input(graph, "factor", dtype, LIANA_SCALAR, 0.5, 1.5);
    const liana_scan scan = {.body = inner_loop,
                             .carries = &first,
                             .num_carries = 1,
                             .xs = &x,
                             .num_xs = 1,
                             .constants = &factor,
                             .num_constants = 1,
                             .num_ys = 1};
    liana_tensor results[2];
    liana_op_scan(&scan, &results[0], &results[1]);
    return liana__sample_join(results, 2);
}

static const liana__built_sample samples[] = {
    {"forwards", build_forwards, 0}, {"backwards", build_backwards, 0},
    {"scalars", build_scalars, 0},   {"mixed", build_mixed, 0},
    {"map", build_map, 0},           {"nested", build_nested, 0},
};

LIANA__SAMPLES(scan, samples);
