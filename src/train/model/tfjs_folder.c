/* Writes a layers model of TensorFlow.js: a folder with model.json and shards of weights, whole or not at all. */
#include "train/model/tfjs_folder.h"

#include "base/file.h"
#include "base/little_endian.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "train/checkpoint/temporary.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHARD = 4 << 20 };

/* ---- the list of weights ---- */

static liana__value *write_weight(const liana_model *model, size_t index, const char *name, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *dims = liana__value_list(arena);
    const liana_shape *shape = &model->weights[index].shape;
    if (!map || !dims || !name) return NULL;
    for (int i = 0; i < shape->rank; i++) liana__value_add(arena, dims, liana__value_int(arena, shape->dims[i]));
    liana__value_set(arena, map, "name", liana__value_string(arena, name));
    liana__value_set(arena, map, "shape", dims);
    liana__value_set(arena, map, "dtype", liana__value_string(arena, "float32"));
    return map;
}

static const char *shard_name(size_t index, size_t count, liana__arena *arena)
{
    return liana__arena_format(arena, "group1-shard%zuof%zu.bin", index + 1, count);
}

/* [{paths, weights}], and the number of shards. */
static liana__value *write_manifest(const liana_model *model, liana__arena *arena, size_t *num_shards)
{
    liana__value *list = liana__value_list(arena), *group = liana__value_map(arena);
    liana__value *paths = liana__value_list(arena), *weights = liana__value_list(arena);
    uint64_t size = 0;
    if (!list || !group || !paths || !weights) return NULL;
    for (size_t i = 0; i < model->num_weights; i++) {
        const char *name;
        if (!liana__tfjs_weight_name(model, i, arena, &name)) continue;
        liana__value_add(arena, weights, write_weight(model, i, name, arena));
        size += (uint64_t)liana_shape_size(&model->weights[i].shape) * sizeof(float);
    }
    *num_shards = (size_t)((size + SHARD - 1) / SHARD);
    for (size_t i = 0; i < *num_shards; i++) {
        const char *name = shard_name(i, *num_shards, arena);
        liana__value_add(arena, paths, name ? liana__value_string(arena, name) : NULL);
    }
    liana__value_set(arena, group, "paths", paths);
    liana__value_set(arena, group, "weights", weights);
    if (*num_shards) liana__value_add(arena, list, group);
    return list;
}

/* ---- the shards ---- */

typedef struct shards {
    const char *folder;
    size_t count, next;
    size_t filled; /* bytes of the open one */
    liana__file_writer writer;
    bool is_open;
    liana__arena *arena;
    liana__error *error;
} shards;

static liana_status close_shard(shards *own)
{
    if (!own->is_open) return LIANA_OK;
    own->is_open = false;
    return liana__file_commit(&own->writer, true, own->error);
}

static liana_status open_shard(shards *own)
{
    const char *name = shard_name(own->next++, own->count, own->arena);
    const char *path = name ? liana__path_join(own->arena, own->folder, name) : NULL;
    if (!path) return liana__fail_memory(own->error, own->folder);
    LIANA_TRY(liana__file_begin(&own->writer, path, own->error));
    own->is_open = true;
    own->filled = 0;
    return LIANA_OK;
}

static liana_status add_bytes(shards *own, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        if (own->is_open && own->filled == SHARD) LIANA_TRY(close_shard(own));
        if (!own->is_open) LIANA_TRY(open_shard(own));
        const size_t piece = size < SHARD - own->filled ? size : SHARD - own->filled;
        LIANA_TRY(liana__file_write(&own->writer, bytes, piece, own->error));
        own->filled += piece;
        bytes += piece;
        size -= piece;
    }
    return LIANA_OK;
}

static liana_status add_weight(shards *own, const liana_model *model, size_t index)
{
    enum { MOST = 1 << 14 };
    uint8_t bytes[MOST];
    const size_t count = (size_t)liana_shape_size(&model->weights[index].shape);
    for (size_t begin = 0; begin < count; begin += MOST / 4) {
        const size_t end = count - begin < MOST / 4 ? count : begin + MOST / 4;
        for (size_t i = begin; i < end; i++) {
            const float value = liana__tfjs_weight_value(model, index, model->values[index][i]);
            uint32_t word;
            memcpy(&word, &value, sizeof word);
            liana__store_u32(bytes + 4 * (i - begin), word);
        }
        LIANA_TRY(add_bytes(own, bytes, 4 * (end - begin)));
    }
    return LIANA_OK;
}

static liana_status write_shards(const liana_model *model, const char *folder, size_t count, liana__arena *arena,
                                 liana__error *error)
{
    shards own = {.folder = folder, .count = count, .arena = arena, .error = error};
    liana_status status = LIANA_OK;
    for (size_t i = 0; i < model->num_weights && status == LIANA_OK; i++) {
        const char *name;
        if (liana__tfjs_weight_name(model, i, arena, &name)) status = add_weight(&own, model, i);
    }
    if (status == LIANA_OK) return close_shard(&own);
    if (own.is_open) liana__file_abandon(&own.writer);
    return status;
}

