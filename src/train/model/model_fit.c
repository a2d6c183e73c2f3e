/* fit, evaluate and predict of the public interface: thin users of the training core. */
#include "train/model/model_fit.h"
#include "base/wall_clock.h"
#include "data/augment/augment.h"
#include "data/dataset/dataset_source.h"
#include "data/source/part.h"
#include "formats/yaml.h"
#include "ir/shape.h"
#include "models/preprocessing.h"
#include "train/callbacks/standard.h"
#include "train/callbacks/user.h"
#include "train/checkpoint/checkpoint_writer.h"
#include "train/checkpoint/data_state.h"
#include "train/checkpoint/folder_lock.h"
#include "train/checkpoint/remote_checkpoints.h"
#include "train/checkpoint/resume.h"
#include "train/core/fit.h"
#include "train/core/warnings.h"
#include "train/model/compiled.h"
#include "train/model/epoch_values.h"
#include "train/model/fit_stages.h"
#include "train/model/model_classes.h"
#include "train/model/model_preprocessing.h"
#include "train/numbers/watch.h"

#include <liana/train.h>
#include <stdlib.h>
#include <string.h>

/* A dataset as what a training reads. */
typedef struct part {
    liana__source *source;
    liana__loader *loader;
    liana__batch_plan plan;
} part;

/* One call. */
typedef struct session {
    liana_model *model;
    liana__arena arena;
    liana__training *training;
    int64_t batch_size;
    int64_t evaluation_batch_size; /* of validations, evaluations and predictions */
    uint64_t seed;
    size_t data_bytes; /* that reading, decoding and batches made ahead may take */
    bool antialias, fast_decode;
    liana_scale scale;
    bool skips_bad_records;
    liana__bad_records bad_records;
    part fitted, measured;
    part examples;           /* the training data once more, each example once; shares the source of `fitted` */
    int64_t stop_at;         /* in seconds since 1970; 0: not by the clock */
    liana__data_match match; /* of the data that it is fitted to, or that are measured */
    liana__source *whole;    /* the data that these two are parts of; NULL: they are not divided */
    liana__augment *augment; /* NULL: none */
    liana__augmenter augmenter;
    liana__mixer mixer;
    const char *checkpoints; /* a local folder; NULL: none */
    liana__outlet *outlet;   /* sends that folder to the bucket that was named; NULL: a local folder was named */
    liana__folder_lock lock;
    liana__checkpoint_writer *writer; /* NULL: none */
    liana__callback_list callbacks;
    liana__training_stages stages; /* count 0: none */
    bool resumed;                  /* from a checkpoint */
} session;

/* ---- options ---- */

/* What is resumed keeps its precision. */
static liana_status find_precision(const char *resumed_from, liana__arena *arena, liana_precision *precision,
                                   liana__error *error)
{
    const char *recorded = resumed_from ? liana__checkpoint_precision(resumed_from, arena) : NULL;
    if (!recorded) return LIANA_OK;
    liana_precision before = liana__precision_named(recorded);
    if (*precision == LIANA_PRECISION_AUTO) *precision = before;
    if (*precision == before) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the precision is %s, but the checkpoints in '%s' were trained in %s; ask for that, or for auto",
                       liana__precision_names[*precision], liana__remote_name(resumed_from),
                       liana__precision_names[before]);
}

/* And so with what it recomputes, unless it may now take another amount of memory. */
static void find_recomputation(const char *resumed_from, liana__arena *arena, liana__compile_request *request)
{
    bool is_open = request->recompute == LIANA_RECOMPUTE_AUTO && !request->memory && resumed_from;
    int64_t recorded = is_open ? liana__checkpoint_recompute_memory(resumed_from, arena) : -1;
    if (recorded == 0) request->recompute = LIANA_RECOMPUTE_NONE;
    if (recorded > 0) request->memory = recorded;
}

