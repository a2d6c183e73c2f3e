/* update_functions.h - the graphs of a step's update, as their runners see them: a strategy, its slices, a device. */
#ifndef LIANA_BACKENDS_UPDATE_FUNCTIONS_H
#define LIANA_BACKENDS_UPDATE_FUNCTIONS_H

#include "base/error.h"

#include <liana/graph.h>

/* The update of all variables, not of a slice of them. */
#define LIANA__WHOLE_UPDATE SIZE_MAX

typedef struct liana__update_functions {
    /* Builds the graph of a slice, once a training shard was built: its inputs are sums of shards, then the scalars,
     * then the finished sums of each round. It assigns to variables. *graph NULL: the slice has nothing to do. A piece
     * of a variable or sum is called "NAME[begin:end]" in it; a complete one keeps its name. */
    liana_status (*build)(void *user, size_t slice, liana_graph **graph, liana__error *error);
    /* Which sum of a shard an input is: 0, the vector, or 1 + an item of the builder's sums. */
    size_t (*find_sum)(void *user, const char *input);
    /* Rounds of sums that an update reads in addition to elements, for clipping by norms and such; mostly 0. The graph
     * of a round has the inputs of the update, with the finished sums of the rounds before. `finish_round` adds up its
     * one output on the host; that gives the finished sums, which stay until the next update, and may change the
     * scalars for the later programs. */
    size_t num_rounds;
    liana_status (*build_round)(void *user, size_t slice, size_t round, liana_graph **graph, liana__error *error);
    liana_status (*finish_round)(void *user, size_t round, const float *chunk_sums, float *scalars,
                                 const float **finished, liana__error *error);
    /* The same round with the finished sums as a last output, for updates on a device. */
    liana_status (*build_finished)(void *user, size_t round, liana_graph **graph, liana__error *error);
    /* Cuts it into slices, before their graphs are built. NULL: it cannot be cut. */
    liana_status (*cut)(void *user, size_t num_slices, liana__error *error);
    /* The first of the finished sums of a round that a slice reads. */
    size_t (*first_finished)(void *user, size_t slice, size_t round);
    void *user;
} liana__update_functions;

#endif
