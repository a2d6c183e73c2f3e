/* The graphs of a step, from a model, a loss, metrics and an optimizer. */
#include "train/objective/step_graphs.h"

#include "ir/device_scope.h"
#include "models/preprocessing.h"
#include "passes/autodiff.h"

#include <stdio.h>
#include <stdlib.h>

liana__trainer_input liana__trainer_input_of(const liana__trainer_options *options, size_t input)
{
    liana__model_port port = liana__model_input(options->model, input);
    liana__trainer_input found = {port.dtype, port.shape.rank == 4};
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

liana__component_name liana__input_component(const liana_model *model, size_t input)
{
    return name_component("inputs/", liana__model_input(model, input).name);
}

liana__component_name liana__target_component(const liana__objective *objective, size_t output)
{
    return name_component("targets/", objective->outputs[output].name);
}

liana__component_name liana__partner_component(const liana__objective *objective, size_t output)
{
    return name_component("partners/", objective->outputs[output].name);
}

liana_status liana__model_sums_create(const liana_model *model, liana__step_sums *sums, liana__error *error)
{
    *sums = (liana__step_sums){.items = calloc(model->num_weights + 1, sizeof *sums->items)};
    return sums->items ? LIANA_OK : liana__fail_memory(error, "the trainer");
}

void liana__model_sums_free(liana__step_sums *sums)
{
    free(sums->items);
    *sums = (liana__step_sums){0};
}

static void add_sum(const liana_model *model, size_t weight, liana__step_sums *sums, liana__step_sum item)
{
    item.variable = model->weights[weight].name;
    item.dtype = LIANA_F32;
    item.shape = model->weights[weight].shape;
    sums->num_gradients += item.is_gradient;
    sums->items[sums->count++] = item;
}

/* What training and evaluation have in common: the model's results for a shard, and the sums that describe them. */
typedef struct shard {
    liana_tensor present; /* [size]; invalid: no example is missing */
    liana__model_results results;
    liana__objective_call measured;
    liana_tensor rows; /* [size, values]: predictions; invalid: there are none */
} shard;

static liana_tensor build_input(const liana__trainer_options *options, liana_graph *graph, size_t index, int64_t size)
{
    liana__model_port port = liana__model_input(options->model, index);
    liana__trainer_input data = liana__trainer_input_of(options, index);
    port.shape.dims[0] = size;
    liana_tensor x =
        liana_graph_input(graph, liana__input_component(options->model, index).text, data.dtype, port.shape);
    if (data.is_image) return liana__preprocess(x, options->scale);
    return data.dtype == port.dtype ? x : liana_op_cast(x, port.dtype);
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

/* What the batch says of the examples of a leaf beside inputs and targets. */
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
    if (training && objective->num_masked) {
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

static void call_model(const liana__trainer_options *options, const liana_tensor *inputs, const liana__model_mode *mode,
                       int64_t size, shard *made)
{
    made->results = liana__model_call(options->model, inputs, mode);
    if (liana_graph_status(mode->positions.graph) != LIANA_OK) return;
    take_results(&made->results, &made->measured);
    made->measured.penalties = made->results.penalties;
    liana__objective_build(options->objective, &made->measured);
    if (!mode->training) made->rows = predictions_in_rows(options->objective, &made->measured, size);
}

static void call_function(const liana__leaf_function *function, const liana_tensor *inputs,
                          const liana__model_mode *mode, int64_t size, shard *made)
{
    liana__function_call call = {.graph = mode->positions.graph,
                                 .size = size,
                                 .training = mode->training,
                                 .inputs = inputs,
                                 .positions = mode->positions,
                                 .present = mode->present,
                                 .scales = made->measured.scales};
    function->build(function->user, &call);
    made->results =
        (liana__model_results){.weights = call.weights, .updates = call.updates, .num_updates = call.num_updates};
    made->measured.loss = call.loss;
    made->measured.sums = call.sums;
    made->rows = call.rows;
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
    for (size_t i = 0; i < liana__model_num_inputs(options->model); i++) {
        inputs[i] = build_input(options, graph, i, size);
    }
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
    if (options->function) {
        call_function(options->function, inputs, &mode, size, &made);
    } else {
        call_model(options, inputs, &mode, size, &made);
    }
    if (liana_graph_status(graph) == LIANA_OK) liana_graph_output(graph, "sums", call->sums);
    return made;
}

/* Where the model's last layer was written. */
static liana_location end_of(const liana_model *model)
{
    const liana_location here = LIANA_HERE;
    const liana_location where = model->num_nodes ? model->nodes[model->num_nodes - 1].where : here;
    return where.file ? where : here;
}

static void add_gradients(const liana_model *model, liana_graph *graph, const shard *made, liana__step_sums *sums)
{
    liana_tensor *wrt = liana__arena_allocate(&graph->arena, 2 * (model->num_weights + 1) * sizeof *wrt);
    if (!wrt) {
        liana__graph_fail(graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the gradients");
        return;
    }
    liana_tensor *gradients = wrt + model->num_weights + 1;
    size_t count = 0;
    for (size_t i = 0; i < model->num_weights; i++) {
        if (liana__weight_trainable(model, i)) wrt[count++] = made->results.weights[i];
    }
    if (!liana__require_gradient(end_of(model), made->measured.loss, wrt, count)) return;
    liana_gradients(made->measured.loss, wrt, count, gradients);
    for (size_t i = 0; i < model->num_weights; i++) {
        if (!liana__weight_trainable(model, i)) continue;
        liana_graph_output(graph, model->weights[i].name, gradients[sums->count]);
        add_sum(model, i, sums, (liana__step_sum){.is_gradient = true});
    }
}

/* The number of a leaf's examples. */
static liana_tensor count_examples(liana_graph *graph, const shard *made, int64_t size)
{
    if (!made->present.id) return liana_graph_scalar(graph, LIANA_F32, (double)size);
    return liana_op_reduce_sum(made->present, LIANA_ALL_AXES, false);
}

/* Statistics as sums over examples, in the memory of the graph: made before the gradients, so that they are ready to be
 * sent before these are. NULL: no memory. */
static const liana_tensor *weigh_statistics(liana_graph *graph, const shard *made, int64_t size)
{
    const size_t count = made->results.num_updates;
    liana_tensor *weighted = liana__arena_allocate(&graph->arena, (count + 1) * sizeof *weighted);
    if (!weighted) {
        liana__graph_fail(graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the statistics");
        return NULL;
    }
    const liana_tensor examples = count_examples(graph, made, size);
    for (size_t i = 0; i < count; i++) {
        weighted[i] = liana_op_multiply(made->results.updates[i].statistic, examples);
    }
    return weighted;
}

static void add_statistics(const liana_model *model, liana_graph *graph, const shard *made,
                           const liana_tensor *weighted, liana__step_sums *sums)
{
    for (size_t i = 0; i < made->results.num_updates; i++) {
        const liana__model_update *update = &made->results.updates[i];
        const char *about = update->about == LIANA__NO_WEIGHT ? NULL : model->weights[update->about].name;
        liana_graph_output(graph, model->weights[update->weight].name, weighted[i]);
        add_sum(model, update->weight, sums, (liana__step_sum){.momentum = update->momentum, .about = about});
    }
}

/* The outputs of a training shard behind its vector. */
static void add_sums(const liana__trainer_options *options, liana_graph *graph, const shard *made, int64_t size,
                     liana__step_sums *sums)
{
    const liana_tensor *weighted = weigh_statistics(graph, made, size);
    sums->count = sums->num_gradients = 0;
    if (!weighted) return;
    add_gradients(options->model, graph, made, sums);
    add_statistics(options->model, graph, made, weighted, sums);
}

bool liana__shards_stand_side_by_side(const liana__trainer_options *options)
{
    if (options->function) return false;
    for (size_t i = 0; i < options->model->num_layers; i++) {
        if (!options->model->layers[i].type->keeps_shards_apart) return false;
    }
    return true;
}

static liana_tensor count_in_model(const liana__trainer_options *options, const liana_tensor *inputs,
                                   liana__objective_call *call, int64_t size)
{
    const liana__model_mode mode = {0};
    liana__model_results results = liana__model_call(options->model, inputs, &mode);
    if (liana_graph_status(inputs[0].graph) != LIANA_OK) return (liana_tensor){0};
    take_results(&results, call);
    return liana__objective_count(options->objective, call, size);
}

static liana_tensor count_in_function(const liana__trainer_options *options, liana_graph *graph,
                                      const liana_tensor *inputs, liana_tensor present, int64_t size)
{
    liana_tensor positions = liana_graph_input(graph, "positions", LIANA_U64, liana_shape_of(size));
    liana__function_call call = {.graph = graph,
                                 .size = size,
                                 .training = true,
                                 .inputs = inputs,
                                 .positions = positions,
                                 .present = present,
                                 .counting = true};
    options->function->build(options->function->user, &call);
    return call.counts;
}

static void build_counting(const liana__trainer_options *options, liana_graph *graph, const liana__shard_rows *rows)
{
    liana_tensor inputs[LIANA__MAX_INPUTS];
    liana__objective_call call = {0};
    for (size_t i = 0; i < liana__model_num_inputs(options->model); i++) {
        inputs[i] = build_input(options, graph, i, rows->size);
    }
    if (rows->masked) call.present = liana_graph_input(graph, "present", LIANA_F32, liana_shape_of(rows->size));
    if (liana_graph_status(graph) != LIANA_OK) return;
    liana_tensor counts = options->function ? count_in_function(options, graph, inputs, call.present, rows->size)
                                            : count_in_model(options, inputs, &call, rows->size);
    if (liana_graph_status(graph) == LIANA_OK) liana_graph_output(graph, "counts", counts);
}

liana_status liana__build_model_shard(liana_context *context, const liana__trainer_options *options,
                                      liana__step_kind kind, const liana__shard_rows *rows, liana__step_sums *sums,
                                      liana_graph **out)
{
    liana_graph *graph;
    *out = NULL;
    LIANA_TRY(liana_graph_create(context, &graph));
    if (kind == LIANA__STEP_COUNTING) {
        build_counting(options, graph, rows);
    } else {
        const bool training = kind == LIANA__STEP_TRAINING;
        const shard made = build_shard(options, graph, rows, training);
        const bool is_good = liana_graph_status(graph) == LIANA_OK;
        if (is_good && training) add_sums(options, graph, &made, rows->size * rows->shards, sums);
        if (is_good && !training && made.rows.id) liana_graph_output(graph, "output", made.rows);
    }
    const liana_status status = liana_graph_status(graph);
    if (status != LIANA_OK) {
        liana_graph_destroy(graph);
        return status;
    }
    *out = graph;
    return LIANA_OK;
}
