/* fault.h - numbers of a step that are not finite: found before the update is applied, or in its results. */
#ifndef LIANA_STEP_FAULT_H
#define LIANA_STEP_FAULT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum liana__fault_kind {
    LIANA__FAULT_NONE,
    LIANA__FAULT_LOSS,    /* a loss; the update was not applied */
    LIANA__FAULT_SUM,     /* a sum with a name of the program's; the update was not applied */
    LIANA__FAULT_SUMS,    /* a gradient or a statistic; the update was not applied */
    LIANA__FAULT_PENALTY, /* the loss's share of the weights' regularizers; the update was not applied */
    LIANA__FAULT_SCALAR,  /* an input of the update; the update was not applied */
    LIANA__FAULT_UPDATE,  /* a result of the update; the variables are spoilt */
} liana__fault_kind;

typedef struct liana__fault {
    liana__fault_kind kind;
    char name
        [512]; /* of the variable whose gradient or value it is; of the output whose loss it is; of a scalar; or "" */
    bool of_validation;
    double value;  /* of a loss, a sum with a name or a scalar */
    int64_t count; /* numbers that are not finite */
} liana__fault;

/* "the loss is nan", "the gradient of 'dense/kernel' has 12 numbers that are not finite". In `text`. */
const char *liana__fault_describe(const liana__fault *fault, char *text, size_t size);

#endif
