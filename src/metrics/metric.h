/* metric.h - the metric contract: an accumulator. To add one: src/metrics/<stem>.c with the struct, and a row in
 * metrics.def.
 *
 * On the device a leaf (shard) adds numbers to sums. The host adds the sums of all batches in f64, and finishes them.
 * So a metric is the same however the data are split, and after a resume. */
#ifndef LIANA_METRICS_METRIC_H
#define LIANA_METRICS_METRIC_H

#include "base/context.h"
#include "losses/target.h"

/* What a metric measures. Shapes are those of a leaf. */
typedef struct liana__metric_call {
    const void *options;
    /* f32 [batch, ..., n]: predictions. Probabilities if the output's loss has an activation. */
    liana_tensor output;
    liana__activation_kind activation; /* of the output's loss */
    liana__truth target;
    liana_tensor weights; /* f32 [batch, ...], without the last axis: how much each element counts; invalid: 1 */
} liana__metric_call;

/* The outputs that a metric is about. */
typedef enum liana__metric_takes {
    LIANA__METRIC_OF_NUMBERS, /* any */
    LIANA__METRIC_OF_ANSWERS, /* probabilities of classes, or answers of yes and no */
    LIANA__METRIC_OF_CLASSES, /* the same, but one class for each element: not several answers of yes and no */
} liana__metric_takes;

typedef struct liana__metric {
    const char *name;                  /* Keras's */
    const struct liana__own_part *own; /* of a program's own metric (own_metric.c) */
    const char *alias;                 /* Keras's class name or short name; NULL: it has none */
    const char *doc;
    const liana__fields *options;
    unsigned targets; /* liana__target_kinds that it takes */
    liana__metric_takes takes;
    /* Either a mean. Builds f32, the output's shape without the last axis; the metric is its mean over all elements. */
    liana_tensor (*elements)(const liana__metric_call *call);
    /* Or sums. `size`: how many, for outputs of this shape. `add` builds f32 [size]: what a leaf adds. `finish` makes
     * the metric of the sums of all leaves. */
    size_t (*size)(const void *options, const liana_shape *output);
    /* Why options do not fit outputs of this shape; NULL: they do. A NULL function: all do. */
    const char *(*misfit)(const void *options, const liana_shape *output);
    /* What is worth a note, although the options fit; NULL: nothing is. */
    const char *(*doubt)(const void *options, const liana_shape *output);
    liana_tensor (*add)(const liana__metric_call *call);
    double (*finish)(const void *options, const double *sums, size_t size);
    /* The result may be several numbers: `num_values` says how many (0: it is the one of `finish`), and `finish_all`
     * makes them. `is_matrix`: they are the rows of a square matrix; else one for each value of an element. */
    size_t (*num_values)(const void *options, const liana_shape *output);
    void (*finish_all)(const void *options, const double *sums, size_t size, double *values);
    bool is_matrix;
} liana__metric;

#define LIANA__METRIC(stem, name) extern const liana__metric liana__metric_##name;
#include "metrics/metrics.def"
#undef LIANA__METRIC

/* All metrics in the order of metrics.def, NULL-terminated. */
extern const liana__metric *const liana__metrics[];

/* Finds a metric by its name or alias, also among the context's own (NULL: there are none). NULL: there is none; *nearest (may be NULL) is then the nearest name, or NULL. */
const liana__metric *liana__metric_find(const liana_context *context, const char *name, const char **nearest);

/* A metric with its options. */
typedef struct liana__metric_choice {
    const liana__metric *metric;
    const void *options;
    const char *name; /* in reports: as it was asked for, unless `as` gives another */
} liana__metric_choice;

/* Reads NAME or {name: NAME, as: OTHER_NAME, ...}. The name may be one of the context's own (NULL: there are none). `where` is its dotted key; the choice is in the arena. Errors:
 * INVALID_CONFIG; OUT_OF_MEMORY. */
liana_status liana__metric_read(const liana_context *context, const liana__value *value, const char *where,
                                liana__arena *arena, liana__metric_choice *choice, liana__error *error) LIANA_MUST_USE;

/* For metrics that have no options. */
extern const liana__fields liana__no_metric_options;

/* f32: 1 where an element counts, times its weight; the elements' shape is that of `each`. */
liana_tensor liana__metric_weighted(const liana__metric_call *call, liana_tensor each);

#endif