/* What liana_fit_options.augment says. */
static liana_status find_augmentation(session *own, const char *text, liana__error *error)
{
    liana__value *list;
    liana_shape input = liana__model_input_shape(own->model);
    liana__augment_shape shape = {input.dims[1], input.dims[2], (int)input.dims[3]};
    if (!text) return LIANA_OK;
    if (input.rank != 4) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "augment changes images, but the model's input '%s' is %s; remove it",
                           liana__model_input(own->model, 0).name, liana__shape_print(&input).text);
    }
    LIANA_TRY(liana__yaml_parse(text, strlen(text), "augment", &own->arena, &list, error));
    LIANA_TRY(liana__augment_create(own->model->context, list, "augment", &shape, &own->augment, error));
    own->augmenter = liana__augmenter_of(own->augment);
    return LIANA_OK;
}

static liana_status check_scale(const liana_dataset *data, liana_scale expected, const char *what, liana__error *error)
{
    liana_scale found = data->scale;
    if (found == LIANA_SCALE_AUTO || found == expected || (unsigned)found >= LIANA__NUM_SCALES) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the data are opened with the scale '%s', but %s '%s'; open both alike, or the data with "
                       "LIANA_SCALE_AUTO",
                       liana__scale_names[found], what, liana__scale_names[expected]);
}

/* How images enter the model: as it was trained, or, while it is, as the data say. */
static liana_status find_preprocessing(session *own, const liana_dataset *data, bool training, liana__error *error)
{
    const liana_preprocessing *known = &own->model->preprocessing;
    bool is_known = known->scale != LIANA_SCALE_AUTO;
    if (is_known && !training) LIANA_TRY(check_scale(data, known->scale, "the model's images have", error));
    own->scale = data->scale ? data->scale : is_known ? known->scale : LIANA_SCALE_ZERO_ONE;
    own->antialias = data->antialias || known->antialias;
    own->fast_decode = known->fast_decode;
    return LIANA_OK;
}

/* After a fit the model knows what it was trained on. Of data that do not say what their classes are, it learns none.
 */
static liana_status learn_preprocessing(session *own, const liana_dataset *data, liana__error *error)
{
    liana_model *model = own->model;
    liana_preprocessing learnt = model->preprocessing;
    liana__strings names;
    learnt.scale = own->scale;
    learnt.antialias = own->antialias;
    bool known = liana__classes_of(data, &names);
    if (known && names.count && (int64_t)names.count != liana__trainer_num_classes(own->training->trainer))
        known = false;
    if (known) {
        learnt.class_names = names.items;
        learnt.num_class_names = names.count;
    }
    return liana__preprocessing_set(model, &learnt, known || model->knows_classes, error);
}

/* ---- data ---- */

/* The files of datasets are not the session's to close; parts of them are. */
static void close_part(session *own, part *data)
{
    liana__loader_destroy(data->loader);
    if (!own->whole) {
        liana__dataset_close_view(data->source);
    } else if (data->source) {
        liana__source_close(data->source);
    }
}

static void close_session(session *own)
{
    liana__loader_destroy(own->examples.loader);
    close_part(own, &own->fitted);
    close_part(own, &own->measured);
    liana__dataset_close_view(own->whole);
    liana__augment_destroy(own->augment);
    liana__callback_list_free(&own->callbacks);
    liana__bad_records_free(&own->bad_records);
    liana__outlet_close(own->outlet);
    liana__folder_lock_end(&own->lock);
    liana__arena_free(&own->arena);
}

/* What of its memory a part of the data may take besides a cache. */
static size_t part_bytes(const session *own, const part *data)
{
    if (!own->fitted.source) return own->data_bytes;
    return data == &own->fitted ? own->data_bytes / 2 : own->data_bytes / 4;
}

/* Whether the model reads images, and the data have some. */
static bool has_images(const liana_model *model, const liana_dataset *data)
{
    int index = liana__spec_find(&data->spec, "image");
    bool wanted = false;
    for (size_t i = 0; i < liana__model_num_inputs(model); i++) {
        wanted |= liana__model_input(model, i).shape.rank == 4;
    }
    if (!wanted || index < 0) return false;
    const int dtype = data->spec.components[index].dtype;
    return dtype == LIANA_STRING || dtype == LIANA_U8;
}

static liana_status open_view(const session *own, const liana_dataset *data, const liana_fit_options *fit,
                              liana__source **source, liana__error *error)
{
    int64_t epoch = 0;
    if (fit && __builtin_mul_overflow(fit->steps_per_epoch, own->batch_size, &epoch)) epoch = 0;
    return has_images(own->model, data) ? liana__dataset_view(data, epoch, source, error)
                                        : liana__dataset_view_values(data, epoch, source, error);
}

