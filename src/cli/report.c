/* liana report: pictures of a run. */
#include "cli/sending.h"
#include "cli/session.h"

#include "base/file.h"
#include "report/fonts.h"
#include "report/run_report.h"

static const liana__option options[] = {
    LIANA__OPTION_OUT("the folder for the pictures (default: the run folder)"),
    {"checkpoint", "DIR", "the checkpoint, or its name in the run (default: the newest)"},
    LIANA__OPTION_PLUGINS,
    LIANA__OPTION_JSON,
    {0},
};

static void print(liana__invocation *invocation, const char *path)
{
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out, "%s\n", liana__remote_name(path));
        return;
    }
    liana__value *event = liana__session_event(invocation, "picture");
    liana__value_set(&invocation->arena, event, "out",
                     liana__value_string(&invocation->arena, liana__remote_name(path)));
    liana__invocation_print_json(invocation, event);
}

/* Draws labelled images; other examples are no pictures, and nothing is drawn. */
static liana_status draw_predictions(liana__invocation *invocation, const liana__session *session, const char *path,
                                     bool *drawn)
{
    liana__error *error = &invocation->error;
    liana__run run;
    LIANA_TRY(
        liana__run_open(session->context, &session->config, &(liana__run_options){.validation = true}, &run, error));
    liana_status status =
        liana__run_load(&run, invocation->operands[0], liana__invocation_text(invocation, "checkpoint"), NULL, error);
    if (status == LIANA_OK) {
        char missing[512];
        liana__fonts_note(run.class_names.items, run.class_names.count, missing, sizeof missing);
        if (*missing) fprintf(invocation->err, "%s\n", missing);
    }
    *drawn = status == LIANA_OK && run.validation.match.has_image && run.validation.match.has_label;
    if (*drawn) status = liana__report_predictions(&run, path, error);
    if (status == LIANA_OK && !*drawn) {
        fprintf(invocation->err, "the validation data are not images with a class each, so no predictions are drawn\n");
    }
    liana__run_close(&run);
    return status;
}

/* The curves first: they need neither the data nor a checkpoint. */
static liana_status draw(liana__invocation *invocation, const liana__session *session, const char *out)
{
    liana__arena *arena = &invocation->arena;
    const char *folder = invocation->operands[0];
    const char *history = liana__path_join(arena, folder, "history.json");
    const char *curves = liana__path_join(arena, out, "curves.png");
    const char *predictions = liana__path_join(arena, out, "predictions.png");
    if (!history || !curves || !predictions) return liana__fail_memory(&invocation->error, "the report");
    LIANA_TRY(liana__report_curves(history, curves, arena, &invocation->error));
    print(invocation, curves);
    const liana__data_config *data = &session->config.data;
    if (!liana__config_has_source(&data->validation) && !data->validation_split) {
        fprintf(invocation->err,
                "the run has no validation data, so no predictions are drawn; data.validation=PATTERN sets some\n");
        return LIANA_OK;
    }
    bool drawn;
    LIANA_TRY(draw_predictions(invocation, session, predictions, &drawn));
    if (drawn) print(invocation, predictions);
    return LIANA_OK;
}

static liana_status run(liana__invocation *invocation)
{
    const char *config_path, *out = liana__invocation_text(invocation, "out");
    liana__session session;
    liana__sending sending;
    if (!out) out = invocation->operands[0];
    LIANA_TRY(liana__session_find_run(invocation, true, &config_path));
    liana_status status = liana__session_open(invocation, config_path, &session);
    if (status == LIANA_OK) status = liana__sending_start(invocation, out, &sending);
    if (status == LIANA_OK) {
        status = draw(invocation, &session, sending.folder);
        status = liana__sending_end(invocation, &sending, status);
    }
    liana__session_close(&session);
    return status;
}

const liana__command liana__subcommand_report = {
    .name = "report",
    .operands = "RUN [key=value ...]",
    .summary = "Draw the curves and predictions of a run",
    .help = "Draws curves.png (loss and metrics by epoch) and predictions.png (validation images with the\n"
            "model's predictions, framed green where right and red where wrong). Without validation data,\n"
            "draws only the curves.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
