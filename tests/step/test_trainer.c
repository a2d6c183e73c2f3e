/* One update, in its three parts: the shards' sums, their divisors, and the cost of a step. */
#include "harness/peers.h"
#include "harness/tiny_trainer.h"

#include "base/context.h"
#include "base/threads.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = LIANA__TINY_PIXELS, CLASSES = LIANA__TINY_CLASSES };

/* ---- sums and counts ---- */

/* A partial batch of 13 in 4 shards, against softmax regression written out: the loss, the accuracy, and the mean
 * gradient over the 13 (SGD with rate 1 changes the weights by it). */
static void test_a_partial_batch_against_formulas(void **state)
{
    (void)state;
    enum { COUNT = 13 };
    liana__tiny_trainer own;
    liana__tiny_trainer_open(&own, &(liana__tiny_recipe){.build = liana__tiny_dense,
                                                         .optimizer = &liana__optimizer_SGD,
                                                         .batch_size = 32,
                                                         .microbatch = 4,
                                                         .num_threads = 2});
    size_t count;
    float *kernel = liana__tiny_read_variable(&own, "dense/kernel", &count);
    assert_int_equal(count, PIXELS * CLASSES);
    static double gradient[PIXELS][CLASSES];
    memset(gradient, 0, sizeof gradient);
    double bias_gradient[CLASSES] = {0}, loss = 0;
    int right = 0;
    for (int n = 0; n < COUNT; n++) {
        double logits[CLASSES] = {0}, sum = 0;
        int best = 0;
        for (int k = 0; k < PIXELS; k++) {
            for (int c = 0; c < CLASSES; c++)
                logits[c] += own.images[n * PIXELS + k] / 255.0 * (double)kernel[k * CLASSES + c];
        }
        for (int c = 0; c < CLASSES; c++) {
            sum += exp(logits[c]);
            if (logits[c] > logits[best]) best = c;
        }
        right += best == own.labels[n];
        loss -= logits[own.labels[n]] - log(sum);
        for (int c = 0; c < CLASSES; c++) {
            double error = (exp(logits[c]) / sum - (c == own.labels[n])) / COUNT;
            bias_gradient[c] += error;
            for (int k = 0; k < PIXELS; k++) gradient[k][c] += error * own.images[n * PIXELS + k] / 255.0;
        }
    }
    liana__test_sums sums = liana__tiny_step(&own, COUNT, 1, 1);
    assert_near(sums.values[0], loss, 1e-4 * loss);
    assert_compare(sums.values[1], ==, (float)right);
    float *after = liana__tiny_read_variable(&own, "dense/kernel", &count),
          *bias = liana__tiny_read_variable(&own, "dense/bias", &count);
    for (int k = 0; k < PIXELS; k++) {
        for (int c = 0; c < CLASSES; c++) {
            double change = (double)kernel[k * CLASSES + c] - (double)after[k * CLASSES + c];
            assert_near(change, gradient[k][c], 1e-6, k, c);
        }
    }
    for (int c = 0; c < CLASSES; c++) assert_near(-(double)bias[c], bias_gradient[c], 1e-6, c);
    free(kernel);
    free(after);
    free(bias);
    liana__tiny_trainer_close(&own);
}

/* Two labels with a share each, and weights of classes, against softmax regression written out: the loss takes both,
 * the metric the shares alone. */
