/* device_name.h - the names of devices: "gpu:1", "pjrt:/path/plugin.so:1?cpu_device_count=8". */
#ifndef LIANA_BACKENDS_PJRT_DEVICE_NAME_H
#define LIANA_BACKENDS_PJRT_DEVICE_NAME_H

#include "backends/pjrt/interface.h"
#include "base/error.h"
#include "base/memory.h"

/* A name in its parts: KIND[:NUMBER][?OPTION=VALUE[&OPTION=VALUE...]], or the same with pjrt:PLACE as the kind. */
typedef struct liana__pjrt_device_name {
    const char *kind;  /* "cpu", "gpu", "tpu", or NULL if a path is given */
    const char *path;  /* of a plugin; NULL: it is looked for */
    const char *shown; /* the name without number and options: "gpu", "pjrt:cpu" */
    size_t number;     /* of the device, from 0 */
    liana__pjrt_named_value *options;
    size_t num_options;
    const char *option_text; /* the text behind the question mark; "": nothing */
} liana__pjrt_device_name;

/* Reads a name. `kind` cpu is only meant by pjrt:cpu. A value is an integer, a number with a point, true or false,
 * integers with commas between, or else a text. All memory is the arena's. Errors: INVALID_CONFIG, OUT_OF_MEMORY. */
liana_status liana__pjrt_device_name_read(const char *name, liana__arena *arena, liana__pjrt_device_name *read,
                                          liana__error *error) LIANA_MUST_USE;
/* The file of a plugin that a device's name says itself; NULL: it says none. The arena's. */
const char *liana__pjrt_library_named(const char *name, liana__arena *arena);

#endif
