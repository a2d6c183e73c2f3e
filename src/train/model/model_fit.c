/* fit of the public interface: a thin user of the training core. */
#include "train/model/model_fit.h"
#include "base/wall_clock.h"
#include "data/dataset/dataset_source.h"
#include "formats/yaml.h"
#include "train/callbacks/standard.h"
#include "train/callbacks/user.h"
#include "train/checkpoint/belongs.h"
#include "train/checkpoint/checkpoint_writer.h"
#include "train/checkpoint/data_state.h"
#include "train/checkpoint/folder_hold.h"
#include "train/checkpoint/remote_checkpoints.h"
#include "train/checkpoint/resume.h"
#include "train/checkpoint/shared_checkpoint.h"
#include "train/core/program_agreement.h"
#include "train/core/warnings.h"
#include "train/fit/fit.h"
#include "train/model/compiled.h"
#include "train/model/epoch_values.h"
#include "train/model/fit_agreement.h"
#include "train/model/fit_checks.h"
#include "train/model/fit_stages.h"
#include "train/model/model_data.h"
#include "train/numbers/watch.h"

#include <liana/train.h>
#include <string.h>

/* One call. */
typedef struct session {
    liana_model *model;
    liana__arena arena;
    liana__model_data data;
    liana__training *training;
    const char *checkpoints; /* a local folder; NULL: none */
    liana__outlet *outlet;   /* sends that folder to the bucket that was named; NULL: a local folder was named */
    liana__cluster *cluster; /* NULL: this process is alone. Only its chief has checkpoints */
    liana__folder_hold hold;
    liana__checkpoint_writer *writer; /* NULL: none */
    liana__callback_list callbacks;
    liana__training_stages stages; /* count 0: none */
    bool resumed;                  /* from a checkpoint */
    int64_t stop_at;               /* in seconds since 1970; 0: not by the clock */
} session;

/* ---- options ---- */

/* What is resumed keeps its precision. */
static liana_status find_precision(const char *resumed_from, const liana__recorded *recorded,
                                   liana_precision *precision, liana__error *error)
{
    if (!*recorded->precision) return LIANA_OK;
    liana_precision before = liana__precision_named(recorded->precision);
    if (*precision == LIANA_PRECISION_AUTO) *precision = before;
    if (*precision == before) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the precision is %s, but the checkpoints in '%s' were trained in %s; ask for that, or for auto",
                       liana__precision_names[*precision], liana__remote_name(resumed_from),
                       liana__precision_names[before]);
}

/* And so with what it recomputes, unless it may now take another amount of memory. */
static void find_recomputation(const liana__recorded *recorded, liana__compile_request *request)
{
    if (request->recompute != LIANA_RECOMPUTE_AUTO || request->memory) return;
    if (recorded->recompute_memory == 0) request->recompute = LIANA_RECOMPUTE_NONE;
    if (recorded->recompute_memory > 0) request->memory = recorded->recompute_memory;
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
    liana__arena arena = {0};
    epoch.num_training_values = liana__epoch_values(event->training, &arena, &epoch.training_values);
    epoch.num_validation_values = liana__epoch_values(event->validation, &arena, &epoch.validation_values);
    const bool goes_on = options->on_epoch(options->user, &epoch);
    liana__arena_free(&arena);
    return goes_on;
}

/* Without augmentation, and with the examples in their order. */
static liana_status open_examples(void *user, liana__loader **loader, liana__error *error)
{
    const watcher *own = user;
    const liana__trainer *trainer = own->own->training->trainer;
    return liana__model_data_start_examples(&own->own->data, own->options->training, trainer, loader, error);
}

enum { KEPT_CHECKPOINTS = 3 };

/* 0: all. */
static int64_t kept_checkpoints(const liana_fit_options *options)
{
    if (options->keep_checkpoints < 0) return 0;
    return options->keep_checkpoints ? options->keep_checkpoints : KEPT_CHECKPOINTS;
}

static bool resumes(const liana_fit_options *options)
{
    return options->resume || options->resume_from;
}

