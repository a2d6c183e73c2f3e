/* Resizes images: weights once for each pair of sizes, then rows and columns. */
#include "data/image/resize.h"

#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The two pixels around the centre. Computed in float as TensorFlow and PyTorch do, for the same weights. */
static void fill_plain(liana__resize_axis *axis)
{
    float scale = (float)axis->from / (float)axis->to;
    for (int64_t i = 0; i < axis->to; i++) {
        float centre = ((float)i + 0.5f) * scale - 0.5f;
        float below = floorf(centre);
        float fraction = centre - below;
        int64_t low = (int64_t)below;
        float *weights = axis->weights + i * axis->max_taps;
        bool outside = low < 0 || low >= axis->from - 1; /* both are the edge pixel */
        axis->first[i] = low < 0 ? 0 : low < axis->from ? low : axis->from - 1;
        axis->count[i] = outside ? 1 : 2;
        weights[0] = outside ? 1 : 1 - fraction;
        if (!outside) weights[1] = fraction;
    }
}

/* A triangle of half-width `scale` around the centre, cut at the edges, its weights made to sum to one. */
static void fill_triangle(liana__resize_axis *axis)
{
    double scale = (double)axis->from / (double)axis->to;
    for (int64_t i = 0; i < axis->to; i++) {
        double centre = ((double)i + 0.5) * scale;
        int64_t first = (int64_t)ceil(centre - scale - 0.5), last = (int64_t)floor(centre + scale - 0.5);
        if (first < 0) first = 0;
        if (last > axis->from - 1) last = axis->from - 1;
        double sum = 0;
        for (int64_t k = first; k <= last; k++) sum += fmax(0, 1 - fabs((double)k + 0.5 - centre) / scale);
        float *weights = axis->weights + i * axis->max_taps;
        for (int64_t k = first; k <= last; k++) {
            weights[k - first] = (float)(fmax(0, 1 - fabs((double)k + 0.5 - centre) / scale) / sum);
        }
        axis->first[i] = first;
        axis->count[i] = last - first + 1;
    }
}

static liana_status set_axis(liana__resize_axis *axis, int64_t from, int64_t to, bool antialias, liana__error *error)
{
    if (axis->from == from && axis->to == to && axis->antialias == antialias) return LIANA_OK;
    bool triangle = antialias && from > to;
    int64_t max_taps = triangle ? 2 * (from / to) + 4 : 2;
    size_t weights_size, size;
    if (__builtin_mul_overflow((size_t)to, (size_t)max_taps * sizeof(float), &weights_size) ||
        __builtin_add_overflow(weights_size, (size_t)to * 2 * sizeof(int64_t), &size)) {
        return liana__fail_memory(error, "the tables of a resize");
    }
    axis->to = 0;
    if (size > axis->capacity) {
        void *memory = liana__allocate_aligned(size);
        if (!memory) return liana__fail_memory(error, "the tables of a resize");
        free(axis->memory);
        axis->memory = memory;
        axis->capacity = size;
    }
    axis->first = axis->memory;
    axis->count = axis->first + to;
    axis->weights = (float *)(axis->count + to);
    axis->from = from;
    axis->to = to;
    axis->antialias = antialias;
    axis->max_taps = max_taps;
    if (triangle) {
        fill_triangle(axis);
    } else {
        fill_plain(axis);
    }
    return LIANA_OK;
}

const liana__resize_kernels *liana__resize_kernels_for(liana__isa isa)
{
#ifdef LIANA_X86
    if (isa >= LIANA__ISA_AVX512) return &liana__resize_kernels_avx512;
    if (isa >= LIANA__ISA_AVX2) return &liana__resize_kernels_avx2;
#else
    (void)isa;
#endif
    return &liana__resize_kernels_generic;
}

static liana_status choose_kernels(liana__resizer *resizer, liana__error *error)
{
    liana__isa isa;
    if (resizer->kernels) return LIANA_OK;
    LIANA_TRY(liana__cpu_detect(getenv("LIANA_MAX_ISA"), &isa, NULL, 0, error));
    resizer->kernels = liana__resize_kernels_for(isa);
    return LIANA_OK;
}

static liana_status prepare(liana__resizer *resizer, const liana__resize_shape *shape, liana__error *error)
{
    if (shape->height < 1 || shape->width < 1 || shape->to_height < 1 || shape->to_width < 1 ||
        (shape->channels != 1 && shape->channels != 3)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "cannot resize %" PRId64 " x %" PRId64 " pixels of %d channels to %" PRId64 " x %" PRId64
                           "; sizes must be at least 1 and channels 1 or 3",
                           shape->height, shape->width, shape->channels, shape->to_height, shape->to_width);
    }
    LIANA_TRY(choose_kernels(resizer, error));
    LIANA_TRY(set_axis(&resizer->rows, shape->height, shape->to_height, shape->antialias, error));
    LIANA_TRY(set_axis(&resizer->columns, shape->width, shape->to_width, shape->antialias, error));
    size_t needed = (size_t)shape->width * (size_t)shape->channels + LIANA__RESIZE_PADDING;
    if (needed > resizer->row_capacity) {
        float *row = liana__allocate_aligned(needed * sizeof *row);
        if (!row) return liana__fail_memory(error, "a row of a resize");
        free(resizer->row);
        resizer->row = row;
        resizer->row_capacity = needed;
    }
    return LIANA_OK;
}

static bool is_copy(const liana__resize_shape *shape)
{
    return shape->height == shape->to_height && shape->width == shape->to_width;
}

