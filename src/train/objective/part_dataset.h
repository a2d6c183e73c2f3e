/* part_dataset.h - the elements of a dataset that one process makes: a range of each batch. */
#ifndef LIANA_TRAIN_PART_DATASET_H
#define LIANA_TRAIN_PART_DATASET_H

#include "data/dataset/dataset.h"

/* Which rows of each batch. */
typedef struct liana__batch_part {
    int64_t batch_size;
    int64_t begin, end;           /* of a full batch */
    int64_t num_full;             /* batches; below 0: without end */
    int64_t last_begin, last_end; /* of the smaller batch behind them */
} liana__batch_part;

/* A dataset of those elements only, in order. The input is random-access, and taken over. NULL: failure, with a message
 * in the context. */
liana_dataset *liana__part_dataset(liana_dataset *input, const liana__batch_part *part);

#endif
