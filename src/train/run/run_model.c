/* The model of a run. */
#include "train/run/run_internal.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "models/origin.h"
#include "models/preprocessing.h"
#include "remote/digest.h"
#include "train/checkpoint/keras_optimizer.h"
#include "train/checkpoint/named_weights.h"
#include "train/checkpoint/weights.h"
#include "train/model/model_file.h"
#include "train/model/model_objective.h"

#include <liana/layers/normalization.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sticky error of a model that is being built becomes the run's. */
static liana_status take_error(const liana__run *run, liana_status status, liana__error *error)
{
    if (status != LIANA_OK) *error = run->model->error;
    return status;
}

/* ---- how images enter ---- */

/* The input that takes images: the one that data.inputs says, else the first one [batch, height, width, channels] of
 * floats. The number of inputs: none does. */
static size_t image_input(const liana__run *run)
{
    const liana__component_map *named = &run->config->data.model_inputs;
    const size_t count = liana__model_num_inputs(run->model);
    for (size_t i = 0; i < count; i++) {
        liana__model_port port = liana__model_input(run->model, i);
        const char *component = named->count ? liana__component_for(named, port.name, count == 1) : NULL;
        const bool meant = component ? strcmp(component, "image") == 0 : port.dtype == LIANA_F32;
        if (meant && port.shape.rank == 4) return i;
    }
    return count;
}

/* The resolved configuration records the value that `auto` means. A value that is only assumed is told. */
static void find_scale(liana__run *run, const liana__architecture *architecture)
{
    int *configured = &run->config->data.scale;
    const size_t input = image_input(run);
    const bool is_given = *configured != LIANA_SCALE_AUTO, has_images = input < liana__model_num_inputs(run->model);
    const char *layer = liana__scaling_layer(run->model, input);
    if (!is_given && architecture) *configured = (int)liana__scale_of(run->model, input, architecture);
    if (*configured == LIANA_SCALE_AUTO) {
        *configured = layer ? LIANA_SCALE_NONE : LIANA_SCALE_ZERO_ONE;
        if (layer && has_images) {
            liana__run_tell(run, "pixels enter as 0 to 255 (data.scale: none), since the layer '%s' scales them",
                            layer);
        } else if (has_images) {
            const bool comes_trained = run->config->model.file || run->config->model.weights;
            liana__run_tell(run, "pixels are divided by 255 (data.scale: 0..1)%s",
                            comes_trained ? ", since nothing says how the model takes them; set data.scale if it was "
                                            "trained otherwise"
                                          : "");
        }
    }
    run->scale = (liana_scale)*configured;
}

/* ---- a model from a file ---- */

/* As its file says, unless the configuration says otherwise. */
static liana_status take_shapes(liana__run *run, liana__error *error)
{
    liana__data_config *data = &run->config->data;
    const size_t which = image_input(run);
    if (which == liana__model_num_inputs(run->model)) return LIANA_OK;
    const liana__model_port port = liana__model_input(run->model, which);
    liana_shape input = port.shape;
    for (int d = 1; d < 3; d++) {
        if (port.free >> d & 1) input.dims[d] = data->image_size[d - 1]; /* 0: the data will say it */
    }
    if (!data->image_size[0]) memcpy(data->image_size, &input.dims[1], sizeof data->image_size);
    if (!data->channels) data->channels = input.dims[3];
    bool same =
        data->image_size[0] == input.dims[1] && data->image_size[1] == input.dims[2] && data->channels == input.dims[3];
    if (same) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "%s: the model's images are %lldx%lldx%lld, but data.image_size and data.channels ask for "
                       "%lldx%lldx%lld; leave them out",
                       run->config->model.file, (long long)input.dims[1], (long long)input.dims[2],
                       (long long)input.dims[3], (long long)data->image_size[0], (long long)data->image_size[1],
                       (long long)data->channels);
}

/* The facts that liana_model_save writes. */
static liana_status take_preprocessing(liana__run *run, liana__error *error)
{
    liana__data_config *data = &run->config->data;
    const char *weights = run->config->model.weights;
    if (weights && liana__ends_with(weights, ".safetensors")) {
        const char *file = weights;
        LIANA_TRY(liana__remote_file(run->remote, weights, &run->arena, &file, error));
        LIANA_TRY(liana__preprocessing_read_file(run->model, file, error));
    }
    const liana_preprocessing *known = &run->model->preprocessing;
    if (data->scale == LIANA_SCALE_AUTO) data->scale = (int)known->scale;
    if (known->round && !liana__config_gives(run->config, "data.resize.round")) data->resize.round = true;
    if (known->antialias) data->resize.antialias = true;
    if (known->fast_decode) data->decode = LIANA__DECODE_FAST;
    if (!data->class_names.count) data->class_names = (liana__strings){known->num_class_names, known->class_names};
    return LIANA_OK;
}

