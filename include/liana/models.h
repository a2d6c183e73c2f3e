/* models.h - known architectures. Their layers have the names of keras.applications, so that Keras's weight files load.
 *
 *     liana_mobilenet_v2(m, .alpha = 0.35, .input_shape = LIANA_INTS(192, 192, 3), .include_top = false);
 *     liana_dropout(m, .rate = 0.05);
 *     liana_global_average_pooling2d(m);
 *     liana_dense(m, .units = 5, .activation = "softmax");
 *
 * A builder adds the layers of an architecture to an empty model, or after the last layer of a model. It returns the
 * last layer that it added. In an empty model it first adds an InputLayer of `input_shape`, and the model gets Keras's
 * name. */
#ifndef LIANA_MODELS_H
#define LIANA_MODELS_H

#include <liana/layers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds an architecture by its name; `options` is the struct of that architecture. The builders below expand to this. */
LIANA_API liana_layer liana_model_add_architecture_at(liana_location here, liana_model *model, const char *name,
                                                      const void *options);

typedef enum liana_pooling {
    LIANA_POOLING_NONE,
    LIANA_POOLING_AVG,
    LIANA_POOLING_MAX,
} liana_pooling;

/* The first options of every architecture. */
#define LIANA_ARCHITECTURE_OPTIONS LIANA_ARCHITECTURE_OPTIONS_OF_(224)
#define LIANA_ARCHITECTURE_OPTIONS_OF_(size)                                                   \
    liana_ints input_shape LIANA_DEFAULT_(3, {size, size, 3});   /* height, width, channels */ \
    bool include_top LIANA_DEFAULT_(true);                       /* with Keras's classifier */ \
    int64_t classes LIANA_DEFAULT_(1000);                        /* of that classifier */      \
    const char *classifier_activation LIANA_DEFAULT_("softmax"); /* "linear" for logits */     \
    liana_pooling pooling LIANA_DEFAULT_()                       /* without the top: how images become vectors */

#define LIANA_ARCHITECTURE_DEFAULTS \
    .input_shape = {3, {224, 224, 3}}, .include_top = true, .classes = 1000, .classifier_activation = "softmax"

#if defined(__cplusplus)
#define LIANA_ADD_ARCHITECTURE_(name, options, defaults, model, ...) \
    liana_model_add_architecture_at(LIANA_HERE, model, name, liana_address_(options{__VA_ARGS__}))
#else
#define LIANA_ADD_ARCHITECTURE_(name, options, defaults, model, ...)                                 \
    __extension__({                                                                                  \
        LIANA_OPTIONS_BEGIN_                                                                         \
        liana_model_add_architecture_at(LIANA_HERE, model, name, &(options){defaults, __VA_ARGS__}); \
        LIANA_OPTIONS_END_                                                                           \
    })
#endif

/* Howard et al. 2017, "MobileNets": depthwise separable convolutions. */
typedef struct liana_mobilenet_options {
    LIANA_ARCHITECTURE_OPTIONS;
    double alpha LIANA_DEFAULT_(1);             /* width multiplier */
    int64_t depth_multiplier LIANA_DEFAULT_(1); /* of the depthwise convolutions */
    double dropout LIANA_DEFAULT_(1e-3);        /* rate in the top */
} liana_mobilenet_options;
#define LIANA_MOBILENET_DEFAULTS LIANA_ARCHITECTURE_DEFAULTS, .alpha = 1, .depth_multiplier = 1, .dropout = 1e-3
#define liana_mobilenet(...) \
    LIANA_ADD_ARCHITECTURE_("MobileNet", liana_mobilenet_options, LIANA_MOBILENET_DEFAULTS, __VA_ARGS__, )

