/* run_files.h - how tests name runs of `liana train`, and read their files. */
#ifndef LIANA_TESTS_RUN_FILES_H
#define LIANA_TESTS_RUN_FILES_H

#include <stddef.h>

/* "key=text", which overrides a configuration. In one of 8 static buffers. */
const char *liana__test_override(const char *key, const char *text);
/* The override for a run in the test's folder: "output=FOLDER/run". In one of the same buffers. */
const char *liana__test_output(const char *run);

/* Reads a number of each epoch from the run's history.json, such as "val_loss". Returns the number of epochs. The test
 * fails if there are none, or more than `most`. */
size_t liana__test_history(const char *run, const char *key, double *values, size_t most);

/* Checks that the newest checkpoints of two runs have the same weights and slots, bit for bit. */
void liana__test_assert_same_training(const char *a, const char *b);
/* ... and the same history, and the same model and predictions, as far as they have any. */
void liana__test_assert_same_run(const char *a, const char *b);

#endif
