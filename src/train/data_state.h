/* data_state.h - what the training data were when a checkpoint was written: a resume on others would not be one. */
#ifndef LIANA_TRAIN_DATA_STATE_H
#define LIANA_TRAIN_DATA_STATE_H

#include "base/value.h"
#include "data/source.h"

typedef struct liana__data_file {
    const char *name; /* without its folder: data may be moved */
    int64_t bytes;    /* -1: not known */
    int64_t records;
} liana__data_file;

/* In an arena. */
typedef struct liana__data_state {
    int64_t num_records; /* of an epoch, after what was chosen */
    size_t num_files;    /* 0 where each example is a file of its own, and for thousands of files */
    liana__data_file *files;
} liana__data_state;

/* Errors: OUT_OF_MEMORY. */
liana_status liana__data_state_find(const liana__source *source, liana__arena *arena, liana__data_state *state,
                                    liana__error *error) LIANA_MUST_USE;

/* {"records": 12, "files": [{"name", "bytes", "records"}, ...]} */
liana__value *liana__data_state_value(const liana__data_state *state, liana__arena *arena);
/* Compares with what was recorded (NULL: nothing was). INVALID_DATA names the first file that is another, with both
 * counts. */
liana_status liana__data_state_check(const liana__value *recorded, const liana__data_state *now, liana__error *error)
    LIANA_MUST_USE;

#endif