/* Whether the configuration names an optimizer: the default one was written nowhere. */
static bool names_optimizer(const liana__run *run)
{
    const liana__value *optimizer = run->config->job.optimizer;
    bool written = optimizer && optimizer->place.file;
    for (size_t i = 0; optimizer && i < optimizer->count; i++) {
        written = written || optimizer->items[i]->place.file;
    }
    return written;
}

/* The compile settings of the file, unless the configuration has its own: as if it said them. */
static void take_settings(liana__run *run)
{
    liana__job_options *job = &run->config->job;
    const liana__value *objective = run->model->objective, *optimizer = run->model->optimizer;
    const bool has_loss = liana__config_gives(run->config, "train.loss") ||
                          liana__config_gives(run->config, "train.loss_weights") ||
                          liana__config_gives(run->config, "train.metrics");
    if (objective && !has_loss) {
        const liana__value *loss = liana__value_get(objective, "loss");
        const liana__value *weights = liana__value_get(objective, "loss_weights");
        const liana__value *metrics = liana__value_get(objective, "metrics");
        if (loss && loss->kind != LIANA__VALUE_NULL) job->loss = loss;
        if (weights && weights->kind != LIANA__VALUE_NULL) job->loss_weights = weights;
        if (metrics && metrics->kind != LIANA__VALUE_NULL) job->metrics = metrics;
    }
    if (optimizer && !names_optimizer(run)) job->optimizer = optimizer;
}

static liana_status read_file(liana__run *run, liana__error *error)
{
    const char *path;
    liana__model_config *config = &run->config->model;
    liana__model_file file;
    const liana__notes notes = {run->bad_records.on_note, run->bad_records.user};
    LIANA_TRY(liana__remote_file(run->remote, config->file, &run->arena, &path, error));
    LIANA_TRY(liana__model_file_open(path, &run->arena, &file, error));
    LIANA_TRY(liana_model_create(run->context, config->name, &run->model));
    LIANA_TRY(liana__model_file_fill(&file, run->model, &notes, error));
    take_settings(run);
    /* A warm start takes what fits from elsewhere. */
    const bool has_own = file.has_weights && run->model->num_weights;
    if (has_own && !config->weights && !config->warm_start.from) config->weights = config->file;
    run->num_backbone_layers = run->model->num_layers;
    LIANA_TRY(take_shapes(run, error));
    return take_preprocessing(run, error);
}

liana_status liana__run_read_model(liana__run *run, liana__error *error)
{
    if (!run->config->model.file) return LIANA_OK;
    liana_status status = read_file(run, error);
    if (status != LIANA_OK) liana__remote_fail_within(run->remote, error);
    return status;
}

/* The rate that the file keeps is a part of it. */
liana_status liana__run_read_state(liana__run *run, liana__error *error)
{
    const char *path;
    const liana__model_config *config = &run->config->model;
    const liana__value *optimizer = run->model ? run->model->optimizer : NULL;
    const bool has_weights = config->file && config->weights && strcmp(config->file, config->weights) == 0;
    if (!optimizer || !has_weights || config->warm_start.from || !config->optimizer_state) return LIANA_OK;
    const bool is_taken = run->config->job.optimizer == optimizer;
    LIANA_TRY(liana__remote_file(run->remote, config->file, &run->arena, &path, error));
    LIANA_TRY(liana__optimizer_state_create(run->model, optimizer, config->file, &run->state, error));
    LIANA_TRY(liana__keras_optimizer_open(path, &run->state, error));
    LIANA_TRY(liana__model_keep_optimizer(run->model, run->state.optimizer, error));
    if (is_taken) run->config->job.optimizer = run->model->optimizer;
    return LIANA_OK;
}

/* ---- a list of layers ---- */

