/* http_deadlines.h - cuts connections that take too long. A client has so many seconds to send a whole request, counted
 * from the begin of the connection or from the answer before, and as many to take an answer. A byte now and then does
 * not help it, as it does against libmicrohttpd's own limit of idle time. */
#ifndef LIANA_SERVE_HTTP_DEADLINES_H
#define LIANA_SERVE_HTTP_DEADLINES_H

#include "base/error.h"

#include <stddef.h>

typedef struct liana__http_deadlines liana__http_deadlines;
typedef struct liana__http_guest liana__http_guest; /* a connection */

/* Errors: OUT_OF_MEMORY, IO_ERROR (no thread). */
liana_status liana__http_deadlines_open(double seconds, liana__http_deadlines **deadlines, liana__error *error)
    LIANA_MUST_USE;
/* All guests have left. NULL is allowed. */
void liana__http_deadlines_close(liana__http_deadlines *deadlines);
/* Connections that were cut. */
size_t liana__http_deadlines_cut(liana__http_deadlines *deadlines);

/* A connection begins, and ends: before its descriptor is closed. Enter gives NULL if there is no memory or `deadlines`
 * is NULL; the other calls do nothing for it. */
liana__http_guest *liana__http_guest_enter(liana__http_deadlines *deadlines, int descriptor);
void liana__http_guest_leave(liana__http_deadlines *deadlines, liana__http_guest *guest);
/* The client is waited for, from now on. */
void liana__http_guest_starts(liana__http_deadlines *deadlines, liana__http_guest *guest);
/* The server works: the client is not waited for. */
void liana__http_guest_waits(liana__http_deadlines *deadlines, liana__http_guest *guest);

#endif
