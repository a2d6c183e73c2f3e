/* file.h - reading whole files, replacing them atomically, folders and patterns. */
#ifndef LIANA_BASE_FILE_H
#define LIANA_BASE_FILE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/memory_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of a file: another file in its place has another one, and so has the file after it was written to. */
typedef struct liana__file_version {
    uint64_t device; /* identifies the file, with inode */
    uint64_t inode;
    int64_t size;
    int64_t time; /* of the last change, in nanoseconds since 1970 */
} liana__file_version;

/* False: there is no such file, or it cannot be reached. */
bool liana__file_version_find(const char *path, liana__file_version *version) LIANA_MUST_USE;

/* A file mapped read-only into memory. `data` is NULL for an empty file. The mapping stays valid if the file is removed
 * or replaced by another. It does not if the file is shortened: touching the missing pages ends the process with
 * SIGBUS, as does a disk that cannot be read. So bytes of a mapping are copied by liana__mapping_copy or a file view,
 * never read in place. */
typedef struct liana__mapping {
    const uint8_t *data;
    size_t size;
    liana__file_version version; /* when it was mapped */
} liana__mapping;

/* Errors: NOT_FOUND, IO_ERROR (each names the path and says why). */
liana_status liana__file_map(const char *path, liana__mapping *mapping, liana__error *error) LIANA_MUST_USE;
void liana__file_unmap(liana__mapping *mapping);
/* Fails with DATA_LOSS if the file at `path` is still the mapped one and has become shorter, or was written to. For
 * files that stay mapped while others may write to them. Costs one system call, before the bytes are read. */
liana_status liana__mapping_check(const liana__mapping *mapping, const char *path, liana__error *error) LIANA_MUST_USE;

/* Asks the system to fetch bytes of a mapped file, or a file, from the disk, since they will be read soon. Does not
 * wait. */
void liana__mapping_expect(const liana__mapping *mapping, size_t offset, size_t size);
void liana__file_expect(const char *path);

/* Copies bytes of a mapping without the danger of SIGBUS. If the file became shorter, before or during the copy, the
 * bytes are missing: DATA_LOSS. If the disk cannot be read: IO_ERROR. Costs a system call. */
liana_status liana__mapping_copy(const liana__mapping *mapping, const char *path, size_t offset, void *to, size_t size,
                                 liana__error *error) LIANA_MUST_USE;
/* The same without checking first whether the file became shorter: a cut within the last page then reads as zeros. For
 * many small copies, with one check at the end (liana__mapping_check). */
liana_status liana__mapping_copy_quick(const liana__mapping *mapping, const char *path, size_t offset, void *to,
                                       size_t size, liana__error *error) LIANA_MUST_USE;

/* Opens the mapped file for reading. -1: it cannot be opened, or another file is at its path now. */
int liana__mapping_open(const liana__mapping *mapping, const char *path);
/* Opens a regular file for reading; *version is its version now. Errors: NOT_FOUND, IO_ERROR. */
liana_status liana__file_open(const char *path, int *descriptor, liana__file_version *version, liana__error *error)
    LIANA_MUST_USE;
/* Reads [offset, offset + size) of an open file. False: the file ends before, or the disk cannot be read. */
bool liana__file_read_at(int descriptor, size_t offset, void *to, size_t size) LIANA_MUST_USE;

/* Fails with DATA_LOSS if an open file is not `before` any more (NULL: nothing is known of it): it is another one, or
 * it was written to. `path` is for the message. */
liana_status liana__file_check_version(const char *path, int descriptor, const liana__file_version *before,
                                       liana__error *error) LIANA_MUST_USE;

/* Reads a whole file into malloc'ed memory, and appends a 0 byte that *size does not count. Fails with OUT_OF_RANGE for
 * files above `limit` bytes. */
liana_status liana__file_read(const char *path, size_t limit, char **data, size_t *size, liana__error *error)
    LIANA_MUST_USE;

/* Reads the first bytes of a file: *size is `most`, or less if the file is smaller. Errors: NOT_FOUND, IO_ERROR. */
liana_status liana__file_read_head(const char *path, void *head, size_t most, size_t *size, liana__error *error)
    LIANA_MUST_USE;

/* A buffer for whole files, kept from file to file. It grows if a file needs it. Zero-initialise; free with
 * liana__file_buffer_free, or pass `bytes` on to be freed. */
typedef struct liana__file_buffer {
    char *bytes;
    size_t size; /* of the file, without the 0 byte */
    size_t capacity;
    liana__memory_share *share; /* the memory counts for this share; NULL: no limit */
} liana__file_buffer;
/* Makes room for `size` bytes; the previous contents are lost. `what` names the file in the message. Errors:
 * OUT_OF_MEMORY. */
liana_status liana__file_buffer_reserve(liana__file_buffer *buffer, size_t size, const char *what, liana__error *error)
    LIANA_MUST_USE;
