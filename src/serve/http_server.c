/* An HTTP server: libmicrohttpd's callbacks. */
#include "serve/http_server.h"

#include "base/clock.h"
#include "formats/gzip.h"
#include "serve/http_deadlines.h"
#include "serve/http_guard.h"
#include "serve/http_listen.h"
#include "serve/microhttpd_calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    TOKEN_DIGITS = 32,
    MOST_CONNECTIONS = 64,
    IDLE_SECONDS = 60,
    STREAM_BLOCK = 16 << 10,
    HEADER_MEMORY = 64 << 10, /* of a connection: longer headers are refused */
    FIRST_BODY = 64 << 10,
};

struct liana__http_server {
    liana__http_options options;
    liana__http_guard guard;
    liana__http_deadlines *deadlines;
    struct MHD_Daemon *daemon;
    atomic_size_t num_visits; /* requests that have come and are not answered */
    atomic_bool drains, is_open;
    int port;
    char token[TOKEN_DIGITS + 1];
    char url[128];
    char fault[256]; /* what the library says while it starts */
};

/* A request. */
typedef struct web_visit {
    liana__http_server *server;
    liana__http_guest *guest;
    char *body;
    size_t size, capacity, taken; /* `taken` of the budget */
    size_t come;                  /* bytes of the body, also of those that are not kept */
    unsigned refusal;             /* a status, which the whole request gets; 0: none */
    double begin;
    liana__web_request request;
} web_visit;

const char *liana__web_query(const liana__web_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *liana__web_header(const liana__web_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *liana__web_client(const liana__web_request *request, char text[64])
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    const void *from = NULL;
    if (address && address->sa_family == AF_INET) from = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    if (address && address->sa_family == AF_INET6)
        from = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (!from || !inet_ntop(address->sa_family, from, text, 64)) snprintf(text, 64, "-");
    return text;
}

/* ---- answers ---- */

static enum MHD_Result queue(const web_visit *visit, const liana__http_answer *answer, struct MHD_Response *response)
{
    static const char *const headers[][2] = {{"Cache-Control", "no-store"},
                                             {"X-Content-Type-Options", "nosniff"},
                                             {"Referrer-Policy", "no-referrer"},
                                             {"X-Frame-Options", "DENY"},
                                             {"Cross-Origin-Resource-Policy", "same-origin"}};
    if (!response) return MHD_NO;
    liana__http_server *server = visit->server;
    enum MHD_Result added =
        MHD_add_response_header(response, "Content-Type", answer->type ? answer->type : "text/plain; charset=utf-8");
    for (size_t i = 0; i < sizeof headers / sizeof *headers && added == MHD_YES; i++) {
        added = MHD_add_response_header(response, headers[i][0], headers[i][1]);
    }
    if (answer->header[0] && added == MHD_YES) {
        added = MHD_add_response_header(response, answer->header[0], answer->header[1]);
    }
    if ((answer->closes || atomic_load(&server->drains)) && added == MHD_YES) {
        added = MHD_add_response_header(response, "Connection", "close");
    }
    const unsigned status = answer->status ? answer->status : MHD_HTTP_OK;
    /* From now on the client takes the answer. */
    liana__http_guest_starts(server->deadlines, visit->guest);
    const enum MHD_Result queued =
        added == MHD_YES ? MHD_queue_response(visit->request.connection, status, response) : MHD_NO;
    MHD_destroy_response(response);
    return queued;
}

/* A stream belongs to its response, and is freed with it. */
typedef struct flow {
    ssize_t (*next)(void *stream, char *buffer, size_t size);
    void (*end)(void *stream);
    void *stream;
} flow;

static ssize_t read_flow(void *user, uint64_t position, char *buffer, size_t size)
{
    const flow *own = user;
    (void)position;
    const ssize_t count = own->next(own->stream, buffer, size);
    return count < 0 ? MHD_CONTENT_READER_END_OF_STREAM : count;
}

static void end_flow(void *user)
{
    flow *own = user;
    own->end(own->stream);
    free(own);
}

static struct MHD_Response *make_stream(liana__http_answer *answer)
{
    flow *own = malloc(sizeof *own);
    if (!own) {
        answer->end(answer->stream);
        return NULL;
    }
    *own = (flow){answer->next, answer->end, answer->stream};
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_flow, own, end_flow);
    if (!response) end_flow(own);
    return response;
}

