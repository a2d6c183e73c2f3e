/* Loads a model's weights from a file by layer name. */
#include "train/checkpoint/weights.h"

#include "base/format.h"
#include "base/scoped.h"
#include "ir/shape.h"
#include "remote/remote.h"
#include "train/checkpoint/keras_optimizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 4 }; /* layers that one message names */

/* The errors of all layers, for one message. */
typedef struct faults {
    liana__text missing;
    size_t num_missing;
    liana__text different;
    size_t num_different;
    size_t num_expected; /* layers that the file has to have */
} faults;

static void faults_free(faults *found)
{
    liana__text_free(&found->missing);
    liana__text_free(&found->different);
}

static void add_missing(faults *found, const liana__weight_source *source, const char *name)
{
    if (found->num_missing++ >= MOST_NAMED) return;
    liana__nearest_search search = liana__nearest_begin(name);
    for (size_t i = 0; i < source->num_layers; i++) liana__nearest_add(&search, source->layers[i].name);
    liana__text_add(&found->missing, "%s%s", found->missing.length ? ", " : "", name);
    if (search.nearest) liana__text_add(&found->missing, " (the nearest there is '%s')", search.nearest);
}

static void add_different(faults *found, const char *name, const char *format, ...) LIANA__PRINTF(3, 4);
static void add_different(faults *found, const char *name, const char *format, ...)
{
    if (found->num_different++ >= MOST_NAMED) return;
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(message, sizeof message, format, arguments);
    va_end(arguments);
    liana__text_add(&found->different, "%slayer '%s' %s", found->different.length ? "; " : "", name, message);
}

static bool same_shape(const liana__source_weight *weight, const liana_shape *shape)
{
    if (weight->rank != shape->rank) return false;
    for (int i = 0; i < shape->rank; i++) {
        if (weight->shape[i] != shape->dims[i]) return false;
    }
    return true;
}

static liana__shape_text print_source_shape(const liana__source_weight *weight)
{
    liana_shape shape = {.rank = weight->rank};
    for (int i = 0; i < weight->rank; i++) shape.dims[i] = weight->shape[i];
    return liana__shape_print(&shape);
}

/* The file's weight that belongs to the model's weight `index` of a layer: by order, or by name. */
static const liana__source_weight *match_weight(const liana__weight_source *source, const liana__source_layer *layer,
                                                const liana__weight *weight, size_t index)
{
    if (!source->by_name) return liana__source_weight_at(layer, weight, index);
    for (size_t i = 0; i < layer->num_weights; i++) {
        if (strcmp(layer->weights[i].short_name, weight->short_name) == 0) return &layer->weights[i];
    }
    return NULL;
}

/* How to make the kernel of a first layer fit: it has as many channels as the images. */
static const char *channels_hint(const liana_model *model, const liana__layer *layer, const liana__source_weight *found,
                                 const liana__weight *weight, char *hint, size_t size)
{
    liana_shape images = liana__model_input_shape(model);
    int axis = found->rank - 2;
    size_t node = 0;
    while (&model->layers[model->nodes[node].layer] != layer) node++;
    /* Padding and rescaling keep the channels. */
    do {
        node = model->nodes[node].num_inputs == 1 ? model->nodes[node].inputs[0] : LIANA__NONE;
    } while (node != LIANA__NONE && !model->layers[model->nodes[node].layer].num_weights &&
             model->nodes[node].num_inputs == 1);
    *hint = 0;
    if (node != model->inputs[0] || images.rank != 4 || found->rank != 4 || weight->shape.rank != 4) return hint;
    int64_t theirs = found->shape[axis], ours = weight->shape.dims[axis];
    if (theirs == ours || ours != images.dims[3] || (theirs != 1 && theirs != 3)) return hint;
    snprintf(hint, size, " (they are for images with %lld channels: set data.channels: %lld)", (long long)theirs,
             (long long)theirs);
    return hint;
}

