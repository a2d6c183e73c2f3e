/* gs://: Google Cloud Storage, through its JSON interface (cloud.google.com/storage/docs/json_api/v1). */
#include "remote/remote_internal.h"

#include "base/scoped.h"
#include "remote/sigv4.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS "name,size,generation,crc32c,md5Hash"

static liana_status prepare(liana__remote *remote, liana__error *error)
{
    if (remote->prepared_google) return LIANA_OK;
    LIANA_TRY(liana__google_credentials_find(&remote->arena, &remote->google, error));
    remote->google.writes = remote->options.writes;
    remote->prepared_google = true;
    return LIANA_OK;
}

static const char *endpoint(const liana__remote *remote)
{
    return remote->google.endpoint;
}

static void explain_access(const liana__remote *remote, liana__text *text)
{
    const liana__google_credentials *google = &remote->google;
    const char *role = remote->options.writes ? "Storage Object User" : "Storage Object Viewer";
    switch (google->kind) {
    case LIANA__GOOGLE_ANONYMOUS:
        liana__text_add(text, "without credentials; set GOOGLE_APPLICATION_CREDENTIALS to a file with credentials, or "
                              "run 'gcloud auth application-default login'");
        break;
    case LIANA__GOOGLE_TOKEN:
        liana__text_add(text, "with the token in %s, which may have expired (tokens are valid for an hour)",
                        google->origin);
        break;
    case LIANA__GOOGLE_SERVICE:
        liana__text_add(text, "as %s, whose key is in %s; it needs the role %s", google->account, google->origin, role);
        break;
    case LIANA__GOOGLE_USER:
    case LIANA__GOOGLE_METADATA:
        liana__text_add(text, "with the credentials of %s; they need the role %s", google->origin, role);
        break;
    }
}

static liana_status authorize(liana__remote *remote, const char *name, liana__http_request *request,
                              liana__error *error)
{
    liana__google_credentials *google = &remote->google;
    LIANA_TRY(liana__google_credentials_refresh(&remote->http, name, &remote->arena, google, error));
    if (google->token && liana__url_is_private(google->endpoint)) {
        LIANA__SCOPED(liana__text) value = {0};
        liana__text_add(&value, "Bearer %s", google->token);
        liana__http_request_header(request, "Authorization", value.data ? value.data : "");
        request->failed |= value.failed;
    }
    return LIANA_OK;
}

/* "ENDPOINT/storage/v1/b/BUCKET/o", with "/KEY" if there is one. */
static liana_status begin_request(liana__remote *remote, const char *name, const char *bucket, const char *key,
                                  liana__http_request *request, liana__error *error)
{
    liana__text_add(&request->url, "%s/storage/v1/b/", remote->google.endpoint);
    liana__url_encode(&request->url, bucket, true);
    liana__text_add(&request->url, "/o%s", key ? "/" : "");
    if (key) liana__url_encode(&request->url, key, true);
    return authorize(remote, name, request, error);
}

/* The generation of no object is 0. */
static void add_condition(liana__http_request *request, char before, const char *version)
{
    liana__text_add(&request->url, "%cifGenerationMatch=", before);
    liana__url_encode(&request->url, *version ? version : "0", true);
}

/* Makes the request that begins an upload, but for its body. `only_if` is that of liana__upload. */
static liana_status begin_upload(liana__remote *remote, const liana__remote_object *object, const char *only_if,
                                 liana__http_request *request, liana__error *error)
{
    liana__text_add(&request->url, "%s/upload/storage/v1/b/", remote->google.endpoint);
    liana__url_encode(&request->url, object->bucket, true);
    liana__text_add(&request->url, "/o?uploadType=resumable&name=");
    liana__url_encode(&request->url, object->key, true);
    if (only_if) add_condition(request, '&', only_if);
    return authorize(remote, object->name, request, error);
}

static liana_status ask_removal(liana__remote *remote, const liana__remote_object *object, liana__http_request *request,
                                liana__error *error)
{
    request->method = "DELETE";
    LIANA_TRY(begin_request(remote, object->name, object->bucket, object->key, request, error));
    if (object->version) add_condition(request, '?', object->version);
    return LIANA_OK;
}

static liana_status ask(liana__remote *remote, const liana__remote_object *object, liana__http_request *request,
                        liana__error *error)
{
    LIANA_TRY(begin_request(remote, object->name, object->bucket, object->key, request, error));
    liana__text_add(&request->url, "?fields=" FIELDS);
    return LIANA_OK;
}

