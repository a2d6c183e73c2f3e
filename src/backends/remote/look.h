/* look.h - which devices a server offers. */
#ifndef LIANA_BACKENDS_REMOTE_LOOK_H
#define LIANA_BACKENDS_REMOTE_LOOK_H

#include "backends/remote/names.h"

typedef struct liana__served_facts {
    const char *name; /* "/job:worker/task:1/cpu:0" */
    const char *text; /* "2 threads, avx512, 7.6 GiB for clients" */
} liana__served_facts;

typedef struct liana__served_list {
    const char *name; /* "/job:worker/task:1" or an address */
    const char *address;
    const char *version; /* of liana */
    liana__served_facts *devices;
    size_t num_devices;
} liana__served_list;

/* Asks one server; `name` is without a device, or its device does not matter. list->name and list->address are set in
 * any case, if the name could be read. All is the arena's. Errors: those of opening a device there. */
liana_status liana__served_look(liana_context *context, const char *name, liana__arena *arena, liana__served_list *list,
                                liana__error *error) LIANA_MUST_USE;

#endif
