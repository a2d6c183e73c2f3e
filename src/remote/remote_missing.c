/* In the place of everything else in this room but name.c, where liana is built without libcurl. */
#include "remote/remote.h"

#include <stdlib.h>

static liana_status refuse(const char *name, liana__error *error)
{
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "cannot read %s: this build of liana has no libcurl; build it with -DLIANA_REMOTE=ON (Debian: "
                       "libcurl4-openssl-dev, libssl-dev, libexpat1-dev), or download the files",
                       name);
}

/* Nothing to keep: names that are no URLs are given back as they are. */
struct liana__remote {
    char none;
};

liana_status liana__remote_create(const liana__remote_options *options, liana__remote **remote, liana__error *error)
{
    (void)options;
    *remote = calloc(1, sizeof **remote);
    return *remote ? LIANA_OK : liana__fail_memory(error, "remote files");
}

void liana__remote_destroy(liana__remote *remote)
{
    free(remote);
}

liana_status liana__remote_resolve(liana__remote *remote, const char *const *names, size_t count, liana__arena *arena,
                                   liana__paths *paths, liana__error *error)
{
    (void)remote;
    *paths = (liana__paths){.items = liana__arena_allocate(arena, (count + 1) * sizeof *paths->items)};
    for (size_t i = 0; paths->items && i < count; i++) {
        if (liana__path_is_remote(names[i])) return refuse(names[i], error);
        paths->items[paths->count++] = liana__arena_string(arena, names[i]);
    }
    return arena->failed ? liana__fail_memory(error, "a list of files") : LIANA_OK;
}

liana_status liana__remote_file(liana__remote *remote, const char *name, liana__arena *arena, const char **path,
                                liana__error *error)
{
    liana__paths paths;
    LIANA_TRY(liana__remote_resolve(remote, &name, 1, arena, &paths, error));
    *path = paths.items[0];
    return LIANA_OK;
}

liana_status liana__remote_files(liana__remote *remote, liana__remote_file_of_many *files, size_t count,
                                 liana__arena *arena, liana__error *error)
{
    (void)remote;
    for (size_t i = 0; i < count; i++) {
        if (liana__path_is_remote(files[i].name)) return refuse(files[i].name, error);
        files[i].path = liana__arena_string(arena, files[i].name);
    }
    return arena->failed ? liana__fail_memory(error, "a list of files") : LIANA_OK;
}

liana__remote_version liana__remote_version_of(const liana__remote *remote, const char *name)
{
    (void)remote;
    (void)name;
    return (liana__remote_version){""};
}

void liana__remote_clean(const liana__remote *remote, char *text)
{
    (void)remote;
    (void)text;
}

liana_status liana__remote_fail_within(const liana__remote *remote, liana__error *error)
{
    (void)remote;
    return error ? error->status : LIANA_OK;
}
