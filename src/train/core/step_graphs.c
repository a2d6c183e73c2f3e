/* The graphs of a step, from a model, a loss, metrics and an optimizer. */
#include "train/core/step_graphs.h"

#include "models/preprocessing.h"

#include <stdio.h>
#include <stdlib.h>

const char *const liana__component_names[LIANA__NUM_COMPONENTS] = {
    [LIANA__COMPONENT_IMAGES] = "images",       [LIANA__COMPONENT_LABELS] = "labels",
    [LIANA__COMPONENT_POSITIONS] = "positions", [LIANA__COMPONENT_PARTNERS] = "partners",
    [LIANA__COMPONENT_SHARES] = "shares",
};

liana_status liana__leaf_sums_create(const liana_model *model, liana__leaf_sums *sums, liana__error *error)
{
    *sums = (liana__leaf_sums){.weights = calloc(model->num_weights + 1, sizeof *sums->weights),
                               .averages = calloc(model->num_weights + 1, sizeof *sums->averages)};
    return sums->weights && sums->averages ? LIANA_OK : liana__fail_memory(error, "the trainer");
}

void liana__leaf_sums_free(liana__leaf_sums *sums)
{
    free(sums->weights);
    free(sums->averages);
    *sums = (liana__leaf_sums){0};
}

/* What training and evaluation have in common: the model's results for a shard, and the sums that describe them. */
typedef struct shard {
    liana_tensor present; /* [size]; invalid: no example is missing */
    liana__model_results results;
    liana_tensor loss; /* scalar: the sum over the shard */
} shard;

static liana_tensor scaled_images(const liana__trainer_options *options, liana_graph *graph, int64_t size)
{
    liana_shape shape = liana__model_input_shape(options->model);
    shape.dims[0] = size;
    return liana__preprocess(liana_graph_input(graph, "images", LIANA_U8, shape), options->scale);
}

/* Of the examples of a leaf: who they are, and, in training that mixes, who else. */
typedef struct truth {
    liana_tensor labels;
    liana_tensor partners; /* invalid: nobody */
    liana_tensor shares;
    liana_tensor present; /* [size]: 1, or 0 where the example is missing; invalid: none is */
} truth;

/* What both labels give, each by its share. */
static liana_tensor share_out(const truth *known, liana_tensor own, liana_tensor partner)
{
    liana_tensor shares = known->shares;
    if (liana_tensor_dtype(own) != LIANA_F32) shares = liana_op_cast(shares, liana_tensor_dtype(own));
    liana_tensor one = liana_graph_scalar(shares.graph, liana_tensor_dtype(shares), 1);
    return liana_op_add(liana_op_multiply(own, shares), liana_op_multiply(partner, liana_op_subtract(one, shares)));
}

/* What a loss on probabilities may start from. */
static liana_tensor softmax_logits(const liana__model_result *output)
{
    return output->logits_kind == LIANA__LOGITS_SOFTMAX ? output->logits : (liana_tensor){0};
}

static liana_tensor loss_of(const liana__trainer_options *options, const liana__model_results *results,
                            liana_tensor labels, liana_tensor class_weights)
{
    const liana__model_result *output = &results->outputs[0];
    liana_tensor loss = options->loss->per_example(output->value, softmax_logits(output), labels);
    if (!class_weights.id) return loss;
    return liana_op_multiply(loss, liana_op_gather(class_weights, labels, 0));
}

/* Missing examples add nothing. */
static liana_tensor sum_of_present(const truth *known, liana_tensor each)
{
    if (known->present.id) each = liana_op_multiply(each, liana_op_cast(known->present, liana_tensor_dtype(each)));
    return liana_op_reduce_sum(each, LIANA_ALL_AXES, false);
}

/* As in Keras, weights of classes are for the loss that is trained on, and not for metrics. */
static liana_tensor class_weights_of(const liana__trainer_options *options, liana_graph *graph, liana_dtype dtype)
{
    int64_t classes = liana__model_output_shape(options->model).dims[1];
    float *weights = liana__arena_allocate(&graph->arena, (size_t)classes * sizeof *weights);
    if (!weights) return (liana_tensor){0};
    for (int64_t i = 0; i < classes; i++)
        weights[i] = i < options->num_class_weights ? (float)options->class_weights[i] : 1;
    liana_tensor constant = liana_graph_constant(graph, LIANA_F32, liana_shape_of(classes), weights);
    return dtype == LIANA_F32 ? constant : liana_op_cast(constant, dtype);
}

static liana_tensor total_loss(const liana__trainer_options *options, liana_graph *graph,
                               const liana__model_results *results, const truth *known, bool training)
{
    liana_tensor weights = {0};
    if (training && options->class_weights) {
        weights = class_weights_of(options, graph, liana_tensor_dtype(results->outputs[0].value));
    }
    liana_tensor each = loss_of(options, results, known->labels, weights);
    if (known->partners.id) each = share_out(known, each, loss_of(options, results, known->partners, weights));
    return sum_of_present(known, each);
}

