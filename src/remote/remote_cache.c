/* Keeps copies of remote files in a folder that processes share. */
#include "remote/remote_cache.h"

#include "base/descriptor.h"
#include "base/file.h"
#include "base/scoped.h"
#include "base/text.h"
#include "remote/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static liana_status fail_cache(liana__error *error, const char *what, const char *path)
{
    return liana__fail(error, LIANA_IO_ERROR,
                       "cannot %s '%s': %s; remote files are kept there (data.remote_cache, LIANA_CACHE)", what, path,
                       strerror(errno));
}

/* ---- locks ---- */

/* The byte of a name: even, so that the next byte is free for the other lock. If two names share a byte, a file only
 * counts as used a little too often. */
static uint64_t byte_of(const char *name)
{
    uint8_t digest[32];
    unsigned size = sizeof digest;
    uint64_t byte = 0;
    EVP_Digest(name, strlen(name), digest, &size, EVP_sha256(), NULL);
    for (int i = 0; i < 8; i++) byte = byte << 8 | digest[i];
    return (byte >> 2) << 1;
}

static bool lock_byte(const liana__remote_cache *cache, uint64_t byte, short kind)
{
    struct flock range = {.l_type = kind, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
    return fcntl(cache->lock, F_OFD_SETLK, &range) == 0;
}

static bool is_taken(int code)
{
    return code == EAGAIN || code == EACCES;
}

static size_t find_used(const liana__remote_cache *cache, uint64_t byte)
{
    size_t low = 0, high = cache->num_used;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cache->used[middle] < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool uses(const liana__remote_cache *cache, uint64_t byte)
{
    size_t at = find_used(cache, byte);
    return at < cache->num_used && cache->used[at] == byte;
}

/* A process that removes a file holds its lock for a moment. */
static liana_status use_byte(liana__remote_cache *cache, uint64_t byte, liana__error *error)
{
    if (uses(cache, byte)) return LIANA_OK;
    if (!liana__grow(&cache->used, cache->num_used, &cache->used_capacity, sizeof *cache->used)) {
        return liana__fail_memory(error, "the cache of remote files");
    }
    for (int i = 0; !lock_byte(cache, byte, F_RDLCK); i++) {
        if (!is_taken(errno) || i == 5000) return fail_cache(error, "lock a byte of", cache->folder);
        usleep(2000);
    }
    size_t at = find_used(cache, byte);
    memmove(cache->used + at + 1, cache->used + at, (cache->num_used - at) * sizeof *cache->used);
    cache->used[at] = byte;
    cache->num_used++;
    return LIANA_OK;
}

liana_status liana__remote_cache_use(liana__remote_cache *cache, const liana__remote_cache_id *id, liana__error *error)
{
    return use_byte(cache, byte_of(id->text), error);
}

liana_status liana__remote_cache_claim(liana__remote_cache *cache, const liana__remote_cache_id *id, bool *claimed,
                                       liana__error *error)
{
    *claimed = lock_byte(cache, byte_of(id->text) + 1, F_WRLCK);
    return *claimed || is_taken(errno) ? LIANA_OK : fail_cache(error, "lock a byte of", cache->folder);
}

void liana__remote_cache_release(liana__remote_cache *cache, const liana__remote_cache_id *id)
{
    lock_byte(cache, byte_of(id->text) + 1, F_UNLCK);
}

/* ---- folders ---- */

/* A view that nobody has locked belonged to a process that is gone. */
static void remove_old_views(const liana__remote_cache *cache, const char *views)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__paths names;
    if (liana__folder_list(views, &arena, &names, NULL) != LIANA_OK) names.count = 0;
    for (size_t i = 0; i < names.count; i++) {
        uint64_t byte = byte_of(names.items[i]);
        if (!lock_byte(cache, byte, F_WRLCK)) continue;
        const char *path = liana__path_join(&arena, views, names.items[i]);
        if (path) (void)!liana__folder_remove(path, NULL);
        lock_byte(cache, byte, F_UNLCK);
    }
}

static liana_status make_view(liana__remote_cache *cache, const char *views, liana__arena *arena, liana__error *error)
{
    remove_old_views(cache, views);
    uint64_t chance;
    if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return fail_cache(error, "name a view in", views);
    const char *name = liana__arena_format(arena, "%016llx", (unsigned long long)chance);
    const char *view = name ? liana__path_join(arena, views, name) : NULL;
    if (!view) return liana__fail_memory(error, "the cache of remote files");
    LIANA_TRY(use_byte(cache, byte_of(name), error));
    LIANA_TRY(liana__folder_make(view, error));
    cache->view = view;
    return LIANA_OK;
}

liana_status liana__remote_cache_open(liana__remote_cache *cache, const char *folder, uint64_t limit,
                                      liana__arena *arena, liana__error *error)
{
    *cache = (liana__remote_cache){.limit = limit, .lock = -1};
    liana_status status = liana__folder_make(folder, error);
    if (status != LIANA_OK)
        return liana__fail_within(error, "the cache of remote files (data.remote_cache, LIANA_CACHE)");
    char *real = realpath(folder, NULL);
    if (!real) return fail_cache(error, "open", folder);
    cache->folder = liana__arena_string(arena, real);
    free(real);
    cache->files = liana__arena_format(arena, "%s/files", cache->folder);
    const char *views = liana__arena_format(arena, "%s/views", cache->folder);
    const char *lock = liana__arena_format(arena, "%s/lock", cache->folder);
    if (arena->failed) return liana__fail_memory(error, "the cache of remote files");
    LIANA_TRY(liana__folder_make(cache->files, error));
    LIANA_TRY(liana__folder_make(views, error));
    cache->lock = liana__open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (cache->lock < 0) return fail_cache(error, "open", lock);
    return make_view(cache, views, arena, error);
}

void liana__remote_cache_close(liana__remote_cache *cache)
{
    if (cache->view) (void)!liana__folder_remove(cache->view, NULL);
    if (cache->folder && cache->lock >= 0) close(cache->lock);
    free(cache->used);
    *cache = (liana__remote_cache){.lock = -1};
}

/* ---- files ---- */

liana__remote_cache_id liana__remote_cache_id_of(const char *url, const char *version, uint64_t size)
{
    liana__remote_cache_id id = {""};
    uint8_t digest[32];
    unsigned length = sizeof digest;
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "%s\n%s\n%llu", url, version, (unsigned long long)size);
    EVP_Digest(text.data ? text.data : "", text.length, digest, &length, EVP_sha256(), NULL);
    for (int i = 0; i < 16; i++) snprintf(id.text + 2 * i, 3, "%02x", digest[i]);
    return id;
}

