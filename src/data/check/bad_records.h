/* bad_records.h - lists of records that cannot be used: which, where and why, in memory and as a CSV file.
 *
 * The file's columns are part,file,record,offset,id,reason (RFC 4180). A run writes one (bad_records.csv), `liana
 * check` writes one (--quarantine), and a configuration may name either (data.quarantine). */
#ifndef LIANA_DATA_BAD_RECORDS_H
#define LIANA_DATA_BAD_RECORDS_H

#include "base/error.h"
#include "base/memory.h"
#include "remote/remote.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__bad_record {
    const char *part;   /* "train", "validation", "test", ... */
    const char *file;   /* in a list: the real path, if the file exists */
    int64_t record;     /* number in the file, from 0; -1: the file is the record */
    int64_t offset;     /* offset of its first byte in the file; -1: not known */
    const char *id;     /* NULL: none, or it could not be read */
    const char *reason; /* a sentence */
} liana__bad_record;

/* A list of records, each once, in the order of parts, files and records. Zero-initialise. One thread at a time. */
typedef struct liana__bad_records {
    liana__arena arena;
    liana__bad_record *items;
    size_t count;
    size_t capacity;
    /* Set by the owner: the largest number of records (0: no limit; one more is an error of liana__bad_records_meet); a
     * function that is called for each new record, and one for a batch without examples (may be NULL). */
    int64_t most;
    void (*on_note)(void *user, const char *note);
    void *user;
    bool changed; /* since the owner set it to false */
} liana__bad_records;

void liana__bad_records_free(liana__bad_records *list);

/* Adds a copy. *added (may be NULL): the record was new. Errors: OUT_OF_MEMORY. */
liana_status liana__bad_records_add(liana__bad_records *list, const liana__bad_record *record, bool *added,
                                    liana__error *error) LIANA_MUST_USE;

/* Adds a record that a run has found: reports it if it is new, and fails if there are more than `most`. Errors:
 * DATA_LOSS (names this record and data.max_bad), OUT_OF_MEMORY. */
liana_status liana__bad_records_meet(liana__bad_records *list, const liana__bad_record *record, liana__error *error)
    LIANA_MUST_USE;

/* Writes the list, atomically; the path may be a gs:// or s3:// URL. Errors: those of writing. */
liana_status liana__bad_records_write(const liana__bad_records *list, const char *path, liana__error *error)
    LIANA_MUST_USE;

/* Adds the records that a file lists. Relative names are relative to the file's folder. Columns may come in any order;
 * all but `file` and `record` may be missing. The path may be a URL, which `remote` (else NULL) fetches. Errors: those
 * of reading, INVALID_DATA (file and line). */
liana_status liana__bad_records_read(liana__bad_records *list, const char *path, liana__remote *remote,
                                     liana__error *error) LIANA_MUST_USE;

#endif
