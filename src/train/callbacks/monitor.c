/* Watching a metric. */
#include "train/callbacks/monitor.h"

#include <string.h>

const char *const liana__monitor_modes[] = {"auto", "min", "max", NULL};

static bool smaller_is_better(const liana__monitor_options *options)
{
    static const char *const falling[] = {"loss", "error", "mse", "mae", "crossentropy", "divergence", "perplexity"};
    if (options->mode != LIANA__MONITOR_AUTO) return options->mode == LIANA__MONITOR_MIN;
    for (size_t i = 0; i < sizeof falling / sizeof *falling; i++) {
        if (strstr(options->monitor, falling[i])) return true;
    }
    return false;
}

bool liana__monitor_improves(const liana__monitor_options *options, double value, double reference)
{
    if (smaller_is_better(options)) return value + options->min_delta < reference;
    return value - options->min_delta > reference;
}

liana_status liana__monitor_check(const liana__monitor_options *options, const liana_fit_context *context,
                                  liana__error *error)
{
    double value;
    bool known;
    return liana__fit_metric(context, options->monitor, &value, &known, error);
}
