/* Reads the losses and metrics of a training, and checks them against the model. */
#include "train/objective/objective.h"

#include "base/named.h"
#include "ir/shape.h"

#include <string.h>

/* A request that is being read. */
typedef struct reading {
    const liana__objective_request *request;
    liana__objective *objective;
    liana__arena *arena;
    liana__error *error;
} reading;

static const char *key_of(const reading *own, const char *key)
{
    const char *where = own->request->where;
    return where ? liana__arena_format(own->arena, "%s.%s", where, key) : key;
}

static const char *key_of_output(const reading *own, const char *key, size_t output)
{
    return liana__arena_format(own->arena, "%s.%s", key_of(own, key), own->objective->outputs[output].name);
}

/* ---- values by output ---- */

/* Fails if a key of the map names no output. */
static liana_status check_outputs(const reading *own, const liana__value *map, const char *key)
{
    const liana__objective *objective = own->objective;
    const liana__named list = LIANA__NAMED(liana__objective_output, objective->outputs, objective->num_outputs);
    for (size_t i = 0; i < map->count; i++) {
        const char *nearest = NULL;
        if (liana__named_find(list, map->keys[i], &nearest) < objective->num_outputs) continue;
        liana__text known = {0};
        for (size_t k = 0; k < objective->num_outputs; k++) {
            liana__text_add(&known, "%s'%s'", k ? ", " : "", objective->outputs[k].name);
        }
        liana_status status = liana__fail_at(own->error, &map->key_places[i], key_of(own, key),
                                             "the model has no output '%.100s'; its outputs are %s%s", map->keys[i],
                                             known.data ? known.data : "", liana__hint(nearest).text);
        liana__text_free(&known);
        return status;
    }
    return LIANA_OK;
}

/* ---- losses ---- */

/* Whether a value is one loss, and not losses by output. */
static bool is_one_loss(const liana__value *value)
{
    return value->kind != LIANA__VALUE_MAP || liana__value_get(value, "name");
}

static liana_status read_loss(const reading *own, size_t output, const liana__value *value, const char *where)
{
    liana__objective_output *item = &own->objective->outputs[output];
    if (value && value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    LIANA_TRY(liana__loss_read(own->request->model->context, value, where, own->arena, &item->choice, own->error));
    item->activation = item->choice.loss->activation;
    return LIANA_OK;
}

static liana_status read_losses(const reading *own)
{
    const liana__value *value = own->request->loss;
    liana__objective *objective = own->objective;
    if (!value || value->kind == LIANA__VALUE_NULL) value = NULL;
    if (!value && own->request->predicts) return LIANA_OK;
    if (!value && objective->num_outputs == 1) {
        value = liana__value_string(own->arena, "sparse_categorical_crossentropy");
        if (!value) return liana__fail_memory(own->error, "the loss");
    }
    if (value && is_one_loss(value) && objective->num_outputs == 1) {
        return read_loss(own, 0, value, key_of(own, "loss"));
    }
    if (!value || is_one_loss(value)) {
        const liana__place nowhere = {0};
        return liana__fail_at(own->error, value ? &value->place : &nowhere, key_of(own, "loss"),
                              "the model has %zu outputs, expected a loss for each: {%s: ..., %s: ...}",
                              objective->num_outputs, objective->outputs[0].name, objective->outputs[1].name);
    }
    LIANA_TRY(check_outputs(own, value, "loss"));
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const liana__value *item = liana__value_get(value, objective->outputs[i].name);
        if (!item) {
            return liana__fail_at(own->error, &value->place, key_of(own, "loss"),
                                  "there is no loss for the output '%s'; null if it is only predicted",
                                  objective->outputs[i].name);
        }
        LIANA_TRY(read_loss(own, i, item, key_of_output(own, "loss", i)));
    }
    return LIANA_OK;
}