/* Sandler et al. 2018, "MobileNetV2": inverted residuals and linear bottlenecks. */
typedef struct liana_mobilenet_v2_options {
    LIANA_ARCHITECTURE_OPTIONS;
    double alpha LIANA_DEFAULT_(1); /* width multiplier */
} liana_mobilenet_v2_options;
#define LIANA_MOBILENET_V2_DEFAULTS LIANA_ARCHITECTURE_DEFAULTS, .alpha = 1
#define liana_mobilenet_v2(...) \
    LIANA_ADD_ARCHITECTURE_("MobileNetV2", liana_mobilenet_v2_options, LIANA_MOBILENET_V2_DEFAULTS, __VA_ARGS__, )

/* Howard et al. 2019, "Searching for MobileNetV3": MobileNetV3Small, MobileNetV3Large. Pixels enter as 0..255. Images
 * have sides of at least 32. */
typedef struct liana_mobilenet_v3_options {
    LIANA_ARCHITECTURE_OPTIONS;
    double alpha LIANA_DEFAULT_(1);                  /* width multiplier */
    bool minimalistic LIANA_DEFAULT_(false);         /* ReLU alone, 3 x 3 kernels alone, no squeeze and excitation */
    double dropout_rate LIANA_DEFAULT_(0.2);         /* in the top */
    bool include_preprocessing LIANA_DEFAULT_(true); /* false: no Rescaling; pixels enter as -1..1 */
} liana_mobilenet_v3_options;
#define LIANA_MOBILENET_V3_DEFAULTS \
    LIANA_ARCHITECTURE_DEFAULTS, .alpha = 1, .dropout_rate = 0.2, .include_preprocessing = true
#define liana_mobilenet_v3_small(...) \
    LIANA_ADD_ARCHITECTURE_("MobileNetV3Small", liana_mobilenet_v3_options, LIANA_MOBILENET_V3_DEFAULTS, __VA_ARGS__, )
#define liana_mobilenet_v3_large(...) \
    LIANA_ADD_ARCHITECTURE_("MobileNetV3Large", liana_mobilenet_v3_options, LIANA_MOBILENET_V3_DEFAULTS, __VA_ARGS__, )

/* He et al. 2015, "Deep Residual Learning": ResNet50, ResNet101, ResNet152. */
typedef struct liana_resnet_options {
    LIANA_ARCHITECTURE_OPTIONS;
} liana_resnet_options;
#define liana_resnet50(...) \
    LIANA_ADD_ARCHITECTURE_("ResNet50", liana_resnet_options, LIANA_ARCHITECTURE_DEFAULTS, __VA_ARGS__, )
#define liana_resnet101(...) \
    LIANA_ADD_ARCHITECTURE_("ResNet101", liana_resnet_options, LIANA_ARCHITECTURE_DEFAULTS, __VA_ARGS__, )
#define liana_resnet152(...) \
    LIANA_ADD_ARCHITECTURE_("ResNet152", liana_resnet_options, LIANA_ARCHITECTURE_DEFAULTS, __VA_ARGS__, )

/* He et al. 2016, "Identity Mappings in Deep Residual Networks": ResNet50V2, ResNet101V2, ResNet152V2. */
typedef struct liana_resnet_v2_options {
    LIANA_ARCHITECTURE_OPTIONS;
} liana_resnet_v2_options;
#define liana_resnet50_v2(...) \
    LIANA_ADD_ARCHITECTURE_("ResNet50V2", liana_resnet_v2_options, LIANA_ARCHITECTURE_DEFAULTS, __VA_ARGS__, )
#define liana_resnet101_v2(...) \
    LIANA_ADD_ARCHITECTURE_("ResNet101V2", liana_resnet_v2_options, LIANA_ARCHITECTURE_DEFAULTS, __VA_ARGS__, )
#define liana_resnet152_v2(...) \
    LIANA_ADD_ARCHITECTURE_("ResNet152V2", liana_resnet_v2_options, LIANA_ARCHITECTURE_DEFAULTS, __VA_ARGS__, )

/* Huang et al. 2017, "Densely Connected Convolutional Networks": DenseNet121, DenseNet169, DenseNet201. */
typedef struct liana_densenet_options {
    LIANA_ARCHITECTURE_OPTIONS;
} liana_densenet_options;
#define liana_densenet121(...) \
    LIANA_ADD_ARCHITECTURE_("DenseNet121", liana_densenet_options, LIANA_ARCHITECTURE_DEFAULTS, __VA_ARGS__, )
