/* The graph of an objective: predictions, loss and the vector of sums of a shard. */
#include "ir/graph.h"
#include "train/objective/objective.h"

static liana_tensor sum_all(liana_tensor each)
{
    return liana_op_reduce_sum(each, LIANA_ALL_AXES, false);
}

/* The sum of an output's elements that count: of examples that are there, and of steps that are no padding. */
static liana_tensor sum_counted(const liana__objective_output *output, const liana__objective_call *call, size_t index,
                                liana_tensor each)
{
    if (output->masked) {
        liana_tensor counts = liana__objective_mask(output, call->masks[index], liana_tensor_shape(each).dims[0]);
        each = liana__by_example(each, counts);
    }
    return sum_all(liana__by_example(each, call->present));
}

/* The values of both targets, each by its share. */
static liana_tensor share_out(liana_tensor shares, liana_tensor own, liana_tensor partner)
{
    if (liana_tensor_dtype(own) != LIANA_F32) shares = liana_op_cast(shares, liana_tensor_dtype(own));
    liana_tensor one = liana__scalar_like(shares, 1);
    return liana_op_add(liana__by_example(own, shares), liana__by_example(partner, liana_op_subtract(one, shares)));
}

/* Numbers are mixed as images are. Answers of mixed examples are compared with both targets: losses of probabilities
 * are linear in the target, so it is the same loss, and a metric says how often the model is right. */
static bool mixes_targets(const liana__objective_output *output)
{
    return output->target == LIANA_TARGET_VALUES && output->activation == LIANA_LOGITS_NONE;
}

/* The targets of an output, mixed where they are numbers. */
static liana_tensor target_of(const liana__objective *objective, const liana__objective_call *call, size_t index)
{
    const bool mixed = call->partners[index].id && mixes_targets(&objective->outputs[index]);
    liana_tensor target = call->targets[index];
    return mixed ? share_out(call->shares, target, call->partners[index]) : target;
}

/* The second targets to compare with; invalid: missing. */
static liana_tensor partner_of(const liana__objective *objective, const liana__objective_call *call, size_t index)
{
    return mixes_targets(&objective->outputs[index]) ? (liana_tensor){0} : call->partners[index];
}

/* ---- losses ---- */

/* The output as the loss's activation gives it, and the activation's input. */
static void activate(const liana__objective *objective, liana__objective_call *call, size_t index)
{
    const liana__objective_output *output = &objective->outputs[index];
    liana_tensor value = call->outputs[index];
    if (output->choice.from_logits) {
        call->logits[index] = value;
        value = output->activation == LIANA_LOGITS_SOFTMAX ? liana_op_softmax(value) : liana_op_logistic(value);
        liana__keep_wide(value);
    } else if (call->activations[index] != output->activation) {
        call->logits[index] = (liana_tensor){0};
    }
    call->predictions[index] = value;
}

/* ---- weights of classes ---- */

/* Class numbers of a single value are looked up one place further on: numbers outside the table have 1, at its ends. */
static bool is_numbered(const liana__objective_output *output)
{
    return output->target == LIANA_TARGET_VALUES && output->shape.dims[output->shape.rank - 1] == 1;
}

liana_tensor liana__class_table(const liana__objective_output *output, liana_graph *graph, const double *weights,
                                int64_t count)
{
    const bool numbered = is_numbered(output);
    const int64_t size = numbered ? count + 2 : output->shape.dims[output->shape.rank - 1];
    float *table = liana__arena_allocate(&graph->arena, (size_t)size * sizeof *table);
    if (!table) return (liana_tensor){0};
    for (int64_t i = 0; i < size; i++) table[i] = 1;
    for (int64_t i = 0; i < count && i < size; i++) table[numbered ? i + 1 : i] = (float)weights[i];
    return liana_graph_constant(graph, LIANA_F32, liana_shape_of(size), table);
}

/* f32, the shape of the loss's elements: the weight of each element's class, by Keras's rule: a target of several
 * values is of the class of the largest one (the first of equals), one of a single value is the number of a class. */
