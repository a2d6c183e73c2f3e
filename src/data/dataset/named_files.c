/* Finds the files of a pattern or URL. */
#include "data/dataset/named_files.h"

liana_status liana__named_files_find(const char *pattern, liana__arena *arena, liana__remote **remote,
                                     liana__paths *paths, liana__error *error)
{
    if (liana__path_is_remote(pattern)) {
        LIANA_TRY(liana__remote_create(NULL, remote, error));
        return liana__remote_resolve(*remote, &pattern, 1, arena, paths, error);
    }
    if (!liana__file_exists(pattern)) return liana__file_match(pattern, arena, paths, error);
    char **one = liana__arena_allocate(arena, sizeof *one);
    if (one) *one = liana__arena_string(arena, pattern);
    if (arena->failed) return liana__fail_memory(error, pattern);
    *paths = (liana__paths){one, 1};
    return LIANA_OK;
}
