/* BatchNormalization: normalises each channel by the statistics of the batch, or by their moving averages. */
#include "layers/model.h"
#include "layers/normalization/batch_moments.h"

#include <liana/layers/normalization.h>
#include <stdio.h>

/* Of the three numbers from renorm_rmax on. */
typedef struct clipping_options {
    double rmax, rmin, dmax;
} clipping_options;
_Static_assert(offsetof(liana_batch_normalization_options, renorm_rmin) ==
                   offsetof(liana_batch_normalization_options, renorm_rmax) + offsetof(clipping_options, rmin),
               "renorm_clipping is read into three members");

static const liana_option clipping_rows[] = {
    LIANA_OPTION_ROW(clipping_options, rmax, FLOAT, .default_text = "null", .doc = "largest factor of the deviation"),
    LIANA_OPTION_ROW(clipping_options, rmin, FLOAT, .default_text = "null", .doc = "smallest factor of the deviation"),
    LIANA_OPTION_ROW(clipping_options, dmax, FLOAT, .default_text = "null", .minimum = 0, .maximum = INFINITY,
                     .doc = "largest shift of the mean, in deviations"),
};
static const liana_options clipping_table = LIANA__FIELD_TABLE("renorm_clipping", clipping_options, clipping_rows);

static const liana_option rows[] = {
    LIANA__AXIS_ROW(liana_batch_normalization_options),
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
    LIANA_OPTION_ROW(liana_batch_normalization_options, renorm, BOOL, .default_text = "false",
                     .doc = "batch renormalisation: training normalises by averages that follow fast"),
    {.name = "renorm_clipping",
     .kind = LIANA_OPTION_SECTION,
     .offset = offsetof(liana_batch_normalization_options, renorm_rmax),
     .section = &clipping_table,
     .doc = "limits of its corrections: rmax, rmin, dmax"},
    LIANA_OPTION_ROW(liana_batch_normalization_options, renorm_momentum, FLOAT, .default_text = "0.99", .minimum = 0,
                     .maximum = 1, .doc = "share of its averages that each update keeps"),
    LIANA_OPTION_ROW(liana_batch_normalization_options, synchronized, BOOL, .default_text = "false",
                     .doc = "whether the statistics are those of the whole batch, which must then be one shard or one "
                            "program of a device"),
    LIANA_OPTION_ROW(liana_batch_normalization_options, population_variance, BOOL, .default_text = "true",
                     .doc = "whether the moving variance of images is the population's, as in Keras 3; else it is "
                            "n / (n - 1) times that, as in Keras 2"),
};

/* Beside the layer, since Keras has no such option. */
static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_batch_normalization_options *chosen = options;
    const bool is_limited = !isnan(chosen->renorm_rmax) || !isnan(chosen->renorm_rmin) || !isnan(chosen->renorm_dmax);
    liana__value_remove(config, LIANA__POPULATION_VARIANCE);
    if (!chosen->synchronized) liana__value_remove(config, "synchronized"); /* older Keras does not know it */
    if (!is_limited) liana__value_set(arena, config, "renorm_clipping", liana__value_null(arena));
    if (chosen->renorm) return;
    liana__value_remove(config, "renorm");
    liana__value_remove(config, "renorm_clipping");
    liana__value_remove(config, "renorm_momentum");
}

/* Keras 2 writes the axis as a list of one. */
static void from_keras(liana__arena *arena, const liana__value *config, liana__value *options)
{
    const liana__value *axis = liana__value_get(config, "axis");
    if (!axis || axis->kind != LIANA__VALUE_LIST || axis->count != 1) return;
    liana__value_set(arena, options, "axis", liana__value_copy(arena, axis->items[0]));
}

/* The initialiser of a deviation, from that of a variance: the root of a constant. Others draw as they are. */
static const char *deviation_initializer(const char *variance, char text[60])
{
    double value;
    if (sscanf(variance, "constant(%lf)", &value) != 1 && sscanf(variance, "constant(value=%lf)", &value) != 1) {
        return variance;
    }
    snprintf(text, 60, "constant(%.17g)", sqrt(value > 0 ? value : 0));
    return text;
}