/* The names that the options give to inputs and targets. */
static liana_status find_names(const liana_model *model, const liana_binding *given, bool of_inputs,
                               const char **components, liana__error *error)
{
    size_t count = of_inputs ? liana__model_num_inputs(model) : liana__model_num_outputs(model);
    for (size_t k = 0; given && k < LIANA_MAX_OUTPUTS && given[k].component; k++) {
        size_t i = 0;
        for (; given[k].name && i < count; i++) {
            liana__model_port port = of_inputs ? liana__model_input(model, i) : liana__model_output(model, i);
            if (strcmp(port.name, given[k].name) == 0) break;
        }
        if (i >= count || (!given[k].name && count > 1)) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "the model has no %s '%s' for the component '%s'",
                               of_inputs ? "input" : "output", given[k].name ? given[k].name : "(without a name)",
                               given[k].component);
        }
        components[i] = given[k].component;
    }
    return LIANA_OK;
}

static liana_status find_match(session *own, const liana__source *source, const liana_binding *inputs,
                               const liana_binding *targets, const char *weight, bool wants_targets,
                               liana__data_match *match, liana__error *error)
{
    liana__data_names names = {.weight = weight, .inputs_key = "inputs", .targets_key = "targets"};
    if (liana__model_num_inputs(own->model) > LIANA__MAX_INPUTS ||
        liana__model_num_outputs(own->model) > LIANA__MAX_OUTPUTS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the model has more than %d inputs or %d outputs",
                           LIANA__MAX_INPUTS, LIANA__MAX_OUTPUTS);
    }
    LIANA_TRY(find_names(own->model, inputs, true, names.inputs, error));
    LIANA_TRY(find_names(own->model, targets, false, names.targets, error));
    return liana__data_match_find(own->model, source, &names, wants_targets, match, error);
}

/* How the images of a dataset are read for the model. */
static liana_status find_image(const session *own, const liana_dataset *data, liana__decode_options *image,
                               liana__error *error)
{
    liana_shape input = {0};
    for (size_t i = 0; i < liana__model_num_inputs(own->model) && input.rank != 4; i++) {
        input = liana__model_input(own->model, i).shape;
    }
    if (input.dims[3] != 1 && input.dims[3] != 3) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the model's input has %lld channels, images have 1 or 3",
                           (long long)input.dims[3]);
    }
    *image = (liana__decode_options){.height = input.dims[1],
                                     .width = input.dims[2],
                                     .channels = (int)input.dims[3],
                                     .antialias = data->antialias || own->antialias,
                                     .fast = own->fast_decode};
    return LIANA_OK;
}

/* What the model reads of a dataset. `fit`: NULL to measure only. */
static liana_status start_loader(session *own, const liana_dataset *data, const liana_fit_options *fit,
                                 const liana__data_match *match, part *opened, liana__error *error)
{
    if (!opened->source) LIANA_TRY(open_view(own, data, fit, &opened->source, error));
    liana__loader_options options = {.batch_size = fit ? own->batch_size : own->evaluation_batch_size,
                                     .seed = own->seed,
                                     .num_classes = liana__trainer_num_classes(own->training->trainer),
                                     .label_offset = data->label_offset,
                                     .shuffle = fit && !fit->keep_order && !opened->source->streams,
                                     .steps_per_epoch = fit ? fit->steps_per_epoch : 0,
                                     .memory = part_bytes(own, opened),
                                     .cache_memory = fit ? (size_t)1 << 30 : 0};
    if (own->skips_bad_records && !opened->source->streams) {
        options.bad_records = &own->bad_records;
        options.part = fit ? "train" : "validation";
    }
    if (match->has_image) LIANA_TRY(find_image(own, data, &options.image, error));
    LIANA_TRY(liana__batch_plan_make(own->training->trainer, match, &opened->plan, &options, error));
    const liana__augment *augment = fit ? own->augment : NULL;
    if (augment) options.augmenter = &own->augmenter;
    if (augment && liana__augment_mixes(augment)) {
        own->mixer = liana__augment_mixer(augment, liana__trainer_microbatch(own->training->trainer));
        options.mixer = &own->mixer;
    }
    return liana__loader_create(opened->source, &options, &opened->loader, error);
}

