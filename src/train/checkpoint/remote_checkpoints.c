/* Finds and copies checkpoints of buckets. */
#include "train/checkpoint/remote_checkpoints.h"

#include "base/scoped.h"
#include "base/text.h"
#include "train/checkpoint/lease_place.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_OF_ALL = 3, STATE_LIMIT = 64 << 20 };

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool holds(const liana__paths *names, const char *name)
{
    return names->count && bsearch(&name, names->items, names->count, sizeof *names->items, compare_names);
}

static const char *file_of(liana__arena *arena, const char *below, const char *checkpoint, const char *file)
{
    return liana__arena_format(arena, "%s%s/%s", below, checkpoint, file);
}

liana_status liana__checkpoints_complete(const liana__paths *names, const char *below, liana__arena *arena,
                                         liana__paths *complete, liana__error *error)
{
    *complete = (liana__paths){.items = liana__arena_allocate(arena, (names->count + 1) * sizeof *complete->items)};
    for (size_t i = 0; complete->items && i < names->count; i++) {
        if (!liana__starts_with(names->items[i], below)) continue;
        const char *rest = names->items[i] + strlen(below), *slash = strchr(rest, '/');
        if (!slash || strcmp(slash + 1, liana__checkpoint_state) != 0) continue;
        char *name = liana__arena_format(arena, "%.*s", (int)(slash - rest), rest);
        const char *variables = name ? file_of(arena, below, name, liana__checkpoint_variables) : NULL;
        if (variables && liana__checkpoint_is_name(name) && holds(names, variables)) {
            complete->items[complete->count++] = name;
        }
    }
    return arena->failed ? liana__fail_memory(error, "a list of checkpoints") : LIANA_OK;
}

/* ---- for a run that goes on ---- */

typedef struct fetching {
    liana__outlet *outlet;
    const char *below;
    const char *folder; /* the local one that has the checkpoints */
    liana__arena arena;
} fetching;

/* Whether the local file has the same bytes after it was fetched as before. A file that cannot be read is not fetched;
 * a folder or a link in its place is removed first. */
static liana_status fetch_state(fetching *own, const char *name, bool *same, liana__error *error)
{
    LIANA__SCOPED_MEMORY char *before = NULL;
    LIANA__SCOPED_MEMORY char *after = NULL;
    size_t size_before = 0, size_after = 0;
    const char *path = liana__path_join(&own->arena, liana__outlet_folder(own->outlet), name);
    if (!path) return liana__fail_memory(error, name);
    bool had = liana__file_read(path, STATE_LIMIT, &before, &size_before, NULL) == LIANA_OK;
    *same = false;
    if (!had) return LIANA_OK;
    LIANA_TRY(liana__outlet_fetch(own->outlet, &name, 1, error));
    LIANA_TRY(liana__file_read(path, STATE_LIMIT, &after, &size_after, error));
    *same = size_before == size_after && memcmp(before, after, size_after) == 0;
    return LIANA_OK;
}

/* Its state has the checksum of its variables, which is compared when it is loaded. */
static liana_status fetch_checkpoint(fetching *own, const char *name, bool *was_there, liana__error *error)
{
    const char *path = liana__path_join(&own->arena, own->folder, name);
    const char *variables = file_of(&own->arena, own->below, name, liana__checkpoint_variables);
    const char *state = file_of(&own->arena, own->below, name, liana__checkpoint_state);
    if (own->arena.failed) return liana__fail_memory(error, name);
    *was_there = liana__folder_exists(path);
    if (*was_there) LIANA_TRY(fetch_state(own, state, was_there, error));
    if (*was_there) return liana__outlet_mark(own->outlet, variables, error);
    LIANA_TRY(liana__folder_remove(path, error));
    return liana__outlet_fetch(own->outlet, (const char *const[]){variables, state}, 2, error);
}

/* Whether the bucket's newest is here too. If it is not, another machine has gone on since: local ones that are older
 * and not in the bucket are removed. */
