/* AdaptiveAveragePooling1D to 3D and AdaptiveMaxPooling1D to 3D: windows that follow from the result's size. */
#include "layers/convolution/convolution.h"

#include "base/scoped.h"
#include "ir/graph.h"

#include <stdio.h>
#include <stdlib.h>

/* Cell `index` of `output` along an axis of `input` cells sees [begin, end). */
static void find_window(int64_t index, int64_t input, int64_t output, int64_t *begin, int64_t *end)
{
    *begin = index * input / output;
    *end = ((index + 1) * input + output - 1) / output;
}

static int64_t longest_window(int64_t input, int64_t output)
{
    int64_t longest = 1;
    for (int64_t i = 0; i < output; i++) {
        int64_t begin, end;
        find_window(i, input, output, &begin, &end);
        if (end - begin > longest) longest = end - begin;
    }
    return longest;
}

/* x with an axis more behind `axis`: the cells of each window. Shorter windows have their last cell again, and weight 0
 * for it in `weights`, [output, longest]. */
static liana_tensor gather_windows(liana_layer_call *call, liana_tensor x, int axis, int64_t output, int64_t longest,
                                   liana_tensor *weights)
{
    liana_shape shape = liana_tensor_shape(x);
    const int64_t input = shape.dims[axis], count = output * longest;
    LIANA__SCOPED_MEMORY int32_t *indices = malloc((size_t)count * sizeof *indices);
    LIANA__SCOPED_MEMORY float *shares = malloc((size_t)count * sizeof *shares);
    if (!indices || !shares) return liana__graph_fail(x.graph, call->here, LIANA_OUT_OF_MEMORY, "adaptive pooling");
    for (int64_t i = 0; i < count; i++) {
        int64_t begin, end;
        find_window(i / longest, input, output, &begin, &end);
        const int64_t cell = begin + i % longest;
        indices[i] = (int32_t)(cell < end ? cell : end - 1);
        shares[i] = cell < end ? 1 / (float)(end - begin) : 0;
    }
    *weights = liana_graph_constant_at(call->here, x.graph, LIANA_F32, liana_shape_of(output, longest), shares);
    x = liana_op_gather_at(call->here, x,
                           liana_graph_constant_at(call->here, x.graph, LIANA_S32, liana_shape_of(count), indices),
                           axis);
    for (int i = shape.rank; i > axis + 1; i--) shape.dims[i] = shape.dims[i - 1];
    shape.rank++;
    shape.dims[axis] = output;
    shape.dims[axis + 1] = longest;
    return liana_op_reshape_at(call->here, x, shape);
}

/* The maximum over `axis`, as a pooling: its gradient goes to the first of equal cells, as Keras's. */
static liana_tensor first_maximum(liana_layer_call *call, liana_tensor x, int axis)
{
    liana_shape shape = liana_tensor_shape(x), windows = {4, {1, shape.dims[axis], 1, 1}};
    for (int i = 0; i < axis; i++) windows.dims[0] *= shape.dims[i];
    for (int i = axis + 1; i < shape.rank; i++) windows.dims[3] *= shape.dims[i];
    const liana_pool_options whole = {.window = {shape.dims[axis], 1}};
    liana_tensor pooled = liana_op_max_pool2d_at(call->here, liana_op_reshape_at(call->here, x, windows), whole);
    for (int i = axis; i + 1 < shape.rank; i++) shape.dims[i] = shape.dims[i + 1];
    shape.rank--;
    return liana_op_reshape_at(call->here, pooled, shape);
}

