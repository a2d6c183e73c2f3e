/* Counts the updates of a fit. */
#include "train/job/fit.h"

/* Beyond this many epochs, a fit with a number of updates does not say how many epochs it has. */
enum { MOST_COUNTED = 1000000 };

uint64_t liana__fit_data_epoch(const liana__training_state *state, int64_t epoch)
{
    return (uint64_t)(state->earlier_epochs + epoch);
}

static int64_t steps_of(const liana__training_state *state, const liana__loader *loader, int64_t epoch)
{
    return (int64_t)liana__loader_steps_per_epoch(loader, liana__fit_data_epoch(state, epoch));
}

/* The updates of the epochs from `begin` up to `end`. */
static int64_t count_from(const liana__training_state *state, const liana__loader *loader, int64_t begin, int64_t end)
{
    int64_t count = 0;
    for (int64_t epoch = begin; epoch < end; epoch++) count += steps_of(state, loader, epoch);
    return count;
}

/* The same from the fit's first epoch on. */
static int64_t count_updates(const liana__training_state *state, const liana__loader *loader, int64_t end)
{
    return count_from(state, loader, state->history.first_epoch, end);
}

/* The epoch that has the last of a number of updates, counted from 1. */
static int64_t find_epochs(const liana__training_state *state, const liana__loader *loader, int64_t updates)
{
    const int64_t first = state->history.first_epoch;
    for (int64_t epoch = first; epoch - first < MOST_COUNTED; epoch++) {
        updates -= steps_of(state, loader, epoch);
        if (updates <= 0) return epoch + 1;
    }
    return 0;
}

int64_t liana__fit_most_epochs(const liana__training_state *state, const liana__training_length *length)
{
    return length->epochs ? length->epochs - state->skipped_epochs : 0;
}

liana__fit_plan liana__fit_plan_make(const liana__training_state *state, const liana__loader *loader,
                                     const liana__training_length *length, liana_learning_rate *learning_rate)
{
    int64_t before = state->iteration - state->step - count_updates(state, loader, state->epoch);
    const int64_t epochs = liana__fit_most_epochs(state, length);
    int64_t updates = epochs ? count_updates(state, loader, epochs) : 0;
    liana__fit_plan plan = {.epochs = epochs, .last_iteration = INT64_MAX};
    if (length->steps && (!epochs || length->steps < updates)) {
        updates = length->steps;
        plan.epochs = find_epochs(state, loader, updates);
        plan.last_iteration = before + updates;
    }
    learning_rate->steps_per_epoch = steps_of(state, loader, state->history.first_epoch);
    learning_rate->total_steps = before + updates;
    return plan;
}

void liana__fit_plan_stage(const liana__training_state *state, const liana__loader *loader, int64_t end,
                           liana_learning_rate *learning_rate)
{
    learning_rate->steps_per_epoch = steps_of(state, loader, state->stage_epoch);
    learning_rate->total_steps = count_from(state, loader, state->stage_epoch, end);
}
