/* look.h - which devices a server offers. */
#ifndef LIANA_BACKENDS_REMOTE_LOOK_H
#define LIANA_BACKENDS_REMOTE_LOOK_H

#include "backends/device_list.h"
#include "backends/remote/names.h"

/* Asks one server, and adds its devices; `name` is without a device, or its device does not matter. Errors: those of
 * opening a device there. */
liana_status liana__served_look(liana_context *context, const char *name, liana_device_list *list, liana__error *error)
    LIANA_MUST_USE;

#endif
