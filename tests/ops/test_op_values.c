/* Ops against values from elsewhere (PyTorch 1.13 in double, TensorFlow's documentation, hand), on both devices; and
 * their messages when inputs do not fit. */
#include "harness/harness.h"

#include "harness/graph_run.h"
#include "ops/gradients.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana__device *devices[2];

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(0, &context, &devices[1], &devices[0]);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, devices[1], devices[0]);
}

/* A constant of any dtype from doubles. */
static liana_tensor constant(liana_graph *graph, liana_dtype dtype, liana_shape shape, const double *values)
{
    uint64_t data[64];
    int64_t count = liana_shape_size(&shape);
    assert_compare(count, <=, 64);
    for (int64_t i = 0; i < count; i++) liana__store(data, dtype, i, values[i]);
    return liana_graph_constant(graph, dtype, shape, data);
}

/* Runs the graph on both devices and compares; `tolerance` is relative to 1 + |expected|. The graph is destroyed. */
static void assert_values(liana_tensor result, const double *expected, int64_t count, double tolerance)
{
    liana_graph *graph = result.graph;
    liana_graph_output(graph, "result", result);
    assert_ok(liana_graph_status(graph), &context->error);
    for (int device = 0; device < 2; device++) {
        liana__test_value value;
        liana__test_run(devices[device], graph, NULL, &value);
        assert_int_equal(liana_shape_size(&value.shape), count);
        for (int64_t i = 0; i < count; i++) {
            double got = liana__load(value.data, value.dtype, i);
            bool same = got == expected[i] || (got != got && expected[i] != expected[i]);
            if (same || fabs(got - expected[i]) <= tolerance * (1 + fabs(expected[i]))) continue;
            fail_msg("device %d, element %lld is %.9g, expected %.9g", device, (long long)i, got, expected[i]);
        }
        free(value.data);
    }
    liana_graph_destroy(graph);
}

static const struct {
    liana_dtype dtype;
    double tolerance;
} precisions[] = {{LIANA_F64, 1e-9}, {LIANA_F32, 1e-6}};

static const double logits[12] = {1.5, -2.25, 0.75, 3, 100, 90, -50, 99.5, -1e-3, 0, 1e-3, 2e-3};
static const double weights[12] = {0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3};

/* The gradient of sum(weights * y) with respect to x. */
static liana_tensor weighted_gradient(liana_tensor y, liana_tensor x, liana_dtype dtype, const double *factors)
{
    liana_tensor factor = constant(y.graph, dtype, liana_tensor_shape(y), factors), gradient;
    liana_gradients(liana_op_reduce_sum(liana_op_multiply(y, factor), LIANA_ALL_AXES, false), &x, 1, &gradient);
    return gradient;
}

static void test_softmax_is_pytorchs(void **state)
{
    (void)state;
    static const double expected[12] = {0.1672919659, 0.003934329937,  0.07902312922,   0.749750575,
                                        0.6224417412, 2.825881133e-05, 4.466079231e-66, 0.3775299999,
                                        0.2496251251, 0.2498748751,    0.2501248749,    0.2503751249};
    static const double gradient[12] = {-0.1008449485,  -0.001388063385,  -0.008124216058, 0.1103572279,
                                        -0.1762472203,  -9.369085877e-07, 9.684488951e-67, 0.1762481572,
                                        -0.09368742974, -0.03131244526,   0.03118744536,   0.09381242964};
    for (size_t p = 0; p < 2; p++) {
        liana_tensor x = constant(liana__test_new_graph(context), precisions[p].dtype, liana_shape_of(3, 4), logits);
        assert_values(liana_op_softmax(x), expected, 12, precisions[p].tolerance);
        x = constant(liana__test_new_graph(context), precisions[p].dtype, liana_shape_of(3, 4), logits);
        assert_values(weighted_gradient(liana_op_softmax(x), x, precisions[p].dtype, weights), gradient, 12,
                      precisions[p].tolerance);
    }
}

