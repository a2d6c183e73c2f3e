/* Losses and metrics, on both backends, against numbers of PyTorch 1.13 (float64) and their definitions. */
#include "harness/harness.h"

#include "base/random.h"
#include "harness/graph_run.h"
#include "ir/graph.h"
#include "ir/shape.h"
#include "losses/loss.h"
#include "metrics/metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana__device *devices[2];

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(1, &context, &devices[1], &devices[0]);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, devices[1], devices[0]);
}

enum { MAX_BATCH = 16, MAX_CLASSES = 40 };

/* Losses whose targets are classes. */
static const liana_loss_type *const of_classes[] = {&liana__loss_sparse_categorical_crossentropy,
                                                    &liana__loss_categorical_crossentropy};
enum { NUM_OF_CLASSES = sizeof of_classes / sizeof *of_classes };

/* A batch, and its loss. */
typedef struct trial {
    int64_t batch, classes;
    const double *scores; /* [batch, classes]: logits, or probabilities */
    const int32_t *labels;
    double loss[MAX_BATCH];
    double gradient[MAX_BATCH * MAX_CLASSES]; /* of the sum of the loss with respect to the scores */
} trial;

static liana__test_value scores_value(const trial *t, liana_dtype dtype)
{
    liana_shape shape = liana_shape_of(t->batch, t->classes);
    liana__test_value value = {dtype, shape, malloc(liana__byte_size(dtype, &shape))};
    assert_non_null(value.data);
    for (int64_t i = 0; i < t->batch * t->classes; i++) liana__store(value.data, dtype, i, t->scores[i]);
    return value;
}

static liana__test_value labels_value(const trial *t)
{
    size_t size = (size_t)t->batch * sizeof *t->labels;
    liana__test_value value = {LIANA_S32, liana_shape_of(t->batch), malloc(size)};
    assert_non_null(value.data);
    memcpy(value.data, t->labels, size);
    return value;
}

static void try_loss(trial *t, const liana_loss_type *loss, bool from_logits, liana__device *device, liana_dtype dtype)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor scores = liana_graph_input(graph, "scores", dtype, liana_shape_of(t->batch, t->classes));
    liana_tensor labels = liana_graph_input(graph, "labels", LIANA_S32, liana_shape_of(t->batch)), gradient;
    liana_tensor output = from_logits ? liana_op_softmax(scores) : scores;
    void *options = liana__arena_allocate(&graph->arena, loss->part.options.size + 1);
    assert_ok(liana__fields_default(&loss->part.options, &graph->arena, options, &context->error), &context->error);
    const liana_loss_call call = {.options = options,
                                  .output = output,
                                  .logits = from_logits ? scores : (liana_tensor){0},
                                  .target = {LIANA_TARGET_CLASSES, labels}};
    liana_tensor each = loss->elements(&call);
    liana_gradients(each, &scores, 1, &gradient);
    liana_graph_output(graph, "loss", each);
    liana_graph_output(graph, "gradient", gradient);
    assert_ok(liana_graph_status(graph), &context->error);
    assert_int_equal(liana_tensor_dtype(each), dtype);
    liana_shape shape = liana_tensor_shape(each);
    assert_true(liana_shape_equal(&shape, &liana_shape_of(t->batch)));
    liana__test_value inputs[2] = {scores_value(t, dtype), labels_value(t)}, outputs[2];
    liana__test_run(device, graph, inputs, outputs);
    for (int64_t i = 0; i < t->batch; i++) t->loss[i] = liana__load(outputs[0].data, dtype, i);
    for (int64_t i = 0; i < t->batch * t->classes; i++) t->gradient[i] = liana__load(outputs[1].data, dtype, i);
    liana__test_free_values(inputs, 2);
    liana__test_free_values(outputs, 2);
    liana_graph_destroy(graph);
}

static void assert_close(const char *what, const double *got, const double *expected, int64_t count, double tolerance)
{
    for (int64_t i = 0; i < count; i++) {
        if (fabs(got[i] - expected[i]) <= tolerance * (1 + fabs(expected[i]))) continue;
        fail_msg("%s[%lld] is %.17g, expected %.17g", what, (long long)i, got[i], expected[i]);
    }
}

/* ---- against PyTorch ---- */

enum { TORCH_BATCH = 5, TORCH_CLASSES = 7 };

static const int32_t torch_labels[TORCH_BATCH] = {3, 0, 6, 2, 5};

/* cross_entropy of logits (((5 i + 3 k + i k) mod 13) - 6) / 2. */
static const double logits_loss[TORCH_BATCH] = {1.7802346397809368, 3.8510555346794488, 6.0319420683732066,
                                                5.7472590771040428, 4.314108395951509};
