/* philox.h - the random words of a batch: a pure function of a key, the examples' positions and the elements' indices
 * within their example. Element j of an example uses word j % 4 of the counter {j / 4, the example's position}. */
#ifndef LIANA_OPS_PHILOX_H
#define LIANA_OPS_PHILOX_H

#include "base/random.h"
#include "stablehlo/lowering.h"

/* The word of element `element`. */
static inline uint32_t liana__random_word(liana__philox_key key, uint64_t position, uint64_t element)
{
    const uint64_t block = element / 4;
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)position,
                                 (uint32_t)(position >> 32)};
    uint32_t words[4];
    liana__philox(key, counter, words);
    return words[element % 4];
}

/* In StableHLO the words of all elements: u32 [examples, elements of an example], for positions u64 [examples]. */
liana__hlo liana__hlo_random_words(liana__lowering *lowering, liana__philox_key key, liana__hlo positions,
                                   int64_t elements);
/* The upper 24 bits of words as a number, which floats hold exactly. */
liana__hlo liana__hlo_upper_bits(liana__lowering *lowering, liana__hlo words);

#endif