static liana_status find_newest(fetching *own, const liana__paths *complete, bool *here, liana__error *error)
{
    liana__paths local;
    if (!complete->count) return LIANA_OK;
    const char *newest = complete->items[complete->count - 1];
    LIANA_TRY(liana__checkpoint_list(own->folder, &own->arena, &local, error));
    for (size_t i = 0; i < local.count; i++) {
        if (strcmp(liana__path_name(local.items[i]), newest) == 0) {
            LIANA_TRY(fetch_checkpoint(own, newest, here, error));
        }
    }
    for (size_t i = 0; i < local.count && !*here; i++) {
        const char *name = liana__path_name(local.items[i]);
        bool older = strcmp(name, newest) < 0;
        if (older && !holds(complete, name)) LIANA_TRY(liana__folder_remove(local.items[i], error));
    }
    return LIANA_OK;
}

/* The number of checkpoints, in the bucket or here, that are newer. */
static size_t age_of(const char *name, const liana__paths *complete, const liana__paths *local)
{
    size_t age = 0;
    for (size_t i = 0; i < complete->count; i++) age += strcmp(complete->items[i], name) > 0;
    for (size_t i = 0; i < local->count; i++) {
        const char *other = liana__path_name(local->items[i]);
        age += strcmp(other, name) > 0 && !holds(complete, other);
    }
    return age;
}

/* Adopts the rest of interrupted uploads, and checkpoints that are too old to be kept. */
static liana_status adopt_rest(fetching *own, const liana__paths *names, const liana__paths *complete,
                               const liana__paths *local, int64_t keep, liana__error *error)
{
    for (size_t i = 0; i < names->count; i++) {
        if (!liana__starts_with(names->items[i], own->below)) continue;
        const char *rest = names->items[i] + strlen(own->below), *slash = strchr(rest, '/');
        const char *name = slash ? liana__arena_format(&own->arena, "%.*s", (int)(slash - rest), rest) : NULL;
        if (own->arena.failed) return liana__fail_memory(error, rest);
        if (!name || !liana__checkpoint_is_name(name)) continue;
        bool is_kept = holds(complete, name) && (keep == 0 || age_of(name, complete, local) < (size_t)keep);
        if (!is_kept) LIANA_TRY(liana__outlet_adopt(own->outlet, names->items[i], error));
    }
    return LIANA_OK;
}

static liana_status fetch_all(fetching *own, const liana__paths *names, int64_t keep, liana__newest_checkpoint *newest,
                              liana__error *error)
{
    liana__paths complete, local;
    size_t most = keep > 0 ? (size_t)keep : MOST_OF_ALL;
    LIANA_TRY(liana__checkpoints_complete(names, own->below, &own->arena, &complete, error));
    bool has_newest = false;
    LIANA_TRY(find_newest(own, &complete, &has_newest, error));
    LIANA_TRY(liana__checkpoint_list(own->folder, &own->arena, &local, error));
    for (size_t i = complete.count; i-- > 0 && age_of(complete.items[i], &complete, &local) < most;) {
        bool was_there;
        LIANA_TRY(fetch_checkpoint(own, complete.items[i], &was_there, error));
    }
    LIANA_TRY(adopt_rest(own, names, &complete, &local, keep, error));
    const char *path;
    LIANA_TRY(liana__checkpoint_newest(own->folder, &own->arena, &path, error));
    bool unsent = path && !holds(&complete, liana__path_name(path));
    *newest = !path ? LIANA__NEWEST_NONE : unsent || has_newest ? LIANA__NEWEST_LOCAL : LIANA__NEWEST_FETCHED;
    return LIANA_OK;
}

liana_status liana__checkpoints_fetch(liana__outlet *outlet, const char *below, const liana__paths *names, int64_t keep,
                                      liana__newest_checkpoint *newest, liana__error *error)
{
    fetching own = {.outlet = outlet, .below = below};
    *newest = LIANA__NEWEST_NONE;
    own.folder = liana__arena_format(&own.arena, "%s/%.*s", liana__outlet_folder(outlet),
                                     (int)(strlen(below) - (*below != 0)), below);
    liana_status status =
        own.folder ? fetch_all(&own, names, keep, newest, error) : liana__fail_memory(error, "checkpoints");
    liana__arena_free(&own.arena);
    return status;
}

