/* fit_internal.h - a fit that is running. For the files of the loop. */
#ifndef LIANA_TRAIN_FIT_INTERNAL_H
#define LIANA_TRAIN_FIT_INTERNAL_H

#include "train/callbacks/watch.h"
#include "train/job/fit.h"

/* ---- fit span ---- */

/* The updates of a fit between two points at which all processes of a cluster meet, where its workers are not in
 * step (distribute/cluster/span.h).
 *
 * An epoch has the updates that it has anywhere. Asynchronously, step s of an epoch is worker s modulo the workers'
 * own, and its batch gives one update. With first arrivals a step is shared out as in step, and the update is of
 * the shares that came first. Either way a schedule counts updates. */

typedef struct liana__fit_span {
    liana__training *training;
    liana__loader *loader;
    bool *seen_classes; /* by class; NULL: nobody asks */
    liana_learning_rate *schedule;
    size_t span_steps;    /* 0: the workers are in step */
    uint64_t generation;  /* of the cluster, in which the loader was begun */
    liana__notes notes;   /* zeros: nobody reads them */
    float *sums;          /* of the last span: loss and metrics, of all its examples */
    liana__totals totals; /* the same */
    double wait;          /* seconds for input in it */
} liana__fit_span;

/* Call it before the loader begins: it tells the loader which batches are whose. In step: only span_steps, 0. Free it
 * in any case. `recovers`: numbers that are not finite do not end the fit. Errors: INVALID_CONFIG for data and options
 * that need workers in step; OUT_OF_MEMORY. */
liana_status liana__fit_span_create(liana__training *training, liana__loader *loader, liana_learning_rate *schedule,
                                    bool recovers, liana__fit_span *own, liana__error *error) LIANA_MUST_USE;
void liana__fit_span_free(liana__fit_span *own);

/* The next `num_steps` of an epoch, all of which are updates. Adds to the running sums of the state, and to its counts
 * of gradients. After a death the other workers do the remaining updates, where no applied gradient is repeated; else
 * the lost examples are counted. Errors: those of liana__loader_next and liana__step_run_span, the same on all
 * processes. */
liana_status liana__fit_span_run(liana__fit_span *own, size_t num_steps, liana__error *error) LIANA_MUST_USE;

/* ---- fit internal ---- */

/* An update of a group. */
typedef struct liana__group_update {
    liana__update_sums made; /* once it is done; its sums are the group's */
    int64_t num_seen;        /* labels of its examples */
    int32_t *seen;           /* room for those of a batch; NULL: nobody asks */
    double wait;             /* seconds for the batch */
    bool is_empty;           /* no example could be used: it changes nothing */
} liana__group_update;

/* The updates between two times that callbacks look (steps_per_execution). Where the device can do it, they are one
 * execution of a program; the batches of the next group are then taken and sent while it runs. */
typedef struct liana__fit_group {
    size_t most;              /* updates */
    float *sums;              /* [most, sums of the objective], of the last group */
    liana__update_sums *made; /* [most]: the same for callbacks */
    size_t num_made;
    /* Of executions: two groups, of which one is being filled. */
    struct {
        liana__group_update *updates;
        size_t count, num_staged;
    } filled[2];
    int next;
    int *statuses;   /* [most]: liana__whole_status of those that were launched */
    float *scalars;  /* [most, liana__trainer_num_scalars] */
    int64_t *counts; /* [most]: examples of those that were launched */
    float *launched; /* [most, sums] */
    /* Why the batch after those that are filled cannot be used: told when its turn comes. */
    liana_status data_status;
    liana__error data_error;
} liana__fit_group;

struct liana__fit_run {
    const liana__fit_options *options;
    liana__training *training;
    liana__training_state *state; /* the training's */
    liana_learning_rate learning_rate;
    liana__fit_plan plan;
    liana__error *error;
    int64_t steps_per_epoch; /* in the running epoch */
    int64_t end_step;        /* the same, or less if the fit ends in it */
    double training_begin;   /* of the running epoch, in seconds; later by the time of validations in it */
    liana__timing_epoch timing;
    liana__totals validation; /* of the running epoch */
    liana__totals measured;   /* by liana__fit_validate */
    liana__watch *watch;      /* on bad numbers; NULL: they end the training */
    uint64_t generation;      /* of the cluster, in which the loader was begun */
    bool replays;             /* the last update gave bad weights: the steps before it are to be done again */
    liana__fit_span span;     /* where workers are not in step */
    liana__fit_group group;   /* where they are */
    double kept_factor;       /* the rate factor that goes with the kept states of the callbacks */
    liana_fit_context context;
};
typedef struct liana__fit_run liana__fit_run;

extern const liana__totals liana__no_totals;

liana_status liana__fit_call(liana__fit_run *fit, liana_callback_event event) LIANA_MUST_USE;
/* The same about the training of the epoch, not about its validation. */
liana_status liana__fit_call_training(liana__fit_run *fit, liana_callback_event event) LIANA_MUST_USE;

/* ---- fit_step.c ---- */

/* Sets the context's rates: of an update of the stage, counted from 0. */
void liana__fit_set_rate(liana__fit_run *fit, int64_t applied);
/* Where the next update is. */
liana__watched_step liana__fit_watched_step(const liana__fit_run *fit);
/* Takes a batch, and makes an update of it, which joins the group's. Errors: those of liana__fit. */
liana_status liana__fit_take_step(liana__fit_run *fit) LIANA_MUST_USE;
/* An update of a batch that was taken. */
liana_status liana__fit_step_with(liana__fit_run *fit, const liana__batch *batch) LIANA_MUST_USE;
/* An update is done: the state, the running sums and the group know it. `sums` are copied. */
void liana__fit_count_update(liana__fit_run *fit, const liana__update_sums *made, double wait);
/* An update whose numbers went bad. A replay needs the loader, when it has all batches back: fit->replays. */
liana_status liana__fit_meet_bad_numbers(liana__fit_run *fit, const liana__batch *batch) LIANA_MUST_USE;
/* The updates to where workers that are not in step meet. */
liana_status liana__fit_train_span(liana__fit_run *fit) LIANA_MUST_USE;
/* How many updates there are until all look: at the end of the epoch, or for a validation; at most `most`. `ahead` are
 * those that will have been done by then. */
int64_t liana__fit_updates_until(const liana__fit_run *fit, int64_t ahead, int64_t most);
bool liana__fit_halts(const liana__fit_run *fit);

/* ---- fit_group.c ---- */

/* Errors: OUT_OF_MEMORY; INVALID_CONFIG where workers are not in step. Free it in any case. */
liana_status liana__fit_group_create(liana__fit_run *fit) LIANA_MUST_USE;
void liana__fit_group_free(liana__fit_run *fit);
/* The updates of a group. Errors: those of liana__fit. */
liana_status liana__fit_train_group(liana__fit_run *fit) LIANA_MUST_USE;

#endif
