/* Opens devices for programs. */
#include "program/device.h"

#include "backends/remote/names.h"
#include "base/context.h"
#include "base/scoped.h"
#include "program/server.h"

static liana_status open_device(liana_context *context, const char *name, liana_device **out)
{
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

liana_status liana_device_open(liana_context *context, const char *name, liana_device **out)
{
    LIANA__REQUIRE_AS(liana__context_error(context), out, "device");
    *out = NULL;
    LIANA__REQUIRE(NULL, context);
    LIANA__CONTEXT_CALL(context, open_device(context, name, out));
}

static liana_status connect_to_cluster(liana_context *context, const char *text)
{
    liana__error *error = &context->error;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__cluster_options options;
    LIANA_TRY(liana__cluster_text_read(text, &arena, &options, error));
    return liana__served_use_cluster(context, &options, error);
}

liana_status liana_connect_to_cluster(liana_context *context, const char *cluster)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(liana__context_error(context), cluster);
    LIANA__CONTEXT_CALL(context, connect_to_cluster(context, cluster));
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
