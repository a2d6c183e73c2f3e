/* Evaluates the checkpoints of a run that is being trained. */
#include "train/run/run_follow.h"

#include "base/clock.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "remote/store.h"
#include "train/checkpoint/remote_checkpoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

LIANA__SCOPED_POINTER(liana__remote_destroy, liana__remote)

enum { MOST_EVALUATIONS_BYTES = 1 << 28, NANOSECONDS_BETWEEN_QUESTIONS = 50000000 };
static const char EVALUATIONS[] = "evaluations.json";

/* ---- waiting ---- */

static liana_status check_stop(const liana__follow_options *options, liana__error *error)
{
    if (!options->stop || !options->stop(options->user)) return LIANA_OK;
    return liana__fail(error, LIANA_CANCELLED, "stopped on request; the same command goes on where it was");
}

static liana_status pause_between(const liana__follow_options *options, liana__error *error)
{
    const double end = liana__clock_seconds() + options->interval;
    do {
        LIANA_TRY(check_stop(options, error));
        nanosleep(&(struct timespec){.tv_nsec = NANOSECONDS_BETWEEN_QUESTIONS}, NULL);
    } while (liana__clock_seconds() < end);
    return check_stop(options, error);
}

/* ---- checkpoints ---- */

static liana_status list_remote(const liana__follow_options *options, liana__arena *arena, bool *is_run,
                                liana__paths *names, liana__error *error)
{
    LIANA__SCOPED_BY(liana__remote_destroy_scoped) liana__remote *remote = NULL;
    liana__paths all;
    LIANA_TRY(liana__remote_create(&options->remote, &remote, error));
    LIANA_TRY(liana__store_list(remote, options->run, arena, &all, error));
    LIANA_TRY(liana__checkpoints_complete(&all, "checkpoints/", arena, names, error));
    for (size_t i = 0; i < all.count; i++) {
        *is_run = *is_run || strcmp(all.items[i], "config.yaml") == 0;
    }
    return LIANA_OK;
}

static liana_status list_local(const liana__follow_options *options, liana__arena *arena, bool *is_run,
                               liana__paths *names, liana__error *error)
{
    const char *config = liana__path_join(arena, options->run, "config.yaml"),
               *folder = liana__path_join(arena, options->run, "checkpoints");
    if (!config || !folder) return liana__fail_memory(error, "the run folder");
    *is_run = liana__file_exists(config);
    LIANA_TRY(liana__checkpoint_list(folder, arena, names, error));
    for (size_t i = 0; i < names->count; i++) {
        names->items[i] = liana__arena_string(arena, liana__path_name(names->items[i]));
    }
    if (arena->failed) return liana__fail_memory(error, "the names of checkpoints");
    return LIANA_OK;
}

/* The names of all checkpoints, oldest first, and whether the folder is a run's. */
static liana_status list_checkpoints(const liana__follow_options *options, liana__arena *arena, bool *is_run,
                                     liana__paths *names, liana__error *error)
{
    *is_run = false;
    *names = (liana__paths){0};
    return liana__path_is_remote(options->run) ? list_remote(options, arena, is_run, names, error)
                                               : list_local(options, arena, is_run, names, error);
}

liana_status liana__follow_wait(const liana__follow_options *options, liana__error *error)
{
    for (bool told = false;;) {
        liana__arena arena = {0};
        liana__paths names;
        bool is_run;
        liana_status status = list_checkpoints(options, &arena, &is_run, &names, error);
        const bool ready = is_run && names.count > 0;
        liana__arena_free(&arena);
        LIANA_TRY(status);
        if (ready) return LIANA_OK;
        if (!told) {
            liana__note(&(liana__notes){options->on_note, options->user}, "waiting for the first checkpoint in '%s'%s",
                        options->run, is_run ? "" : ", which is no run folder yet");
        }
        told = true;
        LIANA_TRY(pause_between(options, error));
    }
}

/* ---- the list of results ---- */

typedef struct follower {
    liana__run *run;
    const liana__follow_options *options;
    liana__arena arena;
    const char *file;          /* evaluations.json, a path or a URL */
    liana__value *evaluations; /* a list of maps */
    liana__paths gone;         /* names of checkpoints that could not be read */
    size_t capacity;           /* of them */
    liana__totals totals;
} follower;

static liana_status fail_list(const follower *own, liana__error *error)
{
    return liana__fail(
        error, LIANA_INVALID_DATA,
        "'%s' is not a list of evaluations, expected {\"evaluations\": [...]}; remove it to evaluate the "
        "checkpoints again",
        own->file);
}

