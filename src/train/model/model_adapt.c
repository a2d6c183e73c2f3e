/* liana_layer_adapt: a Normalization gets the mean and variance of a dataset, a layer of texts its vocabulary, a
 * Discretization its boundaries. */
#include "train/model/model_adapt.h"

#include "base/scoped.h"
#include "data/dataset/element.h"
#include "data/loader/batch_texts.h"
#include "ir/shape.h"
#include "layers/normalization/axes.h"
#include "layers/preprocessing/adaptation.h"

#include <liana/dataset.h>
#include <liana/layers/core.h>
#include <liana/layers/preprocessing.h>
#include <liana/train.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

liana_status liana__moments_create(int64_t channels, liana__moments *moments, liana__error *error)
{
    *moments = (liana__moments){.channels = channels,
                                .mean = calloc((size_t)channels, sizeof *moments->mean),
                                .squares = calloc((size_t)channels, sizeof *moments->squares),
                                .counts = calloc((size_t)channels, sizeof *moments->counts)};
    if (moments->mean && moments->squares && moments->counts) return LIANA_OK;
    liana__moments_free(moments);
    return liana__fail_memory(error, "mean and variance");
}

void liana__moments_free(liana__moments *moments)
{
    free(moments->mean);
    free(moments->squares);
    free(moments->counts);
    *moments = (liana__moments){0};
}

static liana_status check_layer(const liana_model *model, size_t layer, liana__error *error)
{
    const liana__layer *own = &model->layers[layer];
    if (own->type != &liana__layer_normalization) {
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "layer '%s' (%s) has nothing to adapt; a Normalization, a Discretization and lookups of texts "
            "and numbers have",
            own->name, own->type->part.name);
    }
    if (own->num_weights) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "layer '%s' (Normalization) has its mean and variance as options; leave them out to adapt it",
                       own->name);
}

/* The first call of the layer: all have inputs of one shape along its axes. */
static const liana_shape *input_of(const liana_model *model, size_t layer)
{
    size_t node = 0;
    while (model->nodes[node].layer != layer) node++;
    return &model->nodes[model->nodes[node].inputs[0]].shape;
}

liana_status liana__moments_of_layer(const liana_model *model, size_t layer, liana__moments *moments,
                                     liana__error *error)
{
    *moments = (liana__moments){0};
    LIANA_TRY(check_layer(model, layer, error));
    const liana__layer *own = &model->layers[layer];
    const liana_normalization_options *chosen = own->options;
    const liana_shape *x = input_of(model, layer);
    LIANA_TRY(liana__moments_create(liana_shape_size(&model->weights[own->first_weight].shape), moments, error));
    bool kept[LIANA_MAX_RANK] = {false};
    const liana_ints axis = liana__given_axes(chosen->axis);
    for (int64_t i = 0; i < axis.count; i++) kept[liana__axis_of(axis.values[i], x->rank)] = true;
    int64_t stride = 1;
    moments->example = (liana_shape){.rank = x->rank - 1};
    for (int i = x->rank - 1; i > 0; i--) {
        moments->example.dims[i - 1] = x->dims[i];
        moments->strides[i - 1] = kept[i] ? stride : 0;
        if (kept[i]) stride *= x->dims[i];
    }
    return LIANA_OK;
}

/* The channel of value `index` of an array. */
static int64_t channel_of(const liana__moments *moments, int64_t index)
{
    const liana_shape *example = &moments->example;
    if (example->rank == 0) return index % moments->channels;
    int64_t channel = 0;
    for (int i = example->rank - 1; i >= 0; i--) {
        channel += index % example->dims[i] * moments->strides[i];
        index /= example->dims[i];
    }
    return channel;
}

/* Welford 1962: stays accurate when the mean is far larger than the deviation. */
liana_status liana__moments_add(liana__moments *moments, liana_dtype dtype, const void *values, int64_t num_values,
                                liana__error *error)
{
    const bool has_examples = moments->example.rank > 0;
    const int64_t size = has_examples ? liana_shape_size(&moments->example) : moments->channels;
    if (num_values % size != 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "found %lld values, expected a multiple of %lld%s",
                           (long long)num_values, (long long)size,
                           has_examples ? ", those of an example" : " channels");
    }
    for (int64_t i = 0; i < num_values; i++) {
        const int64_t channel = channel_of(moments, i);
        double value = liana__load(values, dtype, i);
        if (!isfinite(value)) {
            return liana__fail(error, LIANA_INVALID_DATA,
                               "value %lld is %s, expected finite numbers; leave the example out, or give it another "
                               "number",
                               (long long)i, isnan(value) ? "NaN" : "an infinity");
        }
        moments->counts[channel]++;
        double distance = value - moments->mean[channel];
        moments->mean[channel] += distance / (double)moments->counts[channel];
        moments->squares[channel] += distance * (value - moments->mean[channel]);
    }
    moments->count = moments->counts[0];
    return LIANA_OK;
}

