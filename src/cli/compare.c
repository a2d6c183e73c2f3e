/* liana compare: the differences between runs. */
#include "cli/session.h"

#include "base/format.h"
#include "report/run_plot.h"
#include "train/config/differences.h"

#include <math.h>
#include <string.h>

static const liana__option options[] = {
    {LIANA__OPTION_JSON},
    {0},
};

enum { MOST_RUNS = 12, LABEL = 28, CELL = 22 };

typedef struct comparison {
    liana__invocation *invocation;
    liana__run_files *runs;
    size_t count;
    const char *const *measures;
    size_t num_measures;
    liana__differences settings;
} comparison;

/* ---- comparing ---- */

/* The seconds of the first epoch, which may be longer than the others; NaN: missing. */
static double first_seconds(const liana__run_files *run)
{
    return liana__run_files_number(run->times, 0, "seconds");
}

/* ---- as text ---- */

static void print_cells(const comparison *own, const char *label, const char *const *cells)
{
    FILE *out = own->invocation->out;
    fprintf(out, "%-*.*s", LABEL, LABEL - 1, label);
    for (size_t i = 0; i < own->count; i++) {
        bool last = i + 1 == own->count;
        if (last) {
            fprintf(out, "%s", cells[i]);
        } else {
            fprintf(out, "%-*s ", CELL, cells[i]);
        }
    }
    fputs("\n", out);
}

typedef double number_of_run(const liana__run_files *run);

static void print_numbers(const comparison *own, const char *label, number_of_run *number, int decimals)
{
    char texts[MOST_RUNS][40];
    const char *cells[MOST_RUNS];
    for (size_t i = 0; i < own->count; i++) {
        double value = number(&own->runs[i]);
        snprintf(texts[i], sizeof texts[i], "-");
        if (isfinite(value)) liana__format(texts[i], sizeof texts[i], "%.*f", decimals, value);
        cells[i] = texts[i];
    }
    print_cells(own, label, cells);
}

static void print_measure(const comparison *own, const char *key, bool of_best)
{
    char texts[MOST_RUNS][64], label[80];
    const char *cells[MOST_RUNS];
    bool any = false;
    for (size_t i = 0; i < own->count; i++) {
        const liana__best_value found = liana__run_files_best(&own->runs[i], key);
        any |= found.epoch > 0;
        snprintf(texts[i], sizeof texts[i], "-");
        if (found.epoch && of_best) {
            liana__format(texts[i], sizeof texts[i], "%.4f in epoch %zu", found.value, found.epoch);
        } else if (found.epoch) {
            liana__format(texts[i], sizeof texts[i], "%.4f", found.last);
        }
        cells[i] = texts[i];
    }
    snprintf(label, sizeof label, "  %s", key);
    if (any) print_cells(own, label, cells);
}

static void print_measures(const comparison *own, bool of_best)
{
    fprintf(own->invocation->out, "%s\n", of_best ? "best epoch" : "last epoch");
    for (size_t i = 0; i < own->num_measures; i++) {
        char key[160];
        snprintf(key, sizeof key, "val_%s", own->measures[i]);
        print_measure(own, own->measures[i], of_best);
        print_measure(own, key, of_best);
    }
}

static double count_epochs(const liana__run_files *run)
{
    return (double)run->epochs->count;
}

static void print_text(const comparison *own)
{
    const char *names[MOST_RUNS];
    FILE *out = own->invocation->out;
    for (size_t i = 0; i < own->count; i++) names[i] = own->runs[i].name;
    print_cells(own, "", names);
    fputs(own->settings.count ? "settings\n" : "settings: no difference\n", out);
    for (size_t i = 0; i < own->settings.count; i++) {
        char label[160];
        snprintf(label, sizeof label, "  %.150s", own->settings.items[i].key);
        if (strlen(label) < LABEL) {
            print_cells(own, label, own->settings.items[i].values);
        } else {
            fprintf(out, "%s\n", label);
            print_cells(own, "", own->settings.items[i].values);
        }
    }
    print_numbers(own, "epochs", count_epochs, 0);
    print_measures(own, false);
    print_measures(own, true);
    print_numbers(own, "seconds, first epoch", first_seconds, 2);
    print_numbers(own, "seconds, later epochs", liana__run_files_seconds, 2);
}

