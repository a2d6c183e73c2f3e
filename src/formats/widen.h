/* widen.h - numbers of any type in files, as float32. */
#ifndef LIANA_FORMATS_WIDEN_H
#define LIANA_FORMATS_WIDEN_H

#include "base/half.h"

#include <stddef.h>
#include <stdint.h>

/* How the bits of a number are meant; with the size in bytes it is the type. */
typedef enum liana__number_kind {
    LIANA__NUMBER_NONE,     /* no number: a text, a complex number, ... */
    LIANA__NUMBER_FLOAT,    /* IEEE 754: 2, 4 or 8 bytes */
    LIANA__NUMBER_BFLOAT,   /* the upper 2 bytes of a float32 */
    LIANA__NUMBER_SIGNED,   /* 1, 2, 4 or 8 bytes */
    LIANA__NUMBER_UNSIGNED, /* 1, 2, 4 or 8 bytes; a BOOL is one of 1 byte */
} liana__number_kind;

/* Converts `count` little-endian numbers of `size` bytes each, rounded to the nearest float32. */
void liana__widen(liana__number_kind kind, size_t size, const uint8_t *bytes, size_t count, float *values);

#endif
