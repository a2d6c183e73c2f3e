/* cpu.h - the inside of the CPU backend. */
#ifndef LIANA_BACKENDS_CPU_CPU_H
#define LIANA_BACKENDS_CPU_CPU_H

#include "backends/backend.h"
#include "passes/memory_plan.h"

/* The workspaces belong to the device: a worker runs one executable at a time, so all share them. */
typedef struct liana__cpu_device {
    liana__device base;
    char **workspaces; /* one for each worker */
    size_t workspace_size;
} liana__cpu_device;

typedef struct liana__cpu_step {
    const liana__node *node;
    const liana__kernel *kernel;
    liana__prepared prepared;
} liana__cpu_step;

/* What one execution at a time needs for itself. */
typedef struct liana__cpu_worker {
    char *workspace;      /* planned tensors, then scratch */
    void **values;        /* by node id: where each tensor lies */
    const void **sources; /* the inputs of the running step */
    bool filled;          /* a graph of constants alone needs no workspace: NULL does not mean that nothing was done */
} liana__cpu_worker;

/* A node that lies in a buffer of the caller's. */
typedef struct liana__cpu_external {
    uint32_t node;
    liana__storage storage;
} liana__cpu_external;

typedef struct liana__cpu_executable {
    liana__executable base;
    const liana_graph *graph; /* what runs: `optimized`, or the caller's if no pass was run */
    liana_graph *optimized;
    liana__memory_plan plan;
    liana__cpu_step *steps;
    size_t num_steps;
    size_t scratch_size; /* bytes, of the greediest step */
    size_t max_inputs;
    liana__cpu_external *externals;
    size_t num_externals;
    liana__cpu_worker *workers;
} liana__cpu_executable;

/* Lists the nodes that lie in the caller's buffers. */
liana_status liana__cpu_external_values(liana__cpu_executable *executable, liana__error *error);

liana_status liana__cpu_execute(liana__executable *executable, int worker, liana__buffer *const *inputs,
                                liana__buffer *const *variables, liana__buffer *const *outputs, liana__error *error);

/* LIANA_VALIDATE: computes a step again with the reference kernel and compares. Errors: INTERNAL with the node, the
 * kernel, the element and both values. */
liana_status liana__cpu_validate_step(const liana__cpu_step *step, const void *const *sources, const void *result,
                                      liana__error *error);

#endif
