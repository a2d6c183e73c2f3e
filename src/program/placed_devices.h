/* placed_devices.h - the devices that a graph's scopes name, opened. A program keeps them with its set of variables. */
#ifndef LIANA_PROGRAM_PLACED_DEVICES_H
#define LIANA_PROGRAM_PLACED_DEVICES_H

#include "backends/backend.h"
#include "base/memory.h"

typedef struct liana__placed_device {
    const char *name; /* with which it is found again, however it was written: "cpu:1", "/job:ps/task:0/cpu:0" */
    liana__device *device;
    bool is_own; /* opened here */
} liana__placed_device;

/* Zero-initialise. */
typedef struct liana__placed_devices {
    liana_context *context;
    liana__arena arena;
    liana__placed_device *items;
    size_t count, capacity;
} liana__placed_devices;

/* Makes somebody's device the first one. Errors: OUT_OF_MEMORY. */
liana_status liana__placed_devices_init(liana__placed_devices *devices, liana_context *context, liana__device *first,
                                        liana__error *error) LIANA_MUST_USE;
/* Closes those that were opened here, after all that is on them. */
void liana__placed_devices_free(liana__placed_devices *devices);

/* Finds a device by its name, or opens it. Errors: those of liana__device_open. */
liana_status liana__placed_devices_find(liana__placed_devices *devices, const char *name, size_t *index,
                                        liana__error *error) LIANA_MUST_USE;
/* The index of an open device; the number of devices if it is not among them. */
size_t liana__placed_devices_index(const liana__placed_devices *devices, const liana__device *device);

/* Whether a name means a CPU of this process. */
bool liana__placed_is_local_cpu(const char *name);

#endif
