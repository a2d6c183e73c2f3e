/* slice_chunks.h - slices of sums are sent in chunks, each as soon as its sums are there: a chunk is some parts of a
 * slice that follow each other, in one message. A large part is cut, so that a message is one frame, which is not
 * copied when it comes (liana__mailbox_put). Pure arithmetic, the same in all processes. */
#ifndef LIANA_DISTRIBUTE_SLICE_CHUNKS_H
#define LIANA_DISTRIBUTE_SLICE_CHUNKS_H

#include "distribute/cluster/wire.h"

/* Bytes that a chunk has at least, but for a slice's last one: smaller messages cost more than they bring. */
enum { LIANA__LEAST_CHUNK = 128 << 10 };

/* A piece of a slice's part. */
typedef struct liana__chunk_part {
    liana__slice_part range; /* of a sum */
    size_t part, skipped;    /* which of the slice's sums, and its elements before the piece */
    size_t offset;           /* elements of the chunk before it */
} liana__chunk_part;

typedef struct liana__slice_chunk {
    size_t slice, number;     /* which slice; which of its chunks */
    size_t first_part, count; /* in the list of pieces */
    size_t elements, size;    /* floats; bytes of the message */
} liana__slice_chunk;

typedef struct liana__slice_chunks {
    liana__slice_chunk *items; /* of all slices, one slice behind the other */
    size_t count, capacity;
    liana__chunk_part *parts; /* of all chunks */
    size_t num_parts, part_capacity;
    size_t *first; /* by slice, and one more: where its chunks begin; NULL: not made */
    /* By sum, and one more: where the chunks begin that it is a part of. A chunk stands there once for each part. */
    size_t *first_use, *uses;
    size_t num_sums;
} liana__slice_chunks;

/* Cuts the slices. Zero-initialise; free it in any case. Errors: OUT_OF_MEMORY, INVALID_DATA for a part of a sum that
 * shards do not give. */
liana_status liana__slice_chunks_make(const liana__wire_format *format, const liana__slice_map *maps, size_t num_slices,
                                      size_t num_sums, liana__slice_chunks *chunks, liana__error *error) LIANA_MUST_USE;
void liana__slice_chunks_free(liana__slice_chunks *chunks);

/* The pieces of a chunk. */
static inline const liana__chunk_part *liana__chunk_parts(const liana__slice_chunks *chunks,
                                                          const liana__slice_chunk *chunk)
{
    return chunks->parts + chunk->first_part;
}

/* The part of a message's key: which chunk, of which block of its sender. */
size_t liana__slice_chunk_key(const liana__slice_chunk *chunk, size_t block);

#endif
