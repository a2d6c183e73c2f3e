/* train.recompute: the same bits with less memory, its messages, its records, and the choice that a resume keeps.
 * (tests/plan/test_memory_plan.c follows the memory of random graphs whose segments run twice.) */
#include "harness/command_run.h"
#include "harness/objective.h"

#include "base/memory.h"
#include "base/random.h"
#include "train/objective/trainer.h"

#include <liana/models.h>
#include <stdlib.h>
#include <string.h>

/* ---- the zoo's networks ---- */

enum { SIZE = 64, BATCH = 24, MICROBATCH = 12, CLASSES = 5, STEPS = 2 };

typedef struct trained {
    liana_context *context;
    liana_model *model;
    liana__device *device;
    liana__variables variables;
    liana__trainer *trainer;
    liana__arena arena;
} trained;

static void close_trained(trained *t)
{
    liana__trainer_destroy(t->trainer);
    liana__variables_free(&t->variables);
    liana__device_close(t->device);
    liana_model_destroy(t->model);
    liana__arena_free(&t->arena);
    liana_context_destroy(t->context);
}

static liana_status make_trainer(trained *t, const char *architecture, bool mixed, size_t limit)
{
    *t = (trained){0};
    assert_ok(liana_context_create(&(liana_context_options){.num_threads = 2}, &t->context), NULL);
    liana__error *error = &t->context->error;
    assert_ok(liana_model_create(t->context, architecture, &t->model), error);
    if (strcmp(architecture, "ResNet50") == 0) {
        liana_resnet50(t->model, .input_shape = LIANA_INTS(SIZE, SIZE, 3), .include_top = false);
    } else if (strcmp(architecture, "DenseNet121") == 0) {
        liana_densenet121(t->model, .input_shape = LIANA_INTS(SIZE, SIZE, 3), .include_top = false);
    } else if (strcmp(architecture, "EfficientNetB0") == 0) {
        liana_efficientnet_b0(t->model, .input_shape = LIANA_INTS(SIZE, SIZE, 3), .include_top = false);
    } else {
        liana_mobilenet_v2(t->model, .input_shape = LIANA_INTS(SIZE, SIZE, 3), .include_top = false);
    }
    liana_dropout(t->model, .rate = 0.3);
    liana_global_average_pooling2d(t->model);
    liana_dense(t->model, .units = CLASSES, .activation = "softmax");
    assert_ok(liana__device_open(t->context, "cpu", &t->device, error), error);
    liana__variables_init(&t->variables, t->device);
    void *adam = liana__arena_allocate(&t->arena, liana__optimizer_Adam.part.options.size);
    assert_ok(liana__fields_default(&liana__optimizer_Adam.part.options, &t->arena, adam, error), error);
    liana__trainer_options options = {.model = t->model,
                                      .objective = liana__test_objective(t->model, "[]"),
                                      .optimizer = &liana__optimizer_Adam,
                                      .optimizer_options = adam,
                                      .batch_size = BATCH,
                                      .microbatch = MICROBATCH,
                                      .seed = 5,
                                      .mixed_precision = mixed,
                                      .memory_limit = limit};
    return liana__trainer_create(t->device, &options, &t->variables, &t->trainer, error);
}

static void train_steps(trained *t)
{
    static uint8_t images[BATCH * SIZE * SIZE * 3];
    uint64_t positions[BATCH];
    int32_t labels[BATCH];
    liana__philox_key key = liana__philox_make_key(3, LIANA__STREAM_TEST, 0);
    for (uint32_t i = 0; i < sizeof images; i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){i, 0, 0, 0}, words);
        images[i] = (uint8_t)words[0];
    }
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < BATCH; i++) {
            labels[i] = (i + step) % CLASSES;
            positions[i] = (uint64_t)(step * BATCH + i);
        }
        const liana__batch batch = liana__test_batch(t->trainer, BATCH, images, labels, positions);
        liana__test_sums sums;
        assert_ok(liana__test_step(t->trainer, &batch, 1e-3, step + 1, &sums, &t->context->error), &t->context->error);
    }
}

