/* Reads the measurements of the runs of a sweep. */
#include "train/config/sweep.h"

#include "base/file.h"
#include "base/value_read.h"
#include "formats/json.h"

#include <math.h>
#include <string.h>

static liana_status read_epochs(const liana__sweep_run *run, liana__arena *arena, const liana__value **epochs,
                                liana__error *error)
{
    const char *path = liana__path_join(arena, run->folder, "history.json");
    if (!path) return liana__fail_memory(error, run->folder);
    return liana__history_file_epochs(path, 1, arena, epochs, error);
}

/* The last epoch may not be validated: its last value is an earlier one. */
static void find_values(const liana__value *epochs, const char *metric, double *last, double *best)
{
    const liana__monitor_options monitor = {.monitor = metric, .mode = LIANA__MONITOR_AUTO};
    *last = *best = NAN;
    for (size_t i = 0; i < epochs->count; i++) {
        double value = liana__value_number_of(epochs->items[i], metric, NAN);
        if (!isfinite(value)) continue;
        *last = value;
        if (isnan(*best) || liana__monitor_improves(&monitor, value, *best)) *best = value;
    }
}

/* ---- which metrics ---- */

static size_t list_metrics(const liana__value *epochs, bool validation, const char **names)
{
    const liana__value *epoch = epochs->items[epochs->count - 1];
    size_t count = 0;
    for (size_t i = 0; i < epoch->count; i++) {
        const char *key = epoch->keys[i];
        if (!liana__history_is_measure(key) || liana__starts_with(key, "val_") != validation ||
            isnan(liana__value_number_of(epoch, key, NAN)))
            continue;
        names[count++] = key;
    }
    return count;
}

static liana_status find_metrics(liana__sweep_results *results, liana__arena *arena, liana__error *error)
{
    const liana__sweep *sweep = results->sweep;
    results->metrics = sweep->metrics.items;
    results->num_metrics = sweep->metrics.count;
    for (size_t i = 0; i < sweep->num_runs && !results->num_metrics; i++) {
        const liana__value *epochs;
        if (!results->finished[i]) continue;
        LIANA_TRY(read_epochs(&sweep->runs[i], arena, &epochs, error));
        const char **names =
            liana__arena_allocate(arena, (epochs->items[epochs->count - 1]->count + 1) * sizeof *names);
        if (!names) return liana__fail_memory(error, sweep->file);
        results->metrics = names;
        results->num_metrics = list_metrics(epochs, true, names);
        if (!results->num_metrics) results->num_metrics = list_metrics(epochs, false, names);
    }
    return LIANA_OK;
}

liana_status liana__sweep_results_read(const liana__sweep *sweep, liana__arena *arena, liana__sweep_results *results,
                                       liana__error *error)
{
    *results = (liana__sweep_results){.sweep = sweep};
    results->finished = liana__arena_allocate(arena, sweep->num_runs + 1);
    if (!results->finished) return liana__fail_memory(error, sweep->file);
    for (size_t i = 0; i < sweep->num_runs; i++) {
        results->finished[i] = liana__file_exists(sweep->runs[i].done);
        results->num_finished += results->finished[i];
    }
    LIANA_TRY(find_metrics(results, arena, error));
    size_t size = (sweep->num_runs * results->num_metrics + 1) * sizeof(double);
    results->last = liana__arena_allocate(arena, size);
    results->best = liana__arena_allocate(arena, size);
    if (!results->last || !results->best) return liana__fail_memory(error, sweep->file);
    for (size_t i = 0; i < sweep->num_runs; i++) {
        const liana__value *epochs = NULL;
        if (results->finished[i]) LIANA_TRY(read_epochs(&sweep->runs[i], arena, &epochs, error));
        for (size_t k = 0; k < results->num_metrics; k++) {
            size_t at = i * results->num_metrics + k;
            results->last[at] = results->best[at] = NAN;
            if (epochs) find_values(epochs, results->metrics[k], &results->last[at], &results->best[at]);
        }
    }
    return LIANA_OK;
}

liana__sweep_measure liana__sweep_measure_of(const liana__sweep_results *results, size_t setting, size_t metric)
{
    const liana__sweep *sweep = results->sweep;
    const double *values = sweep->value == LIANA__SWEEP_BEST ? results->best : results->last;
    liana__sweep_measure measure = {.mean = NAN, .spread = NAN};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < sweep->num_runs; i++) {
        double value = values[i * results->num_metrics + metric];
        if (sweep->runs[i].setting != setting || isnan(value)) continue;
        sum += value;
        measure.count++;
    }
    if (!measure.count) return measure;
    measure.mean = sum / (double)measure.count;
    for (size_t i = 0; i < sweep->num_runs; i++) {
        double value = values[i * results->num_metrics + metric];
        if (sweep->runs[i].setting != setting || isnan(value)) continue;
        squares += (value - measure.mean) * (value - measure.mean);
    }
    if (measure.count > 1) measure.spread = sqrt(squares / (double)(measure.count - 1));
    return measure;
}
