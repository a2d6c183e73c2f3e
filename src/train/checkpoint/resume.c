/* Finds the newest checkpoint that is whole. */
#include "train/checkpoint/resume.h"

#include "remote/remote.h"

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

/* The newest that can be loaded; *damage is the last failure. */
static liana_status load_newest(const liana__paths *all, liana__training *training, const liana__notes *notes,
                                const char **path, liana__error *damage)
{
    for (size_t i = all->count; i-- > 0;) {
        liana__error own = {0};
        LIANA_TRY(find_stage(all->items[i], training, damage));
        liana_status status = liana__checkpoint_load(all->items[i], &training->variables, &training->state, &own);
        if (status == LIANA_OK) {
            *path = all->items[i];
            return LIANA_OK;
        }
        *damage = own;
        if (status != LIANA_DATA_LOSS) return status;
        liana__note(notes, "%s", own.message);
    }
    return damage->status;
}

liana_status liana__checkpoint_resume(const char *folder, liana__training *training, const liana__notes *notes,
                                      liana__arena *arena, const char **path, liana__error *error)
{
    liana__paths all;
    liana__error damage = {0};
    *path = NULL;
    LIANA_TRY(liana__checkpoint_list(folder, arena, &all, error));
    liana_status status = load_newest(&all, training, notes, path, &damage);
    if (status != LIANA_OK) {
        if (error) *error = damage;
        if (status != LIANA_DATA_LOSS) return status;
        return liana__fail_within(
            error, "every checkpoint in '%s' is damaged; to start from the beginning, remove that folder",
            liana__remote_name(folder));
    }
    training->state.recompute_memory = training->recompute == LIANA_RECOMPUTE_AUTO ? training->memory : 0;
    for (size_t i = all.count; i-- > 0 && all.items[i] != *path;) {
        LIANA_TRY(liana__checkpoint_set_aside(all.items[i], error));
        liana__note(notes, "the damaged checkpoint was set aside as '%s.damaged'", liana__remote_name(all.items[i]));
    }
    return LIANA_OK;
}
