/* UpSampling1D to 3D: more cells along each axis, repeated or interpolated. */
#include "layers/convolution/convolution.h"
#include "layers/reshaping/interpolate.h"

/* Each cell `times` times along an axis. */
static liana_tensor repeat(liana_layer_call *call, liana_tensor x, int axis, int64_t times)
{
    liana_shape shape = liana_tensor_shape(x), wide = shape;
    if (times == 1) return x;
    for (int i = shape.rank; i > axis + 1; i--) wide.dims[i] = shape.dims[i - 1];
    wide.rank++;
    wide.dims[axis + 1] = 1;
    x = liana_op_reshape_at(call->here, x, wide);
    wide.dims[axis + 1] = times;
    x = liana_op_broadcast_to_at(call->here, x, wide);
    if (!x.id) return x; /* too large */
    shape.dims[axis] *= times;
    return liana_op_reshape_at(call->here, x, shape);
}

static liana_tensor repeat_all(liana_layer_call *call, const int64_t *times, int axes)
{
    liana_tensor x = call->inputs[0];
    for (int i = axes - 1; i >= 0; i--) x = repeat(call, x, 1 + i, times[i]);
    return x;
}

static const liana_option rows_1[] = {
    LIANA__COUNT_ROW(liana_up_sampling1d_options, size, .default_text = "2", .doc = "how often each step is repeated"),
};
static const liana_option rows_2[] = {
    LIANA__PAIR_ROW(liana_up_sampling2d_options, size, .default_text = "2", .doc = "factors of height and width"),
    LIANA_OPTION_ROW(liana_up_sampling2d_options, interpolation, ENUM, .default_text = "nearest",
                     .names = liana__interpolation_names, .doc = "how cells between those of the input are found"),
};
static const liana_option rows_3[] = {
    LIANA__AXES_ROW_3(liana_up_sampling3d_options, size, .minimum = 1, .default_text = "2",
                      .doc = "how often each cell is repeated along each axis"),
};

static liana_status weights_1(liana_layer_build *build)
{
    return liana__build_spatial(build, 1);
}

static liana_status weights_3(liana_layer_build *build)
{
    return liana__build_spatial(build, 3);
}

static liana_tensor call_1(liana_layer_call *call)
{
    return repeat_all(call, &((const liana_up_sampling1d_options *)call->options)->size, 1);
}

static liana_tensor call_2(liana_layer_call *call)
{
    const liana_up_sampling2d_options *chosen = call->options;
    if (chosen->interpolation == LIANA_NEAREST) return repeat_all(call, chosen->size, 2);
    liana_tensor x = call->inputs[0];
    const liana_shape shape = liana_tensor_shape(x);
    for (int i = 0; i < 2; i++) {
        x = liana__interpolate(call->here, x, 1 + i, shape.dims[1 + i] * chosen->size[i], chosen->interpolation, false);
    }
    return x;
}

static liana_tensor call_3(liana_layer_call *call)
{
    return repeat_all(call, ((const liana_up_sampling3d_options *)call->options)->size, 3);
}

const liana_layer_type liana__layer_up_sampling1d = {
    LIANA_PART(LAYER, liana_layer_type, "UpSampling1D", "repeats each step of the sequence",
               LIANA_PART_OPTIONS(liana_up_sampling1d_options, rows_1)),
    LIANA__INPUTS(1, 1),
    .weights = weights_1,
    .call = call_1,
};

const liana_layer_type liana__layer_up_sampling2d = {
    LIANA_PART(LAYER, liana_layer_type, "UpSampling2D", "enlarges the image by whole factors",
               LIANA_PART_OPTIONS(liana_up_sampling2d_options, rows_2)),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .weights = liana__build_images,
    .call = call_2,
};

const liana_layer_type liana__layer_up_sampling3d = {
    LIANA_PART(LAYER, liana_layer_type, "UpSampling3D", "repeats each cell of the volume",
               LIANA_PART_OPTIONS(liana_up_sampling3d_options, rows_3)),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .weights = weights_3,
    .call = call_3,
};
