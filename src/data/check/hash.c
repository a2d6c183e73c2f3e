/* Hashes byte strings to 128 bits. */
#include "data/check/hash.h"

#include <string.h>

/* Odd numbers without a pattern: the first hexadecimal digits of the fractions of pi, e and the roots of 2 and 3. */
static const uint64_t KEYS[4] = {0x243F6A8885A308D3u, 0xB7E151628AED2A6Bu, 0x6A09E667F3BCC909u, 0xBB67AE8584CAA73Bu};

/* The product of 128 bits, folded. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

liana__hash liana__hash_bytes(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t a = KEYS[0] ^ size, b = KEYS[1];
    uint64_t words[2];
    for (; size >= sizeof words; size -= sizeof words, at += sizeof words) {
        memcpy(words, at, sizeof words);
        /* Each word enters both halves, in one of them where no word can make the product 0 for ever. */
        a = fold(a ^ words[0], KEYS[2]) + words[1];
        b = fold(b ^ words[1], KEYS[3]) ^ (words[0] << 1 | words[0] >> 63);
    }
    memset(words, 0, sizeof words);
    if (size) memcpy(words, at, size);
    a = fold(a ^ words[0], KEYS[2]) + words[1];
    b = fold(b ^ words[1], KEYS[3]) ^ words[0];
    return (liana__hash){{fold(a ^ b, KEYS[0]) ^ b, fold(b ^ KEYS[2], KEYS[1] ^ a)}};
}
