/* Convolutions, pooling, padding and resizing: operators on [batch, channels, ...], which become layers on [batch, ...,
 * channels]. */
#include "onnx/import_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SIDES = 3 };

/* The window of an operator, along each side of an image. */
typedef struct window_shape {
    int sides;
    int64_t size[MOST_SIDES], stride[MOST_SIDES], dilation[MOST_SIDES], before[MOST_SIDES], after[MOST_SIDES];
    bool is_same; /* the padding is that of "same" */
    bool is_padded;
} window_shape;

static const char *const DIMENSIONS[] = {"", "1D", "2D", "3D"};

static liana_status read_sides(liana__import *own, liana__import_node *node, const char *name, int sides,
                               int64_t if_none, int64_t *values)
{
    const int64_t *given;
    int64_t count;
    LIANA_TRY(liana__import_integers(own, node, name, SIZE_MAX, &given, &count));
    if (count && count != sides) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "%s: found %lld numbers, expected %d", name,
                                  (long long)count, sides);
    }
    for (int i = 0; i < sides; i++) {
        values[i] = count ? given[i] : if_none;
        if (values[i] < 1 || values[i] > 1 << 20) {
            return liana__import_fail(own, node, LIANA_INVALID_DATA, "%s: found %lld", name, (long long)values[i]);
        }
    }
    return LIANA_OK;
}

/* The padding of "same" for an input of `input` cells. */
static void same_padding(const window_shape *own, int side, int64_t input, int64_t *before, int64_t *after)
{
    const int64_t stride = own->stride[side], reach = own->dilation[side] * (own->size[side] - 1) + 1;
    const int64_t output = (input + stride - 1) / stride;
    int64_t total = (output - 1) * stride + reach - input;
    if (total < 0) total = 0;
    *before = total / 2;
    *after = total - total / 2;
}

static liana_status read_padding(liana__import *own, liana__import_node *node, const liana_shape *images,
                                 window_shape *made)
{
    const int64_t *pads;
    int64_t count;
    const liana__import_word mode = liana__import_text(node, "auto_pad", "NOTSET");
    const bool is_upper = strcmp(mode.text, "SAME_UPPER") == 0, is_lower = strcmp(mode.text, "SAME_LOWER") == 0;
    LIANA_TRY(liana__import_integers(own, node, "pads", SIZE_MAX, &pads, &count));
    if (count && count != 2 * made->sides) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "pads: found %lld numbers, expected %d",
                                  (long long)count, 2 * made->sides);
    }
    made->is_same = true;
    for (int i = 0; i < made->sides; i++) {
        int64_t before, after;
        same_padding(made, i, images->dims[i + 1], &before, &after);
        made->before[i] = is_upper ? before : is_lower ? after : count ? pads[i] : 0;
        made->after[i] = is_upper ? after : is_lower ? before : count ? pads[i + made->sides] : 0;
        if (made->before[i] < 0 || made->after[i] < 0 || made->before[i] > 1 << 20 || made->after[i] > 1 << 20) {
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "pads: found a number below 0 or too large");
        }
        made->is_padded = made->is_padded || made->before[i] || made->after[i];
        made->is_same = made->is_same && made->before[i] == before && made->after[i] == after;
    }
    return LIANA_OK;
}

/* `kernel`: sizes where the attribute is not given; NULL: it must be. */
static liana_status read_window(liana__import *own, liana__import_node *node, const liana_shape *images,
                                const int64_t *kernel, window_shape *made)
{
    *made = (window_shape){.sides = images->rank - 2};
    if (made->sides < 1 || made->sides > MOST_SIDES) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "found %d axes, expected 3 to 5: [batch, channels, ...]", images->rank);
    }
    LIANA_TRY(read_sides(own, node, "kernel_shape", made->sides, kernel ? 1 : 0, made->size));
    for (int i = 0; kernel && i < made->sides; i++) made->size[i] = kernel[i];
    LIANA_TRY(read_sides(own, node, "strides", made->sides, 1, made->stride));
    LIANA_TRY(read_sides(own, node, "dilations", made->sides, 1, made->dilation));
    return read_padding(own, node, images, made);
}

/* Numbers before and after each side. */
static void list_sides(const window_shape *own, int64_t pairs[2 * MOST_SIDES])
{
    for (int i = 0; i < own->sides; i++) {
        pairs[2 * i] = own->before[i];
        pairs[2 * i + 1] = own->after[i];
    }
}