static const double logits_gradient[TORCH_BATCH * TORCH_CLASSES] = {
    0.0018729610714841648, 0.008394029163239251,  0.037619428756988323, -0.83140141730744399,  0.75560642532771705,
    0.0050912360460265878, 0.022817336941988543,  -0.97874271321112694, 0.15707128459404068,   0.0017449043568124698,
    0.012893196179755843,  0.095268549866734262,  0.70394465942907181,  0.0078201187847117166, 0.21611554832678678,
    0.0039582943413942083, 0.048221896908721661,  0.58746296786416718,  0.010759759579904141,  0.1310807061008035,
    -0.99759917312177737,  0.0052619211719365372, 0.10568851198583429,  -0.99680848348022943,  0.064103322898814638,
    0.0019357526202201942, 0.038880630727590001,  0.78093834407583385,  0.098854283600784965,  0.0049216649760884922,
    0.16298316007243699,   0.0081144537333369352, 0.26871380277735069,  -0.98662152752973531,  0.44303416236973731};

/* nll_loss(log(clamp(q / sum(q), 1e-7, 1 - 1e-7))) of q = (((5 i + 3 k + i k) mod 13) + 1) / 16, whose rows do not sum
 * to 1. */
static const double output_loss[TORCH_BATCH] = {1.4816045409242156, 2.0794415416798357, 3.2580965380214821,
                                                3.068052935133617, 2.4638532405901681};
/* One over the row's sum everywhere, and that less one over the probability at the label. */
static const double output_gradient[TORCH_BATCH][2] = {{0.3636363636363637, -1.2363636363636363},
                                                       {0.33333333333333331, -2.333333333333333},
                                                       {0.30769230769230771, -7.6923076923076925},
                                                       {0.372093023255814, -7.6279069767441863},
                                                       {0.34042553191489361, -3.6595744680851063}};

static void check_torch(const liana_loss_type *loss, liana__device *device, liana_dtype dtype, double tolerance)
{
    double logits[TORCH_BATCH * TORCH_CLASSES], outputs[TORCH_BATCH * TORCH_CLASSES];
    double expected[TORCH_BATCH * TORCH_CLASSES];
    for (int i = 0; i < TORCH_BATCH; i++) {
        for (int k = 0; k < TORCH_CLASSES; k++) {
            int number = (5 * i + 3 * k + i * k) % 13;
            logits[i * TORCH_CLASSES + k] = (number - 6) / 2.0;
            outputs[i * TORCH_CLASSES + k] = (number + 1) / 16.0;
            expected[i * TORCH_CLASSES + k] = output_gradient[i][k == torch_labels[i]];
        }
    }
    trial t = {.batch = TORCH_BATCH, .classes = TORCH_CLASSES, .scores = logits, .labels = torch_labels};
    try_loss(&t, loss, true, device, dtype);
    assert_close("loss of logits", t.loss, logits_loss, TORCH_BATCH, tolerance);
    assert_close("gradient of logits", t.gradient, logits_gradient, TORCH_BATCH * TORCH_CLASSES, tolerance);
    t.scores = outputs;
    try_loss(&t, loss, false, device, dtype);
    assert_close("loss of outputs", t.loss, output_loss, TORCH_BATCH, tolerance);
    assert_close("gradient of outputs", t.gradient, expected, TORCH_BATCH * TORCH_CLASSES, tolerance);
}

static void test_losses_agree_with_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_OF_CLASSES; i++) {
        check_torch(of_classes[i], devices[0], LIANA_F64, 1e-14);
        check_torch(of_classes[i], devices[0], LIANA_F32, 5e-7);
        check_torch(of_classes[i], devices[1], LIANA_F32, 5e-7);
    }
}

/* ---- by definition ---- */

