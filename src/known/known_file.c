/* The table of known files: their addresses and names, made of the rows of known_files.def. */
#include "known/known_file.h"

#include <string.h>

/* ---- weights ---- */

#define KERAS "https://storage.googleapis.com/tensorflow/keras-applications/"
/* The last argument is the source; members that only some files have may follow it. */
#define WEIGHTS(set_, path, architecture_, alpha_, size_, top, folder, name_, hash, ...)                   \
    {                                                                                                      \
        .name = set_ "/" architecture_ path, .kind = LIANA__KNOWN_WEIGHTS, .url = folder name_,            \
        .file = "weights/" name_, hash, .source = __VA_ARGS__, .set = set_, .architecture = architecture_, \
        .alpha = alpha_, .image_size = size_, .has_top = top                                               \
    }

#define FROM_MOBILENET "keras.applications (MobileNet of TensorFlow's models; Apache-2.0)"
#define MOBILENET_SIZE(alpha, digits, size)                                                                      \
    WEIGHTS("imagenet", "/" #alpha "/" #size, "MobileNet", alpha, size, true, KERAS "mobilenet/",                \
            "mobilenet_" #digits "_" #size "_tf.h5", .md5 = NULL, FROM_MOBILENET),                               \
        WEIGHTS("imagenet", "/" #alpha "/" #size "/no_top", "MobileNet", alpha, size, false, KERAS "mobilenet/", \
                "mobilenet_" #digits "_" #size "_tf_no_top.h5", .md5 = NULL, FROM_MOBILENET)
#define LIANA__KNOWN_MOBILENET(alpha, digits)                                                                   \
    MOBILENET_SIZE(alpha, digits, 128), MOBILENET_SIZE(alpha, digits, 160), MOBILENET_SIZE(alpha, digits, 192), \
        MOBILENET_SIZE(alpha, digits, 224),

#define FROM_MOBILENET_V2 "keras.applications (MobileNetV2 of TensorFlow's models; Apache-2.0)"
#define MOBILENET_V2_FILE(alpha, size) "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_" #alpha "_" #size
#define MOBILENET_V2_SIZE(alpha, size)                                                                                \
    WEIGHTS("imagenet", "/" #alpha "/" #size, "MobileNetV2", alpha, size, true, KERAS "mobilenet_v2/",                \
            MOBILENET_V2_FILE(alpha, size) ".h5", .md5 = NULL, FROM_MOBILENET_V2),                                    \
        WEIGHTS("imagenet", "/" #alpha "/" #size "/no_top", "MobileNetV2", alpha, size, false, KERAS "mobilenet_v2/", \
                MOBILENET_V2_FILE(alpha, size) "_no_top.h5", .md5 = NULL, FROM_MOBILENET_V2)
#define LIANA__KNOWN_MOBILENET_V2(alpha)                                                        \
    MOBILENET_V2_SIZE(alpha, 96), MOBILENET_V2_SIZE(alpha, 128), MOBILENET_V2_SIZE(alpha, 160), \
        MOBILENET_V2_SIZE(alpha, 192), MOBILENET_V2_SIZE(alpha, 224),
#define LIANA__KNOWN_WIDE_MOBILENET_V2(alpha) MOBILENET_V2_SIZE(alpha, 224),

#define FROM_MOBILENET_V3 "keras.applications (MobileNetV3 of TensorFlow's models; Apache-2.0)"
#define MOBILENET_V3_FILE(size, style, alpha) "weights_mobilenet_v3_" #size style "_224_" #alpha "_float"
#define MOBILENET_V3(variant, size, folder_, style, minimalistic, alpha_, top, no_top)                                \
    WEIGHTS("imagenet", folder_ "/" #alpha_ "/224", "MobileNetV3" #variant, alpha_, 224, true, KERAS "mobilenet_v3/", \
            MOBILENET_V3_FILE(size, style, alpha_) ".h5", .md5 = top, FROM_MOBILENET_V3,                              \
            .is_minimalistic = minimalistic),                                                                         \
        WEIGHTS("imagenet", folder_ "/" #alpha_ "/224/no_top", "MobileNetV3" #variant, alpha_, 224, false,            \
                KERAS "mobilenet_v3/", MOBILENET_V3_FILE(size, style, alpha_) "_no_top_v2.h5", .md5 = no_top,         \
                FROM_MOBILENET_V3, .is_minimalistic = minimalistic),
#define LIANA__KNOWN_MOBILENET_V3(variant, size, alpha, top, no_top) \
    MOBILENET_V3(variant, size, "", "", false, alpha, top, no_top)
#define LIANA__KNOWN_MINIMALISTIC(variant, size, alpha, top, no_top) \
    MOBILENET_V3(variant, size, "/minimalistic", "_minimalistic", true, alpha, top, no_top)

#define TWO_FILES(set, architecture, folder, with_top, without_top, hash, top_hash, no_top_hash, source) \
    WEIGHTS(set, "", architecture, 0, 0, true, folder, with_top, .hash = top_hash, source),              \
        WEIGHTS(set, "/no_top", architecture, 0, 0, false, folder, without_top, .hash = no_top_hash, source),

#define KERNELS "_weights_tf_dim_ordering_tf_kernels"
#define LIANA__KNOWN_RESNET(architecture, stem, top, no_top)                                                        \
    TWO_FILES("imagenet", #architecture, KERAS "resnet/", #stem KERNELS ".h5", #stem KERNELS "_notop.h5", md5, top, \
              no_top, "keras.applications (ResNets of Kaiming He, MIT; V2 of Facebook, BSD)")
#define LIANA__KNOWN_DENSENET(architecture, stem, top, no_top)                                                        \
    TWO_FILES("imagenet", #architecture, KERAS "densenet/", #stem KERNELS ".h5", #stem KERNELS "_notop.h5", md5, top, \
              no_top, "keras.applications (DenseNets of Facebook AI Research; BSD 3-clause)")
#define LIANA__KNOWN_NASNET(architecture, stem, top, no_top)                                                        \
    TWO_FILES("imagenet", #architecture, KERAS "nasnet/", "NASNet-" #stem ".h5", "NASNet-" #stem "-no-top.h5", md5, \
              top, no_top, "keras.applications (NASNets of Google; Apache-2.0)")
#define VGG(architecture, stem, path, top, ending, hash, ...)                                                     \
    WEIGHTS("imagenet", path, #architecture, 0, 0, top, KERAS #stem "/", #stem KERNELS ending ".h5", .md5 = hash, \
            "keras.applications (VGGs of the Visual Geometry Group, Oxford; CC BY 4.0)", __VA_ARGS__)
#define LIANA__KNOWN_VGG(architecture, stem, top, no_top)         \
    VGG(architecture, stem, "", true, "", top, .only_size = 224), \
        VGG(architecture, stem, "/no_top", false, "_notop", no_top, .only_size = 0),
#define LIANA__KNOWN_XCEPTION(architecture, stem, top, no_top)                                                      \
    TWO_FILES("imagenet", #architecture, KERAS #stem "/", #stem KERNELS ".h5", #stem KERNELS "_notop.h5", md5, top, \
              no_top, "keras.applications (Xception of Keras; MIT)")
#define LIANA__KNOWN_INCEPTION(architecture, stem, top, no_top)                                                     \
    TWO_FILES("imagenet", #architecture, KERAS #stem "/", #stem KERNELS ".h5", #stem KERNELS "_notop.h5", md5, top, \
              no_top, "keras.applications (Inception networks of Google; Apache-2.0)")
#define LIANA__KNOWN_EFFICIENTNET(variant, stem, top, no_top)                                            \
    TWO_FILES("imagenet", "EfficientNet" #variant, "https://storage.googleapis.com/keras-applications/", \
              "efficientnet" #stem ".h5", "efficientnet" #stem "_notop.h5", md5, top, no_top,            \
              "keras.applications (EfficientNets of Google; Apache-2.0)")
#define LIANA__KNOWN_EFFICIENTNET_V2(variant, stem, top, no_top)                                              \
    TWO_FILES("imagenet", "EfficientNetV2" #variant, KERAS "efficientnet_v2/", "efficientnetv2-" #stem ".h5", \
              "efficientnetv2-" #stem "_notop.h5", md5, top, no_top,                                          \
              "keras.applications (EfficientNetV2 of Google; Apache-2.0)")
#define LIANA__KNOWN_CONVNEXT(variant, stem, top, no_top)                                  \
    TWO_FILES("imagenet", "ConvNeXt" #variant, KERAS "convnext/", "convnext_" #stem ".h5", \
              "convnext_" #stem "_notop.h5", sha256, top, no_top, "keras.applications (ConvNeXt of Facebook; MIT)")
#define LIANA__KNOWN_NOISY_STUDENT(variant, stem, top, no_top)                                                      \
    TWO_FILES("noisy-student", "EfficientNet" #variant,                                                             \
              "https://github.com/qubvel/efficientnet/releases/download/v0.0.1/",                                   \
              "efficientnet-" #stem "_noisy-student.h5", "efficientnet-" #stem "_noisy-student_notop.h5", md5, top, \
              no_top, "package efficientnet (EfficientNets of Google; Apache-2.0)")
#define LIANA__KNOWN_AUTOAUGMENT(variant, stem, top, no_top)                                                          \
    TWO_FILES("autoaugment", "EfficientNet" #variant,                                                                 \
              "https://github.com/Callidior/keras-applications/releases/download/efficientnet/",                      \
              "efficientnet-" #stem KERNELS "_autoaugment.h5", "efficientnet-" #stem KERNELS "_autoaugment_notop.h5", \
              sha256, top, no_top, "package efficientnet (EfficientNets of Google; Apache-2.0)")

/* ---- data ---- */

#define MNIST_URL "https://storage.googleapis.com/cvdf-datasets/mnist/"
#define MNIST_SOURCE "LeCun, Cortes and Burges, The MNIST database of handwritten digits; CC BY-SA 3.0"
#define FASHION_MNIST_URL "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
#define FASHION_MNIST_SOURCE "Zalando Research, Fashion-MNIST; MIT"
#define CIFAR_URL "https://www.cs.toronto.edu/~kriz/"
#define CIFAR_SOURCE "Krizhevsky, Learning multiple layers of features from tiny images, 2009; no licence stated"
#define FLOWER_PHOTOS_URL "https://storage.googleapis.com/download.tensorflow.org/example_images/"
#define FLOWER_PHOTOS_SOURCE "The TensorFlow team, flower_photos; CC BY 2.0, photographers in LICENSE.txt"
#define LIANA__KNOWN_DATA(set, part, file_, place, md5_, sha256_, size_) \
    {.name = set "/" part,                                               \
     .kind = LIANA__KNOWN_DATA,                                          \
     .url = place##_URL file_,                                           \
     .file = "data/" set "/" file_,                                      \
     .md5 = md5_,                                                        \
     .sha256 = sha256_,                                                  \
     .size = size_,                                                      \
     .source = place##_SOURCE,                                           \
     .data_set = set},

static const liana__known_file files[] = {
#include "known/known_files.def"
};

const liana__known_file *liana__known_files(size_t *count)
{
    *count = sizeof files / sizeof *files;
    return files;
}

const liana__known_file *liana__known_file_find(const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(files[i].name, name) == 0) return &files[i];
    }
    return NULL;
}
