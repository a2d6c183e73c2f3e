/* model_preprocessing.h - what a model knows of its images and classes: learnt, written down and read. */
#ifndef LIANA_TRAIN_MODEL_PREPROCESSING_H
#define LIANA_TRAIN_MODEL_PREPROCESSING_H

#include "layers/model.h"

/* As one line of JSON, for a file of weights; NULL where memory ran out, or "" where nothing is known. In the arena. */
const char *liana__preprocessing_text(const liana_model *model, liana__arena *arena);
/* The model learns what such a line says (NULL or "": nothing); `path` names its file in messages.
 * Errors: INVALID_DATA, OUT_OF_MEMORY. */
liana_status liana__preprocessing_read(liana_model *model, const char *text, const char *path, liana__error *error)
    LIANA_MUST_USE;

/* The model learns what the config.yaml of a run folder says; a folder without one is fine. Errors: those of reading
 * it. */
liana_status liana__preprocessing_read_run(liana_model *model, const char *folder, liana__error *error) LIANA_MUST_USE;

/* liana_model_set_preprocessing with the error elsewhere than in the context. `knows_classes`: without names, they are
 * numbers. */
liana_status liana__preprocessing_set(liana_model *model, const liana_preprocessing *preprocessing, bool knows_classes,
                                      liana__error *error) LIANA_MUST_USE;

#endif
