/* Errors of calls of a model function. */
#include "ir/graph.h"
#include "train/estimator/model_fn_internal.h"

liana_status liana__fn_fail(liana__fn_call *call, liana_tensor about, const char *format, ...)
{
    liana_graph *graph = call->graph;
    if (graph->status != LIANA_OK) return graph->status;
    liana__error *error = &graph->context->error;
    const liana__node *node = about.graph == graph ? liana__tensor_node(about) : NULL;
    va_list arguments;
    va_start(arguments, format);
    liana__fail_list(error, LIANA_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
    graph->status = node && node->where.line > 0
                        ? liana__fail_within(error, "%s:%d: %s", node->where.file, node->where.line, call->fn->name)
                        : liana__fail_within(error, "%s", call->fn->name);
    return graph->status;
}

liana__shape_text liana__fn_type(const liana__fn_call *call, liana_tensor tensor)
{
    const liana__node *node = tensor.graph == call->graph ? liana__tensor_node(tensor) : NULL;
    if (node) return liana__type_print(node->dtype, &node->shape);
    return (liana__shape_text){"no tensor of the graph"};
}
