/* Finds the folder of caches. */
#include "base/cache_folder.h"

#include <stdlib.h>

const char *liana__cache_folder(liana__arena *arena)
{
    const char *cache = getenv("LIANA_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache) return cache;
    if (xdg && *xdg == '/') return liana__arena_format(arena, "%s/liana", xdg);
    return home && *home ? liana__arena_format(arena, "%s/.cache/liana", home) : NULL;
}
