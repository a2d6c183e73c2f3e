/* matrix_pack.h - the operands of a tile (matrix_tile.h), put in the order in which it takes them. */
#ifndef LIANA_KERNELS_MATRIX_PACK_H
#define LIANA_KERNELS_MATRIX_PACK_H

#include "kernels/matrix_tile.h"
#include "kernels/matrix_words.h"

/* ---- panels: columns, cut into at most TILE_VECTORS vectors each, as evenly as can be ---- */

/* A matrix [depth, columns] in panels, each [steps][vectors of lanes]; lanes that are no column are 0. */
typedef struct packed_matrix {
    int64_t depth, columns;
    int step_units; /* 1 or 2: see matrix_tile.h */
    const tile_unit *units;
} packed_matrix;

typedef struct packed_panel {
    int64_t depth;
    int64_t first; /* column */
    int vectors;
    int64_t last; /* columns in the last vector of a result */
    const tile_unit *units;
} packed_panel;

static inline int64_t count_steps(const packed_matrix *matrix)
{
    return divide_round_up(matrix->depth, TILE_STEP * matrix->step_units);
}

static inline int64_t count_vectors_of(const packed_matrix *matrix)
{
    return divide_round_up(matrix->columns * matrix->step_units, VECTOR_LENGTH);
}

static inline int64_t count_panels(const packed_matrix *matrix)
{
    return divide_round_up(count_vectors_of(matrix), TILE_VECTORS);
}

static inline packed_panel panel_at(const packed_matrix *matrix, int64_t index)
{
    const int64_t vectors = count_vectors_of(matrix), panels = count_panels(matrix);
    const int64_t begin = index * vectors / panels, end = (index + 1) * vectors / panels;
    packed_panel panel = {.depth = matrix->depth, .vectors = (int)(end - begin)};
    panel.first = begin * VECTOR_LENGTH / matrix->step_units;
    panel.units = matrix->units + begin * VECTOR_LENGTH * count_steps(matrix);
    int64_t count = end * VECTOR_LENGTH / matrix->step_units;
    if (count > matrix->columns) count = matrix->columns;
    panel.last = (count - panel.first - 1) % VECTOR_LENGTH + 1;
    return panel;
}

/* Whether the last vector would be half idle, or more. */
static inline bool uses_half(int64_t columns)
{
    return columns % VECTOR_LENGTH != 0 && columns % VECTOR_LENGTH <= VECTOR_LENGTH / 2;
}

/* Two units a step where that leaves fewer lanes idle, and for a single vector, which is else bound by its loads. */
static inline packed_matrix plan_matrix(int64_t depth, int64_t columns)
{
    const bool half = uses_half(columns) || columns <= VECTOR_LENGTH;
    return (packed_matrix){depth, columns, half && depth % (2 * TILE_STEP) == 0 ? 2 : 1, NULL};
}

/* In bytes. */
static inline size_t packed_size(const packed_matrix *matrix)
{
    return (size_t)(count_steps(matrix) * count_vectors_of(matrix) * VECTOR_LENGTH) * sizeof(tile_unit);
}

LIANA__INLINE tile_factor factor_of(tile_element element)
{
#if defined(LIANA__WIDENED)
    const uint32_t bits = (uint32_t)element << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
#else
    return element;
#endif
}

/* `count` columns of one step from rows `stride` elements apart; `step` elements (a constant) are side by side. */
LIANA__INLINE void pack_step(const int step, const tile_element *restrict source, int64_t stride, int64_t count,
                             tile_factor *restrict target)
{
    for (int64_t c = 0; c < count; c++) {
        for (int e = 0; e < step; e++) target[c * step + e] = factor_of(source[e * stride + c]);
    }
}

/* Packs any step: rows and columns of the source are `down` and `along` elements apart; rows beyond the depth are 0. */
static void pack_any_step(const tile_element *source, int64_t down, int64_t along, int64_t rows, int64_t count,
                          int64_t step, tile_factor *target)
{
    for (int64_t c = 0; c < count; c++) {
        for (int64_t e = 0; e < step; e++) {
            target[c * step + e] = e < rows ? factor_of(source[e * down + c * along]) : 0;
        }
    }
}

