/* http_listen.h - the socket of a server. For http_server.c. */
#ifndef LIANA_SERVE_HTTP_LISTEN_H
#define LIANA_SERVE_HTTP_LISTEN_H

#include "base/error.h"

#include <stdbool.h>

typedef struct liana__http_listener {
    int descriptor;
    int port;
    bool is_v6;
    char host[64]; /* as in a URL: "127.0.0.1", "[::1]" */
} liana__http_listener;

/* `address` is of IPv4 or IPv6; NULL: 127.0.0.1. `what`: the option that names the port. Errors: INVALID_CONFIG (no
 * address), IO_ERROR (the port is in use, with what to do; it cannot be had). */
liana_status liana__http_listen(const char *address, int port, const char *what, liana__http_listener *listener,
                                liana__error *error) LIANA_MUST_USE;

#endif