static bool layer_fits(const liana_model *model, const liana__layer *layer, const liana__weight_source *source,
                       const liana__source_layer *found, faults *all)
{
    const size_t expected = liana__layer_num_saved(model, layer, layer->num_weights);
    if (!source->by_name && found->num_weights != expected) {
        add_different(all, layer->name, "has %zu weights in the file, %zu in the model", found->num_weights, expected);
        return false;
    }
    for (size_t i = 0; i < layer->num_weights; i++) {
        const liana__weight *weight = &model->weights[layer->first_weight + i];
        if (weight->is_state) continue;
        const size_t place = liana__layer_num_saved(model, layer, i);
        const liana__source_weight *candidate = match_weight(source, found, weight, place);
        if (!candidate) {
            add_different(all, layer->name, "has no '%s' in the file", weight->short_name);
            return false;
        }
        if (same_shape(candidate, &weight->shape)) continue;
        char hint[96];
        add_different(all, layer->name, "has %s %s in the file, %s in the model%s", weight->short_name,
                      print_source_shape(candidate).text, liana__shape_print(&weight->shape).text,
                      channels_hint(model, layer, candidate, weight, hint, sizeof hint));
        return false;
    }
    return true;
}

static bool has_type(const liana_model *model, size_t layer, const char *name)
{
    return strcmp(model->layers[layer].type->part.name, name) == 0;
}

/* The images that a Flatten before this layer makes rows of, or NULL. Layers between the two keep the order. */
static const liana_shape *find_flattened(const liana_model *model, size_t layer)
{
    const liana__layer_node *node = model->nodes;
    while (node->layer != layer) node++;
    while (node->num_inputs == 1) {
        node = &model->nodes[node->inputs[0]];
        const bool keeps_order =
            !model->layers[node->layer].num_weights || has_type(model, node->layer, "BatchNormalization");
        if (has_type(model, node->layer, "Flatten")) return &model->nodes[node->inputs[0]].shape;
        if (!keeps_order || node->shape.rank != 2) return NULL;
    }
    return NULL;
}

/* PyTorch flattens [channels, height, width], Keras [height, width, channels]: the rows of what reads the values are in
 * another order. */
static liana_status reorder_flattened(const liana_model *model, const liana__weight *weight, float *values,
                                      liana__error *error)
{
    const bool is_kernel = weight->shape.rank == 2 && strcmp(weight->short_name, "kernel") == 0;
    if (!is_kernel && !has_type(model, weight->layer, "BatchNormalization")) return LIANA_OK;
    const liana_shape *images = find_flattened(model, weight->layer);
    if (!images || images->rank < 3) return LIANA_OK;
    const int64_t channels = images->dims[images->rank - 1], rows = weight->shape.dims[0];
    const int64_t places = channels ? liana_shape_size(images) / channels : 0;
    if (channels < 2 || places < 2 || rows != channels * places) return LIANA_OK;
    const size_t count = (size_t)liana_shape_size(&weight->shape), row = count / (size_t)rows;
    LIANA__SCOPED_MEMORY float *own = malloc((count + 1) * sizeof *own);
    if (!own) return liana__fail_memory(error, weight->name);
    memcpy(own, values, count * sizeof *own);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t from = i % channels * places + i / channels;
        memcpy(values + (size_t)i * row, own + (size_t)from * row, row * sizeof *own);
    }
    return LIANA_OK;
}

/* The mean and deviation of a network without its own are for a Normalization alone. */
static liana_status check_scale(const liana__weight_source *source, const liana__source_weight *from,
                                const liana_model *model, liana__error *error)
{
    size_t count = 0;
    for (size_t i = 0; from->values && i < model->num_layers; i++) count += has_type(model, i, "Rescaling");
    if (count < 2) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "%s: the model has a second Rescaling (imagenet_rescaling: yes), which is for Keras's own ImageNet "
        "weights; for those of timm and of the package efficientnet set imagenet_rescaling: no",
        source->path);
}

