/* dropout.kernels.h - dropout of f32 or bf16, for one instruction set. */
#include "kernels/vector_dtype.h"
#include "kernels/vector_kernels.h"
#include "ops/random/dropout.h"

typedef uint64_t words64 __attribute__((vector_size(LIANA_VECTOR_BYTES)));

/* Each 128 bits have one counter of Philox, its words in order. The next round needs the 64-bit products of the even
 * words, with their halves swapped within 128 bits. The last round's words are in the order of the elements. */
#if LIANA_VECTOR_BYTES == 64
typedef __m512i counters;

LIANA__INLINE counters philox_round(counters c, counters factors, counters key)
{
    counters product = _mm512_shuffle_epi32(_mm512_mul_epu32(c, factors), _MM_PERM_ABCD);
    return _mm512_ternarylogic_epi32(product, _mm512_srli_epi64(c, 32), key, 0x96); /* exclusive or of the three */
}

LIANA__INLINE counters add32(counters a, counters b)
{
    return _mm512_add_epi32(a, b);
}
#elif LIANA_VECTOR_BYTES == 32
typedef __m256i counters;

LIANA__INLINE counters philox_round(counters c, counters factors, counters key)
{
    counters product = _mm256_shuffle_epi32(_mm256_mul_epu32(c, factors), 0x1b);
    return _mm256_xor_si256(_mm256_xor_si256(product, _mm256_srli_epi64(c, 32)), key);
}

LIANA__INLINE counters add32(counters a, counters b)
{
    return _mm256_add_epi32(a, b);
}
#else
typedef words64 counters;

LIANA__INLINE counters philox_round(counters c, counters factors, counters key)
{
    vector_uint product = (vector_uint)((c & UINT32_MAX) * factors);
    return (counters)(vector_uint){product[3], product[2], product[1], product[0]} ^ (c >> 32) ^ key;
}

LIANA__INLINE counters add32(counters a, counters b)
{
    return (counters)((vector_uint)a + (vector_uint)b);
}
#endif

/* The same two words in each counter's even places, 0 in the odd ones. */
LIANA__INLINE counters repeat_pair(uint32_t first, uint32_t second)
{
    words64 pair = {0};
    for (int i = 0; i < VECTOR_LENGTH / 2; i++) pair[i] = i % 2 ? second : first;
    return (counters)pair;
}

/* Vectors that are computed side by side, to keep the multipliers busy. */
enum { LANES = 4, STEP = LANES * VECTOR_LENGTH };

/* The words of `STEP` elements from element 4 * block on. */
static void draw(liana__philox_key seed, uint64_t block, uint64_t position, vector_uint words[LANES])
{
    const counters factors = repeat_pair(0xD2511F53u, 0xCD9E8D57u), weyl = repeat_pair(0x9E3779B9u, 0xBB67AE85u);
    counters key = repeat_pair(seed.words[0], seed.words[1]), c[LANES];
    words64 start;
    for (int i = 0; i < VECTOR_LENGTH / 2; i++) start[i] = i % 2 ? position : block + (uint64_t)i / 2;
    const words64 next = (words64)repeat_pair(VECTOR_LENGTH / 4, 0);
    for (int lane = 0; lane < LANES; lane++) {
        c[lane] = (counters)start;
        start += next;
    }
    for (int round = 0; round < 10; round++) {
        for (int lane = 0; lane < LANES; lane++) c[lane] = philox_round(c[lane], factors, key);
        key = add32(key, weyl);
    }
    for (int lane = 0; lane < LANES; lane++) words[lane] = (vector_uint)c[lane];
}

/* `count` is at most STEP. */
LIANA__INLINE void drop_part(liana_dtype dtype, void *dst, const void *src, int64_t at, int64_t count,
                             const vector_uint words[LANES], uint32_t threshold, float scale)
{
    for (int lane = 0; lane < LANES; lane++) {
        int64_t first = (int64_t)lane * VECTOR_LENGTH;
        vector_int kept = (words[lane] >> 8) >= threshold;
        if (first >= count) return;
        vector_float x = vector_load_up_to(dtype, src, at + first, count - first) * scale;
        vector_store_up_to(dtype, dst, at + first, vector_select(kept, x, (vector_float){0}), count - first);
    }
}

LIANA__INLINE liana_status run_as(const liana__call *call, liana_dtype dtype)
{
    const liana__node *node = call->node;
    const liana__dropout_attributes *options = node->attributes;
    const uint64_t *positions = call->src[1];
    liana__philox_key key = liana__dropout_key(options);
    uint32_t threshold = liana__dropout_threshold(options->rate);
    float scale = (float)liana__dropout_scale(options->rate, LIANA_F32);
    int64_t batch = node->shape.dims[0], length = liana_shape_size(&node->shape) / batch;
    for (int64_t example = 0; example < batch; example++) {
        for (int64_t j = 0; j < length; j += STEP) {
            vector_uint words[LANES];
            draw(key, (uint64_t)j / 4, positions[example], words);
            drop_part(dtype, call->dst, call->src[0], example * length + j, length - j < STEP ? length - j : STEP,
                      words, threshold, scale);
        }
    }
    return LIANA_OK;
}

static liana_status run_dropout(const liana__call *call)
{
    return vector_run_as(call, run_as);
}

LIANA__VECTOR_KERNEL(dropout, .applicable = vector_applicable, .run = run_dropout);
