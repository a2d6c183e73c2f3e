/* liana plot: several runs, or schedules, in one figure. */
#include "base/scoped.h"
#include "cli/session.h"

#include "base/file.h"
#include "report/event_plot.h"
#include "report/run_plot.h"

#include <string.h>

static const liana__option options[] = {
    {"out", "FILE", "the picture, .png or .svg (default: plot.png)"},
    {"measures", "LIST", "what is drawn: loss,accuracy,learning_rate; of event files: tags (default: all)"},
    {"schedule", NULL, "draw the learning rates of configurations, before anything is trained"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

/* The words between commas, in the arena. */
static liana_status split_list(liana__invocation *invocation, const char *text, const char *const **words,
                               size_t *count)
{
    liana__arena *arena = &invocation->arena;
    const char **list = liana__arena_allocate(arena, (strlen(text) + 2) * sizeof *list);
    *count = 0;
    for (const char *at = text; list && *at;) {
        size_t length = strcspn(at, ",");
        if (length) list[(*count)++] = liana__arena_format(arena, "%.*s", (int)length, at);
        at += length + (at[length] == ',');
    }
    *words = list;
    return list && !arena->failed ? LIANA_OK : liana__fail_memory(&invocation->error, "--measures");
}

/* ---- event files ---- */

/* *of_events: all are event files, or folders of them. */
static liana_status check_kinds(liana__invocation *invocation, bool *of_events)
{
    size_t count = 0;
    const char *event = NULL, *other = NULL;
    for (size_t i = 0; i < invocation->num_operands; i++) {
        const bool is_event = liana__event_plot_takes(invocation->operands[i]);
        count += is_event;
        *(is_event ? &event : &other) = invocation->operands[i];
    }
    *of_events = count > 0;
    if (!event || !other) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       "plot: '%s' has event files and '%s' is the folder of a run; draw each kind by itself", event,
                       other);
}

static liana_status plot_events(liana__invocation *invocation, const char *const *tags, size_t num_tags,
                                const char *path)
{
    liana__event_plot_facts facts;
    LIANA_TRY(liana__plot_events(invocation->operands, invocation->num_operands, tags, num_tags, path, &facts,
                                 &invocation->arena, &invocation->error));
    if (facts.damage) liana__session_note(invocation, facts.damage);
    if (facts.num_drawn < facts.num_tags && !num_tags) {
        const char *note =
            liana__arena_format(&invocation->arena,
                                "%zu of %zu tags are drawn; --measures chooses others, 'liana inspect FILE' lists them",
                                facts.num_drawn, facts.num_tags);
        if (note) liana__session_note(invocation, note);
    }
    return LIANA_OK;
}

/* ---- runs ---- */

static liana_status plot_runs(liana__invocation *invocation, const char *path)
{
    liana__error *error = &invocation->error;
    const char *list = liana__invocation_text(invocation, "measures");
    const char *const *measures = NULL;
    size_t num_measures = 0;
    liana__run_files *runs;
    if (list) LIANA_TRY(split_list(invocation, list, &measures, &num_measures));
    bool of_events;
    LIANA_TRY(check_kinds(invocation, &of_events));
    if (of_events) return plot_events(invocation, measures, num_measures, path);
    LIANA_TRY(liana__session_fetch_runs(invocation, false));
    LIANA_TRY(liana__run_files_read(invocation->operands, invocation->num_operands, &invocation->arena, &runs, error));
    return liana__plot_runs(runs, invocation->num_operands, measures, num_measures, path, &invocation->arena, error);
}

/* ---- schedules ---- */

/* Opened as for training: the data say how many updates an epoch has. */
static liana_status find_rates(liana__invocation *invocation, liana__session *session, const char *config,
                               liana__plotted_rate *plotted)
{
    liana__error *error = &invocation->error;
    liana__data_config *data = &session->config.data;
    LIANA_TRY(liana__config_require_training_data(&session->config, error));
    data->validation = data->test = (liana__source_config){0};
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    LIANA_TRY(
        liana__run_open(session->context, &session->config, &(liana__run_options){.training = true}, &run, error));
    return liana__plan_rates(&run, config, &invocation->arena, plotted, error);
}

/* Files of one name in several folders are told apart by their folders. */
static const char *curve_name(const liana__invocation *invocation, size_t index)
{
    const char *path = invocation->operands[index], *name = liana__path_name(path);
    for (size_t i = 0; i < invocation->num_operands; i++) {
        const bool same = i != index && strcmp(liana__path_name(invocation->operands[i]), name) == 0;
        if (same && strcmp(invocation->operands[i], path) != 0) return path;
    }
    return name;
}

static liana_status plot_schedules(liana__invocation *invocation, const char *path)
{
    liana__plotted_rate rates[LIANA__PLOT_MOST_RUNS];
    for (size_t i = 0; i < invocation->num_operands; i++) {
        const char *config = invocation->operands[i];
        LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
        rates[i].name = curve_name(invocation, i);
        LIANA_TRY(liana__session_open(invocation, config, &session));
        LIANA_TRY(find_rates(invocation, &session, config, &rates[i]));
    }
    return liana__plot_rates(rates, invocation->num_operands, path, &invocation->error);
}

static liana_status run(liana__invocation *invocation)
{
    const char *path = liana__invocation_text(invocation, "out");
    bool of_schedules = liana__invocation_has(invocation, "schedule");
    if (!path) path = "plot.png";
    if (!liana__ends_with(path, ".png") && !liana__ends_with(path, ".svg")) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "plot: --out: found '%.200s', expected a name ending in .png or .svg", path);
    }
    if (invocation->num_overrides && !of_schedules) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "plot: '%s' changes a configuration, and belongs to --schedule", invocation->overrides[0]);
    }
    if (of_schedules && liana__invocation_has(invocation, "measures")) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "plot: --measures and --schedule exclude each other");
    }
    LIANA_TRY(of_schedules ? plot_schedules(invocation, path) : plot_runs(invocation, path));
    liana__session_picture(invocation, path);
    return LIANA_OK;
}

const liana__command liana__subcommand_plot = {
    .name = "plot",
    .operands = "RUN ... | EVENTS ... | --schedule CONFIG ... [key=value]",
    .summary = "Draw several runs, event files, or learning-rate schedules, in one figure",
    .help =
        "Draws a panel for each measure of the runs (loss, accuracy, recall, precision, F1, ...) by epoch, and one\n"
        "for the learning rate. Of two runs the first is dashed and the second solid; of more runs each has a\n"
        "colour, training is dashed and validation solid. The last values of shorter runs are drawn on, dotted.\n"
        "EVENTS are event files of TensorBoard, or folders of them, whoever wrote them: a panel for each tag that has\n"
        "numbers, by step, with a colour for each folder; up to 12 tags, those without a group first.\n"
        "With --schedule, draws the learning rate of each update as configurations say it. Up to 7 of either.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = LIANA__PLOT_MOST_RUNS,
    .overrides = true,
    .run = run,
};
