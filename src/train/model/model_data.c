/* Datasets as a model reads them. */
#include "train/model/model_data.h"
#include "data/dataset/dataset_source.h"
#include "data/source/part.h"
#include "formats/yaml.h"
#include "ir/shape.h"
#include "models/preprocessing.h"
#include "train/model/model_objective.h"
#include "train/objective/shared_loader.h"

#include <string.h>

size_t liana__model_data_bytes(int64_t mebibytes)
{
    return (size_t)(mebibytes ? mebibytes : LIANA__DEFAULT_DATA_MEMORY) << 20;
}

/* ---- preprocessing ---- */

static liana_status check_scale(const liana_dataset *data, liana_scale expected, const char *what, liana__error *error)
{
    liana_scale found = data->scale;
    if (found == LIANA_SCALE_AUTO || found == expected || (unsigned)found >= LIANA__NUM_SCALES) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the data are opened with the scale '%s', but %s '%s'; open both alike, or the data with "
                       "LIANA_SCALE_AUTO",
                       liana__scale_names[found], what, liana__scale_names[expected]);
}

liana_status liana__model_data_find_preprocessing(liana__model_data *own, const liana_dataset *data, bool training,
                                                  liana__error *error)
{
    const liana_preprocessing *known = &own->model->preprocessing;
    bool is_known = known->scale != LIANA_SCALE_AUTO;
    if (is_known && !training) LIANA_TRY(check_scale(data, known->scale, "the model's images have", error));
    own->assumes_scale = !data->scale && !is_known;
    own->scale = data->scale ? data->scale : is_known ? known->scale : liana__scale_assumed(own->model);
    own->antialias = data->antialias || known->antialias;
    own->round = known->round;
    own->fast_decode = known->fast_decode;
    return LIANA_OK;
}

liana_status liana__model_data_learn(const liana__model_data *own, const liana_dataset *data, int64_t num_classes,
                                     liana__error *error)
{
    liana_model *model = own->model;
    liana_preprocessing learnt = model->preprocessing;
    liana__strings names;
    learnt.scale = own->scale;
    learnt.antialias = own->antialias;
    bool known = liana__classes_of(data, &names);
    if (known && names.count && (int64_t)names.count != num_classes) known = false;
    if (known) {
        learnt.class_names = names.items;
        learnt.num_class_names = names.count;
    }
    return liana__preprocessing_set(model, &learnt, known || model->knows_classes, error);
}

/* ---- opening, reading and closing ---- */

/* Datasets own their files, so a view of one closes none; parts of a divided one are closed here. */
static void close_part(liana__model_data *own, liana__data_part *data)
{
    liana__loader_destroy(data->loader);
    if (!own->whole) {
        liana__dataset_close_view(data->source);
    } else if (data->source) {
        liana__source_close(data->source);
    }
}

void liana__model_data_close(liana__model_data *own)
{
    liana__loader_destroy(own->examples.loader);
    close_part(own, &own->fitted);
    close_part(own, &own->measured);
    liana__dataset_close_view(own->whole);
    liana__augment_destroy(own->augment);
    liana__bad_records_free(&own->bad_records);
    liana__arena_free(&own->arena);
}

