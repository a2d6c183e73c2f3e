/* The list of backends, and finding one by its name. */
#include "backends/backend.h"

#include "base/text.h"

const liana__backend *const liana__backends[] = {
#define LIANA__BACKEND(folder, name) &liana__backend_##name,
#include "backends/backends.def"
#undef LIANA__BACKEND
    NULL,
};

enum { NUM_BACKENDS = sizeof liana__backends / sizeof *liana__backends - 1 };

liana_status liana__device_open(liana_context *context, const char *name, liana__device **device, liana__error *error)
{
    *device = NULL;
    const char *names[NUM_BACKENDS];
    for (int i = 0; i < NUM_BACKENDS; i++) {
        names[i] = liana__backends[i]->name;
        if (strcmp(name, names[i]) == 0) return liana__backends[i]->open(context, device, error);
    }
    const char *nearest = liana__nearest(name, names, NUM_BACKENDS);
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "there is no device '%s' among those that 'liana list devices' shows%s", name,
                       liana__hint(nearest).text);
}

void liana__device_close(liana__device *device)
{
    if (device) device->backend->close(device);
}