static liana_status read_loss_weights(const reading *own)
{
    const liana__value *map = own->request->loss_weights;
    char found[128];
    if (!map || map->kind == LIANA__VALUE_NULL) return LIANA_OK;
    if (map->kind != LIANA__VALUE_MAP) {
        return liana__fail_at(own->error, &map->place, key_of(own, "loss_weights"),
                              "found %s, expected a number for each output: {%s: 1.0}",
                              liana__value_describe(map, found, sizeof found), own->objective->outputs[0].name);
    }
    LIANA_TRY(check_outputs(own, map, "loss_weights"));
    for (size_t i = 0; i < own->objective->num_outputs; i++) {
        liana__objective_output *output = &own->objective->outputs[i];
        const liana__value *weight = liana__value_get(map, output->name);
        if (!weight) continue;
        bool is_number = weight->kind == LIANA__VALUE_INT || weight->kind == LIANA__VALUE_FLOAT;
        if (!is_number || !(weight->number >= 0 && weight->number <= 1e30)) {
            return liana__fail_at(own->error, &weight->place, key_of_output(own, "loss_weights", i),
                                  "found %s, expected a number of at least 0",
                                  liana__value_describe(weight, found, sizeof found));
        }
        output->weight = weight->number;
    }
    return LIANA_OK;
}

/* ---- targets ---- */

/* Whether the data have a class for each element, and not the values themselves. */
static bool data_are_classes(const liana__objective_output *output, const liana_component *data)
{
    bool whole_numbers = data->dtype == LIANA_STRING || !liana__dtype_is_float((liana_dtype)data->dtype);
    return whole_numbers && data->shape.rank < output->shape.rank - 1;
}

static liana_status choose_target(const reading *own, size_t index)
{
    liana__objective_output *output = &own->objective->outputs[index];
    const liana_component *const *targets = own->request->targets;
    const liana_component *data = targets ? targets[index] : NULL;
    unsigned taken = output->choice.loss ? output->choice.loss->targets : LIANA_TARGET_VALUES;
    bool classes = taken & LIANA_TARGET_CLASSES;
    if (classes && taken & LIANA_TARGET_VALUES && data) classes = data_are_classes(output, data);
    output->target = classes ? LIANA_TARGET_CLASSES : LIANA_TARGET_VALUES;
    int64_t values = output->shape.dims[output->shape.rank - 1];
    if (!classes && output->choice.loss && data && values > 1 && data_are_classes(output, data)) {
        const liana__place nowhere = {0};
        return liana__fail_at(
            own->error, own->request->loss ? &own->request->loss->place : &nowhere, key_of(own, "loss"),
            "'%s' compares the %lld values of the output '%s' with as many numbers, but the component "
            "'%s' has one class for each example; sparse_categorical_crossentropy takes classes",
            output->choice.loss->part.name, (long long)values, output->name, data->name);
    }
    const bool is_label = data && strcmp(data->name, "label") == 0;
    output->weighs_classes = output->choice.loss && (own->objective->num_outputs == 1 || is_label);
    output->target_dtype = classes ? LIANA_S32 : LIANA_F32;
    output->target_shape = output->shape;
    if (classes) output->target_shape.rank--;
    const bool is_sequence = output->choice.loss && output->choice.loss->takes_sequences;
    if (is_sequence && data && data->shape.rank == 1) {
        output->target_shape = liana_shape_of(1, data->shape.dims[0]);
    }
    output->elements = 1;
    for (int i = 1; i + 1 < output->shape.rank; i++) output->elements *= output->shape.dims[i];
    return LIANA_OK;
}

/* ---- metrics ---- */

/* Whether the metric is about the output. */
static liana_status check_taken(const reading *own, const liana__objective_output *output,
                                const liana_metric_type *metric, const liana__value *value, const char *where)
{
    bool answers = output->activation != LIANA_LOGITS_NONE;
    int64_t values = output->shape.dims[output->shape.rank - 1];
    if (metric->takes != LIANA_METRIC_OF_NUMBERS && !answers) {
        return liana__fail_at(own->error, &value->place, where,
                              "'%s' counts right and wrong answers, but with the loss '%s' the output '%s' is numbers; "
                              "mean_absolute_error and mean_squared_error measure those",
                              metric->part.name, output->choice.loss->part.name, output->name);
    }
    bool several = output->activation == LIANA_LOGITS_SIGMOID && values > 1;
    if (metric->takes != LIANA_METRIC_OF_CLASSES || !several) return LIANA_OK;
    return liana__fail_at(own->error, &value->place, where,
                          "'%s' needs one class for each example, but with the loss '%s' the output '%s' is %lld "
                          "answers of yes and no; precision, recall and f1_score measure those",
                          metric->part.name, output->choice.loss->part.name, output->name, (long long)values);
}

