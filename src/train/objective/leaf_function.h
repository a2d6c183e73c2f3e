/* leaf_function.h - a function that builds leaves in place of a model's layers and an objective's losses.
 *
 * The trainer's model then has no layers that are called: its inputs say what a leaf reads, and its weights which
 * variables there are. The objective says how the sums are laid out. All else - cutting, sums, updates, checkpoints - is
 * the same. Model functions of estimators (train/estimator) are such functions. */
#ifndef LIANA_TRAIN_LEAF_FUNCTION_H
#define LIANA_TRAIN_LEAF_FUNCTION_H

#include "layers/model.h"
#include "step/builders.h"

/* A leaf that is to be built. */
typedef struct liana__function_call {
    liana_graph *graph;
    int64_t size;
    bool training;
    const liana_tensor *inputs; /* one for each input of the model, [size, ...] */
    liana_tensor positions;     /* u64 [size] */
    liana_tensor present;       /* f32 [size]: 1, or 0 where the example is missing; invalid: none is */
    liana_tensor scales;        /* as in liana__objective_call, of an objective with a masked output */
    bool counting;              /* only `counts` is wanted, as in training */
    /* To fill in. Arrays are in the graph's arena. Errors stay with the graph. */
    liana_tensor loss;            /* scalar: the sum over the leaf, to differentiate; for training */
    liana_tensor sums;            /* f32 [sums of the objective] */
    liana_tensor counts;          /* f32 [1]: elements of the loss that count, if its objective is masked */
    liana_tensor rows;            /* f32 [size, values]: predictions; invalid: none are wanted */
    liana_tensor *weights;        /* by weight of the model: its variable; invalid: the graph has none */
    liana__model_update *updates; /* moving averages, for training */
    size_t num_updates;
} liana__function_call;

typedef struct liana__leaf_function {
    void (*build)(void *user, liana__function_call *call);
    bool gives_rows; /* in evaluation */
    /* An update of its own, with the scalars learning rate and iteration. NULL: the optimizer's. */
    const liana__update_builder *update;
    void *user;
} liana__leaf_function;

#endif
