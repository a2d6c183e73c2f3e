/* server.h - offers the devices of this machine to other processes, as TensorFlow's tf.train.Server. `liana server`
 * does the same from the command line.
 *
 *     liana_server_create(context, &(liana_server_options){.listen = "host:2222", .keys = "keys"}, &server);
 *     liana_server_run(server, 0);
 *     liana_server_destroy(server);
 *
 * Elsewhere, "host:2222/cpu:0" is then the name of a device (liana_device_open). */
#ifndef LIANA_SERVER_H
#define LIANA_SERVER_H

#include <liana/context.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_server liana_server;

/* Zeros are the defaults. Texts are copied. */
typedef struct liana_server_options {
    const char
        *listen; /* "host:port", "host:*" (any port), or "ipc:///FOLDER/SOCKET"; NULL: as `cluster` and `task` say */
    const char *cluster; /* as for liana_connect_to_cluster; NULL: TF_CONFIG */
    const char
        *task; /* which one of the cluster this is: "worker:1", "server:0"; NULL: the cluster or TF_CONFIG says */
    const char
        *keys;      /* folder of the cluster's key; NULL: that of the cluster, or LIANA_CLUSTER_KEYS. ipc needs none */
    int64_t memory; /* bytes for all clients together; 0: half of the machine's */
    int64_t num_threads; /* of each client's CPU device, at most 1024; 0: LIANA_THREADS, or the number of cores */
    int64_t max_clients; /* at the same time, at most 512; 0: 16 */
    /* Called with a line about a client that comes or goes, by the thread of liana_server_run. NULL: nobody is told. */
    void (*say)(void *user, const char *line);
    void *user;
} liana_server_options;

/* Begins to listen. `options` may be NULL: TF_CONFIG says where. The context is for messages. Errors: INVALID_CONFIG
 * (nothing says where; no address; no key), INVALID_ARGUMENT (a number out of range), UNAVAILABLE (the
 * port is in use), OUT_OF_MEMORY, UNIMPLEMENTED (a build without libzmq). */
LIANA_API LIANA_MUST_USE liana_status liana_server_create(liana_context *context, const liana_server_options *options,
                                                          liana_server **server);
/* Waits for running calls of clients, frees the memory that they held, and closes. NULL is allowed. */
LIANA_API void liana_server_destroy(liana_server *server);

/* Where it listens, with the port that the system has chosen for "host:*". Valid as long as the server. */
LIANA_API const char *liana_server_address(const liana_server *server);

/* Serves for a time in seconds, or until liana_server_stop; 0: until then. Afterwards it may be called again. One
 * thread at a time. Errors: INVALID_ARGUMENT (not a number of seconds). */
LIANA_API LIANA_MUST_USE liana_status liana_server_run(liana_server *server, double seconds);
/* Ends liana_server_run, and each later call of it at once. Any thread; a signal handler may call it. */
LIANA_API void liana_server_stop(liana_server *server);

#ifdef __cplusplus
}
#endif
#endif
