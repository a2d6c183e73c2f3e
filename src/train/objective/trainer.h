/* trainer.h - a model with its losses and metrics, or a model function, as a step (step/step.h): the shard builder that
 * it is, and the update builder of its optimizer. */
#ifndef LIANA_TRAIN_TRAINER_H
#define LIANA_TRAIN_TRAINER_H

#include "distribute/cluster/cluster.h"
#include "train/objective/trainer_options.h"

#include <liana/train.h>

typedef struct liana__trainer {
    liana__step *step;
    liana__device *device;
    liana__trainer_options options;
    liana__shard_builder shards;
    liana__optimizer_builder update;
    const liana__model_port *inputs; /* [num_inputs] that shards read */
    size_t num_inputs;
    /* [num_weights] that shards read: the first variables. Those that are not trained are averages. */
    const liana__updated_variable *weights;
    size_t num_weights;
    liana__step_sums sums; /* of a model's shards */
    liana__arena arena;
    char *no_targets;  /* zeros for a batch: predictions come without targets, and nobody reads their sums */
    float *no_weights; /* ones for a batch */
    double *scalars;   /* of the running update: liana__trainer_num_scalars */
    float *scales;     /* LIANA__SCALES of the running batch; NULL: no output is masked */
} liana__trainer;

/* Builds and compiles the programs for full batches; adds the model's weights (initial values drawn by `seed`) and the
 * optimizer's slots to `variables`, which the trainer borrows. Errors: those of the model, of compiling, OUT_OF_MEMORY,
 * INVALID_CONFIG where model and loss do not fit. */
liana_status liana__trainer_create(liana__device *device, const liana__trainer_options *options,
                                   liana__variables *variables, liana__trainer **trainer, liana__error *error)
    LIANA_MUST_USE;
void liana__trainer_destroy(liana__trainer *trainer);

/* One update; see liana__step_update. `iteration` counts updates from 1. */
liana_status liana__trainer_step(liana__trainer *trainer, const liana__batch *batch, double learning_rate,
                                 int64_t iteration, const float **sums, liana__error *error) LIANA_MUST_USE;
/* The same, shard by shard, so that liana__step_read_sum has its sums on any device. */
liana_status liana__trainer_step_by_parts(liana__trainer *trainer, const liana__batch *batch, double learning_rate,
                                          int64_t iteration, liana__error *error) LIANA_MUST_USE;
/* The scalars of an update: LIANA__NUM_UPDATE_SCALARS, then the rates of a MultiOptimizer's others. */
size_t liana__trainer_num_scalars(const liana__trainer *trainer);
/* Sets all but the count. */
void liana__trainer_set_scalars(const liana__trainer *trainer, double learning_rate, int64_t iteration, float *scalars);
/* The same in double precision, without a place for the count; borrowed. */
const double *liana__trainer_scalars(liana__trainer *trainer, double learning_rate, int64_t iteration);
/* The updates that a LossScaleOptimizer has skipped so far. */
int64_t liana__trainer_num_skipped(const liana__trainer *trainer);
/* The rate of the last update: the asked rate, or the rate of a schedule that follows the training. */
double liana__trainer_learning_rate(const liana__trainer *trainer);
/* The rate that a batch with these sums was given, for liana__step_find_fault. */
void liana__trainer_set_rate(liana__trainer *trainer, double learning_rate);

/* The number of values that the model predicts for an example: those of all its outputs, one after the other. */
int64_t liana__trainer_row_size(const liana__trainer *trainer);
/* The number of classes that the first output's targets are of; 0: they are no classes. */
int64_t liana__trainer_num_classes(const liana__trainer *trainer);
/* The targets of an output in a batch; NULL: none. */
const void *liana__trainer_targets(const liana__trainer *trainer, const liana__batch *batch, size_t output);
const liana__objective *liana__trainer_objective(const liana__trainer *trainer);
/* The items that updates change, borrowed; NULL: the update is a function's own, or the trainer makes none. */
const liana__update_items *liana__trainer_update_items(const liana__trainer *trainer);
/* The shard's sum that the update reads under a weight's name. */
size_t liana__trainer_find_sum(const liana__trainer *trainer, const char *input);
const liana__trainer_options *liana__trainer_options_of(const liana__trainer *trainer);
int64_t liana__trainer_microbatch(const liana__trainer *trainer);

