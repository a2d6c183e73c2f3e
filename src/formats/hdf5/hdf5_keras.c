/* Keras's weight files: layers and weights by the names that an HDF5 file lists. */
#include "formats/hdf5.h"

#include "base/file.h"
#include "base/value_read.h"
#include "formats/hdf5/hdf5_keras.h"
#include "formats/json.h"
#include "formats/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PIECES = 10000 };

/* Names as they are read. */
typedef struct names {
    liana__arena *arena;
    const char **items;
    size_t count;
    size_t capacity;
} names;

/* The lists that grow while a file is opened. A layer's weights are known by their first index until all are read. */
typedef struct growing {
    liana__hdf5_weight *weights;
    size_t num_weights;
    size_t weight_capacity;
    liana__hdf5_layer *layers;
    size_t *firsts;
} growing;

/* --- Attributes -------------------------------------------------------------------------------------------------- */

static liana_status take_name(void *user, const char *text, size_t length, liana__error *error)
{
    names *list = user;
    bool room = liana__grow(&list->items, list->count, &list->capacity, sizeof *list->items);
    char *copy = room ? liana__arena_allocate(list->arena, length + 1) : NULL;
    if (!copy) return liana__fail_memory(error, "an attribute");
    memcpy(copy, text, length);
    list->items[list->count++] = copy;
    return LIANA_OK;
}

static liana_status read_texts(liana__hdf5 *file, liana__hdf5_node node, const char *owner, const char *attribute,
                               names *list, bool *found, liana__error *error)
{
    list->arena = &file->arena;
    liana_status status = liana__hdf5_tree_texts(file->tree, node, attribute, take_name, list, found, error);
    if (status == LIANA_OK) return LIANA_OK;
    return liana__fail_within(error, "'%s': attribute '%s' of '%s'", file->path, attribute, owner);
}

/* A list of names, whole or in pieces `name0`, `name1`, ...; *found says whether there was one. */
static liana_status read_names(liana__hdf5 *file, liana__hdf5_node node, const char *owner, const char *attribute,
                               names *list, bool *found, liana__error *error)
{
    LIANA_TRY(read_texts(file, node, owner, attribute, list, found, error));
    for (int piece = 0; !*found || piece > 0; piece++) {
        char name[64];
        bool more = false;
        snprintf(name, sizeof name, "%s%d", attribute, piece);
        if (piece < MAX_PIECES) LIANA_TRY(read_texts(file, node, owner, name, list, &more, error));
        if (!more) break;
        *found = true;
    }
    return LIANA_OK;
}

/* The text of an attribute that describes the file; NULL: it is missing, or not one text. */
static liana_status read_description(liana__hdf5 *file, liana__hdf5_node node, const char *attribute, const char **text,
                                     liana__error *error)
{
    if (*text) return LIANA_OK;
    names list = {0};
    bool found;
    liana_status status = read_texts(file, node, "/", attribute, &list, &found, error);
    if (status == LIANA_OK && list.count == 1) *text = list.items[0];
    free(list.items);
    return status;
}

/* --- Layers and weights ------------------------------------------------------------------------------------------ */

static liana_status describe_weight(liana__hdf5 *file, liana__hdf5_node group, liana__hdf5_weight *weight,
                                    liana__error *error)
{
    liana_status status = liana__hdf5_tree_find(file->tree, group, weight->name, &weight->node, error);
    if (status == LIANA_OK) status = liana__hdf5_tree_describe(file->tree, weight->node, &weight->data, error);
    if (status == LIANA_OK) return LIANA_OK;
    /* The file exists, but names something that it does not contain. */
    if (status == LIANA_NOT_FOUND) error->status = LIANA_INVALID_DATA;
    return liana__fail_within(error, "'%s': layer '%s': weight '%s'", file->path, weight->layer, weight->name);
}

static liana_status add_weight(liana__hdf5 *file, liana__hdf5_node group, const char *layer, const char *name,
                               growing *lists, liana__error *error)
{
    if (lists->num_weights == LIANA__HDF5_MAX_WEIGHTS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' names more than %d weights", file->path,
                           LIANA__HDF5_MAX_WEIGHTS);
    }
    if (!liana__grow(&lists->weights, lists->num_weights, &lists->weight_capacity, sizeof *lists->weights)) {
        return liana__fail_memory(error, file->path);
    }
    liana__hdf5_weight *weight = &lists->weights[lists->num_weights];
    *weight = (liana__hdf5_weight){.name = name, .layer = layer};
    LIANA_TRY(describe_weight(file, group, weight, error));
    lists->num_weights++;
    return LIANA_OK;
}

