/* The optimizer, schedule, loss and metrics that a configuration names. */
#include "train/run/run_internal.h"

/* "there is no loss 'x' ...; did you mean 'y'?", with the place. */
static liana_status fail_unknown(const liana__run *run, const char *key, const char *kind, const char *name,
                                 const char *nearest, liana__error *error)
{
    liana__place place = liana__config_place(run->config, key);
    return liana__fail_at(error, &place, key, "there is no %s '%s'; 'liana list' shows them%s", kind, name,
                          liana__hint(nearest).text);
}

liana_status liana__run_find_optimizer(liana__run *run, liana__optimizer_choice *choice, liana__error *error)
{
    return liana__optimizer_read(run->config->train.optimizer, "train.optimizer", &run->arena, choice, error);
}

liana_status liana__run_find_strategy(const liana__run *run, const liana__strategy **strategy, liana__error *error)
{
    liana_status status = liana__strategy_find(run->config->train.strategy, strategy, error);
    if (status == LIANA_OK) return LIANA_OK;
    liana__place place = liana__config_place(run->config, "train.strategy");
    liana__error found = *error;
    return liana__fail_at(error, &place, "train.strategy", "%s", found.message);
}

liana_status liana__run_find_loss(liana__run *run, liana__trainer_options *options, liana__error *error)
{
    const liana__train_config *train = &run->config->train;
    const char *nearest = NULL;
    options->loss = liana__loss_find(train->loss, &nearest);
    if (!options->loss) return fail_unknown(run, "train.loss", "loss", train->loss, nearest, error);
    if (train->metrics.count > LIANA__MAX_METRICS) {
        liana__place place = liana__config_place(run->config, "train.metrics");
        return liana__fail_at(error, &place, "train.metrics", "found %zu metrics, expected at most %d",
                              train->metrics.count, LIANA__MAX_METRICS);
    }
    for (size_t i = 0; i < train->metrics.count; i++) {
        const char *name = train->metrics.items[i];
        options->metrics[i] = liana__metric_find(name, &nearest);
        if (!options->metrics[i]) return fail_unknown(run, "train.metrics", "metric", name, nearest, error);
        for (size_t before = 0; before < i; before++) {
            if (options->metrics[before] != options->metrics[i]) continue;
            liana__place place = liana__config_place(run->config, "train.metrics");
            return liana__fail_at(error, &place, "train.metrics", "'%s' is named twice; name each metric once", name);
        }
    }
    options->num_metrics = train->metrics.count;
    return LIANA_OK;
}
