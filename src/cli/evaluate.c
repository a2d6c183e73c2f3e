/* liana evaluate: loss and metrics of a trained run, or of a model with its weights. */
#include "base/scoped.h"
#include "cli/class_table.h"
#include "cli/session.h"
#include "train/run/run_follow.h"

#include <errno.h>
#include <string.h>

static const liana__option options[] = {
    {LIANA__OPTION_DATA},
    {LIANA__OPTION_MODEL},
    {LIANA__OPTION_WEIGHTS},
    {"checkpoint", "DIR", "the checkpoint: best, its name in the run, or a folder (default: the newest)"},
    {"by-class", NULL,
     "also precision, recall, F1 score and number of examples of each class, and who is taken for whom"},
    {"follow", NULL, "evaluate each new checkpoint as it appears, until the run is over"},
    {"every", "SECONDS", "with --follow: the time between looks for new checkpoints (default: 5)"},
    {LIANA__OPTION_THRESHOLD},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

/* Numbers of examples are whole, unless examples have weights. */
static void add_numbers(liana__arena *arena, liana__value *list, const double *numbers, size_t count, bool examples)
{
    for (size_t i = 0; i < count; i++) {
        bool whole = examples && numbers[i] == (double)(int64_t)numbers[i];
        liana__value_add(arena, list,
                         whole ? liana__value_int(arena, (int64_t)numbers[i]) : liana__value_float(arena, numbers[i]));
    }
}

/* Whether its numbers are of examples, and no shares. */
static bool counts_examples(const liana__objective_metric *metric, const double *sums, const double *values)
{
    if (metric->choice.metric == &liana__metric_support) return true;
    return metric->choice.metric->is_matrix && memcmp(sums, values, metric->num_values * sizeof *values) == 0;
}

/* A metric that has several numbers: a list, or a list of rows. */
static void add_list(liana__arena *arena, liana__value *event, const liana__totals *totals, size_t index)
{
    const liana__objective_metric *metric = &totals->objective->metrics[index];
    double *values = liana__arena_allocate(arena, (metric->num_values + 1) * sizeof *values);
    if (!values || !metric->num_values) return;
    liana__totals_values(totals, index, values);
    liana__value *list = liana__value_list(arena);
    size_t rows = (size_t)liana__metric_num_rows(metric);
    bool examples = counts_examples(metric, totals->sums + metric->first_sum, values);
    if (!rows) add_numbers(arena, list, values, metric->num_values, examples);
    for (size_t i = 0; i < rows; i++) {
        liana__value *row = liana__value_list(arena);
        add_numbers(arena, row, values + i * rows, rows, examples);
        liana__value_add(arena, list, row);
    }
    liana__value_set(arena, event, metric->name, list);
}

/* The names that lists by class are in the order of: a list, or with several outputs one for each. */
static void add_names(liana__arena *arena, liana__value *event, const liana__run *run)
{
    const liana__objective *objective = liana__trainer_objective(run->core.trainer);
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const char *output = objective->outputs[i].name;
        const char *key = objective->num_outputs == 1 ? "classes" : liana__arena_format(arena, "%s_classes", output);
        liana__strings names = liana__run_output_names(run, i);
        liana__value *list = liana__value_list(arena);
        for (size_t k = 0; k < names.count; k++) {
            liana__value_add(arena, list, liana__value_string(arena, names.items[k]));
        }
        if (names.count) liana__value_set(arena, event, key, list);
    }
}

static void print_json(liana__invocation *invocation, const liana__run *run, const char *checkpoint,
                       const liana__totals *totals)
{
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__session_event(invocation, "evaluation");
    for (size_t i = 0; i <= run->core.num_metrics; i++) {
        liana__value_set(arena, event, i ? run->core.metric_names[i - 1] : "loss",
                         liana__value_float(arena, liana__totals_value(totals, i)));
    }
    for (size_t i = 0; i < totals->objective->num_metrics; i++) add_list(arena, event, totals, i);
    if (liana__invocation_has(invocation, "by-class")) add_names(arena, event, run);
    liana__value_set(arena, event, "examples", liana__value_int(arena, totals->count));
    liana__value_set(arena, event, "bad_records", liana__value_int(arena, totals->bad_records));
    liana__value_set(arena, event, "checkpoint", liana__value_string(arena, liana__remote_name(checkpoint)));
    liana__invocation_print_json(invocation, event);
}

