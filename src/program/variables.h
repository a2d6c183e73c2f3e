/* variables.h - the inside of liana_variables: the values on the device, and which of them are there. */
#ifndef LIANA_PROGRAM_VARIABLES_H
#define LIANA_PROGRAM_VARIABLES_H

#include "backends/variables.h"
#include "program/placed_devices.h"

#include <liana/variables.h>

typedef struct liana__variable_state {
    const char *initializer; /* in the arena of the values; NULL: none */
    bool initialized;        /* else the buffer holds zeros that nobody may see */
} liana__variable_state;

struct liana_variables {
    liana_context *context;
    liana__variables values;
    liana__variable_state *states; /* by place in `values` */
    size_t state_capacity;
    liana__placed_devices devices; /* the first one is the set's; others are those of device scopes */
};

/* Adds a variable without a value, or finds it. An initialiser (NULL: none) is checked, and kept if the variable has
 * none yet. Errors: INVALID_ARGUMENT for another type, INVALID_CONFIG for the initialiser, OUT_OF_MEMORY. */
liana_status liana__variables_declare(liana_variables *variables, const char *name, liana_dtype dtype,
                                      const liana_shape *shape, const char *initializer, size_t *place) LIANA_MUST_USE;
/* The same on one of the set's devices, if the variable is new. */
liana_status liana__variables_declare_on(liana_variables *variables, size_t device, const char *name, liana_dtype dtype,
                                         const liana_shape *shape, const char *initializer, size_t *place)
    LIANA_MUST_USE;

/* The place of a name. Errors: NOT_FOUND with the nearest name. */
liana_status liana__variables_place(const liana_variables *variables, const char *name, size_t *place) LIANA_MUST_USE;

/* Fails with INVALID_ARGUMENT and the names of all variables for which `wanted` is true (NULL: all) and that have no
 * value: "WHAT: the variables 'a' and 'b' have no value; ...". OK if there are none. */
liana_status liana__variables_require(const liana_variables *variables, const char *what, const bool *wanted)
    LIANA_MUST_USE;

/* Sets a value. */
liana_status liana__variables_set(liana_variables *variables, size_t place, const void *data) LIANA_MUST_USE;

#endif
