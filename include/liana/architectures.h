/* architectures.h - the architectures of models.h as a list, with their sizes: parameters, operations, images.
 *
 *     liana_architecture each;
 *     for (size_t i = 0; (each = liana_architecture_at(i)).name; i++) puts(each.name);
 *
 * No weights are made: a model is built as a graph of shapes. */
#ifndef LIANA_ARCHITECTURES_H
#define LIANA_ARCHITECTURES_H

#include <liana/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Texts are static. */
typedef struct liana_architecture {
    const char *name;        /* "ResNet50", for liana_model_add_architecture_at and model.base; NULL: there is none */
    const char *doc;         /* what it is, in a line */
    liana_shape input_shape; /* by default, [height, width, channels] */
    liana_scale scale;       /* of its pixels, with Keras's weights */
} liana_architecture;

/* The architecture of that index, in the order of `liana list models`; zeros behind the last one. */
LIANA_API liana_architecture liana_architecture_at(size_t index);

typedef struct liana_architecture_size {
    int64_t num_parameters;           /* in all weights */
    int64_t num_trainable_parameters; /* in weights that gradients train */
    double flops;                     /* liana_model_count_flops */
} liana_architecture_size;

/* Measures an architecture with default options: with its own classifier, on images of its default size. Errors:
 * NOT_FOUND (with the nearest name), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_architecture_measure(liana_context *context, const char *name,
                                                                 liana_architecture_size *size);

#ifdef __cplusplus
}
#endif
#endif
