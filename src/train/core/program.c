/* Builds the graphs of a step and compiles graphs. */
#include "train/core/program.h"

#include "base/file.h"
#include "models/preprocessing.h"

#include <stdio.h>
#include <stdlib.h>

void liana__program_free(liana__program *program)
{
    if (program->executable) program->executable->device->backend->executable_destroy(program->executable);
    free(program->variables);
    liana_graph_destroy(program->graph);
    *program = (liana__program){0};
}

/* LIANA_DUMP: the graph as text and as dot. */
static liana_status dump_graph(const liana_graph *graph, const char *name, liana__error *error)
{
    const char *folder = graph->context->dump_folder;
    if (!folder) return LIANA_OK;
    LIANA_TRY(liana__folder_make(folder, error));
    static const char *const endings[] = {"txt", "dot"};
    for (int i = 0; i < 2; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.%s", folder, name, endings[i]);
        char *text = i ? liana_graph_dot(graph) : liana_graph_text(graph);
        if (!text) return liana__fail_memory(error, path);
        liana_status status = liana__file_replace(path, text, strlen(text), error);
        free(text);
        LIANA_TRY(status);
    }
    return LIANA_OK;
}

liana_status liana__program_compile(liana__device *device, liana_graph *graph, const char *name,
                                    const liana__variables *variables, liana__program *program, liana__error *error)
{
    *program = (liana__program){.graph = graph};
    liana_status status = dump_graph(graph, name, error);
    if (status == LIANA_OK) status = device->backend->compile(device, graph, &program->executable, error);
    if (status == LIANA_OK) status = liana__variables_bind(variables, graph, &program->variables, error);
    if (status != LIANA_OK) liana__program_free(program);
    return status;
}

/* What training and evaluation have in common: the model's results for a shard, and the sums that describe them. */
typedef struct shard {
    liana__model_results results;
    liana_tensor loss; /* scalar: the sum over the shard */
} shard;

static liana_tensor scaled_images(const liana__trainer_options *options, liana_graph *graph, int64_t size)
{
    liana_shape shape = liana__model_input_shape(options->model);
    shape.dims[0] = size;
    return liana__preprocess(liana_graph_input(graph, "images", LIANA_U8, shape), options->scale);
}

/* Of the examples of a shard: who they are, and, in training that mixes, who else. */
typedef struct truth {
    liana_tensor labels;
    liana_tensor partners; /* invalid: nobody */
    liana_tensor shares;
} truth;

/* What both labels give, each by its share. */
static liana_tensor share_out(const truth *known, liana_tensor own, liana_tensor partner)
{
    liana_tensor shares = known->shares;
    if (liana_tensor_dtype(own) != LIANA_F32) shares = liana_op_cast(shares, liana_tensor_dtype(own));
    liana_tensor one = liana_graph_scalar(shares.graph, liana_tensor_dtype(shares), 1);
    return liana_op_add(liana_op_multiply(own, shares), liana_op_multiply(partner, liana_op_subtract(one, shares)));
}

static liana_tensor loss_of(const liana__trainer_options *options, const liana__model_results *results,
                            liana_tensor labels, liana_tensor class_weights)
{
    liana_tensor loss = options->loss->per_example(results->output, results->logits, labels);
    if (!class_weights.id) return loss;
    return liana_op_multiply(loss, liana_op_gather(class_weights, labels, 0));
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
        weights = class_weights_of(options, graph, liana_tensor_dtype(results->output));
    }
    liana_tensor each = loss_of(options, results, known->labels, weights);
    if (known->partners.id) each = share_out(known, each, loss_of(options, results, known->partners, weights));
    return liana_op_reduce_sum(each, LIANA_ALL_AXES, false);
}

static liana_tensor total_metric(const liana__metric *metric, const liana__model_results *results, const truth *known)
{
    liana_tensor each = metric->per_example(results->output, known->labels);
    if (known->partners.id) each = share_out(known, each, metric->per_example(results->output, known->partners));
    return liana_op_reshape(liana_op_reduce_sum(each, LIANA_ALL_AXES, false), liana_shape_of(1));
}

static shard build_shard(const liana__trainer_options *options, liana_graph *graph, int64_t size, bool training)
{
    graph->mixed_precision = options->mixed_precision;
    liana_tensor x = scaled_images(options, graph, size);
    truth known = {.labels = liana_graph_input(graph, "labels", LIANA_S32, liana_shape_of(size))};
    liana_tensor positions = liana_graph_input(graph, "positions", LIANA_U64, liana_shape_of(size));
    if (training && options->mixes) {
        known.partners = liana_graph_input(graph, "partners", LIANA_S32, liana_shape_of(size));
        known.shares = liana_graph_input(graph, "shares", LIANA_F32, liana_shape_of(size));
    }
    liana__model_mode mode = {.training = training, .positions = positions, .seed = options->seed};
    shard made = {.results = liana__model_call(options->model, x, &mode)};
    const liana__model_results *results = &made.results;
    liana__keep_wide(results->output);
    liana__keep_wide(results->logits);
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

static void add_gradients(const liana_model *model, liana_graph *graph, const shard *made)
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
    count = 0;
    for (size_t i = 0; i < model->num_weights; i++) {
        if (liana__weight_trainable(model, i)) liana_graph_output(graph, model->weights[i].name, gradients[count++]);
    }
}

