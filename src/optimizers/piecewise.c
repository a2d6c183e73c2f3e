/* Rates by hand: Keras's PiecewiseConstantDecay. */
#include "optimizers/schedule.h"

#include <math.h>
#include <stdio.h>

typedef struct piecewise_options {
    liana__schedule_common common;
    const liana__value *boundaries;
    const liana__value *values;
    int unit;
} piecewise_options;

enum { IN_STEPS, IN_EPOCHS };
static const char *const units[] = {"steps", "epochs", NULL};

static const liana__field fields[] = {
    LIANA__FIELD_ROW(piecewise_options, boundaries, VALUE,
                     .doc = "The last update of each rate but the last one, as [100, 200]; they rise."),
    LIANA__FIELD_ROW(piecewise_options, values, VALUE,
                     .doc = "The rates, as [0.1, 0.05, 0.01]: one more than boundaries."),
    LIANA__FIELD_ROW(piecewise_options, unit, ENUM, .default_text = "steps", .names = units,
                     .doc = "What the boundaries count after the warm-up: steps, or epochs."),
    LIANA__SCHEDULE_RATE_FIELDS,
};
static const liana__fields options_table = LIANA__FIELD_TABLE("PiecewiseConstantDecay", piecewise_options, fields);

/* NaN: no number. */
static double number_of(const liana__value *value)
{
    if (value->kind == LIANA__VALUE_INT) return (double)value->integer;
    return value->kind == LIANA__VALUE_FLOAT ? value->number : NAN;
}

/* As in Keras: a boundary in steps belongs to the rate before it. One in epochs is where the next epoch begins. */
static double rate_of_run(const liana__learning_rate *run, double step, double initial)
{
    (void)initial;
    const piecewise_options *own = run->options;
    size_t piece = 0;
    while (piece < own->boundaries->count) {
        double boundary = number_of(own->boundaries->items[piece]);
        bool in_epochs = own->unit == IN_EPOCHS;
        if (in_epochs) boundary = liana__length_in_updates(0, boundary, run->steps_per_epoch);
        if (in_epochs ? step < boundary : step <= boundary) break;
        piece++;
    }
    return number_of(own->values->items[piece]);
}

/* ---- checks ---- */

static liana_status check_list(const liana__value *list, const liana__value *value, const char *key, double minimum,
                               liana__error *error)
{
    char found[128];
    if (!list || list->kind != LIANA__VALUE_LIST) {
        return liana__fail_at(error, list ? &list->place : &value->place, key, "found %s, expected a list of numbers",
                              list ? liana__value_describe(list, found, sizeof found) : "nothing");
    }
    for (size_t i = 0; i < list->count; i++) {
        double number = number_of(list->items[i]);
        if (isfinite(number) && number >= minimum) continue;
        return liana__fail_at(error, &list->items[i]->place, key, "found %s, expected a number of at least %g",
                              liana__value_describe(list->items[i], found, sizeof found), minimum);
    }
    return LIANA_OK;
}

static liana_status check(const void *options, const liana__value *value, const char *where, liana__error *error)
{
    const piecewise_options *own = options;
    char boundaries[256], values[256];
    snprintf(boundaries, sizeof boundaries, "%s.boundaries", where);
    snprintf(values, sizeof values, "%s.values", where);
    LIANA_TRY(check_list(own->boundaries, value, boundaries, 0, error));
    LIANA_TRY(check_list(own->values, value, values, 0, error));
    for (size_t i = 1; i < own->boundaries->count; i++) {
        double before = number_of(own->boundaries->items[i - 1]), now = number_of(own->boundaries->items[i]);
        if (now > before) continue;
        return liana__fail_at(error, &own->boundaries->items[i]->place, boundaries,
                              "found %g after %g, expected numbers that rise", now, before);
    }
    if (own->values->count == own->boundaries->count + 1) return LIANA_OK;
    return liana__fail_at(error, &own->values->place, values, "found %zu rates for %zu boundaries, expected %zu",
                          own->values->count, own->boundaries->count, own->boundaries->count + 1);
}

const liana__schedule liana__schedule_PiecewiseConstantDecay = {
    .name = "PiecewiseConstantDecay",
    .doc = "values[i], where i boundaries have been passed",
    .options = &options_table,
    .rate_of_run = rate_of_run,
    .endless = true,
    .check = check,
};
