/* named_devices.h - the devices that a strategy names, instead of a number of them. */
#ifndef LIANA_DISTRIBUTE_NAMED_DEVICES_H
#define LIANA_DISTRIBUTE_NAMED_DEVICES_H

#include "base/context.h"
#include "base/field.h"

/* Reads the names, each in a form in which equal devices have equal texts, with the plugin's options. `device` is the
 * name of the training's device: "cpu" and "auto" say nothing; else it is of the same kind, its options are those of
 * names without options, and if it has a number it is the first of them. All texts are the arena's. Errors:
 * INVALID_CONFIG with the fault and the name; OUT_OF_MEMORY. */
liana_status liana__named_devices_read(const liana__strings *asked, const char *device, liana__arena *arena,
                                       const char ***names, liana__error *error) LIANA_MUST_USE;

/* Whether a device that is open, called `opened_as`, is the one of this name. */
bool liana__named_device_is(const char *name, const char *opened_as, liana__arena *arena);

/* Adds to the error of a device that could not be opened which ones of its kind are there. Returns its status. */
liana_status liana__named_devices_explain(liana_context *context, const char *name, liana_status status,
                                          liana__error *error);

#endif