static void test_log_softmax_is_pytorchs(void **state)
{
    (void)state;
    static const double expected[12] = {-1.788014694,  -5.538014694, -2.538014694, -0.2880146945,
                                        -0.4741052434, -10.47410524, -150.4741052, -0.9741052434,
                                        -1.387794986,  -1.386794986, -1.385794986, -1.384794986};
    static const double gradient[12] = {-0.1682299147, 0.4901641752,  0.552442177,  -0.8743764374,
                                        -2.795871318,  1.499816318,   1.75,         -0.4539449997,
                                        -0.3710638135, -0.1236861883, 0.1236888133, 0.3710611885};
    for (size_t p = 0; p < 2; p++) {
        liana_tensor x = constant(liana__test_new_graph(context), precisions[p].dtype, liana_shape_of(3, 4), logits);
        assert_values(liana_op_log_softmax(x), expected, 12, precisions[p].tolerance);
        x = constant(liana__test_new_graph(context), precisions[p].dtype, liana_shape_of(3, 4), logits);
        assert_values(weighted_gradient(liana_op_log_softmax(x), x, precisions[p].dtype, weights), gradient, 12,
                      precisions[p].tolerance);
    }
}

static void test_cross_entropy_is_pytorchs(void **state)
{
    (void)state;
    static const double labels[3] = {3, 1, 0}, factors[3] = {1, -0.5, 2};
    static const double expected[3] = {0.2880146945, 10.47410524, 1.387794986};
    static const double gradient[12] = {0.1672919659,  0.003934329937, 0.07902312922,    -0.250249425,
                                        -0.3112208706, 0.4999858706,   -2.233039616e-66, -0.188765,
                                        -1.50074975,   0.4997497501,   0.5002497499,     0.5007502498};
    for (size_t p = 0; p < 2; p++) {
        for (int part = 0; part < 2; part++) {
            liana_tensor x =
                constant(liana__test_new_graph(context), precisions[p].dtype, liana_shape_of(3, 4), logits);
            liana_tensor label = constant(x.graph, LIANA_S32, liana_shape_of(3), labels);
            liana_tensor loss = liana_op_sparse_softmax_cross_entropy(x, label);
            if (part == 0) {
                assert_values(loss, expected, 3, precisions[p].tolerance);
            } else {
                assert_values(weighted_gradient(loss, x, precisions[p].dtype, factors), gradient, 12,
                              precisions[p].tolerance);
            }
        }
    }
}

static void test_labels_out_of_range_give_nan(void **state)
{
    (void)state;
    static const double labels[3] = {-1, 4, 2};
    static const double expected[3] = {NAN, NAN, 150.4741052};
    for (size_t p = 0; p < 2; p++) {
        static const double rows[12] = {1, 2, 3, 4, 1, 2, 3, 4, 100, 90, -50, 99.5};
        liana_tensor x = constant(liana__test_new_graph(context), precisions[p].dtype, liana_shape_of(3, 4), rows);
        liana_tensor label = constant(x.graph, LIANA_S32, liana_shape_of(3), labels);
        assert_values(liana_op_sparse_softmax_cross_entropy(x, label), expected, 3, precisions[p].tolerance);
    }
}

/* Logits that overflow or vanish without the subtraction of the greatest one; a NaN stays in its row. */
static void test_softmax_of_extreme_rows(void **state)
{
    (void)state;
    static const double rows[12] = {1e30, -1e30, 1e30, 0, -1e30, -1e30, -1e30, -1e30, 1, NAN, 2, 3};
    static const double expected[12] = {0.5, 0, 0.5, 0, 0.25, 0.25, 0.25, 0.25, NAN, NAN, NAN, NAN};
    for (size_t p = 0; p < 2; p++) {
        liana_tensor x = constant(liana__test_new_graph(context), precisions[p].dtype, liana_shape_of(3, 4), rows);
        assert_values(liana_op_softmax(x), expected, 12, precisions[p].tolerance);
    }
}

