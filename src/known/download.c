/* Fetches known files into the cache. */
#include "known/download.h"

#include "base/context.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/scoped.h"
#include "base/waiting.h"
#include "known/structure.h"
#include "remote/download.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

LIANA__SCOPED_POINTER(liana__remote_destroy, liana__remote)

/* The largest weights of keras.applications have 1.4 GB. */
static const uint64_t SIZE_LIMIT = (uint64_t)4 << 30;
enum { LOCK_PAUSE = 100 * 1000 /* microseconds */, SECONDS_BETWEEN_NOTES = 10 };

typedef struct fetch {
    liana__remote *remote;
    liana_context *context;
    const liana__known_file *file;
    const liana__notes *notes;
    liana__known_place place;
    liana__known_hash hash;
    int part; /* the locked part, or -1 */
} fetch;

static void fetch_free(fetch *own)
{
    if (own->part >= 0) close(own->part);
}

/* ---- messages ---- */

/* Adds to an error how to place the file by hand. */
static liana_status offer_hand(const fetch *own, liana_status status, liana__error *error)
{
    if (!error || status == LIANA_OK || status == LIANA_CANCELLED || status == LIANA_OUT_OF_MEMORY) return status;
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "%s: %s; or ", own->file->name, error->message);
    liana__known_by_hand(own->file, &own->place, &text);
    return text.failed ? status : liana__fail(error, status, "%s", text.data);
}

static liana_status fail_part(const char *what, const char *path, liana__error *error)
{
    const int code = errno;
    const bool refused = code == EACCES || code == EROFS || code == EPERM;
    return liana__fail(error, LIANA_IO_ERROR, "cannot %s '%s': %s%s", what, path, strerror(code),
                       refused          ? "; set LIANA_CACHE to a folder that can be written"
                       : code == ENOSPC ? "; free some space and run again"
                                        : "");
}

/* ---- a file that is there ---- */

/* Placed by hand, or fetched without its pin having been written: it is pinned now, where that can be written. */
static liana_status pin_here(fetch *own, liana__error *error)
{
    const char *path = own->place.path;
    if (liana__known_check_structure(own->file, path, error) != LIANA_OK) {
        return liana__fail_within(error, "%s", own->file->name);
    }
    liana__error reason = {0};
    liana_status status = liana__known_pin(&own->place, path, &own->hash, &reason);
    if (own->hash.origin == LIANA__KNOWN_NO_HASH) return liana__fail_as(error, &reason);
    liana__note(own->notes, "%s: no hash is published; the SHA-256 of '%s' is %s%s%s", own->file->name, path,
                own->hash.text, status == LIANA_OK ? " and pinned from now on, in " : ", and cannot be pinned: ",
                status == LIANA_OK ? own->place.pin : reason.message);
    return LIANA_OK;
}

static liana_status check_here(fetch *own, liana__error *error)
{
    LIANA_TRY(liana__known_hash_find(own->file, &own->place, &own->hash, error));
    LIANA_TRY(liana__known_check(own->file, &own->place, own->place.path, &own->hash, error));
    return own->hash.origin == LIANA__KNOWN_NO_HASH ? pin_here(own, error) : LIANA_OK;
}

/* ---- the lock ---- */

static bool is_the_part(const fetch *own)
{
    struct stat open_one, named;
    return fstat(own->part, &open_one) == 0 && stat(own->place.part, &named) == 0 && open_one.st_dev == named.st_dev &&
           open_one.st_ino == named.st_ino;
}

static void leave_part(fetch *own)
{
    close(own->part);
    own->part = -1;
}

/* Opens the part and locks it, if nobody has. Whoever had the lock may have renamed the part or removed it meanwhile:
 * then *locked is false, too. */
