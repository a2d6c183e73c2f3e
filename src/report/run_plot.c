/* Draws several runs in one figure. */
#include "report/run_plot.h"

#include "base/scoped.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 3 };

typedef struct drawing {
    const liana__run_files *runs;
    size_t count;
    bool by_run;          /* colours are runs */
    size_t longest;       /* epochs */
    const double *epochs; /* 1, 2, ...: [longest] */
    liana__arena *arena;
} drawing;

/* ---- lines ---- */

/* Of one or two runs colours are training and validation, and the first of two is dashed. */
static liana__figure_line style_of(const drawing *own, size_t run, bool validation)
{
    if (!own->by_run) {
        return (liana__figure_line){.ink = liana__figure_inks[validation ? 1 : 0],
                                    .dashed = own->count == 2 && run == 0};
    }
    return (liana__figure_line){.ink = liana__figure_inks[run % LIANA__FIGURE_INKS], .dashed = !validation};
}

/* "sgd, validation"; of one run "validation"; where a line is the only one of a run: "sgd". */
static const char *line_name(const drawing *own, size_t run, const char *part)
{
    if (own->count == 1) return *part ? part : NULL;
    return *part ? liana__arena_format(own->arena, "%s, %s", liana__isolate(own->arena, own->runs[run].name), part)
                 : own->runs[run].name;
}

/* A line of the numbers called `key` of a run's epochs or times. */
static bool add_line(const drawing *own, size_t index, const liana__value *epochs, const char *key, bool validation,
                     liana__figure_line *line)
{
    double *values = liana__arena_allocate(own->arena, (epochs->count + 1) * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values && i < epochs->count; i++) {
        values[i] = liana__run_files_number(epochs, i, key);
        if (isfinite(values[i])) count = i + 1;
    }
    if (!count) return false;
    *line = style_of(own, index, validation);
    line->run = index;
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
        /* A rate is neither of training nor of validation: up to two runs have it in one colour, others in theirs,
         * solid. */
        const liana__value *epochs = own->runs[i].epochs;
        if (add_line(own, i, epochs, measure, is_rate && own->by_run, &lines[count])) {
            lines[count++].name = line_name(own, i, is_rate ? "" : "training");
        }
        if (!is_rate && add_line(own, i, epochs, key, true, &lines[count])) {
            lines[count++].name = line_name(own, i, "validation");
        }
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
        if (own->by_run) {
            keys[count++] =
                (liana__figure_key){.name = own->runs[i].name, .ink = liana__figure_inks[i % LIANA__FIGURE_INKS]};
            continue;
        }
        for (int validation = 0; validation < 2; validation++) {
            liana__figure_line style = style_of(own, i, validation);
            const char *part = validation ? "validation" : "training";
            const char *name = line_name(own, i, part);
            keys[count++] = (liana__figure_key){.name = name, .ink = style.ink, .dashed = style.dashed};
        }
    }
    if (!own->by_run) return count;
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

static void mark_decisions(const drawing *own, liana__figure_panel *panels, size_t num_panels)
{
    if (own->count != 1) return;
    const liana__run_decisions decisions = liana__run_files_decisions(own->runs, own->arena);
    liana__figure_mark *marks = liana__arena_allocate(own->arena, (decisions.count + 1) * sizeof *marks);
    for (size_t i = 0; marks && i < decisions.count; i++) {
        const liana__curve_mark *mark = &decisions.marks[i];
        marks[i] = (liana__figure_mark){.x = mark->epoch,
                                        .y = mark->value,
                                        .ink = liana__figure_inks[mark->accepted ? 2 : 3],
                                        .name = mark->accepted ? "accepted" : "gone back"};
    }
    for (size_t i = 0; marks && i < num_panels && decisions.count; i++) {
        if (strcmp(panels[i].title, decisions.measure) != 0) continue;
        panels[i].marks = marks;
        panels[i].num_marks = decisions.count;
    }
}

