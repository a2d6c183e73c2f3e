/* http_server.h - an HTTP server with libmicrohttpd: of live pages, and of predictions.
 *
 * Each connection has a thread of its own, so a slow reader holds up nobody. Who may ask:
 *
 *   token_in_path   every path begins with a token that only the caller knows, "/TOKEN/events": else 403
 *   token           every request has "Authorization: Bearer TOKEN", unless its path is public: else 401
 *   on this machine alone (address NULL): the Host must be this server's. A name of elsewhere may lead here (DNS
 *                   rebinding)
 *   always          the Origin, where there is one, must be this server: a page from elsewhere that a browser shows at
 *                   the same time reaches nothing */
#ifndef LIANA_SERVE_HTTP_SERVER_H
#define LIANA_SERVE_HTTP_SERVER_H

#include "base/text.h"
#include "serve/byte_budget.h"

#include <sys/types.h>

typedef struct liana__web_request {
    bool is_post;       /* else GET or HEAD */
    const char *method; /* "GET" */
    const char *path;   /* behind the token: "", "events"; without a token in it, behind the first slash */
    const char *body;   /* `body_size` bytes, inflated, and a 0; NULL: bodies are not read */
    size_t body_size;
    void *connection;
} liana__web_request;

/* A member of the query, and of the headers; NULL: it is not there. */
const char *liana__web_query(const liana__web_request *request, const char *name);
const char *liana__web_header(const liana__web_request *request, const char *name);
/* The address of the client, "127.0.0.1". In `text`. */
const char *liana__web_client(const liana__web_request *request, char text[64]);

/* An answer. Zero-initialised by the server: 200 and nothing. */
typedef struct liana__http_answer {
    unsigned status;       /* 0: 200 */
    const char *type;      /* "text/html; charset=utf-8"; static */
    const char *header[2]; /* one more header, with its value; static; NULL: none */
    bool closes;           /* the connection ends with it */
    liana__text body;      /* freed by the server */
    /* Instead of a body: called again and again on the connection's thread. Returns the bytes that it has put into
     * `buffer`, or -1 at the end. It may wait, for some seconds at most. */
    ssize_t (*next)(void *stream, char *buffer, size_t size);
    void (*end)(void *stream); /* frees `stream` */
    void *stream;
} liana__http_answer;

typedef struct liana__http_server liana__http_server;

typedef struct liana__http_options {
    const char *address; /* where it listens: "0.0.0.0", "::", "192.168.1.5"; NULL: 127.0.0.1 */
    int port;            /* 0: one that is free */
    const char *what;    /* "--live": the option that names a port, in messages */
    void (*answer)(void *user, const liana__web_request *request, liana__http_answer *answer); /* on any thread */
    void *user;

    /* ---- who may ask ---- */
    bool token_in_path; /* a new one for each server */
    const char *token;  /* NULL: none */
    bool (*is_public)(const char *path);
    const char *hosts;             /* more names of this server, separated by commas: of a proxy; NULL: none */
    const char *certificate, *key; /* TLS: PEM texts; NULL: plain HTTP */

    /* ---- limits ---- */
    size_t max_body;               /* bytes, as they are sent and inflated; 0: bodies are not read */
    liana__byte_budget *budget;    /* of all bodies together; NULL: no limit */
    double seconds;                /* for a client to send a request, and to take an answer; 0: no limit */
    unsigned max_connections;      /* 0: 64 */
    unsigned max_connections_each; /* of one address; 0: no limit */

    /* A request was answered, also one that was refused. `seconds`: since its headers came. On any thread; may be
     * NULL. */
    void (*on_answer)(void *user, const liana__web_request *request, unsigned status, size_t bytes, double seconds);
} liana__http_options;

/* Texts of the options must outlive the server. Errors: IO_ERROR (the port is in use, with what to do; a certificate
 * that is none), INVALID_CONFIG (an address that is none), UNIMPLEMENTED (the library is not there, or has no TLS),
 * OUT_OF_MEMORY. */
liana_status liana__http_server_open(const liana__http_options *options, liana__http_server **server,
                                     liana__error *error) LIANA_MUST_USE;
int liana__http_server_port(const liana__http_server *server);
/* 32 hexadecimal digits; "" without a token in the path. */
const char *liana__http_server_token(const liana__http_server *server);
/* "http://127.0.0.1:PORT/TOKEN/", "https://0.0.0.0:PORT/". */
const char *liana__http_server_url(const liana__http_server *server);
/* Connections now, and those that were cut since their clients were too slow. */
void liana__http_server_count(liana__http_server *server, size_t *connections, size_t *cut);
/* Takes no new connection, and waits until all requests that have come are answered, up to `seconds`. */
void liana__http_server_drain(liana__http_server *server, double seconds);
/* Waits for the threads of connections: streams must end. NULL is allowed. */
void liana__http_server_close(liana__http_server *server);

#endif
