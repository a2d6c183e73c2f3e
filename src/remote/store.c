/* Writes, removes and lists objects. */
#include "remote/store.h"

#include "base/crc32c.h"
#include "base/scoped.h"
#include "remote/remote_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 20 };

/* ---- bytes ---- */

liana_status liana__upload_read(const liana__upload *upload, uint64_t offset, void *to, size_t size,
                                liana__error *error)
{
    if (upload->bytes && size) memcpy(to, (const char *)upload->bytes + offset, size);
    if (upload->bytes) return LIANA_OK;
    errno = 0;
    if (liana__file_read_at(upload->descriptor, (size_t)offset, to, size)) return LIANA_OK;
    if (errno) return liana__fail(error, LIANA_IO_ERROR, "cannot read '%s': %s", upload->path, strerror(errno));
    return liana__fail(error, LIANA_DATA_LOSS, "'%s' became shorter while it was sent", upload->path);
}

static liana_status find_checksum(liana__upload *upload, liana__error *error)
{
    LIANA__SCOPED_MEMORY char *buffer = malloc(BUFFER_SIZE);
    if (!buffer) return liana__fail_memory(error, upload->path);
    upload->crc32c = 0;
    for (uint64_t done = 0; done < upload->size;) {
        uint64_t left = upload->size - done;
        size_t size = left < BUFFER_SIZE ? (size_t)left : BUFFER_SIZE;
        LIANA_TRY(liana__upload_read(upload, done, buffer, size, error));
        upload->crc32c = liana__crc32c_extend(upload->crc32c, buffer, size);
        done += size;
    }
    return LIANA_OK;
}

/* ---- objects ---- */

static liana_status find_object(liana__remote *remote, const char *url, liana__arena *arena,
                                liana__remote_object *object, liana__error *error)
{
    LIANA_TRY(liana__remote_connect(remote, error));
    LIANA_TRY(liana__remote_bucket_name(remote, url, arena, object, error));
    if (*object->key && !liana__ends_with(object->key, "/")) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s' is a folder, expected a file", url);
}

static liana_status put(liana__remote *remote, const char *url, liana__upload *upload, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__remote_object object;
    LIANA_TRY(find_object(remote, url, &arena, &object, error));
    LIANA_TRY(find_checksum(upload, error));
    return object.scheme->put(remote, &object, upload, error);
}

liana_status liana__store_file(liana__remote *remote, const char *url, int descriptor, const char *path,
                               liana__error *error)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0) {
        return liana__fail(error, LIANA_IO_ERROR, "cannot read '%s': %s", path, strerror(errno));
    }
    liana__upload upload = {.path = path, .descriptor = descriptor, .size = (uint64_t)info.st_size};
    return put(remote, url, &upload, error);
}

liana_status liana__store_bytes(liana__remote *remote, const char *url, const void *bytes, size_t size,
                                liana__error *error)
{
    bool done;
    return liana__store_bytes_if(remote, url, bytes, size, NULL, &done, error);
}

liana_status liana__store_remove(liana__remote *remote, const char *url, liana__error *error)
{
    return liana__store_remove_if(remote, url, NULL, error);
}

/* ---- if it is unchanged ---- */

liana_status liana__store_bytes_if(liana__remote *remote, const char *url, const void *bytes, size_t size,
                                   const liana__store_version *version, bool *done, liana__error *error)
{
    bool refused = false;
    liana__upload upload = {.path = url,
                            .descriptor = -1,
                            .bytes = bytes ? bytes : "",
                            .size = size,
                            .only_if = version ? version->text : NULL,
                            .refused = &refused};
    liana_status status = put(remote, url, &upload, error);
    *done = status == LIANA_OK && !refused;
    return status;
}

liana_status liana__store_remove_if(liana__remote *remote, const char *url, const liana__store_version *version,
                                    liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__http_request) request = {0};
    LIANA__SCOPED(liana__http_response) response = {0};
    liana__remote_object object;
    LIANA_TRY(find_object(remote, url, &arena, &object, error));
    if (version) object.version = version->text;
    LIANA_TRY(object.scheme->ask_removal(remote, &object, &request, error));
    LIANA_TRY(liana__http_send(&remote->http, object.name, &request, &response, error));
    /* An object of another version stays. */
    const bool is_another = response.status == 412 && version;
    if (response.status / 100 == 2 || response.status == 404 || is_another) return LIANA_OK;
    liana__remote_refused(remote, object.scheme, object.name, &response, error);
    return liana__fail_within(error, "cannot remove '%s'", object.name);
}

liana_status liana__store_read(liana__remote *remote, const char *url, void *bytes, size_t most, size_t *size,
                               liana__store_version *version, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__http_request) request = {0};
    LIANA__SCOPED(liana__http_response) response = {0};
    liana__remote_object object;
    *size = 0;
    *version = (liana__store_version){""};
    LIANA_TRY(find_object(remote, url, &arena, &object, error));
    object.version = "";
    LIANA_TRY(object.scheme->request(remote, &object, &request, error));
    LIANA_TRY(liana__http_send(&remote->http, object.name, &request, &response, error));
    if (response.status / 100 != 2) {
        return liana__remote_refused(remote, object.scheme, object.name, &response, error);
    }
    *size = response.body.length < most ? response.body.length : most;
    if (*size) memcpy(bytes, response.body.data, *size);
    snprintf(version->text, sizeof version->text, "%s", *response.generation ? response.generation : response.etag);
    return LIANA_OK;
}

/* ---- lists ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

liana_status liana__store_list(liana__remote *remote, const char *url, liana__arena *arena, liana__paths *names,
                               liana__error *error)
{
    liana__remote_object where;
    LIANA__SCOPED(liana__listing) listing = {0};
    *names = (liana__paths){0};
    LIANA_TRY(liana__remote_connect(remote, error));
    LIANA_TRY(liana__remote_bucket_name(remote, url, arena, &where, error));
    const char *end = !*where.key || liana__ends_with(where.key, "/") ? "" : "/";
    const char *prefix = liana__arena_format(arena, "%s%s", where.key, end);
    if (!prefix) return liana__fail_memory(error, where.name);
    LIANA_TRY(liana__remote_list(remote, &where, prefix, false, arena, &listing, error));
    names->items = liana__arena_allocate(arena, (listing.count + 1) * sizeof *names->items);
    if (!names->items) return liana__fail_memory(error, where.name);
    for (size_t i = 0; i < listing.count; i++) {
        const char *key = listing.items[i].key;
        bool below = liana__starts_with(key, prefix) && !liana__ends_with(key, "/");
        if (below) names->items[names->count++] = liana__arena_string(arena, key + strlen(prefix));
    }
    if (arena->failed) return liana__fail_memory(error, where.name);
    qsort(names->items, names->count, sizeof *names->items, compare_names);
    return LIANA_OK;
}

/* ---- a file ---- */

liana_status liana__store_replace(const char *name, const void *bytes, size_t size, liana__error *error)
{
    if (!liana__path_is_remote(name)) return liana__file_replace(name, bytes, size, error);
    liana__remote *remote;
    LIANA_TRY(liana__remote_create(&(liana__remote_options){.writes = true}, &remote, error));
    liana_status status = liana__store_bytes(remote, name, bytes, size, error);
    liana__remote_destroy(remote);
    return status;
}