liana_status liana__run_figure(const liana__run_files *runs, size_t count, const char *const *measures,
                               size_t num_measures, liana__arena *arena, liana__figure *figure, liana__error *error)
{
    const char *const *known;
    size_t num_known;
    drawing own = {.runs = runs, .count = count, .by_run = count > 2, .arena = arena};
    own.epochs = count_epochs(runs, count, arena, &own.longest);
    LIANA_TRY(liana__run_files_measures(runs, count, arena, &known, &num_known, error));
    LIANA_TRY(check_measures(measures, num_measures, known, num_known, error));
    bool all = num_measures == 0;
    size_t num_panels = all ? num_known + 1 : num_measures;
    liana__figure_panel *panels = liana__arena_allocate(arena, num_panels * sizeof *panels);
    liana__figure_key *keys = liana__arena_allocate(arena, (2 * count + 2) * sizeof *keys);
    if (!panels || !keys || !own.epochs) return liana__fail_memory(error, "the curves");
    for (size_t i = 0; i < num_panels; i++) {
        add_panel(&own, !all ? measures[i] : i < num_known ? known[i] : "learning_rate", &panels[i]);
    }
    mark_decisions(&own, panels, num_panels);
    *figure = (liana__figure){
        .keys = keys, .panels = panels, .num_panels = num_panels, .columns = COLUMNS, .by_run = own.by_run};
    figure->num_keys = add_keys(&own, keys);
    return arena->failed ? liana__fail_memory(error, "the curves") : LIANA_OK;
}

liana_status liana__plot_runs(const liana__run_files *runs, size_t count, const char *const *measures,
                              size_t num_measures, const char *path, liana__arena *arena, liana__error *error)
{
    liana__figure figure;
    LIANA_TRY(liana__run_figure(runs, count, measures, num_measures, arena, &figure, error));
    return liana__figure_write(path, &figure, error);
}

/* ---- times ---- */

liana_status liana__time_figure(const liana__run_files *runs, size_t count, liana__arena *arena, liana__figure *figure,
                                liana__error *error)
{
    static const char *const keys[] = {"seconds", "examples_per_second", "input_wait"};
    static const char *const titles[] = {"seconds of training", "examples a second", "seconds of waiting for input"};
    enum { NUM_PANELS = 3 };
    /* A time is of the whole run: a line for each, in its colour. */
    drawing own = {.runs = runs, .count = count, .by_run = true, .arena = arena};
    for (size_t i = 0; i < count; i++)
        own.longest = runs[i].times->count > own.longest ? runs[i].times->count : own.longest;
    double *epochs = liana__arena_allocate(arena, (own.longest + 1) * sizeof *epochs);
    liana__figure_panel *panels = liana__arena_allocate(arena, NUM_PANELS * sizeof *panels);
    for (size_t i = 0; epochs && i < own.longest; i++) epochs[i] = (double)i + 1;
    own.epochs = epochs;
    *figure = (liana__figure){.panels = panels, .columns = NUM_PANELS, .by_run = true};
    for (size_t k = 0; epochs && panels && k < NUM_PANELS; k++) {
        liana__figure_line *lines = liana__arena_allocate(arena, (count + 1) * sizeof *lines);
        size_t num_lines = 0;
        for (size_t i = 0; lines && i < count; i++) {
            if (!add_line(&own, i, runs[i].times, keys[k], true, &lines[num_lines])) continue;
            lines[num_lines++].name = line_name(&own, i, "");
        }
        if (!num_lines) continue;
        panels[figure->num_panels++] = (liana__figure_panel){
            .title = titles[k], .x_label = "epoch", .whole_x = true, .lines = lines, .num_lines = num_lines};
    }
    return arena->failed ? liana__fail_memory(error, "the times") : LIANA_OK;
}

/* ---- schedules ---- */

/* A stage of a training, or all of it. */
typedef struct piece {
    liana_learning_rate rate;
    int64_t first; /* update of the training */
} piece;

typedef struct pieces {
    piece *items;
    size_t count;
    int64_t updates; /* of all */
} pieces;

static double rate_at(const pieces *all, int64_t update)
{
    size_t i = all->count - 1;
    while (i && all->items[i].first > update) i--;
    return liana__learning_rate_at(&all->items[i].rate, update - all->items[i].first);
}

