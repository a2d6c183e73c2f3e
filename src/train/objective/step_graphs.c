/* The graphs of a step, from a model, a loss, metrics and an optimizer. */
#include "train/objective/step_graphs.h"

#include "ir/device_scope.h"
#include "models/preprocessing.h"
#include "ops/autodiff.h"

#include <stdio.h>

liana__trainer_input liana__trainer_input_of(const liana__trainer_options *options, const liana__model_port *port,
                                             size_t input)
{
    liana__trainer_input found = {port->dtype, port->shape.rank == 4};
    if (options->inputs) found = options->inputs[input];
    if (found.is_image) found.dtype = options->fractions ? LIANA_F32 : LIANA_U8;
    return found;
}

static liana__component_name name_component(const char *kind, const char *name)
{
    liana__component_name made;
    snprintf(made.text, sizeof made.text, "%s%.200s", kind, name);
    return made;
}

liana__component_name liana__port_component(const liana__model_port *port)
{
    return name_component("inputs/", port->name);
}

liana__component_name liana__input_component(const liana_model *model, size_t input)
{
    const liana__model_port port = liana__model_input(model, input);
    return liana__port_component(&port);
}

liana__component_name liana__target_component(const liana__objective *objective, size_t output)
{
    return name_component("targets/", objective->outputs[output].name);
}

liana__component_name liana__partner_component(const liana__objective *objective, size_t output)
{
    return name_component("partners/", objective->outputs[output].name);
}

/* The common part of training and evaluation: the model's results for a shard, and the sums that describe them. */
typedef struct shard {
    liana_tensor present; /* [size]; invalid: no example is missing */
    liana__model_results results;
    liana__objective_call measured;
    liana_tensor rows; /* [size, values]: predictions, then states that are kept; invalid: missing */
} shard;

liana_tensor liana__build_input(const liana__trainer_options *options, liana_graph *graph,
                                const liana__model_port *port, size_t index, int64_t size)
{
    const liana__trainer_input data = liana__trainer_input_of(options, port, index);
    liana_shape shape = port->shape;
    shape.dims[0] = size;
    liana_tensor x = liana_graph_input(graph, liana__port_component(port).text, data.dtype, shape);
    if (data.is_image) return liana__preprocess(x, options->scale);
    return data.dtype == port->dtype ? x : liana_op_cast(x, port->dtype);
}

static void build_inputs(const liana__trainer_options *options, liana_graph *graph, int64_t size, liana_tensor *inputs)
{
    for (size_t i = 0; i < liana__model_num_inputs(options->model); i++) {
        const liana__model_port port = liana__model_input(options->model, i);
        inputs[i] = liana__build_input(options, graph, &port, i, size);
    }
}

/* Its target, or that of its partner: the component of this name. */
static liana_tensor build_target(const liana__trainer_options *options, liana_graph *graph, liana__component_name name,
                                 size_t index, int64_t size)
{
    const liana__objective_output *output = &options->objective->outputs[index];
    liana_shape shape = output->target_shape;
    shape.dims[0] = size;
    if (!output->choice.loss) return (liana_tensor){0};
    return liana_graph_input(graph, name.text, output->target_dtype, shape);
}

static liana_logits_kind activation_of(liana_logits_kind kind)
{
    switch (kind) {
    case LIANA_LOGITS_SOFTMAX: return LIANA_LOGITS_SOFTMAX;
    case LIANA_LOGITS_SIGMOID: return LIANA_LOGITS_SIGMOID;
    case LIANA_LOGITS_NONE: break;
    }
    return LIANA_LOGITS_NONE;
}

/* The facts of the batch about the examples of a shard that are no inputs or targets. */
static void add_components(const liana__trainer_options *options, liana_graph *graph, int64_t size, bool training,
                           liana__objective_call *call)
{
    const liana_shape column = liana_shape_of(size);
    const liana__objective *objective = options->objective;
    if (training && options->mixes) {
        for (size_t i = 0; i < objective->num_outputs; i++) {
            call->partners[i] = build_target(options, graph, liana__partner_component(options->objective, i), i, size);
        }
        call->shares = liana_graph_input(graph, LIANA__SHARES, LIANA_F32, column);
    }
    if (options->weighted) call->loss_weights = liana_graph_input(graph, LIANA__WEIGHTS, LIANA_F32, column);
    if (training && objective->num_counted) {
        liana_shape shape = liana_shape_of(size, (int64_t)objective->num_outputs);
        call->scales = liana_graph_input(graph, LIANA__SCALES, LIANA_F32, shape);
    }
    /* As in Keras, weights of classes are for the loss that is trained on, and not for metrics. */
    for (size_t i = 0; training && options->class_weights && i < objective->num_outputs; i++) {
        const liana__objective_output *output = &objective->outputs[i];
        if (!output->weighs_classes) continue;
        call->class_weights[i] = liana__class_table(output, graph, options->class_weights, options->num_class_weights);
    }
}

