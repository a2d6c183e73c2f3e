/* liana serve: answers requests for predictions over HTTP. */
#include "base/clock.h"
#include "base/file.h"
#include "base/scoped.h"
#include "cli/command.h"
#include "formats/json.h"
#include "serve/predict/prediction_server.h"
#include "serve/predict/version_scan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_PORT = 8501, LONGEST_TOKEN = 4096, SHORTEST_TOKEN = 16, LARGEST_PEM = 1 << 20 };

static const liana__option options[] = {
    {"listen", "ADDRESS:PORT", "where it listens (default: 127.0.0.1:8501); other machines need a token and TLS"},
    {"port", "PORT", "the same for 127.0.0.1; 0: a free one, which is said"},
    {"token-file", "FILE", "clients need its token: Authorization: Bearer TOKEN (default: LIANA_SERVE_TOKEN)"},
    {"tls-certificate", "FILE", "HTTPS: the certificate and those behind it, PEM"},
    {"tls-key", "FILE", "HTTPS: its private key, PEM"},
    {"insecure", NULL, "listen to other machines without a token, or without TLS"},
    {"host", "NAMES", "more names of this server, separated by commas: those of a proxy"},
    {"batch-size", "N", "the most examples of a batch (default: 16)"},
    {"batch-timeout", "MICROSECONDS", "how long a batch that is not full waits for more (default: 0)"},
    {"queue", "N", "a model's examples that may wait, and of one request (default: 256); more get 503"},
    {"queue-seconds", "S", "how long a request may wait for its turn (default: 30); longer: 504"},
    {"versions", "N", "serve the newest N versions of each model, or all (default: 1)"},
    {"labels", "LABEL=N,...", "names of versions: canary=4,stable=3"},
    {"poll", "SECONDS", "how often it looks for new versions (default: 1; 0: only at SIGHUP)"},
    {"max-body", "MIB", "the largest body of a request (default: 64)"},
    {"memory", "MIB", "of all requests together (default: 1024)"},
    {"max-pixels", "MILLIONS", "the largest image, in pixels (default: 100)"},
    {"client-seconds", "S", "for a client to send a whole request, and to take an answer (default: 30)"},
    {"drain-seconds", "S", "for requests that have come when the server is to end (default: 30)"},
    {"connections", "N", "connections at the same time (default: 256)"},
    {"connections-each", "N", "connections of one address (default: all on this machine, a quarter otherwise)"},
    {"device", "DEVICE", "where models run (default: cpu); see 'liana devices'"},
    {"threads", "N", "threads of each model (default: LIANA_THREADS, or the number of cores)"},
    {"quiet", NULL, "no line for each request"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

/* All that the options say. Texts are the invocation's. */
typedef struct serving {
    liana__prediction_options prediction;
    liana__predictor_engine engine;
    liana__access_log *log;
    double poll, drain;
    bool json;
} serving;

/* ---- models ---- */

/* The name of a model: that of its folder, or of the folder around a version. */
static const char *name_of(liana__arena *arena, char *folder)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') folder[--length] = 0;
    const char *name = liana__path_name(folder);
    if (*name && !name[strspn(name, "0123456789")]) name = liana__path_name(liana__path_folder(arena, folder));
    return name;
}

static liana_status read_places(liana__invocation *invocation, liana__registry_options *registry)
{
    liana__arena *arena = &invocation->arena;
    liana__model_place *places = liana__arena_allocate(arena, invocation->num_operands * sizeof *places);
    if (!places) return liana__fail_memory(&invocation->error, "the arguments");
    for (size_t i = 0; i < invocation->num_operands; i++) {
        const char *operand = invocation->operands[i], *equals = strchr(operand, '=');
        const bool has_name = equals && equals > operand && !memchr(operand, '/', (size_t)(equals - operand));
        char *folder = liana__arena_string(arena, has_name ? equals + 1 : operand);
        if (!folder) return liana__fail_memory(&invocation->error, "the arguments");
        if (!has_name && liana__folder_exists(folder) && !liana__is_model_place(folder) &&
            !liana__has_versions(folder)) {
            if (registry->parent) {
                return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                                   "serve: %s and %s are no models, but folders of models; give one, and models as "
                                   "NAME=DIR",
                                   registry->parent, folder);
            }
            registry->parent = folder;
            continue;
        }
        const char *name =
            has_name ? liana__arena_format(arena, "%.*s", (int)(equals - operand), operand) : name_of(arena, folder);
        if (!name) return liana__fail_memory(&invocation->error, "the arguments");
        places[registry->num_places++] = (liana__model_place){name, folder};
    }
    registry->places = places;
    return LIANA_OK;
}

