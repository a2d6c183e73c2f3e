/* Resumable uploads to Google Cloud Storage: a session is begun, chunks are sent to it, and after a failure the server
 * is asked how much it has. */
#include "remote/gs_upload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* All chunks but the last are multiples of this. */
enum { CHUNK_UNIT = 256 << 10, MAX_SESSIONS = 3 };

typedef struct session {
    liana__remote *remote;
    const liana__remote_object *object;
    const liana__upload *upload;
    liana__text metadata; /* with the checksum that the server compares */
    liana__arena arena;
    const char *url;
    uint8_t *chunk;
    size_t chunk_size;
    uint64_t sent; /* bytes that the server has */
    size_t sending;
    bool asking; /* the next request sends nothing: it asks for the number of bytes */
    bool done;
    bool lost; /* the server does not know the session any more, or bytes were damaged on the way: begin anew */
    int failures;
} session;

/* ---- requests ---- */

static liana_status make_begin(void *user, liana__http_request *request, liana__error *error)
{
    session *own = user;
    char size[32];
    snprintf(size, sizeof size, "%" PRIu64, own->upload->size);
    request->method = "POST";
    request->has_body = true;
    request->body = own->metadata.data;
    request->body_size = own->metadata.length;
    liana__http_request_header(request, "Content-Type", "application/json");
    liana__http_request_header(request, "X-Upload-Content-Length", size);
    liana__http_request_header(request, "Expect", "");
    return liana__gs_begin_upload(own->remote, own->object, own->upload->only_if, request, error);
}

/* The URL of a session stands for the right to write to it, so it needs no token. */
static liana_status make_chunk(void *user, liana__http_request *request, liana__error *error)
{
    (void)error;
    session *own = user;
    char range[96];
    uint64_t total = own->upload->size;
    if (own->sending) {
        snprintf(range, sizeof range, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, own->sent, own->sent + own->sending - 1,
                 total);
    } else {
        snprintf(range, sizeof range, "bytes */%" PRIu64, total);
    }
    liana__text_add(&request->url, "%s", own->url);
    request->method = "PUT";
    request->has_body = true;
    request->body = own->chunk;
    request->body_size = own->sending;
    liana__http_request_header(request, "Content-Type", "application/octet-stream");
    liana__http_request_header(request, "Content-Range", range);
    liana__http_request_header(request, "Expect", "");
    return LIANA_OK;
}

/* The object is not of the version that it must have. */
static bool is_refused(const session *own, const liana__http_response *response)
{
    return own->upload->only_if && response->status == 412;
}

static liana_status begin(session *own, liana__error *error)
{
    liana__http *http = &own->remote->http;
    liana__http_request request = {0};
    liana__http_response response = {0};
    liana__http_exchange exchange = {.name = own->object->name,
                                     .request = &request,
                                     .response = &response,
                                     .error = error,
                                     .make = make_begin,
                                     .user = own};
    liana__http_transfer_all(http, &exchange, 1, 1);
    liana_status status = exchange.status;
    if (status == LIANA_OK && is_refused(own, &response)) {
        own->done = *own->upload->refused = true;
    } else if (status == LIANA_OK && response.status / 100 != 2) {
        status = liana__remote_refused(own->remote, own->object->scheme, own->object->name, &response, error);
    } else if (status == LIANA_OK && !liana__url_is_private(response.location)) {
        status = liana__fail(error, LIANA_IO_ERROR, "cannot write '%s': the server gives no address for the upload",
                             own->object->name);
    } else if (status == LIANA_OK) {
        own->url = liana__arena_string(&own->arena, response.location);
        if (!own->url) status = liana__fail_memory(error, own->object->name);
    }
    liana__http_request_free(&request);
    liana__http_response_free(&response);
    own->sent = 0;
    own->asking = own->lost = false;
    return status;
}

/* ---- answers ---- */

static liana_status take_object(session *own, const liana__http_response *response, liana__error *error)
{
    liana__listed made;
    const char *body = response->body.data ? response->body.data : "";
    own->done = true;
    if (liana__listing_read_object(body, response->body.length, &own->arena, &made, error) != LIANA_OK) {
        return liana__fail_within(error, "cannot write '%s'", own->object->name);
    }
    bool same = made.size == own->upload->size && (!made.has_crc32c || made.crc32c == own->upload->crc32c);
    if (same) return LIANA_OK;
    return liana__fail(error, LIANA_DATA_LOSS,
                       "cannot write '%s': the server has other bytes than were sent (%" PRIu64 " of %" PRIu64
                       " bytes, CRC-32C %08x of %08x)",
                       own->object->name, made.size, own->upload->size, made.crc32c, own->upload->crc32c);
}

