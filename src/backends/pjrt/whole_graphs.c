/* Builds the graphs of a whole update. */
#include "backends/pjrt/whole_graphs.h"

#include "passes/pass.h"

#include <stdlib.h>

liana_status liana__whole_graphs_begin(liana__whole_graphs *graphs, const liana__whole_plan *plan, size_t replicas,
                                       liana__error *error)
{
    *graphs = (liana__whole_graphs){.shape = {.num_scalars = plan->num_scalars,
                                              .num_losses = (int64_t)plan->num_losses,
                                              .steps = (int64_t)plan->most_steps,
                                              .replicas = replicas,
                                              .table_rows = plan->table_rows}};
    if (plan->update->num_rounds <= LIANA__MOST_WHOLE_ROUNDS) return LIANA_OK;
    return liana__fail(error, LIANA_UNIMPLEMENTED, "an update reads %zu rounds of sums, expected at most %d",
                       plan->update->num_rounds, LIANA__MOST_WHOLE_ROUNDS);
}

static void free_leaves(liana__whole_graphs *graphs)
{
    liana_graph_destroy(graphs->leaves);
    liana_graph_destroy(graphs->rewritten);
    graphs->leaves = graphs->rewritten = NULL;
    liana__recomputation_free(&graphs->again);
}

void liana__whole_graphs_free(liana__whole_graphs *graphs)
{
    free_leaves(graphs);
    for (size_t i = 0; i <= LIANA__MOST_WHOLE_ROUNDS; i++) {
        liana_graph_destroy(graphs->parts[i]);
        free(graphs->sums_read[i]);
    }
    liana_graph_destroy(graphs->penalty);
    *graphs = (liana__whole_graphs){0};
}

int64_t liana__whole_places(const liana__whole_plan *plan, size_t replicas)
{
    return (int64_t)((plan->leaf->max_leaves + replicas - 1) / replicas);
}

liana_status liana__whole_graphs_build_leaves(liana__whole_graphs *graphs, const liana__whole_plan *plan,
                                              int64_t side_by_side, int recomputed, liana__error *error)
{
    const int64_t places = liana__whole_places(plan, graphs->shape.replicas);
    free_leaves(graphs);
    LIANA_TRY(plan->build_leaves(plan->user, side_by_side, &graphs->leaves, error));
    LIANA_TRY(liana__passes_run_asked_for(graphs->leaves, &graphs->rewritten, error));
    graphs->shape.leaves = graphs->rewritten ? graphs->rewritten : graphs->leaves;
    if (recomputed) LIANA_TRY(liana__pjrt_recompute(graphs->shape.leaves, recomputed, &graphs->again, error));
    if (graphs->again.graph) graphs->shape.leaves = graphs->again.graph;
    graphs->shape.rounds = (places + side_by_side - 1) / side_by_side;
    return liana__graph_verify(graphs->shape.leaves, error);
}

/* Round `number` of sums, or behind the rounds the update. */
static liana_status build_part(liana__whole_graphs *graphs, const liana__whole_plan *plan, size_t number,
                               liana__stablehlo_part *part, liana__error *error)
{
    liana_graph **graph = &graphs->parts[number];
    const liana__update_functions *update = plan->update;
    LIANA_TRY(number < update->num_rounds ? update->build_finished(update->user, number, graph, error)
                                          : update->build(update->user, LIANA__WHOLE_UPDATE, graph, error));
    const size_t num_read = (*graph)->num_inputs - plan->num_scalars - number;
    size_t *sums_read = graphs->sums_read[number] = calloc(num_read + 1, sizeof *sums_read);
    if (!sums_read) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < num_read; i++) sums_read[i] = update->find_sum(update->user, (*graph)->inputs[i]->name);
    *part = (liana__stablehlo_part){*graph, sums_read, num_read, number};
    return LIANA_OK;
}

liana_status liana__whole_graphs_build_update(liana__whole_graphs *graphs, const liana__whole_plan *plan,
                                              liana__error *error)
{
    liana__stablehlo_whole *shape = &graphs->shape;
    if (shape->update.graph) return LIANA_OK;
    for (size_t i = 0; i < plan->update->num_rounds; i++) {
        LIANA_TRY(build_part(graphs, plan, i, &shape->sum_rounds[i], error));
    }
    shape->num_sum_rounds = plan->update->num_rounds;
    LIANA_TRY(build_part(graphs, plan, plan->update->num_rounds, &shape->update, error));
    if (plan->build_penalty) LIANA_TRY(plan->build_penalty(plan->user, &graphs->penalty, error));
    shape->penalty = graphs->penalty;
    return LIANA_OK;
}
