/* fit_span.h - the updates of a fit between two points at which all processes of a cluster meet, where its workers are
 * not in step (distribute/cluster/span.h).
 *
 * An epoch has the updates that it has anywhere. Asynchronously, step s of an epoch is worker s modulo the workers'
 * own, and its batch gives one update. With first arrivals a step is shared out as in step, and the update is of the
 * shares that came first. Either way a schedule counts updates. */
#ifndef LIANA_TRAIN_FIT_SPAN_H
#define LIANA_TRAIN_FIT_SPAN_H

#include "data/loader/loader.h"
#include "train/training/training.h"

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

/* Call it before the loader begins: it tells the loader which batches are whose. In step: only span_steps, 0. Free
 * it in any case. `recovers`: numbers that are not finite do not end the fit. Errors: INVALID_CONFIG for data and
 * options that need workers in step; OUT_OF_MEMORY. */
liana_status liana__fit_span_create(liana__training *training, liana__loader *loader, liana_learning_rate *schedule,
                                    bool recovers, liana__fit_span *own, liana__error *error) LIANA_MUST_USE;
void liana__fit_span_free(liana__fit_span *own);

/* The next `num_steps` of an epoch, all of which are updates. Adds to the running sums of the state, and to its counts
 * of gradients. After a death the other workers do the remaining updates, where no applied gradient is repeated; else
 * the lost examples are counted. Errors: those of liana__loader_next and liana__step_run_span, the same
 * on all processes. */
liana_status liana__fit_span_run(liana__fit_span *own, size_t num_steps, liana__error *error) LIANA_MUST_USE;

#endif
