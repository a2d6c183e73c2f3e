/* Who owns what. */
#include "distribute/cluster/slice_map.h"

#include <stdio.h>
#include <stdlib.h>

liana_status liana__slice_map_add(liana__slice_map *map, liana__part_list list, liana__slice_part part,
                                  liana__error *error)
{
    if (!liana__grow(&map->parts[list], map->counts[list], &map->capacities[list], sizeof part)) {
        return liana__fail_memory(error, "the slice of an update");
    }
    map->parts[list][map->counts[list]++] = part;
    return LIANA_OK;
}

void liana__slice_map_free(liana__slice_map *map)
{
    for (int list = 0; list < LIANA__NUM_PART_LISTS; list++) free(map->parts[list]);
    *map = (liana__slice_map){0};
}

size_t liana__slice_map_sums(const liana__slice_map *map)
{
    size_t size = 0;
    for (size_t i = 0; i < map->counts[LIANA__PARTS_OF_SUMS]; i++) {
        const liana__slice_part *part = &map->parts[LIANA__PARTS_OF_SUMS][i];
        size += (size_t)(part->end - part->begin);
    }
    return size;
}

size_t liana__slice_map_sent(const liana__slice_map *map, const liana__variables *variables)
{
    size_t size = 0;
    for (size_t i = 0; i < map->counts[LIANA__PARTS_SENT]; i++) {
        const liana__slice_part *part = &map->parts[LIANA__PARTS_SENT][i];
        const liana_dtype dtype = variables->items[part->thing].buffer->dtype;
        size += (size_t)(part->end - part->begin) * liana_dtype_size(dtype);
    }
    return size;
}

size_t liana__slice_map_elements(const liana__slice_map *map, liana__part_list list, size_t thing)
{
    size_t count = 0;
    for (size_t i = 0; i < map->counts[list]; i++) {
        const liana__slice_part *part = &map->parts[list][i];
        if (part->thing == thing) count += (size_t)(part->end - part->begin);
    }
    return count;
}

/* The counts of the lists, then their parts. */
static char *print_map(const liana__slice_map *map, size_t *size)
{
    uint64_t counts[LIANA__NUM_PART_LISTS];
    *size = sizeof counts;
    for (int list = 0; list < LIANA__NUM_PART_LISTS; list++) {
        counts[list] = map->counts[list];
        *size += map->counts[list] * sizeof(liana__slice_part);
    }
    char *text = malloc(*size), *end = text;
    if (!text) return NULL;
    memcpy(end, counts, sizeof counts);
    end += sizeof counts;
    for (int list = 0; list < LIANA__NUM_PART_LISTS; list++) {
        const size_t length = map->counts[list] * sizeof(liana__slice_part);
        if (length) memcpy(end, map->parts[list], length);
        end += length;
    }
    return text;
}

static liana_status read_map(const char *text, size_t size, liana__slice_map *map, liana__error *error)
{
    uint64_t counts[LIANA__NUM_PART_LISTS] = {0}, expected = sizeof counts;
    if (size >= sizeof counts) memcpy(counts, text, sizeof counts);
    bool fits = size >= sizeof counts;
    for (int list = 0; fits && list < LIANA__NUM_PART_LISTS; list++) {
        fits = counts[list] <= (size - expected) / sizeof(liana__slice_part);
        expected += counts[list] * sizeof(liana__slice_part);
        fits = fits && expected <= size;
    }
    if (!fits || expected != size) {
        return liana__fail(error, LIANA_INVALID_DATA, "a process says in %zu bytes which slice it owns, which is none",
                           size);
    }
    text += sizeof counts;
    for (int list = 0; list < LIANA__NUM_PART_LISTS; list++) {
        map->parts[list] = calloc((size_t)counts[list] + 1, sizeof(liana__slice_part));
        if (!map->parts[list]) return liana__fail_memory(error, "the slices of an update");
        map->counts[list] = map->capacities[list] = (size_t)counts[list];
        memcpy(map->parts[list], text, (size_t)counts[list] * sizeof(liana__slice_part));
        text += counts[list] * sizeof(liana__slice_part);
    }
    return LIANA_OK;
}

liana_status liana__slice_maps_gather(liana__cluster *cluster, const liana__slice_map *own, liana__slice_map *maps,
                                      liana__error *error)
{
    liana__gathered all = {0};
    size_t size;
    char *text = print_map(own, &size);
    if (!text) return liana__fail_memory(error, "the slice of an update");
    liana_status status = liana__cluster_gather_sized(cluster, text, size, &all, error);
    for (size_t i = 0; status == LIANA_OK && i < liana__cluster_num_owners(cluster); i++) {
        const size_t rank = liana__cluster_owner_rank(cluster, i);
        const size_t begin = all.offsets[rank], end = all.offsets[rank + 1];
        status = read_map(all.data + begin, end - begin, &maps[i], error);
        if (status != LIANA_OK) liana__fail_within(error, "process %zu", rank);
    }
    liana__gathered_free(&all);
    free(text);
    return status;
}

bool liana__piece_of_name(const char *text, char *name, size_t size, uint64_t *begin, uint64_t *end)
{
    const char *bracket = strrchr(text, '[');
    unsigned long long from, to;
    int length = 0;
    if (!bracket || (size_t)(bracket - text) >= size) return false;
    if (sscanf(bracket, "[%llu:%llu]%n", &from, &to, &length) != 2 || bracket[length] || length == 0) return false;
    memcpy(name, text, (size_t)(bracket - text));
    name[bracket - text] = 0;
    *begin = from;
    *end = to;
    return true;
}
