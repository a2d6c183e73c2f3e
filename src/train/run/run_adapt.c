/* Gives Normalizations the mean and variance of the training data, as Keras's adapt() does. */
#include "base/waiting.h"
#include "exec/program.h"
#include "ir/shape.h"
#include "train/model/model_adapt.h"
#include "train/run/run_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static liana_status may_go_on(const liana__run *run, uint64_t done, liana__error *error)
{
    enum { BETWEEN_LOOKS = 256 };
    if (done % BETWEEN_LOOKS != 0 || !liana__waiting_stops(run->context)) return LIANA_OK;
    return liana__fail(error, LIANA_CANCELLED,
                       "stopped on request after %llu of %llu training examples; the same command begins again",
                       (unsigned long long)done, (unsigned long long)run->training.source->num_records);
}

/* ---- behind other layers, such as a Concatenate of several inputs: the layers before it are computed ---- */

/* Examples of a run of the program. The moments do not depend on it. */
enum { ROWS = 256 };

/* An input of the model that is read, and the rows of it. */
typedef struct row_input {
    size_t place; /* of the component among those of the source */
    size_t index; /* of the model's input */
    size_t row_bytes;
    unsigned char *rows; /* [ROWS, row_bytes] */
    size_t feed;
    liana_shape shape;
} row_input;

typedef struct through {
    liana__run *run;
    size_t node;  /* whose result is read */
    bool *needed; /* by node: the result depends on it */
    row_input inputs[LIANA__MAX_INPUTS];
    size_t num_inputs;
    liana__program *program;
    float *values;      /* a run's results */
    int64_t row_values; /* of an example */
} through;

static bool *find_needed(liana__run *run, size_t node)
{
    const liana_model *model = run->model;
    bool *needed = liana__arena_allocate(&run->arena, model->num_nodes * sizeof *needed);
    if (!needed) return NULL;
    needed[node] = true;
    for (size_t i = node + 1; i-- > 0;) {
        for (size_t k = 0; needed[i] && k < model->nodes[i].num_inputs; k++) needed[model->nodes[i].inputs[k]] = true;
    }
    return needed;
}

/* The component that an input of the model reads; num_components: none of numbers. */
static size_t place_of(const liana__run *run, size_t input)
{
    const liana__data_match *match = &run->training.match;
    const liana__source *source = run->training.source;
    const char *name = match->inputs[input].name;
    const bool is_image = input == 0 && match->has_image;
    size_t place = 0;
    while (name && !is_image && place < source->num_components) {
        const liana_component *component = &source->components[place];
        if (strcmp(component->name, name) == 0 && component->dtype != LIANA_STRING) return place;
        place++;
    }
    return source->num_components;
}

/* The loader compares shapes too, but later. */
static liana_status check_size(const liana__run *run, size_t input, size_t place, liana__error *error)
{
    const liana_component *component = &run->training.source->components[place];
    const liana__model_port port = liana__model_input(run->model, input);
    if (liana_shape_size(&component->shape) == liana_shape_size(&port.shape)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the component '%.100s' is %s, but the model's input '%.100s' is %s (with a batch of 1); change "
                       "the data's or the model's shape",
                       component->name, liana__shape_print(&component->shape).text, port.name,
                       liana__shape_print(&port.shape).text);
}

static liana_status find_obstacle(liana__run *run, size_t node, const char **obstacle, liana__error *error)
{
    const liana_model *model = run->model;
    const bool *needed = find_needed(run, node);
    *obstacle = NULL;
    if (!needed) return liana__fail_memory(error, "a Normalization");
    if (run->training.source->streams) *obstacle = "the data are a stream";
    for (size_t i = 0; i < model->num_inputs && !*obstacle; i++) {
        if (!needed[model->inputs[i]]) continue;
        const size_t place = place_of(run, i);
        if (place == run->training.source->num_components) {
            *obstacle = "it reads images, not numbers";
        } else {
            LIANA_TRY(check_size(run, i, place, error));
        }
    }
    for (size_t i = 0; i < model->num_weights && !*obstacle; i++) {
        if (!liana__weight_trainable(model, i)) continue;
        for (size_t k = 0; k <= node && !*obstacle; k++) {
            if (!needed[k] || model->nodes[k].layer != model->weights[i].layer) continue;
            *obstacle = liana__arena_format(&run->arena, "layer '%s' before it is trained, so its results change",
                                            model->layers[model->nodes[k].layer].name);
            if (!*obstacle) return liana__fail_memory(error, "a Normalization");
        }
    }
    return LIANA_OK;
}