static liana_status print_tables(liana__invocation *invocation, const liana__run *run, const liana__totals *totals)
{
    liana__text text = {0};
    for (size_t i = 0; i < totals->objective->num_outputs; i++) {
        liana__class_table_add(totals, i, liana__run_output_names(run, i), &text);
    }
    return liana__session_print(invocation, &text, "the tables");
}

static liana_status print(liana__invocation *invocation, const liana__run *run, const char *checkpoint,
                          const liana__totals *totals)
{
    if (liana__invocation_has(invocation, "json")) {
        print_json(invocation, run, checkpoint, totals);
        return LIANA_OK;
    }
    for (size_t i = 0; i <= run->core.num_metrics; i++) {
        fprintf(invocation->out, "%s%s %.4f", i ? ", " : "", i ? run->core.metric_names[i - 1] : "loss",
                liana__totals_value(totals, i));
    }
    fprintf(invocation->out, " over %lld examples", (long long)totals->count);
    if (totals->bad_records) fprintf(invocation->out, " (%lld left out)", (long long)totals->bad_records);
    fprintf(invocation->out, ", with '%s'\n", liana__remote_name(checkpoint));
    return print_tables(invocation, run, totals);
}

static liana_status evaluate(liana__invocation *invocation, const liana__session *session, const char *folder)
{
    liana__error *error = &invocation->error;
    const bool is_chief = liana__session_is_chief(session);
    const char *asked = liana__invocation_text(invocation, "checkpoint"), *checkpoint;
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    LIANA__SCOPED(liana__totals) totals = {0};
    liana__run_options wanted = {.validation = true,
                                 .by_class = liana__invocation_has(invocation, "by-class"),
                                 .on_bad_record = is_chief ? liana__session_bad_record : NULL,
                                 .user = invocation};
    LIANA_TRY(liana__run_open(session->context, &session->config, &wanted, &run, error));
    LIANA_TRY(liana__session_load(session, folder, asked, &run, &checkpoint, error));
    LIANA_TRY(liana__evaluate(run.core.trainer, run.validation.loader, 0, &totals, NULL, NULL, error));
    return is_chief ? print(invocation, &run, checkpoint, &totals) : LIANA_OK;
}

/* ---- the evaluator of a run that is being trained ---- */

typedef struct evaluator {
    liana__invocation *invocation;
    const liana__run *run;
} evaluator;

/* A line comes with each evaluation, at once. */
static liana_status print_followed(void *user, const char *checkpoint, const liana__totals *totals, liana__error *error)
{
    const evaluator *own = user;
    liana__invocation *invocation = own->invocation;
    liana_status status = print(invocation, own->run, checkpoint, totals);
    if (fflush(invocation->out) == 0 || status != LIANA_OK) return status;
    return liana__fail(error, LIANA_IO_ERROR, "cannot write to standard output: %s", strerror(errno));
}

static void note_followed(void *user, const char *note)
{
    fprintf(((const evaluator *)user)->invocation->err, "%s\n", note);
}

static liana_status follow_run(const liana__follow_options *how, const liana__session *session,
                               liana__invocation *invocation)
{
    LIANA__SCOPED_BY(liana__run_close) liana__run opened = {0};
    evaluator *own = how->user;
    const liana__run_options wanted = {.validation = true,
                                       .by_class = liana__invocation_has(invocation, "by-class"),
                                       .on_bad_record = liana__session_bad_record,
                                       .user = invocation};
    LIANA_TRY(liana__run_open(session->context, &session->config, &wanted, &opened, &invocation->error));
    own->run = &opened;
    return liana__run_follow(&opened, how, &invocation->error);
}

