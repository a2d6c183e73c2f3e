/* Notes on which device each node is to be. */
#include "ir/device_scope.h"

#include "ir/given.h"
#include "ir/scope_list.h"

#include <stdlib.h>

/* ---- which there are ---- */

size_t liana__num_scopes(const liana_graph *graph)
{
    return liana__graph_scopes(graph)->num_names;
}

const char *liana__scope_name(const liana_graph *graph, uint32_t scope)
{
    return liana__graph_scopes(graph)->names[scope - 1].name;
}

liana_location liana__scope_location(const liana_graph *graph, uint32_t scope)
{
    return liana__graph_scopes(graph)->names[scope - 1].where;
}

uint32_t liana__scope_of(const liana_graph *graph, const liana__node *node)
{
    const liana__device_scopes *scopes = liana__graph_scopes(graph);
    return node->id < scopes->num_nodes ? scopes->of_node[node->id] : 0;
}

const char *liana__tensor_device(liana_tensor tensor)
{
    const liana__node *node = liana__tensor_node(tensor);
    const uint32_t scope = node ? liana__scope_of(tensor.graph, node) : 0;
    return scope ? liana__scope_name(tensor.graph, scope) : NULL;
}

/* ---- new nodes ---- */

uint32_t liana__scope_enter(liana_graph *graph, uint32_t scope)
{
    liana__device_scopes *scopes = liana__graph_scopes(graph);
    const uint32_t before = scopes->current;
    scopes->current = scope;
    return before;
}

uint32_t liana__scope_enter_with_variables(liana_graph *graph, uint32_t scope)
{
    liana__graph_scopes(graph)->with_variables = true;
    return liana__scope_enter(graph, scope);
}

void liana__scope_leave_with_variables(liana_graph *graph, uint32_t before)
{
    liana__graph_scopes(graph)->with_variables = false;
    (void)liana__scope_enter(graph, before);
}

/* ---- beginning and ending ---- */

/* The number of a name; 0 after an error, which is the graph's. */
static uint32_t find_scope(liana_graph *graph, liana_location here, const char *device)
{
    liana__device_scopes *scopes = liana__graph_scopes(graph);
    for (size_t i = 0; i < scopes->num_names; i++) {
        if (strcmp(scopes->names[i].name, device) == 0) return (uint32_t)i + 1;
    }
    if (*device == '\0') {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                          "a device scope needs the name of a device, such as \"cpu:1\"; found an empty one");
        return 0;
    }
    const char *name = liana__arena_string(&graph->arena, device);
    if (!name || !liana__grow(&scopes->names, scopes->num_names, &scopes->name_capacity, sizeof *scopes->names)) {
        liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for a device scope");
        return 0;
    }
    scopes->names[scopes->num_names] = (liana__named_scope){name, here};
    return (uint32_t)++scopes->num_names;
}

static bool may_have_scopes(liana_graph *graph, liana_location here)
{
    if (graph->status != LIANA_OK) return false;
    const char *reason = liana__graph_scopes(graph)->forbidden;
    if (!reason) return true;
    liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "this graph can have no device scopes: %s", reason);
    return false;
}

void liana_device_scope_begin_at(liana_location here, liana_graph *graph, const char *device)
{
    if (!graph || !may_have_scopes(graph, here)) return;
    liana__device_scopes *scopes = liana__graph_scopes(graph);
    const uint32_t scope = device ? find_scope(graph, here, device) : 0;
    if (graph->status != LIANA_OK) return;
    if (!liana__grow(&scopes->open, scopes->num_open, &scopes->open_capacity, sizeof *scopes->open)) {
        liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for a device scope");
        return;
    }
    scopes->open[scopes->num_open++] = (liana__open_scope){liana__scope_enter(graph, scope), here};
}

void liana_device_scope_end_at(liana_location here, liana_graph *graph)
{
    if (!graph || graph->status != LIANA_OK) return;
    liana__device_scopes *scopes = liana__graph_scopes(graph);
    if (scopes->num_open == 0) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT,
                          "no device scope is open here; each end needs a liana_device_scope_begin before it");
        return;
    }
    (void)liana__scope_enter(graph, scopes->open[--scopes->num_open].before);
}

liana_status liana__scopes_check_ended(const liana_graph *graph, liana__error *error)
{
    const liana__device_scopes *scopes = liana__graph_scopes(graph);
    if (scopes->num_open == 0) return LIANA_OK;
    const liana__open_scope *last = &scopes->open[scopes->num_open - 1];
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s:%d: the device scope%s%s%s that begins here has not been ended; call "
                       "liana_device_scope_end before the graph is run",
                       last->where.file, last->where.line, scopes->current ? " '" : "",
                       scopes->current ? liana__scope_name(graph, scopes->current) : "", scopes->current ? "'" : "");
}

void liana__scopes_forbid(liana_graph *graph, const char *reason)
{
    liana__graph_scopes(graph)->forbidden = reason;
}

/* ---- variables ---- */

void liana_place_variables_at(liana_location here, liana_graph *graph, liana_balance balance,
                              const char *const *devices, size_t count)
{
    if (!graph || !may_have_scopes(graph, here)) return;
    liana__device_scopes *scopes = liana__graph_scopes(graph);
    if (count > 0 && !LIANA__GRAPH_REQUIRE(graph, here, devices)) return;
    if (balance != LIANA_ROUND_ROBIN && balance != LIANA_BY_BYTES) {
        liana__graph_fail(graph, here, LIANA_INVALID_ARGUMENT, "%d is no balance of liana_balance", (int)balance);
        return;
    }
    free(scopes->shared);
    free(scopes->bytes);
    scopes->num_shared = scopes->num_placed = 0;
    scopes->shared = calloc(count + 1, sizeof *scopes->shared);
    scopes->bytes = calloc(count + 1, sizeof *scopes->bytes);
    if (!scopes->shared || !scopes->bytes) {
        liana__graph_fail(graph, here, LIANA_OUT_OF_MEMORY, "out of memory for the devices of variables");
        return;
    }
    scopes->balance = balance;
    for (size_t i = 0; i < count && graph->status == LIANA_OK; i++) {
        scopes->shared[i] = find_scope(graph, here, devices[i] ? devices[i] : "");
    }
    if (graph->status == LIANA_OK) scopes->num_shared = count;
}

/* ---- attachments of a graph ---- */

void *liana__graph_attached(const liana_graph *graph)
{
    return liana__graph_scopes(graph)->attached;
}

void liana__graph_attach(liana_graph *graph, void *thing, void (*destroy)(void *thing))
{
    liana__graph_scopes(graph)->attached = thing;
    liana__graph_scopes(graph)->destroy_attached = destroy;
}
