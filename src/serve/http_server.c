/* An HTTP server on the loopback interface. */
#include "serve/http_server.h"

#include "serve/microhttpd_calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TOKEN_DIGITS = 32, MOST_CONNECTIONS = 64, IDLE_SECONDS = 60, STREAM_BLOCK = 16 << 10 };

struct liana__http_server {
    liana__http_options options;
    struct MHD_Daemon *daemon;
    int port;
    char token[TOKEN_DIGITS + 1];
    char url[96];
};

const char *liana__web_query(const liana__web_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* ---- who may ask ---- */

/* Takes as long wherever the texts differ. */
static bool is_same(const char *a, const char *b, size_t size)
{
    unsigned different = 0;
    for (size_t i = 0; i < size; i++) different |= (unsigned)(a[i] ^ b[i]);
    return different == 0;
}

/* Where the path goes on behind "/TOKEN/"; NULL: it has another token, or none. */
static const char *find_path(const liana__http_server *server, const char *url)
{
    const bool is_long = *url == '/' && strlen(url) >= TOKEN_DIGITS + 2;
    if (!is_long || !is_same(url + 1, server->token, TOKEN_DIGITS) || url[1 + TOKEN_DIGITS] != '/') return NULL;
    return url + TOKEN_DIGITS + 2;
}

/* "127.0.0.1:PORT" or "localhost:PORT", behind `scheme`. */
static bool is_own_address(const liana__http_server *server, const char *text, const char *scheme)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    for (size_t i = 0; i < 2; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "%s%s:%d", scheme, hosts[i], server->port);
        if (strcmp(text, expected) == 0) return true;
    }
    return false;
}

/* A name of elsewhere may lead to 127.0.0.1 (DNS rebinding), and a page of elsewhere may send a form. */
static const char *find_fault(const liana__http_server *server, struct MHD_Connection *connection)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    const char *origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
    if (!host || !is_own_address(server, host, "")) return "This address is for 127.0.0.1 alone.\n";
    if (origin && !is_own_address(server, origin, "http://")) return "Another page may not ask this.\n";
    return NULL;
}

/* ---- answers ---- */

static enum MHD_Result queue(struct MHD_Connection *connection, unsigned status, const char *type,
                             struct MHD_Response *response)
{
    static const char *const headers[][2] = {{"Cache-Control", "no-store"},
                                             {"X-Content-Type-Options", "nosniff"},
                                             {"Referrer-Policy", "no-referrer"},
                                             {"X-Frame-Options", "DENY"},
                                             {"Cross-Origin-Resource-Policy", "same-origin"}};
    if (!response) return MHD_NO;
    enum MHD_Result added = MHD_add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < sizeof headers / sizeof *headers && added == MHD_YES; i++) {
        added = MHD_add_response_header(response, headers[i][0], headers[i][1]);
    }
    const enum MHD_Result queued = added == MHD_YES ? MHD_queue_response(connection, status, response) : MHD_NO;
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return queue(connection, status, "text/plain; charset=utf-8",
                 MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT));
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

static enum MHD_Result send_answer(struct MHD_Connection *connection, liana__http_answer *answer)
{
    struct MHD_Response *response;
    if (answer->next) {
        response = make_stream(answer);
    } else {
        const bool failed = answer->body.failed;
        response =
            failed ? NULL
                   : MHD_create_response_from_buffer(answer->body.length, answer->body.data ? answer->body.data : "",
                                                     MHD_RESPMEM_MUST_COPY);
        liana__text_free(&answer->body);
    }
    return queue(connection, answer->status ? answer->status : MHD_HTTP_OK,
                 answer->type ? answer->type : "text/plain; charset=utf-8", response);
}

/* A body is not read; requests say all in their address. */
static enum MHD_Result take(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                            const char *version, const char *upload, size_t *upload_size, void **state)
{
    static const char begun = 0;
    const liana__http_server *server = user;
    (void)version, (void)upload;
    if (!*state) {
        *state = (void *)(uintptr_t)&begun;
        return MHD_YES;
    }
    if (*upload_size) {
        *upload_size = 0;
        return MHD_YES;
    }
    const char *fault = find_fault(server, connection), *path = find_path(server, url);
    if (fault) return say(connection, MHD_HTTP_FORBIDDEN, fault);
    if (!path)
        return say(connection, MHD_HTTP_FORBIDDEN, "The address needs its token: open the one that liana said.\n");
    const bool is_post = strcmp(method, "POST") == 0;
    if (!is_post && strcmp(method, "GET") != 0) return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or POST.\n");
    liana__http_answer answer = {0};
    server->options.answer(server->options.user, &(liana__web_request){is_post, path, connection}, &answer);
    return send_answer(connection, &answer);
}

/* ---- opening ---- */

static liana_status make_token(liana__http_server *server, liana__error *error)
{
    unsigned char bytes[TOKEN_DIGITS / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return liana__fail(error, LIANA_IO_ERROR, "the system gives no random numbers: %s", strerror(errno));
    }
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(server->token + 2 * i, 3, "%02x", bytes[i]);
    return LIANA_OK;
}

/* A socket that listens, so that a port in use is told with its number. */
static liana_status listen_on(liana__http_server *server, int *listener, liana__error *error)
{
    const struct sockaddr_in wanted = {.sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)server->options.port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in got;
    socklen_t size = sizeof got;
    const int on = 1;
    *listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool made = *listener >= 0 && setsockopt(*listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                bind(*listener, (const struct sockaddr *)&wanted, sizeof wanted) == 0 && listen(*listener, 64) == 0 &&
                getsockname(*listener, (struct sockaddr *)&got, &size) == 0;
    if (made) {
        server->port = ntohs(got.sin_port);
        return LIANA_OK;
    }
    const int reason = errno;
    if (*listener >= 0) close(*listener);
    if (reason == EADDRINUSE) {
        return liana__fail(
            error, LIANA_IO_ERROR,
            "port %d of 127.0.0.1 is in use; give another one (%s=PORT), or none: then a free one is taken",
            server->options.port, server->options.what);
    }
    return liana__fail(error, LIANA_IO_ERROR, "port %d of 127.0.0.1 cannot be opened: %s", server->options.port,
                       strerror(reason));
}

static liana_status start(liana__http_server *server, liana__error *error)
{
    int listener;
    LIANA_TRY(make_token(server, error));
    LIANA_TRY(listen_on(server, &listener, error));
    server->daemon = MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0,
                                      NULL, NULL, take, server, MHD_OPTION_LISTEN_SOCKET, listener,
                                      MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
                                      MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
    if (!server->daemon) {
        close(listener);
        return liana__fail(error, LIANA_IO_ERROR, "port %d of 127.0.0.1 cannot be served", server->port);
    }
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d/%s/", server->port, server->token);
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
    if (status != LIANA_OK) free(made);
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

void liana__http_server_close(liana__http_server *server)
{
    if (!server) return;
    MHD_stop_daemon(server->daemon);
    free(server);
}