static liana_tensor weights_of_classes(const liana__objective_output *output, liana_tensor table, liana_tensor target)
{
    if (output->target == LIANA_TARGET_CLASSES) return liana_op_gather(table, target, 0);
    if (!is_numbered(output)) return liana_op_gather(table, liana_op_argmax(target, -1), 0);
    liana_shape shape = liana_tensor_shape(target);
    const double last = (double)liana_tensor_shape(table).dims[0] - 1;
    liana_tensor place = liana_op_add(liana_op_round(target), liana__scalar_like(target, 1));
    place = liana_op_cast(liana_op_clip(place, 0, last), LIANA_S32);
    if (shape.rank) shape.rank--;
    return liana_op_gather(table, liana_op_reshape(place, shape), 0);
}

/* The weights of the classes of one target, or of both that numbers were mixed of. */
static liana_tensor class_weights_of(const liana__objective_output *output, const liana__objective_call *call,
                                     size_t index, liana_tensor target)
{
    liana_tensor table = call->class_weights[index], partner = call->partners[index];
    if (!partner.id || !mixes_targets(output)) return weights_of_classes(output, table, target);
    return share_out(call->shares, weights_of_classes(output, table, call->targets[index]),
                     weights_of_classes(output, table, partner));
}

static liana_tensor loss_elements(const liana__objective_output *output, const liana__objective_call *call,
                                  size_t index, liana_tensor target)
{
    const liana_loss_call wanted = {.options = output->choice.options,
                                    .output = call->predictions[index],
                                    .logits = call->logits[index],
                                    .target = {output->target, target},
                                    .present = call->present};
    liana_tensor each = liana__loss_elements(output->choice.loss, &wanted);
    each = liana__loss_summed(&output->choice, &wanted, each);
    if (!call->class_weights[index].id) return each;
    liana_tensor weights = class_weights_of(output, call, index, target);
    if (liana_tensor_dtype(weights) != liana_tensor_dtype(each)) {
        weights = liana_op_cast(weights, liana_tensor_dtype(each));
    }
    return liana_op_multiply(each, weights);
}

static liana_tensor total_loss(const liana__objective *objective, const liana__objective_call *call, size_t index)
{
    const liana__objective_output *output = &objective->outputs[index];
    liana_tensor each = loss_elements(output, call, index, target_of(objective, call, index));
    liana_tensor partner = partner_of(objective, call, index);
    if (partner.id) each = share_out(call->shares, each, loss_elements(output, call, index, partner));
    each = liana__by_example(each, call->loss_weights);
    return sum_counted(output, call, index, each);
}

/* f32 scalar: the factor of the loss of a counted output. */
static liana_tensor scale_of(const liana__objective_call *call, size_t index)
{
    const int64_t start[2] = {0, (int64_t)index}, limit[2] = {1, (int64_t)index + 1};
    return liana_op_reshape(liana_op_slice(call->scales, start, limit, NULL), LIANA_SCALAR);
}

/* The loss of an output as a part of the whole one. */
static liana_tensor weighted(const liana__objective_output *output, const liana__objective_call *call, size_t index,
                             liana_tensor loss)
{
    double factor = output->weight / (output->counted ? 1 : (double)output->elements);
    if (factor != 1) loss = liana_op_multiply(loss, liana__scalar_like(loss, factor));
    if (!output->counted || !call->scales.id) return loss;
    liana_tensor scale = scale_of(call, index);
    if (liana_tensor_dtype(loss) != LIANA_F32) scale = liana_op_cast(scale, liana_tensor_dtype(loss));
    return liana_op_multiply(loss, scale);
}

/* ---- metrics ---- */

static liana_metric_call metric_call(const liana__objective *objective, const liana__objective_metric *item,
                                     const liana__objective_call *call, liana_tensor target)
{
    const liana__objective_output *output = &objective->outputs[item->output];
    liana_metric_call made = {.options = item->choice.options,
                              .output = call->predictions[item->output],
                              .activation = output->activation,
                              .logits = call->logits[item->output],
                              .target = {output->target, target}};
    if (!item->choice.from_logits || made.activation != LIANA_LOGITS_NONE) return made;
    const liana_loss_type *loss = item->choice.metric->mean_of;
    made.activation = loss ? loss->activation : LIANA_LOGITS_SIGMOID;
    made.logits = made.output;
    made.output =
        made.activation == LIANA_LOGITS_SOFTMAX ? liana_op_softmax(made.logits) : liana_op_logistic(made.logits);
    return made;
}

