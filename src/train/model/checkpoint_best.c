/* Where a program finds the best checkpoint. */
#include "base/context.h"
#include "base/scoped.h"
#include "train/checkpoint/checkpoint.h"

#include <liana/train.h>
#include <string.h>

static liana_status find(const char *folder, liana__arena *arena, const char **path, liana__error *error)
{
    const char *below = liana__path_join(arena, folder, "checkpoints");
    if (!below) return liana__fail_memory(error, folder);
    if (liana__folder_exists(below)) folder = below;
    const char *newest;
    LIANA_TRY(liana__checkpoint_newest(folder, arena, &newest, error));
    if (!newest) return liana__fail(error, LIANA_NOT_FOUND, "there is no checkpoint in '%s'", folder);
    const char *name = liana__checkpoint_best(folder, arena);
    if (!name || !*name) {
        return liana__fail(error, LIANA_NOT_FOUND,
                           "'%s' has no best checkpoint; ask for one with best_checkpoint, or with checkpoint.best in "
                           "a configuration",
                           folder);
    }
    return liana__checkpoint_find(folder, name, arena, path, error);
}

liana_status liana_checkpoint_best(liana_context *context, const char *folder, char *path, size_t size)
{
    LIANA__REQUIRE(NULL, context);
    liana__error *error = &context->error;
    LIANA__REQUIRE(error, folder);
    LIANA__REQUIRE(error, path);
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *found = NULL;
    if (size > 0) *path = 0;
    liana_status status = find(folder, &arena, &found, error);
    const size_t length = status == LIANA_OK ? strlen(found) : 0;
    if (status == LIANA_OK && length >= size) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT, "the path has %zu bytes, more than the %zu that were given",
                             length + 1, size);
    }
    if (status == LIANA_OK) memcpy(path, found, length + 1);
    return status;
}