liana_status liana__model_adapt(liana_model *model, size_t layer, const liana__moments *moments, liana__error *error)
{
    LIANA_TRY(check_layer(model, layer, error));
    const int64_t channels = liana_shape_size(&model->weights[model->layers[layer].first_weight].shape);
    if (moments->count == 0 || moments->channels != channels) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "layer '%s' (Normalization): found %lld values of %lld channels, expected at least one of "
                           "%lld",
                           model->layers[layer].name, (long long)moments->count, (long long)moments->channels,
                           (long long)channels);
    }
    LIANA_TRY(liana__model_values_complete(model, error));
    float *const *weights = model->values + model->layers[layer].first_weight;
    for (int64_t i = 0; i < channels; i++) {
        weights[0][i] = (float)moments->mean[i];
        weights[1][i] = (float)(moments->squares[i] / (double)moments->count);
    }
    weights[2][0] = (float)moments->count;
    model->values_version++;
    return LIANA_OK;
}

double liana__moments_divisor(const liana__moments *moments, int64_t channel)
{
    const double deviation = sqrt(moments->squares[channel] / (double)moments->count);
    return deviation > 1e-7 ? deviation : 1e-7;
}

bool liana__moments_constant(const liana__moments *moments, int64_t channel)
{
    const double deviation = sqrt(moments->squares[channel] / (double)moments->count);
    return deviation <= 1e-7 || deviation <= 1e-6 * fabs(moments->mean[channel]);
}

/* ---- datasets ---- */

/* The component that the layer reads, unless one is named: that of the model's input before it. */
static liana_status choose_component(const liana_model *model, size_t node, const char **component, liana__error *error)
{
    if (*component) return LIANA_OK;
    const liana__layer_node *before = &model->nodes[model->nodes[node].inputs[0]];
    const liana__layer *layer = &model->layers[before->layer];
    if (layer->type == &liana__layer_input_layer && before->num_inputs == 0) {
        *component = layer->name;
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "layer '%s' does not read an input of the model, but '%s'; name the component to adapt to",
                       model->layers[model->nodes[node].layer].name, layer->name);
}

/* Elements are examples, or batches of them. Where the last axis alone is the channels, others may have any size. */
static bool shape_fits(liana__moments *moments, const liana_shape *shape)
{
    const liana_shape *example = &moments->example;
    const int rest = shape->rank - example->rank;
    bool fits = rest >= 0;
    for (int i = 0; fits && i < example->rank; i++) fits = shape->dims[rest + i] == example->dims[i];
    const int last = example->rank - 1;
    const bool by_last = moments->strides[last] == 1 && moments->channels == example->dims[last];
    const int64_t size = shape->rank ? shape->dims[shape->rank - 1] : 1;
    if (!fits && by_last && (size == moments->channels || moments->channels == 1)) {
        moments->example.rank = 0;
        fits = true;
    }
    return fits;
}

static liana_status check_component(const liana_dataset *dataset, const char *name, liana__moments *moments,
                                    liana__error *error)
{
    const liana_dataset_facts facts = liana_dataset_info(dataset);
    const liana_component *components = facts.components;
    size_t index = 0;
    while (index < facts.num_components && strcmp(components[index].name, name) != 0) index++;
    if (index == facts.num_components) {
        return liana__fail(error, LIANA_NOT_FOUND, "the dataset has no component '%.60s'", name);
    }
    const liana_shape *shape = &components[index].shape;
    if (components[index].dtype == LIANA_STRING || !shape_fits(moments, shape)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the component '%s' has the shape %s of %s, expected numbers of the shape %s", name,
                           liana__shape_print(shape).text,
                           components[index].dtype == LIANA_STRING
                               ? "strings"
                               : liana_dtype_name((liana_dtype)components[index].dtype),
                           liana__shape_print(&moments->example).text);
    }
    if (facts.num_examples != LIANA_INFINITE) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the dataset does not end; take a part of it");
}

static liana_status add_element(liana__moments *moments, const liana_element *element, const char *name,
                                uint64_t position, liana__error *error)
{
    const liana_array array = liana_element_array(element, name);
    const liana_status status =
        liana__moments_add(moments, (liana_dtype)array.dtype, array.data, liana_shape_size(&array.shape), error);
    if (status == LIANA_OK) return status;
    return liana__fail_within(error, "element %llu, component '%s'", (unsigned long long)position, name);
}

