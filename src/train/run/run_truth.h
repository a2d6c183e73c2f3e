/* run_truth.h - the true classes of data that are predicted, where the data have them: folders of classes, labels of
 * TFRecords and of lists, the target's column of a table.
 *
 * The data are opened a second time, with their labels. So wrong labels never stop a prediction. */
#ifndef LIANA_TRAIN_RUN_TRUTH_H
#define LIANA_TRAIN_RUN_TRUTH_H

#include "train/run/run.h"

typedef struct liana__run_truth {
    const liana__run *run;
    liana__source *source; /* NULL: the data have no true classes */
    void *scratch;
    size_t place;        /* as liana__run_find_truth says */
    const char *why_not; /* why the data's labels cannot be read as the run's classes; NULL: nothing is wrong */
} liana__run_truth;

/* Finds the true classes of data that liana__run_open_data has opened. Free them before the run is closed. Errors:
 * OUT_OF_MEMORY. */
liana_status liana__run_open_truth(liana__run *run, const liana__source_config *where, const liana__run_data *data,
                                   liana__run_truth *truth, liana__error *error) LIANA_MUST_USE;
/* The true class of an example of a batch of these data; -1: not known. One thread at a time. */
int liana__run_truth_of(const liana__run_truth *truth, const liana__batch *batch, int64_t index);
/* Harmless for zeros. */
void liana__run_truth_free(liana__run_truth *truth);

#endif
