/* Training with an estimator: a thin user of the training core, as liana_fit is. */
#include "base/clock.h"
#include "base/scoped.h"
#include "distribute/cluster/cluster.h"
#include "formats/safetensors.h"
#include "train/checkpoint/data_state.h"
#include "train/estimator/estimator.h"
#include "train/model/compiled.h"

#include <string.h>

/* A training that runs. */
typedef struct run {
    liana_estimator *estimator;
    const liana_train_spec *train;
    const liana_eval_spec *eval; /* NULL: nothing is evaluated */
    liana__fn_session session;   /* with the options of the job */
    liana__job job;
} run;

/* ---- specs ---- */

/* The chief alone writes checkpoints, which the others read. */
static liana_status check_folder(const liana_estimator *estimator, liana__error *error)
{
    const liana__cluster *cluster = liana__cluster_of(estimator->context);
    const size_t num_processes = cluster ? cluster->place.num_workers + cluster->place.num_servers : 1;
    if (!estimator->is_temporary || num_processes == 1) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: several processes train together, and read the checkpoints that the chief writes: set "
                       "config.model_dir to a folder that all of them reach",
                       estimator->options.name);
}

static liana_status check_counts(const run *own, liana__error *error)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"train.max_steps", own->train->max_steps},
                  {"train.epochs", own->train->epochs},
                  {"train.steps", own->train->steps},
                  {"eval.steps", own->eval ? own->eval->steps : 0},
                  {"eval.every_steps", own->eval ? own->eval->every_steps : 0},
                  {"eval.every_epochs", own->eval ? own->eval->every_epochs : 0}};
    const char *name = own->estimator->options.name;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].value >= 0) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: %s is %lld, expected 0 or more", name, counts[i].name,
                           (long long)counts[i].value);
    }
    if (own->eval && own->eval->every_steps && own->eval->every_epochs) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: eval.every_steps and eval.every_epochs exclude each other; keep one of them", name);
    }
    return LIANA_OK;
}

/* How long, up to the first limit, and when it is evaluated. */
static void take_specs(run *own)
{
    const liana_train_spec *train = own->train;
    liana__job_options *options = own->job.options;
    const int64_t end = own->session.training.state.iteration + train->steps;
    options->epochs = train->epochs;
    options->steps = train->max_steps;
    if (train->steps && (!options->steps || end < options->steps)) options->steps = end;
    liana__job_find_epochs(options, train->epochs != 0);
    options->checkpoint.every_epoch = !own->estimator->is_temporary;
    if (!own->eval) return;
    options->validation_steps = own->eval->steps;
    if (own->eval->every_epochs) options->validation_freq = own->eval->every_epochs;
}

/* ---- notes about speed ---- */

typedef struct speedometer {
    double last_seconds;
    int64_t last_step;
} speedometer;

static liana_status start_speed(liana_callback_item *item, liana_fit_context *context)
{
    *(speedometer *)item->self = (speedometer){liana__clock_seconds(), context->training->state.iteration};
    return LIANA_OK;
}

static liana_status note_speed(liana_callback_item *item, liana_fit_context *context)
{
    speedometer *own = item->self;
    const liana_run_config *config = item->options;
    const liana__training *training = context->training;
    const int64_t step = training->state.iteration, done = step - own->last_step;
    if (step % config->log_step_count_steps != 0) return LIANA_OK;
    double seconds = liana__clock_seconds() - own->last_seconds;
    liana__text text = {0};
    liana__text_add(&text, "step %lld: loss %.6g", (long long)step, liana__totals_value(context->totals, 0));
    for (size_t i = 0; i < training->num_metrics; i++) {
        liana__text_add(&text, ", %s %.6g", training->metric_names[i], liana__totals_value(context->totals, i + 1));
    }
    liana__text_add(&text, " (%.1f steps a second)", seconds > 0 ? (double)done / seconds : 0);
    if (text.data) liana__note(&context->notes, "%s", text.data);
    liana__text_free(&text);
    return start_speed(item, context);
}

static const liana_callback_type speed_callback = {
    LIANA_PART(CALLBACK, liana_callback_type, "StepCounter",
               "Tells loss, metrics and speed after every so many updates."),
    .self_size = sizeof(speedometer),
    .on = {[LIANA_ON_TRAIN_BEGIN] = start_speed, [LIANA_ON_STEP_END] = note_speed},
};

