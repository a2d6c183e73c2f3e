/* checkpoint_writer.h - a thread that writes checkpoints while training goes on.
 *
 * A save copies the state and returns; the thread writes the copy. One is written at a time: the
 * next save waits for the one before. So there is one copy, and files appear in the order of the saves. */
#ifndef LIANA_TRAIN_CHECKPOINT_WRITER_H
#define LIANA_TRAIN_CHECKPOINT_WRITER_H

#include "formats/safetensors.h"
#include "remote/outlet.h"
#include "train/checkpoint/checkpoint.h"

typedef struct liana__checkpoint_writer liana__checkpoint_writer;

typedef struct liana__checkpoint_writer_options {
    const char *folder;    /* for checkpoints; borrowed */
    int64_t keep;          /* the newest ones; 0: all */
    liana__outlet *outlet; /* is told of each checkpoint that was written; NULL: none */
} liana__checkpoint_writer_options;

/* Allocates memory for the variables, removes the remains of earlier processes' saves, and starts the thread. Errors:
 * OUT_OF_MEMORY. */
liana_status liana__checkpoint_writer_create(const liana__checkpoint_writer_options *options,
                                             const liana__variables *variables, liana__checkpoint_writer **writer,
                                             liana__error *error) LIANA_MUST_USE;
/* Waits for the thread and frees all. Returns the outcome of a training that ended with `status`: that, or the failure
 * to write its last checkpoint, if the training itself did not fail. NULL: there is no writer. */
/* From now on the folder is that of an outlet. */
void liana__checkpoint_writer_send(liana__checkpoint_writer *writer, liana__outlet *outlet);

liana_status liana__checkpoint_writer_close(liana__checkpoint_writer *writer, liana_status status, liana__error *error)
    LIANA_MUST_USE;

/* Begins to write a checkpoint of the state as it is now. Errors: those of copying it; the failure to write the one
 * before. */
liana_status liana__checkpoint_writer_save(liana__checkpoint_writer *writer, const liana__variables *variables,
                                           const liana__training_state *state, liana__error *error) LIANA_MUST_USE;
/* Waits until the last one is written. Errors: its failure, unless it was returned before. */
liana_status liana__checkpoint_writer_finish(liana__checkpoint_writer *writer, liana__error *error) LIANA_MUST_USE;

/* ---- checkpoint image ---- */

/* The state of a training copied to the host, and written from there: training may go on meanwhile. */

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
