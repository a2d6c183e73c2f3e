/* Converts numbers of files to float32. */
#include "formats/widen.h"

#include <string.h>

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float widen_one(liana__number_kind kind, size_t size, uint64_t bits)
{
    const int shift = 64 - 8 * (int)size;
    double value;
    switch (kind) {
    case LIANA__NUMBER_BFLOAT: return float_of_bits((uint32_t)bits << 16);
    case LIANA__NUMBER_SIGNED: return (float)((int64_t)(bits << shift) >> shift);
    case LIANA__NUMBER_UNSIGNED: return (float)bits;
    default: break;
    }
    if (size == 2) return liana__half_to_float((uint16_t)bits);
    if (size == 4) return float_of_bits((uint32_t)bits);
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

void liana__widen(liana__number_kind kind, size_t size, const uint8_t *bytes, size_t count, float *values)
{
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && kind == LIANA__NUMBER_FLOAT && size == sizeof *values) {
        if (count) memcpy(values, bytes, count * sizeof *values);
        return;
    }
    for (size_t i = 0; i < count; i++, bytes += size) {
        uint64_t bits = 0;
        for (size_t k = size; k-- > 0;) bits = bits << 8 | bytes[k];
        values[i] = widen_one(kind, size, bits);
    }
}
