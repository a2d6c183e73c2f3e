/* Cutting slices into messages. */
#include "distribute/cluster/slice_chunks.h"

#include "distribute/transport/frame.h"
#include "distribute/tree.h"

#include <stdlib.h>

/* Of a slice: the part of a key has 32 bits. */
enum { MOST_CHUNKS = 1024 };

void liana__slice_chunks_free(liana__slice_chunks *chunks)
{
    free(chunks->items);
    free(chunks->parts);
    free(chunks->first);
    free(chunks->first_use);
    free(chunks->uses);
    *chunks = (liana__slice_chunks){0};
}

/* A slice that is being cut. */
typedef struct cut {
    liana__slice_chunks *chunks;
    const liana__wire_format *format;
    size_t least, most; /* bytes of a chunk */
    liana__slice_chunk open;
} cut;

static liana_status close_chunk(cut *own, liana__error *error)
{
    liana__slice_chunks *chunks = own->chunks;
    if (own->open.count == 0) return LIANA_OK;
    if (!liana__grow(&chunks->items, chunks->count, &chunks->capacity, sizeof *chunks->items)) {
        return liana__fail_memory(error, "the exchange of sums");
    }
    chunks->items[chunks->count++] = own->open;
    own->open =
        (liana__slice_chunk){.slice = own->open.slice, .number = own->open.number + 1, .first_part = chunks->num_parts};
    return LIANA_OK;
}

static liana_status add_piece(cut *own, const liana__chunk_part *piece, liana__error *error)
{
    liana__slice_chunks *chunks = own->chunks;
    if (!liana__grow(&chunks->parts, chunks->num_parts, &chunks->part_capacity, sizeof *chunks->parts)) {
        return liana__fail_memory(error, "the exchange of sums");
    }
    chunks->parts[chunks->num_parts++] = *piece;
    own->open.count++;
    own->open.elements += (size_t)(piece->range.end - piece->range.begin);
    own->open.size += liana__wire_part_size(own->format, &piece->range);
    return own->open.size < own->most ? LIANA_OK : close_chunk(own, error);
}

/* A part, in as many pieces as it takes. */
static liana_status cut_part(cut *own, const liana__slice_part *part, size_t number, liana__error *error)
{
    const size_t count = (size_t)(part->end - part->begin), size = liana__wire_part_size(own->format, part);
    for (size_t done = 0; done < count;) {
        const size_t room = (own->most - own->open.size) / (size / count), left = count - done;
        const uint64_t begin = part->begin + done, end = begin + (room < left ? room : left);
        const liana__chunk_part piece = {{part->thing, begin, end}, number, done, own->open.elements};
        if (room == 0) {
            LIANA_TRY(close_chunk(own, error));
            continue;
        }
        LIANA_TRY(add_piece(own, &piece, error));
        done += (size_t)(end - begin);
    }
    return own->open.size < own->least ? LIANA_OK : close_chunk(own, error);
}

static liana_status cut_slice(liana__slice_chunks *chunks, const liana__wire_format *format,
                              const liana__slice_map *map, size_t slice, liana__error *error)
{
    const size_t share = liana__wire_size(format, map) / (MOST_CHUNKS / 2);
    cut own = {.chunks = chunks,
               .format = format,
               .least = share > LIANA__LEAST_CHUNK ? share : LIANA__LEAST_CHUNK,
               .most = share > LIANA__FRAME_PIECE / 2 ? 2 * share : LIANA__FRAME_PIECE,
               .open = {.slice = slice, .first_part = chunks->num_parts}};
    for (size_t i = 0; i < map->counts[LIANA__PARTS_OF_SUMS]; i++) {
        LIANA_TRY(cut_part(&own, &map->parts[LIANA__PARTS_OF_SUMS][i], i, error));
    }
    return close_chunk(&own, error);
}

/* Counts, then fills: the chunks of each sum. */
static liana_status list_uses(liana__slice_chunks *own, liana__error *error)
{
    own->first_use = calloc(own->num_sums + 2, sizeof *own->first_use);
    own->uses = calloc(own->num_parts + 1, sizeof *own->uses);
    if (!own->first_use || !own->uses) return liana__fail_memory(error, "the exchange of sums");
    for (int fills = 0; fills < 2; fills++) {
        for (size_t i = 0; i < own->count; i++) {
            const liana__chunk_part *parts = liana__chunk_parts(own, &own->items[i]);
            for (size_t k = 0; k < own->items[i].count; k++) {
                if (parts[k].range.thing >= own->num_sums) {
                    return liana__fail(error, LIANA_INVALID_DATA, "a process owns no sum of ours");
                }
                /* Each count is two places further while it fills, so that it ends where the next sum begins. */
                size_t *place = &own->first_use[parts[k].range.thing + 1];
                if (fills) {
                    own->uses[(*place)++] = i;
                } else {
                    place[1]++;
                }
            }
        }
        for (size_t sum = 1; !fills && sum <= own->num_sums + 1; sum++) own->first_use[sum] += own->first_use[sum - 1];
    }
    return LIANA_OK;
}

liana_status liana__slice_chunks_make(const liana__wire_format *format, const liana__slice_map *maps, size_t num_slices,
                                      size_t num_sums, liana__slice_chunks *chunks, liana__error *error)
{
    *chunks = (liana__slice_chunks){.num_sums = num_sums};
    chunks->first = calloc(num_slices + 1, sizeof *chunks->first);
    if (!chunks->first) return liana__fail_memory(error, "the exchange of sums");
    for (size_t i = 0; i < num_slices; i++) {
        LIANA_TRY(cut_slice(chunks, format, &maps[i], i, error));
        chunks->first[i + 1] = chunks->count;
    }
    return list_uses(chunks, error);
}

size_t liana__slice_chunk_key(const liana__slice_chunk *chunk, size_t block)
{
    return (chunk->slice * LIANA__TREE_MAX_BLOCKS + block) * MOST_CHUNKS + chunk->number;
}
