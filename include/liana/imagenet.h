/* imagenet.h - the classes of ImageNet (ILSVRC 2012), as Keras's decode_predictions names them.
 *
 *     float probabilities[2 * LIANA_IMAGENET_CLASSES];
 *     liana_imagenet_class best[2][5];
 *     if (liana_predict(model, images, NULL, probabilities) == LIANA_OK &&
 *         liana_decode_predictions(context, probabilities, 2, LIANA_IMAGENET_CLASSES, 5, best[0]) == LIANA_OK)
 *         puts(best[0][0].name);
 *
 * The list is part of the library: nothing is fetched. */
#ifndef LIANA_IMAGENET_H
#define LIANA_IMAGENET_H

#include <liana/context.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LIANA_IMAGENET_CLASSES = 1000 };

/* Texts are static. */
typedef struct liana_imagenet_class {
    size_t index;           /* the number of the class: its place among the outputs of a network */
    const char *wordnet_id; /* "n02123045"; NULL: there is no such class */
    const char *name;       /* "tabby". Classes 134 and 517 are both "crane", 638 and 639 both "maillot" */
    float probability;      /* as predicted */
} liana_imagenet_class;

/* Class 0 to 999, with probability 0; zeros for another index. */
LIANA_API liana_imagenet_class liana_imagenet_class_at(size_t index);

/* Names the likeliest classes of each example. `predictions` are [batch, classes], as liana_predict gives them;
 * `decoded` is [batch, top], the likeliest class first, of equal ones the one with the smaller index; NaN comes last.
 * Errors: INVALID_ARGUMENT (`classes` is not 1000, a negative batch), OUT_OF_RANGE (`top` is not 1 to 1000). */
LIANA_API LIANA_MUST_USE liana_status liana_decode_predictions(liana_context *context, const float *predictions,
                                                               int64_t batch, int64_t classes, size_t top,
                                                               liana_imagenet_class *decoded);

#ifdef __cplusplus
}
#endif
#endif
