/* Writes a folder of shards that appears whole or not at all. */
#include "data/convert/shards.h"

#include "base/file.h"
#include "data/source/class_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const liana__split_folders[LIANA__NUM_SPLITS] = {"train", "val", "test"};

static const char UNFINISHED[] = ".unfinished", CLASS_NAMES[] = "classes.txt";

/* PREFIXnn-COUNT.tfrec */
static bool is_shard_name(const char *name, const char *prefix)
{
    if (!liana__starts_with(name, prefix)) return false;
    const char *rest = name + strlen(prefix);
    size_t digits = strspn(rest, "0123456789");
    if (digits < 2 || rest[digits] != '-') return false;
    rest += digits + 1;
    digits = strspn(rest, "0123456789");
    return digits > 0 && strcmp(rest + digits, ".tfrec") == 0;
}

static liana_status refuse_full(const char *folder, const char *name, const char *how, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the output folder '%s' is not empty (it has '%s'); choose another, or say %s to replace the "
                       "shards in it",
                       folder, name, how);
}

static liana_status check_empty(liana__shards *shards, bool overwrite, const char *how, liana__error *error)
{
    liana__paths names;
    LIANA_TRY(liana__folder_list(shards->folder, &shards->arena, &names, error));
    for (size_t i = 0; i < names.count && !overwrite; i++) {
        if (strcmp(names.items[i], UNFINISHED) == 0) continue;
        return refuse_full(shards->folder, names.items[i], how, error);
    }
    return LIANA_OK;
}

/* Whether it is a shard of this prefix, in the folder or in that of a split. */
static bool is_shard(const char *name, const char *prefix)
{
    const char *slash = strchr(name, '/');
    bool in_split = false;
    for (int i = 0; slash && i < LIANA__NUM_SPLITS; i++) {
        size_t length = strlen(liana__split_folders[i]);
        in_split =
            in_split || ((size_t)(slash - name) == length && strncmp(name, liana__split_folders[i], length) == 0);
    }
    return (!slash || in_split) && is_shard_name(slash ? slash + 1 : name, prefix);
}

/* Lists the folder of a bucket, and makes the local one. */
static liana_status begin_remote(liana__shards *shards, bool overwrite, const char *how, liana__error *error)
{
    const char *url = shards->folder;
    liana__paths names;
    LIANA_TRY(liana__outlet_open(&(liana__outlet_options){.url = url, .last = CLASS_NAMES, .fresh = true},
                                 &shards->outlet, error));
    shards->folder = liana__outlet_folder(shards->outlet);
    LIANA_TRY(liana__outlet_list(shards->outlet, &shards->arena, &names, error));
    if (names.count && !overwrite) return refuse_full(url, names.items[0], how, error);
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i];
        if (strcmp(name, CLASS_NAMES) == 0) shards->replaces_names = true;
        if (is_shard(name, shards->prefix)) LIANA_TRY(liana__outlet_adopt(shards->outlet, name, error));
    }
    return LIANA_OK;
}

static liana_status begin(liana__shards *shards, bool overwrite, const char *how, liana__error *error)
{
    LIANA_TRY(liana__folder_make(shards->folder, error));
    LIANA_TRY(check_empty(shards, overwrite, how, error));
    shards->staging = liana__path_join(&shards->arena, shards->folder, UNFINISHED);
    if (!shards->staging) return liana__fail_memory(error, shards->folder);
    /* Of a run that was killed. */
    LIANA_TRY(liana__folder_remove(shards->staging, error));
    return liana__folder_make(shards->staging, error);
}

liana_status liana__shards_begin(liana__shards *shards, const char *folder, const char *prefix, bool overwrite,
                                 const char *how, liana__error *error)
{
    bool remote = liana__path_is_remote(folder);
    *shards = (liana__shards){.folder = folder, .prefix = prefix};
    if (strchr(prefix, '/')) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the prefix '%s' contains a '/'; expected a part of a file name", prefix);
    }
    liana_status status = remote ? begin_remote(shards, overwrite, how, error) : LIANA_OK;
    shards->made_folder = status == LIANA_OK && !liana__folder_exists(shards->folder);
    if (status == LIANA_OK) status = begin(shards, overwrite, how, error);
    if (status != LIANA_OK) liana__shards_abandon(shards);
    return status;
}

