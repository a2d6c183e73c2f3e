/* data_state.h - the state of the training data when a checkpoint was written. A resume on other data would not be a
 * resume.
 *
 * Names, sizes and times of files are compared. If a time differs, contents decide, so copied data count as the same.
 * docs/explanation/runs.md says which contents are read. */
#ifndef LIANA_TRAIN_DATA_STATE_H
#define LIANA_TRAIN_DATA_STATE_H

#include "data/source/source.h"
#include "step/agreement.h"

/* A file, or neighbours in a long list of files. */
typedef struct liana__data_file {
    const char *name; /* of the first file, without the folder that was named, since data may be moved */
    const char *last; /* of the last of several files; NULL: one file */
    const char *const *paths;
    int64_t count;    /* of files */
    int64_t bytes;    /* of all of them; -1: not known */
    int64_t records;  /* records in it; 0: it is an image, or has labels */
    int64_t names;    /* hash of the names and sizes of several files; 0 for one */
    int64_t time;     /* of the last change, in nanoseconds since 1970; a hash for several files and on servers; -1:
                       * none */
    int64_t contents; /* CRC-32C of the contents that were read; -1: not known (yet) */
    bool whole;       /* `contents` covers all of it, even if it is a sample for other files */
} liana__data_file;

typedef struct liana__data_list {
    liana__data_file *items;
    size_t count;
} liana__data_list;

/* Arrays are in an arena; names and paths belong to the source. */
typedef struct liana__data_state {
    int64_t num_records;     /* of an epoch, after the choice of records */
    liana__data_list files;  /* files with records; none if there are thousands */
    liana__data_list others; /* images of folders and lists, labels of IDX files; all files if there are thousands */
    int64_t num_others;      /* files among these */
    bool samples;            /* contents are samples, since the files are too large to read them completely */
    bool may_change;         /* other data are no error: the note describes the difference */
    char note[512];          /* the difference, or the check that could not be made; "": nothing */
} liana__data_state;

/* Finds the state, without the contents. Errors: OUT_OF_MEMORY. */
liana_status liana__data_state_find(const liana__source *source, liana__arena *arena, liana__data_state *state,
                                    liana__error *error) LIANA_MUST_USE;
/* Reads the contents that are not known yet. Contents that cannot be read stay unknown. */
void liana__data_state_read_contents(liana__data_state *state);
/* The same for one entry. */
void liana__data_file_read_contents(liana__data_file *file, bool samples);

/* {"records": 12, "contents": "whole", "files": [{"name", "bytes", "records", "time", "contents"}, ...], "num_others",
 * "others": [...]} */
liana__value *liana__data_state_value(const liana__data_state *state, liana__arena *arena);
/* Compares with the recorded state (NULL: none; an older liana recorded less). Contents are read if times differ, and
 * copied from the record if not. INVALID_DATA names the first file that differs, with both states of it. */
liana_status liana__data_state_check(const liana__value *recorded, liana__data_state *now, liana__error *error)
    LIANA_MUST_USE;

/* ---- data agreement ---- */

/* Whether all processes of a cluster have the same data. */

enum { LIANA__MOST_DATA_PARTS = 3 };

/* Training, validation and test data, by the names that messages give them. */
typedef struct liana__data_parts {
    const liana__source *sources[LIANA__MOST_DATA_PARTS]; /* NULL: missing */
    const char *names[LIANA__MOST_DATA_PARTS];
    size_t count;
} liana__data_parts;

/* Files are compared by names, sizes and times; where any of them differ, by their contents. Of data that are in no
 * files, such as arrays of a program, only the number of examples is known. `cluster` NULL: nothing. Errors:
 * INVALID_CONFIG with the first file that differs, alike on all processes. */
liana_status liana__agree_on_data(const liana__data_parts *parts, liana__cluster *cluster, liana__error *error)
    LIANA_MUST_USE;

#endif
