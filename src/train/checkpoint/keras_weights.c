/* Lists a model's layers as Keras 3 would, for a file of its weights. */
#include "train/checkpoint/keras_weights.h"

#include "base/memory.h"
#include "base/scoped.h"

#include <string.h>

/* A name without those of the nested models before it. */
static const char *own_name(const char *name, const liana_model *model, size_t within)
{
    size_t length = within == LIANA__NONE ? 0 : strlen(model->nested[within].name);
    return length && strncmp(name, model->nested[within].name, length) == 0 && name[length] == '/' ? name + length + 1
                                                                                                   : name;
}

/* The name of the held layer that a weight belongs to: "lstm_cell" of "forward_lstm/lstm_cell/kernel". */
static const char *holder_name(const liana__weight *weight, liana__arena *arena)
{
    const char *end = strrchr(weight->short_name, '/'), *begin = end;
    if (!end) return weight->short_name;
    while (begin > weight->short_name && begin[-1] != '/') begin--;
    return liana__arena_format(arena, "%.*s", (int)(end - begin), begin);
}

/* The weights of a layer that stand in one group. */
static bool describe_group(const liana_model *model, const liana__layer *layer, const char *group,
                           float *const *values, liana__arena *arena, liana__keras3_layer *out)
{
    if (!layer->num_weights) return true;
    liana__hdf5_data *weights = liana__arena_allocate(arena, layer->num_weights * sizeof *weights);
    const void **arrays = liana__arena_allocate(arena, layer->num_weights * sizeof *arrays);
    if (!weights || !arrays) return false;
    for (size_t i = 0; i < layer->num_weights; i++) {
        const liana__weight *weight = &model->weights[layer->first_weight + i];
        if (strcmp(weight->group, group) != 0) continue;
        const liana_shape *shape = &weight->shape;
        weights[out->num_weights] = (liana__hdf5_data){.dtype = "float32", .rank = shape->rank};
        memcpy(weights[out->num_weights].shape, shape->dims, (size_t)shape->rank * sizeof *shape->dims);
        arrays[out->num_weights++] = values[layer->first_weight + i];
    }
    out->weights = weights;
    out->values = arrays;
    return true;
}

/* A layer, then those that it holds; they have groups of their own below its path. */
static bool describe_layer(const liana_model *model, const liana__layer *layer, const char *path,
                           float *const *values, liana__arena *arena, liana__keras3_layer *list, size_t *count)
{
    liana__keras3_layer *own = &list[(*count)++];
    *own = (liana__keras3_layer){.path = path, .name = own_name(layer->name, model, layer->within)};
    if (!describe_group(model, layer, "", values, arena, own)) return false;
    for (size_t i = 0; i < layer->num_weights; i++) {
        const liana__weight *weight = &model->weights[layer->first_weight + i];
        if (!*weight->group || weight->number) continue;
        liana__keras3_layer *held = &list[(*count)++];
        *held = (liana__keras3_layer){.path = liana__arena_format(arena, "%s/%s", path, weight->group),
                                      .name = holder_name(weight, arena)};
        if (!held->path || !held->name || !describe_group(model, layer, weight->group, values, arena, held)) {
            return false;
        }
    }
    return true;
}

/* ---- order ---- */

liana_status liana__keras_item_weights(const liana_model *model, liana__scope_item item, liana__arena *arena,
                                       size_t *list, size_t *count, liana__error *error)
{
    if (!item.is_nested) {
        const liana__layer *layer = &model->layers[item.index];
        for (size_t i = 0; i < layer->num_weights; i++) list[(*count)++] = layer->first_weight + i;
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

liana_status liana__keras_weights_make(const liana_model *model, float *const *values,
                                       const liana__keras3_layer *optimizer, const char *path,
                                       liana__hdf5_new **weights, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char **paths;
    const size_t num_items = model->num_layers + model->num_nested;
    size_t count = 0;
    LIANA_TRY(liana__keras_paths(model, &arena, &paths, error));
    liana__keras3_layer *layers = liana__arena_allocate(&arena, (num_items + model->num_weights + 1) * sizeof *layers);
    if (!layers) return liana__fail_memory(error, path);
    for (size_t i = 0; i < num_items; i++) {
        if (i < model->num_layers) {
            if (!describe_layer(model, &model->layers[i], paths[i], values, &arena, layers, &count)) {
                return liana__fail_memory(error, path);
            }
        } else {
            const liana__nested *nested = &model->nested[i - model->num_layers];
            layers[count++] =
                (liana__keras3_layer){.path = paths[i], .name = own_name(nested->name, model, nested->within)};
        }
    }
    if (optimizer) layers[count++] = *optimizer;
    return liana__keras3_weights_make(path, liana__model_name(model), layers, count, weights, error);
}
