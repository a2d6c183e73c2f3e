/* Folders of runs, and those in folders. */
#include "base/file.h"
#include "base/memory.h"
#include "report/run_plot.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEEPEST = 4 };

bool liana__is_run_folder(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/config.yaml", folder);
    return liana__file_exists(path);
}

typedef struct folder_list {
    const char **items;
    size_t count, capacity;
} folder_list;

static liana_status find(const char *folder, int depth, liana__arena *arena, folder_list *list, liana__error *error)
{
    liana__paths names;
    if (liana__is_run_folder(folder)) {
        if (!liana__grow(&list->items, list->count, &list->capacity, sizeof *list->items)) {
            return liana__fail_memory(error, folder);
        }
        list->items[list->count++] = folder;
        return LIANA_OK;
    }
    if (depth == DEEPEST) return LIANA_OK;
    LIANA_TRY(liana__folder_list(folder, arena, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        const char *path = liana__path_join(arena, folder, names.items[i]);
        if (!path) return liana__fail_memory(error, folder);
        if (liana__folder_exists(path)) LIANA_TRY(find(path, depth + 1, arena, list, error));
    }
    return LIANA_OK;
}

liana_status liana__find_run_folders(const char *folder, liana__arena *arena, const char ***found, size_t *count,
                                     liana__error *error)
{
    folder_list list = {0};
    if (!liana__folder_exists(folder)) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "'%s' is not there, expected the folder of a run or a sweep",
                           folder);
    }
    liana_status status = find(folder, 0, arena, &list, error);
    if (status == LIANA_OK && !list.count) {
        status = liana__fail(error, LIANA_INVALID_CONFIG,
                             "'%s' is not the folder of a run or a sweep: there is no config.yaml in it", folder);
    }
    *count = list.count;
    *found = liana__arena_allocate(arena, (list.count + 1) * sizeof **found);
    if (status == LIANA_OK && !*found) status = liana__fail_memory(error, folder);
    for (size_t i = 0; *found && i < list.count; i++) (*found)[i] = list.items[i];
    free(list.items);
    return status;
}
