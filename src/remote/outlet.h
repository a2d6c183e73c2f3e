/* outlet.h - a folder of results in a bucket: a local folder, and a thread that sends its new files.
 *
 * A writer of results writes them to the local folder, as to any other, and calls liana__outlet_changed now and then.
 * The thread then makes the bucket's folder like the local one: files that are new or were replaced are sent, files
 * that were removed are removed. Only the latest state counts: a file that was replaced or removed before its turn is
 * never sent. Files must be replaced by renaming, or only grow. Names that end with ".tmp" and folders "unfinished" and
 * ".unfinished" are not sent.
 *
 * The local folder is CACHE/out/HASH/gs://bucket/folder, so its paths end as the URLs do (liana__remote_name). After a
 * crash or a failure it stays, and the next outlet of the same URL finds it. */
#ifndef LIANA_REMOTE_OUTLET_H
#define LIANA_REMOTE_OUTLET_H

#include "remote/remote.h"

typedef struct liana__outlet liana__outlet;

typedef struct liana__outlet_options {
    const char *url;
    /* The name of the file that makes a folder valid. It is sent after the other files of its folder, and removed
     * before them. NULL: there is none. */
    const char *last;
    bool fresh;       /* the remains of an earlier outlet are removed */
    const char *hint; /* end of a failure's message: how to send the kept files; NULL: none */
    /* For connections and cache; NULL: the defaults, with more patience. `progress` and `goes_on` may be set: the
     * latter is also asked by the thread. */
    const liana__remote_options *remote;
} liana__outlet_options;

/* Makes the local folder. Asks no server. The options' strings are copied. Errors: INVALID_ARGUMENT (a web server, a
 * pattern), IO_ERROR (the folder; another process uses it), UNIMPLEMENTED, OUT_OF_MEMORY. */
liana_status liana__outlet_open(const liana__outlet_options *options, liana__outlet **outlet, liana__error *error)
    LIANA_MUST_USE;
/* Ends the thread, also in the middle of a file. Removes the local folder if all of it was sent or it is empty. NULL:
 * does nothing. */
void liana__outlet_close(liana__outlet *outlet);

const char *liana__outlet_folder(const liana__outlet *outlet);
const char *liana__outlet_url(const liana__outlet *outlet);

/* The descriptor of the folder that this process has locked: no other one of this machine sends to the URL. -1: locks
 * do not work there. */
int liana__outlet_lock(const liana__outlet *outlet);

/* Before the first call of liana__outlet_changed: */

/* Asked, also by the thread, before each object is written or removed; an error ends the sending with it. */
void liana__outlet_guard(liana__outlet *outlet, liana_status (*may_write)(void *user, liana__error *error), void *user);

/* Lists the objects that are there, by their names below the URL, in byte order. In the arena. */
liana_status liana__outlet_list(liana__outlet *outlet, liana__arena *arena, liana__paths *names, liana__error *error)
    LIANA_MUST_USE;
/* Copies objects into the local folder. They count as sent. */
liana_status liana__outlet_fetch(liana__outlet *outlet, const char *const *names, size_t count, liana__error *error)
    LIANA_MUST_USE;
/* The object is like the local file of that name, so the file need not be sent. */
liana_status liana__outlet_mark(liana__outlet *outlet, const char *name, liana__error *error) LIANA_MUST_USE;
/* The object will be removed when everything is sent, unless there is a local file of that name by then. */
liana_status liana__outlet_adopt(liana__outlet *outlet, const char *name, liana__error *error) LIANA_MUST_USE;
/* Removes an object at once. */
liana_status liana__outlet_remove(liana__outlet *outlet, const char *name, liana__error *error) LIANA_MUST_USE;

/* Lets the thread send changed files; does not wait. Errors: a failure to send since the last call. */
liana_status liana__outlet_changed(liana__outlet *outlet, liana__error *error) LIANA_MUST_USE;
/* The same, and waits until all is sent. After a failure it tries again first. */
liana_status liana__outlet_flush(liana__outlet *outlet, liana__error *error) LIANA_MUST_USE;

#endif
