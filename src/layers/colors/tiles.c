/* ContrastLimitedAdaptiveHistogramEqualization: equalizes each tile of an image, and interpolates between them
 * (Zuiderveld 1994). */
#include "layers/colors/colors.h"

#include "ir/graph.h"
#include "ops/gradients.h"

#include <stdio.h>

static const liana_option rows[] = {
    LIANA__VALUE_RANGE_ROW(liana_contrast_limited_options),
    LIANA_OPTION_ROW(liana_contrast_limited_options, clip_limit, FLOAT, .default_text = "4.0", .minimum = -INFINITY,
                     .maximum = INFINITY,
                     .doc = "a bin counts at most so many times the mean of all 256; 0 or less: no limit"),
    LIANA__PAIR_ROW(liana_contrast_limited_options, tile_grid_size, .default_text = "8",
                    .doc = "tiles along the height and the width"),
};

enum { BINS = 256 };
static const liana__range bytes = {0, BINS - 1};

static liana_status check_options(liana_check *check)
{
    const liana_contrast_limited_options *chosen = check->options;
    return liana__check_value_range(check, &chosen->value_range);
}

/* Pixels of a tile along an axis: 1 the height, 2 the width. */
static int64_t tile_size(const liana_contrast_limited_options *chosen, const liana_shape *shape, int axis)
{
    const int64_t tiles = chosen->tile_grid_size[axis - 1];
    return (shape->dims[axis] + tiles - 1) / tiles;
}

static liana_status check_input(liana_layer_build *build)
{
    const liana_contrast_limited_options *chosen = build->options;
    const liana_shape *shape = &build->inputs[0];
    char expected[128];
    LIANA_TRY(liana__build_images(build));
    for (int axis = 1; axis <= 2; axis++) {
        const int64_t tiles = chosen->tile_grid_size[axis - 1], size = shape->dims[axis];
        if (tile_size(chosen, shape, axis) * tiles <= 2 * size) continue;
        snprintf(expected, sizeof expected, "a %s of at least %lld for %lld tiles (tile_grid_size)",
                 axis == 1 ? "height" : "width", (long long)(tiles + 1) / 2, (long long)tiles);
        return liana_layer_refuse(build, 0, expected);
    }
    return LIANA_OK;
}

/* The plan for images of one shape. */
typedef struct grid {
    const liana_layer_call *call;
    int64_t batch, channels;
    int64_t tiles[2], size[2]; /* tiles along an axis, and pixels of a tile */
} grid;

/* ---- along an axis ---- */

/* The images with their last rows mirrored below them, up to whole tiles. */
static liana_tensor pad(const grid *made, liana_tensor x, int axis)
{
    const liana_layer_call *call = made->call;
    const int64_t given = liana_tensor_shape(x).dims[axis], whole = made->tiles[axis - 1] * made->size[axis - 1];
    if (given == whole) return x;
    const liana_shape line = liana_shape_of(whole);
    const liana_tensor last = liana_op_iota_at(call->here, x.graph, LIANA_S32, line, 0);
    liana_tensor mirrored = liana__image_number(call, last, (double)(2 * given - 1));
    mirrored = liana_op_minimum_at(call->here, last, liana_op_subtract_at(call->here, mirrored, last));
    return liana_op_gather_at(call->here, x, mirrored, axis);
}

/* The tile before or behind each pixel, counted from the padding tile 0, and the part of the one behind. */
typedef struct neighbours {
    liana_tensor before, behind; /* s32 [.., pixels, ..] */
    liana_tensor part;           /* f32 */
} neighbours;

static neighbours find_neighbours(const grid *made, liana_graph *graph, int axis)
{
    const liana_layer_call *call = made->call;
    const double size = (double)made->size[axis - 1];
    liana_shape line = liana_shape_of(1, 1, 1, 1);
    line.dims[axis] = made->tiles[axis - 1] * made->size[axis - 1];
    liana_tensor x = liana_op_iota_at(call->here, graph, LIANA_F32, line, axis);
    x = liana_op_divide_at(call->here, liana__color_add(call, x, -size / 2), liana__image_number(call, x, size));
    x = liana__color_add(call, x, 1);
    const liana_tensor below = liana_op_floor_at(call->here, x);
    const liana_tensor before = liana_op_cast_at(call->here, below, LIANA_S32);
    const liana_tensor behind = liana__color_add(call, before, 1);
    return (neighbours){before, behind, liana_op_subtract_at(call->here, x, below)};
}

