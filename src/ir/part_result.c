/* Checks the results of parts' functions. */
#include "ir/part_result.h"

#include "ir/graph.h"
#include "ir/shape.h"

/* The lines of the part's own code are in the messages of its ops; there is none for a result that is missing. */
static liana_tensor refuse(const liana_part *part, liana_graph *graph, const char *function, const char *found,
                           const char *expected)
{
    if (graph->status == LIANA_OK) {
        (void)liana__context_stopped(graph->context);
        graph->status = liana__fail(&graph->context->error, LIANA_INVALID_ARGUMENT,
                                    "the %s '%s': its function '%s' gave %s, expected %s", liana__part_word(part->kind),
                                    part->name, function, found, expected);
    }
    return (liana_tensor){graph, 0};
}

liana_tensor liana__part_result(const liana_part *part, const char *function, liana_tensor result, liana_graph *graph,
                                liana_dtype dtype, const liana_shape *shape)
{
    if (graph->status != LIANA_OK) return (liana_tensor){graph, 0};
    const liana__node *node = result.graph == graph ? liana__tensor_node(result) : NULL;
    if (!node) return refuse(part, graph, function, "no tensor of the graph of its inputs", "one");
    if (!shape || (node->dtype == dtype && liana_shape_equal(&node->shape, shape))) return result;
    return refuse(part, graph, function, liana__type_print(node->dtype, &node->shape).text,
                  liana__type_print(dtype, shape).text);
}
