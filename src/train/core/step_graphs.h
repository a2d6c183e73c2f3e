/* step_graphs.h - the graphs of a step's leaves, in training and in evaluation. slice_update.h has the update's. */
#ifndef LIANA_TRAIN_STEP_GRAPHS_H
#define LIANA_TRAIN_STEP_GRAPHS_H

#include "train/core/trainer_options.h"

/* The named parts of a batch that a leaf reads. */
enum {
    LIANA__COMPONENT_IMAGES,
    LIANA__COMPONENT_LABELS,
    LIANA__COMPONENT_POSITIONS,
    /* Of training whose examples are mixed. */
    LIANA__COMPONENT_PARTNERS,
    LIANA__COMPONENT_SHARES,
    LIANA__NUM_COMPONENTS,
};
extern const char *const liana__component_names[LIANA__NUM_COMPONENTS];

/* How a moving average follows its statistic; see liana__model_update. */
typedef struct liana__average {
    double momentum;
    size_t about;
} liana__average;

/* What a training leaf's sums are: from the second on, each belongs to a weight of the model. */
typedef struct liana__leaf_sums {
    size_t *weights; /* by sum, less one; [num_weights] */
    size_t count;
    liana__average *averages; /* by weight: how it is updated, if it is a moving average; [num_weights] */
} liana__leaf_sums;

liana_status liana__leaf_sums_create(const liana_model *model, liana__leaf_sums *sums, liana__error *error)
    LIANA_MUST_USE;
void liana__leaf_sums_free(liana__leaf_sums *sums);

/* The graph of a training leaf of `size` examples. Inputs: components. Outputs: the vector of loss and metric sums; the
 * gradient of each trainable weight, in the model's order; each batch-normalisation statistic times the number of
 * examples. `sums` is filled in. `masked`: the input "present" [size] is 1 for examples and 0 for rows that count as
 * missing in loss, metrics and batch statistics. */
liana_status liana__build_training_leaf(liana_context *context, const liana__trainer_options *options, int64_t size,
                                        bool masked, liana__leaf_sums *sums, liana_graph **graph) LIANA_MUST_USE;

/* The graph of an evaluation leaf. Outputs: the vector of loss and metric sums; what the model gives,
 * [size, classes]. */
liana_status liana__build_evaluation_leaf(liana_context *context, const liana__trainer_options *options, int64_t size,
                                          bool masked, liana_graph **graph) LIANA_MUST_USE;

/* "optimizer/Adam/m/conv2d/kernel". */
void liana__slot_name(const liana__trainer_options *options, size_t slot, const char *weight, char *name, size_t size);

#endif
