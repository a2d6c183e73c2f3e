/* Kinds of devices. */
#include "backends/pjrt/platform.h"

#include "backends/pjrt/buffer.h"
#include "backends/pjrt/repeatable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *liana__pjrt_platform_of(const liana__device *device)
{
    if (device->backend != &liana__backend_pjrt) return NULL;
    return ((const liana__pjrt_device *)device)->client->platform;
}

int64_t liana__pjrt_describe_memory(const liana__device *device, char *kind, size_t size)
{
    liana__pjrt_device_facts facts = {.memory = -1};
    if (device->backend == &liana__backend_pjrt) {
        const liana__pjrt_device *own = (const liana__pjrt_device *)device;
        if (liana__pjrt_device_describe(own->client, own->number, &facts, NULL) != LIANA_OK) facts.memory = -1;
    }
    snprintf(kind, size, "%s", facts.kind);
    return facts.memory;
}

size_t liana__pjrt_room(const liana__device *device, size_t count)
{
    if (device->backend != &liana__backend_pjrt) return 0;
    const liana__pjrt_device *own = (const liana__pjrt_device *)device;
    return liana__pjrt_device_room(own->client, own->number, count);
}

void liana__pjrt_set_products(liana__device *device, bool by_default)
{
    if (device->backend == &liana__backend_pjrt) ((liana__pjrt_device *)device)->default_products = by_default;
}

void liana__pjrt_set_exact(liana__device *device, bool is_exact, liana__text *text)
{
    if (device->backend != &liana__backend_pjrt) return;
    liana__pjrt_device *own = (liana__pjrt_device *)device;
    own->is_exact = is_exact;
    if (is_exact && text) liana__repeatable_print(own->client->platform, text);
}

bool liana__pjrt_has_failed(const liana__device *device)
{
    return device->backend == &liana__backend_pjrt && ((const liana__pjrt_device *)device)->client->has_failed;
}

liana_status liana__pjrt_check_slice(const liana__device *device, liana__error *error)
{
    const liana__pjrt_client *client = ((const liana__pjrt_device *)device)->client;
    if (client->num_devices == client->num_devices_of_all) return LIANA_OK;
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "the slice has %zu cores, of which this host has %zu: a strategy of one process cannot use the "
                       "others; make each host a slice of its own (TPU_WORKER_HOSTNAMES=localhost, TPU_WORKER_ID=0, "
                       "TPU_HOST_BOUNDS=1,1,1), and train with the strategy multi_worker",
                       client->num_devices_of_all, client->num_devices);
}
