/* fit, evaluate and predict of the public interface: a run without a folder, on a model that is there already. */
#include "data/dataset/dataset_source.h"
#include "formats/yaml.h"
#include "models/preprocessing.h"
#include "train/core/precision.h"
#include "train/model/model_classes.h"
#include "train/model/model_preprocessing.h"
#include "train/model/model_values.h"
#include "train/run/run_internal.h"

#include <liana/train.h>
#include <string.h>

/* What is asked of a run, whichever of the three it is for. */
typedef struct request {
    liana_model *model;
    const liana_dataset *data; /* whose scale the model gets when it is trained */
    int64_t batch_size;
    int64_t microbatch;
    const char *optimizer; /* of fit; NULL: Adam */
    const char *loss;
    const char *const *metrics; /* LIANA_MAX_METRICS, of which those before the first NULL count; NULL: accuracy */
    uint64_t seed;
    const char *augment; /* NULL: none */
    liana_precision precision;
    liana_recompute recompute;
    int64_t memory;
    int64_t data_memory;
    const char *resumed_from; /* a folder of checkpoints, or NULL */
    bool training;
    void (*on_note)(void *user, const char *note);
    void *user;
} request;

static liana_status read_optimizer(const char *text, liana__arena *arena, const liana__value **optimizer,
                                   liana__error *error)
{
    liana__value *value, *map;
    if (!text) text = "Adam";
    LIANA_TRY(liana__yaml_parse(text, strlen(text), "optimizer", arena, &value, error));
    map = value;
    if (value->kind == LIANA__VALUE_STRING) {
        map = liana__value_map(arena);
        liana__value_set(arena, map, "name", value);
    }
    if (!map) return liana__fail_memory(error, "the optimizer");
    *optimizer = map;
    liana__optimizer_choice choice;
    return liana__optimizer_read(map, "optimizer", arena, &choice, error);
}

static liana_status check_request(const request *wanted, liana__error *error)
{
    if (!wanted->data) return liana__fail(error, LIANA_INVALID_ARGUMENT, "no data were given");
    if (wanted->batch_size < 1 || wanted->batch_size > INT32_MAX || wanted->microbatch < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "batch_size is %lld and microbatch %lld, expected at least 1 and 0 (or 0: the default)",
                           (long long)wanted->batch_size, (long long)wanted->microbatch);
    }
    if ((unsigned)wanted->precision > LIANA_PRECISION_AUTO) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "found the precision %d, expected a liana_precision",
                           (int)wanted->precision);
    }
    if ((unsigned)wanted->recompute > LIANA_RECOMPUTE_AUTO || wanted->memory < 0 || wanted->memory > 1 << 24) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "recompute is %d and memory %lld, expected a liana_recompute and 0 to %d MiB",
                           (int)wanted->recompute, (long long)wanted->memory, 1 << 24);
    }
    if (wanted->data_memory < 0 || wanted->data_memory > 1 << 24) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "data_memory is %lld, expected 0 to %d MiB",
                           (long long)wanted->data_memory, 1 << 24);
    }
    return liana__model_check(wanted->model, error);
}

/* What is resumed keeps its precision. */
static liana_status find_precision(const request *wanted, liana__arena *arena, int *precision, liana__error *error)
{
    *precision = (int)wanted->precision;
    const char *recorded = wanted->resumed_from ? liana__checkpoint_precision(wanted->resumed_from, arena) : NULL;
    if (!recorded) return LIANA_OK;
    liana_precision before = liana__precision_named(recorded);
    if (wanted->precision == LIANA_PRECISION_AUTO) *precision = (int)before;
    if (*precision == (int)before) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the precision is %s, but the checkpoints in '%s' were trained in %s; ask for that, or for auto",
                       liana__precision_names[*precision], wanted->resumed_from, liana__precision_names[before]);
}

/* And so with what it computes twice, unless it may now take another amount of memory. */
static void find_recomputation(const request *wanted, liana__arena *arena, liana__train_config *train)
{
    train->recompute = (int)wanted->recompute;
    train->memory = wanted->memory;
    bool is_open = wanted->recompute == LIANA_RECOMPUTE_AUTO && !wanted->memory && wanted->resumed_from;
    int64_t recorded = is_open ? liana__checkpoint_recompute_memory(wanted->resumed_from, arena) : -1;
    if (recorded == 0) train->recompute = LIANA_RECOMPUTE_NONE;
    if (recorded > 0) train->memory = recorded;
}

