/* Finds the newest checkpoint that is whole. */
#include "train/checkpoint/resume.h"

#include "remote/remote.h"

#include <sys/stat.h>

/* The training goes to the stage of a checkpoint, whose variables it then has. */
static liana_status find_stage(const char *path, liana__training *training, liana__error *error)
{
    static const liana__notes silent;
    int64_t stage = training->stages ? liana__checkpoint_stage(path) : training->state.stage;
    if (stage < 0 || stage == training->state.stage) return LIANA_OK;
    if ((size_t)stage < training->stages->count) {
        return liana__training_begin_stage(training, (size_t)stage, &silent, error);
    }
    return liana__fail(error, LIANA_INVALID_DATA, "'%s': it is of stage %lld, but there are %zu", path,
                       (long long)stage + 1, training->stages->count);
}

/* Of a cluster: process `chief`, which alone has a list, finds the newest that is whole, and all load it. */
static liana_status load_shared(const liana__paths *all, size_t chief, liana__training *training,
                                const liana__notes *notes, liana__arena *arena, const char **path, liana__error *damage)
{
    liana__cluster *cluster = training->cluster;
    liana_status status = LIANA_OK;
    for (size_t i = all->count; !*path && i-- > 0;) {
        status = liana__checkpoint_verify(all->items[i], training->state.matches, damage);
        if (status == LIANA_OK) *path = all->items[i];
        if (status != LIANA_OK && status != LIANA_DATA_LOSS) break;
        if (status != LIANA_OK) liana__note(notes, "%s", damage->message);
    }
    LIANA_TRY(liana__cluster_agree_status(cluster, status, damage));
    const char *here = *path;
    status = liana__checkpoint_share(cluster, chief, arena, &here, damage);
    if (status == LIANA_OK && here) status = find_stage(here, training, damage);
    if (status == LIANA_OK && here) {
        status = liana__checkpoint_load(here, &training->variables, &training->state, damage);
        status = liana__cluster_agree_status(cluster, status, damage);
    }
    liana__checkpoint_unshare(cluster, chief, here);
    *path = here;
    return status;
}

/* Other arithmetic than before is allowed, and said. */
static void note_exchange(const liana__training *training, const liana__notes *notes)
{
    const liana__training_state *state = &training->state;
    if (strcmp(state->exchange, state->loaded_exchange) == 0) return;
    liana__note(
        notes,
        "the checkpoint was saved with gradients exchanged with %s; resuming with %s, which rounds differently; "
        "results will not be bit-identical to those of either",
        *state->loaded_exchange ? state->loaded_exchange : "the bits of one process",
        *state->exchange ? state->exchange : "the bits of one process");
}

/* Whose stage it is, is known only of one that is of this training. */
static liana_status load_at(const char *path, liana__training *training, liana__error *error)
{
    const liana__value *matches = training->state.matches;
    if (training->stages && matches) LIANA_TRY(liana__checkpoint_matches(path, matches, error));
    LIANA_TRY(find_stage(path, training, error));
    return liana__checkpoint_load(path, &training->variables, &training->state, error);
}

/* The newest that can be loaded; *damage is the error of the newest of all. */
static liana_status load_newest(const liana__paths *all, liana__training *training, const liana__notes *notes,
                                const char **path, liana__error *damage)
{
    for (size_t i = all->count; i-- > 0;) {
        liana__error own = {0};
        liana_status status = load_at(all->items[i], training, &own);
        if (status == LIANA_OK) {
            *path = all->items[i];
            return LIANA_OK;
        }
        if (damage->status == LIANA_OK || status != LIANA_DATA_LOSS) *damage = own;
        if (status != LIANA_DATA_LOSS) return status;
        liana__note(notes, "%s", own.message);
    }
    return damage->status;
}

static liana_status list_with(const char *folder, const char *newer, liana__arena *arena, liana__paths *all,
                              liana__error *error)
{
    LIANA_TRY(liana__checkpoint_list(folder, arena, all, error));
    if (!newer) return LIANA_OK;
    char **items = liana__arena_allocate(arena, (all->count + 1) * sizeof *items);
    char *last = liana__arena_string(arena, newer);
    if (!items || !last) return liana__fail_memory(error, "the list of checkpoints");
    if (all->count) memcpy(items, all->items, all->count * sizeof *items);
    items[all->count] = last;
    *all = (liana__paths){items, all->count + 1};
    return LIANA_OK;
}

/* The rank of the chief, the same for all. */
static liana_status name_chief(liana__cluster *cluster, uint64_t *chief, liana__error *error)
{
    *chief = cluster ? cluster->place.rank : 0;
    return cluster ? liana__cluster_follow_chief(cluster, chief, sizeof *chief, error) : LIANA_OK;
}

/* Only the chief of a cluster has a folder. */
static liana_status list_own(const char *folder, const char *newer, liana__cluster *cluster, size_t chief,
                             liana__arena *arena, liana__paths *all, liana__error *error)
{
    *all = (liana__paths){0};
    const bool lists = !cluster || cluster->place.rank == chief;
    const liana_status status = lists ? list_with(folder, newer, arena, all, error) : LIANA_OK;
    return liana__cluster_agree_status(cluster, status, error);
}

