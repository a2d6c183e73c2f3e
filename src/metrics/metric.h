/* metric.h - the metric contract. To add one: src/metrics/<stem>.c with the struct, and a row in metrics.def. */
#ifndef LIANA_METRICS_METRIC_H
#define LIANA_METRICS_METRIC_H

#include <liana/ops.h>

typedef struct liana__metric {
    const char *name; /* Keras's */
    const char *doc;
    /* Builds f32 [batch] from the model's output [batch, classes] and the true classes, s32 [batch]. Its mean over all
     * examples is the metric. */
    liana_tensor (*per_example)(liana_tensor output, liana_tensor labels);
} liana__metric;

#define LIANA__METRIC(stem, name) extern const liana__metric liana__metric_##name;
#include "metrics/metrics.def"
#undef LIANA__METRIC

/* All metrics in the order of metrics.def, NULL-terminated. */
extern const liana__metric *const liana__metrics[];

/* Finds a metric by name. NULL: there is none; *nearest is then the nearest name, or NULL. */
const liana__metric *liana__metric_find(const char *name, const char **nearest);

#endif
