/* Which gradients are waited for. */
#include "distribute/cluster/exchange_options.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* Unless told otherwise, for each worker: the staleness of gradients, and the updates between two pause points. */
enum { STALENESS_EACH = 4, PAUSE_STEPS_EACH = 32 };

liana__exchange_options liana__parameter_server_options(const void *options, size_t num_workers)
{
    static const liana__worker_asked defaults = {.synchronous = true, .max_staleness = NAN};
    const liana__worker_asked *asked = options ? options : &defaults;
    const int64_t workers = (int64_t)num_workers;
    liana__exchange_options made = {.synchronous = asked->synchronous};
    made.replicas_to_aggregate = asked->replicas_to_aggregate ? asked->replicas_to_aggregate : workers;
    made.max_staleness = isnan(asked->max_staleness) ? STALENESS_EACH * workers : (int64_t)asked->max_staleness;
    if (made.synchronous && made.replicas_to_aggregate == workers) return made;
    made.pause_steps = asked->pause_steps ? asked->pause_steps : PAUSE_STEPS_EACH * workers;
    return made;
}

static liana_status refuse(liana__error *error, const char *key, const char *reason)
{
    return liana__fail(error, LIANA_INVALID_CONFIG, "the strategy parameter_server: %s %s", key, reason);
}

liana_status liana__parameter_server_check(const void *options, size_t num_workers, liana__error *error)
{
    const liana__worker_asked *asked = options;
    if (!asked) return LIANA_OK;
    const bool is_bounded = !isnan(asked->max_staleness);
    if (asked->replicas_to_aggregate > (int64_t)num_workers) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "the strategy parameter_server: replicas_to_aggregate is %lld, but there are %zu workers; start "
            "more, or wait for fewer",
            (long long)asked->replicas_to_aggregate, num_workers);
    }
    if (asked->replicas_to_aggregate && !asked->synchronous) {
        return refuse(error, "replicas_to_aggregate",
                      "is for synchronous updates, but synchronous is false: an asynchronous update takes one worker's "
                      "gradients; leave one of the two out");
    }
    if (is_bounded && asked->synchronous) {
        return refuse(error, "max_staleness", "is for asynchronous updates: add synchronous: false, or leave it out");
    }
    if (is_bounded && floor(asked->max_staleness) != asked->max_staleness) {
        return refuse(error, "max_staleness", "is a number of updates: 0, 1, 2, ...");
    }
    const bool is_in_step = liana__parameter_server_options(options, num_workers).pause_steps == 0;
    if (asked->pause_steps && is_in_step) {
        return refuse(
            error, "pause_steps",
            "is for workers that are not in step: add synchronous: false or replicas_to_aggregate, or leave it "
            "out");
    }
    return LIANA_OK;
}

/* The wire, and the gradients that are not waited for. */
void liana__parameter_server_describe(const void *options, size_t num_workers, char *text, size_t size)
{
    const liana__exchange_options own = liana__parameter_server_options(options, num_workers);
    const char *rounded = liana__worker_wire(options) == LIANA__WIRE_FLOAT32 ? "" : "bfloat16 wire, ";
    const char *workers = num_workers == 1 ? "worker" : "workers";
    if (own.pause_steps == 0) {
        liana__worker_describe(options, num_workers, text, size);
    } else if (own.synchronous) {
        snprintf(text, size, "%sthe first %lld of %zu %s", rounded, (long long)own.replicas_to_aggregate, num_workers,
                 workers);
    } else {
        snprintf(text, size, "%sasynchronous updates, max_staleness %lld, %zu %s", rounded,
                 (long long)own.max_staleness, num_workers, workers);
    }
}

size_t liana__parameter_server_span_steps(const void *options, size_t num_workers)
{
    return (size_t)liana__parameter_server_options(options, num_workers).pause_steps;
}

bool liana__parameter_server_is_asynchronous(const void *options)
{
    return !liana__parameter_server_options(options, 1).synchronous;
}
