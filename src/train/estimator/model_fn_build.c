/* The results of a model function as the sums and rows of a shard. */
#include "ir/graph.h"
#include "train/estimator/model_fn_internal.h"

#include <math.h>
#include <string.h>

static double finish_mean(const void *options, const double *sums, size_t size)
{
    (void)options;
    (void)size;
    return sums[1] > 0 ? sums[0] / sums[1] : NAN;
}

const liana_metric_type liana__fn_mean = {
    LIANA_PART(METRIC, liana_metric_type, "mean", "The mean of what examples give."),
    .finish = finish_mean,
};

/* Whether a tensor is floats [size, ...]. */
static bool is_by_example(const liana__fn_call *call, liana_tensor tensor)
{
    const liana__node *node = tensor.graph == call->graph ? liana__tensor_node(tensor) : NULL;
    return node && liana__dtype_is_float(node->dtype) && node->shape.rank >= 1 && node->shape.dims[0] == call->size;
}

static int64_t elements_of(const liana__fn_call *call, liana_tensor each)
{
    liana_shape shape = liana_tensor_shape(each);
    return liana_shape_size(&shape) / call->size;
}

static liana_tensor sum_by_example(const liana__fn_call *call, liana_tensor each)
{
    return liana_op_reduce_sum(liana__by_example(each, call->present), LIANA_ALL_AXES, false);
}

/* A mask as f32 of the shape of the masked values: 1 where an element counts. False: the graph has failed. */
static bool find_mask(liana__fn_call *call, liana_tensor mask, liana_tensor each, const char *what, liana_tensor *found)
{
    const liana__node *node = mask.graph == call->graph ? liana__tensor_node(mask) : NULL;
    liana_shape shape = liana_tensor_shape(each), column = liana_tensor_shape(mask);
    bool fits = node && node->dtype == LIANA_BOOL && column.rank >= 1 && column.rank <= shape.rank;
    for (int i = 0; fits && i < column.rank; i++) fits = column.dims[i] == shape.dims[i];
    if (!fits) {
        liana__fn_fail(call, mask, "the mask of %s is %s, expected bool with the shape of %s or its first dimensions",
                       what, liana__fn_type(call, mask).text, liana__fn_type(call, each).text);
        return false;
    }
    while (column.rank < shape.rank) column.dims[column.rank++] = 1;
    *found = liana_op_broadcast_to(liana_op_reshape(liana_op_cast(mask, LIANA_F32), column), shape);
    return call->graph->status == LIANA_OK;
}

/* The counted part of each element: nothing where the mask (f32) leaves it out, even if it is not finite. */
static liana_tensor leave_out(liana_tensor each, liana_tensor mask)
{
    liana_tensor zero = liana__scalar_like(each, 0);
    liana_tensor counts = liana_op_greater(mask, liana__scalar_like(mask, 0.5));
    return liana_op_select(counts, each, liana_op_broadcast_to(zero, liana_tensor_shape(each)));
}

/* f32 [1] */
static liana_tensor as_part(liana_tensor scalar)
{
    if (liana_tensor_dtype(scalar) != LIANA_F32) scalar = liana_op_cast(scalar, LIANA_F32);
    return liana_op_reshape(scalar, liana_shape_of(1));
}

/* ---- the loss ---- */

/* The trainer counts the elements of the whole batch before the shards are computed, and gives the factor of the
 * sum. */
static liana_status build_masked_loss(liana__fn_call *call, liana_tensor *part)
{
    liana_tensor mask, scale = call->scales;
    if (!find_mask(call, call->spec.loss_mask, call->spec.loss, "the loss", &mask)) return call->graph->status;
    call->built.is_masked = true;
    call->counts = as_part(sum_by_example(call, mask));
    call->loss = sum_by_example(call, leave_out(call->spec.loss, mask));
    *part = as_part(call->loss);
    if (!scale.id) return call->graph->status;
    const int64_t start[2] = {0, 0}, limit[2] = {1, 1};
    scale = liana_op_reshape(liana_op_slice(scale, start, limit, NULL), LIANA_SCALAR);
    if (liana_tensor_dtype(call->loss) != LIANA_F32) scale = liana_op_cast(scale, liana_tensor_dtype(call->loss));
    call->loss = liana_op_multiply(call->loss, scale);
    return call->graph->status;
}

static liana_status build_loss(liana__fn_call *call, liana_tensor *part)
{
    liana_tensor loss = call->spec.loss;
    if (!loss.id) {
        return liana__fn_fail(call, loss, "the model function gives no loss when %s; set .loss of its spec",
                              call->kind == LIANA_MODE_TRAIN ? "training" : "evaluating");
    }
    if (!is_by_example(call, loss)) {
        bool is_mean = loss.graph == call->graph && liana_tensor_shape(loss).rank == 0;
        return liana__fn_fail(call, loss, "the loss is %s, expected floats [%lld, ...]: the loss of each example%s",
                              liana__fn_type(call, loss).text, (long long)call->size,
                              is_mean ? "; the estimator takes the mean itself, over the whole batch" : "");
    }
    call->built.elements = elements_of(call, loss);
    if (call->spec.loss_mask.id) return build_masked_loss(call, part);
    liana_tensor sum = sum_by_example(call, loss);
    *part = as_part(sum);
    double factor = 1 / (double)call->built.elements;
    call->loss = factor == 1 ? sum : liana_op_multiply(sum, liana__scalar_like(sum, factor));
    return call->graph->status;
}

