/* discovery.h - where the plugins of this machine are, and why one is missing. */
#ifndef LIANA_BACKENDS_PJRT_DISCOVERY_H
#define LIANA_BACKENDS_PJRT_DISCOVERY_H

#include "base/error.h"
#include "base/memory.h"

/* Finds the plugin of a kind of devices: "cpu", "gpu" or "tpu". These places are looked at in this order:
 *
 *   - TPU_LIBRARY_PATH, for tpu;
 *   - the folders of LIANA_PLUGIN_PATH, separated by colons;
 *   - liana/plugins in XDG_DATA_HOME or ~/.local/share, where docs/guides/devices.md puts them;
 *   - the site-packages of VIRTUAL_ENV, of the user's and of the system's Python;
 *   - /lib and /usr/lib, for tpu.
 *
 * A folder is laid out as Python's packages are. `path` is the arena's. Errors: NOT_FOUND, with the packages that could
 * be installed; UNAVAILABLE if there is no hardware of this kind. */
liana_status liana__pjrt_find_plugin(const char *kind, liana__arena *arena, const char **path, liana__error *error)
    LIANA_MUST_USE;

/* Whether the machine has hardware of this kind. It is found without the kind's plugin, which may wait for minutes, or
 * for ever, where there is none. Errors: UNAVAILABLE, with the hardware that was looked for. */
liana_status liana__pjrt_find_hardware(const char *kind, liana__error *error) LIANA_MUST_USE;

#endif