/* Whether the number of a mean's elements is not that of the output, or of its mask alone. */
static bool needs_own_count(const liana__objective_output *output, const liana__metric_choice *choice)
{
    const bool loss_counts_otherwise =
        output->choice.reduction == LIANA__REDUCE_WEIGHTED_MEAN || liana__leaves_out(&output->choice);
    return choice->weighted || (output->masked && loss_counts_otherwise);
}

static liana_status add_metric(const reading *own, size_t output, const liana__value *value, const char *where)
{
    liana__objective *objective = own->objective;
    const liana__objective_output *of = &objective->outputs[output];
    if (objective->num_metrics == LIANA__MAX_METRICS) {
        return liana__fail_at(own->error, &value->place, where, "there are more than %d metrics", LIANA__MAX_METRICS);
    }
    liana__objective_metric *item = &objective->metrics[objective->num_metrics];
    *item = (liana__objective_metric){.output = output, .num_sums = 1};
    LIANA_TRY(liana__metric_read(own->request->model->context, value, where, own->arena, &item->choice, own->error));
    const liana_metric_type *metric = item->choice.metric;
    if (!of->choice.loss) {
        return liana__fail_at(own->error, &value->place, where,
                              "the output '%s' has no loss, so it is compared with nothing; remove '%s'", of->name,
                              item->choice.name);
    }
    if (!(metric->targets & of->target)) {
        return liana__fail_at(own->error, &value->place, where,
                              "'%s' compares with %s, but with the loss '%s' the targets are %s", metric->part.name,
                              of->target == LIANA_TARGET_CLASSES ? "values" : "classes", of->choice.loss->part.name,
                              of->target == LIANA_TARGET_CLASSES ? "classes" : "values");
    }
    LIANA_TRY(check_taken(own, of, metric, value, where));
    const char *misfit = metric->misfit ? metric->misfit(item->choice.options, &of->shape) : NULL;
    if (misfit) return liana__fail_at(own->error, &value->place, where, "%s: %s", metric->part.name, misfit);
    item->has_own_count = metric->elements && needs_own_count(of, &item->choice);
    if (item->has_own_count) item->num_sums = 2;
    if (metric->sums) item->num_sums = metric->sums(item->choice.options, &of->shape);
    if (metric->num_values) item->num_values = metric->num_values(item->choice.options, &of->shape);
    item->name = objective->num_outputs == 1 ? item->choice.name
                                             : liana__arena_format(own->arena, "%s_%s", of->name, item->choice.name);
    if (!item->name) return liana__fail_memory(own->error, "a metric");
    for (size_t i = 0; i < objective->num_metrics; i++) {
        if (strcmp(objective->metrics[i].name, item->name) != 0) continue;
        return liana__fail_at(own->error, &value->place, where,
                              "the metric '%s' is named twice; name each metric once, or give one another name with "
                              "'as'",
                              item->name);
    }
    objective->num_metrics++;
    return LIANA_OK;
}

static liana_status add_metrics(const reading *own, size_t output, const liana__value *list, const char *where)
{
    if (list->kind != LIANA__VALUE_LIST) return add_metric(own, output, list, where);
    for (size_t i = 0; i < list->count; i++) LIANA_TRY(add_metric(own, output, list->items[i], where));
    return LIANA_OK;
}

/* Accuracy of a probability. */
static liana_status add_usual_metrics(const reading *own)
{
    const liana__value *usual = liana__value_string(own->arena, "accuracy");
    if (!usual) return liana__fail_memory(own->error, "the metrics");
    for (size_t i = 0; i < own->objective->num_outputs; i++) {
        if (own->objective->outputs[i].activation == LIANA_LOGITS_NONE) continue;
        LIANA_TRY(add_metric(own, i, usual, key_of(own, "metrics")));
    }
    return LIANA_OK;
}

static bool is_measured(const liana__objective *objective, size_t output, const liana_metric_type *metric)
{
    for (size_t i = 0; i < objective->num_metrics; i++) {
        const liana__objective_metric *item = &objective->metrics[i];
        if (item->output == output && item->choice.metric == metric) return true;
    }
    return false;
}