/* ---- tables of tiles ---- */

/* [tiles down, tiles across, ...], s32 or f32, with the outer tiles once more around them. */
static liana_tensor surround(const liana_layer_call *call, liana_tensor tables)
{
    for (int axis = 1; axis <= 2; axis++) {
        const int64_t count = liana_tensor_shape(tables).dims[axis];
        liana_tensor places = liana_op_iota_at(call->here, tables.graph, LIANA_S32, liana_shape_of(count + 2), 0);
        const liana_tensor zero = liana__image_number(call, places, 0);
        const liana_tensor last = liana__image_number(call, places, (double)(count - 1));
        places = liana_op_maximum_at(call->here, liana__color_add(call, places, -1), zero);
        tables = liana_op_gather_at(call->here, tables, liana_op_minimum_at(call->here, places, last), axis);
    }
    return tables;
}

/* s32 [batch, height, width, channels]: the table of a pixel's tile, of tables [batch, down, across, channels, 256]. */
static liana_tensor table_index(const grid *made, liana_tensor down, liana_tensor across, int64_t num_down,
                                int64_t num_across)
{
    const liana_layer_call *call = made->call;
    liana_graph *graph = down.graph;
    liana_tensor index = liana_op_iota_at(call->here, graph, LIANA_S32, liana_shape_of(made->batch, 1, 1, 1), 0);
    index = liana_op_add_at(call->here, liana__color_multiply(call, index, (double)num_down), down);
    index = liana_op_add_at(call->here, liana__color_multiply(call, index, (double)num_across), across);
    const liana_tensor channel =
        liana_op_iota_at(call->here, graph, LIANA_S32, liana_shape_of(1, 1, 1, made->channels), 3);
    index = liana__color_multiply(call, index, (double)made->channels);
    return liana_op_add_at(call->here, index, channel);
}

/* Where a pixel's level stands among all tables. */
static liana_tensor place_in(const liana_layer_call *call, liana_tensor table, liana_tensor levels)
{
    return liana_op_add_at(call->here, liana__color_multiply(call, table, BINS), levels);
}

/* f32 [tables, 256]. */
static liana_tensor count_levels(const grid *made, liana_tensor levels)
{
    const liana_layer_call *call = made->call;
    const int64_t tables = made->batch * made->tiles[0] * made->tiles[1] * made->channels;
    liana_tensor own[2];
    for (int axis = 1; axis <= 2; axis++) {
        liana_shape line = liana_shape_of(1, 1, 1, 1);
        line.dims[axis] = made->tiles[axis - 1] * made->size[axis - 1];
        own[axis - 1] = liana_op_iota_at(call->here, levels.graph, LIANA_S32, line, axis);
        const liana_tensor size = liana__image_number(call, own[axis - 1], (double)made->size[axis - 1]);
        own[axis - 1] = liana_op_divide_at(call->here, own[axis - 1], size);
    }
    liana_tensor places = table_index(made, own[0], own[1], made->tiles[0], made->tiles[1]);
    places = liana_op_reshape_at(call->here, place_in(call, places, levels), liana_shape_of(-1));
    liana_tensor ones = liana_graph_scalar_at(call->here, levels.graph, LIANA_F32, 1);
    ones = liana_op_broadcast_to_at(call->here, ones, liana_tensor_shape(places));
    const liana_tensor counts = liana__op_scatter_add_at(call->here, ones, places, 0, tables * BINS);
    return liana_op_reshape_at(call->here, counts, liana_shape_of(tables, BINS));
}