/* Gives the body's memory to the response. */
static struct MHD_Response *make_body(liana__http_answer *answer)
{
    struct MHD_Response *response = NULL;
    if (answer->body.failed) {
        liana__text_free(&answer->body);
        return NULL;
    }
    if (!answer->body.data) return MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    response = MHD_create_response_from_buffer(answer->body.length, answer->body.data, MHD_RESPMEM_MUST_FREE);
    if (!response) liana__text_free(&answer->body);
    return response;
}

static enum MHD_Result send_answer(const web_visit *visit, liana__http_answer *answer)
{
    const liana__http_options *options = &visit->server->options;
    const size_t bytes = answer->next ? 0 : answer->body.length;
    const unsigned status = answer->status ? answer->status : MHD_HTTP_OK;
    struct MHD_Response *response = answer->next ? make_stream(answer) : make_body(answer);
    const enum MHD_Result queued = queue(visit, answer, response);
    if (options->on_answer) {
        options->on_answer(options->user, &visit->request, queued == MHD_YES ? status : 0, bytes,
                           liana__clock_seconds() - visit->begin);
    }
    return queued;
}

static enum MHD_Result say(const web_visit *visit, unsigned status, const char *text, bool closes)
{
    liana__http_answer answer = {.status = status, .closes = closes};
    if (status == MHD_HTTP_UNAUTHORIZED) {
        answer.header[0] = "WWW-Authenticate";
        answer.header[1] = "Bearer realm=\"liana\"";
    }
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE) {
        answer.header[0] = "Retry-After";
        answer.header[1] = "1";
    }
    /* Clients of predictions read errors as JSON, those of pages as text. */
    if (visit->server->options.token_in_path) {
        liana__text_add(&answer.body, "%s", text);
    } else {
        answer.type = "application/json";
        liana__text_add(&answer.body, "{\"error\": \"%.*s\"}\n", (int)strcspn(text, "\n"), text);
    }
    return send_answer(visit, &answer);
}

static enum MHD_Result refuse(const web_visit *visit, unsigned status)
{
    switch (status) {
    case MHD_HTTP_CONTENT_TOO_LARGE: return say(visit, status, "The body is larger than this server takes.\n", true);
    case MHD_HTTP_SERVICE_UNAVAILABLE: return say(visit, status, "The server has no memory for it now.\n", true);
    case MHD_HTTP_UNSUPPORTED_MEDIA_TYPE:
        return say(visit, status, "The body has a Content-Encoding other than gzip.\n", true);
    default: return say(visit, status, "The body is no gzip stream, or a damaged one.\n", true);
    }
}

/* ---- bodies ---- */

/* A refused body is read to its end, and not kept: a client that writes does not read an answer before. */
static void keep(web_visit *visit, const char *bytes, size_t size)
{
    const liana__http_options *options = &visit->server->options;
    visit->come += size;
    if (!options->max_body || visit->refusal) return;
    if (size > options->max_body - visit->size) {
        visit->refusal = MHD_HTTP_CONTENT_TOO_LARGE;
        return;
    }
    if (visit->size + size + 1 > visit->capacity) {
        size_t capacity = visit->capacity ? 2 * visit->capacity : FIRST_BODY;
        while (capacity < visit->size + size + 1) capacity *= 2;
        const size_t more = capacity - visit->capacity;
        const bool has_room = liana__byte_budget_take(options->budget, more);
        char *grown = has_room ? realloc(visit->body, capacity) : NULL;
        if (has_room && !grown) liana__byte_budget_give(options->budget, more);
        if (!grown) {
            visit->refusal = MHD_HTTP_SERVICE_UNAVAILABLE;
            return;
        }
        visit->taken += more;
        visit->body = grown;
        visit->capacity = capacity;
    }
    memcpy(visit->body + visit->size, bytes, size);
    visit->size += size;
}

