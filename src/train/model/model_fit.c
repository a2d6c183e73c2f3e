/* fit of the public interface: a thin user of the training core. */
#include "train/model/model_fit.h"
#include "base/scoped.h"
#include "data/dataset/dataset_source.h"
#include "distribute/strategies/strategies.h"
#include "train/checkpoint/folder_hold.h"
#include "train/checkpoint/remote_checkpoints.h"
#include "train/checkpoint/resume.h"
#include "train/checkpoint/temporary.h"
#include "train/job/job.h"
#include "train/job/warnings.h"
#include "train/model/model_file.h"
#include "train/model/model_objective.h"

#include <liana/train.h>
#include <string.h>

/* One call. */
typedef struct session {
    liana_model *model;
    liana__arena arena;
    liana__model_data data;
    liana__job_options options;
    liana__job job;
    const char *checkpoints; /* a local folder; NULL: none */
    liana__outlet *outlet;   /* sends that folder to the bucket that was named; NULL: a local folder was named */
    liana__cluster *cluster; /* NULL: this process is alone. Only its chief has checkpoints */
    liana__folder_hold hold;
} session;

/* ---- options ---- */

static liana_status check_checkpoints(const liana_fit_options *options, liana__error *error)
{
    if (options->checkpoints) {
        liana_status status = liana__folder_name_check(options->checkpoints, "a folder of checkpoints", error);
        if (status != LIANA_OK) return liana__fail_within(error, "checkpoints");
    }
    if (!options->resume_from || options->checkpoints) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "resume_from is '%s', but no folder for checkpoints is given; set checkpoints",
                       options->resume_from);
}

/* Checks that the table of the job does not make. */
static liana_status check_fit(const liana_model *model, const liana_fit_options *options, liana__error *error)
{
    if (options->max_bad_records < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "max_bad_records is %lld, expected 0 or more",
                           (long long)options->max_bad_records);
    }
    LIANA_TRY(check_checkpoints(options, error));
    if (options->validation && options->validation_split) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "validation and validation_split exclude each other; keep one of them");
    }
    if (options->training && options->validation) {
        LIANA_TRY(liana__classes_check_validation(options->training, options->validation, error));
    }
    if (options->training) LIANA_TRY(liana__classes_check_model(model, options->training, error));
    return LIANA_OK;
}

/* A fit that goes on keeps its precision. */
static liana_status find_precision(const char *resumed_from, const liana__recorded *recorded,
                                   liana__job_options *options, liana__error *error)
{
    liana_precision before;
    if (liana__job_keeps_precision(options, recorded->precision, &before)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the precision is %s, but the checkpoints in '%s' were trained in %s; ask for that, or for auto",
                       liana__precision_names[options->precision], liana__remote_name(resumed_from),
                       liana__precision_names[before]);
}

/* A fit that goes on recomputes the same nodes, unless it may now take another amount of memory. */
static void find_recomputation(const liana__recorded *recorded, liana__job_options *options)
{
    if (options->recompute != LIANA_RECOMPUTE_AUTO || options->memory) return;
    if (recorded->recompute_memory == 0) options->recompute = LIANA_RECOMPUTE_NONE;
    if (recorded->recompute_memory > 0) options->memory = recorded->recompute_memory;
}

/* ---- fit ---- */

typedef struct watcher {
    session *own;
    const liana_fit_options *options;
    liana__warnings warnings;
} watcher;

static bool watch(void *user, const liana__fit_event *event)
{
    watcher *own = user;
    const liana_fit_options *options = own->options;
    if (event->kind == LIANA__FIT_EPOCH) liana__warn_after_epoch(&own->warnings);
    if (event->kind != LIANA__FIT_EPOCH || !options->on_epoch) return true;
    liana_epoch epoch = {.epoch = event->epoch,
                         .epochs = event->epochs,
                         .global_step = event->global_step,
                         .training = liana__results_of(event->training),
                         .validation = liana__results_of(event->validation),
                         .learning_rate = event->learning_rate,
                         .seconds = event->seconds};
    LIANA__SCOPED(liana__arena) arena = {0};
    epoch.num_training_values = liana__epoch_values(event->training, &arena, &epoch.training_values);
    epoch.num_validation_values = liana__epoch_values(event->validation, &arena, &epoch.validation_values);
    return options->on_epoch(options->user, &epoch);
}

