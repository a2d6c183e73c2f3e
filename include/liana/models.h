/* models.h - known architectures, with the layer names of keras.applications, so that its weight files load.
 *
 *     liana_mobilenet_v2(m, .alpha = 0.35, .input_shape = LIANA_INTS(192, 192, 3), .include_top = false);
 *     liana_dropout(m, .rate = 0.05);
 *     liana_global_average_pooling2d(m);
 *     liana_dense(m, .units = 5, .activation = "softmax");
 *
 * A builder adds the architecture's layers to an empty model or after the last layer of one, and returns its last
 * layer. In an empty model it puts an InputLayer for `input_shape` first, and the model is named like Keras's. */
#ifndef LIANA_MODELS_H
#define LIANA_MODELS_H

#include <liana/layers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds an architecture by its name; `options` is its struct. What the builders below expand to. */
LIANA_API liana_layer liana_model_add_architecture_at(liana_location here, liana_model *model, const char *name,
                                                      const void *options);

typedef enum liana_pooling {
    LIANA_POOLING_NONE,
    LIANA_POOLING_AVG,
    LIANA_POOLING_MAX,
} liana_pooling;

/* What the options of every architecture begin with. */
#define LIANA_ARCHITECTURE_OPTIONS                                                              \
    liana_ints input_shape;            /* height, width, channels; default 224, 224, 3 */       \
    bool include_top;                  /* with the classifier that the weights were made for */ \
    int64_t classes;                   /* of that classifier; default 1000 */                   \
    const char *classifier_activation; /* default "softmax"; "linear" for logits */             \
    liana_pooling pooling              /* without the top: how the images are reduced */

#define LIANA_ARCHITECTURE_DEFAULTS \
    .input_shape = {3, {224, 224, 3}}, .include_top = true, .classes = 1000, .classifier_activation = "softmax"

#define LIANA_ADD_ARCHITECTURE_(name, options, defaults, model, ...)                                 \
    __extension__({                                                                                  \
        LIANA_OPTIONS_BEGIN_                                                                         \
        liana_model_add_architecture_at(LIANA_HERE, model, name, &(options){defaults, __VA_ARGS__}); \
        LIANA_OPTIONS_END_                                                                           \
    })

/* Howard et al. 2017, "MobileNets": depthwise separable convolutions. */
typedef struct liana_mobilenet_options {
    LIANA_ARCHITECTURE_OPTIONS;
    double alpha;             /* width multiplier */
    int64_t depth_multiplier; /* of the depthwise convolutions */
    double dropout;           /* rate in the top */
} liana_mobilenet_options;
#define LIANA_MOBILENET_DEFAULTS LIANA_ARCHITECTURE_DEFAULTS, .alpha = 1, .depth_multiplier = 1, .dropout = 1e-3
#define liana_mobilenet(...) \
    LIANA_ADD_ARCHITECTURE_("MobileNet", liana_mobilenet_options, LIANA_MOBILENET_DEFAULTS, __VA_ARGS__, )

/* Sandler et al. 2018, "MobileNetV2": inverted residuals and linear bottlenecks. */
typedef struct liana_mobilenet_v2_options {
    LIANA_ARCHITECTURE_OPTIONS;
    double alpha; /* width multiplier */
} liana_mobilenet_v2_options;
#define LIANA_MOBILENET_V2_DEFAULTS LIANA_ARCHITECTURE_DEFAULTS, .alpha = 1
#define liana_mobilenet_v2(...) \
    LIANA_ADD_ARCHITECTURE_("MobileNetV2", liana_mobilenet_v2_options, LIANA_MOBILENET_V2_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