/* Inflates a body that says that it is gzip. Returns a status; 0: all is well. */
static unsigned inflate_body(web_visit *visit)
{
    const liana__http_options *options = &visit->server->options;
    const char *encoding = liana__web_header(&visit->request, "Content-Encoding");
    uint8_t *inflated;
    size_t size;
    liana__error error;
    if (!encoding || strcasecmp(encoding, "identity") == 0 || !options->max_body) return 0;
    if (strcasecmp(encoding, "gzip") != 0 && strcasecmp(encoding, "x-gzip") != 0)
        return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
    if (!visit->size || !liana__is_gzip((const uint8_t *)visit->body, visit->size)) return MHD_HTTP_BAD_REQUEST;
    const liana_status status = liana__inflate("the body", (const uint8_t *)visit->body, visit->size, options->max_body,
                                               &inflated, &size, &error);
    if (status == LIANA_OUT_OF_RANGE) return MHD_HTTP_CONTENT_TOO_LARGE;
    if (status == LIANA_OUT_OF_MEMORY) return MHD_HTTP_SERVICE_UNAVAILABLE;
    if (status != LIANA_OK) return MHD_HTTP_BAD_REQUEST;
    char *ended = realloc(inflated, size + 1);
    if (!ended || !liana__byte_budget_take(options->budget, size)) {
        free(ended ? (void *)ended : inflated);
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    }
    free(visit->body);
    visit->body = ended;
    visit->size = size;
    visit->taken += size;
    return 0;
}

/* ---- a request ---- */

/* Where the path goes on behind "/TOKEN/" or "/"; NULL: it has another token, or none. */
static const char *find_path(const liana__http_server *server, const char *url)
{
    if (!server->options.token_in_path) return *url == '/' ? url + 1 : NULL;
    const bool is_long = *url == '/' && strlen(url) >= TOKEN_DIGITS + 2;
    const bool is_known = is_long && liana__http_same_text(url + 1, server->token, TOKEN_DIGITS);
    return is_known && url[1 + TOKEN_DIGITS] == '/' ? url + TOKEN_DIGITS + 2 : NULL;
}

