/* Trains on two devices, and names differences beyond those that rounding explains. */
#include "train/training/device_comparison.h"

#include "base/random.h"
#include "base/scoped.h"
#include "exec/program.h"
#include "ir/shape.h"
#include "train/objective/batch_components.h"
#include "train/training/bundle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana__program_destroy, liana__program)

enum { EXPLAINED_FACTOR = 32, EXPLAINED_UNITS = 4, NUM_MOVES = 2 };

const char *const liana__compared_names[] = {"output", "gradient", "weight", "loss"};

/* One unit in the last place of a number near 1. The rounding of LIANA_FLOAT32_DEFAULT is the device's business, at
 * worst to bf16. */
static double unit_of(const liana__training *training)
{
    return training->precision == LIANA_FLOAT32 ? 0x1p-23 : 0x1p-8;
}

/* Up or down by the number of the element. */
static void move(void *data, liana_dtype dtype, int64_t count, double unit, uint32_t draw)
{
    if (!liana__dtype_is_float(dtype)) return;
    const liana__philox_key key = liana__philox_make_key(draw, LIANA__STREAM_COMPARISON, 0);
    for (int64_t i = 0; i < count; i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){(uint32_t)i, (uint32_t)(i >> 32), 0, 0}, words);
        const double sign = words[0] & 1 ? 1 : -1;
        liana__store(data, dtype, i, liana__load(data, dtype, i) * (1 + sign * unit));
    }
}

/* ---- differences ---- */

/* Largest difference of two tensors, where it is, and the largest number of the first. */
typedef struct spread {
    double largest, size;
    int64_t at;
} spread;

static double difference_of(double first, double second)
{
    if (isfinite(first) && isfinite(second)) return fabs(first - second);
    const bool same = first == second || (isnan(first) && isnan(second));
    return same ? 0 : INFINITY;
}

static spread spread_of(const void *first, const void *second, liana_dtype dtype, int64_t count)
{
    spread found = {0};
    for (int64_t i = 0; i < count; i++) {
        const double a = liana__load(first, dtype, i), b = liana__load(second, dtype, i), d = difference_of(a, b);
        if (isfinite(a) && fabs(a) > found.size) found.size = fabs(a);
        if (d > found.largest) {
            found.largest = d;
            found.at = i;
        }
    }
    return found;
}

static double explained_by(double moved, double size, double unit)
{
    return EXPLAINED_FACTOR * moved + EXPLAINED_UNITS * unit * size;
}

static const char *place_of(liana__arena *arena, const liana_shape *shape, int64_t at)
{
    liana_shape place = *shape;
    for (int i = shape->rank - 1; i >= 0; i--) {
        place.dims[i] = at % shape->dims[i];
        at /= shape->dims[i];
    }
    return liana__arena_string(arena, liana__shape_print(&place).text);
}

static liana_status add_item(liana__device_comparison *comparison, const liana__device_difference *item,
                             liana__error *error)
{
    if (comparison->arena.failed ||
        !liana__grow(&comparison->items, comparison->count, &comparison->num_allocated, sizeof *item)) {
        return liana__fail_memory(error, "the comparison of devices");
    }
    comparison->items[comparison->count++] = *item;
    return LIANA_OK;
}

/* The results of three computations for one tensor. */
typedef struct compared_tensor {
    const liana__node *node;
    const void *first, *second, *moved[NUM_MOVES];
    size_t num_moved;
} compared_tensor;

static liana_status add_tensor(liana__device_comparison *comparison, const compared_tensor *tensor, double unit,
                               liana__device_difference *item, liana__error *error)
{
    const liana_dtype dtype = tensor->node->dtype;
    const liana_shape *shape = &tensor->node->shape;
    const int64_t count = liana_shape_size(shape);
    const spread found = spread_of(tensor->first, tensor->second, dtype, count);
    double moved = 0;
    for (size_t i = 0; i < tensor->num_moved; i++) {
        moved = fmax(moved, spread_of(tensor->first, tensor->moved[i], dtype, count).largest);
    }
    item->type = liana__arena_string(&comparison->arena, liana__type_print(dtype, shape).text);
    item->place = place_of(&comparison->arena, shape, found.at);
    item->first = liana__load(tensor->first, dtype, found.at);
    item->second = liana__load(tensor->second, dtype, found.at);
    item->size = found.size;
    item->largest = found.largest;
    item->explained = explained_by(moved, found.size, unit);
    return add_item(comparison, item, error);
}

