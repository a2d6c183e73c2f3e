/* keras_optimizer.h - an optimizer's state as Keras's files keep it: one list of variables, in an order that each
 * optimizer has. */
#ifndef LIANA_TRAIN_KERAS_OPTIMIZER_H
#define LIANA_TRAIN_KERAS_OPTIMIZER_H

#include "formats/hdf5.h"
#include "train/checkpoint/optimizer_state.h"

/* Keras has changed the order and the names. */
typedef enum liana__keras_optimizer_form {
    LIANA__KERAS_OPTIMIZER_3,
    LIANA__KERAS_OPTIMIZER_2,      /* of Keras 2.11 and later */
    LIANA__KERAS_OPTIMIZER_LEGACY, /* of older ones, and tf_keras.optimizers.legacy */
} liana__keras_optimizer_form;

/* Reads the state of an open file; liana__optimizer_state_create has begun it for the file's model. What the file does
 * not have, or has otherwise, becomes the state's fault. If the training of the file had not begun, it has no updates.
 * A learning rate that the file keeps replaces that of state->optimizer. Errors: OUT_OF_MEMORY. */
liana_status liana__keras_optimizer_read(const liana__hdf5 *file, liana__optimizer_state *state, liana__error *error)
    LIANA_MUST_USE;

/* The same of the file at a path. Errors: those of liana__hdf5_open. */
liana_status liana__keras_optimizer_open(const char *path, liana__optimizer_state *state, liana__error *error)
    LIANA_MUST_USE;

/* An optimizer, or one within it, in Keras 3's layout: some of the variables. */
typedef struct liana__keras_optimizer_group {
    const char *path; /* "optimizer", "optimizer/inner_optimizer" */
    const char *name;
    size_t first, count;
} liana__keras_optimizer_group;

/* The variables of a state, in Keras's order, and which of them each optimizer has; the first one has all. */
typedef struct liana__keras_optimizer_variables {
    liana__hdf5_variable *items;
    size_t count;
    liana__keras_optimizer_group *groups;
    size_t num_groups;
} liana__keras_optimizer_variables;

/* Makes those of a state that is whole; they borrow its values. LEGACY is not written. Errors: OUT_OF_MEMORY. */
liana_status liana__keras_optimizer_make(const liana__optimizer_state *state, liana__keras_optimizer_form form,
                                         liana__arena *arena, liana__keras_optimizer_variables *variables,
                                         liana__error *error) LIANA_MUST_USE;

#endif