/* ---- results of evaluations ---- */

static liana_status report(liana_callback_item *item, liana_fit_context *context)
{
    const liana_eval_spec *eval = item->options;
    liana_results results = liana__results_of(context->validation);
    eval->on_evaluation(eval->user, context->training->state.iteration, &results);
    return LIANA_OK;
}

static const liana_callback_type report_callback = {
    LIANA_PART(CALLBACK, liana_callback_type, "Evaluation",
               "Tells the results of evaluations to a function of the program."),
    .on = {[LIANA_ON_VALIDATION_END] = report},
};

/* ---- callbacks ---- */

static liana_status add_callbacks(run *own, liana__error *error)
{
    const liana_train_spec *train = own->train;
    const liana_run_config *config = &own->estimator->options.config;
    liana__callback_list *callbacks = &own->job.callbacks;
    const char *text = train->named_callbacks;
    if (text) own->job.options->callbacks = liana__value_string(&own->session.arena, text);
    if (text && !own->job.options->callbacks) return liana__fail_memory(error, "the callbacks");
    LIANA_TRY(liana__job_add_callbacks(&own->job, train->callbacks, train->num_callbacks, error));
    if (config->log_step_count_steps) {
        LIANA_TRY(liana__callback_list_add(callbacks, &speed_callback, config, NULL, NULL, error));
    }
    if (!own->eval || !own->eval->on_evaluation) return LIANA_OK;
    return liana__callback_list_add(callbacks, &report_callback, own->eval, NULL, NULL, error);
}

/* ---- checkpoints ---- */

static liana_status save(void *user, liana__error *error)
{
    const run *own = user;
    liana_estimator *estimator = own->estimator;
    const liana__training *training = &own->session.training;
    const int64_t keep = estimator->job.checkpoint.keep;
    LIANA_TRY(liana__checkpoint_save(estimator->checkpoints, &training->variables, &training->state, keep, error));
    estimator->global_step = training->state.iteration;
    return estimator->outlet ? liana__outlet_changed(estimator->outlet, error) : LIANA_OK;
}

/* A checkpoint with more variables is of another function too. */
static liana_status check_variables(const run *own, const char *path, liana__error *error)
{
    LIANA__SCOPED_BY(liana__safetensors_close) liana__safetensors file = {0};
    const liana__variables *known = &own->session.training.variables;
    const char *name = liana__path_join((liana__arena *)&own->session.arena, path, liana__checkpoint_variables);
    if (!name) return liana__fail_memory(error, "a checkpoint");
    LIANA_TRY(liana__safetensors_open(name, &file, error));
    for (size_t i = 0; i < file.contents.num_tensors; i++) {
        const char *variable = file.contents.tensors[i].name;
        if (liana__starts_with(variable, "callbacks/") || liana__variables_find(known, variable)) continue;
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s' has a variable '%s', which this model function and its optimizer do not have", path,
                           variable);
    }
    return LIANA_OK;
}

/* Goes on from the newest checkpoint, or begins. */
static liana_status begin(run *own, liana__error *error)
{
    liana__fn_session *session = &own->session;
    liana_estimator *estimator = own->estimator;
    liana__training_state *state = &session->training.state;
    const char *path;
    LIANA_TRY(liana__checkpoint_note_seed(state, estimator->options.config.seed, &session->arena, error));
    LIANA_TRY(liana__job_note_data(&own->job, session->train.source, error));
    liana_status status = liana__job_resume(&own->job, estimator->checkpoints, NULL, NULL, &path, error);
    if (status == LIANA_OK && path) {
        /* The others' copies are gone by now. */
        liana__cluster *cluster = session->training.cluster;
        if (liana__cluster_is_chief(cluster)) status = check_variables(own, path, error);
        status = liana__cluster_agree_status(cluster, status, error);
    }
    if (status == LIANA_INVALID_DATA) return liana__estimator_blame(estimator, error);
    LIANA_TRY(status);
    estimator->global_step = state->iteration;
    liana__job_note_contents(&own->job);
    return path ? LIANA_OK : liana__estimator_initialize(session, error);
}

