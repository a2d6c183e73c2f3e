/* Writes whole updates for devices that need not be there. */
#include "backends/pjrt/whole_text.h"

#include "passes/pass.h"
#include "stablehlo/whole_update.h"

#include <stdlib.h>

typedef struct graphs {
    liana_graph *leaves, *rewritten, *update, *penalty;
    size_t *sums_read;
    liana__stablehlo_variables variables;
} graphs;

static liana_status build(const liana__whole_plan *plan, int64_t side_by_side, graphs *own, liana__error *error)
{
    LIANA_TRY(plan->build_leaves(plan->user, side_by_side, &own->leaves, error));
    LIANA_TRY(liana__passes_run_asked_for(own->leaves, &own->rewritten, error));
    LIANA_TRY(plan->build_update(plan->user, &own->update, error));
    if (plan->build_penalty) LIANA_TRY(plan->build_penalty(plan->user, &own->penalty, error));
    const size_t num_read = own->update->num_inputs - plan->num_scalars;
    own->sums_read = calloc(num_read + 1, sizeof *own->sums_read);
    if (!own->sums_read) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < num_read; i++) {
        own->sums_read[i] = plan->find_sum(plan->user, own->update->inputs[i]->name);
    }
    return LIANA_OK;
}

static liana_status print(const liana__whole_plan *plan, liana__whole_text *text, graphs *own, liana__error *error)
{
    const liana__stablehlo_whole whole = {.leaves = own->rewritten ? own->rewritten : own->leaves,
                                          .update = own->update,
                                          .penalty = own->penalty,
                                          .sums_read = own->sums_read,
                                          .num_scalars = plan->num_scalars,
                                          .num_losses = (int64_t)plan->num_losses,
                                          .rounds = text->rounds,
                                          .steps = (int64_t)plan->most_steps,
                                          .replicas = text->replicas};
    const liana__stablehlo_options options = {.name = "update", .highest_precision = !text->default_products};
    LIANA_TRY(liana__stablehlo_whole_variables(&whole, &own->variables, error));
    return liana__stablehlo_print_whole(&whole, &own->variables, &options, &text->text, error);
}

liana_status liana__whole_text_write(const liana__whole_plan *plan, liana__whole_text *text, liana__error *error)
{
    graphs own = {0};
    const int64_t places = (int64_t)((plan->leaf->max_leaves + text->replicas - 1) / text->replicas);
    const int64_t wanted = text->side_by_side && text->side_by_side < places ? text->side_by_side : places;
    const int64_t side = plan->side_by_side ? wanted : 1;
    text->text = NULL;
    text->side_by_side = side;
    text->rounds = (places + side - 1) / side;
    liana_status status = build(plan, side, &own, error);
    if (status == LIANA_OK) status = print(plan, text, &own, error);
    liana_graph_destroy(own.leaves);
    liana_graph_destroy(own.rewritten);
    liana_graph_destroy(own.update);
    liana_graph_destroy(own.penalty);
    free(own.sums_read);
    free(own.variables.items);
    return status;
}