/* Without augmentation, and with the examples in their order. */
static liana_status open_examples(void *user, liana__loader **loader, liana__error *error)
{
    const watcher *own = user;
    const liana__trainer *trainer = own->own->job.training->trainer;
    return liana__model_data_start_examples(&own->own->data, own->options->training, trainer, loader, error);
}

static bool resumes(const liana_fit_options *options)
{
    return options->resume || options->resume_from;
}

static liana_status save(void *user, liana__error *error)
{
    const watcher *own = user;
    const liana__training *training = own->own->job.training;
    LIANA_TRY(liana__lease_check(own->own->hold.lease, error));
    return liana__checkpoint_writer_save(own->own->job.writer, &training->variables, &training->state, error);
}

/* A folder that is not there yet is held when it is made. */
static liana_status hold_checkpoints(session *own, const liana_fit_options *options, liana__error *error)
{
    const liana__lease_options wanted = {.seconds = LIANA__LEASE_SECONDS,
                                         .advice = "choose another folder",
                                         .notes = {options->on_note, options->user}};
    return liana__folder_hold_take(&own->hold, own->checkpoints, own->outlet, &wanted, error);
}

static liana_status open_writer(session *own, const liana_fit_options *fit, liana__error *error)
{
    if (!own->checkpoints) return LIANA_OK;
    LIANA_TRY(liana__folder_make(own->checkpoints, error));
    LIANA_TRY(hold_checkpoints(own, fit, error));
    return liana__job_open_writer(&own->job, own->checkpoints, own->outlet, error);
}

/* Where checkpoints are on this machine. Those of a bucket are fetched if the fit goes on from them. */
static liana_status open_checkpoints(session *own, const liana_fit_options *options, liana__error *error)
{
    if (!options->checkpoints || !liana__cluster_is_chief(own->cluster)) return LIANA_OK;
    own->checkpoints = options->checkpoints;
    if (!liana__path_is_remote(options->checkpoints)) {
        return hold_checkpoints(own, options, error);
    }
    LIANA_TRY(liana__outlet_open(&(liana__outlet_options){.url = options->checkpoints,
                                                          .last = liana__checkpoint_state,
                                                          .fresh = !resumes(options),
                                                          .hint = "the same fit with resume sends it and goes on"},
                                 &own->outlet, error));
    own->checkpoints = liana__outlet_folder(own->outlet);
    LIANA_TRY(hold_checkpoints(own, options, error));
    if (!resumes(options)) return LIANA_OK;
    liana__paths names;
    liana__newest_checkpoint newest;
    LIANA_TRY(liana__outlet_list(own->outlet, &own->arena, &names, error));
    return liana__checkpoints_fetch(own->outlet, "", &names, own->options.checkpoint.keep, &newest, error);
}

/* Reads the state of the data for checkpoints, and the newest checkpoint if the fit goes on from it. */
static liana_status prepare_checkpoints(session *own, const liana_fit_options *options, liana__error *error)
{
    liana__job *job = &own->job;
    liana__training_state *state = &job->training->state;
    const char *path;
    state->data = NULL;
    state->settings = state->matches = NULL;
    if (!options->checkpoints) return LIANA_OK;
    LIANA_TRY(liana__checkpoint_note_seed(state, options->seed, &own->arena, error));
    LIANA_TRY(liana__job_note_data(job, own->data.fitted.source, error));
    if (resumes(options)) {
        LIANA_TRY(liana__job_resume(job, own->checkpoints, NULL, options->resume_from, &path, error));
    }
    liana__job_note_contents(job);
    return LIANA_OK;
}

