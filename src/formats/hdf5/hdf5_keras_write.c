/* Writes Keras's weight files, in the layouts of Keras 2 and of Keras 3. */
#include "formats/hdf5.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/scoped.h"

#include <stdlib.h>
#include <string.h>

/* ---- Keras 2 ---- */

static const char keras_version[] = "2.11.0", backend[] = "tensorflow";

static size_t size_of(const int64_t *shape, int rank)
{
    size_t size = sizeof(float);
    for (int axis = 0; axis < rank; axis++) size *= (size_t)shape[axis];
    return size;
}

/* The names of things whose structs begin with their names. */
static liana_status put_names(liana__hdf5_new *tree, const char *path, const char *attribute, const void *items,
                              size_t stride, size_t count, liana__error *error)
{
    LIANA__SCOPED_MEMORY const char **names = malloc((count + 1) * sizeof *names);
    if (!names) return liana__fail_memory(error, path);
    for (size_t i = 0; i < count; i++) memcpy(&names[i], (const char *)items + i * stride, sizeof *names);
    return liana__hdf5_new_texts(tree, path, attribute, names, count, error);
}

static liana_status put_layer(liana__hdf5_new *tree, const char *below, const liana__hdf5_new_layer *layer,
                              liana__arena *arena, liana__error *error)
{
    const char *group = liana__arena_format(arena, "%s%s", below, layer->name);
    if (!group) return liana__fail_memory(error, layer->name);
    LIANA_TRY(liana__hdf5_new_group(tree, group, error));
    LIANA_TRY(
        put_names(tree, group, "weight_names", layer->weights, sizeof *layer->weights, layer->num_weights, error));
    for (size_t i = 0; i < layer->num_weights; i++) {
        const liana__hdf5_new_weight *weight = &layer->weights[i];
        const char *path = liana__arena_format(arena, "%s/%s", group, weight->name);
        liana__hdf5_data data = {.dtype = "float32", .rank = weight->rank};
        memcpy(data.shape, weight->shape, sizeof data.shape);
        if (!path) return liana__fail_memory(error, layer->name);
        LIANA_TRY(liana__hdf5_new_dataset(tree, path, &data, weight->values, error));
    }
    return LIANA_OK;
}

static liana_status put_description(liana__hdf5_new *tree, const liana__hdf5_description *whole, const char *version,
                                    liana__error *error)
{
    LIANA_TRY(liana__hdf5_new_text(tree, "", "model_config", whole->model_config, error));
    if (whole->training_config) {
        LIANA_TRY(liana__hdf5_new_text(tree, "", "training_config", whole->training_config, error));
    }
    if (whole->own) LIANA_TRY(liana__hdf5_new_text(tree, "", LIANA__HDF5_OWN, whole->own, error));
    LIANA_TRY(liana__hdf5_new_text(tree, "", "keras_version", version, error));
    return liana__hdf5_new_text(tree, "", "backend", backend, error);
}

static liana_status put_optimizer(liana__hdf5_new *tree, const liana__hdf5_description *whole, liana__arena *arena,
                                  liana__error *error)
{
    static const char group[] = "optimizer_weights";
    if (!whole || !whole->num_optimizer) return LIANA_OK;
    LIANA_TRY(liana__hdf5_new_group(tree, group, error));
    LIANA_TRY(put_names(tree, group, "weight_names", whole->optimizer, sizeof *whole->optimizer, whole->num_optimizer,
                        error));
    for (size_t i = 0; i < whole->num_optimizer; i++) {
        const liana__hdf5_variable *variable = &whole->optimizer[i];
        const char *path = liana__arena_format(arena, "%s/%s", group, variable->name);
        if (!path) return liana__fail_memory(error, variable->name);
        LIANA_TRY(liana__hdf5_new_dataset(tree, path, &variable->data, variable->values, error));
    }
    return LIANA_OK;
}

