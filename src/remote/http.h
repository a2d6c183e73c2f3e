/* http.h - requests and responses, through libcurl, with retries. */
#ifndef LIANA_REMOTE_HTTP_H
#define LIANA_REMOTE_HTTP_H

#include "base/error.h"
#include "base/text.h"
#include "remote/calls.h"

#include <stdbool.h>
#include <stdint.h>

/* What all requests share. */
typedef struct liana__http {
    CURLM *multi;  /* runs transfers of files; keeps connections, from one to the next */
    CURLM *asking; /* runs the requests of liana__http_send: also while files are under way, when a token ends */
    int stall_seconds;
    int max_attempts;
    int first_delay; /* milliseconds */
    uint64_t seed;
    uint32_t num_requests; /* so far: what a request's delays are drawn from */
    bool resolved;         /* the name of a server was found in this run of the program */
} liana__http;

/* Zero-initialise; free with liana__http_request_free. */
typedef struct liana__http_request {
    liana__text url;
    struct curl_slist *headers;
    liana__text form; /* a POST of it, if there is any */
    bool head;
    bool follow; /* redirects, to https and, on this machine, http; with the name and password of ~/.netrc */
    bool has_range;
    uint64_t range_start;
    uint64_t range_count;
    const char *method; /* NULL: as the members above say */
    bool local;         /* a server of this machine or its host: no proxy, and no patience where it is not there */
    bool failed;        /* memory ran out */
} liana__http_request;

void liana__http_request_header(liana__http_request *request, const char *name, const char *value);
void liana__http_request_free(liana__http_request *request);

struct liana__http_response;
/* Takes bytes of a body; false ends the transfer. */
typedef bool (*liana__http_sink)(void *user, const struct liana__http_response *response, const void *bytes,
                                 size_t size);

/* Set sink and user, or have the body collected. Free with liana__http_response_free. */
typedef struct liana__http_response {
    liana__http_sink sink;
    void *user;
    CURL *easy; /* while it is under way */
    long status;
    liana__text body; /* of responses that the sink does not want: failures, and all where there is no sink */
    bool body_too_long;
    char etag[256];
    char last_modified[64];
    char generation[32];
    char hash[128]; /* all x-goog-hash, with commas between */
    char region[64];
    bool encrypted; /* with a key of the customer's: then an ETag is no MD5 */
    bool has_length;
    uint64_t length;
    bool has_range;
    uint64_t range_start;
    uint64_t range_end; /* the last byte */
    uint64_t range_total;
    unsigned retry_after; /* seconds */
    char reason[CURL_ERROR_SIZE];
} liana__http_response;

void liana__http_response_free(liana__http_response *response);

/* A transfer to be run by http->multi; both structs must stay where they are until
 * liana__http_end. NULL if out of memory. */
CURL *liana__http_begin(liana__http *http, const liana__http_request *request, liana__http_response *response);
void liana__http_end(liana__http_response *response);

/* Whether another attempt may help: no connection, a cut, 408, 429, 5xx; not where no server's name was ever found,
 * which is a name that is spelt wrong, or no network. Call it once for each end of a transfer. */
bool liana__http_may_retry(liana__http *http, CURLcode code, const liana__http_response *response);
/* How long to wait before attempt 1, 2, ... of a request: twice as long each time, of which the last half by chance. */
int liana__http_delay(const liana__http *http, uint32_t request, int attempt, unsigned retry_after);

/* One of several requests that are sent together. */
typedef struct liana__http_exchange {
    const char *name; /* what it is about, for messages */
    const liana__http_request *request;
    liana__http_response *response;
    liana__error *error; /* may be NULL */
    /* What comes of it: OK with any HTTP status that another attempt would not change; IO_ERROR (no connection, or cut
     * answers, after all attempts), OUT_OF_MEMORY, which name `name`. */
    liana_status status;
    /* liana__http_send_all's own. */
    int attempt;
    uint32_t number;
    int64_t start_at;
    bool running;
    bool done;
} liana__http_exchange;

/* Sends all, `connections` at a time, each as often as may help. */
void liana__http_send_all(liana__http *http, liana__http_exchange *exchanges, size_t count, int connections);
/* One; returns its status. */
liana_status liana__http_send(liana__http *http, const char *name, const liana__http_request *request,
                              liana__http_response *response, liana__error *error);
/* Milliseconds of a clock that only goes on. */
int64_t liana__http_now(void);

/* Whether secrets may go to this URL: https, or a server on this machine. */
bool liana__url_is_private(const char *url);

/* The error for a transfer that failed below HTTP. */
liana_status liana__http_fail(const char *name, CURLcode code, const liana__http_response *response, int attempts,
                              liana__error *error);

#endif
