/* data_state.h - what the training data were when a checkpoint was written: a resume on others would not be one.
 *
 * Names and sizes of files are compared, and times; where a time differs, contents decide, so that data which were
 * copied still are the same. docs/design/runs.md says what of the contents is read. */
#ifndef LIANA_TRAIN_DATA_STATE_H
#define LIANA_TRAIN_DATA_STATE_H

#include "base/value.h"
#include "data/source/source.h"

/* A file, or neighbours in a long list of files. */
typedef struct liana__data_file {
    const char *name; /* of the first, without the folder that was named: data may be moved */
    const char *last; /* of the last of several; NULL: one file */
    const char *const *paths;
    int64_t count;    /* of files */
    int64_t bytes;    /* of all of them; -1: not known */
    int64_t records;  /* that it holds; 0: it is an image, or holds labels */
    int64_t names;    /* a hash of the names and sizes of several files; 0 of one */
    int64_t time;     /* of the last change, in nanoseconds since 1970; of several, and on servers, a hash; -1: none */
    int64_t contents; /* CRC-32C of what was read of them; -1: not known (yet) */
    bool whole;       /* contents are all of it even where of others they are samples */
} liana__data_file;

typedef struct liana__data_list {
    liana__data_file *items;
    size_t count;
} liana__data_list;

/* In an arena; names and paths are the source's. */
typedef struct liana__data_state {
    int64_t num_records;     /* of an epoch, after what was chosen */
    liana__data_list files;  /* that hold records; none where there are thousands */
    liana__data_list others; /* images of folders and lists, labels of IDX files; and files where there are thousands */
    int64_t num_others;      /* files among these */
    bool samples;            /* contents are samples: there are too many bytes to read them all */
    char note[512];          /* what the check cannot say for sure; "" if nothing */
} liana__data_state;

/* Without the contents. Errors: OUT_OF_MEMORY. */
liana_status liana__data_state_find(const liana__source *source, liana__arena *arena, liana__data_state *state,
                                    liana__error *error) LIANA_MUST_USE;
/* Reads those contents that are not known yet. What cannot be read stays unknown. */
void liana__data_state_read_contents(liana__data_state *state);
/* The same of one entry. */
void liana__data_file_read_contents(liana__data_file *file, bool samples);

/* {"records": 12, "contents": "whole", "files": [{"name", "bytes", "records", "time", "contents"}, ...], "num_others",
 * "others": [...]} */
liana__value *liana__data_state_value(const liana__data_state *state, liana__arena *arena);
/* Compares with what was recorded (NULL: nothing was; an older liana recorded less). Contents are read where times
 * differ, and taken over where they do not. INVALID_DATA names the first file that is another, with what it was and
 * what it is. */
liana_status liana__data_state_check(const liana__value *recorded, liana__data_state *now, liana__error *error)
    LIANA_MUST_USE;

#endif
