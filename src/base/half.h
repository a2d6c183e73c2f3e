/* half.h - IEEE 754's floats of 16 bits (binary16) and those of 32. */
#ifndef LIANA_BASE_HALF_H
#define LIANA_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float liana__half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 1023;
    uint32_t bits = sign | (exponent + 112) << 23 | mantissa << 13;
    if (exponent == 31) bits = sign | 0x7f800000 | mantissa << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    if (exponent) return value;
    value = (float)mantissa * 0x1p-24f;
    return sign ? -value : value;
}

/* Rounds to the nearest, ties to even. Numbers from 65520 on become infinite, those below 2^-14 lose digits. NaN stays
 * NaN, quiet and with its first digits, as the processor's instruction does it. */
static inline uint16_t liana__float_to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (size >> 13 & 1023));
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    /* Below the least half with all its digits: the unit is 2^-24, to which an addition of 0.5 rounds. */
    if (size < 0x38800000) {
        float unsigned_value;
        memcpy(&unsigned_value, &size, sizeof unsigned_value);
        unsigned_value += 0.5f;
        uint32_t sum;
        memcpy(&sum, &unsigned_value, sizeof sum);
        return (uint16_t)(sign | (sum - 0x3f000000));
    }
    return (uint16_t)(sign | ((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13));
}

#endif
