/* shard_programs.h - the programs of a replica: one for each size of a shard, compiled when it is first needed. */
#ifndef LIANA_BACKENDS_SHARD_PROGRAMS_H
#define LIANA_BACKENDS_SHARD_PROGRAMS_H

#include "backends/replica.h"

/* The input "present" of a masked shard, in the place of a component's number. */
enum { LIANA__COMPONENT_PRESENT = LIANA__MAX_COMPONENTS, LIANA__MAX_LEAF_INPUTS };

typedef struct liana__shard_program {
    int64_t size; /* examples */
    bool needed;  /* by the running batch */
    liana_graph *graph;
    liana__executable *executable;
    size_t component[LIANA__MAX_LEAF_INPUTS]; /* by input of the graph */
    size_t *places;                           /* of the graph's variables */
    liana__buffer **variables;                /* their buffers: liana__shard_programs_bind */
    void *own;                                /* the replica's */
} liana__shard_program;

/* The programs that are kept: two sizes of full batches and two of partial ones, and those of shards that miss
 * examples. Where each epoch ends in another size, newer programs replace older ones. Only a batch that needs more
 * sizes at once has more. */
enum { LIANA__KEPT_PROGRAMS = 16 };

typedef struct liana__shard_programs {
    liana__device *device;
    liana__leaf_plan plan;
    bool masked;
    liana__shard_program *items;
    size_t count;
    size_t capacity;
    size_t next_replaced;
    /* Called with the graph of a new program before it is compiled, and after. */
    liana_status (*before)(void *user, const liana_graph *graph, liana__error *error);
    liana_status (*after)(void *user, liana__shard_program *program, liana__error *error);
    void (*release)(void *user, liana__shard_program *program); /* frees program->own */
    void *user;
} liana__shard_programs;

/* The components that the inputs of a shard's graph are; `components` has room for LIANA__MAX_LEAF_INPUTS. Errors:
 * INTERNAL for an input that batches do not have. */
liana_status liana__leaf_components(const liana__leaf_plan *plan, const liana_graph *graph, size_t *components,
                                    liana__error *error) LIANA_MUST_USE;

void liana__shard_programs_free(liana__shard_programs *programs);
/* NULL if there is none of this size. */
liana__shard_program *liana__shard_programs_find(const liana__shard_programs *programs, int64_t size);
/* Compiles the missing programs for the shards [first, end) of a batch. Masked: of one size, which stands for all. */
liana_status liana__shard_programs_prepare(liana__shard_programs *programs, const liana__leaf_batch *batch,
                                           liana__error *error) LIANA_MUST_USE;
/* The needs of a prepared batch, of shards that run one after the other (replica.h). */
void liana__shard_programs_memory(const liana__shard_programs *programs, const liana__leaf_batch *batch,
                                  liana__replica_memory *memory);
/* Finds the buffers that the variables of the needed programs have now. */
void liana__shard_programs_bind(liana__shard_programs *programs);

/* The number of outputs of a shard's graph that are sums. */
static inline size_t liana__leaf_num_sums(const liana__leaf_plan *plan, const liana_graph *graph)
{
    return graph->num_outputs - plan->gives_rows;
}

#endif
