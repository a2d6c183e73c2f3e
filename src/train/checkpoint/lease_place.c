/* Keeps the file of a lease. */
#include "train/checkpoint/lease_place.h"

#include "base/descriptor.h"
#include "base/file.h"
#include "base/scoped.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char OBJECT[] = "lease.json";

/* A lease that cannot be reached is soon not ours any more: waiting long for a server makes no sense. */
enum { ATTEMPTS = 4, STALL_SECONDS = 5 };

liana_status liana__lease_place_open(liana__lease_place *place, const char *folder, const liana__remote_options *remote,
                                     liana__error *error)
{
    *place = (liana__lease_place){.descriptor = -1};
    place->folder = liana__arena_string(&place->arena, folder);
    if (!place->folder) return liana__fail_memory(error, folder);
    if (!liana__path_is_remote(folder)) return LIANA_OK;
    liana__remote_options options = remote ? *remote : (liana__remote_options){0};
    options.writes = true;
    options.progress = NULL;
    options.max_attempts = ATTEMPTS;
    options.stall_seconds = STALL_SECONDS;
    place->url = liana__path_join(&place->arena, folder, OBJECT);
    if (!place->url) return liana__fail_memory(error, folder);
    return liana__remote_create(&options, &place->remote, error);
}

void liana__lease_place_close(liana__lease_place *place)
{
    if (place->descriptor >= 0) close(place->descriptor);
    liana__remote_destroy(place->remote);
    liana__arena_free(&place->arena);
    *place = (liana__lease_place){.descriptor = -1};
}

/* ---- a folder ---- */

/* The number in "lease-0000000007.json"; 0: it is another name. */
static int64_t number_of(const char *name)
{
    static const char before[] = "lease-", behind[] = ".json";
    if (!liana__starts_with(name, before)) return 0;
    const char *digits = name + sizeof before - 1;
    size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > 18 || strcmp(digits + count, behind) != 0) return 0;
    return strtoll(digits, NULL, 10);
}

bool liana__lease_is_name(const char *name)
{
    return strcmp(name, OBJECT) == 0 || number_of(name) > 0;
}

static char *path_of(const liana__lease_place *place, liana__arena *arena, int64_t number)
{
    return liana__arena_format(arena, "%s/lease-%010" PRId64 ".json", place->folder, number);
}

/* The highest number in the folder; all lower than `below` are removed. */
static liana_status look_through(const liana__lease_place *place, int64_t below, int64_t *highest, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__paths names;
    liana_status status = liana__folder_list(place->folder, &arena, &names, error);
    *highest = 0;
    for (size_t i = 0; status == LIANA_OK && i < names.count; i++) {
        const int64_t number = number_of(names.items[i]);
        const char *path = number ? liana__path_join(&arena, place->folder, names.items[i]) : NULL;
        if (number > *highest) *highest = number;
        if (path && number < below) unlink(path);
    }
    return status;
}

static liana_status fail_file(const liana__lease_place *place, const char *verb, liana__error *error)
{
    return liana__fail(error, LIANA_IO_ERROR, "cannot %s the lease in '%s': %s", verb, place->folder, strerror(errno));
}

static liana_status read_file(const liana__lease_place *place, liana__lease_found *found, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA_TRY(look_through(place, 0, &found->generation, error));
    if (!found->generation) return LIANA_OK;
    const char *path = path_of(place, &arena, found->generation);
    int descriptor = path ? liana__open(path, O_RDONLY | O_CLOEXEC, 0) : -1;
    const bool gone = descriptor < 0 && errno == ENOENT;
    ssize_t got = descriptor >= 0 ? pread(descriptor, found->bytes, LIANA__LEASE_SIZE, 0) : -1;
    liana_status status = got >= 0 || gone ? LIANA_OK : fail_file(place, "read", error);
    if (descriptor >= 0) close(descriptor);

    found->there = got >= 0;
    found->size = got > 0 ? (size_t)got : 0;
    /* Given back between the list and the reading. */
    if (gone) found->generation = 0;
    return status;
}

static liana_status write_file(const liana__lease_place *place, const liana__lease_text *own, liana__error *error)
{
    char bytes[LIANA__LEASE_SIZE + 1];
    liana__lease_text_write(own, bytes);
    ssize_t done = pwrite(place->descriptor, bytes, LIANA__LEASE_SIZE, 0);
    if (done >= 0 && done < LIANA__LEASE_SIZE) errno = ENOSPC;
    /* Other machines see it only then. */
    if (done == LIANA__LEASE_SIZE && fdatasync(place->descriptor) == 0) return LIANA_OK;
    return fail_file(place, "write", error);
}

static liana_status take_file(liana__lease_place *place, const liana__lease_found *found, const liana__lease_text *own,
                              bool *taken, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *path = path_of(place, &arena, found->generation + 1);
    if (place->descriptor >= 0) close(place->descriptor);
    place->descriptor = path ? liana__open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    place->generation = found->generation + 1;
    *taken = place->descriptor >= 0;
    liana_status status = *taken || (path && errno == EEXIST) ? LIANA_OK : fail_file(place, "make", error);
    if (*taken) status = write_file(place, own, error);
    if (*taken && status != LIANA_OK) unlink(path);
    int64_t highest = 0;
    if (*taken && status == LIANA_OK) status = look_through(place, place->generation, &highest, error);
    /* A later one came while we looked for the number. */
    const bool late = *taken && status == LIANA_OK && highest > place->generation;
    if (late) unlink(path);
    if (late) *taken = false;
    return status;
}

