/* varint.h - numbers of variable length, as in protocol buffers: 7 bits a byte, the lowest first. */
#ifndef LIANA_FORMATS_TENSORFLOW_VARINT_H
#define LIANA_FORMATS_TENSORFLOW_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are read from the front. */
typedef struct liana__byte_reader {
    const uint8_t *data;
    size_t size; /* that is left */
} liana__byte_reader;

/* False: the bytes end within the number, or it has more than 64 bits. */
static inline bool liana__read_varint(liana__byte_reader *reader, uint64_t *number)
{
    *number = 0;
    for (int shift = 0; shift < 64 && reader->size; shift += 7) {
        const uint8_t byte = *reader->data++;
        reader->size--;
        if (shift == 63 && byte > 1) return false;
        *number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return true;
    }
    return false;
}

#endif
