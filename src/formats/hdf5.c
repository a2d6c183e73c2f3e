/* Keras weight files: layers and weights from the groups of an HDF5 file. */
#include "formats/hdf5.h"

#include "formats/hdf5_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAYERS = 100000, MAX_WEIGHTS = 1000000, MAX_PIECES = 10000 };
enum { VERSION_OFFSET = 8, NEWEST_CLASSIC = 1 };
static const char signature[] = "\x89HDF\r\n\x1a\n";

struct liana__hdf5 {
    char *path;
    char *bytes; /* of a classic file: all of them, since others may write to the file while it is read */
    liana__hdf5_source *source;
    liana__hdf5_node weights; /* the group that has layer_names */
    liana__hdf5_contents contents;
    liana__arena arena;
};

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
    liana_status status = file->source->texts(file->source, node, attribute, take_name, list, found, error);
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
    liana__hdf5_node node;
    liana_status status = file->source->find(file->source, group, weight->name, &node, error);
    if (status == LIANA_OK) {
        status = file->source->describe(file->source, node, weight, error);
        file->source->release(file->source, node);
    }
    if (status == LIANA_OK) return LIANA_OK;
    /* The file exists, but names something that it does not contain. */
    if (status == LIANA_NOT_FOUND) error->status = LIANA_INVALID_DATA;
    return liana__fail_within(error, "'%s': layer '%s': weight '%s'", file->path, weight->layer, weight->name);
}

static liana_status add_weight(liana__hdf5 *file, liana__hdf5_node group, const char *layer, const char *name,
                               growing *lists, liana__error *error)
{
    if (lists->num_weights == MAX_WEIGHTS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' names more than %d weights", file->path, MAX_WEIGHTS);
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
    liana_status status = file->source->find(file->source, file->weights, name, &group, error);
    if (status != LIANA_OK) {
        if (status == LIANA_NOT_FOUND) error->status = LIANA_INVALID_DATA;
        return liana__fail_within(error, "'%s': layer '%s'", file->path, name);
    }
    names list = {0};
    lists->firsts[index] = lists->num_weights;
    status = add_weights(file, group, name, &list, lists, error);
    lists->layers[index] = (liana__hdf5_layer){.name = name, .num_weights = lists->num_weights - lists->firsts[index]};
    free(list.items);
    file->source->release(file->source, group);
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
    if (list->count > MAX_LAYERS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' names %zu layers, at most %d are read", file->path,
                           list->count, MAX_LAYERS);
    }
    growing lists = {.layers = liana__arena_allocate(&file->arena, list->count * sizeof *lists.layers + 1),
                     .firsts = calloc(list->count + 1, sizeof *lists.firsts)};
    liana_status status =
        lists.layers && lists.firsts ? add_layers(file, list, &lists, error) : liana__fail_memory(error, file->path);
    free(lists.weights);
    free(lists.firsts);
    return status;
}

/* --- Opening ----------------------------------------------------------------------------------------------------- */

static bool has_node(liana__hdf5 *file, const char *name)
{
    liana__hdf5_node node;
    if (file->source->find(file->source, file->source->root, name, &node, NULL) != LIANA_OK) return false;
    file->source->release(file->source, node);
    return true;
}

static liana_status fail_not_keras(liana__hdf5 *file, liana__error *error)
{
    if (has_node(file, "layers") || has_node(file, "_layer_checkpoint_dependencies")) {
        return liana__fail(error, LIANA_UNIMPLEMENTED,
                           "'%s' is in Keras 3's own .weights.h5 layout, which liana does not read; save it from Keras "
                           "as a whole model: model.save('name.h5')",
                           file->path);
    }
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s' is an HDF5 file without the attribute 'layer_names': not a Keras weight file", file->path);
}

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
    file->weights = file->source->root;
    LIANA_TRY(read_description(file, file->weights, "model_config", &file->contents.model_config, error));
    LIANA_TRY(read_group(file, list, &found, error));
    if (!found && has_node(file, "model_weights")) {
        liana__hdf5_node node;
        if (file->source->find(file->source, file->source->root, "model_weights", &node, error) != LIANA_OK) {
            return liana__fail_within(error, "'%s': group 'model_weights'", file->path);
        }
        file->weights = node;
        LIANA_TRY(read_group(file, list, &found, error));
    }
    return found ? read_layers(file, list, error) : fail_not_keras(file, error);
}

