/* checkpoint_writer.h - a thread that writes checkpoints while training goes on.
 *
 * A save copies the state (checkpoint_image.h) and returns; the thread writes the copy. One is written at a time: the
 * next save waits for the one before. So there is one copy, and files appear in the order of the saves. */
#ifndef LIANA_TRAIN_CHECKPOINT_WRITER_H
#define LIANA_TRAIN_CHECKPOINT_WRITER_H

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

#endif
