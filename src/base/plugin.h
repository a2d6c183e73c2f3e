/* plugin.h - shared libraries that add own parts to a context (<liana/parts.h>). */
#ifndef LIANA_BASE_PLUGIN_H
#define LIANA_BASE_PLUGIN_H

#include "base/context.h"
#include "base/field.h"

/* The file of a place on the command line. */
#define LIANA__COMMAND_LINE "command line"

/* The one gate for code that something written names. `path` is a shared library that would be loaded into this
 * process, `place` where its name stands, `key` the dotted key there. A path on the command line is the user's own
 * word; one in a file needs the context's permission (liana_context_options.allow_plugins). Errors: INVALID_CONFIG. */
liana_status liana__plugin_gate(const liana_context *context, const liana__place *place, const char *key,
                                const char *path, liana__error *error) LIANA_MUST_USE;

/* As liana_load_plugin, with the message in `error`. */
liana_status liana__plugin_load(liana_context *context, const char *path, liana__error *error) LIANA_MUST_USE;

#endif
