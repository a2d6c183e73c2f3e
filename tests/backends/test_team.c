/* All workers in one shard: the same bits as one worker alone, whatever the network, its size and the number of
 * threads. */
#include "harness/harness.h"

#include "harness/objective.h"

#include "backends/host.h"
#include "base/context.h"
#include "models/models.h"
#include "train/objective/trainer.h"

#include <liana/layers.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 10, MAX_BATCH = 17 };

typedef struct problem {
    const char *architecture; /* NULL: a small network of all kinds of layers */
    int64_t height, width, batch;
    bool mixed, training;
    liana__isa isa; /* at most; BASELINE: the processor's */
} problem;

/* The results of one run: outputs of inference, or the weights after an update. */
typedef struct answer {
    float *values;
    size_t count;
    liana__test_sums sums;
} answer;

typedef struct fixture {
    liana_context *context;
    liana__device *device;
    liana_model *model;
    liana__variables variables;
    liana__arena arena;
    liana__trainer *trainer;
} fixture;

static void build_small(liana_model *model, const problem *p)
{
    liana_input(model, .shape = LIANA_INTS(p->height, p->width, 3));
    liana_conv2d(model, .filters = 64, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .strides = 2);
    liana_batch_normalization(model);
    liana_relu(model, .max_value = 6);
    liana_depthwise_conv2d(model, .kernel_size = 5, .padding = LIANA_PADDING_SAME);
    liana_conv2d(model, .filters = 147, .kernel_size = 1, .activation = "swish");
    liana_conv2d(model, .filters = 256, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .activation = "relu");
    liana_max_pooling2d(model, .pool_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME);
    liana_conv2d(model, .filters = 512, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .dilation_rate = 2);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
}

static void build_architecture(liana_model *model, liana__arena *arena, const problem *p)
{
    liana__value *options = liana__value_map(arena), *shape = liana__value_list(arena);
    liana__value_add(arena, shape, liana__value_int(arena, p->height));
    liana__value_add(arena, shape, liana__value_int(arena, p->width));
    liana__value_add(arena, shape, liana__value_int(arena, 3));
    liana__value_set(arena, options, "input_shape", shape);
    liana__value_set(arena, options, "classes", liana__value_int(arena, CLASSES));
    const liana__architecture *architecture = liana__architecture_find(p->architecture, NULL);
    assert_int_equal(liana__architecture_add(model, LIANA_HERE, architecture, options, "model"), LIANA_OK);
}

/* Fresh weights are 0 and 1 in many places, and the values behind them the same for all images. */
static void move_away(liana__buffer *buffer)
{
    const liana__backend *backend = buffer->device->backend;
    liana__error error = {0};
    if (buffer->shape.rank != 1) return;
    float *values = malloc(buffer->size);
    assert_non_null(values);
    assert_ok(backend->download(buffer, values, &error), &error);
    for (size_t i = 0; i < buffer->size / sizeof *values; i++) values[i] += 0.01f * (float)(i * 37 % 61);
    assert_ok(liana__host_buffer_write(buffer, values, &error), &error);
    free(values);
}

static void set_up(fixture *own, const problem *p, int num_threads)
{
    *own = (fixture){0};
    liana__error error = {0};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = num_threads}, &own->context),
                     LIANA_OK);
    if (p->isa && own->context->isa > p->isa) own->context->isa = p->isa;
    assert_ok(liana__device_open(own->context, "cpu", &own->device, &error), &error);
    liana__variables_init(&own->variables, own->device);
    assert_int_equal(liana_model_create(own->context, NULL, &own->model), LIANA_OK);
    if (p->architecture) {
        build_architecture(own->model, &own->arena, p);
    } else {
        build_small(own->model, p);
    }
    assert_ok(liana_model_status(own->model), &own->context->error);
    void *adam = liana__arena_allocate(&own->arena, liana__optimizer_Adam.part.options.size);
    assert_ok(liana__fields_default(&liana__optimizer_Adam.part.options, &own->arena, adam, &error), &error);
    const liana__trainer_options options = {.model = own->model,
                                            .objective = liana__test_objective(own->model, "[accuracy]"),
                                            .optimizer = p->training ? &liana__optimizer_Adam : NULL,
                                            .optimizer_options = adam,
                                            .batch_size = p->batch,
                                            .microbatch = p->batch,
                                            .seed = 5,
                                            .mixed_precision = p->mixed};
    assert_ok(liana__trainer_create(own->device, &options, &own->variables, &own->trainer, &error), &error);
    for (size_t i = 0; i < own->variables.count; i++) move_away(own->variables.items[i].buffer);
}

static void tear_down(fixture *own)
{
    liana__trainer_destroy(own->trainer);
    liana__variables_free(&own->variables);
    liana__device_close(own->device);
    liana_model_destroy(own->model);
    liana__arena_free(&own->arena);
    liana_context_destroy(own->context);
}

static void read_weights(fixture *own, answer *given)
{
    liana__error error = {0};
    for (size_t i = 0; i < own->variables.count; i++) {
        const liana__buffer *buffer = own->variables.items[i].buffer;
        given->values = realloc(given->values, (given->count + 1) * sizeof(float) + buffer->size);
        assert_non_null(given->values);
        assert_ok(own->device->backend->download(buffer, given->values + given->count, &error), &error);
        given->count += buffer->size / sizeof(float);
    }
}

