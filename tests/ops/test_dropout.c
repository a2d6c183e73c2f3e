/* Which elements dropout keeps: its definition, its statistics, and that batches do not matter. */
#include "harness/harness.h"

#include "base/random.h"
#include "harness/graph_run.h"
#include "ops/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana__device *cpu;

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(0, &context, &cpu, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, cpu, NULL);
}

typedef struct settings {
    double rate;
    uint64_t seed;
    uint32_t salt;
} settings;

/* dropout of x [batch, length], with its gradient for a given dy if `dy` is not NULL. The result is malloc'ed. */
static float *run(const float *x, const float *dy, const uint64_t *positions, int64_t batch, int64_t length,
                  settings how)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_shape shape = liana_shape_of(batch, length);
    liana_tensor in = liana_graph_input(graph, "x", LIANA_F32, shape);
    liana_tensor where = liana_graph_input(graph, "positions", LIANA_U64, liana_shape_of(batch));
    liana_tensor out = liana_op_dropout(in, where, how.rate, how.seed, how.salt);
    if (dy) {
        liana_tensor weights = liana_graph_constant(graph, LIANA_F32, shape, dy);
        liana_tensor loss = liana_op_reduce_sum(liana_op_multiply(out, weights), LIANA_ALL_AXES, false);
        liana_gradients(loss, &in, 1, &out);
    }
    liana_graph_output(graph, "out", out);
    assert_ok(liana_graph_status(graph), &context->error);
    liana__test_value inputs[] = {{LIANA_F32, shape, (void *)x}, {LIANA_U64, liana_shape_of(batch), (void *)positions}};
    liana__test_value output;
    liana__test_run(cpu, graph, inputs, &output);
    liana_graph_destroy(graph);
    return output.data;
}

static float *ones(int64_t count)
{
    float *values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++) values[i] = 1;
    return values;
}

/* The mask of one example as the sentence in ops.h and random.h defines it, not as a kernel computes it. */
static void test_definition(void **state)
{
    (void)state;
    enum { LENGTH = 203 };
    static const uint64_t positions[] = {0, 5, 0x123456789abcdef0u, UINT64_MAX};
    const settings how = {0.375, 0xfedcba9876543210u, 0xffffffffu};
    float *x = ones(4 * LENGTH), *y = run(x, NULL, positions, 4, LENGTH, how);
    liana__philox_key key = liana__philox_make_key(how.seed, LIANA__STREAM_DROPOUT, how.salt);
    for (uint32_t e = 0; e < 4; e++) {
        for (uint32_t j = 0; j < LENGTH; j++) {
            uint32_t counter[4] = {j / 4, 0, (uint32_t)positions[e], (uint32_t)(positions[e] >> 32)}, words[4];
            liana__philox(key, counter, words);
            float expected = liana__uniform_float(words[j % 4]) >= 0.375f ? 1.6f : 0;
            assert_compare(y[e * LENGTH + j], ==, expected, e, j);
        }
    }
    free(x);
    free(y);
}

static void test_gradient_keeps_the_same_elements(void **state)
{
    (void)state;
    enum { LENGTH = 77 };
    static const uint64_t positions[] = {3, 4};
    const settings how = {0.25, 1, 2};
    float dy[2 * LENGTH], *x = ones(2 * LENGTH), *y = run(x, NULL, positions, 2, LENGTH, how);
    for (int i = 0; i < 2 * LENGTH; i++) dy[i] = (float)(i + 1);
    float *dx = run(x, dy, positions, 2, LENGTH, how);
    for (int i = 0; i < 2 * LENGTH; i++) assert_compare(dx[i], ==, y[i] * dy[i], i);
    free(x);
    free(y);
    free(dx);
}