static liana_status make_config(liana__run *run, const request *wanted, liana__error *error)
{
    liana__arena *arena = &run->arena;
    liana__config *config = liana__arena_allocate(arena, sizeof *config);
    const char **metrics = liana__arena_allocate(arena, (LIANA_MAX_METRICS + 1) * sizeof *metrics);
    if (!config || !metrics) return liana__fail_memory(error, "the options");
    LIANA_TRY(liana__fields_default(liana__config_fields(), arena, config, error));
    config->train.batch_size = wanted->batch_size;
    config->train.microbatch = wanted->microbatch;
    config->train.seed = (int64_t)wanted->seed;
    config->data.memory = wanted->data_memory;
    LIANA_TRY(find_precision(wanted, arena, &config->train.precision, error));
    find_recomputation(wanted, arena, &config->train);
    if (wanted->loss) config->train.loss = wanted->loss;
    size_t count = 0;
    while (wanted->metrics && count < LIANA_MAX_METRICS && wanted->metrics[count]) {
        metrics[count] = wanted->metrics[count];
        count++;
    }
    if (count) config->train.metrics = (liana__strings){count, metrics};
    run->config = config;
    return read_optimizer(wanted->optimizer, arena, &config->train.optimizer, error);
}

/* What liana_fit_options.augment says. */
static liana_status find_augmentation(liana__run *run, const char *text, liana__error *error)
{
    liana__value *list;
    liana_shape input = liana__model_input_shape(run->model);
    liana__augment_shape shape = {input.dims[1], input.dims[2], (int)input.dims[3]};
    if (!text) return LIANA_OK;
    LIANA_TRY(liana__yaml_parse(text, strlen(text), "augment", &run->arena, &list, error));
    LIANA_TRY(liana__augment_create(run->context, list, "augment", &shape, &run->training.augment, error));
    run->training.stage = liana__augmenter_of(run->training.augment);
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

/* How the run's images enter the model: as it was trained, or, while it is, as the data say. */
static liana_status find_preprocessing(liana__run *run, const request *wanted, liana__error *error)
{
    const liana_preprocessing *known = &wanted->model->preprocessing;
    const liana_dataset *data = wanted->data;
    bool is_known = known->scale != LIANA_SCALE_AUTO;
    if (is_known && !wanted->training) LIANA_TRY(check_scale(data, known->scale, "the model's images have", error));
    run->scale = data->scale ? data->scale : is_known ? known->scale : LIANA_SCALE_ZERO_ONE;
    run->config->data.resize.antialias = data->antialias || known->antialias;
    run->config->data.decode = known->fast_decode ? LIANA__DECODE_FAST : LIANA__DECODE_FULL;
    return LIANA_OK;
}

/* After a fit the model knows what it was trained on. Of data that do not say what their classes are, it learns none.
 */
static liana_status learn_preprocessing(liana__run *run, const liana_dataset *data, liana__error *error)
{
    liana_preprocessing learnt = run->model->preprocessing;
    liana__strings names;
    learnt.scale = run->scale;
    learnt.antialias = run->config->data.resize.antialias;
    bool known = liana__classes_of(data, &names);
    if (known && names.count && (int64_t)names.count != liana__trainer_num_classes(run->trainer)) known = false;
    if (known) {
        learnt.class_names = names.items;
        learnt.num_class_names = names.count;
    }
    return liana__preprocessing_set(run->model, &learnt, known || run->model->knows_classes, error);
}

/* Makes a run of it, whose weights are the model's. Close it in any case. */
static liana_status open_run(liana__run *run, const request *wanted, liana__error *error)
{
    *run = (liana__run){.context = wanted->model->context, .model = wanted->model};
    LIANA_TRY(check_request(wanted, error));
    LIANA_TRY(liana__model_values_complete(wanted->model, error));
    LIANA_TRY(make_config(run, wanted, error));
    LIANA_TRY(find_preprocessing(run, wanted, error));
    LIANA_TRY(find_augmentation(run, wanted->augment, error));
    liana__run_options options = {.training = wanted->training, .on_note = wanted->on_note, .user = wanted->user};
    LIANA_TRY(liana__run_make_trainer(run, &options, error));
    return liana__model_values_write(wanted->model, &run->variables, error);
}

static void close_part(liana__run_data *part)
{
    liana__source *source = part->source;
    part->source = NULL;
    liana__run_close_data(part);
    liana__dataset_close_view(source);
}

/* The model and the files of datasets are not the run's to close. */
static void close_run(liana__run *run)
{
    run->model = NULL;
    close_part(&run->training);
    close_part(&run->validation);
    liana__run_close(run);
}

/* What the model reads of a part of the data. */
static liana_status start_loader(liana__run *run, const liana_dataset *data, const liana_fit_options *fit,
                                 liana__run_data *part, liana__error *error)
{
    const liana__data_config *own = &run->config->data;
    int64_t epoch = 0;
    if (fit && __builtin_mul_overflow(fit->steps_per_epoch, run->config->train.batch_size, &epoch)) epoch = 0;
    LIANA_TRY(liana__dataset_view(data, epoch, &part->source, error));
    liana_shape input = liana__model_input_shape(run->model);
    liana__loader_options options = {.image = {.height = input.dims[1],
                                               .width = input.dims[2],
                                               .channels = (int)input.dims[3],
                                               .antialias = data->antialias || own->resize.antialias,
                                               .fast = own->decode == LIANA__DECODE_FAST},
                                     .batch_size = run->config->train.batch_size,
                                     .seed = (uint64_t)run->config->train.seed,
                                     .num_classes = liana__trainer_num_classes(run->trainer),
                                     .label_offset = data->label_offset,
                                     .shuffle = fit && !fit->keep_order && !part->source->streams,
                                     .steps_per_epoch = fit ? fit->steps_per_epoch : 0,
                                     .memory = liana__run_part_memory(run, part),
                                     .cache_memory = fit ? (size_t)1 << 30 : 0};
    if (run->config->data.on_bad_record == LIANA__ON_BAD_RECORD_SKIP && !part->source->streams) {
        options.bad_records = &run->bad_records;
        options.part = fit ? "train" : "validation";
    }
    if (input.dims[3] != 1 && input.dims[3] != 3) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the model's input has %lld channels, images have 1 or 3",
                           (long long)input.dims[3]);
    }
    const liana__augment *augment = fit ? run->training.augment : NULL;
    if (augment) options.augmenter = &run->training.stage;
    if (augment && liana__augment_mixes(augment)) {
        run->training.mixer = liana__augment_mixer(augment, run->config->train.microbatch);
        options.mixer = &run->training.mixer;
    }
    return liana__loader_create(part->source, &options, &part->loader, error);
}

