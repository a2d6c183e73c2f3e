/* Pooling of volumes by pooling of images: first each plane, then along the depth.
 *
 * The first maximum of the first plane that has it is the first one of the window. The mean of means is that of all
 * cells, since each plane of a window has as many cells as the others. */
#include "ops/pool/pool2d.h"

typedef liana_tensor pool2d(liana_location here, liana_tensor x, liana_pool_options options);

/* Whether no window leaves its plane when the planes stand one below the other: then a volume is one image, and the
 * batch stays an axis of its own. */
static bool are_planes_joined(const liana_shape *shape, const liana_pool_options_3d *options)
{
    return options->strides[1] == options->window[1] && shape->dims[2] % options->window[1] == 0;
}

static liana_tensor pool(liana_location here, pool2d *of_images, liana_tensor x, liana_pool_options_3d options)
{
    const liana_shape shape = liana_tensor_shape(x);
    const int64_t *d = shape.dims;
    if (!x.graph || x.graph->status != LIANA_OK) return (liana_tensor){x.graph, 0};
    if (shape.rank != 5) {
        return liana__graph_fail(x.graph, here, LIANA_INVALID_ARGUMENT,
                                 "pooling of volumes: x is %s, expected [batch, depth, height, width, channels]",
                                 liana__shape_print(&shape).text);
    }
    for (int i = 0; i < 3; i++) {
        if (options.strides[i] == 0) options.strides[i] = options.window[i];
        if (options.window[i] >= 1 && options.strides[i] >= 1) continue;
        return liana__graph_fail(x.graph, here, LIANA_INVALID_ARGUMENT,
                                 "pooling of volumes: the window is %lld and the stride %lld, expected at least 1",
                                 (long long)options.window[i], (long long)options.strides[i]);
    }
    const bool joined = are_planes_joined(&shape, &options);
    x = liana_op_reshape_at(here, x,
                            joined ? liana_shape_of(d[0], d[1] * d[2], d[3], d[4])
                                   : liana_shape_of(d[0] * d[1], d[2], d[3], d[4]));
    x = of_images(here, x,
                  (liana_pool_options){.window = {options.window[1], options.window[2]},
                                       .strides = {options.strides[1], options.strides[2]},
                                       .padding = options.padding});
    const liana_shape planes = liana_tensor_shape(x);
    const int64_t height = joined ? planes.dims[1] / d[1] : planes.dims[1], width = planes.dims[2];
    if (options.window[0] > 1 || options.strides[0] > 1) {
        x = liana_op_reshape_at(here, x, liana_shape_of(d[0], d[1], height * width, d[4]));
        x = of_images(here, x,
                      (liana_pool_options){.window = {options.window[0], 1},
                                           .strides = {options.strides[0], 1},
                                           .padding = options.padding});
    }
    return liana_op_reshape_at(here, x, liana_shape_of(d[0], -1, height, width, d[4]));
}

liana_tensor liana_op_max_pool3d_at(liana_location here, liana_tensor x, liana_pool_options_3d options)
{
    return pool(here, liana_op_max_pool2d_at, x, options);
}

liana_tensor liana_op_average_pool3d_at(liana_location here, liana_tensor x, liana_pool_options_3d options)
{
    return pool(here, liana_op_average_pool2d_at, x, options);
}
