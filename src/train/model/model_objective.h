/* model_objective.h - the losses and metrics that a model was trained for: evaluations use them unless told otherwise,
 * and predictions learn from them whether the model gives logits. */
#ifndef LIANA_TRAIN_MODEL_OBJECTIVE_H
#define LIANA_TRAIN_MODEL_OBJECTIVE_H

#include "train/job/job_options.h"
#include "train/objective/batch_components.h"

/* Keeps copies of the values of a request. Errors: OUT_OF_MEMORY; the model then stays as it was. */
liana_status liana__model_keep_objective(liana_model *model, const liana__objective_request *request,
                                         liana__error *error) LIANA_MUST_USE;

/* The losses and metrics of a job: as its options name them; where nothing is trained, else as the model was trained.
 * The request is set but for losses, metrics and targets (`match`; NULL: not known). `predicts`: of a model with
 * several outputs that nothing is known of, none is compared. Everything is in the arena. Errors: those of
 * liana__objective_create. */
liana_status liana__model_find_objective(const liana__job_options *options, const liana__data_match *match, bool trains,
                                         liana__arena *arena, liana__objective_request *request,
                                         const liana__objective **objective, liana__error *error) LIANA_MUST_USE;

/* Whether no loss is known for the model: it was not trained, and gives no probabilities of classes, for which there is
 * a usual loss. Then it predicts without one. */
bool liana__model_has_no_loss(const liana_model *model);

/* The key of this line in the metadata of a weight file. */
extern const char *const liana__model_objective_key;
/* As one line of JSON, for the metadata of a weight file; "": nothing is known; NULL: out of memory. In the arena. */
const char *liana__model_objective_text(const liana_model *model, liana__arena *arena);
/* Sets it from that line, parsed. Errors: OUT_OF_MEMORY. */
liana_status liana__model_objective_read(liana_model *model, const liana__value *map, liana__arena *arena,
                                         liana__error *error) LIANA_MUST_USE;

#endif
