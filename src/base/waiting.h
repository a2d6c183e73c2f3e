/* waiting.h - ends a wait for another process when the program is to stop.
 *
 * A program says once for its context how to find out that it is to stop. Whatever then waits on behalf of that context
 * asks a few times a second. */
#ifndef LIANA_BASE_WAITING_H
#define LIANA_BASE_WAITING_H

#include "base/error.h"

#include <liana/context.h>
#include <stdbool.h>

/* `stop`: whether the program is to stop; any thread may call it. `user` must outlive the context. Errors:
 * OUT_OF_MEMORY, in the context. */
liana_status liana__waiting_set_stop(liana_context *context, bool (*stop)(void *user), void *user) LIANA_MUST_USE;

/* Whether the program is to stop; false if it has not said how to find out. */
bool liana__waiting_stops(const liana_context *context);

#endif
