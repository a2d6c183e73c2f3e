/* download.h - known files are fetched once, into the cache, and checked.
 *
 * A file is brought to PATH.part, checked, and renamed: there is the whole file, or none. A fetch that was cut goes on
 * where it was, by whomever. Processes that want a file at the same time wait for the first, which has locked the part;
 * the lock ends with the process.
 *
 * With a published hash the content must have it. Without one, the address must be https, the structure of the file is
 * checked, and its SHA-256 is pinned at the first fetch: from then on other content is refused. */
#ifndef LIANA_KNOWN_DOWNLOAD_H
#define LIANA_KNOWN_DOWNLOAD_H

#include "base/notes.h"
#include "known/check.h"
#include "remote/remote.h"

#include <liana/context.h>

/* *path is the file in the cache, in the arena; it is fetched if it is not there, and checked in any case. The notes
 * tell of a fetch, of waiting for another process, and of a pin. A program that is to stop (base/waiting.h) ends the
 * fetch with CANCELLED; the part is kept.
 *
 * Errors say what was found and expected, and how to place the file by hand: DATA_LOSS (other content); IO_ERROR,
 * NOT_FOUND (network, server, disk); OUT_OF_RANGE (too large); INVALID_ARGUMENT, INVALID_CONFIG; UNIMPLEMENTED (libcurl
 * or libcrypto are missing). */
liana_status liana__known_fetch(liana_context *context, const liana__known_file *file, const liana__notes *notes,
                                liana__arena *arena, const char **path, liana__error *error) LIANA_MUST_USE;
/* The same by a liana__remote, which tells the progress its own way. */
liana_status liana__known_fetch_by(liana__remote *remote, liana_context *context, const liana__known_file *file,
                                   const liana__notes *notes, liana__arena *arena, const char **path,
                                   liana__error *error) LIANA_MUST_USE;

#endif