static liana_status zero_padding(liana__import *own, const liana__import_node *node, const window_shape *window,
                                 size_t *images)
{
    char type[32];
    int64_t pairs[2 * MOST_SIDES];
    list_sides(window, pairs);
    snprintf(type, sizeof type, "ZeroPadding%s", DIMENSIONS[window->sides]);
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_ints(&options, "padding", pairs, 2 * window->sides);
    return liana__import_add(own, node, type, "", &options, images, 1, images);
}

static liana_status cropping(liana__import *own, const liana__import_node *node, const window_shape *window,
                             size_t *images)
{
    char type[32];
    int64_t pairs[2 * MOST_SIDES];
    if (!window->is_padded) return LIANA_OK;
    list_sides(window, pairs);
    snprintf(type, sizeof type, "Cropping%s", DIMENSIONS[window->sides]);
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_ints(&options, "cropping", pairs, 2 * window->sides);
    return liana__import_add(own, node, type, "", &options, images, 1, images);
}

/* ---- convolutions ---- */

/* The kernel and bias of a node. */
typedef struct kernel_parts {
    liana__import_constant *weight, *bias;
    const char *name, *bias_name;
} kernel_parts;

static liana_status read_kernel(liana__import *own, liana__import_node *node, int sides, kernel_parts *made)
{
    liana__import_value *weight = liana__import_input(node, 1), *bias = liana__import_input(node, 2);
    *made = (kernel_parts){NULL, NULL, NULL, ""};
    if (!liana__import_is_constant(weight) || (bias && !liana__import_is_constant(bias))) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "its kernel or bias is computed from the data, expected initializers");
    }
    made->weight = weight->constant;
    made->bias = bias ? bias->constant : NULL;
    if (made->weight->rank != sides + 2 || !made->weight->is_float || made->weight->count == 0) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "found a kernel with %d axes, expected %d of floats",
                                  made->weight->rank, sides + 2);
    }
    made->name = weight->name;
    made->bias_name = bias ? bias->name : "";
    return LIANA_OK;
}

/* The layer that has this kernel, and reads with the same window. */
static const char *layer_key(liana__import *own, const liana__import_node *node, const kernel_parts *kernel,
                             const window_shape *window)
{
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "%s|%s|%s|%d|%d", node->op, kernel->name, kernel->bias_name,
                    window->is_same && window->is_padded, (int)liana__import_int(node, "group", 1));
    for (int i = 0; i < window->sides; i++) {
        liana__text_add(&text, "|%lld,%lld", (long long)window->stride[i], (long long)window->dilation[i]);
    }
    if (text.failed) (void)liana__fail_memory(own->error, own->path);
    return text.failed ? NULL : liana__arena_string(&own->arena, text.data);
}

static liana_status give_bias(liana__import *own, liana__import_node *node, size_t result,
                              const kernel_parts *own_kernel, int64_t filters)
{
    const int order[] = {0};
    float *values;
    if (!own_kernel->bias) return LIANA_OK;
    if (own_kernel->bias->rank != 1 || own_kernel->bias->count != filters) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "found a bias of %lld numbers, expected %lld",
                                  (long long)own_kernel->bias->count, (long long)filters);
    }
    LIANA_TRY(liana__import_permuted(own, own_kernel->bias, order, &values));
    return liana__import_give(own, node, result, 1, values);
}

/* ONNX's [filters, in, sizes] as [sizes, in, filters]; that of a transposed convolution [in, filters, sizes] as [sizes,
 * filters, in]. */
static liana_status give_kernel(liana__import *own, liana__import_node *node, size_t result,
                                const kernel_parts *own_kernel)
{
    int order[LIANA_MAX_RANK];
    float *values;
    const int rank = own_kernel->weight->rank;
    for (int i = 0; i < rank; i++) order[i] = i < rank - 2 ? i + 2 : rank - 1 - i;
    LIANA_TRY(liana__import_permuted(own, own_kernel->weight, order, &values));
    return liana__import_give(own, node, result, 0, values);
}