static liana_status take(liana__remote_object *object, const liana__http_response *response, liana__arena *arena,
                         liana__error *error)
{
    liana__listed listed;
    if (liana__listing_read_object(liana__http_body(response), response->body.length, arena, &listed, error) !=
        LIANA_OK) {
        return liana__fail_within(error, "cannot read '%s'", object->name);
    }
    liana__remote_object_set(object, &listed);
    return LIANA_OK;
}

static liana_status ask_list(liana__remote *remote, const char *name, const char *bucket, const char *prefix, bool flat,
                             const char *next, liana__http_request *request, liana__error *error)
{
    LIANA_TRY(begin_request(remote, name, bucket, NULL, request, error));
    liana__text_add(&request->url,
                    "?fields=nextPageToken%%2Citems(" FIELDS ")%s&prefix=", flat ? "&delimiter=%2F" : "");
    liana__url_encode(&request->url, prefix, true);
    if (next) {
        liana__text_add(&request->url, "&pageToken=");
        liana__url_encode(&request->url, next, true);
    }
    return LIANA_OK;
}

static liana_status make_request(liana__remote *remote, const liana__remote_object *object,
                                 liana__http_request *request, liana__error *error)
{
    LIANA_TRY(begin_request(remote, object->name, object->bucket, object->key, request, error));
    liana__text_add(&request->url, "?alt=media%s", *object->version ? "&generation=" : "");
    liana__url_encode(&request->url, object->version, true);
    /* Without it the server would inflate objects that were stored with gzip, and then the length is another. */
    liana__http_request_header(request, "Accept-Encoding", "gzip");
    return LIANA_OK;
}

static bool same(const liana__remote_object *object, const liana__http_response *response)
{
    return !*response->generation || strcmp(response->generation, object->version) == 0;
}

/* ---- writing ---- */

/* Resumable uploads: a session is begun, chunks are sent to it, and after a failure the server is asked how much it
 * has.
 *
 * Source: cloud.google.com/storage/docs/resumable-uploads and .../performing-resumable-uploads. Why not the multipart
 * upload of the XML interface: a resumable upload uses the interface, the endpoint and the token that reading uses. Its
 * metadata carry one CRC-32C that the server compares with the whole object. One that is never finished costs nothing
 * and expires by itself after a week. */

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
    return begin_upload(own->remote, own->object, own->upload->only_if, request, error);
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
    LIANA__SCOPED(liana__http_request) request = {0};
    LIANA__SCOPED(liana__http_response) response = {0};
    liana__http_exchange exchange = {.name = own->object->name,
                                     .request = &request,
                                     .response = &response,
                                     .error = error,
                                     .make = make_begin,
                                     .user = own};
    own->sent = 0;
    own->asking = own->lost = false;
    liana__http_transfer_all(http, &exchange, 1, 1);
    LIANA_TRY(exchange.status);
    if (is_refused(own, &response)) {
        own->done = *own->upload->refused = true;
        return LIANA_OK;
    }
    if (response.status / 100 != 2) {
        return liana__remote_refused(own->remote, own->object->scheme, own->object->name, &response, error);
    }
    if (!liana__url_is_private(response.location)) {
        return liana__fail(error, LIANA_IO_ERROR, "cannot write '%s': the server gives no address for the upload",
                           own->object->name);
    }
    own->url = liana__arena_string(&own->arena, response.location);
    return own->url ? LIANA_OK : liana__fail_memory(error, own->object->name);
}

/* ---- answers ---- */

static liana_status take_object(session *own, const liana__http_response *response, liana__error *error)
{
    liana__listed made;
    const char *body = liana__http_body(response);
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
    if (status == 200 || status == 201) return take_object(own, response, error);
    if (status == 308) {
        take_progress(own, response);
        return LIANA_OK;
    }
    if (is_refused(own, response)) {
        own->done = *own->upload->refused = true;
        return LIANA_OK;
    }
    own->lost =
        status == 404 || status == 410 || (status == 400 && strstr(liana__http_refusal(response).text, "CRC32C"));
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
    LIANA__SCOPED(liana__http_request) request = {0};
    LIANA__SCOPED(liana__http_response) response = {0};
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

static liana_status put(liana__remote *remote, const liana__remote_object *object, const liana__upload *upload,
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

const liana__scheme liana__scheme_gs = {
    .name = "gs",
    .prepare = prepare,
    .endpoint = endpoint,
    .ask = ask,
    .take = take,
    .ask_list = ask_list,
    .take_list = liana__listing_read_json,
    .request = make_request,
    .same = same,
    .put = put,
    .ask_removal = ask_removal,
    .explain_access = explain_access,
};
