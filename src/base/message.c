/* Messages between processes: little-endian numbers, bytes and texts with their length. */
#include "base/message.h"

#include "base/little_endian.h"

#include <string.h>

void liana__message_put_u64(liana__text *message, uint64_t number)
{
    uint8_t bytes[8];
    liana__store_u64(bytes, number);
    liana__text_add_bytes(message, (const char *)bytes, sizeof bytes);
}

void liana__message_put_i64(liana__text *message, int64_t number)
{
    liana__message_put_u64(message, (uint64_t)number);
}

void liana__message_put_bytes(liana__text *message, const void *bytes, size_t size)
{
    liana__message_put_u64(message, size);
    liana__text_add_bytes(message, bytes, size);
}

/* With the 0 at its end, so that it can be read where it lies; no text is no bytes. */
void liana__message_put_text(liana__text *message, const char *text)
{
    liana__message_put_bytes(message, text ? text : "", text ? strlen(text) + 1 : 0);
}

uint64_t liana__message_get_u64(liana__message_reader *reader)
{
    if (reader->failed || reader->size < 8) {
        reader->failed = true;
        return 0;
    }
    uint64_t number = liana__load_u64((const uint8_t *)reader->data);
    reader->data += 8;
    reader->size -= 8;
    return number;
}

int64_t liana__message_get_i64(liana__message_reader *reader)
{
    return (int64_t)liana__message_get_u64(reader);
}

uint64_t liana__message_get_below(liana__message_reader *reader, uint64_t limit)
{
    uint64_t number = liana__message_get_u64(reader);
    if (number < limit) return number;
    reader->failed = true;
    return 0;
}

const void *liana__message_get_bytes(liana__message_reader *reader, size_t *size)
{
    uint64_t count = liana__message_get_u64(reader);
    *size = 0;
    if (reader->failed || count > reader->size) {
        reader->failed = true;
        return NULL;
    }
    const void *bytes = reader->data;
    *size = (size_t)count;
    reader->data += count;
    reader->size -= (size_t)count;
    return bytes;
}

const char *liana__message_get_text(liana__message_reader *reader)
{
    size_t size;
    const char *text = liana__message_get_bytes(reader, &size);
    if (!text || size == 0) return NULL;
    if (text[size - 1] == 0) return text;
    reader->failed = true;
    return NULL;
}

bool liana__message_is_read(const liana__message_reader *reader)
{
    return !reader->failed && reader->size == 0;
}
