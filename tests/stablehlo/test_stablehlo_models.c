/* Whole graphs as StableHLO against the reference device: a training shard of a convolutional network with its
 * gradients, an update with Adam, and a network of the zoo, run by tests/stablehlo/check.py. */
#include "harness/harness.h"

#include "base/random.h"
#include "harness/one_reference.h"
#include "harness/stablehlo_cases.h"
#include "ir/graph.h"
#include "stablehlo/module.h"

#include <liana/liana.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WEIGHTS = 512, BATCH = 3, CLASSES = 5 };

/* ---- values and a run ---- */

/* Numbers that are neither special nor near a place where a small difference becomes a large one: variances and second
 * moments are far from 0. Labels are classes, positions and counts small. */
static double draw(const liana__node *node, int64_t index)
{
    const liana__philox_key key = liana__philox_make_key(5, LIANA__STREAM_TEST, node->id);
    uint32_t words[4];
    liana__philox(key, (const uint32_t[]){(uint32_t)index, 0, 0, 0}, words);
    const double uniform = liana__uniform_double(words[0], words[1]);
    bool is_positive = strstr(node->name, "variance") || strstr(node->name, "/v/") || strstr(node->name, "gamma");
    if (node->dtype == LIANA_S32) return floor(uniform * CLASSES);
    if (!liana__dtype_is_float(node->dtype)) return floor(uniform * 1000);
    return is_positive ? 0.5 + uniform : (uniform - 0.5) * 0.4;
}

static liana__test_value make_value(const liana__node *node)
{
    liana__test_value value = {node->dtype, node->shape, malloc(liana__byte_size(node->dtype, &node->shape))};
    assert_non_null(value.data);
    for (int64_t i = 0; i < liana_shape_size(&node->shape); i++) {
        liana__store(value.data, node->dtype, i, draw(node, i));
    }
    return value;
}

static liana__test_value download(const liana__node *node, liana__buffer *buffer)
{
    liana__error error = {0};
    liana__test_value value = {node->dtype, node->shape, malloc(liana__byte_size(node->dtype, &node->shape))};
    assert_non_null(value.data);
    assert_ok(reference->backend->download(buffer, value.data, &error), &error);
    return value;
}

/* Inputs and variables, and outputs and new values, in the order of the module. */
typedef struct finished_run {
    liana__test_value arguments[3 * MOST_WEIGHTS], results[3 * MOST_WEIGHTS];
    size_t num_arguments, num_results;
} finished_run;

static void run_graph(const liana_graph *graph, finished_run *run)
{
    const liana__backend *backend = reference->backend;
    liana__error error = {0};
    liana__executable *executable;
    static liana__buffer *buffers[3 * MOST_WEIGHTS], *outputs[3 * MOST_WEIGHTS];
    memset(buffers, 0, sizeof buffers);
    memset(outputs, 0, sizeof outputs);
    *run = (finished_run){.num_arguments = graph->num_inputs + graph->num_variables};
    assert_compare(run->num_arguments, <=, 3 * MOST_WEIGHTS);
    assert_compare(graph->num_outputs, <=, 3 * MOST_WEIGHTS);
    assert_ok(backend->compile(reference, graph, &executable, &error), &error);
    for (size_t i = 0; i < run->num_arguments; i++) {
        const liana__node *leaf = i < graph->num_inputs ? graph->inputs[i] : graph->variables[i - graph->num_inputs];
        run->arguments[i] = make_value(leaf);
        assert_ok(backend->upload(reference, leaf->dtype, &leaf->shape, run->arguments[i].data, &buffers[i], NULL,
                                  &error),
                  &error);
    }
    liana__buffer **variables = buffers + graph->num_inputs;
    liana__execution execution = {.name = "a test's graph",
                                  .inputs = buffers,
                                  .variables = variables,
                                  .outputs = outputs};
    assert_ok(backend->execute(executable, &execution, &error), &error);
    for (size_t i = 0; i < graph->num_outputs; i++) {
        run->results[run->num_results++] = download(graph->outputs[i].node, outputs[i]);
        backend->buffer_destroy(outputs[i]);
    }
    for (size_t i = 0; i < graph->num_assignments; i++) {
        size_t place = 0;
        while (graph->variables[place] != graph->assignments[i].variable) place++;
        run->results[run->num_results++] = download(graph->variables[place], variables[place]);
    }
    for (size_t i = 0; i < run->num_arguments; i++) backend->buffer_destroy(buffers[i]);
    backend->executable_destroy(executable);
}

/* Runs the graph here, and adds it to what runs there. It is compiled by XLA in any case: interpreted, a network takes
 * minutes. */
static void add_graph(liana__test_cases *cases, const char *name, const liana_graph *graph, double tolerance)
{
    static finished_run run;
    char *text;
    liana__error error = {0};
    assert_ok(liana_graph_status(graph), &context->error);
    assert_ok(liana__stablehlo_print(graph, &(liana__stablehlo_options){.name = "test", .locations = true}, &text,
                                     &error),
              &error);
    run_graph(graph, &run);
    liana__test_cases_add(cases, name, text, run.arguments, run.num_arguments, run.results, run.num_results, tolerance,
                          LIANA__TEST_COMPILED);
    liana__test_free_values(run.arguments, run.num_arguments);
    liana__test_free_values(run.results, run.num_results);
    free(text);
}

