/* Graphs that nodes run. */
#include "ir/body.h"

liana_status liana__infer_body(liana__infer *infer, const liana_graph *body, size_t num_inputs, size_t num_outputs,
                               const char *what)
{
    if (!body || body->status != LIANA_OK) return liana__infer_fail(infer, "%s is no graph", what);
    if (body->num_variables || body->num_assignments) {
        const bool reads = body->num_variables > 0;
        return liana__infer_fail(infer, "%s has the variable '%s'; give variables to it as constants", what,
                                 reads ? body->variables[0]->name : body->assignments[0].variable->name);
    }
    if (body->num_inputs != num_inputs || body->num_outputs < num_outputs) {
        return liana__infer_fail(infer, "%s has %zu inputs and %zu outputs, expected %zu and at least %zu", what,
                                 body->num_inputs, body->num_outputs, num_inputs, num_outputs);
    }
    if (liana__graph_body_depth(body) < LIANA__MOST_BODY_DEPTH) return LIANA_OK;
    return liana__infer_fail(infer, "%s has bodies in bodies, %d deep; at most %d are possible", what,
                             liana__graph_body_depth(body), LIANA__MOST_BODY_DEPTH - 1);
}
