/* preprocessing.h - how images enter a model, and what its classes are called.
 *
 * A model learns this from the data that it is fitted to, keeps it in the folder that liana_model_save writes, and
 * knows it when it is loaded from there or from a run folder. liana_fit, liana_evaluate and liana_predict then treat
 * images as the training did; a program that prepares images itself asks with liana_model_preprocessing (model.h). */
#ifndef LIANA_PREPROCESSING_H
#define LIANA_PREPROCESSING_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The range that pixels, 0 to 255 in files, enter a model in. */
typedef enum liana_scale {
    LIANA_SCALE_AUTO,          /* the model's; LIANA_SCALE_ZERO_ONE where the model knows none */
    LIANA_SCALE_ZERO_ONE,      /* 0 to 1 */
    LIANA_SCALE_MINUS_ONE_ONE, /* -1 to 1, as MobileNet and MobileNetV2 were trained */
    LIANA_SCALE_NONE,          /* 0 to 255, as EfficientNets want it */
    LIANA_SCALE_CAFFE,         /* blue, green, red, less ImageNet's mean pixel, as ResNets were trained */
    LIANA_SCALE_TORCH,         /* each channel less ImageNet's mean, over its deviation, as DenseNets were trained */
} liana_scale;

/* Height, width and channels are those of the model's input. Images are resized with bilinear interpolation. */
typedef struct liana_preprocessing {
    liana_scale scale;              /* LIANA_SCALE_AUTO: nothing is known yet */
    bool antialias;                 /* average over all pixels when images are shrunk (data.resize.antialias) */
    bool fast_decode;               /* decode JPEGs at a part of their size where that is enough (data.decode: fast) */
    const char *const *class_names; /* in the order of the model's outputs, NULL behind the last one; NULL: none */
    size_t num_class_names;         /* the number of outputs, or 0: none; whoever sets names may leave it 0 */
} liana_preprocessing;

#ifdef __cplusplus
}
#endif
#endif
