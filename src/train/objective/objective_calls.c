/* Losses and metrics as functions of tensors. */
#include "train/objective/objective.h"

#include "ir/graph.h"
#include "ir/shape.h"

#include <string.h>

/* A call that is being built. */
typedef struct objective_call {
    liana_location here;
    liana_graph *graph;
    const char *name; /* of the loss or metric */
    unsigned targets; /* that it takes */
    liana_tensor output;
    liana_target truth;
} objective_call;

static liana_tensor refuse(const objective_call *call, const char *what, liana_tensor found, const char *expected)
{
    const liana__node *node = liana__tensor_node(found);
    return liana__graph_fail(call->graph, call->here, LIANA_INVALID_ARGUMENT, "%s: the %s is %s, expected %s",
                             call->name, what,
                             node ? liana__type_print(node->dtype, &node->shape).text : "no tensor of the graph",
                             expected);
}

/* The type of the output's target, in messages. */
static liana__shape_text expected_target(const objective_call *call)
{
    liana_shape shape = liana_tensor_shape(call->output);
    if (call->targets & LIANA_TARGET_VALUES) return liana__type_print(liana_tensor_dtype(call->output), &shape);
    shape.rank--;
    return liana__type_print(LIANA_S32, &shape);
}

/* Finds the kind of the target. */
static bool take_target(objective_call *call, liana_tensor target)
{
    const bool in_graph = target.graph == call->graph && liana__tensor_node(target);
    liana_shape whole = liana_tensor_shape(call->output), classes = whole, found = liana_tensor_shape(target);
    const liana_dtype dtype = in_graph ? liana_tensor_dtype(target) : LIANA_BOOL;
    classes.rank--;
    if ((call->targets & LIANA_TARGET_VALUES) && dtype != LIANA_BOOL && liana_shape_equal(&found, &whole)) {
        const bool same = dtype == liana_tensor_dtype(call->output);
        liana_tensor values = same ? target : liana_op_cast_at(call->here, target, liana_tensor_dtype(call->output));
        call->truth = (liana_target){LIANA_TARGET_VALUES, values};
        return true;
    }
    bool whole_numbers = dtype != LIANA_BOOL && !liana__dtype_is_float(dtype);
    if ((call->targets & LIANA_TARGET_CLASSES) && whole_numbers && liana_shape_equal(&found, &classes)) {
        liana_tensor labels = dtype == LIANA_S32 ? target : liana_op_cast_at(call->here, target, LIANA_S32);
        call->truth = (liana_target){LIANA_TARGET_CLASSES, labels};
        return true;
    }
    refuse(call, "target", in_graph ? target : (liana_tensor){0}, expected_target(call).text);
    return false;
}

static bool take_output(objective_call *call)
{
    const liana__node *node = liana__tensor_node(call->output);
    if (node && liana__dtype_is_float(node->dtype) && node->shape.rank >= 1) return true;
    refuse(call, "output", call->output, "[batch, ..., n] of floats");
    return false;
}

/* The input of the graph's softmax or sigmoid that gave the output, and which of them it was. */
static liana_logits_kind trace(liana_tensor output, liana_tensor *logits)
{
    const char *op = liana_tensor_info(output).op;
    liana_logits_kind kind = LIANA_LOGITS_NONE;
    if (op && strcmp(op, "softmax") == 0) kind = LIANA_LOGITS_SOFTMAX;
    if (op && strcmp(op, "logistic") == 0) kind = LIANA_LOGITS_SIGMOID;
    *logits = kind == LIANA_LOGITS_NONE ? (liana_tensor){0} : liana_tensor_input(output, 0);
    return kind;
}

