/* fault.h - numbers of a step that are not finite: found before the update is applied, or in what it gives. */
#ifndef LIANA_TRAIN_FAULT_H
#define LIANA_TRAIN_FAULT_H

#include "distribute/strategy.h"
#include "train/core/objective.h"

typedef enum liana__fault_kind {
    LIANA__FAULT_NONE,
    LIANA__FAULT_SUMS,    /* a loss, a gradient or a statistic; the update was not applied */
    LIANA__FAULT_PENALTY, /* what the loss has of the weights' regularizers; the update was not applied */
    LIANA__FAULT_RATE,    /* the learning rate; the update was not applied */
    LIANA__FAULT_UPDATE,  /* what the update gave; weights and optimizer state are spoilt */
} liana__fault_kind;

typedef struct liana__fault {
    liana__fault_kind kind;
    char name[512]; /* of the weight whose gradient or value it is; of the output whose loss it is; or "" */
    bool is_loss;   /* of SUMS */
    bool of_validation;
    double value;  /* of a loss, or of the rate */
    int64_t count; /* numbers that are not finite */
} liana__fault;

/* "the loss is nan", "the gradient of 'dense/kernel' has 12 numbers that are not finite". In `text`. */
const char *liana__fault_describe(const liana__fault *fault, char *text, size_t size);

/* What a step is made of. */
typedef struct liana__fault_check {
    const liana__strategy *strategy;
    liana__strategy_instance *instance;
    const liana__objective *objective;
    const float *first_sum; /* on the host: losses and metrics. Metrics may be what they like */
    double learning_rate;
} liana__fault_check;

/* Whether the losses of a validation so far are finite, and what the fault is if one is not. */
bool liana__losses_are_finite(const liana__totals *totals);
liana__fault liana__fault_of_validation(const liana__totals *totals);

/* Of the losses alone; no other process takes part. Errors: OUT_OF_RANGE. */
liana_status liana__fault_of_losses(const liana__fault_check *check, liana__fault *fault, liana__error *error)
    LIANA_MUST_USE;
/* Before the update, and after it. Errors: OUT_OF_RANGE for a fault, which `fault` describes; those of the device. */
liana_status liana__fault_before_update(const liana__fault_check *check, liana__fault *fault, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__fault_after_update(const liana__fault_check *check, liana__fault *fault, liana__error *error)
    LIANA_MUST_USE;

#endif
