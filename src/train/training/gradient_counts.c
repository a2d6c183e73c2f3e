/* Counts of gradients as values. */
#include "train/training/gradient_counts.h"

#include "base/value_read.h"

#include <stdbool.h>

static const char KEY[] = "gradients";

void liana__gradient_counts_set(const liana__span_counts *counts, liana__value *map, liana__arena *arena)
{
    if (counts->computed + counts->skipped == 0) return;
    const double mean = counts->measured ? (double)counts->staleness / (double)counts->measured : 0;
    liana__value *own = liana__value_map(arena);
    liana__value_set(arena, own, "reproducible", liana__value_bool(arena, false));
    liana__value_set(arena, own, "computed", liana__value_int(arena, (int64_t)counts->computed));
    liana__value_set(arena, own, "used", liana__value_int(arena, (int64_t)counts->used));
    liana__value_set(arena, own, "dropped", liana__value_int(arena, (int64_t)counts->dropped));
    liana__value_set(arena, own, "skipped", liana__value_int(arena, (int64_t)counts->skipped));
    liana__value_set(arena, own, "mean_staleness", liana__value_float(arena, mean));
    liana__value_set(arena, own, "largest_staleness", liana__value_int(arena, (int64_t)counts->largest_staleness));
    liana__value_set(arena, own, "sum_of_staleness", liana__value_int(arena, (int64_t)counts->staleness));
    liana__value_set(arena, own, "measured", liana__value_int(arena, (int64_t)counts->measured));
    liana__value_set(arena, own, "partly_used", liana__value_int(arena, (int64_t)counts->partly_used));
    liana__value_set(arena, own, "undone", liana__value_int(arena, (int64_t)counts->undone));
    liana__value_set(arena, own, "examples_lost", liana__value_int(arena, (int64_t)counts->examples_lost));
    liana__value_set(arena, map, KEY, own);
}

static uint64_t count_of(const liana__value *map, const char *key)
{
    const int64_t count = liana__value_int_of(map, key, 0);
    return count > 0 ? (uint64_t)count : 0;
}

liana__span_counts liana__gradient_counts_read(const liana__value *map)
{
    const liana__value *own = liana__value_get(map, KEY);
    if (!own || own->kind != LIANA__VALUE_MAP) return (liana__span_counts){0};
    return (liana__span_counts){.computed = count_of(own, "computed"),
                                .used = count_of(own, "used"),
                                .dropped = count_of(own, "dropped"),
                                .skipped = count_of(own, "skipped"),
                                .measured = count_of(own, "measured"),
                                .partly_used = count_of(own, "partly_used"),
                                .undone = count_of(own, "undone"),
                                .examples_lost = count_of(own, "examples_lost"),
                                .staleness = count_of(own, "sum_of_staleness"),
                                .largest_staleness = count_of(own, "largest_staleness")};
}