static liana_tensor loss_of(objective_call *call, const liana__loss_choice *choice, liana_tensor target, double weight)
{
    const liana_logits_kind wanted = choice->loss->activation;
    liana_loss_call built = {.options = choice->options};
    call->name = choice->loss->part.name;
    call->targets = choice->loss->targets;
    if (!take_output(call) || !take_target(call, target)) return (liana_tensor){call->graph, 0};
    if (choice->from_logits) {
        built.logits = call->output;
        liana__keep_wide(built.logits);
        call->output = wanted == LIANA_LOGITS_SOFTMAX ? liana_op_softmax_at(call->here, built.logits)
                                                      : liana_op_logistic_at(call->here, built.logits);
    } else if (wanted == LIANA_LOGITS_NONE || trace(call->output, &built.logits) != wanted) {
        built.logits = (liana_tensor){0};
    } else {
        liana__keep_wide(built.logits);
    }
    liana__keep_wide(call->output);
    built.output = call->output;
    built.target = call->truth;
    liana_tensor each = liana__loss_elements(choice->loss, &built);
    return weight == 0 || weight == 1 ? each : liana_op_multiply_at(call->here, each, liana__scalar_like(each, weight));
}

liana_tensor liana_loss_of_at(liana_location here, liana_tensor output, liana_tensor target, const liana_loss *loss)
{
    static const liana_loss usual = {.name = "sparse_categorical_crossentropy"};
    liana_tensor result = {output.graph, 0};
    if (!output.graph || output.graph->status != LIANA_OK) return result;
    objective_call call = {.here = here, .graph = output.graph, .output = output};
    liana_loss asked = loss ? *loss : usual;
    if (!asked.name) asked.name = usual.name;
    liana__arena arena = {0};
    liana__error error = {0};
    liana__loss_choice choice;
    const liana__value *value = liana__loss_value(&arena, &asked);
    liana_status status = arena.failed || !value
                              ? liana__fail_memory(&error, "a loss")
                              : liana__loss_read(call.graph->context, value, "loss", &arena, &choice, &error);
    if (status == LIANA_OK) {
        result = loss_of(&call, &choice, target, asked.weight);
    } else {
        liana__graph_fail(call.graph, here, status, "%s", error.message);
    }
    liana__arena_free(&arena);
    return result;
}

bool liana__metric_call_make(liana_location here, liana_tensor output, liana_tensor target,
                             const liana__metric_choice *choice, liana_metric_call *made)
{
    const liana_metric_type *metric = choice->metric;
    objective_call call = {here, output.graph, metric->part.name, metric->targets, output, {0}};
    liana_tensor logits;
    if (!take_output(&call)) return false;
    liana_logits_kind activation = trace(call.output, &logits);
    if (liana_tensor_dtype(call.output) != LIANA_F32) call.output = liana_op_cast_at(here, call.output, LIANA_F32);
    if (!take_target(&call, target)) return false;
    *made = (liana_metric_call){.options = choice->options,
                                .output = call.output,
                                .activation = activation,
                                .target = call.truth};
    return true;
}

static liana_tensor metric_of(liana_location here, liana_tensor output, liana_tensor target,
                              const liana__metric_choice *choice)
{
    const liana_metric_type *metric = choice->metric;
    liana_metric_call built;
    if (!metric->elements) {
        return liana__graph_fail(output.graph, here, LIANA_INVALID_CONFIG,
                                 "the metric '%s' is not a mean over elements; liana_evaluate computes it",
                                 metric->part.name);
    }
    bool made = liana__metric_call_make(here, output, target, choice, &built);
    return made ? liana__metric_elements(metric, &built) : (liana_tensor){output.graph, 0};
}

liana_tensor liana_metric_of_at(liana_location here, liana_tensor output, liana_tensor target,
                                const liana_metric *metric)
{
    static const liana_metric usual = {.name = "accuracy"};
    liana_tensor result = {output.graph, 0};
    if (!output.graph || output.graph->status != LIANA_OK) return result;
    liana_metric asked = metric ? *metric : usual;
    if (!asked.name) asked.name = usual.name;
    asked.as = NULL;
    liana__arena arena = {0};
    liana__error error = {0};
    liana__metric_choice choice;
    const liana__value *value = liana__metric_value(&arena, &asked);
    liana_status status = arena.failed || !value
                              ? liana__fail_memory(&error, "a metric")
                              : liana__metric_read(output.graph->context, value, "metric", &arena, &choice, &error);
    if (status == LIANA_OK) {
        result = metric_of(here, output, target, &choice);
    } else {
        liana__graph_fail(output.graph, here, status, "%s", error.message);
    }
    liana__arena_free(&arena);
    return result;
}