static void test_mixed_labels_and_class_weights_against_formulas(void **state)
{
    (void)state;
    enum { COUNT = 13 };
    double weights[CLASSES];
    for (int c = 0; c < CLASSES; c++) weights[c] = 0.5 + c;
    liana__tiny_trainer own;
    liana__tiny_trainer_open(&own, &(liana__tiny_recipe){.build = liana__tiny_dense,
                                                         .optimizer = &liana__optimizer_SGD,
                                                         .batch_size = 32,
                                                         .microbatch = 4,
                                                         .num_threads = 2,
                                                         .mixes = true,
                                                         .class_weights = weights});
    int32_t partners[COUNT];
    float shares[COUNT];
    liana__batch batch = liana__tiny_first(&own, COUNT);
    liana__test_sums sums;
    liana__error error = {0};
    assert_fails(liana__test_step(own.trainer, &batch, 1, 1, &sums, &error), LIANA_INVALID_ARGUMENT, &error,
                 "partners");
    static float outputs[COUNT * CLASSES];
    assert_ok(liana__test_evaluate(own.trainer, &batch, outputs, &sums, &error), &error);
    double loss = 0, right = 0, bias_gradient[CLASSES] = {0};
    for (int n = 0; n < COUNT; n++) {
        const float *row = outputs + n * CLASSES;
        partners[n] = (own.labels[n] + n) % CLASSES;
        shares[n] = (float)n / (COUNT - 1);
        int both[2] = {own.labels[n], partners[n]}, best = 0;
        double parts[2] = {(double)shares[n], 1 - (double)shares[n]};
        for (int c = 0; c < CLASSES; c++) best = row[c] > row[best] ? c : best;
        for (int k = 0; k < 2; k++) {
            double factor = parts[k] * weights[both[k]];
            loss -= factor * log((double)row[both[k]]);
            right += parts[k] * (best == both[k]);
            for (int c = 0; c < CLASSES; c++) bias_gradient[c] += factor * ((double)row[c] - (c == both[k])) / COUNT;
        }
    }
    const liana__component_name name = liana__partner_component(liana__trainer_objective(own.trainer), 0);
    liana__batch_add(&batch, name.text, LIANA_S32, &LIANA_SCALAR, partners);
    liana__batch_add(&batch, LIANA__SHARES, LIANA_F32, &LIANA_SCALAR, shares);
    assert_ok(liana__test_step(own.trainer, &batch, 1, 1, &sums, &error), &error);
    assert_near(sums.values[0], loss, 1e-4 * loss);
    assert_near(sums.values[1], right, 1e-4);
    size_t count;
    float *bias = liana__tiny_read_variable(&own, "dense/bias", &count);
    for (int c = 0; c < CLASSES; c++) assert_near(-(double)bias[c], bias_gradient[c], 1e-5, c);
    free(bias);
    liana__tiny_trainer_close(&own);
}

/* However a batch is cut, the gradient is the same up to rounding, and each example counts once. */
static void test_shards_give_the_gradient_of_the_whole(void **state)
{
    (void)state;
    static const int64_t counts[] = {32, 27};
    for (int i = 0; i < 2; i++) {
        liana__tiny_trainer whole;
        liana__tiny_trainer_open(&whole, &(liana__tiny_recipe){.build = liana__tiny_plain,
                                                               .optimizer = &liana__optimizer_SGD,
                                                               .batch_size = 32,
                                                               .microbatch = 32,
                                                               .num_threads = 1});
        liana__test_sums expected = liana__tiny_step(&whole, counts[i], 1, 1);
        static const int64_t microbatches[] = {1, 5, 16};
        for (int k = 0; k < 3; k++) {
            liana__tiny_trainer cut;
            liana__tiny_trainer_open(&cut, &(liana__tiny_recipe){.build = liana__tiny_plain,
                                                                 .optimizer = &liana__optimizer_SGD,
                                                                 .batch_size = 32,
                                                                 .microbatch = microbatches[k],
                                                                 .num_threads = 2});
            liana__test_sums sums = liana__tiny_step(&cut, counts[i], 1, 1);
            assert_near(sums.values[0] - expected.values[0], 0, 1e-4);
            assert_compare(sums.values[1], ==, expected.values[1]);
            double difference = liana__tiny_compare_variables(&whole, &cut);
            assert_compare(difference, <, 2e-6);
            liana__tiny_trainer_close(&cut);
        }
        liana__tiny_trainer_close(&whole);
    }
}

