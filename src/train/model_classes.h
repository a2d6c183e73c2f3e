/* model_classes.h - the classes that a model was fitted to, which other labelled data have to be numbered by. */
#ifndef LIANA_TRAIN_MODEL_CLASSES_H
#define LIANA_TRAIN_MODEL_CLASSES_H

#include "data/dataset.h"
#include "layers/model.h"

/* Whether validation data number their classes as the training data do, as far as both say how. INVALID_ARGUMENT shows
 * both. */
liana_status liana__classes_check_validation(const liana_dataset *training, const liana_dataset *validation,
                                             liana__error *error) LIANA_MUST_USE;
/* The same of data that a model is evaluated on. */
liana_status liana__classes_check_model(const liana_model *model, const liana_dataset *dataset, liana__error *error)
    LIANA_MUST_USE;

/* After a fit: the model's classes are those of the dataset. */
liana_status liana__classes_remember(liana_model *model, const liana_dataset *training, liana__error *error)
    LIANA_MUST_USE;

/* As text in the metadata of weights (JSON; "" of numbers), in the arena, and from there; NULL: not known. */
const char *liana__classes_text(const liana_model *model, liana__arena *arena);
liana_status liana__classes_from_text(liana_model *model, const char *text, liana__error *error) LIANA_MUST_USE;
/* Those that the config.yaml of a run folder records, if there is one. */
liana_status liana__classes_from_run(liana_model *model, const char *folder, liana__error *error) LIANA_MUST_USE;

#endif
