/* exchange_options.h - which gradients an update of the strategy parameter_server waits for. */
#ifndef LIANA_DISTRIBUTE_EXCHANGE_OPTIONS_H
#define LIANA_DISTRIBUTE_EXCHANGE_OPTIONS_H

#include "distribute/cluster/worker_devices.h"

/* The options, resolved for a number of workers. */
typedef struct liana__exchange_options {
    bool synchronous;
    int64_t max_staleness;
    int64_t replicas_to_aggregate;
    int64_t pause_steps; /* 0: every update takes the gradients of all workers, and they are in step */
} liana__exchange_options;

/* `options`: a liana__worker_asked; NULL: the defaults. */
liana__exchange_options liana__parameter_server_options(const void *options, size_t num_workers);
/* Errors: INVALID_CONFIG for options that do not go together, or not with this number of workers. */
liana_status liana__parameter_server_check(const void *options, size_t num_workers, liana__error *error) LIANA_MUST_USE;

/* See liana__strategy.describe_arithmetic: "asynchronous updates, max_staleness 8, 2 workers". */
void liana__parameter_server_describe(const void *options, size_t num_workers, char *text, size_t size);
/* See liana__strategy.span_steps and is_asynchronous. */
size_t liana__parameter_server_span_steps(const void *options, size_t num_workers);
bool liana__parameter_server_is_asynchronous(const void *options);

#endif