/* The rates of a run's updates, or of evenly chosen ones of very many. */
static liana_status sample(const pieces *all, liana__arena *arena, liana__plotted_rate *plotted, liana__error *error)
{
    enum { MOST_POINTS = 4000 };
    const int64_t updates = all->updates;
    size_t count = updates < MOST_POINTS ? (size_t)updates : MOST_POINTS;
    double *at = liana__arena_allocate(arena, count * sizeof *at + 1);
    double *rates = liana__arena_allocate(arena, count * sizeof *rates + 1);
    if (!at || !rates) return liana__fail_memory(error, "a schedule");
    for (size_t i = 0; i < count; i++) {
        int64_t update = count > 1 ? (int64_t)i * (updates - 1) / ((int64_t)count - 1) : 0;
        at[i] = (double)update;
        rates[i] = rate_at(all, update);
    }
    plotted->updates = at;
    plotted->rates = rates;
    plotted->count = count;
    return LIANA_OK;
}

/* Each stage has an optimizer of its own, whose schedule begins with the stage. */
static void find_stages(const liana__run *run, pieces *all)
{
    liana__training_state state = run->core.state; /* a copy: what it refers to is read alone */
    const liana__training_stages *stages = run->core.stages;
    all->count = stages->count;
    for (size_t i = 0; i < stages->count; i++) {
        piece *one = &all->items[i];
        one->rate = stages->items[i].optimizer.learning_rate;
        one->rate.batch_size = run->core.learning_rate.batch_size;
        one->first = all->updates;
        liana__fit_plan_stage(&state, run->training.loader, stages->items[i].end, &one->rate);
        all->updates += one->rate.total_steps;
        state.stage_epoch = stages->items[i].end;
    }
}

liana_status liana__plan_rates(const liana__run *run, const char *config, liana__arena *arena,
                               liana__plotted_rate *plotted, liana__error *error)
{
    const liana__job_options *train = &run->config->job;
    const liana__training_length length = {.epochs = train->epochs, .steps = train->steps};
    const size_t stages = run->core.stages ? run->core.stages->count : 0;
    pieces all = {.items = liana__arena_allocate(arena, (stages + 1) * sizeof *all.items), .count = 1};
    if (!all.items) return liana__fail_memory(error, "a schedule");
    if (stages) {
        find_stages(run, &all);
    } else {
        all.items[0].rate = run->core.learning_rate;
        liana__fit_plan_make(&run->core.state, run->training.loader, &length, &all.items[0].rate);
        all.updates = all.items[0].rate.total_steps;
    }
    if (all.updates <= 0) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "plot: the number of updates of '%s' is not known with train.max_minutes alone; give "
                           "train.epochs or train.steps as well",
                           config);
    }
    return sample(&all, arena, plotted, error);
}

liana_status liana__rate_figure(const liana__plotted_rate *rates, size_t count, liana__arena *arena,
                                liana__figure *figure, liana__error *error)
{
    liana__figure_line *lines = liana__arena_allocate(arena, (count + 1) * sizeof *lines);
    liana__figure_key *keys = liana__arena_allocate(arena, (count + 1) * sizeof *keys);
    liana__figure_panel *panel = liana__arena_allocate(arena, sizeof *panel);
    if (!lines || !keys || !panel) return liana__fail_memory(error, "the schedules");
    for (size_t i = 0; i < count; i++) {
        const liana__ink ink = liana__figure_inks[i % LIANA__FIGURE_INKS];
        lines[i] = (liana__figure_line){.name = rates[i].name,
                                        .run = i,
                                        .x = rates[i].updates,
                                        .y = rates[i].rates,
                                        .count = rates[i].count,
                                        .ink = ink};
        keys[i] = (liana__figure_key){.name = rates[i].name, .ink = ink};
    }
    *panel = (liana__figure_panel){.title = "learning rate", .x_label = "update", .lines = lines, .num_lines = count};
    *figure = (liana__figure){
        .keys = keys, .num_keys = count, .panels = panel, .num_panels = 1, .columns = 1, .by_run = true};
    return LIANA_OK;
}

liana_status liana__plot_rates(const liana__plotted_rate *rates, size_t count, const char *path, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__figure figure;
    LIANA_TRY(liana__rate_figure(rates, count, &arena, &figure, error));
    return liana__figure_write(path, &figure, error);
}
