/* The state of a training as one. */
#include "train/training/training_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIFFERENCE_SIZE = 160 };

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

static bool same_totals(const liana__totals *a, const liana__totals *b)
{
    size_t count = a->objective ? a->objective->num_sums : 0;
    if (count != (b->objective ? b->objective->num_sums : 0)) return false;
    return a->count == b->count && a->bad_records == b->bad_records &&
           (count == 0 || memcmp(a->sums, b->sums, count * sizeof *a->sums) == 0);
}

static bool same_measured(const liana__measured *a, const liana__measured *b)
{
    return a->count == b->count && a->bad_records == b->bad_records &&
           memcmp(a->values, b->values, sizeof a->values) == 0;
}

static bool same_place(const liana__training_state *a, const liana__training_state *b)
{
    return a->earlier_epochs == b->earlier_epochs && a->epoch == b->epoch && a->step == b->step &&
           a->stage == b->stage && a->stage_epoch == b->stage_epoch && a->stage_updates == b->stage_updates &&
           a->skipped_epochs == b->skipped_epochs && a->iteration == b->iteration && a->taken_back == b->taken_back &&
           a->rate_factor == b->rate_factor && a->adapted_rate == b->adapted_rate && a->averaged == b->averaged &&
           a->ended == b->ended && same_totals(&a->running, &b->running);
}

static bool same_lists(const double *a, const double *b, size_t count)
{
    return (!a && !b) || (a && b && memcmp(a, b, count * sizeof *a) == 0);
}

/* `num_listed`: of the objective. */
static bool same_history(const liana__history *a, const liana__history *b, size_t num_listed)
{
    if (a->count != b->count || a->first_epoch != b->first_epoch) return false;
    for (size_t i = 0; i < a->count; i++) {
        const liana__history_epoch *left = &a->epochs[i], *right = &b->epochs[i];
        if (!same_measured(&left->training, &right->training) ||
            !same_measured(&left->validation, &right->validation) || left->learning_rate != right->learning_rate ||
            left->global_step != right->global_step || left->skipped_updates != right->skipped_updates ||
            left->restores != right->restores) {
            return false;
        }
        if (!same_lists(left->training_lists, right->training_lists, num_listed)) return false;
        if (!same_lists(left->validation_lists, right->validation_lists, num_listed)) return false;
    }
    return true;
}

static liana_status same_variable(const liana__variable *a, const liana__variable *b, bool *equal, liana__error *error)
{
    size_t size = a->buffer->size;
    *equal = false;
    if (strcmp(a->name, b->name) != 0 || a->buffer->dtype != b->buffer->dtype || size != b->buffer->size)
        return LIANA_OK;
    char *values = malloc(2 * size + 1);
    if (!values) return liana__fail_memory(error, a->name);
    liana_status status = liana__variable_read(a, values, error);
    if (status == LIANA_OK) status = liana__variable_read(b, values + size, error);
    *equal = status == LIANA_OK && memcmp(values, values + size, size) == 0;
    free(values);
    return status;
}

liana_status liana__training_state_equal(const liana__training_state *a, const liana__variables *a_variables,
                                         const liana__training_state *b, const liana__variables *b_variables,
                                         bool *equal, char *difference, liana__error *error)
{
    *equal = false;
    const char *kept = liana__kept_values_difference(&a->callbacks, &b->callbacks);
    size_t num_listed = a->running.objective ? a->running.objective->num_listed : 0;
    const char *what = !same_place(a, b)                                       ? "the place in training"
                       : !same_history(&a->history, &b->history, num_listed)   ? "the history"
                       : !liana__decisions_equal(&a->decisions, &b->decisions) ? "the decisions"
                       : kept                                                  ? kept
                       : a_variables->count != b_variables->count              ? "the number of variables"
                                                                               : NULL;
    if (what) {
        snprintf(difference, DIFFERENCE_SIZE, "%s", what);
        return LIANA_OK;
    }
    for (size_t i = 0; i < a_variables->count; i++) {
        LIANA_TRY(same_variable(&a_variables->items[i], &b_variables->items[i], equal, error));
        if (*equal) continue;
        snprintf(difference, DIFFERENCE_SIZE, "the variable '%.120s'", a_variables->items[i].name);
        return LIANA_OK;
    }
    *equal = true;
    return LIANA_OK;
}
