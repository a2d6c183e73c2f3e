/* Initialisers: their distributions, seeds, and the kernels that are no draws. */
#include "harness/harness.h"

#include "harness/one_context.h"

#include "layers/model.h"

#include <liana/layers.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct moments {
    double mean, deviation, low, high;
} moments;

static moments draw(const char *text, liana_shape shape, uint64_t seed, uint32_t salt)
{
    liana__initializer initializer;
    liana__error error = {0};
    assert_ok(liana__initializer_parse(NULL, text, &initializer, &error), &error);
    int64_t count = liana_shape_size(&shape);
    float *values = malloc((size_t)count * sizeof *values);
    liana__initializer_fill(&initializer, seed, salt, &shape, values);
    moments m = {.low = INFINITY, .high = -INFINITY};
    for (int64_t i = 0; i < count; i++) {
        m.mean += (double)values[i] / (double)count;
        m.low = fmin(m.low, (double)values[i]);
        m.high = fmax(m.high, (double)values[i]);
    }
    for (int64_t i = 0; i < count; i++) m.deviation += pow((double)values[i] - m.mean, 2) / (double)count;
    m.deviation = sqrt(m.deviation);
    free(values);
    return m;
}

/* A kernel [3, 5, 40, 60]: fan in 600, fan out 900; 36000 draws. */
static void test_initializers_have_keras_distributions(void **state)
{
    (void)state;
    liana_shape shape = liana_shape_of(3, 5, 40, 60);
    const struct {
        const char *text;
        double deviation, limit; /* limit 0: none */
    } cases[] = {
        {"glorot_uniform", sqrt(1 / 750.), sqrt(3 / 750.)},
        {"glorot_normal", sqrt(1 / 750.), 2 * sqrt(1 / 750.) / .87962566103423978},
        {"he_uniform", sqrt(2 / 600.), sqrt(6 / 600.)},
        {"he_normal", sqrt(2 / 600.), 2 * sqrt(2 / 600.) / .87962566103423978},
        {"lecun_uniform", sqrt(1 / 600.), sqrt(3 / 600.)},
        {"lecun_normal", sqrt(1 / 600.), 2 * sqrt(1 / 600.) / .87962566103423978},
        {"variance_scaling(2, mode=fan_out, distribution=untruncated_normal)", sqrt(2 / 900.), 0},
        {"random_uniform", 0.05 / sqrt(3), 0.05},
        {"random_uniform(-2, maxval = 2)", 2 / sqrt(3), 2},
        {"random_normal(stddev=3)", 3, 0},
        {"truncated_normal(0, 1)", .87962566103423978, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        moments m = draw(cases[i].text, shape, 1, 2);
        assert_near(m.deviation, cases[i].deviation, 0.015 * cases[i].deviation);
        assert_near(m.mean, 0, 0.02 * cases[i].deviation);
        double reach = fmax(m.high, -m.low);
        if (cases[i].limit > 0) {
            assert_compare(reach, <=, cases[i].limit * 1.0001, i);
            assert_compare(reach, >, 0.97 * cases[i].limit, i);
        } else {
            assert_compare(reach, >, 3 * cases[i].deviation, i);
        }
    }
    moments m = draw("random_normal(5, 0.1)", shape, 1, 2);
    assert_near(m.mean, 5, 0.005);
    m = draw("constant(0.25)", shape, 1, 2);
    assert_compare(m.low, ==, 0.25);
    assert_compare(m.high, ==, 0.25);
    m = draw("ones", shape, 1, 2);
    assert_compare(m.low, ==, 1);
    assert_compare(m.high, ==, 1);
    m = draw("zeros", shape, 1, 2);
    assert_compare(m.low, ==, 0);
    assert_compare(m.high, ==, 0);
}

static void test_initial_weights_depend_on_seed_and_weight(void **state)
{
    (void)state;
    liana_shape shape = liana_shape_of(17, 3);
    liana__initializer initializer;
    float a[51], b[51];
    assert_ok(liana__initializer_parse(NULL, "he_normal", &initializer, NULL), &context->error);
    liana__initializer_fill(&initializer, 7, 1, &shape, a);
    liana__initializer_fill(&initializer, 7, 1, &shape, b);
    assert_memory_equal(a, b, sizeof a);
    liana__initializer_fill(&initializer, 8, 1, &shape, b);
    assert_memory_not_equal(a, b, sizeof a);
    liana__initializer_fill(&initializer, 7, 2, &shape, b);
    assert_memory_not_equal(a, b, sizeof a);
}

static void fill(const char *text, uint64_t seed, uint32_t salt, liana_shape shape, float *values)
{
    liana__initializer initializer;
    liana__error error = {0};
    assert_ok(liana__initializer_parse(NULL, text, &initializer, &error), &error);
    liana__initializer_fill(&initializer, seed, salt, &shape, values);
}

/* Equal seeds give equal values, in whichever weight and run. */
static void test_initializers_have_seeds(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"glorot_uniform(seed=5)", "glorot_uniform(6)"},
        {"he_normal(5)", "he_normal(seed=6)"},
        {"random_normal(0, 1, 5)", "random_normal(0, 1, seed=6)"},
        {"variance_scaling(1, fan_in, uniform, 5)", "variance_scaling(1, fan_in, uniform, 4294967295)"},
        {"orthogonal(seed=0)", "orthogonal(1, 1)"},
    };
    float a[12], b[12];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fill(texts[i][0], 1, 2, liana_shape_of(3, 4), a);
        fill(texts[i][0], 3, 4, liana_shape_of(3, 4), b);
        assert_memory_equal(a, b, sizeof a);
        fill(texts[i][1], 1, 2, liana_shape_of(3, 4), b);
        assert_memory_not_equal(a, b, sizeof a);
    }
    fill("he_normal", 5, 0, liana_shape_of(3, 4), a);
    fill("he_normal(seed=-1)", 5, 1, liana_shape_of(3, 4), b);
    assert_memory_not_equal(a, b, sizeof a);
    liana__initializer initializer;
    liana__error error = {0};
    assert_int_equal(liana__initializer_parse(NULL, "he_normal(seed=4294967296)", &initializer, &error),
                     LIANA_INVALID_CONFIG);
    assert_says(error.message, "he_normal.seed");
}

