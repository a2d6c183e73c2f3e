/* preprocessing.h - how images enter a model, and the names of its classes.
 *
 * A model learns this from the data that it is fitted to. liana_model_save writes it, and liana_model_load reads it
 * (also from a run folder). liana_fit, liana_evaluate and liana_predict then treat images as the training did. A
 * program that has images in memory calls liana_prepare_image (train.h). One that prepares them itself asks
 * liana_model_preprocessing (model.h). */
#ifndef LIANA_PREPROCESSING_H
#define LIANA_PREPROCESSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The range of pixel values at the model's input. In files pixels are 0 to 255. */
typedef enum liana_scale {
    LIANA_SCALE_AUTO,          /* the model's. If it knows none: LIANA_SCALE_NONE where a Rescaling or Normalization
                                * stands behind the image input, else LIANA_SCALE_ZERO_ONE */
    LIANA_SCALE_ZERO_ONE,      /* 0 to 1 */
    LIANA_SCALE_MINUS_ONE_ONE, /* -1 to 1, as MobileNet and MobileNetV2 were trained */
    LIANA_SCALE_NONE,          /* 0 to 255, as EfficientNets were trained */
    LIANA_SCALE_CAFFE,         /* order blue, green, red; minus ImageNet's mean pixel, as ResNets were trained */
    LIANA_SCALE_TORCH,         /* (channel - ImageNet's mean) / deviation, as DenseNets were trained */
} liana_scale;

/* Height, width and number of channels are those of the model's input. Images are resized with bilinear
 * interpolation. */
typedef struct liana_preprocessing {
    liana_scale scale;              /* LIANA_SCALE_AUTO: not known */
    bool round;                     /* resized pixels are whole numbers (data.resize.round); false: as in Keras */
    bool antialias;                 /* average over all pixels when images are shrunk (data.resize.antialias) */
    bool fast_decode;               /* decode JPEGs at a reduced size where that is enough (data.decode: fast) */
    const char *const *class_names; /* in the order of the model's outputs, then NULL; NULL: none */
    size_t num_class_names;         /* the number of names; 0: none. May stay 0 when a program sets names */
} liana_preprocessing;

/* An image in memory, such as the frame of a camera, of any size: rows from the top, and in a row the pixels from the
 * left, each with its channels side by side. */
typedef struct liana_pixels {
    const unsigned char *data; /* 0 to 255 */
    int64_t height;
    int64_t width;
    int channels;      /* 1: grey; 3: red, green, blue; 4: with alpha, which is left out as in PNG files */
    int64_t row_bytes; /* from the begin of a row to that of the next; 0: rows have no gaps */
} liana_pixels;

#ifdef __cplusplus
}
#endif
#endif