liana_results liana__results_of(const liana__totals *totals)
{
    liana_results results = {.num_examples = totals->count,
                             .loss = liana__totals_value(totals, 0),
                             .bad_records = totals->bad_records};
    const liana__objective *objective = totals->objective;
    size_t count = objective ? objective->num_values - 1 : 0;
    results.num_metrics = count < LIANA_MAX_METRICS ? count : LIANA_MAX_METRICS;
    for (size_t i = 0; i < results.num_metrics; i++) {
        results.metrics[i] = liana__totals_value(totals, i + 1);
        results.metric_names[i] = objective->value_names[i + 1];
    }
    return results;
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
    liana__arena arena = {0};
    liana_epoch epoch = {.epoch = event->epoch,
                         .epochs = event->epochs,
                         .training = liana__results_of(event->training),
                         .validation = liana__results_of(event->validation),
                         .learning_rate = event->learning_rate,
                         .seconds = event->seconds};
    epoch.num_training_values = liana__epoch_values(event->training, &arena, &epoch.training_values);
    epoch.num_validation_values = liana__epoch_values(event->validation, &arena, &epoch.validation_values);
    const bool goes_on = options->on_epoch(options->user, &epoch);
    liana__arena_free(&arena);
    return goes_on;
}

/* Without augmentation, and with the examples in their order. */
static liana_status open_examples(void *user, liana__loader **loader, liana__error *error)
{
    const watcher *watched = user;
    session *own = watched->own;
    own->examples.source = own->fitted.source;
    if (!own->examples.loader) {
        LIANA_TRY(start_loader(own, watched->options->training, NULL, &own->match, &own->examples, error));
    }
    *loader = own->examples.loader;
    return LIANA_OK;
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
    return liana__checkpoint_writer_save(own->own->writer, &training->variables, &training->state, error);
}

/* A folder that is not there yet is locked when it is made. */
static liana_status lock_checkpoints(session *own, liana__error *error)
{
    return liana__folder_lock_take(&own->lock, own->checkpoints, "choose another folder", error);
}

