/* decoded_file.h - a file of decoded images, one place for each record.
 *
 * It is a header of one page, then for each record an entry: its label, its id and its pixels, with a CRC-32C over all
 * of them. An entry counts once its first word is written, which comes last; an empty one is a hole in the file. So any
 * number of threads and processes may read and write one file at once, a writer may be killed at any moment, and what a
 * power cut left half written is found by its checksum. Numbers are in the byte order of the machine, which the header
 * tells apart. Entries are read and written by system calls, from and to the page cache: a full disk, or a file that
 * somebody cuts, is an error, not a signal. */
#ifndef LIANA_DATA_DECODED_FILE_H
#define LIANA_DATA_DECODED_FILE_H

#include "base/error.h"
#include "data/source/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the images of a file are. */
typedef struct liana__decoded_file_contents {
    uint64_t num_records;
    uint64_t image_size;         /* bytes of pixels of each image */
    liana__fingerprint settings; /* how they were decoded */
    liana__fingerprint sources;  /* of what: files, their sizes and times */
} liana__decoded_file_contents;

/* Ids that are longer are not kept, and neither are their images. */
enum { LIANA__DECODED_FILE_ID_SIZE = 240 };

/* Where the pixels and the id of an entry are read to. */
typedef struct liana__decoded_file_room {
    uint8_t *pixels; /* [image_size] */
    char id[LIANA__DECODED_FILE_ID_SIZE];
} liana__decoded_file_room;

/* Borrowed from the room that it was read to. */
typedef struct liana__decoded_file_entry {
    const uint8_t *pixels;
    int32_t label;
    const char *id; /* not NUL-terminated; NULL if there is none */
    size_t id_size;
} liana__decoded_file_entry;

typedef enum liana__decoded_file_state {
    LIANA__DECODED_FILE_EMPTY,
    LIANA__DECODED_FILE_WHOLE,
    LIANA__DECODED_FILE_DAMAGED,
    LIANA__DECODED_FILE_SHORTER, /* somebody cut the file before the end of the entry */
} liana__decoded_file_state;

typedef struct liana__decoded_file liana__decoded_file;

/* Opens the file at `path`, or makes it in its folder, which is there, where it is missing, is damaged or of another
 * version, or holds other contents; then `replaced` (NULL, or of `replaced_size` bytes) is why, else "". One that is
 * replaced stays what it was for those who have it open. A file that may only be read is only read.
 * Errors: IO_ERROR, NOT_FOUND, OUT_OF_MEMORY, OUT_OF_RANGE (too large); they name the path. */
liana_status liana__decoded_file_open(const char *path, const liana__decoded_file_contents *contents,
                                      liana__decoded_file **file, char *replaced, size_t replaced_size,
                                      liana__error *error) LIANA_MUST_USE;
void liana__decoded_file_close(liana__decoded_file *file);

/* Reads the entry of a record below num_records and verifies its checksum. What is no whole one may leave anything in
 * the room. */
liana__decoded_file_state liana__decoded_file_find(const liana__decoded_file *file, uint64_t record,
                                                   liana__decoded_file_room *room, liana__decoded_file_entry *entry);

/* Has the system fetch the entry of a record from the disk, as it will be read soon. False if there seems to be none.
 */
bool liana__decoded_file_expect(const liana__decoded_file *file, uint64_t record);

/* Writes an entry, over a damaged one too. One thread of the process at a time for each record. An id that is too long
 * leaves the entry as it is. Errors: IO_ERROR (the disk is full, ...). */
liana_status liana__decoded_file_write(const liana__decoded_file *file, uint64_t record,
                                       const liana__decoded_file_entry *entry, liana__error *error) LIANA_MUST_USE;

const char *liana__decoded_file_path(const liana__decoded_file *file);
/* Bytes when it is full. */
uint64_t liana__decoded_file_size(const liana__decoded_file *file);

#endif