static liana_tensor total_metric(const liana__metric *metric, const liana__model_results *results, const truth *known)
{
    liana_tensor each = metric->per_example(results->outputs[0].value, known->labels);
    if (known->partners.id)
        each = share_out(known, each, metric->per_example(results->outputs[0].value, known->partners));
    return liana_op_reshape(sum_of_present(known, each), liana_shape_of(1));
}

static shard build_shard(const liana__trainer_options *options, liana_graph *graph, int64_t size, bool masked,
                         bool training)
{
    graph->mixed_precision = options->mixed_precision;
    liana_tensor x = scaled_images(options, graph, size);
    truth known = {.labels = liana_graph_input(graph, "labels", LIANA_S32, liana_shape_of(size))};
    liana_tensor positions = liana_graph_input(graph, "positions", LIANA_U64, liana_shape_of(size));
    if (training && options->mixes) {
        known.partners = liana_graph_input(graph, "partners", LIANA_S32, liana_shape_of(size));
        known.shares = liana_graph_input(graph, "shares", LIANA_F32, liana_shape_of(size));
    }
    if (masked) known.present = liana_graph_input(graph, "present", LIANA_F32, liana_shape_of(size));
    liana__model_mode mode = {.training = training,
                              .positions = positions,
                              .present = known.present,
                              .seed = options->seed};
    shard made = {.present = known.present, .results = liana__model_call(options->model, &x, &mode)};
    const liana__model_results *results = &made.results;
    liana__keep_wide(results->outputs[0].value);
    liana__keep_wide(softmax_logits(&results->outputs[0]));
    liana_tensor sums[1 + LIANA__MAX_METRICS];
    made.loss = total_loss(options, graph, results, &known, training);
    sums[0] = liana_op_reshape(made.loss, liana_shape_of(1));
    for (size_t i = 0; i < options->num_metrics; i++) {
        sums[1 + i] = total_metric(options->metrics[i], results, &known);
    }
    liana_graph_output(graph, "sums", liana_op_concat(sums, 1 + options->num_metrics, 0));
    return made;
}

/* The status of a finished graph; a failed one is destroyed. */
static liana_status finish_graph(liana_graph *graph, liana_graph **out)
{
    liana_status status = liana_graph_status(graph);
    if (status != LIANA_OK) {
        liana_graph_destroy(graph);
        graph = NULL;
    }
    *out = graph;
    return status;
}

static void add_gradients(const liana_model *model, liana_graph *graph, const shard *made, liana__leaf_sums *sums)
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
    liana_gradients(made->loss, wrt, count, gradients);
    for (size_t i = 0; i < model->num_weights; i++) {
        if (!liana__weight_trainable(model, i)) continue;
        liana_graph_output(graph, model->weights[i].name, gradients[sums->count]);
        sums->weights[sums->count++] = i;
    }
}

/* The number of a leaf's examples. */
static liana_tensor count_examples(liana_graph *graph, const shard *made, int64_t size)
{
    if (!made->present.id) return liana_graph_scalar(graph, LIANA_F32, (double)size);
    return liana_op_reduce_sum(made->present, LIANA_ALL_AXES, false);
}

static void add_statistics(const liana_model *model, liana_graph *graph, const shard *made, int64_t size,
                           liana__leaf_sums *sums)
{
    liana_tensor count = count_examples(graph, made, size);
    for (size_t i = 0; i < made->results.num_updates; i++) {
        const liana__model_update *update = &made->results.updates[i];
        sums->averages[update->weight] = (liana__average){update->momentum, update->about};
        liana_graph_output(graph, model->weights[update->weight].name, liana_op_multiply(update->statistic, count));
        sums->weights[sums->count++] = update->weight;
    }
}

liana_status liana__build_training_leaf(liana_context *context, const liana__trainer_options *options, int64_t size,
                                        bool masked, liana__leaf_sums *sums, liana_graph **out)
{
    *out = NULL;
    liana_graph *graph;
    LIANA_TRY(liana_graph_create(context, &graph));
    sums->count = 0;
    shard made = build_shard(options, graph, size, masked, true);
    if (liana_graph_status(graph) == LIANA_OK) {
        add_gradients(options->model, graph, &made, sums);
        add_statistics(options->model, graph, &made, size, sums);
    }
    return finish_graph(graph, out);
}

liana_status liana__build_evaluation_leaf(liana_context *context, const liana__trainer_options *options, int64_t size,
                                          bool masked, liana_graph **out)
{
    *out = NULL;
    liana_graph *graph;
    LIANA_TRY(liana_graph_create(context, &graph));
    shard made = build_shard(options, graph, size, masked, false);
    liana_graph_output(graph, "output", made.results.outputs[0].value);
    return finish_graph(graph, out);
}

void liana__slot_name(const liana__trainer_options *options, size_t slot, const char *weight, char *name, size_t size)
{
    snprintf(name, size, "optimizer/%s/%s/%s", options->optimizer->name, options->optimizer->slot_names[slot], weight);
}