/* Of a cluster: if the chief dies before all have its checkpoint, they get the next chief's. */
static liana_status load_together(const char *folder, const char *newer, liana__training *training,
                                  const liana__notes *notes, liana__arena *arena, liana__paths *all, const char **path,
                                  liana__error *damage)
{
    liana__cluster *cluster = training->cluster;
    liana_status status;
    uint64_t chief, next;
    LIANA_TRY(name_chief(cluster, &next, damage));
    do {
        chief = next;
        *path = NULL;
        status = list_own(folder, newer, cluster, chief, arena, all, damage);
        if (status == LIANA_OK) status = load_shared(all, chief, training, notes, arena, path, damage);
        const bool is_gone = status == LIANA_UNAVAILABLE && !liana__cluster_is_member(cluster, chief);
        if (status != LIANA_OK && !is_gone) return status;
        LIANA_TRY(name_chief(cluster, &next, damage));
    } while (next != chief);
    return status;
}

static liana_status load_alone(const char *folder, const char *newer, liana__training *training,
                               const liana__notes *notes, liana__arena *arena, liana__paths *all, const char **path,
                               liana__error *damage)
{
    LIANA_TRY(list_own(folder, newer, NULL, 0, arena, all, damage));
    return load_newest(all, training, notes, path, damage);
}

liana_status liana__checkpoint_resume(const char *folder, const char *newer, liana__training *training,
                                      const liana__notes *notes, liana__arena *arena, const char **path,
                                      liana__error *error)
{
    liana__paths all;
    liana__error damage = {0};
    *path = NULL;
    liana_status status = training->cluster ? load_together(folder, newer, training, notes, arena, &all, path, &damage)
                                            : load_alone(folder, newer, training, notes, arena, &all, path, &damage);
    if (status != LIANA_OK) {
        if (error) *error = damage;
        if (status != LIANA_DATA_LOSS) return status;
        return liana__fail_within(error,
                                  "no checkpoint in '%s' can be used; to start from the beginning, remove that folder",
                                  liana__remote_name(folder));
    }
    training->state.recompute_memory = training->recompute == LIANA_RECOMPUTE_AUTO ? training->memory : 0;
    if (*path) note_exchange(training, notes);
    for (size_t i = all.count; i-- > 0 && all.items[i] != *path;) {
        LIANA_TRY(liana__checkpoint_set_aside(all.items[i], ".damaged", error));
        liana__note(notes, "what is not used there was set aside as '%s.damaged'", liana__remote_name(all.items[i]));
    }
    return LIANA_OK;
}

/* The place of the chosen one in the list; its end: it is in another folder. */
static size_t find_place(const liana__paths *all, const char *path)
{
    struct stat own, found;
    size_t i = 0;
    if (stat(path, &own) != 0) return all->count;
    for (; i < all->count; i++) {
        if (stat(all->items[i], &found) == 0 && found.st_dev == own.st_dev && found.st_ino == own.st_ino) break;
    }
    return i;
}

liana_status liana__checkpoint_resume_from(const char *folder, const char *path, liana__training *training,
                                           const liana__notes *notes, liana__arena *arena, liana__error *error)
{
    liana__paths all;
    uint64_t chief;
    LIANA_TRY(name_chief(training->cluster, &chief, error));
    LIANA_TRY(list_own(folder, NULL, training->cluster, chief, arena, &all, error));
    size_t place = !training->cluster || training->cluster->place.rank == chief ? find_place(&all, path) : 0;
    liana_status status = LIANA_OK;
    if (place == all.count && all.count) {
        status =
            liana__fail(error, LIANA_INVALID_CONFIG,
                        "'%s' is a checkpoint of another folder, and '%s' has checkpoints of its own: choose another "
                        "folder for the run that goes on from there",
                        path, liana__remote_name(folder));
    }
    LIANA_TRY(liana__cluster_agree_status(training->cluster, status, error));
    /* A checkpoint of another folder begins another run, whose settings may differ. */
    uint64_t is_elsewhere = place == all.count;
    if (training->cluster) {
        LIANA_TRY(liana__cluster_tell(training->cluster, chief, &is_elsewhere, sizeof is_elsewhere, error));
        LIANA_TRY(liana__checkpoint_share(training->cluster, chief, arena, &path, error));
    }
    if (is_elsewhere) training->state.matches = NULL;
    status = find_stage(path, training, error);
    if (status == LIANA_OK) status = liana__checkpoint_load(path, &training->variables, &training->state, error);
    liana__checkpoint_unshare(training->cluster, chief, path);
    LIANA_TRY(liana__cluster_agree_status(training->cluster, status, error));
    training->state.recompute_memory = training->recompute == LIANA_RECOMPUTE_AUTO ? training->memory : 0;
    note_exchange(training, notes);
    for (size_t i = all.count; i-- > place + 1;) {
        LIANA_TRY(liana__checkpoint_set_aside(all.items[i], ".rewound", error));
        liana__note(notes, "the newer checkpoint was set aside as '%s.rewound'", liana__remote_name(all.items[i]));
    }
    return LIANA_OK;
}
