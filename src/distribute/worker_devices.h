/* worker_devices.h - the devices of one process of a cluster, as the strategies of several processes have them. */
#ifndef LIANA_DISTRIBUTE_WORKER_DEVICES_H
#define LIANA_DISTRIBUTE_WORKER_DEVICES_H

#include "distribute/device_set.h"

extern const liana__fields liana__worker_options;

/* See liana__strategy. One device with the context's threads, unless the options ask for more. */
liana_status liana__worker_lay_out(const void *options, const liana_context *context, liana__device_layout *layout,
                                   liana__error *error);

#endif
