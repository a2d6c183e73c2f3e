/* http.h - HTTP requests and responses with retries, by libcurl. */
#ifndef LIANA_REMOTE_HTTP_H
#define LIANA_REMOTE_HTTP_H

#include "base/error.h"
#include "base/text.h"
#include "remote/calls.h"

#include <stdbool.h>
#include <stdint.h>

/* All requests share this. */
typedef struct liana__http {
    CURLM *multi;  /* runs transfers of files; keeps connections from one to the next */
    CURLM *asking; /* runs the requests of liana__http_send, also while files are fetched, when a token expires */
    int stall_seconds;
    int max_attempts;
    int first_delay; /* milliseconds */
    uint64_t seed;
    uint32_t num_requests; /* sent so far; the delays of a request are drawn from it */
    bool resolved;         /* true: a server's name was found in this run of the program */
    /* Asked about once a second while requests are under way. False ends them with CANCELLED. NULL: they go on. */
    bool (*goes_on)(void *user);
    void *user;
} liana__http;

/* Zero-initialise; free with liana__http_request_free. */
typedef struct liana__http_request {
    liana__text url;
    struct curl_slist *headers;
    liana__text form; /* the body of a POST, if any */
    /* The body of a PUT or POST that writes, borrowed; `method` must be set. */
    bool has_body;
    const void *body;
    size_t body_size;
    bool slow; /* the server may be silent for minutes before it answers */
    bool head;
    bool follow; /* follow redirects to https, and on this machine to http; use the name and password of ~/.netrc */
    bool has_range;
    uint64_t range_start;
    uint64_t range_count;
    const char *method; /* NULL: as the other members say */
    bool local;         /* a server of this machine or its host: no proxy, and short timeouts */
    bool failed;        /* out of memory */
} liana__http_request;

void liana__http_request_header(liana__http_request *request, const char *name, const char *value);
void liana__http_request_free(liana__http_request *request);

struct liana__http_response;
/* Receives bytes of a body. False ends the transfer. */
typedef bool (*liana__http_sink)(void *user, const struct liana__http_response *response, const void *bytes,
                                 size_t size);

/* Set sink and user; without a sink the body is collected. Free with liana__http_response_free. */
typedef struct liana__http_response {
    liana__http_sink sink;
    void *user;
    CURL *easy; /* during the transfer */
    long status;
    liana__text body; /* body of failed responses, and of all responses if there is no sink */
    bool body_too_long;
    bool writes; /* the response to a request with a body; for messages */
    char etag[256];
    char last_modified[64];
    char generation[32];
    char hash[128]; /* all x-goog-hash, with commas between */
    char region[64];
    char location[2048];
    char upload[64];   /* x-amz-meta-liana-upload: which upload made the object */
    bool has_received; /* "Range: bytes=0-N" of a server that receives an upload */
    uint64_t received; /* N */
    bool encrypted;    /* encrypted with the customer's key: then an ETag is not an MD5 */
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
/* The body, never NULL. */
static inline const char *liana__http_body(const liana__http_response *response)
{
    return response->body.data ? response->body.data : "";
}

/* Makes a transfer for http->multi. Both structs must stay where they are until liana__http_end. NULL: out of
 * memory. */
CURL *liana__http_begin(liana__http *http, const liana__http_request *request, liana__http_response *response);
void liana__http_end(liana__http_response *response);

/* Whether another attempt may succeed: no connection, a cut, 408, 429, 5xx. Not if no server's name was ever found:
 * then the name is wrong, or there is no network. Call it once at the end of each transfer. */
bool liana__http_may_retry(liana__http *http, CURLcode code, const liana__http_response *response);
/* The delay before attempt 1, 2, ... of a request, in milliseconds. It doubles each time; its last half is random. */
int liana__http_delay(const liana__http *http, uint32_t request, int attempt, unsigned retry_after);

/* One of several requests that are sent together. */
typedef struct liana__http_exchange {
    const char *name; /* the file's name, for messages */
    liana__http_request *request;
    liana__http_response *response;
    liana__error *error; /* may be NULL */
    /* Makes the request anew before each attempt, with a fresh signature or token; the old one is freed. NULL: the
     * request is ready. */
    liana_status (*make)(void *user, liana__http_request *request, liana__error *error);
    /* Whether another refusal than those of liana__http_may_retry is worth an attempt. NULL: no other is. */
    bool (*again)(const liana__http_response *response);
    void *user;
    int max_attempts; /* 0: that of the liana__http */
    /* The result. OK: any HTTP status that another attempt would not change. Errors, with `name`: IO_ERROR (no
     * connection, or cut answers, after all attempts), OUT_OF_MEMORY. */
    liana_status status;
    /* liana__http_send_all's own. */
    int attempt;
    uint32_t number;
    int64_t start_at;
    bool running;
    bool done;
} liana__http_exchange;

/* Sends all requests, `connections` at a time, with retries. */
void liana__http_send_all(liana__http *http, liana__http_exchange *exchanges, size_t count, int connections);
/* One; returns its status. */
liana_status liana__http_send(liana__http *http, const char *name, liana__http_request *request,
                              liana__http_response *response, liana__error *error);
/* The same for requests that `make` makes: they run among the transfers of files, so `make` may ask for a token. */
void liana__http_transfer_all(liana__http *http, liana__http_exchange *exchanges, size_t count, int connections);
/* Milliseconds of a monotonic clock. */
int64_t liana__http_now(void);

/* Whether secrets may go to this URL: https, or a server on this machine. */
bool liana__url_is_private(const char *url);

/* The error for a transfer that failed below HTTP. */
liana_status liana__http_fail(const char *name, CURLcode code, const liana__http_response *response, int attempts,
                              liana__error *error);

#endif
