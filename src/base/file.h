/* file.h - whole files, atomic replacement, folders and patterns. */
#ifndef LIANA_BASE_FILE_H
#define LIANA_BASE_FILE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/memory_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file mapped read-only into memory. `data` is NULL for an empty file. A file that is replaced by another or removed
 * stays what it was here. One that is shortened does not: its pages are gone, and touching them ends the process with
 * SIGBUS, as a disk that cannot be read does. */
typedef struct liana__mapping {
    const uint8_t *data;
    size_t size;
    uint64_t device; /* which file it is */
    uint64_t inode;
} liana__mapping;

/* Errors: NOT_FOUND, IO_ERROR (each names the path and says why). */
liana_status liana__file_map(const char *path, liana__mapping *mapping, liana__error *error) LIANA_MUST_USE;
void liana__file_unmap(liana__mapping *mapping);
/* Asks the file system whether the file at `path`, if it is still the one that was mapped, has become shorter: a
 * DATA_LOSS. For files that stay mapped while others may write to them; one system call, before the bytes are read. */
liana_status liana__mapping_check(const liana__mapping *mapping, const char *path, liana__error *error) LIANA_MUST_USE;

/* Has the system fetch bytes of a mapped file, or a file, from the disk, as they will be read soon; returns at once. */
void liana__mapping_expect(const liana__mapping *mapping, size_t offset, size_t size);
void liana__file_expect(const char *path);

/* Copies bytes of a mapping. Where they are gone because the file became shorter, before or during the copy, this is a
 * DATA_LOSS, and where the disk cannot be read an IO_ERROR: no SIGBUS. Costs a system call. */
liana_status liana__mapping_copy(const liana__mapping *mapping, const char *path, size_t offset, void *to, size_t size,
                                 liana__error *error) LIANA_MUST_USE;
/* The same without asking first whether the file became shorter: a cut within the last page reads as zeros. For those
 * who copy many small pieces and ask at the end (liana__mapping_check). */
liana_status liana__mapping_copy_quick(const liana__mapping *mapping, const char *path, size_t offset, void *to,
                                       size_t size, liana__error *error) LIANA_MUST_USE;

/* The mapped file itself, opened for reading; -1 where that cannot be, or another one is at its path by now. */
int liana__mapping_open(const liana__mapping *mapping, const char *path);
/* Reads [offset, offset + size) of an open file; false where it ends before or its disk does not answer. */
bool liana__file_read_at(int descriptor, size_t offset, void *to, size_t size) LIANA_MUST_USE;

/* Reads a whole file into malloc'ed memory, with a 0 byte appended that *size does not count.
 * Refuses files above `limit` bytes with OUT_OF_RANGE. */
liana_status liana__file_read(const char *path, size_t limit, char **data, size_t *size, liana__error *error)
    LIANA_MUST_USE;

/* The first bytes of a file: *size are `most`, or all that it has. Errors: NOT_FOUND, IO_ERROR. */
liana_status liana__file_read_head(const char *path, void *head, size_t most, size_t *size, liana__error *error)
    LIANA_MUST_USE;

/* The whole file into malloc'ed memory that is kept from file to file, and made larger where a file needs it.
 * Zero-initialise; free with liana__file_buffer_free, or hand `bytes` on to be freed. */
typedef struct liana__file_buffer {
    char *bytes;
    size_t size; /* of the file, without the 0 byte */
    size_t capacity;
    liana__memory_share *share; /* that the memory is taken from; NULL: without a bound */
} liana__file_buffer;
/* Makes room for `size` bytes; the former contents are lost. `what` is for the message. Errors: OUT_OF_MEMORY. */
liana_status liana__file_buffer_reserve(liana__file_buffer *buffer, size_t size, const char *what, liana__error *error)
    LIANA_MUST_USE;
/* Frees the bytes; the share stays. */
void liana__file_buffer_free(liana__file_buffer *buffer);
liana_status liana__file_read_into(const char *path, size_t limit, liana__file_buffer *buffer, liana__error *error)
    LIANA_MUST_USE;

/* Replaces the file at `path` or leaves it untouched: writes `path`.tmp, syncs it, renames it, syncs the folder.
 * After a power cut there is the old file or the new one, never half of either. A link stays: the file that it leads to
 * is replaced. Devices, pipes and /dev/stdout are written to and stay what they are (base/file_target.h). */
liana_status liana__file_replace(const char *path, const void *data, size_t size, liana__error *error) LIANA_MUST_USE;

/* The same for contents written piece by piece: liana__file_begin, liana__file_write any number of times, then
 * liana__file_commit, or liana__file_abandon after a failure. With `durable` false nothing is synced. */
typedef struct liana__file_writer {
    int descriptor;
    char *path;      /* as it was given, for messages */
    char *target;    /* what its links lead to */
    char *temporary; /* becomes the target; NULL: the bytes go straight there */
} liana__file_writer;
liana_status liana__file_begin(liana__file_writer *writer, const char *path, liana__error *error) LIANA_MUST_USE;
liana_status liana__file_write(liana__file_writer *writer, const void *data, size_t size, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__file_commit(liana__file_writer *writer, bool durable, liana__error *error) LIANA_MUST_USE;
void liana__file_abandon(liana__file_writer *writer);

/* Makes a folder and its parents; one that exists is fine. */
liana_status liana__folder_make(const char *path, liana__error *error) LIANA_MUST_USE;
/* Syncs a folder, so that renames in it survive a power cut. */
liana_status liana__folder_sync(const char *path, liana__error *error) LIANA_MUST_USE;
/* Renames a folder that was written and synced, and syncs the folder that holds it. */
liana_status liana__folder_rename(const char *from, const char *to, liana__error *error) LIANA_MUST_USE;
/* Removes a folder with the files and folders in it; a missing one is fine. */
liana_status liana__folder_remove(const char *path, liana__error *error) LIANA_MUST_USE;

/* A sorted list of paths in an arena. */
typedef struct liana__paths {
    char **items;
    size_t count;
} liana__paths;

/* The files that match a shell pattern (*, ?, [...]), in byte order. A pattern that matches nothing is NOT_FOUND. */
liana_status liana__file_match(const char *pattern, liana__arena *arena, liana__paths *paths, liana__error *error)
    LIANA_MUST_USE;
/* The names in a folder (not "." and ".."), in byte order. */
liana_status liana__folder_list(const char *path, liana__arena *arena, liana__paths *names, liana__error *error)
    LIANA_MUST_USE;

/* Whether a name is a URL ("gs://bucket/file"), not a path. What a URL names is made a local file first (src/remote).
 */
bool liana__path_is_remote(const char *path);
/* A name as it may be written down and shown: the query of a https:// URL, which may be a signature, is replaced with
 * "REDACTED". `path` itself where there is none, else in the arena; NULL when memory ran out. */
const char *liana__path_shown(liana__arena *arena, const char *path);
/* `path` if it is absolute or a URL, else `folder`/`path` ("" and NULL folders count as the current one). In the arena.
 */
char *liana__path_join(liana__arena *arena, const char *folder, const char *path);
/* The folder part of a path, "." if there is none. In the arena. */
char *liana__path_folder(liana__arena *arena, const char *path);
/* The part after the last '/'. Borrowed from `path`. */
const char *liana__path_name(const char *path);
bool liana__file_exists(const char *path);
bool liana__folder_exists(const char *path);

#endif
