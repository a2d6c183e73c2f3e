/* Sends requests through libcurl, many at a time, and repeats those that fail. */
#include "remote/http.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/scoped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* A page of a list has 1000 names of at most 1 KiB; a token's or an error's body is far smaller. */
enum {
    BODY_LIMIT = 16 << 20,
    CONNECT_SECONDS = 20,
    LOCAL_SECONDS = 2, /* for a server that is a step away, to connect and to answer */
    MAX_REDIRECTS = 10,
    SLOW_BYTES = 1024,
    SLOW_FACTOR = 10,
    MAX_DELAY = 30000,
    MAX_WAIT = 1000,
};

void liana__http_request_header(liana__http_request *request, const char *name, const char *value)
{
    LIANA__SCOPED(liana__text) line = {0};
    /* A line's end in a value would begin another header. */
    liana__text_add(&line, "%s: %.*s", name, (int)strcspn(value, "\r\n"), value);
    struct curl_slist *longer = line.failed ? NULL : curl_slist_append(request->headers, line.data);
    if (longer) request->headers = longer;
    request->failed |= longer == NULL;
}

void liana__http_request_free(liana__http_request *request)
{
    curl_slist_free_all(request->headers);
    liana__text_free(&request->url);
    liana__text_free(&request->form);
    *request = (liana__http_request){0};
}

void liana__http_response_free(liana__http_response *response)
{
    liana__http_end(response);
    liana__text_free(&response->body);
}

/* ---- headers ---- */

