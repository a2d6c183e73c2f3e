/* Writes and reads the history of a run. */
#include "train/training/history.h"

#include "base/value_read.h"
#include "formats/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

liana__measured liana__totals_finish(const liana__totals *totals)
{
    liana__measured measured = {.count = totals->count, .bad_records = totals->bad_records};
    for (size_t i = 0; totals->objective && i < totals->objective->num_values; i++) {
        measured.values[i] = liana__totals_value(totals, i);
    }
    return measured;
}

bool liana__history_measure(liana__history *history, const liana__totals *totals, liana__measured *measured,
                            const double **lists)
{
    const liana__objective *objective = totals->objective;
    *measured = liana__totals_finish(totals);
    *lists = NULL;
    if (!objective || !totals->count || !objective->num_listed) return true;
    double *values = liana__arena_allocate(&history->arena, objective->num_listed * sizeof *values);
    if (!values) return false;
    liana__totals_lists(totals, values);
    *lists = values;
    return true;
}

void liana__history_free(liana__history *history)
{
    liana__arena_free(&history->arena);
    free(history->epochs);
    free(history->timings);
    *history = (liana__history){0};
}

bool liana__history_add(liana__history *history, const liana__history_epoch *epoch, const liana__timing_epoch *timing)
{
    size_t count = history->count;
    if (!liana__grow(&history->epochs, count, &history->epoch_capacity, sizeof *history->epochs)) return false;
    if (!liana__grow(&history->timings, count, &history->timing_capacity, sizeof *history->timings)) return false;
    history->epochs[count] = *epoch;
    history->timings[count] = *timing;
    history->count++;
    return true;
}

static void set_values(const liana__measured *measured, const char *prefix, const liana__objective *objective,
                       liana__value *map, liana__arena *arena)
{
    for (size_t i = 0; i < objective->num_values; i++) {
        const char *key = liana__arena_format(arena, "%s%s", prefix, objective->value_names[i]);
        liana__value_set(arena, map, key, liana__value_float(arena, measured->values[i]));
    }
}

/* Nothing, where all updates were good. */
static void set_bad_updates(const liana__history_epoch *epoch, liana__value *map, liana__arena *arena)
{
    if (epoch->skipped_updates) {
        liana__value_set(arena, map, "skipped_updates", liana__value_int(arena, epoch->skipped_updates));
    }
    if (epoch->restores) liana__value_set(arena, map, "restores", liana__value_int(arena, epoch->restores));
}

/* Nothing, where an older liana trained. */
static void set_global_step(const liana__history_epoch *epoch, liana__value *map, liana__arena *arena)
{
    if (epoch->global_step) liana__value_set(arena, map, "global_step", liana__value_int(arena, epoch->global_step));
}

static liana__value *list_of(const double *numbers, size_t count, liana__arena *arena)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < count; i++) liana__value_add(arena, list, liana__value_float(arena, numbers[i]));
    return list;
}

static void set_lists(const double *lists, const char *prefix, const liana__objective *objective, liana__value *map,
                      liana__arena *arena)
{
    for (size_t i = 0; lists && i < objective->num_metrics; i++) {
        const liana__objective_metric *metric = &objective->metrics[i];
        if (!metric->num_values || metric->choice.metric->is_matrix) continue;
        const char *key = liana__arena_format(arena, "%s%s", prefix, metric->name);
        liana__value_set(arena, map, key, list_of(lists, metric->num_values, arena));
        lists += metric->num_values;
    }
}

liana__value *liana__history_value(const liana__history *history, const liana__objective *objective,
                                   liana__arena *arena)
{
    liana__value *root = liana__value_map(arena), *epochs = liana__value_list(arena);
    for (size_t i = 0; i < history->count; i++) {
        const liana__history_epoch *epoch = &history->epochs[i];
        liana__value *map = liana__value_map(arena);
        liana__value_set(arena, map, "epoch", liana__value_int(arena, history->first_epoch + (int64_t)i + 1));
        set_global_step(epoch, map, arena);
        set_values(&epoch->training, "", objective, map, arena);
        if (epoch->validation.count) set_values(&epoch->validation, "val_", objective, map, arena);
        set_lists(epoch->training_lists, "", objective, map, arena);
        set_lists(epoch->validation_lists, "val_", objective, map, arena);
        liana__value_set(arena, map, "learning_rate", liana__value_float(arena, epoch->learning_rate));
        liana__value_set(arena, map, "bad_records", liana__value_int(arena, epoch->training.bad_records));
        set_bad_updates(epoch, map, arena);
        liana__gradient_counts_set(&epoch->gradients, map, arena);
        if (epoch->validation.count) {
            liana__value_set(arena, map, "val_bad_records", liana__value_int(arena, epoch->validation.bad_records));
        }
        liana__value_add(arena, epochs, map);
    }
    liana__value_set(arena, root, "epochs", epochs);
    return root;
}