static liana_status save(void *user, liana__error *error)
{
    const watcher *own = user;
    const liana__training *training = own->own->training;
    LIANA_TRY(liana__lease_check(own->own->hold.lease, error));
    return liana__checkpoint_writer_save(own->own->writer, &training->variables, &training->state, error);
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
    const liana__checkpoint_writer_options options = {.folder = own->checkpoints,
                                                      .keep = kept_checkpoints(fit),
                                                      .outlet = own->outlet};
    if (!own->checkpoints) return LIANA_OK;
    LIANA_TRY(liana__folder_make(own->checkpoints, error));
    LIANA_TRY(hold_checkpoints(own, fit, error));
    return liana__checkpoint_writer_create(&options, &own->training->variables, &own->writer, error);
}

static liana__numbers_options numbers_options(const liana_fit_options *options)
{
    enum { DEFAULT_MOST = 10 };
    static const double DEFAULT_FACTOR = 0.5;
    return (liana__numbers_options){.policy = (liana__on_bad_numbers)options->on_bad_numbers,
                                    .most = options->max_bad_numbers ? options->max_bad_numbers : DEFAULT_MOST,
                                    .rate_factor =
                                        options->bad_numbers_factor > 0 ? options->bad_numbers_factor : DEFAULT_FACTOR,
                                    .folder = options->bad_numbers_folder};
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
    return liana__checkpoints_fetch(own->outlet, "", &names, kept_checkpoints(options), &newest, error);
}

/* What a checkpoint records of the data, and the newest one if the fit goes on from it. */
static liana_status prepare_checkpoints(session *own, const liana_fit_options *options, liana__error *error)
{
    liana__training_state *state = &own->training->state;
    state->data = NULL;
    state->settings = state->matches = NULL;
    if (!options->checkpoints) return LIANA_OK;
    liana__data_state *data = liana__arena_allocate(&own->arena, sizeof *data);
    if (!data) return liana__fail_memory(error, "the state of the data");
    state->data = data;
    LIANA_TRY(liana__checkpoint_note_seed(state, options->seed, &own->arena, error));
    LIANA_TRY(liana__data_state_find(own->data.fitted.source, &own->arena, data, error));
    const char *path = NULL;
    const liana__notes notes = {options->on_note, options->user};
    if (options->resume_from) {
        liana_status status =
            own->checkpoints ? liana__checkpoint_find(own->checkpoints, options->resume_from, &own->arena, &path, error)
                             : LIANA_OK;
        LIANA_TRY(liana__cluster_agree_status(own->cluster, status, error));
        LIANA_TRY(liana__checkpoint_resume_from(own->checkpoints, path, own->training, &notes, &own->arena, error));
    } else if (options->resume) {
        LIANA_TRY(liana__checkpoint_resume(own->checkpoints, NULL, own->training, &notes, &own->arena, &path, error));
    }
    own->resumed = path != NULL;
    if (*data->note && options->on_note) options->on_note(options->user, data->note);
    liana__data_state_read_contents(data);
    return LIANA_OK;
}

/* A time of the day is the next one from now on. */
static liana_status find_stop(session *own, const liana_fit_options *options, liana__error *error)
{
    time_t moment;
    if (!options->stop_at) return LIANA_OK;
    if (!liana__wall_clock_read(options->stop_at, time(NULL), &moment)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "stop_at is '%.60s', expected a time: 2026-11-23T06:00, 2026-11-23T06:00:00+01:00, or 06:00",
                           options->stop_at);
    }
    own->stop_at = (int64_t)moment;
    return LIANA_OK;
}

/* A fit that goes on from a checkpoint may be over; a new one is not to end before its first update. */
static liana_status check_stop(const session *own, liana__error *error)
{
    char moment[64], now[64];
    if (!liana__cluster_is_chief(own->cluster)) return LIANA_OK;
    if (own->resumed || !own->stop_at || (time_t)own->stop_at > time(NULL)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "stop_at is %s, expected a time to come; now it is %s",
                       liana__wall_clock_show((time_t)own->stop_at, moment), liana__wall_clock_show(time(NULL), now));
}

static liana__training_length length_of(const session *own, const liana_fit_options *options)
{
    if (own->stages.count) {
        return (liana__training_length){liana__training_stages_epochs(&own->stages), options->steps,
                                        options->max_minutes, own->stop_at};
    }
    bool is_limited = options->epochs || options->steps || options->max_minutes > 0 || options->stop_at;
    return (liana__training_length){.epochs = is_limited ? options->epochs : 1 + options->initial_epoch,
                                    .steps = options->steps,
                                    .minutes = options->max_minutes,
                                    .stop_at = own->stop_at};
}