/* A metric of answers with the threshold of the request. NULL: out of memory. */
static liana__value *by_threshold(const reading *own, const char *name)
{
    liana__value *metric = liana__value_map(own->arena);
    const double threshold = own->request->threshold;
    liana__value_set(own->arena, metric, "name", liana__value_string(own->arena, name));
    if (threshold > 0) liana__value_set(own->arena, metric, "threshold", liana__value_float(own->arena, threshold));
    return own->arena->failed ? NULL : metric;
}

static liana_status add_by_class(const reading *own, size_t output)
{
    static const char *const names[] = {"precision", "recall", "f1_score", "support"};
    static const char *const metrics[] = {"class_precision", "class_recall", "class_f1_score", "support"};
    const liana__objective_output *of = &own->objective->outputs[output];
    const char *where = key_of(own, "metrics");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        liana__value *metric = by_threshold(own, metrics[i]);
        if (!metric) return liana__fail_memory(own->error, "the metrics");
        const char *name = liana__arena_format(own->arena, "%s_by_class", names[i]);
        liana__value_set(own->arena, metric, "as", liana__value_string(own->arena, name));
        bool averages = strcmp(names[i], "support") != 0;
        if (averages) liana__value_set(own->arena, metric, "average", liana__value_string(own->arena, "none"));
        if (own->arena->failed) return liana__fail_memory(own->error, "the metrics");
        LIANA_TRY(add_metric(own, output, metric, where));
    }
    bool several = of->activation == LIANA_LOGITS_SIGMOID && of->shape.dims[of->shape.rank - 1] > 1;
    if (several || is_measured(own->objective, output, &liana__metric_confusion_matrix)) return LIANA_OK;
    liana__value *matrix = by_threshold(own, "confusion_matrix");
    if (!matrix) return liana__fail_memory(own->error, "the metrics");
    return add_metric(own, output, matrix, where);
}

static liana_status add_classes(const reading *own)
{
    for (size_t i = 0; own->request->by_class && i < own->objective->num_outputs; i++) {
        if (own->objective->outputs[i].activation != LIANA_LOGITS_NONE) LIANA_TRY(add_by_class(own, i));
    }
    return LIANA_OK;
}

static liana_status read_metrics(const reading *own)
{
    const liana__value *value = own->request->metrics;
    if (own->request->predicts) return LIANA_OK;
    if (!value || value->kind == LIANA__VALUE_NULL) return add_usual_metrics(own);
    bool by_output = value->kind == LIANA__VALUE_MAP && !liana__value_get(value, "name");
    if (!by_output && own->objective->num_outputs == 1) return add_metrics(own, 0, value, key_of(own, "metrics"));
    if (!by_output) {
        if (value->kind == LIANA__VALUE_LIST && value->count == 0) return LIANA_OK;
        return liana__fail_at(own->error, &value->place, key_of(own, "metrics"),
                              "the model has %zu outputs, expected metrics by output: {%s: [...]}",
                              own->objective->num_outputs, own->objective->outputs[0].name);
    }
    LIANA_TRY(check_outputs(own, value, "metrics"));
    for (size_t i = 0; i < own->objective->num_outputs; i++) {
        const liana__value *list = liana__value_get(value, own->objective->outputs[i].name);
        if (list && list->kind != LIANA__VALUE_NULL) {
            LIANA_TRY(add_metrics(own, i, list, key_of_output(own, "metrics", i)));
        }
    }
    return LIANA_OK;
}

/* ---- the whole ---- */

static liana_status find_outputs(const reading *own)
{
    liana__objective *objective = own->objective;
    const liana_model *model = own->request->model;
    objective->num_outputs = liana__model_num_outputs(model);
    if (objective->num_outputs > LIANA__MAX_OUTPUTS) {
        return liana__fail(own->error, LIANA_INVALID_CONFIG, "the model has %zu outputs, expected at most %d",
                           objective->num_outputs, LIANA__MAX_OUTPUTS);
    }
    for (size_t i = 0; i < objective->num_outputs; i++) {
        liana__model_port port = liana__model_output(model, i);
        if (port.shape.rank < 2) {
            return liana__fail(own->error, LIANA_INVALID_CONFIG,
                               "the model's output '%s' is %s, expected [batch, ..., values]", port.name,
                               liana__shape_print(&port.shape).text);
        }
        objective->outputs[i] = (liana__objective_output){.name = port.name, .weight = 1, .shape = port.shape};
    }
    return LIANA_OK;
}

