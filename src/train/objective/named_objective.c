/* Turns the structs of C options into the values that an objective is read from. */
#include "train/objective/objective.h"

#include "formats/yaml.h"

#include <string.h>

/* ---- options as values ---- */

static void set_text(liana__arena *arena, liana__value *map, const char *key, const char *text)
{
    if (text) liana__value_set(arena, map, key, liana__value_string(arena, text));
}

static void set_number(liana__arena *arena, liana__value *map, const char *key, double number)
{
    if (number != 0) liana__value_set(arena, map, key, liana__value_float(arena, number));
}

static void set_count(liana__arena *arena, liana__value *map, const char *key, int64_t count)
{
    if (count != 0) liana__value_set(arena, map, key, liana__value_int(arena, count));
}

liana__value *liana__loss_value(liana__arena *arena, const liana_loss *loss)
{
    liana__value *map = liana__value_map(arena);
    set_text(arena, map, "name", loss->name);
    if (loss->from_logits) liana__value_set(arena, map, "from_logits", liana__value_bool(arena, true));
    set_number(arena, map, "label_smoothing", loss->label_smoothing);
    set_number(arena, map, "delta", loss->delta);
    return map;
}

/* Keras calls the option of these two in the plural. */
static bool is_thresholded(const char *name)
{
    const liana_metric_type *metric = name ? liana__part_find(NULL, &liana__metric_kind, name, NULL) : NULL;
    return metric == &liana__metric_precision || metric == &liana__metric_recall;
}

liana__value *liana__metric_value(liana__arena *arena, const liana_metric *metric)
{
    liana__value *map = liana__value_map(arena);
    set_text(arena, map, "name", metric->name);
    set_text(arena, map, "as", metric->as);
    set_count(arena, map, "k", metric->k);
    set_number(arena, map, is_thresholded(metric->name) ? "thresholds" : "threshold", metric->threshold);
    set_count(arena, map, "top_k", metric->top_k);
    if (metric->class_id) liana__value_set(arena, map, "class_id", liana__value_int(arena, metric->class_id - 1));
    set_text(arena, map, "average", metric->average);
    set_number(arena, map, "beta", metric->beta);
    if (metric->multi_label) liana__value_set(arena, map, "multi_label", liana__value_bool(arena, true));
    set_text(arena, map, "weights", metric->weights);
    set_text(arena, map, "normalize", metric->normalize);
    set_count(arena, map, "num_thresholds", metric->num_thresholds);
    set_text(arena, map, "curve", metric->curve);
    return map;
}

/* ---- the whole ---- */

/* "mse", or YAML: "{name: huber, delta: 2.0}". */
static liana_status text_value(const char *text, const char *what, liana__arena *arena, liana__value **value,
                               liana__error *error)
{
    return liana__yaml_parse(text, strlen(text), what, arena, value, error);
}

static const char *output_of(const char *given, const liana_model *model)
{
    return given ? given : liana__model_output(model, 0).name;
}

static liana_status read_losses(const liana__named_objective *named, const liana_model *model, liana__arena *arena,
                                liana__objective_request *request, liana__error *error)
{
    liana__value *value = NULL;
    const liana_loss *losses = named->losses;
    if (losses && losses[0].name) {
        if (named->loss) {
            return liana__fail(error, LIANA_INVALID_CONFIG, "both loss and losses are given; give one of them");
        }
        liana__value *weights = liana__value_map(arena);
        value = liana__value_map(arena);
        for (size_t i = 0; i < LIANA_MAX_OUTPUTS && losses[i].name; i++) {
            const char *output = output_of(losses[i].output, model);
            if (liana__value_get(value, output)) {
                return liana__fail(error, LIANA_INVALID_CONFIG, "losses: the output '%s' has two", output);
            }
            liana__value_set(arena, value, output, liana__loss_value(arena, &losses[i]));
            set_number(arena, weights, output, losses[i].weight);
        }
        request->loss_weights = weights;
    } else if (named->loss) {
        LIANA_TRY(text_value(named->loss, "loss", arena, &value, error));
    }
    request->loss = value;
    return arena->failed ? liana__fail_memory(error, "the losses") : LIANA_OK;
}

/* Metrics that name no output are the first one's. */
static liana_status read_metrics(const liana__named_objective *named, const liana_model *model, liana__arena *arena,
                                 liana__objective_request *request, liana__error *error)
{
    const bool has_names = named->metrics && named->metrics[0];
    const bool has_structs = named->output_metrics && named->output_metrics[0].name;
    if (!has_names && !has_structs) return LIANA_OK;
    liana__value *map = liana__value_map(arena);
    for (size_t i = 0; i < liana__model_num_outputs(model); i++) {
        liana__value_set(arena, map, liana__model_output(model, i).name, liana__value_list(arena));
    }
    liana__value *first = (liana__value *)liana__value_get(map, output_of(NULL, model));
    for (size_t i = 0; has_names && i < LIANA_MAX_METRICS && named->metrics[i]; i++) {
        liana__value *value;
        LIANA_TRY(text_value(named->metrics[i], "metrics", arena, &value, error));
        if (first) liana__value_add(arena, first, value);
    }
    for (size_t i = 0; has_structs && i < LIANA_MAX_METRICS && named->output_metrics[i].name; i++) {
        const liana_metric *metric = &named->output_metrics[i];
        liana__value *list = (liana__value *)liana__value_get(map, output_of(metric->output, model));
        if (!list && !arena->failed) {
            return liana__fail(error, LIANA_INVALID_CONFIG,
                               "the metric '%s' is of the output '%s', which the model "
                               "does not have",
                               metric->name, metric->output);
        }
        liana__value_add(arena, list, liana__metric_value(arena, metric));
    }
    request->metrics = map;
    return arena->failed ? liana__fail_memory(error, "the metrics") : LIANA_OK;
}

liana_status liana__read_objective(const liana__named_objective *named, liana__arena *arena,
                                   liana__objective_request *request, liana__error *error)
{
    LIANA_TRY(read_losses(named, request->model, arena, request, error));
    return read_metrics(named, request->model, arena, request, error);
}

void liana__describe_objective(const liana__named_objective *named, liana__text *text)
{
    liana__arena arena = {0};
    liana__value *all = liana__value_list(&arena);
    for (size_t i = 0; named->losses && i < LIANA_MAX_OUTPUTS && named->losses[i].name; i++) {
        liana__value *map = liana__loss_value(&arena, &named->losses[i]);
        set_text(&arena, map, "output", named->losses[i].output);
        set_number(&arena, map, "weight", named->losses[i].weight);
        liana__value_add(&arena, all, map);
    }
    for (size_t i = 0; named->output_metrics && i < LIANA_MAX_METRICS && named->output_metrics[i].name; i++) {
        liana__value *map = liana__metric_value(&arena, &named->output_metrics[i]);
        set_text(&arena, map, "output", named->output_metrics[i].output);
        liana__value_add(&arena, all, map);
    }
    liana__text_add(text, "%s\n", named->loss ? named->loss : "");
    for (size_t i = 0; named->metrics && i < LIANA_MAX_METRICS && named->metrics[i]; i++) {
        liana__text_add(text, "%s\n", named->metrics[i]);
    }
    if (arena.failed || !all) {
        text->failed = true;
    } else {
        liana__value_write_json(all, 0, text);
    }
    liana__arena_free(&arena);
}
