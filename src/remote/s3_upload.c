/* Writes objects of S3. A multipart upload becomes an object only when all of its parts are named to the server, so
 * nothing half-written is ever visible. */
#include "remote/s3_upload.h"

#include "base/crc32c.h"
#include "remote/sigv4.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* An upload has at most MAX_PARTS parts. PARTS_AT_ONCE are in memory and under way together. */
enum { MAX_PARTS = 10000, PARTS_AT_ONCE = 4, PART_UNIT = 1 << 20 };

typedef struct s3_upload {
    liana__remote *remote;
    const liana__remote_object *object;
    const liana__upload *upload;
    liana__arena arena;
    char tag[40];      /* tells this upload's object from others */
    const char *query; /* "uploadId=..." */
    size_t part_size;
    size_t num_parts;
    const char **etags; /* [num_parts] */
    const char **crcs;  /* [num_parts], base64 */
    uint8_t *buffer;    /* [PARTS_AT_ONCE][part_size] */
} s3_upload;

/* One request of an upload. */
typedef struct s3_request {
    s3_upload *own;
    liana__s3_call call;
    liana__base64_crc32c crc32c;
    liana__error error;
    liana__http_request request;
    liana__http_response response;
} s3_request;

static liana_status make(void *user, liana__http_request *request, liana__error *error)
{
    s3_request *made = user;
    return liana__s3_request(made->own->remote, &made->call, request, error);
}

static liana__refusal refusal_of(const liana__http_response *response)
{
    return liana__listing_read_refusal(response->body.data ? response->body.data : "", response->body.length);
}

/* Refusals that another attempt may change: bytes that were damaged on the way, and failures that come with the status
 * of a success, since the server began its answer before its work (CompleteMultipartUpload). */
static bool is_worth_another(const liana__http_response *response)
{
    static const char *const codes[] = {
        "BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "RequestTimeout", "InternalError",
        "SlowDown",  "ServiceUnavailable"};
    liana__refusal refusal = refusal_of(response);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (liana__starts_with(refusal.text, codes[i])) return true;
    }
    return false;
}

static liana__http_exchange exchange_of(s3_request *asked)
{
    return (liana__http_exchange){.name = asked->own->object->name,
                                  .request = &asked->request,
                                  .response = &asked->response,
                                  .error = &asked->error,
                                  .make = make,
                                  .again = is_worth_another,
                                  .user = asked};
}

static void free_request(s3_request *asked)
{
    liana__http_request_free(&asked->request);
    liana__http_response_free(&asked->response);
}

/* OK: the server did it. */
static liana_status check(const s3_request *asked, liana_status status, liana__error *error)
{
    const s3_upload *own = asked->own;
    if (status != LIANA_OK) {
        if (error) *error = asked->error;
        return status;
    }
    bool refused = asked->response.status / 100 != 2 || *refusal_of(&asked->response).text;
    if (!refused) return LIANA_OK;
    return liana__remote_refused(own->remote, own->object->scheme, own->object->name, &asked->response, error);
}

static liana_status send_request(s3_request *asked, liana__error *error)
{
    liana__http_exchange exchange = exchange_of(asked);
    liana__http_transfer_all(&asked->own->remote->http, &exchange, 1, 1);
    return check(asked, exchange.status, error);
}

static liana__s3_call call_of(const s3_upload *own, const char *method, const char *query)
{
    return (liana__s3_call){.method = method, .bucket = own->object->bucket, .key = own->object->key, .query = query};
}

/* ---- one request ---- */

static void set_body(s3_request *asked, const void *bytes, size_t size)
{
    asked->crc32c = liana__base64_crc32c_of(liana__crc32c(bytes, size));
    asked->call.has_body = true;
    asked->call.body = bytes;
    asked->call.body_size = size;
    asked->call.crc32c = asked->crc32c.text;
}

/* The object is not of the version that it must have: also if another writer is at it, or it is gone. */
static bool is_refused(const s3_request *asked)
{
    const long status = asked->response.status;
    return asked->call.only_if && (status == 412 || status == 409 || (status == 404 && *asked->call.only_if));
}

