/* trainer.h - one update, or one batch of an evaluation: the three parts of a step.
 *
 * The shard program computes, for a shard of examples, sums: of the loss and the metrics, of the loss's gradients, and
 * of the batch-normalisation statistics (times the number of examples). The strategy adds the sums up over the shards.
 * The update program divides once by the number of examples of the whole batch and applies the optimizer. */
#ifndef LIANA_TRAIN_TRAINER_H
#define LIANA_TRAIN_TRAINER_H

#include "backends/variables.h"
#include "train/core/fault.h"
#include "train/core/trainer_options.h"

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

/* One update. `iteration` counts updates from 1. *sums receives the vector of sums of the objective, borrowed until the
 * next call. After liana__trainer_prepare for this count nothing is allocated,
 * unless examples are missing: then shards of other sizes may have to be compiled. A batch without any example changes
 * nothing. Errors: OUT_OF_RANGE for numbers that are not finite, which liana__trainer_fault then describes. */
liana_status liana__trainer_step(liana__trainer *trainer, const liana__batch *batch, double learning_rate,
                                 int64_t iteration, const float **sums, liana__error *error) LIANA_MUST_USE;

/* The same, leaf by leaf, so that liana__trainer_read_sum has its sums on any device. */
liana_status liana__trainer_step_with_sums(liana__trainer *trainer, const liana__batch *batch, double learning_rate,
                                           int64_t iteration, liana__error *error) LIANA_MUST_USE;

/* Examples that the devices keep, for trainers with table_rows: each is given once, in any batches of at most batch_size
 * that have records, then all are sent, before the first update. Updates then send records only. */

/* Whether the devices can do that. */
bool liana__trainer_has_tables(const liana__trainer *trainer);
/* Its rows are copied. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, INTERNAL (a record that is none). */
liana_status liana__trainer_keep(liana__trainer *trainer, const liana__batch *batch, liana__error *error)
    LIANA_MUST_USE;
/* Errors: those of an upload. */
liana_status liana__trainer_send_kept(liana__trainer *trainer, liana__error *error) LIANA_MUST_USE;

/* Several updates as one execution of a device's program. While it runs, the next ones' batches may be staged. */

/* How many can be staged; 0: updates are no programs of a device. */
size_t liana__trainer_most_staged(const liana__trainer *trainer);
/* Takes the next update's batch, which has examples; its rows are copied. Errors: those of liana__trainer_step. */
liana_status liana__trainer_stage(liana__trainer *trainer, const liana__batch *batch, liana__error *error)
    LIANA_MUST_USE;
/* Begins to do what is staged; `scalars` [staged, LIANA__NUM_UPDATE_SCALARS] are copied. */
liana_status liana__trainer_launch(liana__trainer *trainer, const float *scalars, liana__error *error) LIANA_MUST_USE;
/* Waits until it is done. `counts` are the examples of each. `sums` [launched, sums of the objective] and `statuses`
 * (liana__whole_status) receive what came of it. What follows an update that was not done was not done either. */
liana_status liana__trainer_collect(liana__trainer *trainer, const int64_t *counts, float *sums, int *statuses,
                                    liana__error *error) LIANA_MUST_USE;
/* Forgets what is staged and not launched. */
liana_status liana__trainer_drop_staged(liana__trainer *trainer, liana__error *error) LIANA_MUST_USE;
/* After LIANA__WHOLE_BAD_VALUES: finds what is not finite, for liana__trainer_fault. Errors: OUT_OF_RANGE. */
liana_status liana__trainer_find_fault(liana__trainer *trainer, const float *sums, double learning_rate,
                                       liana__error *error) LIANA_MUST_USE;

/* Updates of a cluster whose workers are not in step (distribute/cluster/span.h). Steps and updates are counted from 0. */
typedef struct liana__trainer_span {
    size_t num_steps;
    uint64_t generation; /* of the cluster, in which the shares of batches were divided */
    /* The batch of a step, which `workers` says to be ours, or whose share of it is; in ascending order. */
    liana_status (*next)(void *user, size_t step, const liana__batch **batch, liana__error *error);
    /* Its gradients were used: the vector of sums of the objective, over the own examples, and how many these are. */
    liana_status (*computed)(void *user, size_t step, const float *sums, int64_t count, liana__error *error);
    /* Of batches that every process has whole: asynchronously, added to the number of a step to find its worker. */
    uint64_t turn;
    /* The learning rate of an update, and its number counted from 1 in the stage. */
    double (*rate)(void *user, size_t update, int64_t *iteration);
    void *user;
} liana__trainer_span;

