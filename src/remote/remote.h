/* remote.h - files on servers: names with https://, gs:// and s3:// become local paths.
 *
 * A remote file is fetched whole into a cache on disk, in pieces and in parallel. From then on it is a local file,
 * which every reader maps like any other. A liana__remote gives paths in a folder of its own, its view. Links in the
 * view stand for files of the cache. Their paths end as the URLs do, "CACHE/views/3f/gs://bucket/a/b.tfrec". So file
 * names, suffixes and folders mean the same as in the URL, and messages show the end of the path. Files in the view
 * stay in the cache until the liana__remote is destroyed.
 *
 * A file in the cache is named by URL, version and length. So a file that changed on its server is another file in the
 * cache. Each time a name is resolved, the server is asked for the version.
 *
 * One thread at a time. Processes may share a cache: locks on one of its files (OFD locks, which end with the process)
 * show which process fetches which file, and which files are in use. */
#ifndef LIANA_REMOTE_REMOTE_H
#define LIANA_REMOTE_REMOTE_H

#include "base/file.h"

typedef struct liana__remote liana__remote;

/* The progress of a fetch. Bytes count all files of the call, with the parts that were already in the cache. */
typedef struct liana__remote_progress {
    size_t files;
    size_t files_done;
    uint64_t bytes;
    uint64_t bytes_done;
    double seconds;         /* since the call began to fetch */
    uint64_t bytes_fetched; /* in that time */
} liana__remote_progress;

/* "remote files: 3 of 12, 120.0 of 900.0 MiB, 45.2 MiB/s, 17 s left" */
typedef struct liana__remote_line {
    char text[128];
} liana__remote_line;
liana__remote_line liana__remote_progress_line(const liana__remote_progress *progress);

/* Zero or NULL: the default. */
typedef struct liana__remote_options {
    const char *cache_folder; /* LIANA_CACHE, else liana in XDG_CACHE_HOME, else ~/.cache/liana */
    uint64_t cache_limit;     /* bytes on disk; default: the present size plus 9/10 of the free space */
    int connections;          /* at the same time; 8 */
    uint64_t piece_size;      /* bytes of one request; 8 MiB */
    int max_attempts;         /* of one request; 6 */
    int first_delay;          /* milliseconds before the second attempt; doubles with each attempt; 500 */
    int stall_seconds;        /* seconds with less than 1 KiB/s after which an attempt ends; 30 */
    uint64_t seed;            /* of the delays' jitter */
    /* Asked about once a second during requests other than fetches. False ends them with CANCELLED. NULL: they end by
     * themselves. */
    bool (*goes_on)(void *user);
    bool writes; /* objects will be written: tokens are requested for that as well */
    /* Called a few times a second while files are fetched, and at the end; never if all are in the cache. If it returns
     * false, the call ends with CANCELLED. */
    bool (*progress)(void *user, const liana__remote_progress *progress);
    void *user;
} liana__remote_options;

/* Creates a liana__remote, which does nothing until the first URL. The options' strings are copied. Errors:
 * OUT_OF_MEMORY. */
liana_status liana__remote_create(const liana__remote_options *options, liana__remote **remote, liana__error *error)
    LIANA_MUST_USE;
void liana__remote_destroy(liana__remote *remote);

/* Resolves names to local paths, in the order of the list. URLs are resolved and fetched, all together. Other names are
 * returned as they are. A URL may be:
 *
 * - a file;
 * - a pattern (*, ?, [...]; only gs:// and s3://): all files that match, in byte order;
 * - a folder (no file, but there are files below it): it is fetched with its files and subfolders.
 *
 * Errors name the URL and say what to do: NOT_FOUND; INVALID_ARGUMENT (an impossible name); IO_ERROR (no connection,
 * access denied, a server's failure); DATA_LOSS (changed meanwhile, wrong length or checksum); OUT_OF_RANGE (more than
 * the cache may hold); INVALID_CONFIG (credentials that cannot be read; no folder for the cache); UNIMPLEMENTED (a
 * build without libcurl). */
liana_status liana__remote_resolve(liana__remote *remote, const char *const *names, size_t count, liana__arena *arena,
                                   liana__paths *paths, liana__error *error) LIANA_MUST_USE;

/* The same for one name, which must be a file (or is not a URL). In the arena. */
liana_status liana__remote_file(liana__remote *remote, const char *name, liana__arena *arena, const char **path,
                                liana__error *error) LIANA_MUST_USE;

/* One of many files, each of which may be missing. */
typedef struct liana__remote_file_of_many {
    const char *name;
    const char *path;    /* the local path; the name itself if it is not a URL */
    liana_status status; /* OK, or why there is no local file */
    const char *reason;
} liana__remote_file_of_many;

/* Resolves many files, fetched together, each of which may fail by itself: an impossible name, a file that is missing
 * or cannot be read, or that differs from its server's facts. Paths and reasons are in the arena. Errors are those of
 * servers, network and cache. */
liana_status liana__remote_files(liana__remote *remote, liana__remote_file_of_many *files, size_t count,
                                 liana__arena *arena, liana__error *error) LIANA_MUST_USE;

/* liana__file_read for a name that may be a URL, with a liana__remote of its own. */
liana_status liana__remote_read(const char *name, const liana__remote_options *options, size_t limit, char **data,
                                size_t *size, liana__error *error) LIANA_MUST_USE;

/* The version of a file of the view, for a name that was resolved; "" for other names. */
typedef struct liana__remote_version {
    char text[40];
} liana__remote_version;
liana__remote_version liana__remote_version_of(const liana__remote *remote, const char *name);

/* The name to show for a path: the URL at its end if it is in a view, else the path. Borrowed from `path`. */
const char *liana__remote_name(const char *path);
/* Replaces the paths of this view in a text by their URLs, in place. NULL: does nothing. */
void liana__remote_clean(const liana__remote *remote, char *text);
/* The same for a message; returns its status. */
liana_status liana__remote_fail_within(const liana__remote *remote, liana__error *error);

#endif
