/* The functions that callbacks of a program call. */
#include "ir/shape.h"
#include "train/callbacks/callback.h"

#include <math.h>
#include <string.h>

int64_t liana_fit_epoch(const liana_fit_context *context)
{
    return context ? context->epoch : 0;
}

int64_t liana_fit_epochs(const liana_fit_context *context)
{
    return context ? context->epochs : 0;
}

int64_t liana_fit_step(const liana_fit_context *context)
{
    return context ? context->step : 0;
}

int64_t liana_fit_steps(const liana_fit_context *context)
{
    return context ? context->steps : 0;
}

int64_t liana_fit_iteration(const liana_fit_context *context)
{
    return context ? context->training->state.iteration : 0;
}

int64_t liana_fit_num_replicas_in_sync(const liana_fit_context *context)
{
    return context ? (int64_t)context->training->num_replicas : 0;
}

const char *liana_fit_strategy(const liana_fit_context *context)
{
    return context ? context->training->strategy : NULL;
}

double liana_fit_learning_rate(const liana_fit_context *context)
{
    return context ? context->learning_rate : 0;
}

bool liana_fit_is_resumed(const liana_fit_context *context)
{
    return context ? context->resumed : false;
}

bool liana_fit_is_chief(const liana_fit_context *context)
{
    return context ? context->is_chief : false;
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

int64_t liana_fit_num_updates(const liana_fit_context *context)
{
    return context ? (int64_t)context->num_each : 0;
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

double liana_fit_rate_factor(const liana_fit_context *context)
{
    return context ? context->training->state.rate_factor : 0;
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

void liana_callback_state_put_number(liana_callback_state *state, const char *key, double number)
{
    if (state && key) liana__keep_number(state, key, number);
}

void liana_callback_state_put_integer(liana_callback_state *state, const char *key, int64_t integer)
{
    if (state && key) liana__keep_count(state, key, integer);
}

void liana_callback_state_put_text(liana_callback_state *state, const char *key, const char *text)
{
    if (state && key) liana__keep_text(state, key, text ? text : "");
}

void liana_callback_state_put_array(liana_callback_state *state, const char *key, const float *values, int64_t count)
{
    liana_shape shape = liana_shape_of(values && count > 0 ? count : 0);
    if (state && key) liana__keep_array(state, key, LIANA_F32, &shape, values);
}

bool liana_callback_state_get_number(const liana_callback_state *state, const char *key, double *number)
{
    double ignored;
    return state && key && liana__kept_number(state, key, number ? number : &ignored);
}

bool liana_callback_state_get_integer(const liana_callback_state *state, const char *key, int64_t *integer)
{
    int64_t ignored;
    return state && key && liana__kept_count(state, key, integer ? integer : &ignored);
}

const char *liana_callback_state_get_text(const liana_callback_state *state, const char *key)
{
    return state && key ? liana__kept_text(state, key) : NULL;
}

int64_t liana_callback_state_get_array(const liana_callback_state *state, const char *key, float *values, int64_t count)
{
    const liana__kept_array *array = state && key ? liana__kept_array_find(state, key) : NULL;
    if (!array || array->dtype != LIANA_F32) return -1;
    size_t size = liana__kept_array_size(array);
    int64_t found = (int64_t)(size / sizeof *values);
    if (values && found == count) memcpy(values, array->data, size);
    return found;
}