static void test_argmax_is_pytorchs_and_takes_the_first(void **state)
{
    (void)state;
    static const double values[12] = {2, 7, 7, 9, -1, 0, -5, -5, -6, 1, 8, 8};
    static const struct {
        int64_t axis, count;
        double expected[6];
    } cases[] = {{0, 6, {0, 0, 0, 0, 1, 1}}, {1, 6, {1, 0, 0, 1, 1, 1}}, {-1, 4, {1, 0, 0, 1}}};
    static const liana_dtype dtypes[] = {LIANA_F32, LIANA_F64, LIANA_BF16, LIANA_S32};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            liana_tensor x = constant(liana__test_new_graph(context), dtypes[d], liana_shape_of(2, 2, 3), values);
            assert_values(liana_op_argmax(x, cases[i].axis), cases[i].expected, cases[i].count, 0);
        }
    }
}

/* As numpy does. 40 elements: the vector kernels' main loops and their ends. */
static void test_argmax_finds_nan_and_infinity(void **state)
{
    (void)state;
    for (int place = 0; place < 40; place++) {
        double values[40], expected = place;
        for (int i = 0; i < 40; i++) values[i] = i == 17 ? 100 : -INFINITY;
        values[place] = NAN;
        if (place < 39) values[39] = NAN;
        liana_tensor x = constant(liana__test_new_graph(context), LIANA_F32, liana_shape_of(1, 40), values);
        assert_values(liana_op_argmax(x, 1), &expected, 1, 0);
        values[39] = values[place] = INFINITY;
        x = constant(liana__test_new_graph(context), LIANA_F32, liana_shape_of(1, 40), values);
        assert_values(liana_op_argmax(x, 1), &expected, 1, 0);
    }
    static const double lowest[2] = {-INFINITY, -INFINITY}, zero = 0;
    liana_tensor x = constant(liana__test_new_graph(context), LIANA_F32, liana_shape_of(1, 2), lowest);
    assert_values(liana_op_argmax(x, 1), &zero, 1, 0);
}

static void test_in_top_k_is_tensorflows(void **state)
{
    (void)state;
    static const double predictions[24] = {0.1, 0.3, 0.2, 0.4, 0.1, 0.3, 0.3, 0.3, 0.1, 0.3, 0.2, 0.4,
                                           0.1, 0.3, 0.2, 0.4, 0.1, NAN, 0.2, 0.4, 1,   2,   3,   INFINITY};
    static const double targets[6] = {1, 3, 4, -1, 3, 2};
    /* One is greater; ties count in favour; out of range on either side; NaN; infinity. */
    static const double top1[6] = {0, 1, 0, 0, 0, 0}, top2[6] = {1, 1, 0, 0, 0, 0};
    for (int k = 1; k <= 2; k++) {
        liana_tensor x = constant(liana__test_new_graph(context), LIANA_F32, liana_shape_of(6, 4), predictions);
        liana_tensor target = constant(x.graph, LIANA_S32, liana_shape_of(6), targets);
        assert_values(liana_op_in_top_k(x, target, k), k == 1 ? top1 : top2, 6, 0);
    }
}

static void test_gather_is_pytorchs(void **state)
{
    (void)state;
    static const double indices[3] = {3, 0, 3};
    static const double expected[18] = {9, 10, 11, 0, 1, 2, 9, 10, 11, 21, 22, 23, 12, 13, 14, 21, 22, 23};
    static const double gradient[24] = {4, 5, 6, 0, 0, 0, 0, 0, 0, 8, 10, 12, 13, 14, 15, 0, 0, 0, 0, 0, 0, 26, 28, 30};
    double values[24], factors[18];
    for (int i = 0; i < 24; i++) values[i] = i;
    for (int i = 0; i < 18; i++) factors[i] = i + 1;
    for (size_t p = 0; p < 2; p++) {
        for (int part = 0; part < 2; part++) {
            liana_tensor x =
                constant(liana__test_new_graph(context), precisions[p].dtype, liana_shape_of(2, 4, 3), values);
            liana_tensor y = liana_op_gather(x, constant(x.graph, LIANA_S32, liana_shape_of(3), indices), 1);
            if (part == 0) {
                assert_values(y, expected, 18, 0);
            } else {
                assert_values(weighted_gradient(y, x, precisions[p].dtype, factors), gradient, 24, 0);
            }
        }
    }
}

