/* optimizer_state.h - what an optimizer keeps between updates, on the host: from a file or a training to another. */
#ifndef LIANA_TRAIN_OPTIMIZER_STATE_H
#define LIANA_TRAIN_OPTIMIZER_STATE_H

#include "train/training/training.h"

/* Zero-initialise; free with liana__optimizer_state_free. */
typedef struct liana__optimizer_state {
    liana__arena arena;
    const char *path;              /* of the file or folder that it comes from; NULL: a training of this process */
    const liana__value *optimizer; /* as `train.optimizer` names it; NULL: there is no state */
    liana__optimizer_choice choice;
    int64_t iteration;    /* updates that were done; 0: there is nothing to go on from */
    double learning_rate; /* as it was kept; NaN: it was not, or is a schedule's. Of a MultiOptimizer: the default's */
    double rate_factor;   /* the other rates of a MultiOptimizer are those of its options times this */
    const char **weights; /* [num_weights]: the names of those that are trained, in Keras's order */
    liana_shape *shapes;  /* of them */
    size_t num_weights;
    size_t num_slots; /* of each weight: the most that one has */
    float **values;   /* [num_weights * num_slots], malloc'ed; a weight's slots follow each other. NULL: it has fewer */
    const char *fault; /* why nothing can go on from it; NULL: it is whole */
} liana__optimizer_state;

void liana__optimizer_state_free(liana__optimizer_state *state);

/* Begins a state of this optimizer and of the weights that the model trains now, with room for values. Errors: those of
 * liana__optimizer_read, OUT_OF_MEMORY. */
liana_status liana__optimizer_state_create(const liana_model *model, const liana__value *optimizer, const char *path,
                                           liana__optimizer_state *state, liana__error *error) LIANA_MUST_USE;
/* Records a fault; the first one stays. Errors: OUT_OF_MEMORY. */
liana_status liana__optimizer_state_blame(liana__optimizer_state *state, const char *format, ...) LIANA__PRINTF(2, 3)
    LIANA_MUST_USE;

/* A state of other weights than the model trains now gets a fault. Errors: OUT_OF_MEMORY. */
liana_status liana__optimizer_state_check(liana__optimizer_state *state, const liana_model *model, liana__error *error)
    LIANA_MUST_USE;

/* The optimizer as an update rule, whose slots the state has. */
liana__update_rule liana__optimizer_state_rule(const liana__optimizer_state *state);
/* The rate of the next update, where it is a number; NaN: a schedule's. */
double liana__optimizer_state_rate(const liana__optimizer_state *state);
/* The same of a rate of the rule (liana__rule_num_rates). */
double liana__optimizer_state_rate_of(const liana__optimizer_state *state, size_t number);
/* The rule of a weight, and the shape of one of its slots. */
liana__update_rule liana__optimizer_state_rule_of(const liana__optimizer_state *state, size_t weight);
liana_shape liana__optimizer_state_slot_shape(const liana__optimizer_state *state, size_t weight, size_t slot);
/* In a copy of state->optimizer: the mapping of the optimizer that has the rate of this number; NULL: out of memory. */
liana__value *liana__optimizer_state_options(const liana__optimizer_state *state, liana__value *optimizer,
                                             size_t number, liana__arena *arena);

/* Copies the state of a training. A state that was created for another optimizer or other weights gets a fault. Errors:
 * those of the device, OUT_OF_MEMORY. */
liana_status liana__optimizer_state_take(const liana__training *training, liana__optimizer_state *state,
                                         liana__error *error) LIANA_MUST_USE;
/* The same of a checkpoint, which may be gone (a fault). */
liana_status liana__optimizer_state_read(const char *checkpoint, liana__optimizer_state *state, liana__error *error)
    LIANA_MUST_USE;

/* A new training goes on from the state: its slots and its number of updates become the state's. Where the training has
 * another optimizer or trains other weights, or the state has a fault, it begins anew. Either is noted. Without a state
 * nothing is done. Errors: those of the device, OUT_OF_MEMORY. */
liana_status liana__optimizer_state_begin(const liana__optimizer_state *state, liana__training *training,
                                          const liana__notes *notes, liana__error *error) LIANA_MUST_USE;

#endif