static liana_status add_convolution(liana__import *own, liana__import_node *node, const window_shape *window,
                                    const kernel_parts *kernel, int64_t channels, size_t images, size_t *result)
{
    char type[32];
    const int64_t filters = kernel->weight->dims[0], groups = liana__import_int(node, "group", 1);
    const bool is_depthwise = groups > 1 && groups == channels && kernel->weight->dims[1] == 1 && window->sides < 3;
    if (groups < 1 || channels % groups || kernel->weight->dims[1] != channels / groups || filters % groups) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA,
                                  "found %lld channels in %lld groups, and a kernel [%lld, %lld, ...]",
                                  (long long)channels, (long long)groups, (long long)filters,
                                  (long long)kernel->weight->dims[1]);
    }
    snprintf(type, sizeof type, "%s%s", is_depthwise ? "DepthwiseConv" : "Conv", DIMENSIONS[window->sides]);
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_ints(&options, "kernel_size", window->size, window->sides);
    liana__import_set_ints(&options, "strides", window->stride, window->sides);
    liana__import_set_ints(&options, "dilation_rate", window->dilation, window->sides);
    liana__import_set_text(&options, "padding", window->is_same && window->is_padded ? "same" : "valid");
    liana__import_set_bool(&options, "use_bias", kernel->bias != NULL);
    if (is_depthwise) liana__import_set_int(&options, "depth_multiplier", filters / channels);
    if (!is_depthwise) liana__import_set_int(&options, "filters", filters);
    if (!is_depthwise && groups > 1) liana__import_set_int(&options, "groups", groups);
    const char *stem = liana__import_stem(own, kernel->weight);
    LIANA_TRY(liana__import_add(own, node, type, stem, &options, &images, 1, result));
    LIANA_TRY(give_kernel(own, node, *result, kernel));
    return give_bias(own, node, *result, kernel, filters);
}

static liana_status read_conv(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    size_t images, layer;
    window_shape window;
    kernel_parts kernel;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_images(own, node, x, &images));
    const liana_shape shape = *liana__import_shape(own, images);
    LIANA_TRY(read_kernel(own, node, shape.rank - 2, &kernel));
    LIANA_TRY(read_window(own, node, &shape, kernel.weight->dims + 2, &window));
    if (window.is_padded && !window.is_same) LIANA_TRY(zero_padding(own, node, &window, &images));
    const char *key = layer_key(own, node, &kernel, &window);
    size_t result;
    if (!key) return own->error->status;
    if (liana__import_find_shared(own, key, &layer)) {
        LIANA_TRY(liana__import_again(own, node, layer, images, &result));
    } else {
        LIANA_TRY(add_convolution(own, node, &window, &kernel, shape.dims[shape.rank - 1], images, &result));
        LIANA_TRY(liana__import_share(own, key, result));
    }
    liana__import_set_images(node->outputs[0], result, shape.rank);
    return LIANA_OK;
}

/* Whether "same" gives as many cells, cut off at the same sides. */
static bool is_same_transposed(const window_shape *window, const int64_t *more)
{
    bool is_same = true;
    for (int i = 0; i < window->sides; i++) {
        const int64_t total = window->size[i] - window->stride[i];
        is_same = is_same && total >= 0 && window->dilation[i] == 1 && !more[i] && window->before[i] == total / 2 &&
                  window->after[i] == total - total / 2;
    }
    return is_same;
}

/* What a transposed convolution is made of, beside its kernel. */
typedef struct transposed {
    window_shape window;
    int64_t more[MOST_SIDES]; /* output_padding */
    bool is_same;
} transposed;

static liana_status add_transposed(liana__import *own, liana__import_node *node, const transposed *made,
                                   const kernel_parts *kernel, size_t images, size_t *result)
{
    char type[32];
    const window_shape *window = &made->window;
    const int64_t filters = kernel->weight->dims[1];
    snprintf(type, sizeof type, "Conv%sTranspose", DIMENSIONS[window->sides]);
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_int(&options, "filters", filters);
    liana__import_set_ints(&options, "kernel_size", window->size, window->sides);
    liana__import_set_ints(&options, "strides", window->stride, window->sides);
    liana__import_set_ints(&options, "dilation_rate", window->dilation, window->sides);
    liana__import_set_text(&options, "padding", made->is_same ? "same" : "valid");
    if (!made->is_same) liana__import_set_ints(&options, "output_padding", made->more, window->sides);
    liana__import_set_bool(&options, "use_bias", kernel->bias != NULL);
    LIANA_TRY(
        liana__import_add(own, node, type, liana__import_stem(own, kernel->weight), &options, &images, 1, result));
    LIANA_TRY(give_kernel(own, node, *result, kernel));
    return give_bias(own, node, *result, kernel, filters);
}

