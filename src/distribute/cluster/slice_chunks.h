/* slice_chunks.h - slices of sums are sent in chunks, each as soon as its sums are there: a chunk is some parts of a slice
 * that follow each other, in one message. Pure arithmetic, the same in all processes. */
#ifndef LIANA_DISTRIBUTE_SLICE_CHUNKS_H
#define LIANA_DISTRIBUTE_SLICE_CHUNKS_H

#include "distribute/cluster/wire.h"

/* Bytes that a chunk has at least, but for a slice's last one: smaller messages cost more than they bring. */
enum { LIANA__LEAST_CHUNK = 128 << 10 };

typedef struct liana__slice_chunk {
    size_t slice, number;        /* which slice; which of its chunks */
    size_t first_part, end_part; /* of the slice's sums */
    size_t offset, elements;     /* floats of the slice before it, and its own */
    size_t size;                 /* bytes of the message */
} liana__slice_chunk;

typedef struct liana__slice_chunks {
    liana__slice_chunk *items; /* of all slices, one slice behind the other */
    size_t count, capacity;
    size_t *first; /* by slice, and one more: where its chunks begin; NULL: not made */
    /* By sum, and one more: where the chunks begin that it is a part of. A chunk stands there once for each part. */
    size_t *first_use, *uses;
    size_t num_sums;
} liana__slice_chunks;

/* Cuts the slices. Zero-initialise; free it in any case. Errors: OUT_OF_MEMORY, INVALID_DATA for a part of a sum that
 * leaves do not give. */
liana_status liana__slice_chunks_make(const liana__wire_format *format, const liana__slice_map *maps, size_t num_slices,
                                      size_t num_sums, liana__slice_chunks *chunks, liana__error *error) LIANA_MUST_USE;
void liana__slice_chunks_free(liana__slice_chunks *chunks);

/* The part of a message's key: which chunk, of which block of its sender. */
size_t liana__slice_chunk_key(const liana__slice_chunk *chunk, size_t block);

#endif
