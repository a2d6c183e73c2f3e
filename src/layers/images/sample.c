/* Images whose pixels are read at other places.
 *
 * Places are f32 in every precision, in TensorFlow's order of operations: rounding decides which pixel is the
 * nearest. */
#include "layers/images/sample.h"

#include "ir/graph.h"

const char *const liana__sampling_interpolations[] = {"nearest", "bilinear", NULL};
const char *const liana__fill_modes[] = {"constant", "nearest", "reflect", "wrap", NULL};
const char *const liana__elastic_fill_modes[] = {"constant", "nearest", "reflect", "wrap", "mirror", NULL};

/* ---- arithmetic ---- */

typedef const liana_layer_call *builder;

static liana_tensor add(builder c, liana_tensor a, liana_tensor b)
{
    return liana_op_add_at(c->here, a, b);
}

static liana_tensor subtract(builder c, liana_tensor a, liana_tensor b)
{
    return liana_op_subtract_at(c->here, a, b);
}

static liana_tensor multiply(builder c, liana_tensor a, liana_tensor b)
{
    return liana_op_multiply_at(c->here, a, b);
}

static liana_tensor number(builder c, liana_tensor like, double value)
{
    return liana__image_number(c, like, value);
}

static liana_tensor plus(builder c, liana_tensor a, double b)
{
    return add(c, a, number(c, a, b));
}

static liana_tensor times(builder c, liana_tensor a, double b)
{
    return multiply(c, a, number(c, a, b));
}

static liana_tensor choose(builder c, liana_tensor condition, liana_tensor a, liana_tensor b)
{
    return liana_op_select_at(c->here, condition, a, b);
}

static liana_tensor is_less(builder c, liana_tensor a, double b)
{
    return liana_op_less_at(c->here, a, number(c, a, b));
}

/* The whole part of x / by, for x of at least 0. */
static liana_tensor whole_quotient(builder c, liana_tensor x, double by)
{
    return liana_op_floor_at(c->here, liana_op_divide_at(c->here, x, number(c, x, by)));
}

/* The nearest whole number; of two the one that is further from 0. */
static liana_tensor round_away(builder c, liana_tensor x)
{
    liana_tensor size = liana_op_abs_at(c->here, x), low = liana_op_floor_at(c->here, size);
    liana_tensor is_low = is_less(c, subtract(c, size, low), 0.5);
    return multiply(c, choose(c, is_low, low, plus(c, low, 1)), liana_op_sign_at(c->here, x));
}

liana_tensor liana__image_places(const liana_layer_call *call, int64_t size, int axis)
{
    liana_shape shape = liana_shape_of(1, 1, 1, 1);
    shape.dims[axis] = size;
    return liana_op_iota_at(call->here, call->inputs[0].graph, LIANA_F32, shape, axis);
}

/* ---- places beyond the edges ---- */

static liana_tensor reflect_place(builder c, liana_tensor x, double size)
{
    liana_tensor back = add(c, times(c, whole_quotient(c, liana_op_negate_at(c->here, x), 2 * size), 2 * size), x);
    liana_tensor flipped = plus(c, liana_op_negate_at(c->here, back), -1);
    back = choose(c, is_less(c, back, -size), plus(c, back, 2 * size), flipped);
    liana_tensor front = subtract(c, x, times(c, whole_quotient(c, x, 2 * size), 2 * size));
    flipped = plus(c, subtract(c, number(c, x, 2 * size), front), -1);
    front = choose(c, is_less(c, front, size), front, flipped);
    return choose(c, is_less(c, x, 0), back, front);
}

static liana_tensor wrap_place(builder c, liana_tensor x, double size)
{
    liana_tensor turns = plus(c, whole_quotient(c, liana_op_negate_at(c->here, x), size - 1), 1);
    liana_tensor back = add(c, x, times(c, turns, size));
    liana_tensor front = subtract(c, x, times(c, whole_quotient(c, x, size - 1), size));
    liana_tensor is_inside = liana_op_less_equal_at(c->here, x, number(c, x, size - 1));
    return choose(c, is_less(c, x, 0), back, choose(c, is_inside, x, front));
}

/* A place along an axis of this size, moved into the image; LIANA_FILL_CONSTANT: as it is. */
static liana_tensor move_place(builder c, liana_tensor x, int64_t size, liana_fill_mode mode)
{
    if (mode == LIANA_FILL_CONSTANT) return x;
    if (mode == LIANA_FILL_REFLECT && size > 1) x = reflect_place(c, x, (double)size);
    if (mode == LIANA_FILL_WRAP && size > 1) x = wrap_place(c, x, (double)size);
    return liana_op_clip_at(c->here, x, 0, (double)(size - 1));
}

