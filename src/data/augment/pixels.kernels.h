/* The loops of pixels.h. Included by pixels.generic.c and pixels.avx2.c, which differ by the compiler's flags alone:
 * floats are added and multiplied in the order written, so all give the same bytes. */
#include "data/augment/pixels.h"

#include <string.h>

/* Four channels at once, the fourth unused. */
typedef float float4 __attribute__((vector_size(16)));
typedef int32_t int4 __attribute__((vector_size(16)));
typedef uint8_t byte4 __attribute__((vector_size(4)));

/* ---- warp ---- */

/* Points of a row are computed in pieces that stay in the cache. */
enum { PIECE = 256 };

typedef struct piece {
    float x[PIECE]; /* in pixels, the centre of the first pixel at 0 */
    float y[PIECE];
    int32_t column[PIECE];
    int32_t row[PIECE];
} piece;

/* Far outside every image, near enough for whole numbers. */
static const float FAR = 1 << 20;

static inline float bounded(float value)
{
    /* NaN fails both comparisons' first form and becomes -FAR. */
    value = value > -FAR ? value : -FAR;
    return value < FAR ? value : FAR;
}

/* The points of `count` pixels of a row from `first`, moved by `shift` pixels. */
static void find_points(const liana__matrix *matrix, int64_t row, int64_t first, int count, float shift, piece *points)
{
    const double *m = matrix->m;
    double x = (double)first + 0.5, y = (double)row + 0.5;
    float x0 = (float)(m[0] * x + m[1] * y + m[2]), y0 = (float)(m[3] * x + m[4] * y + m[5]);
    float x_step = (float)m[0], y_step = (float)m[3];
    if (m[6] == 0 && m[7] == 0) {
        for (int i = 0; i < count; i++) {
            points->x[i] = bounded(x0 + x_step * (float)i + shift);
            points->y[i] = bounded(y0 + y_step * (float)i + shift);
        }
    } else {
        float w0 = (float)(m[6] * x + m[7] * y + m[8]), w_step = (float)m[6];
        for (int i = 0; i < count; i++) {
            float w = w0 + w_step * (float)i, inverse = 1 / w;
            float px = (x0 + x_step * (float)i) * inverse + shift, py = (y0 + y_step * (float)i) * inverse + shift;
            points->x[i] = bounded(w > 0 ? px : -FAR);
            points->y[i] = bounded(w > 0 ? py : -FAR);
        }
    }
    for (int i = 0; i < count; i++) {
        int32_t column = (int32_t)points->x[i], line = (int32_t)points->y[i];
        points->column[i] = column - ((float)column > points->x[i]);
        points->row[i] = line - ((float)line > points->y[i]);
    }
}

/* Where a pixel that may lie outside is read; -1: nowhere. */
static int64_t fold(int64_t index, int64_t size, liana__fill_mode mode)
{
    if (index >= 0 && index < size) return index;
    switch (mode) {
    case LIANA__FILL_CONSTANT: return -1;
    case LIANA__FILL_NEAREST: return index < 0 ? 0 : size - 1;
    case LIANA__FILL_WRAP: index %= size; return index < 0 ? index + size : index;
    case LIANA__FILL_REFLECT:
        index %= 2 * size;
        if (index < 0) index += 2 * size;
        return index < size ? index : 2 * size - 1 - index;
    }
    return -1;
}

static uint8_t pixel_at(const liana__warp *warp, int64_t row, int64_t column, int channel)
{
    row = fold(row, warp->src_height, warp->fill_mode);
    column = fold(column, warp->src_width, warp->fill_mode);
    if (row < 0 || column < 0) return warp->fill;
    return warp->src[(row * warp->src_width + column) * warp->channels + channel];
}

static inline float mix(float a, float b, float share)
{
    return a + (b - a) * share;
}

/* Any pixel, near the edge or not. */
static void sample_bilinear(const liana__warp *warp, const piece *points, int i, uint8_t *dst)
{
    int64_t row = points->row[i], column = points->column[i];
    float fx = points->x[i] - (float)column, fy = points->y[i] - (float)row;
    for (int c = 0; c < warp->channels; c++) {
        float a = pixel_at(warp, row, column, c), b = pixel_at(warp, row, column + 1, c);
        float d = pixel_at(warp, row + 1, column, c), e = pixel_at(warp, row + 1, column + 1, c);
        dst[c] = (uint8_t)(mix(mix(a, b, fx), mix(d, e, fx), fy) + 0.5f);
    }
}

static inline float4 load4(const uint8_t *pixels)
{
    byte4 bytes;
    memcpy(&bytes, pixels, sizeof bytes);
    return __builtin_convertvector(__builtin_convertvector(bytes, int4), float4);
}