static liana_status read_versions(liana__invocation *invocation, liana__registry_options *registry)
{
    const char *versions = liana__invocation_text(invocation, "versions");
    registry->num_versions = 1;
    if (versions && strcmp(versions, "all") == 0) {
        registry->num_versions = 0;
        return LIANA_OK;
    }
    return liana__invocation_int(invocation, "versions", 1, 1000, &registry->num_versions);
}

static liana_status read_labels(liana__invocation *invocation, liana__registry_options *registry)
{
    liana__arena *arena = &invocation->arena;
    char *text = liana__arena_string(arena, liana__invocation_text(invocation, "labels"));
    if (!text) return LIANA_OK;
    liana__version_label *labels = liana__arena_allocate(arena, (strlen(text) + 1) * sizeof *labels);
    if (!labels) return liana__fail_memory(&invocation->error, "the arguments");
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        char *equals = strchr(word, '='), *end = NULL;
        const long long number = equals ? strtoll(equals + 1, &end, 10) : -1;
        if (!equals || equals == word || number < 0 || !equals[1] || *end || strpbrk(word, "/:")) {
            return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                               "serve: --labels: found '%.100s', expected LABEL=N,... as in canary=4,stable=3", word);
        }
        *equals = 0;
        labels[registry->num_labels++] = (liana__version_label){word, number};
    }
    registry->labels = labels;
    return LIANA_OK;
}

/* ---- who may ask ---- */

/* Takes the text of a file into the invocation's arena, without white space at its end. */
static liana_status read_text(liana__invocation *invocation, const char *option, size_t most, const char **text)
{
    LIANA__SCOPED_MEMORY char *read = NULL;
    size_t size;
    const char *path = liana__invocation_text(invocation, option);
    if (!path) return LIANA_OK;
    LIANA_TRY(liana__file_read(path, most, &read, &size, &invocation->error));
    while (size && strchr(" \t\r\n", read[size - 1])) read[--size] = 0;
    *text = liana__arena_string(&invocation->arena, read);
    if (!*text) return liana__fail_memory(&invocation->error, path);
    if (strlen(read) == size && size) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "serve: --%s: %s %s", option, path,
                       size ? "holds a 0 byte" : "is empty");
}

static liana_status check_token(liana__invocation *invocation, const char *token)
{
    if (!token) return LIANA_OK;
    for (const char *at = token; *at; at++) {
        if (*at > ' ' && *at <= '~') continue;
        return liana__fail(
            &invocation->error, LIANA_INVALID_CONFIG,
            "serve: the token holds a space or a character that no header can have; one is made by: openssl "
            "rand -hex 32");
    }
    if (strlen(token) >= SHORTEST_TOKEN) return LIANA_OK;
    return liana__fail(
        &invocation->error, LIANA_INVALID_CONFIG,
        "serve: the token has %zu characters, expected at least %d; one is made by: openssl rand -hex 32",
        strlen(token), SHORTEST_TOKEN);
}

static liana_status check_open(liana__invocation *invocation, const liana__http_options *http)
{
    const bool is_local = !http->address || strncmp(http->address, "127.", 4) == 0 || strcmp(http->address, "::1") == 0;
    if (is_local || liana__invocation_has(invocation, "insecure")) return LIANA_OK;
    if (!http->token) {
        return liana__fail(
            &invocation->error, LIANA_INVALID_CONFIG,
            "serve: at %s other machines reach this server, which needs a token: --token-file FILE (one is "
            "made by: openssl rand -hex 32), or --insecure to serve everybody",
            http->address);
    }
    if (http->certificate) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                       "serve: at %s other machines reach this server; without TLS the token can be read on the way: "
                       "--tls-certificate FILE --tls-key FILE, or --insecure behind a proxy that has TLS",
                       http->address);
}

