/* Notes in which scope each node was made. */
#include "ir/scope_list.h"

#include "base/memory.h"
#include "ir/shape.h"

#include <stdlib.h>

void liana__scopes_free(liana__device_scopes *scopes)
{
    if (scopes->destroy_attached) scopes->destroy_attached(scopes->attached);
    free(scopes->names);
    free(scopes->open);
    free(scopes->of_node);
    free(scopes->shared);
    free(scopes->bytes);
}

/* Where the next variable goes. */
static uint32_t share_out(liana__device_scopes *scopes, const liana__node *variable)
{
    size_t chosen = scopes->num_placed++ % scopes->num_shared;
    if (scopes->balance == LIANA_BY_BYTES) {
        chosen = 0;
        for (size_t i = 1; i < scopes->num_shared; i++) {
            if (scopes->bytes[i] < scopes->bytes[chosen]) chosen = i;
        }
        scopes->bytes[chosen] += (double)liana__byte_size(variable->dtype, &variable->shape);
    }
    return scopes->shared[chosen];
}

bool liana__scopes_note(liana__device_scopes *scopes, const liana__node *node, bool is_variable)
{
    const bool is_shared = scopes->num_shared > 0 && !scopes->with_variables && is_variable;
    const uint32_t scope = is_shared ? share_out(scopes, node) : scopes->current;
    if (scope == 0) return true;
    while (scopes->num_nodes <= node->id) {
        if (!liana__grow(&scopes->of_node, scopes->num_nodes, &scopes->node_capacity, sizeof *scopes->of_node)) {
            return false;
        }
        scopes->of_node[scopes->num_nodes++] = 0;
    }
    scopes->of_node[node->id] = scope;
    return true;
}
