/* The data of a run: sources, classes, the shape of the images, loaders. */
#include "train/run/run_internal.h"

#include "base/scoped.h"
#include "data/augment/augment.h"
#include "data/check/quarantine.h"
#include "data/source/class_list.h"
#include "data/source/part.h"
#include "data/source/source_open.h"
#include "train/config/source_dataset.h"
#include "train/objective/shared_loader.h"

#include <stdio.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana__source_close, liana__source)
LIANA__SCOPED_POINTER(liana_dataset_close, liana_dataset)

/* The use of labels. */
typedef enum label_use { LABELS_NEEDED, LABELS_IGNORED } label_use;

/* The name of a part in lists of bad records. */
static const char *part_name(const liana__run *run, const liana__source_config *where)
{
    const liana__data_config *data = &run->config->data;
    return where == &data->train        ? "train"
           : where == &data->validation ? "validation"
           : where == &data->test       ? "test"
                                        : "data";
}

static liana_status tell_lost(liana__run *run, const liana__source *source, const char *part, liana__error *error)
{
    for (size_t i = 0; i < source->num_lost; i++) {
        const liana__lost *lost = &source->lost[i];
        char *reason =
            liana__arena_format(&run->arena, "%s; %lld bytes are lost", lost->reason, (long long)lost->bytes);
        if (!reason) return liana__fail_memory(error, lost->file);
        liana__bad_record record = {part, lost->file, lost->record, lost->offset, NULL, reason};
        LIANA_TRY(liana__bad_records_meet(&run->bad_records, &record, error));
    }
    return LIANA_OK;
}

liana_status liana__run_leave_out(const liana__run *run, liana__source **source, liana__error *error)
{
    if (!run->config->data.quarantine) return LIANA_OK;
    LIANA__SCOPED(liana__bad_records) list = {0};
    LIANA_TRY(liana__bad_records_read(&list, run->config->data.quarantine, run->remote, error));
    return liana__source_leave_out(source, &list, NULL, error);
}

/* Whether labels are the target of some output. */
static bool needs_labels(const liana__run *run)
{
    const liana__component_map *targets = &run->config->data.model_targets;
    if (targets->count == 0) return true;
    for (size_t i = 0; i < targets->count; i++) {
        if (strcmp(targets->components[i], "label") == 0) return true;
    }
    return false;
}

/* How files are opened. */
typedef struct opener {
    liana__run *run;
    label_use use;
    int64_t take;     /* number of records, from the first; 0: all */
    const char *part; /* the name of the data in lists of bad records */
    bool training;    /* the data to train on: their classes are those of the run */
    bool splits;      /* a part of exactly these files is for validation */
} opener;

static liana__split_options split_options(const liana__config *config)
{
    return (liana__split_options){.validation = config->data.validation_split,
                                  .seed = (uint64_t)config->job.seed,
                                  .label_offset = config->data.label_offset,
                                  .owns = true};
}

/* Opens files once more, whose columns have means or boundaries: those of the training part. */
static liana_status open_again(const liana__run *run, const char *const *patterns, size_t count,
                               liana__source_options *options, liana__source **source, liana__error *error)
{
    const liana__split_options split = split_options(run->config);
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__source *first = *source;
    *source = NULL;
    liana_status status = liana__split_find(first, &split, &arena, &options->held_out, &options->num_held_out, error);
    if (status != LIANA_OK) liana__fail_within(error, "data.validation_split");
    if (status == LIANA_OK) status = liana__source_open(patterns, count, options, source, error);
    liana__source_close(first);
    return status == LIANA_OK ? liana__run_leave_out(run, source, error) : status;
}

