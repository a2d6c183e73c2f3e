/* draws.h - the random numbers of one stage for one example: a function of the example's address and the stage's place
 * in the list. So they are the same on any thread, in any order, and after a resume. */
#ifndef LIANA_DATA_AUGMENT_DRAWS_H
#define LIANA_DATA_AUGMENT_DRAWS_H

#include "base/random.h"

#include <liana/augment.h>
#include <stdbool.h>

/* Numbers that are used in place of a place in the list. */
enum { LIANA__DRAWS_USER = 1 << 16 /* liana_example_uniform */, LIANA__DRAWS_PARTNERS /* partners of mixing */ };

typedef struct liana__draws {
    liana__philox_key key;
    uint32_t counter[4]; /* position, epoch, block */
    uint32_t words[4];
    unsigned used; /* of the words */
} liana__draws;

static inline liana__draws liana__draws_begin(const liana_example_address *address, uint32_t stage)
{
    return (liana__draws){.key = liana__philox_make_key(address->seed, LIANA__STREAM_AUGMENT, stage),
                          .counter = {(uint32_t)address->position, (uint32_t)(address->position >> 32),
                                      (uint32_t)address->epoch, 0},
                          .used = 4};
}

static inline uint32_t liana__draw_word(liana__draws *draws)
{
    if (draws->used == 4) {
        liana__philox(draws->key, draws->counter, draws->words);
        draws->counter[3]++;
        draws->used = 0;
    }
    return draws->words[draws->used++];
}

/* [0, 1) */
static inline double liana__draw_uniform(liana__draws *draws)
{
    return liana__draw_word(draws) * 0x1p-32;
}

static inline double liana__draw_between(liana__draws *draws, double low, double high)
{
    return low + (high - low) * liana__draw_uniform(draws);
}

/* Always takes one word. So another probability does not change later draws. */
static inline bool liana__draw_chance(liana__draws *draws, double probability)
{
    return liana__draw_uniform(draws) < probability;
}

/* [0, count), count below 2^31 */
static inline int64_t liana__draw_below(liana__draws *draws, int64_t count)
{
    return (int64_t)(((uint64_t)liana__draw_word(draws) * (uint64_t)count) >> 32);
}

#endif