const char *liana__remote_cache_path(const liana__remote_cache *cache, const liana__remote_cache_id *id,
                                     const char *suffix, liana__arena *arena)
{
    return liana__arena_format(arena, "%s/%s%s", cache->files, id->text, suffix);
}

bool liana__remote_cache_has(const liana__remote_cache *cache, const liana__remote_cache_id *id, uint64_t size,
                             liana__arena *arena)
{
    const char *path = liana__remote_cache_path(cache, id, "", arena);
    struct stat info;
    if (!path || stat(path, &info) != 0 || !S_ISREG(info.st_mode) || (uint64_t)info.st_size != size) return false;
    utimensat(AT_FDCWD, path, NULL, 0);
    return true;
}

/* ---- room ---- */

typedef struct kept_file {
    const char *name; /* of the file, or of its part */
    uint64_t bytes;
    struct timespec used;
} kept_file;

static int compare_use(const void *a, const void *b)
{
    const struct timespec *x = &((const kept_file *)a)->used, *y = &((const kept_file *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static liana_status list_files(const liana__remote_cache *cache, liana__arena *arena, kept_file **files, size_t *count,
                               uint64_t *total, liana__error *error)
{
    liana__paths names;
    LIANA_TRY(liana__folder_list(cache->files, arena, &names, error));
    *files = liana__arena_allocate(arena, (names.count + 1) * sizeof **files);
    *count = 0;
    *total = 0;
    for (size_t i = 0; *files && i < names.count; i++) {
        const char *path = liana__path_join(arena, cache->files, names.items[i]);
        struct stat info;
        if (!path || stat(path, &info) != 0) continue;
        kept_file file = {names.items[i], (uint64_t)info.st_blocks * 512, info.st_mtim};
        *total += file.bytes;
        (*files)[(*count)++] = file;
    }
    return arena->failed ? liana__fail_memory(error, "the cache of remote files") : LIANA_OK;
}

/* Removes a file that nobody uses, whole or in part. */
static void remove_unused(const liana__remote_cache *cache, const kept_file *file, liana__arena *arena, uint64_t *total)
{
    liana__remote_cache_id id;
    snprintf(id.text, sizeof id.text, "%.32s", file->name);
    uint64_t byte = byte_of(id.text);
    if (uses(cache, byte) || !lock_byte(cache, byte, F_WRLCK)) return;
    const char *path = liana__path_join(arena, cache->files, file->name);
    if (path && unlink(path) == 0) *total -= file->bytes;
    lock_byte(cache, byte, F_UNLCK);
}

liana_status liana__remote_cache_make_room(liana__remote_cache *cache, uint64_t bytes, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    kept_file *files;
    size_t count;
    uint64_t total, limit = cache->limit;
    struct statvfs system;
    LIANA_TRY(list_files(cache, &arena, &files, &count, &total, error));
    if (statvfs(cache->files, &system) != 0) return fail_cache(error, "ask about", cache->files);
    if (!limit) limit = total + (uint64_t)system.f_bavail * system.f_frsize / 10 * 9;
    if (bytes <= limit && total <= limit - bytes) return LIANA_OK;
    qsort(files, count, sizeof *files, compare_use);
    for (size_t i = 0; i < count && (bytes > limit || total > limit - bytes); i++) {
        remove_unused(cache, &files[i], &arena, &total);
    }
    if (bytes <= limit && total <= limit - bytes) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "the remote files take %.1f MiB, but '%s' may hold %.1f MiB, of which %.1f MiB are in "
                       "use; %s, or set another folder (data.remote_cache, LIANA_CACHE)",
                       (double)bytes / 0x1p20, cache->folder, (double)limit / 0x1p20, (double)total / 0x1p20,
                       cache->limit ? "raise data.remote_cache_limit" : "free some space on its disk");
}

/* ---- the view ---- */

static bool has_part(const char *name, const char *part)
{
    size_t length = strlen(part);
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, part, length) == 0 && (at[length] == '/' || !at[length])) return true;
    }
    return false;
}

