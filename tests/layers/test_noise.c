/* Random numbers in graphs, and the layers that draw: what they are by definition, their distributions, and that
 * batches do not matter. */
#include "harness/harness.h"

#include "base/random.h"
#include "harness/one_context.h"
#include "layers/model.h"

#include <liana/layers.h>
#include <liana/ops.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, LENGTH = 2000, DRAWS = BATCH * LENGTH };

static liana_graph *new_graph(void)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    return graph;
}

/* Positions first, first + 1, ... */
static liana_tensor positions_from(liana_graph *graph, uint64_t first, int64_t count)
{
    uint64_t values[BATCH];
    for (int64_t i = 0; i < count; i++) values[i] = first + (uint64_t)i;
    return liana_graph_constant(graph, LIANA_U64, liana_shape_of(count), values);
}

static float *value_of(liana_tensor tensor)
{
    const liana_shape shape = liana_tensor_shape(tensor);
    const size_t size = (size_t)liana_shape_size(&shape) * sizeof(float);
    float *values = malloc(size);
    assert_non_null(values);
    assert_ok(liana_value(tensor, values, size), &context->error);
    return values;
}

static float *draw(bool is_normal, uint64_t first, int64_t batch, int64_t length)
{
    liana_graph *graph = new_graph();
    liana_tensor positions = positions_from(graph, first, batch);
    const liana_shape example = liana_shape_of(length);
    float *values = value_of(is_normal ? liana_op_random_normal(positions, LIANA_F32, example, 0, 1, 11, 5)
                                       : liana_op_random_uniform(positions, LIANA_F32, example, 0, 1, 11, 5));
    liana_graph_destroy(graph);
    return values;
}

/* ---- the ops ---- */

/* The words of Philox as random.h says, and the normal number as what the error function makes of it. */
static void test_numbers_are_those_of_their_words(void **state)
{
    (void)state;
    enum { COUNT = 203 };
    float *uniform = draw(false, UINT64_MAX - 1, 3, COUNT), *normal = draw(true, UINT64_MAX - 1, 3, COUNT);
    const liana__philox_key key = liana__philox_make_key(11, LIANA__STREAM_NOISE, 5);
    for (uint32_t e = 0; e < 3; e++) {
        const uint64_t position = UINT64_MAX - 1 + e;
        for (uint32_t j = 0; j < COUNT; j++) {
            uint32_t counter[4] = {j / 4, 0, (uint32_t)position, (uint32_t)(position >> 32)}, words[4];
            liana__philox(key, counter, words);
            const double u = liana__uniform_float(words[j % 4]);
            assert_compare((double)uniform[e * COUNT + j], ==, u, e, j);
            assert_near(erf((double)normal[e * COUNT + j] / sqrt(2)), 2 * u - 1 + 0x1p-24, 1e-6);
        }
    }
    free(uniform);
    free(normal);
}

static void moments_of(const float *values, int count, double *mean, double *variance)
{
    *mean = *variance = 0;
    for (int i = 0; i < count; i++) *mean += (double)values[i] / count;
    for (int i = 0; i < count; i++) *variance += pow((double)values[i] - *mean, 2) / count;
}

/* Bounds are five standard deviations. */
static void test_distributions(void **state)
{
    (void)state;
    double mean, variance;
    float *uniform = draw(false, 0, BATCH, LENGTH), *normal = draw(true, 0, BATCH, LENGTH);
    moments_of(uniform, DRAWS, &mean, &variance);
    assert_near(mean, 0.5, 5 * sqrt(1 / 12. / DRAWS));
    assert_near(variance, 1 / 12., 5 * sqrt(1 / 180. / DRAWS));
    moments_of(normal, DRAWS, &mean, &variance);
    assert_near(mean, 0, 5 / sqrt(DRAWS));
    assert_near(variance, 1, 5 * sqrt(2. / DRAWS));
    int beyond = 0;
    for (int i = 0; i < DRAWS; i++) beyond += fabsf(normal[i]) > 3;
    assert_near((double)beyond / DRAWS, 0.0026998, 5 * sqrt(0.0026998 / DRAWS));
    free(uniform);
    free(normal);
}

static void test_batches_do_not_matter(void **state)
{
    (void)state;
    for (int is_normal = 0; is_normal < 2; is_normal++) {
        float *whole = draw(is_normal, 100, 7, 145), *part = draw(is_normal, 103, 2, 145);
        assert_memory_equal(whole + 3 * 145, part, 2 * 145 * sizeof *part);
        free(whole);
        free(part);
    }
}

