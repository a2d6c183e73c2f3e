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

/* --- Layers of sequences, volumes and rows, of numbers that come as pixels of an image --- */

static void end_with_scores(liana_model *model)
{
    liana_dense(model, .units = 10, .activation = "softmax");
}

static void build_lstm(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(100, 1, 128));
    liana_reshape(model, .target_shape = LIANA_INTS(100, 128));
    liana_lstm(model, .units = 128);
    end_with_scores(model);
}

static void build_gru(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(100, 1, 128));
    liana_reshape(model, .target_shape = LIANA_INTS(100, 128));
    liana_gru(model, .units = 128);
    end_with_scores(model);
}

/* The encoder's block of Vaswani et al. 2017: sums are normalised. */
static void build_transformer(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(128, 1, 256));
    const liana_layer x = liana_reshape(model, .target_shape = LIANA_INTS(128, 256));
    const liana_layer seen = liana_multi_head_attention(model, .num_heads = 8, .key_dim = 32, .inputs = {x, x});
    liana_add(model, .inputs = {x, seen});
    const liana_layer y = liana_layer_normalization(model, .epsilon = 1e-5);
    liana_dense(model, .units = 1024, .activation = "relu");
    const liana_layer z = liana_dense(model, .units = 256);
    liana_add(model, .inputs = {y, z});
    liana_layer_normalization(model, .epsilon = 1e-5);
    liana_global_average_pooling1d(model);
    end_with_scores(model);
}

static void build_conv1d(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(1024, 1, 16));
    liana_reshape(model, .target_shape = LIANA_INTS(1024, 16));
    for (int i = 0; i < 3; i++) {
        liana_conv1d(model, .filters = 64 << i, .kernel_size = 5, .padding = LIANA_PADDING_SAME, .activation = "relu");
        liana_max_pooling1d(model);
    }
    liana_global_average_pooling1d(model);
    end_with_scores(model);
}

static void build_conv3d(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(16, 1024, 3));
    liana_reshape(model, .target_shape = LIANA_INTS(16, 32, 32, 3));
    for (int i = 0; i < 3; i++) {
        liana_conv3d(model, .filters = 32 << i, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .activation = "relu");
        liana_max_pooling3d(model);
    }
    liana_global_average_pooling3d(model);
    end_with_scores(model);
}

/* The generator of Radford et al. 2016, narrower and without batch normalisation; its images are scored. */
static void build_decoder(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(1, 1, 128));
    liana_flatten(model);
    liana_dense(model, .units = 4096, .activation = "relu");
    liana_reshape(model, .target_shape = LIANA_INTS(4, 4, 256));
    for (int i = 0; i < 3; i++) {
        liana_conv2d_transpose(model, .filters = 128 >> i, .kernel_size = 4, .strides = 2,
                               .padding = LIANA_PADDING_SAME, .activation = "relu");
    }
    liana_conv2d_transpose(model, .filters = 3, .kernel_size = 4, .strides = 2, .padding = LIANA_PADDING_SAME,
                           .activation = "tanh");
    liana_global_average_pooling2d(model);
    end_with_scores(model);
}

static void build_layer_norm_mlp(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(1, 1, 784));
    liana_flatten(model);
    for (int i = 0; i < 3; i++) {
        liana_dense(model, .units = 512);
        liana_layer_normalization(model, .epsilon = 1e-5);
        liana_relu(model);
    }
    end_with_scores(model);
}

static const bench_model examples[] = {
    {"flowers", 64, 16, 192, 192, 3, 5, 3e-4, LIANA_SCALE_MINUS_ONE_ONE, build_flowers},
    {"mnist", 128, 0, 28, 28, 1, 10, 1e-3, LIANA_SCALE_ZERO_ONE, build_mnist},
    {"mlp", 1024, 0, 28, 28, 1, 10, 1e-3, LIANA_SCALE_ZERO_ONE, build_mlp},
    {"lstm", 32, 16, 100, 1, 128, 10, 1e-3, LIANA_SCALE_MINUS_ONE_ONE, build_lstm},
    {"gru", 32, 16, 100, 1, 128, 10, 1e-3, LIANA_SCALE_MINUS_ONE_ONE, build_gru},
    {"transformer", 32, 16, 128, 1, 256, 10, 1e-3, LIANA_SCALE_MINUS_ONE_ONE, build_transformer},
    {"conv1d", 32, 16, 1024, 1, 16, 10, 1e-3, LIANA_SCALE_MINUS_ONE_ONE, build_conv1d},
    {"conv3d", 32, 16, 16, 1024, 3, 10, 1e-3, LIANA_SCALE_MINUS_ONE_ONE, build_conv3d},
    {"decoder", 32, 16, 1, 1, 128, 10, 1e-3, LIANA_SCALE_MINUS_ONE_ONE, build_decoder},
    {"layer_norm_mlp", 32, 16, 1, 1, 784, 10, 1e-3, LIANA_SCALE_MINUS_ONE_ONE, build_layer_norm_mlp},
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
                           "there is no network '%s', expected flowers, mnist, mlp, lstm, gru, transformer, conv1d, "
                           "conv3d, decoder, layer_norm_mlp or an architecture that `liana list models` names%s",
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
