/* http_guard.h - who may ask a server, by its headers. For http_server.c. */
#ifndef LIANA_SERVE_HTTP_GUARD_H
#define LIANA_SERVE_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct liana__http_guard {
    int port;
    bool is_local; /* it listens on this machine alone: only its own names are a Host */
    bool has_tls;
    const char *hosts; /* more names, separated by commas; NULL: none */
    const char *token; /* of the header; NULL: none */
} liana__http_guard;

/* Takes as long wherever the texts differ. */
bool liana__http_same_text(const char *a, const char *b, size_t size);
/* What is wrong with a request's Host and Origin (NULL: missing), as an answer for people; NULL: nothing. */
const char *liana__http_guard_fault(const liana__http_guard *guard, const char *host, const char *origin);
/* Whether the header "Authorization" (NULL: missing) has the token. */
bool liana__http_guard_knows(const liana__http_guard *guard, const char *authorization);

#endif
