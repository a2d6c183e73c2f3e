/* span_job.h - a span of updates of workers that are not in step (distribute/cluster/span.h), until all its steps are done:
 * the part that fits and steps of a program's own share. Use it after a strategy has said that it has spans. */
#ifndef LIANA_TRAIN_SPAN_JOB_H
#define LIANA_TRAIN_SPAN_JOB_H

#include "base/text.h"
#include "distribute/cluster/span.h"
#include "distribute/strategy.h"
#include "train/core/notes.h"

/* The most updates until all processes meet; 0: the workers are in step. `cluster` NULL: this process is alone. */
size_t liana__span_steps_of(const liana__strategy *strategy, const void *options, const liana__cluster *cluster);

/* What the exchange of gradients makes of results. */
typedef struct liana__exchange_reason {
    char exchange[96]; /* liana__strategy.describe_arithmetic; empty: they are the bits of one process */
    char text[160];    /* "gradients are exchanged with ...", or empty */
} liana__exchange_reason;
/* Finds it, and tells it if there is something to tell. True: results are not reproducible. */
bool liana__note_exchange(const liana__strategy *strategy, const void *options, const liana__cluster *cluster,
                          const liana__notes *notes, liana__exchange_reason *reason);

/* Whose step it is, asynchronously: of the workers that are left, worker `step` modulo their number. So the steps of one that
 * is gone are spread over all others. */
size_t liana__span_owner(const liana__cluster *cluster, uint64_t step);

typedef struct liana__span_job {
    /* The caller's, zeros where nothing is said. */
    liana__cluster *cluster;
    const void *strategy_options;
    const liana__notes *notes;
    size_t num_steps;
    size_t record_size; /* of what a process says of a step */
    /* One try: runs the steps that are not `done` in *outcome, after shares were divided anew if the cluster's generation
     * is another one. */
    liana_status (*run)(void *user, liana__span_outcome *outcome, liana__error *error);
    /* Takes over what a process has said of a step. Steps come in ascending order, and in a step processes by rank. */
    void (*add)(void *user, size_t step, const void *record);
    void *user;
    /* What came of it. */
    liana__span_outcome outcome;
    size_t num_done;     /* steps, before the running try */
    bool *was_there;     /* by worker, when that began: shares are divided among these */
    size_t num_there;    /* of them */
    liana__text records; /* of this process */
    const char **found;  /* [processes, steps] the records of all, while they are shared */
    void *record;        /* memory for one */
} liana__span_job;

/* Runs all steps. Each death may leave some to another try. All processes call it at the same time. Errors: those of `run`,
 * INTERNAL, OUT_OF_MEMORY; the same in all processes. Free the job in any case. */
liana_status liana__span_job_run(liana__span_job *job, liana__error *error) LIANA_MUST_USE;
void liana__span_job_free(liana__span_job *job);

/* During a try: this process's record of a step, whose gradients were used. */
liana_status liana__span_job_keep(liana__span_job *job, size_t step, const void *record, liana__error *error)
    LIANA_MUST_USE;
/* After all steps: gives everybody the records of all. */
liana_status liana__span_job_share(liana__span_job *job, liana__error *error) LIANA_MUST_USE;
/* After all steps, with first arrivals: counts the examples of workers that died, of which nobody can do the shares later.
 * positions[workers]: those that each had in the steps. */
void liana__span_job_count_lost(liana__span_job *job, const int64_t *positions);
/* The same where each step's batch of totals[num_steps] examples was shared out in shards of `microbatch`. */
liana_status liana__span_job_count_lost_of(liana__span_job *job, const int64_t *totals, int64_t microbatch,
                                           liana__error *error) LIANA_MUST_USE;

#endif
