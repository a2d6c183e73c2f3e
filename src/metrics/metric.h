/* metric.h - metrics, which are liana_metric_type of <liana/parts.h>. To add one: src/metrics/<stem>.c with the struct,
 * and a row in metrics.def. */
#ifndef LIANA_METRICS_METRIC_H
#define LIANA_METRICS_METRIC_H

#include "base/part.h"
#include "losses/target.h"

#define LIANA__METRIC(stem, name) extern const liana_metric_type liana__metric_##name;
#include "metrics/metrics.def"
#undef LIANA__METRIC

/* The kind: its list has all metrics in the order of metrics.def. */
extern const liana__kind liana__metric_kind;

/* Build the values of a mean: f32, the output's shape without the last axis; and a shard's share of sums: f32
 * [sums]. */
liana_tensor liana__metric_elements(const liana_metric_type *metric, const liana_metric_call *call);
liana_tensor liana__metric_add(const liana_metric_type *metric, const liana_metric_call *call);

/* The table of its options: that of the loss whose mean it is, or its own. */
const liana_options *liana__metric_options(const liana_metric_type *metric);

/* A metric with its options. */
typedef struct liana__metric_choice {
    const liana_metric_type *metric;
    const void *options;
    bool weighted;    /* by the weights of examples and classes: Keras's weighted_metrics */
    bool from_logits; /* outputs that are numbers are logits */
    const char *name; /* in reports: as it was asked for, unless `as` gives another */
} liana__metric_choice;

/* Reads NAME or {name: NAME, as: OTHER_NAME, weighted: true, ...}, and Keras's {name: MeanMetricWrapper, fn: NAME}.
 * The name may be one of the context's own (NULL: there are none).
 * `where` is its dotted key; the choice is in the arena. Errors: INVALID_CONFIG; OUT_OF_MEMORY. */
liana_status liana__metric_read(const liana_context *context, const liana__value *value, const char *where,
                                liana__arena *arena, liana__metric_choice *choice, liana__error *error) LIANA_MUST_USE;

#endif
