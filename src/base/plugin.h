/* plugin.h - shared libraries that add own parts to a context (<liana/parts.h>). */
#ifndef LIANA_BASE_PLUGIN_H
#define LIANA_BASE_PLUGIN_H

#include "base/context.h"

/* Whether the plugin is loaded already: that file, under whatever name. */
bool liana__plugin_is_loaded(const liana_context *context, const char *path);

/* As liana_load_plugin, with the message in `error`. */
liana_status liana__plugin_load(liana_context *context, const char *path, liana__error *error) LIANA_MUST_USE;

#endif