#define liana_densenet169(...) \
    LIANA_ADD_ARCHITECTURE_("DenseNet169", liana_densenet_options, LIANA_ARCHITECTURE_DEFAULTS, __VA_ARGS__, )
#define liana_densenet201(...) \
    LIANA_ADD_ARCHITECTURE_("DenseNet201", liana_densenet_options, LIANA_ARCHITECTURE_DEFAULTS, __VA_ARGS__, )

/* Simonyan and Zisserman 2014, "Very Deep Convolutional Networks for Large-Scale Image Recognition": VGG16, VGG19. With
 * the top the weights are for one size of images: its first dense layer reads all pixels of the last block. Images have
 * sides of at least 32. */
typedef struct liana_vgg_options {
    LIANA_ARCHITECTURE_OPTIONS;
} liana_vgg_options;
#define liana_vgg16(...) LIANA_ADD_ARCHITECTURE_("VGG16", liana_vgg_options, LIANA_ARCHITECTURE_DEFAULTS, __VA_ARGS__, )
#define liana_vgg19(...) LIANA_ADD_ARCHITECTURE_("VGG19", liana_vgg_options, LIANA_ARCHITECTURE_DEFAULTS, __VA_ARGS__, )

/* Chollet 2016, "Xception: Deep Learning with Depthwise Separable Convolutions". Images have sides of at least 71. */
typedef struct liana_xception_options {
    LIANA_ARCHITECTURE_OPTIONS_OF_(299);
} liana_xception_options;
#define LIANA_XCEPTION_DEFAULTS LIANA_ARCHITECTURE_DEFAULTS, .input_shape = {3, {299, 299, 3}}
#define liana_xception(...) \
    LIANA_ADD_ARCHITECTURE_("Xception", liana_xception_options, LIANA_XCEPTION_DEFAULTS, __VA_ARGS__, )

/* Szegedy et al. 2015, "Rethinking the Inception Architecture for Computer Vision": InceptionV3; Szegedy et al. 2016,
 * "Inception-v4, Inception-ResNet and the Impact of Residual Connections on Learning": InceptionResNetV2. Images have
 * sides of at least 75. */
typedef struct liana_inception_options {
    LIANA_ARCHITECTURE_OPTIONS_OF_(299);
} liana_inception_options;
#define LIANA_INCEPTION_DEFAULTS LIANA_ARCHITECTURE_DEFAULTS, .input_shape = {3, {299, 299, 3}}
#define liana_inception_v3(...) \
    LIANA_ADD_ARCHITECTURE_("InceptionV3", liana_inception_options, LIANA_INCEPTION_DEFAULTS, __VA_ARGS__, )
#define liana_inception_resnet_v2(...) \
    LIANA_ADD_ARCHITECTURE_("InceptionResNetV2", liana_inception_options, LIANA_INCEPTION_DEFAULTS, __VA_ARGS__, )

/* Tan and Le 2019, "EfficientNet": B0 to B7, each with its own default image size and dropout. Pixels enter as 0..255.
 * C++ has a builder for B0 only, since a member of a struct has one default. For the others, fill .input_shape and
 * .dropout_rate, and call liana_model_add_architecture_at. */
typedef struct liana_efficientnet_options {
    LIANA_ARCHITECTURE_OPTIONS;
    double dropout_rate LIANA_DEFAULT_(0.2);      /* in the top */
    double drop_connect_rate LIANA_DEFAULT_(0.2); /* probability that training skips the last block; decreases to the
                                                   * first */
    /* A second Rescaling behind the Normalization, by 1 / sqrt(deviation) of ImageNet's channels. Keras from 2.9 on
     * puts it there with its ImageNet weights, whose Normalization has the deviations in place of the variances. */
    bool imagenet_rescaling LIANA_DEFAULT_(false);
} liana_efficientnet_options;
#define LIANA_EFFICIENTNET_DEFAULTS_(size, dropout) \
    LIANA_ARCHITECTURE_DEFAULTS, .input_shape = {3, {size, size, 3}}, .dropout_rate = dropout, .drop_connect_rate = 0.2