/* A decay to the end of a fit needs to know the end. */
static liana_status check_decay(const session *own, const liana__training_length *length, liana__error *error)
{
    const liana__learning_rate *rate = &own->training->learning_rate;
    if (length->epochs || length->steps || liana__learning_rate_has_length(rate)) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "%s decays to the end of the fit, which is not known with %s alone; give decay_steps or decay_epochs, or "
        "epochs or steps as well",
        rate->schedule->name, length->stop_at ? "stop_at" : "max_minutes");
}

/* Those by name, then the program's own. */
static liana_status add_callbacks(session *own, const liana_fit_options *options, liana__error *error)
{
    const char *text = options->named_callbacks;
    const char *control_text = options->control;
    liana__value *list = NULL, *control = NULL;
    LIANA_TRY(liana__callbacks_begin(&own->callbacks, error));
    if (control_text) {
        LIANA_TRY(liana__yaml_parse(control_text, strlen(control_text), "control", &own->arena, &control, error));
    }
    LIANA_TRY(liana__control_read(&own->callbacks, control, "control", &own->arena, error));
    if (text) LIANA_TRY(liana__yaml_parse(text, strlen(text), "named_callbacks", &own->arena, &list, error));
    LIANA_TRY(
        liana__callback_list_read(&own->callbacks, own->model->context, list, "named_callbacks", &own->arena, error));
    for (size_t i = 0; i < options->num_callbacks; i++) {
        const liana_callback *one = options->callbacks ? options->callbacks[i] : NULL;
        LIANA_TRY(liana__user_callback_add(&own->callbacks, one, error));
    }
    return LIANA_OK;
}

static liana_status run_fit(session *own, const liana_fit_options *options, liana__error *error)
{
    const liana__training_length length = length_of(own, options);
    LIANA_TRY(check_decay(own, &length, error));
    LIANA_TRY(add_callbacks(own, options, error));
    LIANA_TRY(liana__model_data_start_fit(&own->data, options, own->training->trainer, error));
    watcher watched = {own,
                       options,
                       {.training = own->training,
                        .notes = {options->on_note, options->user},
                        .num_classes = liana__trainer_num_classes(own->training->trainer),
                        .label_offset = options->training->label_offset}};
    LIANA_TRY(liana__warn_find_classes(&watched.warnings, own->data.fitted.source, &own->arena, error));
    LIANA_TRY(liana__warn_find_averages(&watched.warnings, error));
    LIANA_TRY(prepare_checkpoints(own, options, error));
    LIANA_TRY(liana__cluster_agree_status(own->cluster, check_stop(own, error), error));
    liana__warn_of_warmup(&watched.warnings, own->data.fitted.loader, &length);
    const liana__checkpointing_options checkpointing = {.every_epoch = true,
                                                        .every_steps = options->checkpoint_steps,
                                                        .keep_every_hours = options->keep_every_hours,
                                                        .best = {.monitor = options->best_checkpoint}};
    const liana__progress_options progress = {watch, &watched};
    const liana__numbers_options numbers = numbers_options(options);
    const liana__standard_callbacks standard = {&checkpointing, &length.minutes, &length.stop_at, &progress, &numbers};
    LIANA_TRY(liana__callbacks_finish(&own->callbacks, &standard, error));
    LIANA_TRY(open_writer(own, options, error));
    liana__fit_options wanted = {.training = own->data.fitted.loader,
                                 .validation = own->data.measured.loader,
                                 .batch_size = own->data.batch_size,
                                 .validation_batch_size = own->data.evaluation_batch_size,
                                 .validation_steps = options->validation_steps,
                                 .validation_freq = options->validation_freq,
                                 .steps_per_execution = options->steps_per_execution,
                                 .length = length,
                                 .resumed = own->resumed,
                                 .seen_classes = liana__warn_classes_to_see(&watched.warnings),
                                 .save = options->checkpoints ? save : NULL,
                                 .user = &watched,
                                 .callbacks = &own->callbacks,
                                 .open_examples = own->data.fitted.source->streams ? NULL : open_examples,
                                 .notes = {options->on_note, options->user}};
    liana_status status = liana__fit(own->training, &wanted, error);
    status = liana__checkpoint_writer_close(own->writer, status, error);
    own->training->state.data = NULL;
    own->training->state.settings = own->training->state.matches = NULL;
    if (status != LIANA_OK && status != LIANA_CANCELLED) return status;
    LIANA_TRY(liana__model_data_learn(&own->data, options->training, liana__trainer_num_classes(own->training->trainer),
                                      error));
    LIANA_TRY(liana__compiled_take_weights(own->model, own->training, error));
    own->model->precision = own->training->precision;
    return status;
}