/* The products of columns, or of rows if there are fewer of these: gain^2 of one with itself, else 0. */
static void assert_orthogonal(const float *values, int64_t rows, int64_t columns, double gain)
{
    const bool wide = rows < columns;
    const int64_t count = wide ? rows : columns, size = wide ? columns : rows;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < count; k++) {
            double sum = 0;
            for (int64_t j = 0; j < size; j++) {
                sum += (double)values[wide ? i * columns + j : j * columns + i] *
                       (double)values[wide ? k * columns + j : j * columns + k];
            }
            assert_near(sum, i == k ? gain * gain : 0, 1e-6 * gain * gain);
        }
    }
}

static void test_orthogonal_weights_are_orthogonal(void **state)
{
    (void)state;
    float *values = malloc(128 * 512 * sizeof *values);
    fill("orthogonal", 1, 2, liana_shape_of(128, 512), values);
    assert_orthogonal(values, 128, 512, 1);
    fill("orthogonal(gain=3)", 1, 2, liana_shape_of(3, 2, 5), values);
    assert_orthogonal(values, 6, 5, 3);
    fill("orthogonal", 1, 2, liana_shape_of(7, 1), values);
    assert_orthogonal(values, 7, 1, 1);
    fill("orthogonal", 1, 2, liana_shape_of(1, 1), values);
    assert_near(fabs((double)values[0]), 1, 1e-7);
    /* Haar's measure: an element has the mean 0 and the variance 1 / n; its sign is not chosen. */
    double mean = 0, squares = 0;
    for (uint32_t salt = 0; salt < 4000; salt++) {
        fill("orthogonal", 1, salt, liana_shape_of(3, 3), values);
        mean += (double)values[0] / 4000;
        squares += (double)values[0] * (double)values[0] / 4000;
    }
    assert_near(mean, 0, 0.03);
    assert_near(squares, 1 / 3., 0.02);
    free(values);
}

