/* The state of a training as one. */
#include "train/training/training_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void liana__training_state_free(liana__training_state *state)
{
    liana__history_free(&state->history);
    liana__totals_free(&state->running);
    liana__kept_values_free(&state->callbacks);
    liana__decisions_free(&state->decisions);
    *state = (liana__training_state){0};
}

void liana__training_state_next_fit(liana__training_state *state, int64_t initial_epoch)
{
    int64_t trained = state->earlier_epochs + state->epoch;
    state->earlier_epochs = trained > initial_epoch ? trained - initial_epoch : 0;
    state->epoch = initial_epoch;
    state->step = 0;
    liana__totals_clear(&state->running);
    liana__history_free(&state->history);
    state->history = (liana__history){.first_epoch = initial_epoch};
    liana__kept_values_free(&state->callbacks);
    liana__decisions_free(&state->decisions);
    state->rate_factor = 1;
    state->best_checkpoint[0] = 0;
    state->keeps_checkpoint = false;
    state->stage = state->stage_epoch = state->stage_updates = state->skipped_epochs = 0;
    state->ended = state->changed_after_update = false;
    state->stopped_by[0] = 0;
}

/* The line at *at, which moves behind it; its length. */
static size_t take_line(const char **at)
{
    const size_t length = strcspn(*at, "\n");
    *at += length + ((*at)[length] == '\n');
    return length;
}

void liana__training_state_doubt(liana__training_state *state, const char *reason)
{
    char *doubts = state->not_reproducible;
    const size_t used = strlen(doubts), length = strlen(reason);
    for (const char *at = doubts; *at;) {
        const char *line = at;
        if (take_line(&at) == length && memcmp(line, reason, length) == 0) return;
    }
    snprintf(doubts + used, sizeof state->not_reproducible - used, "%s%s", used ? "\n" : "", reason);
}

liana__value *liana__training_state_doubts(const liana__training_state *state, liana__arena *arena)
{
    liana__value *list = *state->not_reproducible ? liana__value_list(arena) : NULL;
    for (const char *at = state->not_reproducible; list && *at;) {
        const char *line = at;
        const char *text = liana__arena_format(arena, "%.*s", (int)take_line(&at), line);
        if (text) liana__value_add(arena, list, liana__value_string(arena, text));
    }
    return list;
}
