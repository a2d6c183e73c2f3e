/* whole_graphs.h - the graphs of a whole update, as StableHLO's writer takes them. */
#ifndef LIANA_BACKENDS_PJRT_WHOLE_GRAPHS_H
#define LIANA_BACKENDS_PJRT_WHOLE_GRAPHS_H

#include "backends/pjrt/recompute.h"
#include "backends/whole_update.h"
#include "stablehlo/whole_update.h"

typedef struct liana__whole_graphs {
    liana__stablehlo_whole shape; /* of the module; it borrows the graphs */
    liana_graph *leaves, *rewritten, *penalty;
    liana__recomputation again;                       /* of the shards; without a graph, nothing is computed twice */
    liana_graph *parts[LIANA__MOST_WHOLE_ROUNDS + 1]; /* the rounds, then the update */
    size_t *sums_read[LIANA__MOST_WHOLE_ROUNDS + 1];
} liana__whole_graphs;

/* Begins without graphs, for a number of devices that share a batch. Free them in any case. Errors: UNIMPLEMENTED (more
 * rounds of sums than a module has). */
liana_status liana__whole_graphs_begin(liana__whole_graphs *graphs, const liana__whole_plan *plan, size_t replicas,
                                       liana__error *error) LIANA_MUST_USE;
void liana__whole_graphs_free(liana__whole_graphs *graphs);

/* The places for shards that each of the devices needs. */
int64_t liana__whole_places(const liana__whole_plan *plan, size_t replicas);

/* Builds the shards, `side` of them side by side, in place of those before; the others run in rounds. `recomputed`: the
 * level of recompute.h; 0: nothing is computed twice. Errors: those of the plan's function and of the passes. */
liana_status liana__whole_graphs_build_leaves(liana__whole_graphs *graphs, const liana__whole_plan *plan,
                                              int64_t side_by_side, int recomputed, liana__error *error) LIANA_MUST_USE;
/* Builds the rest once, after the first shards. Errors: those of the plan's functions, OUT_OF_MEMORY. */
liana_status liana__whole_graphs_build_update(liana__whole_graphs *graphs, const liana__whole_plan *plan,
                                              liana__error *error) LIANA_MUST_USE;

#endif