static void test_classes_are_drawn_by_their_probabilities(void **state)
{
    (void)state;
    static const double shares[] = {0.1, 0.6, 0, 0.3};
    float logits[BATCH][4];
    for (int i = 0; i < BATCH; i++) {
        for (int c = 0; c < 4; c++) logits[i][c] = shares[c] > 0 ? logf((float)shares[c]) + 3 : -INFINITY;
    }
    liana_graph *graph = new_graph();
    liana_tensor x = liana_graph_constant(graph, LIANA_F32, liana_shape_of(BATCH, 4), logits);
    liana_tensor ids = liana_op_random_categorical(x, positions_from(graph, 0, BATCH), LENGTH, 3, 0);
    float *classes = value_of(liana_op_cast(ids, LIANA_F32));
    int counts[4] = {0};
    for (int i = 0; i < DRAWS; i++) counts[(int)classes[i]]++;
    for (int c = 0; c < 4; c++) {
        assert_near((double)counts[c] / DRAWS, shares[c], 5 * sqrt(shares[c] * (1 - shares[c]) / DRAWS) + 1e-9);
    }
    (void)liana_op_random_categorical(liana_op_reshape(x, liana_shape_of(-1)), x, 1, 0, 0);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "random_categorical",
                 "[batch, classes]");
    free(classes);
    liana_graph_destroy(graph);
}

static void test_bad_draws_are_named(void **state)
{
    (void)state;
    liana_graph *graph = new_graph();
    liana_tensor positions = positions_from(graph, 0, 3);
    (void)liana_op_random_normal(positions, LIANA_F32, liana_shape_of(2), 0, -1, 0, 0);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "random_normal", "-1");
    liana_graph_destroy(graph);
    graph = new_graph();
    positions = positions_from(graph, 0, 3);
    (void)liana_op_random_uniform(positions, LIANA_S32, liana_shape_of(2), 0, 1, 0, 0);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, "random_uniform",
                 "other than f32, bf16 and f64");
    liana_graph_destroy(graph);
}

/* ---- the layers ---- */

static liana_model *new_model(void)
{
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    return model;
}

/* The result of a model of x [examples, ..., channels], whose elements count 0.5, 1, 1.5, 2 again and again. */
static float *run(const liana_model *model, bool training, uint64_t seed)
{
    assert_ok(liana_model_status(model), &context->error);
    liana_graph *graph = new_graph();
    liana_shape shape = liana__model_input(model, 0).shape;
    shape.dims[0] = BATCH;
    const int64_t size = liana_shape_size(&shape);
    float *numbers = malloc((size_t)size * sizeof *numbers);
    assert_non_null(numbers);
    for (int64_t i = 0; i < size; i++) numbers[i] = 0.5f * (float)(1 + i % 4);
    liana_tensor x = liana_graph_constant(graph, LIANA_F32, shape, numbers);
    const liana__model_mode mode = {.training = training, .positions = positions_from(graph, 7, BATCH), .seed = seed};
    float *values = value_of(liana__model_call(model, &x, &mode).outputs[0].value);
    free(numbers);
    liana_graph_destroy(graph);
    return values;
}

static void test_noise_is_normal(void **state)
{
    (void)state;
    double mean, variance;
    liana_model *noise = new_model(), *dropout = new_model();
    liana_input(noise, .shape = LIANA_INTS(LENGTH));
    liana_gaussian_noise(noise, .stddev = 0.25);
    liana_input(dropout, .shape = LIANA_INTS(LENGTH));
    liana_gaussian_dropout(dropout, .rate = 0.2);
    float *added = run(noise, true, 1), *factors = run(dropout, true, 1), *same = run(noise, false, 1);
    for (int i = 0; i < DRAWS; i++) {
        const float x = 0.5f * (float)(1 + i % 4);
        assert_compare(same[i], ==, x, i);
        added[i] -= x;
        factors[i] /= x;
    }
    moments_of(added, DRAWS, &mean, &variance);
    assert_near(mean, 0, 5 * 0.25 / sqrt(DRAWS));
    assert_near(variance, 0.0625, 5 * 0.0625 * sqrt(2. / DRAWS));
    moments_of(factors, DRAWS, &mean, &variance);
    assert_near(mean, 1, 5 * 0.5 / sqrt(DRAWS));
    assert_near(variance, 0.25, 5 * 0.25 * sqrt(2. / DRAWS));
    free(added);
    free(factors);
    free(same);
    liana_model_destroy(noise);
    liana_model_destroy(dropout);
}

