/* The loops of resize.h. Included by resize.generic.c, resize.avx2.c and resize.avx512.c, which differ by the
 * compiler's flags alone: floats are multiplied and added in the order written, so all give the same bits. */
#include "data/image/resize.h"

#include <string.h>

/* The long loops run over neighbouring bytes, of which the compiler makes vectors; that is why rows are blended before
 * columns. */
static void blend_rows(const liana__resize_axis *rows, int64_t y, const uint8_t *restrict src, int64_t row_size,
                       float *restrict row)
{
    const float *weights = rows->weights + y * rows->max_taps;
    const uint8_t *restrict first = src + rows->first[y] * row_size;
    float first_weight = weights[0];
    if (rows->count[y] == 1) {
        for (int64_t i = 0; i < row_size; i++) row[i] = first_weight * (float)first[i];
        return;
    }
    const uint8_t *restrict second = first + row_size;
    float second_weight = weights[1];
    for (int64_t i = 0; i < row_size; i++) {
        row[i] = first_weight * (float)first[i] + second_weight * (float)second[i];
    }
    for (int64_t k = 2; k < rows->count[y]; k++) {
        const uint8_t *restrict next = first + k * row_size;
        float weight = weights[k];
        for (int64_t i = 0; i < row_size; i++) row[i] += weight * (float)next[i];
    }
}

/* Three channels and one that is thrown away, side by side. */
typedef float four __attribute__((vector_size(16)));

static inline four load_four(const float *from)
{
    four values;
    memcpy(&values, from, sizeof values);
    return values;
}

/* sums [end - begin, 3] and one float more: the weighted sums along a row. */
static void blend_colours(const liana__resize_axis *columns, const float *row, float *sums, int64_t begin, int64_t end)
{
    for (int64_t x = begin; x < end; x++, sums += 3) {
        const float *weights = columns->weights + x * columns->max_taps, *pixel = row + columns->first[x] * 3;
        four sum = weights[0] * load_four(pixel);
        for (int64_t k = 1; k < columns->count[x]; k++) sum += weights[k] * load_four(pixel + 3 * k);
        memcpy(sums, &sum, sizeof sum);
    }
}

static void blend_grey(const liana__resize_axis *columns, const float *row, float *sums, int64_t begin, int64_t end)
{
    for (int64_t x = begin; x < end; x++) {
        const float *weights = columns->weights + x * columns->max_taps, *pixel = row + columns->first[x];
        float sum = weights[0] * pixel[0];
        for (int64_t k = 1; k < columns->count[x]; k++) sum += weights[k] * pixel[k];
        sums[x - begin] = sum;
    }
}

enum { CHUNK = 128 };

static void finish_row(const liana__resize_axis *columns, const float *row, int channels, uint8_t *bytes, float *floats)
{
    for (int64_t begin = 0; begin < columns->to; begin += CHUNK) {
        int64_t end = begin + CHUNK < columns->to ? begin + CHUNK : columns->to, count = (end - begin) * channels;
        float sums[CHUNK * 3 + 1];
        if (channels == 3) {
            blend_colours(columns, row, sums, begin, end);
        } else {
            blend_grey(columns, row, sums, begin, end);
        }
        if (floats) memcpy(floats + begin * channels, sums, (size_t)count * sizeof *sums);
        if (!bytes) continue;
        uint8_t *restrict out = bytes + begin * channels;
        /* The weights are positive and sum to one within a rounding error, so no sum leaves [0, 255.5). */
        for (int64_t i = 0; i < count; i++) out[i] = (uint8_t)(int)(sums[i] + 0.5f);
    }
}

static void widen(const uint8_t *restrict bytes, size_t count, float *restrict floats)
{
    for (size_t i = 0; i < count; i++) floats[i] = (float)bytes[i];
}

#define LIANA__RESIZE_KERNELS                                               \
    {                                                                       \
        .blend_rows = blend_rows, .finish_row = finish_row, .widen = widen, \
    }
