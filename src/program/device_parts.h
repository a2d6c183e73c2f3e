/* device_parts.h - the parts of a graph on several devices, compiled; and a run of all of them.
 *
 * A run has a thread for each device. A device computes its parts one after the other, and waits where a part needs a
 * value that another device has not given yet. Values go from device to device by the host's memory. New values of
 * variables are results at first. They take their variables' places when everything has succeeded: after a failure no
 * variable has changed. So a variable that is assigned to needs twice its memory. */
#ifndef LIANA_PROGRAM_DEVICE_PARTS_H
#define LIANA_PROGRAM_DEVICE_PARTS_H

#include "exec/program.h"
#include "exec/split.h"
#include "program/placed_devices.h"

#include <liana/program.h>

typedef struct liana__device_parts liana__device_parts;

/* `node_devices`: by node id, as liana__split_make wants them. `values` has all variables, each on its device;
 * `assigned` are the places of those that the wanted assignments change. Errors: those of compiling, with the device's
 * name. */
liana_status liana__device_parts_create(const liana__placed_devices *devices, const liana_graph *graph,
                                        const liana__wanted *wanted, const size_t *node_devices, const char *name,
                                        liana__variables *values, const size_t *assigned, liana__device_parts **parts,
                                        liana__error *error) LIANA_MUST_USE;
void liana__device_parts_destroy(liana__device_parts *parts);

const liana__split *liana__device_parts_split(const liana__device_parts *parts);

/* Computes all; `feeds` are by feed of the split. Errors: that of the first device that failed. */
liana_status liana__device_parts_run(liana__device_parts *parts, const liana_array *const *feeds, liana__error *error)
    LIANA_MUST_USE;
/* Copies a wanted result of the last run to the host, before liana__device_parts_commit. */
liana_status liana__device_parts_fetch(const liana__device_parts *parts, size_t result, void *data, liana__error *error)
    LIANA_MUST_USE;
/* Lets the new values take their variables' places. Cannot fail. */
void liana__device_parts_commit(liana__device_parts *parts);

#endif
