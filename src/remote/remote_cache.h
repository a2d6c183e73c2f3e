/* cache.h - the cache of remote files: a folder with copies of them.
 *
 *   CACHE/files/ID          a complete file; ID is a hash of URL, version and length
 *   CACHE/files/ID.part     a file that is being fetched
 *   CACHE/files/ID.pieces   its pieces that have arrived, with their checksums (fetch.c)
 *   CACHE/views/NAME/...    the view of one liana__remote: links with the names of URLs
 *   CACHE/lock              an empty file. Each of its bytes stands for a file or a view: a user holds a read lock on
 *                           the byte; a process that fetches the file holds a write lock on the next byte
 *
 * The time of a file's last change is when it was used last. */
#ifndef LIANA_REMOTE_REMOTE_CACHE_H
#define LIANA_REMOTE_REMOTE_CACHE_H

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__remote_cache {
    const char *folder; /* absolute */
    const char *files;
    const char *view; /* without a '/' at the end */
    uint64_t limit;   /* bytes; 0: as much as the file system has */
    int lock;         /* a descriptor, or -1 */
    uint64_t *used;   /* bytes of the lock file on which this cache holds read locks, sorted */
    size_t num_used;
    size_t used_capacity;
} liana__remote_cache;

typedef struct liana__remote_cache_id {
    char text[33];
} liana__remote_cache_id;

/* Makes folder and view, and removes views that processes left behind. The strings are in the arena.
 * Errors: IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__remote_cache_open(liana__remote_cache *cache, const char *folder, uint64_t limit,
                                      liana__arena *arena, liana__error *error) LIANA_MUST_USE;
/* Removes the view and ends all locks. */
void liana__remote_cache_close(liana__remote_cache *cache);

liana__remote_cache_id liana__remote_cache_id_of(const char *url, const char *version, uint64_t size);
/* "CACHE/files/ID" with a suffix. In the arena. */
const char *liana__remote_cache_path(const liana__remote_cache *cache, const liana__remote_cache_id *id,
                                     const char *suffix, liana__arena *arena);

/* From now on the file is not removed by anybody. */
liana_status liana__remote_cache_use(liana__remote_cache *cache, const liana__remote_cache_id *id, liana__error *error)
    LIANA_MUST_USE;
/* Whether the file is there whole; then this is its last use. */
bool liana__remote_cache_has(const liana__remote_cache *cache, const liana__remote_cache_id *id, uint64_t size,
                             liana__arena *arena);

/* Takes the right to fetch the file, if nobody has it. */
liana_status liana__remote_cache_claim(liana__remote_cache *cache, const liana__remote_cache_id *id, bool *claimed,
                                       liana__error *error) LIANA_MUST_USE;
void liana__remote_cache_release(liana__remote_cache *cache, const liana__remote_cache_id *id);

/* Makes room for that number of bytes more: removes the files that were used longest ago and are in nobody's use, until
 * all are within the limit. Errors: OUT_OF_RANGE (there is not enough to remove), IO_ERROR. */
liana_status liana__remote_cache_make_room(liana__remote_cache *cache, uint64_t bytes, liana__error *error)
    LIANA_MUST_USE;

/* Shows the file as VIEW/name. */
liana_status liana__remote_cache_show(liana__remote_cache *cache, const liana__remote_cache_id *id, const char *name,
                                      liana__arena *arena, const char **path, liana__error *error) LIANA_MUST_USE;

#endif
