/* liana plot: several runs, or schedules, in one figure. */
#include "base/scoped.h"
#include "cli/session.h"

#include "base/file.h"
#include "report/run_plot.h"

#include <string.h>

static const liana__option options[] = {
    {"out", "FILE", "the picture, .png or .svg (default: plot.png)"},
    {"measures", "LIST", "what is drawn: loss,accuracy,learning_rate (default: all)"},
    {"schedule", NULL, "draw the learning rates of configurations, before anything is trained"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

/* ---- runs ---- */

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

static liana_status plot_runs(liana__invocation *invocation, const char *path)
{
    liana__error *error = &invocation->error;
    const char *list = liana__invocation_text(invocation, "measures");
    const char *const *measures = NULL;
    size_t num_measures = 0;
    liana__run_files *runs;
    if (list) LIANA_TRY(split_list(invocation, list, &measures, &num_measures));
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

static liana_status plot_schedules(liana__invocation *invocation, const char *path)
{
    liana__plotted_rate rates[LIANA__PLOT_MOST_RUNS];
    for (size_t i = 0; i < invocation->num_operands; i++) {
        const char *config = invocation->operands[i];
        LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
        rates[i].name = liana__path_name(config);
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
    .operands = "RUN ... | --schedule CONFIG ... [key=value]",
    .summary = "Draw several runs, or learning-rate schedules, in one figure",
    .help =
        "Draws a panel for each measure of the runs (loss, accuracy, recall, precision, F1, ...) by epoch, and one\n"
        "for the learning rate. Of two runs the first is dashed and the second solid; of more runs each has a\n"
        "colour, training is dashed and validation solid. The last values of shorter runs are drawn on, dotted.\n"
        "With --schedule, draws the learning rate of each update as configurations say it. Up to 7 of either.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = LIANA__PLOT_MOST_RUNS,
    .overrides = true,
    .run = run,
};
