/* cache.h - the cache of remote files: a folder with copies of them.
 *
 *   CACHE/files/ID          a complete file; ID is a hash of URL, version and length
 *   CACHE/files/ID.part     a file that is being fetched
 *   CACHE/files/ID.pieces   its pieces that have arrived, with their checksums (fetch.c)
 *   CACHE/views/NAME/...    the view of one liana__remote: links with the names of URLs
 *   CACHE/lock              an empty file. Each of its bytes stands for a file or a view: a user holds a read lock on
 *                           the byte; a process that fetches the file holds a write lock on the next byte
 *
 * The time of a file's last change is the time of its last use. */
#ifndef LIANA_REMOTE_CACHE_H
#define LIANA_REMOTE_CACHE_H

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__cache {
    const char *folder; /* absolute */
    const char *files;
    const char *view; /* without a '/' at the end */
    uint64_t limit;   /* bytes; 0: as much as the file system has */
    int lock;         /* a descriptor, or -1 */
    uint64_t *used;   /* bytes of the lock file on which this cache holds read locks, sorted */
    size_t num_used;
    size_t used_capacity;
} liana__cache;

typedef struct liana__cache_id {
    char text[33];
} liana__cache_id;

/* Makes the folder and a view, and removes views that other processes have left. The strings are in the arena. Errors:
 * IO_ERROR, OUT_OF_MEMORY. */
liana_status liana__cache_open(liana__cache *cache, const char *folder, uint64_t limit, liana__arena *arena,
                               liana__error *error) LIANA_MUST_USE;
/* Removes the view and releases all locks. */
void liana__cache_close(liana__cache *cache);

liana__cache_id liana__cache_id_of(const char *url, const char *version, uint64_t size);
/* "CACHE/files/ID" with a suffix. In the arena. */
const char *liana__cache_path(const liana__cache *cache, const liana__cache_id *id, const char *suffix,
                              liana__arena *arena);

/* Marks the file as used: from now on nobody removes it. */
liana_status liana__cache_use(liana__cache *cache, const liana__cache_id *id, liana__error *error) LIANA_MUST_USE;
/* Whether the complete file is there. If so, this counts as its last use. */
bool liana__cache_has(const liana__cache *cache, const liana__cache_id *id, uint64_t size, liana__arena *arena);

/* Takes the right to fetch the file, unless another process has it. */
liana_status liana__cache_claim(liana__cache *cache, const liana__cache_id *id, bool *claimed, liana__error *error)
    LIANA_MUST_USE;
void liana__cache_release(liana__cache *cache, const liana__cache_id *id);

/* Makes room for `bytes` more: removes the least recently used files that nobody uses, until all is within the limit.
 * Errors: OUT_OF_RANGE (there is not enough to remove), IO_ERROR. */
liana_status liana__cache_make_room(liana__cache *cache, uint64_t bytes, liana__error *error) LIANA_MUST_USE;

/* Makes the file visible as VIEW/name. */
liana_status liana__cache_show(liana__cache *cache, const liana__cache_id *id, const char *name, liana__arena *arena,
                               const char **path, liana__error *error) LIANA_MUST_USE;

#endif
