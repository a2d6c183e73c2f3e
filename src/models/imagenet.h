/* imagenet.h - the 1,000 classes of ImageNet. */
#ifndef LIANA_MODELS_IMAGENET_H
#define LIANA_MODELS_IMAGENET_H

#include "models/origin.h"

#include <liana/imagenet.h>

/* Names and WordNet's ids, in the order of the outputs of Keras's networks. Static. */
extern const char *const liana__imagenet_names[LIANA_IMAGENET_CLASSES];
extern const char *const liana__imagenet_ids[LIANA_IMAGENET_CLASSES];

/* Whether the model is an architecture with its own classifier of ImageNet's size. */
bool liana__has_imagenet_classifier(const liana_model *model);

/* The indices of the `most` largest of `count` values, the largest first, of equals the first; NaN comes last. Returns
 * how many: `most`, or `count` if that is less. */
size_t liana__find_largest(const float *values, size_t count, size_t most, size_t *largest);

#endif