/* Some rows of a constant, along its first axis. */
static liana_status rows_of(liana__import *own, liana__import_constant *all, int64_t first, int64_t count,
                            liana__import_constant **rows)
{
    const int64_t per_row = all->count / all->dims[0];
    *rows = liana__arena_copy(&own->arena, all, sizeof *all);
    if (!*rows) return liana__fail_memory(own->error, own->path);
    (*rows)->dims[0] = count;
    (*rows)->count = count * per_row;
    if (own->options->without_values) return LIANA_OK;
    const float *floats = liana__import_floats(own, all);
    if (!floats) return own->error->status;
    (*rows)->tensor = NULL;
    (*rows)->floats = floats + first * per_row;
    return LIANA_OK;
}

/* One layer for each group of channels, and their results side by side. */
static liana_status add_groups(liana__import *own, liana__import_node *node, const transposed *made,
                               const kernel_parts *kernel, int64_t groups, size_t images, size_t *result)
{
    const int rank = liana__import_shape(own, images)->rank;
    const int64_t in = kernel->weight->dims[0] / groups, filters = kernel->weight->dims[1];
    liana__import_value value;
    LIANA__SCOPED(liana__text) before = {0};
    for (int i = 0; i < rank - 1; i++) liana__text_add(&before, ":, ");
    if (before.failed) return liana__fail_memory(own->error, own->path);
    liana__import_value *parts = liana__arena_allocate(&own->arena, (size_t)groups * sizeof *parts);
    if (!parts) return liana__fail_memory(own->error, own->path);
    for (int64_t g = 0; g < groups; g++) {
        kernel_parts part = *kernel;
        size_t channels = images, some;
        LIANA_TRY(rows_of(own, kernel->weight, g * in, in, &part.weight));
        if (kernel->bias) LIANA_TRY(rows_of(own, kernel->bias, g * filters, filters, &part.bias));
        LIANA_TRY(liana__import_operation(own, node, &channels, 1, &channels, "get_item(key=[%s%lld:%lld])",
                                          before.data, (long long)(g * in), (long long)(g * in + in)));
        LIANA_TRY(add_transposed(own, node, made, &part, channels, &some));
        parts[g] = (liana__import_value){.name = node->name};
        liana__import_set_images(&parts[g], some, rank);
    }
    LIANA_TRY(liana__import_join(own, node, parts, (size_t)groups, 1, &value));
    *result = value.result;
    return LIANA_OK;
}

static liana_status read_transposed(liana__import *own, liana__import_node *node, const liana_shape *images,
                                    const kernel_parts *kernel, transposed *made)
{
    const int64_t *given;
    int64_t count;
    *made = (transposed){.is_same = false};
    LIANA_TRY(read_window(own, node, images, kernel->weight->dims + 2, &made->window));
    LIANA_TRY(liana__import_integers(own, node, "output_padding", SIZE_MAX, &given, &count));
    for (int i = 0; i < made->window.sides && i < count; i++) made->more[i] = given[i];
    made->is_same = is_same_transposed(&made->window, made->more);
    const bool has_shape = liana__import_attribute(node, "output_shape") != NULL;
    const bool is_automatic = strcmp(liana__import_text(node, "auto_pad", "NOTSET").text, "NOTSET") != 0;
    if (!has_shape && !is_automatic) return LIANA_OK;
    return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                              "a transposed convolution with output_shape or auto_pad; expected pads and "
                              "output_padding");
}

static liana_status read_conv_transpose(liana__import *own, liana__import_node *node)
{
    enum { MOST_GROUPS = 512 };
    liana__import_value *x;
    size_t images, result;
    kernel_parts kernel;
    transposed made;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_images(own, node, x, &images));
    const liana_shape shape = *liana__import_shape(own, images);
    LIANA_TRY(read_kernel(own, node, shape.rank - 2, &kernel));
    LIANA_TRY(read_transposed(own, node, &shape, &kernel, &made));
    const int64_t groups = liana__import_int(node, "group", 1), channels = shape.dims[shape.rank - 1];
    const int64_t filters = kernel.weight->dims[1];
    const bool is_some = groups >= 1 && groups <= MOST_GROUPS && filters <= 1 << 24;
    const bool fits_bias = !kernel.bias || (kernel.bias->rank == 1 && kernel.bias->count == groups * filters);
    if (!is_some || channels % groups || kernel.weight->dims[0] != channels || !fits_bias) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA,
                                  "found %lld channels in %lld groups (at most %d), a kernel [%lld, %lld, ...] and a "
                                  "bias of %lld numbers",
                                  (long long)channels, (long long)groups, MOST_GROUPS,
                                  (long long)kernel.weight->dims[0], (long long)kernel.weight->dims[1],
                                  kernel.bias ? (long long)kernel.bias->count : 0LL);
    }
    if (groups == 1) LIANA_TRY(add_transposed(own, node, &made, &kernel, images, &result));
    if (groups > 1) LIANA_TRY(add_groups(own, node, &made, &kernel, groups, images, &result));
    if (!made.is_same) LIANA_TRY(cropping(own, node, &made.window, &result));
    liana__import_set_images(node->outputs[0], result, shape.rank);
    return LIANA_OK;
}