/* After a base they are its head. */
static liana_status build_layers(liana__run *run, liana__error *error)
{
    liana_shape shape = run->image_shape[0]
                            ? liana_shape_of(run->image_shape[0], run->image_shape[1], run->image_shape[2])
                            : run->input_shape;
    liana_status status = liana__model_from_layers(run->model, run->config->model.layers, "model.layers", &shape);
    if (status == LIANA_OK) {
        status = liana__model_outputs_from(run->model, run->config->model.outputs, "model.outputs");
    }
    if (!run->config->model.base) run->num_backbone_layers = run->model->num_layers;
    return take_error(run, status, error);
}

/* ---- an architecture by name ---- */

static void set_if_known(const liana__architecture *architecture, liana__value *map, const char *key,
                         liana__value *value, liana__arena *arena)
{
    if (liana__fields_find(architecture->options, key)) liana__value_set(arena, map, key, value);
}

static bool is_near(const float *values, const float *expected)
{
    for (int i = 0; i < 3; i++) {
        if (!(values[i] > expected[i] - 1e-3f && values[i] < expected[i] + 1e-3f)) return false;
    }
    return true;
}

/* Whether weights are Keras's of ImageNet, or were trained from them: the variances of their Normalization are
 * ImageNet's deviations. A file that cannot be read is told when it is loaded. */
static bool are_imagenets(const char *path)
{
    static const float deviations[] = {0.229f, 0.224f, 0.225f};
    liana__weight_source source;
    if (liana__weight_source_open(path, NULL, 0, &source, NULL) != LIANA_OK) return false;
    bool found = false;
    for (size_t i = 0; !found && i < source.num_layers; i++) {
        const liana__source_layer *layer = &source.layers[i];
        for (size_t k = 0; !found && strncmp(layer->name, "normalization", 13) == 0 && k < layer->num_weights; k++) {
            const liana__source_weight *weight = &layer->weights[k];
            float values[3];
            /* Keras 3 numbers weights: mean, variance, count. */
            bool is_variance = strstr(weight->short_name, "variance") || strcmp(weight->short_name, "1") == 0;
            bool fits = is_variance && weight->rank == 1 && weight->shape[0] == 3;
            found = fits && liana__weight_source_read(&source, weight, values, NULL) == LIANA_OK &&
                    is_near(values, deviations);
        }
    }
    liana__weight_source_close(&source);
    return found;
}

/* The architecture's options, as far as the configuration has them. */
static liana__value *architecture_options(liana__run *run, const liana__architecture *architecture)
{
    const liana__model_config *config = &run->config->model;
    liana__arena *arena = &run->arena;
    liana__value *map = liana__value_map(arena), *shape = liana__value_list(arena);
    for (int i = 0; i < 3; i++) liana__value_add(arena, shape, liana__value_int(arena, run->image_shape[i]));
    set_if_known(architecture, map, "input_shape", shape, arena);
    set_if_known(architecture, map, "alpha", liana__value_float(arena, config->alpha), arena);
    set_if_known(architecture, map, "include_top", liana__value_bool(arena, config->include_top), arena);
    bool rescales = config->imagenet_rescaling == LIANA__IMAGENET_RESCALING_YES;
    set_if_known(architecture, map, "imagenet_rescaling", liana__value_bool(arena, rescales), arena);
    if (config->include_top) {
        set_if_known(architecture, map, "classes", liana__value_int(arena, run->num_classes), arena);
        if (config->dropout != 0) liana__value_set(arena, map, "dropout", liana__value_float(arena, config->dropout));
    }
    static const char *const poolings[] = {[LIANA__POOLING_AVG] = "avg", [LIANA__POOLING_MAX] = "max"};
    const char *pooling = config->layers && config->pooling >= LIANA__POOLING_AVG ? poolings[config->pooling] : "none";
    set_if_known(architecture, map, "pooling", liana__value_string(arena, pooling), arena);
    const liana__value *others = config->base_options;
    for (size_t i = 0; others && i < others->count; i++) {
        liana__value_set(arena, map, others->keys[i], others->items[i]);
    }
    if (map) map->place = liana__config_place(run->config, "model");
    return map;
}