static liana_status open_files(void *user, const liana__source_config *where, liana__source **source,
                               liana__error *error)
{
    const opener *own = user;
    liana__run *run = own->run;
    liana__source_options options = liana__config_source_options(run->config, where);
    options.class_names = run->class_names;
    options.labels_are_names = own->use == LABELS_NEEDED && run->config->data.label_kind == LIANA__LABELS_NAMES;
    options.take = (uint64_t)own->take;
    options.need_labels = own->use == LABELS_NEEDED && needs_labels(run);
    options.ignore_labels = options.columns_optional = own->use == LABELS_IGNORED;
    options.remote = run->remote;
    const liana__notes notes = {run->bad_records.on_note, run->bad_records.user};
    options.measured = !own->training;
    options.notes = &notes;
    const char *const *patterns = where->images ? &where->images : where->paths.items;
    size_t count = where->images ? 1 : where->paths.count;
    LIANA_TRY(liana__source_open(patterns, count, &options, source, error));
    liana_status status = liana__run_leave_out(run, source, error);
    if (status == LIANA_OK && own->splits && liana__columns_need_rows(options.columns)) {
        status = open_again(run, patterns, count, &options, source, error);
    }
    if (status == LIANA_OK) status = tell_lost(run, *source, own->part, error);
    if (status == LIANA_OK && (*source)->left_out) {
        liana__run_tell(run, "%s", (*source)->left_out);
    }
    /* Before other data are opened: a class that has no folder there must not shift those after it. */
    if (status == LIANA_OK && own->use == LABELS_NEEDED) {
        status = liana__run_meet_classes(run, *source, patterns[0], own->training, error);
    }
    if (status == LIANA_OK && own->training && (*source)->columns) {
        status = liana__config_keep_columns(run->config, (*source)->columns, &run->arena, error);
    }
    if (status == LIANA_OK) return LIANA_OK;
    if (*source) liana__source_close(*source);
    *source = NULL;
    return status;
}

/* A source that is made of others, or of a part of others, through a dataset. */
static liana_status open_combined(opener *own, const liana__source_config *where, liana__source **source,
                                  liana__error *error)
{
    const liana__config *config = own->run->config;
    bool training = own->training;
    liana__source_request request = {.context = own->run->context,
                                     .open = open_files,
                                     .user = own,
                                     .shuffle = training && config->data.shuffle,
                                     .repeat = training && config->data.repeat,
                                     .seed = (uint64_t)config->job.seed};
    const char *key = training ? "data.train" : where == &config->data.validation ? "data.validation" : "data.test";
    LIANA__SCOPED_BY(liana_dataset_close_scoped) liana_dataset *dataset = NULL;
    LIANA_TRY(liana__source_dataset(&request, where, key, &dataset, error));
    bool repeats = training && config->data.repeat;
    int64_t epoch = repeats ? config->job.steps_per_epoch * config->job.batch_size : 0;
    bool has_images = liana__spec_find(&dataset->spec, "image") >= 0;
    return (has_images ? liana__dataset_view : liana__dataset_view_values)(dataset, epoch, source, error);
}

static liana_status open_source(liana__run *run, const liana__source_config *where, label_use use, int64_t take,
                                liana__source **source, liana__error *error)
{
    opener own = {.run = run,
                  .use = use,
                  .take = take,
                  .part = part_name(run, where),
                  .training = where == &run->config->data.train};
    liana__source_config chosen = *where;
    /* Where files are shuffled as a whole, whose turn it is makes no difference. */
    if (own.training && run->config->data.shuffle && where->paths.count) chosen.interleave.cycle_length = 0;
    own.splits = own.training && run->config->data.validation_split > 0 && !liana__config_combines(&chosen);
    if (!liana__config_combines(&chosen)) return open_files(&own, where, source, error);
    LIANA_TRY(open_combined(&own, where, source, error));
    (*source)->skip_damage = run->config->data.on_bad_record == LIANA__ON_BAD_RECORD_SKIP;
    return LIANA_OK;
}

void liana__run_close_data(liana__run_data *data)
{
    liana__loader_destroy(data->loader);
    liana__augment_destroy(data->augment);
    liana__sampler_destroy(data->sampler);
    if (data->source) liana__source_close(data->source);
    *data = (liana__run_data){0};
}