/* A weight for each element, [size, ...]: that of its example, and 0 where the mask leaves it out. Invalid: all 1. */
static liana_tensor element_weights(const liana__objective_output *output, liana_tensor mask, liana_tensor weights)
{
    if (output->masked) {
        return liana__by_example(liana__objective_mask(output, mask, liana_tensor_shape(mask).dims[0]), weights);
    }
    if (!weights.id) return weights;
    liana_shape shape = output->shape;
    shape.rank--;
    shape.dims[0] = liana_tensor_shape(weights).dims[0];
    return liana__by_example(liana_op_broadcast_to(liana__scalar_like(weights, 1), shape), weights);
}

static liana_tensor product_of(liana_tensor a, liana_tensor b)
{
    return a.id && b.id ? liana_op_multiply(a, b) : a.id ? a : b;
}

/* How much each element counts in a metric: `examples`, and the weights of examples and classes if it is weighted. */
static liana_tensor metric_weights(const liana__objective *objective, const liana__objective_metric *item,
                                   const liana__objective_call *call, liana_tensor examples, liana_tensor target)
{
    const liana__objective_output *output = &objective->outputs[item->output];
    const bool weighted = item->choice.weighted;
    if (weighted) examples = product_of(examples, call->loss_weights);
    liana_tensor weights = element_weights(output, call->masks[item->output], examples);
    if (!weighted) return weights;
    if (call->class_weights[item->output].id) {
        weights = product_of(weights, class_weights_of(output, call, item->output, target));
    }
    /* As in Keras, elements that the loss leaves out count unless there are weights. */
    const liana_loss_type *loss = item->choice.metric->mean_of;
    if (!weights.id || !loss || !loss->leaves_out || !loss->leaves_out(item->choice.options)) return weights;
    const liana_loss_call of = {.options = item->choice.options,
                                .output = call->predictions[item->output],
                                .target = {output->target, target}};
    return liana_op_multiply(weights, loss->counts(&of));
}

/* f32 [2]: of a mean of its own count, the weighted sum, and the sum of weights. */
static liana_tensor weighted_sums(liana_tensor each, liana_tensor weights)
{
    if (!weights.id) weights = liana_op_broadcast_to(liana__scalar_like(each, 1), liana_tensor_shape(each));
    const liana_tensor sums[] = {liana_op_reshape(sum_all(liana_op_multiply(each, weights)), liana_shape_of(1)),
                                 liana_op_reshape(sum_all(weights), liana_shape_of(1))};
    return liana_op_concat(sums, 2, 0);
}

static liana_tensor sum_of_elements(const liana__objective *objective, const liana__objective_metric *item,
                                    const liana__objective_call *call)
{
    const liana_metric_type *metric = item->choice.metric;
    liana_metric_call wanted = metric_call(objective, item, call, target_of(objective, call, item->output));
    liana_tensor each = liana__metric_elements(metric, &wanted), partner = partner_of(objective, call, item->output);
    if (partner.id) {
        wanted.target.tensor = partner;
        each = share_out(call->shares, each, liana__metric_elements(metric, &wanted));
    }
    if (item->has_own_count) {
        return weighted_sums(each, metric_weights(objective, item, call, call->present, wanted.target.tensor));
    }
    each = sum_counted(&objective->outputs[item->output], call, item->output, each);
    return liana_op_reshape(each, liana_shape_of(1));
}

static liana_tensor sums_of_metric(const liana__objective *objective, const liana__objective_metric *item,
                                   const liana__objective_call *call)
{
    const liana_metric_type *metric = item->choice.metric;
    liana_tensor partner = partner_of(objective, call, item->output);
    liana_tensor present = call->present, own = present;
    if (partner.id) own = present.id ? liana_op_multiply(present, call->shares) : call->shares;
    liana_metric_call wanted = metric_call(objective, item, call, target_of(objective, call, item->output));
    wanted.weights = metric_weights(objective, item, call, own, wanted.target.tensor);
    liana_tensor sums = liana__metric_add(metric, &wanted);
    if (!partner.id) return sums;
    liana_tensor others = liana_op_subtract(liana__scalar_like(call->shares, 1), call->shares);
    wanted.target.tensor = partner;
    wanted.weights = metric_weights(objective, item, call, product_of(present, others), partner);
    return liana_op_add(sums, liana__metric_add(metric, &wanted));
}