/* ---- a shard, on each device ---- */

/* The graph of the shard with more outputs: one for each layer. */
typedef struct watched_shard {
    liana__incident incident;
    size_t num_results, num_outputs; /* before those of the layers; all */
    void **values[2 + NUM_MOVES];    /* of the first device, of the second, of the first with moved numbers */
} watched_shard;

/* In an incident the layer stands before a newline. */
static bool is_of_layer(const liana__node *node, const char *layer)
{
    const char *file = node->where.file;
    const size_t length = strlen(layer);
    return file && strncmp(file, layer, length) == 0 && file[length] == '\n';
}

/* By node: whether the loss depends on it. */
static bool *find_forward(const liana_graph *graph)
{
    bool *forward = calloc(graph->num_nodes + 1, sizeof *forward);
    if (!forward || !graph->num_outputs) return forward;
    forward[graph->outputs[0].node->id] = true;
    for (size_t id = graph->num_nodes - 1; id > 0; id--) {
        const liana__node *node = graph->nodes[id];
        for (uint32_t i = 0; forward[id] && i < node->num_inputs; i++) forward[node->inputs[i]->id] = true;
    }
    return forward;
}

/* The last node that a layer's forward pass has becomes an output. */
static liana_status watch_layers(watched_shard *shard, const liana_model *model, liana__error *error)
{
    liana_graph *graph = shard->incident.graph;
    shard->num_results = graph->num_outputs;
    LIANA__SCOPED_MEMORY bool *forward = find_forward(graph);
    if (!forward) return liana__fail_memory(error, "the comparison of devices");
    const size_t num_nodes = graph->num_nodes;
    for (size_t i = 0; i < model->num_layers; i++) {
        const char *layer = model->layers[i].name;
        size_t id = num_nodes - 1;
        while (id > 0 && !(forward[id] && is_of_layer(graph->nodes[id], layer) &&
                           liana__dtype_is_float(graph->nodes[id]->dtype) && graph->nodes[id]->num_inputs)) {
            id--;
        }
        if (!id) continue;
        char *name = liana__arena_format(&graph->arena, "layer/%s", layer);
        if (name) {
            const liana_tensor tensor = {graph, (uint32_t)id};
            liana_graph_output(graph, name, tensor);
        }
    }

    shard->num_outputs = graph->num_outputs;
    const liana_status status = liana_graph_status(graph);
    if (status != LIANA_OK && error != &graph->context->error) *error = graph->context->error;
    return status;
}

static void free_values(void **values, size_t count)
{
    for (size_t i = 0; values && i < count; i++) free(values[i]);
    free(values);
}

static liana_status fetch_all(const liana__program *program, void ***values, liana__error *error)
{
    const liana_graph *graph = program->graph;
    *values = calloc(graph->num_outputs + 1, sizeof **values);
    for (size_t i = 0; *values && i < graph->num_outputs; i++) {
        const liana__node *node = graph->outputs[i].node;
        (*values)[i] = malloc(liana__byte_size(node->dtype, &node->shape));
        if (!(*values)[i]) return liana__fail_memory(error, "the values of a layer");
        LIANA_TRY(liana__program_fetch(program, i, (*values)[i], error));
    }
    return *values ? LIANA_OK : liana__fail_memory(error, "the values of layers");
}

/* Weights and the inputs of the model, not targets or positions. */
static void move_incident(liana__incident *incident, double unit, uint32_t draw)
{
    const liana_graph *graph = incident->graph;
    for (size_t i = 0; i < graph->num_variables; i++) {
        const liana__node *node = graph->variables[i];
        move((void *)incident->variables[i], node->dtype, liana_shape_size(&node->shape), unit, draw);
    }
    for (size_t i = 0; i < graph->num_inputs; i++) {
        const liana__node *node = graph->inputs[i];
        if (strncmp(node->name, "inputs/", 7) != 0) continue;
        move((void *)incident->inputs[i], node->dtype, liana_shape_size(&node->shape), unit, draw + 1);
    }
}

