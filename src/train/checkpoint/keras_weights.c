/* Lists a model's layers as Keras 3 would, for a file of its weights. */
#include "train/checkpoint/keras_weights.h"

#include "base/memory.h"
#include "base/scoped.h"
#include "layers/preprocessing/lookup.h"

#include <string.h>

/* A name without those of the nested models before it. */
static const char *own_name(const char *name, const liana_model *model, size_t within)
{
    size_t length = within == LIANA__NONE ? 0 : strlen(model->nested[within].name);
    return length && strncmp(name, model->nested[within].name, length) == 0 && name[length] == '/' ? name + length + 1
                                                                                                   : name;
}

/* The weights of a layer that are kept at a place of it. */
static bool describe_place(const liana_model *model, const liana__layer *layer, const char *place, float *const *values,
                           liana__arena *arena, liana__keras3_layer *out)
{
    if (!layer->num_weights) return true;
    liana__hdf5_data *weights = liana__arena_allocate(arena, layer->num_weights * sizeof *weights);
    const void **arrays = liana__arena_allocate(arena, layer->num_weights * sizeof *arrays);
    if (!weights || !arrays) return false;
    for (size_t i = layer->first_weight; i < layer->first_weight + layer->num_weights; i++) {
        if (!liana__weight_is_at(&model->weights[i], place) || model->weights[i].is_state) continue;
        const liana_shape *shape = &model->weights[i].shape;
        weights[out->num_weights] = (liana__hdf5_data){.dtype = "float32", .rank = shape->rank};
        memcpy(weights[out->num_weights].shape, shape->dims, (size_t)shape->rank * sizeof *shape->dims);
        arrays[out->num_weights++] = values[i];
    }
    out->weights = weights;
    out->values = arrays;
    return true;
}

/* The weights of tf_idf, which Keras keeps among the variables, and liana in the layer's options. */
static bool describe_texts(const liana_model *model, const liana__layer *layer, liana__arena *arena,
                           liana__keras3_layer *out)
{
    const liana__text_layer *texts = layer->type->texts;
    size_t node = 0;
    while (texts && model->nodes[node].layer != (size_t)(layer - model->layers)) node++;
    const liana__lookup *lookup = texts && texts->lookup ? texts->lookup(model->nodes[node].text_state) : NULL;
    if (!lookup || !lookup->weights) return true;
    liana__hdf5_data *data = liana__arena_allocate(arena, sizeof *data);
    const void **values = liana__arena_allocate(arena, sizeof *values);
    if (!data || !values) return false;
    *data = (liana__hdf5_data){.dtype = "float32", .rank = 1, .shape = {lookup->depth}};
    *values = lookup->weights;
    *out = (liana__keras3_layer){out->path, out->name, data, values, 1, "idf_weights"};
    return true;
}

/* Adds the layer, and each place of it, to the list. */
static bool describe_layer(const liana_model *model, const liana__layer *layer, float *const *values, const char *path,
                           liana__arena *arena, liana__keras3_layer *list, size_t *count)
{
    liana__keras3_layer *own = &list[(*count)++];
    *own = (liana__keras3_layer){.path = path, .name = own_name(layer->name, model, layer->within)};
    if (!describe_place(model, layer, NULL, values, arena, own)) return false;
    if (!describe_texts(model, layer, arena, own)) return false;
    if (own->variable && layer->type == &liana__layer_text_vectorization) {
        /* Keras keeps them again with the StringLookup that the layer has within. */
        liana__keras3_layer *within = &list[(*count)++];
        *within = *own;
        within->path = liana__arena_format(arena, "%s/_lookup_layer", path);
        within->name = "string_lookup";
        if (!within->path) return false;
    }
    const liana__weight *weights = model->weights + layer->first_weight;
    for (size_t i = 0; i < layer->num_weights; i++) {
        const char *place = weights[i].place;
        size_t first = 0;
        while (!liana__weight_is_at(&weights[first], place)) first++;
        if (!place || first < i) continue;
        const char *slash = strrchr(place, '/');
        liana__keras3_layer *part = &list[(*count)++];
        *part = (liana__keras3_layer){.path = liana__arena_format(arena, "%s/%s", path, place),
                                      .name = slash ? slash + 1 : place};
        if (!part->path || !describe_place(model, layer, place, values, arena, part)) return false;
    }
    return true;
}

/* ---- order ---- */

liana_status liana__keras_item_weights(const liana_model *model, liana__scope_item item, liana__arena *arena,
                                       size_t *list, size_t *count, liana__error *error)
{
    if (!item.is_nested) {
        const liana__layer *layer = &model->layers[item.index];
        for (size_t i = 0; i < layer->num_weights; i++) {
            if (!model->weights[layer->first_weight + i].is_state) list[(*count)++] = layer->first_weight + i;
        }
        return LIANA_OK;
    }
    liana__scope_item *items;
    size_t num_items;
    LIANA_TRY(liana__keras_order(model, item.index, arena, &items, &num_items, error));
    for (size_t i = 0; i < num_items; i++) {
        LIANA_TRY(liana__keras_item_weights(model, items[i], arena, list, count, error));
    }
    return LIANA_OK;
}

liana_status liana__keras_trained_weights(const liana_model *model, liana__arena *arena, size_t **list, size_t *count,
                                          liana__error *error)
{
    liana__scope_item *items;
    size_t num_items, num_all = 0;
    *count = 0;
    *list = liana__arena_allocate(arena, (model->num_weights + 1) * sizeof **list);
    if (!*list) return liana__fail_memory(error, "the weights");
    LIANA_TRY(liana__keras_order(model, LIANA__NONE, arena, &items, &num_items, error));
    for (size_t i = 0; i < num_items; i++) {
        LIANA_TRY(liana__keras_item_weights(model, items[i], arena, *list, &num_all, error));
    }
    for (size_t i = 0; i < num_all; i++) {
        if (liana__weight_trainable(model, (*list)[i])) (*list)[(*count)++] = (*list)[i];
    }
    return LIANA_OK;
}

/* ---- a file ---- */

liana_status liana__keras_weights_make(const liana_model *model, float *const *values, const liana__keras3_layer *more,
                                       size_t num_more, const char *path, liana__hdf5_new **weights,
                                       liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char **paths;
    const size_t most = 2 * model->num_layers + model->num_nested + model->num_weights + num_more + 1;
    size_t count = 0;
    LIANA_TRY(liana__keras_paths(model, &arena, &paths, error));
    liana__keras3_layer *layers = liana__arena_allocate(&arena, most * sizeof *layers);
    if (!layers) return liana__fail_memory(error, path);
    for (size_t i = 0; i < model->num_layers; i++) {
        if (!describe_layer(model, &model->layers[i], values, paths[i], &arena, layers, &count)) {
            return liana__fail_memory(error, path);
        }
    }
    for (size_t i = 0; i < model->num_nested; i++) {
        const liana__nested *nested = &model->nested[i];
        layers[count++] = (liana__keras3_layer){.path = paths[model->num_layers + i],
                                                .name = own_name(nested->name, model, nested->within)};
    }
    for (size_t i = 0; i < num_more; i++) layers[count++] = more[i];
    return liana__keras3_weights_make(path, liana__model_name(model), layers, count, weights, error);
}
