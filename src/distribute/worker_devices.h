/* worker_devices.h - the options of the strategies of several processes: the devices of one process, and what gradients are
 * sent in. */
#ifndef LIANA_DISTRIBUTE_WORKER_DEVICES_H
#define LIANA_DISTRIBUTE_WORKER_DEVICES_H

#include "distribute/cluster/wire.h"
#include "distribute/device_set.h"

extern const liana__fields liana__worker_options;

/* See liana__strategy. One device with the context's threads, unless the options ask for more. */
liana_status liana__worker_lay_out(const void *options, const liana_context *context, liana__device_layout *layout,
                                   liana__error *error);

/* What gradients are sent in; `options` NULL: the default. */
liana__wire_kind liana__worker_wire(const void *options);
/* See liana__strategy.describe_arithmetic: "bfloat16 wire, 4 workers". */
void liana__worker_describe(const void *options, size_t num_workers, char *text, size_t size);

#endif
