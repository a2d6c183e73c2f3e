/* gathered_rows.h - the model's predictions for a step that several processes share: each process gets the rows of all,
 * in the order of positions, with the components of their examples. So files of predictions are the same bytes. */
#ifndef LIANA_TRAIN_GATHERED_ROWS_H
#define LIANA_TRAIN_GATHERED_ROWS_H

#include "data/loader/options.h"
#include "train/objective/trainer.h"

/* Zero-initialise; free with liana__gathered_rows_free. */
typedef struct liana__gathered_rows {
    /* Of the whole step: positions, records, ids and the rows of targets; of components there are no others. `own` is
     * the batch of this process. Borrowed until the next step. */
    liana__batch batch;
    float *outputs;    /* [batch.count, liana__trainer_row_size] */
    int64_t capacity;  /* examples for which there is room */
    liana__told *told; /* the messages that ids lie in */
    size_t num_told;
} liana__gathered_rows;

void liana__gathered_rows_free(liana__gathered_rows *rows);

/* Tells all processes the own rows, and gets theirs. `batch` has the own shards, `outputs` is [batch->count, row size].
 * Errors: those of workers->gather; INTERNAL (a wrong message), OUT_OF_MEMORY. */
liana_status liana__gathered_rows_take(liana__gathered_rows *rows, const liana__trainer *trainer,
                                       const liana__input_workers *workers, const liana__batch *batch,
                                       const float *outputs, liana__error *error) LIANA_MUST_USE;

/* Reads the message of a process about `count` examples, behind those that are there. `row_size`: numbers that the
 * model predicts for an example. `rows` must have room. False: it is no such message, and the rows are not to be used.
 * */
bool liana__gathered_rows_read(liana__gathered_rows *rows, size_t row_size, const liana__told *told, int64_t count);

#endif
