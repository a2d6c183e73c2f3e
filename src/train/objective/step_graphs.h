/* step_graphs.h - the graphs of a model's shards, and their inputs. */
#ifndef LIANA_TRAIN_STEP_GRAPHS_H
#define LIANA_TRAIN_STEP_GRAPHS_H

#include "step/shard_sums.h"
#include "train/objective/trainer_options.h"

/* "inputs/NAME", "targets/NAME", and those of the partners of mixed examples: "partners/NAME". */
liana__component_name liana__port_component(const liana__model_port *port);
liana__component_name liana__input_component(const liana_model *model, size_t input);
liana__component_name liana__target_component(const liana__objective *objective, size_t output);
liana__component_name liana__partner_component(const liana__objective *objective, size_t output);
/* The weights of the examples' losses, in a trainer that is weighted; liana__objective_call.scales, in training with
 * masked outputs. LIANA__SHARES: of training whose examples are mixed. */
#define LIANA__WEIGHTS "weights"
#define LIANA__SCALES "scales"

/* An input of a graph for `size` examples, as the shards of a trainer read it. */
liana_tensor liana__build_input(const liana__trainer_options *options, liana_graph *graph,
                                const liana__model_port *port, size_t index, int64_t size);

/* The graph of shards, as liana__shard_builder says. The vector is that of the losses and metrics. In training `sums`,
 * zeros, is filled in: the gradient of each trainable weight, in the model's order, then each batch-normalisation
 * statistic times the number of examples. The rows of an evaluation are f32 [size, values]: the model's outputs, one
 * after the other. Several shards side by side, with batch statistics by shard, only where
 * liana__shards_stand_side_by_side. Errors are the context's. */
liana_status liana__build_model_shard(liana_context *context, const liana__trainer_options *options,
                                      liana__step_kind kind, const liana__shard_rows *rows, liana__shard_sums *sums,
                                      liana_graph **graph) LIANA_MUST_USE;
/* Layers and functions of a program's own are not asked to tell shards apart. */
bool liana__shards_stand_side_by_side(const liana__trainer_options *options);

/* ---- penalty ---- */

/* The penalty that the regularisers of weights add to the loss of each example. */

/* Whether they add anything. */
bool liana__has_penalty(const liana__updated_variable *weights, size_t count);
/* As liana__shard_builder.build_penalty, of the weights that have one. */
liana_status liana__penalty_build(liana_context *context, const liana__updated_variable *weights, size_t count,
                                  liana_graph **graph, liana__error *error) LIANA_MUST_USE;

#endif
