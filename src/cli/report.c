/* liana report: pictures of a run. */
#include "cli/remote_files.h"
#include "cli/session.h"

#include "base/file.h"
#include "base/scoped.h"
#include "report/reports.h"

static const liana__option options[] = {
    {LIANA__OPTION_OUT("the folder for the pictures (default: the run folder)")},
    {"checkpoint", "DIR", "the checkpoint: best, its name in the run, or a folder (default: the newest)"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

/* Predictions are shown with their images, where there are images with one class each. */
static bool has_labelled_images(const liana__run *run)
{
    return run->image_shape[0] > 0 && liana__run_predicts_classes(run);
}

/* The folder is for the pictures. */
static liana_status draw_validation(liana__invocation *invocation, const liana__session *session, const char *folder)
{
    liana__error *error = &invocation->error;
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    const liana__run_options wanted = {.validation = true, .by_class = true};
    const char *path = liana__path_join(&invocation->arena, folder, "predictions.png");
    if (!path) return liana__fail_memory(error, "the report");
    LIANA_TRY(liana__run_open(session->context, &session->config, &wanted, &run, error));
    LIANA_TRY(
        liana__run_load(&run, invocation->operands[0], liana__invocation_text(invocation, "checkpoint"), NULL, error));
    char missing[512];
    liana__fonts_note(run.class_names.items, run.class_names.count, missing, sizeof missing);
    if (*missing) fprintf(invocation->err, "%s\n", missing);
    if (has_labelled_images(&run)) {
        LIANA_TRY(liana__report_predictions(&run, path, error));
        liana__session_picture(invocation, path);
    }
    return liana__report_classes(&run, folder, liana__session_picture, invocation, error);
}

/* The curves first: they need neither the data nor a checkpoint. */
static liana_status draw(liana__invocation *invocation, liana__session *session, const char *out)
{
    liana__arena *arena = &invocation->arena;
    const char *history = liana__path_join(arena, invocation->operands[0], "history.json");
    const char *curves = liana__path_join(arena, out, "curves.png");
    if (!history || !curves) return liana__fail_memory(&invocation->error, "the report");
    LIANA_TRY(liana__report_curves(history, curves, arena, &invocation->error));
    liana__session_picture(invocation, curves);
    const liana__data_config *data = &session->config.data;
    if (!liana__config_has_source(&data->validation) && !data->validation_split) {
        fprintf(invocation->err, "the run has no validation data, so no predictions and no confusion matrix are drawn; "
                                 "data.validation=PATTERN sets some\n");
        return LIANA_OK;
    }
    if (liana__session_names_validation(session)) liana__session_take_whole(invocation, session);
    return draw_validation(invocation, session, out);
}

static liana_status run(liana__invocation *invocation)
{
    const char *config_path, *out = liana__invocation_text(invocation, "out");
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    liana__sending sending;
    if (!out) out = invocation->operands[0];
    LIANA_TRY(liana__session_find_run(invocation, true, &config_path));
    LIANA_TRY(liana__session_open(invocation, config_path, &session));
    LIANA_TRY(liana__sending_start(invocation, out, &sending));
    return liana__sending_end(invocation, &sending, draw(invocation, &session, sending.folder));
}

const liana__command liana__subcommand_report = {
    .name = "report",
    .operands = "RUN [key=value ...]",
    .summary = "Draw the curves and predictions of a run",
    .help = "Draws curves.png (loss and metrics by epoch), predictions.png (validation images with the\n"
            "model's predictions, framed green where right and red where wrong), and of classes\n"
            "confusion_matrix.png and confusion_matrix_normalized.png (which class is taken for which, in\n"
            "numbers and in shares). Without validation data, draws only the curves.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