static liana_results means(const liana__totals *totals, size_t num_metrics)
{
    liana_results results = {.num_examples = totals->count,
                             .loss = liana__totals_mean(totals, 0),
                             .bad_records = totals->bad_records};
    for (size_t i = 0; i < num_metrics; i++) results.metrics[i] = liana__totals_mean(totals, i + 1);
    return results;
}

/* ---- fit ---- */

typedef struct watcher {
    liana__run *run;
    const liana_fit_options *options;
    liana__run_options told;
} watcher;

static bool watch(void *user, const liana__fit_event *event)
{
    const watcher *own = user;
    if (event->kind == LIANA__FIT_EPOCH) liana__run_warn_after_epoch(own->run, &own->told);
    if (event->kind != LIANA__FIT_EPOCH || !own->options->on_epoch) return true;
    liana_epoch epoch = {.epoch = event->epoch,
                         .epochs = event->epochs,
                         .training = means(event->training, own->run->num_metrics),
                         .validation = means(event->validation, own->run->num_metrics),
                         .learning_rate = event->learning_rate,
                         .seconds = event->seconds};
    return own->options->on_epoch(own->options->user, &epoch);
}

static liana_status fit(liana__run *run, const liana_fit_options *options, liana__error *error)
{
    run->config->train.epochs = options->epochs ? options->epochs : 1;
    if (options->skip_bad_records) run->config->data.on_bad_record = LIANA__ON_BAD_RECORD_SKIP;
    run->bad_records.most = options->max_bad_records;
    run->bad_records.on_note = options->on_bad_record;
    run->bad_records.user = options->user;
    LIANA_TRY(start_loader(run, options->training, options, &run->training, error));
    if (options->validation) {
        LIANA_TRY(check_scale(options->validation, run->scale, "the training data have", error));
        LIANA_TRY(start_loader(run, options->validation, NULL, &run->validation, error));
    }
    watcher own = {run, options, {.on_note = options->on_note, .user = options->user}};
    run->num_classes = liana__trainer_num_classes(run->trainer);
    run->config->data.label_offset = options->training->label_offset;
    LIANA_TRY(liana__run_find_seen_classes(run, &own.told, error));
    LIANA_TRY(liana__run_find_new_averages(run, error));
    if (options->checkpoints) LIANA_TRY(liana__run_note_data(run, error));
    if (options->resume && options->checkpoints) {
        const char *path;
        LIANA_TRY(liana__run_load_newest_whole(run, &(liana__run_options){0}, options->checkpoints, &path, error));
    }
    liana__run_note_contents(run, &own.told);
    liana__run_warn_of_warmup(run, &own.told);
    liana__fit_options wanted = {.trainer = run->trainer,
                                 .variables = &run->variables,
                                 .training = run->training.loader,
                                 .validation = run->validation.loader,
                                 .batch_size = run->config->train.batch_size,
                                 .epochs = run->config->train.epochs,
                                 .num_metrics = run->num_metrics,
                                 .seen_classes = liana__run_classes_to_see(run),
                                 .learning_rate = run->learning_rate,
                                 .checkpoint_folder = options->checkpoints,
                                 .every_epoch = true,
                                 .every_steps = options->checkpoint_steps,
                                 .keep = 3,
                                 .on_event = watch,
                                 .user = &own};
    liana_status status = liana__fit(&wanted, &run->state, error);
    if (status != LIANA_OK && status != LIANA_CANCELLED) return status;
    LIANA_TRY(learn_preprocessing(run, options->training, error));
    LIANA_TRY(liana__model_values_read(run->model, &run->variables, error));
    return status;
}