/* The sums of an evaluation are those of its outputs, for all shards. */
static void test_evaluation_sums_its_outputs(void **state)
{
    (void)state;
    liana__tiny_trainer own;
    liana__tiny_trainer_open(&own, &(liana__tiny_recipe){.build = liana__tiny_full,
                                                         .optimizer = &liana__optimizer_Adam,
                                                         .batch_size = 32,
                                                         .microbatch = 8,
                                                         .num_threads = 2});
    for (int i = 0; i < 5; i++) liana__tiny_step(&own, 32, 0.01, i + 1);
    enum { COUNT = 29 };
    static float outputs[COUNT * CLASSES];
    liana__batch batch = liana__tiny_first(&own, COUNT);
    liana__test_sums sums;
    liana__error error = {0};
    assert_ok(liana__test_evaluate(own.trainer, &batch, outputs, &sums, &error), &error);
    double loss = 0;
    int right = 0;
    for (int n = 0; n < COUNT; n++) {
        const float *row = outputs + n * CLASSES;
        int best = 0;
        double total = 0;
        for (int c = 0; c < CLASSES; c++) {
            if (row[c] > row[best]) best = c;
            total += (double)row[c];
        }
        assert_near(total, 1, 1e-5);
        loss -= log((double)row[own.labels[n]]);
        right += best == own.labels[n];
    }
    assert_near(sums.values[0], loss, 1e-4 * loss);
    assert_compare(sums.values[1], ==, (float)right);
    liana__tiny_trainer_close(&own);
}

static void test_frozen_layers_stay_as_they_are(void **state)
{
    (void)state;
    liana__tiny_trainer own, untouched;
    liana__tiny_trainer_open(&own, &(liana__tiny_recipe){.build = liana__tiny_full,
                                                         .optimizer = &liana__optimizer_Adam,
                                                         .batch_size = 32,
                                                         .microbatch = 8,
                                                         .num_threads = 2,
                                                         .train_from = "batch_normalization_1"});
    liana__tiny_trainer_open(&untouched, &(liana__tiny_recipe){.build = liana__tiny_full,
                                                               .optimizer = &liana__optimizer_Adam,
                                                               .batch_size = 32,
                                                               .microbatch = 8,
                                                               .num_threads = 1,
                                                               .train_from = "batch_normalization_1"});
    for (int i = 0; i < 3; i++) liana__tiny_step(&own, 32, 0.01, i + 1);
    int changed = 0, kept = 0;
    for (size_t i = 0; i < own.model->num_weights; i++) {
        const liana__weight *weight = &own.model->weights[i];
        size_t count;
        float *before = liana__tiny_read_variable(&untouched, weight->name, &count),
              *after = liana__tiny_read_variable(&own, weight->name, &count);
        bool same = memcmp(before, after, count * sizeof *before) == 0;
        bool frozen = strncmp(weight->name, "conv2d/", 7) == 0 ||
                      strncmp(weight->name, "batch_normalization/", 20) == 0 ||
                      strncmp(weight->name, "depthwise_conv2d/", 17) == 0;
        if (same != frozen) print_error("%s\n", weight->name);
        assert_compare(same, ==, frozen);
        kept += same;
        changed += !same;
        free(before);
        free(after);
    }
    assert_int_equal(kept, 1 + 4 + 2);
    assert_int_equal(changed, 4 + 2);
    liana__tiny_trainer_close(&own);
    liana__tiny_trainer_close(&untouched);
}

/* ---- threads ---- */