static void take_progress(session *own, const liana__http_response *response)
{
    uint64_t has = response->has_received ? response->received + 1 : 0;
    if (has > own->sent) {
        own->failures = 0;
    } else if (!own->asking) {
        own->failures++;
    }
    own->sent = has < own->upload->size ? has : own->upload->size;
    own->asking = false;
}

static liana_status take_answer(session *own, const liana__http_response *response, liana__error *error)
{
    long status = response->status;
    const char *body = response->body.data ? response->body.data : "";
    if (status == 200 || status == 201) return take_object(own, response, error);
    if (status == 308) {
        take_progress(own, response);
        return LIANA_OK;
    }
    if (is_refused(own, response)) {
        own->done = *own->upload->refused = true;
        return LIANA_OK;
    }
    own->lost = status == 404 || status == 410 ||
                (status == 400 && strstr(liana__listing_read_refusal(body, response->body.length).text, "CRC32C"));
    own->asking = true;
    own->failures++;
    return liana__remote_refused(own->remote, own->object->scheme, own->object->name, response, error);
}

/* ---- sending ---- */

static bool may_go_on(const session *own, liana_status status, const liana__http_response *response)
{
    bool answered = response->status == 308 || status == LIANA_OK;
    bool busy = response->status == 0 || response->status == 408 || response->status == 429 || response->status >= 500;
    bool failed = status == LIANA_IO_ERROR && busy;
    return !own->lost && (answered || failed) && own->failures < own->remote->http.max_attempts;
}

/* Sends the next chunk, or asks. */
static liana_status send_next(session *own, bool *goes_on, liana__error *error)
{
    liana__http *http = &own->remote->http;
    uint64_t left = own->upload->size - own->sent;
    own->sending = own->asking ? 0 : left < own->chunk_size ? (size_t)left : own->chunk_size;
    LIANA_TRY(liana__upload_read(own->upload, own->sent, own->chunk, own->sending, error));
    liana__http_request request = {0};
    liana__http_response response = {0};
    liana__http_exchange exchange = {.name = own->object->name,
                                     .request = &request,
                                     .response = &response,
                                     .error = error,
                                     .make = make_chunk,
                                     .user = own,
                                     .attempt = own->failures,
                                     .number = http->num_requests++,
                                     .max_attempts = own->failures + 1};
    if (own->failures) {
        exchange.start_at = liana__http_now() + liana__http_delay(http, exchange.number, own->failures, 0);
    }
    liana__http_transfer_all(http, &exchange, 1, 1);
    liana_status status = exchange.status;
    if (status == LIANA_OK) {
        status = take_answer(own, &response, error);
    } else {
        own->asking = true;
        own->failures++;
    }
    *goes_on = may_go_on(own, status, &response);
    if (*goes_on) status = LIANA_OK;
    if (!*goes_on && status == LIANA_OK && !own->done) {
        status =
            liana__fail(error, LIANA_IO_ERROR, "cannot write '%s': the server takes no bytes of it", own->object->name);
    }
    liana__http_request_free(&request);
    liana__http_response_free(&response);
    return status;
}

static liana_status send_all(session *own, liana__error *error)
{
    liana_status status = LIANA_OK;
    for (int i = 0; i < MAX_SESSIONS; i++) {
        own->failures = 0;
        LIANA_TRY(begin(own, error));
        bool goes_on = true;
        while (goes_on && !own->done) status = send_next(own, &goes_on, error);
        if (own->done || !own->lost) return status;
    }
    return status;
}

liana_status liana__gs_put(liana__remote *remote, const liana__remote_object *object, const liana__upload *upload,
                           liana__error *error)
{
    session own = {.remote = remote, .object = object, .upload = upload};
    size_t units = ((size_t)remote->options.piece_size + CHUNK_UNIT - 1) / CHUNK_UNIT;
    own.chunk_size = (units ? units : 1) * CHUNK_UNIT;
    own.chunk = malloc(upload->size < own.chunk_size ? (size_t)upload->size + 1 : own.chunk_size);
    liana__text_add(&own.metadata, "{\"crc32c\": \"%s\"}", liana__base64_crc32c_of(upload->crc32c).text);
    liana_status status =
        own.chunk && !own.metadata.failed ? send_all(&own, error) : liana__fail_memory(error, object->name);
    free(own.chunk);
    liana__text_free(&own.metadata);
    liana__arena_free(&own.arena);
    return status;
}
