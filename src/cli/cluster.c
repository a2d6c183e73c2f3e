/* liana cluster: the needs of clusters of processes. */
#include "cli/command.h"
#include "distribute/transport/cluster_keys.h"

#include <string.h>

static liana_status run(liana__invocation *invocation)
{
    const char *what = invocation->operands[0], *folder = invocation->operands[1];
    if (strcmp(what, "keys") != 0) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "cluster: found '%.60s', expected: liana cluster keys DIR", what);
    }
    LIANA_TRY(liana__cluster_keys_make(folder, &invocation->error));
    fprintf(invocation->out,
            "%s has a new key. Copy the folder to each machine of the cluster, and name it in cluster.keys or "
            "LIANA_CLUSTER_KEYS.\n",
            folder);
    return LIANA_OK;
}

const liana__command liana__subcommand_cluster = {
    .name = "cluster",
    .operands = "keys DIR",
    .summary = "Make the key of a cluster",
    .help = "Makes the folder DIR with the secret key of a new cluster. Processes on several\n"
            "machines need the same key: who holds it gets in, and what they send is\n"
            "encrypted. Nobody but you can read the folder; keep it so.\n",
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