static liana_status add_dataset(liana_context *context, liana__moments *moments, const liana_dataset *dataset,
                                const char *name)
{
    liana_iterator *iterator;
    const liana_element *element;
    LIANA_TRY(liana_iterator_create(dataset, NULL, &iterator));
    liana_status status = LIANA_OK;
    for (uint64_t position = 0; status == LIANA_OK; position++) {
        status = liana_iterator_next(iterator, &element);
        if (status == LIANA_OK) status = add_element(moments, element, name, position, &context->error);
    }
    liana_iterator_destroy(iterator);
    return status == LIANA_END_OF_DATA ? LIANA_OK : status;
}

/* ---- options that are found ---- */

/* Adds the examples of an element, which may be a batch of them. */
static liana_status add_examples(liana__adaptation *found, const liana_array *array, int64_t each, liana__error *error)
{
    const int64_t count = liana_shape_size(&array->shape) / each;
    const bool is_text = array->dtype == LIANA_STRING;
    const size_t size = is_text ? sizeof(liana_bytes) : liana_dtype_size((liana_dtype)array->dtype);
    if (!found->type->texts) {
        return liana__adaptation_add_numbers(found, (liana_dtype)array->dtype, array->data, count * each, error);
    }
    LIANA__SCOPED_MEMORY liana_bytes *texts = malloc((size_t)each * sizeof *texts + 1);
    LIANA__SCOPED_MEMORY char *digits = malloc((size_t)each * LIANA__LONGEST_NUMBER + 1);
    if (!texts || !digits) return liana__fail_memory(error, "texts of numbers");
    for (int64_t i = 0; i < count; i++) {
        const liana__given_texts given = {array->dtype, (const char *)array->data + (size_t)(i * each) * size};
        liana__texts_of(&given, each, texts, digits);
        LIANA_TRY(liana__adaptation_add_texts(found, texts, error));
    }
    return LIANA_OK;
}

/* Elements are examples, or batches of them. */
static liana_status check_values(const liana__adaptation *found, const liana_dataset *dataset, const char *name,
                                 const liana_shape *example, liana__error *error)
{
    const liana_dataset_facts facts = liana_dataset_info(dataset);
    size_t index = 0;
    while (index < facts.num_components && strcmp(facts.components[index].name, name) != 0) index++;
    if (index == facts.num_components) {
        return liana__fail(error, LIANA_NOT_FOUND, "the dataset has no component '%.60s'", name);
    }
    const liana_component *component = &facts.components[index];
    const bool is_kind =
        found->type->texts ? liana__dtype_has_texts(component->dtype) : component->dtype != LIANA_STRING;
    const int rest = component->shape.rank - example->rank;
    bool fits = is_kind && rest >= 0;
    for (int i = 0; fits && i < example->rank; i++) fits = component->shape.dims[rest + i] == example->dims[i];
    if (!fits) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the component '%s' is %s, expected %s of the shape %s", name,
                           liana__component_describe(component).text,
                           found->type->texts ? "texts or whole numbers" : "numbers", liana__shape_print(example).text);
    }
    if (facts.num_examples != LIANA_INFINITE) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the dataset does not end; take a part of it");
}

static liana_status add_all(liana_context *context, liana__adaptation *found, const liana_dataset *dataset,
                            const char *name, int64_t each)
{
    liana_iterator *iterator;
    const liana_element *element;
    LIANA_TRY(liana_iterator_create(dataset, NULL, &iterator));
    liana_status status = LIANA_OK;
    for (uint64_t position = 0; status == LIANA_OK; position++) {
        status = liana_iterator_next(iterator, &element);
        if (status != LIANA_OK) break;
        liana_array array = liana_element_array(element, name);
        array.data = element->data[liana__spec_find(element->spec, name)]; /* of strings too */
        status = add_examples(found, &array, each, &context->error);
        if (status == LIANA_OK) continue;
        liana__fail_within(&context->error, "element %llu, component '%s'", (unsigned long long)position, name);
    }
    liana_iterator_destroy(iterator);
    return status == LIANA_END_OF_DATA ? LIANA_OK : status;
}

static bool is_read(const liana_model *model, size_t node)
{
    for (size_t i = 0; i < model->num_nodes; i++) {
        for (size_t k = 0; k < model->nodes[i].num_inputs; k++) {
            if (model->nodes[i].inputs[k] == node) return true;
        }
    }
    return false;
}