static void test_gather_clamps(void **state)
{
    (void)state;
    static const double values[3] = {10, 20, 30}, indices[4] = {-7, 0, 2, 3}, expected[4] = {10, 10, 30, 30};
    liana_tensor x = constant(liana__test_new_graph(context), LIANA_F32, liana_shape_of(3), values);
    assert_values(liana_op_gather(x, constant(x.graph, LIANA_S32, liana_shape_of(4), indices), 0), expected, 4, 0);
}

/* Elements travel bit by bit: 2^53 + 1 is no double. */
static void test_large_integers_survive_moving(void **state)
{
    (void)state;
    static const uint64_t values[6] = {9007199254740993u, 1, 2, 3, UINT64_MAX, 9007199254740995u};
    static const uint64_t expected[4] = {UINT64_MAX, 9007199254740995u, 3, 9007199254740993u};
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana_graph_constant(graph, LIANA_U64, liana_shape_of(2, 3), values);
    liana_tensor turned = liana_op_transpose(x, LIANA_AXES(1, 0)); /* [0 3] [1 4] [2 5] */
    liana_tensor last = liana_op_slice(turned, ((int64_t[]){1, 1}), ((int64_t[]){3, 2}), NULL);
    liana_tensor first = liana_op_slice(turned, ((int64_t[]){0, 0}), ((int64_t[]){1, 2}), NULL);
    liana_tensor parts[] = {liana_op_reshape(last, liana_shape_of(2)), liana_op_reshape(first, liana_shape_of(2))};
    liana_tensor joined = liana_op_concat(parts, 2, 0);
    static const int32_t order[4] = {0, 1, 3, 2};
    liana_tensor indices = liana_graph_constant(graph, LIANA_S32, liana_shape_of(4), order);
    liana_graph_output(graph, "result", liana_op_gather(joined, indices, 0));
    assert_ok(liana_graph_status(graph), &context->error);
    for (int device = 0; device < 2; device++) {
        liana__test_value value;
        liana__test_run(devices[device], graph, NULL, &value);
        assert_memory_equal(value.data, expected, sizeof expected);
        free(value.data);
    }
    liana_graph_destroy(graph);
}

/* Equal numbers, NaN on either side and signed zeros, long enough for the vector kernels' main loops and their ends;
 * `b` is a whole tensor or one value. */
static void assert_pairs(liana_tensor (*build)(liana_location, liana_tensor, liana_tensor),
                         double (*value)(double a, double b), bool scalar_b)
{
    static const double as[] = {1, 2, -1, NAN, 1, NAN, 0, -INFINITY, 7},
                        bs[] = {1, -2, 3, 1, NAN, NAN, -0.0, INFINITY, 7};
    enum { COUNT = 41, PAIRS = sizeof as / sizeof *as };
    double a[COUNT], b[COUNT], expected[COUNT];
    for (int i = 0; i < COUNT; i++) {
        a[i] = as[i % PAIRS];
        b[i] = bs[i % PAIRS];
        expected[i] = value(a[i], scalar_b ? 1 : b[i]);
    }
    liana_tensor x = constant(liana__test_new_graph(context), LIANA_F32, liana_shape_of(COUNT), a);
    liana_tensor y = constant(x.graph, LIANA_F32, scalar_b ? LIANA_SCALAR : liana_shape_of(COUNT), b);
    assert_values(build(LIANA_HERE, x, y), expected, COUNT, 0);
}

#define PAIR_VALUE(name, expression)               \
    static double name##_value(double a, double b) \
    {                                              \
        return expression;                         \
    }