/* The number of a pixel along an axis, moved into the image. */
static liana_tensor move_pixel(builder c, liana_tensor x, int64_t length, liana_fill_mode mode)
{
    const double size = (double)length;
    liana_tensor across = liana_op_abs_at(c->here, x);
    if (mode == LIANA_FILL_WRAP) x = subtract(c, x, times(c, whole_quotient(c, x, size), size));
    if (mode == LIANA_FILL_REFLECT) {
        across = subtract(c, across, times(c, whole_quotient(c, across, 2 * size), 2 * size));
        x = choose(c, is_less(c, across, size), across, subtract(c, number(c, x, 2 * size - 1), across));
    }
    if (mode == LIANA_FILL_MIRROR && length > 1) {
        across = subtract(c, across, times(c, whole_quotient(c, across, 2 * size - 2), 2 * size - 2));
        x = choose(c, is_less(c, across, size), across, subtract(c, number(c, x, 2 * size - 2), across));
    }
    return mode == LIANA_FILL_CONSTANT ? x : liana_op_clip_at(c->here, x, 0, size - 1);
}

/* ---- pixels ---- */

liana_tensor liana__read_pixels(const liana_layer_call *call, liana_tensor images, liana_tensor rows,
                                liana_tensor columns)
{
    const liana_location here = call->here;
    const liana_shape shape = liana_tensor_shape(images);
    const int64_t batch = shape.dims[0], height = shape.dims[1], width = shape.dims[2];
    if (batch * height > INT32_MAX / width) {
        return liana__graph_fail(images.graph, here, LIANA_INVALID_ARGUMENT,
                                 "%lld images of %lld x %lld pixels are more than 2^31 - 1 pixels; make microbatch "
                                 "smaller",
                                 (long long)batch, (long long)height, (long long)width);
    }
    rows = liana_op_cast_at(here, rows, LIANA_S32);
    columns = liana_op_cast_at(here, columns, LIANA_S32);
    liana_tensor at = liana_op_iota_at(here, images.graph, LIANA_S32, liana_shape_of(batch, 1, 1, 1), 0);
    at = add(call, times(call, at, (double)height), rows);
    at = add(call, times(call, at, (double)width), columns);
    liana_shape places = liana_tensor_shape(at);
    places.rank = 3;
    liana_tensor pixels = liana_op_reshape_at(here, images, liana_shape_of(batch * height * width, shape.dims[3]));
    return liana_op_gather_at(here, pixels, liana_op_reshape_at(here, at, places), 0);
}

/* The number of a pixel, and whether it is one of the image (id 0: it is). */
typedef struct tap {
    liana_tensor at, is_inside;
} tap;

static tap make_tap(builder c, liana_tensor at, int64_t size, liana_fill_mode mode)
{
    if (mode != LIANA_FILL_CONSTANT) return (tap){.at = at};
    const double last = (double)(size - 1);
    liana_tensor is_inside = liana_op_logical_and_at(c->here, liana_op_greater_equal_at(c->here, at, number(c, at, 0)),
                                                     liana_op_less_equal_at(c->here, at, number(c, at, last)));
    return (tap){liana_op_clip_at(c->here, at, 0, last), is_inside};
}

static liana_tensor read_tap(builder c, liana_tensor images, tap row, tap column, const liana__sampling *sampling)
{
    liana_tensor value = liana__read_pixels(c, images, row.at, column.at);
    if (!row.is_inside.id) return value;
    liana_tensor is_inside = liana_op_logical_and_at(c->here, row.is_inside, column.is_inside);
    return choose(c, is_inside, value, number(c, value, sampling->fill_value));
}

/* Two pixels side by side, and how much the second one counts. */
typedef struct pair {
    tap first, second;
    liana_tensor share;
} pair;

/* The pair around a place. */
static pair make_pair(builder c, liana_tensor place, int64_t size, liana_fill_mode mode, bool moves_pixels)
{
    liana_tensor low = liana_op_floor_at(c->here, place), high = plus(c, low, 1), share = subtract(c, place, low);
    if (moves_pixels) {
        low = move_pixel(c, low, size, mode);
        high = move_pixel(c, high, size, mode);
    } else if (mode != LIANA_FILL_CONSTANT) {
        high = liana_op_minimum_at(c->here, high, number(c, high, (double)(size - 1)));
    }
    return (pair){make_tap(c, low, size, mode), make_tap(c, high, size, mode), share};
}