bool liana__history_is_measure(const char *key)
{
    static const char *const others[] = {"epoch",           "global_step",     "learning_rate", "bad_records",
                                         "val_bad_records", "skipped_updates", "restores"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(key, others[i]) == 0) return false;
    }
    return true;
}

liana__value *liana__timing_value(const liana__history *history, liana__arena *arena)
{
    liana__value *root = liana__value_map(arena), *epochs = liana__value_list(arena);
    for (size_t i = 0; i < history->count; i++) {
        const liana__timing_epoch *timing = &history->timings[i];
        double seconds = timing->seconds > 0 ? timing->seconds : 1e-9;
        liana__value *map = liana__value_map(arena);
        liana__value_set(arena, map, "epoch", liana__value_int(arena, history->first_epoch + (int64_t)i + 1));
        liana__value_set(arena, map, "seconds", liana__value_float(arena, timing->seconds));
        const double rate = (double)timing->images / seconds;
        liana__value_set(arena, map, "examples_per_second", liana__value_float(arena, rate));
        liana__value_set(arena, map, "input_wait", liana__value_float(arena, timing->wait / seconds));
        liana__value_set(arena, map, "images_per_second", liana__value_float(arena, rate)); /* its old name */
        liana__value_add(arena, epochs, map);
    }
    liana__value_set(arena, root, "epochs", epochs);
    return root;
}

/* ---- exact state ---- */

static void set_counts(liana__arena *arena, liana__value *map, int64_t count, int64_t bad_records)
{
    liana__value_set(arena, map, "count", liana__value_int(arena, count));
    liana__value_set(arena, map, "bad_records", liana__value_int(arena, bad_records));
}

/* Before the first example there are no sums to write. */
liana__value *liana__totals_state(const liana__totals *totals, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena);
    size_t count = totals->objective && totals->count ? totals->objective->num_sums : 0;
    liana__value_set(arena, map, "sums", list_of(totals->sums, count, arena));
    set_counts(arena, map, totals->count, totals->bad_records);
    return map;
}

/* Reads a list of `expected` numbers. */
static bool read_numbers(const liana__value *list, double *numbers, size_t expected)
{
    if (!list || list->kind != LIANA__VALUE_LIST || list->count != expected) return false;
    for (size_t i = 0; i < expected; i++) {
        const liana__value *item = list->items[i];
        if (item->kind != LIANA__VALUE_FLOAT && item->kind != LIANA__VALUE_INT) return false;
        numbers[i] = item->number;
    }
    return true;
}

static bool read_counts(const liana__value *map, int64_t *count, int64_t *bad_records)
{
    const liana__value *number = liana__value_get(map, "count");
    if (!number || number->kind != LIANA__VALUE_INT || number->integer < 0) return false;
    *count = number->integer;
    /* An older liana wrote none. */
    const liana__value *bad = liana__value_get(map, "bad_records");
    *bad_records = bad ? bad->integer : 0;
    return true;
}

liana_status liana__totals_read(const liana__value *value, liana__totals *totals, liana__error *error)
{
    const liana__value *sums = liana__value_get(value, "sums");
    size_t expected = totals->objective->num_sums;
    liana__totals_clear(totals);
    bool fits = read_counts(value, &totals->count, &totals->bad_records);
    bool none = fits && totals->count == 0 && sums && sums->kind == LIANA__VALUE_LIST && sums->count == 0;
    if (fits && (none || read_numbers(sums, totals->sums, expected))) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "the sums do not belong to these losses and metrics, which have %zu",
                       expected);
}

