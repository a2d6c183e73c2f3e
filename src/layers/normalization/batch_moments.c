/* Mean and variance of each channel over the elements of a batch that count. */
#include "layers/normalization/batch_moments.h"

#include "ir/graph.h"
#include "ir/shape.h"

#include <liana/layers/normalization.h>

static liana_tensor scalar_like(liana_layer_call *call, liana_tensor x, double value)
{
    return liana_graph_scalar_at(call->here, x.graph, liana_tensor_dtype(x), value);
}

static liana_shape shape_of(const liana_layer_call *call)
{
    return liana_tensor_shape(call->inputs[0]);
}

static int64_t num_shards(const liana_layer_call *call)
{
    const liana_batch_normalization_options *chosen = call->options;
    return call->shards > 0 && !chosen->synchronized ? call->shards : 1;
}

/* ---- counts ---- */

/* 1 for each example that is there: [batch, 1] in the dtype of `like`. */
static liana_tensor present_rows(liana_layer_call *call, liana_tensor like)
{
    liana_tensor present = liana_op_reshape_at(call->here, call->present, liana_shape_of(shape_of(call).dims[0], 1));
    return liana_op_cast_at(call->here, present, liana_tensor_dtype(like));
}

/* [batch, n] summed over the examples of each shard: [shards, n]. */
static liana_tensor sum_shards(liana_layer_call *call, liana_tensor rows)
{
    const int64_t size = liana_tensor_shape(rows).dims[1];
    rows = liana_op_reshape_at(call->here, rows, liana_shape_of(num_shards(call), -1, size));
    return liana_op_reduce_sum_at(call->here, rows, LIANA_AXES(1), false);
}

/* The mask as 0 and 1, [batch, steps], in the dtype of x; or id 0. */
static liana_tensor mask_of(liana_layer_call *call)
{
    const liana_tensor mask = call->masks[0];
    return mask.id ? liana_op_cast_at(call->here, mask, liana_tensor_dtype(call->inputs[0])) : mask;
}

/* The elements of a channel in each example that count: [batch, 1], or with a mask along the channels [batch,
 * channels]. */
static liana_tensor count_rows(liana_layer_call *call, int64_t axis)
{
    const liana_shape shape = shape_of(call);
    double places = 1;
    for (int i = 1; i < shape.rank; i++) places *= i == axis ? 1 : (double)shape.dims[i];
    liana_tensor counts = mask_of(call);
    if (counts.id) {
        places /= axis == 1 ? 1 : (double)shape.dims[1];
        if (axis != 1) counts = liana_op_reduce_sum_at(call->here, counts, LIANA_AXES(1), true);
        counts = liana_op_multiply_at(call->here, counts, scalar_like(call, counts, places));
    } else {
        liana_tensor scalar = scalar_like(call, call->inputs[0], places);
        counts = liana_op_broadcast_to_at(call->here, scalar, liana_shape_of(shape.dims[0], 1));
    }
    return call->present.id ? liana_op_multiply_at(call->here, counts, present_rows(call, counts)) : counts;
}

/* A shard without any has the statistics 0. */
static liana_tensor at_least_one(liana_layer_call *call, liana_tensor counts)
{
    return liana_op_maximum_at(call->here, counts, scalar_like(call, counts, 1));
}

/* ---- moments ---- */

/* x, with 0 where the mask is false. */
static liana_tensor masked(liana_layer_call *call, liana_tensor x)
{
    if (!call->masks[0].id) return x;
    const liana_shape shape = liana_tensor_shape(call->masks[0]);
    liana_tensor mask =
        liana_op_reshape_at(call->here, call->masks[0], liana_shape_of(shape.dims[0], shape.dims[1], 1));
    return liana_op_select_at(call->here, mask, x, scalar_like(call, x, 0));
}

/* The sum of each channel in each example: [batch, channels]. */
static liana_tensor sum_places(liana_layer_call *call, liana_tensor x, int64_t axis)
{
    liana_axes places = {0};
    const int rank = liana_tensor_shape(x).rank;
    for (int i = 1; i < rank; i++) {
        if (i != axis) places.values[places.count++] = i;
    }
    return places.count ? liana_op_reduce_sum_at(call->here, x, places, false) : x;
}

/* The mean of each channel in each shard: [shards, channels]. First come the sums in each example. So x keeps its
 * shape, which a TPU may have to copy for another one, and missing examples are left out of small tensors. */
static liana_tensor mean_by_shard(liana_layer_call *call, liana_tensor x, int64_t axis, liana_tensor counts)
{
    liana_tensor sums = sum_places(call, masked(call, x), axis);
    if (call->present.id) sums = liana_op_multiply_at(call->here, sums, present_rows(call, sums));
    return liana_op_divide_at(call->here, sum_shards(call, sums), counts);
}

/* The shard's row of [shards, channels] for each example, with the channels along their axis and 1 along others:
 * [batch, 1, .., channels]; of one shard [1, 1, .., channels]. */