/* ---- for reading ---- */

static liana_status choose(const liana__paths *names, const char *url, const char *wanted, liana__arena *arena,
                           const char **chosen, liana__error *error)
{
    liana__paths complete;
    LIANA_TRY(liana__checkpoints_complete(names, "checkpoints/", arena, &complete, error));
    *chosen = wanted;
    if (wanted && (!*wanted || holds(&complete, wanted))) return LIANA_OK;
    if (wanted) {
        return liana__fail(error, LIANA_NOT_FOUND, "there is no complete checkpoint '%s' in '%s/checkpoints'", wanted,
                           url);
    }
    if (!complete.count) {
        return liana__fail(error, LIANA_NOT_FOUND,
                           "'%s' has no complete checkpoint yet; train it with 'liana train' first", url);
    }
    *chosen = complete.items[complete.count - 1];
    return LIANA_OK;
}

static liana_status resolve(liana__remote *remote, const liana__paths *names, const char *url, const char *checkpoint,
                            liana__arena *arena, const char **folder, liana__error *error)
{
    const char **urls = liana__arena_allocate(arena, (names->count + 1) * sizeof *urls);
    const char *prefix = liana__arena_format(arena, "checkpoints/%s/", checkpoint);
    size_t count = 0;
    if (!urls || !prefix) return liana__fail_memory(error, url);
    for (size_t i = 0; i < names->count; i++) {
        if (liana__lease_is_name(names->items[i])) continue; /* it is not of the run, and changes all the time */
        bool wanted = !strchr(names->items[i], '/') || liana__starts_with(names->items[i], prefix);
        if (wanted) urls[count++] = liana__path_join(arena, url, names->items[i]);
    }
    liana__paths paths;
    if (arena->failed) return liana__fail_memory(error, url);
    LIANA_TRY(liana__remote_resolve(remote, urls, count, arena, &paths, error));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(liana__path_name(paths.items[i]), "config.yaml") == 0) {
            *folder = liana__path_folder(arena, paths.items[i]);
        }
    }
    return *folder ? LIANA_OK : liana__fail_memory(error, url);
}

liana_status liana__remote_run(liana__remote *remote, const char *url, const char *checkpoint, liana__arena *arena,
                               const char **folder, liana__error *error)
{
    liana__paths names;
    *folder = NULL;
    if (liana__starts_with(url, "http")) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "run folders are read from gs:// and s3://, since web servers have no folders; copy '%.*s' "
                           "to this machine and pass that path",
                           (int)strcspn(url, "?"), url);
    }
    LIANA_TRY(liana__store_list(remote, url, arena, &names, error));
    if (!holds(&names, "config.yaml")) {
        return liana__fail(error, LIANA_NOT_FOUND, "'%s' is not a run folder: %s", url,
                           names.count ? "there is no config.yaml in it" : "there is no such folder");
    }
    const char *chosen;
    const bool wants_best = checkpoint && strcmp(checkpoint, "best") == 0;
    LIANA_TRY(choose(&names, url, wants_best ? NULL : checkpoint, arena, &chosen, error));
    LIANA_TRY(resolve(remote, &names, url, chosen, arena, folder, error));
    if (!wants_best) return LIANA_OK;
    /* The newest one says which is the best. */
    const char *checkpoints = liana__path_join(arena, *folder, "checkpoints");
    const char *best = checkpoints ? liana__checkpoint_best(checkpoints, arena) : NULL;
    if (!best || !*best) {
        return liana__fail(error, LIANA_NOT_FOUND,
                           "'%s' has no best checkpoint; ask for one with checkpoint.best in its configuration", url);
    }
    LIANA_TRY(choose(&names, url, best, arena, &chosen, error));
    return resolve(remote, &names, url, chosen, arena, folder, error);
}
