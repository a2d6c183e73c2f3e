/* The table of the section `cluster`. */
#include "distribute/transport/cluster_options.h"

#include <stdlib.h>

#define ROW(member, field_kind, ...) LIANA__FIELD_ROW(liana__cluster_options, member, field_kind, __VA_ARGS__)
static const liana__field rows[] = {
    ROW(transport, STRING,
        .doc = "how messages get from process to process (liana list transports); null: mpi if mpirun has started the "
               "processes, else zmq"),
    ROW(workers, STRINGS, .doc = "the addresses of the workers, host:port; the first one is the chief's"),
    ROW(servers, STRINGS, .doc = "the addresses of the parameter servers, host:port"),
    ROW(task, STRING,
        .doc = "which one this process is: chief, worker:1, server:0 or evaluator; null: the environment says"),
    ROW(num_servers, INT, .minimum = 0, .maximum = 100000,
        .doc = "where processes are only numbered (mpirun, srun, RANK): the last so many are parameter servers"),
    ROW(keys, PATH,
        .doc =
            "the folder with the cluster's key (liana cluster keys); null: LIANA_CLUSTER_KEYS; not needed within one "
            "machine"),
    ROW(mpi, STRING, .doc = "which MPI: openmpi or mpich; null: the one that has started the processes"),
    ROW(timeout, FLOAT, .default_text = "300", .minimum = 0.1, .maximum = 1e6,
        .doc = "seconds after which a start that does not come together ends"),
    ROW(heartbeat, FLOAT, .default_text = "10", .minimum = 0.1, .maximum = 1e4,
        .doc = "seconds after which a process that is not heard of is taken for dead"),
    ROW(mirrors, BOOL, .default_text = "true",
        .doc = "each slice of the optimizer's state lives in one more process, so that any one may die (zmq; two "
               "owners or more); false: less memory is taken, and the death of an owner ends the job"),
    ROW(lease, FLOAT, .default_text = "30", .minimum = 0.2, .maximum = 1e5,
        .doc = "seconds after which the run folder of a process that renews its lease no more may be taken by another"),
    ROW(exact, BOOL, .default_text = "true",
        .doc = "processes that compute other bits for the same examples are an error; false: it is only told"),
};
const liana__fields liana__cluster_fields = LIANA__FIELD_TABLE("cluster", liana__cluster_options, rows);

const char *liana__get_environment(void *user, const char *name)
{
    (void)user;
    return getenv(name);
}
