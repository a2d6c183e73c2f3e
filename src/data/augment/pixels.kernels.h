/* The loops of pixels.h. Included by pixels.generic.c and pixels.avx2.c, which differ by the compiler's flags alone:
 * floats are added and multiplied in the order written, so all give the same bytes. */
#include "data/augment/pixels.h"

#include <math.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* ---- warp ---- */

/* Points of a row are computed in pieces that stay in the cache. */
enum { PIECE = 256 };

typedef struct piece {
    float x[PIECE]; /* in pixels, the centre of the first pixel at 0 */
    float y[PIECE];
    int32_t column[PIECE];
    int32_t row[PIECE];
    /* Bilinear: weights of the left and the right, or the upper and the lower pixel, in 256ths, as two halves. */
    uint32_t x_weights[PIECE];
    uint32_t y_weights[PIECE];
    int32_t offset[PIECE]; /* of the upper left pixel in the source, or one of the two below */
} piece;

/* Not all four pixels may simply be read; none of them is there, and the value of fill takes their place. */
enum { AT_THE_EDGE = -1, OUTSIDE = -2 };

/* Far outside every image, near enough for whole numbers. */
static const float FAR = 1 << 20;

static inline float bounded(float value)
{
    /* NaN fails both comparisons' first form and becomes -FAR. */
    value = value > -FAR ? value : -FAR;
    return value < FAR ? value : FAR;
}

/* The points of `count` pixels of a row from `first`, moved by `shift` pixels. */
static void find_points(const liana_matrix *matrix, int64_t row, int64_t first, int count, float shift, piece *points)
{
    const double *m = matrix->m;
    double x = (double)first + 0.5, y = (double)row + 0.5;
    float x0 = (float)(m[0] * x + m[1] * y + m[2]), y0 = (float)(m[3] * x + m[4] * y + m[5]);
    float x_step = (float)m[0], y_step = (float)m[3];
    if (m[6] == 0 && m[7] == 0 && m[8] == 1) {
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

/* The four pixels' weights and, where they all lie inside, where the first of them is. */
static void find_weights(const liana__warp *warp, int count, piece *points)
{
    int32_t channels = warp->channels, stride = (int32_t)warp->src_width * channels;
    uint32_t rows = (uint32_t)(warp->src_height - 1), columns = (uint32_t)(warp->src_width - 1);
    int constant = warp->fill_mode == LIANA__FILL_CONSTANT;
    /* Eight bytes of each row are read at once. */
    int32_t last = (int32_t)warp->src_height * stride - stride - 8;
    for (int i = 0; i < count; i++) {
        uint32_t right = (uint32_t)(int32_t)((points->x[i] - (float)points->column[i]) * 256 + 0.5f);
        uint32_t lower = (uint32_t)(int32_t)((points->y[i] - (float)points->row[i]) * 256 + 0.5f);
        points->x_weights[i] = (256 - right) | right << 16;
        points->y_weights[i] = (256 - lower) | lower << 16;
        int32_t offset =
            (int32_t)((uint32_t)points->row[i] * (uint32_t)stride + (uint32_t)points->column[i] * (uint32_t)channels);
        int inside = ((uint32_t)points->row[i] < rows) & ((uint32_t)points->column[i] < columns) & (offset <= last);
        int near_it = ((uint32_t)(points->row[i] + 1) <= rows + 1) & ((uint32_t)(points->column[i] + 1) <= columns + 1);
        points->offset[i] = inside ? offset : (near_it | !constant) ? AT_THE_EDGE : OUTSIDE;
    }
}

static inline uint8_t blend(int a, int b, int c, int d, uint32_t x_weights, uint32_t y_weights)
{
    uint32_t left = x_weights & 0xFFFF, right = x_weights >> 16;
    uint32_t upper = (uint32_t)a * left + (uint32_t)b * right, lower = (uint32_t)c * left + (uint32_t)d * right;
    return (uint8_t)((upper * (y_weights & 0xFFFF) + lower * (y_weights >> 16) + 0x8000) >> 16);
}

/* Any pixel, near the edge or not. */
static void sample_bilinear(const liana__warp *warp, const piece *points, int i, uint8_t *dst)
{
    int64_t row = points->row[i], column = points->column[i];
    for (int c = 0; c < warp->channels; c++) {
        dst[c] = blend(pixel_at(warp, row, column, c), pixel_at(warp, row, column + 1, c),
                       pixel_at(warp, row + 1, column, c), pixel_at(warp, row + 1, column + 1, c), points->x_weights[i],
                       points->y_weights[i]);
    }
}

#if defined(__AVX2__)
/* Two pixels of three channels: each half of a register holds the six bytes of the upper row, and those of the lower
 * eight bytes on. Writes eight bytes, of which the first three of each half count. */
static inline __m256i blend_two(const uint8_t *first, const uint8_t *second, int64_t stride, const uint32_t *x_weights,
                                const uint32_t *y_weights)
{
    const __m256i halves = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
    const __m256i upper_words = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, 0, -1, 3, -1,
                                                 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
    const __m256i lower_words = _mm256_setr_epi8(8, -1, 11, -1, 9, -1, 12, -1, 10, -1, 13, -1, -1, -1, -1, -1, 8, -1,
                                                 11, -1, 9, -1, 12, -1, 10, -1, 13, -1, -1, -1, -1, -1);
    const __m256i pairs = _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15, 0, 1, 8, 9, 2, 3, 10,
                                           11, 4, 5, 12, 13, 6, 7, 14, 15);
    __m128i a = _mm_loadl_epi64((const void *)first), b = _mm_loadl_epi64((const void *)second);
    a = _mm_unpacklo_epi64(a, _mm_loadl_epi64((const void *)(first + stride)));
    b = _mm_unpacklo_epi64(b, _mm_loadl_epi64((const void *)(second + stride)));
    __m256i pixels = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
    __m256i wx = _mm256_castsi128_si256(_mm_loadl_epi64((const void *)x_weights));
    __m256i wy = _mm256_castsi128_si256(_mm_loadl_epi64((const void *)y_weights));
    wx = _mm256_permutevar8x32_epi32(wx, halves);
    wy = _mm256_permutevar8x32_epi32(wy, halves);
    __m256i upper = _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, upper_words), wx);
    __m256i lower = _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, lower_words), wx);
    __m256i both = _mm256_shuffle_epi8(_mm256_packus_epi32(upper, lower), pairs);
    /* The product takes signed halves: 0x8000 less, times 256 in all, is added back. */
    __m256i sum = _mm256_madd_epi16(_mm256_xor_si256(both, _mm256_set1_epi16(-0x8000)), wy);
    sum = _mm256_srli_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(0x8000 * 256 + 0x8000)), 16);
    return sum;
}

