/* Computes one node on the device of its scope. */
#include "program/value_device.h"

#include "base/scoped.h"
#include "exec/program.h"
#include "ir/device_scope.h"
#include "program/placed_devices.h"

#include <stdio.h>

bool liana__value_is_elsewhere(const liana_graph *graph, const liana__node *node)
{
    const uint32_t scope = liana__scope_of(graph, node);
    return scope && !liana__placed_is_local_cpu(liana__scope_name(graph, scope));
}

static void close_devices(void *thing)
{
    liana__placed_devices_free(thing);
    free(thing);
}

static liana_status find_device(liana_graph *graph, uint32_t scope, liana__device **device)
{
    liana__error *error = &graph->context->error;
    liana__placed_devices *devices = liana__graph_attached(graph);
    size_t index;
    if (!devices) {
        devices = calloc(1, sizeof *devices);
        if (!devices) return liana__fail_memory(error, "the devices of values");
        devices->context = graph->context;
        liana__graph_attach(graph, devices, close_devices);
    }
    LIANA_TRY(liana__placed_devices_find(devices, liana__scope_name(graph, scope), &index, error));
    *device = devices->items[index].device;
    return LIANA_OK;
}

/* A graph with nothing but the node. */
static liana_status make_graph(const liana_graph *old, const liana__node *node, liana_graph **graph)
{
    LIANA__SCOPED_MEMORY liana_tensor *inputs = calloc(node->num_inputs + (size_t)1, sizeof *inputs);
    if (!inputs) return liana__fail_memory(&old->context->error, node->op->name);
    LIANA_TRY(liana_graph_create(old->context, graph));
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        char name[24];
        snprintf(name, sizeof name, "%u", i);
        inputs[i] = liana_graph_input_at(node->where, *graph, name, node->inputs[i]->dtype, node->inputs[i]->shape);
    }
    liana_graph_output_at(node->where, *graph, "value",
                          liana__build(node->where, *graph, node->op, inputs, node->num_inputs, node->attributes));
    const liana_status status = (*graph)->status;
    if (status != LIANA_OK) liana_graph_destroy(*graph);
    return status;
}

static liana_status run(liana_graph *graph, const liana__node *node, uint32_t scope, const void *const *sources,
                        void *result)
{
    liana__error *error = &graph->context->error;
    liana__device *device = NULL;
    liana_graph *alone;
    liana__program *program;
    LIANA_TRY(find_device(graph, scope, &device));
    LIANA_TRY(make_graph(graph, node, &alone));
    LIANA_TRY(liana__program_create(device, alone, node->op->name, NULL, &program, error));
    liana_status status = LIANA_OK;
    for (uint32_t i = 0; status == LIANA_OK && i < node->num_inputs; i++) {
        const liana__node *input = node->inputs[i];
        status = liana__program_feed(program, i, input->dtype, &input->shape, sources[i], error);
    }
    if (status == LIANA_OK) status = liana__program_run(program, error);
    if (status == LIANA_OK) status = liana__program_fetch(program, 0, result, error);
    liana__program_destroy(program);
    return status;
}

liana_status liana__value_on_device(liana_graph *graph, const liana__node *node, const void *const *sources,
                                    void *result)
{
    const uint32_t scope = liana__scope_of(graph, node);
    if (run(graph, node, scope, sources, result) == LIANA_OK) return LIANA_OK;
    return liana__fail_within(&graph->context->error, "%s:%d: %s in the device scope '%s'", node->where.file,
                              node->where.line, node->op->name, liana__scope_name(graph, scope));
}