/* ---- the shape of the images ---- */

/* The channels of a list of layers that begins with an InputLayer; 0: it leaves them open. */
static int64_t channels_of_layers(const liana__value *layers)
{
    const liana__value *first = layers && layers->kind == LIANA__VALUE_LIST && layers->count ? layers->items[0] : NULL;
    bool is_map = first && first->kind == LIANA__VALUE_MAP && first->count == 1;
    if (!is_map || strcmp(first->keys[0], "InputLayer") != 0) return 0;
    const liana__value *options = first->items[0];
    const liana__value *shape = options->kind == LIANA__VALUE_MAP ? liana__value_get(options, "shape") : NULL;
    bool is_image = shape && shape->kind == LIANA__VALUE_LIST && shape->count == 3;
    return is_image && shape->items[2]->kind == LIANA__VALUE_INT ? shape->items[2]->integer : 0;
}

/* Whether a component is a target or a weight. */
static bool is_compared(const liana__data_config *data, const char *name)
{
    if (strcmp(name, "label") == 0 || strcmp(name, "id") == 0) return true;
    if (data->example_weight && strcmp(name, data->example_weight) == 0) return true;
    for (size_t i = 0; i < data->model_targets.count; i++) {
        if (strcmp(name, data->model_targets.components[i]) == 0) return true;
    }
    return false;
}

/* The input of a list of layers without an InputLayer: the component that data.inputs names, else the first one. */
static liana_status find_input_shape(liana__run *run, const liana__source *source)
{
    const liana__data_config *data = &run->config->data;
    const char *named = data->model_inputs.count == 1 ? data->model_inputs.components[0] : NULL;
    for (size_t i = 0; i < source->num_components && run->input_shape.rank == 0; i++) {
        const liana_component *component = &source->components[i];
        bool meant = named ? strcmp(component->name, named) == 0 : !is_compared(data, component->name);
        if (!meant) continue;
        run->input_shape = component->shape.rank ? component->shape : liana_shape_of(1);
    }
    return LIANA_OK;
}

/* As configured, or as the model says; the size else as that of the first record. Its channels decide only where the
 * format says them for all records: one grey photograph says nothing of the others. */
static liana_status find_image_shape(liana__run *run, const liana__source *source, const liana__run_options *options,
                                     liana__error *error)
{
    liana__data_config *data = &run->config->data;
    if (source && source->lacks_images) return find_input_shape(run, source);
    if (!data->channels) data->channels = channels_of_layers(run->config->model.layers);
    int64_t wanted[3] = {data->image_size[0], data->image_size[1], data->channels};
    liana__probe first = {0};
    if (!wanted[0] || !wanted[1] || !wanted[2]) LIANA_TRY(liana__decode_probe(source, &first, error));
    if (!wanted[2] && first.encoded && first.channels == 1) {
        liana__run_note(options, "the first image is grey, but images are read as colour (3 channels); data.channels: "
                                 "1 would read them all as grey");
    }
    run->image_shape[0] = wanted[0] ? wanted[0] : first.height;
    run->image_shape[1] = wanted[1] ? wanted[1] : first.width;
    run->image_shape[2] = wanted[2] ? wanted[2] : first.encoded ? 3 : first.channels;
    data->image_size[0] = run->image_shape[0];
    data->image_size[1] = run->image_shape[1];
    data->channels = run->image_shape[2];
    return LIANA_OK;
}

/* ---- augmentation ---- */

/* Only training images are changed. */
static liana_status find_augmentation(liana__run *run, liana__error *error)
{
    const liana__value *list = run->config->data.augment;
    if (!list) return LIANA_OK;
    if (!run->image_shape[0]) {
        liana__place place = liana__config_place(run->config, "data.augment");
        return liana__fail_at(error, &place, "data.augment", "the data have no images to change; remove this key");
    }
    liana_image_shape shape = {run->image_shape[0], run->image_shape[1], (int)run->image_shape[2]};
    return liana__augment_create(run->context, list, "data.augment", &shape, &run->training.augment, error);
}

