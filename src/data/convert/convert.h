/* convert.h - data as TFRecord shards, whatever form they have: what `liana convert` does.
 *
 * A record is a tf.Example with `image` (an encoded JPEG or PNG, bytes), `class` (int64, counted from 0) and `id`
 * (bytes). Encoded images keep their bytes; IDX images become grey PNGs. The shards are as shards.h says.
 *
 * The id is the one that the data have; else the name of the image's file (without its folder, which would tell the
 * class of a test image; the second file of a name in the order of the output is called NAME-2.jpg, and so on); else
 * the number of the record. */
#ifndef LIANA_DATA_CONVERT_H
#define LIANA_DATA_CONVERT_H

#include "data/source/source.h"

typedef struct liana__convert_options {
    /* Files, folders or shell patterns of one kind of data: class folders, IDX files, TFRecords. */
    const char *const *inputs;
    size_t num_inputs;
    /* How to read them. Labels are needed unless they are to be ignored: then no record has a `class`. */
    liana__source_options source;

    const char *output; /* a folder, made if it is missing; see liana__shards_begin for one that has files in it */
    const char *prefix; /* of the shards' names; NULL for "part" */
    bool overwrite;
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
    /* Called after each record, NULL for never; CANCELLED if it returns false. */
    bool (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
} liana__convert_options;

typedef struct liana__convert_summary {
    uint64_t num_classes; /* 0 without labels */
    uint64_t num_records;
    uint64_t num_train; /* all records where there is no split */
    uint64_t num_validation;
    uint64_t num_test;
    uint64_t num_shards;
    uint64_t num_ignored; /* files and folders in class folders that are no images */
} liana__convert_summary;

/* classes.txt gets the names of class folders, else the numbers from 0 to the largest label. After a failure the output
 * is as it was. `summary` may be NULL.
 * Errors: INVALID_CONFIG (options that do not fit, an output folder that is not empty), INVALID_DATA and DATA_LOSS (a
 * file that is no image; the file and the record are named), CANCELLED, and those of liana__source_open and of
 * liana__shards. */
liana_status liana__convert(const liana__convert_options *options, liana__convert_summary *summary, liana__error *error)
    LIANA_MUST_USE;

#endif
