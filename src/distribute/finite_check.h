/* finite_check.h - whether tensors of a device have a NaN or an infinity: a small program that reads them where they
 * are. */
#ifndef LIANA_DISTRIBUTE_FINITE_CHECK_H
#define LIANA_DISTRIBUTE_FINITE_CHECK_H

#include "exec/program.h"

/* The finding of a check; count 0: everything is finite. */
typedef struct liana__non_finite {
    int64_t count;    /* of elements that are NaN or infinite, in all tensors */
    const char *name; /* of the first tensor that has one; borrowed from the check */
} liana__non_finite;

/* Zero-initialise; free with liana__finite_check_free. */
typedef struct liana__finite_check {
    liana__program *program; /* NULL: there is nothing to check */
    int32_t *counts;         /* by chunk, of an output of the program */
} liana__finite_check;

/* Checks `count` nodes of another graph: inputs, which are bound before each run, or variables, which are in the list
 * `variables`. Integers among them are left out of variables; inputs must be floats. Errors: those of compiling. */
liana_status liana__finite_check_create(liana__device *device, liana__node *const *nodes, size_t count,
                                        liana__variables *variables, liana__finite_check *check, liana__error *error)
    LIANA_MUST_USE;
void liana__finite_check_free(liana__finite_check *check);

/* Runs it. Errors: those of the device. */
liana_status liana__finite_check_run(liana__finite_check *check, liana__non_finite *found, liana__error *error)
    LIANA_MUST_USE;

#endif
