/* Several processes, each of which computes shards and owns a slice of the variables. */
#include "distribute/cluster/cluster.h"
#include "distribute/cluster/cluster_replicas.h"
#include "distribute/cluster/worker_devices.h"

static liana_status create(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                           liana__strategy_instance **instance, liana__error *error)
{
    if (devices->cluster && devices->cluster->place.num_servers) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the strategy multi_worker has no parameter servers, but the cluster has %zu; use "
                           "parameter_server, or leave them out",
                           devices->cluster->place.num_servers);
    }
    return liana__cluster_replicas_create(devices, plan, instance, error);
}

const liana__strategy liana__strategy_multi_worker = {
    .name = "multi_worker",
    .doc = "Several processes: each computes shards, and updates a slice of the variables.",
    .options = &liana__worker_options,
    .needs_cluster = true,
    .describe_arithmetic = liana__worker_describe,
    .lay_out = liana__worker_lay_out,
    .create = create,
    .functions = &liana__cluster_replicas_functions,
};