/* Each process would evaluate each checkpoint. */
static liana_status check_alone(liana__invocation *invocation)
{
    liana__cluster_place place = {0};
    LIANA_TRY(liana__run_cluster_find_place(invocation->overrides, invocation->num_overrides, &invocation->arena,
                                            &place, &invocation->error));
    if (!place.transport) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       "evaluate: --follow is for one process beside the cluster, but %s says that this is rank %zu of "
                       "%zu; start it without that, or as the task 'evaluator'",
                       place.source, place.rank, place.num_workers + place.num_servers);
}

static liana_status check_follow(liana__invocation *invocation, double *interval)
{
    static const char *const others[] = {"model", "weights", "checkpoint"};
    LIANA_TRY(liana__invocation_float(invocation, "every", 0.01, 86400, interval));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!liana__invocation_has(invocation, others[i])) continue;
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "evaluate: --follow evaluates all checkpoints of a run; leave --%s out", others[i]);
    }
    if (!invocation->num_operands) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "evaluate: --follow needs the run folder to follow");
    }
    return check_alone(invocation);
}

/* Other data than the run's: --data, whose text *pattern keeps, or data.validation=... */
static void choose_data(liana__invocation *invocation, const char **pattern, liana__session *session)
{
    liana__data_config *data = &session->config.data;
    *pattern = liana__invocation_text(invocation, "data");
    if (*pattern) {
        data->validation = (liana__source_config){.paths = {1, pattern}};
        data->validation_split = 0;
    }
    if (*pattern || liana__session_names_validation(session)) liana__session_take_whole(invocation, session);
}

static liana_status follow(liana__invocation *invocation)
{
    const char *folder, *pattern;
    double interval = 5;
    evaluator own = {.invocation = invocation};
    LIANA_TRY(check_follow(invocation, &interval));
    liana__follow_options how = {.run = invocation->operands[0],
                                 .interval = interval,
                                 .stop = liana__session_stops,
                                 .on_note = note_followed,
                                 .on_evaluation = print_followed,
                                 .user = &own};
    liana__signals_catch();
    LIANA_TRY(liana__follow_wait(&how, &invocation->error));
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA_TRY(liana__session_open_trained(invocation, &session, &folder));
    choose_data(invocation, &pattern, &session);
    LIANA_TRY(liana__session_read_threshold(invocation, &session));
    return follow_run(&how, &session, invocation);
}

static liana_status run(liana__invocation *invocation)
{
    if (liana__invocation_has(invocation, "follow")) return follow(invocation);
    if (liana__invocation_has(invocation, "every")) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "evaluate: --every belongs to --follow");
    }
    const char *folder, *pattern;
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA_TRY(liana__session_open_shared(invocation, &session, &folder));
    if (!folder && invocation->num_operands) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "evaluate: found the run '%s' and --model; give one of them (data with --data PATTERN)",
                           invocation->operands[0]);
    }
    choose_data(invocation, &pattern, &session);
    LIANA_TRY(liana__session_read_threshold(invocation, &session));
    return evaluate(invocation, &session, folder);
}

const liana__command liana__subcommand_evaluate = {
    .name = "evaluate",
    .operands = "[RUN] [key=value ...]",
    .summary = "Measure a trained model on labelled examples",
    .help = "Prints loss and metrics over the run's validation data, or over other data: --data PATTERN, or\n"
            "data.validation={...} as in a configuration. The training data are not needed.\n"
            "With --model model.json --weights FILE no run is needed either.\n"
            "Started by 'liana launch', mpirun or srun the processes share the examples; the first one prints.\n"
            "With --follow it evaluates each checkpoint of a run that is being trained, also one that begins later,\n"
            "and lists the results in the run's evaluations.json. It ends when the run is over. Stopped and started\n"
            "again, it goes on with the checkpoints that are not in the list.\n",
    .options = options,
    .max_operands = 1,
    .overrides = true,
    .run = run,
};