static void take_results(const liana__model_results *results, liana__objective_call *call)
{
    for (size_t i = 0; i < results->num_outputs; i++) {
        const liana__model_result *result = &results->outputs[i];
        liana__keep_wide(result->value);
        liana__keep_wide(result->logits);
        call->outputs[i] = result->value;
        call->logits[i] = result->logits;
        call->activations[i] = activation_of(result->logits_kind);
        call->masks[i] = result->mask;
    }
}

/* [size, values]: the predictions of all outputs, one after the other. */
static liana_tensor predictions_in_rows(const liana__objective *objective, const liana__objective_call *call,
                                        int64_t size)
{
    liana_tensor rows[LIANA__MAX_OUTPUTS];
    for (size_t i = 0; i < objective->num_outputs; i++) {
        liana_tensor predicted = call->predictions[i];
        bool is_row = liana_tensor_shape(predicted).rank == 2;
        rows[i] = is_row ? predicted : liana_op_reshape(predicted, liana_shape_of(size, -1));
    }
    return objective->num_outputs == 1 ? rows[0] : liana_op_concat(rows, objective->num_outputs, 1);
}

/* The value of a state after the batch. */
static liana_tensor new_state(const liana__model_results *results, size_t weight)
{
    for (size_t i = 0; i < results->num_updates; i++) {
        if (results->updates[i].weight == weight) return results->updates[i].statistic;
    }
    return results->weights[weight];
}

