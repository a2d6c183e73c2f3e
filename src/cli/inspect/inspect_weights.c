/* Describes files of weights for liana inspect. */
#include "base/scoped.h"
#include "cli/inspect/inspect.h"
#include "formats/hdf5.h"
#include "formats/safetensors.h"
#include "formats/tensorflow/tf_checkpoint.h"
#include "formats/zip.h"

#include <stdio.h>

static void add_weight(liana__arena *arena, liana__value *rows, const liana__hdf5_layer *layer,
                       const liana__hdf5_weight *weight)
{
    liana__value *row = liana__value_map(arena);
    liana__findings_text(arena, row, "layer", layer->name);
    if (layer->model) liana__findings_text(arena, row, "model", layer->model);
    if (layer->path) liana__findings_text(arena, row, "path", layer->path);
    liana__findings_text(arena, row, "weight", weight->name);
    liana__findings_text(arena, row, "dtype", weight->data.dtype);
    liana__findings_shape(arena, row, "shape", weight->data.shape, weight->data.rank);
    liana__findings_int(arena, row, "elements", (int64_t)weight->data.num_elements);
    liana__value_add(arena, rows, row);
}

static void describe_hdf5(const liana__hdf5_contents *contents, liana__value *report, liana__arena *arena)
{
    if (contents->keras_version) liana__findings_text(arena, report, "keras_version", contents->keras_version);
    if (contents->backend) liana__findings_text(arena, report, "backend", contents->backend);
    liana__value_set(arena, report, "architecture", liana__value_bool(arena, contents->model_config != NULL));
    liana__findings_int(arena, report, "layers", (int64_t)contents->num_layers);
    liana__value *rows = liana__value_list(arena), *bare = liana__value_list(arena);
    int64_t elements = 0;
    for (size_t l = 0; l < contents->num_layers; l++) {
        const liana__hdf5_layer *layer = &contents->layers[l];
        for (size_t w = 0; w < layer->num_weights; w++) {
            add_weight(arena, rows, layer, &layer->weights[w]);
            elements += (int64_t)layer->weights[w].data.num_elements;
        }
        if (layer->num_weights == 0) liana__value_add(arena, bare, liana__value_string(arena, layer->name));
    }
    liana__findings_int(arena, report, "parameters", elements);
    liana__value_set(arena, report, "weights", rows);
    liana__value_set(arena, report, "layers_without_weights", bare);
}

liana_status liana__inspect_hdf5(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    liana__hdf5 *file;
    LIANA_TRY(liana__hdf5_open(path, &file, error));
    const liana__hdf5_contents *contents = liana__hdf5_get_contents(file);
    liana__findings_text(arena, report, "kind", contents->is_keras3 ? "Keras 3 HDF5 weights" : "Keras HDF5 weights");
    describe_hdf5(contents, report, arena);
    liana__hdf5_close(file);
    return LIANA_OK;
}

static void describe_entries(const liana__zip *archive, liana__value *report, liana__arena *arena)
{
    size_t count;
    const liana__zip_entry *entries = liana__zip_entries(archive, &count);
    liana__value *rows = liana__value_list(arena);
    for (size_t i = 0; i < count; i++) {
        liana__value *row = liana__value_map(arena);
        liana__findings_text(arena, row, "name", entries[i].name);
        liana__findings_int(arena, row, "bytes", (int64_t)entries[i].size);
        liana__findings_int(arena, row, "stored", (int64_t)entries[i].stored);
        liana__value_add(arena, rows, row);
    }
    liana__value_set(arena, report, "entries", rows);
}

/* A .keras file, or another archive. */
liana_status liana__inspect_zip(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    liana__zip *archive;
    liana__hdf5 *file;
    LIANA_TRY(liana__zip_open(path, &archive, error));
    const bool is_keras = liana__zip_find(archive, "config.json") || liana__zip_find(archive, "model.weights.h5");
    liana__findings_text(arena, report, "kind", is_keras ? "Keras archive" : "zip archive");
    describe_entries(archive, report, arena);
    liana__zip_close(archive);
    if (!is_keras) return LIANA_OK;
    LIANA_TRY(liana__hdf5_open(path, &file, error));
    describe_hdf5(liana__hdf5_get_contents(file), report, arena);
    liana__hdf5_close(file);
    return LIANA_OK;
}

