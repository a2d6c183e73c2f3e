/* Convolutions as StableHLO: the three ops of each family by their sizes along all axes. */
#include "ops/conv/convolution.h"
#include "stablehlo/lowering.h"

/* A convolution over `spatial` axes: liana__geometry with the depth as axis 0 if there is one. */
typedef struct sizes {
    int spatial;
    int64_t input[LIANA__HLO_MOST_SPATIAL], output[LIANA__HLO_MOST_SPATIAL], window[LIANA__HLO_MOST_SPATIAL];
    int64_t strides[LIANA__HLO_MOST_SPATIAL], dilations[LIANA__HLO_MOST_SPATIAL];
    int64_t padding_low[LIANA__HLO_MOST_SPATIAL], padding_high[LIANA__HLO_MOST_SPATIAL];
    int64_t channels, filters, groups;
} sizes;

static void add_axis(sizes *s, const liana__geometry *g, int axis)
{
    const int i = s->spatial++;
    s->input[i] = g->input[axis];
    s->output[i] = g->output[axis];
    s->window[i] = g->window[axis];
    s->strides[i] = g->strides[axis];
    s->dilations[i] = g->dilations[axis];
    s->padding_low[i] = g->padding_low[axis];
    s->padding_high[i] = g->padding_high[axis];
}

static sizes sizes_of(const liana__node *node)
{
    const liana__geometry plane = liana__conv_geometry(node);
    sizes s = {.channels = plane.channels, .filters = plane.filters, .groups = plane.groups};
    if (((const liana__conv_family *)node->op->details)->volumes) {
        const liana__geometry depth = liana__conv_depth(node);
        add_axis(&s, &depth, 0);
    }
    for (int i = 0; i < 2; i++) add_axis(&s, &plane, i);
    return s;
}

/* [windows' sizes, first, last]. */
static liana_shape with_window(const sizes *g, int64_t first, int64_t last)
{
    liana_shape shape = {.rank = g->spatial + 2};
    memcpy(shape.dims, g->window, (size_t)g->spatial * sizeof *g->window);
    shape.dims[g->spatial] = first;
    shape.dims[g->spatial + 1] = last;
    return shape;
}

/* The text for two spatial axes, or for three. */
static const char *axes_of(const sizes *g, const char *two, const char *three)
{
    return g->spatial == 3 ? three : two;
}

/* A kernel [height, width, channels of a group, filters], which a depthwise kernel [height, width, channels,
 * multiplier] is in memory as well. */
static liana_shape kernel_shape(const sizes *g)
{
    return with_window(g, g->channels / g->groups, g->filters);
}

/* A convolution of one group, without strides and dilations. The axes are those of x, the kernel and the result. */
static liana__hlo_convolution convolution_of(const char *const axes[3], liana_dtype dtype, liana_shape shape)
{
    return (liana__hlo_convolution){.x_axes = axes[0],
                                    .kernel_axes = axes[1],
                                    .result_axes = axes[2],
                                    .strides = {1, 1, 1},
                                    .x_dilations = {1, 1, 1},
                                    .kernel_dilations = {1, 1, 1},
                                    .feature_groups = 1,
                                    .batch_groups = 1,
                                    .dtype = dtype,
                                    .shape = shape};
}

static liana__hlo lower_forward(liana__lowering *l, const liana__node *node, const sizes *g)
{
    liana__hlo kernel = liana__hlo_reshape(l, liana__hlo_input(l, node, 1), kernel_shape(g));
    const char *images = axes_of(g, "b01f", "b012f");
    const char *const axes[] = {images, axes_of(g, "01io", "012io"), images};
    liana__hlo_convolution c = convolution_of(axes, node->dtype, node->shape);
    c.feature_groups = g->groups;
    for (int i = 0; i < g->spatial; i++) {
        c.strides[i] = g->strides[i];
        c.kernel_dilations[i] = g->dilations[i];
        c.padding[i][0] = g->padding_low[i];
        c.padding[i][1] = g->padding_high[i];
    }
    return liana__hlo_convolve(l, liana__hlo_input(l, node, 0), kernel, &c);
}

static int64_t extent(int64_t count, int64_t distance)
{
    return (count - 1) * distance + 1;
}

/* [height, width, channels of a group, groups x filters of a group] becomes [.., groups x channels, filters of a
 * group]: each group's filters and channels change places. */
static liana__hlo swap_groups(liana__lowering *l, liana__hlo kernel, const sizes *g)
{
    const int64_t channels = g->channels / g->groups, filters = g->filters / g->groups;
    const int n = g->spatial;
    int64_t permutation[LIANA_MAX_RANK];
    for (int i = 0; i < n + 3; i++) permutation[i] = i;
    permutation[n] = n + 1;
    permutation[n + 1] = n;
    liana_shape split = with_window(g, channels, g->groups);
    split.dims[split.rank++] = filters;
    kernel = liana__hlo_transpose(l, liana__hlo_reshape(l, kernel, split), permutation);
    return liana__hlo_reshape(l, kernel, with_window(g, g->channels, filters));
}

