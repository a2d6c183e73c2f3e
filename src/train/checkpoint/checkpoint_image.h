/* checkpoint_image.h - the state of a training copied to the host, and written from there: training may go on
 * meanwhile. */
#ifndef LIANA_TRAIN_CHECKPOINT_IMAGE_H
#define LIANA_TRAIN_CHECKPOINT_IMAGE_H

#include "formats/safetensors.h"
#include "train/checkpoint/checkpoint.h"

/* Zero-initialise; free with liana__checkpoint_image_free. The memory is kept from capture to capture. */
typedef struct liana__checkpoint_image {
    liana__arena arena;
    liana__value *state; /* of state.json, without checksums */
    liana__safetensors_tensor *tensors;
    size_t num_tensors;
    uint8_t *bytes; /* of the tensors */
    size_t capacity;
    const char *name; /* of the checkpoint */
    const char *best; /* the name of the best one; "": none is */
    bool kept;        /* for good */
    int64_t epoch, step;
    bool ended;
} liana__checkpoint_image;

void liana__checkpoint_image_free(liana__checkpoint_image *image);

/* Allocates memory for the variables, so that a training that begins can also be saved. Errors: OUT_OF_MEMORY. */
liana_status liana__checkpoint_image_reserve(liana__checkpoint_image *image, const liana__variables *variables,
                                             liana__error *error) LIANA_MUST_USE;
/* Copies the state and all variables as they are now. Errors: OUT_OF_MEMORY; those of reading the device. */
liana_status liana__checkpoint_image_take(liana__checkpoint_image *image, const liana__variables *variables,
                                          const liana__training_state *state, liana__error *error) LIANA_MUST_USE;

/* Writes the checkpoint into a folder, and removes those before the newest `keep` (0: none), but for the best one
 * and those that are kept for good. A checkpoint that is there already is
 * replaced if it is of another place in the training, such as before the validation that this one is after. Errors:
 * IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__checkpoint_image_write(liana__checkpoint_image *image, const char *folder, int64_t keep,
                                           liana__error *error) LIANA_MUST_USE;

#endif
