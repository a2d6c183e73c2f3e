/* Factors of the learning rate by the names of weights. */
#include "optimizers/rate_multipliers.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static liana_status read_item(const liana__value *map, size_t index, const char *where, liana__rate_multiplier *item,
                              liana__error *error)
{
    char key[256], found[128];
    const liana__value *value = map->items[index];
    bool is_number = value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT;
    *item = (liana__rate_multiplier){map->keys[index], map->key_places[index], is_number ? value->number : -1};
    if (item->factor >= 0 && item->factor <= 1e9) return LIANA_OK;
    snprintf(key, sizeof key, "%s.%.100s", where, item->pattern);
    return liana__fail_at(error, &value->place, key,
                          "found %s, expected a number from 0 on: 0.1 for a tenth of the rate",
                          liana__value_describe(value, found, sizeof found));
}

liana_status liana__rate_multipliers_read(const liana__value *value, const char *where, liana__arena *arena,
                                          const liana__rate_multipliers **multipliers, liana__error *error)
{
    char found[128];
    *multipliers = NULL;
    if (!value || value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    if (value->kind != LIANA__VALUE_MAP) {
        return liana__fail_at(error, &value->place, where, "found %s, expected factors by name: {\"block_*\": 0.1}",
                              liana__value_describe(value, found, sizeof found));
    }
    liana__rate_multipliers *read = liana__arena_allocate(arena, sizeof *read);
    liana__rate_multiplier *items = liana__arena_allocate(arena, (value->count + 1) * sizeof *items);
    const char *key = liana__arena_string(arena, where);
    if (!read || !items || !key) return liana__fail_memory(error, "the multipliers of the learning rate");
    for (size_t i = 0; i < value->count; i++) {
        LIANA_TRY(read_item(value, i, where, &items[i], error));
        items[i].pattern = liana__arena_string(arena, items[i].pattern);
        if (!items[i].pattern) return liana__fail_memory(error, "the multipliers of the learning rate");
    }
    *read = (liana__rate_multipliers){key, items, value->count};
    *multipliers = read;
    return LIANA_OK;
}

/* The name, or the name up to one of its '/'. */
static bool matches(const char *pattern, const char *weight)
{
    char name[512];
    snprintf(name, sizeof name, "%s", weight);
    for (;;) {
        if (fnmatch(pattern, name, 0) == 0) return true;
        char *slash = strrchr(name, '/');
        if (!slash) return false;
        *slash = 0;
    }
}

liana_status liana__rate_multipliers_check(const liana__rate_multipliers *multipliers, const char *const *weights,
                                           size_t count, liana__error *error)
{
    for (size_t i = 0; multipliers && i < multipliers->count; i++) {
        const liana__rate_multiplier *item = &multipliers->items[i];
        size_t found = 0;
        while (found < count && !matches(item->pattern, weights[found])) found++;
        if (found < count) continue;
        return liana__fail_at(error, &item->place, multipliers->where,
                              "'%.100s' matches no weight and no layer; weights are called '%.100s' to '%.100s'",
                              item->pattern, count ? weights[0] : "", count ? weights[count - 1] : "");
    }
    return LIANA_OK;
}

double liana__rate_multiplier_of(const liana__rate_multipliers *multipliers, const char *weight)
{
    for (size_t i = multipliers ? multipliers->count : 0; i-- > 0;) {
        if (matches(multipliers->items[i].pattern, weight)) return multipliers->items[i].factor;
    }
    return 1;
}

liana_tensor liana__multiply_rate(const liana__rate_multipliers *multipliers, const char *weight, liana_tensor rate)
{
    double factor = liana__rate_multiplier_of(multipliers, weight);
    if (factor == 1) return rate;
    return liana_op_multiply(rate, liana_graph_scalar(rate.graph, liana_tensor_dtype(rate), factor));
}
