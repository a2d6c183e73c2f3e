/* variables.h - sets of variables: named values on a device, which several programs may share.
 *
 * A program adds the variables of its graph to its set. A variable has no value at first: it must be initialised,
 * written, loaded or assigned to before a program reads it.
 *
 *     liana_variables_create(device, &variables);
 *     liana_program_create(device, graph, &(liana_program_options){.variables = variables}, &program);
 *     liana_variables_initialize(variables, NULL);
 *     ...
 *     liana_variables_save(variables, "weights.safetensors");
 *
 * One thread at a time may use a set and the programs that share it. The messages of failures are in the context. */
#ifndef LIANA_VARIABLES_H
#define LIANA_VARIABLES_H

#include <liana/device.h>
#include <liana/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_variables liana_variables;

/* Makes an empty set on a device, which must outlive it. Errors: INVALID_ARGUMENT (no device), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_variables_create(liana_device *device, liana_variables **variables);

/* Frees the set and its values, after the programs that use it. NULL is allowed. */
LIANA_API void liana_variables_destroy(liana_variables *variables);

/* ---- listing ---- */

/* Facts of a variable. The texts are valid as long as the set. */
typedef struct liana_variable_info {
    const char *name;
    liana_dtype dtype;
    liana_shape shape;
    const char *initializer; /* of liana_graph_initializer; NULL: none */
    bool initialized;        /* it has a value */
} liana_variable_info;

/* The number of variables in the set. */
LIANA_API size_t liana_variables_count(const liana_variables *variables);

/* A variable by its index, in the order in which they were added, or by name. False: there is none, and *info is
 * zeros. */
LIANA_API bool liana_variables_info(const liana_variables *variables, size_t index, liana_variable_info *info);
LIANA_API bool liana_variables_find(const liana_variables *variables, const char *name, liana_variable_info *info);

/* Whether all variables have values. Errors: INVALID_ARGUMENT; the message names those that have none. */
LIANA_API LIANA_MUST_USE liana_status liana_variables_check(const liana_variables *variables);

/* ---- values ---- */

/* Adds a variable without a program. `data` is its value in row-major order, or NULL: it has none yet. The name may be
 * there already with the same dtype and shape; then only the value is set. Errors: INVALID_ARGUMENT (another dtype or
 * shape, both are named), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_variables_add(liana_variables *variables, const char *name,
                                                          liana_dtype dtype, liana_shape shape, const void *data);

/* Copies a value to or from the host, row-major; `size` is that of `data` in bytes, and must be the variable's.
 * Errors: NOT_FOUND (with the nearest name), INVALID_ARGUMENT (another size; reading a variable that has no value). */
LIANA_API LIANA_MUST_USE liana_status liana_variables_write(liana_variables *variables, const char *name,
                                                            const void *data, size_t size);
LIANA_API LIANA_MUST_USE liana_status liana_variables_read(const liana_variables *variables, const char *name,
                                                           void *data, size_t size);

/* Zeros are the defaults. */
typedef struct liana_initialize_options {
    const char *name;        /* of one variable; NULL: all */
    const char *initializer; /* takes the place of the graph's (liana_graph_initializer); NULL: the graph's */
    uint64_t seed;
    bool again; /* variables that have a value get a new one; false: they keep it */
} liana_initialize_options;

/* Gives variables their first values; `options` may be NULL. Draws depend on the seed, the variable's name and its
 * shape alone; they are made in float32, and converted to the variable's dtype. Errors: NOT_FOUND, INVALID_ARGUMENT (a
 * variable without an initialiser: all are named), INVALID_CONFIG (an unknown initialiser, with the nearest one). After
 * a failure no variable has changed, unless the device itself failed. */
LIANA_API LIANA_MUST_USE liana_status liana_variables_initialize(liana_variables *variables,
                                                                 const liana_initialize_options *options);

/* ---- files ---- */

/* Writes all variables to a safetensors file (github.com/huggingface/safetensors), in their order. The file is replaced
 * as a whole: after a failure the old one is there. Errors: INVALID_ARGUMENT (a variable has no value; all such are
 * named), IO_ERROR, OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_variables_save(const liana_variables *variables, const char *path);

/* Sets each variable to the tensor of its name in a safetensors file. The file may have others. A variable that the
 * file lacks is an error; with `partial` it keeps its value. A tensor of another dtype or shape is always an error. The
 * whole file is checked before the first variable changes. Errors: NOT_FOUND (no file), INVALID_DATA (with the
 * variable; for a missing one the nearest name in the file), DATA_LOSS, IO_ERROR. */
LIANA_API LIANA_MUST_USE liana_status liana_variables_load(liana_variables *variables, const char *path, bool partial);

#ifdef __cplusplus
}
#endif
#endif
