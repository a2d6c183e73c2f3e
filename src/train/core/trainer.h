/* trainer.h - one update, or one batch of an evaluation: the three parts of a step.
 *
 * The shard program computes, for a shard of examples, sums: of the loss and the metrics, of the loss's gradients, and
 * of the batch-normalisation statistics (times the number of examples). The strategy adds the sums up over the shards.
 * The update program divides once by the number of examples of the whole batch and applies the optimizer. */
#ifndef LIANA_TRAIN_TRAINER_H
#define LIANA_TRAIN_TRAINER_H

#include "backends/variables.h"
#include "train/core/trainer_options.h"

/* Host data of up to batch_size examples. */
typedef struct liana__trainer_batch {
    int64_t count;
    const uint8_t *images;     /* [count, height, width, channels] */
    const int32_t *labels;     /* [count]; NULL for predictions: sums are then meaningless */
    const uint64_t *positions; /* [count]: addresses in the run */
    const int32_t *partners;   /* [count]: second labels, and what share the first have; for training that mixes */
    const float *shares;
    /* Where examples are missing (loader.h): the positions that the batch covers, of which `count` are there; the
     * shards are those of all positions, each of what is left of it. 0: none is missing. */
    int64_t num_positions;
    uint64_t first_position;
} liana__trainer_batch;

/* Sums over a batch: the loss, then each metric. Divide by the number of examples. */
typedef struct liana__trainer_sums {
    float values[1 + LIANA__MAX_METRICS];
} liana__trainer_sums;

typedef struct liana__trainer liana__trainer;

/* Builds and compiles what is needed for full batches; adds the model's weights (initial values drawn by `seed`) and
 * the optimizer's slots to `variables`, which the trainer borrows. Errors: those of the model, of compiling,
 * OUT_OF_MEMORY, INVALID_CONFIG where model and loss do not fit. */
liana_status liana__trainer_create(liana__device *device, const liana__trainer_options *options,
                                   liana__variables *variables, liana__trainer **trainer, liana__error *error)
    LIANA_MUST_USE;
void liana__trainer_destroy(liana__trainer *trainer);

/* Compiles what batches of `count` examples need, so that no step has to. */
liana_status liana__trainer_prepare(liana__trainer *trainer, int64_t count, bool training, liana__error *error)
    LIANA_MUST_USE;

/* One update. `iteration` counts updates from 1. After liana__trainer_prepare for this count nothing is allocated,
 * unless examples are missing: then shards of other sizes may have to be compiled. A batch without any example changes
 * nothing. */
liana_status liana__trainer_step(liana__trainer *trainer, const liana__trainer_batch *batch, double learning_rate,
                                 int64_t iteration, liana__trainer_sums *sums, liana__error *error) LIANA_MUST_USE;

/* Runs the model as in inference. `outputs` [count, classes] receives what it gives; NULL if not wanted. */
liana_status liana__trainer_evaluate(liana__trainer *trainer, const liana__trainer_batch *batch, float *outputs,
                                     liana__trainer_sums *sums, liana__error *error) LIANA_MUST_USE;

/* The number of classes: the size of the model's output. */
int64_t liana__trainer_num_classes(const liana__trainer *trainer);
int64_t liana__trainer_microbatch(const liana__trainer *trainer);

/* What a full batch needs, and what it would need if there were no limit: bytes of weights, sums and
 * workspaces, operations of a step's shards. */
typedef struct liana__trainer_memory {
    size_t bytes, bytes_before;
    double flops_again, flops_before;
    size_t num_segments; /* that run twice, of one shard; 0: none does */
} liana__trainer_memory;

liana__trainer_memory liana__trainer_memory_of(const liana__trainer *trainer);

/* The shard size that is used unless configured: a function of the model and the batch size alone, so that results do
 * not depend on the machine. Dense networks: an eighth of the batch, at least 64 examples; convolutional ones: 16, or
 * 32 of small images, or 8 of large ones. */
int64_t liana__default_microbatch(const liana_model *model, int64_t batch_size);

#endif