static void describe_safetensors(const liana__safetensors *file, uint32_t crc, liana__value *report,
                                 liana__arena *arena)
{
    char checksum[16];
    snprintf(checksum, sizeof checksum, "%08x", crc);
    liana__findings_text(arena, report, "kind", "safetensors");
    liana__findings_int(arena, report, "bytes", file->version.size);
    liana__findings_text(arena, report, "crc32", checksum);
    liana__value *metadata = liana__value_map(arena), *rows = liana__value_list(arena);
    for (size_t i = 0; i < file->contents.num_metadata; i++) {
        liana__findings_text(arena, metadata, file->contents.metadata[i].key, file->contents.metadata[i].value);
    }
    int64_t elements = 0;
    for (size_t i = 0; i < file->contents.num_tensors; i++) {
        const liana__safetensors_tensor *tensor = &file->contents.tensors[i];
        liana__value *row = liana__value_map(arena);
        liana__findings_text(arena, row, "tensor", tensor->name);
        liana__findings_text(arena, row, "dtype", liana__safetensors_dtype_name(tensor->dtype));
        liana__findings_shape(arena, row, "shape", tensor->shape, tensor->rank);
        liana__findings_int(arena, row, "bytes", (int64_t)tensor->size);
        liana__value_add(arena, rows, row);
        elements += (int64_t)(tensor->size / liana__safetensors_dtype_size(tensor->dtype));
    }
    liana__findings_int(arena, report, "elements", elements);
    liana__value_set(arena, report, "metadata", metadata);
    liana__value_set(arena, report, "tensors", rows);
}

liana_status liana__inspect_safetensors(const char *path, liana__value *report, liana__arena *arena,
                                        liana__error *error)
{
    LIANA__SCOPED_BY(liana__safetensors_close) liana__safetensors file = {0};
    LIANA_TRY(liana__safetensors_open(path, &file, error));
    uint32_t crc;
    LIANA_TRY(liana__safetensors_checksum(&file, &crc, error));
    describe_safetensors(&file, crc, report, arena);
    return LIANA_OK;
}

static void describe_tensorflow(const liana__tf_checkpoint *file, liana__value *report, liana__arena *arena)
{
    liana__findings_text(arena, report, "kind", "TensorFlow checkpoint");
    liana__findings_text(arena, report, "index", file->path);
    liana__findings_int(arena, report, "data_files", (int64_t)file->num_files);
    liana__value *rows = liana__value_list(arena);
    int64_t parameters = 0;
    for (size_t i = 0; i < file->num_variables; i++) {
        const liana__tf_variable *variable = &file->variables[i];
        liana__value *row = liana__value_map(arena);
        liana__findings_text(arena, row, "variable", variable->name);
        liana__findings_text(arena, row, "dtype", variable->dtype);
        liana__findings_shape(arena, row, "shape", variable->shape, variable->rank);
        liana__findings_text(arena, row, "key", variable->key);
        liana__value_add(arena, rows, row);
        const bool is_real = variable->kind == LIANA__NUMBER_FLOAT || variable->kind == LIANA__NUMBER_BFLOAT;
        const bool is_weight = is_real && !variable->is_state && !variable->is_copy;
        if (is_weight) parameters += (int64_t)variable->num_elements;
    }
    liana__findings_int(arena, report, "parameters", parameters);
    liana__value_set(arena, report, "variables", rows);
}

liana_status liana__inspect_tensorflow(const char *index, liana__value *report, liana__arena *arena,
                                       liana__error *error)
{
    liana__tf_checkpoint file;
    LIANA_TRY(liana__tf_checkpoint_open(index, &file, error));
    describe_tensorflow(&file, report, arena);
    liana__tf_checkpoint_free(&file);
    return LIANA_OK;
}
