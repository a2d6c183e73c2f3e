/* BatchNormalization: normalises each channel by the statistics of the batch, or by their moving averages. */
#include "layers/model.h"
#include "layers/option_rows.h"

#include <liana/layers/normalization.h>

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_batch_normalization_options, momentum, FLOAT, .default_text = "0.99", .minimum = 0,
                     .maximum = 1, .doc = "share of the old moving average that each update keeps"),
    LIANA_OPTION_ROW(liana_batch_normalization_options, epsilon, FLOAT, .default_text = "0.001", .minimum = 0,
                     .maximum = 1, .doc = "added to the variance"),
    LIANA_OPTION_ROW(liana_batch_normalization_options, center, BOOL, .default_text = "true",
                     .doc = "whether beta is added"),
    LIANA_OPTION_ROW(liana_batch_normalization_options, scale, BOOL, .default_text = "true",
                     .doc = "whether the result is multiplied by gamma"),
    LIANA__INITIALIZER_ROW(liana_batch_normalization_options, beta_initializer, "zeros"),
    LIANA__INITIALIZER_ROW(liana_batch_normalization_options, gamma_initializer, "ones"),
    LIANA__INITIALIZER_ROW(liana_batch_normalization_options, moving_mean_initializer, "zeros"),
    LIANA__INITIALIZER_ROW(liana_batch_normalization_options, moving_variance_initializer, "ones"),
    LIANA__REGULARIZER_ROW(liana_batch_normalization_options, beta_regularizer),
    LIANA__REGULARIZER_ROW(liana_batch_normalization_options, gamma_regularizer),
    LIANA__CONSTRAINT_ROW(liana_batch_normalization_options, beta_constraint),
    LIANA__CONSTRAINT_ROW(liana_batch_normalization_options, gamma_constraint),
    LIANA_OPTION_ROW(liana_batch_normalization_options, population_variance, BOOL, .default_text = "false",
                     .doc = "whether the moving variance of images is the population's, as in Keras 3; else it is "
                            "n / (n - 1) times that, as in Keras 2"),
};

/* Beside the layer, since Keras has no such option. */
static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    (void)arena;
    (void)options;
    liana__value_remove(config, LIANA__POPULATION_VARIANCE);
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_batch_normalization_options *chosen = build->options;
    const liana_shape *x = &build->inputs[0];
    if (x->rank < 2) return liana_layer_refuse(build, 0, "[batch, ..., channels]");
    liana_shape shape = liana_shape_of(x->dims[x->rank - 1]);
    if (chosen->scale) liana_layer_add_weight(build, "gamma", shape, chosen->gamma_initializer, true);
    if (chosen->center) liana_layer_add_weight(build, "beta", shape, chosen->beta_initializer, true);
    liana_layer_add_weight(build, "moving_mean", shape, chosen->moving_mean_initializer, false);
    liana_layer_add_weight(build, "moving_variance", shape, chosen->moving_variance_initializer, false);
    return build->status;
}

static liana_tensor constant_vector(liana_layer_call *call, int64_t channels, double value)
{
    liana_graph *graph = call->inputs[0].graph;
    liana_tensor scalar = liana_graph_scalar_at(call->here, graph, liana_tensor_dtype(call->inputs[0]), value);
    return liana_op_broadcast_to_at(call->here, scalar, liana_shape_of(channels));
}

/* Row `row` of statistics [2, channels]. */
static liana_tensor statistic_row(liana_layer_call *call, liana_tensor statistics, int64_t row)
{
    int64_t channels = liana_tensor_shape(statistics).dims[1];
    liana_tensor slice = liana_op_slice_at(call->here, statistics, (const int64_t[]){row, 0},
                                           (const int64_t[]){row + 1, channels}, NULL);
    return liana_op_reshape_at(call->here, slice, liana_shape_of(channels));
}