static void bilinear_colour(const liana__warp *warp, const piece *points, int count, uint8_t *dst)
{
    const uint8_t *src = warp->src;
    size_t stride = (size_t)warp->src_width * 3;
    /* One row and one pixel more are read, and one byte. */
    uint32_t rows = (uint32_t)(warp->src_height - 1), columns = (uint32_t)(warp->src_width - 1);
    const uint8_t *end = src + stride * (size_t)warp->src_height;
    for (int i = 0; i < count; i++, dst += 3) {
        uint32_t row = (uint32_t)points->row[i], column = (uint32_t)points->column[i];
        const uint8_t *at = src + row * stride + 3 * (size_t)column;
        if (row >= rows || column >= columns || at + stride + 7 > end) {
            sample_bilinear(warp, points, i, dst);
            continue;
        }
        float fx = points->x[i] - (float)points->column[i], fy = points->y[i] - (float)points->row[i];
        float4 a = load4(at), b = load4(at + 3), d = load4(at + stride), e = load4(at + stride + 3);
        float4 top = a + (b - a) * fx, bottom = d + (e - d) * fx;
        float4 value = top + (bottom - top) * fy + 0.5f;
        byte4 bytes = __builtin_convertvector(__builtin_convertvector(value, int4), byte4);
        memcpy(dst, &bytes, 3);
    }
}

static void bilinear_grey(const liana__warp *warp, const piece *points, int count, uint8_t *dst)
{
    size_t stride = (size_t)warp->src_width;
    uint32_t rows = (uint32_t)(warp->src_height - 1), columns = (uint32_t)(warp->src_width - 1);
    for (int i = 0; i < count; i++) {
        uint32_t row = (uint32_t)points->row[i], column = (uint32_t)points->column[i];
        if (row >= rows || column >= columns) {
            sample_bilinear(warp, points, i, dst + i);
            continue;
        }
        const uint8_t *at = warp->src + row * stride + column;
        float fx = points->x[i] - (float)points->column[i], fy = points->y[i] - (float)points->row[i];
        dst[i] = (uint8_t)(mix(mix(at[0], at[1], fx), mix(at[stride], at[stride + 1], fx), fy) + 0.5f);
    }
}

static void nearest(const liana__warp *warp, const piece *points, int count, uint8_t *dst)
{
    uint32_t rows = (uint32_t)warp->src_height, columns = (uint32_t)warp->src_width;
    size_t channels = (size_t)warp->channels, stride = (size_t)warp->src_width * channels;
    for (int i = 0; i < count; i++, dst += channels) {
        uint32_t row = (uint32_t)points->row[i], column = (uint32_t)points->column[i];
        if (row >= rows || column >= columns) {
            for (int c = 0; c < warp->channels; c++) {
                dst[c] = pixel_at(warp, points->row[i], points->column[i], c);
            }
            continue;
        }
        const uint8_t *at = warp->src + row * stride + column * channels;
        dst[0] = at[0];
        if (channels == 3) {
            dst[1] = at[1];
            dst[2] = at[2];
        }
    }
}

static void warp_image(const liana__warp *warp)
{
    piece points;
    float shift = warp->interpolation == LIANA__BILINEAR ? -0.5f : 0;
    for (int64_t row = 0; row < warp->dst_height; row++) {
        for (int64_t first = 0; first < warp->dst_width; first += PIECE) {
            int count = warp->dst_width - first < PIECE ? (int)(warp->dst_width - first) : PIECE;
            uint8_t *dst = warp->dst + (row * warp->dst_width + first) * warp->channels;
            find_points(&warp->from_output, row, first, count, shift, &points);
            if (warp->interpolation == LIANA__NEAREST) {
                nearest(warp, &points, count, dst);
            } else if (warp->channels == 3) {
                bilinear_colour(warp, &points, count, dst);
            } else {
                bilinear_grey(warp, &points, count, dst);
            }
        }
    }
}

/* ---- values ---- */

static inline uint8_t to_byte(float value)
{
    value = value + 0.5f;
    value = value > 0 ? value : 0;
    return (uint8_t)(int32_t)(value < 255.5f ? value : 255.5f);
}

static void linear(uint8_t *pixels, size_t size, const float *scale, const float *offset)
{
    size_t i = 0;
    for (; i + LIANA__PATTERN <= size; i += LIANA__PATTERN) {
        for (int k = 0; k < LIANA__PATTERN; k++) pixels[i + k] = to_byte(pixels[i + k] * scale[k] + offset[k]);
    }
    for (int k = 0; i < size; i++, k++) pixels[i] = to_byte(pixels[i] * scale[k] + offset[k]);
}

#define LIANA__PIXEL_KERNELS                  \
    {                                         \
        .warp = warp_image, .linear = linear, \
    }
