/* bf16_loops.kernels.h - the loops, for the vectors that are being compiled for. */
#include "kernels/bf16_loops.h"
#include "kernels/vector.h"

static void widen(const uint16_t *source, int64_t count, float *target)
{
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) vector_store(target + i, vector_load_bf16(source + i));
    if (i < count) vector_store_part(target + i, vector_load_part_bf16(source + i, count - i), count - i);
}

static void narrow(const float *source, int64_t count, uint16_t *target)
{
    int64_t i = 0;
    for (; i + VECTOR_LENGTH <= count; i += VECTOR_LENGTH) vector_store_bf16(target + i, vector_load(source + i));
    if (i < count) vector_store_part_bf16(target + i, vector_load_part(source + i, count - i), count - i);
}
