/* context_plugins.h - the plugins of a context: it keeps them loaded, and may be made before it is
 * started. */
#ifndef LIANA_BASE_CONTEXT_PLUGINS_H
#define LIANA_BASE_CONTEXT_PLUGINS_H

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

#endif
