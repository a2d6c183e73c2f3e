/* step_graphs.h - the graphs of a step's leaves, in training and in evaluation. slice_update.h has the update's. */
#ifndef LIANA_TRAIN_STEP_GRAPHS_H
#define LIANA_TRAIN_STEP_GRAPHS_H

#include "train/core/trainer_options.h"

/* The name of a component that a leaf reads, which is an input of its graph. */
typedef struct liana__component_name {
    char text[256];
} liana__component_name;

/* "inputs/NAME", "targets/NAME", and those of the partners of mixed examples: "partners/NAME". */
liana__component_name liana__input_component(const liana_model *model, size_t input);
liana__component_name liana__target_component(const liana__objective *objective, size_t output);
liana__component_name liana__partner_component(const liana__objective *objective, size_t output);
/* The weights of the examples' losses, in a trainer that is weighted; liana__objective_call.scales, in training with
 * masked outputs. LIANA__SHARES: of training whose examples are mixed. */
#define LIANA__WEIGHTS "weights"
#define LIANA__SCALES "scales"

/* All components that leaves may read, in this order: those of inputs and targets, "positions", weights, shares, scales,
 * those of partners. Returns their number. */
size_t liana__list_components(const liana__trainer_options *options,
                              liana__component_name names[LIANA__MAX_COMPONENTS]);

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

/* The same of `leaves` masked leaves of `size` rows side by side: one graph of leaves * size rows, whose sums are those
 * of all leaves, with batch statistics by leaf. More than one only where liana__leaves_stand_side_by_side. */
liana_status liana__build_training_leaves(liana_context *context, const liana__trainer_options *options, int64_t size,
                                          int64_t leaves, liana__leaf_sums *sums, liana_graph **graph) LIANA_MUST_USE;
/* Layers and functions of a program's own are not asked to tell leaves apart. */
bool liana__leaves_stand_side_by_side(const liana__trainer_options *options);

/* The graph of an evaluation leaf. Outputs: the vector of loss and metric sums; the predictions of each example in a
 * row, f32 [size, values]: those of the model's outputs one after the other. */
liana_status liana__build_evaluation_leaf(liana_context *context, const liana__trainer_options *options, int64_t size,
                                          bool masked, liana_graph **graph) LIANA_MUST_USE;

/* The graph of a leaf that only counts, for a training with masked outputs. Output: liana__objective_count's. */
liana_status liana__build_counting_leaf(liana_context *context, const liana__trainer_options *options, int64_t size,
                                        bool masked, liana_graph **graph) LIANA_MUST_USE;

/* "optimizer/Adam/m/conv2d/kernel". */
void liana__slot_name(const liana__trainer_options *options, size_t slot, const char *weight, char *name, size_t size);

#endif