static liana_status add_weights(liana__hdf5 *file, liana__hdf5_node group, const char *layer, names *list,
                                growing *lists, liana__error *error)
{
    bool found;
    LIANA_TRY(read_names(file, group, layer, "weight_names", list, &found, error));
    if (!found) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': layer '%s' has no attribute 'weight_names'", file->path,
                           layer);
    }
    for (size_t i = 0; i < list->count; i++) {
        LIANA_TRY(add_weight(file, group, layer, list->items[i], lists, error));
    }
    return LIANA_OK;
}

static liana_status add_layer(liana__hdf5 *file, size_t index, const char *name, growing *lists, liana__error *error)
{
    liana__hdf5_node group;
    liana_status status = liana__hdf5_tree_find(file->tree, file->weights, name, &group, error);
    if (status != LIANA_OK) {
        if (status == LIANA_NOT_FOUND) error->status = LIANA_INVALID_DATA;
        return liana__fail_within(error, "'%s': layer '%s'", file->path, name);
    }
    names list = {0};
    lists->firsts[index] = lists->num_weights;
    status = add_weights(file, group, name, &list, lists, error);
    lists->layers[index] = (liana__hdf5_layer){.name = name, .num_weights = lists->num_weights - lists->firsts[index]};
    free(list.items);
    return status;
}

static liana_status add_layers(liana__hdf5 *file, const names *list, growing *lists, liana__error *error)
{
    for (size_t i = 0; i < list->count; i++) LIANA_TRY(add_layer(file, i, list->items[i], lists, error));
    liana__hdf5_weight *weights = liana__arena_copy(&file->arena, lists->weights, lists->num_weights * sizeof *weights);
    if (!weights && lists->num_weights) return liana__fail_memory(error, file->path);
    for (size_t i = 0; i < list->count; i++) {
        lists->layers[i].weights = weights ? weights + lists->firsts[i] : NULL;
    }
    file->contents.layers = lists->layers;
    file->contents.num_layers = list->count;
    file->contents.num_weights = lists->num_weights;
    return LIANA_OK;
}

static liana_status read_layers(liana__hdf5 *file, const names *list, liana__error *error)
{
    if (list->count > LIANA__HDF5_MAX_LAYERS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' names %zu layers, at most %d are read", file->path,
                           list->count, LIANA__HDF5_MAX_LAYERS);
    }
    growing lists = {.layers = liana__arena_allocate(&file->arena, list->count * sizeof *lists.layers + 1),
                     .firsts = calloc(list->count + 1, sizeof *lists.firsts)};
    liana_status status =
        lists.layers && lists.firsts ? add_layers(file, list, &lists, error) : liana__fail_memory(error, file->path);
    free(lists.weights);
    free(lists.firsts);
    return status;
}

static bool has_node(liana__hdf5 *file, const char *name)
{
    liana__hdf5_node node;
    return liana__hdf5_tree_find(file->tree, liana__hdf5_tree_root(file->tree), name, &node, NULL) == LIANA_OK;
}

/* ---- the optimizer ---- */

static liana_status list_optimizer(liana__hdf5 *file, liana__hdf5_node group, names *list, growing *lists,
                                   liana__error *error)
{
    bool found;
    LIANA_TRY(read_names(file, group, "optimizer_weights", "weight_names", list, &found, error));
    for (size_t i = 0; i < list->count; i++) {
        LIANA_TRY(add_weight(file, group, LIANA__HDF5_OPTIMIZER, list->items[i], lists, error));
    }
    return LIANA_OK;
}

/* Of a whole-model file. */
static liana_status read_optimizer(liana__hdf5 *file, liana__error *error)
{
    liana__hdf5_node group;
    names list = {0};
    growing lists = {0};
    if (!has_node(file, "optimizer_weights")) return LIANA_OK;
    liana_status status =
        liana__hdf5_tree_find(file->tree, liana__hdf5_tree_root(file->tree), "optimizer_weights", &group, error);
    if (status == LIANA_OK) status = list_optimizer(file, group, &list, &lists, error);
    status = liana__hdf5_keep_optimizer(file, lists.weights, lists.num_weights, status, error);
    free(list.items);
    free(lists.weights);
    return status;
}

