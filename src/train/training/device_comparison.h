/* device_comparison.h - whether two devices compute the same training, layer by layer.
 *
 * Two devices round differently, and a training makes small differences large. So a difference alone says nothing. How
 * much rounding explains is measured: a device like the first computes all once more with each weight and each float of
 * the inputs moved by one unit in the last place, up or down by its number. 32 times that change, and four such units
 * of the largest number, are explained; more is not. 32: a plugin may add thousands of numbers one after the other,
 * where the CPU adds them in pairs; a wrong program is off by thousands of units. */
#ifndef LIANA_TRAIN_DEVICE_COMPARISON_H
#define LIANA_TRAIN_DEVICE_COMPARISON_H

#include "data/loader/loader.h"
#include "train/training/training.h"

/* The compared tensors of a layer. */
typedef enum liana__compared {
    LIANA__COMPARED_OUTPUT,   /* of the first shard, in the first update */
    LIANA__COMPARED_GRADIENT, /* of the same: the sum over the shard, of a weight */
    LIANA__COMPARED_WEIGHT,   /* after all updates */
    LIANA__COMPARED_LOSS,     /* of an update; without updates, of the shard: its sums of losses and metrics */
} liana__compared;

extern const char *const liana__compared_names[]; /* "output", "gradient", "weight", "loss" */

/* The largest difference in one tensor. */
typedef struct liana__device_difference {
    liana__compared what;
    const char *layer;    /* "": no layer */
    const char *name;     /* of the layer, or of the weight: "conv2d/kernel"; "update 3" */
    const char *type;     /* "f32[16, 28, 28, 8]" */
    const char *place;    /* where the difference is: "[3, 5, 5, 1]" */
    double first, second; /* the values there */
    double size;          /* the largest finite number of the first device's tensor */
    double largest;       /* infinite: one is a finite number, and the other is not */
    double explained;
} liana__device_difference;

static inline bool liana__is_explained(const liana__device_difference *difference)
{
    return difference->largest <= difference->explained;
}

/* Zero-initialise; free with liana__device_comparison_free. */
typedef struct liana__device_comparison {
    liana__arena arena;
    /* Outputs from the first layer to the last, gradients from the last to the first, losses, weights: an error spreads
     * to the differences behind it. Layers' names are the model's. */
    liana__device_difference *items;
    size_t count, num_allocated;
    int64_t num_updates;
    int64_t shard_size; /* examples of the compared shard */
} liana__device_comparison;

typedef struct liana__device_comparison_options {
    liana__training *first, *second; /* of the same configuration, on two devices */
    liana__training *moved;          /* once more on the first device or one like it; its weights are moved */
    const char *names[2];            /* of the two devices, for messages */
    liana__loader *loader;           /* of the first */
    int64_t updates;                 /* 0: nothing is trained; outputs, loss and gradients of the first shard alone */
} liana__device_comparison_options;

/* Trains all three from the state of the first. Ends before with the data. Errors: those of the loader, of the devices
 * and of a step, with the device in front; OUT_OF_MEMORY. */
liana_status liana__device_comparison_run(const liana__device_comparison_options *options,
                                          liana__device_comparison *comparison, liana__error *error) LIANA_MUST_USE;

/* The first difference that is not explained; NULL: missing. */
const liana__device_difference *liana__device_comparison_first(const liana__device_comparison *comparison);

void liana__device_comparison_free(liana__device_comparison *comparison);

#endif