static void pack_plain_panel(const tile_element *source, int64_t stride, int64_t steps, int64_t count, int64_t step,
                             tile_factor *target, int64_t width)
{
    for (int64_t s = 0; s < steps; s++, source += step * stride, target += width) {
        switch (step) {
        case 1: pack_step(1, source, stride, count, target); break;
        case 2: pack_step(2, source, stride, count, target); break;
        default: pack_step(4, source, stride, count, target); break;
        }
    }
}

static void pack_transposed_factors(const tile_factor *source, int64_t stride, int64_t steps, int64_t count,
                                    int64_t step, tile_factor *target, int64_t width)
{
    if ((size_t)step * sizeof *source == 4) {
        transpose_bytes((const char *)source, stride * (int64_t)sizeof *source, count, steps, (char *)target,
                        width * (int64_t)sizeof *source);
        return;
    }
    for (int64_t s = 0; s < steps; s++) {
        for (int64_t c = 0; c < count; c++) memcpy(target + s * width + c * step, source + c * stride + s * step, 8);
    }
}

#if defined(LIANA__WIDENED)

/* `count` elements as floats. */
static inline void widen(const tile_element *source, int64_t count, float *target)
{
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) vector_store(target + i, vector_load_bf16(source + i));
    if (i < count) vector_store_part(target + i, vector_load_part_bf16(source + i, count - i), count - i);
}

enum { WIDENED_AT_ONCE = 64 }; /* elements of each row */

/* A piece of each row is widened, then transposed. */
static void pack_transposed_panel(const tile_element *source, int64_t stride, int64_t steps, int64_t count,
                                  int64_t step, tile_factor *target, int64_t width)
{
    float piece[TILE_VECTORS * VECTOR_LENGTH * WIDENED_AT_ONCE];
    const int64_t at_once = WIDENED_AT_ONCE / step;
    for (int64_t s = 0; s < steps; s += at_once, source += WIDENED_AT_ONCE, target += at_once * width) {
        const int64_t left = at_most(at_once, steps - s);
        for (int64_t c = 0; c < count; c++) widen(source + c * stride, left * step, piece + c * WIDENED_AT_ONCE);
        pack_transposed_factors(piece, WIDENED_AT_ONCE, left, count, step, target, width);
    }
}

#else

static void pack_transposed_panel(const tile_element *source, int64_t stride, int64_t steps, int64_t count,
                                  int64_t step, tile_factor *target, int64_t width)
{
    pack_transposed_factors(source, stride, steps, count, step, target, width);
}

#endif

/* Packs [depth, columns], or [columns, depth] if transposed, into `units`, of packed_size bytes. */
static inline void pack_matrix(const packed_matrix *matrix, const tile_element *source, bool transposed,
                               tile_unit *units)
{
    const int64_t step = TILE_STEP * matrix->step_units, steps = matrix->depth / step;
    const int64_t down = transposed ? 1 : matrix->columns, along = transposed ? matrix->depth : 1;
    tile_factor *target = (tile_factor *)units;
    for (int64_t i = 0; i < count_panels(matrix); i++) {
        const packed_panel panel = panel_at(matrix, i);
        const int64_t width = panel.vectors * VECTOR_LENGTH * TILE_STEP;
        const int64_t room = width / step, left = matrix->columns - panel.first, count = left < room ? left : room;
        const tile_element *from = source + panel.first * along;
        (transposed ? pack_transposed_panel : pack_plain_panel)(from, transposed ? along : down, steps, count, step,
                                                                target, width);
        if (steps * step < matrix->depth) {
            pack_any_step(from + steps * step * down, down, along, matrix->depth - steps * step, count, step,
                          target + steps * width);
        }
        for (int64_t s = 0; s < count_steps(matrix) && count < room; s++) {
            memset(target + s * width + count * step, 0, (size_t)((room - count) * step) * sizeof *target);
        }
        target += count_steps(matrix) * width;
    }
}

/* ---- units along the rows of a matrix ---- */