/* An estimator that goes on keeps its precision. */
static liana_status check_precision(const run *own, liana__error *error)
{
    const liana_estimator *estimator = own->estimator;
    liana__job_options job = estimator->job;
    liana_precision before;
    const char *recorded = liana__checkpoint_precision(estimator->checkpoints, own->job.arena);
    if (liana__job_keeps_precision(&job, recorded, &before)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: config.precision is %s, but '%s' was trained in %s; ask for that, or for auto",
                       estimator->options.name, liana__precision_names[job.precision],
                       liana__remote_name(estimator->folder), liana__precision_names[before]);
}

/* ---- training ---- */

static liana_status open_data(run *own, liana__error *error)
{
    const char *const *labels = own->estimator->options.labels;
    liana__fn_session *session = &own->session;
    LIANA_TRY(liana__fn_input_describe(&own->train->input, labels, "train", &session->train, error));
    LIANA_TRY(liana__fn_session_trace(session, LIANA_MODE_TRAIN, &session->train, error));
    if (own->eval) {
        LIANA_TRY(liana__fn_input_describe(&own->eval->input, labels, "eval", &session->measured, error));
        LIANA_TRY(liana__fn_session_trace(session, LIANA_MODE_EVALUATE, &session->train, error));
        LIANA_TRY(liana__fn_input_open(&session->measured, error));
    }
    return liana__fn_input_open(&session->train, error);
}

/* With the other processes, if there are any. */
static liana_status agree(run *own, liana__error *error)
{
    liana__fn_session *session = &own->session;
    const liana__data_parts parts = {{session->train.source, session->measured.source},
                                     {"the training data", "the evaluation data"},
                                     2};
    LIANA_TRY(liana__agree_on_training(&session->training, error));
    return liana__agree_on_data(&parts, session->training.cluster, error);
}

static liana_status prepare(run *own, liana__error *error)
{
    liana__fn_session *session = &own->session;
    LIANA_TRY(check_counts(own, error));
    LIANA_TRY(check_folder(own->estimator, error));
    LIANA_TRY(liana__estimator_fetch(own->estimator, error));
    LIANA_TRY(open_data(own, error));
    LIANA_TRY(check_precision(own, error));
    const liana__fn_modes modes = {.train = &session->built[LIANA_MODE_TRAIN],
                                   .evaluate = own->eval ? &session->built[LIANA_MODE_EVALUATE] : NULL};
    LIANA_TRY(liana__fn_session_compile(session, &modes, &session->train, error));
    LIANA_TRY(agree(own, error));
    LIANA_TRY(liana__fn_session_load(session, &session->train, true, error));
    if (own->eval) LIANA_TRY(liana__fn_session_load(session, &session->measured, false, error));
    return begin(own, error);
}

static liana_status fit(run *own, liana__error *error)
{
    const liana__job_watch watch = {.numbers = true,
                                    .numbers_folder = own->estimator->options.config.bad_numbers_folder};
    liana__fit_options options = {.training = own->session.train.loader,
                                  .validation = own->session.measured.loader,
                                  .validation_freq_steps = own->eval ? own->eval->every_steps : 0,
                                  .save = save,
                                  .user = own,
                                  .folder = own->estimator->folder};
    take_specs(own);
    LIANA_TRY(add_callbacks(own, error));
    return liana__job_fit(&own->job, &watch, &options, error);
}

static liana_status train(liana_estimator *estimator, const liana_train_spec *spec, const liana_eval_spec *eval)
{
    liana__error *error = &estimator->context->error;
    const liana_run_config *config = &estimator->options.config;
    run own = {.estimator = estimator, .train = spec, .eval = eval, .session = {.estimator = estimator}};
    own.job = (liana__job){.context = estimator->context,
                           .options = &own.session.job,
                           .door = estimator->door,
                           .notes = {config->on_note, config->user},
                           .arena = &own.session.arena,
                           .training = &own.session.training};
    liana_status status = prepare(&own, error);
    if (status == LIANA_OK) status = liana__job_send(estimator->outlet, fit(&own, error), error);
    own.session.training.state.data = NULL;
    own.session.training.state.settings = own.session.training.state.matches = NULL;
    liana__fn_session_close(&own.session);
    liana__job_free(&own.job);
    return status;
}

liana_status liana_estimator_train(liana_estimator *estimator, const liana_train_spec *spec,
                                   const liana_eval_spec *eval)
{
    LIANA__REQUIRE(NULL, estimator);
    LIANA__REQUIRE_AS(&estimator->context->error, spec, "train");
    LIANA__CONTEXT_CALL(estimator->context, train(estimator, spec, eval));
}
