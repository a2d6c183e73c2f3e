/* trainer_options.h - what a model is compiled with. */
#ifndef LIANA_TRAIN_TRAINER_OPTIONS_H
#define LIANA_TRAIN_TRAINER_OPTIONS_H

#include "distribute/strategy.h"
#include "layers/model.h"
#include "losses/loss.h"
#include "metrics/metric.h"
#include "optimizers/optimizer.h"

#include <liana/dataset.h>

enum { LIANA__MAX_METRICS = 8 };

typedef struct liana__trainer_options {
    const liana_model *model; /* built; input [height, width, channels] */
    const liana__loss *loss;
    const liana__metric *metrics[LIANA__MAX_METRICS];
    size_t num_metrics;
    const liana__optimizer *optimizer; /* NULL: the trainer only evaluates and predicts */
    const void *optimizer_options;
    int64_t batch_size;              /* the largest number of examples in a batch */
    int64_t evaluation_batch_size;   /* the same for evaluations and predictions; 0: batch_size */
    int64_t microbatch;              /* examples of a shard; 0: liana__default_microbatch */
    uint64_t seed;                   /* of dropout */
    liana_scale scale;               /* how images, which arrive as u8, enter the model */
    bool mixes;                      /* training batches have partners and shares */
    const double *class_weights;     /* that the loss of a training example is multiplied by; NULL: all 1 */
    int64_t num_class_weights;       /* classes from here on have 1 */
    size_t memory_limit;             /* bytes that training may take; 0: any (liana__device.memory_limit) */
    bool mixed_precision;            /* shards are computed in bf16 and f32; sums and the update are f32 in any case */
    const liana__strategy *strategy; /* NULL: one_device */
    /* More devices to compute on, beside the one that the trainer is created with, and the speeds of all; see
     * liana__strategy_devices. */
    liana__device *const *more_devices;
    size_t num_more_devices;
    const double *speeds;
} liana__trainer_options;

#endif
