/* Draws several runs in one figure. */
#include "report/run_plot.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 3 };

typedef struct drawing {
    const liana__run_files *runs;
    size_t count;
    size_t longest;       /* epochs */
    const double *epochs; /* 1, 2, ...: [longest] */
    liana__arena *arena;
} drawing;

/* ---- lines ---- */

/* Of two runs colours are training and validation, and the first is dashed. */
static liana__figure_line style_of(const drawing *own, size_t run, bool validation)
{
    if (own->count == 2) {
        return (liana__figure_line){.ink = liana__figure_inks[validation ? 1 : 0], .dashed = run == 0};
    }
    return (liana__figure_line){.ink = liana__figure_inks[run], .dashed = !validation};
}

static bool add_line(const drawing *own, size_t index, const char *key, bool validation, liana__figure_line *line)
{
    const liana__run_files *run = &own->runs[index];
    double *values = liana__arena_allocate(own->arena, (run->epochs->count + 1) * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values && i < run->epochs->count; i++) {
        values[i] = liana__run_files_number(run->epochs, i, key);
        if (isfinite(values[i])) count = i + 1;
    }
    if (!count) return false;
    *line = style_of(own, index, validation);
    line->x = own->epochs;
    line->y = values;
    line->count = count;
    line->extended_to = (double)own->longest;
    return true;
}

static void add_panel(const drawing *own, const char *measure, liana__figure_panel *panel)
{
    liana__figure_line *lines = liana__arena_allocate(own->arena, 2 * own->count * sizeof *lines);
    const char *key = liana__arena_format(own->arena, "val_%s", measure);
    bool is_rate = strcmp(measure, "learning_rate") == 0;
    size_t count = 0;
    for (size_t i = 0; lines && key && i < own->count; i++) {
        /* A rate is neither of training nor of validation: two runs have it in one colour, others in theirs, solid. */
        bool of_validation = is_rate && own->count != 2;
        count += add_line(own, i, measure, of_validation, &lines[count]);
        if (!is_rate) count += add_line(own, i, key, true, &lines[count]);
    }
    *panel = (liana__figure_panel){.title = is_rate ? "learning rate" : measure,
                                   .x_label = "epoch",
                                   .whole_x = true,
                                   .lines = lines,
                                   .num_lines = count};
}

/* ---- keys ---- */

static size_t add_keys(const drawing *own, liana__figure_key *keys)
{
    static const liana__ink grey = {0.45, 0.48, 0.52};
    size_t count = 0;
    for (size_t i = 0; i < own->count; i++) {
        if (own->count != 2) {
            keys[count++] = (liana__figure_key){.name = own->runs[i].name, .ink = liana__figure_inks[i]};
            continue;
        }
        for (int validation = 0; validation < 2; validation++) {
            liana__figure_line style = style_of(own, i, validation);
            const char *part = validation ? "validation" : "training";
            const char *name = liana__arena_format(own->arena, "%s, %s", own->runs[i].name, part);
            keys[count++] = (liana__figure_key){.name = name, .ink = style.ink, .dashed = style.dashed};
        }
    }
    if (own->count == 2) return count;
    keys[count++] = (liana__figure_key){.name = "training", .ink = grey, .dashed = true};
    keys[count++] = (liana__figure_key){.name = "validation", .ink = grey};
    return count;
}

/* ---- which measures ---- */

static liana_status check_measures(const char *const *wanted, size_t num_wanted, const char *const *known,
                                   size_t num_known, liana__error *error)
{
    for (size_t i = 0; i < num_wanted; i++) {
        bool found = strcmp(wanted[i], "learning_rate") == 0;
        for (size_t k = 0; k < num_known && !found; k++) found = strcmp(wanted[i], known[k]) == 0;
        if (found) continue;
        liana__nearest_search nearest = liana__nearest_begin(wanted[i]);
        for (size_t k = 0; k < num_known; k++) liana__nearest_add(&nearest, known[k]);
        liana__nearest_add(&nearest, "learning_rate");
        return liana__fail(error, LIANA_INVALID_CONFIG, "plot: none of the runs has measured '%.100s'%s", wanted[i],
                           liana__hint(nearest.nearest).text);
    }
    return LIANA_OK;
}

static const double *count_epochs(const liana__run_files *runs, size_t count, liana__arena *arena, size_t *longest)
{
    *longest = 0;
    for (size_t i = 0; i < count; i++) {
        if (runs[i].epochs->count > *longest) *longest = runs[i].epochs->count;
    }
    double *epochs = liana__arena_allocate(arena, (*longest + 1) * sizeof *epochs);
    for (size_t i = 0; epochs && i < *longest; i++) epochs[i] = (double)i + 1;
    return epochs;
}

liana_status liana__plot_runs(const liana__run_files *runs, size_t count, const char *const *measures,
                              size_t num_measures, const char *path, liana__arena *arena, liana__error *error)
{
    const char *const *known;
    size_t num_known;
    drawing own = {.runs = runs, .count = count, .arena = arena};
    own.epochs = count_epochs(runs, count, arena, &own.longest);
    LIANA_TRY(liana__run_files_measures(runs, count, arena, &known, &num_known, error));
    LIANA_TRY(check_measures(measures, num_measures, known, num_known, error));
    bool all = num_measures == 0;
    size_t num_panels = all ? num_known + 1 : num_measures;
    liana__figure_panel *panels = liana__arena_allocate(arena, num_panels * sizeof *panels);
    liana__figure_key *keys = liana__arena_allocate(arena, (2 * count + 2) * sizeof *keys);
    if (!panels || !keys || !own.epochs) return liana__fail_memory(error, path);
    for (size_t i = 0; i < num_panels; i++) {
        add_panel(&own, !all ? measures[i] : i < num_known ? known[i] : "learning_rate", &panels[i]);
    }
    liana__figure figure = {.keys = keys, .panels = panels, .num_panels = num_panels, .columns = COLUMNS};
    figure.num_keys = add_keys(&own, keys);
    if (arena->failed) return liana__fail_memory(error, path);
    return liana__figure_write(path, &figure, error);
}

liana_status liana__plot_rates(const liana__plotted_rate *rates, size_t count, const char *path, liana__error *error)
{
    liana__figure_line lines[LIANA__PLOT_MOST_RUNS];
    liana__figure_key keys[LIANA__PLOT_MOST_RUNS];
    for (size_t i = 0; i < count; i++) {
        liana__ink ink = liana__figure_inks[i];
        lines[i] =
            (liana__figure_line){.x = rates[i].updates, .y = rates[i].rates, .count = rates[i].count, .ink = ink};
        keys[i] = (liana__figure_key){.name = rates[i].name, .ink = ink};
    }
    const liana__figure_panel panel = {.title = "learning rate",
                                       .x_label = "update",
                                       .lines = lines,
                                       .num_lines = count};
    const liana__figure figure = {.keys = keys, .num_keys = count, .panels = &panel, .num_panels = 1, .columns = 1};
    return liana__figure_write(path, &figure, error);
}