/* ---- pooling ---- */

/* With ceil_mode a last window may reach over the end, if it begins within the input or the padding before it. */
static void reach_over(window_shape *window, const liana_shape *images)
{
    for (int i = 0; i < window->sides; i++) {
        const int64_t input = images->dims[i + 1], size = window->size[i], stride = window->stride[i];
        const int64_t whole = input + window->before[i] + window->after[i];
        int64_t output = (whole - size + stride - 1) / stride + 1;
        if ((output - 1) * stride >= input + window->before[i]) output--;
        const int64_t needed = (output - 1) * stride + size - whole;
        if (needed > 0) window->after[i] += needed;
    }
}

static bool is_never_negative(const liana__import_value *value)
{
    static const char *const kinds[] = {"Relu", "Sigmoid", "HardSigmoid", "Softmax", "Abs", "Exp", "Softplus"};
    for (size_t i = 0; value->producer && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(value->producer->op, kinds[i]) == 0) return true;
    }
    return false;
}

/* Cells that no maximum takes: zeros where nothing is below. */
static liana_status pad_maximum(liana__import *own, liana__import_node *node, const liana__import_value *x,
                                const window_shape *window, size_t *images)
{
    if (is_never_negative(x)) return zero_padding(own, node, window, images);
    LIANA__SCOPED(liana__text) text = {0};
    for (int i = 0; i < window->sides; i++) {
        liana__text_add(&text, "[%lld, %lld], ", (long long)window->before[i], (long long)window->after[i]);
    }
    return liana__import_operation(own, node, images, 1, images,
                                   "pad(constant_values=-3.0e+38, pad_width=[[0, 0], %s[0, 0]])",
                                   text.data ? text.data : "");
}

/* A mean over padded cells is one over fewer: each result times the size of the window over the number of cells. */
static liana_status mend_means(liana__import *own, liana__import_node *node, const window_shape *window,
                               const liana_shape *images, size_t *result)
{
    LIANA__SCOPED(liana__text) text = {0};
    const liana_shape out = *liana__import_shape(own, *result);
    int64_t counts[MOST_SIDES][1], index[MOST_SIDES] = {0}, total = 1, all = 1;
    for (int i = 0; i < window->sides; i++) {
        total *= out.dims[i + 1];
        all *= window->size[i];
    }
    if (total > 1 << 14)
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "count_include_pad of a large image");
    for (int64_t cell = 0; cell < total; cell++) {
        int opened = 0;
        for (int i = window->sides - 1; i >= 0 && index[i] == 0; i--) opened++;
        liana__text_add(&text, "%s", cell ? ", " : "");
        for (int i = 0; i < opened; i++) liana__text_add(&text, "[");
        int64_t cells = 1;
        for (int i = 0; i < window->sides; i++) {
            const int64_t begin = index[i] * window->stride[i] - window->before[i], end = begin + window->size[i];
            const int64_t first = begin < 0 ? 0 : begin, last = end > images->dims[i + 1] ? images->dims[i + 1] : end;
            counts[i][0] = last - first;
            cells *= counts[i][0] > 0 ? counts[i][0] : 1;
        }
        liana__text_add(&text, "[%.9g%s]", (double)all / (double)cells, all % cells ? "" : ".0");
        for (int i = window->sides - 1; i >= 0; i--) {
            if (++index[i] < out.dims[i + 1]) break;
            index[i] = 0;
            liana__text_add(&text, "]");
        }
    }
    return liana__import_operation(own, node, result, 1, result, "multiply(x2=%s)", text.data ? text.data : "");
}

