/* Serves the devices of this machine. */
#include "program/server.h"

#include "backends/remote/server.h"
#include "base/clock.h"
#include "base/scoped.h"
#include "distribute/transport/cluster_found.h"
#include "distribute/transport/cluster_read.h"
#include "formats/yaml.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct liana_server {
    liana_context *context; /* where messages go; NULL: the caller has an error of its own */
    liana__served_server *server;
    atomic_bool is_stopped;
};
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a signal handler needs a lock-free flag");

/* A stop that comes between two turns is seen after at most this many seconds. */
static const double TURN = 0.2;

enum { MOST_THREADS = 1024, MOST_CLIENTS = 512, USUAL_CLIENTS = 16 };

/* ---- where it listens ---- */

/* "host:*" is any port. */
static liana_status check_listen(const char *address, const char *what, liana__error *error)
{
    const liana__cluster_reader reader = {.error = error};
    const char *colon = strrchr(address, ':');
    if (colon && colon > address && strcmp(colon, ":*") == 0) return LIANA_OK;
    return liana__cluster_check_address(&reader, what, address);
}

static liana_status find_place(const liana_server_options *options, const char *what, liana__cluster_options *cluster,
                               liana__arena *arena, liana__service_place *place, liana__error *error)
{
    const char *keys = getenv("LIANA_CLUSTER_KEYS");
    if (options->task) cluster->task = options->task;
    if (options->keys) cluster->keys = options->keys;
    *place = (liana__service_place){.address = options->listen, .source = what, .heartbeat = cluster->heartbeat};
    place->keys = cluster->keys ? cluster->keys : keys && *keys ? keys : NULL;
    if (options->listen) return check_listen(options->listen, what, error);
    liana__cluster_place found;
    LIANA_TRY(liana__cluster_place_read(cluster, liana__get_environment, NULL, arena, &found, error));
    if (!found.addresses || found.role == LIANA__ROLE_EVALUATOR) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "server: nothing says where it listens: give an address (%s), a cluster and which task of it "
            "this is, or TF_CONFIG",
            what);
    }
    place->address = found.addresses[found.rank];
    place->source = found.source;
    place->keys = found.keys;
    return LIANA_OK;
}

/* ---- opening ---- */

static liana_status check_number(const char *name, int64_t number, int64_t most, liana__error *error)
{
    if (number >= 0 && number <= most) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "server: %s is %lld, expected 0 to %lld", name, (long long)number,
                       (long long)most);
}

static liana_status listen_at(const liana_server_options *options, const char *what, liana__cluster_options *cluster,
                              liana__arena *arena, liana_server *server, liana__error *error)
{
    liana__served_server_options wanted = {.say = options->say, .user = options->user};
    LIANA_TRY(check_number("memory", options->memory, INT64_MAX, error));
    LIANA_TRY(check_number("num_threads", options->num_threads, MOST_THREADS, error));
    LIANA_TRY(check_number("max_clients", options->max_clients, MOST_CLIENTS, error));
    wanted.memory = (size_t)options->memory;
    wanted.num_threads = (int)options->num_threads;
    wanted.max_clients = options->max_clients ? (size_t)options->max_clients : USUAL_CLIENTS;
    LIANA_TRY(find_place(options, what, cluster, arena, &wanted.place, error));
    return liana__served_server_open(&wanted, &server->server, error);
}

liana_status liana__server_open(const liana_server_options *options, const char *what,
                                const liana__cluster_options *cluster, liana_server **out, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__cluster_options own;
    if (cluster) {
        own = *cluster;
    } else {
        LIANA_TRY(liana__fields_default(&liana__cluster_fields, &arena, &own, error));
    }
    liana_server *server = calloc(1, sizeof *server);
    if (!server) return liana__fail_memory(error, "a server");
    liana_status status = listen_at(options, what, &own, &arena, server, error);
    if (status != LIANA_OK) {
        free(server);
        return status;
    }
    *out = server;
    return LIANA_OK;
}

liana_status liana__cluster_text_read(const char *text, liana__arena *arena, liana__cluster_options *cluster,
                                      liana__error *error)
{
    liana__value *map;
    LIANA_TRY(liana__yaml_parse(text, strlen(text), "cluster", arena, &map, error));
    return liana__fields_read(&liana__cluster_fields, map, "cluster", NULL, arena, cluster, error);
}

static liana_status create(liana_context *context, const liana_server_options *options, liana_server **server)
{
    static const liana_server_options standard = {0};
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__cluster_options cluster;
    if (!options) options = &standard;
    if (options->cluster) LIANA_TRY(liana__cluster_text_read(options->cluster, &arena, &cluster, &context->error));
    LIANA_TRY(liana__server_open(options, "listen", options->cluster ? &cluster : NULL, server, &context->error));
    (*server)->context = context;
    return LIANA_OK;
}

liana_status liana_server_create(liana_context *context, const liana_server_options *options, liana_server **server)
{
    LIANA__REQUIRE(liana__context_error(context), server);
    *server = NULL;
    LIANA__REQUIRE(NULL, context);
    LIANA__CONTEXT_CALL(context, create(context, options, server));
}

void liana_server_destroy(liana_server *server)
{
    if (!server) return;
    liana__served_server_close(server->server);
    free(server);
}

const char *liana_server_address(const liana_server *server)
{
    return server ? liana__served_server_address(server->server) : NULL;
}

/* ---- serving ---- */

liana_status liana_server_run(liana_server *server, double seconds)
{
    LIANA__REQUIRE(NULL, server);
    if (!(seconds >= 0)) {
        return liana__fail(liana__context_error(server->context), LIANA_INVALID_ARGUMENT,
                           "liana_server_run: %g is no number of seconds", seconds);
    }
    const double end = seconds > 0 ? liana__clock_seconds() + seconds : INFINITY;
    while (!atomic_load(&server->is_stopped)) {
        const double left = end - liana__clock_seconds();
        if (left <= 0) break;
        liana__served_server_turn(server->server, left < TURN ? left : TURN);
    }
    return LIANA_OK;
}

void liana_server_stop(liana_server *server)
{
    if (server) atomic_store(&server->is_stopped, true);
}