static void test_batches_do_not_matter(void **state)
{
    (void)state;
    enum { BATCH = 7, LENGTH = 145 };
    uint64_t positions[BATCH];
    for (uint64_t i = 0; i < BATCH; i++) positions[i] = 1000 + i;
    const settings how = {0.5, 9, 0};
    float *x = ones(BATCH * LENGTH), *whole = run(x, NULL, positions, BATCH, LENGTH, how);
    for (int64_t first = 0, count = 1; first < BATCH; first += count, count++) {
        if (count > BATCH - first) count = BATCH - first;
        float *part = run(x, NULL, positions + first, count, LENGTH, how);
        assert_memory_equal(part, whole + first * LENGTH, (size_t)(count * LENGTH) * sizeof *part);
        free(part);
    }
    free(x);
    free(whole);
}

/* 2^18 draws; bounds are five standard deviations, which chance passes about twice in a million. */
enum { EXAMPLES = 64, ELEMENTS = 4096, DRAWS = EXAMPLES * ELEMENTS };

static float *draw(settings how, uint64_t first_position)
{
    uint64_t positions[EXAMPLES];
    for (uint64_t i = 0; i < EXAMPLES; i++) positions[i] = first_position + i;
    float *x = ones(DRAWS), *y = run(x, NULL, positions, EXAMPLES, ELEMENTS, how);
    free(x);
    return y;
}

static void test_share_and_mean(void **state)
{
    (void)state;
    static const double rates[] = {0, 0.05, 0.2, 0.5, 0.9};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        double rate = rates[r], dropped = 0, sum = 0;
        float *y = draw((settings){rate, 3, 1}, 0);
        for (int i = 0; i < DRAWS; i++) {
            dropped += y[i] == 0;
            sum += y[i];
        }
        double deviation = sqrt(rate * (1 - rate) / DRAWS);
        assert_near(dropped / DRAWS, rate, 5 * deviation);
        assert_near(sum / DRAWS, 1, 5 * deviation / (1 - rate) + 1e-6);
        free(y);
    }
}

/* The correlation of two masks that should be independent is 0 up to 1 / sqrt(number of draws). */
static void assert_independent(const float *a, const float *b, int count)
{
    double mean_a = 0, mean_b = 0, covariance = 0, variance_a = 0, variance_b = 0;
    for (int i = 0; i < count; i++) {
        mean_a += a[i] / (double)count;
        mean_b += b[i] / (double)count;
    }
    for (int i = 0; i < count; i++) {
        covariance += (a[i] - mean_a) * (b[i] - mean_b);
        variance_a += (a[i] - mean_a) * (a[i] - mean_a);
        variance_b += (b[i] - mean_b) * (b[i] - mean_b);
    }
    assert_near(covariance / sqrt(variance_a * variance_b), 0, 5 / sqrt(count));
}

static void test_masks_are_independent(void **state)
{
    (void)state;
    float *base = draw((settings){0.5, 3, 1}, 0);
    float *other_salt = draw((settings){0.5, 3, 2}, 0);
    float *other_seed = draw((settings){0.5, 4, 1}, 0);
    float *other_positions = draw((settings){0.5, 3, 1}, 1000);
    float *high_positions = draw((settings){0.5, 3, 1}, (uint64_t)1 << 32);
    assert_independent(base, other_salt, DRAWS);
    assert_independent(base, other_seed, DRAWS);
    assert_independent(base, other_positions, DRAWS);
    assert_independent(base, high_positions, DRAWS);
    /* Neighbouring elements, elements of neighbouring blocks, neighbouring examples. */
    assert_independent(base, base + 1, DRAWS - 1);
    assert_independent(base, base + 4, DRAWS - 4);
    assert_independent(base, base + ELEMENTS, DRAWS - ELEMENTS);
    free(base);
    free(other_salt);
    free(other_seed);
    free(other_positions);
    free(high_positions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_gradient_keeps_the_same_elements),
        cmocka_unit_test(test_batches_do_not_matter),
        cmocka_unit_test(test_share_and_mean),
        cmocka_unit_test(test_masks_are_independent),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
