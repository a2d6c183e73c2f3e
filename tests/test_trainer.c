/* One update, in its three parts: what the shards' sums are, what they are divided by, and what a step costs. */
#include "harness/command_run.h"
#include "harness/objective.h"
#include "harness/sum_optimizers.h"

#include "base/context.h"
#include "base/threads.h"
#include "distribute/replicas.h"
#include "train/core/trainer.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <liana/layers.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = LIANA__TINY_SIZE, PIXELS = SIDE * SIDE, CLASSES = LIANA__TINY_CLASSES, MAX_BATCH = 64, MAX_REPLICAS = 4 };

/* ---- set-up ---- */

typedef struct fixture {
    liana_context *context;
    liana__device *device;
    liana__device *more[MAX_REPLICAS];
    size_t num_more;
    liana_model *model;
    liana__variables variables;
    liana__trainer *trainer;
    void *optimizer_options;
    liana__arena arena;
    uint8_t images[MAX_BATCH * PIXELS];
    int32_t labels[MAX_BATCH];
    uint64_t positions[MAX_BATCH];
} fixture;

typedef void (*build)(liana_model *model);

static void build_dense(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(SIDE, SIDE, 1));
    liana_flatten(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
}

static void build_plain(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(SIDE, SIDE, 1));
    liana_conv2d(model, .filters = 6, .kernel_size = 3, .activation = "relu");
    liana_max_pooling2d(model);
    liana_depthwise_conv2d(model, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .activation = "relu");
    liana_flatten(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
}

static void build_full(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(SIDE, SIDE, 1));
    liana_conv2d(model, .filters = 6, .kernel_size = 3, .use_bias = false);
    liana_batch_normalization(model, .momentum = 0.9);
    liana_relu(model, .max_value = 6);
    liana_depthwise_conv2d(model, .kernel_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME);
    liana_batch_normalization(model, .momentum = 0.9);
    liana_dropout(model, .rate = 0.3);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
}

typedef struct replica {
    const char *device;
    int num_threads; /* of its own */
    double speed;    /* 0: 1 */
} replica;

typedef struct recipe {
    build build;
    const liana__optimizer *optimizer;
    int64_t batch_size;
    int64_t microbatch;
    int num_threads;
    const char *device;
    bool mixes;
    const double *class_weights;
    const char *train_from;         /* freezes the layers before it; NULL: none */
    replica replicas[MAX_REPLICAS]; /* devices, instead of `device`; up to the first without a name */
} recipe;

/* Several devices of one process, which no strategy has by name yet. */
static const liana__strategy replicas = {
    .name = "replicas",
    .create = liana__replicas_create,
    .destroy = liana__replicas_destroy,
    .num_replicas_in_sync = liana__replicas_count,
    .prepare = liana__replicas_prepare,
    .sum = liana__replicas_sum,
    .update = liana__replicas_update,
    .memory = liana__replicas_memory,
};

static void open_devices(fixture *own, const recipe *wanted, double *speeds)
{
    liana__error error = {0};
    const replica *first = &wanted->replicas[0];
    const char *name = first->device ? first->device : wanted->device ? wanted->device : "cpu";
    assert_ok(liana__device_open_with(own->context, name, first->num_threads, &own->device, &error), &error);
    for (size_t i = 0; i < MAX_REPLICAS && wanted->replicas[i].device; i++) {
        speeds[i] = wanted->replicas[i].speed ? wanted->replicas[i].speed : 1;
        if (i == 0) continue;
        assert_ok(liana__device_open_with(own->context, wanted->replicas[i].device, wanted->replicas[i].num_threads,
                                          &own->more[own->num_more++], &error),
                  &error);
    }
}