/* Checks the first bytes, and chooses the source that reads the file. */
static liana_status open_source(liana__hdf5 *file, liana__error *error)
{
    uint8_t head[VERSION_OFFSET + 1];
    size_t size;
    liana__file_version version;
    LIANA_TRY(liana__file_read_head(file->path, head, sizeof head, &size, error));
    if (size >= 4 && memcmp(head, "PK\3\4", 4) == 0) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s' is a zip archive (a .keras file?), expected an HDF5 weight file; save it from Keras "
                           "with model.save('name.h5')",
                           file->path);
    }
    const bool is_there = liana__file_version_find(file->path, &version);
    const uint64_t whole = is_there ? (uint64_t)version.size : size;
    if (size <= VERSION_OFFSET || memcmp(head, signature, VERSION_OFFSET) != 0) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' (%llu bytes) is not an HDF5 file", file->path,
                           (unsigned long long)whole);
    }
    liana_status status;
    if (head[VERSION_OFFSET] <= NEWEST_CLASSIC) {
        LIANA_TRY(liana__file_read(file->path, SIZE_MAX / 2, &file->bytes, &size, error));
        status = liana__hdf5_classic_open((const uint8_t *)file->bytes, size, &file->source, error);
    } else {
        status = liana__hdf5_library_open(file->path, whole, &file->source, error);
    }
    return status == LIANA_OK ? LIANA_OK : liana__fail_within(error, "'%s'", file->path);
}

static liana_status open_file(liana__hdf5 *file, liana__error *error)
{
    LIANA_TRY(open_source(file, error));
    names list = {0};
    liana_status status = read_contents(file, &list, error);
    free(list.items);
    return status;
}

liana_status liana__hdf5_open(const char *path, liana__hdf5 **out, liana__error *error)
{
    *out = NULL;
    liana__hdf5 *file = calloc(1, sizeof *file);
    if (!file) return liana__fail_memory(error, path);
    file->path = liana__arena_string(&file->arena, path);
    /* Helpers put names before messages, so there must be a message. */
    liana__error own;
    if (!error) error = &own;
    liana_status status = file->path ? open_file(file, error) : liana__fail_memory(error, path);
    if (status == LIANA_OK) *out = file;
    if (status != LIANA_OK) liana__hdf5_close(file);
    return status;
}

void liana__hdf5_close(liana__hdf5 *file)
{
    if (!file) return;
    if (file->source) {
        file->source->release(file->source, file->weights);
        file->source->close(file->source);
    }
    free(file->bytes);
    liana__arena_free(&file->arena);
    free(file);
}

const liana__hdf5_contents *liana__hdf5_get_contents(const liana__hdf5 *file)
{
    return &file->contents;
}

static liana_status read_below(const liana__hdf5 *file, liana__hdf5_node group, const liana__hdf5_weight *weight,
                               float *values, liana__error *error)
{
    liana__hdf5_node node;
    LIANA_TRY(file->source->find(file->source, group, weight->name, &node, error));
    liana_status status = file->source->read(file->source, node, weight, values, error);
    file->source->release(file->source, node);
    return status;
}

liana_status liana__hdf5_read(const liana__hdf5 *file, const liana__hdf5_weight *weight, float *values,
                              liana__error *error)
{
    liana__error own;
    if (!error) error = &own;
    liana__hdf5_node group;
    liana_status status = file->source->find(file->source, file->weights, weight->layer, &group, error);
    if (status == LIANA_OK) {
        status = read_below(file, group, weight, values, error);
        file->source->release(file->source, group);
    }
    if (status == LIANA_OK) return LIANA_OK;
    return liana__fail_within(error, "'%s': layer '%s': weight '%s'", file->path, weight->layer, weight->name);
}