/* ---- loaders ---- */

static size_t part_memory(const liana__run *run, const liana__run_data *part)
{
    const liana__data_config *data = &run->config->data;
    size_t total = (size_t)(data->memory ? data->memory : LIANA__DEFAULT_DATA_MEMORY) << 20;
    if (!run->training.source) return total;
    return part == &run->training ? total / 2 : total / 4;
}

size_t liana__run_data_memory(const liana__run *run)
{
    const liana__data_config *data = &run->config->data;
    size_t memory = (size_t)(data->memory ? data->memory : LIANA__DEFAULT_DATA_MEMORY) << 20;
    return data->cache == LIANA__CACHE_MEMORY || data->cache == LIANA__CACHE_DEVICE
               ? memory + liana__machine_memory() / 4
               : memory;
}

static liana_status check_steps(const liana__run *run, const liana__run_data *part, liana__error *error)
{
    const liana__job_options *train = &run->config->job;
    uint64_t batch_size = (uint64_t)train->batch_size, count = part->source->num_records;
    if (part->sampler) count = liana__sampler_length(part->sampler, 0);
    uint64_t pass = count / batch_size + (count % batch_size != 0);
    if (run->config->data.repeat || (uint64_t)train->steps_per_epoch <= pass) return LIANA_OK;
    liana__place place = liana__config_place(run->config, "train.steps_per_epoch");
    return liana__fail_at(error, &place, "train.steps_per_epoch",
                          "found the number %lld, but the %llu training examples last for %llu updates of %llu "
                          "examples; set data.repeat to repeat them",
                          (long long)train->steps_per_epoch, (unsigned long long)count, (unsigned long long)pass,
                          (unsigned long long)batch_size);
}

static const char *name_of(const liana__run *run, const liana__run_data *part)
{
    const liana__data_config *data = &run->config->data;
    const liana__source_config *where = part == &run->training     ? &data->train
                                        : part == &run->examples   ? &data->train
                                        : part == &run->validation ? &data->validation
                                        : part == &run->test       ? &data->test
                                                                   : NULL;
    return part_name(run, where);
}

/* Of the training, the validation, or the data to predict. */
static int64_t batch_size_of(const liana__run *run, const liana__run_data *part)
{
    const liana__job_options *train = &run->config->job;
    int64_t size = part == &run->training ? train->batch_size : train->validation_batch_size;
    if (part != &run->training && part != &run->validation && train->prediction_batch_size) {
        size = train->prediction_batch_size;
    }
    return size ? size : train->batch_size;
}

/* With a cache of decoded images. */
static liana_status create_loader(liana__run *run, liana__run_data *part, liana__loader_options *options,
                                  liana__error *error)
{
    LIANA_TRY(liana__run_choose_cache(run, part, options, error));
    return liana__loader_create(part->source, options, &part->loader, error);
}

/* How images are made. */
static liana__decode_options decoding(const liana__run *run)
{
    const liana__data_config *data = &run->config->data;
    return (liana__decode_options){.height = run->image_shape[0],
                                   .width = run->image_shape[1],
                                   .channels = (int)run->image_shape[2],
                                   .antialias = data->resize.antialias,
                                   .fractions = run->fractions,
                                   .fast = data->decode == LIANA__DECODE_FAST};
}