/* ---- metrics ---- */

/* The number of elements of a mean, over the examples that are there. */
static liana_tensor count_elements(const liana__fn_call *call, int64_t elements)
{
    if (!call->present.id) {
        return liana_graph_scalar(call->graph, LIANA_F32, (double)(call->size * elements));
    }
    liana_tensor count = liana_op_reduce_sum(call->present, LIANA_ALL_AXES, false);
    return liana_op_multiply(count, liana__scalar_like(count, (double)elements));
}

static liana_tensor mean_sums(liana__fn_call *call, liana_tensor each, liana_tensor mask)
{
    liana_tensor found, count;
    if (mask.id) {
        if (!find_mask(call, mask, each, "a metric", &found)) return (liana_tensor){call->graph, 0};
        each = leave_out(each, found);
        count = sum_by_example(call, found);
    } else {
        count = count_elements(call, elements_of(call, each));
    }
    liana_tensor parts[2] = {as_part(sum_by_example(call, each)), as_part(count)};
    return liana_op_concat(parts, 2, 0);
}

static void be_mean(liana__fn_metric *made)
{
    made->choice.metric = &liana__fn_mean;
    made->choice.options = NULL;
    made->num_sums = 2;
    made->is_mean = true;
}

/* Metrics other than means: their own sums, each element weighted by whether its example is there. */
static liana_tensor own_sums(liana__fn_call *call, liana_metric_call *wanted, liana_tensor mask, liana__fn_metric *made)
{
    const liana_metric_type *metric = made->choice.metric;
    liana_shape shape = liana_tensor_shape(wanted->output), one = shape;
    one.dims[0] = 1;
    const char *misfit = metric->misfit ? metric->misfit(made->choice.options, &one) : NULL;
    if (misfit) {
        liana__graph_fail(call->graph, liana_tensor_info(wanted->output).here, LIANA_INVALID_CONFIG, "%s: %s: %s",
                          call->fn->name, metric->part.name, misfit);
        return (liana_tensor){call->graph, 0};
    }
    made->num_sums = metric->sums(made->choice.options, &one);
    made->num_values = metric->num_values ? metric->num_values(made->choice.options, &one) : 0;
    shape.rank--;
    if (call->present.id || mask.id) {
        liana_tensor ones = liana_op_broadcast_to(liana_graph_scalar(call->graph, LIANA_F32, 1), shape);
        if (mask.id && !find_mask(call, mask, ones, "a metric", &ones)) return (liana_tensor){call->graph, 0};
        wanted->weights = liana__by_example(ones, call->present);
    }
    return liana__metric_add(metric, wanted);
}

static liana_status read_choice(liana__fn_call *call, const liana_estimator_metric *item, liana__metric_choice *choice)
{
    liana_metric asked = item->metric;
    liana__error error = {0};
    if (!asked.name) asked.name = "accuracy";
    asked.as = NULL;
    const liana__value *value = liana__metric_value(call->arena, &asked);
    liana_status status = !value || call->arena->failed
                              ? liana__fail_memory(&error, "a metric")
                              : liana__metric_read(call->graph->context, value, "metric", call->arena, choice, &error);
    if (status == LIANA_OK) return status;
    liana__graph_fail(call->graph, liana_tensor_info(item->output).here, status, "%s: %s", call->fn->name,
                      error.message);
    return status;
}

static liana_status build_metric(liana__fn_call *call, const liana_estimator_metric *item, liana__fn_metric *made,
                                 liana_tensor *sums)
{
    liana_location here = liana_tensor_info(item->output).here;
    liana_metric_call wanted;
    if (item->values.id) {
        be_mean(made);
        if (!item->name) return liana__fn_fail(call, item->values, "a metric that is a mean of values needs a name");
        if (!is_by_example(call, item->values)) {
            return liana__fn_fail(call, item->values, "the metric '%.100s' is of %s, expected floats [%lld, ...]",
                                  item->name, liana__fn_type(call, item->values).text, (long long)call->size);
        }
        *sums = mean_sums(call, item->values, item->mask);
        return call->graph->status;
    }
    LIANA_TRY(read_choice(call, item, &made->choice));
    if (!liana__metric_call_make(here, item->output, item->target, &made->choice, &wanted)) return call->graph->status;
    const liana_metric_type *metric = made->choice.metric;
    if (metric->elements) {
        be_mean(made);
        *sums = mean_sums(call, liana__metric_elements(metric, &wanted), item->mask);
    } else {
        *sums = own_sums(call, &wanted, item->mask, made);
    }
    return call->graph->status;
}

