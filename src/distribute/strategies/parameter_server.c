/* Several processes: workers compute shards, and parameter servers own the slices of the variables. */
#include "distribute/cluster/cluster.h"
#include "distribute/cluster/cluster_replicas.h"
#include "distribute/cluster/exchange_options.h"

/* Sums over all servers, for which these would have to meet. */
static liana_status check_rounds(const void *options, size_t num_workers, const liana__strategy_plan *plan,
                                 liana__error *error)
{
    if (!liana__parameter_server_span_steps(options, num_workers) || !plan->update || !plan->update->num_rounds)
        return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "the optimizer needs sums over whole gradients in every update (clipnorm, global_clipnorm, Lamb, "
        "LARS, or a rate that follows the training), for which all parameter servers meet: use "
        "synchronous updates of all workers, or another optimizer; clipvalue needs no sums");
}

static liana_status create(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                           liana__strategy_instance **instance, liana__error *error)
{
    if (devices->cluster && !devices->cluster->place.num_servers) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the strategy parameter_server needs parameter servers, but the cluster has none; add some, "
                           "or use multi_worker");
    }
    if (devices->cluster) {
        const size_t num_workers = devices->cluster->place.num_workers;
        LIANA_TRY(liana__parameter_server_check(devices->options, num_workers, error));
        LIANA_TRY(check_rounds(devices->options, num_workers, plan, error));
    }
    return liana__cluster_replicas_create(devices, plan, instance, error);
}

const liana__strategy liana__strategy_parameter_server = {
    .name = "parameter_server",
    .doc = "Several processes: workers compute shards, parameter servers update the variables.",
    .options = &liana__parameter_server_fields,
    .needs_cluster = true,
    .describe_arithmetic = liana__parameter_server_describe,
    .span_steps = liana__parameter_server_span_steps,
    .is_asynchronous = liana__parameter_server_is_asynchronous,
    .lay_out = liana__worker_lay_out,
    .create = create,
    .functions = &liana__cluster_replicas_functions,
};
