/* Writes whole updates for devices that need not be there. */
#include "backends/pjrt/whole_text.h"

#include "passes/pass.h"
#include "stablehlo/whole_update.h"

#include <stdlib.h>

enum { MOST_PARTS = LIANA__MOST_WHOLE_ROUNDS + 1 };

typedef struct graphs {
    liana_graph *leaves, *rewritten, *penalty;
    liana_graph *parts[MOST_PARTS]; /* the rounds of sums, then the update */
    size_t *sums_read[MOST_PARTS];
    liana__stablehlo_variables variables;
} graphs;

/* Round `number` of sums, or behind the rounds the update. */
static liana_status build_part(const liana__whole_plan *plan, size_t number, graphs *own, liana__stablehlo_part *part,
                               liana__error *error)
{
    liana_graph **graph = &own->parts[number];
    const bool is_round = number < plan->num_rounds;
    LIANA_TRY(is_round ? plan->build_round(plan->user, number, graph, error)
                       : plan->build_update(plan->user, graph, error));
    const size_t num_read = (*graph)->num_inputs - plan->num_scalars - number;
    size_t *sums_read = own->sums_read[number] = calloc(num_read + 1, sizeof *sums_read);
    if (!sums_read) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < num_read; i++) sums_read[i] = plan->find_sum(plan->user, (*graph)->inputs[i]->name);
    *part = (liana__stablehlo_part){*graph, sums_read, num_read, number};
    return LIANA_OK;
}

static liana_status build(const liana__whole_plan *plan, int64_t side_by_side, graphs *own,
                          liana__stablehlo_whole *whole, liana__error *error)
{
    LIANA_TRY(plan->build_leaves(plan->user, side_by_side, &own->leaves, error));
    LIANA_TRY(liana__passes_run_asked_for(own->leaves, &own->rewritten, error));
    for (size_t i = 0; i < plan->num_rounds; i++) LIANA_TRY(build_part(plan, i, own, &whole->sum_rounds[i], error));
    LIANA_TRY(build_part(plan, plan->num_rounds, own, &whole->update, error));
    if (plan->build_penalty) LIANA_TRY(plan->build_penalty(plan->user, &own->penalty, error));
    whole->leaves = own->rewritten ? own->rewritten : own->leaves;
    whole->penalty = own->penalty;
    whole->num_sum_rounds = plan->num_rounds;
    return LIANA_OK;
}

static liana_status print(const liana__whole_plan *plan, liana__whole_text *text, graphs *own, liana__error *error)
{
    liana__stablehlo_whole whole = {.num_scalars = plan->num_scalars,
                                    .num_losses = (int64_t)plan->num_losses,
                                    .rounds = text->rounds,
                                    .steps = (int64_t)plan->most_steps,
                                    .replicas = text->replicas};
    const liana__stablehlo_options options = {.name = "update", .highest_precision = !text->default_products};
    LIANA_TRY(build(plan, text->side_by_side, own, &whole, error));
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
    const liana_status status = print(plan, text, &own, error);
    liana_graph_destroy(own.leaves);
    liana_graph_destroy(own.rewritten);
    liana_graph_destroy(own.penalty);
    for (size_t i = 0; i < MOST_PARTS; i++) {
        liana_graph_destroy(own.parts[i]);
        free(own.sums_read[i]);
    }
    free(own.variables.items);
    return status;
}