/* Runs the incident's graph, which it takes over. */
static liana_status run_incident(liana__device *device, liana__incident *incident, liana__program **program,
                                 liana__variables *variables, liana__error *error)
{
    liana_graph *graph = incident->graph;
    liana_status status = LIANA_OK;
    for (size_t i = 0; status == LIANA_OK && i < graph->num_variables; i++) {
        const liana__node *node = graph->variables[i];
        status = liana__variables_add(variables, node->name, node->dtype, &node->shape, incident->variables[i], error);
    }
    if (status != LIANA_OK) return status;
    incident->graph = NULL;
    LIANA_TRY(liana__program_create(device, graph, "comparison", variables, program, error));
    for (size_t i = 0; i < graph->num_inputs; i++) {
        const liana__node *node = graph->inputs[i];
        LIANA_TRY(liana__program_feed(*program, i, node->dtype, &node->shape, incident->inputs[i], error));
    }
    return liana__program_run(*program, error);
}

/* Makes the graph with its inputs: the shard that this device trains with. */
static liana_status prepare_shard(const liana__device_comparison_options *options, const liana__batch *batch,
                                  const liana__device *device, watched_shard *shard, liana__error *error)
{
    const liana__bad_step step = {.training = options->first, .batch = batch, .masked = device->backend->static_leaves};
    const liana__leaf_batch shards = liana__step_shards(options->first->trainer->step, batch);
    liana__incident_free(&shard->incident);
    LIANA_TRY(liana__incident_of_shard(&step, &shards, 0, &shard->incident, error));
    return watch_layers(shard, options->first->model, error);
}

/* `draw` 0: nothing is moved. */
static liana_status compute_shard(const liana__device_comparison_options *options, const liana__batch *batch,
                                  liana__device *device, uint32_t draw, watched_shard *shard, void ***values,
                                  liana__error *error)
{
    LIANA__SCOPED(liana__variables) variables = {0};
    LIANA__SCOPED_BY(liana__program_destroy_scoped) liana__program *program = NULL;
    const size_t before = shard->num_outputs;
    LIANA_TRY(prepare_shard(options, batch, device, shard, error));
    if (before && shard->num_outputs != before) {
        shard->num_outputs = before;
        return liana__fail(error, LIANA_INTERNAL, "the shards of %s and %s have different results", options->names[0],
                           options->names[1]);
    }
    if (draw) move_incident(&shard->incident, unit_of(options->first), draw);
    liana__variables_init(&variables, device);
    LIANA_TRY(run_incident(device, &shard->incident, &program, &variables, error));
    return fetch_all(program, values, error);
}

static compared_tensor tensor_of(const watched_shard *shard, size_t output)
{
    compared_tensor tensor = {.node = shard->incident.graph->outputs[output].node,
                              .first = shard->values[0][output],
                              .second = shard->values[1][output],
                              .num_moved = NUM_MOVES};
    for (size_t i = 0; i < NUM_MOVES; i++) tensor.moved[i] = shard->values[2 + i][output];
    return tensor;
}

static const char *layer_of_weight(const liana_model *model, const char *weight)
{
    const int found = liana__model_find_weight(model, weight);
    return found < 0 ? "" : model->layers[model->weights[found].layer].name;
}

/* `with_loss`: there are no updates that would tell it. */
static liana_status add_shard(const liana__training *training, const watched_shard *shard, bool with_loss,
                              liana__device_comparison *comparison, liana__error *error)
{
    const liana_graph *graph = shard->incident.graph;
    const double unit = unit_of(training);
    for (size_t i = shard->num_results; i < graph->num_outputs; i++) {
        const char *layer = liana__arena_string(&comparison->arena, graph->outputs[i].name + strlen("layer/"));
        const compared_tensor tensor = tensor_of(shard, i);
        liana__device_difference item = {.what = LIANA__COMPARED_OUTPUT, .layer = layer, .name = layer};
        LIANA_TRY(add_tensor(comparison, &tensor, unit, &item, error));
    }
    if (with_loss) {
        const compared_tensor tensor = tensor_of(shard, 0);
        liana__device_difference item = {.what = LIANA__COMPARED_LOSS, .layer = "", .name = "the first shard"};
        LIANA_TRY(add_tensor(comparison, &tensor, unit, &item, error));
    }
    for (size_t i = shard->num_results; i-- > 1;) {
        const compared_tensor tensor = tensor_of(shard, i);
        liana__device_difference item = {.what = LIANA__COMPARED_GRADIENT,
                                         .layer = layer_of_weight(training->model, graph->outputs[i].name),
                                         .name = liana__arena_string(&comparison->arena, graph->outputs[i].name)};
        LIANA_TRY(add_tensor(comparison, &tensor, unit, &item, error));
    }
    return LIANA_OK;
}