/* The weights of a model as its layers say now, in the arena. Errors: OUT_OF_MEMORY. */
liana_status liana__model_list_weights(const liana_model *model, liana__arena *arena,
                                       const liana__updated_variable **weights, liana__error *error) LIANA_MUST_USE;
/* Lists the variables that an optimizer changes, in the arena: those that `sums` has. Errors: OUT_OF_MEMORY;
 * INVALID_CONFIG for a name pattern of the rule that matches no weight. */
liana_status liana__list_updated(const liana__updated_variable *weights, size_t num_weights,
                                 const liana__update_rule *rule, const liana__step_sums *sums, liana__arena *arena,
                                 const liana__updated_variable **variables, size_t *count, liana__error *error)
    LIANA_MUST_USE;

/* The shard size that is used unless configured: a function of the model and the batch size alone, so that results do
 * not depend on the machine. Dense networks: an eighth of the batch, at least 64 examples; convolutional ones: 16, or
 * 32 of small images, or 8 of large ones. */
int64_t liana__default_microbatch(const liana_model *model, int64_t batch_size);

/* ---- model fault ---- */

/* Losses that are not finite. */

/* Of a vector of sums: says in *fault which loss, or the penalty, is not finite. Metrics may have any value. False: all
 * are finite. */
bool liana__find_bad_loss(const liana__objective *objective, const float *sums, liana__fault *fault);

/* Whether the losses of a validation so far are finite, and the fault if one is not. */
bool liana__losses_are_finite(const liana__totals *totals);
liana__fault liana__fault_of_validation(const liana__totals *totals);

/* ---- recompute ---- */

/* `train.recompute: auto` on this machine: how much memory training may take. The backend finds the nodes that are
 * computed twice to stay below it (plan/recompute.h). */

/* As configurations spell them, in the order of liana_recompute, NULL-terminated. */
extern const char *const liana__recompute_names[];

/* The bytes that training may take of a device: `mebibytes` if it is not 0. Else the free memory of a plugin's device
 * (`on_plugin`, not 0), or on the host three quarters of the memory beyond `data_bytes` of the machine, or of the
 * control group of the process. 0, for no limit, if nothing is to be computed twice. */
size_t liana__recompute_limit(liana_recompute asked, int64_t mebibytes, size_t data_bytes, size_t on_plugin);

typedef struct liana__recompute_result {
    liana_recompute recompute; /* NONE if the limit has changed nothing */
    int64_t memory;            /* the limit in MiB; 0 with NONE */
    char note[256];            /* a line for the user; empty if nothing was asked for */
} liana__recompute_result;

/* The outcome: of a trainer that was made with this limit. `on_plugin`: on a plugin's device, where the limit also says
 * how many shards are computed side by side; so it is kept in any case. */
liana__recompute_result liana__recompute_report(const liana__trainer *trainer, liana_recompute asked, size_t limit,
                                                bool on_plugin);

/* ---- chief task ---- */

/* A task of a cluster's chief for all, such as writing a file. If it dies before all know that it is done, the next
 * chief does it once more: so the task must have the same result, whichever process does it, and however often. */

/* Called in each process, at the same time as the others. */
typedef liana_status (*liana__chief_task)(void *user, bool is_chief, liana__error *error);

/* A collective operation. If the task fails in one process it fails in all. `cluster` NULL: this process is the
 * chief. */
liana_status liana__chief_does(liana__cluster *cluster, liana__chief_task task, void *user, liana__error *error)
    LIANA_MUST_USE;

#endif