static void assert_same_variables(const trained *a, const trained *b)
{
    assert_int_equal(a->variables.count, b->variables.count);
    for (size_t i = 0; i < a->variables.count; i++) {
        const liana__buffer *x = a->variables.items[i].buffer, *y = b->variables.items[i].buffer;
        void *left = malloc(x->size), *right = malloc(y->size);
        assert_true(left);
        assert_true(right);
        assert_compare(x->size, ==, y->size);
        assert_ok(a->device->backend->download(x, left, NULL), NULL);
        assert_ok(a->device->backend->download(y, right, NULL), NULL);
        if (memcmp(left, right, x->size) != 0) fail_msg("'%s' differs", a->variables.items[i].name);
        free(left);
        free(right);
    }
}

/* With 4% of the bytes of the tensors and of what kernels need taken away. */
static void test_networks_of_the_zoo_train_to_the_same_bits(void **state)
{
    (void)state;
    static const char *const names[] = {"ResNet50", "DenseNet121", "EfficientNetB0", "MobileNetV2"};
    for (int i = 0; i < 8; i++) {
        trained whole, limited;
        liana_status status = make_trainer(&whole, names[i / 2], i % 2, 0);
        assert_ok(status, &whole.context->error);
        liana__step_memory free_of_limit = liana__step_memory_of(whole.trainer->step);
        train_steps(&whole);
        assert_int_equal(free_of_limit.num_segments, 0);
        size_t workspaces = free_of_limit.bytes - (size_t)whole.device->bytes_held;
        size_t limit = free_of_limit.bytes - workspaces / 25;
        status = make_trainer(&limited, names[i / 2], i % 2, limit);
        assert_ok(status, &limited.context->error);
        liana__step_memory memory = liana__step_memory_of(limited.trainer->step);
        /* Images and labels of each worker's shard come on top. */
        assert_compare(memory.num_segments, >, 0);
        assert_compare(memory.bytes, <=, limit + (1 << 20));
        assert_compare(memory.bytes, <, memory.bytes_before);
        assert_compare(memory.flops_again, >, 0);
        assert_compare(memory.flops_again, <, memory.flops_before / 3);
        assert_in_range(memory.bytes_before, free_of_limit.bytes - 1000, free_of_limit.bytes + 1000);
        train_steps(&limited);
        assert_same_variables(&whole, &limited);
        close_trained(&limited);
        close_trained(&whole);
    }
}

static void test_what_cannot_fit_is_refused_with_numbers(void **state)
{
    (void)state;
    trained t;
    liana_status status = make_trainer(&t, "MobileNetV2", false, 30 << 20);
    assert_fails(status, LIANA_OUT_OF_MEMORY, &t.context->error, "training needs at least", "MiB, but may take 30 MiB",
                 "for each of 2 threads", "use a smaller train.microbatch");
    close_trained(&t);
}

/* ---- the command ---- */

#define AUTO "train.recompute=auto"
#define NETWORK                                                                                                    \
    "model.layers=[Conv2D: {filters: 24, kernel_size: 3, padding: same, activation: relu}, BatchNormalization, "   \
    "Conv2D: {filters: 32, kernel_size: 3, padding: same, activation: relu}, BatchNormalization, Dropout: {rate: " \
    "0.2}, Conv2D: {filters: 32, kernel_size: 3, padding: same, activation: relu}, BatchNormalization, Conv2D: "   \
    "{filters: 16, kernel_size: 3, padding: same, activation: relu}, GlobalAveragePooling2D, Dense: {units: 4, "   \
    "activation: softmax}]"

static char config_path[256];

/* train("run", "key=value", ...) */
static liana__test_result train_words(const char *const *given)
{
    const char *words[16] = {"train",
                             config_path,
                             "--out",
                             liana__test_path(given[0]),
                             NETWORK,
                             "train.batch_size=512",
                             "train.microbatch=256",
                             "train.threads=2"};
    for (int i = 8; *++given; i++) words[i] = *given;
    return liana__test_wait(liana__test_spawn(words, (const char *const[]){NULL}));
}
#define train(...) train_words((const char *const[]){__VA_ARGS__, NULL})

static bool file_has(const char *path, const char *words)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return strstr(text, words) != NULL;
}

