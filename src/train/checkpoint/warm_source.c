/* Finds the file of weights in the beginning of a warm start. */
#include "train/checkpoint/warm_start.h"

#include "formats/tensorflow/tf_checkpoint.h"
#include "train/checkpoint/remote_checkpoints.h"

#include <string.h>

static const char *const MODEL_WEIGHTS = "weights.safetensors"; /* of liana_model_save */

/* Weights of a checkpoint are compared with the checksum that its state has. */
static liana_status check_weights(const char *file, liana__arena *arena, liana__error *error)
{
    if (strcmp(liana__path_name(file), liana__checkpoint_variables) != 0) return LIANA_OK;
    const int folder = (int)(liana__path_name(file) - file);
    const char *state = liana__arena_format(arena, "%.*s%s", folder, file, liana__checkpoint_state);
    if (!state) return liana__fail_memory(error, file);
    return liana__file_exists(state) ? liana__checkpoint_check(state, file, error) : LIANA_OK;
}

static liana_status find_file(const char *from, liana__arena *arena, const char **file, liana__error *error)
{
    *file = liana__tf_checkpoint_find(from, arena);
    if (*file) return LIANA_OK;
    *file = from;
    if (!liana__folder_exists(from)) return LIANA_OK;
    const char *const names[] = {MODEL_WEIGHTS, liana__checkpoint_variables};
    for (size_t i = 0; i < 2; i++) {
        *file = liana__path_join(arena, from, names[i]);
        if (!*file) return liana__fail_memory(error, from);
        if (liana__file_exists(*file)) return LIANA_OK;
    }
    const char *below = liana__path_join(arena, from, "checkpoints");
    if (!below) return liana__fail_memory(error, from);
    const char *folder = liana__folder_exists(below) ? below : from;
    const char *name = liana__checkpoint_best(folder, arena), *path = NULL;
    if (name) path = liana__path_join(arena, folder, name);
    if (!path || !liana__folder_exists(path)) LIANA_TRY(liana__checkpoint_newest(folder, arena, &path, error));
    if (!path) {
        return liana__fail(error, LIANA_NOT_FOUND, "there is no checkpoint in '%s', and no %s", from, MODEL_WEIGHTS);
    }
    *file = liana__path_join(arena, path, liana__checkpoint_variables);
    return *file ? LIANA_OK : liana__fail_memory(error, from);
}

liana_status liana__warm_source_find(const char *from, liana__arena *arena, const char **file, liana__error *error)
{
    LIANA_TRY(find_file(from, arena, file, error));
    return check_weights(*file, arena, error);
}

/* A checkpoint in a bucket: its state lies next to the weights there. */
static liana_status check_fetched(liana__remote *remote, const char *from, const char *file, liana__arena *arena,
                                  liana__error *error)
{
    const char *local, *state = liana__path_join(arena, from, liana__checkpoint_state);
    if (!state) return liana__fail_memory(error, from);
    LIANA_TRY(liana__remote_file(remote, state, arena, &local, error));
    return liana__checkpoint_check(local, file, error);
}

/* A run in a bucket: its newest checkpoint says which is the best one. */
static liana_status fetch_run(liana__remote *remote, const char *from, liana__arena *arena, const char **file,
                              liana__error *error)
{
    const char *folder;
    LIANA_TRY(liana__remote_run(remote, from, NULL, arena, &folder, error));
    const char *checkpoints = liana__path_join(arena, folder, "checkpoints");
    if (!checkpoints) return liana__fail_memory(error, from);
    const char *best = liana__checkpoint_best(checkpoints, arena);
    if (best) LIANA_TRY(liana__remote_run(remote, from, best, arena, &folder, error));
    return liana__warm_source_find(folder, arena, file, error);
}

/* A TensorFlow checkpoint in a bucket: its index says how many files of data there are. */
static liana_status fetch_tensorflow(liana__remote *remote, const char *index, liana__arena *arena, const char **file,
                                     liana__error *error)
{
    const char *data;
    size_t count;
    LIANA_TRY(liana__remote_file(remote, index, arena, file, error));
    LIANA_TRY(liana__tf_checkpoint_count_files(*file, &count, error));
    for (size_t i = 0; i < count; i++) {
        const char *name = liana__tf_checkpoint_file(index, i, count, arena);
        if (!name) return liana__fail_memory(error, index);
        LIANA_TRY(liana__remote_file(remote, name, arena, &data, error));
    }
    return LIANA_OK;
}

/* The places of weights in a folder of a bucket, and of those of a checkpoint that is named as TensorFlow names it. */
typedef enum place { SAVED_MODEL, CHECKPOINT, TENSORFLOW, TENSORFLOW_SAVED_MODEL, NUM_PLACES } place;

static const char *name_place(place kind, const char *from, liana__arena *arena)
{
    switch (kind) {
    case SAVED_MODEL: return liana__path_join(arena, from, MODEL_WEIGHTS);
    case CHECKPOINT: return liana__path_join(arena, from, liana__checkpoint_variables);
    case TENSORFLOW: return liana__arena_format(arena, "%s.index", from);
    default: return liana__path_join(arena, from, "variables/variables.index");
    }
}

liana_status liana__warm_source_fetch(liana__remote *remote, const char *from, liana__arena *arena, const char **file,
                                      liana__error *error)
{
    if (!liana__path_is_remote(from)) return liana__warm_source_find(from, arena, file, error);
    if (liana__ends_with(from, ".index")) return fetch_tensorflow(remote, from, arena, file, error);
    bool is_file = liana__starts_with(from, "http") || liana__ends_with(from, ".safetensors") ||
                   liana__ends_with(from, ".h5") || liana__ends_with(from, ".hdf5") || liana__ends_with(from, ".keras");
    if (is_file) return liana__remote_file(remote, from, arena, file, error);
    for (place kind = 0; kind < NUM_PLACES; kind++) {
        const char *name = name_place(kind, from, arena);
        if (!name) return liana__fail_memory(error, from);
        liana__error missing = {0};
        liana_status status = liana__remote_file(remote, name, arena, file, &missing);
        if (status == LIANA_NOT_FOUND) continue;
        if (status != LIANA_OK) *error = missing;
        if (status != LIANA_OK || kind == SAVED_MODEL) return status;
        if (kind == CHECKPOINT) return check_fetched(remote, from, *file, arena, error);
        return fetch_tensorflow(remote, name, arena, file, error);
    }
    return fetch_run(remote, from, arena, file, error);
}
