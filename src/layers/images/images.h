/* images.h - what layers of images share: ranges of factors, and numbers that are drawn for each example. */
#ifndef LIANA_LAYERS_IMAGES_IMAGES_H
#define LIANA_LAYERS_IMAGES_IMAGES_H

#include "layers/option_rows.h"
#include "layers/regularization/draws.h"

/* ---- ranges ---- */

typedef struct liana__range {
    double low, high;
} liana__range;

/* A factor as Keras writes it: a number, or a list of the two ends. */
#define LIANA__FACTOR_ROW(type, member, ...) LIANA_OPTION_ROW(type, member, FLOATS, __VA_ARGS__)

/* Refuses a factor that is not one number or two, or not from `least` to `most`. None was given: OK. */
liana_status liana__check_factor(liana_check *check, const char *option, const liana_floats *factor, double least,
                                 double most) LIANA_MUST_USE;

/* Two numbers are the ends in any order. One stands for -number to number, but from no less than `least`. None was
 * given: `preset` stands for it. */
liana__range liana__factor_range(const liana_floats *factor, double preset, double least);

/* Writes a factor: a number, or a list of both ends, the lower one first. */
void liana__factor_to_keras(liana__arena *arena, liana__value *config, const char *option, const liana_floats *factor,
                            double preset);

/* ---- draws ----
 *
 * They depend on the example's place in the run, so images of a batch differ, and batches do not matter. */

/* f32 [batch, count]: numbers from 0 to 1. Draw them once for a call. */
liana_tensor liana__image_draws(const liana_layer_call *call, int64_t seed, int64_t count);
/* f32 [batch, 1, 1, 1]: number `index` of them, as one of the range. A range of one number gives it exactly. */
liana_tensor liana__image_draw(const liana_layer_call *call, liana_tensor draws, int64_t index, liana__range range);

/* A number of the dtype of `like`. */
liana_tensor liana__image_number(const liana_layer_call *call, liana_tensor like, double number);

#endif
