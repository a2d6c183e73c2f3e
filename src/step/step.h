/* step.h - one update, or one evaluation of a batch: the common engine of trainings, estimators and loops of programs.
 *
 * A batch is cut into shards. The shard builder's program computes sums of each shard: values by example, gradients,
 * statistics. The strategy adds the sums up over the shards. The update builder's program changes the variables by
 * them. On a device that can do it, all of this is one program.
 *
 * A step gives and takes state. It knows no model, no loss, no file and no configuration. */
#ifndef LIANA_STEP_STEP_H
#define LIANA_STEP_STEP_H

#include "step/builders.h"

typedef struct liana__step liana__step;

enum { LIANA__MAX_STEPS_PER_EXECUTION = 10000 };

/* The plan of a step. The builders are borrowed. */
typedef struct liana__step_plan {
    const liana__shard_builder *shards;
    const liana__update_builder *update; /* NULL: the step only measures */
    int64_t batch_size;                  /* the largest number of examples in a batch */
    int64_t evaluation_batch_size;       /* the same for evaluations; 0: batch_size */
    int64_t microbatch;                  /* the largest number of examples of a shard */
    int64_t steps_per_execution;         /* updates that a device may do in one execution of its program; 0: 1 */
    int64_t table_rows;                  /* training examples that devices keep, by their records; 0: they are sent */
    bool deterministic;                  /* the same bits on any number of devices: updates shard by shard */
    size_t memory_limit;                 /* bytes that a step may take; 0: any (liana__device.memory_limit) */
    const liana__strategy *strategy;
    /* Its items are not kept. The first one is that of the variables. */
    liana__strategy_devices devices;
} liana__step_plan;

/* Makes a step; adds the variables that only updates read to `variables`, which are borrowed. Those that shards read
 * are there. Compiles nothing. Errors: those of the strategy, OUT_OF_MEMORY. */
liana_status liana__step_create(const liana__step_plan *plan, liana__variables *variables, liana__step **step,
                                liana__error *error) LIANA_MUST_USE;
void liana__step_destroy(liana__step *step);

/* Compiles the programs for batches of `count` examples, so that no step has to. Errors: those of the builders, of
 * compiling. */
liana_status liana__step_prepare(liana__step *step, int64_t count, bool training, liana__error *error) LIANA_MUST_USE;

/* One update. `scalars` are the builder's; the number of examples is found in the batch. *sums receives the vector of
 * sums, borrowed until the next call. After liana__step_prepare for this count nothing is allocated, unless examples
 * are missing: then shards of other sizes may have to be compiled. A batch without any example changes nothing.
 * Errors: INVALID_ARGUMENT (too many examples); OUT_OF_RANGE for numbers that are not finite, which liana__step_fault
 * then describes. */
liana_status liana__step_update(liana__step *step, const liana__batch *batch, const double *scalars, const float **sums,
                                liana__error *error) LIANA_MUST_USE;
/* The same, shard by shard, so that liana__step_read_sum has its sums on any device. */
liana_status liana__step_update_by_parts(liana__step *step, const liana__batch *batch, const double *scalars,
                                         liana__error *error) LIANA_MUST_USE;
/* The same as liana__step_update, once more if a process of the cluster dies meanwhile. */
liana_status liana__step_update_in_section(liana__step *step, const liana__batch *batch, const double *scalars,
                                           const float **sums, liana__error *error) LIANA_MUST_USE;

/* Runs evaluation shards. `outputs` receives the rows of all examples; NULL if not wanted. *sums is as above. */
liana_status liana__step_measure(liana__step *step, const liana__batch *batch, void *outputs, const float **sums,
                                 liana__error *error) LIANA_MUST_USE;
liana_status liana__step_measure_in_section(liana__step *step, const liana__batch *batch, void *outputs,
                                            const float **sums, liana__error *error) LIANA_MUST_USE;

/* The fault of the last update; kind NONE: all numbers that must be finite are. Borrowed until the next one. */
const liana__fault *liana__step_fault(const liana__step *step);

/* ---- several updates as one execution of a device's program ----
 *
 * While it runs, the next ones' batches may be staged. */

/* How many can be staged; 0: updates are no programs of a device. */
size_t liana__step_most_staged(const liana__step *step);
/* Takes the next update's batch, which has examples; its rows are copied. Errors: those of liana__step_update. */
liana_status liana__step_stage(liana__step *step, const liana__batch *batch, liana__error *error) LIANA_MUST_USE;
/* Begins the staged updates; `scalars` [staged, 1 + the builder's], of which the first is the number of examples, are
 * copied. */