/* What weights by a name are to be for. A base is asked before it is built. */
static liana_status find_wanted(liana__run *run, liana__weights_wanted *wanted, liana__error *error)
{
    const liana__model_config *config = &run->config->model;
    size_t num_layers;
    liana__model_origin origin;
    if (!config->base) return liana__named_weights_of(run->model, config->weights, wanted, &num_layers, error);
    const liana__architecture *architecture = liana__architecture_find(config->base, NULL);
    const liana__value *options = architecture_options(run, architecture);
    if (run->arena.failed) return liana__fail_memory(error, "the model");
    LIANA_TRY(liana__model_origin_of(architecture, options, "model", &run->arena, &origin, error));
    *wanted = liana__named_weights_for(config->weights, &origin);
    return LIANA_OK;
}

/* The file of a name, or NULL where there is no name. What does not fit is refused before anything is fetched, also
 * where weights come from a checkpoint. */
static liana_status choose_named(liana__run *run, const liana__known_file **file, liana__error *error)
{
    const char *name = run->config->model.weights, *note;
    liana__weights_wanted wanted;
    *file = NULL;
    if (!name || !liana__weights_are_named(name, name)) return LIANA_OK;
    liana__error own = {0};
    liana_status status = find_wanted(run, &wanted, &own);
    if (status == LIANA_OK) status = liana__weights_choose(&wanted, &run->arena, file, &note, &own);
    if (status == LIANA_OK || status == LIANA_OUT_OF_MEMORY) return status;
    const liana__place place = liana__config_place(run->config, "model.weights");
    return liana__fail_at(error, &place, "model.weights", "%s", own.message);
}

/* The file of a name is the same in every run of one configuration: its hash is recorded, and compared. */
static liana_status meet_hash(liana__run *run, liana__error *error)
{
    liana__digest_text found;
    liana__model_config *config = &run->config->model;
    const char *expected = config->weights_sha256;
    const liana_status status = liana__digest_file(run->weights_file, LIANA__DIGEST_SHA256, &found, error);
    /* Without libcrypto nothing is recorded. */
    if (status == LIANA_UNIMPLEMENTED && !expected) return LIANA_OK;
    LIANA_TRY(status);
    if (!expected) config->weights_sha256 = liana__arena_string(&run->arena, found.text);
    if (!config->weights_sha256) return liana__fail_memory(error, run->weights_file);
    if (strcmp(config->weights_sha256, found.text) == 0) return LIANA_OK;
    const liana__place place = liana__config_place(run->config, "model.weights_sha256");
    return liana__fail_at(error, &place, "model.weights_sha256",
                          "found %s, but '%s' has %s: the weights '%s' are others than they were; remove this key to "
                          "take them",
                          expected, run->weights_file, found.text, config->weights);
}

/* The local file of model.weights. */
static liana_status find_weights(liana__run *run, liana__error *error)
{
    const char *weights = run->config->model.weights;
    if (run->weights_file) return LIANA_OK;
    if (!liana__weights_are_named(weights, weights)) {
        const char *nearest = liana__weights_nearest(liana__path_name(weights));
        const bool is_there = liana__path_is_remote(weights) || liana__file_exists(weights) ||
                              liana__tf_checkpoint_find(weights, &run->arena);
        const liana__place place = liana__config_place(run->config, "model.weights");
        if (nearest && !is_there) {
            return liana__fail_at(error, &place, "model.weights", "there is no file '%s'; did you mean '%s'?", weights,
                                  nearest);
        }
        return liana__remote_file(run->remote, weights, &run->arena, &run->weights_file, error);
    }
    const liana__notes notes = {run->bad_records.on_note, run->bad_records.user};
    liana__weights_wanted wanted;
    LIANA_TRY(find_wanted(run, &wanted, error));
    LIANA_TRY(
        liana__named_weights_fetch(&wanted, run->remote, run->context, &notes, &run->arena, &run->weights_file, error));
    return meet_hash(run, error);
}

/* The resolved configuration records the choice of `auto`. A name says all, so that nothing is fetched to know. */
static liana_status find_rescaling(liana__run *run, const liana__architecture *architecture,
                                   const liana__known_file *named, liana__error *error)
{
    liana__model_config *config = &run->config->model;
    if (config->imagenet_rescaling != LIANA__IMAGENET_RESCALING_AUTO) return LIANA_OK;
    bool is_there = named && strcmp(named->set, "imagenet") == 0;
    if (!named && config->weights && liana__fields_find(architecture->options, "imagenet_rescaling")) {
        LIANA_TRY(find_weights(run, error));
        is_there = are_imagenets(run->weights_file);
    }
    config->imagenet_rescaling = is_there ? LIANA__IMAGENET_RESCALING_YES : LIANA__IMAGENET_RESCALING_NO;
    return LIANA_OK;
}

