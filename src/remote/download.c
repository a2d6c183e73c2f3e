/* Appends a file of a web server to the part that is there. */
#include "remote/download.h"

#include "base/scoped.h"
#include "remote/remote_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROGRESS_PAUSE = 250, ORIGIN_LIMIT = 16384 };

/* Why the sink refused bytes. ANOTHER: they do not continue the part, which then begins anew. */
typedef enum refusal { NONE, ANOTHER, WRONG_SIZE, TOO_LARGE, NOT_WRITTEN } refusal;

typedef struct transfer {
    liana__remote *remote;
    const liana__download *wanted;
    liana__remote_object object;
    liana__arena arena;
    char version[256]; /* of the part's bytes; "": unknown, and they are of no use */
    uint64_t got;      /* bytes of the part */
    uint64_t total;    /* 0: the server does not say */
    uint64_t at_first; /* bytes that were there before */
    bool began;        /* bytes of this attempt were looked at */
    refusal refusal;
    int code; /* errno */
    liana__http_request request;
    liana__http_response response;
    int64_t began_at, told_at;
} transfer;

static void transfer_free(transfer *own)
{
    liana__http_request_free(&own->request);
    liana__http_response_free(&own->response);
    liana__arena_free(&own->arena);
}

/* ---- the origin of the part ---- */

/* What If-Range may name (RFC 9110, 13.1.5): a strong ETag, or else a date. */
static const char *version_of(const liana__http_response *response)
{
    const bool strong = *response->etag && strncmp(response->etag, "W/", 2) != 0;
    return strong ? response->etag : response->last_modified;
}

/* Finds how much of the file is there, and of which version. */
static liana_status read_origin(transfer *own, liana__error *error)
{
    const liana__download *wanted = own->wanted;
    struct stat info;
    if (fstat(wanted->descriptor, &info) != 0) {
        return liana__fail(error, LIANA_IO_ERROR, "cannot read '%s': %s", wanted->path, strerror(errno));
    }
    LIANA__SCOPED_MEMORY char *text = NULL;
    size_t size, length = strlen(own->object.identity);
    if (liana__file_read(wanted->origin, ORIGIN_LIMIT, &text, &size, NULL) != LIANA_OK) return LIANA_OK;
    if (strncmp(text, own->object.identity, length) != 0 || text[length] != '\n') return LIANA_OK;
    const char *version = text + length + 1;
    const uint64_t most = wanted->size ? wanted->size : wanted->limit;
    const size_t end = strcspn(version, "\n");
    if (end == 0 || end >= sizeof own->version || version[end] != '\n' || (uint64_t)info.st_size > most) {
        return LIANA_OK;
    }
    memcpy(own->version, version, end);
    own->version[end] = 0;
    own->got = own->at_first = (uint64_t)info.st_size;
    return LIANA_OK;
}

/* The part is emptied before its new origin is written: so no origin is ever that of other bytes. */
static bool begin_anew(transfer *own)
{
    const char *version = version_of(&own->response);
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "%s\n%s\n", own->object.identity, version);
    own->got = own->at_first = 0;
    snprintf(own->version, sizeof own->version, "%s", version);
    errno = ENOMEM;
    const bool done = !text.failed && ftruncate(own->wanted->descriptor, 0) == 0 &&
                      liana__file_replace(own->wanted->origin, text.data, text.length, NULL) == LIANA_OK;
    if (!done) own->code = errno;
    return done;
}

/* ---- one request ---- */

static liana_status make_request(void *user, liana__http_request *request, liana__error *error)
{
    transfer *own = user;
    own->began = false;
    own->refusal = NONE;
    LIANA_TRY(own->object.scheme->request(own->remote, &own->object, request, error));
    if (!*own->version) own->got = 0;
    if (!own->got) return LIANA_OK;
    char range[48];
    snprintf(range, sizeof range, "bytes=%llu-", (unsigned long long)own->got);
    liana__http_request_header(request, "Range", range);
    liana__http_request_header(request, "If-Range", own->version);
    return LIANA_OK;
}

static refusal check_size(const transfer *own)
{
    const liana__download *wanted = own->wanted;
    if (wanted->size && own->total && own->total != wanted->size) return WRONG_SIZE;
    return own->total > wanted->limit ? TOO_LARGE : NONE;
}

/* Before the first byte is used. */
static refusal check_answer(transfer *own, const liana__http_response *response)
{
    if (response->status == 206) {
        const char *version = version_of(response);
        const bool continues = own->got && response->has_range && response->range_start == own->got;
        if (!continues || (*version && strcmp(version, own->version) != 0)) return ANOTHER;
        own->total = response->range_total;
        return check_size(own);
    }
    own->total = response->has_length ? response->length : 0;
    const refusal found = check_size(own);
    if (found != NONE) return found;
    return begin_anew(own) ? NONE : NOT_WRITTEN;
}

static bool take_bytes(void *user, const liana__http_response *response, const void *bytes, size_t size)
{
    transfer *own = user;
    if (!own->began) own->refusal = check_answer(own, response);
    own->began = true;
    const uint64_t most = own->wanted->size ? own->wanted->size : own->wanted->limit;
    if (own->refusal == NONE && size > most - own->got) own->refusal = own->wanted->size ? WRONG_SIZE : TOO_LARGE;
    const char *at = bytes;
    while (own->refusal == NONE && size) {
        const ssize_t done = pwrite(own->wanted->descriptor, at, size, (off_t)own->got);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) {
            own->code = errno;
            own->refusal = NOT_WRITTEN;
            break;
        }
        own->got += (uint64_t)done;
        at += done;
        size -= (size_t)done;
    }
    return own->refusal == NONE;
}

