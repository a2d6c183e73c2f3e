/* Philox, and permutations and draws made of it. */
#include "base/random.h"

liana__philox_key liana__philox_make_key(uint64_t seed, liana__stream stream, uint32_t salt)
{
    /* One Philox block mixes all three, so neighbouring seeds and salts give unrelated keys. */
    liana__philox_key plain = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    uint32_t counter[4] = {(uint32_t)stream, salt, 0, 0};
    uint32_t mixed[4];
    liana__philox(plain, counter, mixed);
    return (liana__philox_key){{mixed[0], mixed[1]}};
}

static uint64_t feistel(liana__philox_key key, uint64_t epoch, uint64_t value, unsigned half_bits)
{
    uint64_t mask = ((uint64_t)1 << half_bits) - 1;
    uint64_t left = value >> half_bits, right = value & mask;
    for (uint32_t round = 0; round < 6; round++) {
        uint32_t counter[4] = {(uint32_t)right, round, (uint32_t)epoch, (uint32_t)(epoch >> 32)};
        uint32_t words[4];
        liana__philox(key, counter, words);
        uint64_t next = (left ^ words[0]) & mask;
        left = right;
        right = next;
    }
    return left << half_bits | right;
}

uint64_t liana__permute(uint64_t seed, uint64_t epoch, uint64_t index, uint64_t count)
{
    if (count < 2) return index;
    unsigned half_bits = 1;
    while (half_bits < 32 && ((uint64_t)1 << (2 * half_bits)) < count) half_bits++;
    liana__philox_key key = liana__philox_make_key(seed, LIANA__STREAM_SHUFFLE, 0);
    uint64_t value = index;
    do {
        value = feistel(key, epoch, value, half_bits);
    } while (value >= count);
    return value;
}
