/* user_step.h - a step of a program's own: its functions as builders. */
#ifndef LIANA_STEP_USER_STEP_H
#define LIANA_STEP_USER_STEP_H

#include "step/agreement.h"
#include "step/replicas/replicas.h"
#include "step/step.h"
#include "step/user_update.h"

#include <liana/step.h>

struct liana_step {
    liana_context *context;
    liana__device *device;
    liana_variables *variables;
    liana_step_options options; /* with copies of everything it points to */
    void *update_user;          /* the argument of the update function */
    liana_device *opened;       /* the step's own; NULL: the variables are the program's */
    liana_variables *owned;
    liana__arena arena;
    liana__step *step;
    liana__shard_builder shards;
    liana__user_update update;
    /* As the first shard declared them. The vector of sums are those that have names. */
    const char *names[LIANA_MAX_SUMS];
    size_t num_names;
    liana__step_sums sums;
    bool declared;
    bool mixed_precision;
    size_t num_scalars; /* of the options */
    bool *is_used;      /* by place among the variables: the shards or the update read it */
    size_t num_known;   /* places in is_used */
    const liana__strategy *strategy;
    const void *strategy_options;
    liana__device_set devices;
    liana__cluster *cluster;     /* NULL: this process is alone */
    liana__step_workers workers; /* of a batch by replica: its bounds have room for the processes */
    uint64_t *positions;         /* [batch_size] */
    uint64_t next_position;
    size_t span_steps; /* of workers that need not be in step: most updates until all processes meet; 0: they are */
    const char *not_reproducible; /* why results are not; NULL: they are */
    uint64_t num_turns;           /* runs of one step: the workers compute them in turn, if they are asynchronous */
    bool has_agreed;              /* with the other processes */
    liana__facts update_facts;    /* the graph of the update, until they have agreed on it */
};

/* The graph of a shard, as liana__shard_builder wants it; `user` is the step. */
liana_status liana__user_build_shard(void *user, liana__step_kind kind, const liana__shard_rows *rows,
                                     liana_graph **graph, liana__error *error) LIANA_MUST_USE;

/* The component of that name; num_components: missing. */
size_t liana__user_component(const liana_step *step, const char *name, const char **nearest);

/* Whether all variables that it reads have values. Errors: INVALID_ARGUMENT, in the context. */
liana_status liana__user_check_variables(const liana_step *step) LIANA_MUST_USE;
/* With the other processes, if there are any: the graph of a shard, the variables, their results, and the graph of the
 * update. Once, when the variables have values. */
liana_status liana__user_agree(liana_step *step, liana__error *error) LIANA_MUST_USE;

/* ---- user_batch.c ---- */

/* The steps of one call of a program. */
typedef struct liana__user_call {
    const liana_step_input *input; /* of the program: scalars, and the batch of a call of one step */
    /* Gives the batches. NULL: there is one step, with the input's batch, which every process was given. */
    liana_status (*give_batch)(void *user, int64_t step, liana_step_input *batch);
    void *user;
    int64_t num_steps;
    bool until_end; /* of a dataset whose length nobody knows */
    uint64_t turn;  /* asynchronously, added to the number of a step to find its worker */
} liana__user_call;

/* The batch of a step, and the scalars of an update of a call. settings[LIANA_MAX_SETTINGS]. Errors: INVALID_ARGUMENT,
 * those of the program's functions; END_OF_DATA, if the call is until the end. */
liana_status liana__user_ask_batch(const liana_step *step, const liana__user_call *call, int64_t number,
                                   liana_step_input *batch, liana__error *error) LIANA_MUST_USE;
liana_status liana__user_ask_scalars(const liana_step *step, const liana__user_call *call, int64_t update,
                                     liana_setting *settings, liana__error *error) LIANA_MUST_USE;

/* Takes a batch whose first example has this position in the run, for the step. Errors: INVALID_ARGUMENT. */
liana_status liana__user_take_batch(liana_step *step, const liana_step_input *batch, uint64_t position,
                                    liana__batch *taken, liana__error *error) LIANA_MUST_USE;
/* The same of a batch by replica. */
liana_status liana__user_take_values(liana_step *step, const liana_per_replica *values, uint64_t position,
                                     liana__batch *taken, liana__error *error) LIANA_MUST_USE;
/* The update's scalars, [num_scalars]. Errors: INVALID_ARGUMENT. */
liana_status liana__user_take_scalars(const liana_step *step, const liana_setting *settings, double *scalars,
                                      liana__error *error) LIANA_MUST_USE;

/* ---- user_run.c ---- */

/* Sets the results of a step with these sums. */
void liana__user_set_results(const liana_step *step, const float *sums, int64_t count, liana_step_results *results);
/* One step of workers that are in step; errors are the context's. `results` may be NULL. */
liana_status liana__user_run_batch(liana_step *step, const liana_step_input *batch, const liana_setting *settings,
                                   liana_step_results *results) LIANA_MUST_USE;

/* Adds the results of a step to those of others. */
void liana__user_add_results(const liana_step_results *from, liana_step_results *to);

/* ---- user_many.c ---- */

/* The fate of their gradients. */
typedef struct liana__user_tally {
    liana_step_results results;
    liana_step_counts counts;
} liana__user_tally;

/* Runs the call with workers that are in step. `outcomes` and `tally` are zeros; outcomes NULL: nobody asks. Errors are
 * the context's, the same in all processes. */
liana_status liana__user_run_together(liana_step *step, const liana__user_call *call, liana_step_outcome *outcomes,
                                      liana__user_tally *tally) LIANA_MUST_USE;

/* ---- user_span.c ---- */

/* The same in spans, of workers that are not in step. */
liana_status liana__user_run_spans(liana_step *step, const liana__user_call *call, liana_step_outcome *outcomes,
                                   liana__user_tally *tally) LIANA_MUST_USE;

#endif
