/* convert.h - other people's data sets as TFRecord shards: what `liana convert` does.
 *
 * A record is a tf.Example with `image` (an encoded JPEG or PNG, bytes), `class` (int64, counted from 0) and `id`
 * (bytes). Shards are named PREFIXnn-COUNT.tfrec, with the number of records in each name, and classes.txt has one
 * class name a line. */
#ifndef LIANA_DATA_CONVERT_H
#define LIANA_DATA_CONVERT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__convert_options {
    /* Either a folder with one sub-folder per class, named as the class, that holds .jpg, .jpeg and .png files: their
     * bytes are kept as they are. Classes and files are taken in byte order; other files and names that start with a
     * dot are ignored. The id of a record is class/file. */
    const char *folder;
    /* Or two IDX files (plain or gzipped): u8 images [number, height, width], written as grey PNG, and u8 labels
     * [number]. The id of a record is its number, the class names are the numbers from 0 to the largest label. */
    const char *images;
    const char *labels;

    const char *output; /* a folder, made if it is missing */
    const char *prefix; /* of the shards' names; NULL for "part" */
    /* At most one of these; with neither 1000 records go into a shard. The shards of a split have nearly equal sizes.
     */
    size_t num_shards; /* over all splits, shared out in proportion (each split has at least one) */
    size_t records_per_shard;
    /* A random order that depends on nothing but the seed and the number of records. */
    bool shuffle;
    uint64_t seed;
    /* The shares in [0, 1) of records that go to val/ and test/ in the output, the rest to train/; the records of test/
     * have no `class`. Both 0: no such folders, all shards are in the output itself. */
    double validation_fraction;
    double test_fraction;
    /* The output may have files in it. Shards of this prefix and classes.txt of an earlier conversion are removed
     * first, other files stay. */
    bool overwrite;
    /* Called after each record, NULL for never; CANCELLED if it returns false. */
    bool (*progress)(void *user, size_t done, size_t total);
    void *user;
} liana__convert_options;

typedef struct liana__convert_summary {
    size_t num_classes;
    size_t num_records;
    size_t num_train; /* all records where there is no split */
    size_t num_validation;
    size_t num_test;
    size_t num_shards;
    size_t num_ignored; /* files in class folders that are no images */
} liana__convert_summary;

/* After a failure nothing that was written stays. `summary` may be NULL.
 * Errors: INVALID_ARGUMENT (options that do not fit, an output folder that is not empty), NOT_FOUND, IO_ERROR,
 * INVALID_DATA and DATA_LOSS (a file that is no image, labels that do not fit the images; the file is named),
 * CANCELLED, OUT_OF_MEMORY. */
liana_status liana__convert(const liana__convert_options *options, liana__convert_summary *summary, liana__error *error)
    LIANA_MUST_USE;

#endif
