/* dataset.h - labelled images in files: what a model is fitted to, evaluated on and predicts. */
#ifndef LIANA_DATASET_H
#define LIANA_DATASET_H

#include <liana/context.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_dataset liana_dataset;

/* The range that pixels, 0 to 255 in files, enter a model in. */
typedef enum liana_scale {
    LIANA_SCALE_ZERO_ONE,      /* 0 to 1 */
    LIANA_SCALE_MINUS_ONE_ONE, /* -1 to 1, as MobileNet and MobileNetV2 were trained */
    LIANA_SCALE_NONE,          /* 0 to 255, as EfficientNets want it */
    LIANA_SCALE_CAFFE,         /* blue, green, red, less ImageNet's mean pixel, as ResNets were trained */
    LIANA_SCALE_TORCH,         /* each channel less ImageNet's mean, over its deviation, as DenseNets were trained */
} liana_scale;

/* Zeros are the defaults. */
typedef struct liana_dataset_options {
    liana_scale scale;
    bool unlabelled;           /* do not look at labels: for liana_predict only */
    const char *labels;        /* IDX: the file of labels; NULL: looked for beside the file of images */
    const char *image_feature; /* names of tf.Example features; NULL: the usual ones are looked for */
    const char *label_feature;
    const char *id_feature;
    /* Folders: number the classes as this dataset does, which need only be open here; a folder with another name is
     * refused. NULL: in the byte order of the folders' names. Set it for validation data: a class without a folder
     * there would shift the numbers of those after it. */
    const liana_dataset *classes_of;
    int64_t label_offset; /* added to every label: -1 where the files count classes from 1 */
    int64_t take;         /* only the first so many examples; 0: all */
    bool antialias;       /* average over all pixels when images are shrunk to the model's input, as Pillow and
                           * torchvision do; TensorFlow and Keras by default do not */
} liana_dataset_options;

/* Opens TFRecord files, IDX files (MNIST), CSV lists of images, WebDataset tar archives or folders of JPEG and PNG
 * files, with a folder for each class, as a shell pattern, a file or a folder names them. Only names, sizes and the
 * first record are looked at here. `options` may be NULL. The context must outlive the dataset. Errors: NOT_FOUND,
 * INVALID_DATA (no labels, ...), DATA_LOSS, IO_ERROR. */
LIANA_API LIANA_MUST_USE liana_status liana_dataset_open(liana_context *context, const char *pattern,
                                                         const liana_dataset_options *options, liana_dataset **dataset);
/* NULL is allowed. */
LIANA_API void liana_dataset_close(liana_dataset *dataset);

LIANA_API int64_t liana_dataset_num_examples(const liana_dataset *dataset);

/* Reads all labels and gives the number of classes: the largest label plus one. */
LIANA_API LIANA_MUST_USE liana_status liana_dataset_count_classes(const liana_dataset *dataset, int64_t *num_classes);

/* Height, width and channels of the first image. A model's input may have another size: images are resized to it. */
LIANA_API LIANA_MUST_USE liana_status liana_dataset_image_shape(const liana_dataset *dataset, int64_t shape[3]);

#ifdef __cplusplus
}
#endif
#endif