static void draw_batch(uint32_t salt, int64_t batch, int64_t classes, double width, double *logits, int32_t *labels)
{
    liana__philox_key key = liana__philox_make_key(8, LIANA__STREAM_TEST, salt);
    uint32_t words[4];
    for (int64_t i = 0; i < batch * classes; i++) {
        liana__philox(key, (uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
        logits[i] = (liana__uniform_float(words[0]) - 0.5f) * (float)width;
    }
    for (int64_t i = 0; i < batch; i++) {
        liana__philox(key, (uint32_t[4]){(uint32_t)i, 1, 0, 0}, words);
        labels[i] = (int32_t)(words[0] % (uint32_t)classes);
    }
}

static void test_gradient_is_softmax_minus_one_hot(void **state)
{
    (void)state;
    static const int64_t class_counts[] = {1, 2, 3, 10, 17, 33};
    double logits[MAX_BATCH * MAX_CLASSES];
    int32_t labels[MAX_BATCH];
    for (size_t n = 0; n < sizeof class_counts / sizeof *class_counts; n++) {
        int64_t classes = class_counts[n], batch = 9;
        draw_batch((uint32_t)n, batch, classes, 8, logits, labels);
        double expected[MAX_BATCH * MAX_CLASSES];
        for (int64_t i = 0; i < batch; i++) {
            double sum = 0;
            for (int64_t k = 0; k < classes; k++) sum += exp(logits[i * classes + k]);
            for (int64_t k = 0; k < classes; k++) {
                expected[i * classes + k] = exp(logits[i * classes + k]) / sum - (k == labels[i]);
            }
        }
        for (size_t i = 0; i < NUM_OF_CLASSES; i++) {
            trial t = {.batch = batch, .classes = classes, .scores = logits, .labels = labels};
            try_loss(&t, of_classes[i], true, devices[1], LIANA_F32);
            assert_close("gradient", t.gradient, expected, batch * classes, 1e-6);
        }
    }
}

static void test_both_losses_are_equal(void **state)
{
    (void)state;
    double logits[MAX_BATCH * MAX_CLASSES];
    int32_t labels[MAX_BATCH];
    draw_batch(100, MAX_BATCH, MAX_CLASSES, 20, logits, labels);
    static trial sparse, plain;
    sparse = plain = (trial){.batch = MAX_BATCH, .classes = MAX_CLASSES, .scores = logits, .labels = labels};
    for (int d = 0; d < 2; d++) {
        try_loss(&sparse, &liana__loss_sparse_categorical_crossentropy, true, devices[d], LIANA_F32);
        try_loss(&plain, &liana__loss_categorical_crossentropy, true, devices[d], LIANA_F32);
        assert_close("loss", sparse.loss, plain.loss, MAX_BATCH, 1e-6);
        assert_close("gradient", sparse.gradient, plain.gradient, (int64_t)MAX_BATCH * MAX_CLASSES, 1e-6);
    }
}

/* Margins at which exp overflows and underflows: the loss is the margin, the gradient 1 and -1. */
static void test_extreme_logits_stay_finite(void **state)
{
    (void)state;
    static const double logits[3 * 3] = {1e4, 0, -1e4, -3e4, 0, 2e4, 1e4, 1e4, -1e4};
    static const int32_t labels[3] = {2, 0, 0};
    static const double loss[3] = {2e4, 5e4, 0.69314718055994529};
    static const double gradient[9] = {1, 0, -1, -1, 0, 1, -0.5, 0.5, 0};
    for (size_t i = 0; i < NUM_OF_CLASSES; i++) {
        for (int d = 0; d < 2; d++) {
            trial t = {.batch = 3, .classes = 3, .scores = logits, .labels = labels};
            try_loss(&t, of_classes[i], true, devices[d], LIANA_F32);
            assert_close("loss", t.loss, loss, 3, 1e-6);
            assert_close("gradient", t.gradient, gradient, 9, 1e-6);
        }
    }
}

/* Keras's clipping: a probability of 0 costs -log(1e-7), and no gradient flows. */
static void test_probabilities_are_clipped(void **state)
{
    (void)state;
    static const double outputs[2 * 3] = {0, 1, 0, 0, 1, 0};
    static const int32_t labels[2] = {0, 1};
    static const double loss[2] = {16.118095650958319, 1.0000000494736474e-07};
    static const double none[6] = {0};
    for (size_t i = 0; i < NUM_OF_CLASSES; i++) {
        trial t = {.batch = 2, .classes = 3, .scores = outputs, .labels = labels};
        try_loss(&t, of_classes[i], false, devices[0], LIANA_F64);
        assert_close("loss", t.loss, loss, 2, 1e-9);
        assert_close("gradient", t.gradient, none, 6, 0);
        try_loss(&t, of_classes[i], false, devices[1], LIANA_F32);
        assert_close("loss", t.loss, loss, 2, 1e-6);
        assert_close("gradient", t.gradient, none, 6, 0);
    }
}

/* ---- metrics ---- */

static void check_metric(const liana_metric_type *metric, int64_t batch, int64_t classes, const float *outputs,
                         const int32_t *labels, const float *expected)
{
    for (int d = 0; d < 2; d++) {
        liana_graph *graph;
        assert_ok(liana_graph_create(context, &graph), &context->error);
        liana_tensor output = liana_graph_input(graph, "output", LIANA_F32, liana_shape_of(batch, classes));
        liana_tensor truth = liana_graph_input(graph, "labels", LIANA_S32, liana_shape_of(batch));
        const liana_metric_call call = {.output = output,
                                        .activation = LIANA_LOGITS_SOFTMAX,
                                        .target = {LIANA_TARGET_CLASSES, truth}};
        liana_tensor each = metric->elements(&call);
        assert_int_equal(liana_tensor_dtype(each), LIANA_F32);
        liana_graph_output(graph, "metric", each);
        assert_ok(liana_graph_status(graph), &context->error);
        liana__test_value inputs[2] = {{LIANA_F32, liana_shape_of(batch, classes), (void *)outputs},
                                       {LIANA_S32, liana_shape_of(batch), (void *)labels}};
        liana__test_value result;
        liana__test_run(devices[d], graph, inputs, &result);
        assert_true(liana_shape_equal(&result.shape, &liana_shape_of(batch)));
        assert_memory_equal(result.data, expected, (size_t)batch * sizeof *expected);
        liana__test_free_values(&result, 1);
        liana_graph_destroy(graph);
    }
}

static void test_accuracy(void **state)
{
    (void)state;
    /* Right, wrong, a tie that the first wins, a tie lost to the first, all equal twice, logits. */
    static const float outputs[] = {.1f, .7f, .2f, .1f, .7f, .2f, .4f, .4f, .2f, .4f, .4f,
                                    .2f, .3f, .3f, .3f, .3f, .3f, .3f, -9,  -3,  -5};
    static const int32_t labels[] = {1, 2, 0, 1, 0, 2, 1};
    static const float expected[] = {1, 0, 1, 0, 1, 0, 1};
    check_metric(&liana__metric_accuracy, 7, 3, outputs, labels, expected);
}

static void test_top_5_accuracy(void **state)
{
    (void)state;
    /* The fifth and the sixth of eight; a tie at the fifth place counts in favour, as in TensorFlow. */
    static const float outputs[] = {8, 7, 6, 5, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1,
                                    8, 7, 6, 5, 4, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const int32_t labels[] = {4, 5, 5, 7};
    static const float expected[] = {1, 0, 1, 1};
    check_metric(&liana__metric_top_5_accuracy, 4, 8, outputs, labels, expected);
    /* With fewer than five classes any guess is among the first five. */
    check_metric(&liana__metric_top_5_accuracy, 2, 2, (const float[]){.9f, .1f, .9f, .1f}, (const int32_t[]){0, 1},
                 (const float[]){1, 1});
}

/* A model that has diverged must not look right. */
static void test_nan_is_never_accurate(void **state)
{
    (void)state;
    const float outputs[] = {NAN, NAN, NAN, .5f, NAN, .1f};
    check_metric(&liana__metric_top_5_accuracy, 2, 3, outputs, (const int32_t[]){0, 0}, (const float[]){0, 0});
}

static void test_names(void **state)
{
    (void)state;
    const char *nearest = NULL;
    assert_ptr_equal(liana__part_find(NULL, &liana__loss_kind, "categorical_crossentropy", &nearest),
                     &liana__loss_categorical_crossentropy);
    assert_null(liana__part_find(NULL, &liana__loss_kind, "sparse_categorical_entropy", &nearest));
    assert_string_equal(nearest, "sparse_categorical_crossentropy");
    assert_ptr_equal(liana__part_find(NULL, &liana__loss_kind, "mse", &nearest), &liana__loss_mean_squared_error);
    assert_ptr_equal(liana__part_find(NULL, &liana__loss_kind, "CategoricalCrossentropy", &nearest),
                     &liana__loss_categorical_crossentropy);
    assert_null(liana__part_find(NULL, &liana__loss_kind, "wasserstein", &nearest));
    assert_null(nearest);
    assert_ptr_equal(liana__part_find(NULL, &liana__metric_kind, "top_5_accuracy", &nearest),
                     &liana__metric_top_5_accuracy);
    assert_null(liana__part_find(NULL, &liana__metric_kind, "acuracy", &nearest));
    assert_string_equal(nearest, "accuracy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_agree_with_pytorch),
        cmocka_unit_test(test_gradient_is_softmax_minus_one_hot),
        cmocka_unit_test(test_both_losses_are_equal),
        cmocka_unit_test(test_extreme_logits_stay_finite),
        cmocka_unit_test(test_probabilities_are_clipped),
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_top_5_accuracy),
        cmocka_unit_test(test_nan_is_never_accurate),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