static liana_status open_writer(session *own, int64_t kept, liana__error *error)
{
    const liana__checkpoint_writer_options options = {.folder = own->checkpoints, .keep = kept, .outlet = own->outlet};
    if (!own->checkpoints) return LIANA_OK;
    LIANA_TRY(liana__folder_make(own->checkpoints, error));
    if (!own->outlet) LIANA_TRY(lock_checkpoints(own, error));
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

/* Divides the training data, before they are read. */
static liana_status split_data(session *own, const liana_fit_options *options, liana__error *error)
{
    liana__split_options split = {.validation = options->validation_split,
                                  .seed = options->seed,
                                  .label_offset = options->training->label_offset};
    if (!split.validation) return LIANA_OK;
    LIANA_TRY(open_view(own, options->training, options, &own->whole, error));
    return liana__source_split(own->whole, &split, &own->fitted.source, &own->measured.source, error);
}

static liana_status open_data(session *own, const liana_fit_options *options, liana__error *error)
{
    own->skips_bad_records = options->skip_bad_records;
    own->bad_records.most = options->max_bad_records;
    own->bad_records.on_note = options->on_bad_record;
    own->bad_records.user = options->user;
    LIANA_TRY(start_loader(own, options->training, options, &own->match, &own->fitted, error));
    if (own->whole) return start_loader(own, options->training, NULL, &own->match, &own->measured, error);
    if (!options->validation) return LIANA_OK;
    LIANA_TRY(check_scale(options->validation, own->scale, "the training data have", error));
    liana__data_match match;
    LIANA_TRY(open_view(own, options->validation, NULL, &own->measured.source, error));
    LIANA_TRY(find_match(own, own->measured.source, options->inputs, options->targets, options->example_weight, true,
                         &match, error));
    return start_loader(own, options->validation, NULL, &match, &own->measured, error);
}

/* Where checkpoints are on this machine. Those of a bucket are fetched if the fit goes on from them. */
static liana_status open_checkpoints(session *own, const liana_fit_options *options, liana__error *error)
{
    own->checkpoints = options->checkpoints;
    if (!options->checkpoints) return LIANA_OK;
    if (!liana__path_is_remote(options->checkpoints)) {
        return lock_checkpoints(own, error);
    }
    LIANA_TRY(liana__outlet_open(&(liana__outlet_options){.url = options->checkpoints,
                                                          .last = liana__checkpoint_state,
                                                          .fresh = !resumes(options),
                                                          .hint = "the same fit with resume sends it and goes on"},
                                 &own->outlet, error));
    own->checkpoints = liana__outlet_folder(own->outlet);
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
    if (!own->checkpoints) return LIANA_OK;
    liana__data_state *data = liana__arena_allocate(&own->arena, sizeof *data);
    if (!data) return liana__fail_memory(error, "the state of the data");
    state->data = data;
    LIANA_TRY(liana__data_state_find(own->fitted.source, &own->arena, data, error));
    const char *path = NULL;
    const liana__notes notes = {options->on_note, options->user};
    if (options->resume_from) {
        LIANA_TRY(liana__checkpoint_find(own->checkpoints, options->resume_from, &own->arena, &path, error));
        LIANA_TRY(liana__checkpoint_resume_from(own->checkpoints, path, own->training, &notes, &own->arena, error));
    } else if (options->resume) {
        LIANA_TRY(liana__checkpoint_resume(own->checkpoints, own->training, &notes, &own->arena, &path, error));
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
    LIANA_TRY(open_data(own, options, error));
    watcher watched = {own,
                       options,
                       {.training = own->training,
                        .notes = {options->on_note, options->user},
                        .num_classes = liana__trainer_num_classes(own->training->trainer),
                        .label_offset = options->training->label_offset}};
    LIANA_TRY(liana__warn_find_classes(&watched.warnings, own->fitted.source, &own->arena, error));
    LIANA_TRY(liana__warn_find_averages(&watched.warnings, error));
    LIANA_TRY(prepare_checkpoints(own, options, error));
    LIANA_TRY(check_stop(own, error));
    liana__warn_of_warmup(&watched.warnings, own->fitted.loader, &length);
    const liana__checkpointing_options checkpointing = {.every_epoch = true,
                                                        .every_steps = options->checkpoint_steps,
                                                        .keep_every_hours = options->keep_every_hours,
                                                        .best = {.monitor = options->best_checkpoint}};
    const liana__progress_options progress = {watch, &watched};
    const liana__numbers_options numbers = numbers_options(options);
    const liana__standard_callbacks standard = {&checkpointing, &length.minutes, &length.stop_at, &progress, &numbers};
    LIANA_TRY(add_callbacks(own, options, error));
    LIANA_TRY(liana__callbacks_finish(&own->callbacks, &standard, error));
    LIANA_TRY(open_writer(own, kept_checkpoints(options), error));
    liana__fit_options wanted = {.training = own->fitted.loader,
                                 .validation = own->measured.loader,
                                 .batch_size = own->batch_size,
                                 .validation_batch_size = own->evaluation_batch_size,
                                 .validation_steps = options->validation_steps,
                                 .validation_freq = options->validation_freq,
                                 .length = length,
                                 .resumed = own->resumed,
                                 .seen_classes = liana__warn_classes_to_see(&watched.warnings),
                                 .save = own->checkpoints ? save : NULL,
                                 .user = &watched,
                                 .callbacks = &own->callbacks,
                                 .open_examples = own->fitted.source->streams ? NULL : open_examples,
                                 .notes = {options->on_note, options->user}};
    liana_status status = liana__fit(own->training, &wanted, error);
    status = liana__checkpoint_writer_close(own->writer, status, error);
    own->training->state.data = NULL;
    if (status != LIANA_OK && status != LIANA_CANCELLED) return status;
    LIANA_TRY(learn_preprocessing(own, options->training, error));
    LIANA_TRY(liana__compiled_take_weights(own->model, own->training, error));
    own->model->precision = own->training->precision;
    return status;
}

/* Numbers that are 0 or more. */
static liana_status check_counts(const liana_fit_options *options, liana__error *error)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"epochs", options->epochs},
                  {"steps_per_epoch", options->steps_per_epoch},
                  {"steps", options->steps},
                  {"initial_epoch", options->initial_epoch},
                  {"validation_freq", options->validation_freq},
                  {"validation_steps", options->validation_steps},
                  {"checkpoint_steps", options->checkpoint_steps},
                  {"max_bad_records", options->max_bad_records},
                  {"max_bad_numbers", options->max_bad_numbers}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].value >= 0) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s is %lld, expected 0 or more", counts[i].name,
                           (long long)counts[i].value);
    }
    if (!(options->keep_every_hours >= 0)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "keep_every_hours is %g, expected 0 or more",
                           options->keep_every_hours);
    }
    if (options->resume_from && !options->checkpoints) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "resume_from is '%s', but no folder for checkpoints is given; set checkpoints",
                           options->resume_from);
    }
    if (!(options->max_minutes >= 0)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "max_minutes is %g, expected 0 or more",
                           options->max_minutes);
    }
    if ((unsigned)options->on_bad_numbers > LIANA_ON_BAD_NUMBERS_RESTORE) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "on_bad_numbers is %d, expected fail, skip or restore",
                           (int)options->on_bad_numbers);
    }
    if (!(options->bad_numbers_factor >= 0 && options->bad_numbers_factor < 1)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "bad_numbers_factor is %g, expected 0 or more, and below 1",
                           options->bad_numbers_factor);
    }
    if (!options->epochs || options->initial_epoch < options->epochs) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_ARGUMENT,
        "initial_epoch is %lld, expected less than epochs, which is %lld: epochs counts the initial ones",
        (long long)options->initial_epoch, (long long)options->epochs);
}

