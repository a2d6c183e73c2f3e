/* Graves et al. 2006, "Connectionist temporal classification: labelling unsegmented sequence data with recurrent neural
 * networks": -log of the probability of a sequence of labels, over all ways in which the steps of the output give it
 * with repetitions and blanks. Class 0 is the blank, and what targets are padded with. Outputs are logits. */
#include "ir/graph.h"
#include "losses/loss.h"

#include <liana/loops.h>
#include <math.h>

/* Of what cannot be; sums of a few of these stay finite. */
static const double NEVER = -1e30;

static liana_tensor like(liana_tensor x, double value)
{
    return liana__scalar_like(x, value);
}

static liana_tensor columns(liana_tensor x, int64_t from, int64_t to)
{
    const int64_t start[2] = {0, from}, limit[2] = {liana_tensor_shape(x).dims[0], to};
    return liana_op_slice(x, start, limit, NULL);
}

static liana_tensor filled(liana_tensor x, int64_t rows, int64_t width, double value)
{
    return liana_op_broadcast_to(like(x, value), liana_shape_of(rows, width));
}

/* [batch, width]: moved right by some columns; those that come in cannot be. */
static liana_tensor shifted(liana_tensor x, int64_t by)
{
    const liana_shape shape = liana_tensor_shape(x);
    if (by >= shape.dims[1]) return filled(x, shape.dims[0], shape.dims[1], NEVER);
    const liana_tensor parts[] = {filled(x, shape.dims[0], by, NEVER), columns(x, 0, shape.dims[1] - by)};
    return liana_op_concat(parts, 2, 1);
}

static liana_tensor log_add(liana_tensor a, liana_tensor b)
{
    liana_tensor most = liana_op_maximum(a, b);
    liana_tensor apart = liana_op_abs(liana_op_subtract(a, b));
    return liana_op_add(most, liana_op_log1p(liana_op_exp(liana_op_negate(apart))));
}

/* [batch, labels, 2] as [batch, 2 labels + 1]: a blank, the first label, a blank, ... `blank` is [batch, 1]. */
static liana_tensor interleaved(liana_tensor blank, liana_tensor labels)
{
    const liana_shape shape = liana_tensor_shape(labels);
    const liana_shape pairs = liana_shape_of(shape.dims[0], shape.dims[1], 1);
    const liana_tensor both[] = {liana_op_reshape(liana_op_broadcast_to(blank, shape), pairs),
                                 liana_op_reshape(labels, pairs)};
    liana_tensor flat = liana_op_reshape(liana_op_concat(both, 2, 2), liana_shape_of(shape.dims[0], 2 * shape.dims[1]));
    const liana_tensor whole[] = {flat, blank};
    return liana_op_concat(whole, 2, 1);
}

/* The facts of a batch of label sequences. */
typedef struct labels {
    liana_tensor rows;   /* [batch, labels, classes]: one-hot */
    liana_tensor skip;   /* [batch, 2 labels + 1]: 0 where a label may follow the label before it at once, else NEVER */
    liana_tensor length; /* s32 [batch] */
} labels;

static labels find_labels(liana_tensor classes, liana_tensor logs, int64_t num_classes)
{
    const liana_shape shape = liana_tensor_shape(classes);
    const int64_t batch = shape.dims[0], count = shape.dims[1];
    const liana_dtype dtype = liana_tensor_dtype(logs);
    labels found = {.rows = liana_op_one_hot(classes, num_classes, dtype)};
    liana_tensor is_label = liana_op_not_equal(classes, like(classes, 0));
    found.length =
        liana_op_cast(liana_op_reduce_sum(liana_op_cast(is_label, LIANA_F32), LIANA_AXES(1), false), LIANA_S32);
    liana_tensor first = filled(classes, batch, 1, 0), before = first;
    if (count > 1) {
        const liana_tensor parts[] = {first, columns(classes, 0, count - 1)};
        before = liana_op_concat(parts, 2, 1);
    }
    /* The first label has none before it. */
    liana_tensor other =
        liana_op_logical_and(liana_op_not_equal(classes, before), liana_op_not_equal(before, like(classes, 0)));
    liana_tensor same = liana_op_subtract(like(logs, 1), liana_op_cast(other, dtype));
    liana_tensor never = liana_op_multiply(same, like(logs, NEVER));
    found.skip = interleaved(filled(logs, batch, 1, NEVER), never);
    return found;
}

