/* named_objective.h - losses and metrics as the options of C functions name them. */
#ifndef LIANA_TRAIN_NAMED_OBJECTIVE_H
#define LIANA_TRAIN_NAMED_OBJECTIVE_H

#include "train/core/objective.h"

#include <liana/objective.h>

/* The options' members; arrays of LIANA_MAX_..., ended by the first item without a name. NULL: none are given. */
typedef struct liana__named_objective {
    const char *loss;
    const liana_loss *losses;
    const char *const *metrics;
    const liana_metric *output_metrics;
} liana__named_objective;

/* Reads them for a model. Errors: those of liana__objective_create. */
liana_status liana__read_objective(const liana__named_objective *named, const liana_model *model, bool for_training,
                                   liana__arena *arena, liana__objective *objective, liana__error *error)
    LIANA_MUST_USE;

/* Everything that they say, so that two can be compared. */
void liana__describe_objective(const liana__named_objective *named, liana__text *text);

#endif