/* Answers a request that may not be asked, and says so; *queued is the result. */
static bool turn_away(web_visit *visit, const char *url, enum MHD_Result *queued)
{
    const liana__http_server *server = visit->server;
    const char *fault = liana__http_guard_fault(&server->guard, liana__web_header(&visit->request, "Host"),
                                                liana__web_header(&visit->request, "Origin"));
    const char *path = find_path(server, url), *method = visit->request.method;
    const bool is_public = path && server->options.is_public && server->options.is_public(path);
    const bool is_known = liana__http_guard_knows(&server->guard, liana__web_header(&visit->request, "Authorization"));
    visit->request.path = path ? path : url;
    visit->request.is_post = strcmp(method, "POST") == 0;
    if (fault) {
        *queued = say(visit, MHD_HTTP_FORBIDDEN, fault, true);
    } else if (!path) {
        *queued = say(visit, MHD_HTTP_FORBIDDEN, "The address needs its token: open the one that liana said.\n", true);
    } else if (!is_public && !is_known) {
        *queued = say(visit, MHD_HTTP_UNAUTHORIZED, "This server needs its token: Authorization: Bearer TOKEN\n", true);
    } else if (!visit->request.is_post && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        *queued = say(visit, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or POST.\n", true);
    } else {
        return false;
    }
    return true;
}

/* Whether a body is refused before it is sent: it is too large, and the client waits for leave (Expect), or would send
 * far more than is read in vain. A client that sends without looking would not see an answer before its end. */
static bool is_far_too_large(const web_visit *visit)
{
    const size_t most = visit->server->options.max_body;
    const char *length = liana__web_header(&visit->request, "Content-Length");
    const unsigned long long said = length ? strtoull(length, NULL, 10) : 0;
    return said > most && (said / 8 > most || liana__web_header(&visit->request, "Expect"));
}

/* The headers have come. */
static enum MHD_Result begin_visit(liana__http_server *server, struct MHD_Connection *connection, const char *url,
                                   const char *method, void **state)
{
    web_visit *own = calloc(1, sizeof *own);
    if (!own) return MHD_NO;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    *own = (web_visit){.server = server, .begin = liana__clock_seconds()};
    own->guest = info ? info->socket_context : NULL;
    own->request = (liana__web_request){.method = method, .path = url, .connection = connection};
    *state = own;
    atomic_fetch_add(&server->num_visits, 1);
    enum MHD_Result queued;
    if (!server->options.max_body) return MHD_YES;
    if (turn_away(own, url, &queued)) return queued;
    if (is_far_too_large(own)) return refuse(own, MHD_HTTP_CONTENT_TOO_LARGE);
    return MHD_YES;
}

static enum MHD_Result take(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                            const char *version, const char *upload, size_t *upload_size, void **state)
{
    liana__http_server *server = user;
    (void)version;
    if (!*state) return begin_visit(server, connection, url, method, state);
    web_visit *own = *state;
    enum MHD_Result queued;
    if (*upload_size) {
        keep(own, upload, *upload_size);
        *upload_size = 0;
        return own->refusal && own->come / 8 > server->options.max_body ? MHD_NO : MHD_YES;
    }
    liana__http_guest_waits(server->deadlines, own->guest);
    if (turn_away(own, url, &queued)) return queued;
    if (!own->refusal) own->refusal = inflate_body(own);
    if (own->refusal) return refuse(own, own->refusal);
    liana__http_answer answer = {0};
    if (own->body) own->body[own->size] = 0;
    own->request.body = server->options.max_body ? (own->body ? own->body : "") : NULL;
    own->request.body_size = own->size;
    server->options.answer(server->options.user, &own->request, &answer);
    return send_answer(own, &answer);
}

static void end_visit(void *user, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code)
{
    liana__http_server *server = user;
    web_visit *own = *state;
    (void)connection, (void)code;
    if (!own) return;
    liana__http_guest_starts(server->deadlines, own->guest);
    liana__byte_budget_give(server->options.budget, own->taken);
    free(own->body);
    free(own);
    *state = NULL;
    atomic_fetch_sub(&server->num_visits, 1);
}

static void note_connection(void *user, struct MHD_Connection *connection, void **guest,
                            enum MHD_ConnectionNotificationCode code)
{
    liana__http_server *server = user;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        liana__http_guest_leave(server->deadlines, *guest);
        *guest = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *guest = info ? liana__http_guest_enter(server->deadlines, info->connect_fd) : NULL;
}

/* ---- opening ---- */

static liana_status make_token(liana__http_server *server, liana__error *error)
{
    unsigned char bytes[TOKEN_DIGITS / 2];
    if (!server->options.token_in_path) return LIANA_OK;
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return liana__fail(error, LIANA_IO_ERROR, "the system gives no random numbers: %s", strerror(errno));
    }
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(server->token + 2 * i, 3, "%02x", bytes[i]);
    return LIANA_OK;
}

/* Only what is said while the server starts is of interest: a certificate that is none. */
static void LIANA__PRINTF(2, 0) note_fault(void *user, const char *format, va_list arguments)
{
    liana__http_server *server = user;
    if (atomic_load(&server->is_open)) return;
    vsnprintf(server->fault, sizeof server->fault, format, arguments);
    server->fault[strcspn(server->fault, "\n")] = 0;
}