static liana_status check_fit(const liana_model *model, const liana_fit_options *options, liana__error *error)
{
    LIANA_TRY(check_counts(options, error));
    LIANA_TRY(liana__compiled_check_weights(options->class_weights, options->num_class_weights, error));
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

enum { DEFAULT_BATCH_SIZE = 32 };

static liana_status compile_fit(session *own, const liana_fit_options *options, liana__error *error)
{
    const char *resumed_from = resumes(options) ? own->checkpoints : NULL;
    liana__compile_request request = {.model = own->model,
                                      .strategy = options->strategy,
                                      .optimizer = options->optimizer ? options->optimizer : "Adam",
                                      .objective = {options->loss, options->losses, options->metrics,
                                                    options->output_metrics},
                                      .match = &own->match,
                                      .batch_size = own->batch_size,
                                      .evaluation_batch_size = own->evaluation_batch_size,
                                      .class_weights = options->class_weights,
                                      .num_class_weights = options->class_weights ? options->num_class_weights : 0,
                                      .microbatch = options->microbatch,
                                      .seed = options->seed,
                                      .scale = own->scale,
                                      .mixes = own->augment && liana__augment_mixes(own->augment),
                                      .precision = options->precision,
                                      .recompute = options->recompute,
                                      .memory = options->memory,
                                      .data_memory = options->data_memory,
                                      .notes = {options->on_note, options->user}};
    LIANA_TRY(liana__fit_stages_begin(own->model, options, &own->arena, &own->stages, error));
    if (own->stages.count) request.stages = &own->stages;
    LIANA_TRY(find_precision(resumed_from, &own->arena, &request.precision, error));
    find_recomputation(resumed_from, &own->arena, &request);
    LIANA_TRY(liana__compiled_get(&request, &own->training, error));
    own->training->stages = request.stages;
    liana__training_state_next_fit(&own->training->state, options->initial_epoch);
    return LIANA_OK;
}

static size_t data_bytes(int64_t mebibytes)
{
    return (size_t)(mebibytes ? mebibytes : LIANA__DEFAULT_DATA_MEMORY) << 20;
}

static liana_status open_fit(session *own, const liana_fit_options *options, liana__error *error)
{
    if (!options->training) return liana__fail(error, LIANA_INVALID_ARGUMENT, "no data were given");
    LIANA_TRY(liana__compiled_check_sizes(own->batch_size, options->microbatch, options->data_memory, error));
    LIANA_TRY(liana__compiled_check_sizes(own->evaluation_batch_size, 0, 0, error));
    LIANA_TRY(liana__compiled_check_modes(options->precision, options->recompute, options->memory, error));
    LIANA_TRY(find_stop(own, options, error));
    LIANA_TRY(liana__model_check(own->model, error));
    LIANA_TRY(find_preprocessing(own, options->training, true, error));
    LIANA_TRY(find_augmentation(own, options->augment, error));
    LIANA_TRY(split_data(own, options, error));
    if (!own->fitted.source) LIANA_TRY(open_view(own, options->training, options, &own->fitted.source, error));
    LIANA_TRY(find_match(own, own->fitted.source, options->inputs, options->targets, options->example_weight, true,
                         &own->match, error));
    LIANA_TRY(open_checkpoints(own, options, error));
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
    session own = {.model = model,
                   .batch_size = options->batch_size ? options->batch_size : DEFAULT_BATCH_SIZE,
                   .evaluation_batch_size = options->validation_batch_size,
                   .seed = options->seed,
                   .data_bytes = data_bytes(options->data_memory)};
    if (!own.evaluation_batch_size) own.evaluation_batch_size = own.batch_size;
    return own;
}

liana_status liana__fit_trial(liana_model *model, const liana_fit_options *options, liana__trial run, void *user,
                              liana__error *error)
{
    LIANA_TRY(check_fit(model, options, error));
    session own = session_of(model, options);
    void *aside = liana__compiled_set_aside(model);
    liana_status status = open_fit(&own, options, error);
    if (status == LIANA_OK) status = open_data(&own, options, error);
    if (status == LIANA_OK) status = run(user, own.training, own.fitted.loader, error);
    if (own.stages.count) liana__training_stages_restore(&own.stages, model);
    close_session(&own);
    liana__compiled_put_back(model, aside);
    return status;
}

static liana_status fit_model(liana_model *model, const liana_fit_options *options)
{
    liana__error *error = &model->context->error;
    LIANA_TRY(check_fit(model, options, error));
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

liana_status liana_fit(liana_model *model, const liana_fit_options *options)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, options);
    LIANA__CONTEXT_CALL(model->context, fit_model(model, options));
}

