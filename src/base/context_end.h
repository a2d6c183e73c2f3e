/* context_end.h - functions that are called when a context is destroyed. */
#ifndef LIANA_BASE_CONTEXT_END_H
#define LIANA_BASE_CONTEXT_END_H

#include "base/error.h"

#include <liana/context.h>

/* Calls a function when the context is destroyed, before anything of it is gone. Errors: OUT_OF_MEMORY, in the
 * context. */
liana_status liana__context_at_end(liana_context *context, void (*call)(void *user), void *user) LIANA_MUST_USE;

#endif
