/* Finds own parts beside the built-in ones. */
#include "base/parts.h"

#include "base/own_part.h"

#include <string.h>
#include <strings.h>

static bool is_of_kind(const liana__registered *own, const char *kind)
{
    return strcmp(own->kind, kind) == 0;
}

static const void *find_own(const liana_context *context, const char *kind, bool any_case, const char *name)
{
    int (*compare)(const char *, const char *) = any_case ? strcasecmp : strcmp;
    for (const liana__registered *own = context ? context->registered : NULL; own; own = own->next) {
        if (is_of_kind(own, kind) && compare(own->name, name) == 0) {
            return ((const liana__own_part *)own->user)->thing;
        }
    }
    return NULL;
}

static const char *find_nearest(const liana_context *context, const char *kind, liana__named builtin, const char *name)
{
    liana__nearest_search search = liana__nearest_begin(name);
    for (size_t i = 0; i < builtin.count; i++) liana__nearest_add(&search, liana__named_at(builtin, i));
    for (const liana__registered *own = context ? context->registered : NULL; own; own = own->next) {
        if (is_of_kind(own, kind)) liana__nearest_add(&search, own->name);
    }
    return search.nearest;
}

const void *liana__part_find(const liana_context *context, const char *kind, liana__named builtin, const char *name,
                             const char **nearest)
{
    size_t index = liana__named_find(builtin, name, NULL);
    if (index < builtin.count) return liana__named_thing(builtin, index);
    const void *own = find_own(context, kind, builtin.any_case, name);
    if (!own && nearest) *nearest = find_nearest(context, kind, builtin, name);
    return own;
}

const void *liana__part_at(const liana_context *context, const char *kind, size_t index)
{
    const liana__own_part *own = liana__own_part_at(context, kind, index);
    return own ? own->thing : NULL;
}