/* "ADDRESS:PORT", "[::1]:PORT". */
static liana_status read_listen(liana__invocation *invocation, liana__http_options *http)
{
    const char *text = liana__invocation_text(invocation, "listen");
    int64_t port = DEFAULT_PORT;
    LIANA_TRY(liana__invocation_int(invocation, "port", 0, 65535, &port));
    http->what = "--port";
    http->port = (int)port;
    if (!text) return LIANA_OK;
    if (liana__invocation_has(invocation, "port")) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "serve: --listen has the port; leave out --port");
    }
    char *end = NULL, *address = liana__arena_string(&invocation->arena, text);
    char *colon = address ? strrchr(address, ':') : NULL;
    const long number = colon && colon[1] >= '0' && colon[1] <= '9' ? strtol(colon + 1, &end, 10) : -1;
    if (number < 0 || number > 65535 || *end || colon == address) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "serve: --listen: found '%.100s', expected ADDRESS:PORT, as in 0.0.0.0:8501 or [::]:8501",
                           text);
    }
    *colon = 0;
    if (*address == '[' && colon[-1] == ']') {
        colon[-1] = 0;
        address++;
    }
    http->what = "--listen ADDRESS:PORT; --port";
    http->address = strcmp(address, "localhost") == 0 ? "127.0.0.1" : address;
    http->port = (int)number;
    return LIANA_OK;
}

static liana_status read_access(liana__invocation *invocation, liana__http_options *http)
{
    LIANA_TRY(read_listen(invocation, http));
    const char *set = getenv("LIANA_SERVE_TOKEN");
    if (set && *set) http->token = set;
    LIANA_TRY(read_text(invocation, "token-file", LONGEST_TOKEN, &http->token));
    LIANA_TRY(check_token(invocation, http->token));
    LIANA_TRY(read_text(invocation, "tls-certificate", LARGEST_PEM, &http->certificate));
    LIANA_TRY(read_text(invocation, "tls-key", LARGEST_PEM, &http->key));
    http->hosts = liana__invocation_text(invocation, "host");
    if (!http->certificate != !http->key) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "serve: TLS needs both --tls-certificate FILE and --tls-key FILE");
    }
    return check_open(invocation, http);
}

/* ---- limits ---- */

static liana_status read_limits(liana__invocation *invocation, serving *own)
{
    liana__http_options *http = &own->prediction.http;
    int64_t body = 64, memory = 1024, connections = 256, each = 0;
    const bool is_local = !http->address || strncmp(http->address, "127.", 4) == 0 || strcmp(http->address, "::1") == 0;
    http->seconds = 30;
    LIANA_TRY(liana__invocation_int(invocation, "max-body", 1, 1 << 14, &body));
    LIANA_TRY(liana__invocation_int(invocation, "memory", 1, 1 << 24, &memory));
    LIANA_TRY(liana__invocation_int(invocation, "connections", 1, 100000, &connections));
    LIANA_TRY(liana__invocation_float(invocation, "client-seconds", 0.1, 86400, &http->seconds));
    if (!is_local) each = connections < 4 ? 1 : connections / 4;
    LIANA_TRY(liana__invocation_int(invocation, "connections-each", 1, 100000, &each));
    http->max_body = (size_t)body << 20;
    http->max_connections = (unsigned)connections;
    http->max_connections_each = (unsigned)each;
    own->prediction.max_memory = (size_t)memory << 20;
    return LIANA_OK;
}

static liana_status read_batches(liana__invocation *invocation, serving *own)
{
    liana__servable_options *servable = &own->prediction.registry.servable;
    liana__batcher_options *batching = &servable->batching;
    int64_t microseconds = 0, threads = 0, pixels = 100;
    servable->batch_size = 16;
    batching->max_waiting = 256;
    batching->max_seconds = 30;
    LIANA_TRY(liana__invocation_int(invocation, "batch-size", 1, 4096, &servable->batch_size));
    LIANA_TRY(liana__invocation_int(invocation, "batch-timeout", 0, 10000000, &microseconds));
    LIANA_TRY(liana__invocation_int(invocation, "queue", 1, 1 << 20, &batching->max_waiting));
    LIANA_TRY(liana__invocation_float(invocation, "queue-seconds", 0.001, 86400, &batching->max_seconds));
    LIANA_TRY(liana__invocation_int(invocation, "threads", 1, 1024, &threads));
    LIANA_TRY(liana__invocation_int(invocation, "max-pixels", 1, 2000, &pixels));
    batching->timeout = (double)microseconds / 1e6;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    servable->num_decoders = cores > 0 ? (size_t)cores : 1;
    own->engine = (liana__predictor_engine){.device = liana__invocation_text(invocation, "device"),
                                            .num_threads = (int)threads,
                                            .max_pixels = pixels * 1000000,
                                            .allow_plugins = liana__invocation_has(invocation, "allow-plugins")};
    servable->engine = liana__servable_engine_of(&own->engine);
    return LIANA_OK;
}

