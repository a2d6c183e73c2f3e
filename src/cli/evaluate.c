/* liana evaluate: loss and metrics of a trained run, or of a model with its weights. */
#include "cli/session.h"

static const liana__option options[] = {
    LIANA__OPTION_DATA,
    LIANA__OPTION_MODEL,
    LIANA__OPTION_WEIGHTS,
    {"checkpoint", "DIR", "the checkpoint, or its name in the run (default: the newest)"},
    LIANA__OPTION_PLUGINS,
    LIANA__OPTION_JSON,
    {0},
};

/* A row for each true class. */
static void add_matrix(liana__arena *arena, liana__value *event, const liana__totals *totals)
{
    int64_t classes = 0;
    const double *matrix = liana__totals_matrix(totals, &classes);
    if (!matrix) return;
    liana__value *rows = liana__value_list(arena);
    for (int64_t i = 0; i < classes; i++) {
        liana__value *row = liana__value_list(arena);
        for (int64_t k = 0; k < classes; k++) {
            liana__value_add(arena, row, liana__value_int(arena, (int64_t)matrix[i * classes + k]));
        }
        liana__value_add(arena, rows, row);
    }
    liana__value_set(arena, event, "confusion_matrix", rows);
}

static void print(liana__invocation *invocation, const liana__run *run, const char *checkpoint,
                  const liana__totals *totals)
{
    if (liana__invocation_has(invocation, "json")) {
        liana__arena *arena = &invocation->arena;
        liana__value *event = liana__session_event(invocation, "evaluation");
        for (size_t i = 0; i <= run->core.num_metrics; i++) {
            liana__value_set(arena, event, i ? run->core.metric_names[i - 1] : "loss",
                             liana__value_float(arena, liana__totals_value(totals, i)));
        }
        add_matrix(arena, event, totals);
        liana__value_set(arena, event, "examples", liana__value_int(arena, totals->count));
        liana__value_set(arena, event, "bad_records", liana__value_int(arena, totals->bad_records));
        liana__value_set(arena, event, "checkpoint", liana__value_string(arena, liana__remote_name(checkpoint)));
        liana__invocation_print_json(invocation, event);
        return;
    }
    for (size_t i = 0; i <= run->core.num_metrics; i++) {
        fprintf(invocation->out, "%s%s %.4f", i ? ", " : "", i ? run->core.metric_names[i - 1] : "loss",
                liana__totals_value(totals, i));
    }
    fprintf(invocation->out, " over %lld examples", (long long)totals->count);
    if (totals->bad_records) fprintf(invocation->out, " (%lld left out)", (long long)totals->bad_records);
    fprintf(invocation->out, ", with '%s'\n", liana__remote_name(checkpoint));
}

static liana_status evaluate(liana__invocation *invocation, const liana__session *session, const char *folder)
{
    liana__error *error = &invocation->error;
    const char *asked = liana__invocation_text(invocation, "checkpoint"), *checkpoint;
    liana__run run;
    liana__run_options wanted = {.validation = true, .on_bad_record = liana__session_bad_record, .user = invocation};
    LIANA_TRY(liana__run_open(session->context, &session->config, &wanted, &run, error));
    liana_status status = liana__session_load(session, folder, asked, &run, &checkpoint, error);
    liana__totals totals = {0};
    if (status == LIANA_OK) {
        status = liana__evaluate(run.core.trainer, run.validation.loader, 0, &totals, NULL, NULL, error);
    }
    if (status == LIANA_OK) print(invocation, &run, checkpoint, &totals);
    liana__totals_free(&totals);
    liana__run_close(&run);
    return status;
}

static liana_status run(liana__invocation *invocation)
{
    const char *folder;
    liana__session session;
    liana_status status = liana__session_open_trained(invocation, &session, &folder);
    if (status == LIANA_OK && !folder && invocation->num_operands) {
        status = liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                             "evaluate: found the run '%s' and --model; give one of them (data with --data PATTERN)",
                             invocation->operands[0]);
    }
    const char *pattern = liana__invocation_text(invocation, "data");
    if (pattern) session.config.data.validation = (liana__source_config){.paths = {1, &pattern}};
    if (pattern) session.config.data.validation_split = 0;
    if (status == LIANA_OK) status = evaluate(invocation, &session, folder);
    liana__session_close(&session);
    return status;
}

const liana__command liana__subcommand_evaluate = {
    .name = "evaluate",
    .operands = "[RUN] [key=value ...]",
    .summary = "Measure a trained model on labelled examples",
    .help = "Prints loss and metrics over the run's validation data, or over other data: --data PATTERN, or\n"
            "data.validation={...} as in a configuration. The training data are not needed.\n"
            "With --model model.json --weights FILE no run is needed either.\n",
    .options = options,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
