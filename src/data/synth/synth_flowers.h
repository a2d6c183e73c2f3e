/* synth_flowers.h - a labelled data set of drawn flowers, as TFRecord shards.
 *
 * Writes OUT/train/flowersNN-COUNT.tfrec, OUT/val/... and OUT/test/... (COUNT is the number of records) with the
 * features `image` (JPEG), `class` (int64; missing in test) and `id`, and OUT/classes.txt with one name a line:
 * everything or nothing (shards.h). The classes differ only in the flowers' shape: see synth_shape.h and synth_draw.h.
 * Each image is a function of the seed, its split, its number and its class. So the files have the same bytes for any
 * number of threads. */
#ifndef LIANA_DATA_SYNTH_FLOWERS_H
#define LIANA_DATA_SYNTH_FLOWERS_H

#include "base/field.h"

typedef struct liana__synth_options {
    int64_t classes;
    int64_t images; /* of all splits together */
    int64_t image_size;
    double validation; /* share of the images */
    double test;
    int64_t shards; /* number of files of the train split; the others have a quarter of it */
    int64_t seed;
    int64_t quality; /* of the JPEGs */
    bool overwrite;  /* replace the shards of an earlier run */
} liana__synth_options;

/* The options' names, defaults and ranges. */
extern const liana__fields liana__synth_fields;

typedef struct liana__synth_counts {
    int64_t train;
    int64_t validation;
    int64_t test;
} liana__synth_counts;

/* Called from time to time with the number of finished images, on the caller's thread; may be NULL. False stops the
 * work: the folder stays as it was. */
typedef bool (*liana__synth_progress)(void *user, int64_t done, int64_t total);

/* Draws with that many threads (0: the number of cores that the process may use). Errors: INVALID_CONFIG (a value
 * outside of its range, fewer images than the classes need, a folder that is not empty), IO_ERROR, OUT_OF_MEMORY,
 * CANCELLED. */
liana_status liana__synth_flowers(const char *folder, const liana__synth_options *options, int num_threads,
                                  liana__synth_progress progress, void *user, liana__synth_counts *counts,
                                  liana__error *error) LIANA_MUST_USE;

#endif