/* ---- messages ---- */

/* Through the log's thread: a message stops no request either. */
static void say(void *user, const char *line)
{
    serving *own = user;
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *event = line;
    if (own->json) {
        liana__value *map = liana__value_map(&arena);
        liana__value_set(&arena, map, "event", liana__value_string(&arena, "model"));
        liana__value_set(&arena, map, "message", liana__value_string(&arena, line));
        event = arena.failed ? NULL : liana__json_line(map, &arena);
    }
    if (event) liana__access_log_add(own->log, event);
}

static void say_address(serving *own, const liana__prediction_server *server)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *url = liana__prediction_server_url(server);
    const char *event = liana__arena_format(&arena, "listening at %s", url);
    if (own->json) {
        liana__value *map = liana__value_map(&arena);
        liana__value_set(&arena, map, "event", liana__value_string(&arena, "listening"));
        liana__value_set(&arena, map, "url", liana__value_string(&arena, url));
        liana__value_set(&arena, map, "port", liana__value_int(&arena, liana__prediction_server_port(server)));
        event = arena.failed ? NULL : liana__json_line(map, &arena);
    }
    if (event) liana__access_log_add(own->log, event);
}

/* ---- running ---- */

static void serve(serving *own, liana__prediction_server *server)
{
    double next = liana__clock_seconds() + own->poll;
    while (!liana__signals_caught()) {
        usleep(20000);
        const bool all = liana__signals_take_reload(), is_time = own->poll > 0 && liana__clock_seconds() >= next;
        if (all) say(own, "SIGHUP: the models are looked at again");
        if (all || is_time) liana__prediction_server_poll(server, all);
        if (is_time) next = liana__clock_seconds() + own->poll;
    }
    say(own, "the server ends: it answers what has come");
    liana__prediction_server_drain(server, own->drain);
}

static liana_status run_server(liana__invocation *invocation, serving *own)
{
    liana__prediction_server *server;
    liana__prediction_options *prediction = &own->prediction;
    prediction->log = liana__invocation_has(invocation, "quiet") ? NULL : own->log;
    prediction->json = own->json;
    prediction->registry.say = say;
    prediction->registry.user = own;
    liana__signals_catch();
    liana__signals_reload_on_hangup();
    LIANA_TRY(liana__prediction_server_open(prediction, &server, &invocation->error));
    say_address(own, server);
    serve(own, server);
    liana__prediction_server_close(server);
    return LIANA_OK;
}

static liana_status run(liana__invocation *invocation)
{
    serving own = {.poll = 1, .drain = 30, .json = liana__invocation_has(invocation, "json")};
    liana__registry_options *registry = &own.prediction.registry;
    LIANA_TRY(read_places(invocation, registry));
    LIANA_TRY(read_versions(invocation, registry));
    LIANA_TRY(read_labels(invocation, registry));
    LIANA_TRY(read_access(invocation, &own.prediction.http));
    LIANA_TRY(read_limits(invocation, &own));
    LIANA_TRY(read_batches(invocation, &own));
    LIANA_TRY(liana__invocation_float(invocation, "poll", 0, 86400, &own.poll));
    LIANA_TRY(liana__invocation_float(invocation, "drain-seconds", 0, 86400, &own.drain));
    fflush(invocation->out);
    LIANA_TRY(liana__access_log_open(fileno(invocation->out), &own.log, &invocation->error));
    const liana_status status = run_server(invocation, &own);
    liana__access_log_close(own.log);
    return status;
}

const liana__command liana__subcommand_serve = {
    .name = "serve",
    .operands = "DIR|NAME=DIR ...",
    .summary = "Answer requests for predictions over HTTP, as TensorFlow Serving does",
    .help = "DIR is an exported folder, a run, a model file, a folder with versions 1, 2, ..., or a\n"
            "folder of such folders. New versions are loaded while the server runs, at SIGHUP at\n"
            "once. SIGTERM ends it after the requests that have come.\n\n"
            "  curl --data-binary @photo.jpg http://127.0.0.1:8501/v1/models/NAME:classify\n"
            "  curl -d '{\"instances\": [[1.0, 2.0]]}' http://127.0.0.1:8501/v1/models/NAME:predict\n\n"
            "The address itself is a page with an upload field. docs/guides/serve.md tells more.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
