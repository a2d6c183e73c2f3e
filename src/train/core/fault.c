/* Looks for numbers that are not finite, in each step. */
#include "train/core/fault.h"

#include "base/format.h"

#include <math.h>
#include <stdio.h>

const char *liana__fault_describe(const liana__fault *fault, char *text, size_t size)
{
    const char *numbers = fault->count == 1 ? "number that is" : "numbers that are";
    switch (fault->kind) {
    case LIANA__FAULT_SUMS:
        if (fault->is_loss) {
            snprintf(text, size, "the %sloss%s%.200s%s is %g", fault->of_validation ? "validation " : "",
                     *fault->name ? " of '" : "", fault->name, *fault->name ? "'" : "", liana__shown(fault->value));
        } else {
            snprintf(text, size, "the sum for '%.300s', of gradients or statistics, has %lld %s not finite",
                     fault->name, (long long)fault->count, numbers);
        }
        break;
    case LIANA__FAULT_PENALTY:
        snprintf(text, size, "the %sloss is %g: the penalty of the weights", fault->of_validation ? "validation " : "",
                 liana__shown(fault->value));
        break;
    case LIANA__FAULT_RATE: snprintf(text, size, "the learning rate is %g", liana__shown(fault->value)); break;
    case LIANA__FAULT_UPDATE:
        snprintf(text, size, "the update gives '%.300s' %lld %s not finite", fault->name, (long long)fault->count,
                 numbers);
        break;
    case LIANA__FAULT_NONE: snprintf(text, size, "all numbers are finite"); break;
    }
    return text;
}

static liana_status fail(const liana__fault *fault, liana__error *error)
{
    char text[640];
    return liana__fail(error, LIANA_OUT_OF_RANGE, "%s", liana__fault_describe(fault, text, sizeof text));
}

static bool find_bad_loss(const liana__fault_check *check, liana__fault *fault)
{
    const liana__objective *objective = check->objective;
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const double loss = (double)check->first_sum[i];
        if (isfinite(loss)) continue;
        *fault = (liana__fault){.kind = LIANA__FAULT_SUMS, .is_loss = true, .value = loss, .count = 1};
        if (objective->num_outputs > 1) {
            snprintf(fault->name, sizeof fault->name, "%s", objective->outputs[i].name);
        }
        return true;
    }
    const double penalty = objective->is_regularized ? (double)check->first_sum[objective->penalty_sum] : 0;
    if (isfinite(penalty)) return false;
    *fault = (liana__fault){.kind = LIANA__FAULT_PENALTY, .value = penalty, .count = 1};
    return true;
}

bool liana__losses_are_finite(const liana__totals *totals)
{
    return liana__fault_of_validation(totals).kind == LIANA__FAULT_NONE;
}

/* Sums of float32 in double do not overflow by themselves. */
liana__fault liana__fault_of_validation(const liana__totals *totals)
{
    const liana__objective *objective = totals->objective;
    liana__fault fault = {.of_validation = true};
    for (size_t i = 0; i < objective->num_outputs; i++) {
        if (isfinite(totals->sums[i])) continue;
        fault.kind = LIANA__FAULT_SUMS;
        fault.is_loss = true;
        fault.value = totals->sums[i];
        fault.count = 1;
        if (objective->num_outputs > 1) snprintf(fault.name, sizeof fault.name, "%s", objective->outputs[i].name);
        return fault;
    }
    if (!objective->is_regularized || isfinite(totals->sums[objective->penalty_sum])) return fault;
    fault.kind = LIANA__FAULT_PENALTY;
    fault.value = totals->sums[objective->penalty_sum];
    fault.count = 1;
    return fault;
}

static liana_status look(const liana__fault_check *check, liana__checked what, liana__fault_kind kind,
                         liana__fault *fault, liana__error *error)
{
    liana__non_finite found;
    LIANA_TRY(check->strategy->functions->check(check->instance, what, &found, error));
    if (found.count == 0) return LIANA_OK;
    *fault = (liana__fault){.kind = kind, .count = found.count};
    snprintf(fault->name, sizeof fault->name, "%s", found.name);
    return fail(fault, error);
}

liana_status liana__fault_of_losses(const liana__fault_check *check, liana__fault *fault, liana__error *error)
{
    *fault = (liana__fault){0};
    return find_bad_loss(check, fault) ? fail(fault, error) : LIANA_OK;
}

liana_status liana__fault_before_update(const liana__fault_check *check, liana__fault *fault, liana__error *error)
{
    LIANA_TRY(liana__fault_of_losses(check, fault, error));
    LIANA_TRY(look(check, LIANA__CHECK_SUMS, LIANA__FAULT_SUMS, fault, error));
    if (isfinite((float)check->learning_rate)) return LIANA_OK;
    *fault = (liana__fault){.kind = LIANA__FAULT_RATE, .value = check->learning_rate, .count = 1};
    return fail(fault, error);
}

liana_status liana__fault_after_update(const liana__fault_check *check, liana__fault *fault, liana__error *error)
{
    return look(check, LIANA__CHECK_VARIABLES, LIANA__FAULT_UPDATE, fault, error);
}