/* ---- numbers of elements ---- */

/* f32, the shape of the loss's elements: how much each counts in the number of elements. */
static liana_tensor counts_of(const liana__objective_output *output, const liana__objective_call *call, size_t index,
                              int64_t size)
{
    const liana__loss_choice *choice = &output->choice;
    liana_shape shape = output->shape;
    liana_graph *graph = call->outputs[index].graph;
    shape.rank--;
    shape.dims[0] = size;
    liana_tensor each = output->masked ? liana__objective_mask(output, call->masks[index], size)
                                       : liana_op_broadcast_to(liana_graph_scalar(graph, LIANA_F32, 1), shape);
    if (choice->loss && liana__leaves_out(choice)) {
        const liana_loss_call of = {.options = choice->options,
                                    .output = call->outputs[index],
                                    .target = {output->target, call->targets[index]}};
        each = liana_op_multiply(each, choice->loss->counts(&of));
    }
    if (choice->reduction != LIANA__REDUCE_WEIGHTED_MEAN) return each;
    each = liana__by_example(each, call->loss_weights);
    if (!call->class_weights[index].id) return each;
    return liana_op_multiply(each, class_weights_of(output, call, index, call->targets[index]));
}

liana_tensor liana__objective_count(const liana__objective *objective, const liana__objective_call *call, int64_t size)
{
    liana_tensor counts[LIANA__MAX_OUTPUTS];
    size_t found = 0;
    for (size_t i = 0; i < objective->num_outputs; i++) {
        if (!objective->outputs[i].counted) continue;
        liana_tensor each = liana__by_example(counts_of(&objective->outputs[i], call, i, size), call->present);
        each = liana_op_reduce_sum(each, LIANA_ALL_AXES, false);
        counts[found++] = liana_op_reshape(each, liana_shape_of(1));
    }
    return liana_op_concat(counts, found, 0);
}

/* ---- the whole ---- */

/* f32 [1]: 0, for an output without a loss. */
static liana_tensor nothing(liana_graph *graph)
{
    return liana_op_reshape(liana_graph_scalar(graph, LIANA_F32, 0), liana_shape_of(1));
}

/* Adds the activities' penalties to the loss, and gives their sum, f32 [1]. The weights' are the trainer's. */
static liana_tensor add_penalties(liana__objective_call *call, liana_graph *graph)
{
    if (!call->penalties.id) return nothing(graph);
    liana_tensor sum = sum_all(liana__by_example(call->penalties, call->present));
    if (call->loss.id) call->loss = liana_op_add(call->loss, sum);
    if (liana_tensor_dtype(sum) != LIANA_F32) sum = liana_op_cast(sum, LIANA_F32);
    return liana_op_reshape(sum, liana_shape_of(1));
}

void liana__objective_build(const liana__objective *objective, liana__objective_call *call)
{
    liana_tensor parts[LIANA__MAX_OUTPUTS + 2 + LIANA__MAX_METRICS];
    liana_graph *graph = call->outputs[0].graph;
    size_t count = 0;
    for (size_t i = 0; i < objective->num_outputs; i++) {
        activate(objective, call, i);
        if (!objective->outputs[i].choice.loss) {
            parts[count++] = nothing(graph);
            continue;
        }
        liana_tensor loss = total_loss(objective, call, i), part = weighted(&objective->outputs[i], call, i, loss);
        call->loss = call->loss.id ? liana_op_add(call->loss, part) : part;
        parts[count++] = liana_op_reshape(loss, liana_shape_of(1));
    }
    if (objective->num_counted) {
        parts[count++] = liana__objective_count(objective, call, liana_tensor_shape(call->outputs[0]).dims[0]);
    }
    for (size_t i = 0; i < objective->num_metrics; i++) {
        const liana__objective_metric *item = &objective->metrics[i];
        parts[count++] = item->choice.metric->elements ? sum_of_elements(objective, item, call)
                                                       : sums_of_metric(objective, item, call);
    }
    if (objective->is_regularized) parts[count++] = add_penalties(call, graph);
    call->sums = liana_op_concat(parts, count, 0);
}
