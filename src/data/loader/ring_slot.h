/* ring_slot.h - one slot of a loader's ring of batches; the number of slots. */
#ifndef LIANA_DATA_RING_SLOT_H
#define LIANA_DATA_RING_SLOT_H

#include "data/loader/batch_rows.h"
#include "data/loader/step_workers.h"

typedef enum liana__slot_state {
    LIANA__SLOT_FREE,
    LIANA__SLOT_FILLING,
    LIANA__SLOT_READY,
    LIANA__SLOT_TAKEN,
} liana__slot_state;

/* The batch is the first member, so a released batch leads to its slot. */
typedef struct liana__ring_slot {
    liana__batch batch;
    size_t *id_capacities; /* of id_memory[i] */
    char **id_memory;
    liana__slot_state state;
    int64_t planned;       /* examples that are made here: all of the batch's positions, or those of our shards */
    int64_t remaining;     /* of them, not written yet */
    int64_t first_failure; /* the lowest example that failed, or `planned` */
    liana__error error;
    liana__gaps gaps; /* guarded by the loader's mutex until the batch is complete */
    /* Where several processes share steps: */
    liana__step_workers workers;
    liana__gaps all_gaps; /* of all processes */
    bool finished;        /* its gaps were told, and its failure is known: */
    bool failed;          /* here, or in another process; then `error` is the first one */
} liana__ring_slot;

/* Makes a slot; `rows` must outlive it. Errors: OUT_OF_MEMORY; all memory of it is freed with the slot. */
liana_status liana__ring_slot_make(liana__ring_slot *slot, size_t batch_size, const liana__batch_rows *rows, bool mixed,
                                   liana__error *error) LIANA_MUST_USE;
void liana__ring_slot_free(liana__ring_slot *slot, int64_t batch_size);

/* Copies an id (NULL: none) to example i. Errors: OUT_OF_MEMORY. */
liana_status liana__ring_slot_keep_id(liana__ring_slot *slot, int64_t i, const char *id, size_t size,
                                      liana__error *error) LIANA_MUST_USE;
/* Moves the existing examples together, over the gaps. */
void liana__ring_slot_close_gaps(liana__ring_slot *slot, const liana__batch_rows *rows);

/* The memory to divide, in bytes. */
typedef struct liana__ring_room {
    size_t memory;  /* for all of it */
    size_t example; /* all rows of one example in a batch */
    size_t batch_size;
    size_t num_threads;
    size_t source;  /* the index of the data, and the blocks of them that are kept */
    size_t working; /* bytes that the reading threads and the order of the data need from the start */
    bool streams;   /* the source makes elements ahead, or keeps some */
} liana__ring_room;

/* How the memory is divided, so that all together never need more. */
typedef struct liana__ring_split {
    size_t num_batches; /* at least two: one to fill while the consumer holds the other */
    size_t elements;    /* bytes for elements of a stream */
    size_t share;       /* bytes of each thread for records and decoders */
    size_t pool;        /* bytes for threads that need more than that, one after the other if they must */
} liana__ring_split;

/* Divides the memory. A few batches are enough to even out the times of different images. More are made only if all fit
 * into the processor's last-level cache, and into half of the memory that two batches leave. INVALID_CONFIG if two
 * batches do not fit. */
liana_status liana__ring_divide(const liana__ring_room *room, liana__ring_split *split, liana__error *error)
    LIANA_MUST_USE;

#endif
