/* window.h - windows that slide over images: the attributes and the shape rule that convolutions and pooling share. */
#ifndef LIANA_OPS_WINDOW_H
#define LIANA_OPS_WINDOW_H

#include "kernels/geometry.h"
#include "ops/ops.h"

/* A part of an op's attributes. Zeros are the defaults. Inference replaces VALID and SAME by explicit padding, so that
 * the gradient ops get the same numbers. */
typedef struct liana__window {
    int64_t strides[2];            /* vertical, horizontal */
    int padding;                   /* liana_padding; EXPLICIT once inferred */
    int64_t vertical_padding[2];   /* top, bottom */
    int64_t horizontal_padding[2]; /* left, right */
    int64_t dilations[2];
} liana__window;

/* For a field of the kind SECTION; and for one that has vertical numbers alone. */
extern const liana__fields liana__window_fields;
extern const liana__fields liana__depth_fields;

/* The window for a user's options. */
liana__window liana__window_of(const int64_t strides[2], liana_padding padding, const int64_t explicit_padding[4],
                               const int64_t dilations[2]);

/* Completes `window`, and writes the size of the result into `output`; sizes are height and width. Errors have the
 * value found and the value expected. */
liana_status liana__window_resolve(liana__infer *infer, liana__window *window, const int64_t input[2],
                                   const int64_t size[2], int64_t output[2]);

/* The same for the vertical numbers of `window` alone, which are of the planes of volumes. */
liana_status liana__window_resolve_depth(liana__infer *infer, liana__window *window, int64_t input, int64_t size,
                                         int64_t *output);

/* The strides, dilations and padding of a resolved window. The caller sets the sizes. */
liana__geometry liana__window_geometry(const liana__window *window);

/* The input row (axis 0) or column (axis 1) under cell `tap` of the window for output `out`; -1: padding. */
static inline int64_t liana__window_source(const liana__geometry *g, int axis, int64_t out, int64_t tap)
{
    int64_t in = out * g->strides[axis] - g->padding_low[axis] + tap * g->dilations[axis];
    return in >= 0 && in < g->input[axis] ? in : -1;
}

/* The inverse: the output whose window has cell `tap` on input `in`; -1: there is none. */
static inline int64_t liana__window_target(const liana__geometry *g, int axis, int64_t in, int64_t tap)
{
    int64_t moved = in + g->padding_low[axis] - tap * g->dilations[axis];
    if (moved < 0 || moved % g->strides[axis] != 0) return -1;
    int64_t out = moved / g->strides[axis];
    return out < g->output[axis] ? out : -1;
}

#endif