/* Frees the bytes. The share stays. */
void liana__file_buffer_free(liana__file_buffer *buffer);
/* Reads a whole file into the buffer. `before` is the version of the file when it was found (NULL: not known).
 * Another file in its place, and one that was written to since, are DATA_LOSS. */
liana_status liana__file_read_again(const char *path, const liana__file_version *before, size_t limit,
                                    liana__file_buffer *buffer, liana__error *error) LIANA_MUST_USE;
/* Copies bytes of a mapping into the buffer, as liana__mapping_copy does. */
liana_status liana__mapping_read(const liana__mapping *mapping, const char *path, size_t offset, size_t size,
                                 liana__file_buffer *buffer, liana__error *error) LIANA_MUST_USE;

/* Replaces the file at `path`, or leaves it as it is: writes `path`.tmp, syncs it, renames it, syncs the folder. After
 * a power cut there is the old file or the new one, never a part. If `path` is a link, the file that it leads to is
 * replaced. Devices, pipes and /dev/stdout are written to as they are (base/file_target.h). */
liana_status liana__file_replace(const char *path, const void *data, size_t size, liana__error *error) LIANA_MUST_USE;

/* The same for contents written in pieces: liana__file_begin, any number of liana__file_write, then liana__file_commit,
 * or liana__file_abandon after a failure. With `durable` false nothing is synced. */
typedef struct liana__file_writer {
    int descriptor;
    char *path;      /* as it was given, for messages */
    char *target;    /* the file that the links of `path` lead to */
    char *temporary; /* renamed to the target at the end; NULL: bytes are written to the target directly */
} liana__file_writer;
liana_status liana__file_begin(liana__file_writer *writer, const char *path, liana__error *error) LIANA_MUST_USE;
liana_status liana__file_write(liana__file_writer *writer, const void *data, size_t size, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__file_commit(liana__file_writer *writer, bool durable, liana__error *error) LIANA_MUST_USE;
void liana__file_abandon(liana__file_writer *writer);

/* Makes a folder and its parents. It may exist already. */
liana_status liana__folder_make(const char *path, liana__error *error) LIANA_MUST_USE;
/* The same in a folder that must be there. */
liana_status liana__folder_make_in(const char *path, liana__error *error) LIANA_MUST_USE;
/* Whether a path's link leads somewhere. True if it is no link. Errors: NOT_FOUND, with the fault of the link. */
liana_status liana__link_check(const char *path, liana__error *error) LIANA_MUST_USE;

/* Syncs a folder, so that renames in it survive a power cut. */
liana_status liana__folder_sync(const char *path, liana__error *error) LIANA_MUST_USE;
/* Renames a folder that was written and synced. Syncs its parent folder. */
liana_status liana__folder_rename(const char *from, const char *to, liana__error *error) LIANA_MUST_USE;
/* Exchanges two folders, of which `from` was written and synced. In one step where the system can; otherwise a crash
 * may leave `to` missing. Syncs its parent folder. */
liana_status liana__folder_exchange(const char *from, const char *to, liana__error *error) LIANA_MUST_USE;
/* Removes a folder and everything in it. It may be missing. */
liana_status liana__folder_remove(const char *path, liana__error *error) LIANA_MUST_USE;

/* A sorted list of paths in an arena. */
typedef struct liana__paths {
    char **items;
    size_t count;
} liana__paths;

/* Lists the files that match a shell pattern (*, ?, [...]), in byte order. NOT_FOUND if there are none. */
liana_status liana__file_match(const char *pattern, liana__arena *arena, liana__paths *paths, liana__error *error)
    LIANA_MUST_USE;
/* Lists the names in a folder (without "." and ".."), in byte order. */
liana_status liana__folder_list(const char *path, liana__arena *arena, liana__paths *names, liana__error *error)
    LIANA_MUST_USE;

/* Whether a name is a URL ("gs://bucket/file"), not a path. src/remote makes local files of URLs. */
bool liana__path_is_remote(const char *path);
/* A name in the form that may be written and shown: in the query of a https:// URL, which may be a signature,
 * "REDACTED" takes the place of everything. `path` itself if there is no query, else in the arena; NULL: out of
 * memory. */
const char *liana__path_shown(liana__arena *arena, const char *path);
/* `path` if it is absolute or a URL, else `folder`/`path` ("" and NULL: the current folder). In the arena. */
char *liana__path_join(liana__arena *arena, const char *folder, const char *path);
/* The folder part of a path, "." if there is none. In the arena. */
char *liana__path_folder(liana__arena *arena, const char *path);
/* The part after the last '/'. Borrowed from `path`. */
const char *liana__path_name(const char *path);
bool liana__file_exists(const char *path);
bool liana__folder_exists(const char *path);

/* The folder for files that can be made again - copies of remote files, compiled programs: LIANA_CACHE, else liana in
 * XDG_CACHE_HOME, else ~/.cache/liana. In the arena, or the environment's. NULL: HOME is not set either, or
 * arena->failed. It need not be there. */
const char *liana__cache_folder(liana__arena *arena);

#endif
