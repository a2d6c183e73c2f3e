/* The optimizer, schedule, loss and metrics that a configuration names. */
#include "train/run_internal.h"

/* "there is no optimizer 'Adm'; did you mean 'Adam'?", with the place. */
static liana_status fail_unknown(const liana__run *run, const char *key, const char *kind, const char *name,
                                 const char *nearest, liana__error *error)
{
    liana__place place = liana__config_place(run->config, key);
    return liana__fail_at(error, &place, key, "there is no %s '%s' among those that 'liana list' shows%s", kind, name,
                          liana__hint(nearest).text);
}

static const char *name_of(const liana__value *map)
{
    const liana__value *name = liana__value_get(map, "name");
    return name && name->kind == LIANA__VALUE_STRING ? name->string : "";
}

/* A schedule by a map, or a constant by a number (NULL: the optimizer's default). */
static liana_status read_schedule(liana__run *run, const liana__value *value, liana__error *error)
{
    static const char *const key = "train.optimizer.learning_rate";
    static const char *const ignored[] = {"name", NULL};
    const char *nearest = NULL;
    bool by_name = value && value->kind == LIANA__VALUE_MAP;
    const liana__schedule *schedule = &liana__schedule_Constant;
    if (by_name) {
        schedule = liana__schedule_find(name_of(value), &nearest);
        if (!schedule) return fail_unknown(run, key, "schedule", name_of(value), nearest, error);
    }
    liana__schedule_common *options = liana__arena_allocate(&run->arena, schedule->options->size);
    if (!options) return liana__fail_memory(error, "the learning rate");
    LIANA_TRY(liana__fields_read(schedule->options, by_name ? value : NULL, key, ignored, &run->arena, options, error));
    bool by_number = value && (value->kind == LIANA__VALUE_FLOAT || value->kind == LIANA__VALUE_INT);
    if (by_number) options->initial_learning_rate = value->number;
    run->learning_rate = (liana__learning_rate){.schedule = schedule,
                                                .options = options,
                                                .default_learning_rate = run->optimizer->default_learning_rate};
    return LIANA_OK;
}

liana_status liana__run_find_optimizer(liana__run *run, liana__trainer_options *options, liana__error *error)
{
    static const char *const ignored[] = {"name", "learning_rate", NULL};
    const liana__value *map = run->config->train.optimizer;
    const char *nearest = NULL;
    run->optimizer = liana__optimizer_find(name_of(map), &nearest);
    if (!run->optimizer) return fail_unknown(run, "train.optimizer", "optimizer", name_of(map), nearest, error);
    void *own = liana__arena_allocate(&run->arena, run->optimizer->options->size);
    if (!own) return liana__fail_memory(error, "the optimizer");
    LIANA_TRY(liana__fields_read(run->optimizer->options, map, "train.optimizer", ignored, &run->arena, own, error));
    run->optimizer_options = own;
    options->optimizer = run->optimizer;
    options->optimizer_options = own;
    return read_schedule(run, liana__value_get(map, "learning_rate"), error);
}

liana_status liana__run_find_loss(liana__run *run, liana__trainer_options *options, liana__error *error)
{
    const liana__train_config *train = &run->config->train;
    const char *nearest = NULL;
    options->loss = liana__loss_find(train->loss, &nearest);
    if (!options->loss) return fail_unknown(run, "train.loss", "loss", train->loss, nearest, error);
    if (train->metrics.count > LIANA__MAX_METRICS) {
        liana__place place = liana__config_place(run->config, "train.metrics");
        return liana__fail_at(error, &place, "train.metrics", "%zu metrics are named, at most %d are kept",
                              train->metrics.count, LIANA__MAX_METRICS);
    }
    for (size_t i = 0; i < train->metrics.count; i++) {
        const char *name = train->metrics.items[i];
        options->metrics[i] = liana__metric_find(name, &nearest);
        if (!options->metrics[i]) return fail_unknown(run, "train.metrics", "metric", name, nearest, error);
        run->metric_names[i] = options->metrics[i]->name;
    }
    options->num_metrics = run->num_metrics = train->metrics.count;
    return LIANA_OK;
}