liana_status liana__weights_read_one(const liana__weight_source *source, const liana__source_weight *from,
                                     const liana_model *model, const liana__weight *weight, float *values,
                                     liana__error *error)
{
    LIANA_TRY(check_scale(source, from, model, error));
    LIANA_TRY(liana__weight_source_read(source, from, values, error));
    if (source->has_modules) LIANA_TRY(reorder_flattened(model, weight, values, error));
    int64_t count = liana_shape_size(&weight->shape);
    for (int64_t i = 0; i < count; i++) {
        if (isfinite(values[i])) continue;
        return liana__fail(error, LIANA_INVALID_DATA,
                           "%s: the weight '%s' has %s at element %lld, expected finite numbers", source->path,
                           weight->name, isnan(values[i]) ? "NaN" : "an infinity", (long long)i);
    }
    return LIANA_OK;
}

static liana_status read_layer(const liana_model *model, const liana__layer *layer, const liana__weight_source *source,
                               const liana__source_layer *found, float *const *values, liana__error *error)
{
    for (size_t i = 0; i < layer->num_weights; i++) {
        size_t index = layer->first_weight + i;
        const liana__weight *weight = &model->weights[index];
        if (weight->is_state) continue;
        const size_t place = liana__layer_num_saved(model, layer, i);
        const liana__source_weight *from = match_weight(source, found, weight, place);
        LIANA_TRY(liana__weights_read_one(source, from, model, weight, values[index], error));
    }
    return LIANA_OK;
}

static void add_rest(liana__text *text, size_t count)
{
    if (count > MOST_NAMED) liana__text_add(text, " and %zu more", count - MOST_NAMED);
}

static liana_status fail_faults(const liana__weight_source *source, const liana_model *model, const faults *found,
                                liana__error *error)
{
    LIANA__SCOPED(liana__text) text = {0};
    if (found->num_missing) {
        liana__text_add(&text, "%zu of the model's %zu layers with weights are not in the file: %s", found->num_missing,
                        found->num_expected, found->missing.data ? found->missing.data : "");
        add_rest(&text, found->num_missing);
        liana__text_add(&text, " (the file has ");
        for (size_t i = 0; i < source->num_layers && i < MOST_NAMED; i++) {
            liana__text_add(&text, "%s%s", i ? ", " : "", source->layers[i].name);
        }
        if (!source->num_layers) liana__text_add(&text, "no layers");
        add_rest(&text, source->num_layers);
        liana__text_add(&text, ")%s", liana__weight_source_difference(source).text);
    }
    if (found->num_different) {
        liana__text_add(&text, "%s%s", found->num_missing ? "; " : "",
                        found->different.data ? found->different.data : "");
        add_rest(&text, found->num_different);
    }
    liana__fail(error, LIANA_INVALID_DATA, "%s: these are not the weights of the model '%s': %s", source->path,
                liana__model_name(model), text.data ? text.data : "");
    return LIANA_INVALID_DATA;
}

/* Names of layers for the report; room for `most`. */
typedef struct name_list {
    const char **items;
    size_t count;
} name_list;

static bool start_list(name_list *list, liana__arena *arena, size_t most)
{
    list->items = liana__arena_allocate(arena, (most + 1) * sizeof *list->items);
    return list->items != NULL;
}

static void add_name(name_list *list, liana__arena *arena, const char *name)
{
    list->items[list->count++] = liana__arena_string(arena, name);
}

/* Finds each layer of the model in the file; errors are added to `all`. */
static void match_layers(const liana_model *model, const liana__weight_source *source, size_t num_required,
                         const liana__source_layer **matches, name_list *missing, liana__arena *arena, faults *all)
{
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        if (layer->num_weights == 0) continue;
        if (i < num_required) all->num_expected++;
        const liana__source_layer *found = liana__weight_source_find(source, layer->name);
        if (found && found->num_weights && layer_fits(model, layer, source, found, all)) {
            matches[i] = found;
        } else if (!found || found->num_weights == 0) {
            add_name(missing, arena, layer->name);
            if (i < num_required) add_missing(all, source, layer->name);
        }
    }
}

