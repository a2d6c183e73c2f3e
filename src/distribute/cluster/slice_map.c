/* The owners of slices. */
#include "distribute/cluster/slice_map.h"

#include "base/scoped.h"

#include <stdio.h>

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

size_t liana__slice_map_bytes(const liana__slice_map *map, liana__part_list list, const liana__variables *variables)
{
    size_t size = 0;
    for (size_t i = 0; i < map->counts[list]; i++) {
        const liana__slice_part *part = &map->parts[list][i];
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

/* ---- telling others ---- */

/* The number of the slice, the counts of the lists, then their parts. */
enum { HEAD = (1 + LIANA__NUM_PART_LISTS) * sizeof(uint64_t) };

static size_t map_size(const liana__slice_map *map)
{
    size_t size = HEAD;
    for (int list = 0; list < LIANA__NUM_PART_LISTS; list++) size += map->counts[list] * sizeof(liana__slice_part);
    return size;
}

static char *print_map(const liana__slice_map *map, uint64_t slice, char *end)
{
    uint64_t head[1 + LIANA__NUM_PART_LISTS] = {slice};
    for (int list = 0; list < LIANA__NUM_PART_LISTS; list++) head[1 + list] = map->counts[list];
    memcpy(end, head, sizeof head);
    end += sizeof head;
    for (int list = 0; list < LIANA__NUM_PART_LISTS; list++) {
        const size_t length = map->counts[list] * sizeof(liana__slice_part);
        if (length) memcpy(end, map->parts[list], length);
        end += length;
    }
    return end;
}

/* Reads one map, unless it is known already. *text and *size: the rest. */
static liana_status read_map(const char **text, size_t *size, size_t num_slices, liana__slice_map *maps,
                             liana__error *error)
{
    uint64_t head[1 + LIANA__NUM_PART_LISTS] = {0}, expected = sizeof head;
    if (*size >= sizeof head) memcpy(head, *text, sizeof head);
    bool fits = *size >= sizeof head && head[0] < num_slices;
    for (int list = 0; fits && list < LIANA__NUM_PART_LISTS; list++) {
        fits = head[1 + list] <= (*size - expected) / sizeof(liana__slice_part);
        expected += head[1 + list] * sizeof(liana__slice_part);
        fits = fits && expected <= *size;
    }
    if (!fits) {
        return liana__fail(error, LIANA_INVALID_DATA, "a process says in %zu bytes which slice it has, which is none",
                           *size);
    }
    liana__slice_map *map = &maps[head[0]];
    const char *from = *text + sizeof head;
    const bool known = map->parts[0] != NULL;
    for (int list = 0; !known && list < LIANA__NUM_PART_LISTS; list++) {
        const size_t count = (size_t)head[1 + list];
        map->parts[list] = calloc(count + 1, sizeof(liana__slice_part));
        if (!map->parts[list]) return liana__fail_memory(error, "the slices of an update");
        map->counts[list] = map->capacities[list] = count;
        memcpy(map->parts[list], from, count * sizeof(liana__slice_part));
        from += count * sizeof(liana__slice_part);
    }
    *text += expected;
    *size -= (size_t)expected;
    return LIANA_OK;
}

static liana_status read_maps(const liana__gathered *all, size_t num_processes, size_t num_slices,
                              liana__slice_map *maps, liana__error *error)
{
    for (size_t i = 0; i < num_processes; i++) {
        const char *text = all->data + all->offsets[i];
        size_t size = all->offsets[i + 1] - all->offsets[i];
        while (size) {
            if (read_map(&text, &size, num_slices, maps, error) == LIANA_OK) continue;
            return liana__fail_within(error, "process %zu", i);
        }
    }
    for (size_t i = 0; i < num_slices; i++) {
        if (maps[i].parts[0]) continue;
        return liana__fail(
            error, LIANA_UNAVAILABLE,
            "the processes that have slice %zu of the update are gone: start the training again, it goes "
            "on from its newest checkpoint",
            i);
    }
    return LIANA_OK;
}

liana_status liana__slice_maps_gather(liana__cluster *cluster, const liana__slice_map *const *own, size_t num_slices,
                                      liana__slice_map *maps, liana__error *error)
{
    LIANA__SCOPED(liana__gathered) all = {0};
    size_t size = 0;
    for (size_t i = 0; i < num_slices; i++) size += own[i] ? map_size(own[i]) : 0;
    LIANA__SCOPED_MEMORY char *text = malloc(size + 1);
    char *end = text;
    if (!text) return liana__fail_memory(error, "the slice of an update");
    for (size_t i = 0; i < num_slices; i++) {
        if (own[i]) end = print_map(own[i], i, end);
    }
    LIANA_TRY(liana__cluster_gather_sized(cluster, text, size, &all, error));
    return read_maps(&all, liana__cluster_size(cluster), num_slices, maps, error);
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