static liana_status read_pool(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    size_t images, result;
    window_shape window;
    char type[32];
    const bool is_maximum = strcmp(node->op, "MaxPool") == 0;
    const bool counts_padding = liana__import_int(node, "count_include_pad", 0) != 0;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_images(own, node, x, &images));
    const liana_shape shape = *liana__import_shape(own, images);
    LIANA_TRY(read_window(own, node, &shape, NULL, &window));
    const window_shape before = window;
    bool is_dilated = false;
    for (int i = 0; i < window.sides; i++) is_dilated = is_dilated || window.dilation[i] != 1;
    if (liana__import_int(node, "ceil_mode", 0)) reach_over(&window, &shape);
    for (int i = 0; i < window.sides; i++) {
        window.is_padded = window.is_padded || window.after[i];
        window.is_same = window.is_same && window.after[i] == before.after[i];
    }
    bool reaches_over = false;
    for (int i = 0; i < window.sides; i++) reaches_over = reaches_over || window.after[i] != before.after[i];
    if (reaches_over && !is_maximum && counts_padding) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "means with ceil_mode and count_include_pad: programs count the cells beyond the "
                                  "padding differently");
    }
    if (is_dilated || (node->num_outputs > 1 && node->outputs[1] && node->outputs[1]->num_users)) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "pooling with dilations, or with indices as a result");
    }
    const bool is_same = window.is_padded && window.is_same && (is_maximum || !counts_padding);
    const bool is_apart = window.is_padded && !is_same;
    if (is_apart && is_maximum) LIANA_TRY(pad_maximum(own, node, x, &window, &images));
    if (is_apart && !is_maximum) LIANA_TRY(zero_padding(own, node, &window, &images));
    snprintf(type, sizeof type, "%sPooling%s", is_maximum ? "Max" : "Average", DIMENSIONS[window.sides]);
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_ints(&options, "pool_size", window.size, window.sides);
    liana__import_set_ints(&options, "strides", window.stride, window.sides);
    liana__import_set_text(&options, "padding", is_same ? "same" : "valid");
    LIANA_TRY(liana__import_add(own, node, type, NULL, &options, &images, 1, &result));
    if (is_apart && !is_maximum && !counts_padding) LIANA_TRY(mend_means(own, node, &window, &shape, &result));
    liana__import_set_images(node->outputs[0], result, shape.rank);
    return LIANA_OK;
}

static liana_status read_global_pool(liana__import *own, liana__import_node *node)
{
    liana__import_value *x, *output = node->outputs[0];
    size_t images, result;
    char type[40];
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_images(own, node, x, &images));
    const int rank = liana__import_shape(own, images)->rank;
    if (rank < 3 || rank > 5) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "found %d axes, expected 3 to 5", rank);
    }
    snprintf(type, sizeof type, "Global%sPooling%s", strcmp(node->op, "GlobalMaxPool") == 0 ? "Max" : "Average",
             DIMENSIONS[rank - 2]);
    LIANA_TRY(liana__import_add(own, node, type, NULL, NULL, &images, 1, &result));
    liana__import_set_plain(output, result, 2);
    output->rank = rank;
    for (int i = 2; i < rank; i++) output->axes[i].count = 0;
    return LIANA_OK;
}

/* ---- padding and sizes ---- */

/* The cells before and after each axis of the result. The axes of the value that get some become whole. */
static liana_status read_pads(liana__import *own, liana__import_node *node, liana__import_value *x,
                              int64_t all[LIANA_MAX_RANK][2], bool *is_any)
{
    const int64_t *pads, *axes;
    int64_t count, num_axes, both[LIANA_MAX_RANK][2] = {{0}};
    LIANA_TRY(liana__import_integers(own, node, "pads", 1, &pads, &count));
    LIANA_TRY(liana__import_integers(own, node, "axes", 3, &axes, &num_axes));
    const int64_t expected = num_axes ? num_axes : x->rank;
    if (count != 2 * expected) {
        return liana__import_fail(own, node, LIANA_INVALID_DATA, "pads: found %lld numbers, expected %lld",
                                  (long long)count, (long long)(2 * expected));
    }
    for (int64_t i = 0; i < expected; i++) {
        int axis, single;
        const int64_t before = pads[i], after = pads[i + expected];
        LIANA_TRY(liana__import_axis_of(own, node, num_axes ? axes[i] : i, x->rank, &axis));
        if (before < 0 || after < 0 || before > 1 << 20 || after > 1 << 20) {
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "pads: found a number below 0, or too large");
        }
        if (!before && !after) continue;
        if (liana__import_has_batch(x, axis)) {
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "pads: examples are added to the batch");
        }
        LIANA_TRY(liana__import_single(own, node, x, axis, &single));
        both[axis][0] = before;
        both[axis][1] = after;
        *is_any = true;
    }
    for (int axis = 0; axis < x->rank; axis++) {
        if (both[axis][0] || both[axis][1]) memcpy(all[x->axes[axis].at[0]], both[axis], sizeof both[axis]);
    }
    return LIANA_OK;
}

