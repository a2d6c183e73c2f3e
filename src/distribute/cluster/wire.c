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

static size_t part_size(const liana__wire_format *format, const liana__slice_part *part)
{
    return (size_t)(part->end - part->begin) * (is_short(format, part) ? sizeof(uint16_t) : sizeof(float));
}

size_t liana__wire_parts_size(const liana__wire_format *format, const liana__slice_map *map, size_t first, size_t end)
{
    size_t size = 0;
    for (size_t i = first; i < end; i++) size += part_size(format, &map->parts[LIANA__PARTS_OF_SUMS][i]);
    return size;
}

size_t liana__wire_size(const liana__wire_format *format, const liana__slice_map *map)
{
    return liana__wire_parts_size(format, map, 0, map->counts[LIANA__PARTS_OF_SUMS]);
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

/* Returns the end of what it has written. */
static char *pack_part(const liana__wire_format *format, const liana__slice_part *part, const float *sum, char *to)
{
    const float *from = sum + part->begin;
    const size_t size = part_size(format, part);
    if (is_short(format, part)) {
        shorten(from, (size_t)(part->end - part->begin), (uint16_t *)(void *)to);
    } else {
        memcpy(to, from, size);
    }
    return to + size;
}

void liana__wire_pack_parts(const liana__wire_format *format, const liana__slice_map *map, size_t first, size_t end,
                            const float *const *sums, void *message)
{
    char *to = message;
    for (size_t i = first; i < end; i++) {
        const liana__slice_part *part = &map->parts[LIANA__PARTS_OF_SUMS][i];
        to = pack_part(format, part, sums[part->thing], to);
    }
}

void liana__wire_pack(const liana__wire_format *format, const liana__slice_map *map, const size_t *offsets,
                      const float *block, void *message)
{
    char *to = message;
    for (size_t i = 0; i < map->counts[LIANA__PARTS_OF_SUMS]; i++) {
        const liana__slice_part *part = &map->parts[LIANA__PARTS_OF_SUMS][i];
        to = pack_part(format, part, block + offsets[part->thing], to);
    }
}

bool liana__wire_list_parts(const liana__wire_format *format, const liana__slice_map *map, size_t first, size_t end,
                            const float *const *sums, liana__message_part *parts)
{
    if (format->wire != LIANA__WIRE_FLOAT32) return false;
    for (size_t i = first; i < end; i++) {
        const liana__slice_part *part = &map->parts[LIANA__PARTS_OF_SUMS][i];
        parts[i - first] = (liana__message_part){sums[part->thing] + part->begin, part_size(format, part)};
    }
    return true;
}

const float *liana__wire_read_part(const liana__wire_format *format, const liana__slice_part *part, const char **from,
                                   float *room)
{
    const char *bytes = *from;
    *from += part_size(format, part);
    if (format->wire == LIANA__WIRE_FLOAT32) return (const float *)(const void *)bytes;
    if (is_short(format, part)) {
        widen((const uint16_t *)(const void *)bytes, (size_t)(part->end - part->begin), room);
    } else {
        /* What lies before it may have made it unaligned. */
        memcpy(room, bytes, part_size(format, part));
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
