/* ring_slot.h - one place of a loader's ring of batches, and how many places there are. */
#ifndef LIANA_DATA_RING_SLOT_H
#define LIANA_DATA_RING_SLOT_H

#include "data/loader/batch.h"
#include "data/loader/gaps.h"

typedef enum liana__slot_state {
    LIANA__SLOT_FREE,
    LIANA__SLOT_FILLING,
    LIANA__SLOT_READY,
    LIANA__SLOT_TAKEN,
} liana__slot_state;

/* The batch comes first, so that a released batch leads to its slot. */
typedef struct liana__ring_slot {
    liana__batch batch;
    size_t *id_capacities; /* of id_memory[i] */
    char **id_memory;
    liana__slot_state state;
    int64_t remaining;     /* examples still to be written */
    int64_t first_failure; /* the lowest example that failed, or batch.num_positions */
    liana__error error;
    liana__gaps gaps; /* guarded by the loader's mutex until the batch is complete */
} liana__ring_slot;

/* Errors: OUT_OF_MEMORY; what was made is freed with the slot. */
liana_status liana__ring_slot_make(liana__ring_slot *slot, size_t batch_size, size_t image_size, bool mixed,
                                   liana__error *error) LIANA_MUST_USE;
void liana__ring_slot_free(liana__ring_slot *slot, int64_t batch_size);

/* Copies an id (NULL: none) to example i. Errors: OUT_OF_MEMORY. */
liana_status liana__ring_slot_keep_id(liana__ring_slot *slot, int64_t i, const char *id, size_t size,
                                      liana__error *error) LIANA_MUST_USE;
/* The examples that are there close up. */
void liana__ring_slot_close_gaps(liana__ring_slot *slot, size_t image_size);

/* What there is room for, in bytes. */
typedef struct liana__ring_room {
    size_t memory; /* for all of it */
    size_t image;  /* in a batch */
    size_t batch_size;
    size_t num_threads;
    size_t source;  /* the index of the data and blocks of them that are kept */
    size_t working; /* what the reading threads and the order of the data take from the start */
    bool streams;   /* the source makes elements ahead, or keeps some */
} liana__ring_room;

/* How it is divided, so that all together never need more. */
typedef struct liana__ring_split {
    size_t num_batches; /* at least two: one to go on with while the consumer holds the other */
    size_t elements;    /* bytes for elements of a stream */
    size_t share;       /* bytes of each thread for records and decoders */
    size_t pool;        /* bytes for the threads that need more than that, by turns if they must */
} liana__ring_split;

/* The bytes of a batch with all that belongs to its examples; SIZE_MAX if they are too many to count. */
size_t liana__ring_batch_bytes(const liana__ring_room *room);
/* A few batches are enough to make up for some images taking longer than others; more of them are made only where all
 * stay in the last level of a processor's cache, and no more than half of what two batches leave. INVALID_CONFIG where
 * two do not find room. */
liana_status liana__ring_divide(const liana__ring_room *room, liana__ring_split *split, liana__error *error)
    LIANA_MUST_USE;

#endif