static liana__value *measured_value(const liana__measured *measured, const liana__objective *objective,
                                    liana__arena *arena)
{
    liana__value *map = liana__value_map(arena);
    liana__value_set(arena, map, "values", list_of(measured->values, objective->num_values, arena));
    set_counts(arena, map, measured->count, measured->bad_records);
    return map;
}

static void set_state_list(liana__value *map, const char *key, const double *lists, const liana__objective *objective,
                           liana__arena *arena)
{
    if (lists) liana__value_set(arena, map, key, list_of(lists, objective->num_listed, arena));
}

liana__value *liana__history_state(const liana__history *history, const liana__objective *objective,
                                   liana__arena *arena)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < history->count; i++) {
        const liana__history_epoch *epoch = &history->epochs[i];
        const liana__timing_epoch *timing = &history->timings[i];
        liana__value *map = liana__value_map(arena);
        set_global_step(epoch, map, arena);
        liana__value_set(arena, map, "training", measured_value(&epoch->training, objective, arena));
        liana__value_set(arena, map, "validation", measured_value(&epoch->validation, objective, arena));
        set_state_list(map, "training_lists", epoch->training_lists, objective, arena);
        set_state_list(map, "validation_lists", epoch->validation_lists, objective, arena);
        liana__value_set(arena, map, "learning_rate", liana__value_float(arena, epoch->learning_rate));
        set_bad_updates(epoch, map, arena);
        liana__gradient_counts_set(&epoch->gradients, map, arena);
        liana__value_set(arena, map, "seconds", liana__value_float(arena, timing->seconds));
        liana__value_set(arena, map, "images", liana__value_int(arena, timing->images));
        liana__value_set(arena, map, "wait", liana__value_float(arena, timing->wait));
        liana__value_add(arena, list, map);
    }
    return list;
}

static liana_status read_measured(const liana__value *map, const liana__objective *objective, liana__measured *measured,
                                  liana__error *error)
{
    size_t expected = objective->num_values;
    *measured = (liana__measured){0};
    bool fits = read_counts(map, &measured->count, &measured->bad_records);
    if (fits && read_numbers(liana__value_get(map, "values"), measured->values, expected)) return LIANA_OK;
    /* An older liana wrote sums over the examples. */
    if (fits && read_numbers(liana__value_get(map, "sums"), measured->values, expected)) {
        double count = measured->count ? (double)measured->count : 1;
        for (size_t i = 0; i < expected; i++) measured->values[i] /= count;
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_DATA,
                       "the values do not belong to these losses and metrics, which have %zu", expected);
}

/* None, where nothing was measured. */
static liana_status read_lists(const liana__value *list, const liana__objective *objective, liana__history *history,
                               const double **lists, liana__error *error)
{
    *lists = NULL;
    if (!list) return LIANA_OK;
    double *values = liana__arena_allocate(&history->arena, (objective->num_listed + 1) * sizeof *values);
    if (!values) return liana__fail_memory(error, "the history");
    *lists = values;
    if (read_numbers(list, values, objective->num_listed)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "the numbers by class do not belong to these metrics, which have %zu",
                       objective->num_listed);
}

static liana_status read_epoch(const liana__value *map, const liana__objective *objective, liana__history *history,
                               liana__error *error)
{
    liana__history_epoch epoch = {.global_step = (int64_t)liana__value_number_of(map, "global_step", 0),
                                  .learning_rate = liana__value_number_of(map, "learning_rate", 0),
                                  .skipped_updates = (int64_t)liana__value_number_of(map, "skipped_updates", 0),
                                  .restores = (int64_t)liana__value_number_of(map, "restores", 0),
                                  .gradients = liana__gradient_counts_read(map)};
    liana__timing_epoch timing = {.seconds = liana__value_number_of(map, "seconds", 0),
                                  .images = (int64_t)liana__value_number_of(map, "images", 0),
                                  .wait = liana__value_number_of(map, "wait", 0)};
    const liana__value *lists = liana__value_get(map, "training_lists"),
                       *validation_lists = liana__value_get(map, "validation_lists");
    LIANA_TRY(read_measured(liana__value_get(map, "training"), objective, &epoch.training, error));
    LIANA_TRY(read_measured(liana__value_get(map, "validation"), objective, &epoch.validation, error));
    LIANA_TRY(read_lists(lists, objective, history, &epoch.training_lists, error));
    LIANA_TRY(read_lists(validation_lists, objective, history, &epoch.validation_lists, error));
    return liana__history_add(history, &epoch, &timing) ? LIANA_OK : liana__fail_memory(error, "the history");
}