static liana_status send_whole(s3_upload *own, const char *only_if, bool *unknown, liana__error *error)
{
    s3_request asked = {.own = own, .call = call_of(own, "PUT", "")};
    asked.call.only_if = only_if;
    set_body(&asked, own->buffer, (size_t)own->upload->size);
    liana_status status = send_request(&asked, error);
    *unknown = only_if && asked.response.status == 501;
    if (is_refused(&asked)) {
        *own->upload->refused = true;
        status = LIANA_OK;
    }
    free_request(&asked);
    return status;
}

static liana_status put_whole(s3_upload *own, liana__error *error)
{
    size_t size = (size_t)own->upload->size;
    own->buffer = malloc(size + 1);
    if (!own->buffer) return liana__fail_memory(error, own->object->name);
    LIANA_TRY(liana__upload_read(own->upload, 0, own->buffer, size, error));
    bool unknown;
    liana_status status = send_whole(own, own->upload->only_if, &unknown, error);
    return unknown ? send_whole(own, NULL, &unknown, error) : status;
}

/* ---- many parts ---- */

static liana_status begin(s3_upload *own, liana__error *error)
{
    s3_request asked = {.own = own, .call = call_of(own, "POST", "uploads=")};
    asked.call.has_body = asked.call.begins = true;
    asked.call.upload = own->tag;
    liana_status status = send_request(&asked, error);
    const char *id = NULL;
    if (status == LIANA_OK) {
        const char *body = asked.response.body.data ? asked.response.body.data : "";
        status = liana__listing_read_upload(body, asked.response.body.length, &own->arena, &id, error);
        if (status != LIANA_OK) liana__fail_within(error, "cannot write '%s'", own->object->name);
    }
    free_request(&asked);
    LIANA_TRY(status);
    liana__text query = {0};
    liana__text_add(&query, "uploadId=");
    liana__url_encode(&query, id, true);
    own->query = query.failed ? NULL : liana__arena_string(&own->arena, query.data);
    liana__text_free(&query);
    return own->query ? LIANA_OK : liana__fail_memory(error, own->object->name);
}

static liana_status prepare_part(s3_upload *own, size_t index, uint8_t *bytes, s3_request *asked, liana__error *error)
{
    uint64_t offset = (uint64_t)index * own->part_size, left = own->upload->size - offset;
    size_t size = left < own->part_size ? (size_t)left : own->part_size;
    const char *query = liana__arena_format(&own->arena, "partNumber=%zu&%s", index + 1, own->query);
    if (!query) return liana__fail_memory(error, own->object->name);
    *asked = (s3_request){.own = own, .call = call_of(own, "PUT", query)};
    LIANA_TRY(liana__upload_read(own->upload, offset, bytes, size, error));
    set_body(asked, bytes, size);
    own->crcs[index] = liana__arena_string(&own->arena, asked->crc32c.text);
    return own->crcs[index] ? LIANA_OK : liana__fail_memory(error, own->object->name);
}

static liana_status take_part(s3_upload *own, size_t index, const s3_request *asked, liana_status status,
                              liana__error *error)
{
    LIANA_TRY(check(asked, status, error));
    own->etags[index] = liana__arena_string(&own->arena, asked->response.etag);
    if (!own->etags[index]) return liana__fail_memory(error, own->object->name);
    if (*own->etags[index]) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR, "cannot write '%s': the server gives no ETag for a part of it",
                       own->object->name);
}

static liana_status put_group(s3_upload *own, size_t first, size_t count, liana__error *error)
{
    s3_request asked[PARTS_AT_ONCE];
    liana__http_exchange exchanges[PARTS_AT_ONCE];
    liana_status status = LIANA_OK;
    size_t made = 0;
    for (; made < count && status == LIANA_OK; made++) {
        status = prepare_part(own, first + made, own->buffer + made * own->part_size, &asked[made], error);
        exchanges[made] = exchange_of(&asked[made]);
    }
    if (status == LIANA_OK) {
        liana__http_transfer_all(&own->remote->http, exchanges, count, own->remote->options.connections);
    }
    for (size_t i = 0; i < count && status == LIANA_OK; i++) {
        status = take_part(own, first + i, &asked[i], exchanges[i].status, error);
    }
    for (size_t i = 0; i < made; i++) free_request(&asked[i]);
    return status;
}