static liana_status fail_show(const char *name, const char *why, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s' cannot become the name of a local file: %s", name, why);
}

liana_status liana__remote_cache_show(liana__remote_cache *cache, const liana__remote_cache_id *id, const char *name,
                                      liana__arena *arena, const char **path, liana__error *error)
{
    if (has_part(name, ".") || has_part(name, "..")) return fail_show(name, "it has '.' or '..' in it", error);
    const char *link = liana__arena_format(arena, "%s/%s", cache->view, name);
    const char *target = liana__remote_cache_path(cache, id, "", arena);
    const char *folder = link ? liana__path_folder(arena, link) : NULL;
    if (!folder || !target) return liana__fail_memory(error, name);
    liana__error reason = {0};
    if (liana__folder_make(folder, &reason) != LIANA_OK) return fail_show(name, reason.message, error);
    *path = link;
    if (symlink(target, link) == 0) return LIANA_OK;
    char *there = errno == EEXIST ? realpath(link, NULL) : NULL;
    bool same = there && strcmp(there, target) == 0;
    free(there);
    if (same) return LIANA_OK;
    /* A name that was resolved before, when the server had another version. */
    if (errno == EEXIST || access(link, F_OK) == 0) {
        return liana__fail(error, LIANA_DATA_LOSS,
                           "'%s' changed on its server while it was in use; run again with the new version", name);
    }
    return fail_show(name, strerror(errno), error);
}