/* 30 examples in shards of 7: 4 of 7 or 8 (more than there are threads), then a partial update of 3. */
static void test_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    liana__tiny_trainer one;
    liana__tiny_trainer_open(&one, &(liana__tiny_recipe){.build = liana__tiny_full,
                                                         .optimizer = &liana__optimizer_Adam,
                                                         .batch_size = 30,
                                                         .microbatch = 7,
                                                         .num_threads = 1});
    for (int i = 0; i < 6; i++) liana__tiny_step(&one, i % 3 == 2 ? 17 : 30, 0.01, i + 1);
    for (int threads = 2; threads <= 4; threads++) {
        for (int repeat = 0; repeat < 5; repeat++) {
            liana__tiny_trainer many;
            liana__tiny_trainer_open(&many, &(liana__tiny_recipe){.build = liana__tiny_full,
                                                                  .optimizer = &liana__optimizer_Adam,
                                                                  .batch_size = 30,
                                                                  .microbatch = 7,
                                                                  .num_threads = threads});
            for (int i = 0; i < 6; i++) liana__tiny_step(&many, i % 3 == 2 ? 17 : 30, 0.01, i + 1);
            assert_compare(liana__tiny_compare_variables(&one, &many), ==, 0);
            liana__tiny_trainer_close(&many);
        }
    }
    liana__tiny_trainer_close(&one);
}

/* ---- devices ---- */

static void test_cpu_agrees_with_reference(void **state)
{
    (void)state;
    liana__tiny_trainer fast, plain;
    liana__tiny_trainer_open(&fast, &(liana__tiny_recipe){.build = liana__tiny_full,
                                                          .optimizer = &liana__optimizer_Adam,
                                                          .batch_size = 24,
                                                          .microbatch = 8,
                                                          .num_threads = 2});
    liana__tiny_trainer_open(&plain, &(liana__tiny_recipe){.build = liana__tiny_full,
                                                           .optimizer = &liana__optimizer_Adam,
                                                           .batch_size = 24,
                                                           .microbatch = 8,
                                                           .num_threads = 1,
                                                           .device = "reference"});
    double begin = 0;
    for (int i = 0; i < 12; i++) {
        int64_t count = i % 4 == 3 ? 11 : 24;
        double a = (double)liana__tiny_step(&fast, count, 0.01, i + 1).values[0] / (double)count;
        double b = (double)liana__tiny_step(&plain, count, 0.01, i + 1).values[0] / (double)count;
        assert_near(a, b, 1e-3 * fabs(b));
        if (i == 0) begin = a;
        if (i == 11) assert_compare(a, <, begin);
    }
    liana__tiny_trainer_close(&fast);
    liana__tiny_trainer_close(&plain);
}

static void test_a_step_passes_validation(void **state)
{
    (void)state;
    setenv("LIANA_VALIDATE", "1", 1);
    liana__tiny_trainer own;
    liana__tiny_trainer_open(&own, &(liana__tiny_recipe){.build = liana__tiny_full,
                                                         .optimizer = &liana__optimizer_Adam,
                                                         .batch_size = 24,
                                                         .microbatch = 8,
                                                         .num_threads = 2});
    unsetenv("LIANA_VALIDATE");
    assert_true(own.context->validate);
    for (int i = 0; i < 2; i++) liana__tiny_step(&own, 24 - 5 * i, 0.01, i + 1);
    liana__tiny_trainer_close(&own);
}

/* ---- memory ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

static void test_a_step_allocates_nothing(void **state)
{
    (void)state;
    liana__test_skip("the sanitizer has its own malloc");
}

#else

/* These take the place of the C library's functions in this program, and note their callers during a step. */
enum { MAX_FRAMES = 24, MAX_NOTED = 4096 };

static struct {
    atomic_bool counting;
    atomic_int count;
    int depth[MAX_NOTED];
    void *frames[MAX_NOTED][MAX_FRAMES];
} allocations;
static _Thread_local bool within;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static void note_allocation(void)
{
    if (within || !atomic_load_explicit(&allocations.counting, memory_order_relaxed)) return;
    within = true;
    int index = atomic_fetch_add(&allocations.count, 1);
    if (index < MAX_NOTED) allocations.depth[index] = backtrace(allocations.frames[index], MAX_FRAMES);
    within = false;
}

void *malloc(size_t size)
{
    note_allocation();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    note_allocation();
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    note_allocation();
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    note_allocation();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    note_allocation();
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : 12; /* ENOMEM */
}