static liana_status check_options(liana_check *check)
{
    const liana_batch_normalization_options *chosen = check->options;
    if (chosen->axis == 0) {
        return liana_option_refuse(check, "axis", "found 0, the batch, expected the axis of the channels");
    }
    if (chosen->renorm && chosen->renorm_rmax < chosen->renorm_rmin) {
        return liana_option_refuse(check, "renorm_clipping", "found rmax %g below rmin %g", chosen->renorm_rmax,
                                   chosen->renorm_rmin);
    }
    return LIANA_OK;
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_batch_normalization_options *chosen = build->options;
    const liana_shape *x = &build->inputs[0];
    if (x->rank < 2) return liana_layer_refuse(build, 0, "[batch, ..., channels]");
    LIANA_TRY(liana__build_axes(build, &chosen->axis, 1));
    liana_shape shape = liana_shape_of(x->dims[liana__axis_of(chosen->axis, x->rank)]);
    if (chosen->scale) liana_layer_add_weight(build, "gamma", shape, chosen->gamma_initializer, true);
    if (chosen->center) liana_layer_add_weight(build, "beta", shape, chosen->beta_initializer, true);
    liana_layer_add_weight(build, "moving_mean", shape, chosen->moving_mean_initializer, false);
    liana_layer_add_weight(build, "moving_variance", shape, chosen->moving_variance_initializer, false);
    char text[60];
    if (!chosen->renorm) return build->status;
    const char *deviation = deviation_initializer(chosen->moving_variance_initializer, text);
    liana_layer_add_weight(build, "moving_stddev", shape, deviation, false);
    liana_layer_add_weight(build, "renorm_mean", shape, chosen->moving_mean_initializer, false);
    liana_layer_add_weight(build, "renorm_stddev", shape, deviation, false);
    return build->status;
}

/* Row `row` of statistics [2, channels]. */
static liana_tensor statistic_row(liana_layer_call *call, liana_tensor statistics, int64_t row)
{
    int64_t channels = liana_tensor_shape(statistics).dims[1];
    liana_tensor slice = liana_op_slice_at(call->here, statistics, (const int64_t[]){row, 0},
                                           (const int64_t[]){row + 1, channels}, NULL);
    return liana_op_reshape_at(call->here, slice, liana_shape_of(channels));
}

static liana_tensor scalar_like(liana_layer_call *call, liana_tensor x, double value)
{
    return liana_graph_scalar_at(call->here, x.graph, liana_tensor_dtype(x), value);
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
    return liana_op_add_at(call->here, variance, liana_op_square_at(call->here, distance));
}

/* The places of a call's tensors: the axis of the channels, and the weights. */
typedef struct places {
    int64_t axis;
    liana_tensor gamma, beta; /* [channels] */
    size_t mean, variance;    /* weights */
} places;

static places find_places(liana_layer_call *call)
{
    const liana_batch_normalization_options *chosen = call->options;
    const liana_tensor x = call->inputs[0];
    const liana_shape shape = liana_tensor_shape(x);
    places at = {.axis = liana__axis_of(chosen->axis, shape.rank)};
    const int64_t channels = shape.dims[at.axis];
    size_t next = 0;
    at.gamma = chosen->scale ? call->weights[next++] : liana__constant_along(call->here, x, channels, 1);
    at.beta = chosen->center ? call->weights[next++] : liana__constant_along(call->here, x, channels, 0);
    at.mean = next;
    at.variance = next + 1;
    return at;
}

static liana_tensor infer(liana_layer_call *call, const places *at)
{
    const liana_batch_normalization_options *chosen = call->options;
    const liana_location here = call->here;
    const liana_tensor x = call->inputs[0], mean = call->weights[at->mean], variance = call->weights[at->variance];
    if (at->axis == liana_tensor_shape(x).rank - 1) {
        return liana_op_batch_norm_inference_at(here, x, at->gamma, at->beta, mean, variance, chosen->epsilon);
    }
    const liana_axes axes = LIANA_AXES(at->axis);
    liana_tensor factor = liana_op_add_at(here, variance, scalar_like(call, variance, chosen->epsilon));
    factor = liana_op_multiply_at(here, at->gamma, liana_op_rsqrt_at(here, factor));
    liana_tensor centred = liana_op_subtract_at(here, x, liana__along_axes(here, mean, x, &axes));
    liana_tensor scaled = liana_op_multiply_at(here, centred, liana__along_axes(here, factor, x, &axes));
    return liana_op_add_at(here, scaled, liana__along_axes(here, at->beta, x, &axes));
}

/* ---- batch renormalisation ---- */

static void add_average(liana_layer_call *call, size_t weight, liana_tensor statistic, double momentum)
{
    call->updates[call->num_updates++] = (liana_layer_update){weight, statistic, momentum, false, 0};
}

