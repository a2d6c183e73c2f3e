/* program.h - the graphs of a step, compiled. */
#ifndef LIANA_TRAIN_PROGRAM_H
#define LIANA_TRAIN_PROGRAM_H

#include "train/core/trainer.h"

/* A compiled graph with the variables it reads and writes. */
typedef struct liana__program {
    liana_graph *graph;
    liana__executable *executable;
    liana__buffer **variables;
} liana__program;

void liana__program_free(liana__program *program);

/* Compiles a graph (taken over, also on failure) and finds its variables. LIANA_DUMP writes it under `name`. */
liana_status liana__program_compile(liana__device *device, liana_graph *graph, const char *name,
                                    const liana__variables *variables, liana__program *program, liana__error *error)
    LIANA_MUST_USE;

/* The order of a shard program's inputs. */
enum {
    LIANA__SHARD_IMAGES,
    LIANA__SHARD_LABELS,
    LIANA__SHARD_POSITIONS,
    /* Of a training shard whose examples are mixed. */
    LIANA__SHARD_PARTNERS,
    LIANA__SHARD_SHARES,
    LIANA__MAX_SHARD_INPUTS,
};

/* How a moving average follows its statistic; see liana__model_update. */
typedef struct liana__average {
    double momentum;
    size_t about;
} liana__average;

/* The graph of a training shard of `size` examples. Outputs: the vector of loss and metric sums; the gradient of each
 * trainable weight, in the model's order; each batch-normalisation statistic times `size`. averages[weight] says
 * afterwards how each moving average is updated. */
liana_status liana__build_training_shard(liana_context *context, const liana__trainer_options *options, int64_t size,
                                         liana__average *averages, liana_graph **graph) LIANA_MUST_USE;

/* The graph of an evaluation shard. Outputs: the vector of loss and metric sums; what the model gives,
 * [size, classes]. */
liana_status liana__build_evaluation_shard(liana_context *context, const liana__trainer_options *options, int64_t size,
                                           liana_graph **graph) LIANA_MUST_USE;

/* The graph of the update, whose inputs are the training shard's outputs but the first, summed over the shards, and
 * then three f32 scalars: the number of examples, the learning rate, the update's number. Assigns weights and slots. */
liana_status liana__build_update(liana_context *context, const liana__trainer_options *options,
                                 const liana_graph *training_shard, const liana__average *averages, liana_graph **graph)
    LIANA_MUST_USE;

/* "optimizer/Adam/m/conv2d/kernel". */
void liana__slot_name(const liana__trainer_options *options, size_t slot, const char *weight, char *name, size_t size);

#endif
