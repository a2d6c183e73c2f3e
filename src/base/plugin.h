/* plugin.h - shared libraries that add own parts to a context (<liana/parts.h>). */
#ifndef LIANA_BASE_PLUGIN_H
#define LIANA_BASE_PLUGIN_H

#include "base/context.h"

/* Whether the plugin is loaded already: that file, under whatever name. */
bool liana__plugin_is_loaded(const liana_context *context, const char *path);

/* As liana_load_plugin, with the message in `error`. */
liana_status liana__plugin_load(liana_context *context, const char *path, liana__error *error) LIANA_MUST_USE;

/* A context in two steps. Plugins can be loaded into a made one before it is known how it will be started; nothing can
 * run in it. Errors of making: OUT_OF_MEMORY; of starting: those of liana_context_create, in the context. */
liana_status liana__context_make(const liana_context_options *options, liana_context **context) LIANA_MUST_USE;
liana_status liana__context_start(liana_context *context, int num_threads) LIANA_MUST_USE;

/* Unloads all. After that nothing of their parts may be used. */
void liana__plugins_unload(liana_context *context);

#endif
