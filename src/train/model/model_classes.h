/* model_classes.h - whether labelled data number their classes as a model does, or as other data do. What a model knows
 * of its classes is in its preprocessing (model_preprocessing.h). */
#ifndef LIANA_TRAIN_MODEL_CLASSES_H
#define LIANA_TRAIN_MODEL_CLASSES_H

#include "data/dataset/dataset.h"
#include "layers/model.h"

/* Whether data say what their classes are, and their names; none of numbers. */
bool liana__classes_of(const liana_dataset *dataset, liana__strings *names);

/* Whether validation data number their classes as the training data do, as far as both say how. INVALID_ARGUMENT shows
 * both. */
liana_status liana__classes_check_validation(const liana_dataset *training, const liana_dataset *validation,
                                             liana__error *error) LIANA_MUST_USE;
/* The same of data that a model is fitted to, or evaluated on. */
liana_status liana__classes_check_model(const liana_model *model, const liana_dataset *dataset, liana__error *error)
    LIANA_MUST_USE;

#endif
