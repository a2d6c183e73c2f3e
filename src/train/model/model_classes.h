/* model_classes.h - checks that labelled data use the same class numbers as a model, or as other data. A model's
 * classes are in its preprocessing (model_preprocessing.h). */
#ifndef LIANA_TRAIN_MODEL_CLASSES_H
#define LIANA_TRAIN_MODEL_CLASSES_H

#include "data/dataset/dataset.h"
#include "layers/model.h"

/* Whether data name their classes, and the classes' names; none if they are numbers. */
bool liana__classes_of(const liana_dataset *dataset, liana__strings *names);

/* Checks that validation data use the same class numbers as the training data, as far as both say it. INVALID_ARGUMENT
 * shows both. */
liana_status liana__classes_check_validation(const liana_dataset *training, const liana_dataset *validation,
                                             liana__error *error) LIANA_MUST_USE;
/* The same for data that a model is fitted to or evaluated on. */
liana_status liana__classes_check_model(const liana_model *model, const liana_dataset *dataset, liana__error *error)
    LIANA_MUST_USE;

#endif
