#include "remote/remote.h"

#include <stdlib.h>
#include <string.h>

const char *liana__remote_name(const char *path)
{
    const char *colon = *path == '/' ? strstr(path, "://") : NULL;
    if (!colon) return path;
    const char *start = colon;
    while (start[-1] != '/') start--;
    return liana__path_is_remote(start) ? start : path;
}

liana_status liana__remote_read(const char *name, const liana__remote_options *options, size_t limit, char **data,
                                size_t *size, liana__error *error)
{
    if (!liana__path_is_remote(name)) return liana__file_read(name, limit, data, size, error);
    *data = NULL;
    *size = 0;
    liana__remote *remote;
    liana__arena arena = {0};
    const char *path;
    LIANA_TRY(liana__remote_create(options, &remote, error));
    liana_status status = liana__remote_file(remote, name, &arena, &path, error);
    if (status == LIANA_OK) status = liana__file_read(path, limit, data, size, error);
    if (status != LIANA_OK) liana__remote_fail_within(remote, error);
    liana__arena_free(&arena);
    liana__remote_destroy(remote);
    return status;
}