/* What came of it is in *outcome: steps that are `done` in it are not done again. After a death some may be left to do.
 * Errors: those of `next` and `computed`; OUT_OF_RANGE for numbers that are not finite; INVALID_CONFIG for an objective
 * whose losses divide by what whole batches have; those of the cluster. The same in all processes. */
liana_status liana__trainer_run_span(liana__trainer *trainer, const liana__trainer_span *span,
                                     struct liana__span_outcome *outcome, liana__error *error) LIANA_MUST_USE;

/* What the last step found; kind NONE: every loss, gradient and weight is finite. Borrowed until the next step. */
const liana__fault *liana__trainer_fault(const liana__trainer *trainer);

/* For running a step again (train/numbers): the leaves of a training batch and their rows, borrowed until the next call
 * with another batch; the graph of a leaf of `size` examples, and that of the update, whose inputs are sums by the names
 * of their weights and "count", "learning_rate" and "iteration"; and such a sum of the last step, which was one with
 * sums. */
liana__leaf_batch liana__trainer_leaves(liana__trainer *trainer, const liana__batch *batch);
/* The rows of a component of such leaves; NULL: they read none of that name. */
const void *liana__trainer_rows(const liana__trainer *trainer, const liana__leaf_batch *leaves, const char *component);
liana_status liana__trainer_build_leaf(liana__trainer *trainer, int64_t size, liana_graph **graph, liana__error *error)
    LIANA_MUST_USE;
/* The leaf of devices with static leaves: it has the input "present". */
liana_status liana__trainer_build_masked_leaf(liana__trainer *trainer, int64_t size, liana_graph **graph,
                                              liana__error *error) LIANA_MUST_USE;
liana_status liana__trainer_build_evaluation(liana__trainer *trainer, int64_t size, liana_graph **graph,
                                             liana__error *error) LIANA_MUST_USE;
liana_status liana__trainer_build_update(liana__trainer *trainer, liana_graph **graph, liana__error *error)
    LIANA_MUST_USE;
/* The plan of whole updates, whatever device this is, for who writes their program down; false: they are none. Both are
 * borrowed from the trainer, the plan's leaf from `leaf`. */
bool liana__trainer_lend_whole_plan(liana__trainer *trainer, liana__leaf_plan *leaf, liana__whole_plan *plan);
liana_status liana__trainer_read_sum(liana__trainer *trainer, const char *input, void *data, liana__error *error)
    LIANA_MUST_USE;
/* The rounds of sums that the update reads besides, for clipping by norms and such: how many, the graph of each, whose
 * inputs are those of the update with the finished sums "sums/0", ... of the rounds before, and what its output comes to,
 * borrowed. A round may change the learning rate. */
size_t liana__trainer_num_sum_rounds(const liana__trainer *trainer);
liana_status liana__trainer_build_sums(liana__trainer *trainer, size_t round, liana_graph **graph, liana__error *error)
    LIANA_MUST_USE;
const float *liana__trainer_finish_sums(liana__trainer *trainer, size_t round, const float *chunk_sums,
                                        float *learning_rate);

/* The rate of the last update: what it was asked for, or what a schedule that follows the training made of it. */
double liana__trainer_learning_rate(const liana__trainer *trainer);

/* Runs the model as in inference. `outputs` [count, liana__trainer_row_size] receives the predictions; NULL if not
 * wanted. *sums is as above. */
liana_status liana__trainer_evaluate(liana__trainer *trainer, const liana__batch *batch, float *outputs,
                                     const float **sums, liana__error *error) LIANA_MUST_USE;

/* In which the trainer computes; NULL: in this process. */
struct liana__cluster *liana__trainer_cluster(const liana__trainer *trainer);
/* The number of values that the model predicts for an example: those of all its outputs, one after the other. */
int64_t liana__trainer_row_size(const liana__trainer *trainer);
/* The number of classes that the first output's targets are of; 0: they are no classes. */
int64_t liana__trainer_num_classes(const liana__trainer *trainer);
/* What a batch says of an output; NULL: nothing. */
const void *liana__trainer_targets(const liana__trainer *trainer, const liana__batch *batch, size_t output);
const liana__objective *liana__trainer_objective(const liana__trainer *trainer);
/* What updates change (slice_update.h), borrowed; NULL: the update is a function's own, or the trainer makes none. */
const struct liana__update_items *liana__trainer_update_items(const liana__trainer *trainer);
const liana__trainer_options *liana__trainer_options_of(const liana__trainer *trainer);
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
