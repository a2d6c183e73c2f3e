/* convert.h - converts data of any kind to TFRecord shards: `liana convert`.
 *
 * A record is a tf.Example with `image` (an encoded JPEG or PNG, bytes), `class` (int64, counted from 0) and `id`
 * (bytes). Encoded images keep their bytes; IDX images become grey PNGs. shards.h describes the shards.
 *
 * The id is that of the data. If there is none, it is the name of the image's file, without its folder, which would
 * tell the class of a test image; if a name repeats, the second one in the order of the output is NAME-2.jpg, and so
 * on. Else it is the number of the record. */
#ifndef LIANA_DATA_CONVERT_H
#define LIANA_DATA_CONVERT_H

#include "data/source/source.h"

typedef struct liana__convert_options {
    /* Files, folders or shell patterns of data of one kind: class folders, IDX files, TFRecords. */
    const char *const *inputs;
    size_t num_inputs;
    /* How to read them. Labels are needed, unless they are to be ignored: then no record has a `class`. */
    liana__source_options source;

    const char *output; /* a folder, created if it is missing; see liana__shards_begin for one that is not empty */
    const char *prefix; /* first part of the shards' names; NULL: "part" */
    bool overwrite;
    /* At most one of these two; without both, 1000 records go into a shard. The shards of a split have nearly equal
     * sizes. */
    size_t num_shards; /* of all splits together, divided in proportion (each split has at least one) */
    size_t records_per_shard;
    /* A random order, which depends only on the seed and the number of records. */
    bool shuffle;
    uint64_t seed;
    /* The shares in [0, 1) of records for val/ and test/ in the output; the rest goes to train/. The records of test/
     * have no `class`. Both 0: no such folders; all shards are in the output itself. */
    double validation_fraction;
    double test_fraction;
    /* Called after each record; may be NULL. If it returns false, the call fails with CANCELLED. */
    bool (*progress)(void *user, int64_t done, int64_t total);
    void *user;
} liana__convert_options;

typedef struct liana__convert_summary {
    uint64_t num_classes; /* 0 without labels */
    uint64_t num_records;
    uint64_t num_train; /* all records if there is no split */
    uint64_t num_validation;
    uint64_t num_test;
    uint64_t num_shards;
    uint64_t num_ignored; /* files and folders in class folders that are not images */
} liana__convert_summary;

/* Converts data. classes.txt gets the names of class folders, else the numbers from 0 to the largest label. After a
 * failure the output is as before. `summary` may be NULL. Errors: INVALID_CONFIG (options that do not fit, an output
 * folder that is not empty), INVALID_DATA and DATA_LOSS (a file that is not an image; with the file and the record),
 * CANCELLED, and those of liana__source_open and liana__shards. */
liana_status liana__convert(const liana__convert_options *options, liana__convert_summary *summary, liana__error *error)
    LIANA_MUST_USE;

#endif
