/* Gives Normalizations the mean and variance of the training data, as Keras's adapt() does. */
#include "base/waiting.h"
#include "train/run/adapt_through.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The values that a Normalization reads, as the training data have them; NULL: it reads something else. */
static const liana_component *component_before(const liana__run *run, size_t layer, size_t *place)
{
    const liana_model *model = run->model;
    const liana__source *source = run->training.source;
    size_t node = 0;
    while (node < model->num_nodes && model->nodes[node].layer != layer) node++;
    if (node == model->num_nodes) return NULL;
    for (size_t i = 0; i < model->num_inputs; i++) {
        const char *name = run->training.match.inputs[i].name;
        if (model->inputs[i] != model->nodes[node].inputs[0] || !name) continue;
        for (*place = 0; *place < source->num_components; ++*place) {
            const liana_component *component = &source->components[*place];
            if (strcmp(component->name, name) == 0 && component->dtype != LIANA_STRING) return component;
        }
    }
    return NULL;
}

liana_status liana__adapt_may_go_on(const liana__run *run, uint64_t done, liana__error *error)
{
    enum { BETWEEN_LOOKS = 256 };
    if (done % BETWEEN_LOOKS != 0 || !liana__waiting_stops(run->context)) return LIANA_OK;
    return liana__fail(error, LIANA_CANCELLED,
                       "stopped on request after %llu of %llu training examples; the same command begins again",
                       (unsigned long long)done, (unsigned long long)run->training.source->num_records);
}

static liana_status read_moments(const liana__run *run, size_t place, liana__moments *moments, liana__error *error)
{
    const liana__source *source = run->training.source;
    const liana_component *component = &source->components[place];
    const int64_t size = liana_shape_size(&component->shape);
    void *scratch = liana__source_scratch_create(source);
    liana_status status = scratch ? LIANA_OK : liana__fail_memory(error, "the records");
    for (uint64_t i = 0; status == LIANA_OK && i < source->num_records; i++) {
        liana_source_record record;
        status = liana__adapt_may_go_on(run, i, error);
        if (status == LIANA_OK) status = liana__source_read(source, i, scratch, &record, error);
        if (status != LIANA_OK) break;
        status = liana__moments_add(moments, (liana_dtype)component->dtype, record.values[place], size, error);
        if (status != LIANA_OK) status = liana__source_fail_within(source, i, &record, error);
    }
    if (scratch) liana__source_scratch_destroy(source, scratch);
    return status;
}

/* The layer's variables: mean, variance and count. */
static liana_status write_layer(liana__run *run, const liana__layer *layer, liana__error *error)
{
    for (size_t i = layer->first_weight; i < layer->first_weight + layer->num_weights; i++) {
        liana__variable *variable = liana__variables_find(&run->core.variables, run->model->weights[i].name);
        LIANA_TRY(liana__variable_write(variable, run->model->values[i], error));
    }
    return LIANA_OK;
}

/* The node whose result a Normalization reads. */
static size_t node_before(const liana_model *model, size_t layer)
{
    size_t node = 0;
    while (model->nodes[node].layer != layer) node++;
    return model->nodes[node].inputs[0];
}

static liana_status find_moments(liana__run *run, size_t index, liana__moments *moments, const char **from,
                                 liana__error *error)
{
    size_t place = 0;
    const liana_component *component = component_before(run, index, &place);
    const size_t node = node_before(run->model, index);
    if (component) {
        *from = component->name;
        return read_moments(run, place, moments, error);
    }
    *from = run->model->layers[run->model->nodes[node].layer].name;
    return liana__adapt_through(run, node, moments, error);
}

/* The column of the file that a channel of a component is; NULL: it is none. */
static const char *column_of(const liana__run *run, const char *component, int64_t channel, int64_t channels)
{
    const liana__column *column = liana__columns_get(&run->config->data.components, component);
    if (!column || (int64_t)column->from.count != channels) return NULL;
    return column->from.items[channel];
}

/* Names the channels that are the same in all examples: any other value is divided by next to nothing. */
static void warn_of_constants(const liana__run *run, const char *layer, const char *from, const liana__moments *moments,
                              const liana__run_options *options)
{
    enum { MOST_TOLD = 8 };
    int64_t told = 0, found = 0;
    for (int64_t i = 0; i < moments->channels; i++) {
        if (!liana__moments_constant(moments, i)) continue;
        if (++found > MOST_TOLD) continue;
        const char *column = column_of(run, from, i, moments->channels);
        char name[160];
        if (column) snprintf(name, sizeof name, "the column '%.100s'", column);
        if (!column) snprintf(name, sizeof name, "value %lld of '%.100s'", (long long)i, from);
        liana__run_note(options,
                        "layer '%s' (Normalization): %s is %s%g in all training examples; it divides by %.3g, as Keras "
                        "does, so any other value becomes very large: leave it out, unless it never differs",
                        layer, name, moments->squares[i] > 0 ? "almost " : "", moments->mean[i],
                        liana__moments_divisor(moments, i));
        told++;
    }
    if (found > told) {
        liana__run_note(options, "layer '%s' (Normalization): %lld more values are the same in all training examples",
                        layer, (long long)(found - told));
    }
}

static liana_status adapt(liana__run *run, size_t index, const liana__run_options *options, liana__error *error)
{
    const liana__layer *layer = &run->model->layers[index];
    const char *obstacle, *from;
    if (liana__adapt_obstacle(run, node_before(run->model, index), &obstacle, error) != LIANA_OK) {
        return liana__fail_within(error, "layer '%s' (Normalization)", layer->name);
    }
    if (obstacle) {
        liana__run_note(options,
                        "layer '%s' (Normalization) has mean 0 and variance 1: %s; model.weights could give others",
                        layer->name, obstacle);
        return LIANA_OK;
    }
    liana__moments moments;
    LIANA_TRY(liana__moments_create(run->model->weights[layer->first_weight].shape.dims[0], &moments, error));
    liana_status status = find_moments(run, index, &moments, &from, error);
    if (status == LIANA_OK) status = liana__model_adapt(run->model, index, &moments, error);
    if (status == LIANA_OK) status = write_layer(run, layer, error);
    if (status == LIANA_OK) {
        liana__run_note(options, "layer '%s' (Normalization) is adapted to '%s' of %lld training examples", layer->name,
                        from, (long long)run->training.source->num_records);
        warn_of_constants(run, layer->name, from, &moments, options);
    }
    liana__moments_free(&moments);
    return status == LIANA_OK ? status : liana__fail_within(error, "layer '%s' (Normalization)", layer->name);
}

liana_status liana__run_adapt(liana__run *run, const liana__run_options *options, liana__error *error)
{
    if (run->config->model.weights) return LIANA_OK;
    for (size_t i = 0; i < run->model->num_layers; i++) {
        if (run->model->layers[i].type != &liana__layer_normalization) continue;
        LIANA_TRY(adapt(run, i, options, error));
    }
    return LIANA_OK;
}