#define liana_efficientnet_b0(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetB0", liana_efficientnet_options, LIANA_EFFICIENTNET_DEFAULTS_(224, 0.2), \
                            __VA_ARGS__, )
#if !defined(__cplusplus)
#define liana_efficientnet_b1(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetB1", liana_efficientnet_options, LIANA_EFFICIENTNET_DEFAULTS_(240, 0.2), \
                            __VA_ARGS__, )
#define liana_efficientnet_b2(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetB2", liana_efficientnet_options, LIANA_EFFICIENTNET_DEFAULTS_(260, 0.3), \
                            __VA_ARGS__, )
#define liana_efficientnet_b3(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetB3", liana_efficientnet_options, LIANA_EFFICIENTNET_DEFAULTS_(300, 0.3), \
                            __VA_ARGS__, )
#define liana_efficientnet_b4(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetB4", liana_efficientnet_options, LIANA_EFFICIENTNET_DEFAULTS_(380, 0.4), \
                            __VA_ARGS__, )
#define liana_efficientnet_b5(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetB5", liana_efficientnet_options, LIANA_EFFICIENTNET_DEFAULTS_(456, 0.4), \
                            __VA_ARGS__, )
#define liana_efficientnet_b6(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetB6", liana_efficientnet_options, LIANA_EFFICIENTNET_DEFAULTS_(528, 0.5), \
                            __VA_ARGS__, )
#define liana_efficientnet_b7(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetB7", liana_efficientnet_options, LIANA_EFFICIENTNET_DEFAULTS_(600, 0.5), \
                            __VA_ARGS__, )
#endif

/* Zoph et al. 2018, "Learning Transferable Architectures for Scalable Image Recognition": NASNetMobile (NASNet-A 4 @
 * 1056) and NASNetLarge (6 @ 4032). Height and width are at least 32. */
typedef struct liana_nasnet_mobile_options {
    LIANA_ARCHITECTURE_OPTIONS;
} liana_nasnet_mobile_options;
typedef struct liana_nasnet_large_options {
    LIANA_ARCHITECTURE_OPTIONS_OF_(331);
} liana_nasnet_large_options;
#define liana_nasnet_mobile(...) \
    LIANA_ADD_ARCHITECTURE_("NASNetMobile", liana_nasnet_mobile_options, LIANA_ARCHITECTURE_DEFAULTS, __VA_ARGS__, )
#define LIANA_NASNET_LARGE_DEFAULTS LIANA_ARCHITECTURE_DEFAULTS, .input_shape = {3, {331, 331, 3}}
#define liana_nasnet_large(...) \
    LIANA_ADD_ARCHITECTURE_("NASNetLarge", liana_nasnet_large_options, LIANA_NASNET_LARGE_DEFAULTS, __VA_ARGS__, )

/* Tan and Le 2021, "EfficientNetV2": B0 to B3, S, M and L, each with its own default image size. Pixels enter as
 * 0..255; without .include_preprocessing as the network takes them: B0 to B3 normalised by ImageNet's mean and
 * deviation, the others from -1 to 1. C++ has a builder for B0 only: for the others, fill .input_shape, and call
 * liana_model_add_architecture_at. */
typedef struct liana_efficientnet_v2_options {
    LIANA_ARCHITECTURE_OPTIONS;
    double dropout_rate LIANA_DEFAULT_(0.2); /* in the top */
    /* Probability that training skips the last block; decreases to the first. In B1 to B3 up to 1.5 times as much,
     * since Keras counts the blocks of B0. */
    double drop_connect_rate LIANA_DEFAULT_(0.2);
    bool include_preprocessing LIANA_DEFAULT_(true);
} liana_efficientnet_v2_options;
#define LIANA_EFFICIENTNET_V2_DEFAULTS_(size)                                                                        \
    LIANA_ARCHITECTURE_DEFAULTS, .input_shape = {3, {size, size, 3}}, .dropout_rate = 0.2, .drop_connect_rate = 0.2, \
                                 .include_preprocessing = true
