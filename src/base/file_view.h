/* file_view.h - reading through a file piece by piece, where others may cut it meanwhile: what is looked at is a copy,
 * so that nobody's truncation ends the process (SIGBUS). Bytes in memory are looked at where they are. */
#ifndef LIANA_BASE_FILE_VIEW_H
#define LIANA_BASE_FILE_VIEW_H

#include "base/file.h"

typedef struct liana__file_view {
    const char *name;     /* the path, for messages */
    const uint8_t *bytes; /* all of them; mapped ones are not to be touched */
    size_t size;
    const liana__mapping *mapping; /* NULL: the bytes are in memory */
    size_t ahead;                  /* so many bytes are copied at once, more only where they are asked for; 0: any */
    bool is_open;                  /* pieces are read from the file itself, which costs less than from its pages */
    int descriptor;                /* of it, or -1 */
    uint8_t *copy;                 /* of a piece of the mapping, which is [begin, end) of the file */
    size_t capacity;
    size_t begin;
    size_t end;
} liana__file_view;

/* Of a whole mapped file. Name and mapping are borrowed. */
static inline liana__file_view liana__file_view_of(const char *name, const liana__mapping *mapping, size_t ahead)
{
    return (liana__file_view){
        .name = name, .bytes = mapping->data, .size = mapping->size, .mapping = mapping, .ahead = ahead};
}

static inline liana__file_view liana__file_view_of_bytes(const char *name, const uint8_t *bytes, size_t size)
{
    return (liana__file_view){.name = name, .bytes = bytes, .size = size};
}

/* *bytes [size] are those of the file from `offset`, which must lie in it; borrowed until the next call. Errors:
 * DATA_LOSS (the file became shorter), IO_ERROR, OUT_OF_MEMORY; they name the file. A file that is cut within a page
 * is only seen by liana__file_view_check: the rest of the page reads as zeros. */
liana_status liana__file_view_get(liana__file_view *view, size_t offset, size_t size, const uint8_t **bytes,
                                  liana__error *error) LIANA_MUST_USE;
/* What is ahead, *size bytes and at least one, from an offset before the end. */
liana_status liana__file_view_next(liana__file_view *view, size_t offset, const uint8_t **bytes, size_t *size,
                                   liana__error *error) LIANA_MUST_USE;
/* DATA_LOSS if the file has become shorter; `error` may hold what that led to, and is then replaced. */
liana_status liana__file_view_check(const liana__file_view *view, liana__error *error) LIANA_MUST_USE;

/* Frees the copy and closes the file. */
void liana__file_view_free(liana__file_view *view);

#endif
