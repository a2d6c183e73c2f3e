/* variables.h - named variables on a device: weights and the optimizer's slots. An update replaces their buffers. */
#ifndef LIANA_BACKENDS_VARIABLES_H
#define LIANA_BACKENDS_VARIABLES_H

#include "backends/backend.h"
#include "base/memory.h"

typedef struct liana__variable {
    const char *name; /* "conv2d/kernel", "optimizer/Adam/m/conv2d/kernel" */
    liana__buffer *buffer;
} liana__variable;

typedef struct liana__variables {
    liana__device *device;
    liana__arena arena;
    liana__variable *items; /* in the order in which they were added */
    size_t count;
    size_t capacity;
} liana__variables;

void liana__variables_init(liana__variables *variables, liana__device *device);
void liana__variables_free(liana__variables *variables);

/* Adds a variable with the given contents (NULL: zeros). The name must be new. */
liana_status liana__variables_add(liana__variables *variables, const char *name, liana_dtype dtype,
                                  const liana_shape *shape, const void *data, liana__error *error) LIANA_MUST_USE;

/* The same on another device than the list's. */
liana_status liana__variables_add_on(liana__variables *variables, liana__device *device, const char *name,
                                     liana_dtype dtype, const liana_shape *shape, const void *data, liana__error *error)
    LIANA_MUST_USE;

/* The same with a buffer, which the list takes over unless it fails. */
liana_status liana__variables_add_buffer(liana__variables *variables, const char *name, liana__buffer *buffer,
                                         liana__error *error) LIANA_MUST_USE;

/* NULL if there is none. */
liana__variable *liana__variables_find(const liana__variables *variables, const char *name);

/* Copies a variable's contents from and to the host. */
liana_status liana__variable_write(liana__variable *variable, const void *data, liana__error *error) LIANA_MUST_USE;
liana_status liana__variable_read(const liana__variable *variable, void *data, liana__error *error) LIANA_MUST_USE;

/* The places of a graph's variables in the list, in the graph's order, malloc'ed. Errors: INTERNAL for a name that is
 * missing or has another type. */
liana_status liana__variables_bind(const liana__variables *variables, const liana_graph *graph, size_t **places,
                                   liana__error *error) LIANA_MUST_USE;

#endif