/* Whether the file that is open is still the one in the folder, and no other holder came behind it. */
static liana_status holds_file(const liana__lease_place *place, bool *held, liana__error *error)
{
    struct stat own, there;
    liana__arena arena = {0};
    int64_t highest = 0;
    const char *path = path_of(place, &arena, place->generation);
    *held = false;
    bool same = path && fstat(place->descriptor, &own) == 0 && own.st_nlink > 0 && stat(path, &there) == 0 &&
                own.st_dev == there.st_dev && own.st_ino == there.st_ino;
    liana__arena_free(&arena);
    if (!same) return LIANA_OK;
    LIANA_TRY(look_through(place, 0, &highest, error));
    *held = highest == place->generation;
    return LIANA_OK;
}

static liana_status renew_file(const liana__lease_place *place, const liana__lease_text *own, bool *held,
                               liana__error *error)
{
    *held = false;
    liana_status status = write_file(place, own, error);
    /* A server of files that knows the file no more has told the process that removed it. */
    if (status != LIANA_OK && errno == ESTALE) return LIANA_OK;
    return status == LIANA_OK ? holds_file(place, held, error) : status;
}

static liana_status give_file(const liana__lease_place *place, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    bool held = false;
    LIANA_TRY(holds_file(place, &held, error));
    const char *path = path_of(place, &arena, place->generation);
    return held && path && unlink(path) != 0 ? fail_file(place, "remove", error) : LIANA_OK;
}

/* ---- a bucket ---- */

static liana_status read_object(liana__lease_place *place, liana__lease_found *found, liana__error *error)
{
    liana_status status = liana__store_read(place->remote, place->url, found->bytes, LIANA__LEASE_SIZE, &found->size,
                                            &found->version, error);
    found->there = status == LIANA_OK;
    if (status == LIANA_NOT_FOUND) return LIANA_OK;
    liana__lease_text text;
    if (status == LIANA_OK) liana__lease_text_read(found->bytes, found->size, &text);
    if (status == LIANA_OK) found->generation = text.generation;
    return status;
}

static bool is_own(const liana__lease_found *found, const char *bytes)
{
    return found->there && found->size == LIANA__LEASE_SIZE && memcmp(found->bytes, bytes, LIANA__LEASE_SIZE) == 0;
}

/* Replaces the object that was found. An answer may have been lost: then it is there although the next attempt was
 * refused. */
static liana_status replace_object(liana__lease_place *place, const liana__lease_found *found,
                                   const liana__lease_text *own, bool *done, liana__error *error)
{
    char bytes[LIANA__LEASE_SIZE + 1];
    liana__lease_text_write(own, bytes);
    const liana__store_version none = {""};
    LIANA_TRY(liana__store_bytes_if(place->remote, place->url, bytes, LIANA__LEASE_SIZE,
                                    found->there ? &found->version : &none, done, error));
    liana__lease_found now = {0};
    LIANA_TRY(read_object(place, &now, error));
    *done = is_own(&now, bytes);
    return LIANA_OK;
}

static liana_status find_own(liana__lease_place *place, const liana__lease_text *own, liana__lease_found *found,
                             bool *held, liana__error *error)
{
    liana__lease_text text;
    LIANA_TRY(read_object(place, found, error));
    liana__lease_text_read(found->bytes, found->size, &text);
    *held = found->there && strcmp(text.id, own->id) == 0;
    return LIANA_OK;
}

static liana_status renew_object(liana__lease_place *place, const liana__lease_text *own, bool *held,
                                 liana__error *error)
{
    liana__lease_found found = {0};
    LIANA_TRY(find_own(place, own, &found, held, error));
    return *held ? replace_object(place, &found, own, held, error) : LIANA_OK;
}

static liana_status give_object(liana__lease_place *place, const liana__lease_text *own, liana__error *error)
{
    liana__lease_found found = {0};
    bool held = false;
    LIANA_TRY(find_own(place, own, &found, &held, error));
    return held ? liana__store_remove_if(place->remote, place->url, &found.version, error) : LIANA_OK;
}

/* ---- either ---- */

liana_status liana__lease_place_read(liana__lease_place *place, liana__lease_found *found, liana__error *error)
{
    *found = (liana__lease_found){0};
    return place->remote ? read_object(place, found, error) : read_file(place, found, error);
}

liana_status liana__lease_place_take(liana__lease_place *place, const liana__lease_found *found,
                                     const liana__lease_text *own, bool *taken, liana__error *error)
{
    return place->remote ? replace_object(place, found, own, taken, error) : take_file(place, found, own, taken, error);
}

liana_status liana__lease_place_renew(liana__lease_place *place, const liana__lease_text *own, bool *held,
                                      liana__error *error)
{
    return place->remote ? renew_object(place, own, held, error) : renew_file(place, own, held, error);
}

liana_status liana__lease_place_give(liana__lease_place *place, const liana__lease_text *own, liana__error *error)
{
    return place->remote ? give_object(place, own, error) : give_file(place, error);
}