/* [size, values]: rows, and behind them the states that are kept, each a row for an example. */
static liana_tensor add_states(const liana_model *model, const liana__model_results *results, liana_tensor rows,
                               int64_t size)
{
    liana_tensor *parts = liana__arena_allocate(&rows.graph->arena, (model->num_weights + 1) * sizeof *parts);
    size_t count = 1;
    if (!liana__model_stateful_layer(model) || rows.graph->status != LIANA_OK) return rows;
    if (!parts) return liana__graph_fail(rows.graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the graph");
    parts[0] = rows;
    for (size_t i = 0; i < model->num_weights; i++) {
        if (!model->weights[i].is_state) continue;
        parts[count] = liana_op_reshape(new_state(results, i), liana_shape_of(size, -1));
        liana__keep_wide(parts[count++]);
    }
    const liana_tensor joined = liana_op_concat(parts, count, 1);
    liana__keep_wide(joined);
    return joined;
}

static void call_model(const liana__trainer_options *options, const liana_tensor *inputs, const liana__model_mode *mode,
                       int64_t size, shard *made)
{
    made->results = liana__model_call(options->model, inputs, mode);
    if (liana_graph_status(mode->positions.graph) != LIANA_OK) return;
    take_results(&made->results, &made->measured);
    made->measured.penalties = made->results.penalties;
    liana__objective_build(options->objective, &made->measured);
    if (mode->training) return;
    made->rows = predictions_in_rows(options->objective, &made->measured, size);
    made->rows = add_states(options->model, &made->results, made->rows, size);
}

static shard build_shard(const liana__trainer_options *options, liana_graph *graph, const liana__shard_rows *rows,
                         bool training)
{
    const int64_t size = rows->size * rows->shards;
    shard made = {0};
    liana__objective_call *call = &made.measured;
    liana_tensor inputs[LIANA__MAX_INPUTS];
    liana__scopes_forbid(graph, LIANA__SCOPES_OF_STRATEGY);
    graph->mixed_precision = options->mixed_precision && (training || !options->evaluates_in_float32);
    build_inputs(options, graph, size, inputs);
    for (size_t i = 0; i < options->objective->num_outputs; i++) {
        call->targets[i] = build_target(options, graph, liana__target_component(options->objective, i), i, size);
    }
    liana_tensor positions = liana_graph_input(graph, "positions", LIANA_U64, liana_shape_of(size));
    add_components(options, graph, size, training, call);
    if (rows->masked) made.present = liana_graph_input(graph, "present", LIANA_F32, liana_shape_of(size));
    call->present = made.present;
    liana__model_mode mode = {.training = training,
                              .positions = positions,
                              .present = made.present,
                              .leaves = rows->shards,
                              .seed = options->seed};
    if (liana_graph_status(graph) != LIANA_OK) return made;
    call_model(options, inputs, &mode, size, &made);
    return made;
}

/* Where the model's last layer was written. */
static liana_location end_of(const liana_model *model)
{
    const liana_location here = LIANA_HERE;
    const liana_location where = model->num_nodes ? model->nodes[model->num_nodes - 1].where : here;
    return where.file ? where : here;
}

/* Of the model's averages, as those of a call. */
static void add_statistics(const liana__model_results *results, liana_tensor examples, liana__shard_sums *sums)
{
    for (size_t i = 0; i < results->num_updates; i++) {
        const liana__model_update *update = &results->updates[i];
        const bool has_about = update->about != LIANA__NO_WEIGHT;
        const liana_variable_update made = {.variable = results->weights[update->weight],
                                            .statistic = update->statistic,
                                            .momentum = update->momentum,
                                            .about = has_about ? results->weights[update->about] : (liana_tensor){0}};
        liana__shard_sums_add_statistics(LIANA_HERE, sums, examples, &made, 1);
    }
}

static void add_gradients(const liana_model *model, liana_graph *graph, const shard *made, liana__shard_sums *sums)
{
    liana_tensor *wrt = liana__arena_allocate(&graph->arena, (model->num_weights + 1) * sizeof *wrt);
    size_t count = 0;
    if (!wrt) {
        liana__graph_fail(graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the gradients");
        return;
    }
    for (size_t i = 0; i < model->num_weights; i++) {
        if (liana__weight_trainable(model, i)) wrt[count++] = made->results.weights[i];
    }
    if (!liana__require_gradient(end_of(model), made->measured.loss, wrt, count)) return;
    liana__shard_sums_add_gradients(LIANA_HERE, sums, made->measured.loss, wrt, count);
}

bool liana__shards_stand_side_by_side(const liana__trainer_options *options)
{
    for (size_t i = 0; options->model && i < options->model->num_layers; i++) {
        const liana__layer *layer = &options->model->layers[i];
        if (!liana__layer_keeps_shards_apart(layer->type, layer->options)) return false;
    }
    return options->model != NULL;
}

/* The targets, and the weights of examples and classes, that numbers of elements depend on. */
static void add_counted(const liana__trainer_options *options, liana_graph *graph, int64_t size,
                        liana__objective_call *call)
{
    const liana__objective *objective = options->objective;
    bool weighs = false;
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const liana__objective_output *output = &objective->outputs[i];
        const bool by_weight = output->counted && output->choice.reduction == LIANA__REDUCE_WEIGHTED_MEAN;
        const bool by_class = by_weight && options->class_weights && output->weighs_classes;
        weighs |= by_weight;
        if (by_class) {
            call->class_weights[i] =
                liana__class_table(output, graph, options->class_weights, options->num_class_weights);
        }
        const bool by_target = output->counted && output->choice.loss && liana__leaves_out(&output->choice);
        if (!by_class && !by_target) continue;
        call->targets[i] = build_target(options, graph, liana__target_component(objective, i), i, size);
    }
    if (weighs && options->weighted) {
        call->loss_weights = liana_graph_input(graph, LIANA__WEIGHTS, LIANA_F32, liana_shape_of(size));
    }
}

static void build_counting(const liana__trainer_options *options, liana_graph *graph, const liana__shard_rows *rows)
{
    liana_tensor inputs[LIANA__MAX_INPUTS];
    liana__objective_call call = {0};
    const liana__model_mode mode = {0};
    build_inputs(options, graph, rows->size, inputs);
    if (rows->masked) call.present = liana_graph_input(graph, "present", LIANA_F32, liana_shape_of(rows->size));
    add_counted(options, graph, rows->size, &call);
    if (liana_graph_status(graph) != LIANA_OK) return;
    const liana__model_results results = liana__model_call(options->model, inputs, &mode);
    if (liana_graph_status(graph) != LIANA_OK) return;
    take_results(&results, &call);
    const liana_tensor counts = liana__objective_count(options->objective, &call, rows->size);
    if (liana_graph_status(graph) == LIANA_OK) liana_graph_output(graph, "counts", counts);
}

static void build_training(const liana__trainer_options *options, const liana__shard_rows *rows,
                           liana__shard_sums *sums)
{
    liana_graph *graph = sums->graph;
    const int64_t size = rows->size * rows->shards;
    const shard made = build_shard(options, graph, rows, true);
    if (liana_graph_status(graph) != LIANA_OK) return;
    /* Statistics are made before the gradients, so that they are ready to be sent before these are. */
    add_statistics(&made.results, liana__count_examples(LIANA_HERE, graph, made.present, size), sums);
    add_gradients(options->model, graph, &made, sums);
    if (liana_graph_status(graph) == LIANA_OK) liana__shard_sums_finish(sums, made.measured.sums);
}

static void build_evaluation(const liana__trainer_options *options, liana_graph *graph, const liana__shard_rows *rows)
{
    const shard made = build_shard(options, graph, rows, false);
    if (liana_graph_status(graph) != LIANA_OK) return;
    liana_graph_output(graph, "sums", made.measured.sums);
    liana_graph_output(graph, "output", made.rows);
}

liana_status liana__build_model_shard(liana_context *context, const liana__trainer_options *options,
                                      liana__step_kind kind, const liana__shard_rows *rows, liana__shard_sums *sums,
                                      liana_graph **out)
{
    *out = NULL;
    LIANA_TRY(liana_graph_create(context, &sums->graph));
    if (kind == LIANA__STEP_COUNTING) build_counting(options, sums->graph, rows);
    if (kind == LIANA__STEP_TRAINING) build_training(options, rows, sums);
    if (kind == LIANA__STEP_EVALUATION) build_evaluation(options, sums->graph, rows);
    const liana_status status = liana_graph_status(sums->graph);
    if (status != LIANA_OK) {
        liana_graph_destroy(sums->graph);
        return status;
    }
    *out = sums->graph;
    return LIANA_OK;
}
