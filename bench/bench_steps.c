/* What one training step costs without input: images per second of whole updates (shards, their sum, the optimizer) on
 * one batch that is always there. For bench.sh, beside pytorch_peer.py --input synthetic.
 *
 *   bench_steps flowers|mnist [STEPS [WARMUP [MICROBATCH]]]
 *
 * The report is one JSON line. LIANA_THREADS and LIANA_MAX_ISA say what is measured. */
#include "base/context.h"
#include "base/random.h"
#include "train/trainer.h"

#include <liana/models.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct example {
    const char *name;
    int64_t batch_size;
    int64_t height, width, channels;
    int64_t classes;
    double learning_rate;
    liana_scale scale;
    void (*build)(liana_model *model);
} example;

/* examples/flowers.yaml */
static void build_flowers(liana_model *model)
{
    liana_mobilenet_v2(model, .alpha = 0.35, .input_shape = LIANA_INTS(192, 192, 3), .include_top = false);
    liana_dropout(model, .rate = 0.05);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = 5, .activation = "softmax");
}

/* examples/mnist.yaml */
static void build_mnist(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(28, 28, 1));
    liana_conv2d(model, .filters = 32, .kernel_size = 3, .activation = "relu");
    liana_max_pooling2d(model);
    liana_conv2d(model, .filters = 64, .kernel_size = 3, .activation = "relu");
    liana_max_pooling2d(model);
    liana_flatten(model);
    liana_dropout(model, .rate = 0.5);
    liana_dense(model, .units = 10, .activation = "softmax");
}

static const example examples[] = {
    {"flowers", 64, 192, 192, 3, 5, 3e-4, LIANA_SCALE_MINUS_ONE_ONE, build_flowers},
    {"mnist", 128, 28, 28, 1, 10, 1e-3, LIANA_SCALE_ZERO_ONE, build_mnist},
};

