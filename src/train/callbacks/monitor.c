/* Watching a metric. */
#include "train/callbacks/callback.h"

#include <string.h>

const char *const liana__monitor_modes[] = {"auto", "min", "max", NULL};

/* Whether the name has one of these in it. */
static bool names_one(const char *name, const char *const *parts)
{
    for (; *parts; parts++) {
        if (strstr(name, *parts)) return true;
    }
    return false;
}

static const char *const falling[] = {"loss", "error", "mse", "mae", "crossentropy", "divergence", "perplexity", NULL};
static const char *const rising[] = {"accuracy", "precision", "recall",   "auc", "f1",
                                     "fbeta",    "kappa",     "matthews", NULL};

bool liana__monitor_falls(const char *name)
{
    return names_one(name, falling);
}

static bool smaller_is_better(const liana__monitor_options *options)
{
    if (options->mode != LIANA__MONITOR_AUTO) return options->mode == LIANA__MONITOR_MIN;
    return names_one(options->monitor, falling);
}

bool liana__monitor_improves(const liana__monitor_options *options, double value, double reference)
{
    if (smaller_is_better(options)) return value + options->min_delta < reference;
    return value - options->min_delta > reference;
}

double liana__monitor_worsening(const liana__monitor_options *options, double value, double reference)
{
    return smaller_is_better(options) ? value - reference : reference - value;
}

liana_status liana__monitor_check(const liana__monitor_options *options, const liana_fit_context *context,
                                  liana__error *error)
{
    double value;
    bool known;
    if (!options->monitor) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the option monitor is null, expected loss or a metric, or one of the validation such as "
                           "val_loss");
    }
    LIANA_TRY(liana__fit_metric(context, options->monitor, &value, &known, error));
    const bool falls = names_one(options->monitor, falling), rises = !falls && names_one(options->monitor, rising);
    const bool contradicts =
        (falls && options->mode == LIANA__MONITOR_MAX) || (rises && options->mode == LIANA__MONITOR_MIN);
    if (!contradicts) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the mode is '%s', but '%s' is better if it is %s; use '%s' or 'auto'",
                       liana__monitor_modes[options->mode], options->monitor, falls ? "smaller" : "greater",
                       falls ? "min" : "max");
}