static liana_status read_list(follower *own, liana__error *error)
{
    char *data;
    size_t size;
    liana__error reason = {0};
    liana_status status =
        liana__remote_read(own->file, &own->options->remote, MOST_EVALUATIONS_BYTES, &data, &size, &reason);
    if (status == LIANA_NOT_FOUND) {
        own->evaluations = liana__value_list(&own->arena);
        return own->evaluations ? LIANA_OK : liana__fail_memory(error, own->file);
    }
    if (status != LIANA_OK) {
        if (error) *error = reason;
        return status;
    }
    liana__value *root;
    status = liana__json_parse(data, size, own->file, &own->arena, &root, error);
    free(data);
    LIANA_TRY(status);
    own->evaluations = root->kind == LIANA__VALUE_MAP ? (liana__value *)liana__value_get(root, "evaluations") : NULL;
    bool is_list = own->evaluations && own->evaluations->kind == LIANA__VALUE_LIST;
    for (size_t i = 0; is_list && i < own->evaluations->count; i++) {
        const liana__value *item = own->evaluations->items[i];
        const liana__value *name = item->kind == LIANA__VALUE_MAP ? liana__value_get(item, "checkpoint") : NULL;
        is_list = name && name->kind == LIANA__VALUE_STRING;
    }
    return is_list ? LIANA_OK : fail_list(own, error);
}

static liana_status write_list(follower *own, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__text) text = {0};
    liana__value *root = liana__value_map(&arena);
    if (root) liana__value_set(&arena, root, "evaluations", own->evaluations);
    if (root) liana__value_write_json(root, 2, &text);
    return arena.failed || own->arena.failed || text.failed
               ? liana__fail_memory(error, own->file)
               : liana__store_replace(own->file, text.data, text.length, error);
}

static bool is_known(const follower *own, const char *name)
{
    for (size_t i = 0; i < own->gone.count; i++) {
        if (strcmp(own->gone.items[i], name) == 0) return true;
    }
    for (size_t i = 0; i < own->evaluations->count; i++) {
        if (strcmp(liana__value_get(own->evaluations->items[i], "checkpoint")->string, name) == 0) return true;
    }
    return false;
}

static void add_result(follower *own, const char *name, const liana__checkpoint_place *place)
{
    liana__arena *arena = &own->arena;
    const liana__training *core = &own->run->core;
    liana__value *item = liana__value_map(arena);
    liana__value_set(arena, item, "checkpoint", liana__value_string(arena, name));
    liana__value_set(arena, item, "iteration", liana__value_int(arena, place->iteration));
    liana__value_set(arena, item, "epoch", liana__value_int(arena, place->epoch));
    liana__value_set(arena, item, "step", liana__value_int(arena, place->step));
    for (size_t i = 0; i <= core->num_metrics; i++) {
        liana__value_set(arena, item, i ? core->metric_names[i - 1] : "loss",
                         liana__value_float(arena, liana__totals_value(&own->totals, i)));
    }
    liana__value_set(arena, item, "examples", liana__value_int(arena, own->totals.count));
    liana__value_set(arena, item, "bad_records", liana__value_int(arena, own->totals.bad_records));
    liana__value_add(arena, own->evaluations, item);
}

/* ---- a checkpoint ---- */

/* Its local path; NULL: it is gone. `remote` shows it, where it is in a bucket. */
static liana_status find_checkpoint(const follower *own, const char *name, liana__remote *remote, liana__arena *arena,
                                    const char **path, liana__error *error)
{
    const char *folder = own->options->run;
    liana__error reason = {0};
    *path = NULL;
    if (remote) {
        liana_status status = liana__remote_run(remote, folder, name, arena, &folder, &reason);
        if (status == LIANA_NOT_FOUND) return LIANA_OK;
        if (status != LIANA_OK) {
            if (error) *error = reason;
            return status;
        }
    }
    const char *checkpoints = liana__path_join(arena, folder, "checkpoints");
    const char *found = checkpoints ? liana__path_join(arena, checkpoints, name) : NULL;
    if (!found) return liana__fail_memory(error, name);
    if (liana__folder_exists(found)) *path = found;
    return LIANA_OK;
}

static liana_status leave_out(follower *own, const char *name, const char *why, liana__error *error)
{
    char *copy = liana__arena_string(&own->arena, name);
    if (!copy || !liana__grow(&own->gone.items, own->gone.count, &own->capacity, sizeof *own->gone.items)) {
        return liana__fail_memory(error, name);
    }
    own->gone.items[own->gone.count++] = copy;
    liana__note(&(liana__notes){own->options->on_note, own->options->user}, "left out: %s", why);
    return LIANA_OK;
}