static liana_status compare_shard(const liana__device_comparison_options *options, const liana__batch *batch,
                                  liana__device_comparison *comparison, liana__error *error)
{
    watched_shard shard = {0};
    comparison->shard_size = liana__step_shards(options->first->trainer->step, batch).leaves[0].size;
    liana_status status = compute_shard(options, batch, options->second->device, 0, &shard, &shard.values[1], error);
    for (uint32_t draw = 0; status == LIANA_OK && draw <= NUM_MOVES; draw++) {
        void ***values = draw ? &shard.values[1 + draw] : &shard.values[0];
        liana__device *device = draw ? options->moved->device : options->first->device;
        status = compute_shard(options, batch, device, draw, &shard, values, error);
    }
    /* Once more, for names and types. */
    if (status == LIANA_OK) status = prepare_shard(options, batch, options->first->device, &shard, error);
    if (status == LIANA_OK) status = add_shard(options->first, &shard, !options->updates, comparison, error);
    for (size_t i = 0; i < 2 + NUM_MOVES; i++) free_values(shard.values[i], shard.num_outputs);
    liana__incident_free(&shard.incident);
    return status;
}

/* ---- updates ---- */

/* All variables of the others become those of the first; `moved` has its weights moved. */
static liana_status share_state(const liana__device_comparison_options *options, liana__error *error)
{
    const liana__variables *from = &options->first->variables;
    for (size_t i = 0; i < from->count; i++) {
        const liana__buffer *buffer = from->items[i].buffer;
        void *data = malloc(buffer->size + 1);
        if (!data) return liana__fail_memory(error, "a weight");
        liana_status status = liana__variable_read(&from->items[i], data, error);
        if (status == LIANA_OK) status = liana__variable_write(&options->second->variables.items[i], data, error);
        if (liana__model_find_weight(options->first->model, from->items[i].name) >= 0) {
            move(data, buffer->dtype, liana_shape_size(&buffer->shape), unit_of(options->first), 1);
        }
        if (status == LIANA_OK) status = liana__variable_write(&options->moved->variables.items[i], data, error);
        free(data);
        LIANA_TRY(status);
    }
    return LIANA_OK;
}

/* One update of one training; *loss is its mean. */
static liana_status train(liana__training *training, const char *device, const liana__batch *batch, int64_t update,
                          double *loss, liana__error *error)
{
    const float *sums;
    liana__totals totals;
    liana__trainer *trainer = training->trainer;
    const double rate = liana__training_rate(training, &training->learning_rate, update - 1);
    liana_status status = liana__step_prepare(trainer->step, batch->num_positions, true, error);
    if (status == LIANA_OK) status = liana__trainer_step(trainer, batch, rate, update, &sums, error);
    if (status != LIANA_OK) {
        return liana__fail_within(error, "%s, update %lld", device, (long long)update);
    }
    liana__training_keep_rate(training, rate);
    LIANA_TRY(liana__totals_create(training->objective, &totals, error));
    liana__totals_add(&totals, sums, liana__batch_step_count(batch), 0);
    *loss = liana__totals_value(&totals, 0);
    liana__totals_free(&totals);
    return LIANA_OK;
}

