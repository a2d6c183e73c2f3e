/* element_file.h - a file of elements, with direct access to any of them.
 *
 * The file has the packed elements (data/dataset/packed_element.h), or the size and the zlib stream of each; a table
 * with the place and CRC-32C of each, and a footer that describes them. It is written once, under another name, and
 * appears when it is complete. The kernel copies elements from a mapping. So a file that somebody cuts is an error, not
 * a signal. Numbers are in the machine's byte order, which the footer records. */
#ifndef LIANA_DATA_ELEMENT_FILE_H
#define LIANA_DATA_ELEMENT_FILE_H

#include "base/file.h"
#include "data/dataset/packed_element.h"
#include "data/source/fingerprint.h"

/* The origin of the elements of a file, and how they are made. */
typedef struct liana__element_file_contents {
    liana__fingerprint settings;
    liana__fingerprint sources;
    int64_t num_elements; /* below 0: not known */
    bool deflated;        /* each element is compressed; `settings` must tell the two kinds of files apart */
} liana__element_file_contents;

/* The memory of one element. */
typedef struct liana__element_buffer {
    liana__file_buffer element;
    liana__file_buffer deflated;
} liana__element_buffer;
void liana__element_buffer_free(liana__element_buffer *buffer);
size_t liana__element_buffer_bytes(const liana__element_buffer *buffer);
/* The share that the memory counts for. */
void liana__element_buffer_share(liana__element_buffer *buffer, liana__memory_share *share);

typedef struct liana__element_file liana__element_file;

/* Opens the file. If it is missing, damaged, or has other contents, *file is NULL and `why` says so ("" if it is
 * missing). Errors, with the path: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__element_file_open(const char *path, const liana__element_file_contents *contents,
                                      liana__element_file **file, char *why, size_t why_size, liana__error *error)
    LIANA_MUST_USE;
/* NULL is allowed. */
void liana__element_file_close(liana__element_file *file);

uint64_t liana__element_file_count(const liana__element_file *file);
/* Bytes of memory that an open file of `count` elements uses. */
size_t liana__element_file_memory(uint64_t count);

/* Reads element `index` (below the count) and verifies its checksum. It is in `buffer` until its next use. On any
 * number of threads, each with a buffer of its own. Errors: DATA_LOSS (damaged, or the file was cut), IO_ERROR,
 * OUT_OF_MEMORY. */
liana_status liana__element_file_read(const liana__element_file *file, const liana__spec *spec, uint64_t index,
                                      liana__element_buffer *buffer, liana_element *element, liana__error *error)
    LIANA_MUST_USE;

/* Writing one. */
typedef struct liana__element_file_writer {
    liana__file_writer file;
    liana__element_file_contents contents;
    uint64_t offset;
    liana__element_buffer buffer;
    struct liana__element_place *places;
    size_t count;
    size_t capacity;
} liana__element_file_writer;

/* Writes a file: begin, add elements, commit; or abandon after a failure of any of them. Errors: IO_ERROR (the disk is
 * full, ...; an older file stays), OUT_OF_MEMORY. */
liana_status liana__element_file_begin(liana__element_file_writer *writer, const char *path,
                                       const liana__element_file_contents *contents, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__element_file_add(liana__element_file_writer *writer, const liana_element *element,
                                     liana__error *error) LIANA_MUST_USE;
liana_status liana__element_file_commit(liana__element_file_writer *writer, liana__error *error) LIANA_MUST_USE;
void liana__element_file_abandon(liana__element_file_writer *writer);

#endif