static void set_up(fixture *own, const recipe *wanted)
{
    memset(own, 0, sizeof *own);
    liana__error error = {0};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = wanted->num_threads}, &own->context),
                     LIANA_OK);
    double speeds[MAX_REPLICAS];
    open_devices(own, wanted, speeds);
    liana__variables_init(&own->variables, own->device);
    assert_int_equal(liana_model_create(own->context, NULL, &own->model), LIANA_OK);
    wanted->build(own->model);
    assert_ok(liana_model_status(own->model), &own->context->error);
    if (wanted->train_from) assert_ok(liana__model_train_from(own->model, wanted->train_from, &error), &error);
    own->optimizer_options = liana__arena_allocate(&own->arena, wanted->optimizer->options->size);
    assert_ok(liana__fields_default(wanted->optimizer->options, &own->arena, own->optimizer_options, &error), &error);
    liana__trainer_options options = {.model = own->model,
                                      .objective = liana__test_objective(own->model, "[accuracy]"),
                                      .optimizer = wanted->optimizer,
                                      .optimizer_options = own->optimizer_options,
                                      .batch_size = wanted->batch_size,
                                      .microbatch = wanted->microbatch,
                                      .mixes = wanted->mixes,
                                      .class_weights = wanted->class_weights,
                                      .num_class_weights = CLASSES,
                                      .seed = 11,
                                      .strategy = wanted->replicas[0].device ? &replicas : NULL,
                                      .more_devices = own->more,
                                      .num_more_devices = own->num_more,
                                      .speeds = speeds};
    assert_ok(liana__trainer_create(own->device, &options, &own->variables, &own->trainer, &error), &error);
    for (uint32_t i = 0; i < MAX_BATCH; i++) {
        own->labels[i] = liana__test_tiny_image(5, i, own->images + i * PIXELS);
        own->positions[i] = i;
    }
}

static void tear_down(fixture *own)
{
    liana__trainer_destroy(own->trainer);
    liana__variables_free(&own->variables);
    for (size_t i = 0; i < own->num_more; i++) liana__device_close(own->more[i]);
    liana__device_close(own->device);
    liana_model_destroy(own->model);
    liana_context_destroy(own->context);
    liana__arena_free(&own->arena);
}

static liana__trainer_batch first(const fixture *own, int64_t count)
{
    return (liana__trainer_batch){.count = count,
                                  .inputs = {own->images},
                                  .targets = {own->labels},
                                  .positions = own->positions};
}

/* The first `count` examples without those at `gaps` (ascending): what is left of a batch of so many positions. */
static liana__trainer_batch with_gaps(const fixture *own, fixture *left, int64_t count, const int64_t *gaps,
                                      size_t num_gaps)
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
    return (liana__trainer_batch){.count = there,
                                  .inputs = {left->images},
                                  .targets = {left->labels},
                                  .positions = left->positions,
                                  .num_positions = count};
}

static liana__test_sums step(fixture *own, int64_t count, double rate, int64_t iteration)
{
    liana__trainer_batch batch = first(own, count);
    liana__test_sums sums = {{0}};
    liana__error error = {0};
    assert_ok(liana__test_step(own->trainer, &batch, rate, iteration, &sums, &error), &error);
    return sums;
}

/* The contents of a variable, malloc'ed. */
static float *read_variable(const fixture *own, const char *name, size_t *count)
{
    const liana__variable *variable = liana__variables_find(&own->variables, name);
    assert_non_null(variable);
    float *values = malloc(variable->buffer->size);
    liana__error error = {0};
    assert_ok(own->device->backend->download(variable->buffer, values, &error), &error);
    *count = variable->buffer->size / sizeof *values;
    return values;
}

/* The largest difference between the variables of two trainers; 0 only for the same bits. */
static double compare_variables(const fixture *a, const fixture *b)
{
    assert_int_equal(a->variables.count, b->variables.count);
    double worst = 0;
    for (size_t i = 0; i < a->variables.count; i++) {
        size_t count;
        float *left = read_variable(a, a->variables.items[i].name, &count);
        float *right = read_variable(b, a->variables.items[i].name, &count);
        for (size_t k = 0; k < count; k++) {
            double difference = fabs((double)left[k] - (double)right[k]);
            if (difference == 0 && memcmp(&left[k], &right[k], sizeof *left) != 0) difference = INFINITY;
            if (!(difference <= worst)) worst = difference;
        }
        free(left);
        free(right);
    }
    return worst;
}