PAIR_VALUE(equal, a == b)
PAIR_VALUE(not_equal, a != b)
PAIR_VALUE(less, a < b)
PAIR_VALUE(less_equal, a <= b)
PAIR_VALUE(greater, a > b)
PAIR_VALUE(greater_equal, a >= b)
PAIR_VALUE(maximum, isnan(a) || isnan(b) ? NAN : fmax(a, b))
PAIR_VALUE(minimum, isnan(a) || isnan(b) ? NAN : fmin(a, b))
PAIR_VALUE(relu_gradient, a > 0 ? b : 0)

static liana_tensor relu_gradient_at(liana_location here, liana_tensor y, liana_tensor dy)
{
    return liana__build2(here, &liana__op_relu_gradient, y, dy, NULL);
}

static void test_pairs_with_ties_and_nan(void **state)
{
    (void)state;
    for (int scalar_b = 0; scalar_b < 2; scalar_b++) {
        assert_pairs(liana_op_equal_at, equal_value, scalar_b);
        assert_pairs(liana_op_not_equal_at, not_equal_value, scalar_b);
        assert_pairs(liana_op_less_at, less_value, scalar_b);
        assert_pairs(liana_op_less_equal_at, less_equal_value, scalar_b);
        assert_pairs(liana_op_greater_at, greater_value, scalar_b);
        assert_pairs(liana_op_greater_equal_at, greater_equal_value, scalar_b);
        assert_pairs(liana_op_maximum_at, maximum_value, scalar_b);
        assert_pairs(liana_op_minimum_at, minimum_value, scalar_b);
        assert_pairs(relu_gradient_at, relu_gradient_value, scalar_b);
    }
}

/* NaN is not lost in any element-wise op or reduction, wherever it is; relu of it included. */
static void test_nan_is_not_lost(void **state)
{
    (void)state;
    static liana_tensor (*const unary[])(liana_location, liana_tensor) = {liana_op_relu_at, liana_op_relu6_at,
                                                                          liana_op_sign_at, liana_op_round_at,
                                                                          liana_op_tanh_at, liana_op_sqrt_at};
    double values[37], expected[37];
    for (int i = 0; i < 37; i++) values[i] = i % 5 == 2 ? NAN : 0;
    for (int i = 0; i < 37; i++) expected[i] = i % 5 == 2 ? NAN : 0;
    for (size_t k = 0; k < sizeof unary / sizeof *unary; k++) {
        liana_tensor x = constant(liana__test_new_graph(context), LIANA_F32, liana_shape_of(37), values);
        assert_values(unary[k](LIANA_HERE, x), expected, 37, 0);
    }
    static liana_tensor (*const reductions[])(liana_location, liana_tensor, liana_axes,
                                              bool) = {liana_op_reduce_sum_at, liana_op_reduce_mean_at,
                                                       liana_op_reduce_max_at, liana_op_reduce_min_at};
    static const double nan_only[2] = {NAN, NAN};
    for (size_t k = 0; k < sizeof reductions / sizeof *reductions; k++) {
        for (int place = 0; place < 37; place++) {
            for (int i = 0; i < 37; i++) values[i] = i == place ? NAN : i;
            liana_tensor x = constant(liana__test_new_graph(context), LIANA_F32, liana_shape_of(37), values);
            assert_values(reductions[k](LIANA_HERE, x, LIANA_ALL_AXES, false), nan_only, 1, 0);
            x = constant(liana__test_new_graph(context), LIANA_F32, liana_shape_of(37, 1), values);
            x = liana_op_broadcast_to(x, liana_shape_of(37, 2));
            assert_values(reductions[k](LIANA_HERE, x, LIANA_AXES(0), false), nan_only, 2, 0);
        }
    }
}

/* Many equal numbers that floats cannot hold: adding them one by one would be wrong in the fourth digit. */
static void test_long_sums_are_accurate(void **state)
{
    (void)state;
    for (int axis = 0; axis < 2; axis++) {
        liana_graph *graph = liana__test_new_graph(context);
        liana_shape shape = axis ? liana_shape_of(3, 1000003) : liana_shape_of(1000003, 3);
        liana_tensor x = liana_op_broadcast_to(liana_graph_scalar(graph, LIANA_F32, 0.1), shape);
        double sum = 1000003 * (double)0.1f, expected[3] = {sum, sum, sum};
        assert_values(liana_op_reduce_sum(x, LIANA_AXES(axis), false), expected, 3, 2e-7);
    }
}

