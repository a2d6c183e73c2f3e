/* remote.h - files on servers: https://, gs:// and s3:// names become local paths.
 *
 * A remote file is fetched whole into a cache on disk, in pieces and in parallel, and is from then on a local file that
 * every reader maps as any other. What a `liana__remote` gives are paths in a folder of its own (its view), in which
 * links stand for the files in the cache; they end as the URL does, "CACHE/views/3f/gs://bucket/a/b.tfrec", so that
 * names of files, suffixes and folders mean what they mean in the URL, and what is shown to people is the end of the
 * path. Files in the view are not removed from the cache until the liana__remote is destroyed.
 *
 * A file in the cache is named after URL, version and length, so a file that changed on its server is another file
 * here. Each time that a name is resolved the server is asked what the version is.
 *
 * One thread at a time. Processes may share a cache: locks on one file of it (OFD locks, which end with the process)
 * say who fetches what and which files are in use. */
#ifndef LIANA_REMOTE_REMOTE_H
#define LIANA_REMOTE_REMOTE_H

#include "base/file.h"

typedef struct liana__remote liana__remote;

/* How far a fetch has come. Bytes count all files of the call, also what was in the cache already in part. */
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
    uint64_t cache_limit;     /* bytes on disk; default: what is there, and 9/10 of what the file system has left */
    int connections;          /* at once; 8 */
    uint64_t piece_size;      /* bytes of one request; 8 MiB */
    int max_attempts;         /* of one request; 6 */
    int first_delay;          /* milliseconds before the second attempt, doubled from one to the next; 500 */
    int stall_seconds;        /* how long less than 1 KiB/s may come before an attempt is given up; 30 */
    uint64_t seed;            /* of the delays' jitter */
    /* Told a few times a second while files are fetched, and at the end; never where all are in the cache. With false
     * the call ends: CANCELLED. */
    bool (*progress)(void *user, const liana__remote_progress *progress);
    void *user;
} liana__remote_options;

/* Costs nothing until the first URL. Errors: OUT_OF_MEMORY. The options' strings are copied. */
liana_status liana__remote_create(const liana__remote_options *options, liana__remote **remote, liana__error *error)
    LIANA_MUST_USE;
void liana__remote_destroy(liana__remote *remote);

/* The local paths of files, patterns and folders, in the order of the list: URLs are resolved and fetched, all
 * together; other names are given back as they are. A name that is a file is that file; a pattern (*, ?, [...]; gs://
 * and s3:// only) is the files that match, in byte order; a name of no file but with files below it is a folder, which
 * is fetched with the files in it and in the folders in it. Errors name the URL and say what to do: NOT_FOUND;
 * INVALID_ARGUMENT (a name that cannot be); IO_ERROR (no connection, access denied, a server's failure); DATA_LOSS
 * (changed meanwhile, a wrong length or checksum); OUT_OF_RANGE (more than the cache may hold); INVALID_CONFIG
 * (credentials that cannot be read; no place for the cache); UNIMPLEMENTED (a build without libcurl). */
liana_status liana__remote_resolve(liana__remote *remote, const char *const *names, size_t count, liana__arena *arena,
                                   liana__paths *paths, liana__error *error) LIANA_MUST_USE;

/* The same for one name that must be a file (or is not a URL). In the arena. */
liana_status liana__remote_file(liana__remote *remote, const char *name, liana__arena *arena, const char **path,
                                liana__error *error) LIANA_MUST_USE;

/* One of many files, each of which may be missing. */
typedef struct liana__remote_file_of_many {
    const char *name;
    const char *path;    /* where it is; the name if it is no URL */
    liana_status status; /* OK; else there is no such file here */
    const char *reason;
} liana__remote_file_of_many;

/* The local paths of many files, fetched together, where each may fail by itself: a name that cannot be, a file that is
 * not there or not to be read, or is not what its server says. Paths and reasons in the arena. Errors are those of
 * servers, network and cache. */
liana_status liana__remote_files(liana__remote *remote, liana__remote_file_of_many *files, size_t count,
                                 liana__arena *arena, liana__error *error) LIANA_MUST_USE;

/* liana__file_read for a name that may be a URL, with a liana__remote of its own. */
liana_status liana__remote_read(const char *name, const liana__remote_options *options, size_t limit, char **data,
                                size_t *size, liana__error *error) LIANA_MUST_USE;

/* What tells this version of a file of the view from others, for a name that was resolved; "" for any other. */
typedef struct liana__remote_version {
    char text[40];
} liana__remote_version;
liana__remote_version liana__remote_version_of(const liana__remote *remote, const char *name);

/* What to show to people for a path: the URL that it ends with, if it lies in a view, else the path. Borrowed from
 * `path`. */
const char *liana__remote_name(const char *path);
/* Makes URLs of the paths in a text that lie in this view (NULL: nothing), in place. */
void liana__remote_clean(const liana__remote *remote, char *text);
/* The same for a message; returns its status. */
liana_status liana__remote_fail_within(const liana__remote *remote, liana__error *error);

#endif
