/* device_list.h - facts about devices, collected: `liana devices`, liana_device_list and servers list the devices of
 * this machine. */
#ifndef LIANA_BACKENDS_DEVICE_LIST_H
#define LIANA_BACKENDS_DEVICE_LIST_H

#include "base/error.h"
#include "base/memory.h"

#include <liana/device.h>

/* Zero-initialise; free it. */
struct liana_device_list {
    liana_device_facts *items;
    size_t count, capacity;
    liana__arena arena; /* of their texts */
};

void liana__device_list_free(liana_device_list *list);
/* Adds a device, whose texts are the list's already. Errors: OUT_OF_MEMORY, also where a text could not be made. */
liana_status liana__device_list_add(liana_device_list *list, const liana_device_facts *facts, liana__error *error)
    LIANA_MUST_USE;
/* Adds the CPU of this process. Errors: OUT_OF_MEMORY. */
liana_status liana__device_list_add_cpu(liana_device_list *list, const liana_context *context, liana__error *error)
    LIANA_MUST_USE;

#endif