/* The answer to a range behind the end: the part is the whole file already. */
static bool is_whole_already(const transfer *own)
{
    const liana__http_response *response = &own->response;
    const char *version = version_of(response);
    return response->status == 416 && response->has_range && response->range_total == own->got &&
           (!*version || strcmp(version, own->version) == 0);
}

static bool is_worth_another(const liana__http_response *response)
{
    transfer *own = response->user;
    const bool other = response->status == 412 || (response->status == 416 && !is_whole_already(own));
    if (own->refusal != ANOTHER && !other) return false;
    own->version[0] = 0;
    return true;
}

/* Returns whether the caller lets it go on. */
static bool tell(const transfer *own, bool is_done)
{
    const liana__remote_options *options = &own->remote->options;
    const liana__remote_progress progress = {.files = 1,
                                             .files_done = is_done,
                                             .bytes = own->total > own->got ? own->total : own->got,
                                             .bytes_done = own->got,
                                             .seconds = (double)(liana__http_now() - own->began_at) / 1000,
                                             .bytes_fetched = own->got - own->at_first};
    return !options->progress || options->progress(options->user, &progress);
}

/* Asked by the loop of requests. */
static bool goes_on(void *user)
{
    transfer *own = user;
    const liana__remote_options *options = &own->remote->options;
    if (options->goes_on && !options->goes_on(options->user)) return false;
    const int64_t now = liana__http_now();
    if (now < own->told_at + PROGRESS_PAUSE) return true;
    own->told_at = now;
    return tell(own, false);
}

/* ---- the whole ---- */

static liana_status fail_size(const transfer *own, liana__error *error)
{
    const char *name = own->object.name;
    if (own->refusal == WRONG_SIZE && own->total) {
        return liana__fail(error, LIANA_DATA_LOSS, "'%s' has %llu bytes, expected %llu", name,
                           (unsigned long long)own->total, (unsigned long long)own->wanted->size);
    }
    if (own->refusal == WRONG_SIZE) {
        return liana__fail(error, LIANA_DATA_LOSS, "'%s' has more than the expected %llu bytes", name,
                           (unsigned long long)own->wanted->size);
    }
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "'%s' is larger than %llu MiB, the limit for a file whose size is "
                       "not published",
                       name, (unsigned long long)(own->wanted->limit >> 20));
}

static liana_status check_end(transfer *own, liana__error *error)
{
    const liana__http_response *response = &own->response;
    const char *name = own->object.name;
    /* An empty file has no bytes to look at. */
    if (!own->began && response->status == 200 && !begin_anew(own)) own->refusal = NOT_WRITTEN;
    switch (own->refusal) {
    case NONE: break;
    case WRONG_SIZE:
    case TOO_LARGE: return fail_size(own, error);
    case NOT_WRITTEN:
        return liana__fail(error, LIANA_IO_ERROR, "'%s': cannot write '%s': %s%s", name, own->wanted->path,
                           strerror(own->code),
                           own->code == ENOSPC  ? "; free some space and run again, what arrived is kept"
                           : own->code == EFBIG ? "; the limit on the size of files is reached (ulimit -f)"
                                                : "");
    case ANOTHER:
        return liana__fail(error, LIANA_DATA_LOSS,
                           "cannot read '%s': the server sends other bytes than requested (HTTP %ld)", name,
                           response->status);
    }
    if (is_whole_already(own)) return LIANA_OK;
    if (response->status != 200 && response->status != 206) {
        return liana__remote_refused(own->remote, own->object.scheme, name, response, error);
    }
    const uint64_t expected = own->wanted->size ? own->wanted->size : own->total;
    if (!expected || own->got == expected) return LIANA_OK;
    return liana__fail(error, LIANA_DATA_LOSS, "'%s' has %llu bytes, expected %llu", name, (unsigned long long)own->got,
                       (unsigned long long)expected);
}

liana_status liana__remote_download(liana__remote *remote, const liana__download *wanted, liana__error *error)
{
    LIANA__SCOPED(transfer) own = {.remote = remote, .wanted = wanted};
    LIANA_TRY(liana__remote_web_name(remote, wanted->url, &own.arena, &own.object, error));
    LIANA_TRY(read_origin(&own, error));
    own.response.sink = take_bytes;
    own.response.user = &own;
    own.began_at = own.told_at = liana__http_now();
    liana__http *http = &remote->http;
    http->goes_on = goes_on;
    http->user = &own;
    liana__http_exchange exchange = {.name = own.object.name,
                                     .request = &own.request,
                                     .response = &own.response,
                                     .error = error,
                                     .make = make_request,
                                     .again = is_worth_another,
                                     .user = &own};
    liana__http_transfer_all(http, &exchange, 1, 1);
    http->goes_on = remote->options.goes_on;
    http->user = remote->options.user;
    LIANA_TRY(exchange.status);
    LIANA_TRY(check_end(&own, error));
    (void)tell(&own, true);
    return LIANA_OK;
}
