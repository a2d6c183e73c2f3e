/* Writes and reads the history of a run. */
#include "train/core/history.h"

#include <stdio.h>
#include <stdlib.h>

void liana__totals_add(liana__totals *totals, const liana__trainer_sums *sums, int64_t count, int64_t bad_records)
{
    for (size_t i = 0; i <= LIANA__MAX_METRICS; i++) totals->values[i] += (double)sums->values[i];
    totals->count += count;
    totals->bad_records += bad_records;
}

double liana__totals_mean(const liana__totals *totals, size_t index)
{
    return totals->count ? totals->values[index] / (double)totals->count : 0;
}

void liana__history_free(liana__history *history)
{
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

static void set_means(const liana__totals *totals, const char *prefix, const char *const *names, size_t num_metrics,
                      liana__value *map, liana__arena *arena)
{
    for (size_t i = 0; i <= num_metrics; i++) {
        const char *key = liana__arena_format(arena, "%s%s", prefix, i ? names[i - 1] : "loss");
        liana__value_set(arena, map, key, liana__value_float(arena, liana__totals_mean(totals, i)));
    }
}

liana__value *liana__history_value(const liana__history *history, const char *const *metric_names, size_t num_metrics,
                                   liana__arena *arena)
{
    liana__value *root = liana__value_map(arena), *epochs = liana__value_list(arena);
    for (size_t i = 0; i < history->count; i++) {
        const liana__history_epoch *epoch = &history->epochs[i];
        liana__value *map = liana__value_map(arena);
        liana__value_set(arena, map, "epoch", liana__value_int(arena, history->first_epoch + (int64_t)i + 1));
        set_means(&epoch->training, "", metric_names, num_metrics, map, arena);
        if (epoch->validation.count) set_means(&epoch->validation, "val_", metric_names, num_metrics, map, arena);
        liana__value_set(arena, map, "learning_rate", liana__value_float(arena, epoch->learning_rate));
        liana__value_set(arena, map, "bad_records", liana__value_int(arena, epoch->training.bad_records));
        if (epoch->validation.count) {
            liana__value_set(arena, map, "val_bad_records", liana__value_int(arena, epoch->validation.bad_records));
        }
        liana__value_add(arena, epochs, map);
    }
    liana__value_set(arena, root, "epochs", epochs);
    return root;
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
        liana__value_set(arena, map, "images_per_second", liana__value_float(arena, (double)timing->images / seconds));
        liana__value_set(arena, map, "input_wait", liana__value_float(arena, timing->wait / seconds));
        liana__value_add(arena, epochs, map);
    }
    liana__value_set(arena, root, "epochs", epochs);
    return root;
}

/* ---- exact state ---- */

liana__value *liana__totals_value(const liana__totals *totals, size_t num_metrics, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *sums = liana__value_list(arena);
    for (size_t i = 0; i <= num_metrics; i++) {
        liana__value_add(arena, sums, liana__value_float(arena, totals->values[i]));
    }
    liana__value_set(arena, map, "sums", sums);
    liana__value_set(arena, map, "count", liana__value_int(arena, totals->count));
    liana__value_set(arena, map, "bad_records", liana__value_int(arena, totals->bad_records));
    return map;
}

liana_status liana__totals_read(const liana__value *value, size_t num_metrics, liana__totals *totals,
                                liana__error *error)
{
    *totals = (liana__totals){0};
    const liana__value *sums = liana__value_get(value, "sums"), *count = liana__value_get(value, "count");
    bool fits = sums && sums->kind == LIANA__VALUE_LIST && sums->count == num_metrics + 1 && count &&
                count->kind == LIANA__VALUE_INT && count->integer >= 0;
    for (size_t i = 0; fits && i <= num_metrics; i++) {
        const liana__value *sum = sums->items[i];
        fits = sum->kind == LIANA__VALUE_FLOAT || sum->kind == LIANA__VALUE_INT;
        totals->values[i] = sum->number;
    }
    if (!fits) {
        return liana__fail(error, LIANA_INVALID_DATA, "the sums do not belong to a loss and %zu metrics", num_metrics);
    }
    totals->count = count->integer;
    /* An older liana wrote none. */
    const liana__value *bad_records = liana__value_get(value, "bad_records");
    totals->bad_records = bad_records ? bad_records->integer : 0;
    return LIANA_OK;
}

liana__value *liana__history_state(const liana__history *history, size_t num_metrics, liana__arena *arena)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < history->count; i++) {
        const liana__history_epoch *epoch = &history->epochs[i];
        const liana__timing_epoch *timing = &history->timings[i];
        liana__value *map = liana__value_map(arena);
        liana__value_set(arena, map, "training", liana__totals_value(&epoch->training, num_metrics, arena));
        liana__value_set(arena, map, "validation", liana__totals_value(&epoch->validation, num_metrics, arena));
        liana__value_set(arena, map, "learning_rate", liana__value_float(arena, epoch->learning_rate));
        liana__value_set(arena, map, "seconds", liana__value_float(arena, timing->seconds));
        liana__value_set(arena, map, "images", liana__value_int(arena, timing->images));
        liana__value_set(arena, map, "wait", liana__value_float(arena, timing->wait));
        liana__value_add(arena, list, map);
    }
    return list;
}

static double number_of(const liana__value *map, const char *key)
{
    const liana__value *value = liana__value_get(map, key);
    return value ? value->number : 0;
}

liana_status liana__history_read(const liana__value *value, size_t num_metrics, liana__history *history,
                                 liana__error *error)
{
    *history = (liana__history){0};
    if (!value || value->kind != LIANA__VALUE_LIST) {
        return liana__fail(error, LIANA_INVALID_DATA, "there is no list of epochs");
    }
    for (size_t i = 0; i < value->count; i++) {
        const liana__value *map = value->items[i];
        liana__history_epoch epoch = {.learning_rate = number_of(map, "learning_rate")};
        liana__timing_epoch timing = {.seconds = number_of(map, "seconds"),
                                      .images = (int64_t)number_of(map, "images"),
                                      .wait = number_of(map, "wait")};
        liana_status status =
            liana__totals_read(liana__value_get(map, "training"), num_metrics, &epoch.training, error);
        if (status == LIANA_OK) {
            status = liana__totals_read(liana__value_get(map, "validation"), num_metrics, &epoch.validation, error);
        }
        if (status != LIANA_OK) {
            liana__history_free(history);
            return liana__fail_within(error, "epoch %zu", i + 1);
        }
        if (!liana__history_add(history, &epoch, &timing)) {
            liana__history_free(history);
            return liana__fail_memory(error, "the history");
        }
    }
    return LIANA_OK;
}