static liana_status build_architecture(liana__run *run, liana__error *error)
{
    const liana__model_config *config = &run->config->model;
    liana__place place = liana__config_place(run->config, "model.base");
    const liana__architecture *architecture;
    LIANA_TRY(liana__config_find_base(config->base, &place, &architecture, error));
    if (config->alpha != 1 && !liana__fields_find(architecture->options, "alpha")) {
        place = liana__config_place(run->config, "model.alpha");
        return liana__fail_at(error, &place, "model.alpha", "found %g, but %s has no width multiplier; remove this key",
                              config->alpha, architecture->name);
    }
    const liana__known_file *named;
    LIANA_TRY(choose_named(run, &named, error));
    LIANA_TRY(find_rescaling(run, architecture, named, error));
    liana_location here = {place.file, place.line};
    const liana__value *options = architecture_options(run, architecture);
    if (run->arena.failed) return liana__fail_memory(error, "the model");
    liana_status status = liana__architecture_add(run->model, here, architecture, options, "model");
    run->num_backbone_layers = run->model->num_layers;
    if (status == LIANA_OK && !config->trainable) {
        liana__model_set_trainable(run->model, 0, run->num_backbone_layers, false);
    }
    if (status == LIANA_OK && !config->training) {
        liana__model_set_inference(run->model, 0, run->num_backbone_layers, true);
    }
    if (status == LIANA_OK && config->layers) return build_layers(run, error);
    if (status == LIANA_OK && !config->include_top) {
        liana_pooling pooling = config->pooling == LIANA__POOLING_MAX ? LIANA_POOLING_MAX : LIANA_POOLING_AVG;
        liana__head_add(run->model, here, config->dropout, pooling, run->num_classes);
        status = liana_model_status(run->model);
    }
    return take_error(run, status, error);
}

/* ---- both ---- */

/* One value tells two classes apart: a sigmoid's, compared with the label. */
static liana_status fail_one_value(const liana__run *run, liana__error *error)
{
    const liana__strings *names = &run->class_names;
    char meaning[160] = "";
    if (names->count == 2) {
        snprintf(meaning, sizeof meaning, " (0 is '%.50s', 1 is '%.50s')", names->items[0], names->items[1]);
    }
    if (run->num_classes == 2) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the model's last layer gives 1 value, but the data have 2 classes: for one sigmoid set "
                           "data.targets: label, which compares it with the label%s, and train.loss: "
                           "binary_crossentropy; or end the model in 2 values with activation: softmax",
                           meaning);
    }
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "the model's last layer gives 1 value, but the data have %lld classes; end it in %lld values with "
        "activation: softmax",
        (long long)run->num_classes, (long long)run->num_classes);
}

static liana_status check_classes(const liana__run *run, liana__error *error)
{
    liana_shape output = liana__model_output_shape(run->model);
    int64_t found = output.rank ? output.dims[output.rank - 1] : 0;
    if (output.rank != 2 || !run->num_classes || found == run->num_classes) return LIANA_OK;
    /* With other targets the output is of something else. */
    if (run->config->data.model_targets.count || liana__model_num_outputs(run->model) > 1) return LIANA_OK;
    if (found == 1) return fail_one_value(run, error);
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the model's last layer gives %lld classes, but the data have %lld; make them equal",
                       (long long)found, (long long)run->num_classes);
}

/* The architecture whose preprocessing is the model's; NULL: it is not known. */
static const liana__architecture *find_architecture(const liana__run *run)
{
    const liana__model_config *config = &run->config->model;
    liana__model_origin origin;
    if (config->base) return liana__architecture_find(config->base, NULL);
    if (!config->weights || !liana__weights_are_named(config->weights, config->weights)) return NULL;
    return liana__model_find_origin(run->model, &origin) ? liana__architecture_find(origin.architecture, NULL) : NULL;
}

liana_status liana__run_build_model(liana__run *run, liana__error *error)
{
    const liana__model_config *config = &run->config->model;
    if (!config->file) {
        LIANA_TRY(liana_model_create(run->context, config->name, &run->model));
        LIANA_TRY(config->base ? build_architecture(run, error) : build_layers(run, error));
    }
    const liana__known_file *named;
    if (!config->base) LIANA_TRY(choose_named(run, &named, error));
    find_scale(run, find_architecture(run));
    if (config->trainable_from) LIANA_TRY(liana__model_train_from(run->model, config->trainable_from, error));
    bool momentum_given = config->batch_norm_momentum == config->batch_norm_momentum;
    if (momentum_given) LIANA_TRY(liana_model_set_batch_norm_momentum(run->model, config->batch_norm_momentum));
    return check_classes(run, error);
}

