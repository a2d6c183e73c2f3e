/* context_plugins.h - the life of a context: it may be made before it is started, keeps plugins loaded, and tells its
 * end. */
#ifndef LIANA_BASE_CONTEXT_PLUGINS_H
#define LIANA_BASE_CONTEXT_PLUGINS_H

#include "base/error.h"

#include <liana/context.h>

/* A plugin of a context (base/plugin.h). */
typedef struct liana__loaded_plugin {
    struct liana__loaded_plugin *next;
    char *path; /* without links */
    void *handle;
} liana__loaded_plugin;

/* A context in two steps. Plugins can be loaded into a made one before it is known how it will be started; nothing can
 * run in it. Errors of making: OUT_OF_MEMORY; of starting: those of liana_context_create, in the context. */
liana_status liana__context_make(const liana_context_options *options, liana_context **context) LIANA_MUST_USE;
liana_status liana__context_start(liana_context *context, int num_threads) LIANA_MUST_USE;

/* Calls a function when the context is destroyed, before anything of it is gone. Errors: OUT_OF_MEMORY, in the
 * context. */
liana_status liana__context_at_end(liana_context *context, void (*call)(void *user), void *user) LIANA_MUST_USE;

#endif