/* Up to a vector of units from `rows` rows (1 or TILE_STEP): `count` of them, the other lanes 0. */
LIANA__INLINE vector_float load_units(const tile_element *source, int64_t stride, int64_t rows, int64_t count)
{
#if defined(LIANA__DOTS)
    static const uint16_t order[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                       8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __mmask16 mask = vector_first(count);
    __m256i first = _mm256_maskz_loadu_epi16(mask, source);
    __m256i second = _mm256_maskz_loadu_epi16(rows == 2 ? mask : 0, source + (rows - 1) * stride);
    __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
    return (vector_float)_mm512_permutexvar_epi16(_mm512_loadu_si512(order), both);
#else
    (void)stride;
    (void)rows;
#if defined(LIANA__WIDENED)
    return count == VECTOR_LENGTH ? vector_load_bf16(source) : vector_load_part_bf16(source, count);
#else
    return vector_load_part(source, count);
#endif
#endif
}

/* `depth` rows of `count` elements to units [steps][width], width being whole vectors. */
static inline void pack_steps(const tile_element *source, int64_t stride, int64_t depth, int64_t count,
                              tile_unit *target, int64_t width)
{
    for (int64_t c = 0; c < count; c += VECTOR_LENGTH) {
        const int64_t lanes = at_most(VECTOR_LENGTH, count - c);
        const tile_element *from = source + c;
        tile_unit *to = target + c;
        int64_t k = 0;
        for (; k + TILE_STEP <= depth; k += TILE_STEP, from += TILE_STEP * stride, to += width) {
            vector_store((float *)to, load_units(from, stride, TILE_STEP, lanes));
        }
        if (k < depth) vector_store((float *)to, load_units(from, stride, depth - k, lanes));
    }
}

/* Stores a vector of units into two tiles, `tile` units apart. If a tile has less than half of the lanes, into one
 * tile, with zeros after it, where the next step's units go. Returns the number of columns. The last step writes beyond
 * its own units. */
#if LIANA_VECTOR_BYTES == 64
enum { TILED_COLUMNS = 2 * TILE_ROWS, BEHIND_TILE = 0 };
#else
enum { TILED_COLUMNS = TILE_ROWS, BEHIND_TILE = VECTOR_LENGTH };
#endif

LIANA__INLINE void store_in_tiles(tile_unit *target, int64_t tile, vector_float units)
{
#if LIANA_VECTOR_BYTES == 64
    memcpy(target, &units, TILE_ROWS * sizeof *target);
    memcpy(target + tile, (const tile_unit *)&units + TILE_ROWS, TILE_ROWS * sizeof *target);
#else
    (void)tile;
    vector_store((float *)target, units);
#endif
}

/* The size, in units, of `columns` columns in tiles of `tile` units. Whole cache lines. */
static inline int64_t tiled_size(int64_t columns, int64_t tile)
{
    const int64_t tiles = divide_round_up(columns, TILED_COLUMNS) * ((int64_t)TILED_COLUMNS / TILE_ROWS);
    return divide_round_up(tiles * tile + BEHIND_TILE, 16) * 16;
}

/* `depth` rows of `columns` elements to units [tiles][steps][TILE_ROWS], room being for tiled_size of them. */
static inline void pack_tiles(const tile_element *source, int64_t columns, int64_t depth, tile_unit *target)
{
    const int64_t tile = divide_round_up(depth, TILE_STEP) * TILE_ROWS;
    for (int64_t c = 0; c < columns; c += TILED_COLUMNS) {
        const int64_t lanes = at_most(TILED_COLUMNS, columns - c);
        const tile_element *from = source + c;
        tile_unit *to = target + c / TILE_ROWS * tile;
        int64_t k = 0;
        for (; k + TILE_STEP <= depth; k += TILE_STEP, from += TILE_STEP * columns, to += TILE_ROWS) {
            store_in_tiles(to, tile, load_units(from, columns, TILE_STEP, lanes));
        }
        if (k < depth) store_in_tiles(to, tile, load_units(from, columns, depth - k, lanes));
    }
}

#endif