/* The model has the training's weights while it is written; before the end of the fit they are not its own. */
static liana_status write_model(void *user, const char *path, liana__error *error)
{
    const watcher *watched = user;
    liana_model *model = watched->own->model;
    LIANA__SCOPED(liana__arena) arena = {0};
    float **before = model->values, **now = liana__arena_allocate(&arena, (model->num_weights + 1) * sizeof *now);
    if (!now) return liana__fail_memory(error, path);
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__variable *variable =
            liana__variables_find(&watched->own->job.training->variables, model->weights[i].name);
        now[i] = before[i];
        if (!variable) continue;
        now[i] = liana__arena_allocate(&arena, (size_t)liana_shape_size(&model->weights[i].shape) * sizeof **now);
        if (!now[i]) return liana__fail_memory(error, path);
        LIANA_TRY(liana__variable_read(variable, now[i], error));
    }
    model->values = now;
    const liana_status status = liana__model_write_any(model, path, LIANA__KERAS3, &watched->own->job.notes, error);
    model->values = before;
    return status;
}

static liana_status run_fit(session *own, const liana_fit_options *options, liana__error *error)
{
    liana__job *job = &own->job;
    liana__training *training = job->training;
    LIANA_TRY(liana__job_check_decay(job->options, &training->learning_rate, &job->door, error));
    for (size_t i = 0; i < training->num_rates; i++) {
        LIANA_TRY(liana__job_check_decay(job->options, &training->rates[i], &job->door, error));
    }
    LIANA_TRY(liana__job_add_callbacks(job, options->callbacks, options->num_callbacks, error));
    LIANA_TRY(liana__model_data_start_fit(&own->data, options, training->trainer, error));
    watcher watched = {own,
                       options,
                       {.training = training,
                        .notes = job->notes,
                        .num_classes = liana__trainer_num_classes(training->trainer),
                        .label_offset = options->training->label_offset}};
    LIANA_TRY(liana__warn_find_classes(&watched.warnings, own->data.fitted.source, &own->arena, error));
    LIANA_TRY(liana__warn_find_averages(&watched.warnings, error));
    LIANA_TRY(prepare_checkpoints(own, options, error));
    LIANA_TRY(liana__job_check_stop(job, error));
    const liana__training_length length = liana__job_length(job);
    liana__warn_of_warmup(&watched.warnings, own->data.fitted.loader, &length);
    LIANA_TRY(open_writer(own, options, error));
    const liana__progress_options progress = {watch, &watched};
    const liana__job_watch watching = {&progress, true, options->bad_numbers_folder};
    liana__fit_options wanted = {.training = own->data.fitted.loader,
                                 .validation = own->data.measured.loader,
                                 .seen_classes = liana__warn_classes_to_see(&watched.warnings),
                                 .save = options->checkpoints ? save : NULL,
                                 .write_model = write_model,
                                 .user = &watched,
                                 .open_examples = own->data.fitted.source->streams ? NULL : open_examples};
    liana_status status = liana__job_fit(job, &watching, &wanted, error);
    training->state.data = NULL;
    training->state.settings = training->state.matches = NULL;
    if (status != LIANA_OK && status != LIANA_CANCELLED) return status;
    LIANA_TRY(
        liana__model_data_learn(&own->data, options->training, liana__trainer_num_classes(training->trainer), error));
    LIANA_TRY(liana__compiled_take_weights(own->model, training, error));
    own->model->precision = training->precision;
    return status;
}

