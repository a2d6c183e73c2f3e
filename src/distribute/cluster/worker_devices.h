/* worker_devices.h - the options of the strategies of several processes: the devices of one process, and the type of
 * gradients in messages. */
#ifndef LIANA_DISTRIBUTE_CLUSTER_WORKER_DEVICES_H
#define LIANA_DISTRIBUTE_CLUSTER_WORKER_DEVICES_H

#include "distribute/cluster/wire.h"
#include "distribute/device_set.h"

/* As they are asked for. */
typedef struct liana__worker_asked {
    int64_t replicas; /* 0: one */
    int64_t threads;  /* 0: those of the context, shared out */
    int bind;         /* liana__cpu_binding */
    int wire;         /* liana__wire_kind */
    /* Of parameter_server alone (cluster/exchange_options.h). */
    bool synchronous;              /* an update takes the gradients of several workers */
    double max_staleness;          /* of asynchronous updates; NaN: not given */
    int64_t replicas_to_aggregate; /* 0: all workers */
    int64_t pause_steps;           /* 0: not given */
} liana__worker_asked;

/* Of multi_worker, and of parameter_server. */
extern const liana__fields liana__worker_options, liana__parameter_server_fields;

/* See liana__strategy. One device with the context's threads, unless the options ask for more. */
liana_status liana__worker_lay_out(const void *options, const liana_context *context, liana__device_layout *layout,
                                   liana__error *error);

/* The type of gradients in messages; `options` NULL: the default. */
liana__wire_kind liana__worker_wire(const void *options);
/* See liana__strategy.describe_arithmetic: "bfloat16 wire, 4 workers". */
void liana__worker_describe(const void *options, size_t num_workers, char *text, size_t size);

#endif
