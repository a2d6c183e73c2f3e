/* Cutting slices into messages. */
#include "distribute/cluster/slice_chunks.h"

#include "distribute/tree.h"

#include <stdlib.h>

/* Of a slice: the part of a key has 32 bits. */
enum { MOST_CHUNKS = 1024 };

void liana__slice_chunks_free(liana__slice_chunks *chunks)
{
    free(chunks->items);
    free(chunks->first);
    free(chunks->first_use);
    free(chunks->uses);
    *chunks = (liana__slice_chunks){0};
}

static liana_status add_chunk(liana__slice_chunks *own, const liana__slice_chunk *chunk, liana__error *error)
{
    if (!liana__grow(&own->items, own->count, &own->capacity, sizeof *own->items)) {
        return liana__fail_memory(error, "the exchange of sums");
    }
    own->items[own->count++] = *chunk;
    return LIANA_OK;
}

static liana_status cut_slice(liana__slice_chunks *own, const liana__wire_format *format, const liana__slice_map *map,
                              size_t slice, liana__error *error)
{
    const size_t count = map->counts[LIANA__PARTS_OF_SUMS], share = liana__wire_size(format, map) / (MOST_CHUNKS / 2);
    const size_t least = share > LIANA__LEAST_CHUNK ? share : LIANA__LEAST_CHUNK;
    liana__slice_chunk chunk = {.slice = slice};
    for (size_t i = 0; i < count; i++) {
        const liana__slice_part *part = &map->parts[LIANA__PARTS_OF_SUMS][i];
        chunk.elements += (size_t)(part->end - part->begin);
        chunk.end_part = i + 1;
        chunk.size = liana__wire_parts_size(format, map, chunk.first_part, chunk.end_part);
        if (chunk.size < least && i + 1 < count) continue;
        if (chunk.size) LIANA_TRY(add_chunk(own, &chunk, error));
        chunk = (liana__slice_chunk){.slice = slice,
                                     .number = chunk.number + 1,
                                     .first_part = i + 1,
                                     .offset = chunk.offset + chunk.elements};
    }
    return LIANA_OK;
}

/* Counts, then fills: the chunks of each sum. */
static liana_status list_uses(liana__slice_chunks *own, const liana__slice_map *maps, liana__error *error)
{
    size_t num_parts = 0;
    for (size_t i = 0; i < own->count; i++) num_parts += own->items[i].end_part - own->items[i].first_part;
    own->first_use = calloc(own->num_sums + 2, sizeof *own->first_use);
    own->uses = calloc(num_parts + 1, sizeof *own->uses);
    if (!own->first_use || !own->uses) return liana__fail_memory(error, "the exchange of sums");
    for (int fills = 0; fills < 2; fills++) {
        for (size_t i = 0; i < own->count; i++) {
            const liana__slice_chunk *chunk = &own->items[i];
            const liana__slice_part *parts = maps[chunk->slice].parts[LIANA__PARTS_OF_SUMS];
            for (size_t k = chunk->first_part; k < chunk->end_part; k++) {
                if (parts[k].thing >= own->num_sums) {
                    return liana__fail(error, LIANA_INVALID_DATA, "a process owns no sum of ours");
                }
                /* Each count is two places further while it fills, so that it ends where the next sum begins. */
                size_t *place = &own->first_use[parts[k].thing + 1];
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
    return list_uses(chunks, maps, error);
}

size_t liana__slice_chunk_key(const liana__slice_chunk *chunk, size_t block)
{
    return (chunk->slice * LIANA__TREE_MAX_BLOCKS + block) * MOST_CHUNKS + chunk->number;
}