static liana_status measure(follower *own, const char *name, const char *path, const liana__checkpoint_place *place,
                            liana__error *error)
{
    liana__run *run = own->run;
    LIANA_TRY(liana__evaluate(run->core.trainer, run->validation.loader, 0, &own->totals, NULL, NULL, error));
    add_result(own, name, place);
    LIANA_TRY(write_list(own, error));
    const liana__follow_options *options = own->options;
    if (!options->on_evaluation) return LIANA_OK;
    return options->on_evaluation(options->user, liana__remote_name(path), &own->totals, error);
}

/* A training does not wait for the readers of its checkpoints: one may be removed while it is read. */
static liana_status evaluate_one(follower *own, const char *name, liana__remote *remote, liana__arena *arena,
                                 liana__error *error)
{
    const char *path;
    liana__checkpoint_place place;
    liana__error reason = {0};
    LIANA_TRY(find_checkpoint(own, name, remote, arena, &path, error));
    liana_status status = path ? liana__checkpoint_read_place(path, &place, &reason) : LIANA_OK;
    if (path && status == LIANA_OK) {
        status = liana__checkpoint_load(path, &own->run->core.variables, NULL, &reason);
    }
    if (path && status == LIANA_OK) return measure(own, name, path, &place, error);
    if (!path || !liana__folder_exists(path)) {
        snprintf(reason.message, sizeof reason.message, "'%s' was removed before it could be read", name);
    } else if (status != LIANA_DATA_LOSS) {
        if (error) *error = reason;
        return status;
    }
    return leave_out(own, name, reason.message, error);
}

static liana_status evaluate_checkpoint(follower *own, const char *name, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED_BY(liana__remote_destroy_scoped) liana__remote *remote = NULL;
    if (liana__path_is_remote(own->options->run)) {
        LIANA_TRY(liana__remote_create(&own->options->remote, &remote, error));
    }
    const liana_status status = evaluate_one(own, name, remote, &arena, error);
    if (status != LIANA_OK && remote) liana__remote_fail_within(remote, error);

    return status;
}

/* Whether the newest checkpoint is that of the end of a training. A checkpoint may become one under the same name. */
static bool is_over(const follower *own, const char *newest, liana__arena *arena)
{
    liana__error ignored;
    char *data;
    size_t size;
    liana__value *state;
    const char *file =
        liana__arena_format(arena, "%s/checkpoints/%s/%s", own->options->run, newest, liana__checkpoint_state);
    if (!file) return false;
    if (liana__remote_read(file, &own->options->remote, MOST_EVALUATIONS_BYTES, &data, &size, &ignored) != LIANA_OK) {
        return false;
    }
    bool read = liana__json_parse(data, size, file, arena, &state, &ignored) == LIANA_OK;
    free(data);
    return read && state->kind == LIANA__VALUE_MAP && liana__value_get(state, "ended");
}

/* Evaluates new checkpoints. *over: nothing more will come. */
static liana_status look(follower *own, bool *over, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__paths names;
    bool is_run, any = false;
    liana_status status = list_checkpoints(own->options, &arena, &is_run, &names, error);
    for (size_t i = 0; status == LIANA_OK && i < names.count; i++) {
        if (is_known(own, names.items[i])) continue;
        any = true;
        status = check_stop(own->options, error);
        if (status == LIANA_OK) status = evaluate_checkpoint(own, names.items[i], error);
    }
    /* Checkpoints may have come meanwhile: only a look that finds nothing new ends it. */
    *over = status == LIANA_OK && !any && names.count && is_over(own, names.items[names.count - 1], &arena);
    return status;
}

liana_status liana__run_follow(liana__run *run, const liana__follow_options *options, liana__error *error)
{
    follower own = {.run = run, .options = options};
    own.file = liana__arena_format(&own.arena, "%s/%s", options->run, EVALUATIONS);
    liana_status status = own.file ? read_list(&own, error) : liana__fail_memory(error, EVALUATIONS);
    for (bool over = false, first = true; status == LIANA_OK && !over; first = false) {
        const size_t before = own.evaluations->count;
        status = look(&own, &over, error);
        const bool waits = status == LIANA_OK && !over && own.evaluations->count == before;
        if (waits && first) {
            liana__note(&(liana__notes){options->on_note, options->user}, "waiting for new checkpoints in '%s'",
                        options->run);
        }
        if (waits) status = pause_between(options, error);
    }
    free(own.gone.items);
    liana__totals_free(&own.totals);
    liana__arena_free(&own.arena);
    return status;
}
