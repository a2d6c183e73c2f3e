/* amx_pack.h - packing: brings operands into the order of tiles (amx_tiles.h), and results back. For *.kernels.h,
 * compiled for one instruction set: with AVX-512, and as plain loops for the emulated tiles of tests.
 *
 * 32 columns of a product are two tiles, whose columns are interleaved in fours: the first tile has columns 0 to 3, 8
 * to 11, 16 to 19 and 24 to 27. So one instruction for each turns pairs of rows into tiles (the halves of AVX-512's
 * vectors are interleaved in this way). The sums are put in order when they leave the tiles. 16 columns or fewer at the
 * end are one tile, in order. */
#ifndef LIANA_KERNELS_AMX_PACK_H
#define LIANA_KERNELS_AMX_PACK_H

#include "ir/shape.h"
#include "kernels/amx_tiles.h"
#include "kernels/matrix_words.h"

typedef uint16_t tile_element; /* bf16 */
typedef uint32_t tile_unit __attribute__((may_alias));

/* Elements along the sum in a step; a tile has pairs of them. */
enum { TILE_STEP = 2, STEP_ELEMENTS = 32, SIDE = 16, PANEL_COLUMNS = 2 * SIDE, TILE_WORDS = AMX_TILE_BYTES / 4 };

/* ---- whole vectors, or plain loops ---- */

#if LIANA_VECTOR_BYTES == 64
LIANA__INLINE __mmask32 first_elements(int64_t count)
{
    return count >= 32 ? 0xffffffffu : (__mmask32)((1u << count) - 1);
}
#endif

/* The first `count` of 32 elements, the others 0. */
LIANA__INLINE void copy_step(const tile_element *source, int64_t count, tile_element *target)
{
#if LIANA_VECTOR_BYTES == 64
    _mm512_storeu_si512(target, _mm512_maskz_loadu_epi16(first_elements(count), source));
#else
    memset(target, 0, AMX_ROW_BYTES);
    memcpy(target, source, (size_t)count * sizeof *target);
#endif
}

/* Two rows of `count` columns (2: NULL for zeros) to a row of each of two tiles. */
LIANA__INLINE void pair_columns(const tile_element *first, const tile_element *second, int64_t count, tile_element *low,
                                tile_element *high)
{
#if LIANA_VECTOR_BYTES == 64
    const __mmask32 mask = first_elements(count);
    __m512i a = _mm512_maskz_loadu_epi16(mask, first);
    __m512i b = second ? _mm512_maskz_loadu_epi16(mask, second) : _mm512_setzero_si512();
    _mm512_storeu_si512(low, _mm512_unpacklo_epi16(a, b));
    _mm512_storeu_si512(high, _mm512_unpackhi_epi16(a, b));
#else
    memset(low, 0, AMX_ROW_BYTES);
    memset(high, 0, AMX_ROW_BYTES);
    for (int64_t c = 0; c < count; c++) {
        tile_element *pair = (c & 4 ? high : low) + 2 * (c / 8 * 4 + c % 4);
        pair[0] = first[c];
        pair[1] = second ? second[c] : 0;
    }
#endif
}

/* The same for at most 16 columns: a row of one tile. */
LIANA__INLINE void pair_few_columns(const tile_element *first, const tile_element *second, int64_t count,
                                    tile_element *target)
{
#if LIANA_VECTOR_BYTES == 64
    const __m512i spread = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
    const __mmask32 mask = first_elements(count);
    __m512i a = _mm512_maskz_loadu_epi16(mask, first);
    __m512i b = second ? _mm512_maskz_loadu_epi16(mask, second) : _mm512_setzero_si512();
    a = _mm512_permutexvar_epi64(spread, a);
    b = _mm512_permutexvar_epi64(spread, b);
    _mm512_storeu_si512(target, _mm512_unpacklo_epi16(a, b));
#else
    memset(target, 0, AMX_ROW_BYTES);
    for (int64_t c = 0; c < count; c++) {
        target[2 * c] = first[c];
        target[2 * c + 1] = second ? second[c] : 0;
    }
#endif
}

