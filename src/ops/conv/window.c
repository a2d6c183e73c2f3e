/* Shape rule and attributes of sliding windows. */
#include "ops/conv/window.h"

static const char *const padding_names[] = {"valid", "same", "causal", "explicit", NULL};

static const liana__field fields[] = {
    LIANA__FIELD_ROW(liana__window, strides, INT_PAIR, .doc = "Distance of windows, in cells: vertical, horizontal."),
    LIANA__FIELD_ROW(liana__window, padding, ENUM, .names = padding_names,
                     .doc = "Always explicit once the shape is known."),
    LIANA__FIELD_ROW(liana__window, vertical_padding, INT_PAIR, .doc = "Cells of padding above and below."),
    LIANA__FIELD_ROW(liana__window, horizontal_padding, INT_PAIR, .doc = "Cells of padding to the left and right."),
    LIANA__FIELD_ROW(liana__window, dilations, INT_PAIR, .doc = "Distance of the window's own cells."),
};
const liana__fields liana__window_fields = {"window", sizeof(liana__window), sizeof fields / sizeof *fields, fields};

static const liana__field depth_fields[] = {
    {.name = "depth_stride",
     .kind = LIANA__FIELD_INT,
     .offset = offsetof(liana__window, strides),
     .doc = "Distance of windows, in planes."},
    {.name = "depth_padding_rule",
     .kind = LIANA__FIELD_ENUM,
     .offset = offsetof(liana__window, padding),
     .names = padding_names,
     .doc = "Always explicit once the shape is known."},
    {.name = "depth_padding",
     .kind = LIANA__FIELD_INT_PAIR,
     .offset = offsetof(liana__window, vertical_padding),
     .doc = "Planes of padding before and behind."},
    {.name = "depth_dilation",
     .kind = LIANA__FIELD_INT,
     .offset = offsetof(liana__window, dilations),
     .doc = "Distance of the window's own planes."},
};
const liana__fields liana__depth_fields = {"depth", sizeof(liana__window), sizeof depth_fields / sizeof *depth_fields,
                                           depth_fields};

/* Keeps products of two of these, added to a dimension, far inside 64 bits. */
enum { MAX_CELLS = 65535 };

/* No tensor has more elements along an axis (liana__shape_valid). */
static const int64_t MAX_INPUT = (int64_t)1 << 46;

liana__window liana__window_of(const int64_t strides[2], liana_padding padding, const int64_t explicit_padding[4],
                               const int64_t dilations[2])
{
    liana__window window = {.strides = {strides[0], strides[1]}, .padding = (int)padding};
    if (dilations) memcpy(window.dilations, dilations, sizeof window.dilations);
    memcpy(window.vertical_padding, explicit_padding, sizeof window.vertical_padding);
    memcpy(window.horizontal_padding, explicit_padding + 2, sizeof window.horizontal_padding);
    return window;
}

static liana_status check_range(liana__infer *infer, const char *what, int64_t value, int64_t least)
{
    if (value >= least && value <= MAX_CELLS) return LIANA_OK;
    return liana__infer_fail(infer, "%s is %lld, expected %lld to %d", what, (long long)value, (long long)least,
                             MAX_CELLS);
}

/* One direction; `padding` is before and after. `cells` are rows, columns or planes. */
static liana_status resolve_axis(liana__infer *infer, liana__window *window, int axis, const char *cells,
                                 int64_t padding[2], int64_t input, int64_t size, int64_t *output)
{
    int64_t *stride = &window->strides[axis], *dilation = &window->dilations[axis];
    if (*stride == 0) *stride = 1;
    if (*dilation == 0) *dilation = 1;
    LIANA_TRY(check_range(infer, "the stride", *stride, 1));
    LIANA_TRY(check_range(infer, "the dilation", *dilation, 1));
    LIANA_TRY(check_range(infer, "the window's size", size, 1));
    /* A gradient's images are as large as its attributes say, which may come from a file. */
    if (input < 1 || input > MAX_INPUT) {
        return liana__infer_fail(infer, "the images have %lld %s, expected 1 to %lld", (long long)input, cells,
                                 (long long)MAX_INPUT);
    }
    int64_t extent = (size - 1) * *dilation + 1;
    if (window->padding == LIANA_PADDING_SAME) {
        int64_t total = ((input + *stride - 1) / *stride - 1) * *stride + extent - input;
        if (total < 0) total = 0;
        padding[0] = total / 2;
        padding[1] = total - total / 2;
    } else if (window->padding != LIANA_PADDING_EXPLICIT) {
        padding[0] = window->padding == LIANA_PADDING_CAUSAL ? extent - 1 : 0;
        padding[1] = 0;
    }
    LIANA_TRY(check_range(infer, "the padding", padding[0], 0));
    LIANA_TRY(check_range(infer, "the padding", padding[1], 0));
    int64_t padded = input + padding[0] + padding[1];
    if (padded < extent) {
        return liana__infer_fail(infer,
                                 "the window covers %lld %s (size %lld, dilation %lld), but the input with padding has "
                                 "only %lld; use a smaller window or more padding",
                                 (long long)extent, cells, (long long)size, (long long)*dilation, (long long)padded);
    }
    *output = (padded - extent) / *stride + 1;
    return LIANA_OK;
}

static liana_status check_padding(liana__infer *infer, const liana__window *window)
{
    if (window->padding >= LIANA_PADDING_VALID && window->padding <= LIANA_PADDING_EXPLICIT) return LIANA_OK;
    return liana__infer_fail(infer, "padding is %d, expected one of liana_padding", window->padding);
}

liana_status liana__window_resolve(liana__infer *infer, liana__window *window, const int64_t input[2],
                                   const int64_t size[2], int64_t output[2])
{
    LIANA_TRY(check_padding(infer, window));
    LIANA_TRY(resolve_axis(infer, window, 0, "rows", window->vertical_padding, input[0], size[0], &output[0]));
    LIANA_TRY(resolve_axis(infer, window, 1, "columns", window->horizontal_padding, input[1], size[1], &output[1]));
    window->padding = LIANA_PADDING_EXPLICIT;
    return LIANA_OK;
}

liana_status liana__window_resolve_depth(liana__infer *infer, liana__window *window, int64_t input, int64_t size,
                                         int64_t *output)
{
    LIANA_TRY(check_padding(infer, window));
    LIANA_TRY(resolve_axis(infer, window, 0, "planes", window->vertical_padding, input, size, output));
    window->padding = LIANA_PADDING_EXPLICIT;
    return LIANA_OK;
}

liana__geometry liana__window_geometry(const liana__window *window)
{
    return (liana__geometry){
        .strides = {window->strides[0], window->strides[1]},
        .dilations = {window->dilations[0], window->dilations[1]},
        .padding_low = {window->vertical_padding[0], window->horizontal_padding[0]},
        .padding_high = {window->vertical_padding[1], window->horizontal_padding[1]},
        .groups = 1,
    };
}