/* Where element `place` of a padded axis comes from. */
static int64_t padded_place(const char *mode, int64_t place, int64_t size)
{
    if (strcmp(mode, "edge") == 0) return place < 0 ? 0 : place < size ? place : size - 1;
    if (strcmp(mode, "wrap") == 0) return ((place % size) + size) % size;
    const int64_t period = size > 1 ? 2 * (size - 1) : 1; /* reflect: the outermost element stands once */
    place = ((place % period) + period) % period;
    return place < size ? place : period - place;
}

static liana_status pad_by_elements(liana__import *own, liana__import_node *node, const char *mode,
                                    int64_t pads[LIANA_MAX_RANK][2], size_t *result)
{
    const liana_shape shape = *liana__import_shape(own, *result);
    for (int axis = 1; axis < shape.rank; axis++) {
        const int64_t before = pads[axis][0], after = pads[axis][1], size = shape.dims[axis];
        LIANA__SCOPED(liana__text) text = {0};
        if (!before && !after) continue;
        if (before + size + after > 1 << 14) {
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "mode '%s' gives an axis of %lld elements", mode,
                                      (long long)(before + size + after));
        }
        for (int64_t i = -before; i < size + after; i++) {
            liana__text_add(&text, "%s%lld", i > -before ? ", " : "", (long long)padded_place(mode, i, size));
        }
        if (text.failed) return liana__fail_memory(own->error, own->path);
        LIANA_TRY(
            liana__import_operation(own, node, result, 1, result, "take(indices=[%s], axis=%d)", text.data, axis));
    }
    return LIANA_OK;
}

static liana_status read_pad(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    int64_t all[LIANA_MAX_RANK][2] = {{0}};
    double value;
    bool is_any = false;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_number(own, node, "value", 2, 0, &value));
    const liana__import_word mode = liana__import_text(node, "mode", "constant");
    const bool is_constant = strcmp(mode.text, "constant") == 0;
    if (!is_constant && strcmp(mode.text, "reflect") && strcmp(mode.text, "edge") && strcmp(mode.text, "wrap")) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "found the mode '%s', expected constant, reflect, edge or wrap", mode.text);
    }
    LIANA_TRY(read_pads(own, node, x, all, &is_any));
    size_t result = x->result;
    if (!is_constant) {
        LIANA_TRY(pad_by_elements(own, node, mode.text, all, &result));
        liana__import_set_like(node->outputs[0], x, result);
        return LIANA_OK;
    }
    const int sides = liana__import_shape(own, result)->rank - 2;
    window_shape window = {.sides = sides};
    for (int i = 0; i < sides && i < MOST_SIDES; i++) {
        window.before[i] = all[i + 1][0];
        window.after[i] = all[i + 1][1];
    }
    const bool is_image = sides >= 1 && sides <= MOST_SIDES && !all[sides + 1][0] && !all[sides + 1][1];
    if (is_any && value == 0 && is_image) {
        LIANA_TRY(zero_padding(own, node, &window, &result));
    } else if (is_any) {
        LIANA__SCOPED(liana__text) text = {0};
        for (int i = 0; i < liana__import_shape(own, result)->rank; i++) {
            liana__text_add(&text, "%s[%lld, %lld]", i ? ", " : "", (long long)all[i][0], (long long)all[i][1]);
        }
        LIANA_TRY(liana__import_operation(own, node, &result, 1, &result, "pad(constant_values=%.9e, pad_width=[%s])",
                                          value, text.data ? text.data : ""));
    }
    liana__import_set_like(node->outputs[0], x, result);
    return LIANA_OK;
}