/* Gives all calls of the layer the options, and makes their results again. */
static liana_status set_options(liana_model *model, size_t layer, void *options, liana__error *error)
{
    model->layers[layer].options = options;
    for (size_t i = 0; i < model->num_nodes; i++) {
        liana__layer_node *node = &model->nodes[i];
        if (node->layer != layer) continue;
        const liana_shape before = node->shape;
        node->options = options;
        if (!model->layers[layer].type->texts) continue;
        LIANA_TRY(liana__model_make_texts(model, i, error));
        if (liana_shape_equal(&before, &node->shape) || !is_read(model, i)) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "its result is %s with the vocabulary that was found, and was %s (with a batch of 1) when "
                           "other layers were added behind it; adapt it before you add these, or set "
                           "pad_to_max_tokens",
                           liana__shape_print(&node->shape).text, liana__shape_print(&before).text);
    }
    model->structure_version++;
    return LIANA_OK;
}

static liana_status keep_found(liana_model *model, size_t layer, const liana__value *found, liana__error *error)
{
    const liana__layer *item = &model->layers[layer];
    void *before = item->options, *made;
    liana__value *map = liana__fields_write(&item->type->part.options, &model->arena, before);
    for (size_t i = 0; map && i < found->count; i++) {
        liana__value_set(&model->arena, map, found->keys[i], found->items[i]);
    }
    if (!map || model->arena.failed) return liana__fail_memory(error, "a model");
    LIANA_TRY(liana__layer_read_options(model, item->type, map, item->name, NULL, &made, error));
    const liana_status status = set_options(model, layer, made, error);
    liana__error ignored = {0};
    if (status != LIANA_OK && set_options(model, layer, before, &ignored) != LIANA_OK) model->structure_version++;
    return status;
}

static liana_status find_options(liana_model *model, size_t node, const liana_dataset *dataset, const char *component,
                                 liana__error *error)
{
    const liana__layer_node *input = &model->nodes[model->nodes[node].inputs[0]];
    const size_t layer = model->nodes[node].layer;
    const liana_input_options *given = model->layers[input->layer].options;
    liana__text_inputs texts = {.shape = {.rank = input->shape.rank - 1}, .count = 1};
    for (int i = 0; i < texts.shape.rank; i++) texts.shape.dims[i] = input->shape.dims[i + 1];
    texts.has_numbers[0] = !input->is_text || given->dtype != LIANA_STRING;
    LIANA__SCOPED(liana__adaptation) found = {0};
    LIANA_TRY(liana__adaptation_begin(model->layers[layer].type, model->layers[layer].options, &texts, &found, error));
    LIANA_TRY(choose_component(model, node, &component, error));
    LIANA_TRY(check_values(&found, dataset, component, &texts.shape, error));
    LIANA_TRY(add_all(model->context, &found, dataset, component, liana_shape_size(&texts.shape)));
    liana__value *options = liana__value_map(&model->arena);
    if (!options) return liana__fail_memory(error, "a model");
    LIANA_TRY(liana__adaptation_end(&found, &model->arena, options, error));
    return keep_found(model, layer, options, error);
}

static liana_status adapt_layer(liana_layer layer, const liana_dataset *dataset, const char *component)
{
    liana_model *model = layer.model;
    LIANA_TRY(liana_model_status(model));
    liana__error *error = &model->context->error;
    if (layer.id == 0 || layer.id > model->num_nodes) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "adapt: this is not a layer of the model");
    }
    size_t index = model->nodes[layer.id - 1].layer;
    if (model->layers[index].type->to_adapt) {
        if (find_options(model, layer.id - 1, dataset, component, error) == LIANA_OK) return LIANA_OK;
        return liana__fail_within(error, "layer '%s' (%s)", model->layers[index].name,
                                  model->layers[index].type->part.name);
    }
    LIANA__SCOPED(liana__moments) moments = {0};
    LIANA_TRY(liana__moments_of_layer(model, index, &moments, error));
    LIANA_TRY(choose_component(model, layer.id - 1, &component, error));
    LIANA_TRY(check_component(dataset, component, &moments, error));
    LIANA_TRY(add_dataset(model->context, &moments, dataset, component));
    return liana__model_adapt(model, index, &moments, error);
}

liana_status liana_layer_adapt(liana_layer layer, const liana_dataset *dataset, const char *component)
{
    if (!layer.model) return LIANA_INVALID_ARGUMENT;
    LIANA__REQUIRE(&layer.model->context->error, dataset);
    LIANA__CONTEXT_CALL(layer.model->context, adapt_layer(layer, dataset, component));
}
