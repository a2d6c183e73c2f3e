/* zip.h - zip archives: entries are listed and read into memory; an archive of stored entries is written.
 *
 * An archive that could harm its reader is refused when it is opened: more than 10,000 entries; a name that is
 * absolute, goes up ('..') or stands there twice; a link; an encrypted entry; an entry that unpacks to more than 64 MiB
 * and more than 100 times its size in the file; entries that overlap. libzip does the rest; it is loaded when it is
 * needed. */
#ifndef LIANA_FORMATS_ZIP_H
#define LIANA_FORMATS_ZIP_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct liana__zip_entry {
    const char *name; /* "folder/file"; that of a folder ends in '/' */
    uint64_t size;    /* unpacked */
    uint64_t stored;  /* in the file */
} liana__zip_entry;

typedef struct liana__zip liana__zip;

/* Reads the list of entries. Errors, each with the file and, where it applies, the entry: those of opening a file;
 * INVALID_DATA (not a zip archive, or refused as above); OUT_OF_RANGE (sizes, counts); DATA_LOSS (damaged);
 * UNIMPLEMENTED (libzip is not there). */
liana_status liana__zip_open(const char *path, liana__zip **archive, liana__error *error) LIANA_MUST_USE;
void liana__zip_close(liana__zip *archive);

/* The entries in the order of the archive, borrowed from it. */
const liana__zip_entry *liana__zip_entries(const liana__zip *archive, size_t *count);
/* The entry of that name, or NULL. */
const liana__zip_entry *liana__zip_find(const liana__zip *archive, const char *name);

/* Reads an entry into malloc'ed memory, and appends a 0 byte that entry->size does not count. Size and CRC-32 are
 * checked. Errors: DATA_LOSS, OUT_OF_MEMORY, UNIMPLEMENTED (how it is compressed). */
liana_status liana__zip_read(const liana__zip *archive, const liana__zip_entry *entry, char **bytes,
                             liana__error *error) LIANA_MUST_USE;

typedef struct liana__zip_new_entry {
    const char *name;
    const void *bytes;
    size_t size;
} liana__zip_new_entry;

/* Writes an archive whose entries are stored as they are, atomically and synced. The same entries give the same bytes.
 * Errors: INVALID_ARGUMENT (a bad name), IO_ERROR, OUT_OF_MEMORY, UNIMPLEMENTED. */
liana_status liana__zip_write(const char *path, const liana__zip_new_entry *entries, size_t count, liana__error *error)
    LIANA_MUST_USE;

#endif
