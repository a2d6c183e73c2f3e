/* decisions.h - the decisions of a control of a training (train.control), and the reasons: part of the training's state
 * and history. */
#ifndef LIANA_TRAIN_DECISIONS_H
#define LIANA_TRAIN_DECISIONS_H

#include "base/error.h"
#include "base/value.h"

/* Whether a training went on from where it was, or back to the state that was accepted before. Numbers that are not
 * finite are NaN. */
typedef struct liana__decision {
    char monitor[64];   /* the metric */
    int64_t epoch;      /* from 1 */
    int64_t update;     /* updates done in all when it was made */
    double value;       /* of the metric; NaN: it was not finite */
    double reference;   /* the metric of the state that was accepted before; NaN: there was none */
    double energy;      /* of this decision */
    double probability; /* of accepting the value */
    double drawn;       /* from [0, 1): below the probability the value is accepted */
    bool accepted;
    int64_t taken_back;   /* updates undone by it */
    double learning_rate; /* of the last update */
    double rate_factor;   /* from now on */
    bool at_end;          /* made since the training ended; a longer one makes it later */
} liana__decision;

/* Zero-initialise; free with liana__decisions_free. */
typedef struct liana__decisions {
    liana__decision *items;
    size_t count, capacity;
} liana__decisions;

void liana__decisions_free(liana__decisions *decisions);
liana_status liana__decisions_add(liana__decisions *decisions, const liana__decision *decision, liana__error *error)
    LIANA_MUST_USE;

/* [{"epoch": 1, "update": 100, "value": ..., ...}, ...]: for history.json and for checkpoints. Reading errors:
 * INVALID_DATA, OUT_OF_MEMORY. */
liana__value *liana__decisions_value(const liana__decisions *decisions, liana__arena *arena);
liana_status liana__decisions_read(const liana__value *value, liana__decisions *decisions, liana__error *error)
    LIANA_MUST_USE;

#endif
