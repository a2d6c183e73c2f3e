/* decoded_file.h - a file of decoded images, with one place for each record.
 *
 * The file has a header of one page, then an entry for each record: label, id and pixels, with a CRC-32C over all of
 * them. An entry counts once its first word is written, which is written last. An empty entry is a hole in the file. So
 * any number of threads and processes may read and write one file, a writer may be killed at any moment, and the
 * checksum finds entries that a power cut left half written. Numbers are in the machine's byte order, which the header
 * records.
 *
 * System calls read and write entries, from and to the page cache. So a full disk, or a file that somebody cuts, is an
 * error and not a signal. */
#ifndef LIANA_DATA_DECODED_FILE_H
#define LIANA_DATA_DECODED_FILE_H

#include "base/error.h"
#include "data/source/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The contents of a file. */
typedef struct liana__decoded_file_contents {
    uint64_t num_records;
    uint64_t image_size;         /* bytes of pixels of each image */
    liana__fingerprint settings; /* how they were decoded */
    liana__fingerprint sources;  /* the fingerprint of its source files, their sizes and times */
} liana__decoded_file_contents;

/* The largest size of an id. Images with longer ids are not kept. */
enum { LIANA__DECODED_FILE_ID_SIZE = 240 };

/* The memory into which the pixels and the id of an entry are read. */
typedef struct liana__decoded_file_room {
    uint8_t *pixels; /* [image_size] */
    char id[LIANA__DECODED_FILE_ID_SIZE];
} liana__decoded_file_room;

/* An image with its label, id and values. The room lends the pixels and the id of an entry that was read. */
typedef struct liana__decoded_file_entry {
    const uint8_t *pixels; /* image_size bytes */
    int32_t label;
    const char *id; /* not NUL-terminated; NULL if there is none */
    size_t id_size;
    /* They are written behind the pixels, which then have `values_size` bytes fewer. A read entry has them there. */
    const uint8_t *values;
    size_t values_size;
} liana__decoded_file_entry;

typedef enum liana__decoded_file_state {
    LIANA__DECODED_FILE_EMPTY,
    LIANA__DECODED_FILE_WHOLE,
    LIANA__DECODED_FILE_DAMAGED,
    LIANA__DECODED_FILE_SHORTER, /* the file was cut before the end of the entry */
} liana__decoded_file_state;

typedef struct liana__decoded_file liana__decoded_file;

/* Opens the file at `path`. Makes it again if it is missing or damaged, or has another version or other contents; its
 * folder must exist. `replaced` (NULL, or of `replaced_size` bytes) then says why, else "". Processes that have the old
 * file open can still read it. A read-only file is only read. Errors, with the path: IO_ERROR, NOT_FOUND,
 * OUT_OF_MEMORY, OUT_OF_RANGE (too large). */
liana_status liana__decoded_file_open(const char *path, const liana__decoded_file_contents *contents,
                                      liana__decoded_file **file, char *replaced, size_t replaced_size,
                                      liana__error *error) LIANA_MUST_USE;
void liana__decoded_file_close(liana__decoded_file *file);

/* Reads the entry of a record below num_records, and verifies its checksum. If the entry is not complete, the room may
 * hold anything. */
liana__decoded_file_state liana__decoded_file_find(const liana__decoded_file *file, uint64_t record,
                                                   liana__decoded_file_room *room, liana__decoded_file_entry *entry);

/* Asks the system to fetch the entry of a record, which will be read soon. False: there seems to be none. */
bool liana__decoded_file_expect(const liana__decoded_file *file, uint64_t record);

/* Writes an entry, also over a damaged one. One thread of the process at a time for each record. If the id is too long,
 * the entry stays as it is. Errors: IO_ERROR (the disk is full, ...). */
liana_status liana__decoded_file_write(const liana__decoded_file *file, uint64_t record,
                                       const liana__decoded_file_entry *entry, liana__error *error) LIANA_MUST_USE;

const char *liana__decoded_file_path(const liana__decoded_file *file);
/* The size of the complete file, in bytes. */
uint64_t liana__decoded_file_size(const liana__decoded_file *file);

#endif
