/* device.h - the inside of liana_device. */
#ifndef LIANA_PROGRAM_DEVICE_H
#define LIANA_PROGRAM_DEVICE_H

#include "backends/backend.h"

#include <liana/device.h>

struct liana_device {
    liana_context *context;
    liana__device *device;
};

#endif