static liana__loader_options loader_options(liana__run *run, const liana__run_data *part)
{
    const liana__data_config *data = &run->config->data;
    const liana__job_options *train = &run->config->job;
    const bool training = part == &run->training;
    return (liana__loader_options){
        .image = decoding(run),
        .batch_size = batch_size_of(run, part),
        .steps_per_epoch = training ? train->steps_per_epoch : 0,
        .remainder = training ? (liana__remainder)train->remainder : LIANA__REMAINDER_KEEP,
        .shuffle = training && data->shuffle && !part->source->streams,
        .seed = (uint64_t)train->seed,
        .num_classes = run->num_classes,
        .label_offset = data->label_offset,
        .num_threads = data->threads ? (int)data->threads : liana_context_num_threads(run->context),
        .memory = part_memory(run, part),
        .augment = part->augment,
        .microbatch = train->microbatch,
        .sampler = part->sampler,
        .bad_records = data->on_bad_record == LIANA__ON_BAD_RECORD_SKIP ? &run->bad_records : NULL,
        .part = name_of(run, part),
    };
}

liana_status liana__run_start_loader(liana__run *run, liana__run_data *part, liana__error *error)
{
    if (part == &run->training) LIANA_TRY(check_steps(run, part, error));
    liana__loader_options options = loader_options(run, part);
    /* Without a trainer, to measure the input alone, batches are images and labels. */
    if (!run->core.trainer) return create_loader(run, part, &options, error);
    liana__share_loader(run->core.trainer, &part->workers, &options);
    LIANA_TRY(liana__run_match_part(run, part, error));
    LIANA_TRY(liana__batch_plan_make(run->core.trainer, &part->match, &part->plan, &options, error));
    if (part->match.has_image && part != &run->examples) return create_loader(run, part, &options, error);
    return liana__loader_create(part->source, &options, &part->loader, error);
}

liana_status liana__run_open_batches(liana__run *run, liana__run_data *part, liana__error *error)
{
    liana__wanted_component wanted[LIANA_MAX_COMPONENTS];
    const liana__source *source = part->source;
    liana__job_options *train = &run->config->job;
    size_t count = 0;
    if (part->loader) return LIANA_OK;
    if (!train->microbatch) train->microbatch = liana__default_microbatch(run->model, train->batch_size);
    if (!source->lacks_images) {
        wanted[count++] = (liana__wanted_component){.maker = LIANA__MAKE_IMAGE, .name = "image"};
    }
    if (source->has_labels) wanted[count++] = (liana__wanted_component){.maker = LIANA__MAKE_LABEL, .name = "label"};
    for (size_t i = 0; i < source->num_components && count < LIANA_MAX_COMPONENTS; i++) {
        const liana_component *component = &source->components[i];
        if (component->dtype == LIANA_STRING) continue;
        wanted[count++] = (liana__wanted_component){.maker = LIANA__MAKE_VALUES,
                                                    .name = component->name,
                                                    .dtype = (liana_dtype)component->dtype,
                                                    .shape = component->shape};
    }
    liana__loader_options options = loader_options(run, part);
    options.components = wanted;
    options.num_components = count;
    options.remainder = LIANA__REMAINDER_KEEP; /* data can be looked at that cannot be trained on like this */
    if (!count) return liana__fail(error, LIANA_INVALID_DATA, "the data have texts alone, and no numbers for a batch");
    return liana__loader_create(source, &options, &part->loader, error);
}

liana_status liana__run_start_loaders(liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__run_data *parts[] = {&run->training, &run->validation, &run->test};
    for (int i = 0; i < 3; i++) {
        if (!parts[i]->source) continue;
        LIANA_TRY(liana__run_start_loader(run, parts[i], error));
    }
    liana__run_note_caches(run, options);
    return LIANA_OK;
}

liana_status liana__run_prepare_steps(const liana__run *run, liana_learning_rate *schedule, liana__error *error)
{
    const liana__loader *loader = run->training.loader;
    const int64_t left = (int64_t)(liana__loader_epoch_length(loader, 0) % (uint64_t)run->config->job.batch_size);
    *schedule = run->core.learning_rate;
    schedule->steps_per_epoch = (int64_t)liana__loader_steps_per_epoch(loader, 0);
    schedule->total_steps = schedule->steps_per_epoch * run->config->job.epochs;
    return left ? liana__step_prepare(run->core.trainer->step, left, true, error) : LIANA_OK;
}

