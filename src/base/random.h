/* random.h - Philox: random numbers that are a pure function of an address.
 *
 * Philox4x32 with 10 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). No
 * generator in liana has a state. Every draw has a key (its purpose) and a counter (its place). So it is the same on
 * any thread, after any resume, on any number of workers. */
#ifndef LIANA_BASE_RANDOM_H
#define LIANA_BASE_RANDOM_H

#include <stdint.h>

/* The use of a draw. It is part of the key, so streams never overlap. New uses go at the end: the numbers must not
 * change, or old runs could not be repeated. */
typedef enum liana__stream {
    LIANA__STREAM_INITIALIZER = 1, /* initial weights: counter = element / 4, weight */
    LIANA__STREAM_SHUFFLE = 2,     /* order of records: counter = round, half, epoch */
    LIANA__STREAM_RECORD = 3,      /* draws that belong to a record in an epoch */
    LIANA__STREAM_AUGMENT = 4,     /* draws that belong to a position in an epoch */
    LIANA__STREAM_DROPOUT = 5,     /* dropout masks: counter = element / 4, epoch and position */
    LIANA__STREAM_SYNTH = 6,       /* drawn data sets */
    LIANA__STREAM_TEST = 7,        /* inputs of tests */
    LIANA__STREAM_DATASET = 8,     /* stages of datasets: counter = index, epoch */
    LIANA__STREAM_RETRY = 9,       /* delay before a server is asked again: counter = request, attempt */
    LIANA__STREAM_SPLIT = 10,      /* the division of data into training and validation */
    LIANA__STREAM_CONTROL = 11,    /* decisions of train.control: counter = number of the decision */
    LIANA__STREAM_COMPARISON = 12, /* how devices' numbers are moved to see the effect of rounding: counter = element */
    LIANA__STREAM_NOISE = 13,      /* random numbers in graphs: counter = element / 4, epoch and position */
} liana__stream;

typedef struct liana__philox_key {
    uint32_t words[2];
} liana__philox_key;

/* The key of a stream of a run. `salt` distinguishes uses within it (which weight, which dropout layer). */
liana__philox_key liana__philox_make_key(uint64_t seed, liana__stream stream, uint32_t salt);

/* Four words from a counter of four words. */
static inline void liana__philox(liana__philox_key key, const uint32_t counter[4], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key.words[0], k1 = key.words[1];
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)0xD2511F53u * c0;
        uint64_t product1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        uint32_t n2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)product1;
        c3 = (uint32_t)product0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* [0, 1) with 24 bits, exact in float. */
static inline float liana__uniform_float(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* [0, 1) with 53 bits. */
static inline double liana__uniform_double(uint32_t high, uint32_t low)
{
    return (double)((((uint64_t)high << 32) | low) >> 11) * 0x1p-53;
}

/* The position of `index` in a random order of [0, count): a bijection for each (seed, epoch), computed without a
 * table (a six-round Feistel network on Philox with cycle walking: Black and Rogaway, "Ciphers with arbitrary finite
 * domains", 2002). */
uint64_t liana__permute(uint64_t seed, uint64_t epoch, uint64_t index, uint64_t count);

#endif
