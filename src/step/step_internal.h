/* step_internal.h - the struct of a step. For the files of the step. */
#ifndef LIANA_STEP_STEP_INTERNAL_H
#define LIANA_STEP_STEP_INTERNAL_H

#include "exec/program.h"
#include "step/shard_list.h"
#include "step/step.h"

struct liana__step {
    liana__step_plan plan;
    liana__device *device; /* the first one */
    liana__variables *variables;
    liana__strategy_instance *instance;
    liana__whole_plan whole;         /* the strategy borrows it */
    size_t num_staged, num_launched; /* updates of an execution */
    float *rows;                     /* of an evaluation with kept variables, and these one by one; NULL: it has none */
    float *kept;
    float *penalties;                  /* [whole.most_steps]: of those that were launched last */
    liana__program *penalty;           /* of the variables; NULL: missing */
    float *first_sum;                  /* on the host: the vector */
    float *counts;                     /* [num_counts] */
    float *scalars;                    /* [1 + num_scalars] of the running update */
    double *given;                     /* [num_scalars] the same, as they were given */
    liana__fault fault;                /* of the last update */
    liana__shard_list shards;          /* of the running batch: those that have examples */
    const liana__sum_watch *sum_watch; /* hears of the sums of training batches; NULL: nobody does */
};

/* ---- step_parts.c ---- */

/* The plan of the shards of one kind of batch. */
liana__leaf_plan liana__step_plan_shards(liana__step *step, liana__step_kind kind);
/* The most examples of a batch. */
int64_t liana__step_largest_batch(const liana__step *step, bool training);
/* Whether the step can take a batch. Errors: INVALID_ARGUMENT. */
liana_status liana__step_check_batch(const liana__step *step, const liana__batch *batch, bool training,
                                     liana__error *error) LIANA_MUST_USE;
/* Refuses graphs of so many shards if the training needs all of a batch in one. */
liana_status liana__step_check_whole_batch(const liana__step *step, int64_t shards, liana__error *error) LIANA_MUST_USE;

/* Checks a batch, and lists its shards. */
liana_status liana__step_begin_batch(liana__step *step, const liana__batch *batch, bool training,
                                     liana__leaf_batch *shards, liana__error *error) LIANA_MUST_USE;
/* Returns `status`. The error of a failure is completed by the shard builder. */
liana_status liana__step_name_error(const liana__step *step, liana_status status, liana__error *error);

/* Sums a batch over its shards. `outputs` receives the rows of an evaluation; NULL: they are not wanted. */
liana_status liana__step_sum_batch(liana__step *step, const liana__batch *batch, bool training, void *outputs,
                                   size_t *num_shards, liana__error *error) LIANA_MUST_USE;
/* An update in three parts: shards and their sum, checks, the update; with step->scalars. */
liana_status liana__step_run_parts(liana__step *step, const liana__batch *batch, liana__error *error) LIANA_MUST_USE;

/* Numbers that are not finite, in the sums of the vector alone, and in the results of an update. Errors: OUT_OF_RANGE,
 * with the fault. */
liana_status liana__step_check_sums(liana__step *step, liana__error *error) LIANA_MUST_USE;
liana_status liana__step_check_values(liana__step *step, liana__error *error) LIANA_MUST_USE;
/* Of the scalars of an update. */
liana_status liana__step_check_scalars(liana__step *step, const float *scalars, liana__error *error) LIANA_MUST_USE;

/* Adds the penalty of the variables as they are now, times the number of examples, to the vector. */
liana_status liana__step_add_penalty(liana__step *step, int64_t count, liana__error *error) LIANA_MUST_USE;

/* ---- step_whole.c ---- */

/* Whether updates can be programs of a device, and the plan of these. */
bool liana__step_plan_whole(liana__step *step, liana__whole_plan *plan);
/* The whole updates of the devices; NULL: updates run by parts. */
liana__whole *liana__step_whole(const liana__step *step);
/* One update; by parts where its sums are bad, so that they can be looked at. */
liana_status liana__step_run_whole(liana__step *step, const liana__batch *batch, liana__error *error) LIANA_MUST_USE;

#endif