/* ---- the program ---- */

/* Input `index` of the model as it arrives, in the model's dtype; zeros where it is not needed. */
static liana_tensor build_input(through *own, liana_graph *graph, size_t index)
{
    const liana__run *run = own->run;
    liana__model_port port = liana__model_input(run->model, index);
    port.shape.dims[0] = ROWS;
    if (!own->needed[run->model->inputs[index]]) {
        return liana_op_broadcast_to(liana_graph_scalar(graph, port.dtype, 0), port.shape);
    }
    const size_t place = place_of(run, index);
    const liana_component *component = &run->training.source->components[place];
    const liana_dtype dtype = (liana_dtype)component->dtype;
    own->inputs[own->num_inputs++] = (row_input){.place = place,
                                                 .index = index,
                                                 .row_bytes = liana__byte_size(dtype, &component->shape),
                                                 .shape = port.shape};
    liana_tensor x = liana_graph_input(graph, port.name, dtype, port.shape);
    return dtype == port.dtype ? x : liana_op_cast(x, port.dtype);
}

static void build_graph(through *own, liana_graph *graph)
{
    const liana_model *model = own->run->model;
    liana_tensor inputs[LIANA__MAX_INPUTS];
    const liana__model_mode mode = {.here = LIANA_HERE, .asks_for_shapes = true};
    for (size_t i = 0; i < model->num_inputs; i++) inputs[i] = build_input(own, graph, i);
    const liana__model_results results = liana__model_call(model, inputs, &mode);
    if (liana_graph_status(graph) != LIANA_OK) return;
    liana_tensor values = liana_op_cast(results.nodes[own->node], LIANA_F32);
    const liana_shape shape = liana_tensor_shape(values);
    own->row_values = liana_shape_size(&shape) / ROWS;
    liana_graph_output(graph, "values", values);
}

static liana_status open_program(through *own, liana__error *error)
{
    liana__run *run = own->run;
    liana_graph *graph;
    liana_status status = liana_graph_create(run->context, &graph);
    if (status == LIANA_OK) {
        build_graph(own, graph);
        status = liana_graph_status(graph);
        if (status != LIANA_OK) liana_graph_destroy(graph);
    }
    if (status != LIANA_OK) {
        if (error != &run->context->error) *error = run->context->error;
        return status;
    }
    LIANA_TRY(liana__program_create(run->core.device, graph, "adapt", &run->core.variables, &own->program, error));
    own->values = malloc((size_t)own->row_values * ROWS * sizeof *own->values);
    if (!own->values) return liana__fail_memory(error, "a Normalization");
    for (size_t i = 0; i < own->num_inputs; i++) {
        row_input *input = &own->inputs[i];
        const char *name = liana__model_input(run->model, input->index).name;
        LIANA_TRY(liana__program_find_feed(own->program, name, &input->feed, error));
        input->rows = calloc(ROWS, input->row_bytes);
        if (!input->rows) return liana__fail_memory(error, "a Normalization");
    }
    return LIANA_OK;
}

static void close_program(through *own)
{
    for (size_t i = 0; i < own->num_inputs; i++) free(own->inputs[i].rows);
    free(own->values);
    liana__program_destroy(own->program);
}

/* ---- the data ---- */

static liana_status read_rows(through *own, void *scratch, uint64_t first, size_t count, liana__error *error)
{
    for (size_t row = 0; row < count; row++) {
        liana_source_record record;
        LIANA_TRY(liana__source_read(own->run->training.source, first + row, scratch, &record, error));
        for (size_t i = 0; i < own->num_inputs; i++) {
            const row_input *input = &own->inputs[i];
            memcpy(input->rows + row * input->row_bytes, record.values[input->place], input->row_bytes);
        }
    }
    return LIANA_OK;
}