/* As many pixels as lie inside from `i` on, two by two; returns the first that is not done. */
static int blend_run(const liana__warp *warp, const piece *points, int i, int count, uint8_t *dst)
{
    const __m256i gather = _mm256_setr_epi8(0, 4, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, -1,
                                            -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    int64_t stride = warp->src_width * 3;
    /* The last pixel of a row is left to others: four bytes are written for each. */
    for (; i + 2 < count && points->offset[i] >= 0 && points->offset[i + 1] >= 0; i += 2) {
        __m256i sum = blend_two(warp->src + points->offset[i], warp->src + points->offset[i + 1], stride,
                                &points->x_weights[i], &points->y_weights[i]);
        __m256i bytes = _mm256_shuffle_epi8(sum, gather);
        int32_t first = _mm256_cvtsi256_si32(bytes), second = _mm_cvtsi128_si32(_mm256_extracti128_si256(bytes, 1));
        memcpy(dst + 3 * i, &first, 4);
        memcpy(dst + 3 * i + 3, &second, 4);
    }
    return i;
}
#endif

static void bilinear(const liana__warp *warp, const piece *points, int count, uint8_t *dst)
{
    int channels = warp->channels;
    int64_t stride = warp->src_width * channels;
    for (int i = 0; i < count; i++) {
#if defined(__AVX2__)
        if (channels == 3) i = blend_run(warp, points, i, count, dst);
#endif
        if (points->offset[i] == OUTSIDE) {
            int first = i;
            while (i + 1 < count && points->offset[i + 1] == OUTSIDE) i++;
            memset(dst + first * channels, warp->fill, (size_t)((i + 1 - first) * channels));
            continue;
        }
        if (points->offset[i] < 0) {
            sample_bilinear(warp, points, i, dst + i * channels);
            continue;
        }
        const uint8_t *at = warp->src + points->offset[i];
        for (int c = 0; c < channels; c++, at++) {
            dst[i * channels + c] = blend(at[0], at[channels], at[stride], at[stride + channels], points->x_weights[i],
                                          points->y_weights[i]);
        }
    }
}

/* Whole rows, forwards or backwards: all that a flip, a crop or a shift by pixels is. */
static bool copies_rows(const liana_matrix *matrix)
{
    const double *m = matrix->m;
    return fabs(m[0]) == 1 && m[1] == 0 && m[3] == 0 && fabs(m[4]) == 1 && m[6] == 0 && m[7] == 0 && m[8] == 1 &&
           m[2] == floor(m[2]) && m[5] == floor(m[5]);
}

/* The part [*begin, *end) of a row of `count` pixels that lies inside the source, where its first pixel would come from
 * `first` and the next ones from `step` further. */
static void inside_part(int64_t first, int64_t step, int64_t size, int64_t count, int64_t *begin, int64_t *end)
{
    *begin = step > 0 ? -first : first - size + 1;
    *end = step > 0 ? size - first : first + 1;
    *begin = *begin < 0 ? 0 : *begin > count ? count : *begin;
    *end = *end > count ? count : *end < *begin ? *begin : *end;
}

static void reverse(const uint8_t *last, uint8_t *dst, int64_t count, int channels)
{
    if (channels == 1) {
        for (int64_t i = 0; i < count; i++) dst[i] = last[-i];
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        dst[3 * i] = last[-3 * i];
        dst[3 * i + 1] = last[-3 * i + 1];
        dst[3 * i + 2] = last[-3 * i + 2];
    }
}

static void copy_rows(const liana__warp *warp)
{
    const double *m = warp->from_output.m;
    int64_t step = (int64_t)m[0], channels = warp->channels, begin, end;
    int64_t first = (int64_t)floor(0.5 * m[0] + m[2]);
    inside_part(first, step, warp->src_width, warp->dst_width, &begin, &end);
    for (int64_t y = 0; y < warp->dst_height; y++) {
        uint8_t *dst = warp->dst + y * warp->dst_width * channels;
        int64_t row = (int64_t)floor(m[4] * ((double)y + 0.5) + m[5]);
        bool exists = row >= 0 && row < warp->src_height;
        int64_t from = exists ? begin : warp->dst_width, to = exists ? end : warp->dst_width;
        for (int64_t x = 0; x < warp->dst_width; x = x + 1 == from ? to : x + 1) {
            if (x >= from && x < to) continue;
            for (int c = 0; c < channels; c++) dst[x * channels + c] = pixel_at(warp, row, first + step * x, c);
        }
        if (from >= to) continue;
        const uint8_t *src = warp->src + (row * warp->src_width + first + step * from) * channels;
        if (step > 0) memcpy(dst + from * channels, src, (size_t)((to - from) * channels));
        if (step < 0) reverse(src, dst + from * channels, to - from, (int)channels);
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
    if (warp->interpolation == LIANA__NEAREST && copies_rows(&warp->from_output)) {
        copy_rows(warp);
        return;
    }
    piece points;
    float shift = warp->interpolation == LIANA__BILINEAR ? -0.5f : 0;
    for (int64_t row = 0; row < warp->dst_height; row++) {
        for (int64_t first = 0; first < warp->dst_width; first += PIECE) {
            int count = warp->dst_width - first < PIECE ? (int)(warp->dst_width - first) : PIECE;
            uint8_t *dst = warp->dst + (row * warp->dst_width + first) * warp->channels;
            find_points(&warp->from_output, row, first, count, shift, &points);
            if (warp->interpolation == LIANA__NEAREST) {
                nearest(warp, &points, count, dst);
            } else {
                find_weights(warp, count, &points);
                bilinear(warp, &points, count, dst);
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

static void linear(uint8_t *restrict pixels, size_t size, const float *restrict scale, const float *restrict offset)
{
    size_t i = 0;
    for (; i + LIANA__PATTERN <= size; i += LIANA__PATTERN) {
        for (size_t k = 0; k < LIANA__PATTERN; k++) pixels[i + k] = to_byte(pixels[i + k] * scale[k] + offset[k]);
    }
    for (size_t k = 0; i < size; i++, k++) pixels[i] = to_byte(pixels[i] * scale[k] + offset[k]);
}

#if defined(__AVX2__)
/* Of as many whole groups of 32 pixels as there are; returns how many pixels that is. */
static size_t sum_groups(const uint8_t *pixels, size_t num_pixels, uint64_t each[3])
{
    uint8_t bytes[32 + 2]; /* every third byte, from the first, second and third one on */
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = i % 3 == 2 ? 0xFF : 0;
    __m256i masks[3], total[3], zero = _mm256_setzero_si256();
    for (int c = 0; c < 3; c++) {
        masks[c] = _mm256_loadu_si256((const void *)(bytes + 2 - c));
        total[c] = zero;
    }
    size_t done = 0;
    for (; done + 32 <= num_pixels; done += 32, pixels += 96) {
        for (int part = 0; part < 3; part++) {
            __m256i values = _mm256_loadu_si256((const void *)(pixels + 32 * part));
            /* 32 is 2 more than a multiple of 3: the next part begins with another channel. */
            for (int c = 0; c < 3; c++) {
                __m256i own = _mm256_and_si256(values, masks[(c + part) % 3]);
                total[c] = _mm256_add_epi64(total[c], _mm256_sad_epu8(own, zero));
            }
        }
    }
    for (int c = 0; c < 3; c++) {
        uint64_t lanes[4];
        _mm256_storeu_si256((void *)lanes, total[c]);
        each[c] = lanes[0] + lanes[1] + lanes[2] + lanes[3];
    }
    return done;
}
#else
static size_t sum_groups(const uint8_t *pixels, size_t num_pixels, uint64_t each[3])
{
    (void)pixels;
    (void)num_pixels;
    each[0] = each[1] = each[2] = 0;
    return 0;
}
#endif

static void sums(const uint8_t *pixels, size_t num_pixels, int channels, double *each, double *grey)
{
    uint64_t total[3] = {0};
    if (channels == 1) {
        for (size_t i = 0; i < num_pixels; i++) total[0] += pixels[i];
        *grey = each[0] = (double)total[0];
        return;
    }
    for (size_t i = sum_groups(pixels, num_pixels, total); i < num_pixels; i++) {
        for (int c = 0; c < 3; c++) total[c] += pixels[3 * i + (size_t)c];
    }
    for (int c = 0; c < 3; c++) each[c] = (double)total[c];
    *grey = 0.299 * each[0] + 0.587 * each[1] + 0.114 * each[2];
}

static inline uint8_t weigh(const liana__recolour *change, int channel, const uint8_t pixel[3])
{
    const int16_t *weights = change->weights + 3 * channel;
    int32_t sum = weights[0] * pixel[0] + weights[1] * pixel[1] + weights[2] * pixel[2] + change->offset[channel];
    sum >>= change->shift;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

#if defined(__AVX2__)
static inline __m256i pair(int16_t low, int16_t high)
{
    return _mm256_set1_epi32((int32_t)((uint32_t)(uint16_t)low | (uint32_t)(uint16_t)high << 16));
}

/* Eight pixels at a time: red and green side by side in one register, blue in another, so that each output is the sum
 * of two products of pairs. Returns how many are done. */
static size_t recolour_groups(uint8_t *pixels, size_t num_pixels, const liana__recolour *change)
{
    const __m256i red_green = _mm256_setr_epi8(0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1, 0, -1, 1, -1, 3,
                                               -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1);
    const __m256i blue = _mm256_setr_epi8(2, -1, -1, -1, 5, -1, -1, -1, 8, -1, -1, -1, 11, -1, -1, -1, 2, -1, -1, -1, 5,
                                          -1, -1, -1, 8, -1, -1, -1, 11, -1, -1, -1);
    const __m256i interleave = _mm256_setr_epi8(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, -1, -1, -1, -1, 0, 4, 8, 1, 5, 9,
                                                2, 6, 10, 3, 7, 11, -1, -1, -1, -1);
    __m256i first[3], second[3], offset[3];
    for (int c = 0; c < 3; c++) {
        const int16_t *weights = change->weights + 3 * c;
        first[c] = pair(weights[0], weights[1]);
        second[c] = pair(weights[2], 0);
        offset[c] = _mm256_set1_epi32(change->offset[c]);
    }
    const __m128i shift = _mm_cvtsi32_si128(change->shift);
    size_t done = 0;
    /* Sixteen bytes are read at the fifth pixel: ten must be left. */
    for (; done + 10 <= num_pixels; done += 8, pixels += 24) {
        __m256i values = _mm256_castsi128_si256(_mm_loadu_si128((const void *)pixels));
        values = _mm256_inserti128_si256(values, _mm_loadu_si128((const void *)(pixels + 12)), 1);
        __m256i rg = _mm256_shuffle_epi8(values, red_green), b = _mm256_shuffle_epi8(values, blue), out[3];
        for (int c = 0; c < 3; c++) {
            __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(rg, first[c]), _mm256_madd_epi16(b, second[c]));
            out[c] = _mm256_sra_epi32(_mm256_add_epi32(sum, offset[c]), shift);
        }
        __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(out[0], out[1]), _mm256_packs_epi32(out[2], out[2]));
        bytes = _mm256_shuffle_epi8(bytes, interleave);
        for (int half = 0; half < 2; half++) {
            __m128i four = half ? _mm256_extracti128_si256(bytes, 1) : _mm256_castsi256_si128(bytes);
            int32_t last = _mm_extract_epi32(four, 2);
            _mm_storel_epi64((void *)(pixels + 12 * half), four);
            memcpy(pixels + 12 * half + 8, &last, 4);
        }
    }
    return done;
}
#else
static size_t recolour_groups(uint8_t *pixels, size_t num_pixels, const liana__recolour *change)
{
    (void)pixels;
    (void)num_pixels;
    (void)change;
    return 0;
}
#endif

static void recolour(uint8_t *pixels, size_t num_pixels, const liana__recolour *change)
{
    for (size_t i = recolour_groups(pixels, num_pixels, change); i < num_pixels; i++) {
        uint8_t *pixel = pixels + 3 * i, before[3] = {pixel[0], pixel[1], pixel[2]};
        for (int c = 0; c < 3; c++) pixel[c] = weigh(change, c, before);
    }
}

/* Colour images are worked on in planes of a piece. */
typedef struct planes {
    float red[PIECE];
    float green[PIECE];
    float blue[PIECE];
} planes;

static size_t split(const uint8_t *pixels, size_t left, planes *to)
{
    size_t count = left < PIECE ? left : PIECE;
    for (size_t i = 0; i < count; i++) {
        to->red[i] = pixels[3 * i];
        to->green[i] = pixels[3 * i + 1];
        to->blue[i] = pixels[3 * i + 2];
    }
    return count;
}

static void join(const planes *from, size_t count, uint8_t *pixels)
{
    for (size_t i = 0; i < count; i++) {
        pixels[3 * i] = to_byte(from->red[i]);
        pixels[3 * i + 1] = to_byte(from->green[i]);
        pixels[3 * i + 2] = to_byte(from->blue[i]);
    }
}

static inline float smaller(float a, float b)
{
    return a < b ? a : b;
}

static inline float larger(float a, float b)
{
    return a > b ? a : b;
}

/* Back from hue (in sixths, 0 to 12) to a channel: n is 5, 3, 1 for red, green, blue. */
static inline float from_hue(float value, float chroma, float hue, float n)
{
    float k = n + hue;
    k -= k >= 12 ? 12.0f : k >= 6 ? 6.0f : 0.0f;
    return value - chroma * larger(0, smaller(smaller(k, 4 - k), 1));
}

static void turn_hue(uint8_t *pixels, size_t num_pixels, float turn)
{
    planes p;
    float sixths = 6 * (turn < 0 ? turn + 1 : turn);
    for (size_t done = 0, count; done < num_pixels; done += count, pixels += 3 * count) {
        count = split(pixels, num_pixels - done, &p);
        for (size_t i = 0; i < count; i++) {
            float r = p.red[i], g = p.green[i], b = p.blue[i];
            float value = larger(larger(r, g), b), chroma = value - smaller(smaller(r, g), b);
            float inverse = 1 / larger(chroma, 1);
            float of_red = (g - b) * inverse, of_green = 2 + (b - r) * inverse, of_blue = 4 + (r - g) * inverse;
            float hue = value == r ? of_red : value == g ? of_green : of_blue;
            hue += hue < 0 ? 6.0f : 0.0f;
            hue += sixths;
            p.red[i] = from_hue(value, chroma, hue, 5);
            p.green[i] = from_hue(value, chroma, hue, 3);
            p.blue[i] = from_hue(value, chroma, hue, 1);
        }
        join(&p, count, pixels);
    }
}

/* c b a | b c d: the outermost pixel is not repeated. */
static int64_t mirror(int64_t index, int64_t size)
{
    int64_t period = size > 1 ? 2 * (size - 1) : 1;
    index %= period;
    if (index < 0) index += period;
    return index < size ? index : period - index;
}

static void blur(const uint8_t *src, uint8_t *dst, int64_t height, int64_t width, int channels, const float *weights,
                 int radius, float *row)
{
    int64_t stride = width * channels, margin = (int64_t)radius * channels;
    for (int64_t y = 0; y < height; y++, dst += stride) {
        float *sum = row + margin;
        for (int64_t x = 0; x < stride; x++) sum[x] = 0;
        for (int k = -radius; k <= radius; k++) {
            const uint8_t *line = src + mirror(y + k, height) * stride;
            float weight = weights[k + radius];
            for (int64_t x = 0; x < stride; x++) sum[x] += weight * line[x];
        }
        for (int64_t x = 1; x <= radius; x++) {
            for (int c = 0; c < channels; c++) {
                sum[-x * channels + c] = sum[mirror(-x, width) * channels + c];
                sum[(width - 1 + x) * channels + c] = sum[mirror(width - 1 + x, width) * channels + c];
            }
        }
        for (int64_t first = 0; first < stride; first += PIECE) {
            int64_t count = stride - first < PIECE ? stride - first : PIECE;
            float values[PIECE] = {0};
            for (int k = 0; k <= 2 * radius; k++) {
                const float *from = row + first + k * channels;
                for (int64_t x = 0; x < count; x++) values[x] += weights[k] * from[x];
            }
            for (int64_t x = 0; x < count; x++) dst[first + x] = to_byte(values[x]);
        }
    }
}

static void sharpen(const uint8_t *restrict src, uint8_t *restrict dst, int64_t height, int64_t width, int channels,
                    float factor)
{
    int64_t stride = width * channels, step = channels;
    for (int64_t y = 1; y + 1 < height; y++) {
        const uint8_t *above = src + (y - 1) * stride, *line = above + stride, *below = line + stride;
        for (int64_t i = step; i < stride - step; i++) {
            int sum = above[i - step] + above[i] + above[i + step] + below[i - step] + below[i] + below[i + step];
            float smooth = (float)(sum + line[i - step] + 5 * line[i] + line[i + step]) * (1 / 13.0f);
            dst[y * stride + i] = to_byte(smooth + (line[i] - smooth) * factor);
        }
    }
}

/* Philox of LANES counters that differ by their last word, side by side. */
enum { LANES = 16 };

static void philox_lanes(liana__philox_key key, const uint32_t counter[4], uint32_t words[4][LANES])
{
    uint32_t *c0 = words[0], *c1 = words[1], *c2 = words[2], *c3 = words[3];
    for (uint32_t i = 0; i < LANES; i++) {
        c0[i] = counter[0];
        c1[i] = counter[1];
        c2[i] = counter[2];
        c3[i] = counter[3] + i;
    }
    uint32_t k0 = key.words[0], k1 = key.words[1];
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < LANES; i++) {
            uint64_t product0 = (uint64_t)0xD2511F53u * c0[i], product1 = (uint64_t)0xCD9E8D57u * c2[i];
            c0[i] = (uint32_t)(product1 >> 32) ^ c1[i] ^ k0;
            c1[i] = (uint32_t)product1;
            c2[i] = (uint32_t)(product0 >> 32) ^ c3[i] ^ k1;
            c3[i] = (uint32_t)product0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

static void add_noise(uint8_t *pixels, size_t size, liana__philox_key key, const uint32_t counter[4],
                      const float *quantiles, float scale)
{
    uint32_t block[4] = {counter[0], counter[1], counter[2], counter[3]}, words[4][LANES];
    float noise[8 * LANES];
    for (size_t i = 0; i < size; i += 8 * LANES, block[3] += LANES) {
        philox_lanes(key, block, words);
        for (int lane = 0; lane < LANES; lane++) {
            for (int k = 0; k < 8; k++)
                noise[8 * lane + k] = quantiles[(words[k / 2][lane] >> 16 * (k & 1) & 0xFFFF) >> 3];
        }
        size_t count = size - i < 8 * LANES ? size - i : 8 * LANES;
        for (size_t k = 0; k < count; k++) pixels[i + k] = to_byte(pixels[i + k] + scale * noise[k]);
    }
}

static void mix_images(const uint8_t *own, const uint8_t *partner, uint8_t *dst, size_t size, float share)
{
    for (size_t i = 0; i < size; i++) dst[i] = to_byte(partner[i] + (own[i] - partner[i]) * share);
}

#define LIANA__PIXEL_KERNELS                                                                                          \
    {                                                                                                                 \
        .warp = warp_image, .linear = linear, .recolour = recolour, .sums = sums, .turn_hue = turn_hue, .blur = blur, \
        .sharpen = sharpen, .add_noise = add_noise, .mix = mix_images,                                                \
    }