liana_status liana__shards_path(liana__shards *shards, const char *split, size_t index, size_t num_shards, size_t count,
                                const char **path, liana__error *error)
{
    *path = NULL;
    /* All names have the same number of digits, so that their byte order is their number order. */
    int width = 2;
    for (size_t largest = num_shards - 1; largest >= 100; largest /= 10) width++;
    char *folder = split ? liana__path_join(&shards->arena, shards->staging, split) : shards->staging;
    if (!folder) return liana__fail_memory(error, shards->folder);
    LIANA_TRY(liana__folder_make(folder, error));
    *path = liana__arena_format(&shards->arena, "%s/%s%0*zu-%zu.tfrec", folder, shards->prefix, width, index, count);
    return *path ? LIANA_OK : liana__fail_memory(error, folder);
}

liana_status liana__shards_class_names(liana__shards *shards, const liana__text *lines, liana__error *error)
{
    const char *path = liana__path_join(&shards->arena, shards->staging, CLASS_NAMES);
    if (!path || lines->failed) return liana__fail_memory(error, CLASS_NAMES);
    return liana__file_replace(path, lines->data ? lines->data : "", lines->length, error);
}

/* Whether a list in byte order has a name. */
static bool holds(const liana__paths *names, const char *name)
{
    return liana__names_find(&(liana__strings){names->count, (const char *const *)names->items}, true, name,
                             strlen(name)) >= 0;
}

static liana_status remove_file(const char *path, liana__error *error)
{
    if (!path) return liana__fail_memory(error, "a path");
    if (unlink(path) == 0 || errno == ENOENT) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR, "cannot remove '%s': %s", path, strerror(errno));
}

static liana_status move_file(const char *from, const char *to, liana__error *error)
{
    if (!from || !to) return liana__fail_memory(error, "a path");
    if (rename(from, to) == 0) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR, "cannot rename '%s' to '%s': %s", from, to, strerror(errno));
}

/* Moves the new shards of a folder to it, then removes the old ones. */
static liana_status replace_shards(liana__shards *shards, const char *from, const char *to, liana__error *error)
{
    liana__arena *arena = &shards->arena;
    liana__paths fresh = {0}, names;
    if (liana__folder_exists(from)) LIANA_TRY(liana__folder_list(from, arena, &fresh, error));
    if (fresh.count) LIANA_TRY(liana__folder_make(to, error));
    if (!liana__folder_exists(to)) return LIANA_OK;
    for (size_t i = 0; i < fresh.count; i++) {
        const char *name = fresh.items[i];
        if (!is_shard_name(name, shards->prefix)) continue;
        LIANA_TRY(move_file(liana__path_join(arena, from, name), liana__path_join(arena, to, name), error));
    }
    LIANA_TRY(liana__folder_list(to, arena, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        if (!is_shard_name(names.items[i], shards->prefix) || holds(&fresh, names.items[i])) continue;
        LIANA_TRY(remove_file(liana__path_join(arena, to, names.items[i]), error));
    }
    return liana__folder_sync(to, error);
}

liana_status liana__shards_commit(liana__shards *shards, liana__error *error)
{
    liana__arena *arena = &shards->arena;
    const char *names = liana__path_join(arena, shards->folder, CLASS_NAMES);
    const char *new_names = liana__path_join(arena, shards->staging, CLASS_NAMES);
    LIANA_TRY(remove_file(names, error));
    LIANA_TRY(replace_shards(shards, shards->staging, shards->folder, error));
    for (int i = 0; i < LIANA__NUM_SPLITS; i++) {
        const char *from = liana__path_join(arena, shards->staging, liana__split_folders[i]);
        const char *to = liana__path_join(arena, shards->folder, liana__split_folders[i]);
        if (!from || !to) return liana__fail_memory(error, shards->folder);
        LIANA_TRY(replace_shards(shards, from, to, error));
    }
    if (new_names && liana__file_exists(new_names)) LIANA_TRY(move_file(new_names, names, error));
    LIANA_TRY(liana__folder_sync(shards->folder, error));
    if (shards->replaces_names) LIANA_TRY(liana__outlet_remove(shards->outlet, CLASS_NAMES, error));
    if (shards->outlet) LIANA_TRY(liana__outlet_flush(shards->outlet, error));
    shards->made_folder = false;
    liana__shards_abandon(shards);
    return LIANA_OK;
}

void liana__shards_abandon(liana__shards *shards)
{
    /* Nothing can be done about a failure to tidy up, and the reason for being here has been said. */
    if (shards->staging && liana__folder_remove(shards->staging, NULL) != LIANA_OK) shards->made_folder = false;
    if (shards->made_folder) rmdir(shards->folder);
    liana__outlet_close(shards->outlet);
    liana__arena_free(&shards->arena);
    *shards = (liana__shards){0};
}
