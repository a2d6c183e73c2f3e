/* body_run.h - runs a body again and again: kernels are chosen and memory is planned once, and nothing is allocated
 * while it runs. */
#ifndef LIANA_OPS_CONTROL_BODY_RUN_H
#define LIANA_OPS_CONTROL_BODY_RUN_H

#include "ir/body.h"

/* What is known about a body before it is planned. */
typedef struct liana__body_facts {
    const liana_graph *body;
    /* By input: has the same value in all steps. Nodes of such inputs alone are computed once. */
    const bool *is_constant;
    /* By node id: has rows of the batch, of which a run computes `num_rows`. NULL: everything is computed whole. */
    const bool *has_rows;
    int64_t num_rows;
    bool reference; /* plain loops, and memory of its own for each tensor */
} liana__body_facts;

/* A kernel that runs in each step, or once before all. */
typedef struct liana__body_step {
    const liana__node *node;     /* of the body, or a part of it */
    const liana__kernel *kernel; /* NULL: an alias */
    liana__prepared prepared;
    bool is_packed; /* its packed input does not change */
    size_t packed_at;
} liana__body_step;

typedef struct liana__body_plan {
    const liana_graph *body;
    liana__arena arena;
    liana__body_step *before, *steps; /* once; in each step */
    size_t num_before, num_steps;
    /* By node id. Where a result lies in the run's memory; SIZE_MAX: it is an input, a constant or an alias. */
    size_t *places;
    bool *is_computed; /* in each step, into memory that the caller may choose anew for each */
    bool *has_rows;
    size_t scratch_at, memory_size; /* bytes */
    size_t max_inputs;
} liana__body_plan;

/* Errors: OUT_OF_MEMORY, and those of kernels. Free with liana__body_plan_free, also after an error. */
liana_status liana__body_plan_make(const liana__body_facts *facts, liana__body_plan *plan, liana__error *error)
    LIANA_MUST_USE;
void liana__body_plan_free(liana__body_plan *plan);

/* A body that runs. `memory` has the plan's memory_size, then pointers: liana__body_run_size in all. */
typedef struct liana__body_run {
    const liana__body_plan *plan;
    char *memory;
    void **values;        /* by node id: set those of inputs before a step; those of outputs may be set */
    const void **sources; /* of the running kernel */
} liana__body_run;

size_t liana__body_run_size(const liana__body_plan *plan);

/* Places everything but the inputs. `first_row`: of constants with rows. */
liana__body_run liana__body_run_begin(const liana__body_plan *plan, void *memory, int64_t first_row);
/* When the inputs that do not change are set: computes and packs all that depends on these alone. */
liana_status liana__body_run_once(const liana__body_run *run) LIANA_MUST_USE;
liana_status liana__body_run_step(const liana__body_run *run) LIANA_MUST_USE;

/* Finds the nodes of a body that have rows of a batch, if it keeps rows apart: sets has_rows by node id. All outputs
 * must have rows. `num_given`: the first inputs, which have them if any. False: it does not. */
bool liana__body_find_rows(const liana_graph *body, int64_t rows, size_t num_given, bool *has_rows);

#endif
