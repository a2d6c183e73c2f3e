/* example_maker.h - how a thread of a loader makes one example: from the cache, or read and decoded; then augmented. */
#ifndef LIANA_DATA_EXAMPLE_MAKER_H
#define LIANA_DATA_EXAMPLE_MAKER_H

#include "base/memory_pool.h"
#include "data/image/decode.h"
#include "data/loader/ring_slot.h"

/* What all threads of a loader make examples by. Borrowed. */
typedef struct liana__example_plan {
    const liana__source *source;
    const liana__loader_options *options;
    liana__decode_options decoded; /* the shape of images before the augmenter */
    size_t decoded_size;           /* bytes of such an image */
    size_t image_size;             /* and of one in a batch */
    liana__image_cache *cache;     /* NULL: none */
    liana__memory_pool *pool;      /* of which records and decoders take what they need beyond ... */
    size_t share;                  /* ... bytes that each thread is certain of */
} liana__example_plan;

/* What one thread works with. */
typedef struct liana__example_maker {
    const liana__example_plan *plan;
    void *scratch;
    void *augmenter_scratch;
    uint8_t *decoded; /* memory for an image before the augmenter, which begins LIANA__IMAGE_OFFSET bytes on */
    liana__decoder decoder;
    liana__memory_share share;
    liana__record record; /* that was read last, as far as that went */
} liana__example_maker;

/* The maker must stay where it is. Errors: OUT_OF_MEMORY. */
liana_status liana__example_maker_init(liana__example_maker *maker, const liana__example_plan *plan,
                                       liana__error *error) LIANA_MUST_USE;
/* After a failed or no init (all zeros) too. */
void liana__example_maker_free(liana__example_maker *maker);

/* Makes example i of the slot out of the record that the batch says, as it is in pass `pass` over the data. May wait
 * for memory that other threads have. *bad: the record itself is at fault and the options have a list for such; `error`
 * says why, and maker->record is what was read of it. Errors: those of liana__loader_next. */
liana_status liana__example_make(liana__example_maker *maker, liana__ring_slot *slot, int64_t i, uint64_t pass,
                                 bool *bad, liana__error *error) LIANA_MUST_USE;

/* Before the thread waits for work: gives back what it keeps beyond its share. */
void liana__example_maker_rest(liana__example_maker *maker);

#endif
