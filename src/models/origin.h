/* origin.h - which architecture a model begins with, so that weights of that architecture can be found for it. */
#ifndef LIANA_MODELS_ORIGIN_H
#define LIANA_MODELS_ORIGIN_H

#include "models/models.h"

typedef struct liana__model_origin {
    const char *architecture; /* its name */
    double alpha;             /* 1: it has no width multiplier */
    int64_t depth_multiplier; /* 1, the same */
    bool is_minimalistic;     /* of a MobileNetV3 */
    int64_t shape[3];         /* height, width and channels of an image */
    bool include_top;
    int64_t classes;   /* of the top */
    size_t num_layers; /* of the model: its last one is the architecture's last one */
} liana__model_origin;

/* Finds it: as it was built; of a model that was read from a file, by its name, which is Keras's ("resnet50",
 * "mobilenetv2_0.35_224"). False: it is not known. */
bool liana__model_find_origin(const liana_model *model, liana__model_origin *origin);

/* That of a model that is built with these options (NULL: all defaults); `where` is their dotted key. `num_layers` is
 * not known. Errors: those of reading the options. */
liana_status liana__model_origin_of(const liana__architecture *architecture, const liana__value *options,
                                    const char *where, liana__arena *arena, liana__model_origin *origin,
                                    liana__error *error) LIANA_MUST_USE;

#endif