/* ---- sums and counts ---- */

/* A partial batch of 13 in 4 shards, against softmax regression written out: the loss, the accuracy, and the mean
 * gradient over the 13 (SGD with rate 1 changes the weights by it). */
static void test_a_partial_batch_against_formulas(void **state)
{
    (void)state;
    enum { COUNT = 13 };
    fixture own;
    set_up(&own, &(recipe){.build = build_dense,
                           .optimizer = &liana__optimizer_SGD,
                           .batch_size = 32,
                           .microbatch = 4,
                           .num_threads = 2});
    size_t count;
    float *kernel = read_variable(&own, "dense/kernel", &count);
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
    liana__test_sums sums = step(&own, COUNT, 1, 1);
    assert_true(fabs((double)sums.values[0] - loss) < 1e-4 * loss);
    assert_true(sums.values[1] == (float)right);
    float *after = read_variable(&own, "dense/kernel", &count), *bias = read_variable(&own, "dense/bias", &count);
    for (int k = 0; k < PIXELS; k++) {
        for (int c = 0; c < CLASSES; c++) {
            double change = (double)kernel[k * CLASSES + c] - (double)after[k * CLASSES + c];
            assert_true(fabs(change - gradient[k][c]) < 1e-6);
        }
    }
    for (int c = 0; c < CLASSES; c++) assert_true(fabs(-(double)bias[c] - bias_gradient[c]) < 1e-6);
    free(kernel);
    free(after);
    free(bias);
    tear_down(&own);
}

/* Two labels with a share each, and weights of classes, against softmax regression written out: the loss takes both,
 * the metric the shares alone. */
static void test_mixed_labels_and_class_weights_against_formulas(void **state)
{
    (void)state;
    enum { COUNT = 13 };
    double weights[CLASSES];
    for (int c = 0; c < CLASSES; c++) weights[c] = 0.5 + c;
    fixture own;
    set_up(&own, &(recipe){.build = build_dense,
                           .optimizer = &liana__optimizer_SGD,
                           .batch_size = 32,
                           .microbatch = 4,
                           .num_threads = 2,
                           .mixes = true,
                           .class_weights = weights});
    int32_t partners[COUNT];
    float shares[COUNT];
    liana__trainer_batch batch = first(&own, COUNT);
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
    batch.partners = partners;
    batch.shares = shares;
    assert_ok(liana__test_step(own.trainer, &batch, 1, 1, &sums, &error), &error);
    assert_true(fabs((double)sums.values[0] - loss) < 1e-4 * loss);
    assert_true(fabs((double)sums.values[1] - right) < 1e-4);
    size_t count;
    float *bias = read_variable(&own, "dense/bias", &count);
    for (int c = 0; c < CLASSES; c++) assert_true(fabs(-(double)bias[c] - bias_gradient[c]) < 1e-5);
    free(bias);
    tear_down(&own);
}

/* However a batch is cut, the gradient is the same up to rounding, and each example counts once. */
static void test_shards_give_the_gradient_of_the_whole(void **state)
{
    (void)state;
    static const int64_t counts[] = {32, 27};
    for (int i = 0; i < 2; i++) {
        fixture whole;
        set_up(&whole, &(recipe){.build = build_plain,
                                 .optimizer = &liana__optimizer_SGD,
                                 .batch_size = 32,
                                 .microbatch = 32,
                                 .num_threads = 1});
        liana__test_sums expected = step(&whole, counts[i], 1, 1);
        static const int64_t microbatches[] = {1, 5, 16};
        for (int k = 0; k < 3; k++) {
            fixture cut;
            set_up(&cut, &(recipe){.build = build_plain,
                                   .optimizer = &liana__optimizer_SGD,
                                   .batch_size = 32,
                                   .microbatch = microbatches[k],
                                   .num_threads = 2});
            liana__test_sums sums = step(&cut, counts[i], 1, 1);
            assert_true(fabs((double)(sums.values[0] - expected.values[0])) < 1e-4);
            assert_true(sums.values[1] == expected.values[1]);
            double difference = compare_variables(&whole, &cut);
            assert_true(difference < 2e-6);
            tear_down(&cut);
        }
        tear_down(&whole);
    }
}

