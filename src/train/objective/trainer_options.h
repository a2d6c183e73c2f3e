/* trainer_options.h - the options that a model is compiled with. */
#ifndef LIANA_TRAIN_TRAINER_OPTIONS_H
#define LIANA_TRAIN_TRAINER_OPTIONS_H

#include "step/optimizer_builder.h"
#include "step/step.h"
#include "train/objective/objective.h"

#include <liana/dataset.h>

enum { LIANA__MAX_INPUTS = LIANA_MAX_COMPONENTS };

/* How the data of an input of the model arrive. */
typedef struct liana__trainer_input {
    liana_dtype dtype; /* of the data; the model's own dtype is made of them */
    bool is_image;     /* [height, width, channels], which enters by the scale of the options: u8, or f32 as they say */
} liana__trainer_input;

typedef struct liana__trainer_options liana__trainer_options;

/* A function that is trained in place of a model: it builds the graphs of shards itself. All is borrowed. */
typedef struct liana__trained_function {
    liana_context *context;
    const char *name;
    /* As liana__shard_builder.build; `options` are the trainer's. The inputs are called as liana__input_component says,
     * and "positions", LIANA__SCALES of a masked objective, "present". */
    liana_status (*build)(void *user, const liana__trainer_options *options, liana__step_kind kind,
                          const liana__shard_rows *rows, liana_graph **graph, liana__error *error);
    const liana__step_sums *sums;    /* as the first training shard gives them */
    const liana__model_port *inputs; /* [num_inputs] */
    size_t num_inputs;
    const liana__updated_variable *weights; /* [num_weights] the weights that shards read; they begin at zero */
    size_t num_weights;
    bool gives_rows; /* in an evaluation */
    /* An update of its own, with the scalars learning rate and iteration. NULL: the optimizer's. */
    const liana__update_builder *update;
    void *user;
} liana__trained_function;

struct liana__trainer_options {
    const liana_model *model;                /* built; NULL: it is the function that is trained */
    const liana__trained_function *function; /* NULL: it is the model */
    const liana__objective *objective;
    const liana__trainer_input *inputs;    /* by input; NULL: one of rank 4 is an image, others are as the model's */
    const liana_optimizer_type *optimizer; /* NULL: the trainer only evaluates and predicts */
    const void *optimizer_options;
    const liana_learning_rate *adapted_rate;         /* of a schedule that follows the training; NULL: it does not */
    const liana__rate_multipliers *rate_multipliers; /* NULL: none */
    /* Of a MultiOptimizer (liana__rule_num_rates): all rates, and the updates that their schedules do not count. NULL:
     * there is one rate. */
    const liana_learning_rate *rates;
    const int64_t *num_skipped;
    int64_t batch_size;            /* the largest number of examples in a batch */
    int64_t evaluation_batch_size; /* the same for evaluations and predictions; 0: batch_size */
    int64_t microbatch;            /* examples of a shard; 0: liana__default_microbatch */
    int64_t steps_per_execution;   /* updates that a device may do in one execution of its program; 0: 1 */
    int64_t table_rows;            /* training examples that devices keep, by their records; 0: they are sent */
    uint64_t seed;                 /* of dropout */
    liana_scale scale;             /* how images enter the model */
    bool fractions;                /* pixels of images are f32, else u8 */
    bool mixes;                    /* training batches have partners and shares */
    bool weighted;                 /* batches have a weight for each example's loss */
    const double *class_weights;   /* that the loss of a training example is multiplied by; NULL: all 1 */
    int64_t num_class_weights;     /* classes from here on have 1 */
    size_t memory_limit;           /* bytes that training may take; 0: any (liana__device.memory_limit) */
    bool mixed_precision;          /* shards are computed in bf16 and f32; sums and the update are f32 in any case */
    bool evaluates_in_float32;     /* ... but for evaluations and predictions */
    bool deterministic;            /* the same bits on any number of devices: updates shard by shard */
    /* Of a model that is only evaluated: the values of its weights, by their numbers, aligned. Devices in the host's
     * memory are lent them, but for states. NULL: they are drawn by the seed. */
    float *const *values;
    bool unprepared;                 /* no step is compiled before liana__step_prepare */
    const liana__strategy *strategy; /* NULL: one_device */
    const void *strategy_options;    /* NULL: the defaults */
    /* More devices than the one that the trainer is created with, and the speeds and processors of all; see
     * liana__strategy_devices. */
    liana__device *const *more_devices;
    size_t num_more_devices;
    const double *speeds;
    const cpu_set_t *groups;
    struct liana__cluster *cluster; /* of a strategy of several processes; NULL: none */
};

/* The optimizer with all that is around it. */
liana__update_rule liana__trainer_rule(const liana__trainer_options *options);

/* How an input arrives. */
liana__trainer_input liana__trainer_input_of(const liana__trainer_options *options, const liana__model_port *port,
                                             size_t input);

#endif