/* With Keras's a = 0.8773943 and b = 0.7712994 for a rate of 0.25 (its formula, in double precision): kept elements are
 * a x + b, others a alpha + b with alpha = -1.7580993. */
static void test_alpha_dropout(void **state)
{
    (void)state;
    liana_model *model = new_model();
    liana_input(model, .shape = LIANA_INTS(LENGTH));
    liana_alpha_dropout(model, .rate = 0.25);
    float *y = run(model, true, 1);
    const double alpha = -1.7580993408473766, a = pow(0.75 * (1 + 0.25 * alpha * alpha), -0.5), b = -a * alpha * 0.25;
    int dropped = 0;
    for (int i = 0; i < DRAWS; i++) {
        const double x = 0.5 * (1 + i % 4), kept = a * x + b, gone = a * alpha + b;
        const bool is_gone = fabs((double)y[i] - gone) < 1e-5;
        dropped += is_gone;
        if (!is_gone) assert_near((double)y[i], kept, 1e-5);
    }
    assert_near((double)dropped / DRAWS, 0.25, 5 * sqrt(0.25 * 0.75 / DRAWS));
    free(y);
    liana_model_destroy(model);
}

/* All places of a channel are kept or dropped, and channels differ. */
static void check_channels(const float *y, int places, int channels)
{
    int dropped = 0;
    for (int e = 0; e < BATCH; e++) {
        for (int c = 0; c < channels; c++) {
            const bool is_gone = y[e * places * channels + c] == 0;
            dropped += is_gone;
            for (int p = 0; p < places; p++) {
                const int i = (e * places + p) * channels + c;
                assert_near((double)y[i], is_gone ? 0 : 0.5 * (1 + i % 4) / 0.6, 1e-6);
            }
        }
    }
    const int count = BATCH * channels;
    assert_near((double)dropped / count, 0.4, 5 * sqrt(0.24 / count));
}

static void test_spatial_dropout_takes_whole_channels(void **state)
{
    (void)state;
    for (int axes = 1; axes <= 3; axes++) {
        liana_model *model = new_model();
        liana_input(model, .shape = axes == 1   ? LIANA_INTS(6, 50)
                                    : axes == 2 ? LIANA_INTS(2, 3, 50)
                                                : LIANA_INTS(1, 2, 3, 50));
        if (axes == 1) liana_spatial_dropout1d(model, .rate = 0.4);
        if (axes == 2) liana_spatial_dropout2d(model, .rate = 0.4);
        if (axes == 3) liana_spatial_dropout3d(model, .rate = 0.4);
        float *y = run(model, true, 1);
        check_channels(y, 6, 50);
        free(y);
        liana_model_destroy(model);
    }
}

/* Two layers with one seed draw the same numbers, whatever the run's seed is; without a seed they do not. */
static void test_seeds_of_layers(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        float *results[3];
        for (int i = 0; i < 3; i++) {
            const int64_t seed = i < 2 ? 5 : -1;
            liana_model *model = new_model();
            liana_layer x = liana_input(model, .shape = LIANA_INTS(40));
            if (i == 1) x = liana_identity(model);
            if (kind == 0) liana_dropout(model, .rate = 0.5, .seed = seed, .input = x);
            if (kind == 1) liana_gaussian_noise(model, .stddev = 0.5, .seed = seed, .input = x);
            if (kind == 2) liana_alpha_dropout(model, .rate = 0.5, .seed = seed, .input = x);
            results[i] = run(model, true, (uint64_t)i);
            liana_model_destroy(model);
        }
        assert_memory_equal(results[0], results[1], 40 * BATCH * sizeof(float));
        assert_memory_not_equal(results[0], results[2], 40 * BATCH * sizeof(float));
        for (int i = 0; i < 3; i++) free(results[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_those_of_their_words),
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_batches_do_not_matter),
        cmocka_unit_test(test_classes_are_drawn_by_their_probabilities),
        cmocka_unit_test(test_bad_draws_are_named),
        cmocka_unit_test(test_noise_is_normal),
        cmocka_unit_test(test_alpha_dropout),
        cmocka_unit_test(test_spatial_dropout_takes_whole_channels),
        cmocka_unit_test(test_seeds_of_layers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
