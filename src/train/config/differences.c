/* Compares configurations key by key. */
#include "train/config/differences.h"

#include "formats/json.h"

#include <stdlib.h>
#include <string.h>

typedef struct search {
    size_t num_trees;
    const char *const *ignored;
    liana__arena *arena;
    liana__differences *found;
    liana__error *error;
} search;

static bool is_ignored(const search *own, const char *key)
{
    for (const char *const *one = own->ignored; one && *one; one++) {
        if (strcmp(*one, key) == 0) return true;
    }
    return false;
}

static bool all_equal(const search *own, const liana__value *const *values)
{
    for (size_t i = 1; i < own->num_trees; i++) {
        bool same = values[0] && values[i] ? liana__value_equal(values[0], values[i]) : values[0] == values[i];
        if (!same) return false;
    }
    return true;
}

/* Whether each is a map, or missing, and at least two are maps. */
static bool are_maps(const search *own, const liana__value *const *values)
{
    size_t count = 0;
    for (size_t i = 0; i < own->num_trees; i++) {
        if (values[i] && values[i]->kind != LIANA__VALUE_MAP && values[i]->kind != LIANA__VALUE_NULL) return false;
        count += values[i] && values[i]->kind == LIANA__VALUE_MAP;
    }
    return count > 1;
}

static const char *text_of(const liana__value *value, liana__arena *arena)
{
    return value ? liana__json_line(value, arena) : "-";
}

static liana_status add(const search *own, const char *key, const liana__value *const *values)
{
    const char **texts = liana__arena_allocate(own->arena, own->num_trees * sizeof *texts);
    if (!texts || !liana__grow(&own->found->items, own->found->count, &own->found->capacity, sizeof *own->found->items))
        return liana__fail_memory(own->error, "differences");
    for (size_t i = 0; i < own->num_trees; i++) {
        texts[i] = text_of(values[i], own->arena);
        if (!texts[i]) return liana__fail_memory(own->error, "differences");
    }
    own->found->items[own->found->count++] = (liana__difference){key, texts};
    return LIANA_OK;
}

static liana_status compare(const search *own, const char *where, const liana__value *const *values);

/* Whether an earlier tree has the key too: it was compared there. */
static bool is_known(const liana__value *const *values, size_t tree, const char *key)
{
    for (size_t i = 0; i < tree; i++) {
        if (values[i] && values[i]->kind == LIANA__VALUE_MAP && liana__value_get(values[i], key)) return true;
    }
    return false;
}

static liana_status compare_keys(const search *own, const char *where, const liana__value *const *values)
{
    const liana__value **inner = liana__arena_allocate(own->arena, own->num_trees * sizeof *inner);
    if (!inner) return liana__fail_memory(own->error, "differences");
    for (size_t tree = 0; tree < own->num_trees; tree++) {
        const liana__value *map = values[tree];
        if (!map || map->kind != LIANA__VALUE_MAP) continue;
        for (size_t i = 0; i < map->count; i++) {
            if (is_known(values, tree, map->keys[i])) continue;
            for (size_t k = 0; k < own->num_trees; k++) {
                bool is_map = values[k] && values[k]->kind == LIANA__VALUE_MAP;
                inner[k] = is_map ? liana__value_get(values[k], map->keys[i]) : NULL;
            }
            const char *key = liana__arena_format(own->arena, "%s%s%s", where, *where ? "." : "", map->keys[i]);
            if (!key) return liana__fail_memory(own->error, "differences");
            LIANA_TRY(compare(own, key, inner));
        }
    }
    return LIANA_OK;
}

static liana_status compare(const search *own, const char *where, const liana__value *const *values)
{
    if (is_ignored(own, where) || all_equal(own, values)) return LIANA_OK;
    return are_maps(own, values) ? compare_keys(own, where, values) : add(own, where, values);
}

liana_status liana__differences_find(const liana__value *const *trees, size_t num_trees, const char *const *ignored,
                                     liana__arena *arena, liana__differences *found, liana__error *error)
{
    const search own = {num_trees, ignored, arena, found, error};
    *found = (liana__differences){0};
    return compare(&own, "", trees);
}

void liana__differences_free(liana__differences *differences)
{
    free(differences->items);
    *differences = (liana__differences){0};
}