/* The moving variance is made of the moving deviation: the new one, since it is no average. */
static void update_deviations(liana_layer_call *call, const places *at, liana_tensor mean, liana_tensor deviation)
{
    const liana_batch_normalization_options *chosen = call->options;
    const liana_location here = call->here;
    const size_t moving = at->variance + 1, renorm_mean = moving + 1, renorm_deviation = moving + 2;
    liana_tensor old =
        liana_op_multiply_at(here, call->weights[moving], scalar_like(call, deviation, chosen->momentum));
    liana_tensor share = liana_op_multiply_at(here, deviation, scalar_like(call, deviation, 1 - chosen->momentum));
    liana_tensor square = liana_op_square_at(here, liana_op_add_at(here, old, share));
    liana_tensor variance = liana_op_subtract_at(here, square, scalar_like(call, deviation, chosen->epsilon));
    add_average(call, at->mean, mean, chosen->momentum);
    add_average(call, at->variance, liana_op_relu_at(here, variance), 0);
    add_average(call, moving, deviation, chosen->momentum);
    add_average(call, renorm_mean, mean, chosen->renorm_momentum);
    add_average(call, renorm_deviation, deviation, chosen->renorm_momentum);
}

static liana_tensor limited(liana_layer_call *call, liana_tensor x, double low, double high)
{
    if (!isnan(low)) x = liana_op_maximum_at(call->here, x, scalar_like(call, x, low));
    return isnan(high) ? x : liana_op_minimum_at(call->here, x, scalar_like(call, x, high));
}

/* Ioffe 2017: ((x - mean) / deviation r + d) gamma + beta, where r and d are constants for gradients. */
static liana_tensor renormalise(liana_layer_call *call, const places *at, const liana__batch_moments *found)
{
    const liana_batch_normalization_options *chosen = call->options;
    const liana_location here = call->here;
    const liana_tensor renorm_mean = call->weights[at->variance + 2],
                       renorm_deviation = call->weights[at->variance + 3];
    liana_tensor fixed = liana_op_stop_gradient_at(here, found->variance);
    liana_tensor deviation =
        liana_op_sqrt_at(here, liana_op_add_at(here, fixed, scalar_like(call, fixed, chosen->epsilon)));
    liana_tensor known = limited(call, renorm_deviation, sqrt(chosen->epsilon), NAN);
    liana_tensor r =
        limited(call, liana_op_divide_at(here, deviation, known), chosen->renorm_rmin, chosen->renorm_rmax);
    liana_tensor d = liana_op_divide_at(here, liana_op_subtract_at(here, found->fixed_mean, renorm_mean), known);
    d = limited(call, d, -chosen->renorm_dmax, chosen->renorm_dmax);
    update_deviations(call, at, liana__batch_mean_of_shards(call, found, found->fixed_mean),
                      liana__batch_mean_of_shards(call, found, deviation));
    liana_tensor beta = liana_op_add_at(here, liana_op_multiply_at(here, d, at->gamma), at->beta);
    return liana__batch_normalise(call, found, liana_op_multiply_at(here, r, at->gamma), beta, chosen->epsilon);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_batch_normalization_options *chosen = call->options;
    const liana_tensor x = call->inputs[0];
    const liana_shape shape = liana_tensor_shape(x);
    const places at = find_places(call);
    if (!call->training || !call->trainable) return infer(call, &at);
    if (chosen->renorm || call->present.id || call->masks[0].id || at.axis != shape.rank - 1) {
        const liana__batch_moments found = liana__batch_moments_of(call, at.axis);
        if (chosen->renorm) return renormalise(call, &at, &found);
        liana_tensor moment = second_moment(call, found.mean, found.moving_variance, at.mean);
        register_updates(call, liana__batch_mean_of_shards(call, &found, found.mean),
                         liana__batch_mean_of_shards(call, &found, moment), at.mean, at.variance);
        return liana__batch_normalise(call, &found, at.gamma, at.beta, chosen->epsilon);
    }
    liana_tensor statistics = liana_op_batch_norm_statistics_at(call->here, x);
    liana_tensor shard_mean = statistic_row(call, statistics, 0), variance = statistic_row(call, statistics, 1);
    liana_tensor moment =
        second_moment(call, shard_mean, liana__batch_moving_variance(call, variance, at.axis), at.mean);
    register_updates(call, shard_mean, moment, at.mean, at.variance);
    return liana_op_batch_norm_training_at(call->here, x, at.gamma, at.beta, statistics, chosen->epsilon);
}

static const char *find_whole_batch(const void *given, bool trainable)
{
    const liana_batch_normalization_options *options = given;
    return trainable && options->synchronized ? "synchronized statistics" : NULL;
}

const liana_layer_type liana__layer_batch_normalization = {
    LIANA_PART(
        LAYER, liana_layer_type, "BatchNormalization",
        "normalises each channel to mean 0 and variance 1, then gamma x + beta; uses moving averages outside training",
        LIANA_PART_OPTIONS(liana_batch_normalization_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .reads_training = true,
    .whole_batch = find_whole_batch,
    .masking = LIANA_MASKING_KEPT,
    .weights = declare_weights,
    .call = call_layer,
    .from_keras = from_keras,
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