/* ---- as JSON ---- */

static void set_number(liana__arena *arena, liana__value *map, const char *key, double number)
{
    if (isfinite(number)) liana__value_set(arena, map, key, liana__value_float(arena, number));
}

static void add_measure(const comparison *own, const liana__run_files *run, const char *key, liana__value *last,
                        liana__value *best_values, liana__value *best_epochs)
{
    liana__arena *arena = &own->invocation->arena;
    const liana__best_value found = liana__run_files_best(run, key);
    if (!found.epoch) return;
    set_number(arena, last, key, found.last);
    set_number(arena, best_values, key, found.value);
    liana__value_set(arena, best_epochs, key, liana__value_int(arena, (int64_t)found.epoch));
}

static void print_run_json(const comparison *own, size_t index)
{
    liana__arena *arena = &own->invocation->arena;
    const liana__run_files *run = &own->runs[index];
    liana__value *event = liana__session_event(own->invocation, "run"), *settings = liana__value_map(arena),
                 *last = liana__value_map(arena), *values = liana__value_map(arena), *epochs = liana__value_map(arena);
    liana__value_set(arena, event, "run", liana__value_string(arena, run->folder));
    for (size_t i = 0; i < own->settings.count; i++) {
        liana__value_set(arena, settings, own->settings.items[i].key,
                         liana__value_string(arena, own->settings.items[i].values[index]));
    }
    for (size_t i = 0; i < own->num_measures; i++) {
        const char *key = liana__arena_format(arena, "val_%s", own->measures[i]);
        add_measure(own, run, own->measures[i], last, values, epochs);
        if (key) add_measure(own, run, key, last, values, epochs);
    }
    liana__value_set(arena, event, "settings", settings);
    liana__value_set(arena, event, "epochs", liana__value_int(arena, (int64_t)run->epochs->count));
    liana__value_set(arena, event, "last", last);
    liana__value_set(arena, event, "best", values);
    liana__value_set(arena, event, "best_epoch", epochs);
    set_number(arena, event, "first_epoch_seconds", first_seconds(run));
    set_number(arena, event, "later_epochs_seconds", liana__run_files_seconds(run));
    liana__invocation_print_json(own->invocation, event);
}

static liana_status run(liana__invocation *invocation)
{
    liana__arena *arena = &invocation->arena;
    liana__error *error = &invocation->error;
    comparison own = {.invocation = invocation, .count = invocation->num_operands};
    LIANA_TRY(liana__session_fetch_runs(invocation, false));
    LIANA_TRY(liana__run_files_read(invocation->operands, own.count, arena, &own.runs, error));
    LIANA_TRY(liana__run_files_measures(own.runs, own.count, arena, &own.measures, &own.num_measures, error));
    liana_status status = liana__run_files_differences(own.runs, own.count, arena, &own.settings, error);
    if (status == LIANA_OK && liana__invocation_has(invocation, "json")) {
        for (size_t i = 0; i < own.count; i++) print_run_json(&own, i);
    } else if (status == LIANA_OK) {
        print_text(&own);
    }
    liana__differences_free(&own.settings);
    return status;
}

const liana__command liana__subcommand_compare = {
    .name = "compare",
    .operands = "RUN RUN ...",
    .summary = "Show what differs between runs",
    .help = "Prints the settings that differ, the values of the last epoch, the best value of each metric with its\n"
            "epoch, and the seconds of the first epoch and of the later ones (their mean). Up to 12 runs, which may\n"
            "have different lengths.\n",
    .options = options,
    .min_operands = 2,
    .max_operands = MOST_RUNS,
    .run = run,
};