/* Runs twice: values kept from the first execution serve the second. */
static answer run(const problem *p, int num_threads)
{
    fixture own;
    set_up(&own, p, num_threads);
    size_t size = (size_t)(p->height * p->width * 3);
    uint8_t *images = malloc((size_t)p->batch * size);
    int32_t labels[MAX_BATCH];
    uint64_t positions[MAX_BATCH];
    assert_non_null(images);
    for (size_t i = 0; i < (size_t)p->batch * size; i++) images[i] = (uint8_t)((i * 2654435761u) >> 13);
    for (int64_t i = 0; i < p->batch; i++) labels[i] = (int32_t)(i % CLASSES), positions[i] = (uint64_t)i;
    const liana__batch batch = liana__test_batch(own.trainer, p->batch, images, labels, positions);
    liana__error error = {0};
    answer given = {0};
    if (p->training) {
        for (int step = 1; step <= 2; step++) {
            assert_ok(liana__test_step(own.trainer, &batch, 1e-3, step, &given.sums, &error), &error);
        }
        read_weights(&own, &given);
    } else {
        given.count = (size_t)(p->batch * CLASSES);
        given.values = calloc(given.count, sizeof *given.values);
        for (int step = 1; step <= 2; step++) {
            assert_ok(liana__test_evaluate(own.trainer, &batch, given.values, &given.sums, &error), &error);
        }
    }
    free(images);
    tear_down(&own);
    return given;
}

static void assert_same(const problem *p)
{
    static const int threads[] = {2, 3, 5};
    answer alone = run(p, 1);
    bool differs = false;
    for (size_t i = 1; i < alone.count; i++) differs |= alone.values[i] != alone.values[0];
    if (!differs)
        fail_msg("%s %s: all values are %g", p->architecture, p->mixed ? "mixed" : "float32", (double)alone.values[0]);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        answer team = run(p, threads[i]);
        assert_int_equal(team.count, alone.count);
        for (size_t k = 0; k < alone.count; k++) {
            if (memcmp(&team.values[k], &alone.values[k], sizeof(float)) == 0) continue;
            fail_msg("%s %lldx%lld, batch %lld, %s: value %zu is %.9g on one thread, %.9g on %d",
                     p->architecture ? p->architecture : "small", (long long)p->height, (long long)p->width,
                     (long long)p->batch, p->mixed ? "mixed" : "float32", k, (double)alone.values[k],
                     (double)team.values[k], threads[i]);
        }
        assert_memory_equal(team.sums.values, alone.sums.values, 2 * sizeof(float));
        free(team.values);
    }
    free(alone.values);
}

static void test_networks_of_the_zoo_on_one_image(void **state)
{
    (void)state;
    static const char *const names[] = {"MobileNet",  "MobileNetV2",    "ResNet50",
                                        "ResNet50V2", "EfficientNetB0", "DenseNet121"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int mixed = 0; mixed < 2; mixed++) {
            assert_same(&(problem){names[i], 96, 96, 1, mixed, false, 0});
        }
    }
}

static void test_odd_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1},  {2, 3, 1},   {5, 1, 1},   {37, 41, 1},  {96, 7, 1},
                                       {1, 67, 1}, {64, 64, 1}, {23, 29, 2}, {16, 16, 13}, {40, 40, 5}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int mixed = 0; mixed < 2; mixed++) {
            assert_same(&(problem){NULL, sizes[i][0], sizes[i][1], sizes[i][2], mixed, false, 0});
        }
    }
}

static void test_training_of_a_single_shard(void **state)
{
    (void)state;
    for (int mixed = 0; mixed < 2; mixed++) {
        assert_same(&(problem){NULL, 33, 35, 6, mixed, true, 0});
        assert_same(&(problem){NULL, 48, 48, 13, mixed, true, 0});
        assert_same(&(problem){"MobileNetV2", 64, 64, 8, mixed, true, 0});
    }
}

/* Where bf16 is stored and multiplied in f32: by liana's own kernels, and for the dilated window by oneDNN. */
static void test_levels_that_store_bf16(void **state)
{
    (void)state;
    static const liana__isa levels[] = {LIANA__ISA_AVX2, LIANA__ISA_AVX512, LIANA__ISA_AVX512_BF16_STORAGE};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        assert_same(&(problem){NULL, 64, 64, 1, true, false, levels[i]});
        assert_same(&(problem){NULL, 40, 40, 5, true, false, levels[i]});
        assert_same(&(problem){NULL, 33, 35, 6, true, true, levels[i]});
        assert_same(&(problem){"MobileNetV2", 96, 96, 1, true, false, levels[i]});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_networks_of_the_zoo_on_one_image),
        cmocka_unit_test(test_odd_sizes),
        cmocka_unit_test(test_training_of_a_single_shard),
        cmocka_unit_test(test_levels_that_store_bf16),
    };
    return cmocka_run_group_tests_name("teams", tests, NULL, NULL);
}
