/* program.h - the inside of liana_program: a graph, and the sets of results and assignments that were asked for. */
#ifndef LIANA_PROGRAM_PROGRAM_H
#define LIANA_PROGRAM_PROGRAM_H

#include "exec/program.h"
#include "exec/subgraph.h"
#include "program/device_parts.h"
#include "program/variables.h"

#include <liana/program.h>

/* The most compiled sets that are kept; of more sets the one that was not used for the longest time goes. */
enum { LIANA__MAX_COMPILED_SETS = 32 };

/* The part of the graph that gives some results and makes some assignments. */
typedef struct liana__compiled_set {
    liana__arena arena;    /* of all lists */
    liana__node **results; /* of the whole graph, by ascending id */
    size_t num_results;
    size_t *assignments; /* of the whole graph, ascending */
    size_t num_assignments;
    /* One of them: */
    liana__program *program;          /* on one device: its output i is results[i] */
    liana__device_parts *parts;       /* on several */
    const liana__node *const *inputs; /* that are needed; borrowed from the above */
    size_t num_inputs;
    size_t *read; /* the places of variables whose values are read */
    size_t num_read;
    size_t *assigned;          /* those of variables that are assigned to, as `assignments` */
    const liana_array **feeds; /* by input: during a run */
    uint64_t last_run;
} liana__compiled_set;

struct liana_program {
    liana_context *context;
    const liana_graph *graph;
    char *name;
    liana_variables *variables, *own_variables;
    size_t num_declared;   /* of the graph's variables, which are in the set */
    size_t *scope_devices; /* by scope of the graph: the set's device */
    size_t num_scopes, scope_capacity;
    liana__compiled_set *sets[LIANA__MAX_COMPILED_SETS];
    size_t num_sets, num_compiled; /* now, and in all */
    uint64_t num_runs;
    /* The request of the running run. */
    liana__node **wanted; /* by fetch */
    liana__node **results;
    size_t result_capacity;
    bool *is_assigned; /* by assignment of the graph */
    size_t *assignments;
    size_t assignment_capacity;
};

/* The set of these results (ascending, without repetition) and assignments; compiled if it is new. Errors: those of
 * compiling, in the context. */
liana_status liana__program_find_set(liana_program *program, const liana__wanted *wanted, liana__compiled_set **set)
    LIANA_MUST_USE;

#endif