/* 1 for each example that is there: [batch, 1] in the dtype of `like`. */
static liana_tensor present_rows(liana_layer_call *call, liana_tensor like)
{
    const int64_t batch = liana_tensor_shape(call->inputs[0]).dims[0];
    liana_tensor present = liana_op_reshape_at(call->here, call->present, liana_shape_of(batch, 1));
    return liana_op_cast_at(call->here, present, liana_tensor_dtype(like));
}

/* The elements of a channel in one example. */
static double places_of(const liana_shape *shape)
{
    double places = 1;
    for (int i = 1; i + 1 < shape->rank; i++) places *= (double)shape->dims[i];
    return places;
}

static int64_t num_shards(const liana_layer_call *call)
{
    return call->shards > 0 ? call->shards : 1;
}

/* The examples of each shard that are there, f32 [shards, 1]. */
static liana_tensor count_examples(liana_layer_call *call)
{
    int64_t shards = num_shards(call), size = liana_tensor_shape(call->inputs[0]).dims[0] / shards;
    liana_tensor present = liana_op_reshape_at(call->here, call->present, liana_shape_of(shards, size));
    return liana_op_reduce_sum_at(call->here, present, LIANA_AXES(1), true);
}

/* The elements of a channel in the examples of each shard that are there, [shards, 1] in the dtype of `like`. In a
 * shard without examples it is 1, so that its statistics are 0. */
static liana_tensor count_present(liana_layer_call *call, liana_tensor like)
{
    liana_shape shape = liana_tensor_shape(call->inputs[0]);
    liana_dtype dtype = liana_tensor_dtype(like);
    liana_tensor places = liana_graph_scalar_at(call->here, like.graph, dtype, places_of(&shape));
    liana_tensor one = liana_graph_scalar_at(call->here, like.graph, dtype, 1);
    liana_tensor examples = liana_op_cast_at(call->here, count_examples(call), dtype);
    return liana_op_multiply_at(call->here, liana_op_maximum_at(call->here, examples, one), places);
}

/* The sum of each channel in each example: [batch, channels]. */
static liana_tensor sum_places(liana_layer_call *call, liana_tensor x)
{
    liana_axes places = {0};
    const int rank = liana_tensor_shape(x).rank;
    for (int axis = 1; axis + 1 < rank; axis++) places.values[places.count++] = axis;
    return places.count ? liana_op_reduce_sum_at(call->here, x, places, false) : x;
}

/* The mean of each channel over the examples of each shard that are there: [shards, channels]. First come the sums in
 * each example. So x keeps its shape, which a TPU may have to copy for another one, and only small tensors are
 * masked. */
static liana_tensor mean_by_leaf(liana_layer_call *call, liana_tensor x, liana_tensor count)
{
    liana_tensor sums = sum_places(call, x);
    sums = liana_op_multiply_at(call->here, sums, present_rows(call, sums));
    const int64_t channels = liana_tensor_shape(sums).dims[1];
    sums = liana_op_reshape_at(call->here, sums, liana_shape_of(num_shards(call), -1, channels));
    return liana_op_divide_at(call->here, liana_op_reduce_sum_at(call->here, sums, LIANA_AXES(1), false), count);
}

/* The shard's row of [shards, channels] for each example: [batch, 1, ..., channels]; of one shard [1, 1, ...,
 * channels]. */
static liana_tensor row_of_leaf(liana_layer_call *call, liana_tensor each)
{
    const int64_t shards = num_shards(call), channels = liana_tensor_shape(each).dims[1];
    liana_shape shape = liana_tensor_shape(call->inputs[0]);
    if (shards > 1) {
        const int64_t size = shape.dims[0] / shards;
        each = liana_op_reshape_at(call->here, each, liana_shape_of(shards, 1, channels));
        each = liana_op_broadcast_to_at(call->here, each, liana_shape_of(shards, size, channels));
    } else {
        shape.dims[0] = 1;
    }
    for (int axis = 1; axis + 1 < shape.rank; axis++) shape.dims[axis] = 1;
    return liana_op_reshape_at(call->here, each, shape);
}

/* Of the examples that are there, by shard. */
typedef struct present_statistics {
    liana_tensor mean, variance; /* [shards, channels] */
    liana_tensor fixed_mean;     /* `mean`, a constant for gradients */
    liana_tensor centred;        /* x without it */
} present_statistics;

