/* Looks for names in lists of things. */
#include "base/named.h"

#include "base/other_names.h"

#include <string.h>
#include <strings.h>

const void *liana__named_thing(liana__named list, size_t index)
{
    const char *thing = list.things;
    if (list.stride) {
        thing += index * list.stride;
    } else {
        memcpy(&thing, thing + index * sizeof thing, sizeof thing);
    }
    return thing;
}

const char *liana__named_at(liana__named list, size_t index)
{
    const char *thing = liana__named_thing(list, index), *name;
    memcpy(&name, thing + list.offset, sizeof name);
    return name;
}

const char *liana__named_nearest(liana__named list, const char *word)
{
    liana__nearest_search search = liana__nearest_begin(word);
    for (size_t i = 0; i < list.count; i++) liana__nearest_add(&search, liana__named_at(list, i));
    return search.nearest;
}

size_t liana__named_find(liana__named list, const char *name, const char **nearest)
{
    int (*compare)(const char *, const char *) = list.any_case ? strcasecmp : strcmp;
    for (size_t i = 0; i < list.count; i++) {
        if (compare(name, liana__named_at(list, i)) == 0) return i;
    }
    if (!nearest) return list.count;
    liana__nearest_search search = liana__nearest_begin_known(name);
    for (size_t i = 0; i < list.count; i++) liana__nearest_add_known(&search, liana__named_at(list, i));
    *nearest = search.nearest;
    return list.count;
}
