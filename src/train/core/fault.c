/* Looks for numbers that are not finite, in each step. */
#include "train/core/fault.h"

#include <math.h>
#include <stdio.h>

const char *liana__fault_describe(const liana__fault *fault, char *text, size_t size)
{
    const char *numbers = fault->count == 1 ? "number that is" : "numbers that are";
    switch (fault->kind) {
    case LIANA__FAULT_SUMS:
        if (fault->is_loss) {
            snprintf(text, size, "the loss%s%.200s%s is %g", *fault->name ? " of '" : "", fault->name,
                     *fault->name ? "'" : "", fault->value);
        } else {
            snprintf(text, size, "the sum for '%.300s', of gradients or statistics, has %lld %s not finite",
                     fault->name, (long long)fault->count, numbers);
        }
        break;
    case LIANA__FAULT_PENALTY: snprintf(text, size, "the loss is %g: the penalty of the weights", fault->value); break;
    case LIANA__FAULT_RATE: snprintf(text, size, "the learning rate is %g", fault->value); break;
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

static liana_status look(const liana__fault_check *check, liana__checked what, liana__fault_kind kind,
                         liana__fault *fault, liana__error *error)
{
    liana__non_finite found;
    LIANA_TRY(check->strategy->check(check->instance, what, &found, error));
    if (found.count == 0) return LIANA_OK;
    *fault = (liana__fault){.kind = kind, .count = found.count};
    snprintf(fault->name, sizeof fault->name, "%s", found.name);
    return fail(fault, error);
}

liana_status liana__fault_before_update(const liana__fault_check *check, liana__fault *fault, liana__error *error)
{
    *fault = (liana__fault){0};
    if (find_bad_loss(check, fault)) return fail(fault, error);
    LIANA_TRY(look(check, LIANA__CHECK_SUMS, LIANA__FAULT_SUMS, fault, error));
    if (isfinite((float)check->learning_rate)) return LIANA_OK;
    *fault = (liana__fault){.kind = LIANA__FAULT_RATE, .value = check->learning_rate, .count = 1};
    return fail(fault, error);
}

liana_status liana__fault_after_update(const liana__fault_check *check, liana__fault *fault, liana__error *error)
{
    return look(check, LIANA__CHECK_VARIABLES, LIANA__FAULT_UPDATE, fault, error);
}