static liana_status start_daemon(liana__http_server *server, const liana__http_listener *listener, liana__error *error)
{
    const liana__http_options *options = &server->options;
    const bool has_tls = options->certificate != NULL;
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC |
                     MHD_USE_ERROR_LOG;
    if (has_tls) flags |= MHD_USE_TLS;
    if (listener->is_v6) flags |= MHD_USE_IPv6;
    const struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)options->certificate},
                                         {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)options->key},
                                         {MHD_OPTION_END, 0, NULL}};
    const unsigned most = options->max_connections ? options->max_connections : (unsigned)MOST_CONNECTIONS;
    server->daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, take, server, MHD_OPTION_EXTERNAL_LOGGER, note_fault, server,
                         MHD_OPTION_LISTEN_SOCKET, listener->descriptor, MHD_OPTION_CONNECTION_LIMIT, most,
                         MHD_OPTION_PER_IP_CONNECTION_LIMIT, options->max_connections_each,
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                         (size_t)HEADER_MEMORY, MHD_OPTION_NOTIFY_COMPLETED, end_visit, server,
                         MHD_OPTION_NOTIFY_CONNECTION, note_connection, server, MHD_OPTION_ARRAY,
                         has_tls ? tls : &tls[sizeof tls / sizeof *tls - 1], MHD_OPTION_END);
    if (server->daemon) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR, "port %d of %s cannot be served%s%s%s", listener->port, listener->host,
                       *server->fault ? ": " : "", server->fault,
                       has_tls ? "; look at the certificate and its key, which must be PEM and belong together" : "");
}

static liana_status start(liana__http_server *server, liana__error *error)
{
    const liana__http_options *options = &server->options;
    liana__http_listener listener;
    LIANA_TRY(make_token(server, error));
    if (options->certificate && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES) {
        return liana__fail(error, LIANA_UNIMPLEMENTED, "the installed libmicrohttpd has no TLS; Debian's has it");
    }
    if (options->seconds > 0) LIANA_TRY(liana__http_deadlines_open(options->seconds, &server->deadlines, error));
    LIANA_TRY(liana__http_listen(options->address, options->port, options->what, &listener, error));
    server->port = listener.port;
    const bool has_tls = options->certificate != NULL;
    const bool is_local = strncmp(listener.host, "127.", 4) == 0 || strcmp(listener.host, "[::1]") == 0;
    server->guard = (liana__http_guard){server->port, is_local, has_tls, options->hosts, options->token};
    const liana_status status = start_daemon(server, &listener, error);
    if (status != LIANA_OK) {
        close(listener.descriptor);
        return status;
    }
    atomic_store(&server->is_open, true);
    snprintf(server->url, sizeof server->url, "http%s://%s:%d/%s%s", has_tls ? "s" : "", listener.host, server->port,
             server->token, *server->token ? "/" : "");
    return LIANA_OK;
}

liana_status liana__http_server_open(const liana__http_options *options, liana__http_server **server,
                                     liana__error *error)
{
    *server = NULL;
    LIANA_TRY(liana__microhttpd_load(error));
    liana__http_server *made = calloc(1, sizeof *made);
    if (!made) return liana__fail_memory(error, "a server");
    made->options = *options;
    const liana_status status = start(made, error);
    if (status != LIANA_OK) {
        liana__http_deadlines_close(made->deadlines);
        free(made);
    }
    if (status == LIANA_OK) *server = made;
    return status;
}

int liana__http_server_port(const liana__http_server *server)
{
    return server->port;
}

const char *liana__http_server_token(const liana__http_server *server)
{
    return server->token;
}

const char *liana__http_server_url(const liana__http_server *server)
{
    return server->url;
}

void liana__http_server_count(liana__http_server *server, size_t *connections, size_t *cut)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    *connections = info ? info->num_connections : 0;
    *cut = liana__http_deadlines_cut(server->deadlines);
}

void liana__http_server_drain(liana__http_server *server, double seconds)
{
    const double end = liana__clock_seconds() + seconds;
    atomic_store(&server->drains, true);
    const MHD_socket listener = MHD_quiesce_daemon(server->daemon);
    if (listener != MHD_INVALID_SOCKET) close(listener);
    while (atomic_load(&server->num_visits) && liana__clock_seconds() < end) usleep(5000);
}

void liana__http_server_close(liana__http_server *server)
{
    if (!server) return;
    MHD_stop_daemon(server->daemon);
    liana__http_deadlines_close(server->deadlines);
    free(server);
}
