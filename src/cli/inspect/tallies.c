/* Counts names. */
#include "cli/inspect/inspect.h"

#include <stdlib.h>
#include <string.h>

void liana__tallies_add(liana__tallies *all, const char *name, int64_t bytes)
{
    size_t i = 0;
    while (i < all->count && strcmp(all->items[i].name, name) != 0) i++;
    if (i == LIANA__MOST_TALLIES) return;
    if (i == all->count) all->items[all->count++] = (liana__tally){.name = name};
    all->items[i].count++;
    all->items[i].bytes += bytes;
}

static int compare_tallies(const void *a, const void *b)
{
    return strcmp(((const liana__tally *)a)->name, ((const liana__tally *)b)->name);
}

void liana__tallies_report(liana__tallies *all, const char *name, const char *count, bool bytes, const char *key,
                           liana__value *report, liana__arena *arena)
{
    liana__value *rows = liana__value_list(arena);
    qsort(all->items, all->count, sizeof *all->items, compare_tallies);
    for (size_t i = 0; i < all->count; i++) {
        liana__value *row = liana__value_map(arena);
        liana__findings_text(arena, row, name, all->items[i].name);
        liana__findings_int(arena, row, count, all->items[i].count);
        if (bytes) liana__findings_int(arena, row, "bytes", all->items[i].bytes);
        liana__value_add(arena, rows, row);
    }
    if (all->count) liana__value_set(arena, report, key, rows);
}
