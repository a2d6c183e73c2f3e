/* training_stages.h - the stages of a training: some epochs each, with an optimizer and a set of trained layers of its
 * own. A stage begins with the weights that the one before it gave, and with a new optimizer, as if the model were
 * compiled again. Epochs, history, callbacks and the order of the data go on. */
#ifndef LIANA_TRAIN_TRAINING_STAGES_H
#define LIANA_TRAIN_TRAINING_STAGES_H

#include "layers/model.h"
#include "optimizers/optimizer.h"

typedef struct liana__training_stage {
    const char *name; /* for messages: "stages[1]", or the name that it was given */
    int64_t epochs;
    int64_t end; /* epochs of this stage and those before it, with the initial ones */
    bool train_all;
    const char *trainable_from; /* NULL, without train_all: the layers that the model itself says */
    liana__optimizer_choice optimizer;
} liana__training_stage;

typedef struct liana__training_stages {
    liana__training_stage *items;
    size_t count;
    bool *trainable; /* by layer: the model's own setting */
} liana__training_stages;

/* The stages as they are read. */
typedef struct liana__training_stages_request {
    const liana_context *context;
    const liana__value *list; /* [{epochs: 3, trainable_from: NAME, optimizer: {...}}, ...] */
    const char *where;        /* its key: "stages" */
    const liana__value
        *optimizer; /* of the training: a map with a name. A stage's own without a name changes its keys */
    int64_t initial_epoch;
    int64_t epochs; /* of the training, if they are given too: they must be those of the stages; 0: not given */
    const char *epochs_where; /* their key */
} liana__training_stages_request;

/* Finds all errors that can be found without the model. Everything is in the arena. Errors: INVALID_CONFIG with places;
 * OUT_OF_MEMORY. */
liana_status liana__training_stages_read(const liana__training_stages_request *request, liana__arena *arena,
                                         liana__training_stages *stages, liana__error *error) LIANA_MUST_USE;

/* Remembers which layers the model itself says are trained, and checks that each stage has layers to begin from, and
 * weights to train. The model then trains the weights of the first stage. Errors: INVALID_CONFIG, with the stage. */
liana_status liana__training_stages_bind(liana__training_stages *stages, liana_model *model, const char *where,
                                         liana__arena *arena, liana__error *error) LIANA_MUST_USE;

/* The model trains the weights of a stage. */
void liana__training_stage_apply(const liana__training_stages *stages, size_t index, liana_model *model);
/* The model's own settings are restored. */
void liana__training_stages_restore(const liana__training_stages *stages, liana_model *model);

/* The epochs of all stages, with the initial ones. */
int64_t liana__training_stages_epochs(const liana__training_stages *stages);

#endif