/* The variance's gradient with regard to the mean is 0: elements add up to nothing around their mean. So it need not be
 * computed, which would be a pass over x. */
static present_statistics measure_present(liana_layer_call *call)
{
    liana_tensor x = call->inputs[0], count = count_present(call, x);
    present_statistics made = {.mean = mean_by_leaf(call, x, count)};
    made.fixed_mean = liana_op_stop_gradient_at(call->here, made.mean);
    made.centred = liana_op_subtract_at(call->here, x, row_of_leaf(call, made.fixed_mean));
    made.variance = mean_by_leaf(call, liana_op_square_at(call->here, made.centred), count);
    return made;
}

/* beta for each shard: [shards, channels]. The mean's gradient comes with beta's, since both need the same sum over x,
 * which then is made once. */
static liana_tensor shift_of(liana_layer_call *call, liana_tensor mean, liana_tensor factor, liana_tensor beta)
{
    liana_tensor fixed = liana_op_stop_gradient_at(call->here, factor);
    liana_tensor path = liana_op_negate_at(call->here, liana_op_multiply_at(call->here, mean, fixed));
    return liana_op_straight_through_at(call->here,
                                        liana_op_broadcast_to_at(call->here, beta, liana_tensor_shape(path)), path);
}

/* gamma (x - mean) / sqrt(variance + epsilon) + beta, where mean and variance leave missing examples out. */
static liana_tensor normalise_present(liana_layer_call *call, const present_statistics *statistics, liana_tensor gamma,
                                      liana_tensor beta, double epsilon)
{
    liana_tensor variance = statistics->variance;
    liana_tensor small = liana_graph_scalar_at(call->here, variance.graph, liana_tensor_dtype(variance), epsilon);
    liana_tensor factor = liana_op_rsqrt_at(call->here, liana_op_add_at(call->here, variance, small));
    factor = liana_op_multiply_at(call->here, factor, gamma);
    liana_tensor shift = shift_of(call, statistics->mean, factor, beta);
    liana_tensor scaled = liana_op_multiply_at(call->here, statistics->centred, row_of_leaf(call, factor));
    return liana_op_add_at(call->here, scaled, row_of_leaf(call, shift));
}

/* Keras 2 runs images through TensorFlow's fused kernel, whose variance for the moving average is the unbiased one,
 * n / (n - 1) times the population's; other ranks keep the population's. So do all of Keras 3. */
static liana_tensor unbiased_variance(liana_layer_call *call, liana_tensor variance)
{
    liana_shape shape = liana_tensor_shape(call->inputs[0]);
    double count = (double)(shape.dims[0] * shape.dims[1] * shape.dims[2]);
    const liana_batch_normalization_options *chosen = call->options;
    if (shape.rank != 4 || count < 2 || chosen->population_variance) return variance;
    liana_tensor factor =
        liana_graph_scalar_at(call->here, variance.graph, liana_tensor_dtype(variance), count / (count - 1));
    if (call->present.id) {
        liana_tensor one = liana_graph_scalar_at(call->here, variance.graph, liana_tensor_dtype(variance), 1);
        liana_tensor there = count_present(call, variance);
        liana_tensor less = liana_op_maximum_at(call->here, liana_op_subtract_at(call->here, there, one), one);
        factor = liana_op_divide_at(call->here, there, less);
    }
    return liana_op_multiply_at(call->here, variance, factor);
}

/* Inference normalises with the variance over all examples. The average of the shards' variances lacks the spread of
 * their means. For shards of 16 images that is several percent, and the error grows from layer to layer. So the moving
 * variance uses the second moment about the moving mean. */
static void register_updates(liana_layer_call *call, liana_tensor shard_mean, liana_tensor moment, size_t mean,
                             size_t variance)
{
    const liana_batch_normalization_options *chosen = call->options;
    call->updates[0] = (liana_layer_update){mean, shard_mean, chosen->momentum, false, 0};
    call->updates[1] = (liana_layer_update){variance, moment, chosen->momentum, true, mean};
    call->num_updates = 2;
}

