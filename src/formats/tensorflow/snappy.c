/* Expands Snappy's raw format: the length, then literal bytes and copies of what came before. */
#include "formats/tensorflow/snappy.h"

#include "formats/tensorflow/varint.h"

#include <stdlib.h>
#include <string.h>

/* The lower two bits of an element's first byte. */
enum { LITERAL, COPY_1, COPY_2, COPY_4 };

typedef struct output {
    uint8_t *bytes;
    size_t size; /* written so far */
    size_t most;
} output;

static bool read_number(liana__byte_reader *in, size_t size, size_t *number)
{
    if (in->size < size) return false;
    *number = 0;
    for (size_t i = size; i-- > 0;) *number = *number << 8 | in->data[i];
    in->data += size;
    in->size -= size;
    return true;
}

static bool add_literal(liana__byte_reader *in, output *out, uint8_t tag)
{
    size_t length = tag >> 2;
    if (length >= 60 && !read_number(in, length - 59, &length)) return false;
    length++;
    if (length > in->size || length > out->most - out->size) return false;
    memcpy(out->bytes + out->size, in->data, length);
    out->size += length;
    in->data += length;
    in->size -= length;
    return true;
}

static bool add_copy(liana__byte_reader *in, output *out, uint8_t tag)
{
    static const size_t offset_bytes[] = {[COPY_1] = 1, [COPY_2] = 2, [COPY_4] = 4};
    const int kind = tag & 3;
    size_t length = (tag >> 2) + 1, offset;
    if (!read_number(in, offset_bytes[kind], &offset)) return false;
    if (kind == COPY_1) {
        length = (tag >> 2 & 7) + 4;
        offset |= (size_t)(tag >> 5) << 8;
    }
    if (offset == 0 || offset > out->size || length > out->most - out->size) return false;
    /* One by one: a copy may overlap what it writes. */
    for (size_t i = 0; i < length; i++, out->size++) out->bytes[out->size] = out->bytes[out->size - offset];
    return true;
}

static bool expand(liana__byte_reader *in, output *out)
{
    while (in->size) {
        const uint8_t tag = *in->data++;
        in->size--;
        if (!((tag & 3) == LITERAL ? add_literal : add_copy)(in, out, tag)) return false;
    }
    return out->size == out->most;
}

bool liana__snappy_expand(const uint8_t *bytes, size_t size, size_t limit, uint8_t **expanded, size_t *expanded_size)
{
    liana__byte_reader in = {bytes, size};
    uint64_t most;
    *expanded = NULL;
    if (!liana__read_varint(&in, &most) || most > limit) return false;
    output out = {.bytes = malloc((size_t)most + 1), .most = (size_t)most};
    if (!out.bytes || !expand(&in, &out)) {
        free(out.bytes);
        return false;
    }
    *expanded = out.bytes;
    *expanded_size = out.size;
    return true;
}
