#include "cli/session.h"

static const liana__option options[] = {
    LIANA__OPTION_DATA,
    {"out", "FILE.csv", "the file of predictions (needed)"},
    {"checkpoint", "DIR", "the checkpoint, or its name in the run (default: the newest)"},
    LIANA__OPTION_JSON,
    {0},
};

static void print(liana__invocation *invocation, const char *path, const liana__totals *totals)
{
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out, "predictions in '%s': %lld", path, (long long)totals->count);
        if (totals->bad_records)
            fprintf(invocation->out, "; %lld records are left out", (long long)totals->bad_records);
        fprintf(invocation->out, "\n");
        return;
    }
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__session_event(invocation, "predictions");
    liana__value_set(arena, event, "out", liana__value_string(arena, path));
    liana__value_set(arena, event, "examples", liana__value_int(arena, totals->count));
    liana__value_set(arena, event, "bad_records", liana__value_int(arena, totals->bad_records));
    liana__invocation_print_json(invocation, event);
}

static liana_status predict_into(liana__invocation *invocation, liana__run *run, const char *path)
{
    liana__error *error = &invocation->error;
    const char *pattern = liana__invocation_text(invocation, "data");
    const char *checkpoint = liana__invocation_text(invocation, "checkpoint");
    LIANA_TRY(liana__run_load(run, invocation->operands[0], checkpoint, NULL, error));
    liana__source_config where = {.paths = {1, &pattern}};
    liana__run_data data;
    LIANA_TRY(liana__run_open_data(run, &where, &data, error));
    liana__totals totals;
    liana_status status = liana__run_predict(run, &data, LIANA__PREDICTIONS_FULL, path, NULL, &totals, error);
    if (status == LIANA_OK) print(invocation, path, &totals);
    liana__run_close_data(&data);
    return status;
}

static liana_status predict(liana__invocation *invocation, const liana__session *session, const char *path)
{
    liana__run run;
    liana__run_options wanted = {.on_bad_record = liana__session_bad_record, .user = invocation};
    LIANA_TRY(liana__run_open(session->context, &session->config, &wanted, &run, &invocation->error));
    liana_status status = predict_into(invocation, &run, path);
    liana__run_close(&run);
    return status;
}

static liana_status run(liana__invocation *invocation)
{
    const char *config_path, *path = liana__invocation_text(invocation, "out");
    for (size_t i = 0; i < 2; i++) {
        const char *name = options[i].name;
        if (liana__invocation_has(invocation, name)) continue;
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "predict: --%s is missing: --%s %s says %s", name,
                           name, options[i].argument, i ? "where the predictions go" : "what to predict");
    }
    LIANA_TRY(liana__session_find_run(invocation, invocation->operands[0], &config_path));
    liana__session session;
    liana_status status = liana__session_open(invocation, config_path, &session);
    if (status == LIANA_OK) status = predict(invocation, &session, path);
    liana__session_close(&session);
    return status;
}

const liana__command liana__subcommand_predict = {
    .name = "predict",
    .operands = "RUN [key=value ...]",
    .summary = "Name the classes of new images with a trained model",
    .help = "Writes a CSV file with the columns id, label, class, confidence: an image in each row, the\n"
            "number and the name of the most likely class, and its probability. The examples are\n"
            "TFRecords, IDX images, or a folder of JPEG and PNG files; labels are not looked at.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
