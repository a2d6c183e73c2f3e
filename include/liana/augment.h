/* augment.h - a program's own augmentations: functions that change training images.
 *
 * Use it if `liana list augmentations` does not have what you need.
 *
 *     static void add_haze(void *user, const liana_example_address *address, liana_image *image) { ... }
 *     liana_augmentation_register(context, "haze", add_haze, NULL);
 *     liana_fit(model, &(liana_fit_options){.augment = "[{random_flip: {}}, {haze: {probability: 0.3}}]", ...}); */
#ifndef LIANA_AUGMENT_H
#define LIANA_AUGMENT_H

#include <liana/context.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The place of an example in a run. Its random numbers are a function of this address. */
typedef struct liana_example_address {
    uint64_t seed;
    uint64_t epoch;    /* from 0 */
    uint64_t position; /* differs for each example of each epoch */
    uint64_t record;   /* the example's index in the data */
} liana_example_address;

typedef struct liana_image {
    uint8_t *pixels; /* [height, width, channels], to be changed in place */
    int64_t height;
    int64_t width;
    int channels; /* 1 or 3: red, green, blue */
} liana_image;

/* Changes an image. Called on several threads at the same time, so the function must not change data of its own. It
 * draws random numbers with liana_example_uniform; then a run can be repeated and resumed. */
typedef void (*liana_augment_function)(void *user, const liana_example_address *address, liana_image *image);

/* Registers a function under a name, for use in data.augment and liana_fit_options.augment. The name is copied; `user`
 * (may be NULL) is passed to the function. Errors: INVALID_ARGUMENT (no name, or the name is taken), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_augmentation_register(liana_context *context, const char *name,
                                                                  liana_augment_function function, void *user);

/* The random number `index` of an example, in [0, 1); 0 if the address is NULL. Each call with the same address and
 * index gives the same number. The numbers are independent of those that liana's own stages draw. */
LIANA_API double liana_example_uniform(const liana_example_address *address, uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
