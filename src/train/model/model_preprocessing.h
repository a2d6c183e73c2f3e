/* model_preprocessing.h - a model's facts about its images and classes: learning, writing and reading them. */
#ifndef LIANA_TRAIN_MODEL_PREPROCESSING_H
#define LIANA_TRAIN_MODEL_PREPROCESSING_H

#include "layers/model.h"

/* As one line of JSON, for the metadata of a weight file; "": nothing is known; NULL: out of memory. In the arena. */
const char *liana__preprocessing_text(const liana_model *model, liana__arena *arena);

/* The key of that line in the metadata of a weight file; and setting it, and the model's losses and metrics
 * (model_objective.h), from such a file (safetensors). Errors: those of opening it. */
extern const char *const liana__preprocessing_key;
liana_status liana__preprocessing_read_file(liana_model *model, const char *weights, liana__error *error)
    LIANA_MUST_USE;

/* Sets it from the config.yaml of a run folder, if there is one. Errors: those of reading it. */
liana_status liana__preprocessing_read_run(liana_model *model, const char *folder, liana__error *error) LIANA_MUST_USE;

/* Loads the plugins that the config.yaml of a run folder names, if the model's context allows that. Errors: those of
 * reading and loading them. */
liana_status liana__preprocessing_load_plugins(liana_model *model, const char *folder, liana__error *error)
    LIANA_MUST_USE;

/* liana_model_set_preprocessing with another error than the context's. `knows_classes`: classes without names are
 * numbers. */
liana_status liana__preprocessing_set(liana_model *model, const liana_preprocessing *preprocessing, bool knows_classes,
                                      liana__error *error) LIANA_MUST_USE;

#endif
