/* The state of the watch on numbers that are not finite: counts for the history, and, where the last good state is
 * restored, that state. */
#include "train/callbacks/standard.h"

#include "train/callbacks/watch.h"

#include <stdio.h>

enum { NAME_SIZE = 600 };

static liana_status epoch_end(liana_callback_item *own, liana_fit_context *context)
{
    liana__watch *watch = own->self;
    liana__history *history = &context->training->state.history;
    if (history->count == 0) return LIANA_OK;
    liana__history_epoch *epoch = &history->epochs[history->count - 1];
    epoch->skipped_updates = watch->skipped;
    epoch->restores = watch->restored;
    return LIANA_OK;
}

/* Not at its end: an epoch that a limit cut short goes on in a longer training. */
static liana_status epoch_begin(liana_callback_item *own, liana_fit_context *context)
{
    (void)context;
    liana__watch *watch = own->self;
    watch->skipped = watch->restored = 0;
    return LIANA_OK;
}

/* ---- state ---- */

static void keep_snapshot(const liana__watch *watch, const liana__variables *variables, liana_callback_state *state)
{
    liana__keep_count(state, "epoch", watch->epoch);
    liana__keep_count(state, "step", watch->step);
    liana__keep_count(state, "applied", watch->applied);
    const liana_shape steps = liana_shape_of((int64_t)watch->num_steps);
    if (watch->num_steps) {
        liana__keep_array(state, "rates", LIANA_F64, &steps, watch->rates);
        liana__keep_array(state, "updates", LIANA_S64, &steps, watch->updates);
    }
    for (size_t i = 0; i < watch->num_values; i++) {
        char key[NAME_SIZE];
        const liana__buffer *buffer = variables->items[i].buffer;
        snprintf(key, sizeof key, "snapshot/%s", variables->items[i].name);
        liana__keep_array(state, key, buffer->dtype, &buffer->shape, watch->values[i]);
    }
}

static void save(const liana_callback_item *own, liana_callback_state *state)
{
    const liana__watch *watch = own->self;
    if (watch->skipped) liana__keep_count(state, "skipped", watch->skipped);
    if (watch->restored) liana__keep_count(state, "restored", watch->restored);
    if (watch->in_row) liana__keep_count(state, "in_row", watch->in_row);
    const bool keeps = watch->options && watch->options->policy == LIANA__ON_BAD_NUMBERS_RESTORE && watch->values &&
                       watch->reaches && liana__watch_fits(watch, watch->variables);
    if (keeps) keep_snapshot(watch, watch->variables, state);
}

static liana_status load_values(liana__watch *watch, const liana__variables *variables,
                                const liana_callback_state *state, liana__error *error)
{
    LIANA_TRY(liana__watch_reserve(watch, variables, error));
    for (size_t i = 0; i < variables->count; i++) {
        char key[NAME_SIZE];
        const liana__buffer *buffer = variables->items[i].buffer;
        snprintf(key, sizeof key, "snapshot/%s", variables->items[i].name);
        const liana__kept_array *found = liana__kept_array_find(state, key);
        if (!found || found->dtype != buffer->dtype || !liana_shape_equal(&found->shape, &buffer->shape)) {
            return liana__fail(error, LIANA_INVALID_DATA,
                               "the last good state of '%.300s' is missing or has another shape",
                               variables->items[i].name);
        }
        memcpy(watch->values[i], found->data, buffer->size);
    }
    return LIANA_OK;
}

static bool load_steps(liana__watch *watch, const liana_callback_state *state)
{
    const liana__kept_array *rates = liana__kept_array_find(state, "rates"),
                            *updates = liana__kept_array_find(state, "updates");
    if (!rates && !updates) return true;
    bool fits = rates && updates && rates->dtype == LIANA_F64 && updates->dtype == LIANA_S64 &&
                rates->shape.rank == 1 && liana_shape_equal(&rates->shape, &updates->shape) &&
                rates->shape.dims[0] <= LIANA__SNAPSHOT_STEPS;
    if (!fits) return false;
    watch->num_steps = (size_t)rates->shape.dims[0];
    memcpy(watch->rates, rates->data, watch->num_steps * sizeof *watch->rates);
    memcpy(watch->updates, updates->data, watch->num_steps * sizeof *watch->updates);
    return true;
}

static liana_status load(liana_callback_item *own, const liana_fit_context *context, const liana_callback_state *state)
{
    liana__error *error = context->error;
    liana__watch *watch = own->self;
    const liana__numbers_options *options = own->options;
    const liana__variables *variables = &context->training->variables;
    *watch = (liana__watch){.options = options, .variables = variables};
    liana__kept_count(state, "skipped", &watch->skipped);
    liana__kept_count(state, "restored", &watch->restored);
    liana__kept_count(state, "in_row", &watch->in_row);
    const bool kept = liana__kept_count(state, "applied", &watch->applied) &&
                      liana__kept_count(state, "epoch", &watch->epoch) &&
                      liana__kept_count(state, "step", &watch->step);
    if (!kept || options->policy != LIANA__ON_BAD_NUMBERS_RESTORE) return LIANA_OK;
    if (!load_steps(watch, state)) {
        return liana__fail(error, LIANA_INVALID_DATA, "the steps since the last good state are damaged");
    }
    watch->reaches = true;
    return load_values(watch, variables, state, error);
}

static void close(liana_callback_item *own)
{
    liana__watch_free(own->self);
}

const liana_callback_type liana__callback_bad_numbers = {
    LIANA_PART(CALLBACK, liana_callback_type, "bad_numbers", "Watches for numbers that are not finite."),
    .self_size = sizeof(liana__watch),
    .save = save,
    .load = load,
    .close = close,
    .on = {[LIANA_ON_EPOCH_BEGIN] = epoch_begin, [LIANA_ON_EPOCH_END] = epoch_end},
};