/* ---- evaluate and predict ---- */

/* Predictions are compared with nothing, whatever the data have. */
static void forget_targets(liana__data_match *match)
{
    memset(match->targets, 0, sizeof match->targets);
    match->has_label = false;
}

/* Tells the caller what the metrics with several numbers are. */
static liana_status tell_values(const liana_evaluate_options *options, const liana__totals *totals, liana__error *error)
{
    liana__arena arena = {0};
    const liana_metric_values *values;
    const size_t count = options->on_values ? liana__epoch_values(totals, &arena, &values) : 0;
    for (size_t i = 0; i < count; i++) options->on_values(options->user, &values[i]);
    const bool failed = arena.failed;
    liana__arena_free(&arena);
    return failed ? liana__fail_memory(error, "the metrics") : LIANA_OK;
}

/* Runs over the data once; if outputs are wanted, to predict. */
static liana_status measure(liana__compile_request *request, const liana_dataset *data,
                            const liana_evaluate_options *options, int64_t steps, liana__on_outputs on_outputs,
                            void *user, liana_results *results, liana__error *error)
{
    liana_model *model = request->model;
    if (!data) return liana__fail(error, LIANA_INVALID_ARGUMENT, "no data were given");
    LIANA_TRY(liana__compiled_check_sizes(request->batch_size, 0, 0, error));
    LIANA_TRY(liana__model_check(model, error));
    session own = {.model = model,
                   .batch_size = request->batch_size,
                   .evaluation_batch_size = request->batch_size,
                   .data_bytes = data_bytes(0)};
    liana__totals totals = {0};
    liana_status status = find_preprocessing(&own, data, false, error);
    request->scale = own.scale;
    request->precision = model->precision;
    request->match = &own.match;
    if (status == LIANA_OK) status = open_view(&own, data, NULL, &own.measured.source, error);
    if (status == LIANA_OK) {
        status = find_match(&own, own.measured.source, options->inputs, options->targets, options->example_weight,
                            !on_outputs, &own.match, error);
    }
    if (on_outputs) forget_targets(&own.match);
    if (status == LIANA_OK) status = liana__compiled_get(request, &own.training, error);
    if (status == LIANA_OK) status = start_loader(&own, data, NULL, &own.match, &own.measured, error);
    if (status == LIANA_OK) {
        status = liana__evaluate(own.training->trainer, own.measured.loader, steps, &totals, on_outputs, user, error);
    }
    if (status == LIANA_OK && results) *results = liana__results_of(&totals);
    if (status == LIANA_OK && !on_outputs) status = tell_values(options, &totals, error);
    liana__totals_free(&totals);
    close_session(&own);
    return status;
}

