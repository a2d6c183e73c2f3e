/* The list of metrics, finding one by its name, and reading its options. */
#include "metrics/metric.h"

#include "base/choice.h"
#include "base/own_part.h"

#include <string.h>

const liana__metric *const liana__metrics[] = {
#define LIANA__METRIC(stem, name) &liana__metric_##name,
#include "metrics/metrics.def"
#undef LIANA__METRIC
    NULL,
};

enum { NUM_METRICS = sizeof liana__metrics / sizeof *liana__metrics - 1 };

const liana__fields liana__no_metric_options = {"metric", 0, 0, NULL};

const liana__metric *liana__metric_find(const liana_context *context, const char *name, const char **nearest)
{
    for (size_t i = 0; i < NUM_METRICS; i++) {
        if (liana__metrics[i]->alias && strcmp(liana__metrics[i]->alias, name) == 0) return liana__metrics[i];
    }
    const liana__named list = LIANA__NAMED_POINTERS(liana__metric, liana__metrics, NUM_METRICS);
    return liana__part_find(context, LIANA__PART_METRIC, list, name, nearest);
}

liana_tensor liana__metric_weighted(const liana__metric_call *call, liana_tensor each)
{
    return call->weights.id ? liana_op_multiply(each, call->weights) : each;
}

/* ---- reading ---- */

/* The name under which it is reported. */
static liana_status read_name(const liana__value *value, const char *where, liana__metric_choice *choice,
                              liana__error *error)
{
    char found[128];
    if (!value || value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    if (value->kind != LIANA__VALUE_STRING || !*value->string) {
        return liana__fail_at(error, &value->place, where, "as: found %s, expected the name to report it under",
                              liana__value_describe(value, found, sizeof found));
    }
    choice->name = value->string;
    return LIANA_OK;
}

/* Keras's precision and recall know no classes. */
static liana_status refuse_average(const liana__value *map, const char *where, const liana__metric *metric,
                                   liana__error *error)
{
    const liana__value *average = map ? liana__value_get(map, "average") : NULL;
    if (!average || (metric != &liana__metric_precision && metric != &liana__metric_recall)) return LIANA_OK;
    return liana__fail_at(error, &average->place, where,
                          "average: as in Keras, '%s' is of all values together and has no average; class_%s has one: "
                          "the %s of each class",
                          metric->name, metric->name, metric->name);
}

liana_status liana__metric_read(const liana_context *context, const liana__value *value, const char *where,
                                liana__arena *arena, liana__metric_choice *choice, liana__error *error)
{
    static const char *const ignored[] = {"name", "as", NULL};
    const char *name, *nearest = NULL;
    const liana__value *map;
    *choice = (liana__metric_choice){0};
    LIANA_TRY(liana__choice_read(value, where,
                                 "the name of a metric, or a mapping such as {name: top_k_accuracy, k: 3}", &name, &map,
                                 error));
    choice->metric = liana__metric_find(context, name, &nearest);
    if (!choice->metric) {
        return liana__fail_at(error, &value->place, where, "there is no metric '%.100s'; 'liana list' shows them%s",
                              name, liana__hint(nearest).text);
    }
    /* Keras's classes give their metrics names of their own; a function's is the one that was asked for. */
    choice->name = *name >= 'A' && *name <= 'Z' ? choice->metric->name : name;
    LIANA_TRY(refuse_average(map, where, choice->metric, error));
    LIANA_TRY(read_name(liana__value_get(map, "as"), where, choice, error));
    LIANA_TRY(liana__choice_options(choice->metric->options, map, where, ignored, arena, &choice->options, error));
    return liana__own_part_finish(choice->metric->own, choice->options, &value->place, where, error);
}