/* ---- model.json ---- */

static void set_text(liana__arena *arena, liana__value *map, const char *key, const char *text)
{
    liana__value_set(arena, map, key, liana__value_string(arena, text));
}

/* {keras_version, backend, model_config, training_config}, as TensorFlow.js's converter has it. */
static liana__value *write_topology(const liana__tfjs_parts *parts, liana__arena *arena)
{
    liana__value *topology = liana__value_map(arena);
    if (!topology) return NULL;
    set_text(arena, topology, "keras_version", parts->keras_version);
    set_text(arena, topology, "backend", "tensorflow");
    liana__value_set(arena, topology, "model_config", parts->architecture);
    if (parts->settings) {
        liana__value_set(arena, topology, "training_config", liana__value_copy(arena, parts->settings));
    }
    return topology;
}

static liana_status write_files(const liana_model *model, const liana__tfjs_parts *parts, const char *folder,
                                liana__arena *arena, liana__error *error)
{
    size_t num_shards = 0;
    liana__value *root = liana__value_map(arena), *own = liana__value_map(arena);
    liana__value *manifest = write_manifest(model, arena, &num_shards), *topology = write_topology(parts, arena);
    const char *path = liana__path_join(arena, folder, "model.json");
    if (!root || !own || !manifest || !topology || !path) return liana__fail_memory(error, folder);
    set_text(arena, root, "format", "layers-model");
    set_text(arena, root, "generatedBy", "liana " LIANA_VERSION);
    liana__value_set(arena, root, "convertedBy", liana__value_null(arena));
    liana__value_set(arena, root, "modelTopology", topology);
    liana__value_set(arena, root, "weightsManifest", manifest);
    set_text(arena, own, parts->facts_key, parts->facts);
    liana__value_set(arena, root, "userDefinedMetadata", own);
    if (arena->failed) return liana__fail_memory(error, folder);
    LIANA_TRY(write_shards(model, folder, num_shards, arena, error));
    return liana__json_write(path, root, error);
}

/* ---- the folder ---- */

/* A folder with anything else is not replaced. */
static liana_status check_old(const char *folder, liana__arena *arena, liana__error *error)
{
    liana__paths names;
    LIANA_TRY(liana__folder_list(folder, arena, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i];
        if (strcmp(name, "model.json") == 0 || fnmatch("group*-shard*of*.bin", name, 0) == 0) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s' is a folder with '%.100s', which is no part of a layers model of TensorFlow.js: it is "
                           "not replaced; give another name, or remove the folder",
                           folder, name);
    }
    return LIANA_OK;
}

/* A temporary folder is for its user alone. */
static void open_to_others(const char *folder)
{
    const mode_t mask = umask(0);
    umask(mask);
    (void)!chmod(folder, 0777 & ~mask);
}

size_t liana__tfjs_folder_length(const char *path)
{
    static const char file[] = ".tfjs/model.json";
    size_t length = strlen(path);
    if (liana__ends_with(path, file)) length -= strlen("/model.json");
    while (length > 1 && path[length - 1] == '/') length--;
    return length;
}

/* The folder that is replaced: where a link leads to. */
static liana_status find_target(const char *path, liana__arena *arena, const char **target, liana__error *error)
{
    *target = liana__arena_format(arena, "%.*s", (int)liana__tfjs_folder_length(path), path);
    if (!*target) return liana__fail_memory(error, path);
    LIANA_TRY(liana__link_check(*target, error));
    const bool is_folder = liana__folder_exists(*target);
    if (!is_folder && !liana__file_exists(*target)) return LIANA_OK;
    if (!is_folder) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s' is a file, expected a folder or nothing: a layers model of TensorFlow.js is a folder",
                           *target);
    }
    char *real = realpath(*target, NULL);
    *target = real ? liana__arena_string(arena, real) : NULL;
    free(real);
    if (!*target) return liana__fail_memory(error, path);
    return check_old(*target, arena, error);
}

liana_status liana__tfjs_folder_write(const liana_model *model, const liana__tfjs_parts *parts, const char *path,
                                      liana__arena *arena, liana__error *error)
{
    char folder[LIANA__TEMPORARY];
    const char *target;
    LIANA_TRY(find_target(path, arena, &target, error));
    const char *parent = liana__path_folder(arena, target);
    if (!parent) return liana__fail_memory(error, path);
    LIANA_TRY(liana__folder_make(parent, error));
    LIANA_TRY(liana__temporary_make(parent, folder, error));
    liana_status status = write_files(model, parts, folder, arena, error);
    const bool replaces = status == LIANA_OK && liana__folder_exists(target);
    if (status == LIANA_OK) {
        open_to_others(folder);
        status = (replaces ? liana__folder_exchange : liana__folder_rename)(folder, target, error);
    }
    /* The files that were replaced, or those of a failure. */
    liana__error ignored;
    if (replaces || status != LIANA_OK) (void)!liana__folder_remove(folder, &ignored);
    return status;
}
