/* Several devices: the bits of one device, whatever the devices' threads and shares; sums over all variables; devices
 * of different kinds. */
#include "distribute/strategies/strategies.h"
#include "harness/sum_optimizers.h"
#include "harness/tiny_trainer.h"

#include "base/context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = LIANA__TINY_PIXELS, CLASSES = LIANA__TINY_CLASSES, MAX_REPLICAS = LIANA__TINY_MAX_REPLICAS };

/* The first `count` examples without those at `gaps` (ascending): the rest of a batch of this number of positions. */
static liana__batch with_gaps(const liana__tiny_trainer *own, liana__tiny_trainer *left, int64_t count,
                              const int64_t *gaps, size_t num_gaps)
{
    int64_t there = 0;
    for (int64_t i = 0, gap = 0; i < count; i++) {
        if ((size_t)gap < num_gaps && gaps[gap] == i) {
            gap++;
            continue;
        }
        memcpy(left->images + there * PIXELS, own->images + i * PIXELS, PIXELS);
        left->labels[there] = own->labels[i];
        left->positions[there++] = own->positions[i];
    }
    liana__batch batch = liana__test_batch(own->trainer, there, left->images, left->labels, left->positions);
    batch.num_positions = count;
    return batch;
}

/* Full batches, partial ones, and batches with missing examples; then an evaluation. */
static void train_for_comparison(liana__tiny_trainer *own, float *outputs, liana__test_sums *sums)
{
    static const int64_t gaps[] = {0, 3, 8, 9, 10, 11, 12, 13, 14, 15, 29};
    static const int64_t counts[] = {30, 17, 30, 1, 30, 9};
    liana__tiny_trainer *left = malloc(sizeof *left);
    assert_non_null(left);
    liana__error error = {0};
    for (int i = 0; i < 6; i++) {
        liana__batch batch = liana__tiny_first(own, counts[i]);
        if (i % 2 == 0) batch = with_gaps(own, left, counts[i], gaps, sizeof gaps / sizeof *gaps);
        assert_ok(liana__test_step(own->trainer, &batch, 0.01, i + 1, &sums[i], &error), &error);
    }
    liana__batch batch = liana__tiny_first(own, 23);
    assert_ok(liana__test_evaluate(own->trainer, &batch, outputs, &sums[6], &error), &error);
    free(left);
}

enum { NUM_COMPARED = 7, NUM_OUTPUTS = 23 * CLASSES };

static void set_up_replicas(liana__tiny_trainer *own, const liana_optimizer_type *optimizer,
                            const liana__tiny_replica *given, size_t count)
{
    liana__tiny_recipe wanted = {
        .build = liana__tiny_full, .optimizer = optimizer, .batch_size = 30, .microbatch = 4, .num_threads = 2};
    for (size_t i = 0; i < count; i++) wanted.replicas[i] = given[i];
    liana__tiny_trainer_open(own, &wanted);
}

static void check_replicas(const liana_optimizer_type *optimizer)
{
    static const liana__tiny_replica sets[][MAX_REPLICAS] = {
        {{"cpu", 1, 1}},
        {{"cpu", 1, 1}, {"cpu", 3, 1}},
        {{"cpu", 3, 3}, {"cpu", 1, 1}},
        {{"cpu", 2, 1}, {"cpu", 1, 5}, {"cpu", 1, 0.2}},
        {{"cpu", 1, 1}, {"cpu", 1, 1}, {"cpu", 2, 1}, {"cpu", 1, 1}}};
    liana__tiny_trainer one;
    float expected[NUM_OUTPUTS], outputs[NUM_OUTPUTS];
    liana__test_sums right[NUM_COMPARED] = {0}, sums[NUM_COMPARED] = {0};
    set_up_replicas(&one, optimizer, NULL, 0);
    train_for_comparison(&one, expected, right);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        liana__tiny_trainer own;
        set_up_replicas(&own, optimizer, sets[i], MAX_REPLICAS);
        train_for_comparison(&own, outputs, sums);
        assert_compare(liana__tiny_compare_variables(&one, &own), ==, 0);
        assert_memory_equal(outputs, expected, sizeof expected);
        assert_memory_equal(sums, right, sizeof right);
        liana__tiny_trainer_close(&own);
    }
    liana__tiny_trainer_close(&one);
}

static void test_replicas_give_one_devices_bits(void **state)
{
    (void)state;
    check_replicas(&liana__optimizer_Adam);
    check_replicas(&liana__optimizer_Lamb);
    check_replicas(&liana__test_clip_and_trust); /* two rounds of sums */
}

