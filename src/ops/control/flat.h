/* flat.h - several tensors in one: the result of an op with bodies is a list of numbers, in which they lie one behind
 * the other. loop_part takes them out.
 *
 * It has the dtype of all its parts. Where these differ, it is f64, which holds each number of 32 bits or fewer. */
#ifndef LIANA_OPS_CONTROL_FLAT_H
#define LIANA_OPS_CONTROL_FLAT_H

#include "ir/body.h"
#include "ops/ops.h"

/* A tensor that begins with that element of a list. */
liana_tensor liana__loop_part(liana_location here, liana_tensor list, int64_t offset, liana_shape shape);

/* How the outputs of a body lie in a flat result: the first `num_single` once, the others for each step. */
typedef struct liana__flat {
    const liana_graph *body;
    size_t num_single;
    int64_t steps;
} liana__flat;

/* The shape of a row: of an x in one step. */
static inline liana_shape liana__row_shape(const liana_shape *shape)
{
    liana_shape step = {.rank = shape->rank > 0 ? shape->rank - 1 : 0};
    for (int i = 0; i < step.rank; i++) step.dims[i] = shape->dims[i + 1];
    return step;
}

/* Sets the dtype and shape of a node. Errors: INVALID_ARGUMENT if dtypes differ and one has 64 bits, and for a result
 * that is too large. */
liana_status liana__flat_infer(liana__infer *infer, const liana__flat *flat);

/* Where an output begins, in elements; for the number of outputs, the size of all. */
int64_t liana__flat_offset(const liana__flat *flat, size_t output);

/* The output of a body as a tensor of the graph around it: [...], or [steps, ...]. */
liana_tensor liana__flat_part(liana_location here, liana_tensor flat_result, const liana__flat *flat, size_t output);

/* The gradient of that tensor, where `gradient` is that of the flat result. Invalid: it is zero. */
liana_tensor liana__flat_gradient(liana_location here, liana_tensor gradient, const liana__flat *flat, size_t output);

/* Copies a tensor's elements, from dtype to dtype. */
void liana__flat_copy(void *to, liana_dtype to_dtype, const void *from, liana_dtype from_dtype, int64_t count);

#endif
