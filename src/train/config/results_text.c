/* Writes the tables of a sweep. */
#include "train/config/sweep.h"

#include "base/file.h"
#include "base/format.h"
#include "base/scoped.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *label_of(const liana__sweep_results *results)
{
    return results->sweep->value == LIANA__SWEEP_BEST ? "best epoch" : "last epoch";
}

static int64_t count_finished(const liana__sweep_results *results, size_t setting)
{
    const liana__sweep *sweep = results->sweep;
    int64_t count = 0;
    for (size_t i = 0; i < sweep->num_runs; i++) {
        count += results->finished[i] && sweep->runs[i].setting == setting;
    }
    return count;
}

/* "0.9123 ± 0.0041"; "0.9123" of one run; "-" of none. */
static void format_measure(char *text, size_t size, const liana__sweep_measure *measure)
{
    if (!measure->count) {
        snprintf(text, size, "-");
    } else if (isnan(measure->spread)) {
        liana__format(text, size, "%.4f", measure->mean);
    } else {
        liana__format(text, size, "%.4f \xc2\xb1 %.4f", measure->mean, measure->spread);
    }
}

void liana__sweep_results_markdown(const liana__sweep_results *results, liana__text *text)
{
    const liana__sweep *sweep = results->sweep;
    liana__text_add(text, "| setting | runs |");
    for (size_t k = 0; k < results->num_metrics; k++) liana__text_add(text, " %s |", results->metrics[k]);
    liana__text_add(text, "\n|---|---|");
    for (size_t k = 0; k < results->num_metrics; k++) liana__text_add(text, "---|");
    liana__text_add(text, "\n");
    for (size_t i = 0; i < sweep->num_settings; i++) {
        liana__text_add(text, "| %s | %lld |", sweep->settings[i].name, (long long)count_finished(results, i));
        for (size_t k = 0; k < results->num_metrics; k++) {
            char cell[80];
            liana__sweep_measure measure = liana__sweep_measure_of(results, i, k);
            format_measure(cell, sizeof cell, &measure);
            liana__text_add(text, " %s |", cell);
        }
        liana__text_add(text, "\n");
    }
    liana__text_add(text, "\nMean of the %s over %lld seeds \xc2\xb1 sample standard deviation.\n", label_of(results),
                    (long long)sweep->num_seeds);
}

/* ---- for terminals ---- */

/* Columns that a text takes: "±" has two bytes. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void add_cell(liana__text *text, const char *cell, int width)
{
    liana__text_add(text, "  %*s%s", width - width_of(cell), "", cell);
}

void liana__sweep_results_plain(const liana__sweep_results *results, liana__text *text)
{
    enum { CELL = 15 };
    const liana__sweep *sweep = results->sweep;
    int widest = 7;
    for (size_t i = 0; i < sweep->num_settings; i++) {
        int width = width_of(sweep->settings[i].name);
        if (width > widest) widest = width;
    }
    liana__text_add(text, "%-*s  runs", widest, "setting");
    for (size_t k = 0; k < results->num_metrics; k++) {
        int width = width_of(results->metrics[k]);
        add_cell(text, results->metrics[k], width > CELL ? width : CELL);
    }
    liana__text_add(text, "\n");
    for (size_t i = 0; i < sweep->num_settings; i++) {
        const char *name = sweep->settings[i].name;
        liana__text_add(text, "%s%*s  %4lld", name, widest - width_of(name), "", (long long)count_finished(results, i));
        for (size_t k = 0; k < results->num_metrics; k++) {
            char cell[80];
            liana__sweep_measure measure = liana__sweep_measure_of(results, i, k);
            int width = width_of(results->metrics[k]);
            format_measure(cell, sizeof cell, &measure);
            add_cell(text, cell, width > CELL ? width : CELL);
        }
        liana__text_add(text, "\n");
    }
    liana__text_add(text, "mean of the %s over the seeds \xc2\xb1 sample standard deviation\n", label_of(results));
}

/* ---- for programs ---- */

static void add_number(liana__text *text, double number)
{
    liana__text_add(text, ",");
    if (!isnan(number)) liana__text_add_double(text, number);
}

/* A field of RFC 4180: names of settings may have commas. */
static void add_field(liana__text *text, const char *field)
{
    liana__text_add(text, strpbrk(field, ",\"\r\n") ? "\"%s\"" : "%s", field);
}

