/* example_maker.h - how a thread of a loader makes one example: from the cache, or read and decoded; then augmented. */
#ifndef LIANA_DATA_EXAMPLE_MAKER_H
#define LIANA_DATA_EXAMPLE_MAKER_H

#include "base/memory_pool.h"
#include "data/image/decode.h"
#include "data/loader/ring_slot.h"

#include <stdatomic.h>

/* All threads of a loader make examples with this. Borrowed. */
typedef struct liana__example_plan {
    const liana__source *source;
    const liana__loader_options *options;
    liana__decode_options decoded; /* shape and decoding of images before the augmentation */
    size_t decoded_size;           /* bytes of such an image */
    size_t image_size;             /* bytes of an image in a batch; 0: batches have none */
    liana__batch_rows rows;
    liana__image_cache *cache; /* NULL: none */
    liana__memory_pool *pool;  /* from which records and decoders take memory beyond ... */
    size_t share;              /* ... the bytes that each thread always has */
} liana__example_plan;

/* The state of one thread. */
typedef struct liana__example_maker {
    const liana__example_plan *plan;
    void *scratch;
    void *augment_scratch;
    uint8_t
        *decoded; /* memory for an image before the augmentation, which begins after LIANA__IMAGE_OFFSET bytes; behind
                       * it room for values from a cache */
    uint8_t *augmented; /* memory for an augmented image, where batches have floats */
    uint8_t *values;    /* room for the values of an example, for the cache */
    liana__decoder decoder;
    liana__memory_share share;
    liana_source_record record; /* the last record, as far as it could be read */
} liana__example_maker;

/* Initialises a maker, which must stay where it is. Errors: OUT_OF_MEMORY. */
liana_status liana__example_maker_init(liana__example_maker *maker, const liana__example_plan *plan,
                                       liana__error *error) LIANA_MUST_USE;
/* Frees a maker; also after a failed init, or none (all zeros). */
void liana__example_maker_free(liana__example_maker *maker);

/* Makes example i of the slot from the record that the batch names, as it is in pass `pass`. May wait for memory that
 * other threads hold. *bad: the record itself cannot be used, and the options have a list for bad records; `error` says
 * why, and maker->record is the part that could be read. Errors: those of liana__loader_next. */
liana_status liana__example_make(liana__example_maker *maker, liana__ring_slot *slot, int64_t i, uint64_t pass,
                                 bool *bad, liana__error *error) LIANA_MUST_USE;

/* Gives back the memory that the maker holds beyond its share, before the thread waits for work. */
void liana__example_maker_rest(liana__example_maker *maker);

#endif