/* What evaluation sums is what its outputs say, whatever the shards. */
static void test_evaluation_sums_its_outputs(void **state)
{
    (void)state;
    fixture own;
    set_up(&own, &(recipe){.build = build_full,
                           .optimizer = &liana__optimizer_Adam,
                           .batch_size = 32,
                           .microbatch = 8,
                           .num_threads = 2});
    for (int i = 0; i < 5; i++) step(&own, 32, 0.01, i + 1);
    enum { COUNT = 29 };
    static float outputs[COUNT * CLASSES];
    liana__trainer_batch batch = first(&own, COUNT);
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
        assert_true(fabs(total - 1) < 1e-5);
        loss -= log((double)row[own.labels[n]]);
        right += best == own.labels[n];
    }
    assert_true(fabs((double)sums.values[0] - loss) < 1e-4 * loss);
    assert_true(sums.values[1] == (float)right);
    tear_down(&own);
}

static void test_frozen_layers_stay_as_they_are(void **state)
{
    (void)state;
    fixture own, untouched;
    set_up(&own, &(recipe){.build = build_full,
                           .optimizer = &liana__optimizer_Adam,
                           .batch_size = 32,
                           .microbatch = 8,
                           .num_threads = 2,
                           .train_from = "batch_normalization_1"});
    set_up(&untouched, &(recipe){.build = build_full,
                                 .optimizer = &liana__optimizer_Adam,
                                 .batch_size = 32,
                                 .microbatch = 8,
                                 .num_threads = 1,
                                 .train_from = "batch_normalization_1"});
    for (int i = 0; i < 3; i++) step(&own, 32, 0.01, i + 1);
    int changed = 0, kept = 0;
    for (size_t i = 0; i < own.model->num_weights; i++) {
        const liana__weight *weight = &own.model->weights[i];
        size_t count;
        float *before = read_variable(&untouched, weight->name, &count),
              *after = read_variable(&own, weight->name, &count);
        bool same = memcmp(before, after, count * sizeof *before) == 0;
        bool frozen = strncmp(weight->name, "conv2d/", 7) == 0 ||
                      strncmp(weight->name, "batch_normalization/", 20) == 0 ||
                      strncmp(weight->name, "depthwise_conv2d/", 17) == 0;
        if (same != frozen) print_error("%s\n", weight->name);
        assert_true(same == frozen);
        kept += same;
        changed += !same;
        free(before);
        free(after);
    }
    assert_int_equal(kept, 1 + 4 + 2);
    assert_int_equal(changed, 4 + 2);
    tear_down(&own);
    tear_down(&untouched);
}

/* ---- threads ---- */

/* 30 examples in shards of 7: 4 of 7 or 8 (more than there are threads), then a partial update of 3. */
static void test_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    fixture one;
    set_up(&one, &(recipe){.build = build_full,
                           .optimizer = &liana__optimizer_Adam,
                           .batch_size = 30,
                           .microbatch = 7,
                           .num_threads = 1});
    for (int i = 0; i < 6; i++) step(&one, i % 3 == 2 ? 17 : 30, 0.01, i + 1);
    for (int threads = 2; threads <= 4; threads++) {
        for (int repeat = 0; repeat < 5; repeat++) {
            fixture many;
            set_up(&many, &(recipe){.build = build_full,
                                    .optimizer = &liana__optimizer_Adam,
                                    .batch_size = 30,
                                    .microbatch = 7,
                                    .num_threads = threads});
            for (int i = 0; i < 6; i++) step(&many, i % 3 == 2 ? 17 : 30, 0.01, i + 1);
            assert_true(compare_variables(&one, &many) == 0);
            tear_down(&many);
        }
    }
    tear_down(&one);
}

