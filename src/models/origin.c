/* Finds the architecture of a model. */
#include "models/origin.h"

#include "base/value_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number_of(const liana__value *options, const char *key)
{
    const liana__value *value = liana__value_get(options, key);
    return value && (value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT) ? value->number : 1;
}

static void take_options(const char *architecture, const liana__value *options, liana__model_origin *origin)
{
    const liana__value *shape = liana__value_list_of(options, "input_shape");
    origin->architecture = architecture;
    origin->alpha = number_of(options, "alpha");
    origin->depth_multiplier = (int64_t)number_of(options, "depth_multiplier");
    origin->is_minimalistic = liana__value_true_of(options, "minimalistic");
    origin->include_top = liana__value_true_of(options, "include_top");
    origin->classes = (int64_t)number_of(options, "classes");
    for (size_t i = 0; shape && i < shape->count && i < 3; i++) origin->shape[i] = shape->items[i]->integer;
}

/* "mobilenet_0.25_224": the width multiplier is in the name. */
static bool takes_name(const liana__architecture *architecture, const char *name, double *alpha)
{
    static const char *const prefixes[][2] = {{"MobileNet", "mobilenet_"}, {"MobileNetV2", "mobilenetv2_"}};
    *alpha = 1;
    if (architecture->keras_name) return strcmp(architecture->keras_name, name) == 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const size_t length = strlen(prefixes[i][1]);
        if (strcmp(architecture->name, prefixes[i][0]) != 0 || strncmp(name, prefixes[i][1], length) != 0) continue;
        char *end;
        *alpha = strtod(name + length, &end);
        return end != name + length && *end == '_' && *alpha > 0;
    }
    return false;
}

/* The layer that Keras's classifiers end in, with its classes; it may be followed by a Reshape and an Activation. */
static void find_top(const liana_model *model, const liana__architecture *architecture, liana__model_origin *origin)
{
    const char *const tops[] = {architecture->top ? architecture->top : "predictions", "conv_preds"};
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        for (size_t k = 0; k < 2; k++) {
            if (!layer->num_weights || strcmp(layer->name, tops[k]) != 0) continue;
            const liana_shape *kernel = &model->weights[layer->first_weight].shape;
            origin->include_top = kernel->rank > 0;
            origin->classes = kernel->rank > 0 ? kernel->dims[kernel->rank - 1] : 0;
        }
    }
}

bool liana__model_find_origin(const liana_model *model, liana__model_origin *origin)
{
    *origin = (liana__model_origin){.alpha = 1, .depth_multiplier = 1, .num_layers = model->num_layers};
    if (model->architecture) {
        take_options(model->architecture, model->architecture_options, origin);
        origin->num_layers = model->architecture_end;
        return true;
    }
    for (size_t i = 0; model->name && liana__architectures[i]; i++) {
        if (!takes_name(liana__architectures[i], model->name, &origin->alpha)) continue;
        const liana_shape images = liana__model_input_shape(model);
        origin->architecture = liana__architectures[i]->name;
        for (int axis = 0; images.rank == 4 && axis < 3; axis++) origin->shape[axis] = images.dims[axis + 1];
        find_top(model, liana__architectures[i], origin);
        if (liana__architectures[i]->find_options) liana__architectures[i]->find_options(model, origin);
        return true;
    }
    return false;
}

liana_status liana__model_origin_of(const liana__architecture *architecture, const liana__value *options,
                                    const char *where, liana__arena *arena, liana__model_origin *origin,
                                    liana__error *error)
{
    *origin = (liana__model_origin){.alpha = 1, .depth_multiplier = 1};
    void *read = liana__arena_allocate(arena, architecture->options->size);
    if (!read) return liana__fail_memory(error, architecture->name);
    LIANA_TRY(liana__fields_read(architecture->options, options, where, NULL, arena, read, error));
    const liana__value *all = liana__fields_write(architecture->options, arena, read);
    if (arena->failed) return liana__fail_memory(error, architecture->name);
    take_options(architecture->name, all, origin);
    return LIANA_OK;
}