liana_status liana__run_visit_records(liana__run *run, liana__bad_records *bad_records, liana__batch_plan *plan,
                                      liana__loader **loader, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    const liana__run_data *part = &run->training;
    liana__loader_options options = {
        .image = decoding(run),
        .batch_size = run->config->job.batch_size,
        .num_epochs = 1,
        .remainder = LIANA__REMAINDER_KEEP,
        .seed = (uint64_t)run->config->job.seed,
        .num_classes = run->num_classes,
        .label_offset = data->label_offset,
        .num_threads = data->threads ? (int)data->threads : liana_context_num_threads(run->context),
        .memory = part_memory(run, NULL),
        .cache = liana__loader_cache(part->loader),
        .bad_records = bad_records,
    };
    LIANA_TRY(liana__batch_plan_make(run->core.trainer, &part->match, plan, &options, error));
    LIANA_TRY(liana__loader_create(part->source, &options, loader, error));
    return liana__loader_begin(*loader, 0, 0, error);
}

/* Without a cache of its own: the epochs' loader has one already, of the same memory. */
liana_status liana__run_open_examples(liana__run *run, liana__loader **loader, liana__error *error)
{
    liana__run_data *part = &run->examples;
    part->source = run->training.source;
    if (!part->loader) LIANA_TRY(liana__run_start_loader(run, part, error));
    *loader = part->loader;
    return LIANA_OK;
}

/* The names of a category have the numbers that they had in training. Data that are only measured do not tell them. */
static liana_status check_vocabularies(const liana__run *run, bool labelled, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    for (size_t i = 0; i < data->components.count; i++) {
        const liana__column *column = &data->components.items[i];
        if (!column->category || column->vocabulary.count) continue;
        if (!labelled && is_compared(data, column->name)) continue;
        char key[128];
        snprintf(key, sizeof key, "data.columns.%.100s", column->name);
        liana__place place = liana__config_place(run->config, key);
        return liana__fail_at(error, &place, key,
                              "the numbers that its names had in training are not known; list the names in that order: "
                              "{category: true, vocabulary: [first, second]}");
    }
    return LIANA_OK;
}

liana_status liana__run_open_data(liana__run *run, const liana__source_config *where, liana__run_data *data,
                                  liana__error *error)
{
    *data = (liana__run_data){0};
    if (!run->training.source) LIANA_TRY(check_vocabularies(run, false, error));
    const int64_t take = run->config->data.take;
    liana_status status = open_source(run, where, LABELS_IGNORED, take, &data->source, error);
    LIANA_TRY(liana__cluster_agree_status(liana__cluster_of(run->context), status, error));
    status = liana__run_agree_on_part(run, data->source, error);
    if (status == LIANA_OK) status = liana__run_start_loader(run, data, error);
    if (status != LIANA_OK) liana__run_close_data(data);
    return status;
}

/* ---- all of it ---- */

/* A part of the training data is used for validation instead. */
static liana_status split_training(liana__run *run, liana__error *error)
{
    const liana__config *config = run->config;
    const liana__split_options options = split_options(config);
    if (!options.validation) return LIANA_OK;
    liana__source *training, *validation;
    if (liana__source_split(run->training.source, &options, &training, &validation, error) != LIANA_OK) {
        return liana__fail_within(error, "data.validation_split");
    }
    run->training.source = training;
    run->validation.source = validation;
    return LIANA_OK;
}

liana_status liana__run_open_test(liana__run *run, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    if (run->test.source) return LIANA_OK;
    return open_source(run, &data->test, LABELS_IGNORED, data->take, &run->test.source, error);
}

/* Only the part that validates, without training. */
static liana_status open_validation_part(liana__run *run, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    LIANA_TRY(open_source(run, &data->train, LABELS_NEEDED, data->take, &run->training.source, error));
    LIANA_TRY(split_training(run, error));
    liana__run_close_data(&run->training);
    return LIANA_OK;
}