/* Bytes that a part of the data may take, without a cache. */
static size_t part_bytes(const liana__model_data *own, const liana__data_part *data)
{
    if (!own->fitted.source) return own->bytes;
    return data == &own->fitted ? own->bytes / 2 : own->bytes / 4;
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

/* Whether pixels of the data need floats: images of files may be of any size, and resized ones have fractions. */
static bool needs_fractions(const liana__model_data *own, const liana_dataset *data)
{
    if (own->round || !data || !has_images(own->model, data)) return false;
    const liana_component *image = &data->spec.components[liana__spec_find(&data->spec, "image")];
    const liana_shape input = liana__model_input(own->model, liana__image_input(own->model)).shape;
    return image->dtype == LIANA_STRING || image->shape.rank != 3 || image->shape.dims[0] != input.dims[1] ||
           image->shape.dims[1] != input.dims[2];
}

static liana_status open_view(const liana__model_data *own, const liana_dataset *data, const liana_fit_options *fit,
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

static liana_status find_match(const liana__model_data *own, const liana__source *source, const liana_binding *inputs,
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
static liana_status find_image(const liana__model_data *own, const liana_dataset *data, liana__decode_options *image,
                               liana__error *error)
{
    liana__model_port port = {0};
    for (size_t i = 0; i < liana__model_num_inputs(own->model) && port.shape.rank != 4; i++) {
        port = liana__model_input(own->model, i);
    }
    const liana_shape input = port.shape;
    if (port.free && !own->model->has_chosen_sizes) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the model's input '%s' takes images of any size, and those of the data may differ; choose "
                           "one with liana_model_set_input_shape, or data.image_size in a configuration",
                           port.name);
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

/* Makes the loader of a dataset. `fit`: NULL to measure only. */
static liana_status start_loader(liana__model_data *own, const liana_dataset *data, const liana_fit_options *fit,
                                 const liana__data_match *match, const liana__trainer *trainer,
                                 liana__data_part *opened, liana__error *error)
{
    liana__loader_options options = {.batch_size = fit ? own->batch_size : own->evaluation_batch_size,
                                     .seed = own->seed,
                                     .num_classes = liana__trainer_num_classes(trainer),
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
    LIANA_TRY(liana__batch_plan_make(trainer, match, &opened->plan, &options, error));
    liana__share_loader(trainer, &own->workers, &options);
    options.augment = fit ? own->augment : NULL;
    options.microbatch = liana__trainer_microbatch(trainer);
    return liana__loader_create(opened->source, &options, &opened->loader, error);
}

/* ---- fitting ---- */

/* Reads liana_fit_options.augment. */
static liana_status find_augmentation(liana__model_data *own, const char *text, liana__error *error)
{
    liana__value *list;
    liana_shape input = liana__model_input_shape(own->model);
    liana_image_shape shape = {input.dims[1], input.dims[2], (int)input.dims[3]};
    if (!text) return LIANA_OK;
    if (input.rank != 4) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "augment changes images, but the model's input '%s' is %s; remove it",
                           liana__model_input(own->model, 0).name, liana__shape_print(&input).text);
    }
    LIANA_TRY(liana__yaml_parse(text, strlen(text), "augment", &own->arena, &list, error));
    return liana__augment_create(own->model->context, list, "augment", &shape, &own->augment, error);
}

/* Divides the training data, before they are read. */
static liana_status split_data(liana__model_data *own, const liana_fit_options *options, liana__error *error)
{
    liana__split_options split = {.validation = options->validation_split,
                                  .seed = options->seed,
                                  .label_offset = options->training->label_offset};
    if (!split.validation) return LIANA_OK;
    LIANA_TRY(open_view(own, options->training, options, &own->whole, error));
    return liana__source_split(own->whole, &split, &own->fitted.source, &own->measured.source, error);
}

liana_status liana__model_data_open_fit(liana__model_data *own, const liana_fit_options *options, liana__error *error)
{
    /* Augmented images are bytes again. */
    bool augmented = options->augment && !options->validation_split;
    own->fractions =
        (!augmented && needs_fractions(own, options->training)) || needs_fractions(own, options->validation);
    LIANA_TRY(find_augmentation(own, options->augment, error));
    LIANA_TRY(split_data(own, options, error));
    if (!own->fitted.source) LIANA_TRY(open_view(own, options->training, options, &own->fitted.source, error));
    LIANA_TRY(find_match(own, own->fitted.source, options->inputs, options->targets, options->example_weight, true,
                         &own->match, error));
    return liana__data_match_take_sizes(own->model, &own->match, error);
}

liana_status liana__model_data_start_fit(liana__model_data *own, const liana_fit_options *options,
                                         const liana__trainer *trainer, liana__error *error)
{
    own->skips_bad_records = options->skip_bad_records;
    own->bad_records.most = options->max_bad_records;
    own->bad_records.on_note = options->on_bad_record;
    own->bad_records.user = options->user;
    LIANA_TRY(start_loader(own, options->training, options, &own->match, trainer, &own->fitted, error));
    if (own->whole) return start_loader(own, options->training, NULL, &own->match, trainer, &own->measured, error);
    if (!options->validation) return LIANA_OK;
    LIANA_TRY(check_scale(options->validation, own->scale, "the training data have", error));
    liana__data_match match;
    LIANA_TRY(open_view(own, options->validation, NULL, &own->measured.source, error));
    LIANA_TRY(find_match(own, own->measured.source, options->inputs, options->targets, options->example_weight, true,
                         &match, error));
    return start_loader(own, options->validation, NULL, &match, trainer, &own->measured, error);
}

/* ---- measuring ---- */

/* Predictions are compared with nothing, even if the data have targets. */
static void forget_targets(liana__data_match *match)
{
    memset(match->targets, 0, sizeof match->targets);
    match->has_label = false;
}

liana_status liana__model_data_start_examples(liana__model_data *own, const liana_dataset *data,
                                              const liana__trainer *trainer, liana__loader **loader,
                                              liana__error *error)
{
    liana__data_part *part = &own->examples;
    part->source = own->fitted.source;
    if (!part->loader) LIANA_TRY(start_loader(own, data, NULL, &own->match, trainer, part, error));
    *loader = part->loader;
    return LIANA_OK;
}

liana_status liana__model_data_open_measured(liana__model_data *own, const liana_dataset *data,
                                             const liana_evaluate_options *options, bool wants_targets,
                                             liana__error *error)
{
    own->fractions = needs_fractions(own, data);
    LIANA_TRY(open_view(own, data, NULL, &own->measured.source, error));
    LIANA_TRY(find_match(own, own->measured.source, options->inputs, options->targets, options->example_weight,
                         wants_targets, &own->match, error));
    if (!wants_targets) forget_targets(&own->match);
    return liana__data_match_take_sizes(own->model, &own->match, error);
}

liana_status liana__model_data_start_measured(liana__model_data *own, const liana_dataset *data,
                                              const liana__trainer *trainer, liana__error *error)
{
    return start_loader(own, data, NULL, &own->match, trainer, &own->measured, error);
}
