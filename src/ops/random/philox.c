/* Philox in StableHLO: tensors of 32-bit words, one for each block of four elements. */
#include "ops/random/philox.h"

static liana__hlo high_word(liana__lowering *l, liana__hlo wide)
{
    liana__hlo distance = liana__hlo_fill(l, LIANA_U64, wide.shape, 32);
    return liana__hlo_convert(l, liana__hlo_binary(l, "shift_right_logical", wide, distance), LIANA_U32);
}

/* Of u64, the lower half. */
static liana__hlo low_word(liana__lowering *l, liana__hlo wide)
{
    return liana__hlo_convert(l, wide, LIANA_U32);
}

static liana__hlo xor_key(liana__lowering *l, liana__hlo a, liana__hlo b, uint32_t key)
{
    return liana__hlo_binary_with(l, "xor", liana__hlo_binary(l, "xor", a, b), key);
}

static void lower_philox(liana__lowering *l, liana__philox_key key, liana__hlo c[4])
{
    for (int round = 0; round < 10; round++) {
        liana__hlo wide0 = liana__hlo_convert(l, c[0], LIANA_U64), wide2 = liana__hlo_convert(l, c[2], LIANA_U64);
        liana__hlo product0 = liana__hlo_binary_with(l, "multiply", wide0, 0xD2511F53u);
        liana__hlo product1 = liana__hlo_binary_with(l, "multiply", wide2, 0xCD9E8D57u);
        c[0] = xor_key(l, high_word(l, product1), c[1], key.words[0]);
        c[2] = xor_key(l, high_word(l, product0), c[3], key.words[1]);
        c[1] = low_word(l, product1);
        c[3] = low_word(l, product0);
        key.words[0] += 0x9E3779B9u;
        key.words[1] += 0xBB67AE85u;
    }
}

liana__hlo liana__hlo_random_words(liana__lowering *l, liana__philox_key key, liana__hlo positions, int64_t elements)
{
    const int64_t examples = positions.shape.dims[0], blocks = (elements + 3) / 4;
    static const int64_t first_axis = 0, start[] = {0, 0}, ones[] = {1, 1};
    liana_shape shape = liana_shape_of(examples, blocks), column = liana_shape_of(examples, blocks, 1);
    liana__hlo block = liana__hlo_iota(l, LIANA_U64, shape, 1);
    liana__hlo position = liana__hlo_broadcast_axes(l, positions, shape, &first_axis);
    liana__hlo words[] = {low_word(l, block), high_word(l, block), low_word(l, position), high_word(l, position)};
    lower_philox(l, key, words);
    for (int i = 0; i < 4; i++) words[i] = liana__hlo_reshape(l, words[i], column);
    liana__hlo all =
        liana__hlo_reshape(l, liana__hlo_concatenate(l, words, 4, 2), liana_shape_of(examples, 4 * blocks));
    return liana__hlo_slice(l, all, start, (int64_t[]){examples, elements}, ones);
}

liana__hlo liana__hlo_upper_bits(liana__lowering *l, liana__hlo words)
{
    return liana__hlo_binary(l, "shift_right_logical", words, liana__hlo_fill(l, LIANA_U32, words.shape, 8));
}
