/* body_build.h - makes bodies of the functions of users. */
#ifndef LIANA_OPS_CONTROL_BODY_BUILD_H
#define LIANA_OPS_CONTROL_BODY_BUILD_H

#include "ir/body.h"

#include <liana/loops.h>

/* The inputs of an op with bodies: some lists, one behind the other. */
typedef struct liana__body_inputs {
    liana_location here;
    const char *op;
    const liana_tensor *carries, *xs, *constants;
    size_t num_carries, num_xs, num_constants;
    size_t num_next, num_ys; /* that a body sets */
    void *user;
    liana_graph *graph; /* the graph around, where there may be no inputs; else NULL */
} liana__body_inputs;

/* The graph of the inputs; NULL: there is none, or it has failed. Fails the graph if tensors are of several, or counts
 * are out of range. */
liana_graph *liana__body_inputs_graph(const liana__body_inputs *inputs);

/* Calls a body. NULL: the graph has failed, with the body's message. The caller destroys it. */
liana_graph *liana__body_build(const liana__body_inputs *inputs, liana_body body);
/* The same for a condition. */
liana_graph *liana__body_build_condition(const liana__body_inputs *inputs,
                                         liana_tensor (*condition)(const liana_loop_step *step, void *user));

/* Makes the node. `more` stands before the lists, if its id is not 0. */
liana_tensor liana__body_op(const liana__body_inputs *inputs, const liana__op *op, liana_tensor more,
                            const void *attributes);

#endif