/* [batch, 2 labels + 1]: the log probabilities of the labels and blanks at a step, of logs [batch, classes]. */
static liana_tensor emitted(liana_tensor logs, liana_tensor rows)
{
    const liana_shape shape = liana_tensor_shape(logs);
    liana_tensor now = liana_op_reshape(logs, liana_shape_of(shape.dims[0], 1, shape.dims[1]));
    liana_tensor of_labels = liana_op_reduce_sum(liana_op_multiply(rows, now), LIANA_AXES(2), false);
    return interleaved(columns(logs, 0, 1), of_labels);
}

/* A step of the paths, the carry [batch, 2 labels + 1]: each stays, goes on by one, or by two. */
static void take_step(const liana_loop_step *step, void *user)
{
    (void)user;
    const liana_tensor paths = step->carries[0], rows = step->constants[0], skip = step->constants[1];
    liana_tensor stayed = log_add(paths, shifted(paths, 1));
    step->next[0] = liana_op_add(log_add(stayed, liana_op_add(shifted(paths, 2), skip)), emitted(step->xs[0], rows));
}

/* The paths after the last step, [batch, 2 labels + 1]; of logs [steps, batch, classes]. */
static liana_tensor follow(liana_tensor logs, const labels *of)
{
    const liana_shape shape = liana_tensor_shape(logs);
    const int64_t width = liana_tensor_shape(of->skip).dims[1], steps = shape.dims[0];
    const int64_t begin[3] = {0}, second[3] = {1}, end[3] = {1, shape.dims[1], shape.dims[2]};
    const liana_tensor beginning[] = {filled(logs, 1, 2, 0), filled(logs, 1, width - 2, NEVER)};
    liana_tensor one = liana_op_slice(logs, begin, end, NULL);
    one = liana_op_reshape(one, liana_shape_of(shape.dims[1], shape.dims[2]));
    liana_tensor paths = liana_op_add(emitted(one, of->rows), liana_op_concat(beginning, 2, 1));
    if (steps == 1) return paths;
    const liana_tensor rest = liana_op_slice(logs, second, shape.dims, NULL), constants[] = {of->rows, of->skip};
    const liana_scan scan = {.body = take_step,
                             .carries = &paths,
                             .num_carries = 1,
                             .xs = &rest,
                             .num_xs = 1,
                             .constants = constants,
                             .num_constants = 2};
    liana_tensor last;
    liana_op_scan(&scan, &last, NULL);
    return last;
}

/* [batch]: the value at a place of each row; NEVER where the place is -1. */
static liana_tensor value_at(liana_tensor x, liana_tensor place)
{
    const int64_t width = liana_tensor_shape(x).dims[1];
    liana_tensor row = liana_op_one_hot(place, width, liana_tensor_dtype(x));
    liana_tensor hidden = liana_op_multiply(liana_op_subtract(like(x, 1), row), like(x, NEVER));
    return liana_op_reduce_max(liana_op_add(liana_op_multiply(x, row), hidden), LIANA_AXES(1), false);
}

static liana_tensor ctc(const liana_loss_call *call)
{
    liana_tensor classes = call->target.tensor;
    const liana_shape shape = liana_tensor_shape(call->output);
    if (shape.rank != 3 || liana_tensor_shape(classes).rank != 2) {
        return liana__graph_fail(call->output.graph, liana_tensor_info(call->output).here, LIANA_INVALID_CONFIG,
                                 "the loss 'ctc' is of outputs [batch, steps, classes] and of targets [batch, labels], "
                                 "found %d and %d dimensions",
                                 shape.rank, liana_tensor_shape(classes).rank);
    }
    liana_tensor logs = liana_op_log_softmax(call->output);
    const labels of = find_labels(classes, logs, shape.dims[2]);
    liana_tensor paths = follow(liana_op_transpose(logs, LIANA_AXES(1, 0, 2)), &of);
    liana_tensor end = liana_op_multiply(of.length, like(of.length, 2));
    liana_tensor last = value_at(paths, liana_op_subtract(end, like(end, 1)));
    liana_tensor whole = log_add(value_at(paths, end), last);
    /* More labels than the steps can give. */
    liana_tensor possible = liana_op_greater(whole, like(whole, NEVER / 2));
    return liana__loss_spread(liana_op_negate(liana_op_select(possible, whole, like(whole, -INFINITY))), call->output);
}

const liana_loss_type liana__loss_ctc = {
    LIANA_PART(LOSS, liana_loss_type, "ctc",
               "-log of the probability of a sequence of labels, wherever in the steps they are; class 0 is the blank.",
               .aliases = {"CTC"}),
    .targets = LIANA_TARGET_CLASSES,
    .takes_sequences = true,
    .elements = ctc,
};
