/* Computes expressions node by node, and keeps the values with the graph. */
#include <liana/graph.h>

#include "base/denormals.h"
#include "base/scoped.h"
#include "ir/device_scope.h"
#include "kernels/kernel_choice.h"
#include "program/value_device.h"

#include <math.h>
#include <stdlib.h>

/* The value of a node, or NULL: not computed yet. */
static const void *known_value(const liana_graph *graph, const liana__node *node)
{
    if (liana__is_constant(node)) return liana__constant_data(node);
    return node->id < graph->num_values ? graph->values[node->id] : NULL;
}

static liana_status grow_values(liana_graph *graph)
{
    if (graph->num_values >= graph->num_nodes) return LIANA_OK;
    size_t count = graph->node_capacity > graph->num_nodes ? graph->node_capacity : graph->num_nodes;
    void **values = realloc(graph->values, count * sizeof *values);
    if (!values) return liana__fail_memory(&graph->context->error, "the values of a graph");
    memset(values + graph->num_values, 0, (count - graph->num_values) * sizeof *values);
    graph->values = values;
    graph->num_values = count;
    return LIANA_OK;
}

static liana_status run_kernel(const liana_graph *graph, const liana__node *node, const void *const *sources,
                               void *result)
{
    liana_context *context = graph->context;
    const liana__kernel *kernel = liana__choose_kernel(context, node, context->isa);
    return liana__kernel_run_once(kernel, node, sources, result, &context->error);
}

/* Computes a node whose inputs are computed. */
static liana_status compute(liana_graph *graph, const liana__node *node)
{
    enum { MOST = 16 };
    liana__error *error = &graph->context->error;
    const void *few[MOST], **sources = few;
    LIANA__SCOPED_MEMORY const void **many = NULL;
    if (!node->op->kernels) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the %s of %s:%d has no value outside of a program; feed and run one (liana_program_run)",
                           liana__node_print(node).text, node->where.file, node->where.line);
    }
    if (node->num_inputs > MOST) sources = many = malloc(node->num_inputs * sizeof *sources);
    LIANA__SCOPED_MEMORY void *result = liana__allocate_aligned(liana__byte_size(node->dtype, &node->shape));
    if (!sources || !result) return liana__fail_memory(error, node->op->name);
    for (uint32_t i = 0; i < node->num_inputs; i++) sources[i] = known_value(graph, node->inputs[i]);
    LIANA_TRY(liana__value_is_elsewhere(graph, node) ? liana__value_on_device(graph, node, sources, result)
                                                     : run_kernel(graph, node, sources, result));
    graph->values[node->id] = result;
    result = NULL;
    return LIANA_OK;
}

/* Nodes to compute: the last one first, behind it its inputs that are not computed yet. */
typedef struct stack {
    const liana__node **nodes;
    size_t count, capacity;
} stack;

static liana_status push(liana_graph *graph, stack *todo, const liana__node *node)
{
    if (!liana__grow(&todo->nodes, todo->count, &todo->capacity, sizeof *todo->nodes)) {
        return liana__fail_memory(&graph->context->error, "the value of an expression");
    }
    todo->nodes[todo->count++] = node;
    return LIANA_OK;
}

/* Inputs have smaller ids than their readers, so this ends. */
static liana_status compute_all(liana_graph *graph, stack *todo, const liana__node *wanted)
{
    LIANA_TRY(push(graph, todo, wanted));
    while (todo->count > 0) {
        const liana__node *node = todo->nodes[todo->count - 1];
        size_t before = todo->count;
        if (!known_value(graph, node)) {
            for (uint32_t i = 0; i < node->num_inputs; i++) {
                if (!known_value(graph, node->inputs[i])) LIANA_TRY(push(graph, todo, node->inputs[i]));
            }
            if (todo->count > before) continue;
            LIANA_TRY(compute(graph, node));
        }
        todo->count--;
    }
    return LIANA_OK;
}

static liana_status find_value(liana_tensor tensor, const liana__node **node, const void **value)
{
    liana_graph *graph = tensor.graph;
    if (!graph) return LIANA_INVALID_ARGUMENT;
    LIANA_TRY(graph->status);
    *node = liana__tensor_node(tensor);
    if (!*node) {
        return liana__fail(&graph->context->error, LIANA_INVALID_ARGUMENT, "a value is asked for of no tensor");
    }
    *value = known_value(graph, *node);
    if (*value) return LIANA_OK;
    LIANA_TRY(grow_values(graph));
    stack todo = {0};
    const liana__denormals before = liana__denormals_flush();
    liana_status status = compute_all(graph, &todo, *node);
    liana__denormals_restore(before);
    free(todo.nodes);
    *value = status == LIANA_OK ? known_value(graph, *node) : NULL;
    return status;
}

static liana_status copy_value(liana_tensor tensor, void *data, size_t size)
{
    const liana__node *node = NULL;
    const void *value = NULL;
    LIANA_TRY(find_value(tensor, &node, &value));
    size_t expected = liana__byte_size(node->dtype, &node->shape);
    if (size != expected) {
        return liana__fail(&tensor.graph->context->error, LIANA_INVALID_ARGUMENT,
                           "the value of %s is %s, %zu bytes; found room for %zu", liana__node_print(node).text,
                           liana__type_print(node->dtype, &node->shape).text, expected, size);
    }
    memcpy(data, value, size);
    return LIANA_OK;
}

liana_status liana_value(liana_tensor tensor, void *data, size_t size)
{
    if (!tensor.graph) return LIANA_INVALID_ARGUMENT;
    LIANA__REQUIRE(&tensor.graph->context->error, data);
    LIANA__CONTEXT_CALL(tensor.graph->context, copy_value(tensor, data, size));
}

double liana_number(liana_tensor tensor)
{
    const liana__node *node = NULL;
    const void *value = NULL;
    if (find_value(tensor, &node, &value) != LIANA_OK) return NAN;
    if (liana_shape_size(&node->shape) == 1) return liana__load(value, node->dtype, 0);
    liana__fail(&tensor.graph->context->error, LIANA_INVALID_ARGUMENT,
                "liana_number is of one element; %s is %s; use liana_value", liana__node_print(node).text,
                liana__type_print(node->dtype, &node->shape).text);
    return NAN;
}