static bool read_number(const char **text, uint64_t *number)
{
    if (**text < '0' || **text > '9') return false;
    errno = 0;
    char *end;
    *number = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

/* "bytes 0-99/1000", or "bytes *" "/1000" of an answer to a range that is not there. */
static void read_range(liana__http_response *response, const char *text)
{
    if (strncasecmp(text, "bytes ", 6) != 0) return;
    text += 6;
    bool none = *text == '*';
    if (none) {
        text++;
    } else if (!read_number(&text, &response->range_start) || *text++ != '-' ||
               !read_number(&text, &response->range_end)) {
        return;
    }
    if (*text++ != '/' || !read_number(&text, &response->range_total)) return;
    response->has_range =
        none || (response->range_start <= response->range_end && response->range_end < response->range_total);
}

static void copy_value(char *target, size_t size, const char *value)
{
    /* Half an ETag is no ETag. */
    if (strlen(value) < size) strcpy(target, value);
}

static void take_header(liana__http_response *response, const char *name, const char *value)
{
    if (strcasecmp(name, "etag") == 0) {
        copy_value(response->etag, sizeof response->etag, value);
    } else if (strcasecmp(name, "last-modified") == 0) {
        copy_value(response->last_modified, sizeof response->last_modified, value);
    } else if (strcasecmp(name, "x-goog-generation") == 0) {
        copy_value(response->generation, sizeof response->generation, value);
    } else if (strcasecmp(name, "x-goog-hash") == 0) {
        size_t length = strlen(response->hash);
        if (length + strlen(value) + 2 < sizeof response->hash) {
            snprintf(response->hash + length, sizeof response->hash - length, ",%s", value);
        }
    } else if (strcasecmp(name, "x-amz-bucket-region") == 0) {
        copy_value(response->region, sizeof response->region, value);
    } else if (strcasecmp(name, "x-amz-server-side-encryption-customer-algorithm") == 0 ||
               (strcasecmp(name, "x-amz-server-side-encryption") == 0 && strncmp(value, "aws:kms", 7) == 0)) {
        response->encrypted = true;
    } else if (strcasecmp(name, "content-length") == 0) {
        response->has_length = read_number(&value, &response->length) && !*value;
    } else if (strcasecmp(name, "content-range") == 0) {
        read_range(response, value);
    } else if (strcasecmp(name, "location") == 0) {
        copy_value(response->location, sizeof response->location, value);
    } else if (strcasecmp(name, "x-amz-meta-liana-upload") == 0) {
        copy_value(response->upload, sizeof response->upload, value);
    } else if (strcasecmp(name, "range") == 0 && strncasecmp(value, "bytes=0-", 8) == 0) {
        value += 8;
        response->has_received = read_number(&value, &response->received) && !*value;
    } else if (strcasecmp(name, "retry-after") == 0) {
        uint64_t seconds;
        if (read_number(&value, &seconds) && !*value) response->retry_after = seconds < 60 ? (unsigned)seconds : 60;
    }
}

/* Headers of an earlier response (a redirect, "100 Continue") do not count. */
static void forget_headers(liana__http_response *response)
{
    response->etag[0] = response->last_modified[0] = response->generation[0] = response->hash[0] = 0;
    response->location[0] = response->upload[0] = 0;
    response->encrypted = response->has_length = response->has_range = response->has_received = false;
    response->length = response->range_start = response->range_end = response->range_total = 0;
    response->retry_after = 0;
}

static size_t on_header(char *bytes, size_t one, size_t size, void *user)
{
    (void)one;
    liana__http_response *response = user;
    char line[2560];
    if (size > 5 && strncmp(bytes, "HTTP/", 5) == 0) forget_headers(response);
    if (size >= sizeof line) return size;
    memcpy(line, bytes, size);
    line[size] = 0;
    line[strcspn(line, "\r\n")] = 0;
    char *colon = strchr(line, ':');
    if (!colon) return size;
    *colon = 0;
    char *value = colon + 1 + strspn(colon + 1, " \t");
    for (size_t length = strlen(value); length && (value[length - 1] == ' ' || value[length - 1] == '\t'); length--) {
        value[length - 1] = 0;
    }
    take_header(response, line, value);
    return size;
}

static size_t on_body(char *bytes, size_t one, size_t size, void *user)
{
    (void)one;
    liana__http_response *response = user;
    curl_easy_getinfo(response->easy, CURLINFO_RESPONSE_CODE, &response->status);
    if (response->sink && (response->status == 200 || response->status == 206)) {
        return response->sink(response->user, response, bytes, size) ? size : 0;
    }
    response->body_too_long = size > BODY_LIMIT - response->body.length;
    if (response->body_too_long) return 0;
    liana__text_add_bytes(&response->body, bytes, size);
    return response->body.failed ? 0 : size;
}

/* ---- transfers ---- */

/* libcurl itself reads the variables of proxies only. */
static void trust(CURL *easy)
{
    static const char *const files[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    for (size_t i = 0; i < 2; i++) {
        const char *file = getenv(files[i]);
        if (!file || !*file) continue;
        curl_easy_setopt(easy, CURLOPT_CAINFO, file);
        break;
    }
    const char *folder = getenv("SSL_CERT_DIR");
    if (folder && *folder) curl_easy_setopt(easy, CURLOPT_CAPATH, folder);
}

CURL *liana__http_begin(liana__http *http, const liana__http_request *request, liana__http_response *response)
{
    CURL *easy = request->failed || request->url.failed || request->form.failed ? NULL : curl_easy_init();
    if (!easy) return NULL;
    liana__text_free(&response->body);
    *response = (liana__http_response){.sink = response->sink,
                                       .user = response->user,
                                       .easy = easy,
                                       .writes = request->has_body};
    curl_easy_setopt(easy, CURLOPT_URL, request->url.data);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, (long)request->follow);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)MAX_REDIRECTS);
    if (request->follow) curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "liana/" LIANA_VERSION);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)http->stall_seconds * (request->slow ? SLOW_FACTOR : 1));
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L * 1024);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, response->reason);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, response);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, response);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, response);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
    if (request->head) curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    if (request->form.data) curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->form.data);
    if (request->has_body) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body_size ? request->body : "");
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
    }
    if (request->method) curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    if (request->local) {
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
        curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)LOCAL_SECONDS);
        curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)LOCAL_SECONDS);
    }
    if (request->has_range) {
        char range[64];
        snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)request->range_start,
                 (unsigned long long)(request->range_start + request->range_count - 1));
        curl_easy_setopt(easy, CURLOPT_RANGE, range);
    }
    trust(easy);
    return easy;
}

void liana__http_end(liana__http_response *response)
{
    if (!response->easy) return;
    curl_easy_getinfo(response->easy, CURLINFO_RESPONSE_CODE, &response->status);
    curl_easy_cleanup(response->easy);
    response->easy = NULL;
}

bool liana__http_may_retry(liana__http *http, CURLcode code, const liana__http_response *response)
{
    bool unresolved = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY;
    if (unresolved) return http->resolved;
    http->resolved = true;
    switch (code) {
    case CURLE_OK: return response->status == 408 || response->status == 429 || response->status >= 500;
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return true;
    default: return false;
    }
}

int liana__http_delay(const liana__http *http, uint32_t request, int attempt, unsigned retry_after)
{
    double most = http->first_delay;
    for (int i = 1; i < attempt && most < MAX_DELAY; i++) most *= 2;
    if (most > MAX_DELAY) most = MAX_DELAY;
    uint32_t words[4], counter[4] = {request, (uint32_t)attempt, 0, 0};
    liana__philox(liana__philox_make_key(http->seed, LIANA__STREAM_RETRY, 0), counter, words);
    int delay = (int)(most * (0.5 + 0.5 * liana__uniform_float(words[0])));
    int told = (int)retry_after * 1000;
    return delay > told ? delay : told;
}