static liana_status load_matches(const liana_model *model, const liana__weight_source *source,
                                 const liana__source_layer *const *matches, float *const *values,
                                 liana__weights_report *report, liana__error *error)
{
    for (size_t i = 0; i < model->num_layers; i++) {
        if (!matches[i]) continue;
        LIANA_TRY(read_layer(model, &model->layers[i], source, matches[i], values, error));
        report->num_layers++;
        report->num_weights += model->layers[i].num_weights;
    }
    return LIANA_OK;
}

static liana_status load(const liana_model *model, const liana__weight_source *source, size_t num_required,
                         float *const *values, liana__arena *arena, liana__weights_report *report, liana__error *error)
{
    name_list missing = {0}, unused = {0};
    const liana__source_layer **matches = liana__arena_allocate(arena, (model->num_layers + 1) * sizeof *matches);
    if (!matches || !start_list(&missing, arena, model->num_layers) ||
        !start_list(&unused, arena, source->num_layers)) {
        return liana__fail_memory(error, "the names of layers");
    }
    LIANA__SCOPED(faults) all = {0};
    match_layers(model, source, num_required, matches, &missing, arena, &all);
    for (size_t i = 0; i < source->num_layers; i++) {
        const liana__source_layer *layer = &source->layers[i];
        bool used = false;
        for (size_t k = 0; k < model->num_layers; k++) used = used || matches[k] == layer;
        if (layer->num_weights && !used) add_name(&unused, arena, layer->name);
    }
    report->missing = (liana__strings){missing.count, missing.items};
    report->unused = (liana__strings){unused.count, unused.items};
    if (all.num_missing || all.num_different) return fail_faults(source, model, &all, error);
    if (!values) return LIANA_OK;
    LIANA_TRY(load_matches(model, source, matches, values, report, error));
    if (report->num_layers == 0 && model->num_weights) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "%s: none of its layers (%s, ...) has a name that the model '%s' has (%s, ...)%s",
                           source->path, source->num_layers ? source->layers[0].name : "there are none",
                           liana__model_name(model), missing.count ? missing.items[0] : "no layers with weights",
                           liana__weight_source_difference(source).text);
    }
    report->note = liana__weight_source_note(source);
    return LIANA_OK;
}

static liana_status load_file(const liana_model *model, const char *path, size_t num_required, float *const *values,
                              liana__arena *arena, liana__weights_report *report, liana__error *error)
{
    LIANA__SCOPED_BY(liana__weight_source_close) liana__weight_source source = {0};
    LIANA_TRY(liana__weight_source_open(path, model, num_required, &source, error));
    return load(model, &source, num_required, values, arena, report, error);
}

liana_status liana__weights_load_whole(const liana_model *model, const char *path, float *const *values,
                                       liana__optimizer_state *state, liana__arena *arena,
                                       liana__weights_report *report, liana__error *error)
{
    LIANA__SCOPED_BY(liana__weight_source_close) liana__weight_source source = {0};
    *report = (liana__weights_report){0};
    LIANA_TRY(liana__weight_source_open(path, model, model->num_layers, &source, error));
    LIANA_TRY(load(model, &source, model->num_layers, values, arena, report, error));
    return state && source.hdf5 ? liana__keras_optimizer_read(source.hdf5, state, error) : LIANA_OK;
}

liana_status liana__weights_load(const liana_model *model, const char *path, size_t num_required, float *const *values,
                                 liana__arena *arena, liana__weights_report *report, liana__error *error)
{
    liana__weights_report ignored;
    if (!report) report = &ignored;
    *report = (liana__weights_report){0};
    if (!liana__path_is_remote(path)) return load_file(model, path, num_required, values, arena, report, error);
    liana__remote *remote;
    LIANA_TRY(liana__remote_create(NULL, &remote, error));
    liana_status status = liana__remote_file(remote, path, arena, &path, error);
    if (status == LIANA_OK) status = load_file(model, path, num_required, values, arena, report, error);
    if (status != LIANA_OK) liana__remote_fail_within(remote, error);
    liana__remote_destroy(remote);
    return status;
}