static liana_status put_layers(liana__hdf5_new *tree, const liana__hdf5_new_layer *layers, size_t num_layers,
                               const liana__hdf5_description *whole, liana__error *error)
{
    const char *group = whole ? "model_weights" : "";
    const char *version = whole && whole->keras_version ? whole->keras_version : keras_version;
    size_t size = 0;
    for (size_t i = 0; i < num_layers; i++) {
        for (size_t w = 0; w < layers[i].num_weights; w++) {
            size += size_of(layers[i].weights[w].shape, layers[i].weights[w].rank);
        }
    }
    liana__hdf5_new_expect(tree, size);
    LIANA_TRY(liana__hdf5_new_group(tree, group, error));
    if (whole) LIANA_TRY(put_description(tree, whole, version, error));
    LIANA_TRY(put_names(tree, group, "layer_names", layers, sizeof *layers, num_layers, error));
    LIANA_TRY(liana__hdf5_new_text(tree, group, "keras_version", version, error));
    LIANA_TRY(liana__hdf5_new_text(tree, group, "backend", backend, error));
    LIANA__SCOPED(liana__arena) arena = {0};
    for (size_t i = 0; i < num_layers; i++) {
        LIANA_TRY(put_layer(tree, whole ? "model_weights/" : "", &layers[i], &arena, error));
    }
    return put_optimizer(tree, whole, &arena, error);
}

liana_status liana__hdf5_write(const char *path, const liana__hdf5_new_layer *layers, size_t num_layers,
                               const liana__hdf5_description *whole, liana__error *error)
{
    liana__hdf5_new *tree;
    const char *bytes;
    size_t size;
    LIANA_TRY(liana__hdf5_new_create(path, &tree, error));
    liana_status status = put_layers(tree, layers, num_layers, whole, error);
    if (status == LIANA_OK) status = liana__hdf5_new_bytes(tree, &bytes, &size, error);
    if (status == LIANA_OK) status = liana__file_replace(path, bytes, size, error);
    liana__hdf5_new_free(tree);
    return status;
}

/* ---- Keras 3 ---- */

static liana_status put_vars(liana__hdf5_new *tree, const liana__keras3_layer *layer, liana__arena *arena,
                             liana__error *error)
{
    const char *group = liana__arena_format(arena, "%s%svars", layer->path, *layer->path ? "/" : "");
    if (!group) return liana__fail_memory(error, layer->path);
    LIANA_TRY(liana__hdf5_new_group(tree, group, error));
    LIANA_TRY(liana__hdf5_new_text(tree, group, "name", layer->name, error));
    for (size_t i = 0; i < layer->num_weights; i++) {
        const char *path = layer->variable ? liana__arena_format(arena, "%s/%s", group, layer->variable)
                                           : liana__arena_format(arena, "%s/%zu", group, i);
        if (!path) return liana__fail_memory(error, layer->path);
        LIANA_TRY(liana__hdf5_new_dataset(tree, path, &layer->weights[i], layer->values[i], error));
    }
    return LIANA_OK;
}

liana_status liana__keras3_weights_make(const char *path, const char *model_name, const liana__keras3_layer *layers,
                                        size_t num_layers, liana__hdf5_new **weights, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana__keras3_layer model = {.path = "", .name = model_name};
    LIANA_TRY(liana__hdf5_new_create(path, weights, error));
    size_t size = 0;
    for (size_t i = 0; i < num_layers; i++) {
        for (size_t w = 0; w < layers[i].num_weights; w++) {
            size += size_of(layers[i].weights[w].shape, layers[i].weights[w].rank);
        }
    }
    liana__hdf5_new_expect(*weights, size);
    liana_status status = put_vars(*weights, &model, &arena, error);
    for (size_t i = 0; i < num_layers && status == LIANA_OK; i++)
        status = put_vars(*weights, &layers[i], &arena, error);
    if (status == LIANA_OK) return LIANA_OK;
    liana__hdf5_new_free(*weights);
    *weights = NULL;
    return status;
}
