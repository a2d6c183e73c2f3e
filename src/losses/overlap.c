/* Losses of overlap: how much of what is true and what is said is both. */
#include "base/value_read.h"
#include "losses/loss.h"

/* keras.backend.epsilon(). */
static const double EPSILON = 1e-7;

typedef struct overlap_options {
    double alpha, beta;
    const liana__value *axis; /* NULL: all */
} overlap_options;

#define AXIS_ROW                                                                                           \
    LIANA_OPTION_ROW(overlap_options, axis, VALUE,                                                         \
                     .doc = "The axes that belong together, as [1, 2, 3] for each image by itself; null: " \
                            "all, with the whole batch.")

static const liana_option dice_fields[] = {AXIS_ROW};
static const liana_option tversky_fields[] = {
    LIANA_OPTION_ROW(overlap_options, alpha, FLOAT, .default_text = "0.5", .minimum = 0, .maximum = 1e6,
                     .doc = "How much counts what is true and not said."),
    LIANA_OPTION_ROW(overlap_options, beta, FLOAT, .default_text = "0.5", .minimum = 0, .maximum = 1e6,
                     .doc = "How much counts what is said and not true."),
    AXIS_ROW,
};

static bool is_list(const liana__value *value)
{
    return value && value->kind == LIANA__VALUE_LIST;
}

static liana_status check(liana_check *check)
{
    const overlap_options *options = check->options;
    const liana__value *axis = options->axis;
    if (!axis || axis->kind == LIANA__VALUE_NULL) return LIANA_OK;
    const size_t count = is_list(axis) ? axis->count : 1;
    bool fits = count > 0 && count <= LIANA_MAX_RANK;
    for (size_t i = 0; fits && i < count; i++) {
        const liana__value *item = is_list(axis) ? axis->items[i] : axis;
        fits = item->kind == LIANA__VALUE_INT && item->integer >= -LIANA_MAX_RANK && item->integer < LIANA_MAX_RANK;
    }
    return fits ? LIANA_OK : liana_option_refuse(check, "axis", "expected null, an axis, or a list such as [1, 2, 3]");
}

/* The axes as whole numbers from 0; count -1: all. */
static liana_axes axes_of(const overlap_options *options, int rank)
{
    const liana__value *axis = options->axis;
    if (!axis || axis->kind == LIANA__VALUE_NULL) return LIANA_ALL_AXES;
    liana_axes axes = {.count = is_list(axis) ? (int64_t)axis->count : 1};
    for (int64_t i = 0; i < axes.count; i++) {
        const int64_t given = is_list(axis) ? axis->items[i]->integer : axis->integer;
        axes.values[i] = given < 0 ? given + rank : given;
    }
    return axes;
}

/* Whether the first axis, that of the examples, is among them. It may be written from the end too; that is seen only
 * with the output. */
static bool needs_whole_batch(const void *given)
{
    const liana_axes axes = axes_of(given, 0);
    for (int64_t i = 0; i < axes.count; i++) {
        if (axes.values[i] == 0) return true;
    }
    return axes.count < 0;
}

static liana_tensor one_minus(liana_tensor x)
{
    return liana_op_subtract(liana__scalar_like(x, 1), x);
}

static liana_tensor scaled(liana_tensor x, double factor)
{
    return factor == 1 ? x : liana_op_multiply(x, liana__scalar_like(x, factor));
}

/* The loss of each example, spread over the elements of the output. */
static liana_tensor spread(liana_tensor each, liana_tensor output)
{
    const liana_shape shape = liana_tensor_shape(output), own = liana_tensor_shape(each);
    if (shape.rank == 0) return each;
    liana_shape elements = shape;
    elements.rank--;
    if (own.rank && own.dims[0] == shape.dims[0] && shape.dims[0] > 1) return liana__loss_spread(each, output);
    return liana_op_broadcast_to(liana_op_reduce_mean(each, LIANA_ALL_AXES, false), elements);
}

typedef struct overlap {
    liana_tensor both, only_true, only_said, truth, said;
} overlap;