/* The batch; everything lives in the arena. */
static bool draw_batch(const example *what, liana__arena *arena, liana__trainer_batch *batch)
{
    size_t size = (size_t)(what->batch_size * what->height * what->width * what->channels);
    uint8_t *images = liana__arena_allocate(arena, size);
    int32_t *labels = liana__arena_allocate(arena, (size_t)what->batch_size * sizeof *labels);
    uint64_t *positions = liana__arena_allocate(arena, (size_t)what->batch_size * sizeof *positions);
    if (arena->failed) return false;
    liana__philox_key key = liana__philox_make_key(1, LIANA__STREAM_TEST, 0);
    for (size_t i = 0; i < size; i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
        images[i] = (uint8_t)words[0];
    }
    for (int64_t i = 0; i < what->batch_size; i++) {
        labels[i] = (int32_t)(i % what->classes);
        positions[i] = (uint64_t)i;
    }
    *batch = (liana__trainer_batch){what->batch_size, images, labels, positions};
    return true;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

typedef struct bench {
    const example *what;
    int steps, warmup;
    int64_t microbatch;
    liana_context *context;
    liana_model *model;
    liana__device *device;
    liana__variables variables;
    liana__trainer *trainer;
    liana__arena arena;
    double *seconds;
    float loss; /* the sum of the last step */
} bench;

static liana_status set_up(bench *b, liana__error *error)
{
    liana_context *context = b->context;
    LIANA_TRY(liana_model_create(context, b->what->name, &b->model));
    b->what->build(b->model);
    LIANA_TRY(liana_model_status(b->model));
    LIANA_TRY(liana__device_open(context, "cpu", &b->device, error));
    liana__variables_init(&b->variables, b->device);
    void *adam = liana__arena_allocate(&b->arena, liana__optimizer_Adam.options->size);
    if (!adam) return liana__fail_memory(error, "the optimizer's options");
    LIANA_TRY(liana__fields_default(liana__optimizer_Adam.options, &b->arena, adam, error));
    liana__trainer_options options = {
        .model = b->model,
        .loss = &liana__loss_sparse_categorical_crossentropy,
        .metrics = {&liana__metric_accuracy},
        .num_metrics = 1,
        .optimizer = &liana__optimizer_Adam,
        .optimizer_options = adam,
        .batch_size = b->what->batch_size,
        .microbatch = b->microbatch,
        .seed = 1,
        .scale = b->what->scale,
    };
    LIANA_TRY(liana__trainer_create(b->device, &options, &b->variables, &b->trainer, error));
    return liana__trainer_prepare(b->trainer, b->what->batch_size, true, error);
}

static liana_status measure(bench *b, liana__error *error)
{
    liana__trainer_batch batch;
    b->seconds = liana__arena_allocate(&b->arena, (size_t)b->steps * sizeof *b->seconds);
    if (!b->seconds || !draw_batch(b->what, &b->arena, &batch)) return liana__fail_memory(error, "the batch");
    for (int step = 0; step < b->warmup + b->steps; step++) {
        liana__trainer_sums sums;
        double begin = now();
        LIANA_TRY(liana__trainer_step(b->trainer, &batch, b->what->learning_rate, step + 1, &sums, error));
        if (step >= b->warmup) b->seconds[step - b->warmup] = now() - begin;
        b->loss = sums.values[0];
    }
    return LIANA_OK;
}

static void report(const bench *b)
{
    double sum = 0, images = (double)b->what->batch_size;
    for (int i = 0; i < b->steps; i++) sum += b->seconds[i];
    qsort(b->seconds, (size_t)b->steps, sizeof *b->seconds, compare_doubles);
    double median = (b->seconds[(b->steps - 1) / 2] + b->seconds[b->steps / 2]) / 2;
    printf("{\"program\": \"liana %s\", \"model\": \"%s\", \"input\": \"synthetic\", \"steps\": %d, \"warmup\": %d, "
           "\"threads\": %d, \"batch_size\": %lld, \"microbatch\": %lld, \"loss\": %.6g, "
           "\"images_per_second_median\": %.2f, \"images_per_second\": %.2f}\n",
           liana_version(), b->what->name, b->steps, b->warmup, liana_context_num_threads(b->context),
           (long long)b->what->batch_size, (long long)liana__trainer_microbatch(b->trainer), (double)b->loss / images,
           images / median, images * b->steps / sum);
}

static void tear_down(bench *b)
{
    liana__trainer_destroy(b->trainer);
    liana__variables_free(&b->variables);
    liana__device_close(b->device);
    liana_model_destroy(b->model);
    liana__arena_free(&b->arena);
    liana_context_destroy(b->context);
}

/* A whole number of at least `minimum`, or -1. */
static int read_number(const char *text, int minimum)
{
    char *end;
    long number = strtol(text, &end, 10);
    return *text && !*end && number >= minimum && number <= 1000000 ? (int)number : -1;
}

static bool read_arguments(int argc, char **argv, bench *b)
{
    if (argc < 2 || argc > 5) return false;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        if (strcmp(argv[1], examples[i].name) == 0) b->what = &examples[i];
    }
    if (argc > 2) b->steps = read_number(argv[2], 1);
    if (argc > 3) b->warmup = read_number(argv[3], 0);
    if (argc > 4) b->microbatch = read_number(argv[4], 1);
    return b->what && b->steps > 0 && b->warmup >= 0 && b->microbatch >= 0;
}

int main(int argc, char **argv)
{
    bench b = {.steps = 25, .warmup = 3};
    if (!read_arguments(argc, argv, &b)) {
        fprintf(stderr, "usage: bench_steps flowers|mnist [STEPS [WARMUP [MICROBATCH]]]\n");
        return 2;
    }
    liana_status status = liana_context_create(NULL, &b.context);
    liana__error *error = b.context ? &b.context->error : NULL;
    if (status == LIANA_OK) status = set_up(&b, error);
    if (status == LIANA_OK) status = measure(&b, error);
    if (status == LIANA_OK) report(&b);
    if (status != LIANA_OK) fprintf(stderr, "bench_steps: %s\n", error ? error->message : liana_status_text(status));
    tear_down(&b);
    return status == LIANA_OK ? 0 : 1;
}