static liana_status compile_fit(session *own, const liana_fit_options *options, liana__error *error)
{
    const char *resumed_from = resumes(options) ? options->checkpoints : NULL;
    liana__recorded recorded = {.recompute_memory = -1};
    liana__compile_request request = {.model = own->model,
                                      .device = options->device,
                                      .strategy = options->strategy,
                                      .optimizer = options->optimizer ? options->optimizer : "Adam",
                                      .objective = {options->loss, options->losses, options->metrics,
                                                    options->output_metrics},
                                      .match = &own->data.match,
                                      .batch_size = own->data.batch_size,
                                      .evaluation_batch_size = own->data.evaluation_batch_size,
                                      .class_weights = options->class_weights,
                                      .num_class_weights = options->class_weights ? options->num_class_weights : 0,
                                      .microbatch = options->microbatch,
                                      .steps_per_execution = options->steps_per_execution,
                                      .seed = options->seed,
                                      .scale = own->data.scale,
                                      .fractions = own->data.fractions,
                                      .mixes = own->data.augment && liana__augment_mixes(own->data.augment),
                                      .precision = options->precision,
                                      .recompute = options->recompute,
                                      .deterministic = options->deterministic,
                                      .memory = options->memory,
                                      .data_memory = options->data_memory,
                                      .notes = {options->on_note, options->user}};
    LIANA_TRY(liana__fit_stages_begin(own->model, options, &own->arena, &own->stages, error));
    if (own->stages.count) request.stages = &own->stages;
    if (resumed_from) {
        LIANA_TRY(liana__checkpoint_recorded(own->checkpoints, own->cluster, &own->arena, &recorded, error));
    }
    LIANA_TRY(find_precision(resumed_from, &recorded, &request.precision, error));
    find_recomputation(&recorded, &request);
    LIANA_TRY(liana__compiled_get(&request, &own->training, error));
    LIANA_TRY(liana__agree_on_training(own->training, error));
    own->training->stages = request.stages;
    liana__training_state_next_fit(&own->training->state, options->initial_epoch);
    return LIANA_OK;
}

static liana_status open_fit(session *own, const liana_fit_options *options, liana__error *error)
{
    if (!options->training) return liana__fail(error, LIANA_INVALID_ARGUMENT, "no data were given");
    LIANA_TRY(liana__compiled_check_sizes(own->data.batch_size, options->microbatch, options->data_memory, error));
    LIANA_TRY(liana__compiled_check_sizes(own->data.evaluation_batch_size, 0, 0, error));
    LIANA_TRY(liana__compiled_check_modes(options->precision, options->recompute, options->memory, error));
    LIANA_TRY(find_stop(own, options, error));
    LIANA_TRY(liana__model_check(own->model, error));
    LIANA_TRY(liana__model_data_find_preprocessing(&own->data, options->training, true, error));
    LIANA_TRY(liana__model_data_open_fit(&own->data, options, error));
    if (own->data.assumes_scale && own->data.match.has_image) {
        const bool scales = own->data.scale == LIANA_SCALE_NONE;
        liana__note(&(liana__notes){options->on_note, options->user},
                    scales ? "pixels enter as 0 to 255, since a layer of the model scales them"
                           : "pixels are divided by 255, since nothing says how the model takes them "
                             "(liana_dataset_set_scale)");
    }
    LIANA_TRY(liana__strategy_cluster(own->model->context, &options->strategy, &own->cluster, error));
    LIANA_TRY(liana__fit_agree(own->model, options, &own->data, own->cluster, error));
    liana_status status = open_checkpoints(own, options, error);
    LIANA_TRY(liana__cluster_agree_status(own->cluster, status, error));
    /* Clocks of machines differ: the chief's counts. */
    if (own->cluster) {
        LIANA_TRY(liana__cluster_follow_chief(own->cluster, &own->stop_at, sizeof own->stop_at, error));
    }
    return compile_fit(own, options, error);
}

