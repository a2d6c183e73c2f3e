/* Finds the file of weights in the beginning of a warm start. */
#include "train/checkpoint/warm_source.h"

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

/* A checkpoint in a bucket: its state lies beside the weights there. */
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

liana_status liana__warm_source_fetch(liana__remote *remote, const char *from, liana__arena *arena, const char **file,
                                      liana__error *error)
{
    if (!liana__path_is_remote(from)) return liana__warm_source_find(from, arena, file, error);
    bool is_file = liana__starts_with(from, "http") || liana__ends_with(from, ".safetensors") ||
                   liana__ends_with(from, ".h5") || liana__ends_with(from, ".hdf5") || liana__ends_with(from, ".keras");
    if (is_file) return liana__remote_file(remote, from, arena, file, error);
    const char *const names[] = {MODEL_WEIGHTS, liana__checkpoint_variables};
    for (size_t i = 0; i < 2; i++) {
        const char *name = liana__path_join(arena, from, names[i]);
        if (!name) return liana__fail_memory(error, from);
        liana__error missing = {0};
        liana_status status = liana__remote_file(remote, name, arena, file, &missing);
        if (status == LIANA_OK) return i == 0 ? LIANA_OK : check_fetched(remote, from, *file, arena, error);
        if (status == LIANA_NOT_FOUND) continue;
        *error = missing;
        return status;
    }
    return fetch_run(remote, from, arena, file, error);
}