/* ---- devices ---- */

static void test_cpu_agrees_with_reference(void **state)
{
    (void)state;
    fixture fast, plain;
    set_up(&fast, &(recipe){.build = build_full,
                            .optimizer = &liana__optimizer_Adam,
                            .batch_size = 24,
                            .microbatch = 8,
                            .num_threads = 2});
    set_up(&plain, &(recipe){.build = build_full,
                             .optimizer = &liana__optimizer_Adam,
                             .batch_size = 24,
                             .microbatch = 8,
                             .num_threads = 1,
                             .device = "reference"});
    double begin = 0;
    for (int i = 0; i < 12; i++) {
        int64_t count = i % 4 == 3 ? 11 : 24;
        double a = (double)step(&fast, count, 0.01, i + 1).values[0] / (double)count;
        double b = (double)step(&plain, count, 0.01, i + 1).values[0] / (double)count;
        assert_true(fabs(a - b) < 1e-3 * fabs(b));
        if (i == 0) begin = a;
        if (i == 11) assert_true(a < begin);
    }
    tear_down(&fast);
    tear_down(&plain);
}

static void test_a_step_passes_validation(void **state)
{
    (void)state;
    setenv("LIANA_VALIDATE", "1", 1);
    fixture own;
    set_up(&own, &(recipe){.build = build_full,
                           .optimizer = &liana__optimizer_Adam,
                           .batch_size = 24,
                           .microbatch = 8,
                           .num_threads = 2});
    unsetenv("LIANA_VALIDATE");
    assert_true(own.context->validate);
    for (int i = 0; i < 2; i++) step(&own, 24 - 5 * i, 0.01, i + 1);
    tear_down(&own);
}

/* ---- memory ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

static void test_a_step_allocates_nothing(void **state)
{
    (void)state;
    print_message("skipped: the sanitizer has its own malloc\n");
    skip();
}

#else

/* These take the place of the C library's functions in this program, and note who calls them during a step. */
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
    Dl_info here, at;
    assert_true(dladdr((void *)(uintptr_t)who_asked, &here) != 0);
    for (int i = 2; i < allocations.depth[index]; i++) {
        if (!dladdr(allocations.frames[index][i], &at) || !at.dli_fname) continue;
        if (strcmp(at.dli_fname, here.dli_fname) == 0) return "liana";
        if (strstr(at.dli_fname, "libdnnl")) return "oneDNN";
    }
    return "somebody else";
}

/* Nor while it is watched: `recorded`. */
static void count_allocations(build wanted, int64_t full, int64_t partial, bool recorded)
{
    liana__error error = {0};
    fixture own;
    set_up(&own, &(recipe){.build = wanted,
                           .optimizer = &liana__optimizer_Adam,
                           .batch_size = full,
                           .microbatch = 8,
                           .num_threads = 2});
    assert_ok(liana__trainer_prepare(own.trainer, partial, true, &error), &error);
    void *warm[4];
    backtrace(warm, 4); /* allocates when it is called first */
    step(&own, full, 0.01, 1);
    if (recorded) assert_ok(liana__recorder_create(3, 100, &own.device->recorder, &error), &error);
    atomic_store(&allocations.count, 0);
    atomic_store(&allocations.counting, true);
    for (int i = 0; i < 4; i++) step(&own, i == 2 ? partial : full, 0.01, i + 2);
    atomic_store(&allocations.counting, false);
    int count = atomic_load(&allocations.count);
    assert_true(count <= MAX_NOTED);
    for (int i = 0; i < count; i++) {
        const char *who = who_asked(i);
        if (strcmp(who, "oneDNN") == 0) continue;
        print_error("an allocation in a step, by %s:\n", who);
        backtrace_symbols_fd(allocations.frames[i], allocations.depth[i], 2);
        fail();
    }
    if (recorded) assert_true(liana__recorder_waiting(own.device->recorder, 0) > 0);
    liana__recorder_destroy(own.device->recorder);
    tear_down(&own);
}

