/* The list of metrics, and finding one by its name. */
#include "metrics/metric.h"

#include "base/named.h"

const liana__metric *const liana__metrics[] = {
#define LIANA__METRIC(stem, name) &liana__metric_##name,
#include "metrics/metrics.def"
#undef LIANA__METRIC
    NULL,
};

enum { NUM_METRICS = sizeof liana__metrics / sizeof *liana__metrics - 1 };

const liana__metric *liana__metric_find(const char *name, const char **nearest)
{
    const liana__named list = LIANA__NAMED_POINTERS(liana__metric, liana__metrics, NUM_METRICS);
    return liana__metrics[liana__named_find(list, name, nearest)];
}