/* keras.initializers.Identity and STFT of Keras 3.15.1, TensorFlow 2.21; windows of scipy.signal.get_window. */
static void test_identity_and_fourier_kernels(void **state)
{
    (void)state;
    static const float identity[] = {2, 0, 0, 0, 2, 0};
    static const double waves[] = {0,         0, 0, 0, 0, -.11968178, -.11968175, 0,         0,          -.31333089,
                                   .31333095, 0, 0, 0, 0, 0,          0,          .11968178, -.11968175, 0};
    static const double triangle[] = {.22360680, .22360680,  .22360680, .67082036, 0, -.67082036,
                                      .67082036, -.67082036, .67082036, .22360680, 0, -.22360680};
    static const double blackman[] = {0, 0, 0, .34, 0, -.34, 1, -1, 1, .34, 0, -.34};
    static const double plain[] = {0, 0, 0, 0, -1, 0, 0, 0, 0};
    float values[20];
    fill("identity(2)", 1, 2, liana_shape_of(2, 3), values);
    assert_memory_equal(values, identity, sizeof identity);
    const struct {
        const char *text;
        int64_t frame, bins;
        const double *expected;
    } cases[] = {
        {"stft(imag, hann, spectrum, true)", 5, 4, waves},
        {"stft(window=triang)", 4, 3, triangle},
        {"stft(real, blackman, none, periodic=true)", 4, 3, blackman},
        {"stft(side=imag, window=none)", 3, 3, plain},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fill(cases[i].text, 1, 2, liana_shape_of(cases[i].frame, 1, cases[i].bins), values);
        for (int64_t k = 0; k < cases[i].frame * cases[i].bins; k++) {
            assert_near(values[k], cases[i].expected[k], 2e-7);
        }
    }
    static const struct {
        const char *name;
        double values[2][3]; /* the first three of five: symmetric, periodic */
    } windows[] = {
        {"nuttall", {{0.0003628, 0.2269824, 1.0}, {0.0003628, 0.11051525, 0.7982581}}},
        {"blackmanharris", {{6e-05, 0.21747, 1.0}, {6e-05, 0.10301149, 0.79383351}}},
        {"flattop", {{-0.00042105, -0.05473684, 1.0}, {-0.00042105, -0.06771425, 0.60687215}}},
        {"boxcar", {{1.0, 1.0, 1.0}, {1.0, 1.0, 1.0}}},
        {"bartlett", {{0.0, 0.5, 1.0}, {0.0, 0.4, 0.8}}},
        {"triang", {{0.33333333, 0.66666667, 1.0}, {0.16666667, 0.5, 0.83333333}}},
        {"cosine", {{0.30901699, 0.80901699, 1.0}, {0.25881905, 0.70710678, 0.96592583}}},
        {"hamming", {{0.08, 0.54, 1.0}, {0.08, 0.39785218, 0.91214782}}},
    };
    for (size_t i = 0; i < 2 * sizeof windows / sizeof *windows; i++) {
        char text[80];
        snprintf(text, sizeof text, "stft(window=%s, scaling=none, periodic=%s)", windows[i / 2].name,
                 i % 2 ? "true" : "false");
        fill(text, 1, 2, liana_shape_of(5, 1, 1), values);
        for (int k = 0; k < 3; k++) assert_near(values[k], windows[i / 2].values[i % 2][k], 1e-7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initializers_have_keras_distributions),
        cmocka_unit_test(test_initializers_have_seeds),
        cmocka_unit_test(test_orthogonal_weights_are_orthogonal),
        cmocka_unit_test(test_identity_and_fourier_kernels),
        cmocka_unit_test(test_initial_weights_depend_on_seed_and_weight),
    };
    return cmocka_run_group_tests_name("initializers", tests, set_up, tear_down);
}
