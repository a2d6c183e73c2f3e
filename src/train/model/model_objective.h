/* model_objective.h - the losses and metrics that a model was trained with, which evaluations use unless told
 * otherwise, and of which predictions know whether the model gives logits. */
#ifndef LIANA_TRAIN_MODEL_OBJECTIVE_H
#define LIANA_TRAIN_MODEL_OBJECTIVE_H

#include "layers/model.h"
#include "train/job/job_options.h"
#include "train/objective/batch_components.h"

/* Keeps copies of the values of a request. Errors: OUT_OF_MEMORY; the model then stays as it was. */
liana_status liana__model_keep_objective(liana_model *model, const liana__objective_request *request,
                                         liana__error *error) LIANA_MUST_USE;

/* Keeps a copy of the optimizer, as `train.optimizer` names it; NULL: not known. Errors: OUT_OF_MEMORY. */
liana_status liana__model_keep_optimizer(liana_model *model, const liana__value *optimizer, liana__error *error)
    LIANA_MUST_USE;

/* An optimizer that a fit does not name (`given` NULL) is that of the model's file, if it was compiled. The text is in
 * the arena. Errors: OUT_OF_MEMORY. */
liana_status liana__model_find_optimizer(const liana_model *model, const char *given, liana__arena *arena,
                                         liana__job_options *options, liana__error *error) LIANA_MUST_USE;

/* The losses and metrics of a job: as its options name them; where nothing is trained, else as the model was trained.
 * So are those of a fit of a model whose file was compiled.
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

/* ---- model preprocessing ---- */

/* A model's knowledge of its images and classes: learning, writing and reading it. */

/* As one line of JSON, for the metadata of a weight file; "": nothing is known; NULL: out of memory. In the arena. */
const char *liana__preprocessing_text(const liana_model *model, liana__arena *arena);

/* The key of that line in the metadata of a weight file; and setting it, and the model's losses and metrics
 * (model_objective.h), from such a file (safetensors). Errors: those of opening it. */
extern const char *const liana__preprocessing_key;
liana_status liana__preprocessing_read_file(liana_model *model, const char *weights, liana__error *error)
    LIANA_MUST_USE;

/* Preprocessing, losses and metrics as one text of JSON, for a whole-model file; NULL: out of memory. In the arena.
 * And setting them from that text, of the file at `path`. Errors: INVALID_DATA. */
const char *liana__model_facts_text(const liana_model *model, liana__arena *arena);
liana_status liana__model_facts_read(liana_model *model, const char *text, const char *path, liana__error *error)
    LIANA_MUST_USE;
/* The same of what liana writes into ONNX files (liana__onnx_facts); each may be NULL. */
liana_status liana__preprocessing_from_onnx(liana_model *model, const char *class_names, const char *pixels,
                                            const char *path, liana__error *error) LIANA_MUST_USE;

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
