/* The chief's checkpoints for all processes. */
#include "train/checkpoint/resume.h"

#include "base/scoped.h"
#include "train/checkpoint/temporary.h"

#include <stdio.h>
#include <stdlib.h>

liana_status liana__checkpoint_verify(const char *path, const liana__value *matches, liana__error *error)
{
    liana__variables none = {0};
    LIANA_TRY(liana__checkpoint_load(path, &none, NULL, error));
    return matches ? liana__checkpoint_matches(path, matches, error) : LIANA_OK;
}

/* A new folder for the copy; *path is that of the checkpoint in it. */
static liana_status make_folder(const char *name, liana__arena *arena, const char **path, liana__error *error)
{
    const char *folder;
    LIANA_TRY(liana__temporary_folder(arena, &folder, error));
    *path = liana__path_join(arena, folder, name);
    if (!*path) return liana__fail_memory(error, "the name of a checkpoint");
    return liana__folder_make_in(*path, error);
}

/* Process `from` reads, the others write. A failure of one process is a failure of all. */
static liana_status share_file(liana__cluster *cluster, size_t from, const char *path, const char *name,
                               liana__arena *arena, liana__error *error)
{
    const bool reads = cluster->place.rank == from;
    const char *file = liana__path_join(arena, path, name);
    LIANA__SCOPED_MEMORY char *data = NULL;
    size_t size = 0;
    liana_status status = file ? LIANA_OK : liana__fail_memory(error, "the name of a checkpoint");
    if (status == LIANA_OK && reads) status = liana__file_read(file, SIZE_MAX / 2, &data, &size, error);
    status = liana__cluster_agree_status(cluster, status, error);
    if (status == LIANA_OK) status = liana__cluster_tell_sized(cluster, from, (void **)&data, &size, error);
    if (status == LIANA_OK) {
        status = reads ? LIANA_OK : liana__file_replace(file, data, size, error);
        status = liana__cluster_agree_status(cluster, status, error);
    }
    return status;
}

liana_status liana__checkpoint_share(liana__cluster *cluster, size_t from, liana__arena *arena, const char **path,
                                     liana__error *error)
{
    char name[LIANA__CHECKPOINT_NAME] = "";
    const bool reads = cluster->place.rank == from;
    if (reads && *path) snprintf(name, sizeof name, "%s", liana__path_name(*path));
    LIANA_TRY(liana__cluster_tell(cluster, from, name, sizeof name, error));
    if (!*name) return LIANA_OK;
    name[sizeof name - 1] = 0;
    liana_status status = reads ? LIANA_OK : make_folder(name, arena, path, error);
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    LIANA_TRY(share_file(cluster, from, *path, liana__checkpoint_state, arena, error));
    return share_file(cluster, from, *path, liana__checkpoint_variables, arena, error);
}

void liana__checkpoint_unshare(const liana__cluster *cluster, size_t from, const char *path)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    if (!cluster || cluster->place.rank == from || !path) return;
    const char *folder = liana__path_folder(&arena, path);
    liana__error ignored;
    liana_status status = folder ? liana__folder_remove(folder, &ignored) : LIANA_OK;
    (void)status; /* a copy that stays is in the way of nobody */
}

liana_status liana__checkpoint_recorded(const char *folder, liana__cluster *cluster, liana__arena *arena,
                                        liana__recorded *recorded, liana__error *error)
{
    *recorded = (liana__recorded){.recompute_memory = -1};
    const char *precision = folder ? liana__checkpoint_precision(folder, arena) : NULL;
    if (precision) snprintf(recorded->precision, sizeof recorded->precision, "%s", precision);
    if (folder) recorded->recompute_memory = liana__checkpoint_recompute_memory(folder, arena);
    return cluster ? liana__cluster_tell(cluster, cluster->chief, recorded, sizeof *recorded, error) : LIANA_OK;
}