/* Where the usual formulas divide by zero or multiply it by infinity. */
static void test_gradients_at_zero(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = constant(graph, LIANA_F32, liana_shape_of(3, 3), (const double[]){2, 3, 4, 5, 0, 7, 0, 0, 8});
    liana_tensor gradients[2];
    liana_tensor products = liana_op_reduce_prod(x, LIANA_AXES(1), false);
    liana_gradients(liana_op_reduce_sum(products, LIANA_ALL_AXES, false), &x, 1, gradients);
    assert_values(gradients[0], (const double[]){12, 8, 6, 0, 35, 0, 0, 0, 0}, 9, 1e-6);

    for (int of = 0; of < 2; of++) {
        graph = liana__test_new_graph(context);
        const liana_tensor ab[] = {constant(graph, LIANA_F32, liana_shape_of(4), (const double[]){0, 0, 3, 2}),
                                   constant(graph, LIANA_F32, liana_shape_of(4), (const double[]){0, 2, 0, 3})};
        liana_tensor power = liana_op_reduce_sum(liana_op_power(ab[0], ab[1]), LIANA_ALL_AXES, false);
        liana_gradients(power, ab, 2, gradients);
        const double expected[2][4] = {{0, 0, 0, 12}, {0, 0, log(3), 8 * log(2)}};
        assert_values(gradients[of], expected[of], 4, 1e-6);
    }
}

/* ---- messages ---- */

static liana_tensor f32(liana_graph *graph, const char *name, liana_shape shape)
{
    return liana_graph_input(graph, name, LIANA_F32, shape);
}

#define assert_refused(graph, ...)                                                                           \
    do {                                                                                                     \
        assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "test_op_values.c", \
                     __VA_ARGS__);                                                                           \
        liana_graph_destroy(graph);                                                                          \
        graph = liana__test_new_graph(context);                                                              \
    } while (0)

static void test_messages_of_moving_ops(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    liana_op_slice(f32(graph, "x", liana_shape_of(4, 5)), ((int64_t[]){0, 3}), ((int64_t[]){4, 6}), NULL);
    assert_refused(graph, "slice(f32[4, 5])", "axis 1", "from 3 up to 6", "limit <= 5");
    liana_op_slice(f32(graph, "x", liana_shape_of(4)), ((int64_t[]){0}), ((int64_t[]){4}), ((int64_t[]){0}));
    assert_refused(graph, "stride 0", "at least 1");
    liana_op_pad(f32(graph, "x", liana_shape_of(4)), ((int64_t[]){-1}), ((int64_t[]){2}), 0);
    assert_refused(graph, "pad(f32[4])", "-1 cells before", "0 or more");
    liana_op_pad(f32(graph, "x", liana_shape_of(4)), ((int64_t[]){0}), ((int64_t[]){INT64_MAX}), 0);
    assert_refused(graph, "9223372036854775807 after", "64 TiB");
    liana_tensor parts[] = {f32(graph, "a", liana_shape_of(2, 3)), f32(graph, "b", liana_shape_of(3, 3))};
    liana_op_concat(parts, 2, 1);
    assert_refused(graph, "concat(f32[2, 3], f32[3, 3])", "input 1 is [3, 3]", "except along axis 1");
    liana_op_transpose(f32(graph, "x", liana_shape_of(2, 3)), LIANA_AXES(1, 1));
    assert_refused(graph, "transpose", "axis 1 twice");
    liana_op_transpose(f32(graph, "x", liana_shape_of(2, 3)), LIANA_AXES(0));
    assert_refused(graph, "names 1 axes", "has 2");
    liana_op_gather(f32(graph, "x", liana_shape_of(2, 3)), f32(graph, "i", liana_shape_of(2)), 0);
    assert_refused(graph, "gather", "indices are f32", "s32");
    liana_op_select(f32(graph, "c", liana_shape_of(2)), f32(graph, "a", liana_shape_of(2)),
                    f32(graph, "b", liana_shape_of(2)));
    assert_refused(graph, "select", "condition is f32", "bool");
    liana_op_clip(f32(graph, "x", liana_shape_of(2)), 1, -1);
    assert_refused(graph, "clip", "low is 1", "high is -1");
    liana_graph_destroy(graph);
}