/* The part of a tile's pixels up to each level, as 0 to 255. Counts above the limit are spread over all levels. */
static liana_tensor make_tables(const grid *made, liana_tensor counts, double clip_limit)
{
    const liana_layer_call *call = made->call;
    const double pixels = (double)(made->size[0] * made->size[1]);
    const liana_tensor zero = liana__image_number(call, counts, 0), one = liana__image_number(call, counts, 1);
    if (clip_limit > 0) {
        const liana_tensor limit = liana__image_number(call, counts, clip_limit * pixels / BINS);
        const liana_tensor clipped = liana_op_minimum_at(call->here, counts, limit);
        liana_tensor excess = liana_op_subtract_at(call->here, counts, clipped);
        excess = liana_op_reduce_sum_at(call->here, excess, LIANA_AXES(1), true);
        counts = liana_op_add_at(call->here, clipped, liana__color_multiply(call, excess, 1.0 / BINS));
    }
    const liana_tensor sums = liana_op_cumsum_at(call->here, counts, 1, false, false);
    const liana_tensor least = liana_op_reduce_min_at(call->here, sums, LIANA_AXES(1), true);
    liana_tensor rest = liana_op_subtract_at(call->here, liana__image_number(call, sums, pixels), least);
    rest = liana_op_select_at(call->here, liana_op_equal_at(call->here, rest, zero), one, rest);
    liana_tensor table = liana__color_multiply(call, liana_op_subtract_at(call->here, sums, least), bytes.high);
    table = liana_op_clip_at(call->here, liana_op_divide_at(call->here, table, rest), bytes.low, bytes.high);
    const liana_shape all = liana_shape_of(made->batch, made->tiles[0], made->tiles[1], made->channels * BINS);
    table = surround(call, liana_op_reshape_at(call->here, table, all));
    return liana_op_reshape_at(call->here, table, liana_shape_of(-1));
}

/* ---- pixels ---- */

/* a (1 - part) + b part. */
static liana_tensor between(const liana_layer_call *call, liana_tensor a, liana_tensor b, liana_tensor part)
{
    const liana_tensor rest = liana_op_subtract_at(call->here, liana__image_number(call, part, 1), part);
    return liana_op_add_at(call->here, liana_op_multiply_at(call->here, a, rest),
                           liana_op_multiply_at(call->here, b, part));
}

static liana_tensor look_up(const grid *made, liana_tensor tables, liana_tensor levels)
{
    const liana_layer_call *call = made->call;
    const neighbours down = find_neighbours(made, tables.graph, 1), across = find_neighbours(made, tables.graph, 2);
    liana_tensor lines[2];
    for (int i = 0; i < 2; i++) {
        liana_tensor found[2];
        for (int k = 0; k < 2; k++) {
            const liana_tensor table =
                table_index(made, i ? down.behind : down.before, k ? across.behind : across.before, made->tiles[0] + 2,
                            made->tiles[1] + 2);
            found[k] = liana_op_gather_at(call->here, tables, place_in(call, table, levels), 0);
        }
        lines[i] = between(call, found[0], found[1], across.part);
    }
    return between(call, lines[0], lines[1], down.part);
}

/* No gradient flows: levels are whole numbers. */
static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_contrast_limited_options *chosen = call->options;
    const liana__range values = liana__value_range(&chosen->value_range);
    const liana_shape shape = liana_tensor_shape(call->inputs[0]);
    const grid made = {.call = call,
                       .batch = shape.dims[0],
                       .channels = shape.dims[3],
                       .tiles = {chosen->tile_grid_size[0], chosen->tile_grid_size[1]},
                       .size = {tile_size(chosen, &shape, 1), tile_size(chosen, &shape, 2)}};
    const liana_dtype dtype = liana_tensor_dtype(call->inputs[0]);
    liana_tensor x = liana_op_stop_gradient_at(call->here, call->inputs[0]);
    if (dtype != LIANA_F32) x = liana_op_cast_at(call->here, x, LIANA_F32);
    x = pad(&made, pad(&made, liana__color_rescale(call, x, values, bytes), 1), 2);
    liana_tensor levels = liana_op_clip_at(call->here, x, bytes.low, bytes.high);
    levels = liana_op_cast_at(call->here, levels, LIANA_S32);
    const liana_tensor tables = make_tables(&made, count_levels(&made, levels), chosen->clip_limit);
    x = look_up(&made, tables, levels);
    const int64_t start[] = {0, 0, 0, 0};
    x = liana__color_rescale(call, liana_op_slice_at(call->here, x, start, shape.dims, NULL), bytes, values);
    return dtype == LIANA_F32 ? x : liana_op_cast_at(call->here, x, dtype);
}

static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_contrast_limited_options *chosen = options;
    liana__range_to_keras(arena, config, "value_range", liana__value_range(&chosen->value_range));
}

const liana_layer_type liana__layer_contrast_limited_adaptive_histogram_equalization = {
    LIANA_PART(LAYER, liana_layer_type, "ContrastLimitedAdaptiveHistogramEqualization",
               "makes histograms of the tiles of images flat", LIANA_PART_OPTIONS(liana_contrast_limited_options, rows),
               .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = check_input,
    .call = call_layer,
    .to_keras = to_keras,
};
