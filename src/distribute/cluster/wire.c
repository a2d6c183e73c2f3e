/* Slices of sums as messages. */
#include "distribute/cluster/wire.h"

#include "ir/shape.h"

#include <string.h>

const char *const liana__wire_names[] = {"float32", "bfloat16", NULL};

static bool is_short(const liana__wire_format *format, const liana__slice_part *part)
{
    if (format->wire != LIANA__WIRE_BFLOAT16) return false;
    return !format->is_gradient || format->is_gradient(format->user, (size_t)part->thing);
}

size_t liana__wire_part_size(const liana__wire_format *format, const liana__slice_part *part)
{
    return (size_t)(part->end - part->begin) * (is_short(format, part) ? sizeof(uint16_t) : sizeof(float));
}

size_t liana__wire_size(const liana__wire_format *format, const liana__slice_map *map)
{
    size_t size = 0;
    for (size_t i = 0; i < map->counts[LIANA__PARTS_OF_SUMS]; i++) {
        size += liana__wire_part_size(format, &map->parts[LIANA__PARTS_OF_SUMS][i]);
    }
    return size;
}

bool liana__wire_is_plain(const liana__wire_format *format)
{
    return format->wire == LIANA__WIRE_FLOAT32;
}

/* Parts are multiples of two bytes, and messages are aligned. */
static void shorten(const float *from, size_t count, uint16_t *to)
{
    for (size_t i = 0; i < count; i++) to[i] = liana__float_to_bf16(from[i]);
}

static void widen(const uint16_t *from, size_t count, float *to)
{
    for (size_t i = 0; i < count; i++) to[i] = liana__bf16_to_float(from[i]);
}

char *liana__wire_pack_part(const liana__wire_format *format, const liana__slice_part *part, const float *sum, char *to)
{
    const float *from = sum + part->begin;
    const size_t size = liana__wire_part_size(format, part);
    if (is_short(format, part)) {
        shorten(from, (size_t)(part->end - part->begin), (uint16_t *)(void *)to);
    } else {
        memcpy(to, from, size);
    }
    return to + size;
}

void liana__wire_pack(const liana__wire_format *format, const liana__slice_map *map, const size_t *offsets,
                      const float *block, void *message)
{
    char *to = message;
    for (size_t i = 0; i < map->counts[LIANA__PARTS_OF_SUMS]; i++) {
        const liana__slice_part *part = &map->parts[LIANA__PARTS_OF_SUMS][i];
        to = liana__wire_pack_part(format, part, block + offsets[part->thing], to);
    }
}

const float *liana__wire_read_part(const liana__wire_format *format, const liana__slice_part *part, const char **from,
                                   float *room)
{
    const char *bytes = *from;
    *from += liana__wire_part_size(format, part);
    if (liana__wire_is_plain(format)) return (const float *)(const void *)bytes;
    if (is_short(format, part)) {
        widen((const uint16_t *)(const void *)bytes, (size_t)(part->end - part->begin), room);
    } else {
        /* The bytes before it may have made it unaligned. */
        memcpy(room, bytes, liana__wire_part_size(format, part));
    }
    return room;
}

const float *liana__wire_round_part(const liana__wire_format *format, const liana__slice_part *part,
                                    const float *floats, float *room)
{
    if (!is_short(format, part)) return floats;
    for (size_t i = 0; i < part->end - part->begin; i++) {
        room[i] = liana__bf16_to_float(liana__float_to_bf16(floats[i]));
    }
    return room;
}