/* Writes the rows of `rows` to `bytes` or `floats`; one of the two is NULL. */
static void blend(liana__resizer *resizer, const liana__resize_axis *rows, const liana__resize_axis *columns,
                  int channels, const uint8_t *src, int64_t row_size, uint8_t *bytes, float *floats,
                  int64_t to_row_size)
{
    const liana__resize_kernels *kernels = resizer->kernels;
    for (int i = 0; i < LIANA__RESIZE_PADDING; i++) resizer->row[row_size + i] = 0;
    for (int64_t y = 0; y < rows->to; y++) {
        kernels->blend_rows(rows, y, src, row_size, resizer->row);
        kernels->finish_row(columns, resizer->row, channels, bytes ? bytes + y * to_row_size : NULL,
                            floats ? floats + y * to_row_size : NULL);
    }
}

static liana_status resize(liana__resizer *resizer, const liana__resize_shape *shape, const uint8_t *src,
                           uint8_t *bytes, float *floats, liana__error *error)
{
    LIANA_TRY(prepare(resizer, shape, error));
    size_t size = (size_t)shape->height * (size_t)shape->width * (size_t)shape->channels;
    if (!is_copy(shape)) {
        blend(resizer, &resizer->rows, &resizer->columns, shape->channels, src, shape->width * shape->channels, bytes,
              floats, shape->to_width * shape->channels);
    } else if (bytes) {
        memcpy(bytes, src, size);
    } else {
        resizer->kernels->widen(src, size, floats);
    }
    return LIANA_OK;
}

liana_status liana__resize_u8(liana__resizer *resizer, const liana__resize_shape *shape, const uint8_t *src,
                              uint8_t *dst, liana__error *error)
{
    return resize(resizer, shape, src, dst, NULL, error);
}

liana_status liana__resize_float(liana__resizer *resizer, const liana__resize_shape *shape, const uint8_t *src,
                                 float *dst, liana__error *error)
{
    return resize(resizer, shape, src, NULL, dst, error);
}

liana_status liana__resize_widen(liana__resizer *resizer, const uint8_t *src, size_t count, float *dst,
                                 liana__error *error)
{
    LIANA_TRY(choose_kernels(resizer, error));
    resizer->kernels->widen(src, count, dst);
    return LIANA_OK;
}

/* ---- regions ---- */

/* The inputs [*begin, *begin + *size) for the outputs [first, first + count). They ascend with the outputs. */
static void find_inputs(const liana__resize_axis *axis, int64_t first, int64_t count, int64_t *begin, int64_t *size)
{
    int64_t last = first + count - 1;
    *begin = axis->first[first];
    *size = axis->first[last] + axis->count[last] - *begin;
}

liana_status liana__resize_find_region(liana__resizer *resizer, const liana__resize_shape *shape,
                                       const liana__image_region *region, liana__image_region *needed,
                                       liana__error *error)
{
    LIANA_TRY(prepare(resizer, shape, error));
    *needed = *region;
    if (is_copy(shape)) return LIANA_OK;
    find_inputs(&resizer->rows, region->top, region->height, &needed->top, &needed->height);
    find_inputs(&resizer->columns, region->left, region->width, &needed->left, &needed->width);
    return LIANA_OK;
}

static liana_status cut_axis(const liana__resize_axis *axis, int64_t first, int64_t count, int64_t origin,
                             liana__resize_cut *cut, liana__error *error)
{
    if ((size_t)count > cut->capacity) {
        int64_t *bigger = malloc((size_t)axis->to * sizeof *bigger);
        if (!bigger) return liana__fail_memory(error, "the tables of a resize");
        free(cut->axis.first);
        cut->axis.first = bigger;
        cut->capacity = (size_t)axis->to;
    }
    for (int64_t i = 0; i < count; i++) cut->axis.first[i] = axis->first[first + i] - origin;
    cut->axis.to = count;
    cut->axis.max_taps = axis->max_taps;
    cut->axis.count = axis->count + first;
    cut->axis.weights = axis->weights + first * axis->max_taps;
    return LIANA_OK;
}

static void copy_region(const liana__image_region *region, const liana__image *src, int64_t dst_width, uint8_t *dst)
{
    size_t pixel = (size_t)src->channels, size = (size_t)region->width * pixel;
    for (int64_t y = region->top; y < region->top + region->height; y++) {
        memcpy(dst + (size_t)(y * dst_width + region->left) * pixel,
               src->pixels + (size_t)((y - src->top) * src->width + region->left - src->left) * pixel, size);
    }
}

liana_status liana__resize_region_u8(liana__resizer *resizer, const liana__resize_shape *shape,
                                     const liana__image_region *region, const liana__image *src, uint8_t *dst,
                                     liana__error *error)
{
    LIANA_TRY(prepare(resizer, shape, error));
    if (is_copy(shape)) {
        copy_region(region, src, shape->to_width, dst);
        return LIANA_OK;
    }
    liana__resize_cut *rows = &resizer->cut_rows, *columns = &resizer->cut_columns;
    LIANA_TRY(cut_axis(&resizer->rows, region->top, region->height, src->top, rows, error));
    LIANA_TRY(cut_axis(&resizer->columns, region->left, region->width, src->left, columns, error));
    blend(resizer, &rows->axis, &columns->axis, shape->channels, src->pixels, src->width * shape->channels,
          dst + (region->top * shape->to_width + region->left) * shape->channels, NULL,
          shape->to_width * shape->channels);
    return LIANA_OK;
}

void liana__resizer_free(liana__resizer *resizer)
{
    free(resizer->cut_rows.axis.first);
    free(resizer->cut_columns.axis.first);
    free(resizer->rows.memory);
    free(resizer->columns.memory);
    free(resizer->row);
    *resizer = (liana__resizer){0};
}
