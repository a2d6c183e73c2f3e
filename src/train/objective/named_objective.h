/* named_objective.h - losses and metrics as the options of C functions name them. */
#ifndef LIANA_TRAIN_NAMED_OBJECTIVE_H
#define LIANA_TRAIN_NAMED_OBJECTIVE_H

#include "train/objective/objective.h"

#include <liana/objective.h>

/* The options' members; arrays of LIANA_MAX_..., ended by the first item without a name. NULL: none are given. */
typedef struct liana__named_objective {
    const char *loss;
    const liana_loss *losses;
    const char *const *metrics;
    const liana_metric *output_metrics;
} liana__named_objective;

/* Makes the values of a request, whose model is set, of them; values that are not named stay NULL. Values are in the
 * arena. Errors: INVALID_CONFIG. */
liana_status liana__read_objective(const liana__named_objective *named, liana__arena *arena,
                                   liana__objective_request *request, liana__error *error) LIANA_MUST_USE;

/* {name: NAME, ...} as a configuration would say it, without the output and a loss's weight. In the arena. */
liana__value *liana__loss_value(liana__arena *arena, const liana_loss *loss);
liana__value *liana__metric_value(liana__arena *arena, const liana_metric *metric);

/* Everything that they say, so that two can be compared. */
void liana__describe_objective(const liana__named_objective *named, liana__text *text);

#endif