/* The convolution of dy, its elements `strides` apart, with the kernel turned by half a circle. */
static liana__hlo lower_input_gradient(liana__lowering *l, const liana__node *node, const sizes *g)
{
    static const int64_t spatial[] = {0, 1, 2};
    liana__hlo kernel = liana__hlo_reshape(l, liana__hlo_input(l, node, 1), kernel_shape(g));
    if (g->groups > 1) kernel = swap_groups(l, kernel, g);
    const char *images = axes_of(g, "b01f", "b012f");
    const char *const axes[] = {images, axes_of(g, "01oi", "012oi"), images};
    liana__hlo_convolution c = convolution_of(axes, node->dtype, node->shape);
    c.feature_groups = g->groups;
    for (int i = 0; i < g->spatial; i++) {
        int64_t window = extent(g->window[i], g->dilations[i]);
        c.x_dilations[i] = g->strides[i];
        c.kernel_dilations[i] = g->dilations[i];
        c.padding[i][0] = window - 1 - g->padding_low[i];
        c.padding[i][1] = g->input[i] + window - 1 - extent(g->output[i], g->strides[i]) - c.padding[i][0];
    }
    return liana__hlo_convolve(l, liana__hlo_input(l, node, 0), liana__hlo_reverse(l, kernel, spatial, g->spatial), &c);
}

/* The products of dy and the elements that one place of a window meets, summed: [1, channels]. `x` is padded. */
static liana__hlo sum_of_place(liana__lowering *l, liana__hlo x, liana__hlo dy, const sizes *g, const int64_t place[2])
{
    int64_t begin[] = {0, 0, 0, 0}, end[] = {dy.shape.dims[0], 0, 0, dy.shape.dims[3]}, strides[] = {1, 1, 1, 1};
    static const int64_t places[] = {1, 2}, examples[] = {0};
    for (int i = 0; i < 2; i++) {
        begin[1 + i] = place[i] * g->dilations[i];
        end[1 + i] = begin[1 + i] + extent(g->output[i], g->strides[i]);
        strides[1 + i] = g->strides[i];
    }
    liana__hlo products = liana__hlo_binary(l, "multiply", liana__hlo_slice(l, x, begin, end, strides), dy);
    liana__hlo sums = liana__hlo_reduce(l, LIANA__HLO_ADD, products, places, 2);
    return liana__hlo_reduce_kept(l, LIANA__HLO_ADD, sums, examples, 1);
}

/* The most places of a window that are summed one by one. */
enum { MOST_PLACES = 64 };

/* Whether each channel has one filter of its own, and few places. */
static bool is_summed_by_place(const sizes *g)
{
    return g->spatial == 2 && g->groups > 1 && g->groups == g->channels && g->groups == g->filters &&
           g->window[0] * g->window[1] <= MOST_PLACES;
}

/* For XLA on CPUs, which computes a convolution of groups as one of all channels with all others, and drops the
 * products between groups. Here an element is the sum of as many products as its channel has elements in dy. */
static liana__hlo lower_by_place(liana__lowering *l, const liana__node *node, const sizes *g)
{
    liana__hlo x = liana__hlo_widen(l, liana__hlo_input(l, node, 0)), sums[MOST_PLACES];
    liana__hlo dy = liana__hlo_widen(l, liana__hlo_input(l, node, 1));
    int64_t low[4] = {0}, high[4] = {0}, none[4] = {0}, place[2];
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        const int64_t reach = extent(g->output[i], g->strides[i]) + extent(g->window[i], g->dilations[i]) - 1;
        low[1 + i] = g->padding_low[i];
        high[1 + i] = reach - g->input[i] - g->padding_low[i];
    }
    x = liana__hlo_pad(l, x, 0, low, high, none);
    for (place[0] = 0; place[0] < g->window[0]; place[0]++) {
        for (place[1] = 0; place[1] < g->window[1]; place[1]++) sums[count++] = sum_of_place(l, x, dy, g, place);
    }
    liana__hlo made = liana__hlo_convert(l, liana__hlo_concatenate(l, sums, count, 0), node->dtype);
    return liana__hlo_reshape(l, made, node->shape);
}

/* The convolution of the images with dy, whose elements are `strides` apart; examples are summed as channels are. */
static liana__hlo lower_kernel_gradient(liana__lowering *l, const liana__node *node, const sizes *g)
{
    if (liana__hlo_is_for_cpus(l) && is_summed_by_place(g)) return lower_by_place(l, node, g);
    const char *const axes[] = {axes_of(g, "f01b", "f012b"), axes_of(g, "i01o", "i012o"), axes_of(g, "01bf", "012bf")};
    liana__hlo_convolution c = convolution_of(axes, node->dtype, kernel_shape(g));
    c.batch_groups = g->groups;
    for (int i = 0; i < g->spatial; i++) {
        c.strides[i] = g->dilations[i];
        c.kernel_dilations[i] = g->strides[i];
        c.padding[i][0] = g->padding_low[i];
        c.padding[i][1] = extent(g->output[i], g->strides[i]) - g->input[i] + extent(g->window[i], g->dilations[i]) -
                          1 - g->padding_low[i];
    }
    liana__hlo made = liana__hlo_convolve(l, liana__hlo_input(l, node, 0), liana__hlo_input(l, node, 1), &c);
    return liana__hlo_reshape(l, made, node->shape);
}

liana_status liana__conv_lower(liana__lowering *l, const liana__node *node)
{
    const sizes geometry = sizes_of(node);
    switch (liana__conv_pass_of(node)) {
    case LIANA__CONV_FORWARD: return liana__hlo_give(l, node, lower_forward(l, node, &geometry));
    case LIANA__CONV_INPUT_GRADIENT: return liana__hlo_give(l, node, lower_input_gradient(l, node, &geometry));
    default: return liana__hlo_give(l, node, lower_kernel_gradient(l, node, &geometry));
    }
}