static liana_status compile_fit(session *own, const liana_fit_options *options, liana__error *error)
{
    const char *resumed_from = resumes(options) ? options->checkpoints : NULL;
    liana__job *job = &own->job;
    liana__recorded recorded = {.recompute_memory = -1};
    liana__compile_request request = {.model = own->model,
                                      .job = job->options,
                                      .match = &own->data.match,
                                      .scale = own->data.scale,
                                      .fractions = own->data.fractions,
                                      .mixes = own->data.augment && liana__augment_mixes(own->data.augment),
                                      .data_memory = options->data_memory,
                                      .notes = job->notes};
    LIANA_TRY(liana__job_begin_stages(job, own->model, error));
    liana__job_find_epochs(job->options, job->stages.count || options->epochs);
    if (job->stages.count) request.stages = &job->stages;
    if (resumed_from) {
        LIANA_TRY(liana__checkpoint_recorded(own->checkpoints, own->cluster, &own->arena, &recorded, error));
    }
    LIANA_TRY(find_precision(resumed_from, &recorded, job->options, error));
    find_recomputation(&recorded, job->options);
    LIANA_TRY(liana__compiled_get(&request, &job->training, error));
    LIANA_TRY(liana__agree_on_training(job->training, error));
    job->training->stages = request.stages;
    liana__training_state_next_fit(&job->training->state, options->initial_epoch);
    return LIANA_OK;
}

static liana_status open_fit(session *own, const liana_fit_options *options, liana__error *error)
{
    if (!options->training) return liana__fail(error, LIANA_INVALID_ARGUMENT, "no data were given");
    LIANA_TRY(liana__model_check(own->model, error));
    LIANA_TRY(liana__model_data_find_preprocessing(&own->data, options->training, true, error));
    LIANA_TRY(liana__model_data_open_fit(&own->data, options, error));
    if (own->data.assumes_scale && own->data.match.has_image) {
        const bool scales = own->data.scale == LIANA_SCALE_NONE;
        liana__note(&own->job.notes, scales ? "pixels enter as 0 to 255, since a layer of the model scales them"
                                            : "pixels are divided by 255, since nothing says how the model takes them "
                                              "(liana_dataset_set_scale)");
    }
    LIANA_TRY(liana__strategy_cluster(own->model->context, &options->strategy, &own->cluster, error));
    LIANA_TRY(liana__fit_agree(&own->options, options, &own->data, own->cluster, error));
    liana_status status = open_checkpoints(own, options, error);
    LIANA_TRY(liana__cluster_agree_status(own->cluster, status, error));
    LIANA_TRY(liana__job_find_stop(&own->job, own->cluster, error));
    return compile_fit(own, options, error);
}

/* Restores the model's own settings after stages, so that the next fit compiles it anew. */
static void end_stages(session *own, liana_status status)
{
    bool kept = status == LIANA_OK || status == LIANA_CANCELLED;
    if (kept && own->job.training) own->job.training->stages = NULL;
    if (!kept) liana__compiled_forget(own->model);
    liana__training_stages_restore(&own->job.stages, own->model);
}

/* Takes the options; the session is closed in any case. */
static liana_status begin_session(session *own, liana_model *model, const liana_fit_options *options,
                                  liana__error *error)
{
    liana__job_options *taken = &own->options;
    *own = (session){.model = model,
                     .job = {.context = model->context,
                             .options = &own->options,
                             .door = liana__job_fit_door,
                             .notes = {options->on_note, options->user},
                             .arena = &own->arena}};
    LIANA_TRY(liana__job_take(&liana__job_fit_door, options, NULL, &own->arena, taken, error));
    LIANA_TRY(liana__model_find_optimizer(model, options->optimizer, &own->arena, taken, error));
    LIANA_TRY(liana__job_check(taken, &own->job.door, error));
    LIANA_TRY(check_fit(model, options, error));
    if (!options->batch_size) liana__default_to_states(model, &taken->batch_size);
    if (!taken->validation_batch_size) taken->validation_batch_size = taken->batch_size;
    own->data = (liana__model_data){.model = model,
                                    .batch_size = taken->batch_size,
                                    .evaluation_batch_size = taken->validation_batch_size,
                                    .seed = options->seed,
                                    .bytes = liana__model_data_bytes(options->data_memory)};
    return LIANA_OK;
}

