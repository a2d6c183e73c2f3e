/* liana server: offers the devices of this machine to other processes. */
#include "backends/remote/server.h"
#include "cli/command.h"
#include "distribute/transport/cluster_found.h"
#include "distribute/transport/cluster_read.h"
#include "formats/yaml.h"

#include <stdlib.h>
#include <string.h>

static const liana__option options[] = {
    {"listen", "ADDRESS", "where it listens: host:port, or ipc:///FOLDER/SOCKET within one machine"},
    {"task", "TASK", "which one of the configuration's cluster this is: worker:1, server:0 (cluster.task)"},
    {"keys", "DIR", "the folder with the cluster's key; else cluster.keys or LIANA_CLUSTER_KEYS"},
    {"memory", "MIB", "memory for all clients together (default: half of the machine's)"},
    {"threads", "N", "threads of each client's CPU device (default: LIANA_THREADS, or the number of cores)"},
    {"clients", "N", "most clients at the same time (default: 16)"},
    LIANA__OPTION_JSON,
    {0},
};

/* ---- where it listens ---- */

static liana_status read_cluster(liana__invocation *invocation, liana__cluster_options *cluster)
{
    liana__error *error = &invocation->error;
    liana__value *file = NULL;
    const liana__value *map = NULL;
    if (invocation->num_operands) {
        const char *path = invocation->operands[0];
        LIANA_TRY(liana__yaml_read(path, &invocation->arena, &file, error));
        map = file->kind == LIANA__VALUE_MAP ? liana__value_get(file, "cluster") : NULL;
        if (!map) {
            return liana__fail(error, LIANA_INVALID_CONFIG,
                               "%s: there is no section 'cluster', which says where the servers listen", path);
        }
    }
    LIANA_TRY(liana__fields_read(&liana__cluster_fields, map, "cluster", NULL, &invocation->arena, cluster, error));
    const char *task = liana__invocation_text(invocation, "task"), *keys = liana__invocation_text(invocation, "keys");
    if (task) cluster->task = task;
    if (keys) cluster->keys = keys;
    return LIANA_OK;
}

/* "host:*" is any port. */
static liana_status check_listen(const char *address, liana__error *error)
{
    const liana__cluster_reader reader = {.error = error};
    const char *colon = strrchr(address, ':');
    if (colon && colon > address && strcmp(colon, ":*") == 0) return LIANA_OK;
    return liana__cluster_check_address(&reader, "--listen", address);
}

static liana_status find_place(liana__invocation *invocation, liana__service_place *place)
{
    liana__error *error = &invocation->error;
    liana__cluster_options cluster;
    liana__cluster_place found;
    LIANA_TRY(read_cluster(invocation, &cluster));
    const char *listen = liana__invocation_text(invocation, "listen"), *keys = getenv("LIANA_CLUSTER_KEYS");
    *place = (liana__service_place){.address = listen, .source = "--listen", .heartbeat = cluster.heartbeat};
    place->keys = cluster.keys ? cluster.keys : keys && *keys ? keys : NULL;
    if (listen) return check_listen(listen, error);
    LIANA_TRY(liana__cluster_place_read(&cluster, liana__get_environment, NULL, &invocation->arena, &found, error));
    if (!found.addresses || found.role == LIANA__ROLE_EVALUATOR) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "server: nothing says where it listens: give --listen, a configuration with a cluster and "
                           "--task, or TF_CONFIG");
    }
    place->address = found.addresses[found.rank];
    place->source = found.source;
    place->keys = found.keys;
    return LIANA_OK;
}

static liana_status read_numbers(liana__invocation *invocation, liana__served_server_options *wanted)
{
    int64_t memory = 0, threads = 0, clients = 16;
    LIANA_TRY(liana__invocation_int(invocation, "memory", 1, 1 << 30, &memory));
    LIANA_TRY(liana__invocation_int(invocation, "threads", 1, 1024, &threads));
    LIANA_TRY(liana__invocation_int(invocation, "clients", 1, 512, &clients));
    wanted->memory = (size_t)memory << 20;
    wanted->num_threads = (int)threads;
    wanted->max_clients = (size_t)clients;
    return LIANA_OK;
}

/* ---- what it says ---- */

static void print_event(liana__invocation *invocation, const char *name, const char *key, const char *text)
{
    liana__arena arena = {0};
    liana__value *event = liana__value_map(&arena);
    liana__value_set(&arena, event, "event", liana__value_string(&arena, name));
    liana__value_set(&arena, event, key, liana__value_string(&arena, text));
    if (!arena.failed) liana__invocation_print_json(invocation, event);
    liana__arena_free(&arena);
}

static void say(void *user, const char *line)
{
    liana__invocation *invocation = user;
    if (liana__invocation_has(invocation, "json")) {
        print_event(invocation, "client", "message", line);
    } else {
        fprintf(invocation->out, "%s\n", line);
    }
    fflush(invocation->out);
}

static void say_address(liana__invocation *invocation, const char *address)
{
    if (liana__invocation_has(invocation, "json")) {
        print_event(invocation, "listening", "address", address);
    } else {
        fprintf(invocation->out, "listening at %s\n", address);
    }
    fflush(invocation->out);
}

static liana_status run(liana__invocation *invocation)
{
    liana__served_server_options wanted = {.say = say, .user = invocation};
    liana__served_server *server;
    LIANA_TRY(find_place(invocation, &wanted.place));
    LIANA_TRY(read_numbers(invocation, &wanted));
    liana__signals_catch();
    LIANA_TRY(liana__served_server_open(&wanted, &server, &invocation->error));
    say_address(invocation, liana__served_server_address(server));
    while (!liana__signals_caught()) liana__served_server_turn(server, 0.2);
    liana__served_server_close(server);
    return LIANA_OK;
}

const liana__command liana__subcommand_server = {
    .name = "server",
    .operands = "[CONFIG.yaml]",
    .summary = "Offer the devices of this machine to other processes",
    .help = "A program elsewhere names a device as /job:worker/task:1/cpu:0 or host:port/cpu:0, and\n"
            "what it computes runs here. The address is --listen, or that of a task in the\n"
            "configuration's section 'cluster', or in TF_CONFIG. Over a network the cluster's key\n"
            "is needed (liana cluster keys). Ends at SIGINT or SIGTERM.\n",
    .options = options,
    .max_operands = 1,
    .run = run,
};
