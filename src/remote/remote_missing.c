/* In the place of everything else in this room but name.c, where liana is built without libcurl. */
#include "remote/remote.h"

static liana_status refuse(const char *name, liana__error *error)
{
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "cannot read %s: this build of liana has no libcurl; build it with -DLIANA_REMOTE=ON (Debian: "
                       "libcurl4-openssl-dev, libssl-dev, libexpat1-dev), or download the files",
                       name);
}

liana_status liana__remote_create(const liana__remote_options *options, liana__remote **remote, liana__error *error)
{
    (void)options;
    *remote = NULL;
    return refuse("https://, gs:// and s3:// files", error);
}

void liana__remote_destroy(liana__remote *remote)
{
    (void)remote;
}

liana_status liana__remote_resolve(liana__remote *remote, const char *const *names, size_t count, liana__arena *arena,
                                   liana__paths *paths, liana__error *error)
{
    (void)remote;
    (void)count;
    (void)arena;
    *paths = (liana__paths){0};
    return refuse(names[0], error);
}

liana_status liana__remote_file(liana__remote *remote, const char *name, liana__arena *arena, const char **path,
                                liana__error *error)
{
    (void)remote;
    (void)arena;
    *path = NULL;
    return refuse(name, error);
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
