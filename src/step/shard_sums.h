/* shard_sums.h - the outputs of a training shard while its graph is built. Every shard builder adds them here: a model
 * with its losses, a model function, a program's own function. */
#ifndef LIANA_STEP_SHARD_SUMS_H
#define LIANA_STEP_SHARD_SUMS_H

#include "step/builders.h"

#include <liana/model.h>

/* Zeros but for the graph; free it in any case. Errors stay with the graph. */
typedef struct liana__shard_sums {
    liana_graph *graph;
    liana__step_sums sums; /* gradients stand first */
    liana_tensor *values;  /* by item */
    size_t capacity, value_capacity;
} liana__shard_sums;

void liana__shard_sums_free(liana__shard_sums *own);

/* Adds the gradients of a sum with respect to variables of the graph. */
void liana__shard_sums_add_gradients(liana_location here, liana__shard_sums *own, liana_tensor loss,
                                     const liana_tensor *variables, size_t count);
/* Adds the statistics of moving averages, each times the number of examples. */
void liana__shard_sums_add_statistics(liana_location here, liana__shard_sums *own, liana_tensor examples,
                                      const liana_variable_update *updates, size_t count);
/* The number of a shard's examples; `present` [size] is 1 for those that are there, invalid: all are. */
liana_tensor liana__count_examples(liana_location here, liana_graph *graph, liana_tensor present, int64_t size);

/* Makes the vector and the sums the outputs. */
void liana__shard_sums_finish(const liana__shard_sums *own, liana_tensor vector);

/* Keeps the sums of the first shard, with texts in the arena, and holds later ones to them: false if they differ.
 * Errors: OUT_OF_MEMORY, in the arena. */
bool liana__shard_sums_keep(const liana__shard_sums *own, liana__arena *arena, liana__step_sums *kept);

#endif
