/* changes.h - the changes among which RandAugment and AugMix choose. */
#ifndef LIANA_LAYERS_COLORS_CHANGES_H
#define LIANA_LAYERS_COLORS_CHANGES_H

#include "layers/colors/colors.h"

/* The last ones are those of AugMix's all_ops. */
enum { LIANA__MOST_CHANGES = 11, LIANA__FEW_CHANGES = 7 };

/* How strongly images are changed. */
typedef struct liana__strength {
    liana__range factor, values;
    liana_interpolation interpolation;
    int64_t seed;
} liana__strength;

extern const char *const liana__change_interpolations[];

/* Each image gets a drawn one of the first `count` changes; with `may_stay`, staying as it is counts as one more.
 * `index` is that of the draw (liana__image_draws), and tells the draws of the changes apart. */
liana_tensor liana__change_images(const liana_layer_call *call, const liana__strength *strength, liana_tensor x,
                                  liana_tensor draws, int64_t index, size_t count, bool may_stay);

#endif
