/* strategy.h - the device that computes each part of a batch, and how the sums meet.
 *
 * A strategy is replicas, a tree and an exchange. The replicas (backends/replica.h) compute ranges of a batch's shards
 * and give sums of blocks. The tree (tree.h) says which shards are whose, and in which order blocks are added. The
 * exchange (local_exchange.h, cluster/) moves blocks and slices of the variables between the replicas. So the sums and
 * the updated variables are the same bits for any number of replicas. strategies/ has a file for each strategy. */
#ifndef LIANA_DISTRIBUTE_STRATEGY_H
#define LIANA_DISTRIBUTE_STRATEGY_H

#include "backends/whole_update.h"
#include "base/cpu_groups.h"
#include "base/field.h"
#include "base/text.h"
#include "distribute/finite_check.h"

#include <liana/strategy.h>

/* The purpose of a step over a batch. */
typedef enum liana__step_kind {
    LIANA__STEP_TRAINING,
    LIANA__STEP_EVALUATION,
    LIANA__STEP_COUNTING, /* comes before training: the divisors of a batch's losses */
    LIANA__NUM_STEP_KINDS,
} liana__step_kind;

/* The numbers that can be checked for being finite. */
typedef enum liana__checked {
    LIANA__CHECK_SUMS,      /* the update's inputs from the last training batch */
    LIANA__CHECK_VARIABLES, /* the update's assignments */
} liana__checked;

/* The work of the replicas. The plans' variables are those of the first device. */
typedef struct liana__strategy_plan {
    const liana__leaf_plan *leaves[LIANA__NUM_STEP_KINDS]; /* NULL: no such batches */
    const liana__update_functions *update; /* of all variables, or of slices, each with one owner (slices.h) */
    bool updates_ignore_sums;              /* the update itself reads none of the sums of its rounds */
    /* Whether a sum is of a gradient, and not of a statistic. */
    bool (*is_gradient)(void *user, size_t sum);
    void *user;
    size_t num_scalars;
    liana__variables *variables; /* on the first device */
    size_t num_leaf_variables;   /* the first `num_leaf_variables` of them are all that shards read */
    /* Updates as one program each, where the devices can do that; sums then agree up to rounding. Its shard and
     * variables are set by the strategy. NULL: never. */
    const liana__whole_plan *whole;
} liana__strategy_plan;

/* The devices to compute on, in order. The first one holds the variables. */
typedef struct liana__strategy_devices {
    liana__device *const *items;
    size_t count;
    const double *speeds;    /* by device, in any unit: it gets shards in proportion; NULL: all are equally fast */
    const cpu_set_t *groups; /* by device: the processors on which it computes; NULL: any */
    struct liana__cluster *cluster; /* of a strategy of several processes (cluster/cluster.h) */
    const void *options;            /* of the strategy; NULL: the defaults */
} liana__strategy_devices;

typedef struct liana__strategy_instance liana__strategy_instance;

struct liana__device_layout;
struct liana__span_work;
struct liana__span_outcome;

/* The functions of an instance. */
typedef struct liana__strategy_functions {
    void (*destroy)(liana__strategy_instance *instance);
    /* Adds a variable that updates alone read and change to the plan's variables, before anything is prepared; every
     * element begins as `begins_at`. NULL: it is one like the others. */
    liana_status (*hold)(liana__strategy_instance *instance, const char *name, liana_dtype dtype,
                         const liana_shape *shape, double begins_at, liana__error *error);
    size_t (*num_replicas_in_sync)(const liana__strategy_instance *instance);
    /* Compiles the programs for a batch with shards of these sizes, and for training the update. The batch's rows may
     * be NULL, and its range is not looked at. */
    liana_status (*prepare)(liana__strategy_instance *instance, liana__step_kind kind, const liana__leaf_batch *batch,
                            liana__error *error);
    /* Computes and adds all shards of the batch, and copies the first sum to `first`. The error is that of the first
     * failing shard. After `prepare` nothing is allocated on one device. */
    liana_status (*sum)(liana__strategy_instance *instance, liana__step_kind kind, const liana__leaf_batch *batch,
                        void *first, liana__error *error);
    /* Updates all variables with the sums of the last training batch. */
    liana_status (*update)(liana__strategy_instance *instance, const float *scalars, liana__error *error);
    /* Looks for numbers that are not finite. Names are those of the update's inputs or variables. */
    liana_status (*check)(liana__strategy_instance *instance, liana__checked what, liana__non_finite *found,
                          liana__error *error);
    /* Copies sum `number` of the last training batch to the host. */
    liana_status (*read_sum)(const liana__strategy_instance *instance, size_t number, void *data, liana__error *error);
    /* Whole updates on these devices, by the functions of the first one's backend, once a training batch was prepared.
     * *whole NULL: there are none. `sum`, `check` and `update` can be used in any case. The strategy keeps it. */
    liana__whole *(*whole)(liana__strategy_instance *instance);
    /* The needs of a prepared batch, of the device that needs most. */
    void (*memory)(const liana__strategy_instance *instance, liana__step_kind kind, const liana__leaf_batch *batch,
                   liana__replica_memory *memory);
    /* A span of updates of workers that need not be in step. It takes the place of `sum` and `update`. NULL: they are
     * in step. */
    liana_status (*run_span)(liana__strategy_instance *instance, const struct liana__span_work *work,
                             struct liana__span_outcome *outcome, liana__error *error);
} liana__strategy_functions;

typedef struct liana__strategy {
    const char *name;
    const char *doc;
    const liana__fields *options; /* NULL: none */
    bool needs_cluster;           /* it computes in several processes */
    /* The reason why its results differ from those of one process, in a few words for checkpoints and logs. An empty
     * text, or no function: they do not differ. */
    void (*describe_arithmetic)(const void *options, size_t num_workers, char *text, size_t size);
    /* Of a strategy whose workers need not be in step (cluster/span.h): after how many updates all processes meet at
     * the latest; 0: they are in step. NULL: they are always. */
    size_t (*span_steps)(const void *options, size_t num_workers);
    /* Whether an update is then of one worker's gradients, and not of the first that come. */
    bool (*is_asynchronous)(const void *options);
    /* Says which devices it computes on (device_set.h). NULL: one, with the context's threads. Errors:
     * INVALID_CONFIG. */
    liana_status (*lay_out)(const void *options, const liana_context *context, struct liana__device_layout *layout,
                            liana__error *error);
    /* Errors: INVALID_CONFIG if the strategy does not work with this number of devices. The plan is copied. */
    liana_status (*create)(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                           liana__strategy_instance **instance, liana__error *error);
    const liana__strategy_functions *functions;
} liana__strategy;

/* A strategy with its options. */
typedef struct liana__strategy_choice {
    const liana__strategy *strategy; /* NULL: one_device */
    const void *options;
} liana__strategy_choice;

#endif