/* --- Opening ----------------------------------------------------------------------------------------------------- */

static liana_status read_group(liana__hdf5 *file, names *list, bool *found, liana__error *error)
{
    liana__hdf5_contents *contents = &file->contents;
    LIANA_TRY(read_description(file, file->weights, "keras_version", &contents->keras_version, error));
    LIANA_TRY(read_description(file, file->weights, "backend", &contents->backend, error));
    return read_names(file, file->weights, "/", "layer_names", list, found, error);
}

static liana_status read_contents(liana__hdf5 *file, names *list, liana__error *error)
{
    bool found;
    file->weights = liana__hdf5_tree_root(file->tree);
    LIANA_TRY(read_description(file, file->weights, "model_config", &file->contents.model_config, error));
    LIANA_TRY(read_description(file, file->weights, "training_config", &file->contents.training_config, error));
    LIANA_TRY(read_description(file, file->weights, LIANA__HDF5_OWN, &file->contents.own, error));
    LIANA_TRY(read_group(file, list, &found, error));
    if (!found && has_node(file, "model_weights")) {
        if (liana__hdf5_tree_find(file->tree, file->weights, "model_weights", &file->weights, error) != LIANA_OK) {
            return liana__fail_within(error, "'%s': group 'model_weights'", file->path);
        }
        LIANA_TRY(read_group(file, list, &found, error));
    }
    if (file->describes) return LIANA_OK;
    if (found) {
        LIANA_TRY(read_optimizer(file, error));
        return read_layers(file, list, error);
    }
    LIANA_TRY(liana__hdf5_read_keras3(file, error));
    /* Older versions write nothing for layers without weights. */
    file->contents.is_keras3 = file->contents.is_keras3 || file->contents.is_archive;
    if (file->contents.is_keras3) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s' is an HDF5 file without the attribute 'layer_names' and without a group 'layers': not a "
                       "Keras weight file",
                       file->path);
}

/* ---- the archive ---- */

static liana_status read_metadata(liana__hdf5 *file, const char *metadata, liana__error *error)
{
    liana__value *value;
    LIANA_TRY(liana__json_parse(metadata, strlen(metadata), file->path, &file->arena, &value, error));
    file->contents.keras_version = liana__value_text_of(value, "keras_version", NULL);
    file->contents.own = liana__value_text_of(value, LIANA__HDF5_OWN, NULL);
    return LIANA_OK;
}

/* Reads a small entry of text into the arena; NULL: there is none of that name. */
static liana_status read_text_entry(liana__hdf5 *file, const liana__zip *archive, const char *name, const char **text,
                                    liana__error *error)
{
    enum { LARGEST = 64 << 20 };
    *text = NULL;
    const liana__zip_entry *entry = liana__zip_find(archive, name);
    if (!entry) return LIANA_OK;
    if (entry->size > LARGEST) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s': '%s' has %llu bytes, at most %d are read", file->path,
                           name, (unsigned long long)entry->size, LARGEST);
    }
    char *bytes;
    LIANA_TRY(liana__zip_read(archive, entry, &bytes, error));
    *text = liana__arena_string(&file->arena, bytes);
    free(bytes);
    return *text ? LIANA_OK : liana__fail_memory(error, file->path);
}

static liana_status read_archive(liana__hdf5 *file, const liana__zip *archive, liana__error *error)
{
    static const char weights[] = "model.weights.h5";
    const char *metadata;
    LIANA_TRY(read_text_entry(file, archive, "config.json", &file->contents.model_config, error));
    LIANA_TRY(read_text_entry(file, archive, "metadata.json", &metadata, error));
    if (metadata) LIANA_TRY(read_metadata(file, metadata, error));
    if (file->describes) return LIANA_OK;
    const liana__zip_entry *entry = liana__zip_find(archive, weights);
    if (!entry) {
        const bool is_npz = liana__zip_find(archive, "model.weights.npz");
        return liana__fail(error, is_npz ? LIANA_UNIMPLEMENTED : LIANA_INVALID_DATA,
                           "'%s' is a zip archive without '%s'%s", file->path, weights,
                           is_npz ? ", but with weights for NumPy, which liana does not read; save it from Keras with "
                                    "model.save('name.keras')"
                                  : ": not a .keras file");
    }
    char *bytes;
    LIANA_TRY(liana__zip_read(archive, entry, &bytes, error));
    const char *name = liana__arena_format(&file->arena, "%s: %s", file->path, weights);
    if (name) return liana__hdf5_tree_take(name, bytes, (size_t)entry->size, &file->tree, error);
    free(bytes);
    return liana__fail_memory(error, file->path);
}

