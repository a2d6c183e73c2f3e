/* liana server: offers the devices of this machine to other processes. */
#include "program/server.h"
#include "base/scoped.h"
#include "cli/command.h"
#include "formats/yaml.h"

LIANA__SCOPED_POINTER(liana_server_destroy, liana_server)

static const liana__option options[] = {
    {"listen", "ADDRESS", "where it listens: host:port, or ipc:///FOLDER/SOCKET within one machine"},
    {"task", "TASK", "which one of the configuration's cluster this is: worker:1, server:0 (cluster.task)"},
    {"keys", "DIR", "the folder with the cluster's key; else cluster.keys or LIANA_CLUSTER_KEYS"},
    {"memory", "MIB", "memory for all clients together (default: half of the machine's)"},
    {"threads", "N", "threads of each client's CPU device (default: LIANA_THREADS, or the number of cores)"},
    {"clients", "N", "most clients at the same time (default: 16)"},
    {LIANA__OPTION_JSON},
    {0},
};

/* ---- options ---- */

/* The section `cluster` of the configuration, or its defaults. */
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
    return liana__fields_read(&liana__cluster_fields, map, "cluster", NULL, &invocation->arena, cluster, error);
}

static liana_status read_options(liana__invocation *invocation, liana_server_options *wanted)
{
    int64_t mebibytes = 0;
    wanted->listen = liana__invocation_text(invocation, "listen");
    wanted->task = liana__invocation_text(invocation, "task");
    wanted->keys = liana__invocation_text(invocation, "keys");
    LIANA_TRY(liana__invocation_int(invocation, "memory", 1, 1 << 30, &mebibytes));
    LIANA_TRY(liana__invocation_int(invocation, "threads", 1, 1024, &wanted->num_threads));
    LIANA_TRY(liana__invocation_int(invocation, "clients", 1, 512, &wanted->max_clients));
    wanted->memory = mebibytes << 20;
    return LIANA_OK;
}

/* ---- messages ---- */

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
    liana_server_options wanted = {.say = say, .user = invocation};
    liana__cluster_options cluster;
    LIANA__SCOPED_BY(liana_server_destroy_scoped) liana_server *server = NULL;
    LIANA_TRY(read_cluster(invocation, &cluster));
    LIANA_TRY(read_options(invocation, &wanted));
    liana__signals_catch();
    LIANA_TRY(liana__server_open(&wanted, "--listen", &cluster, &server, &invocation->error));
    say_address(invocation, liana_server_address(server));
    while (!liana__signals_caught()) LIANA_TRY(liana_server_run(server, 0.2));
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
