/* The optimizer as an update builder. */
#include "step/optimizer_builder.h"

#include "base/context.h"
#include "base/scoped.h"

#include <stdlib.h>

void liana__optimizer_builder_free(liana__optimizer_builder *update)
{
    liana__update_items_free(&update->items);
    for (size_t round = 0; round < LIANA_MAX_SUM_ROUNDS; round++) free(update->finished[round]);
    free(update->pieces);
    free(update->cut_pieces);
    free(update->first_pieces);
    liana__arena_free(&update->arena);
    *update = (liana__optimizer_builder){0};
}

/* ---- the changed variables ---- */

static liana_status make_room(liana__optimizer_builder *update, liana__error *error)
{
    const liana__update_items *items = &update->items;
    update->pieces = calloc(items->num_items + 1, sizeof *update->pieces);
    if (!update->pieces) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < items->num_items; i++) {
        update->pieces[i] = (liana__slice_piece){i, 0, items->items[i].size};
    }
    for (size_t round = 0; round < items->reads.num_rounds; round++) {
        size_t count = (items->num_variables + 1) * items->reads.rounds[round].num_sums;
        update->finished[round] = calloc(count, sizeof **update->finished);
        if (!update->finished[round]) return liana__fail_memory(error, "the sums of an update");
    }
    return LIANA_OK;
}

liana_status liana__optimizer_builder_prepare(liana__optimizer_builder *update, liana__error *error)
{
    const liana__optimizer_plan *plan = &update->plan;
    const liana__updated_variable *variables;
    size_t count;
    if (update->pieces) return LIANA_OK;
    LIANA_TRY(plan->list(plan->user, &update->arena, &variables, &count, error));
    LIANA_TRY(liana__update_items_create(variables, count, &plan->rule, &update->items, error));
    update->items.rate_multipliers = plan->rate_multipliers;
    return make_room(update, error);
}

/* ---- slices ---- */

static liana_status cut(void *user, size_t num_slices, liana__error *error)
{
    liana__optimizer_builder *update = user;
    LIANA_TRY(liana__optimizer_builder_prepare(update, error));
    const liana__update_items *items = &update->items;
    free(update->cut_pieces);
    free(update->first_pieces);
    update->cut_pieces = calloc(items->num_items + num_slices + 1, sizeof *update->cut_pieces);
    update->first_pieces = calloc(num_slices + 1, sizeof *update->first_pieces);
    LIANA__SCOPED_MEMORY liana__slice_end *ends = calloc(num_slices + 1, sizeof *ends);
    if (!update->cut_pieces || !update->first_pieces || !ends)
        return liana__fail_memory(error, "the slices of an update");
    LIANA_TRY(liana__slices_choose(items->items, items->num_items, num_slices, ends, error));
    for (size_t i = 0; i < num_slices; i++) {
        const size_t first = update->first_pieces[i];
        update->first_pieces[i + 1] =
            first + liana__slice_pieces(items->items, items->num_items, &ends[i], &update->cut_pieces[first]);
    }
    return LIANA_OK;
}

static liana__update_slice pieces_of(const liana__optimizer_builder *update, size_t slice)
{
    if (slice == LIANA__WHOLE_UPDATE) return (liana__update_slice){update->pieces, update->items.num_items};
    const size_t first = update->first_pieces[slice];
    return (liana__update_slice){update->cut_pieces + first, update->first_pieces[slice + 1] - first};
}

/* ---- graphs ---- */

/* Builders leave their message in the context. */
static liana_status take_error(const liana__optimizer_builder *update, liana_status status, liana__error *error)
{
    const liana__error *own = &update->plan.context->error;
    if (status != LIANA_OK && error && error != own) *error = *own;
    return status;
}

static liana_status build(void *user, size_t slice, liana_graph **graph, liana__error *error)
{
    liana__optimizer_builder *update = user;
    *graph = NULL;
    LIANA_TRY(liana__optimizer_builder_prepare(update, error));
    const liana__update_slice pieces = pieces_of(update, slice);
    return take_error(update, liana__build_slice_update(update->plan.context, &update->items, &pieces, graph), error);
}

static liana_status build_round(void *user, size_t slice, size_t round, liana_graph **graph, liana__error *error)
{
    liana__optimizer_builder *update = user;
    *graph = NULL;
    LIANA_TRY(liana__optimizer_builder_prepare(update, error));
    const liana__update_slice pieces = pieces_of(update, slice);
    const liana_status status = liana__build_slice_sums(update->plan.context, &update->items, &pieces, round, graph);
    return take_error(update, status, error);
}

static liana_status build_finished(void *user, size_t round, liana_graph **graph, liana__error *error)
{
    liana__optimizer_builder *update = user;
    *graph = NULL;
    LIANA_TRY(liana__optimizer_builder_prepare(update, error));
    const liana__update_slice pieces = pieces_of(update, LIANA__WHOLE_UPDATE);
    const liana_status status = liana__build_finished_sums(update->plan.context, &update->items, &pieces, round, graph);
    return take_error(update, status, error);
}

