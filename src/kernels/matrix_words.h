/* matrix_words.h - the common step of all ways to pack a matrix: its words of 32 bits (floats, or pairs of bf16)
 * transposed.
 *
 * For *.kernels.h, compiled for one instruction set (see vector_kernels.h). */
#ifndef LIANA_KERNELS_MATRIX_WORDS_H
#define LIANA_KERNELS_MATRIX_WORDS_H

#include "kernels/counts.h"
#include "kernels/vector.h"

/* 8 rows of 8 words of 32 bits. */
LIANA__INLINE void transpose_8x8(const char *source, int64_t source_stride, char *target, int64_t target_stride)
{
#if LIANA_VECTOR_BYTES > 16
    __m256 row[8], half[8];
    for (int i = 0; i < 8; i++) row[i] = _mm256_loadu_ps((const float *)(const void *)(source + i * source_stride));
    for (int i = 0; i < 8; i += 4) { /* pairs of rows, then fours */
        __m256 a = _mm256_unpacklo_ps(row[i], row[i + 1]), b = _mm256_unpackhi_ps(row[i], row[i + 1]);
        __m256 c = _mm256_unpacklo_ps(row[i + 2], row[i + 3]), d = _mm256_unpackhi_ps(row[i + 2], row[i + 3]);
        half[i] = _mm256_shuffle_ps(a, c, 0x44);
        half[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
        half[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
        half[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
    for (int i = 0; i < 4; i++) {
        float *low = (float *)(void *)(target + i * target_stride);
        float *high = (float *)(void *)(target + (i + 4) * target_stride);
        _mm256_storeu_ps(low, _mm256_permute2f128_ps(half[i], half[i + 4], 0x20));
        _mm256_storeu_ps(high, _mm256_permute2f128_ps(half[i], half[i + 4], 0x31));
    }
#else
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) memcpy(target + j * target_stride + i * 4, source + i * source_stride + j * 4, 4);
    }
#endif
}

/* target[j][i] = source[i][j] for words of 32 bits, anywhere in memory; strides in bytes. */
static void transpose_bytes(const char *source, int64_t source_stride, int64_t rows, int64_t columns, char *target,
                            int64_t target_stride)
{
    const int64_t whole_rows = rows / 8 * 8, whole_columns = columns / 8 * 8;
    for (int64_t j = 0; j < whole_columns; j += 8) {
        for (int64_t i = 0; i < whole_rows; i += 8) {
            transpose_8x8(source + i * source_stride + j * 4, source_stride, target + j * target_stride + i * 4,
                          target_stride);
        }
    }
    for (int64_t j = 0; j < columns; j++) {
        for (int64_t i = j < whole_columns ? whole_rows : 0; i < rows; i++) {
            memcpy(target + j * target_stride + i * 4, source + i * source_stride + j * 4, 4);
        }
    }
}

/* The same for floats; strides in floats. */
static inline void transpose_words(const float *source, int64_t source_stride, int64_t rows, int64_t columns,
                                   float *target, int64_t target_stride)
{
    transpose_bytes((const char *)source, source_stride * 4, rows, columns, (char *)target, target_stride * 4);
}

#endif
