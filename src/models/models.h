/* models.h - the contract of architectures.
 *
 * To add one: write src/models/<stem>.c with the struct, add one row to src/models/models.def, and an options struct
 * with a builder to include/liana/models.h. Layer names and their order are keras.applications', so that its files
 * load. */
#ifndef LIANA_MODELS_MODELS_H
#define LIANA_MODELS_MODELS_H

#include "layers/model.h"

#include <liana/models.h>

typedef struct liana__architecture {
    const char *name; /* Keras's */
    const char *doc;
    const liana__fields *options;
    int64_t default_size; /* height and width of the images that its weights were made for */
    /* Keras's preprocessing of pixels 0..255 for it: pixel * input_scale + input_offset. */
    double input_scale;
    double input_offset;
    /* Adds the layers after the model's last one. Errors stick to the model. */
    void (*build)(liana_model *model, const void *options);
    /* Writes Keras's name of the model ("mobilenetv2_0.35_224"). */
    void (*print_name)(const void *options, char *name, size_t size);
} liana__architecture;

#define LIANA__MODEL(stem, name) extern const liana__architecture liana__architecture_##name;
#include "models/models.def"
#undef LIANA__MODEL

/* All in the order of models.def, NULL-terminated. */
extern const liana__architecture *const liana__architectures[];
/* By name; NULL if there is none, and then *nearest (may be NULL) is the nearest name or NULL. */
const liana__architecture *liana__architecture_find(const char *name, const char **nearest);

/* How every options struct begins. */
typedef struct liana__architecture_options {
    LIANA_ARCHITECTURE_OPTIONS;
} liana__architecture_options;

/* Rows for the tables of options; `type` is the options struct. */
#define LIANA__ARCHITECTURE_ROWS(type)                                                                           \
    LIANA__ROW(type, input_shape, INTS, .default_text = "[224, 224, 3]", .minimum = 1, .maximum = INT32_MAX,     \
               .doc = "height, width and channels of an image"),                                                 \
        LIANA__ROW(type, include_top, BOOL, .default_text = "true", .doc = "whether it has its own classifier"), \
        LIANA__COUNT_ROW(type, classes, .default_text = "1000", .doc = "classes of its own classifier"),         \
        LIANA__ROW(type, classifier_activation, STRING, .default_text = "softmax",                               \
                   .doc = "activation of its own classifier; linear gives logits"),                              \
        LIANA__ROW(type, pooling, ENUM, .default_text = "none", .names = liana__pooling_names,                   \
                   .doc = "without its own classifier: how images become features")
extern const char *const liana__pooling_names[];

/* Adds an architecture to a model; `options` is a map (NULL: all defaults), `where` its dotted key for messages. The
 * error is the model's sticky one, with the place `here`. */
liana_status liana__architecture_add(liana_model *model, liana_location here, const liana__architecture *architecture,
                                     const liana__value *options, const char *where) LIANA_MUST_USE;

/* The head of a backbone: Dropout (if the rate is above 0), global pooling, and Dense called "classifier", with
 * softmax. The pooling is left out for LIANA_POOLING_NONE. The Dense kernel starts at zero (Kolesnikov et al., "Big
 * Transfer", 2020): a random one sends random gradients into the pretrained backbone before it has learned anything; on
 * flowers192 zeros gained 1.8 points of validation accuracy over glorot_uniform (mean of seeds 1 to 4). */
void liana__head_add(liana_model *model, liana_location here, double dropout, liana_pooling pooling, int64_t classes);

/* Adds the GlobalAveragePooling2D or GlobalMaxPooling2D that `pooling` asks for, if any. */
void liana__pooling_add(liana_model *model, liana_pooling pooling);

#endif
