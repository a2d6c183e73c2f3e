/* store.h - results in buckets: objects of gs:// and s3:// that are written, removed and listed.
 *
 * An object appears whole or not at all, and replaces the one before it at once: both stores promise that. Checksums go
 * with the bytes, and the store refuses bytes that were damaged on the way. Requests are repeated as those of reading
 * are. A liana__remote for this has `writes` in its options. */
#ifndef LIANA_REMOTE_STORE_H
#define LIANA_REMOTE_STORE_H

#include "remote/remote.h"

/* Makes the object `url` of an open file, or of bytes in memory. `path` names the file in messages. Errors name the
 * URL: those of liana__remote_resolve; INVALID_ARGUMENT (a web server, a folder, a pattern). */
liana_status liana__store_file(liana__remote *remote, const char *url, int descriptor, const char *path,
                               liana__error *error) LIANA_MUST_USE;
liana_status liana__store_bytes(liana__remote *remote, const char *url, const void *bytes, size_t size,
                                liana__error *error) LIANA_MUST_USE;

/* The server's name for a state of an object. */
typedef struct liana__store_version {
    char text[256];
} liana__store_version;

/* Reads the first `most` bytes of a small object, and its version, past all caches. Errors: NOT_FOUND, and as above. */
liana_status liana__store_read(liana__remote *remote, const char *url, void *bytes, size_t most, size_t *size,
                               liana__store_version *version, liana__error *error) LIANA_MUST_USE;
/* As liana__store_bytes, but only if the object is still of this version; "": if there is none. *done is false if it is
 * not. Where a server of S3's kind has no such conditions (501) it is written in any case: read it afterwards. */
liana_status liana__store_bytes_if(liana__remote *remote, const char *url, const void *bytes, size_t size,
                                   const liana__store_version *version, bool *done, liana__error *error) LIANA_MUST_USE;
/* Removes the object if it is of this version. */
liana_status liana__store_remove_if(liana__remote *remote, const char *url, const liana__store_version *version,
                                    liana__error *error) LIANA_MUST_USE;

/* Removes an object. It may be missing. */
liana_status liana__store_remove(liana__remote *remote, const char *url, liana__error *error) LIANA_MUST_USE;

/* Lists the objects below a folder, in byte order, by their names below it ("checkpoints/step-1/state.json"). No object
 * is no error. In the arena. */
liana_status liana__store_list(liana__remote *remote, const char *url, liana__arena *arena, liana__paths *names,
                               liana__error *error) LIANA_MUST_USE;

/* liana__file_replace for a name that may be a URL, with a liana__remote of its own. */
liana_status liana__store_replace(const char *name, const void *bytes, size_t size, liana__error *error) LIANA_MUST_USE;

#endif