/* 32 rows of 8 elements become 8 rows of 32, `to_stride` elements apart. */
LIANA__INLINE void transpose_step(const tile_element *source, int64_t stride, tile_element *target, int64_t to_stride)
{
#if LIANA_VECTOR_BYTES == 64
    __m512i row[8], pair[8], four[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) { /* each quarter of a vector has a row of its own, 8 rows from the next */
        const tile_element *at = source + i * stride;
        __m512i rows = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)at));
        rows = _mm512_inserti32x4(rows, _mm_loadu_si128((const __m128i *)(const void *)(at + 8 * stride)), 1);
        rows = _mm512_inserti32x4(rows, _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * stride)), 2);
        row[i] = _mm512_inserti32x4(rows, _mm_loadu_si128((const __m128i *)(const void *)(at + 24 * stride)), 3);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        pair[2 * i] = _mm512_unpacklo_epi16(row[2 * i], row[2 * i + 1]);
        pair[2 * i + 1] = _mm512_unpackhi_epi16(row[2 * i], row[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) { /* columns 0 1, 2 3, 4 5, 6 7 of four rows */
        four[i] = _mm512_unpacklo_epi32(pair[i], pair[i + 2]);
        four[i + 1] = _mm512_unpackhi_epi32(pair[i], pair[i + 2]);
        four[i + 2] = _mm512_unpacklo_epi32(pair[i + 1], pair[i + 3]);
        four[i + 3] = _mm512_unpackhi_epi32(pair[i + 1], pair[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        _mm512_storeu_si512(target + 2 * i * to_stride, _mm512_unpacklo_epi64(four[i], four[i + 4]));
        _mm512_storeu_si512(target + (2 * i + 1) * to_stride, _mm512_unpackhi_epi64(four[i], four[i + 4]));
    }
#else
    for (int c = 0; c < 8; c++) {
        for (int r = 0; r < 32; r++) target[c * to_stride + r] = source[r * stride + c];
    }
#endif
}

/* ---- operands ---- */

/* `depth` rows of `columns` elements, `stride` apart, to tiles for the right: [steps][1 or 2 tiles]. */
static void pack_right(const tile_element *source, int64_t stride, int64_t depth, int64_t columns, tile_unit *target)
{
    tile_element *to = (tile_element *)target;
    const int64_t rows = divide_round_up(depth, STEP_ELEMENTS) * SIDE;
    for (int64_t pair = 0; pair < rows; pair++) {
        const int64_t first = 2 * pair;
        const tile_element *a = source + first * stride, *b = first + 1 < depth ? a + stride : NULL;
        const int64_t count = first < depth ? columns : 0;
        if (columns > SIDE) {
            to = (tile_element *)target + (pair / SIDE * 2 * SIDE + pair % SIDE) * 32;
            pair_columns(count > 0 ? a : source, b, count, to, to + SIDE * 32);
        } else {
            to = (tile_element *)target + pair * 32;
            pair_few_columns(count > 0 ? a : source, b, count, to);
        }
    }
}

/* The same of a matrix that is stored transposed: `columns` rows of `depth` elements, `stride` apart. */
static void pack_right_transposed(const tile_element *source, int64_t stride, int64_t depth, int64_t columns,
                                  tile_unit *target)
{
    const int64_t tiles = columns > SIDE ? 2 : 1, pairs = depth / 2;
    tile_unit rows[SIDE][PANEL_COLUMNS];
    for (int64_t step = 0; step * SIDE < divide_round_up(depth, 2); step++, target += tiles * TILE_WORDS) {
        const tile_element *from = source + step * STEP_ELEMENTS;
        const int64_t count = at_most(SIDE, pairs - step * SIDE);
        memset(rows, 0, sizeof rows);
        transpose_bytes((const char *)from, stride * (int64_t)sizeof *from, columns, count, (char *)rows,
                        sizeof rows[0]);
        for (int64_t c = 0; count < SIDE && depth % 2 != 0 && c < columns; c++) {
            memcpy(&rows[count][c], from + c * stride + 2 * count, sizeof *from);
        }
        for (int64_t row = 0; row < SIDE; row++) {
            for (int64_t four = 0; four < PANEL_COLUMNS / 4 && four < 4 * tiles; four++) {
                const int64_t tile = tiles == 2 ? four % 2 : 0, at = tiles == 2 ? four / 2 : four;
                memcpy(target + tile * TILE_WORDS + row * SIDE + at * 4, &rows[row][four * 4], 4 * sizeof **rows);
            }
        }
    }
}

/* The layout of an operand for the left, in elements: distances of tiles of 16 rows, of steps, and of rows. */
typedef struct left_layout {
    int64_t tile, step, row;
} left_layout;

/* Packs `depth` rows of `columns` elements, side by side, as an operand for the left, whose rows are the columns. The
 * rest of tiles and steps is zeros. */
static void pack_left(const tile_element *source, int64_t columns, int64_t depth, left_layout layout,
                      tile_element *target)
{
    for (int64_t first = 0; first < depth; first += STEP_ELEMENTS, source += STEP_ELEMENTS * columns) {
        const int64_t rows = at_most(STEP_ELEMENTS, depth - first);
        for (int64_t c = 0; c < divide_round_up(columns, SIDE) * SIDE; c += 8) {
            tile_element *to = target + c / SIDE * layout.tile + first / STEP_ELEMENTS * layout.step;
            const int64_t count = at_most(8, columns - c);
            to += c % SIDE * layout.row;
            if (rows == STEP_ELEMENTS && count == 8) {
                transpose_step(source + c, columns, to, layout.row);
                continue;
            }
            tile_element block[STEP_ELEMENTS][8] = {{0}};
            for (int64_t r = 0; r < rows && count > 0; r++) {
                memcpy(block[r], source + r * columns + c, (size_t)count * sizeof **block);
            }
            transpose_step(block[0], 8, to, layout.row);
        }
    }
}

/* ---- results ---- */

/* One row of two tiles of sums, in order: `count` columns, more than 16. */
LIANA__INLINE void store_floats(const float *low, const float *high, int64_t count, float *target, bool add)
{
#if LIANA_VECTOR_BYTES == 64
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), second = first + 4;
    const __m512d a = (__m512d)_mm512_loadu_ps(low), b = (__m512d)_mm512_loadu_ps(high);
    vector_float left = (vector_float)_mm512_permutex2var_pd(a, first, b);
    vector_float right = (vector_float)_mm512_permutex2var_pd(a, second, b);
    if (add) {
        left += vector_load(target);
        right += vector_load_part(target + SIDE, count - SIDE);
    }
    vector_store(target, left);
    vector_store_part(target + SIDE, right, count - SIDE);
#else
    for (int64_t c = 0; c < count; c++) {
        const float sum = (c & 4 ? high : low)[c / 8 * 4 + c % 4];
        target[c] = add ? target[c] + sum : sum;
    }
#endif
}

/* At most 16 columns of one tile. */
LIANA__INLINE void store_few_floats(const float *sums, int64_t count, float *target, bool add)
{
#if LIANA_VECTOR_BYTES == 64
    vector_float value = vector_load(sums);
    if (add) value += vector_load_part(target, count);
    vector_store_part(target, value, count);
#else
    for (int64_t c = 0; c < count; c++) target[c] = add ? target[c] + sums[c] : sums[c];
#endif
}

/* The same as bf16. */
LIANA__INLINE void store_bf16(const float *low, const float *high, int64_t count, tile_element *target)
{
#if LIANA_VECTOR_BYTES == 64
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    const __m512i sums = bf16_round_two(_mm512_loadu_ps(high), _mm512_loadu_ps(low));
    _mm512_mask_storeu_epi16(target, first_elements(count), _mm512_permutexvar_epi64(order, sums));
#else
    for (int64_t c = 0; c < count; c++) target[c] = liana__float_to_bf16((c & 4 ? high : low)[c / 8 * 4 + c % 4]);
#endif
}

LIANA__INLINE void store_few_bf16(const float *sums, int64_t count, tile_element *target)
{
#if LIANA_VECTOR_BYTES == 64
    const __m256i value = bf16_round(_mm512_loadu_ps(sums));
    _mm256_mask_storeu_epi16(target, vector_first(count), value);
#else
    for (int64_t c = 0; c < count; c++) target[c] = liana__float_to_bf16(sums[c]);
#endif
}

#endif
