/* A trainer of a small model on small images. */
#include "harness/tiny_trainer.h"

#include "base/context.h"
#include "distribute/replicas.h"

#include <liana/layers.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void liana__tiny_dense(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_flatten(model);
    liana_dense(model, .units = LIANA__TINY_CLASSES, .activation = "softmax");
}

void liana__tiny_plain(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_conv2d(model, .filters = 6, .kernel_size = 3, .activation = "relu");
    liana_max_pooling2d(model);
    liana_depthwise_conv2d(model, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .activation = "relu");
    liana_flatten(model);
    liana_dense(model, .units = LIANA__TINY_CLASSES, .activation = "softmax");
}

void liana__tiny_full(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_conv2d(model, .filters = 6, .kernel_size = 3, .use_bias = false);
    liana_batch_normalization(model, .momentum = 0.9);
    liana_relu(model, .max_value = 6);
    liana_depthwise_conv2d(model, .kernel_size = 3, .strides = 2, .padding = LIANA_PADDING_SAME);
    liana_batch_normalization(model, .momentum = 0.9);
    liana_dropout(model, .rate = 0.3);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = LIANA__TINY_CLASSES, .activation = "softmax");
}

/* Several devices of one process, which no strategy has by name yet. */
static const liana__strategy replicas = {
    .name = "replicas",
    .create = liana__replicas_create,
    .functions = &liana__replicas_functions,
};

static void open_devices(liana__tiny_trainer *own, const liana__tiny_recipe *wanted, double *speeds)
{
    liana__error error = {0};
    const liana__tiny_replica *first = &wanted->replicas[0];
    const char *name = first->device ? first->device : wanted->device ? wanted->device : "cpu";
    assert_ok(liana__device_open_with(own->context, name, first->num_threads, &own->device, &error), &error);
    for (size_t i = 0; i < LIANA__TINY_MAX_REPLICAS && wanted->replicas[i].device; i++) {
        speeds[i] = wanted->replicas[i].speed ? wanted->replicas[i].speed : 1;
        if (i == 0) continue;
        assert_ok(liana__device_open_with(own->context, wanted->replicas[i].device, wanted->replicas[i].num_threads,
                                          &own->more[own->num_more++], &error),
                  &error);
    }
}

void liana__tiny_trainer_open(liana__tiny_trainer *own, const liana__tiny_recipe *wanted)
{
    memset(own, 0, sizeof *own);
    liana__error error = {0};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = wanted->num_threads}, &own->context),
                     LIANA_OK);
    double speeds[LIANA__TINY_MAX_REPLICAS];
    open_devices(own, wanted, speeds);
    liana__variables_init(&own->variables, own->device);
    assert_int_equal(liana_model_create(own->context, NULL, &own->model), LIANA_OK);
    wanted->build(own->model);
    assert_ok(liana_model_status(own->model), &own->context->error);
    if (wanted->train_from) assert_ok(liana__model_train_from(own->model, wanted->train_from, &error), &error);
    own->optimizer_options = liana__arena_allocate(&own->arena, wanted->optimizer->part.options.size);
    assert_ok(liana__fields_default(&wanted->optimizer->part.options, &own->arena, own->optimizer_options, &error),
              &error);
    liana__trainer_options options = {.model = own->model,
                                      .objective = liana__test_objective(own->model, "[accuracy]"),
                                      .optimizer = wanted->optimizer,
                                      .optimizer_options = own->optimizer_options,
                                      .batch_size = wanted->batch_size,
                                      .microbatch = wanted->microbatch,
                                      .mixes = wanted->mixes,
                                      .class_weights = wanted->class_weights,
                                      .num_class_weights = LIANA__TINY_CLASSES,
                                      .seed = 11,
                                      .strategy = wanted->replicas[0].device ? &replicas : NULL,
                                      .more_devices = own->more,
                                      .num_more_devices = own->num_more,
                                      .speeds = speeds};
    assert_ok(liana__trainer_create(own->device, &options, &own->variables, &own->trainer, &error), &error);
    for (uint32_t i = 0; i < LIANA__TINY_MAX_BATCH; i++) {
        own->labels[i] = liana__test_tiny_image(5, i, own->images + i * LIANA__TINY_PIXELS);
        own->positions[i] = i;
    }
}

void liana__tiny_trainer_close(liana__tiny_trainer *own)
{
    liana__trainer_destroy(own->trainer);
    liana__variables_free(&own->variables);
    for (size_t i = 0; i < own->num_more; i++) liana__device_close(own->more[i]);
    liana__device_close(own->device);
    liana_model_destroy(own->model);
    liana_context_destroy(own->context);
    liana__arena_free(&own->arena);
}

liana__batch liana__tiny_first(const liana__tiny_trainer *own, int64_t count)
{
    return liana__test_batch(own->trainer, count, own->images, own->labels, own->positions);
}

liana__test_sums liana__tiny_step(liana__tiny_trainer *own, int64_t count, double rate, int64_t iteration)
{
    liana__batch batch = liana__tiny_first(own, count);
    liana__test_sums sums = {{0}};
    liana__error error = {0};
    assert_ok(liana__test_step(own->trainer, &batch, rate, iteration, &sums, &error), &error);
    return sums;
}

float *liana__tiny_read_variable(const liana__tiny_trainer *own, const char *name, size_t *count)
{
    const liana__variable *variable = liana__variables_find(&own->variables, name);
    assert_non_null(variable);
    float *values = malloc(variable->buffer->size);
    liana__error error = {0};
    assert_ok(own->device->backend->download(variable->buffer, values, &error), &error);
    *count = variable->buffer->size / sizeof *values;
    return values;
}

double liana__tiny_compare_variables(const liana__tiny_trainer *a, const liana__tiny_trainer *b)
{
    assert_int_equal(a->variables.count, b->variables.count);
    double worst = 0;
    for (size_t i = 0; i < a->variables.count; i++) {
        size_t count;
        float *left = liana__tiny_read_variable(a, a->variables.items[i].name, &count);
        float *right = liana__tiny_read_variable(b, a->variables.items[i].name, &count);
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
