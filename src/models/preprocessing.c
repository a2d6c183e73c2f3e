/* The modes of preprocessing and their numbers. */
#include "models/preprocessing.h"

#include "base/value_read.h"
#include "ir/graph.h"
#include "layers/model.h"

#include <liana/ops.h>
#include <stdlib.h>

enum { RGB = 3 };

/* pixel * factor + offset for each channel, after the channels were turned around if `reversed`. */
typedef struct scaling {
    bool by_channel; /* else the first factor and offset are those of all channels, however many */
    bool reversed;   /* red, green, blue become blue, green, red */
    double factor[RGB];
    double offset[RGB];
} scaling;

static const scaling scalings[LIANA__NUM_SCALES] = {
    [LIANA_SCALE_AUTO] = {.factor = {1 / 255.0}}, /* where nobody knows better */
    [LIANA_SCALE_ZERO_ONE] = {.factor = {1 / 255.0}},
    [LIANA_SCALE_MINUS_ONE_ONE] = {.factor = {1 / 127.5}, .offset = {-1}},
    [LIANA_SCALE_NONE] = {.factor = {1}},
    /* ImageNet's mean pixel in 0..255, blue first. */
    [LIANA_SCALE_CAFFE] = {.by_channel = true,
                           .reversed = true,
                           .factor = {1, 1, 1},
                           .offset = {-103.939, -116.779, -123.68}},
    /* Mean and deviation of ImageNet's pixels in 0..1, as torchvision has them: (pixel / 255 - mean) / deviation. */
    [LIANA_SCALE_TORCH] = {.by_channel = true,
                           .factor = {1 / (255 * 0.229), 1 / (255 * 0.224), 1 / (255 * 0.225)},
                           .offset = {-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225}},
};

const char *const liana__scale_names[LIANA__NUM_SCALES + 1] = {
    [LIANA_SCALE_AUTO] = "auto", [LIANA_SCALE_ZERO_ONE] = "0..1", [LIANA_SCALE_MINUS_ONE_ONE] = "-1..1",
    [LIANA_SCALE_NONE] = "none", [LIANA_SCALE_CAFFE] = "caffe",   [LIANA_SCALE_TORCH] = "torch",
};

/* Layers that move pixels or take means of them, whatever their options. */
static bool passes_pixels(const liana_layer_type *type)
{
    static const liana_layer_type *const types[] = {
        &liana__layer_input_layer,
        &liana__layer_zero_padding2d,
        &liana__layer_flatten,
        &liana__layer_reshape,
        &liana__layer_concatenate,
        &liana__layer_dropout,
        &liana__layer_max_pooling2d,
        &liana__layer_average_pooling2d,
        &liana__layer_activity_regularization,
        &liana__layer_global_max_pooling2d,
        &liana__layer_global_average_pooling2d,
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (type == types[i]) return true;
    }
    return false;
}

static bool reads(const liana__layer_node *node, const bool *behind)
{
    for (size_t i = 0; i < node->num_inputs; i++) {
        if (behind[node->inputs[i]]) return true;
    }
    return false;
}

const char *liana__scaling_layer(const liana_model *model, size_t input)
{
    if (input >= model->num_inputs) return NULL;
    bool *behind = calloc(model->num_nodes, sizeof *behind);
    const char *found = NULL;
    if (behind) behind[model->inputs[input]] = true;
    /* Inputs stand before users. */
    for (size_t i = 0; behind && !found && i < model->num_nodes; i++) {
        const liana__layer_node *node = &model->nodes[i];
        const liana__layer *layer = &model->layers[node->layer];
        if (!reads(node, behind)) continue;
        bool scales = layer->type == &liana__layer_rescaling || layer->type == &liana__layer_normalization;
        if (scales) found = layer->name;
        behind[i] = node->is_identity || passes_pixels(layer->type);
    }
    free(behind);
    return found;
}

size_t liana__image_input(const liana_model *model)
{
    size_t count = liana__model_num_inputs(model);
    for (size_t i = 0; i < count; i++) {
        liana__model_port port = liana__model_input(model, i);
        if (port.dtype == LIANA_F32 && port.shape.rank == 4) return i;
    }
    return count;
}