static void close_session(session *own)
{
    liana__model_data_close(&own->data);
    liana__job_free(&own->job);
    liana__outlet_close(own->outlet);
    liana__folder_hold_end(&own->hold);
    liana__arena_free(&own->arena);
}

/* A fit makes batches itself. A program that was written for tf.data may give it batches: they are taken apart, and
 * their size stands in for a batch_size that was not given. */
typedef struct taken_apart {
    liana_fit_options options; /* with single examples */
    liana_dataset *training, *validation;
} taken_apart;

static liana_status take_data_apart(const liana_dataset *given, const char *what, int64_t *batch_size,
                                    const liana_fit_options *options, liana_dataset **examples)
{
    int64_t found = 0;
    if (!given) return LIANA_OK;
    liana__dataset_examples(given, examples, &found);
    if (!*examples) return given->context->error.status;
    if (!found) return LIANA_OK;
    if (*batch_size == 0) *batch_size = found;
    const liana__notes notes = {options->on_note, options->user};
    liana__note(&notes,
                "the %s data come in batches of %lld: they are taken apart, and batches of %lld are made of single "
                "examples (leave out liana_dataset_batch)",
                what, (long long)found, (long long)*batch_size);
    return LIANA_OK;
}

static void close_apart(taken_apart *own)
{
    liana_dataset_close(own->training);
    liana_dataset_close(own->validation);
}

static liana_status take_apart(const liana_fit_options *options, taken_apart *own)
{
    *own = (taken_apart){.options = *options};
    liana_fit_options *made = &own->options;
    LIANA_TRY(take_data_apart(options->training, "training", &made->batch_size, options, &own->training));
    LIANA_TRY(
        take_data_apart(options->validation, "validation", &made->validation_batch_size, options, &own->validation));
    if (own->training) made->training = own->training;
    if (own->validation) made->validation = own->validation;
    return LIANA_OK;
}

liana_status liana__fit_trial(liana_model *model, const liana_fit_options *options, liana__trial run, void *user,
                              liana__error *error)
{
    LIANA__SCOPED_BY(close_apart) taken_apart apart = {0};
    LIANA_TRY(take_apart(options, &apart));
    options = &apart.options;
    session own;
    liana_status status = begin_session(&own, model, options, error);
    void *aside = liana__compiled_set_aside(model);
    if (status == LIANA_OK) status = open_fit(&own, options, error);
    if (status == LIANA_OK) status = liana__model_data_start_fit(&own.data, options, own.job.training->trainer, error);
    if (status == LIANA_OK) status = run(user, own.job.training, own.data.fitted.loader, error);
    if (own.job.stages.count) liana__training_stages_restore(&own.job.stages, model);
    close_session(&own);
    liana__compiled_put_back(model, aside);
    return status;
}

static liana_status fit_model(liana_model *model, const liana_fit_options *options)
{
    LIANA__SCOPED_BY(close_apart) taken_apart apart = {0};
    LIANA_TRY(take_apart(options, &apart));
    options = &apart.options;
    liana__error *error = &model->context->error;
    session own;
    liana_status status = begin_session(&own, model, options, error);
    if (status == LIANA_OK) status = open_fit(&own, options, error);
    if (status == LIANA_OK) {
        status = run_fit(&own, options, error);
        if (status != LIANA_OK && status != LIANA_CANCELLED) liana__compiled_forget(model);
        status = liana__job_send(own.outlet, status, error);
    }
    if (own.job.stages.count) end_stages(&own, status);
    close_session(&own);
    return status;
}

liana_status liana_fit(liana_model *model, const liana_fit_options *options)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, options);
    LIANA__CONTEXT_CALL(model->context, fit_model(model, options));
}
