/* The functions that callbacks of a program call. */
#include "ir/shape.h"
#include "train/callbacks/callback.h"

#include <math.h>
#include <string.h>

liana_fit_facts liana_fit_info(const liana_fit_context *context)
{
    if (!context) return (liana_fit_facts){0};
    const liana__training *training = context->training;
    return (liana_fit_facts){.epoch = context->epoch,
                             .epochs = context->epochs,
                             .step = context->step,
                             .steps = context->steps,
                             .iteration = training->state.iteration,
                             .num_updates = (int64_t)context->num_each,
                             .learning_rate = context->learning_rate,
                             .rate_factor = training->state.rate_factor,
                             .is_resumed = context->resumed,
                             .is_chief = context->is_chief,
                             .num_replicas_in_sync = (int64_t)training->num_replicas,
                             .strategy = training->strategy};
}

bool liana_fit_metric(const liana_fit_context *context, const char *name, double *value)
{
    double ignored;
    bool known = false;
    if (!value) value = &ignored;
    *value = 0;
    return context && name && liana__fit_metric(context, name, value, &known, NULL) == LIANA_OK && known;
}

/* ---- the updates of a step ---- */

static bool has_update(const liana_fit_context *context, int64_t update)
{
    return context && update >= 0 && update < (int64_t)context->num_each;
}

bool liana_fit_update_metric(const liana_fit_context *context, int64_t update, const char *name, double *value)
{
    double ignored;
    if (!value) value = &ignored;
    *value = 0;
    if (!name || !has_update(context, update) || context->each[update].count == 0) return false;
    const liana__update_sums *one = &context->each[update];
    liana__totals totals;
    liana_status status = liana__totals_create(context->training->objective, &totals, NULL);
    if (status == LIANA_OK) liana__totals_add(&totals, one->sums, one->count, one->bad_records);
    bool known = status == LIANA_OK && liana__fit_metric_of(context, name, &totals, value);
    liana__totals_free(&totals);
    return known;
}

double liana_fit_update_rate(const liana_fit_context *context, int64_t update)
{
    return has_update(context, update) ? context->each[update].learning_rate : 0;
}

/* ---- variables ---- */

const char *liana_fit_variable_name(const liana_fit_context *context, size_t index)
{
    if (!context) return NULL;
    const liana__variables *variables = &context->training->variables;
    return index < variables->count ? variables->items[index].name : NULL;
}

int64_t liana_fit_variable_size(const liana_fit_context *context, const char *name)
{
    if (!context) return -1;
    const liana__variable *found = name ? liana__variables_find(&context->training->variables, name) : NULL;
    return found ? (int64_t)(found->buffer->size / sizeof(float)) : -1;
}

liana_status liana_fit_variable_read(const liana_fit_context *context, const char *name, float *values)
{
    LIANA__REQUIRE(NULL, context);
    liana__error *error = context->error;
    LIANA__REQUIRE(error, name);
    LIANA__REQUIRE(error, values);
    const liana__variable *found = liana__variables_find(&context->training->variables, name);
    if (!found) return liana__fail(error, LIANA_NOT_FOUND, "the training has no variable '%s'", name);
    return liana__variable_read(found, values, error);
}

/* ---- requests ---- */

void liana_fit_stop(liana_fit_context *context, const char *reason)
{
    if (context) liana__fit_stop(context, "%s", reason ? reason : "it asked for the end");
}

void liana_fit_request_checkpoint(liana_fit_context *context)
{
    if (context) context->wants_checkpoint = true;
}

liana_status liana_fit_set_rate_factor(liana_fit_context *context, double factor)
{
    LIANA__REQUIRE(NULL, context);
    if (!isfinite(factor) || factor <= 0) {
        return liana__fail(context->error, LIANA_INVALID_ARGUMENT,
                           "the rate factor is %g, expected a finite number above 0", factor);
    }
    liana__fit_set_rate_factor(context, factor);
    return LIANA_OK;
}

bool liana_fit_clock_decision(const liana_fit_context *context, bool own)
{
    return context ? liana__fit_clock_decision(context, own) : own;
}

liana_status liana_fit_fail(liana_fit_context *context, liana_status status, const char *message)
{
    if (!context) return status;
    return liana__fail(context->error, status, "%s", message ? message : liana_status_name(status));
}

/* ---- state ---- */

void liana_callback_state_put(liana_callback_state *state, const char *key, liana_kept value)
{
    if (!state || !key) return;
    switch (value.kind) {
    case LIANA_KEPT_NUMBER: liana__keep_number(state, key, value.number); break;
    case LIANA_KEPT_INTEGER: liana__keep_count(state, key, value.integer); break;
    case LIANA_KEPT_TEXT: liana__keep_text(state, key, value.text ? value.text : ""); break;
    case LIANA_KEPT_ARRAY: {
        const liana_shape shape = liana_shape_of(value.values && value.count > 0 ? value.count : 0);
        liana__keep_array(state, key, LIANA_F32, &shape, value.values);
        break;
    }
    }
}

bool liana_callback_state_get(const liana_callback_state *state, const char *key, liana_kept_kind kind,
                              liana_kept *value)
{
    liana_kept found = {.kind = kind};
    const liana__kept_array *array;
    bool known = state && key;
    if (value) *value = (liana_kept){0};
    if (!known) return false;
    switch (kind) {
    case LIANA_KEPT_NUMBER: known = liana__kept_number(state, key, &found.number); break;
    case LIANA_KEPT_INTEGER: known = liana__kept_count(state, key, &found.integer); break;
    case LIANA_KEPT_TEXT: known = (found.text = liana__kept_text(state, key)) != NULL; break;
    case LIANA_KEPT_ARRAY:
        array = liana__kept_array_find(state, key);
        known = array && array->dtype == LIANA_F32;
        if (known) found.values = array->data;
        if (known) found.count = (int64_t)(liana__kept_array_size(array) / sizeof *found.values);
        break;
    default: known = false; break;
    }
    if (known && value) *value = found;
    return known;
}
