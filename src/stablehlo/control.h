/* control.h - the frame of a module: calls of functions, loops, slices at computed places, sums over devices. */
#ifndef LIANA_STABLEHLO_CONTROL_H
#define LIANA_STABLEHLO_CONTROL_H

#include "stablehlo/lowering_internal.h"

/* Ends a function that gives these. */
void liana__hlo_return(liana__lowering *lowering, const liana__hlo *values, size_t count);

/* Calls a function of the module. `results` come with their types. `apart`: XLA does not inline it. */
void liana__hlo_call(liana__lowering *lowering, const char *function, bool apart, const liana__hlo *arguments,
                     size_t count, liana__hlo *results, size_t num_results);

/* s32: the indices that order x along an axis; equal elements stay in their order, NaN last. */
liana__hlo liana__hlo_argsort(liana__lowering *lowering, liana__hlo x, int axis, bool descending);

/* A loop over `count` values. Between begin and between, `values` are the parameters of the condition; between between
 * and end those of the body; afterwards the results. */
typedef struct liana__hlo_while {
    liana__hlo *values;
    size_t count;
    uint32_t first_result; /* set by begin */
} liana__hlo_while;
void liana__hlo_while_begin(liana__lowering *lowering, liana__hlo_while *loop);
void liana__hlo_while_between(liana__lowering *lowering, liana__hlo_while *loop, liana__hlo condition);
/* `next` [count]: the values with which the next round begins. */
void liana__hlo_while_end(liana__lowering *lowering, liana__hlo_while *loop, const liana__hlo *next);

/* Rows of x from an s32 on: `shape` is the result's, x's but for the number of rows. */
liana__hlo liana__hlo_rows(liana__lowering *lowering, liana__hlo x, liana__hlo first, liana_shape shape);
/* x with `rows` in the place of those from an s32 on. */
liana__hlo liana__hlo_set_rows(liana__lowering *lowering, liana__hlo x, liana__hlo rows, liana__hlo first);

/* The values as they are, computed before anything reads them: their readers are compiled as if they were arguments. */
void liana__hlo_barrier(liana__lowering *lowering, liana__hlo *values, size_t count);

/* Values become their sums over `count` replicas, in one operation. They have one dtype; there is at least one. */
void liana__hlo_add_replicas(liana__lowering *lowering, liana__hlo *values, size_t count, size_t replicas);

/* bool, a scalar: every element of all values is finite. Values of one size are looked at side by side, so that
 * hundreds of them make tens of loops, not thousands: a plugin's time to compile and to load a program grows with their
 * number. */
liana__hlo liana__hlo_all_finite(liana__lowering *lowering, const liana__hlo *values, size_t count);

#endif
