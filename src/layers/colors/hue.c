/* Hue and saturation: images of 3 channels, red, green and blue, as hue, saturation and value (Smith 1978), and back. */
#include "layers/colors/colors.h"

#include "ir/graph.h"

/* Each [batch, height, width, 1]. */
typedef struct hexcone {
    liana_tensor hue, saturation, value;
} hexcone;

typedef const liana_layer_call *caller;

static liana_tensor channel(caller call, liana_tensor x, int64_t index)
{
    const liana_shape shape = liana_tensor_shape(x);
    const int64_t start[] = {0, 0, 0, index}, limit[] = {shape.dims[0], shape.dims[1], shape.dims[2], index + 1};
    return liana_op_slice_at(call->here, x, start, limit, NULL);
}

static liana_tensor subtract(caller call, liana_tensor a, liana_tensor b)
{
    return liana_op_subtract_at(call->here, a, b);
}

static liana_tensor multiply(caller call, liana_tensor a, liana_tensor b)
{
    return liana_op_multiply_at(call->here, a, b);
}

/* The hue is 0 to 1 from red by green and blue; that of grey is 0, and so is the saturation of black. */
static hexcone to_hexcone(caller call, liana_tensor x)
{
    const liana_tensor zero = liana__image_number(call, x, 0), one = liana__image_number(call, x, 1);
    const liana_tensor r = channel(call, x, 0), g = channel(call, x, 1), b = channel(call, x, 2);
    const liana_tensor most = liana_op_maximum_at(call->here, liana_op_maximum_at(call->here, r, g), b);
    const liana_tensor least = liana_op_minimum_at(call->here, liana_op_minimum_at(call->here, r, g), b);
    const liana_tensor width = subtract(call, most, least);
    const liana_tensor is_lit = liana_op_greater_at(call->here, most, zero);
    const liana_tensor is_gray = liana_op_less_equal_at(call->here, width, zero);
    const liana_tensor divisor = liana_op_select_at(call->here, is_lit, most, one);
    const liana_tensor saturation =
        liana_op_select_at(call->here, is_lit, liana_op_divide_at(call->here, width, divisor), zero);
    const liana_tensor sixths = liana__color_multiply(call, liana_op_select_at(call->here, is_gray, one, width), 6);
    const liana_tensor unit = liana_op_divide_at(call->here, one, sixths);
    const liana_tensor from_red = multiply(call, unit, subtract(call, g, b));
    const liana_tensor from_green = liana__color_add(call, multiply(call, unit, subtract(call, b, r)), 2.0 / 6);
    const liana_tensor from_blue = liana__color_add(call, multiply(call, unit, subtract(call, r, g)), 4.0 / 6);
    liana_tensor hue = liana_op_select_at(call->here, liana_op_equal_at(call->here, g, most), from_green, from_blue);
    hue = liana_op_select_at(call->here, liana_op_equal_at(call->here, r, most), from_red, hue);
    hue = liana_op_select_at(call->here, is_gray, zero, hue);
    const liana_tensor turned = liana__color_add(call, hue, 1);
    hue = liana_op_select_at(call->here, liana_op_less_at(call->here, hue, zero), turned, hue);
    return (hexcone){hue, saturation, most};
}

/* A channel is value * (1 - saturation + saturation * share), with a share that is 1 near the channel's hue: sign *
 * |6 hue - centre| + shift, from 0 to 1. */
static liana_tensor from_hexcone(caller call, const hexcone *x)
{
    static const double centres[] = {3, 2, 4}, signs[] = {1, -1, -1}, shifts[] = {-1, 2, 2};
    const liana_tensor sixths = liana__color_multiply(call, x->hue, 6);
    const liana_tensor rest = subtract(call, liana__image_number(call, x->hue, 1), x->saturation);
    liana_tensor channels[3];
    for (int i = 0; i < 3; i++) {
        liana_tensor share = liana_op_abs_at(call->here, liana__color_add(call, sixths, -centres[i]));
        share = liana__color_add(call, liana__color_multiply(call, share, signs[i]), shifts[i]);
        share = multiply(call, x->saturation, liana_op_clip_at(call->here, share, 0, 1));
        channels[i] = multiply(call, liana_op_add_at(call->here, rest, share), x->value);
    }
    return liana_op_concat_at(call->here, channels, 3, 3);
}

/* As in TensorFlow, no gradient flows from colours to hues. */
liana_tensor liana__color_hue(const liana_layer_call *call, liana_tensor x, liana__range values, liana_tensor factor)
{
    const liana__range unit = {0, 1};
    x = liana__color_rescale(call, liana_op_stop_gradient_at(call->here, x), values, unit);
    hexcone cone = to_hexcone(call, x);
    const liana_tensor zero = liana__image_number(call, x, 0), one = liana__image_number(call, x, 1);
    liana_tensor hue = liana_op_add_at(call->here, cone.hue, factor);
    hue =
        liana_op_select_at(call->here, liana_op_greater_at(call->here, hue, one), liana__color_add(call, hue, -1), hue);
    cone.hue =
        liana_op_select_at(call->here, liana_op_less_at(call->here, hue, zero), liana__color_add(call, hue, 1), hue);
    x = liana_op_clip_at(call->here, from_hexcone(call, &cone), 0, 1);
    return liana__color_rescale(call, x, unit, values);
}

/* As in Keras, the saturation is limited to the range of the values. */
liana_tensor liana__color_saturation(const liana_layer_call *call, liana_tensor x, liana__range values,
                                     liana_tensor factor)
{
    hexcone cone = to_hexcone(call, liana_op_stop_gradient_at(call->here, x));
    cone.saturation = multiply(call, cone.saturation, factor);
    cone.saturation = liana_op_clip_at(call->here, cone.saturation, values.low, values.high);
    return from_hexcone(call, &cone);
}
