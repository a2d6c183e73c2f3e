/* device_set.h - the devices of a strategy, opened. */
#ifndef LIANA_DISTRIBUTE_DEVICE_SET_H
#define LIANA_DISTRIBUTE_DEVICE_SET_H

#include "distribute/strategy.h"

/* How many devices of a kind a strategy wants, and with which threads. */
typedef struct liana__device_layout {
    size_t count;
    bool all; /* instead, all devices that there are, where the first one knows how many (an accelerator) */
    const liana__strings *names; /* instead, the devices of these names (named_devices.h); NULL: they have a number */
    /* The only platform of plugins that will do, "tpu", which is also the device in place of "cpu" and "auto"; NULL:
     * any device. All devices of its slice must be this process's. */
    const char *platform;
    int num_threads; /* of each; 0: the context's, which devices can only use one at a time */
    liana__cpu_binding binding;
} liana__device_layout;

/* Zero-initialise; close it in any case. */
typedef struct liana__device_set {
    liana__device **items;
    size_t count;
    bool borrows_first; /* the first one is somebody else's */
    cpu_set_t *groups;  /* by device: where it computes; NULL: anywhere */
} liana__device_set;

/* Opens the devices that a strategy computes on; `name` is a backend's. `first`: the first one, which is open; NULL: it
 * is opened too. Errors: those of liana__device_open, with a remedy if the strategy wants a platform; INVALID_CONFIG
 * for a layout that this machine does not have, and for a device of another platform; UNIMPLEMENTED for a part of a
 * slice. */
liana_status liana__device_set_open(liana_context *context, const char *name, const liana__strategy_choice *choice,
                                    liana__device *first, liana__device_set *set, liana__error *error) LIANA_MUST_USE;
/* Whether the devices that it would open are those of servers (backends/remote/names.h). */
bool liana__device_set_is_served(const liana_context *context, const char *name, const liana__strategy_choice *choice);
void liana__device_set_close(liana__device_set *set);

#endif