/* `moved_most`: the most that moving has changed a loss by so far. */
static liana_status update(const liana__device_comparison_options *options, const liana__batch *batch,
                           double *moved_most, liana__device_comparison *comparison, liana__error *error)
{
    double first, second, moved;
    liana__training *training = options->first;
    const int64_t number = comparison->num_updates + 1;
    LIANA_TRY(liana__batch_check(training->trainer, batch, options->loader, error));
    if (number == 1) {
        LIANA_TRY(compare_shard(options, batch, comparison, error));
    }
    if (!options->updates) return LIANA_OK;
    LIANA_TRY(train(training, options->names[0], batch, number, &first, error));
    LIANA_TRY(train(options->second, options->names[1], batch, number, &second, error));
    LIANA_TRY(train(options->moved, options->names[0], batch, number, &moved, error));
    *moved_most = fmax(*moved_most, difference_of(first, moved));
    comparison->num_updates = number;
    const liana__device_difference item = {.what = LIANA__COMPARED_LOSS,
                                           .layer = "",
                                           .name = liana__arena_format(&comparison->arena, "update %lld",
                                                                       (long long)number),
                                           .type = "",
                                           .place = "",
                                           .first = first,
                                           .second = second,
                                           .size = fabs(first),
                                           .largest = difference_of(first, second),
                                           .explained = explained_by(*moved_most, fabs(first), unit_of(training))};
    return add_item(comparison, &item, error);
}

static liana_status train_all(const liana__device_comparison_options *options, liana__device_comparison *comparison,
                              liana__error *error)
{
    liana_status status = LIANA_OK;
    double moved_most = 0;
    LIANA_TRY(liana__loader_begin(options->loader, 0, 0, error));
    uint64_t num_empty = 0; /* batches one after the other whose examples are all left out */
    while (status == LIANA_OK && (comparison->num_updates < options->updates || comparison->count == 0)) {
        liana__batch *batch;
        LIANA_TRY(liana__loader_next(options->loader, &batch, error));
        if (!batch) break;
        num_empty = liana__batch_step_count(batch) > 0 ? 0 : num_empty + 1;
        if (num_empty == 0) status = update(options, batch, &moved_most, comparison, error);
        liana__loader_release(options->loader, batch);
        if (num_empty > liana__loader_steps_per_epoch(options->loader, 0)) break;
    }
    if (status != LIANA_OK || comparison->count) return status;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "no batch of an epoch has an example that can be used: there is nothing to compare; "
                       "'liana check' says what is wrong with the data");
}

/* ---- weights ---- */

static liana_status compare_weight(const liana__device_comparison_options *options, size_t weight,
                                   liana__device_comparison *comparison, liana__error *error)
{
    const liana__training *trainings[] = {options->first, options->second, options->moved};
    const liana_model *model = options->first->model;
    const char *name = model->weights[weight].name;
    const liana__variable *variable = liana__variables_find(&options->first->variables, name);
    if (!variable) return LIANA_OK;
    LIANA__SCOPED_MEMORY char *values = malloc(3 * variable->buffer->size + 1);
    if (!values) return liana__fail_memory(error, "a weight");
    liana_status status = LIANA_OK;
    for (size_t i = 0; status == LIANA_OK && i < 3; i++) {
        const liana__variable *found = liana__variables_find(&trainings[i]->variables, name);
        status = liana__variable_read(found, values + i * variable->buffer->size, error);
    }
    const liana__node node = {.dtype = variable->buffer->dtype, .shape = variable->buffer->shape};
    const compared_tensor tensor = {.node = &node,
                                    .first = values,
                                    .second = values + variable->buffer->size,
                                    .moved = {values + 2 * variable->buffer->size},
                                    .num_moved = 1};
    liana__device_difference item = {.what = LIANA__COMPARED_WEIGHT,
                                     .layer = model->layers[model->weights[weight].layer].name,
                                     .name = liana__arena_string(&comparison->arena, name)};
    return status == LIANA_OK ? add_tensor(comparison, &tensor, unit_of(options->first), &item, error) : status;
}

liana_status liana__device_comparison_run(const liana__device_comparison_options *options,
                                          liana__device_comparison *comparison, liana__error *error)
{
    LIANA_TRY(share_state(options, error));
    LIANA_TRY(train_all(options, comparison, error));
    for (size_t i = 0; options->updates && i < options->first->model->num_weights; i++) {
        LIANA_TRY(compare_weight(options, i, comparison, error));
    }
    return LIANA_OK;
}

const liana__device_difference *liana__device_comparison_first(const liana__device_comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++) {
        if (!liana__is_explained(&comparison->items[i])) return &comparison->items[i];
    }
    return NULL;
}

void liana__device_comparison_free(liana__device_comparison *comparison)
{
    free(comparison->items);
    liana__arena_free(&comparison->arena);
    *comparison = (liana__device_comparison){0};
}
