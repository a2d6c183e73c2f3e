/* body.h - bodies of ops (ir/body.h) in StableHLO: their nodes are written where they run, in a region. */
#ifndef LIANA_STABLEHLO_BODY_H
#define LIANA_STABLEHLO_BODY_H

#include "stablehlo/control.h"

/* Writes the nodes of a body whose inputs have these values, and gives the values of its outputs. Errors: those of ops,
 * OUT_OF_MEMORY. */
liana_status liana__hlo_body(liana__lowering *lowering, const liana_graph *body, const liana__hlo *inputs,
                             liana__hlo *outputs) LIANA_MUST_USE;

/* Tensors as a list of numbers, one behind the other, in the dtype of the list. */
liana__hlo liana__hlo_flat(liana__lowering *lowering, const liana__hlo *values, size_t count, liana_dtype dtype);

/* Room for values until the text is written; NULL: out of memory. */
liana__hlo *liana__hlo_room(liana__lowering *lowering, size_t count);

/* "stablehlo.if" with two branches, which read values from around them. Between begin and between, the first one is
 * written, which runs where the predicate is true; between between and end the other. `results` come with their types
 * and are numbered by begin. */
void liana__hlo_if_begin(liana__lowering *lowering, liana__hlo predicate, liana__hlo *results, size_t count);
void liana__hlo_if_between(liana__lowering *lowering, const liana__hlo *values, size_t count);
void liana__hlo_if_end(liana__lowering *lowering, liana__hlo predicate, const liana__hlo *values,
                       const liana__hlo *results, size_t count);

#endif
