/* FarmHash's fingerprint and SipHash. */
#include "base/text_hash.h"

#include <string.h>

static uint64_t load64(const unsigned char *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static uint64_t load32(const unsigned char *from)
{
    uint32_t word;
    memcpy(&word, from, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap32(word);
#endif
    return word;
}

/* ---- FarmHash: four cases by the length of the text ---- */

static const uint64_t K0 = 0xc3a5c85c97cb3127, K1 = 0xb492b66fbe98f273, K2 = 0x9ae16a3b2f90404f;

static uint64_t rotate_right(uint64_t word, int by)
{
    return word >> by | word << (64 - by);
}

static uint64_t shift_mix(uint64_t word)
{
    return word ^ word >> 47;
}

/* Two words as one. */
static uint64_t join(uint64_t u, uint64_t v, uint64_t factor)
{
    const uint64_t first = shift_mix((u ^ v) * factor);
    return shift_mix((v ^ first) * factor) * factor;
}

static uint64_t hash_to_16(const unsigned char *text, size_t size)
{
    const uint64_t factor = K2 + size * 2;
    if (size >= 8) {
        const uint64_t a = load64(text) + K2, b = load64(text + size - 8);
        return join(rotate_right(b, 37) * factor + a, (rotate_right(a, 25) + b) * factor, factor);
    }
    if (size >= 4) return join(size + (load32(text) << 3), load32(text + size - 4), factor);
    if (size == 0) return K2;
    const uint32_t y = text[0] + ((uint32_t)text[size >> 1] << 8), z = (uint32_t)size + ((uint32_t)text[size - 1] << 2);
    return shift_mix(y * K2 ^ z * K0) * K2;
}

static uint64_t hash_to_32(const unsigned char *text, size_t size)
{
    const uint64_t factor = K2 + size * 2, a = load64(text) * K1, b = load64(text + 8);
    const uint64_t c = load64(text + size - 8) * factor, d = load64(text + size - 16) * K2;
    return join(rotate_right(a + b, 43) + rotate_right(c, 30) + d, a + rotate_right(b + K2, 18) + c, factor);
}

static uint64_t hash_to_64(const unsigned char *text, size_t size)
{
    const uint64_t factor = K2 + size * 2, a = load64(text) * K2, b = load64(text + 8);
    const uint64_t c = load64(text + size - 8) * factor, d = load64(text + size - 16) * K2;
    const uint64_t y = rotate_right(a + b, 43) + rotate_right(c, 30) + d;
    const uint64_t z = join(y, a + rotate_right(b + K2, 18) + c, factor);
    const uint64_t e = load64(text + 16) * factor, f = load64(text + 24);
    const uint64_t g = (y + load64(text + size - 32)) * factor, h = (z + load64(text + size - 24)) * factor;
    return join(rotate_right(e + f, 43) + rotate_right(g, 30) + h, e + rotate_right(f + a, 18) + g, factor);
}

/* The state over blocks of 64 bytes: three words and two pairs. */
typedef struct state {
    uint64_t x, y, z, v[2], w[2];
} state;

static void mix_32(const unsigned char *text, uint64_t a, uint64_t b, uint64_t pair[2])
{
    const uint64_t last = load64(text + 24);
    a += load64(text);
    b = rotate_right(b + a + last, 21);
    const uint64_t first = a;
    a += load64(text + 8) + load64(text + 16);
    b += rotate_right(a, 44);
    pair[0] = a + last;
    pair[1] = b + first;
}

/* `weight` is 1 within the text, and 9 for its last block. */
static void mix_block(state *own, const unsigned char *text, uint64_t factor, uint64_t weight)
{
    own->x = rotate_right(own->x + own->y + own->v[0] + load64(text + 8), 37) * factor;
    own->y = rotate_right(own->y + own->v[1] + load64(text + 48), 42) * factor;
    own->x ^= own->w[1] * weight;
    own->y += own->v[0] * weight + load64(text + 40);
    own->z = rotate_right(own->z + own->w[0], 33) * factor;
    mix_32(text, own->v[1] * factor, own->x + own->w[0], own->v);
    mix_32(text + 32, own->z + own->w[1], own->y + load64(text + 16), own->w);
    const uint64_t old = own->z;
    own->z = own->x;
    own->x = old;
}

uint64_t liana__farm_hash(const void *data, size_t size)
{
    const unsigned char *text = data;
    if (size <= 16) return hash_to_16(text, size);
    if (size <= 32) return hash_to_32(text, size);
    if (size <= 64) return hash_to_64(text, size);
    const uint64_t seed = 81;
    state own = {.x = seed * K2 + load64(text), .y = seed * K1 + 113};
    own.z = shift_mix(own.y * K2 + 113) * K2;
    const size_t blocks = (size - 1) / 64;
    for (size_t i = 0; i < blocks; i++) mix_block(&own, text + 64 * i, K1, 1);
    const uint64_t factor = K1 + ((own.z & 0xff) << 1);
    own.w[0] += (size - 1) & 63;
    own.v[0] += own.w[0];
    own.w[0] += own.v[0];
    mix_block(&own, text + size - 64, factor, 9);
    return join(join(own.v[0], own.w[0], factor) + shift_mix(own.y) * K0 + own.z,
                join(own.v[1], own.w[1], factor) + own.x, factor);
}

/* ---- SipHash ---- */

static uint64_t rotate_left(uint64_t word, int by)
{
    return word << by | word >> (64 - by);
}

static void sip_rounds(uint64_t v[4], int count)
{
    for (int i = 0; i < count; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate_left(v[1], 13) ^ v[0];
        v[3] = rotate_left(v[3], 16) ^ v[2];
        v[0] = rotate_left(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate_left(v[1], 17) ^ v[2];
        v[3] = rotate_left(v[3], 21) ^ v[0];
        v[2] = rotate_left(v[2], 32);
    }
}

static void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_rounds(v, 2);
    v[0] ^= word;
}

uint64_t liana__sip_hash(const uint64_t key[2], const void *data, size_t size)
{
    const unsigned char *text = data;
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
                     key[1] ^ 0x7465646279746573};
    unsigned char last[8] = {0};
    for (size_t i = 0; i + 8 <= size; i += 8) sip_word(v, load64(text + i));
    if (size % 8) memcpy(last, text + size - size % 8, size % 8);
    last[7] = (unsigned char)size;
    sip_word(v, load64(last));
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t fold(uint64_t value)
{
    return value ^ (value >> 47);
}

uint64_t liana__cross_hash(uint64_t joined, uint64_t next)
{
    const uint64_t factor = UINT64_C(0xc6a4a7935bd1e995);
    const uint64_t mixed = ((joined ^ factor) ^ (fold(next * factor) * factor)) * factor;
    return fold(fold(mixed) * factor);
}