static liana_status check_fit(const liana_model *model, const liana_fit_options *options, liana__error *error)
{
    if (options->epochs < 0 || options->steps_per_epoch < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "epochs is %lld and steps_per_epoch %lld, expected 0 or more",
                           (long long)options->epochs, (long long)options->steps_per_epoch);
    }
    if (options->checkpoint_steps < 0 || options->max_bad_records < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "checkpoint_steps is %lld and max_bad_records %lld, expected 0 or more",
                           (long long)options->checkpoint_steps, (long long)options->max_bad_records);
    }
    if (options->training && options->validation) {
        LIANA_TRY(liana__classes_check_validation(options->training, options->validation, error));
    }
    if (options->training) LIANA_TRY(liana__classes_check_model(model, options->training, error));
    return LIANA_OK;
}

enum { DEFAULT_BATCH_SIZE = 32 };

liana_status liana_fit(liana_model *model, const liana_fit_options *options)
{
    request wanted = {.model = model,
                      .data = options->training,
                      .batch_size = options->batch_size ? options->batch_size : DEFAULT_BATCH_SIZE,
                      .microbatch = options->microbatch,
                      .optimizer = options->optimizer,
                      .loss = options->loss,
                      .metrics = options->metrics,
                      .seed = options->seed,
                      .augment = options->augment,
                      .precision = options->precision,
                      .recompute = options->recompute,
                      .memory = options->memory,
                      .data_memory = options->data_memory,
                      .resumed_from = options->resume ? options->checkpoints : NULL,
                      .training = true,
                      .on_note = options->on_note,
                      .user = options->user};
    liana__error *error = &model->context->error;
    LIANA_TRY(check_fit(model, options, error));
    liana__run run;
    liana_status status = open_run(&run, &wanted, error);
    if (status == LIANA_OK) status = fit(&run, options, error);
    if (status == LIANA_OK || status == LIANA_CANCELLED) {
        model->precision = (liana_precision)run.config->train.precision;
    }
    close_run(&run);
    return status;
}

/* ---- evaluate and predict ---- */

static bool has_labels(const liana_dataset *dataset)
{
    return liana__spec_find(&dataset->spec, "label") >= 0;
}

/* Runs over the data once. */
static liana_status measure(const request *wanted, bool labelled, liana__on_outputs on_outputs, void *user,
                            liana_results *results, liana__error *error)
{
    liana__run run;
    liana__totals totals;
    liana_status status = open_run(&run, wanted, error);
    if (status == LIANA_OK) status = start_loader(&run, wanted->data, NULL, &run.validation, error);
    if (status == LIANA_OK) {
        status = liana__evaluate(run.trainer, run.validation.loader, labelled, &totals, on_outputs, user, error);
    }
    if (status == LIANA_OK && results) *results = means(&totals, run.num_metrics);
    close_run(&run);
    return status;
}

liana_status liana_evaluate(liana_model *model, const liana_dataset *dataset, const liana_evaluate_options *options,
                            liana_results *results)
{
    static const liana_evaluate_options defaults;
    if (!options) options = &defaults;
    liana__error *error = &model->context->error;
    request wanted = {.model = model,
                      .data = dataset,
                      .batch_size = options->batch_size ? options->batch_size : DEFAULT_BATCH_SIZE,
                      .loss = options->loss,
                      .metrics = options->metrics,
                      .precision = model->precision};
    if (dataset && !has_labels(dataset)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the data have no labels to evaluate on");
    }
    if (dataset) LIANA_TRY(liana__classes_check_model(model, dataset, error));
    return measure(&wanted, true, NULL, NULL, results, error);
}

typedef struct destination {
    float *next;
    size_t num_classes;
} destination;

static liana_status copy_outputs(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    (void)error;
    destination *own = user;
    size_t count = (size_t)batch->count * own->num_classes;
    memcpy(own->next, outputs, count * sizeof *outputs);
    own->next += count;
    return LIANA_OK;
}

liana_status liana_predict(liana_model *model, const liana_dataset *dataset, float *outputs)
{
    request wanted = {.model = model, .data = dataset, .batch_size = DEFAULT_BATCH_SIZE, .precision = model->precision};
    liana_shape output = liana__model_output_shape(model);
    destination own = {outputs, output.rank == 2 ? (size_t)output.dims[1] : 0};
    return measure(&wanted, dataset && has_labels(dataset), copy_outputs, &own, NULL, &model->context->error);
}