static overlap find_overlap(const liana_loss_call *call)
{
    liana_tensor p = call->output, t = liana__target_rows(&call->target, p);
    const liana_axes axes = axes_of(call->options, liana_tensor_shape(p).rank);
    liana_tensor no_t = one_minus(t), no_p = one_minus(p);
    t = liana__times_rows(t, call->present);
    p = liana__times_rows(p, call->present);
    return (overlap){.both = liana_op_reduce_sum(liana_op_multiply(t, p), axes, true),
                     .only_true = liana_op_reduce_sum(liana_op_multiply(no_p, t), axes, true),
                     .only_said = liana_op_reduce_sum(liana_op_multiply(p, no_t), axes, true),
                     .truth = liana_op_reduce_sum(t, axes, true),
                     .said = liana_op_reduce_sum(p, axes, true)};
}

/* Dice 1945; Milletari et al. 2016, "V-Net": 1 - 2 |both| / (|true| + |said|). */
static liana_tensor dice(const liana_loss_call *call)
{
    const overlap found = find_overlap(call);
    liana_tensor whole = liana_op_add(found.truth, found.said);
    liana_tensor share =
        liana_op_divide(scaled(found.both, 2), liana_op_add(whole, liana__scalar_like(whole, EPSILON)));
    return spread(one_minus(share), call->output);
}

/* Salehi et al. 2017, "Tversky loss function for image segmentation using 3D fully convolutional deep networks". */
static liana_tensor tversky(const liana_loss_call *call)
{
    const overlap_options *options = call->options;
    const overlap found = find_overlap(call);
    liana_tensor misses = liana_op_add(scaled(found.only_true, options->alpha), scaled(found.only_said, options->beta));
    liana_tensor whole = liana_op_add(liana_op_add(found.both, misses), liana__scalar_like(misses, EPSILON));
    return spread(one_minus(liana_op_divide(found.both, whole)), call->output);
}

/* The elements of a mean stand for as many values as there are without the axes. */
liana_tensor liana__loss_summed(const liana__loss_choice *choice, const liana_loss_call *call, liana_tensor each)
{
    if (choice->loss == &liana__loss_circle && choice->reduction == LIANA__REDUCE_SUM) {
        return liana__circle_summed(call, each);
    }
    const bool is_overlap = choice->loss == &liana__loss_dice || choice->loss == &liana__loss_tversky;
    const liana_shape shape = liana_tensor_shape(call->output);
    if (!is_overlap || choice->reduction != LIANA__REDUCE_SUM || shape.rank == 0) return each;
    const liana_axes axes = axes_of(call->options, shape.rank);
    bool is_reduced[LIANA_MAX_RANK] = {false};
    for (int axis = 0; axes.count < 0 && axis < shape.rank; axis++) is_reduced[axis] = true;
    for (int64_t i = 0; i < axes.count; i++) {
        const int64_t axis = axes.values[i];
        if (axis >= 0 && axis < shape.rank) is_reduced[axis] = true;
    }
    double share = 1;
    for (int axis = 1; axis < shape.rank; axis++) {
        if (!is_reduced[axis]) share *= (double)shape.dims[axis];
        if (axis < shape.rank - 1) share /= (double)shape.dims[axis];
    }
    if (!is_reduced[0]) return scaled(each, share);
    if (!call->present.id) return scaled(each, share / (double)shape.dims[0]);
    liana_tensor count =
        liana_op_cast(liana_op_reduce_sum(call->present, LIANA_ALL_AXES, false), liana_tensor_dtype(each));
    return liana_op_divide(scaled(each, share), count);
}

const liana_loss_type liana__loss_dice = {
    LIANA_PART(LOSS, liana_loss_type, "dice", "1 - twice the overlap of output and target, over the sum of both.",
               .aliases = {"Dice"}, LIANA_PART_OPTIONS(overlap_options, dice_fields), .check = check),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = dice,
    .needs_whole_batch = needs_whole_batch,
};

const liana_loss_type liana__loss_tversky = {
    LIANA_PART(LOSS, liana_loss_type, "tversky", "The same, in which misses and false answers count differently.",
               .aliases = {"Tversky"}, LIANA_PART_OPTIONS(overlap_options, tversky_fields), .check = check),
    .targets = LIANA_TARGET_CLASSES | LIANA_TARGET_VALUES,
    .elements = tversky,
    .needs_whole_batch = needs_whole_batch,
};
