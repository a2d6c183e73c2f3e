/* merging.h - layers that join several layers: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_MERGING_H
#define LIANA_LAYERS_MERGING_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element by element: the sum, the difference (of two inputs), the product, the mean, the greatest or the least. Shapes
 * are broadcast as in numpy behind the batch; an input with fewer axes gets axes of size 1 behind its batch. As in
 * Keras 3, a product, a maximum and a minimum leave an input out where its mask does, and the result has a mask if all
 * inputs have one: a step counts if it counts in any input. .masks_of_keras2: values do not depend on masks, and a step
 * counts if it counts in all inputs that have a mask. */
typedef struct liana_merge_options {
    LIANA_MERGE_OPTIONS;
    bool masks_of_keras2 LIANA_DEFAULT_();
} liana_merge_options;
#define LIANA_MERGE_DEFAULTS .trainable = true, .training = true
#define liana_add(...) LIANA_ADD_("Add", liana_merge_options, LIANA_MERGE_DEFAULTS, __VA_ARGS__, )
#define liana_subtract(...) LIANA_ADD_("Subtract", liana_merge_options, LIANA_MERGE_DEFAULTS, __VA_ARGS__, )
#define liana_multiply(...) LIANA_ADD_("Multiply", liana_merge_options, LIANA_MERGE_DEFAULTS, __VA_ARGS__, )
#define liana_average(...) LIANA_ADD_("Average", liana_merge_options, LIANA_MERGE_DEFAULTS, __VA_ARGS__, )
#define liana_maximum(...) LIANA_ADD_("Maximum", liana_merge_options, LIANA_MERGE_DEFAULTS, __VA_ARGS__, )
#define liana_minimum(...) LIANA_ADD_("Minimum", liana_merge_options, LIANA_MERGE_DEFAULTS, __VA_ARGS__, )

/* The product of two inputs, summed over axis .axes[0] of the first and .axes[1] of the second: [batch, the first's
 * other axes, the second's other axes], or [batch, 1] if there is none. Axes are not 0; negative ones count from the
 * end; one number stands for both. .normalize: each input is first divided by its norm along the axis, which gives
 * cosines. The result has no mask. */
typedef struct liana_dot_options {
    LIANA_MERGE_OPTIONS;
    int64_t axes[2] LIANA_DEFAULT_();
    bool normalize LIANA_DEFAULT_();
} liana_dot_options;
#define LIANA_DOT_DEFAULTS .trainable = true, .training = true
#define liana_dot(...) LIANA_ADD_("Dot", liana_dot_options, LIANA_DOT_DEFAULTS, __VA_ARGS__, )

/* The inputs one after the other along `axis`. */
typedef struct liana_concatenate_options {
    LIANA_MERGE_OPTIONS;
    int64_t axis LIANA_DEFAULT_(-1);
} liana_concatenate_options;
#define LIANA_CONCATENATE_DEFAULTS .trainable = true, .training = true, .axis = -1
#define liana_concatenate(...) \
    LIANA_ADD_("Concatenate", liana_concatenate_options, LIANA_CONCATENATE_DEFAULTS, __VA_ARGS__, )

/* The first input and `scale` times the second, whose shapes are broadcast as in numpy: the residuals of
 * keras.applications' InceptionResNetV2, which has this class for them. The result has no mask. */
typedef struct liana_custom_scale_options {
    LIANA_MERGE_OPTIONS;
    double scale LIANA_DEFAULT_();
} liana_custom_scale_options;
#define LIANA_CUSTOM_SCALE_DEFAULTS .trainable = true, .training = true
#define liana_custom_scale_layer(...) \
    LIANA_ADD_("CustomScaleLayer", liana_custom_scale_options, LIANA_CUSTOM_SCALE_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
