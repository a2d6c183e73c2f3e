/* The list of metrics, finding one by its name, and reading its options. */
#include "metrics/metric.h"

#include "base/choice.h"
#include "ir/part_result.h"

#include <string.h>

/* Either a mean or sums. */
static liana_status accept(liana_context *context, liana_part *part)
{
    const liana_metric_type *metric = (const liana_metric_type *)part;
    const bool finishes = metric->finish || (metric->num_values && metric->finish_all);
    const bool all = metric->sums && metric->add && finishes, none = !metric->sums && !metric->add && !finishes;
    if (metric->elements ? !none : !all) {
        return liana__part_refuse(context, part,
                                  "expected either the function 'elements', or all of 'sums', 'add' and 'finish'");
    }
    if ((unsigned)metric->takes > LIANA_METRIC_OF_CLASSES) {
        return liana__part_refuse(context, part, "it takes outputs of the unknown kind %d", (int)metric->takes);
    }
    return liana__targets_accept(context, part, metric->targets);
}

static const liana_part *const list[] = {
#define LIANA__METRIC(stem, name) &liana__metric_##name.part,
#include "metrics/metrics.def"
#undef LIANA__METRIC
    NULL,
};

static const char *const reserved[] = {"as", "weighted", "from_logits", NULL};

const liana__kind liana__metric_kind = {.kind = LIANA_PART_METRIC,
                                        .size = sizeof(liana_metric_type),
                                        .builtin = list,
                                        .reserved = reserved,
                                        .accept = accept};

const liana_options *liana__metric_options(const liana_metric_type *metric)
{
    return metric->mean_of ? &metric->mean_of->part.options : &metric->part.options;
}

liana_tensor liana__metric_elements(const liana_metric_type *metric, const liana_metric_call *call)
{
    liana_shape expected = liana_tensor_shape(call->output);
    if (expected.rank) expected.rank--;
    return liana__part_result(&metric->part, "elements", metric->elements(call), call->output.graph, LIANA_F32,
                              &expected);
}

liana_tensor liana__metric_add(const liana_metric_type *metric, const liana_metric_call *call)
{
    liana_shape one = liana_tensor_shape(call->output);
    if (one.rank) one.dims[0] = 1;
    const liana_shape expected = liana_shape_of((int64_t)metric->sums(call->options, &one));
    return liana__part_result(&metric->part, "add", metric->add(call), call->output.graph, LIANA_F32, &expected);
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

static liana_status read_bool(const liana__value *map, const char *key, const char *where, bool *value,
                              liana__error *error)
{
    const liana__value *found = map ? liana__value_get(map, key) : NULL;
    char text[128];
    if (!found) return LIANA_OK;
    if (found->kind != LIANA__VALUE_BOOL) {
        return liana__fail_at(error, &found->place, where, "%s: found %s, expected true or false", key,
                              liana__value_describe(found, text, sizeof text));
    }
    *value = found->boolean;
    return LIANA_OK;
}

/* Metrics of probabilities, of which the output may be the logits. */
static bool takes_logits(const liana_metric_type *metric)
{
    return (metric->mean_of && metric->mean_of->activation != LIANA_LOGITS_NONE) || metric == &liana__metric_auc;
}

static liana_status read_flags(const liana__value *map, const char *where, liana__metric_choice *choice,
                               liana__error *error)
{
    LIANA_TRY(read_bool(map, "weighted", where, &choice->weighted, error));
    LIANA_TRY(read_bool(map, "from_logits", where, &choice->from_logits, error));
    if (!choice->from_logits || takes_logits(choice->metric)) return LIANA_OK;
    return liana__fail_at(error, &liana__value_get(map, "from_logits")->place, where,
                          "from_logits: '%s' is not of probabilities, so there are no logits",
                          choice->metric->part.name);
}

/* {name: MeanMetricWrapper, fn: NAME, ...} is the metric NAME. */
static void unwrap(const liana__value *map, const char **name)
{
    static const char *const wrappers[] = {"MeanMetricWrapper", "mean_metric_wrapper"};
    const liana__value *function = map ? liana__value_get(map, "fn") : NULL;
    for (size_t i = 0; function && i < sizeof wrappers / sizeof *wrappers; i++) {
        if (strcmp(*name, wrappers[i]) == 0 && function->kind == LIANA__VALUE_STRING) *name = function->string;
    }
}

/* Keras's precision and recall know no classes. */
static liana_status refuse_average(const liana__value *map, const char *where, const liana_metric_type *metric,
                                   liana__error *error)
{
    const liana__value *average = map ? liana__value_get(map, "average") : NULL;
    if (!average || (metric != &liana__metric_precision && metric != &liana__metric_recall)) return LIANA_OK;
    return liana__fail_at(error, &average->place, where,
                          "average: as in Keras, '%s' is of all values together and has no average; class_%s has one: "
                          "the %s of each class",
                          metric->part.name, metric->part.name, metric->part.name);
}

liana_status liana__metric_read(const liana_context *context, const liana__value *value, const char *where,
                                liana__arena *arena, liana__metric_choice *choice, liana__error *error)
{
    static const char *const ignored[] = {"name", "as", "weighted", "from_logits", "fn", NULL};
    const char *name, *nearest = NULL;
    const liana__value *map;
    *choice = (liana__metric_choice){0};
    LIANA_TRY(liana__choice_read(value, where,
                                 "the name of a metric, or a mapping such as {name: top_k_accuracy, k: 3}", &name, &map,
                                 error));
    unwrap(map, &name);
    choice->metric = liana__part_find(context, &liana__metric_kind, name, &nearest);
    if (!choice->metric) {
        return liana__fail_at(error, &value->place, where, "there is no metric '%.100s'; 'liana list' shows them%s",
                              name, liana__hint(nearest).text);
    }
    /* Keras's classes give their metrics names of their own; a function's is the one that was asked for. */
    choice->name = *name >= 'A' && *name <= 'Z' ? choice->metric->part.name : name;
    LIANA_TRY(refuse_average(map, where, choice->metric, error));
    LIANA_TRY(read_name(liana__value_get(map, "as"), where, choice, error));
    LIANA_TRY(read_flags(map, where, choice, error));
    LIANA_TRY(liana__choice_options(liana__metric_options(choice->metric), map, where, ignored, arena, &choice->options,
                                    error));
    const liana_part *part = choice->metric->mean_of ? &choice->metric->mean_of->part : &choice->metric->part;
    return liana__part_check(part, context, choice->options, value, where, error);
}