/* Whatever ended the fit, its checkpoints are sent. */
static liana_status send_checkpoints(const session *own, liana_status status, liana__error *error)
{
    liana__error unsent = {0};
    liana_status sent = own->outlet ? liana__outlet_flush(own->outlet, &unsent) : LIANA_OK;
    if (sent == LIANA_OK || (status != LIANA_OK && status != LIANA_CANCELLED)) return status;
    *error = unsent;
    return sent;
}

/* The model trains again what it says itself, so that the next fit compiles it again. */
static void end_stages(session *own, liana_status status)
{
    bool kept = status == LIANA_OK || status == LIANA_CANCELLED;
    if (kept && own->training) own->training->stages = NULL;
    if (!kept) liana__compiled_forget(own->model);
    liana__training_stages_restore(&own->stages, own->model);
}

static session session_of(liana_model *model, const liana_fit_options *options)
{
    int64_t batch_size = options->batch_size ? options->batch_size : LIANA__DEFAULT_BATCH_SIZE;
    liana__model_data data = {.model = model,
                              .batch_size = batch_size,
                              .evaluation_batch_size =
                                  options->validation_batch_size ? options->validation_batch_size : batch_size,
                              .seed = options->seed,
                              .bytes = liana__model_data_bytes(options->data_memory)};
    return (session){.model = model, .data = data};
}

static void close_session(session *own)
{
    liana__model_data_close(&own->data);
    liana__callback_list_free(&own->callbacks);
    liana__outlet_close(own->outlet);
    liana__folder_hold_end(&own->hold);
    liana__arena_free(&own->arena);
}

/* A fit makes batches itself. Who comes from tf.data gives it batches: they are taken apart, and their size is what
 * batch_size was not given for. */
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
    liana_status status = take_data_apart(options->training, "training", &made->batch_size, options, &own->training);
    if (status == LIANA_OK) {
        status =
            take_data_apart(options->validation, "validation", &made->validation_batch_size, options, &own->validation);
    }
    if (own->training) made->training = own->training;
    if (own->validation) made->validation = own->validation;
    if (status != LIANA_OK) close_apart(own);
    return status;
}

static liana_status try_fit(liana_model *model, const liana_fit_options *options, liana__trial run, void *user,
                            liana__error *error)
{
    LIANA_TRY(liana__fit_check(model, options, error));
    session own = session_of(model, options);
    void *aside = liana__compiled_set_aside(model);
    liana_status status = open_fit(&own, options, error);
    if (status == LIANA_OK) status = liana__model_data_start_fit(&own.data, options, own.training->trainer, error);
    if (status == LIANA_OK) status = run(user, own.training, own.data.fitted.loader, error);
    if (own.stages.count) liana__training_stages_restore(&own.stages, model);
    close_session(&own);
    liana__compiled_put_back(model, aside);
    return status;
}

liana_status liana__fit_trial(liana_model *model, const liana_fit_options *options, liana__trial run, void *user,
                              liana__error *error)
{
    taken_apart own;
    LIANA_TRY(take_apart(options, &own));
    liana_status status = try_fit(model, &own.options, run, user, error);
    close_apart(&own);
    return status;
}

static liana_status fit_examples(liana_model *model, const liana_fit_options *options)
{
    liana__error *error = &model->context->error;
    LIANA_TRY(liana__fit_check(model, options, error));
    session own = session_of(model, options);
    liana_status status = open_fit(&own, options, error);
    if (status == LIANA_OK) {
        status = run_fit(&own, options, error);
        if (status != LIANA_OK && status != LIANA_CANCELLED) liana__compiled_forget(model);
        status = send_checkpoints(&own, status, error);
    }
    if (own.stages.count) end_stages(&own, status);
    close_session(&own);
    return status;
}

static liana_status fit_model(liana_model *model, const liana_fit_options *options)
{
    taken_apart own;
    LIANA_TRY(take_apart(options, &own));
    liana_status status = fit_examples(model, &own.options);
    close_apart(&own);
    return status;
}

liana_status liana_fit(liana_model *model, const liana_fit_options *options)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, options);
    LIANA__CONTEXT_CALL(model->context, fit_model(model, options));
}
