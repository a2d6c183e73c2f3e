/* file_view.h - a file view: reading a mapped file in pieces, safely. A piece is a copy, so a file that others shorten
 * meanwhile does not end the process with SIGBUS. Bytes in memory are not copied. */
#ifndef LIANA_BASE_FILE_VIEW_H
#define LIANA_BASE_FILE_VIEW_H

#include "base/file.h"

typedef struct liana__file_view {
    const char *name;     /* the path, for messages */
    const uint8_t *bytes; /* all bytes; mapped ones must not be touched */
    size_t size;
    const liana__mapping *mapping; /* NULL: the bytes are in memory */
    size_t ahead;                  /* bytes that are copied at once, unless more are asked for; 0: any number */
    bool is_open;                  /* pieces are read from the file, which costs less than from its pages */
    int descriptor;                /* of the file, or -1 */
    uint8_t *copy;                 /* a piece of the file: [begin, end) */
    size_t capacity;
    size_t begin;
    size_t end;
} liana__file_view;

/* A view of a whole mapped file. Name and mapping are borrowed. */
static inline liana__file_view liana__file_view_of(const char *name, const liana__mapping *mapping, size_t ahead)
{
    return (liana__file_view){
        .name = name, .bytes = mapping->data, .size = mapping->size, .mapping = mapping, .ahead = ahead};
}

static inline liana__file_view liana__file_view_of_bytes(const char *name, const uint8_t *bytes, size_t size)
{
    return (liana__file_view){.name = name, .bytes = bytes, .size = size};
}

/* *bytes are `size` bytes of the file from `offset`, which must be inside it; borrowed until the next call. Errors,
 * with the file's name: DATA_LOSS (the file became shorter), IO_ERROR, OUT_OF_MEMORY. If a file is cut within a page,
 * the rest of the page reads as zeros; only liana__file_view_check notices that. */
liana_status liana__file_view_get(liana__file_view *view, size_t offset, size_t size, const uint8_t **bytes,
                                  liana__error *error) LIANA_MUST_USE;
/* Gives the next bytes from `offset`, which must be before the end: *size bytes, at least one. */
liana_status liana__file_view_next(liana__file_view *view, size_t offset, const uint8_t **bytes, size_t *size,
                                   liana__error *error) LIANA_MUST_USE;
/* Fails with DATA_LOSS if the file has become shorter. `error` may hold an error that this caused, and is then
 * replaced. */
liana_status liana__file_view_check(const liana__file_view *view, liana__error *error) LIANA_MUST_USE;

/* Frees the copy and closes the file. */
void liana__file_view_free(liana__file_view *view);

#endif