/* [channels], or a row of them for each shard. */
static liana_tensor second_moment(liana_layer_call *call, liana_tensor mean, liana_tensor variance, size_t weight)
{
    liana_tensor distance = liana_op_subtract_at(call->here, mean, call->weights[weight]);
    return liana_op_add_at(call->here, unbiased_variance(call, variance), liana_op_square_at(call->here, distance));
}

/* The mean over shards, weighted by their examples: [channels]. */
static liana_tensor mean_of_shards(liana_layer_call *call, liana_tensor each)
{
    liana_shape shape = liana_tensor_shape(each);
    if (shape.dims[0] == 1) return liana_op_reshape_at(call->here, each, liana_shape_of(shape.dims[1]));
    liana_tensor counts = liana_op_cast_at(call->here, count_examples(call), liana_tensor_dtype(each));
    liana_tensor one = liana_graph_scalar_at(call->here, each.graph, liana_tensor_dtype(each), 1);
    liana_tensor all = liana_op_reduce_sum_at(call->here, counts, LIANA_ALL_AXES, false);
    liana_tensor sum =
        liana_op_reduce_sum_at(call->here, liana_op_multiply_at(call->here, each, counts), LIANA_AXES(0), false);
    return liana_op_divide_at(call->here, sum, liana_op_maximum_at(call->here, all, one));
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_batch_normalization_options *chosen = call->options;
    liana_tensor x = call->inputs[0];
    liana_shape shape = liana_tensor_shape(x);
    int64_t channels = shape.dims[shape.rank - 1];
    size_t next = 0;
    liana_tensor gamma = chosen->scale ? call->weights[next++] : constant_vector(call, channels, 1);
    liana_tensor beta = chosen->center ? call->weights[next++] : constant_vector(call, channels, 0);
    size_t mean = next, variance = next + 1;
    if (!call->training || !call->trainable) {
        return liana_op_batch_norm_inference_at(call->here, x, gamma, beta, call->weights[mean],
                                                call->weights[variance], chosen->epsilon);
    }
    if (call->present.id) {
        present_statistics found = measure_present(call);
        liana_tensor moment = second_moment(call, found.mean, found.variance, mean);
        register_updates(call, mean_of_shards(call, found.mean), mean_of_shards(call, moment), mean, variance);
        return normalise_present(call, &found, gamma, beta, chosen->epsilon);
    }
    liana_tensor statistics = liana_op_batch_norm_statistics_at(call->here, x);
    liana_tensor shard_mean = statistic_row(call, statistics, 0);
    liana_tensor moment = second_moment(call, shard_mean, statistic_row(call, statistics, 1), mean);
    register_updates(call, shard_mean, moment, mean, variance);
    return liana_op_batch_norm_training_at(call->here, x, gamma, beta, statistics, chosen->epsilon);
}

const liana_layer_type liana__layer_batch_normalization = {
    LIANA_PART(
        LAYER, liana_layer_type, "BatchNormalization",
        "normalises each channel to mean 0 and variance 1, then gamma x + beta; uses moving averages outside training",
        LIANA_PART_OPTIONS(liana_batch_normalization_options, rows)),
    LIANA__INPUTS(1, 1),
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = declare_weights,
    .call = call_layer,
    .to_keras = to_keras,
};

liana_status liana_model_set_batch_norm_momentum(liana_model *model, double momentum)
{
    if (!model) return LIANA_INVALID_ARGUMENT;
    if (!(momentum >= 0 && momentum <= 1)) {
        return liana__fail(&model->context->error, LIANA_INVALID_ARGUMENT,
                           "found the momentum %g, expected a number from 0 to 1", momentum);
    }
    for (size_t i = 0; i < model->num_layers; i++) {
        if (model->layers[i].type != &liana__layer_batch_normalization) continue;
        liana_batch_normalization_options *options = model->layers[i].options;
        options->momentum = momentum;
    }
    model->structure_version++;
    return LIANA_OK;
}