liana_status liana__http_fail(const char *name, CURLcode code, const liana__http_response *response, int attempts,
                              liana__error *error)
{
    const char *reason = *response->reason ? response->reason : curl_easy_strerror(code);
    const char *verb = response->writes ? "write" : "read";
    char tries[48] = "";
    if (attempts > 1) snprintf(tries, sizeof tries, " (tried %d times)", attempts);
    switch (code) {
    case CURLE_OUT_OF_MEMORY: return liana__fail_memory(error, name);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return liana__fail(error, LIANA_IO_ERROR,
                           "cannot %s '%s': %s%s; check the spelling of the server, and the network", verb, name,
                           reason, tries);
    case CURLE_COULDNT_CONNECT:
        return liana__fail(error, LIANA_IO_ERROR,
                           "cannot %s '%s': %s%s; is the server running, and is a proxy needed (https_proxy)?", verb,
                           name, reason, tries);
    case CURLE_PEER_FAILED_VERIFICATION:
        return liana__fail(error, LIANA_IO_ERROR,
                           "cannot %s '%s': the server's certificate is not trusted: %s; if your own authority "
                           "signed it, set SSL_CERT_FILE or CURL_CA_BUNDLE to the authority's certificate",
                           verb, name, reason);
    case CURLE_SSL_CACERT_BADFILE:
        return liana__fail(error, LIANA_IO_ERROR,
                           "cannot %s '%s': %s; CURL_CA_BUNDLE or SSL_CERT_FILE must name a file of certificates (PEM)",
                           verb, name, reason);
    case CURLE_OPERATION_TIMEDOUT:
        return liana__fail(error, LIANA_IO_ERROR, "cannot %s '%s': the server is too slow: %s%s; try again later", verb,
                           name, reason, tries);
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
        return liana__fail(error, LIANA_IO_ERROR, "cannot %s '%s': the server ends its answers too early: %s%s%s", verb,
                           name, reason, tries,
                           response->writes ? "" : "; the parts that arrived are kept, run again to go on");
    case CURLE_UNSUPPORTED_PROTOCOL:
        return liana__fail(error, LIANA_IO_ERROR,
                           "cannot %s '%s': the server redirects to an address that is not https (%s)", verb, name,
                           reason);
    default: return liana__fail(error, LIANA_IO_ERROR, "cannot %s '%s': %s%s", verb, name, reason, tries);
    }
}

bool liana__url_is_private(const char *url)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    if (strncasecmp(url, "https://", 8) == 0) return true;
    if (strncasecmp(url, "http://", 7) != 0) return false;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        size_t length = strlen(hosts[i]);
        if (strncasecmp(url + 7, hosts[i], length) == 0 && strchr(":/", url[7 + length])) return true;
    }
    return false;
}

/* ---- requests ---- */

int64_t liana__http_now(void)
{
    return (int64_t)(liana__clock() / 1000000);
}

static void end_exchange(liana__http_exchange *exchange, liana_status status)
{
    exchange->status = status;
    exchange->done = true;
}

/* Requests under way: their transfers, and those that wait for their turn. */
typedef struct sending {
    liana__http *http;
    CURLM *multi;
    liana__http_exchange *exchanges;
    size_t count;
    int connections;
} sending;

static liana_status make_request(liana__http_exchange *exchange)
{
    if (!exchange->make) return LIANA_OK;
    liana__http_request_free(exchange->request);
    return exchange->make(exchange->user, exchange->request, exchange->error);
}

static void start_exchange(const sending *own, liana__http_exchange *exchange)
{
    if (exchange->attempt++ == 0) exchange->number = own->http->num_requests++;
    liana_status status = make_request(exchange);
    if (status != LIANA_OK) {
        end_exchange(exchange, status);
        return;
    }
    CURL *easy = liana__http_begin(own->http, exchange->request, exchange->response);
    exchange->running = easy && curl_multi_add_handle(own->multi, easy) == CURLM_OK;
    if (exchange->running) return;
    liana__http_end(exchange->response);
    end_exchange(exchange, liana__fail_memory(exchange->error, exchange->name));
}

static int most_attempts(const liana__http *http, const liana__http_exchange *exchange, CURLcode code)
{
    /* A server that is a step away is there, or it is not. */
    if (exchange->request->local && code != CURLE_OK) return 1;
    return exchange->max_attempts ? exchange->max_attempts : http->max_attempts;
}