static bool in_config(const char *run, const char *words)
{
    char path[128];
    snprintf(path, sizeof path, "%s/config.yaml", run);
    return file_has(liana__test_path(path), words);
}

static void assert_same_run(const char *one, const char *other)
{
    char first[600], second[600];
    snprintf(first, sizeof first, "%s/variables.safetensors", liana__test_newest_checkpoint(one));
    snprintf(second, sizeof second, "%s/variables.safetensors", liana__test_newest_checkpoint(other));
    assert_same_file(first, second);
}

/* The least limit that a message names, as an override. */
static const char *least_memory(void)
{
    static char override[64];
    liana__test_result got = train("never", AUTO, "train.memory=1");
    const char *words = "training needs at least ", *at = strstr(got.err, words);
    if (!at) fail_msg("expected '%s' in:\n%s", words, got.err);
    snprintf(override, sizeof override, "train.memory=%ld", strtol(at + strlen(words), NULL, 10));
    liana__test_free_result(&got);
    return override;
}

static void assert_printed(liana__test_result got, const char *words)
{
    assert_says(got.out, words);
    assert_code(got, 0);
}

/* Its cost is in a line of the profile, and there is no such line where it costs nothing. */
static void profile_shows(const char *least)
{
    static const char line[] = "are for recomputation";
    const char *words[16] = {"profile",
                             config_path,
                             "--steps=1",
                             "--warmup=2", /* an epoch, whose second batch is a small one */
                             NETWORK,
                             AUTO,
                             "train.batch_size=512",
                             "train.microbatch=256",
                             "train.threads=2",
                             least};
    assert_printed(liana__test_wait(liana__test_spawn(words, (const char *const[]){NULL})), line);
    words[9] = "train.memory=100000";
    liana__test_result got = liana__test_wait(liana__test_spawn(words, (const char *const[]){NULL}));
    assert_never_says(got.out, line);
    assert_code(got, 0);
}

static void test_a_limit_changes_no_byte(void **state)
{
    (void)state;
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(600));
    const char *least = least_memory();
    assert_code(train("plain", "train.epochs=2"), 0);
    assert_true(in_config("plain", "recompute: none\n"));
    assert_printed(train("fits", AUTO, "train.epochs=1"), "recompute: none (auto: training takes ");
    assert_true(in_config("fits", "recompute: none\n"));
    assert_printed(train("limited", AUTO, least, "train.epochs=2"), " parts of the forward pass run twice, for ");
    assert_same_run("limited", "plain");
    profile_shows(least);
    char expected[64], path[600];
    snprintf(expected, sizeof expected, "memory: %s\n", strchr(least, '=') + 1);
    assert_true(in_config("limited", "recompute: auto\n") && in_config("limited", expected));
    snprintf(path, sizeof path, "%s/state.json", liana__test_newest_checkpoint("limited"));
    snprintf(expected, sizeof expected, "\"recompute_memory\": %s", strchr(least, '=') + 1);
    assert_true(file_has(path, expected));
}

/* A run may go on with less memory, or more; without a word about it, as it began. */
static void test_a_resume_keeps_it(void **state)
{
    (void)state;
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(600));
    const char *least = least_memory();
    assert_code(train("whole", "train.steps_per_epoch=1", "data.repeat=true", "checkpoint.every_epoch=true"), 0);
    assert_printed(train("parts", AUTO, least, "train.steps_per_epoch=1", "data.repeat=true",
                         "checkpoint.every_epoch=true"),
                   "run twice");
    assert_same_run("parts", "whole");
    assert_printed(train("parts", AUTO, "train.steps_per_epoch=1", "data.repeat=true", "checkpoint.every_epoch=true",
                         "--resume"),
                   "run twice");
    assert_code(train("parts", "train.steps_per_epoch=1", "data.repeat=true", "checkpoint.every_epoch=true",
                      "--resume"),
                0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_networks_of_the_zoo_train_to_the_same_bits),
        cmocka_unit_test(test_what_cannot_fit_is_refused_with_numbers),
        cmocka_unit_test(test_a_limit_changes_no_byte),
        cmocka_unit_test(test_a_resume_keeps_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
