/* vector_rows.h - softmax and its relatives for one row of floats. The order of additions depends on the length
 * only. */
#ifndef LIANA_KERNELS_VECTOR_ROWS_H
#define LIANA_KERNELS_VECTOR_ROWS_H

#include "kernels/vector_math.h"

/* The greatest element of a row, which may be anything if the row has a NaN: e^(NaN - anything) is NaN anyway. */
LIANA__INLINE float vector_row_max(const float *row, int64_t length)
{
    vector_float greatest = vector_set(-__builtin_inff());
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= length; i += VECTOR_LENGTH) greatest = vector_max(vector_load(row + i), greatest);
    if (i < length) {
        vector_float rest = vector_set(-__builtin_inff());
        memcpy(&rest, row + i, (size_t)(length - i) * sizeof(float));
        greatest = vector_max(rest, greatest);
    }
    return vector_reduce_max(greatest);
}

/* e^(x - maximum) of each element, into `dst` (NULL: nowhere); gives their sum. */
LIANA__INLINE float vector_row_exp(float *dst, const float *row, float maximum, int64_t length)
{
    vector_float sum = {0};
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= length; i += VECTOR_LENGTH) {
        vector_float power = vector_exp(vector_load(row + i) - maximum);
        if (dst) vector_store(dst + i, power);
        sum += power;
    }
    float total = vector_reduce_add(sum);
    if (i < length) {
        vector_float rest = vector_exp(vector_load_part(row + i, length - i) - maximum);
        float parts[VECTOR_LENGTH];
        vector_store(parts, rest);
        for (int64_t k = 0; k < length - i; k++) total += parts[k];
        if (dst) vector_store_part(dst + i, rest, length - i);
    }
    return total;
}

/* Multiplies each element. */
LIANA__INLINE void vector_row_scale(float *row, float factor, int64_t length)
{
    for (int64_t i = 0; i < length; i++) row[i] *= factor;
}

#endif