static liana_status name_metric(liana__fn_call *call, const liana_estimator_metric *item, liana__fn_metric *made)
{
    liana__fn_built *built = &call->built;
    made->name = item->name ? liana__arena_string(call->arena, item->name) : made->choice.name;
    if (!made->name) return liana__fn_fail(call, item->output, "out of memory for a metric");
    bool is_taken = strcmp(made->name, "loss") == 0;
    for (size_t i = 0; i < built->num_metrics; i++) is_taken |= strcmp(built->metrics[i].name, made->name) == 0;
    if (!is_taken) return LIANA_OK;
    return liana__fn_fail(call, item->output, "two metrics have the name '%.100s', or it is 'loss'", made->name);
}

static bool is_metric(const liana_estimator_metric *item)
{
    return item->output.id || item->values.id;
}

/* ---- sums ---- */

/* The activities' penalties, which are part of the loss, and their sum, f32 [1]. The trainer adds those of weights. */
static liana_tensor build_penalty(liana__fn_call *call)
{
    if (!call->penalties.id) return as_part(liana_graph_scalar(call->graph, LIANA_F32, 0));
    liana_tensor sum = sum_by_example(call, call->penalties);
    call->loss = liana_op_add(call->loss, sum);
    return as_part(sum);
}

liana_status liana__fn_build_sums(liana__fn_call *call)
{
    liana__fn_built *built = &call->built;
    liana_tensor parts[3 + LIANA_MAX_METRICS];
    size_t count = 0;
    if (call->kind == LIANA_MODE_PREDICT) {
        call->sums = liana_op_reshape(liana_graph_scalar(call->graph, LIANA_F32, 0), liana_shape_of(1));
        built->num_sums = built->elements = 1;
        return call->graph->status;
    }
    LIANA_TRY(build_loss(call, &parts[count++]));
    built->num_sums = 1;
    for (size_t i = 0; i < LIANA_MAX_METRICS && is_metric(&call->spec.metrics[i]); i++) {
        liana__fn_metric *made = &built->metrics[i];
        LIANA_TRY(build_metric(call, &call->spec.metrics[i], made, &parts[count++]));
        LIANA_TRY(name_metric(call, &call->spec.metrics[i], made));
        built->num_sums += made->num_sums;
        built->num_metrics++;
    }
    if (built->is_regularized) parts[count++] = build_penalty(call);
    if (built->is_masked) parts[count++] = call->counts;
    built->num_sums += built->is_regularized + built->is_masked;
    call->sums = liana_op_concat(parts, count, 0);
    return call->graph->status;
}

/* ---- predictions ---- */

static liana_status add_prediction(liana__fn_call *call, const liana_prediction *item, liana_tensor *row)
{
    liana__fn_built *built = &call->built;
    const liana__node *node = item->tensor.graph == call->graph ? liana__tensor_node(item->tensor) : NULL;
    if (!item->name || !*item->name) return liana__fn_fail(call, item->tensor, "a prediction has no name");
    for (size_t i = 0; i < built->num_predictions; i++) {
        if (strcmp(built->predictions[i].name, item->name) != 0) continue;
        return liana__fn_fail(call, item->tensor, "two predictions have the name '%.100s'", item->name);
    }
    if (!node || node->shape.rank < 1 || node->shape.dims[0] != call->size) {
        return liana__fn_fail(call, item->tensor, "the prediction '%.100s' is %s, expected [%lld, ...]", item->name,
                              liana__fn_type(call, item->tensor).text, (long long)call->size);
    }
    liana_tensor values =
        node->dtype == LIANA_F32 ? item->tensor : liana_op_cast_at(node->where, item->tensor, LIANA_F32);
    *row = liana_op_reshape(values, liana_shape_of(call->size, -1));
    call->outputs[built->num_predictions] = item->tensor;
    liana__fn_prediction *made = &built->predictions[built->num_predictions++];
    *made = (liana__fn_prediction){liana__arena_string(call->arena, item->name), elements_of(call, item->tensor)};
    built->row_size += made->size;
    return made->name ? call->graph->status : liana__fn_fail(call, item->tensor, "out of memory for a prediction");
}

liana_status liana__fn_build_rows(liana__fn_call *call)
{
    liana_tensor rows[LIANA_MAX_PREDICTIONS];
    liana__fn_built *built = &call->built;
    built->row_size = call->kind == LIANA_MODE_PREDICT ? 0 : 1;
    if (call->kind != LIANA_MODE_PREDICT) return LIANA_OK;
    for (size_t i = 0; i < LIANA_MAX_PREDICTIONS && call->spec.predictions[i].tensor.id; i++) {
        LIANA_TRY(add_prediction(call, &call->spec.predictions[i], &rows[i]));
    }
    if (built->num_predictions == 0) {
        return liana__fn_fail(call, (liana_tensor){0},
                              "the model function gives no predictions; set .predictions of its spec");
    }
    call->rows = built->num_predictions == 1 ? rows[0] : liana_op_concat(rows, built->num_predictions, 1);
    return call->graph->status;
}