/* Whose code asked: the innermost caller outside of this program's malloc and of the language's run-time libraries. */
static const char *who_asked(int index)
{
    Dl_info here, liana, at;
    assert_compare(dladdr((void *)(uintptr_t)who_asked, &here), !=, 0);
    assert_compare(dladdr((void *)(uintptr_t)liana__step_prepare, &liana), !=, 0);
    for (int i = 0; i < allocations.depth[index]; i++) {
        if (!dladdr(allocations.frames[index][i], &at) || !at.dli_fname) continue;
        if (strcmp(at.dli_fname, here.dli_fname) == 0) continue;
        if (strcmp(at.dli_fname, liana.dli_fname) == 0) return "liana";
        /* A thread that computes for the first time gets its settings from libgomp. */
        if (strstr(at.dli_fname, "libdnnl") || strstr(at.dli_fname, "libgomp")) return "oneDNN";
    }
    return "somebody else";
}

/* Nor while it is watched: `recorded`. */
static void count_allocations(void (*wanted)(liana_model *model), int64_t full, int64_t partial, bool recorded)
{
    liana__error error = {0};
    liana__tiny_trainer own;
    liana__tiny_trainer_open(&own, &(liana__tiny_recipe){.build = wanted,
                                                         .optimizer = &liana__optimizer_Adam,
                                                         .batch_size = full,
                                                         .microbatch = 8,
                                                         .num_threads = 2});
    assert_ok(liana__step_prepare(own.trainer->step, partial, true, &error), &error);
    void *warm[4];
    backtrace(warm, 4); /* allocates when it is called first */
    liana__tiny_step(&own, full, 0.01, 1);
    if (recorded) assert_ok(liana__recorder_create(3, 100, &own.device->recorder, &error), &error);
    atomic_store(&allocations.count, 0);
    atomic_store(&allocations.counting, true);
    for (int i = 0; i < 4; i++) liana__tiny_step(&own, i == 2 ? partial : full, 0.01, i + 2);
    atomic_store(&allocations.counting, false);
    int count = atomic_load(&allocations.count);
    assert_compare(count, <=, MAX_NOTED);
    for (int i = 0; i < count; i++) {
        const char *who = who_asked(i);
        if (strcmp(who, "oneDNN") == 0) continue;
        print_error("an allocation in a step, by %s:\n", who);
        backtrace_symbols_fd(allocations.frames[i], allocations.depth[i], 2);
        fail();
    }
    if (recorded) assert_compare(liana__recorder_waiting(own.device->recorder, 0), >, 0);
    liana__recorder_destroy(own.device->recorder);
    liana__tiny_trainer_close(&own);
}

static void test_a_step_allocates_nothing(void **state)
{
    (void)state;
    count_allocations(liana__tiny_full, 32, 13, false);
    count_allocations(liana__tiny_full, 32, 13, true);
    count_allocations(liana__tiny_plain, 32, 13, false);
    /* The count counts liana's requests. */
    liana__pool *pool;
    liana__error error = {0};
    atomic_store(&allocations.count, 0);
    atomic_store(&allocations.counting, true);
    liana_status status = liana__pool_create(1, &pool, &error);
    atomic_store(&allocations.counting, false);
    assert_ok(status, &error);
    liana__pool_destroy(pool);
    assert_compare(atomic_load(&allocations.count), >=, 1);
    assert_string_equal(who_asked(0), "liana");
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_partial_batch_against_formulas),
        cmocka_unit_test(test_mixed_labels_and_class_weights_against_formulas),
        cmocka_unit_test(test_shards_give_the_gradient_of_the_whole),
        cmocka_unit_test(test_evaluation_sums_its_outputs),
        cmocka_unit_test(test_frozen_layers_stay_as_they_are),
        cmocka_unit_test(test_same_bits_for_any_number_of_threads),
        cmocka_unit_test(test_cpu_agrees_with_reference),
        cmocka_unit_test(test_a_step_passes_validation),
        cmocka_unit_test(test_a_step_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
