/* exchange_options.h - the options of the strategies of several processes: how gradients travel, and which are waited
 * for. */
#ifndef LIANA_DISTRIBUTE_EXCHANGE_OPTIONS_H
#define LIANA_DISTRIBUTE_EXCHANGE_OPTIONS_H

#include "base/field.h"
#include "distribute/cluster/wire.h"

/* As they are asked for. Of parameter_server; multi_worker has the first only. */
typedef struct liana__exchange_asked {
    int wire;                      /* liana__wire_kind */
    bool synchronous;              /* an update takes the gradients of several workers */
    double max_staleness;          /* of asynchronous updates; NaN: not given */
    int64_t replicas_to_aggregate; /* 0: all workers */
    int64_t pause_steps;           /* 0: not given */
} liana__exchange_asked;

/* What they come to for a number of workers. */
typedef struct liana__exchange_options {
    liana__wire_kind wire;
    bool synchronous;
    int64_t max_staleness;
    int64_t replicas_to_aggregate;
    int64_t pause_steps; /* 0: every update takes the gradients of all workers, and they are in step */
} liana__exchange_options;

extern const liana__fields liana__multi_worker_fields, liana__parameter_server_fields;

/* `options`: a liana__exchange_asked; NULL: the defaults. */
liana__exchange_options liana__multi_worker_options(const void *options);
liana__exchange_options liana__parameter_server_options(const void *options, size_t num_workers);
/* Errors: INVALID_CONFIG for options that do not go together, or not with so many workers. */
liana_status liana__parameter_server_check(const void *options, size_t num_workers, liana__error *error) LIANA_MUST_USE;

/* See liana__strategy.describe_arithmetic: "bfloat16 wire, 4 workers". */
void liana__multi_worker_describe(const void *options, size_t num_workers, char *text, size_t size);
void liana__parameter_server_describe(const void *options, size_t num_workers, char *text, size_t size);
/* See liana__strategy.span_steps and is_asynchronous. */
bool liana__parameter_server_is_asynchronous(const void *options);
size_t liana__parameter_server_span_steps(const void *options, size_t num_workers);

#endif