/* The new height and width: by scales or by sizes. */
static liana_status read_sizes(liana__import *own, liana__import_node *node, const liana_shape *images,
                               int64_t sizes[2])
{
    const bool is_old = strcmp(node->op, "Upsample") == 0 || node->num_inputs == 2;
    liana__import_value *scales = liana__import_input(node, is_old ? 1 : 2), *given = liana__import_input(node, 3);
    const Liana__Onnx__Attribute *oldest = liana__import_attribute(node, "scales");
    const bool by_size = given && liana__import_is_constant(given) && given->constant->count == 4;
    const bool by_scale = !by_size && liana__import_is_constant(scales) && scales->constant->count == 4;
    const int64_t *numbers = by_size ? liana__import_ints(own, given->constant) : NULL;
    const float *factors = by_scale ? liana__import_floats(own, scales->constant) : NULL;
    if (!by_size && !by_scale && oldest && oldest->n_floats == 4) factors = oldest->floats;
    if (own->error->status != LIANA_OK && (by_size || by_scale) && !numbers && !factors) return own->error->status;
    if (!numbers && !factors) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "expected constant scales or sizes for images [batch, channels, height, width]");
    }
    const bool keeps =
        factors ? factors[0] == 1 && factors[1] == 1 : numbers[0] == own->batch && numbers[1] == images->dims[3];
    if (!keeps || strcmp(liana__import_text(node, "keep_aspect_ratio_policy", "stretch").text, "stretch") != 0) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "the batch or the channels get another size, or keep_aspect_ratio_policy");
    }
    for (int i = 0; i < 2; i++) {
        const double wanted = factors ? (double)factors[i + 2] * (double)images->dims[i + 1] : 0;
        const double scaled = floor(wanted + 1e-5);
        /* Places follow from the scale, which the sizes would not give back. */
        if (factors && fabs(wanted - scaled) > 1e-4) {
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                      "a scale of %g for %lld pixels, expected one that gives a whole number",
                                      (double)factors[i + 2], (long long)images->dims[i + 1]);
        }
        sizes[i] = numbers ? numbers[i + 2] : scaled >= 1 && scaled < 1 << 20 ? (int64_t)scaled : 0;
        if (sizes[i] < 1 || sizes[i] > 1 << 20) {
            return liana__import_fail(own, node, LIANA_INVALID_DATA, "found a size or scale that is no size of images");
        }
    }
    return LIANA_OK;
}

static liana_status read_resize(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    size_t images, result;
    int64_t sizes[2] = {1, 1};
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_images(own, node, x, &images));
    const liana_shape shape = *liana__import_shape(own, images);
    if (shape.rank != 4) return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "expected images with 4 axes");
    LIANA_TRY(read_sizes(own, node, &shape, sizes));
    const bool is_upsample = strcmp(node->op, "Upsample") == 0;
    const liana__import_word mode = liana__import_text(node, "mode", "nearest");
    const liana__import_word place =
        liana__import_text(node, "coordinate_transformation_mode", is_upsample ? "asymmetric" : "half_pixel");
    const bool is_nearest = strcmp(mode.text, "nearest") == 0, is_linear = strcmp(mode.text, "linear") == 0;
    const bool is_whole = sizes[0] % shape.dims[1] == 0 && sizes[1] % shape.dims[2] == 0;
    const bool is_half = strcmp(place.text, "half_pixel") == 0 || strcmp(place.text, "pytorch_half_pixel") == 0;
    const liana__import_word rounding = liana__import_text(node, "nearest_mode", "round_prefer_floor");
    const bool rounds = liana__starts_with(rounding.text, "round");
    /* PyTorch's places differ from the others' for a single pixel. */
    const bool is_single = strcmp(place.text, "pytorch_half_pixel") == 0 && (sizes[0] == 1 || sizes[1] == 1);
    const bool is_asymmetric =
        strcmp(place.text, "asymmetric") == 0 && (is_upsample || strcmp(rounding.text, "floor") == 0);
    if (!(is_nearest && is_whole && ((is_half && rounds) || is_asymmetric)) &&
        !(is_linear && is_half && !is_single && !liana__import_int(node, "antialias", 0))) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED,
                                  "mode '%s' with '%s' coordinates; expected nearest by whole factors, or linear with "
                                  "half_pixel coordinates (align_corners=False)",
                                  mode.text, place.text);
    }
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_text(&options, "interpolation", is_nearest ? "nearest" : "bilinear");
    const int64_t factors[] = {sizes[0] / shape.dims[1], sizes[1] / shape.dims[2]};
    if (is_whole) liana__import_set_ints(&options, "size", factors, 2);
    if (!is_whole) liana__import_set_int(&options, "height", sizes[0]);
    if (!is_whole) liana__import_set_int(&options, "width", sizes[1]);
    LIANA_TRY(
        liana__import_add(own, node, is_whole ? "UpSampling2D" : "Resizing", NULL, &options, &images, 1, &result));
    liana__import_set_images(node->outputs[0], result, 4);
    return LIANA_OK;
}

const liana__import_op liana__import_convolutions[] = {
    {"Conv", read_conv},
    {"ConvTranspose", read_conv_transpose},
    {"MaxPool", read_pool},
    {"AveragePool", read_pool},
    {"GlobalAveragePool", read_global_pool},
    {"GlobalMaxPool", read_global_pool},
    {"Pad", read_pad},
    {"Resize", read_resize},
    {"Upsample", read_resize},
    {0},
};
