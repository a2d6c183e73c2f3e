/* The models of the measurements. */
#include "bench_models.h"

#include "models/models.h"

#include <liana/models.h>
#include <string.h>

/* examples/flowers.yaml */
static void build_flowers(liana_model *model)
{
    liana_mobilenet_v2(model, .alpha = 0.35, .input_shape = LIANA_INTS(192, 192, 3), .include_top = false);
    liana_dropout(model, .rate = 0.05);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = 5, .activation = "softmax");
}

/* Keras's example for MNIST. */
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

static void build_mlp(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(28, 28, 1));
    liana_flatten(model);
    liana_dense(model, .units = 512, .activation = "relu");
    liana_dense(model, .units = 10, .activation = "softmax");
}

static const bench_model examples[] = {
    {"flowers", 64, 16, 192, 192, 3, 5, 3e-4, LIANA_SCALE_MINUS_ONE_ONE, build_flowers},
    {"mnist", 128, 0, 28, 28, 1, 10, 1e-3, LIANA_SCALE_ZERO_ONE, build_mnist},
    {"mlp", 1024, 0, 28, 28, 1, 10, 1e-3, LIANA_SCALE_ZERO_ONE, build_mlp},
};

liana_status bench_model_find(const char *name, bench_model *found, liana__error *error)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        if (strcmp(name, examples[i].name) == 0) {
            *found = examples[i];
            return LIANA_OK;
        }
    }
    const char *nearest;
    const liana__architecture *architecture = liana__architecture_find(name, &nearest);
    if (!architecture) {
        return liana__fail(error, LIANA_NOT_FOUND,
                           "there is no network '%s', expected flowers, mnist, mlp or an architecture that `liana list "
                           "models` names%s",
                           name, liana__hint(nearest).text);
    }
    *found = (bench_model){architecture->name, 32, 16, 192, 192, 3, 104, 1e-3, architecture->scale, NULL};
    return LIANA_OK;
}

liana_status bench_model_build(const bench_model *what, liana_model *model, liana__error *error)
{
    if (what->build) {
        what->build(model);
        return liana_model_status(model);
    }
    liana__arena arena = {0};
    liana__value *options = liana__value_map(&arena), *shape = liana__value_list(&arena);
    liana__value_add(&arena, shape, liana__value_int(&arena, what->height));
    liana__value_add(&arena, shape, liana__value_int(&arena, what->width));
    liana__value_add(&arena, shape, liana__value_int(&arena, what->channels));
    liana__value_set(&arena, options, "input_shape", shape);
    liana__value_set(&arena, options, "classes", liana__value_int(&arena, what->classes));
    liana_status status = LIANA_OK;
    if (arena.failed) status = liana__fail_memory(error, "the network's options");
    if (status == LIANA_OK) {
        status =
            liana__architecture_add(model, LIANA_HERE, liana__architecture_find(what->name, NULL), options, what->name);
    }
    liana__arena_free(&arena);
    return status;
}
