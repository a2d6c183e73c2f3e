/* names.h - names of remote devices, and the cluster that says where their servers are.
 *
 *   /job:worker/task:1/cpu:0                   as TensorFlow shortens it
 *   /job:worker/replica:0/task:1/device:CPU:0  as TensorFlow writes it
 *   /job:worker/cpu:0                          that device of all tasks of the job, one after the other
 *   host:port/cpu:0, ipc:///folder/socket/cpu:0   a server, without a cluster
 *
 * The device is cpu:0 if nothing is said; options of a plugin may follow a '?'. Names without a job, and those of the
 * job localhost, mean devices of this process. */
#ifndef LIANA_BACKENDS_REMOTE_NAMES_H
#define LIANA_BACKENDS_REMOTE_NAMES_H

#include "base/context.h"
#include "distribute/transport/cluster_options.h"
#include "distribute/transport/service.h"

typedef struct liana__served_name {
    const char *job;     /* NULL: an address, or a device of this process */
    const char *address; /* NULL: the cluster knows it */
    bool has_task;
    size_t task;
    const char *device; /* "cpu:0", "gpu:1?preallocate=false": of the server, or of this process */
} liana__served_name;

/* Whether a device's name (NULL: none) is one of these. */
bool liana__served_knows(const char *name);
/* Reads a name. All is the arena's. Errors: INVALID_CONFIG with the part that is not understood, OUT_OF_MEMORY. */
liana_status liana__served_name_read(const char *text, liana__arena *arena, liana__served_name *name,
                                     liana__error *error) LIANA_MUST_USE;
/* "/job:worker/task:1/cpu:0": as messages say it. */
const char *liana__served_name_print(const liana__served_name *name, size_t task, liana__arena *arena);

/* The device of a server that `kind[:number]` names, as this process opens it: "cpu:0" is "cpu". Errors: INVALID_CONFIG
 * for a device that a server does not offer, and for a number that is not there. */
liana_status liana__served_local_name(const char *device, const char **local, liana__error *error) LIANA_MUST_USE;

typedef struct liana__served_job {
    const char *name; /* "worker" */
    const char **addresses;
    size_t num_tasks;
} liana__served_job;

enum { LIANA__SERVED_JOBS = 16 };

typedef struct liana__served_cluster {
    liana__served_job jobs[LIANA__SERVED_JOBS];
    size_t num_jobs;
    const char *keys;   /* NULL: there are none */
    const char *source; /* where this was read; NULL: there is no cluster */
    double timeout, heartbeat;
} liana__served_cluster;

/* Names the servers of this context's devices: the jobs worker and ps are cluster.workers and cluster.servers. Copies
 * all. Errors: INVALID_CONFIG for a wrong address, OUT_OF_MEMORY. */
liana_status liana__served_use_cluster(liana_context *context, const liana__cluster_options *options,
                                       liana__error *error) LIANA_MUST_USE;
/* The cluster that was named, or that of TF_CONFIG, or none. LIANA_CLUSTER_KEYS names the keys where nothing else does.
 * All is the arena's or borrowed. Errors: INVALID_CONFIG, OUT_OF_MEMORY. */
liana_status liana__served_find_cluster(const liana_context *context, liana__arena *arena,
                                        liana__served_cluster *cluster, liana__error *error) LIANA_MUST_USE;

/* How a server of the cluster is reached. A client waits for it, since both may have been started at the same time: for
 * cluster.timeout, but at most 20 s, and no longer than the context lets it (base/waiting.h). */
liana__service_place liana__served_place(const liana__served_cluster *cluster, const char *address,
                                         liana_context *context);

/* The addresses that a name means: one, or those of all tasks. Errors: INVALID_CONFIG for a job or task that is not
 * there, with those that are. */
liana_status liana__served_resolve(const liana__served_name *name, const liana__served_cluster *cluster,
                                   const char *const **addresses, size_t *count, liana__error *error) LIANA_MUST_USE;

#endif