/* The changes of all variables by a step with rate 1, one after the other. */
static size_t changes_of(const liana_optimizer_type *optimizer, double *changes)
{
    liana__tiny_trainer own;
    size_t count, total = 0;
    set_up_replicas(&own, optimizer, NULL, 0);
    const size_t num_weights = own.model->num_weights;
    for (int after = 0; after < 2; after++) {
        total = 0;
        for (size_t i = 0; i < num_weights; i++) {
            float *values = liana__tiny_read_variable(&own, own.model->weights[i].name, &count);
            bool trains = liana__weight_trainable(own.model, i);
            for (size_t k = 0; trains && k < count; k++, total++) {
                changes[total] = after ? changes[total] - (double)values[k] : (double)values[k];
            }
            free(values);
        }
        if (!after) liana__tiny_step(&own, 30, 1, 1);
    }
    liana__tiny_trainer_close(&own);
    return total;
}

/* Sums over all variables: gradient descent gives the gradients, clipping by their norm scales them. */
static void test_a_training_clips_by_the_norm_of_all(void **state)
{
    (void)state;
    static double plain[2000], clipped[2000];
    size_t count = changes_of(&liana__optimizer_SGD, plain);
    assert_compare(count, >, 100);
    assert_compare(count, <=, 2000);
    assert_int_equal(changes_of(&liana__test_clip, clipped), count);
    double square = 0;
    for (size_t i = 0; i < count; i++) square += plain[i] * plain[i];
    assert_compare(sqrt(square), >, 1.1 * LIANA__TEST_CLIP);
    for (size_t i = 0; i < count; i++) {
        double expected = plain[i] * LIANA__TEST_CLIP / sqrt(square);
        if (fabs(clipped[i] - expected) > 1e-6) fail_msg("%zu: %g, expected %g", i, clipped[i], expected);
    }
}

/* The reference device masks missing examples where the CPU compiles for fewer: both follow the definition. */
static void test_devices_of_different_kinds_work_together(void **state)
{
    (void)state;
    static const liana__tiny_replica sets[][MAX_REPLICAS] = {{{"reference", 0, 1}},
                                                             {{"cpu", 2, 1}, {"reference", 0, 1}},
                                                             {{"reference", 0, 1}, {"cpu", 1, 1}}};
    liana__tiny_trainer one;
    float expected[NUM_OUTPUTS], outputs[NUM_OUTPUTS];
    liana__test_sums right[NUM_COMPARED] = {0}, sums[NUM_COMPARED] = {0};
    set_up_replicas(&one, &liana__optimizer_SGD, NULL, 0);
    train_for_comparison(&one, expected, right);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        liana__tiny_trainer own;
        set_up_replicas(&own, &liana__optimizer_SGD, sets[i], MAX_REPLICAS);
        train_for_comparison(&own, outputs, sums);
        double worst = liana__tiny_compare_variables(&one, &own);
        if (!(worst > 0 && worst < 2e-4)) fail_msg("set %zu: variables differ by %g", i, worst);
        for (size_t k = 0; k < NUM_OUTPUTS; k++) assert_near(outputs[k], expected[k], 1e-4f, k);
        for (int k = 0; k < NUM_COMPARED; k++) {
            assert_near(sums[k].values[0], right[k].values[0], 1e-3f * (1 + right[k].values[0]), k);
            assert_compare(sums[k].values[1], ==, right[k].values[1], k);
        }
        liana__tiny_trainer_close(&own);
    }
    liana__tiny_trainer_close(&one);
}

static void test_one_device_takes_one_device(void **state)
{
    (void)state;
    liana__tiny_trainer own;
    set_up_replicas(&own, &liana__optimizer_SGD, NULL, 0);
    liana__error error = {0};
    liana__device *two[] = {own.device, own.device};
    liana__strategy_instance *instance;
    assert_fails(liana__strategy_one_device.create(&(liana__strategy_devices){.items = two, .count = 2},
                                                   &(liana__strategy_plan){.user = NULL}, &instance, &error),
                 LIANA_INVALID_CONFIG, &error, "one_device", "2 devices");
    liana__strategy_choice found;
    liana__arena arena = {0};
    assert_fails(liana__strategy_of(&(liana_strategy){.name = "one_devise"}, &arena, &found, &error),
                 LIANA_INVALID_CONFIG, &error, "one_device");
    assert_ok(liana__strategy_of(&(liana_strategy){0}, &arena, &found, &error), &error);
    assert_ptr_equal(found.strategy, &liana__strategy_one_device);
    liana__arena_free(&arena);
    liana__tiny_trainer_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replicas_give_one_devices_bits),
        cmocka_unit_test(test_a_training_clips_by_the_norm_of_all),
        cmocka_unit_test(test_devices_of_different_kinds_work_together),
        cmocka_unit_test(test_one_device_takes_one_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