/* Where each sum and each value is. */
static liana_status lay_out(const reading *own)
{
    liana__objective *objective = own->objective;
    bool several = objective->num_outputs > 1;
    objective->num_sums = objective->num_outputs;
    for (size_t i = 0; i < objective->num_outputs; i++) {
        if (!objective->outputs[i].counted) continue;
        objective->outputs[i].count_sum = objective->num_sums++;
        objective->num_counted++;
    }
    objective->value_names[objective->num_values++] = "loss";
    for (size_t i = 0; several && i < objective->num_outputs; i++) {
        const char *name = liana__arena_format(own->arena, "%s_loss", objective->outputs[i].name);
        if (!name) return liana__fail_memory(own->error, "the losses");
        if (objective->outputs[i].choice.loss) objective->value_names[objective->num_values++] = name;
    }
    for (size_t i = 0; i < objective->num_metrics; i++) {
        liana__objective_metric *metric = &objective->metrics[i];
        metric->first_sum = objective->num_sums;
        objective->num_sums += metric->num_sums;
        if (!metric->choice.metric->is_matrix) objective->num_listed += metric->num_values;
        if (!metric->num_values) objective->value_names[objective->num_values++] = metric->name;
    }
    objective->is_regularized = liana__model_is_regularized(own->request->model);
    if (objective->is_regularized) objective->penalty_sum = objective->num_sums++;
    return LIANA_OK;
}

/* The model's outputs must fit the losses. */
static liana_status check_activations(const reading *own)
{
    bool learns = false;
    for (size_t i = 0; i < own->objective->num_outputs; i++) {
        const liana__objective_output *output = &own->objective->outputs[i];
        learns |= output->choice.loss != NULL;
        if (output->choice.loss) {
            const bool of_loss = output->activation == LIANA_LOGITS_SOFTMAX;
            LIANA_TRY(liana__model_check_lone_softmax(own->request->model, i, of_loss, own->error));
        }
        if (output->activation == LIANA_LOGITS_NONE) continue;
        liana_logits_kind expected = LIANA_LOGITS_NONE;
        if (!output->choice.from_logits) {
            expected = output->activation == LIANA_LOGITS_SOFTMAX ? LIANA_LOGITS_SOFTMAX : LIANA_LOGITS_SIGMOID;
        }
        LIANA_TRY(
            liana__model_check_output(own->request->model, i, expected, output->choice.loss->part.name, own->error));
    }
    if (learns) return LIANA_OK;
    const liana__place nowhere = {0};
    return liana__fail_at(own->error, &nowhere, key_of(own, "loss"),
                          "no output has a loss, so there is nothing to train");
}

liana_status liana__objective_create(const liana__objective_request *request, bool for_training, liana__arena *arena,
                                     liana__objective *objective, liana__error *error)
{
    *objective = (liana__objective){0};
    const reading own = {request, objective, arena, error};
    LIANA_TRY(find_outputs(&own));
    LIANA_TRY(read_losses(&own));
    LIANA_TRY(read_loss_weights(&own));
    for (size_t i = 0; i < objective->num_outputs; i++) LIANA_TRY(choose_target(&own, i));
    LIANA_TRY(liana__objective_find_masks(request->model, objective, error));
    for (size_t i = 0; i < objective->num_outputs; i++) {
        liana__objective_output *output = &objective->outputs[i];
        const liana__loss_choice *choice = &output->choice;
        output->counted =
            output->masked || (choice->loss && (choice->reduction != LIANA__REDUCE_MEAN || liana__leaves_out(choice)));
    }
    LIANA_TRY(read_metrics(&own));
    LIANA_TRY(add_classes(&own));
    LIANA_TRY(lay_out(&own));
    return for_training ? check_activations(&own) : LIANA_OK;
}

liana_status liana__objective_check_class_weights(const liana__objective *objective, const liana__place *place,
                                                  const char *where, liana__error *error)
{
    for (size_t i = 0; i < objective->num_outputs; i++) {
        if (objective->outputs[i].weighs_classes) return LIANA_OK;
    }
    return liana__fail_at(error, place, where,
                          "the model has %zu outputs, and the target of none is the label, so it is not known whose "
                          "classes are weighted; weigh the examples instead (example_weight)",
                          objective->num_outputs);
}