static liana_status check_steps(int64_t steps, liana__error *error)
{
    if (steps >= 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "steps is %lld, expected 0 or more", (long long)steps);
}

static liana_status evaluate_model(liana_model *model, const liana_dataset *dataset,
                                   const liana_evaluate_options *options, liana_results *results)
{
    static const liana_evaluate_options defaults;
    if (!options) options = &defaults;
    liana__error *error = &model->context->error;
    liana__compile_request request = {.model = model,
                                      .batch_size = options->batch_size ? options->batch_size : DEFAULT_BATCH_SIZE,
                                      .objective = {options->loss, options->losses, options->metrics,
                                                    options->output_metrics}};
    if (dataset) LIANA_TRY(liana__classes_check_model(model, dataset, error));
    LIANA_TRY(check_steps(options->steps, error));
    return measure(&request, dataset, options, options->steps, NULL, NULL, results, error);
}

liana_status liana_evaluate(liana_model *model, const liana_dataset *dataset, const liana_evaluate_options *options,
                            liana_results *results)
{
    LIANA__REQUIRE(dataset ? &dataset->context->error : NULL, model);
    LIANA__REQUIRE(&model->context->error, dataset);
    LIANA__CONTEXT_CALL(model->context, evaluate_model(model, dataset, options, results));
}

typedef struct destination {
    float *next;
    size_t row_size;
} destination;

static liana_status copy_outputs(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    (void)error;
    destination *own = user;
    size_t count = (size_t)batch->count * own->row_size;
    memcpy(own->next, outputs, count * sizeof *outputs);
    own->next += count;
    return LIANA_OK;
}

static liana_status predict_model(liana_model *model, const liana_dataset *dataset,
                                  const liana_predict_options *options, float *outputs)
{
    static const liana_predict_options defaults;
    if (!options) options = &defaults;
    liana__error *error = &model->context->error;
    liana__compile_request request = {.model = model,
                                      .predicts = !model->objective && liana__model_num_outputs(model) > 1,
                                      .batch_size = options->batch_size ? options->batch_size : DEFAULT_BATCH_SIZE};
    liana_evaluate_options wanted = {0};
    memcpy(wanted.inputs, options->inputs, sizeof wanted.inputs);
    destination own = {outputs, 0};
    for (size_t i = 0; i < liana__model_num_outputs(model); i++) {
        liana__model_port port = liana__model_output(model, i);
        own.row_size += (size_t)liana_shape_size(&port.shape);
    }
    LIANA_TRY(check_steps(options->steps, error));
    return measure(&request, dataset, &wanted, options->steps, copy_outputs, &own, NULL, error);
}

liana_status liana_predict_batches(liana_model *model, const liana_dataset *dataset,
                                   const liana_predict_options *options, float *outputs)
{
    LIANA__REQUIRE(dataset ? &dataset->context->error : NULL, model);
    LIANA__REQUIRE(&model->context->error, dataset);
    LIANA__REQUIRE(&model->context->error, outputs);
    LIANA__CONTEXT_CALL(model->context, predict_model(model, dataset, options, outputs));
}

liana_status liana_predict(liana_model *model, const liana_dataset *dataset, float *outputs)
{
    LIANA__REQUIRE(dataset ? &dataset->context->error : NULL, model);
    LIANA__REQUIRE(&model->context->error, dataset);
    LIANA__REQUIRE(&model->context->error, outputs);
    LIANA__CONTEXT_CALL(model->context, predict_model(model, dataset, NULL, outputs));
}