static liana_tensor row_of_shard(liana_layer_call *call, liana_tensor each, int64_t axis)
{
    const int64_t shards = num_shards(call), channels = liana_tensor_shape(each).dims[1];
    liana_shape shape = shape_of(call);
    if (shards > 1) {
        const int64_t size = shape.dims[0] / shards;
        each = liana_op_reshape_at(call->here, each, liana_shape_of(shards, 1, channels));
        each = liana_op_broadcast_to_at(call->here, each, liana_shape_of(shards, size, channels));
    } else {
        shape.dims[0] = 1;
    }
    for (int i = 1; i < shape.rank; i++) shape.dims[i] = i == axis ? channels : 1;
    return liana_op_reshape_at(call->here, each, shape);
}

/* Keras 2 runs images through TensorFlow's fused kernel, whose variance for the moving average is the unbiased one,
 * n / (n - 1) times the population's; other ranks, axes and inputs with masks keep the population's. So do all of
 * Keras 3. */
static bool is_unbiased(const liana_layer_call *call, int64_t axis)
{
    const liana_batch_normalization_options *chosen = call->options;
    return !chosen->population_variance && shape_of(call).rank == 4 && axis != 2;
}

liana_tensor liana__batch_moving_variance(liana_layer_call *call, liana_tensor variance, int64_t axis)
{
    const liana_shape shape = shape_of(call);
    const double count = (double)liana_shape_size(&shape) / (double)shape.dims[axis];
    if (!is_unbiased(call, axis) || count < 2) return variance;
    return liana_op_multiply_at(call->here, variance, scalar_like(call, variance, count / (count - 1)));
}

static liana_tensor moving_variance(liana_layer_call *call, const liana__batch_moments *moments)
{
    if (!is_unbiased(call, moments->axis)) return moments->variance;
    liana_tensor counts = at_least_one(call, moments->counts);
    liana_tensor less = liana_op_add_at(call->here, counts, scalar_like(call, counts, -1));
    liana_tensor factor = liana_op_divide_at(call->here, counts, at_least_one(call, less));
    return liana_op_multiply_at(call->here, moments->variance, factor);
}

/* The variance's gradient with regard to the mean is 0: elements add up to nothing around their mean. So it need not be
 * computed, which would be a pass over x. */
liana__batch_moments liana__batch_moments_of(liana_layer_call *call, int64_t axis)
{
    const liana_tensor x = call->inputs[0];
    const liana_shape shape = shape_of(call);
    if (call->masks[0].id && (shape.rank != 3 || liana_tensor_shape(call->masks[0]).rank != 2)) {
        const liana_shape mask = liana_tensor_shape(call->masks[0]);
        liana__graph_fail(x.graph, call->here, LIANA_INVALID_ARGUMENT,
                          "BatchNormalization: the mask of its input is %s, expected one axis less than the input's %s",
                          liana__shape_print(&mask).text, liana__shape_print(&shape).text);
        return (liana__batch_moments){.axis = axis};
    }
    liana__batch_moments made = {.axis = axis, .counts = sum_shards(call, count_rows(call, axis))};
    liana_tensor counts = at_least_one(call, made.counts);
    made.mean = mean_by_shard(call, x, axis, counts);
    made.fixed_mean = liana_op_stop_gradient_at(call->here, made.mean);
    made.centred = liana_op_subtract_at(call->here, x, row_of_shard(call, made.fixed_mean, axis));
    made.variance = mean_by_shard(call, liana_op_square_at(call->here, made.centred), axis, counts);
    made.moving_variance = moving_variance(call, &made);
    return made;
}

/* ---- normalisation ---- */

/* beta for each shard: [shards, channels]. The mean's gradient comes with beta's, since both need the same sum over x,
 * which then is made once. */
static liana_tensor shift_of(liana_layer_call *call, liana_tensor mean, liana_tensor factor, liana_tensor beta)
{
    liana_tensor fixed = liana_op_stop_gradient_at(call->here, factor);
    liana_tensor path = liana_op_negate_at(call->here, liana_op_multiply_at(call->here, mean, fixed));
    return liana_op_straight_through_at(call->here,
                                        liana_op_broadcast_to_at(call->here, beta, liana_tensor_shape(path)), path);
}

liana_tensor liana__batch_normalise(liana_layer_call *call, const liana__batch_moments *moments, liana_tensor gamma,
                                    liana_tensor beta, double epsilon)
{
    const liana_location here = call->here;
    liana_tensor variance = moments->variance;
    liana_tensor factor =
        liana_op_rsqrt_at(here, liana_op_add_at(here, variance, scalar_like(call, variance, epsilon)));
    factor = liana_op_multiply_at(here, factor, gamma);
    liana_tensor shift = shift_of(call, moments->mean, factor, beta);
    liana_tensor scaled = liana_op_multiply_at(here, moments->centred, row_of_shard(call, factor, moments->axis));
    return liana_op_add_at(here, scaled, row_of_shard(call, shift, moments->axis));
}

liana_tensor liana__batch_mean_of_shards(liana_layer_call *call, const liana__batch_moments *moments, liana_tensor each)
{
    const liana_location here = call->here;
    const liana_shape shape = liana_tensor_shape(each);
    if (shape.dims[0] == 1) return liana_op_reshape_at(here, each, liana_shape_of(shape.dims[1]));
    liana_tensor all = at_least_one(call, liana_op_reduce_sum_at(here, moments->counts, LIANA_AXES(0), false));
    liana_tensor weighted = liana_op_multiply_at(here, each, moments->counts);
    return liana_op_divide_at(here, liana_op_reduce_sum_at(here, weighted, LIANA_AXES(0), false), all);
}
