/* liana data: pictures of the data that a run would be trained on. */
#include "base/scoped.h"
#include "cli/remote_files.h"
#include "cli/session.h"
#include "report/reports.h"

static const liana__option options[] = {
    {LIANA__OPTION_OUT("the folder for the pictures (required)")},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

static void print_note(void *user, const char *note)
{
    liana__invocation *invocation = user;
    if (!liana__invocation_has(invocation, "json")) {
        liana__print_plainly(invocation->out, note);
        fputc('\n', invocation->out);
        return;
    }
    liana__value *event = liana__session_event(invocation, "note");
    liana__value_set(&invocation->arena, event, "text", liana__value_string(&invocation->arena, note));
    liana__invocation_print_json(invocation, event);
}

static liana_status run(liana__invocation *invocation)
{
    LIANA_TRY(liana__invocation_require(invocation, "out", "the folder for the pictures"));
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA_TRY(liana__session_open(invocation, invocation->operands[0], &session));
    liana__error *error = &invocation->error;
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    liana__sending sending;
    liana__run_options wanted = {.training = true, .on_note = print_note, .user = invocation};
    LIANA_TRY(liana__config_require_training_data(&session.config, error));
    LIANA_TRY(liana__run_open_model(session.context, &session.config, &wanted, &run, error));
    char missing[512];
    liana__fonts_note(run.class_names.items, run.class_names.count, missing, sizeof missing);
    if (*missing) fprintf(invocation->err, "%s\n", missing);
    LIANA_TRY(liana__sending_start(invocation, liana__invocation_text(invocation, "out"), &sending));
    liana__drawing_files files = {sending.folder, liana__session_picture, invocation};
    const liana__drawings drawings = {liana__drawing_write_files, &files};
    return liana__sending_end(invocation, &sending, liana__report_data(&run, &drawings, error));
}

const liana__command liana__subcommand_data = {
    .name = "data",
    .operands = "CONFIG.yaml [key=value ...]",
    .summary = "Draw the data that a model would be trained on",
    .help = "Draws as .png and as .svg: samples of the training images with their classes; the frequency of\n"
            "the classes in training and validation, before and after oversampling; the sizes of the images;\n"
            "and originals beside their augmented images. Of tables: the frequency of the classes, and of the\n"
            "values of each column.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