/* (1 - share) a + share b. */
static liana_tensor mix(builder c, liana_tensor a, liana_tensor b, liana_tensor share)
{
    liana_tensor rest = subtract(c, number(c, share, 1), share);
    const liana_dtype dtype = liana_tensor_dtype(a);
    a = multiply(c, liana_op_cast_at(c->here, rest, dtype), a);
    b = multiply(c, liana_op_cast_at(c->here, share, dtype), b);
    liana_tensor sum = add(c, a, b);
    liana__keep_wide(a);
    liana__keep_wide(b);
    liana__keep_wide(sum);
    return sum;
}

static liana_tensor read_pairs(builder c, liana_tensor images, const pair *rows, const pair *columns,
                               const liana__sampling *sampling)
{
    liana_tensor line[2];
    for (int i = 0; i < 2; i++) {
        const tap row = i ? rows->second : rows->first;
        line[i] = mix(c, read_tap(c, images, row, columns->first, sampling),
                      read_tap(c, images, row, columns->second, sampling), columns->share);
    }
    return mix(c, line[0], line[1], rows->share);
}

liana_tensor liana__map_coordinates(const liana_layer_call *call, liana_tensor images, liana_tensor rows,
                                    liana_tensor columns, const liana__sampling *sampling)
{
    const liana_shape shape = liana_tensor_shape(images);
    const int64_t height = shape.dims[1], width = shape.dims[2];
    const liana_fill_mode mode = sampling->fill_mode;
    if (sampling->interpolation == LIANA_NEAREST) {
        rows = move_pixel(call, liana_op_round_at(call->here, rows), height, mode);
        columns = move_pixel(call, liana_op_round_at(call->here, columns), width, mode);
        return read_tap(call, images, make_tap(call, rows, height, mode), make_tap(call, columns, width, mode),
                        sampling);
    }
    const pair row = make_pair(call, rows, height, mode, true), column = make_pair(call, columns, width, mode, true);
    return read_pairs(call, images, &row, &column, sampling);
}

/* ---- transforms ---- */

/* a x + b y + c; `first` is which of a and b is 1 if it is not given, the other one is then 0. */
static liana_tensor transform_places(builder c, const liana_tensor *row, liana_tensor x, liana_tensor y, int first)
{
    liana_tensor sum = {0};
    for (int i = 0; i < 2; i++) {
        liana_tensor place = i ? y : x;
        if (!row[i].id && i != first) continue;
        liana_tensor term = row[i].id ? multiply(c, row[i], place) : place;
        sum = sum.id ? add(c, sum, term) : term;
    }
    return row[2].id ? add(c, sum, row[2]) : sum;
}

liana_tensor liana__transform_images(const liana_layer_call *call, liana_tensor images,
                                     const liana__image_transform *transform, const liana__sampling *sampling)
{
    const liana_shape shape = liana_tensor_shape(images);
    const int64_t batch = shape.dims[0], height = shape.dims[1], width = shape.dims[2];
    const liana_fill_mode mode = sampling->fill_mode;
    if (!images.graph || images.graph->status != LIANA_OK) return (liana_tensor){images.graph, 0};
    liana_tensor x = liana__image_places(call, width, 2), y = liana__image_places(call, height, 1);
    liana_tensor columns = transform_places(call, transform->a, x, y, 0);
    liana_tensor rows = transform_places(call, transform->b, x, y, 1);
    if (transform->c[0].id) {
        liana_tensor k = add(call, multiply(call, transform->c[0], x), multiply(call, transform->c[1], y));
        k = plus(call, k, 1);
        rows = liana_op_divide_at(call->here, rows, k);
        columns = liana_op_divide_at(call->here, columns, k);
    }
    rows = move_place(call, rows, height, mode);
    columns = move_place(call, columns, width, mode);
    liana_tensor moved;
    if (sampling->interpolation == LIANA_NEAREST) {
        const tap row = make_tap(call, round_away(call, rows), height, mode);
        moved = read_tap(call, images, row, make_tap(call, round_away(call, columns), width, mode), sampling);
    } else {
        const pair row = make_pair(call, rows, height, mode, false);
        const pair column = make_pair(call, columns, width, mode, false);
        moved = read_pairs(call, images, &row, &column, sampling);
    }
    return liana_op_broadcast_to_at(call->here, moved, liana_shape_of(batch, height, width, shape.dims[3]));
}