#define liana_efficientnet_v2_b0(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetV2B0", liana_efficientnet_v2_options, LIANA_EFFICIENTNET_V2_DEFAULTS_(224), \
                            __VA_ARGS__, )
#if !defined(__cplusplus)
#define liana_efficientnet_v2_b1(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetV2B1", liana_efficientnet_v2_options, LIANA_EFFICIENTNET_V2_DEFAULTS_(240), \
                            __VA_ARGS__, )
#define liana_efficientnet_v2_b2(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetV2B2", liana_efficientnet_v2_options, LIANA_EFFICIENTNET_V2_DEFAULTS_(260), \
                            __VA_ARGS__, )
#define liana_efficientnet_v2_b3(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetV2B3", liana_efficientnet_v2_options, LIANA_EFFICIENTNET_V2_DEFAULTS_(300), \
                            __VA_ARGS__, )
#define liana_efficientnet_v2_s(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetV2S", liana_efficientnet_v2_options, LIANA_EFFICIENTNET_V2_DEFAULTS_(384), \
                            __VA_ARGS__, )
#define liana_efficientnet_v2_m(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetV2M", liana_efficientnet_v2_options, LIANA_EFFICIENTNET_V2_DEFAULTS_(480), \
                            __VA_ARGS__, )
#define liana_efficientnet_v2_l(...)                                                                                \
    LIANA_ADD_ARCHITECTURE_("EfficientNetV2L", liana_efficientnet_v2_options, LIANA_EFFICIENTNET_V2_DEFAULTS_(480), \
                            __VA_ARGS__, )
#endif

/* Liu et al. 2022, "A ConvNet for the 2020s": ConvNeXtTiny, Small, Base, Large and XLarge. Pixels enter as 0..255;
 * without .include_preprocessing normalised by ImageNet's mean and deviation. As in Keras, the stem and the layers
 * between two stages are models within the model (convnext_tiny_stem), and without the top a LayerNormalization
 * follows the pooling. */
typedef struct liana_convnext_options {
    LIANA_ARCHITECTURE_OPTIONS;
    double drop_path_rate LIANA_DEFAULT_(0); /* probability that training skips the last block; decreases to 0 in the
                                              * first. The paper has 0.1 to 0.5 */
    double layer_scale_init_value LIANA_DEFAULT_(1e-6); /* first factor of residual branches */
    bool include_preprocessing LIANA_DEFAULT_(true);
} liana_convnext_options;
#define LIANA_CONVNEXT_DEFAULTS \
    LIANA_ARCHITECTURE_DEFAULTS, .layer_scale_init_value = 1e-6, .include_preprocessing = true
#define liana_convnext_tiny(...) \
    LIANA_ADD_ARCHITECTURE_("ConvNeXtTiny", liana_convnext_options, LIANA_CONVNEXT_DEFAULTS, __VA_ARGS__, )
#define liana_convnext_small(...) \
    LIANA_ADD_ARCHITECTURE_("ConvNeXtSmall", liana_convnext_options, LIANA_CONVNEXT_DEFAULTS, __VA_ARGS__, )
#define liana_convnext_base(...) \
    LIANA_ADD_ARCHITECTURE_("ConvNeXtBase", liana_convnext_options, LIANA_CONVNEXT_DEFAULTS, __VA_ARGS__, )
#define liana_convnext_large(...) \
    LIANA_ADD_ARCHITECTURE_("ConvNeXtLarge", liana_convnext_options, LIANA_CONVNEXT_DEFAULTS, __VA_ARGS__, )
#define liana_convnext_xlarge(...) \
    LIANA_ADD_ARCHITECTURE_("ConvNeXtXLarge", liana_convnext_options, LIANA_CONVNEXT_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