/* One axis after the other: all windows along an axis are the same for every place on the others. */
static liana_tensor pool_axis(liana_layer_call *call, liana_tensor x, int axis, int64_t output, bool is_max)
{
    liana_shape shape = liana_tensor_shape(x);
    const int64_t input = shape.dims[axis], longest = longest_window(input, output);
    liana_axes cells = {.count = 1, .values = {axis + 1}};
    if (longest == 1 && input == output) return x;
    if (input % output == 0) {
        for (int i = shape.rank; i > axis + 1; i--) shape.dims[i] = shape.dims[i - 1];
        shape.rank++;
        shape.dims[axis] = output;
        shape.dims[axis + 1] = longest;
        x = liana_op_reshape_at(call->here, x, shape);
        return is_max ? first_maximum(call, x, axis + 1) : liana_op_reduce_mean_at(call->here, x, cells, false);
    }
    liana_tensor weights = {0};
    x = gather_windows(call, x, axis, output, longest, &weights);
    if (is_max) return first_maximum(call, x, axis + 1);
    liana_shape repeated = {.rank = shape.rank + 1 - axis, .dims = {output, longest}};
    for (int i = 2; i < repeated.rank; i++) repeated.dims[i] = 1;
    weights = liana_op_cast_at(call->here, liana_op_reshape_at(call->here, weights, repeated), liana_tensor_dtype(x));
    return liana_op_reduce_sum_at(call->here, liana_op_multiply_at(call->here, x, weights), cells, false);
}

static liana_tensor call_layer(liana_layer_call *call, const int64_t *output, int axes, bool is_max)
{
    liana_tensor x = call->inputs[0];
    for (int i = 0; i < axes; i++) x = pool_axis(call, x, 1 + i, output[i], is_max);
    return x;
}

/* Cells along an axis whose windows are listed. */
enum { MOST_CELLS = 1 << 20 };

static liana_status check_sizes(liana_layer_build *build, const int64_t *output, int axes)
{
    LIANA_TRY(liana__build_spatial(build, axes));
    for (int i = 0; i < axes; i++) {
        const int64_t input = build->inputs[0].dims[1 + i];
        if (input <= MOST_CELLS && output[i] <= MOST_CELLS) continue;
        char expected[120];
        snprintf(expected, sizeof expected,
                 "at most %d cells along axis %d, and as many at most of output_size, here %lld", MOST_CELLS, 1 + i,
                 (long long)output[i]);
        return liana_layer_refuse(build, 0, expected);
    }
    return LIANA_OK;
}

#define ADAPTIVE_LAYER(number, kind, class_name, class_doc, is_max, ...)                          \
    static liana_tensor call_##kind##number(liana_layer_call *call)                               \
    {                                                                                             \
        const liana_adaptive_pooling##number##d_options *chosen = call->options;                  \
        return call_layer(call, chosen->output_size, number, is_max);                             \
    }                                                                                             \
    const liana_layer_type liana__layer_adaptive_##kind##_pooling##number##d = {                  \
        LIANA_PART(LAYER, liana_layer_type, class_name, class_doc,                                \
                   LIANA_PART_OPTIONS(liana_adaptive_pooling##number##d_options, rows_##number)), \
        LIANA__INPUTS(1, 1),                                                                      \
        .has_data_format = true,                                                                  \
        .weights = weights_##number,                                                              \
        .call = call_##kind##number,                                                              \
        __VA_ARGS__};

#define ADAPTIVE(number)                                                                               \
    static const liana_option rows_##number[] = {                                                      \
        LIANA__AXES_ROW_##number(liana_adaptive_pooling##number##d_options, output_size, .minimum = 1, \
                                 .required = true, .doc = "size of the result along each axis"),       \
    };                                                                                                 \
    static liana_status weights_##number(liana_layer_build *build)                                     \
    {                                                                                                  \
        const liana_adaptive_pooling##number##d_options *chosen = build->options;                      \
        return check_sizes(build, chosen->output_size, number);                                        \
    }                                                                                                  \
    ADAPTIVE_LAYER(number, max, "AdaptiveMaxPooling" #number "D",                                      \
                   "the maximum of windows that follow from the result's size", true)                  \
    ADAPTIVE_LAYER(number, average, "AdaptiveAveragePooling" #number "D",                              \
                   "the mean of windows that follow from the result's size", false, .sums = LIANA_SUMS_KEPT)

ADAPTIVE(1)
ADAPTIVE(2)
ADAPTIVE(3)