static void test_a_step_allocates_nothing(void **state)
{
    (void)state;
    count_allocations(build_full, 32, 13, false);
    count_allocations(build_full, 32, 13, true);
    count_allocations(build_plain, 32, 13, false);
    /* The count counts. */
    atomic_store(&allocations.count, 0);
    atomic_store(&allocations.counting, true);
    void *volatile memory = malloc(10);
    atomic_store(&allocations.counting, false);
    free(memory);
    assert_int_equal(atomic_load(&allocations.count), 1);
    assert_string_equal(who_asked(0), "liana");
}

#endif

/* ---- replicas ---- */

/* Full batches, partial ones, and batches with missing examples; then an evaluation. */
static void train_for_comparison(fixture *own, float *outputs, liana__test_sums *sums)
{
    static const int64_t gaps[] = {0, 3, 8, 9, 10, 11, 12, 13, 14, 15, 29};
    static const int64_t counts[] = {30, 17, 30, 1, 30, 9};
    fixture *left = malloc(sizeof *left);
    assert_non_null(left);
    liana__error error = {0};
    for (int i = 0; i < 6; i++) {
        liana__trainer_batch batch = first(own, counts[i]);
        if (i % 2 == 0) batch = with_gaps(own, left, counts[i], gaps, sizeof gaps / sizeof *gaps);
        assert_ok(liana__test_step(own->trainer, &batch, 0.01, i + 1, &sums[i], &error), &error);
    }
    liana__trainer_batch batch = first(own, 23);
    assert_ok(liana__test_evaluate(own->trainer, &batch, outputs, &sums[6], &error), &error);
    free(left);
}

enum { NUM_COMPARED = 7, NUM_OUTPUTS = 23 * CLASSES };

static void set_up_replicas(fixture *own, const liana__optimizer *optimizer, const replica *given, size_t count)
{
    recipe wanted = {.build = build_full, .optimizer = optimizer, .batch_size = 30, .microbatch = 4, .num_threads = 2};
    for (size_t i = 0; i < count; i++) wanted.replicas[i] = given[i];
    set_up(own, &wanted);
}

static void check_replicas(const liana__optimizer *optimizer)
{
    static const replica sets[][MAX_REPLICAS] = {{{"cpu", 1, 1}},
                                                 {{"cpu", 1, 1}, {"cpu", 3, 1}},
                                                 {{"cpu", 3, 3}, {"cpu", 1, 1}},
                                                 {{"cpu", 2, 1}, {"cpu", 1, 5}, {"cpu", 1, 0.2}},
                                                 {{"cpu", 1, 1}, {"cpu", 1, 1}, {"cpu", 2, 1}, {"cpu", 1, 1}}};
    fixture one;
    float expected[NUM_OUTPUTS], outputs[NUM_OUTPUTS];
    liana__test_sums right[NUM_COMPARED] = {0}, sums[NUM_COMPARED] = {0};
    set_up_replicas(&one, optimizer, NULL, 0);
    train_for_comparison(&one, expected, right);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        fixture own;
        set_up_replicas(&own, optimizer, sets[i], MAX_REPLICAS);
        train_for_comparison(&own, outputs, sums);
        assert_true(compare_variables(&one, &own) == 0);
        assert_memory_equal(outputs, expected, sizeof expected);
        assert_memory_equal(sums, right, sizeof right);
        tear_down(&own);
    }
    tear_down(&one);
}