/* ---- graphs ---- */

static liana_model *convolutional_model(void)
{
    liana_model *model;
    assert_ok(liana_model_create(context, "net", &model), &context->error);
    liana_input(model, .shape = LIANA_INTS(11, 10, 3));
    liana_conv2d(model, .filters = 6, .kernel_size = {3, 2}, .strides = {2, 1}, .padding = LIANA_PADDING_SAME);
    liana_batch_normalization(model);
    liana_activation(model, .activation = "relu");
    liana_max_pooling2d(model, .pool_size = {2, 3}, .strides = {2, 2}, .padding = LIANA_PADDING_SAME);
    liana_depthwise_conv2d(model, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .activation = "swish");
    liana_average_pooling2d(model, .pool_size = 2, .padding = LIANA_PADDING_SAME);
    liana_dropout(model, .rate = 0.25);
    liana_flatten(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
    assert_ok(liana_model_status(model), &context->error);
    return model;
}

/* The sum of the loss over a shard, its gradients, and new moving averages. Returns the number of weights. */
static size_t add_leaf(liana_graph *graph, const liana_model *model, liana_dtype dtype, liana_tensor *weights,
                       liana_tensor *gradients)
{
    liana_shape shape = liana_model_input(model, 0).shape;
    shape.dims[0] = BATCH;
    liana_tensor x = liana_graph_input(graph, "image", dtype, shape), output;
    liana_tensor labels = liana_graph_input(graph, "label", LIANA_S32, liana_shape_of(BATCH));
    liana_call_mode mode = {.training = true, .seed = 7};
    mode.positions = liana_graph_input(graph, "position", LIANA_U64, liana_shape_of(BATCH));
    liana_call_effects effects;
    liana_model_call(model, &x, 1, &mode, &output, &effects);
    liana_tensor loss = liana_op_reduce_sum(liana_loss_of(output, labels, NULL), LIANA_ALL_AXES, false);
    liana_graph_output(graph, "loss", loss);
    liana_effects_assign(&effects);
    size_t count = liana_model_variables(model, graph, weights);
    liana_gradients(loss, weights, count, gradients);
    return count;
}

static void name_gradients(liana_graph *graph, const liana_tensor *gradients, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "gradient %zu", i);
        liana_graph_output(graph, name, gradients[i]);
    }
}

static void add_training_leaf(liana__test_cases *cases)
{
    liana_model *model = convolutional_model();
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor weights[MOST_WEIGHTS], gradients[MOST_WEIGHTS];
    size_t count = add_leaf(graph, model, LIANA_F64, weights, gradients);
    name_gradients(graph, gradients, count);
    assert_int_equal(graph->num_assignments, 2);
    add_graph(cases, "leaf", graph, 1e-10);
    liana_graph_destroy(graph);
    liana_model_destroy(model);
}

/* In one program: the shard, and Adam's update of weights and slots, whose buffers could be donated. */
static void add_update(liana__test_cases *cases)
{
    liana_model *model = convolutional_model();
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor weights[MOST_WEIGHTS], gradients[MOST_WEIGHTS];
    size_t count = add_leaf(graph, model, LIANA_F32, weights, gradients);
    liana_apply_gradients(weights, gradients, count, &(liana_optimizer_options){.optimizer = "Adam"});
    assert_int_equal(graph->num_assignments, 2 + 3 * count + 1);
    add_graph(cases, "update", graph, 2e-5);
    liana_graph_destroy(graph);
    liana_model_destroy(model);
}

static void add_network_of_the_zoo(liana__test_cases *cases)
{
    liana_model *model;
    assert_ok(liana_model_create(context, "net", &model), &context->error);
    liana_mobilenet_v2(model, .alpha = 0.35, .input_shape = LIANA_INTS(64, 64, 3), .classes = CLASSES);
    assert_ok(liana_model_status(model), &context->error);
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor weights[MOST_WEIGHTS], gradients[MOST_WEIGHTS];
    size_t count = add_leaf(graph, model, LIANA_F64, weights, gradients);
    name_gradients(graph, gradients, count);
    add_graph(cases, "MobileNetV2", graph, 1e-8);
    liana_graph_destroy(graph);
    liana_model_destroy(model);
}

/* Python and XLA take seconds to start: all graphs go there at once. */
static void test_graphs(void **state)
{
    (void)state;
    liana__test_need_jaxlib();
    liana__test_cases cases = liana__test_cases_open();
    add_training_leaf(&cases);
    add_update(&cases);
    add_network_of_the_zoo(&cases);
    liana__test_cases_check(&cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_graphs)};
    return cmocka_run_group_tests_name("stablehlo_models", tests, set_up, tear_down);
}