/* ---- weights from a file ---- */

/* Fills the values, in place of those that the variables hold. */
typedef liana_status (*value_reader)(liana__run *run, float *const *values, void *found, liana__error *error);

static liana_status change_values(liana__run *run, value_reader read, void *found, liana__error *error)
{
    float **values;
    liana_status status = liana__training_read_weights(&run->core, &values, error);
    if (status == LIANA_OK) status = read(run, values, found, error);
    if (status != LIANA_OK) liana__remote_fail_within(run->remote, error);
    if (status == LIANA_OK) status = liana__training_write_weights(&run->core, values, error);
    liana__training_free_weights(&run->core, values);
    return status;
}

static liana_status read_weights(liana__run *run, float *const *values, void *found, liana__error *error)
{
    LIANA_TRY(find_weights(run, error));
    size_t required = run->config->model.partial_weights ? 0 : run->num_backbone_layers;
    return liana__weights_load(run->model, run->weights_file, required, values, &run->arena, found, error);
}

liana_status liana__run_load_weights(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const char *path = run->config->model.weights;
    if (!path) return LIANA_OK;
    liana__weights_report report = {0};
    LIANA_TRY(change_values(run, read_weights, &report, error));
    if (options) {
        liana__run_note(options,
                        "loaded %zu weights of %zu layers from '%s'; layers with weights that are not in it: %zu",
                        report.num_weights, report.num_layers, liana__path_shown(&run->arena, path),
                        report.missing.count);
        if (report.note) liana__run_note(options, "'%s': %s", liana__path_shown(&run->arena, path), report.note);
    }
    return LIANA_OK;
}

static liana_status read_warm(liana__run *run, float *const *values, void *found, liana__error *error)
{
    static const char *const where = "model.warm_start";
    const liana__place place = liana__config_place(run->config, where);
    return liana__warm_start_read(run->model, &run->config->model.warm_start, where, &place, run->remote, values,
                                  &run->arena, found, error);
}

liana_status liana__run_warm_start(liana__run *run, const liana__run_options *options, liana__error *error)
{
    if (!run->config->model.warm_start.from) return LIANA_OK;
    liana__warm_result result;
    LIANA_TRY(change_values(run, read_warm, &result, error));
    run->warm_listing = result.listing;
    liana__run_note(
        options,
        "warm start from '%s': %zu weights matched, %zu skipped, %zu of the file not used (all of them are in "
        "warm_start.csv)",
        liana__path_shown(&run->arena, liana__remote_name(result.file)), result.num_matched, result.num_skipped,
        result.num_unused);
    if (result.note) {
        liana__run_note(options, "'%s': %s", liana__path_shown(&run->arena, liana__remote_name(result.file)),
                        result.note);
    }
    return LIANA_OK;
}

/* ---- a run that goes on ---- */

static void take_variance(liana_model *model, const liana__layer *from)
{
    const liana_batch_normalization_options *old = from->options;
    if (from->type != &liana__layer_batch_normalization || old->population_variance) return;
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        if (layer->type != from->type || strcmp(layer->name, from->name) != 0) continue;
        ((liana_batch_normalization_options *)layer->options)->population_variance = false;
    }
}

liana_status liana__run_keep_variances(liana__run *run, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__error own = {0}; /* a file that is not there or not whole says nothing */
    liana__value *architecture;
    liana_model *before = NULL;
    const char *path = liana__path_join(&arena, run->folder, "model.json");
    if (!path) return liana__fail_memory(error, "the model");
    if (!liana__file_exists(path) || liana__json_read(path, &arena, &architecture, &own) != LIANA_OK) return LIANA_OK;
    if (liana_model_create(run->context, "before", &before) != LIANA_OK) return liana__fail_memory(error, "the model");
    if (liana__model_from_keras(before, architecture) == LIANA_OK) {
        for (size_t i = 0; i < before->num_layers; i++) take_variance(run->model, &before->layers[i]);
    }
    liana_model_destroy(before);
    return LIANA_OK;
}
