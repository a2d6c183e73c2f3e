/* Writes and reads the messages between a client and a server of remote devices. */
#include "backends/remote/wire.h"

#include "base/little_endian.h"

void liana__wire_put_u32(liana__text *out, uint32_t value)
{
    uint8_t bytes[4];
    liana__store_u32(bytes, value);
    liana__text_add_bytes(out, (const char *)bytes, sizeof bytes);
}

void liana__wire_put_u64(liana__text *out, uint64_t value)
{
    uint8_t bytes[8];
    liana__store_u64(bytes, value);
    liana__text_add_bytes(out, (const char *)bytes, sizeof bytes);
}

void liana__wire_put_double(liana__text *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    liana__wire_put_u64(out, bits);
}

void liana__wire_put_text(liana__text *out, const char *text)
{
    size_t length = strnlen(text, LIANA__SERVED_TEXT - 1);
    liana__wire_put_u32(out, (uint32_t)length);
    liana__text_add_bytes(out, text, length);
}

void liana__wire_put_type(liana__text *out, liana_dtype dtype, const liana_shape *shape)
{
    liana__wire_put_u32(out, (uint32_t)dtype);
    liana__wire_put_u32(out, (uint32_t)shape->rank);
    for (int i = 0; i < shape->rank; i++) liana__wire_put_u64(out, (uint64_t)shape->dims[i]);
}

/* The next bytes; NULL: there are fewer. */
static const uint8_t *take(liana__wire *wire, size_t size)
{
    if (wire->failed || liana__wire_left(wire) < size) {
        wire->failed = true;
        return NULL;
    }
    const uint8_t *bytes = wire->next;
    wire->next += size;
    return bytes;
}

uint32_t liana__wire_u32(liana__wire *wire)
{
    const uint8_t *bytes = take(wire, 4);
    return bytes ? liana__load_u32(bytes) : 0;
}

uint64_t liana__wire_u64(liana__wire *wire)
{
    const uint8_t *bytes = take(wire, 8);
    return bytes ? liana__load_u64(bytes) : 0;
}

double liana__wire_double(liana__wire *wire)
{
    uint64_t bits = liana__wire_u64(wire);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void liana__wire_text(liana__wire *wire, char text[LIANA__SERVED_TEXT])
{
    uint32_t length = liana__wire_u32(wire);
    const uint8_t *bytes = length < LIANA__SERVED_TEXT ? take(wire, length) : NULL;
    *text = '\0';
    if (!bytes || memchr(bytes, 0, length)) {
        wire->failed = true;
        return;
    }
    memcpy(text, bytes, length);
    text[length] = '\0';
}

void liana__wire_type(liana__wire *wire, liana_dtype *dtype, liana_shape *shape)
{
    uint32_t number = liana__wire_u32(wire), rank = liana__wire_u32(wire);
    *dtype = LIANA_F32;
    *shape = LIANA_SCALAR;
    if (number >= LIANA_NUM_DTYPES || rank > LIANA_MAX_RANK) {
        wire->failed = true;
        return;
    }
    *dtype = (liana_dtype)number;
    shape->rank = (int)rank;
    for (uint32_t i = 0; i < rank; i++) shape->dims[i] = (int64_t)liana__wire_u64(wire);
    if (!wire->failed && liana__shape_valid(*dtype, shape)) return;
    wire->failed = true;
    *shape = LIANA_SCALAR;
}

uint32_t liana__wire_count(liana__wire *wire, size_t size)
{
    uint32_t count = liana__wire_u32(wire);
    if (count <= liana__wire_left(wire) / size) return count;
    wire->failed = true;
    return 0;
}
