/* xla_settings.h - XLA's own settings (DebugOptions) in a plugin. Some can only be changed by a program's options that
 * repeat all of them; a plugin tells them within a program that it writes out. */
#ifndef LIANA_BACKENDS_PJRT_XLA_SETTINGS_H
#define LIANA_BACKENDS_PJRT_XLA_SETTINGS_H

#include "backends/pjrt/client.h"
#include "base/text.h"

/* Adds the settings to `bytes`, as a DebugOptions in protobuf's wire format, those of XLA_FLAGS among them: compiles a
 * program of nothing, and reads it. Adds nothing if the plugin does not write programs out, or not in the way that is
 * known here. Errors: those of compiling; OUT_OF_MEMORY. */
liana_status liana__xla_settings_read(const liana__pjrt_client *client, liana__text *bytes, liana__error *error)
    LIANA_MUST_USE;

/* Where the settings are in a program that XLA's plugin for CPUs has written out; NULL: not where they should be. */
const char *liana__xla_settings_find(const char *program, size_t size, size_t *settings_size);

#endif
