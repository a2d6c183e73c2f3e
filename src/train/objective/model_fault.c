/* Looks for losses that are not finite. */
#include "train/objective/trainer.h"

#include <math.h>
#include <stdio.h>

static void name_loss(const liana__objective *objective, size_t output, double loss, liana__fault *fault)
{
    fault->kind = LIANA__FAULT_LOSS;
    fault->value = loss;
    fault->count = 1;
    if (objective->num_outputs > 1) snprintf(fault->name, sizeof fault->name, "%s", objective->outputs[output].name);
}

bool liana__find_bad_loss(const liana__objective *objective, const float *sums, liana__fault *fault)
{
    *fault = (liana__fault){0};
    for (size_t i = 0; i < objective->num_outputs; i++) {
        if (isfinite(sums[i])) continue;
        name_loss(objective, i, (double)sums[i], fault);
        return true;
    }
    const double penalty = objective->is_regularized ? (double)sums[objective->penalty_sum] : 0;
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
        name_loss(objective, i, totals->sums[i], &fault);
        return fault;
    }
    if (!objective->is_regularized || isfinite(totals->sums[objective->penalty_sum])) return fault;
    fault.kind = LIANA__FAULT_PENALTY;
    fault.value = totals->sums[objective->penalty_sum];
    fault.count = 1;
    return fault;
}
