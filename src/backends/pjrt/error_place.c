/* Finds places of a program in a plugin's message. */
#include "backends/pjrt/error_place.h"

#include <stdio.h>
#include <string.h>

/* Where a message names the place of a node; NULL: nowhere. */
static const char *find_node(const char *message, const liana__node *node)
{
    enum { WAYS = 3 };
    const char *file = node->where.file, *first = NULL;
    const int line = node->where.line > 0 ? node->where.line : 0;
    char places[WAYS][600];
    snprintf(places[0], sizeof places[0], "\"%s\":%d:", file, line);
    snprintf(places[1], sizeof places[1], "%s:%d:", file, line);
    snprintf(places[2], sizeof places[2], "source_file=\"%s\" source_line=%d", file, line);
    for (size_t i = 0; i < WAYS; i++) {
        const char *found = strstr(message, places[i]);
        if (found && (!first || found < first)) first = found;
    }
    return first;
}

const liana__node *liana__pjrt_find_place(const liana_graph *graph, const char *message)
{
    const liana__node *named = NULL;
    const char *first = NULL;
    for (size_t id = 1; id < graph->num_nodes; id++) {
        const liana__node *node = graph->nodes[id];
        const char *found = node->where.file && !liana__is_leaf(node) ? find_node(message, node) : NULL;
        if (!found || (first && found >= first)) continue;
        first = found;
        named = node;
    }
    return named;
}

liana_status liana__pjrt_fail_at_place(const liana_graph *graph, const char *explained, liana_status status,
                                       liana__error *error)
{
    const liana__node *node = liana__pjrt_find_place(graph, explained);
    if (!node) return status;
    liana__fail_within(error, "%s:%d: %s", node->where.file, node->where.line, liana__node_print(node).text);
    return status;
}