/* The parts that are labelled as the training data are. */
static liana_status open_others(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    bool has_validation = liana__config_has_source(&data->validation);
    if (options->validation && !options->training) LIANA_TRY(check_vocabularies(run, true, error));
    if (data->validation_split > 0 && options->validation && !options->training) {
        LIANA_TRY(open_validation_part(run, error));
    }
    if (has_validation && (options->training || options->validation)) {
        LIANA_TRY(open_source(run, &data->validation, LABELS_NEEDED, data->take, &run->validation.source, error));
    }
    return options->training && liana__config_has_source(&data->test) ? liana__run_open_test(run, error) : LIANA_OK;
}

static liana_status find_shapes(liana__run *run, const liana__source *source, const liana__run_options *options,
                                liana__error *error)
{
    const bool classes = !source || source->has_labels || source->class_names.count || run->config->data.num_classes;
    if (classes) LIANA_TRY(liana__run_find_classes(run, source, error));
    return find_image_shape(run, source, options, error);
}

/* Whether a list of layers names its own inputs. */
static bool begins_with_input(const liana__value *layers)
{
    const liana__value *first = layers && layers->kind == LIANA__VALUE_LIST && layers->count ? layers->items[0] : NULL;
    return first && first->kind == LIANA__VALUE_MAP && first->count == 1 && strcmp(first->keys[0], "InputLayer") == 0;
}

/* Whether the configuration says all that the model's shape depends on. A list of layers has its own last layer. */
static bool knows_shapes(const liana__config *config)
{
    const liana__data_config *data = &config->data;
    bool knows_classes = data->num_classes || data->class_names.count || config->model.layers || config->model.file;
    const bool says_inputs = config->model.file || begins_with_input(config->model.layers);
    return knows_classes && ((data->image_size[0] && data->channels) || says_inputs);
}

/* The shapes without training data to open for good. */
static liana_status look_for_shapes(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    if (knows_shapes(run->config)) {
        return data->image_size[0] ? find_shapes(run, NULL, options, error) : liana__run_find_classes(run, NULL, error);
    }
    const liana__source_config *where = liana__config_has_source(&data->train) ? &data->train : &data->validation;
    if (!liana__config_has_source(where)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "'%s' does not give the size of the images and the number of classes; set data.image_size, "
                           "data.channels and data.num_classes, or data.train",
                           run->config->file);
    }
    LIANA__SCOPED_BY(liana__source_close_scoped) liana__source *source = NULL;
    LIANA_TRY(open_source(run, where, LABELS_NEEDED, data->take, &source, error));
    return find_shapes(run, source, options, error);
}

static liana_status find_training_data(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    LIANA_TRY(open_source(run, &data->train, LABELS_NEEDED, data->take, &run->training.source, error));
    LIANA_TRY(split_training(run, error));
    LIANA_TRY(find_shapes(run, run->training.source, options, error));
    LIANA_TRY(liana__run_thin_classes(run, options, error));
    return find_augmentation(run, error);
}

static void note_data(const liana__run *run, const liana__run_options *options)
{
    char classes[48] = "", images[96] = "";
    const int64_t *shape = run->image_shape;
    if (run->num_classes) snprintf(classes, sizeof classes, "; %lld classes", (long long)run->num_classes);
    if (shape[0]) {
        snprintf(images, sizeof images, "; images %lldx%lldx%lld", (long long)shape[0], (long long)shape[1],
                 (long long)shape[2]);
    }
    liana__run_note(options, "%llu training, %llu validation, %llu test examples%s%s",
                    (unsigned long long)run->training.source->num_records,
                    run->validation.source ? (unsigned long long)run->validation.source->num_records : 0,
                    run->test.source ? (unsigned long long)run->test.source->num_records : 0, classes, images);
}

