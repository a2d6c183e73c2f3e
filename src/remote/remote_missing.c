/* In the place of everything else in this room but name.c, where liana is built without libcurl. */
#include "remote/digest.h"
#include "remote/download.h"
#include "remote/outlet.h"
#include "remote/post.h"
#include "remote/store.h"

#include <stdlib.h>

/* What cannot be done looks at no argument. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

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
    for (size_t i = 0; i < count; i++) {
        if (liana__path_is_remote(files[i].name)) return refuse(files[i].name, error);
        files[i].path = liana__arena_string(arena, files[i].name);
    }
    return arena->failed ? liana__fail_memory(error, "a list of files") : LIANA_OK;
}

liana_status liana__remote_download(liana__remote *remote, const liana__download *wanted, liana__error *error)
{
    return refuse(wanted->url, error);
}

liana_status liana__digest_file(const char *path, liana__digest_kind kind, liana__digest_text *digest,
                                liana__error *error)
{
    *digest = (liana__digest_text){""};
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "the checksum of '%s' cannot be computed: this build of liana has no libcrypto; build it with "
                       "-DLIANA_REMOTE=ON (Debian: libssl-dev)",
                       path);
}

liana__remote_version liana__remote_version_of(const liana__remote *remote, const char *name)
{
    return (liana__remote_version){""};
}

void liana__remote_clean(const liana__remote *remote, char *text)
{
}

liana_status liana__remote_fail_within(const liana__remote *remote, liana__error *error)
{
    return error ? error->status : LIANA_OK;
}

/* ---- writing ---- */

static liana_status refuse_writing(const char *url, liana__error *error)
{
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "cannot write to '%s': this build of liana has no libcurl; build it with -DLIANA_REMOTE=ON "
                       "(Debian: libcurl4-openssl-dev, libssl-dev, libexpat1-dev), or write to a local folder",
                       url);
}

liana_status liana__store_replace(const char *name, const void *bytes, size_t size, liana__error *error)
{
    if (liana__path_is_remote(name)) return refuse_writing(name, error);
    return liana__file_replace(name, bytes, size, error);
}

liana_status liana__store_list(liana__remote *remote, const char *url, liana__arena *arena, liana__paths *names,
                               liana__error *error)
{
    *names = (liana__paths){0};
    return refuse(url, error);
}

/* No outlet is ever opened, so nothing below is called. */

liana_status liana__outlet_open(const liana__outlet_options *options, liana__outlet **outlet, liana__error *error)
{
    *outlet = NULL;
    return refuse_writing(options->url, error);
}

void liana__outlet_close(liana__outlet *outlet)
{
}

const char *liana__outlet_folder(const liana__outlet *outlet)
{
    return NULL;
}

const char *liana__outlet_url(const liana__outlet *outlet)
{
    return NULL;
}

liana_status liana__outlet_list(liana__outlet *outlet, liana__arena *arena, liana__paths *names, liana__error *error)
{
    *names = (liana__paths){0};
    return refuse_writing("a bucket", error);
}

liana_status liana__outlet_fetch(liana__outlet *outlet, const char *const *names, size_t count, liana__error *error)
{
    return refuse_writing("a bucket", error);
}

liana_status liana__outlet_mark(liana__outlet *outlet, const char *name, liana__error *error)
{
    return refuse_writing(name, error);
}

liana_status liana__outlet_adopt(liana__outlet *outlet, const char *name, liana__error *error)
{
    return refuse_writing(name, error);
}

liana_status liana__outlet_remove(liana__outlet *outlet, const char *name, liana__error *error)
{
    return refuse_writing(name, error);
}

liana_status liana__outlet_changed(liana__outlet *outlet, liana__error *error)
{
    return refuse_writing("a bucket", error);
}

liana_status liana__outlet_flush(liana__outlet *outlet, liana__error *error)
{
    return refuse_writing("a bucket", error);
}

int liana__outlet_lock(const liana__outlet *outlet)
{
    return -1;
}

void liana__outlet_guard(liana__outlet *outlet, liana_status (*may_write)(void *user, liana__error *error), void *user)
{
}

liana_status liana__store_read(liana__remote *remote, const char *url, void *bytes, size_t most, size_t *size,
                               liana__store_version *version, liana__error *error)
{
    *size = 0;
    *version = (liana__store_version){""};
    return refuse_writing(url, error);
}

liana_status liana__store_bytes_if(liana__remote *remote, const char *url, const void *bytes, size_t size,
                                   const liana__store_version *version, bool *done, liana__error *error)
{
    *done = false;
    return refuse_writing(url, error);
}

liana_status liana__store_remove_if(liana__remote *remote, const char *url, const liana__store_version *version,
                                    liana__error *error)
{
    return refuse_writing(url, error);
}

liana_status liana__remote_post(const liana__posting *posting, liana__error *error)
{
    return refuse(posting->url, error);
}