static size_t first_finished(void *user, size_t slice, size_t round)
{
    const liana__optimizer_builder *update = user;
    const liana__update_slice pieces = pieces_of(update, slice);
    size_t first;
    liana__slice_sums_shape(&update->items, &pieces, round, &first);
    return first * update->items.reads.rounds[round].num_sums;
}

/* That of the learning rate changes it: in the scalars, and in `learning_rate`. */
static liana_status finish_round(void *user, size_t round, const float *chunk_sums, float *scalars,
                                 const float **finished, liana__error *error)
{
    (void)error;
    liana__optimizer_builder *update = user;
    *finished = update->finished[round];
    liana__finish_sums(&update->items, round, chunk_sums, update->finished[round]);
    if (round == 0 && update->builder.takes_non_finite) update->num_skipped += *update->finished[0] > 0;
    if (round != liana__rule_rate_round(&update->items.rule)) return LIANA_OK;
    const liana_learning_rate *rate = update->plan.adapted_rate;
    update->learning_rate = rate->schedule->adapt(rate->options, update->learning_rate, *finished);
    scalars[LIANA__UPDATE_RATE] = (float)update->learning_rate;
    return LIANA_OK;
}

static size_t find_sum(void *user, const char *input)
{
    const liana__optimizer_plan *plan = &((const liana__optimizer_builder *)user)->plan;
    return plan->find_sum(plan->user, input);
}

/* ---- setting up ---- */

static liana_status add_slots(liana__optimizer_builder *update, liana__error *error)
{
    const liana__optimizer_plan *plan = &update->plan;
    const size_t num_slots = liana__rule_most_slots(&plan->rule);
    liana__update_variable *slots =
        liana__arena_allocate(&update->arena, (num_slots * plan->num_trained + 1) * sizeof *slots);
    if (!slots) return liana__fail_memory(error, "the optimizer's slots");
    update->builder.variables = slots;
    for (size_t slot = 0; slot < num_slots; slot++) {
        for (size_t i = 0; i < plan->num_trained; i++) {
            char name[512];
            const liana__updated_variable *trained = &plan->trained[i];
            const liana__update_rule rule = liana__rule_of(&plan->rule, trained->name);
            if (slot >= liana__rule_num_slots(&rule)) continue;
            liana__rule_slot_variable(&rule, slot, trained->name, name, sizeof name);
            slots[update->builder.num_variables++] =
                (liana__update_variable){.name = liana__arena_string(&update->arena, name),
                                         .dtype = LIANA_F32,
                                         .shape = liana__rule_slot_shape(&rule, slot, &trained->shape),
                                         .begins_at = liana__rule_slot_begins_at(&rule, slot)};
        }
    }
    return update->arena.failed ? liana__fail_memory(error, "the optimizer's slots") : LIANA_OK;
}

static liana_status name_scalars(liana__optimizer_builder *update, liana__error *error)
{
    const size_t num_more = liana__rule_num_rates(&update->plan.rule) - 1;
    const char **names = liana__arena_allocate(&update->arena, (LIANA__NUM_UPDATE_SCALARS + num_more) * sizeof *names);
    if (!names) return liana__fail_memory(error, "an update");
    names[LIANA__UPDATE_RATE - 1] = "learning_rate";
    names[LIANA__UPDATE_ITERATION - 1] = "iteration";
    for (size_t i = 0; i < num_more; i++) {
        char name[64];
        liana__rate_name(i + 1, name, sizeof name);
        names[LIANA__NUM_UPDATE_SCALARS - 1 + i] = liana__arena_string(&update->arena, name);
    }
    update->builder.scalar_names = names;
    update->builder.num_scalars = LIANA__NUM_UPDATE_SCALARS - 1 + num_more;
    return update->arena.failed ? liana__fail_memory(error, "an update") : LIANA_OK;
}

/* A LossScaleOptimizer looks for them itself. */
static bool takes_non_finite(const liana__update_rule *rule)
{
    return liana__as_loss_scale(rule->optimizer, rule->options) != NULL;
}

liana_status liana__optimizer_builder_create(const liana__optimizer_plan *plan, liana__optimizer_builder *update,
                                             liana__error *error)
{
    *update = (liana__optimizer_builder){.plan = *plan};
    update->builder = (liana__update_builder){.functions = {.build = build,
                                                            .find_sum = find_sum,
                                                            .num_rounds = liana__rule_reads(&plan->rule).num_rounds,
                                                            .build_round = build_round,
                                                            .finish_round = finish_round,
                                                            .build_finished = build_finished,
                                                            .cut = cut,
                                                            .first_finished = first_finished,
                                                            .user = update},

                                              .number_scalar = LIANA__UPDATE_ITERATION,
                                              .takes_non_finite = takes_non_finite(&plan->rule),
                                              .host_changes_scalars = plan->adapted_rate != NULL};
    LIANA_TRY(name_scalars(update, error));
    return add_slots(update, error);
}
