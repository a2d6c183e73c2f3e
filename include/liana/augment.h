/* augment.h - augmentations of a program's own, beside those that `liana list augmentations` shows.
 *
 *     static void add_haze(void *user, const liana_example_address *address, liana_image *image) { ... }
 *     liana_augmentation_register(context, "haze", add_haze, NULL);
 *     liana_fit(model, &(liana_fit_options){.augment = "[{random_flip: {}}, {haze: {probability: 0.3}}]", ...});
 */
#ifndef LIANA_AUGMENT_H
#define LIANA_AUGMENT_H

#include <liana/context.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where an example stands in a run: what its random numbers are a function of. */
typedef struct liana_example_address {
    uint64_t seed;
    uint64_t epoch;    /* from 0 */
    uint64_t position; /* another one for each example of each epoch */
    uint64_t record;   /* the example's index in the data */
} liana_example_address;

typedef struct liana_image {
    uint8_t *pixels; /* [height, width, channels], to be changed in place */
    int64_t height;
    int64_t width;
    int channels; /* 1 or 3: red, green, blue */
} liana_image;

/* Changes an image. Called on several threads at a time, so it must not keep anything of its own that changes; its
 * random numbers come from liana_example_uniform, so that a run can be repeated and resumed. */
typedef void (*liana_augment_function)(void *user, const liana_example_address *address, liana_image *image);

/* Makes a function known under a name that data.augment and liana_fit_options.augment may use. The name is copied;
 * `user` is passed on as it is. Errors: INVALID_ARGUMENT (no name, or one that is taken), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_augmentation_register(liana_context *context, const char *name,
                                                                  liana_augment_function function, void *user);

/* The `index`-th random number of an example, in [0, 1): the same each time that it is asked for. Numbers do not
 * repeat those of liana's own stages. */
LIANA_API double liana_example_uniform(const liana_example_address *address, uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