static void test_messages_of_classification_ops(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    liana_op_softmax(f32(graph, "x", LIANA_SCALAR));
    assert_refused(graph, "softmax(f32[])", "scalar");
    liana_tensor labels = liana_graph_input(graph, "labels", LIANA_S32, liana_shape_of(5));
    liana_op_sparse_softmax_cross_entropy(f32(graph, "x", liana_shape_of(4, 10)), labels);
    assert_refused(graph, "5 labels", "4 rows");
    labels = liana_graph_input(graph, "labels", LIANA_U8, liana_shape_of(4));
    liana_op_sparse_softmax_cross_entropy(f32(graph, "x", liana_shape_of(4, 10)), labels);
    assert_refused(graph, "labels are u8", "s32", "liana_op_cast");
    labels = liana_graph_input(graph, "labels", LIANA_S32, liana_shape_of(4));
    liana_op_in_top_k(f32(graph, "x", liana_shape_of(4, 10)), labels, 0);
    assert_refused(graph, "k is 0", "at least 1");
    liana_op_argmax(f32(graph, "x", liana_shape_of(4, 10)), 2);
    assert_refused(graph, "argmax", "axis 2");
    liana_op_one_hot(f32(graph, "x", liana_shape_of(4)), 3, LIANA_F32);
    assert_refused(graph, "one_hot", "indices are f32");
    liana_op_one_hot(liana_graph_input(graph, "i", LIANA_S32, liana_shape_of(4)), 0, LIANA_F32);
    assert_refused(graph, "depth is 0");
    liana_op_iota(graph, LIANA_U8, liana_shape_of(2, 257), 1);
    assert_refused(graph, "iota", "257 elements", "u8", "256");
    liana_tensor positions = liana_graph_input(graph, "p", LIANA_U64, liana_shape_of(3));
    liana_op_dropout(f32(graph, "x", liana_shape_of(4, 2)), positions, 0.5, 0, 0);
    assert_refused(graph, "dropout", "[4, 2]", "first axis of 3");
    positions = liana_graph_input(graph, "p", LIANA_U64, liana_shape_of(4));
    liana_op_dropout(f32(graph, "x", liana_shape_of(4, 2)), positions, 1, 0, 0);
    assert_refused(graph, "rate is 1", "rate < 1");
    liana_op_dropout(f32(graph, "x", liana_shape_of(4, 2)), f32(graph, "p", liana_shape_of(4)), 0.5, 0, 0);
    assert_refused(graph, "positions are f32", "u64");
    liana_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax_is_pytorchs),
        cmocka_unit_test(test_log_softmax_is_pytorchs),
        cmocka_unit_test(test_cross_entropy_is_pytorchs),
        cmocka_unit_test(test_labels_out_of_range_give_nan),
        cmocka_unit_test(test_softmax_of_extreme_rows),
        cmocka_unit_test(test_argmax_is_pytorchs_and_takes_the_first),
        cmocka_unit_test(test_argmax_finds_nan_and_infinity),
        cmocka_unit_test(test_in_top_k_is_tensorflows),
        cmocka_unit_test(test_gather_is_pytorchs),
        cmocka_unit_test(test_gather_clamps),
        cmocka_unit_test(test_large_integers_survive_moving),
        cmocka_unit_test(test_pairs_with_ties_and_nan),
        cmocka_unit_test(test_nan_is_not_lost),
        cmocka_unit_test(test_long_sums_are_accurate),
        cmocka_unit_test(test_gradients_at_zero),
        cmocka_unit_test(test_messages_of_moving_ops),
        cmocka_unit_test(test_messages_of_classification_ops),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