static void add_parts(const s3_upload *own, liana__text *text)
{
    liana__text_add(text, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (size_t i = 0; i < own->num_parts; i++) {
        liana__text_add(text, "<Part><ChecksumCRC32C>%s</ChecksumCRC32C><ETag>", own->crcs[i]);
        for (const char *at = own->etags[i]; *at; at++) {
            liana__text_add(text, strchr("<>&\"", *at) ? "&#%d;" : "%c", *at);
        }
        liana__text_add(text, "</ETag><PartNumber>%zu</PartNumber></Part>", i + 1);
    }
    liana__text_add(text, "</CompleteMultipartUpload>");
}

/* Whether the object is this upload's: the answer that said so may have been lost. */
static bool is_there(s3_upload *own)
{
    s3_request asked = {.own = own, .call = call_of(own, "HEAD", "")};
    bool same = send_request(&asked, NULL) == LIANA_OK && strcmp(asked.response.upload, own->tag) == 0;
    free_request(&asked);
    return same;
}

static liana_status complete(s3_upload *own, liana__error *error)
{
    liana__text list = {0};
    add_parts(own, &list);
    s3_request asked = {.own = own, .call = call_of(own, "POST", own->query)};
    asked.call.has_body = true;
    asked.call.body = list.data;
    asked.call.body_size = list.length;
    liana_status status = list.failed ? liana__fail_memory(error, own->object->name) : send_request(&asked, error);
    bool unknown = status == LIANA_NOT_FOUND && asked.response.status == 404;
    if (unknown && is_there(own)) status = LIANA_OK;
    free_request(&asked);
    liana__text_free(&list);
    return status;
}

/* Parts of an upload that is never completed cost money. Where this fails as well, a lifecycle rule of the bucket
 * removes them. */
static void give_up(s3_upload *own)
{
    liana__http *http = &own->remote->http;
    s3_request asked = {.own = own, .call = call_of(own, "DELETE", own->query)};
    liana__http_exchange exchange = exchange_of(&asked);
    exchange.max_attempts = 2;
    liana__http_transfer_all(http, &exchange, 1, 1);
    free_request(&asked);
}

static liana_status put_parts(s3_upload *own, liana__error *error)
{
    uint64_t size = own->upload->size;
    own->part_size = (size_t)own->remote->options.piece_size;
    if (size / own->part_size >= MAX_PARTS) {
        own->part_size = ((size_t)(size / (MAX_PARTS - 1)) + PART_UNIT - 1) / PART_UNIT * PART_UNIT;
    }
    own->num_parts = (size_t)(size / own->part_size + (size % own->part_size != 0));
    own->etags = liana__arena_allocate(&own->arena, own->num_parts * sizeof *own->etags);
    own->crcs = liana__arena_allocate(&own->arena, own->num_parts * sizeof *own->crcs);
    own->buffer = malloc(own->part_size * PARTS_AT_ONCE);
    uint64_t words[2] = {0};
    bool random = getrandom(words, sizeof words, 0) == (ssize_t)sizeof words;
    snprintf(own->tag, sizeof own->tag, "%016" PRIx64 "%016" PRIx64, words[0], words[1]);
    if (!own->etags || !own->crcs || !own->buffer || !random) return liana__fail_memory(error, own->object->name);
    LIANA_TRY(begin(own, error));
    liana_status status = LIANA_OK;
    for (size_t first = 0; first < own->num_parts && status == LIANA_OK; first += PARTS_AT_ONCE) {
        size_t left = own->num_parts - first;
        status = put_group(own, first, left < PARTS_AT_ONCE ? left : PARTS_AT_ONCE, error);
    }
    if (status == LIANA_OK) status = complete(own, error);
    if (status != LIANA_OK) give_up(own);
    return status;
}

liana_status liana__s3_put(liana__remote *remote, const liana__remote_object *object, const liana__upload *upload,
                           liana__error *error)
{
    s3_upload own = {.remote = remote, .object = object, .upload = upload};
    liana_status status = upload->size <= remote->options.piece_size ? put_whole(&own, error) : put_parts(&own, error);
    free(own.buffer);
    liana__arena_free(&own.arena);
    return status;
}