static void finish_exchange(const sending *own, liana__http_exchange *exchange, CURLcode code)
{
    liana__http *http = own->http;
    liana__http_response *response = exchange->response;
    const char *name = exchange->name;
    curl_multi_remove_handle(own->multi, response->easy);
    exchange->running = false;
    liana__http_end(response);
    if (response->body.failed) {
        end_exchange(exchange, liana__fail_memory(exchange->error, name));
        return;
    }
    if (response->body_too_long) {
        end_exchange(exchange, liana__fail(exchange->error, LIANA_IO_ERROR,
                                           "cannot read '%s': the server's answer is longer than %d MiB", name,
                                           BODY_LIMIT >> 20));
        return;
    }
    /* A sink that has seen enough is no failure. */
    if (code == CURLE_WRITE_ERROR && response->sink) code = CURLE_OK;
    bool retry = liana__http_may_retry(http, code, response);
    if (code == CURLE_OK && exchange->again && exchange->again(response)) retry = true;
    if (retry && exchange->attempt < most_attempts(http, exchange, code)) {
        exchange->start_at =
            liana__http_now() + liana__http_delay(http, exchange->number, exchange->attempt, response->retry_after);
    } else if (code == CURLE_OK) {
        end_exchange(exchange, LIANA_OK);
    } else {
        end_exchange(exchange, liana__http_fail(name, code, response, exchange->attempt, exchange->error));
    }
}

static void take_ends(const sending *own)
{
    int left;
    for (CURLMsg *message = curl_multi_info_read(own->multi, &left); message;
         message = curl_multi_info_read(own->multi, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        CURLcode code = message->data.result;
        for (size_t i = 0; i < own->count; i++) {
            liana__http_exchange *exchange = &own->exchanges[i];
            if (!exchange->running || exchange->response->easy != message->easy_handle) continue;
            finish_exchange(own, exchange, code);
            break;
        }
    }
}

/* Starts requests as far as allowed. Returns the number of unfinished ones. */
static size_t start_some(const sending *own, int64_t now, int64_t *wake)
{
    size_t num_left = 0;
    int running = 0;
    for (size_t i = 0; i < own->count; i++) running += own->exchanges[i].running;
    for (size_t i = 0; i < own->count; i++) {
        liana__http_exchange *exchange = &own->exchanges[i];
        if (!exchange->done && !exchange->running && running < own->connections) {
            if (exchange->start_at <= now) {
                start_exchange(own, exchange);
                running += exchange->running;
            } else if (exchange->start_at < *wake) {
                *wake = exchange->start_at;
            }
        }
        num_left += !exchange->done;
    }
    return num_left;
}

static void end_all(const sending *own, liana_status status, const char *reason)
{
    for (size_t i = 0; i < own->count; i++) {
        liana__http_exchange *exchange = &own->exchanges[i];
        if (exchange->done) continue;
        if (exchange->running) curl_multi_remove_handle(own->multi, exchange->response->easy);
        exchange->running = false;
        liana__http_end(exchange->response);
        end_exchange(exchange, liana__fail(exchange->error, status, "'%s': %s", exchange->name, reason));
    }
}

static void send_all(const sending *own)
{
    const liana__http *http = own->http;
    for (;;) {
        int64_t now = liana__http_now(), wake = now + MAX_WAIT;
        if (!start_some(own, now, &wake)) return;
        int running;
        CURLMcode code = curl_multi_perform(own->multi, &running);
        take_ends(own);
        if (http->goes_on && !http->goes_on(http->user)) end_all(own, LIANA_CANCELLED, "stopped on request");
        if (code == CURLM_OK && (running || wake < now + MAX_WAIT)) {
            code = curl_multi_poll(own->multi, NULL, 0, (int)(wake - now), NULL);
        }
        if (code != CURLM_OK) end_all(own, LIANA_INTERNAL, curl_multi_strerror(code));
    }
}

void liana__http_send_all(liana__http *http, liana__http_exchange *exchanges, size_t count, int connections)
{
    send_all(&(sending){http, http->asking, exchanges, count, connections});
}

void liana__http_transfer_all(liana__http *http, liana__http_exchange *exchanges, size_t count, int connections)
{
    send_all(&(sending){http, http->multi, exchanges, count, connections});
}

liana_status liana__http_send(liana__http *http, const char *name, liana__http_request *request,
                              liana__http_response *response, liana__error *error)
{
    liana__http_exchange exchange = {.name = name, .request = request, .response = response, .error = error};
    liana__http_send_all(http, &exchange, 1, 1);
    return exchange.status;
}