liana_status liana__step_launch(liana__step *step, const float *scalars, liana__error *error) LIANA_MUST_USE;
/* Waits until it is done. `counts` are the examples of each. `sums` [launched, num_sums] and `statuses`
 * (liana__whole_status) receive the results. An update behind one that was not done was not done either. */
liana_status liana__step_collect(liana__step *step, const int64_t *counts, float *sums, int *statuses,
                                 liana__error *error) LIANA_MUST_USE;
/* Forgets the updates that are staged and not launched. */
liana_status liana__step_drop_staged(liana__step *step, liana__error *error) LIANA_MUST_USE;
/* After LIANA__WHOLE_BAD_VALUES: finds the numbers that are not finite, for liana__step_fault. Errors: OUT_OF_RANGE. */
liana_status liana__step_find_fault(liana__step *step, const float *sums, liana__error *error) LIANA_MUST_USE;

/* ---- examples that the devices keep, of a plan with table_rows ----
 *
 * Each is given once, in any batches of at most batch_size that have records, then all are sent, before the first
 * update. Updates then send records only. */

/* Whether the devices can do that. */
bool liana__step_has_tables(const liana__step *step);
/* Its rows are copied. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, INTERNAL (a wrong record). */
liana_status liana__step_keep(liana__step *step, const liana__batch *batch, liana__error *error) LIANA_MUST_USE;
/* Errors: those of an upload. */
liana_status liana__step_send_kept(liana__step *step, liana__error *error) LIANA_MUST_USE;

/* ---- members ---- */

const liana__step_plan *liana__step_plan_of(const liana__step *step);
const liana__variables *liana__step_variables(const liana__step *step);
/* In which it computes; NULL: in this process. */
struct liana__cluster *liana__step_cluster(const liana__step *step);
size_t liana__step_num_replicas_in_sync(const liana__step *step);

/* The memory of a full batch, with the limit and without it: bytes of variables, sums and workspaces, operations of a
 * step's shards. */
typedef struct liana__step_memory {
    size_t bytes, bytes_before;
    double flops_again, flops_before;
    size_t num_segments; /* that run twice, of one shard; 0: none does */
} liana__step_memory;
liana__step_memory liana__step_memory_of(const liana__step *step);

/* Lets somebody hear of the sums of training batches as they are made, in one process; borrowed. */
void liana__step_watch_sums(liana__step *step, const liana__sum_watch *watch);

/* Events of the callers in the record of the device. */
void liana__step_record(const liana__step *step, liana__event_kind kind, uint64_t begin, int64_t number);
uint64_t liana__step_clock(const liana__step *step);

/* ---- running a step again ---- */

/* The shards of a training batch and their rows, borrowed until the next call with another batch; the rows of a
 * component of them, NULL: they read none of that name. */
liana__leaf_batch liana__step_shards(liana__step *step, const liana__batch *batch);
const void *liana__step_rows(const liana__step *step, const liana__leaf_batch *shards, const char *component);
/* The graph of a shard of `size` examples. Errors: those of the builder. */
liana_status liana__step_build_shard(const liana__step *step, liana__step_kind kind, int64_t size, bool masked,
                                     liana_graph **graph, liana__error *error) LIANA_MUST_USE;
/* A sum of the last update, which was one by parts, by the input of the update that reads it. */
liana_status liana__step_read_sum(liana__step *step, const char *input, void *data, liana__error *error) LIANA_MUST_USE;
/* The gradients of the last update, which was one by parts: how many there are, the variable of each, and its sum over
 * the examples, f32 of the variable's shape. In a cluster reading is a collective operation. Where workers are not in
 * step there are none. */
size_t liana__step_num_gradients(const liana__step *step);
const liana__step_sum *liana__step_gradient(const liana__step *step, size_t index);
liana_status liana__step_read_gradient(const liana__step *step, size_t index, float *data, liana__error *error)
    LIANA_MUST_USE;
/* Where updates are no programs by parts: computes the gradients of a batch with the variables as they are, so that
 * they can be read. Elsewhere an update does it, and nothing happens. */
liana_status liana__step_sum_gradients(liana__step *step, const liana__batch *batch, liana__error *error)
    LIANA_MUST_USE;

/* The plan of whole updates, on any device, for callers that write their program down; false: updates are not whole.
 * Both are borrowed from the step, the plan's shard from `leaf`. */
bool liana__step_lend_whole_plan(liana__step *step, liana__leaf_plan *leaf, liana__whole_plan *plan);

#endif
