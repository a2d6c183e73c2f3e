/* Rates by hand: Keras's PiecewiseConstantDecay. */
#include "optimizers/schedule.h"

#include <math.h>
#include <stdio.h>

typedef struct piecewise_options {
    liana_schedule_common common;
    const liana__value *boundaries;
    const liana__value *values;
    int unit;
} piecewise_options;

enum { IN_STEPS, IN_EPOCHS };
static const char *const units[] = {"steps", "epochs", NULL};

static const liana_option fields[] = {
    LIANA_OPTION_ROW(piecewise_options, boundaries, VALUE,
                     .doc = "The last update of each rate but the last one, as [100, 200]; they rise."),
    LIANA_OPTION_ROW(piecewise_options, values, VALUE,
                     .doc = "The rates, as [0.1, 0.05, 0.01]: one more than boundaries."),
    LIANA_OPTION_ROW(piecewise_options, unit, ENUM, .default_text = "steps", .names = units,
                     .doc = "What the boundaries count after the warm-up: steps, or epochs."),
    LIANA_SCHEDULE_RATE_ROWS,
};

/* NaN: no number. */
static double number_of(const liana__value *value)
{
    if (value->kind == LIANA__VALUE_INT) return (double)value->integer;
    return value->kind == LIANA__VALUE_FLOAT ? value->number : NAN;
}

/* As in Keras: a boundary in steps belongs to the rate before it. One in epochs is where the next epoch begins. */
static double rate_of_run(const liana_learning_rate *run, double step, double initial)
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

/* The place of an error is that of the number. */
static liana_status check_list(const liana__value *list, const liana_check *check, const char *key, double minimum)
{
    char found[128];
    if (!list || list->kind != LIANA__VALUE_LIST) {
        return liana__fail_at(check->error, list ? &list->place : &check->map->place, key,
                              "found %s, expected a list of numbers",
                              list ? liana__value_describe(list, found, sizeof found) : "nothing");
    }
    for (size_t i = 0; i < list->count; i++) {
        double number = number_of(list->items[i]);
        if (isfinite(number) && number >= minimum) continue;
        return liana__fail_at(check->error, &list->items[i]->place, key, "found %s, expected a number of at least %g",
                              liana__value_describe(list->items[i], found, sizeof found), minimum);
    }
    return LIANA_OK;
}

static liana_status check(liana_check *check)
{
    const piecewise_options *own = check->options;
    char boundaries[256], values[256];
    snprintf(boundaries, sizeof boundaries, "%s.boundaries", check->where);
    snprintf(values, sizeof values, "%s.values", check->where);
    LIANA_TRY(check_list(own->boundaries, check, boundaries, 0));
    LIANA_TRY(check_list(own->values, check, values, 0));
    for (size_t i = 1; i < own->boundaries->count; i++) {
        double before = number_of(own->boundaries->items[i - 1]), now = number_of(own->boundaries->items[i]);
        if (now > before) continue;
        return liana__fail_at(check->error, &own->boundaries->items[i]->place, boundaries,
                              "found %g after %g, expected numbers that rise", now, before);
    }
    if (own->values->count == own->boundaries->count + 1) return LIANA_OK;
    return liana__fail_at(check->error, &own->values->place, values, "found %zu rates for %zu boundaries, expected %zu",
                          own->values->count, own->boundaries->count, own->boundaries->count + 1);
}

const liana_schedule_type liana__schedule_PiecewiseConstantDecay = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "PiecewiseConstantDecay",
               "values[i], where i boundaries have been passed", LIANA_PART_OPTIONS(piecewise_options, fields),
               .check = check),
    .rate_of_run = rate_of_run,
    .endless = true,
};