liana_status liana__run_find_data(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    run->class_names = data->class_names;
    bool has_validation = liana__config_has_source(&data->validation) || data->validation_split > 0;
    if (options->validation && !has_validation) {
        liana__place place = liana__config_place(run->config, "data.validation");
        return liana__fail_at(error, &place, "data.validation", "missing; expected labelled examples to evaluate on");
    }
    LIANA_TRY(options->training ? find_training_data(run, options, error) : look_for_shapes(run, options, error));
    LIANA_TRY(open_others(run, options, error));
    if (!options->training) return LIANA_OK;
    note_data(run, options);
    liana__twins twins;
    LIANA_TRY(liana__class_list_find_twins(&run->class_names, &twins, error));
    if (twins.one >= 0) liana__run_note(options, "%s", liana__twins_show(&run->class_names, &twins).text);
    LIANA_TRY(liana__run_find_balance(run, options, error));
    run->warnings = (liana__warnings){.training = &run->core,
                                      .notes = {options->on_note, options->user},
                                      .configured = true,
                                      .num_classes = run->num_classes,
                                      .class_names = run->class_names.items,
                                      .num_class_names = run->class_names.count,
                                      .label_offset = run->config->data.label_offset,
                                      .seen = run->warnings.seen,
                                      .knows_classes = run->warnings.knows_classes};
    return liana__warn_find_classes(&run->warnings, run->training.source, &run->arena, error);
}

/* ---- bytes or floats ----
 *
 * Resized pixels have fractions, as in Keras. Where no image is resized, bytes hold the same numbers in a quarter of
 * the memory. */

/* Looking at more than this takes longer than bytes save. */
enum { MOST_RECORDS = 1 << 18 };
static const uint64_t MOST_BYTES = UINT64_C(2) << 30;

static liana_status find_size(const liana_source_record *record, liana__image *image)
{
    *image = (liana__image){.height = record->height, .width = record->width};
    return record->bytes ? liana__image_probe(record->bytes, record->size, NULL, image, NULL) : LIANA_OK;
}

/* Whether images of this size are all that there are. Records that cannot be read are told when their turn comes. */
static bool is_of_size(const liana__source *source, const int64_t size[2])
{
    if (source->lacks_images) return true;
    if (source->streams || source->varies || source->num_records > MOST_RECORDS) return false;
    void *scratch = liana__source_scratch_create(source);
    bool same = scratch != NULL;
    uint64_t bytes = 0;
    for (uint64_t i = 0; same && i < source->num_records && bytes <= MOST_BYTES; i++) {
        liana_source_record record;
        liana__image image;
        if (liana__source_read(source, i, scratch, &record, NULL) != LIANA_OK) continue;
        bytes += record.bytes ? record.size : 0;
        if (find_size(&record, &image) != LIANA_OK) continue;
        same = image.height == size[0] && image.width == size[1];
        /* Pixels without a file, as in IDX files, are of one size. */
        if (record.pixels && !record.bytes) break;
    }
    liana__source_scratch_destroy(source, scratch);
    return same && bytes <= MOST_BYTES;
}

static bool needs_fractions(const liana__run *run)
{
    /* Augmentation works on bytes. */
    bool trains_on_bytes = !run->training.source || run->training.augment;
    if (!trains_on_bytes && !is_of_size(run->training.source, run->image_shape)) return true;
    if (run->validation.source && !is_of_size(run->validation.source, run->image_shape)) return true;
    return run->test.source && !is_of_size(run->test.source, run->image_shape);
}

void liana__run_find_fractions(liana__run *run, const liana__run_options *options)
{
    const liana__data_config *data = &run->config->data;
    if (!run->image_shape[0] && !data->image_size[0]) return;
    if (data->resize.round && run->config->is_older) {
        liana__run_tell(run, "resized pixels are rounded to whole numbers, as they were when this run began "
                             "(data.resize.round: true)");
    }
    /* Data of a run without training are opened later. */
    run->fractions = !data->resize.round && (!options->training || needs_fractions(run));
}
