/* download.h - one file of a web server becomes a local file, from its beginning to its end.
 *
 * remote.h fetches data in pieces, in parallel, and asks the server at each use. This is for files that are fetched
 * once and never change: bytes are appended in order, so that the length of the part says where to go on. */
#ifndef LIANA_REMOTE_DOWNLOAD_H
#define LIANA_REMOTE_DOWNLOAD_H

#include "remote/remote.h"

typedef struct liana__download {
    const char *url;
    const char *path;   /* the part. Its bytes are the beginning of the file */
    int descriptor;     /* the part, open for writing; nobody else writes to it */
    const char *origin; /* the path of a small file that says where these bytes came from: URL and version */
    uint64_t size;      /* which the whole file must have; 0: it is not known */
    uint64_t limit;     /* a larger file is refused */
} liana__download;

/* Appends the bytes that the part lacks: the server is asked for the rest, if the file is still the one that the part
 * came from (Range with If-Range: its ETag, or its date). A server without ranges, and one whose file has changed, send
 * all of it, and the part begins anew. Failures of the network are tried again as remote.h's are. Redirects lead to
 * https only. Nothing is synced. After a failure the part stays.
 *
 * Errors name the URL: those of liana__remote_resolve; DATA_LOSS (another size than `size`); OUT_OF_RANGE (above
 * `limit`). */
liana_status liana__remote_download(liana__remote *remote, const liana__download *wanted, liana__error *error)
    LIANA_MUST_USE;

#endif
