/* models.h - the contract of architectures.
 *
 * To add one: write src/models/<stem>.c with the struct, add one row to src/models/models.def, and an options struct
 * with a builder to include/liana/models.h. Layer names and their order are those of keras.applications, so that its
 * files load. */
#ifndef LIANA_MODELS_MODELS_H
#define LIANA_MODELS_MODELS_H

#include "layers/model.h"

#include <liana/dataset.h>
#include <liana/models.h>

struct liana__model_origin;
typedef struct liana__architecture liana__architecture;
struct liana__architecture {
    const char *name; /* Keras's */
    const char *doc;
    const liana__fields *options;
    int64_t default_size; /* height and width of the images for which its weights were made */
    int64_t minimum_size; /* least height and width of images, as Keras has it; 0: what its layers can do */
    liana_scale scale;    /* Keras's preprocessing for it, unless a layer of its own scales pixels */
    const void *variant;  /* distinguishes the architectures of one file, which reads it */
    /* Adds the layers after the model's last layer. Errors stay with the model. */
    void (*build)(const liana__architecture *self, liana_model *model, const void *options);
    /* Keras's name of the model ("resnet50"). If it depends on the options, print_name writes it. */
    const char *keras_name;
    void (*print_name)(const void *options, char *name, size_t size);
    /* Finds what the name leaves open in a model that was read from a file. NULL: nothing. */
    void (*find_options)(const liana_model *model, struct liana__model_origin *origin);
    const char *top; /* the layer that its classifier ends in; NULL: "predictions" */
};

#define LIANA__MODEL(stem, name) extern const liana__architecture liana__architecture_##name;
#include "models/models.def"
#undef LIANA__MODEL

/* All architectures in the order of models.def, NULL-terminated. */
extern const liana__architecture *const liana__architectures[];
/* Finds an architecture by name. NULL: there is none; *nearest (may be NULL) is then the nearest name, or NULL. */
const liana__architecture *liana__architecture_find(const char *name, const char **nearest);

/* The beginning of every options struct. */
typedef struct liana__architecture_options {
    LIANA_ARCHITECTURE_OPTIONS;
} liana__architecture_options;

/* Rows for the tables of options; `type` is the options struct. */
#define LIANA__ARCHITECTURE_ROWS(type) LIANA__ARCHITECTURE_ROWS_OF(type, "[224, 224, 3]")
#define LIANA__ARCHITECTURE_ROWS_OF(type, shape)                                                                       \
    LIANA__FIELD_ROW(type, input_shape, INTS, .default_text = (shape), .minimum = 1, .maximum = INT32_MAX,             \
                     .doc = "height, width and channels of an image"),                                                 \
        LIANA__FIELD_ROW(type, include_top, BOOL, .default_text = "true", .doc = "whether it has its own classifier"), \
        LIANA__COUNT_ROW(type, classes, .default_text = "1000", .doc = "classes of its own classifier"),               \
        LIANA__FIELD_ROW(type, classifier_activation, STRING, .default_text = "softmax",                               \
                         .doc = "activation of its own classifier; linear gives logits"),                              \
        LIANA__FIELD_ROW(type, pooling, ENUM, .default_text = "none", .names = liana__pooling_names,                   \
                         .doc = "without its own classifier: how images become vectors of features")
extern const char *const liana__pooling_names[];
#define LIANA__INCLUDE_PREPROCESSING_ROW(type)                                  \
    LIANA__FIELD_ROW(type, include_preprocessing, BOOL, .default_text = "true", \
                     .doc = "whether it scales pixels 0..255 itself")

/* Adds an architecture to a model. `options` is a map (NULL: all defaults); `where` is its dotted key for messages. The
 * error is the model's, with the place `here`. */
liana_status liana__architecture_add(liana_model *model, liana_location here, const liana__architecture *architecture,
                                     const liana__value *options, const char *where) LIANA_MUST_USE;

/* Adds the head of a backbone: Dropout (if the rate is above 0), global pooling (not for LIANA_POOLING_NONE), and a
 * Dense layer "classifier" with softmax.
 *
 * The Dense kernel begins at zero (Kolesnikov et al., "Big Transfer", 2020). A random kernel sends random gradients
 * into the pretrained backbone before it has learnt anything. On flowers192, by whose validation accuracy this was
 * chosen, zeros were 2.0 points better than glorot_uniform (means of the best epochs of seeds 1 to 4: 0.891 and
 * 0.872). */
void liana__head_add(liana_model *model, liana_location here, double dropout, liana_pooling pooling, int64_t classes);

/* The end of most architectures. With the top: GlobalAveragePooling2D "avg_pool", Dropout "top_dropout" if the rate is
 * above 0, and Dense "predictions". Without: "avg_pool", "max_pool" or nothing. */
void liana__top_add(liana_model *model, const liana__architecture_options *options, double dropout,
                    const char *kernel_initializer);

/* The zeros [top, bottom, left, right] before valid windows of stride 2, as in Keras's models: equal on both sides
 * where the size is odd, one more after than before where it is even. */
liana_ints liana__strided_padding(liana_layer input, int64_t kernel_size);

/* The kernels of EfficientNets begin as in Keras's. */
#define LIANA__EFFICIENTNET_INITIALIZER "variance_scaling(scale=2, mode=fan_out, distribution=truncated_normal)"

/* Squeeze and excitation (Hu et al. 2018) of EfficientNets: each channel times a number between 0 and 1 that depends on
 * the means of all; between them a quarter as many numbers as the block has input channels. The names of its layers
 * begin with `name`. */
void liana__excitation_add(liana_model *model, const char *name, int64_t filters_in, liana_layer input);

/* The multiple of 8 nearest to `exact` (halves go up), at least 8 and not more than a tenth below it. */
int64_t liana__round_filters(double exact);

/* The result of the last layer that was added, or of the last model within the model. */
liana_layer liana__last_layer(liana_model *model);

/* A layer's name as text, for an argument of a builder. */
typedef struct liana__layer_name {
    char text[64];
} liana__layer_name;
liana__layer_name liana__print_layer_name(const char *format, ...) LIANA__PRINTF(1, 2);

/* Adds the global pooling layer that `pooling` asks for, if any. */
void liana__pooling_add(liana_model *model, liana_pooling pooling);

#endif