/* The last run has fewer rows; the rows behind them are left out. */
static liana_status add_rows(through *own, void *scratch, uint64_t first, liana__moments *moments, liana__error *error)
{
    const liana__source *source = own->run->training.source;
    const size_t count = source->num_records - first < ROWS ? (size_t)(source->num_records - first) : ROWS;
    LIANA_TRY(read_rows(own, scratch, first, count, error));
    for (size_t i = 0; i < own->num_inputs; i++) {
        const row_input *input = &own->inputs[i];
        const liana_dtype dtype = (liana_dtype)source->components[input->place].dtype;
        LIANA_TRY(liana__program_feed(own->program, input->feed, dtype, &input->shape, input->rows, error));
    }
    LIANA_TRY(liana__program_run(own->program, error));
    LIANA_TRY(liana__program_fetch(own->program, 0, own->values, error));
    return liana__moments_add(moments, LIANA_F32, own->values, (int64_t)count * own->row_values, error);
}

static liana_status find_moments_through(liana__run *run, size_t node, liana__moments *moments, liana__error *error)
{
    through own = {.run = run, .node = node, .needed = find_needed(run, node)};
    const liana__source *source = run->training.source;
    if (!own.needed) return liana__fail_memory(error, "a Normalization");
    void *scratch = liana__source_scratch_create(source);
    liana_status status = scratch ? open_program(&own, error) : liana__fail_memory(error, "the records");
    for (uint64_t first = 0; status == LIANA_OK && first < source->num_records; first += ROWS) {
        status = may_go_on(run, first, error);
        if (status == LIANA_OK) status = add_rows(&own, scratch, first, moments, error);
    }
    if (scratch) liana__source_scratch_destroy(source, scratch);
    close_program(&own);
    return status;
}

/* ---- adapting ---- */

/* The node whose result a Normalization reads. */
static size_t node_before(const liana_model *model, size_t layer)
{
    size_t node = 0;
    while (model->nodes[node].layer != layer) node++;
    return model->nodes[node].inputs[0];
}

/* The column of the file that a channel of a component is; NULL: the channel is no column. */
static const char *column_of(const liana__run *run, const char *component, int64_t channel, int64_t channels)
{
    const liana__column *column = liana__columns_get(&run->config->data.components, component);
    if (!column || (int64_t)column->from.count != channels) return NULL;
    return column->from.items[channel];
}

/* The column of the first value of an example that is not finite; NULL: it is no column. */
static const char *bad_column(const liana__run *run, const liana_component *component, const void *values)
{
    const int64_t size = liana_shape_size(&component->shape);
    int64_t i = 0;
    while (i < size && isfinite(liana__load(values, (liana_dtype)component->dtype, i))) i++;
    return i < size ? column_of(run, component->name, i, size) : NULL;
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
        status = may_go_on(run, i, error);
        if (status == LIANA_OK) status = liana__source_read(source, i, scratch, &record, error);
        if (status != LIANA_OK) break;
        status = liana__moments_add(moments, (liana_dtype)component->dtype, record.values[place], size, error);
        if (status == LIANA_OK) continue;
        const char *column = bad_column(run, component, record.values[place]);
        if (column) liana__fail_within(error, "column '%.100s'", column);
        status = liana__source_fail_within(source, i, &record, error);
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

/* The values are those of a component of the data, or are computed by the layers before. */
static liana_status find_moments(liana__run *run, size_t index, liana__moments *moments, const char **from,
                                 liana__error *error)
{
    const liana_model *model = run->model;
    const liana__source *source = run->training.source;
    const size_t node = node_before(model, index);
    for (size_t i = 0; i < model->num_inputs; i++) {
        const size_t place = place_of(run, i);
        if (model->inputs[i] != node || place == source->num_components) continue;
        *from = source->components[place].name;
        return read_moments(run, place, moments, error);
    }
    *from = model->layers[model->nodes[node].layer].name;
    return find_moments_through(run, node, moments, error);
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
    if (find_obstacle(run, node_before(run->model, index), &obstacle, error) != LIANA_OK) {
        return liana__fail_within(error, "layer '%s' (Normalization)", layer->name);
    }
    if (obstacle) {
        liana__run_note(options,
                        "layer '%s' (Normalization) has mean 0 and variance 1: %s; model.weights could give others",
                        layer->name, obstacle);
        return LIANA_OK;
    }
    liana__moments moments;
    LIANA_TRY(liana__moments_of_layer(run->model, index, &moments, error));
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
        const liana__layer *layer = &run->model->layers[i];
        if (layer->type != &liana__layer_normalization || !layer->num_weights) continue;
        LIANA_TRY(adapt(run, i, options, error));
    }
    return LIANA_OK;
}