liana_scale liana__scale_assumed(const liana_model *model)
{
    return liana__scaling_layer(model, liana__image_input(model)) ? LIANA_SCALE_NONE : LIANA_SCALE_ZERO_ONE;
}

static liana_tensor reverse_channels(liana_tensor images)
{
    liana_shape shape = liana_tensor_shape(images);
    liana_tensor planes[RGB];
    for (int i = 0; i < RGB; i++) {
        int64_t start[4] = {0, 0, 0, RGB - 1 - i};
        int64_t limit[4] = {shape.dims[0], shape.dims[1], shape.dims[2], RGB - i};
        planes[i] = liana_op_slice(images, start, limit, NULL);
    }
    return liana_op_concat(planes, RGB, 3);
}

/* A scalar, or one number for each channel; invalid if it would change nothing. */
static liana_tensor numbers(liana_graph *graph, const scaling *chosen, const double *values, double neutral)
{
    float row[RGB];
    bool all_neutral = true;
    for (int i = 0; i < RGB; i++) {
        row[i] = (float)values[i];
        all_neutral = all_neutral && (values[i] == neutral || (i > 0 && !chosen->by_channel));
    }
    if (all_neutral) return (liana_tensor){graph, 0};
    if (chosen->by_channel) return liana_graph_constant(graph, LIANA_F32, liana_shape_of(RGB), row);
    return liana_graph_scalar(graph, LIANA_F32, values[0]);
}

liana_tensor liana__preprocess(liana_tensor images, liana_scale scale)
{
    liana_graph *graph = images.graph;
    liana_shape shape = liana_tensor_shape(images);
    int64_t channels = shape.rank ? shape.dims[shape.rank - 1] : 0;
    if ((int)scale < 0 || (int)scale >= LIANA__NUM_SCALES) {
        liana__graph_fail(graph, LIANA_HERE, LIANA_INVALID_ARGUMENT, "found the scale %d, expected a liana_scale",
                          (int)scale);
        return (liana_tensor){graph, 0};
    }
    const scaling *chosen = &scalings[scale];
    if (chosen->by_channel && (shape.rank != 4 || channels != RGB)) {
        liana__graph_fail(graph, LIANA_HERE, LIANA_INVALID_CONFIG,
                          "images have %lld channels, and the scale '%s' (data.scale) is defined for 3: red, green and "
                          "blue; choose 0..1, -1..1 or none, or colour images",
                          (long long)channels, liana__scale_names[scale]);
        return (liana_tensor){graph, 0};
    }
    if (chosen->reversed) images = reverse_channels(images);
    liana_tensor x = liana_op_cast(images, LIANA_F32);
    liana_tensor factor = numbers(graph, chosen, chosen->factor, 1), offset = numbers(graph, chosen, chosen->offset, 0);
    if (factor.id) x = liana_op_multiply(x, factor);
    if (offset.id) x = liana_op_add(x, offset);
    return x;
}

liana_status liana__preprocess_pixels(liana_scale scale, int64_t channels, size_t count, float *pixels,
                                      liana__error *error)
{
    const scaling *chosen = &scalings[scale];
    if (chosen->by_channel && channels != RGB) {
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "the model's input has %lld channels, and the scale '%s' is defined for 3: red, green and blue",
            (long long)channels, liana__scale_names[scale]);
    }
    for (size_t i = 0; i < count; i++) {
        float *pixel = pixels + i * (size_t)channels;
        if (chosen->reversed) {
            const float red = pixel[0];
            pixel[0] = pixel[2];
            pixel[2] = red;
        }
        for (int64_t k = 0; k < channels; k++) {
            const int row = chosen->by_channel ? (int)k : 0;
            pixel[k] = pixel[k] * (float)chosen->factor[row] + (float)chosen->offset[row];
        }
    }
    return LIANA_OK;
}

liana_scale liana__scale_of(const liana_model *model, size_t input, const liana__architecture *architecture)
{
    /* One that includes it has no layer for it where Keras leaves images as they are: grey ones of a ConvNeXt. */
    const bool includes = liana__value_true_of(model->architecture_options, "include_preprocessing");
    return includes || liana__scaling_layer(model, input) ? LIANA_SCALE_NONE : architecture->scale;
}