static void test_replicas_give_one_devices_bits(void **state)
{
    (void)state;
    check_replicas(&liana__optimizer_Adam);
    check_replicas(&liana__optimizer_Lamb);
    check_replicas(&liana__test_clip_and_trust); /* two rounds of sums */
}

/* The changes of all variables by a step with rate 1, one after the other. */
static size_t changes_of(const liana__optimizer *optimizer, double *changes)
{
    fixture own;
    size_t count, total = 0;
    set_up_replicas(&own, optimizer, NULL, 0);
    const size_t num_weights = own.model->num_weights;
    for (int after = 0; after < 2; after++) {
        total = 0;
        for (size_t i = 0; i < num_weights; i++) {
            float *values = read_variable(&own, own.model->weights[i].name, &count);
            bool trains = liana__weight_trainable(own.model, i);
            for (size_t k = 0; trains && k < count; k++, total++) {
                changes[total] = after ? changes[total] - (double)values[k] : (double)values[k];
            }
            free(values);
        }
        if (!after) step(&own, 30, 1, 1);
    }
    tear_down(&own);
    return total;
}

/* Sums over all variables: gradient descent gives the gradients, clipping by their norm scales them. */
static void test_a_training_clips_by_the_norm_of_all(void **state)
{
    (void)state;
    static double plain[2000], clipped[2000];
    size_t count = changes_of(&liana__optimizer_SGD, plain);
    assert_true(count > 100 && count <= 2000);
    assert_int_equal(changes_of(&liana__test_clip, clipped), count);
    double square = 0;
    for (size_t i = 0; i < count; i++) square += plain[i] * plain[i];
    assert_true(sqrt(square) > 1.1 * LIANA__TEST_CLIP);
    for (size_t i = 0; i < count; i++) {
        double expected = plain[i] * LIANA__TEST_CLIP / sqrt(square);
        if (fabs(clipped[i] - expected) > 1e-6) fail_msg("%zu: %g, expected %g", i, clipped[i], expected);
    }
}

/* The reference device masks missing examples where the CPU compiles for fewer: both are what the definition says. */
static void test_devices_of_different_kinds_work_together(void **state)
{
    (void)state;
    static const replica sets[][MAX_REPLICAS] = {{{"reference", 0, 1}},
                                                 {{"cpu", 2, 1}, {"reference", 0, 1}},
                                                 {{"reference", 0, 1}, {"cpu", 1, 1}}};
    fixture one;
    float expected[NUM_OUTPUTS], outputs[NUM_OUTPUTS];
    liana__test_sums right[NUM_COMPARED] = {0}, sums[NUM_COMPARED] = {0};
    set_up_replicas(&one, &liana__optimizer_SGD, NULL, 0);
    train_for_comparison(&one, expected, right);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        fixture own;
        set_up_replicas(&own, &liana__optimizer_SGD, sets[i], MAX_REPLICAS);
        train_for_comparison(&own, outputs, sums);
        double worst = compare_variables(&one, &own);
        if (!(worst > 0 && worst < 2e-4)) fail_msg("set %zu: variables differ by %g", i, worst);
        for (size_t k = 0; k < NUM_OUTPUTS; k++) assert_true(fabsf(outputs[k] - expected[k]) < 1e-4f);
        for (int k = 0; k < NUM_COMPARED; k++) {
            assert_true(fabsf(sums[k].values[0] - right[k].values[0]) < 1e-3f * (1 + right[k].values[0]));
            assert_true(sums[k].values[1] == right[k].values[1]);
        }
        tear_down(&own);
    }
    tear_down(&one);
}

static void test_one_device_takes_one_device(void **state)
{
    (void)state;
    fixture own;
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
    tear_down(&own);
}

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
        cmocka_unit_test(test_replicas_give_one_devices_bits),
        cmocka_unit_test(test_a_training_clips_by_the_norm_of_all),
        cmocka_unit_test(test_devices_of_different_kinds_work_together),
        cmocka_unit_test(test_one_device_takes_one_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
