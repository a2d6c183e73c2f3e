/* inspect.h - the parts of `liana inspect`: each describes one kind of file as a tree of values.
 *
 * A tree is printed as one line of JSON, or for people (cli/findings.h): scalars as lines, lists of maps as tables. */
#ifndef LIANA_CLI_INSPECT_H
#define LIANA_CLI_INSPECT_H

#include "cli/findings.h"
#include "formats/tfrecord.h"

/* Adds the contents of a file to a map that already names it. Everything is in the arena. Findings before an error stay
 * in the map. Errors: those of the format's reader. */
typedef liana_status (*liana__inspect)(const char *path, liana__value *report, liana__arena *arena,
                                       liana__error *error);

liana_status liana__inspect_tfrecord(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__inspect_hdf5(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__inspect_zip(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__inspect_safetensors(const char *path, liana__value *report, liana__arena *arena,
                                        liana__error *error) LIANA_MUST_USE;
/* An architecture of Keras or TensorFlow.js, as JSON. */
liana_status liana__inspect_architecture(const char *path, liana__value *report, liana__arena *arena,
                                         liana__error *error) LIANA_MUST_USE;
/* A TensorFlow checkpoint by its index. */
liana_status liana__inspect_tensorflow(const char *index, liana__value *report, liana__arena *arena,
                                       liana__error *error) LIANA_MUST_USE;
/* For a cut archive, the members before the cut. */
liana_status liana__inspect_tar(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;
/* Any table, as training would read it. Reads all of its images. */
liana_status liana__inspect_cifar(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__inspect_onnx(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__inspect_csv(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;
/* A checkpoint folder, or any other folder: its files, with the contents of known ones. */
liana_status liana__inspect_folder(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
    LIANA_MUST_USE;

/* An event file of TensorBoard is a file of records whose first one says so. Of damaged records the first one is the
 * error; the report is of the others. */
bool liana__inspect_is_event_file(const liana__tfrecord *file);
liana_status liana__inspect_events(const liana__tfrecord *file, liana__value *report, liana__arena *arena,
                                   liana__error *error) LIANA_MUST_USE;

/* ---- one record ---- */

/* How a file's records are read. */
typedef enum liana__record_format {
    LIANA__RECORD_NONE, /* the file has none */
    LIANA__RECORD_TFRECORD,
    LIANA__RECORD_IDX,    /* a row along the first axis */
    LIANA__RECORD_NPY,    /* the same */
    LIANA__RECORD_SOURCE, /* as training reads them: tables, lists, archives, folders */
} liana__record_format;

/* Adds record `number`, from 0, with all of its values: `features`, a list of maps with feature, kind, shape (of
 * arrays) and values. Images are a map of format and size; bytes that are no text a map of their number and the first
 * ones.
 * Errors: OUT_OF_RANGE (there are fewer), those of the format's reader. */
liana_status liana__inspect_record(const char *path, int64_t number, liana__record_format format, liana__value *report,
                                   liana__arena *arena, liana__error *error) LIANA_MUST_USE;
/* Prints such a report for people: all values, in lines of a screen's width. */
void liana__record_print(const liana__value *report, FILE *out);

/* ---- tallies ---- */

/* How often names occur, and how many bytes they have, for the tables of liana inspect. */

/* There may be any number of names; a report does not have them all. */
enum { LIANA__MOST_TALLIES = 1000 };

typedef struct liana__tally {
    const char *name;
    int64_t count;
    int64_t bytes;
} liana__tally;

/* Zero-initialise. */
typedef struct liana__tallies {
    liana__tally items[LIANA__MOST_TALLIES];
    size_t count;
} liana__tallies;

/* The name is borrowed. */
void liana__tallies_add(liana__tallies *all, const char *name, int64_t bytes);
/* Sets a table under `key` with the columns `name`, `count` and perhaps "bytes"; none if there is nothing in it. */
void liana__tallies_report(liana__tallies *all, const char *name, const char *count, bool bytes, const char *key,
                           liana__value *report, liana__arena *arena);

#endif