liana_status liana__build_training_shard(liana_context *context, const liana__trainer_options *options, int64_t size,
                                         liana__average *averages, liana_graph **out)
{
    *out = NULL;
    liana_graph *graph;
    LIANA_TRY(liana_graph_create(context, &graph));
    shard made = build_shard(options, graph, size, true);
    const liana_model *model = options->model;
    if (liana_graph_status(graph) == LIANA_OK) {
        add_gradients(model, graph, &made);
        liana_tensor count = liana_graph_scalar(graph, LIANA_F32, (double)size);
        for (size_t i = 0; i < made.results.num_updates; i++) {
            const liana__model_update *update = &made.results.updates[i];
            averages[update->weight] = (liana__average){update->momentum, update->about};
            liana_graph_output(graph, model->weights[update->weight].name, liana_op_multiply(update->statistic, count));
        }
    }
    return finish_graph(graph, out);
}

liana_status liana__build_evaluation_shard(liana_context *context, const liana__trainer_options *options, int64_t size,
                                           liana_graph **out)
{
    *out = NULL;
    liana_graph *graph;
    LIANA_TRY(liana_graph_create(context, &graph));
    shard made = build_shard(options, graph, size, false);
    liana_graph_output(graph, "output", made.results.output);
    return finish_graph(graph, out);
}

void liana__slot_name(const liana__trainer_options *options, size_t slot, const char *weight, char *name, size_t size)
{
    snprintf(name, size, "optimizer/%s/%s/%s", options->optimizer->name, options->optimizer->slot_names[slot], weight);
}

/* The scalars of one update. */
typedef struct update_scalars {
    liana_tensor count;
    liana_tensor learning_rate;
    liana_tensor iteration;
} update_scalars;

static liana_tensor weight_variable(liana_graph *graph, const liana__weight *weight)
{
    return liana_graph_variable(graph, weight->name, LIANA_F32, weight->shape);
}

static void update_weight(const liana__trainer_options *options, liana_graph *graph, const liana__weight *weight,
                          liana_tensor sum, const update_scalars *scalars)
{
    liana__optimizer_step step = {.options = options->optimizer_options,
                                  .variable = weight_variable(graph, weight),
                                  .gradient = liana_op_divide(sum, scalars->count),
                                  .learning_rate = scalars->learning_rate,
                                  .iteration = scalars->iteration};
    size_t num_slots = liana__optimizer_num_slots(options->optimizer, options->optimizer_options);
    for (size_t i = 0; i < num_slots; i++) {
        char name[512];
        liana__slot_name(options, i, weight->name, name, sizeof name);
        step.slots[i] = liana_graph_variable(graph, name, LIANA_F32, weight->shape);
    }
    options->optimizer->update(&step);
    liana_graph_assign(step.variable, step.new_variable);
    for (size_t i = 0; i < num_slots; i++) liana_graph_assign(step.slots[i], step.new_slots[i]);
}

/* What the moving averages need of each other: by weight, the sum of its statistic. */
typedef struct statistics {
    const liana_model *model;
    const liana__average *averages;
    liana_tensor *sums;
    const update_scalars *scalars;
} statistics;

/* The statistic of the whole update. */
static liana_tensor whole_statistic(liana_graph *graph, const statistics *known, size_t weight)
{
    liana_tensor value = liana_op_divide(known->sums[weight], known->scalars->count);
    size_t about = known->averages[weight].about;
    if (about == LIANA__NO_WEIGHT) return value;
    liana_tensor centre = weight_variable(graph, &known->model->weights[about]);
    liana_tensor moved = liana_op_subtract(whole_statistic(graph, known, about), centre);
    return liana_op_subtract(value, liana_op_square(moved));
}

/* average + (1 - momentum) * (statistic - average) */
static void update_average(liana_graph *graph, const statistics *known, size_t weight)
{
    liana_tensor average = weight_variable(graph, &known->model->weights[weight]);
    liana_tensor change = liana_op_subtract(whole_statistic(graph, known, weight), average);
    liana_tensor rate = liana_graph_scalar(graph, LIANA_F32, 1 - known->averages[weight].momentum);
    liana_graph_assign(average, liana_op_add(average, liana_op_multiply(rate, change)));
}

liana_status liana__build_update(liana_context *context, const liana__trainer_options *options,
                                 const liana_graph *training_shard, const liana__average *averages, liana_graph **out)
{
    *out = NULL;
    const liana_model *model = options->model;
    liana_graph *graph;
    LIANA_TRY(liana_graph_create(context, &graph));
    liana_tensor *sums = liana__arena_allocate(&graph->arena, (model->num_weights + 1) * sizeof *sums);
    if (!sums) liana__graph_fail(graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the update");
    for (size_t i = 1; sums && i < training_shard->num_outputs; i++) {
        const liana__output *output = &training_shard->outputs[i];
        size_t weight = (size_t)liana__model_find_weight(model, output->name);
        sums[weight] = liana_graph_input(graph, output->name, output->node->dtype, output->node->shape);
    }
    update_scalars scalars = {.count = liana_graph_input(graph, "count", LIANA_F32, LIANA_SCALAR),
                              .learning_rate = liana_graph_input(graph, "learning_rate", LIANA_F32, LIANA_SCALAR),
                              .iteration = liana_graph_input(graph, "iteration", LIANA_F32, LIANA_SCALAR)};
    statistics known = {model, averages, sums, &scalars};
    for (size_t weight = 0; sums && weight < model->num_weights; weight++) {
        if (!sums[weight].id) continue;
        if (liana__weight_trainable(model, weight)) {
            update_weight(options, graph, &model->weights[weight], sums[weight], &scalars);
        } else {
            update_average(graph, &known, weight);
        }
    }
    return finish_graph(graph, out);
}
