/* Runs a model on a device with host weights. */
#include "harness/harness.h"

#include "harness/model_run.h"

#include <stdlib.h>

static void *must_allocate(size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    assert_non_null(memory);
    return memory;
}

float **liana__test_weights(const liana_model *model, uint64_t seed)
{
    float **weights = must_allocate((model->num_weights + 1) * sizeof *weights);
    for (size_t i = 0; i < model->num_weights; i++) {
        weights[i] = must_allocate((size_t)liana_shape_size(&model->weights[i].shape) * sizeof **weights);
        liana__model_initialize(model, seed, i, weights[i]);
    }
    return weights;
}

void liana__test_free_arrays(float **arrays, size_t count)
{
    for (size_t i = 0; i < count; i++) free(arrays[i]);
    free(arrays);
}

static liana__buffer *make_buffer(liana__device *device, const liana__node *node, const void *data)
{
    liana__error error = {0};
    liana__buffer *buffer = NULL;
    assert_ok(device->backend->upload(device, node->dtype, &node->shape, data, &buffer, NULL, &error), &error);
    return buffer;
}

static liana_graph *build_graph(const liana_model *model, int64_t batch)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(model->context, &graph), &model->context->error);
    liana_shape shape = liana__model_input_shape(model);
    shape.dims[0] = batch;
    liana_tensor x = liana_graph_input(graph, "input", LIANA_F32, shape);
    liana__model_results results = liana__model_call(model, &x, &(liana__model_mode){.training = false});
    assert_ok(liana_graph_status(graph), &model->context->error);
    for (size_t i = 0; i < model->num_layers; i++) {
        liana_graph_output(graph, model->layers[i].name, results.nodes[i]);
    }
    assert_ok(liana_graph_status(graph), &model->context->error);
    return graph;
}

float **liana__test_graph_run(liana__device *device, const liana_graph *graph, const liana_model *model,
                              float *const *weights, const void *const *inputs)
{
    const liana__backend *backend = device->backend;
    liana__error error = {0};
    liana__executable *executable;
    assert_ok(backend->compile(device, graph, &executable, &error), &error);
    liana__buffer **in = must_allocate((graph->num_inputs + 1) * sizeof *in);
    liana__buffer **variables = must_allocate((graph->num_variables + 1) * sizeof *variables);
    liana__buffer **out = must_allocate((graph->num_outputs + 1) * sizeof *out);
    for (size_t i = 0; i < graph->num_inputs; i++) in[i] = make_buffer(device, graph->inputs[i], inputs[i]);
    for (size_t i = 0; i < graph->num_variables; i++) {
        int weight = liana__model_find_weight(model, graph->variables[i]->name);
        assert_compare(weight, >=, 0);
        variables[i] = make_buffer(device, graph->variables[i], weights[weight]);
    }
    for (size_t i = 0; i < graph->num_outputs; i++) out[i] = NULL;
    liana__execution execution = {.name = "a test's graph", .inputs = in, .variables = variables, .outputs = out};
    assert_ok(backend->execute(executable, &execution, &error), &error);
    float **results = must_allocate((graph->num_outputs + 1) * sizeof *results);
    for (size_t i = 0; i < graph->num_outputs; i++) {
        results[i] = must_allocate(out[i]->size);
        assert_ok(backend->download(out[i], results[i], &error), &error);
        backend->buffer_destroy(out[i]);
    }
    for (size_t i = 0; i < graph->num_variables; i++) backend->buffer_destroy(variables[i]);
    for (size_t i = 0; i < graph->num_inputs; i++) backend->buffer_destroy(in[i]);
    backend->executable_destroy(executable);
    free(in);
    free(variables);
    free(out);
    return results;
}

float **liana__test_model_run(liana__device *device, const liana_model *model, float *const *weights,
                              const float *input, int64_t batch)
{
    liana_graph *graph = build_graph(model, batch);
    float **results = liana__test_graph_run(device, graph, model, weights, (const void *const[]){input});
    liana_graph_destroy(graph);
    return results;
}
