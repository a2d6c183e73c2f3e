/* The update of a training as one slice. */
#include "train/core/trainer_update.h"

#include <stdlib.h>

liana__update_rule liana__trainer_rule(const liana__trainer_options *options)
{
    return (liana__update_rule){options->optimizer, options->optimizer_options, options->adapted_rate != NULL};
}

void liana__trainer_update_free(liana__trainer_update *update)
{
    liana__update_items_free(&update->items);
    for (size_t round = 0; round < LIANA_MAX_SUM_ROUNDS; round++) free(update->finished[round]);
    free(update->updated);
    free(update->pieces);
    free(update->cut_pieces);
    free(update->first_pieces);
    *update = (liana__trainer_update){0};
}

static liana_status make_room(liana__trainer_update *update, liana__error *error)
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

liana_status liana__trainer_update_prepare(liana__trainer_update *update, liana_context *context,
                                           const liana__trainer_options *options, const liana__leaf_sums *sums,
                                           liana__error *error)
{
    if (update->pieces) return LIANA_OK;
    *update = (liana__trainer_update){.context = context, .options = options};
    update->updated = calloc(options->model->num_weights + 1, sizeof *update->updated);
    if (!update->updated) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < sums->count; i++) update->updated[sums->weights[i]] = true;
    const liana__update_rule rule = liana__trainer_rule(options);
    LIANA_TRY(
        liana__update_items_create(options->model, &rule, sums->averages, update->updated, &update->items, error));
    update->items.rate_multipliers = options->rate_multipliers;
    return make_room(update, error);
}

liana_status liana__trainer_update_cut(liana__trainer_update *update, size_t num_slices, liana__error *error)
{
    const liana__update_items *items = &update->items;
    free(update->cut_pieces);
    free(update->first_pieces);
    update->num_slices = num_slices;
    update->cut_pieces = calloc(items->num_items + num_slices + 1, sizeof *update->cut_pieces);
    update->first_pieces = calloc(num_slices + 1, sizeof *update->first_pieces);
    liana__slice_end *ends = calloc(num_slices + 1, sizeof *ends);
    liana_status status = update->cut_pieces && update->first_pieces && ends
                              ? liana__slices_choose(items->items, items->num_items, num_slices, ends, error)
                              : liana__fail_memory(error, "the slices of an update");
    for (size_t i = 0; status == LIANA_OK && i < num_slices; i++) {
        const size_t first = update->first_pieces[i];
        update->first_pieces[i + 1] =
            first + liana__slice_pieces(items->items, items->num_items, &ends[i], &update->cut_pieces[first]);
    }
    free(ends);
    return status;
}

static liana__update_slice pieces_of(const liana__trainer_update *update, size_t slice)
{
    if (slice == LIANA__WHOLE_UPDATE) return (liana__update_slice){update->pieces, update->items.num_items};
    const size_t first = update->first_pieces[slice];
    return (liana__update_slice){update->cut_pieces + first, update->first_pieces[slice + 1] - first};
}

liana_status liana__trainer_update_build(const liana__trainer_update *update, size_t slice, liana_graph **graph)
{
    const liana__update_slice pieces = pieces_of(update, slice);
    return liana__build_slice_update(update->context, &update->items, &pieces, graph);
}

liana_status liana__trainer_update_build_sums(const liana__trainer_update *update, size_t slice, size_t round,
                                              liana_graph **graph)
{
    const liana__update_slice pieces = pieces_of(update, slice);
    return liana__build_slice_sums(update->context, &update->items, &pieces, round, graph);
}

liana_status liana__trainer_update_build_finished(const liana__trainer_update *update, size_t round,
                                                  liana_graph **graph)
{
    const liana__update_slice pieces = pieces_of(update, LIANA__WHOLE_UPDATE);
    return liana__build_finished_sums(update->context, &update->items, &pieces, round, graph);
}

size_t liana__trainer_update_first_finished(const liana__trainer_update *update, size_t slice, size_t round)
{
    const liana__update_slice pieces = pieces_of(update, slice);
    size_t first;
    liana__slice_sums_shape(&update->items, &pieces, round, &first);
    return first * update->items.reads.rounds[round].num_sums;
}

const float *liana__trainer_update_finish(liana__trainer_update *update, size_t round, const float *chunk_sums,
                                          float *scalars)
{
    float *finished = update->finished[round];
    liana__finish_sums(&update->items, round, chunk_sums, finished);
    if (round != liana__rule_rate_round(&update->items.rule)) return finished;
    const liana_learning_rate *rate = update->options->adapted_rate;
    update->learning_rate = rate->schedule->adapt(rate->options, update->learning_rate, finished);
    scalars[LIANA__UPDATE_RATE] = (float)update->learning_rate;
    return finished;
}