static void add_csv(const liana__sweep_results *results, liana__text *text)
{
    const liana__sweep *sweep = results->sweep;
    liana__text_add(text, "setting,seed,finished");
    for (size_t k = 0; k < results->num_metrics; k++) {
        liana__text_add(text, ",%s,best_%s", results->metrics[k], results->metrics[k]);
    }
    liana__text_add(text, "\r\n");
    for (size_t i = 0; i < sweep->num_runs; i++) {
        const liana__sweep_run *run = &sweep->runs[i];
        add_field(text, sweep->settings[run->setting].name);
        liana__text_add(text, ",%lld,%d", (long long)run->seed, (int)results->finished[i]);
        for (size_t k = 0; k < results->num_metrics; k++) {
            add_number(text, results->last[i * results->num_metrics + k]);
            add_number(text, results->best[i * results->num_metrics + k]);
        }
        liana__text_add(text, "\r\n");
    }
}

static liana__value *number_value(liana__arena *arena, double number)
{
    return isfinite(number) ? liana__value_float(arena, number) : liana__value_null(arena);
}

static liana__value *setting_value(const liana__sweep_results *results, size_t index, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *metrics = liana__value_map(arena);
    liana__value_set(arena, map, "setting", liana__value_string(arena, results->sweep->settings[index].name));
    liana__value_set(arena, map, "runs", liana__value_int(arena, count_finished(results, index)));
    for (size_t k = 0; k < results->num_metrics; k++) {
        liana__sweep_measure measure = liana__sweep_measure_of(results, index, k);
        liana__value *item = liana__value_map(arena);
        liana__value_set(arena, item, "mean", number_value(arena, measure.mean));
        liana__value_set(arena, item, "spread", number_value(arena, measure.spread));
        liana__value_set(arena, item, "count", liana__value_int(arena, measure.count));
        liana__value_set(arena, metrics, results->metrics[k], item);
    }
    liana__value_set(arena, map, "metrics", metrics);
    return map;
}

static liana__value *run_value(const liana__sweep_results *results, size_t index, liana__arena *arena)
{
    const liana__sweep_run *run = &results->sweep->runs[index];
    liana__value *map = liana__value_map(arena), *last = liana__value_map(arena), *best = liana__value_map(arena);
    liana__value_set(arena, map, "setting", liana__value_string(arena, results->sweep->settings[run->setting].name));
    liana__value_set(arena, map, "seed", liana__value_int(arena, run->seed));
    liana__value_set(arena, map, "finished", liana__value_bool(arena, results->finished[index]));
    for (size_t k = 0; k < results->num_metrics; k++) {
        size_t at = index * results->num_metrics + k;
        liana__value_set(arena, last, results->metrics[k], number_value(arena, results->last[at]));
        liana__value_set(arena, best, results->metrics[k], number_value(arena, results->best[at]));
    }
    liana__value_set(arena, map, "last", last);
    liana__value_set(arena, map, "best", best);
    return map;
}

static void add_json(const liana__sweep_results *results, liana__text *text)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *root = liana__value_map(&arena), *settings = liana__value_list(&arena),
                 *runs = liana__value_list(&arena);
    liana__value_set(&arena, root, "value", liana__value_string(&arena, label_of(results)));
    for (size_t i = 0; i < results->sweep->num_settings; i++) {
        liana__value_add(&arena, settings, setting_value(results, i, &arena));
    }
    for (size_t i = 0; i < results->sweep->num_runs; i++) liana__value_add(&arena, runs, run_value(results, i, &arena));
    liana__value_set(&arena, root, "settings", settings);
    liana__value_set(&arena, root, "runs", runs);
    if (root && !arena.failed) {
        liana__value_write_json(root, 2, text);
    } else {
        text->failed = true;
    }
}

liana_status liana__sweep_results_write(const liana__sweep_results *results, liana__error *error)
{
    static const struct {
        const char *name;
        void (*write)(const liana__sweep_results *results, liana__text *text);
    } files[] = {{"results.csv", add_csv}, {"results.json", add_json}, {"results.md", liana__sweep_results_markdown}};
    LIANA__SCOPED(liana__arena) arena = {0};
    liana_status status = LIANA_OK;
    for (size_t i = 0; i < sizeof files / sizeof *files && status == LIANA_OK; i++) {
        LIANA__SCOPED(liana__text) text = {0};
        const char *path = liana__path_join(&arena, results->sweep->folder, files[i].name);
        files[i].write(results, &text);
        status = path && !text.failed ? liana__file_replace(path, text.data, text.length, error)
                                      : liana__fail_memory(error, files[i].name);
    }
    return status;
}
