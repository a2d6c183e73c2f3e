/* http_server.h - an HTTP server on the loopback interface, for this machine's browser alone: with libmicrohttpd.
 *
 * Every path begins with a token that only the caller knows: "/TOKEN/events". A request without it is answered with
 * 403, and so is one whose Host is not this server's, or whose Origin is another one: a page from elsewhere that a
 * browser shows at the same time reaches nothing. Each connection has a thread of its own, so a slow reader holds up
 * nobody. */
#ifndef LIANA_SERVE_HTTP_SERVER_H
#define LIANA_SERVE_HTTP_SERVER_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct liana__web_request {
    bool is_post;     /* else GET */
    const char *path; /* behind the token: "", "events" */
    void *connection;
} liana__web_request;

/* A member of the query; NULL: it is not there. */
const char *liana__web_query(const liana__web_request *request, const char *name);

/* An answer. Zero-initialised by the server: 200 and nothing. */
typedef struct liana__http_answer {
    unsigned status;  /* 0: 200 */
    const char *type; /* "text/html; charset=utf-8"; static */
    liana__text body; /* freed by the server */
    /* Instead of a body: called again and again on the connection's thread. Returns the bytes that it has put into
     * `buffer`, or -1 at the end. It may wait, for some seconds at most. */
    ssize_t (*next)(void *stream, char *buffer, size_t size);
    void (*end)(void *stream); /* frees `stream` */
    void *stream;
} liana__http_answer;

typedef struct liana__http_server liana__http_server;

typedef struct liana__http_options {
    int port;         /* 0: one that is free */
    const char *what; /* "--live": the option that names a port, in messages */
    void (*answer)(void *user, const liana__web_request *request, liana__http_answer *answer); /* on any thread */
    void *user;
} liana__http_options;

/* Errors: IO_ERROR (the port is in use, with what to do), UNIMPLEMENTED (the library is not there), OUT_OF_MEMORY. */
liana_status liana__http_server_open(const liana__http_options *options, liana__http_server **server,
                                     liana__error *error) LIANA_MUST_USE;
int liana__http_server_port(const liana__http_server *server);
/* 32 hexadecimal digits. */
const char *liana__http_server_token(const liana__http_server *server);
/* "http://127.0.0.1:PORT/TOKEN/". */
const char *liana__http_server_url(const liana__http_server *server);
/* Waits for the threads of connections: streams must end. NULL is allowed. */
void liana__http_server_close(liana__http_server *server);

#endif