liana_status liana__history_read(const liana__value *value, const liana__objective *objective, liana__history *history,
                                 liana__error *error)
{
    *history = (liana__history){0};
    if (!value || value->kind != LIANA__VALUE_LIST) {
        return liana__fail(error, LIANA_INVALID_DATA, "there is no list of epochs");
    }
    for (size_t i = 0; i < value->count; i++) {
        if (read_epoch(value->items[i], objective, history, error) == LIANA_OK) continue;
        liana__history_free(history);
        return liana__fail_within(error, "epoch %zu", i + 1);
    }
    return LIANA_OK;
}

liana_status liana__history_file_epochs(const char *path, size_t least, liana__arena *arena,
                                        const liana__value **epochs, liana__error *error)
{
    liana__value *root;
    LIANA_TRY(liana__json_read(path, arena, &root, error));
    *epochs = liana__value_list_of(root, "epochs");
    bool is_list = *epochs && (*epochs)->count >= least;
    for (size_t i = 0; is_list && i < (*epochs)->count; i++) is_list = (*epochs)->items[i]->kind == LIANA__VALUE_MAP;
    if (is_list) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "'%s': expected {\"epochs\": [{...}, ...]}%s", path,
                       least ? " with at least one epoch" : "");
}

/* ---- counts of gradients as values ---- */

static const char KEY[] = "gradients";

void liana__gradient_counts_set(const liana__span_counts *counts, liana__value *map, liana__arena *arena)
{
    if (counts->computed + counts->skipped == 0) return;
    const double mean = counts->measured ? (double)counts->staleness / (double)counts->measured : 0;
    liana__value *own = liana__value_map(arena);
    liana__value_set(arena, own, "reproducible", liana__value_bool(arena, false));
    liana__value_set(arena, own, "computed", liana__value_int(arena, (int64_t)counts->computed));
    liana__value_set(arena, own, "used", liana__value_int(arena, (int64_t)counts->used));
    liana__value_set(arena, own, "dropped", liana__value_int(arena, (int64_t)counts->dropped));
    liana__value_set(arena, own, "skipped", liana__value_int(arena, (int64_t)counts->skipped));
    liana__value_set(arena, own, "mean_staleness", liana__value_float(arena, mean));
    liana__value_set(arena, own, "largest_staleness", liana__value_int(arena, (int64_t)counts->largest_staleness));
    liana__value_set(arena, own, "sum_of_staleness", liana__value_int(arena, (int64_t)counts->staleness));
    liana__value_set(arena, own, "measured", liana__value_int(arena, (int64_t)counts->measured));
    liana__value_set(arena, own, "partly_used", liana__value_int(arena, (int64_t)counts->partly_used));
    liana__value_set(arena, own, "undone", liana__value_int(arena, (int64_t)counts->undone));
    liana__value_set(arena, own, "examples_lost", liana__value_int(arena, (int64_t)counts->examples_lost));
    liana__value_set(arena, map, KEY, own);
}

static uint64_t count_of(const liana__value *map, const char *key)
{
    const int64_t count = liana__value_int_of(map, key, 0);
    return count > 0 ? (uint64_t)count : 0;
}

liana__span_counts liana__gradient_counts_read(const liana__value *map)
{
    const liana__value *own = liana__value_get(map, KEY);
    if (!own || own->kind != LIANA__VALUE_MAP) return (liana__span_counts){0};
    return (liana__span_counts){.computed = count_of(own, "computed"),
                                .used = count_of(own, "used"),
                                .dropped = count_of(own, "dropped"),
                                .skipped = count_of(own, "skipped"),
                                .measured = count_of(own, "measured"),
                                .partly_used = count_of(own, "partly_used"),
                                .undone = count_of(own, "undone"),
                                .examples_lost = count_of(own, "examples_lost"),
                                .staleness = count_of(own, "sum_of_staleness"),
                                .largest_staleness = count_of(own, "largest_staleness")};
}