static liana_status open_tree(liana__hdf5 *file, liana__error *error)
{
    char head[4];
    size_t size;
    liana__zip *archive;
    LIANA_TRY(liana__file_read_head(file->path, head, sizeof head, &size, error));
    if (size < sizeof head || memcmp(head, "PK\3\4", sizeof head) != 0) {
        return liana__hdf5_tree_open(file->path, &file->tree, error);
    }
    LIANA_TRY(liana__zip_open(file->path, &archive, error));
    file->contents.is_archive = true;
    liana_status status = read_archive(file, archive, error);
    liana__zip_close(archive);
    return status;
}

static liana_status read_all(liana__hdf5 *file, liana__error *error)
{
    names list = {0};
    liana_status status = read_contents(file, &list, error);
    free(list.items);
    return status;
}

static liana_status open_file(liana__hdf5 *file, liana__error *error)
{
    LIANA_TRY(open_tree(file, error));
    if (!file->tree) return LIANA_OK; /* an archive that is described */
    const liana__hdf5_contents before = file->contents;
    liana_status status = read_all(file, error);
    if (status != LIANA_UNIMPLEMENTED || !liana__hdf5_tree_rewrite(file->tree, file->path)) return status;
    file->contents = before;
    return read_all(file, error);
}

static liana_status open_with(const char *path, bool describes, liana__hdf5 **out, liana__error *error)
{
    *out = NULL;
    liana__hdf5 *file = calloc(1, sizeof *file);
    if (!file) return liana__fail_memory(error, path);
    file->describes = describes;
    file->path = liana__arena_string(&file->arena, path);
    /* Helpers put names before messages, so there must be a message. */
    liana__error own;
    if (!error) error = &own;
    liana_status status = file->path ? open_file(file, error) : liana__fail_memory(error, path);
    if (status == LIANA_OK) *out = file;
    if (status != LIANA_OK) liana__hdf5_close(file);
    return status;
}

liana_status liana__hdf5_open(const char *path, liana__hdf5 **file, liana__error *error)
{
    return open_with(path, false, file, error);
}

liana_status liana__hdf5_open_description(const char *path, liana__hdf5 **file, liana__error *error)
{
    return open_with(path, true, file, error);
}

void liana__hdf5_close(liana__hdf5 *file)
{
    if (!file) return;
    liana__hdf5_tree_close(file->tree);
    liana__arena_free(&file->arena);
    free(file);
}

const liana__hdf5_contents *liana__hdf5_get_contents(const liana__hdf5 *file)
{
    return &file->contents;
}

/* Puts the names before a message. */
static liana_status end_reading(const liana__hdf5 *file, const liana__hdf5_weight *weight, liana_status status,
                                liana__error *error)
{
    if (status == LIANA_OK) return LIANA_OK;
    return liana__fail_within(error, "'%s': layer '%s': weight '%s'", file->path, weight->layer, weight->name);
}

liana_status liana__hdf5_read(const liana__hdf5 *file, const liana__hdf5_weight *weight, float *values,
                              liana__error *error)
{
    liana__error own;
    if (!error) error = &own;
    liana_status status = liana__hdf5_tree_read_f32(file->tree, weight->node, &weight->data, values, error);
    return end_reading(file, weight, status, error);
}

liana_status liana__hdf5_read_s64(const liana__hdf5 *file, const liana__hdf5_weight *weight, int64_t *values,
                                  liana__error *error)
{
    liana__error own;
    if (!error) error = &own;
    liana_status status = liana__hdf5_tree_read_s64(file->tree, weight->node, &weight->data, values, error);
    return end_reading(file, weight, status, error);
}
