/* Opens devices for programs. */
#include "program/device.h"

#include "base/context.h"

#include <stdlib.h>

liana_status liana_device_open(liana_context *context, const char *name, liana_device **out)
{
    if (!out) return LIANA_INVALID_ARGUMENT;
    *out = NULL;
    if (!context) return LIANA_INVALID_ARGUMENT;
    liana_device *device = calloc(1, sizeof *device);
    if (!device) return liana__fail_memory(&context->error, "a device");
    device->context = context;
    liana_status status = liana__device_open(context, name ? name : "cpu", &device->device, &context->error);
    if (status != LIANA_OK) {
        free(device);
        return status;
    }
    *out = device;
    return LIANA_OK;
}

void liana_device_close(liana_device *device)
{
    if (!device) return;
    liana__device_close(device->device);
    free(device);
}

const char *liana_device_name(const liana_device *device)
{
    return device ? device->device->backend->name : NULL;
}
