#include "metrics/metric.h"

#include "base/text.h"

#include <string.h>

const liana__metric *const liana__metrics[] = {
#define LIANA__METRIC(stem, name) &liana__metric_##name,
#include "metrics/metrics.def"
#undef LIANA__METRIC
    NULL,
};

enum { NUM_METRICS = sizeof liana__metrics / sizeof *liana__metrics - 1 };

const liana__metric *liana__metric_find(const char *name, const char **nearest)
{
    const char *names[NUM_METRICS];
    for (int i = 0; i < NUM_METRICS; i++) {
        names[i] = liana__metrics[i]->name;
        if (strcmp(name, names[i]) == 0) return liana__metrics[i];
    }
    *nearest = liana__nearest(name, names, NUM_METRICS);
    return NULL;
}
