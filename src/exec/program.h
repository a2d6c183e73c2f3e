/* program.h - a program: a compiled graph on one device, with named feeds, named fetches and variables.
 *
 * Values stay on the device between runs. A run copies and allocates nothing on a device that reuses donated buffers
 * (the CPU); feeds and fetches copy, as they say. Names are those of the graph's inputs, outputs and variables. */
#ifndef LIANA_EXEC_PROGRAM_H
#define LIANA_EXEC_PROGRAM_H

#include "backends/variables.h"

typedef struct liana__program {
    liana__arena arena; /* of the name, and of all lists but `places` */
    char *name;         /* for messages and dumps */
    liana__device *device;
    liana_graph *graph;
    liana__executable *executable;
    liana__variables *variables; /* borrowed; NULL: the graph has none */
    size_t *places;              /* of the graph's variables in the list */
    liana__buffer **values;      /* the variables' buffers, during a run */
    liana__buffer **inputs;      /* the inputs of the next run; NULL: not fed yet */
    bool *fed;                   /* by input: the buffer is the program's own */
    liana__buffer **outputs;     /* the last run's results; NULL: none yet */
    size_t num_runs;
} liana__program;

/* Compiles a graph (taken over, also on failure) and finds its variables by name. LIANA_DUMP writes the graph under
 * `name`. Errors: those of compiling, OUT_OF_MEMORY, INTERNAL for a variable that is missing or has another type. */
liana_status liana__program_create(liana__device *device, liana_graph *graph, const char *name,
                                   liana__variables *variables, liana__program **program, liana__error *error)
    LIANA_MUST_USE;
void liana__program_destroy(liana__program *program);

/* The number of an input. Errors: NOT_FOUND with the nearest name. */
liana_status liana__program_find_feed(const liana__program *program, const char *name, size_t *feed,
                                      liana__error *error) LIANA_MUST_USE;

/* Copies host data to an input. Runs read them until the input is fed again. Errors: INVALID_ARGUMENT for another dtype
 * or shape than the graph's. */
liana_status liana__program_feed(liana__program *program, size_t feed, liana_dtype dtype, const liana_shape *shape,
                                 const void *data, liana__error *error) LIANA_MUST_USE;
/* Lets an input read a buffer that is on the device already, and stays the caller's. */
void liana__program_bind(liana__program *program, size_t feed, liana__buffer *buffer);

/* Optional warm-up: does the extra work of a first run. */
liana_status liana__program_prepare(liana__program *program, liana__error *error) LIANA_MUST_USE;

/* Runs once. Errors: INVALID_ARGUMENT for an input that was not fed, has another type, or is gone. */
liana_status liana__program_run(liana__program *program, liana__error *error) LIANA_MUST_USE;

/* The same. `all_finite` says whether the device has seen that all new values of variables are finite; false: one is
 * not, or it has not looked. */
liana_status liana__program_run_watched(liana__program *program, bool *all_finite, liana__error *error) LIANA_MUST_USE;

/* The same with other buffers for the variables, in the graph's order. The graph assigns to none of them. */
liana_status liana__program_run_with(liana__program *program, liana__buffer **variables, liana__error *error)
    LIANA_MUST_USE;

/* Copies a result of the last run to the host. Errors: INVALID_ARGUMENT if the program has not run. */
liana_status liana__program_fetch(const liana__program *program, size_t fetch, void *data, liana__error *error)
    LIANA_MUST_USE;

#endif