static liana_status try_part(fetch *own, bool *locked, liana__error *error)
{
    *locked = false;
    own->part = liana__open(own->place.part, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (own->part < 0) return fail_part("write", own->place.part, error);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const bool taken = fcntl(own->part, F_OFD_SETLK, &whole) == 0;
    const int code = errno;
    *locked = taken && is_the_part(own);
    if (*locked) return LIANA_OK;
    leave_part(own);
    if (taken || code == EAGAIN || code == EACCES) return LIANA_OK;
    errno = code;
    return fail_part("lock", own->place.part, error);
}

/* Waits until the part is this process's, or the file is there: then own->part is -1. */
static liana_status take_part(fetch *own, liana__error *error)
{
    bool locked = false, told = false;
    for (;;) {
        if (liana__file_exists(own->place.path)) return LIANA_OK;
        LIANA_TRY(try_part(own, &locked, error));
        if (locked) break;
        if (!told) liana__note(own->notes, "%s: another process fetches it; waiting", own->file->name);
        told = true;
        if (own->context && liana__waiting_stops(own->context)) {
            return liana__fail(error, LIANA_CANCELLED, "%s: stopped while another process fetches it", own->file->name);
        }
        usleep(LOCK_PAUSE);
    }
    if (!liana__file_exists(own->place.path)) return LIANA_OK;
    unlink(own->place.part);
    leave_part(own);
    return LIANA_OK;
}

/* ---- fetching ---- */

static liana_status refuse_address(const fetch *own, liana__error *error)
{
    if (own->hash.origin == LIANA__KNOWN_PUBLISHED || strncasecmp(own->place.url, "https://", 8) == 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "'%s' cannot be trusted: no hash is published for this file, so its address must be https://",
                       own->place.url);
}

static liana_status bring_part(fetch *own, liana__error *error)
{
    LIANA_TRY(liana__known_hash_find(own->file, &own->place, &own->hash, error));
    LIANA_TRY(refuse_address(own, error));
    liana__note(own->notes, "fetching %s from %s", own->file->name, own->place.url);
    const liana__download wanted = {.url = own->place.url,
                                    .path = own->place.part,
                                    .descriptor = own->part,
                                    .origin = own->place.origin,
                                    .size = own->file->size,
                                    .limit = SIZE_LIMIT};
    return liana__remote_download(own->remote, &wanted, error);
}

static void remove_part(const fetch *own)
{
    unlink(own->place.part);
    unlink(own->place.origin);
}

static liana_status check_part(fetch *own, liana__error *error)
{
    liana_status status = liana__known_check(own->file, &own->place, own->place.part, &own->hash, error);
    if (status == LIANA_DATA_LOSS) remove_part(own);
    LIANA_TRY(status);
    if (own->hash.origin == LIANA__KNOWN_PUBLISHED) return LIANA_OK;
    status = liana__known_check_structure(own->file, own->place.part, error);
    if (status == LIANA_OK) return LIANA_OK;
    if (status == LIANA_OUT_OF_MEMORY || status == LIANA_UNIMPLEMENTED) return status;
    remove_part(own);
    liana__fail_within(error, "what came from %s is damaged or another file, and is removed", own->place.url);
    return offer_hand(own, status, error);
}

/* The pin is written first: after a crash between the two, the next fetch must bring the same content. */
static liana_status keep_part(fetch *own, liana__error *error)
{
    if (fsync(own->part) != 0) return fail_part("sync", own->place.part, error);
    if (own->hash.origin == LIANA__KNOWN_NO_HASH) {
        LIANA_TRY(liana__known_pin(&own->place, own->place.part, &own->hash, error));
        liana__note(own->notes, "%s: no hash is published; the SHA-256 of this first fetch is %s and pinned in %s",
                    own->file->name, own->hash.text, own->place.pin);
    }
    if (rename(own->place.part, own->place.path) != 0) return fail_part("rename", own->place.part, error);
    unlink(own->place.origin);
    return liana__folder_sync(own->place.folder, error);
}

static liana_status bring(fetch *own, liana__error *error)
{
    liana_status status = liana__folder_make(own->place.folder, error);
    if (status == LIANA_OK) status = take_part(own, error);
    if (status != LIANA_OK) return offer_hand(own, status, error);
    if (own->part < 0) return check_here(own, error);
    status = bring_part(own, error);
    struct stat info;
    /* Nothing came: nothing is to be resumed. */
    if (status != LIANA_OK && fstat(own->part, &info) == 0 && info.st_size == 0) remove_part(own);
    if (status != LIANA_OK) return offer_hand(own, status, error);
    LIANA_TRY(check_part(own, error));
    return offer_hand(own, keep_part(own, error), error);
}

liana_status liana__known_fetch_by(liana__remote *remote, liana_context *context, const liana__known_file *file,
                                   const liana__notes *notes, liana__arena *arena, const char **path,
                                   liana__error *error)
{
    LIANA__SCOPED(fetch) own = {.remote = remote, .context = context, .file = file, .notes = notes, .part = -1};
    LIANA_TRY(liana__known_place_find(file, arena, &own.place, error));
    *path = own.place.path;
    if (liana__file_exists(own.place.path)) return check_here(&own, error);
    LIANA_TRY(bring(&own, error));
    if (context)
        liana__log(context, LIANA__LOG_DATA, "%s: fetched from %s to %s", file->name, own.place.url, own.place.path);
    return LIANA_OK;
}

/* ---- with notes only ---- */

typedef struct teller {
    liana_context *context;
    const liana__known_file *file;
    const liana__notes *notes;
    double told; /* seconds of the fetch */
} teller;

static bool tell_progress(void *user, const liana__remote_progress *progress)
{
    teller *own = user;
    if (progress->seconds >= own->told + SECONDS_BETWEEN_NOTES) {
        own->told = progress->seconds;
        liana__note(own->notes, "%s: %s", own->file->name, liana__remote_progress_line(progress).text);
    }
    return !own->context || !liana__waiting_stops(own->context);
}

liana_status liana__known_fetch(liana_context *context, const liana__known_file *file, const liana__notes *notes,
                                liana__arena *arena, const char **path, liana__error *error)
{
    teller own = {context, file, notes, 0};
    LIANA__SCOPED_BY(liana__remote_destroy_scoped) liana__remote *remote = NULL;
    LIANA_TRY(liana__remote_create(&(liana__remote_options){.progress = tell_progress, .user = &own}, &remote, error));
    return liana__known_fetch_by(remote, context, file, notes, arena, path, error);
}
