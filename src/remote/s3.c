/* s3://: Amazon S3 and servers of its kind (AWS_ENDPOINT_URL). Buckets are part of the server's name at AWS
 * ("virtual-hosted style"), of the path elsewhere and where a bucket's name has a point, which certificates do not
 * cover. */
#include "remote/remote_internal.h"

#include "base/crc32c.h"
#include "base/scoped.h"
#include "remote/sigv4.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* A request to S3, to be signed. */
typedef struct s3_call {
    const char *method;
    const char *bucket;
    const char *key;   /* "": the bucket itself */
    const char *query; /* percent-encoded, sorted by name; may be "" */
    bool has_body;
    const void *body;
    size_t body_size;
    const char *crc32c;  /* of the body, in base64: the server compares it; NULL: none */
    bool begins;         /* a multipart upload whose parts will have a CRC-32C */
    const char *only_if; /* the version that is written or removed; "": none may be there; NULL: whatever is there */
    const char *upload;  /* metadata "liana-upload" of the object; NULL: none */
} s3_call;

static liana_status prepare(liana__remote *remote, liana__error *error)
{
    if (remote->prepared_aws) return LIANA_OK;
    LIANA_TRY(liana__aws_credentials_find(&remote->arena, &remote->aws, error));
    remote->prepared_aws = true;
    return LIANA_OK;
}

static const char *endpoint(const liana__remote *remote)
{
    return remote->aws.endpoint ? remote->aws.endpoint : "";
}

static void explain_access(const liana__remote *remote, liana__text *text)
{
    const liana__aws_credentials *aws = &remote->aws;
    if (!aws->access_key) {
        liana__text_add(text, "without credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE");
        return;
    }
    liana__text_add(text,
                    "with the access key %.4s... from %s, for the region %s; it needs s3:GetObject, and for patterns "
                    "s3:ListBucket%s",
                    aws->access_key, aws->origin, aws->region,
                    remote->options.writes ? ", and for results s3:PutObject and s3:DeleteObject" : "");
}

/* Where a bucket is: "https://bucket.s3.eu-west-1.amazonaws.com" and "", or "http://127.0.0.1:9000" and "/bucket". */
typedef struct bucket_place {
    const char *base;
    const char *host; /* in base */
    const char *path; /* before "/KEY" */
} bucket_place;

static liana_status find_place(const liana__remote *remote, const char *bucket, liana__arena *arena,
                               bucket_place *place, liana__error *error)
{
    const liana__aws_credentials *aws = &remote->aws;
    bool in_path = aws->endpoint || strchr(bucket, '.');
    const char *end = liana__starts_with(aws->region, "cn-") ? ".cn" : "";
    const char *base = aws->endpoint ? aws->endpoint
                       : in_path
                           ? liana__arena_format(arena, "https://s3.%s.amazonaws.com%s", aws->region, end)
                           : liana__arena_format(arena, "https://%s.s3.%s.amazonaws.com%s", bucket, aws->region, end);
    if (!base) return liana__fail_memory(error, bucket);
    const char *host = strstr(base, "://") + 3, *slash = strchr(host, '/');
    size_t length = slash ? (size_t)(slash - host) : strlen(host);
    LIANA__SCOPED(liana__text) path = {0};
    if (slash) liana__text_add(&path, "%s", slash);
    if (in_path) {
        liana__text_add(&path, "/");
        liana__url_encode(&path, bucket, true);
    }
    place->base = liana__arena_format(arena, "%.*s", (int)(host + length - base), base);
    place->host = place->base ? place->base + (host - base) : NULL;
    place->path = path.failed ? NULL : liana__arena_string(arena, path.data ? path.data : "");
    return place->base && place->path ? LIANA_OK : liana__fail_memory(error, bucket);
}

/* The headers of a request, sorted, all of them signed. */
typedef struct s3_headers {
    liana__sigv4_header items[10];
    size_t count;
} s3_headers;

static void add_header(s3_headers *headers, const char *name, const char *value)
{
    if (value) headers->items[headers->count++] = (liana__sigv4_header){name, value};
}

static void authorize(const liana__remote *remote, const s3_headers *headers, const s3_call *call, const char *path,
                      const char *payload_hash, const liana__sigv4_time *now, liana__http_request *request)
{
    const liana__aws_credentials *aws = &remote->aws;
    liana__sigv4_request canonical = {.method = call->method,
                                      .path = path,
                                      .query = call->query,
                                      .headers = headers->items,
                                      .num_headers = headers->count,
                                      .payload_hash = payload_hash};
    liana__sigv4_key key = {aws->access_key, aws->secret_key, aws->region, "s3"};
    LIANA__SCOPED(liana__text) authorization = {0};
    liana__sigv4_authorize(&canonical, &key, now, &authorization);
    liana__http_request_header(request, "Authorization", authorization.data ? authorization.data : "");
    request->failed |= authorization.failed;
}

static void add_headers(const liana__remote *remote, const bucket_place *place, const char *path, const s3_call *call,
                        liana__http_request *request)
{
    const liana__aws_credentials *aws = &remote->aws;
    bool is_signed = aws->access_key != NULL;
    liana__sigv4_time now = liana__sigv4_time_of(time(NULL));
    liana__sha256_text payload = {LIANA__SHA256_EMPTY};
    if (is_signed && call->body_size) payload = liana__sha256_of(call->body, call->body_size);
    s3_headers headers = {.count = 0};
    add_header(&headers, "host", is_signed ? place->host : NULL);
    if (call->only_if)
        add_header(&headers, *call->only_if ? "if-match" : "if-none-match", *call->only_if ? call->only_if : "*");
    add_header(&headers, "x-amz-checksum-algorithm", call->begins ? "CRC32C" : NULL);
    add_header(&headers, "x-amz-checksum-crc32c", call->crc32c);
    add_header(&headers, "x-amz-content-sha256", is_signed ? payload.text : NULL);
    add_header(&headers, "x-amz-date", is_signed ? now.text : NULL);
    add_header(&headers, "x-amz-meta-liana-upload", call->upload);
    add_header(&headers, "x-amz-security-token", is_signed ? aws->session_token : NULL);
    for (size_t i = 0; i < headers.count; i++) {
        liana__http_request_header(request, headers.items[i].name, headers.items[i].value);
    }
    if (call->has_body) {
        liana__http_request_header(request, "Content-Type", "application/octet-stream");
        liana__http_request_header(request, "Expect", "");
    }
    if (is_signed) authorize(remote, &headers, call, path, payload.text, &now, request);
}

static liana_status sign_request(liana__remote *remote, const s3_call *call, liana__http_request *request,
                                 liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    bucket_place place = {0};
    LIANA__SCOPED(liana__text) path = {0};
    const char *name = liana__arena_format(&arena, "s3://%s/%s", call->bucket, call->key);
    if (!name) return liana__fail_memory(error, call->bucket);
    LIANA_TRY(liana__aws_credentials_refresh(&remote->http, name, &remote->arena, &remote->aws, error));
    LIANA_TRY(find_place(remote, call->bucket, &arena, &place, error));
    liana__text_add(&path, "%s/", place.path);
    liana__url_encode(&path, call->key, false);
    if (path.failed) return liana__fail_memory(error, call->bucket);
    request->head = strcmp(call->method, "HEAD") == 0;
    if (call->has_body || strcmp(call->method, "DELETE") == 0) request->method = call->method;
    request->has_body = call->has_body;
    request->body = call->body;
    request->body_size = call->body_size;
    request->slow = call->has_body && strcmp(call->method, "POST") == 0;
    liana__text_add(&request->url, "%s%s%s%s", place.base, path.data, *call->query ? "?" : "", call->query);
    add_headers(remote, &place, path.data, call, request);
    return LIANA_OK;
}

static liana_status begin_request(liana__remote *remote, const char *bucket, const char *key, const char *query,
                                  const char *method, liana__http_request *request, liana__error *error)
{
    s3_call call = {.method = method, .bucket = bucket, .key = key, .query = query};
    return sign_request(remote, &call, request, error);
}

static liana_status ask_removal(liana__remote *remote, const liana__remote_object *object, liana__http_request *request,
                                liana__error *error)
{
    const s3_call call = {
        .method = "DELETE", .bucket = object->bucket, .key = object->key, .query = "", .only_if = object->version};
    return sign_request(remote, &call, request, error);
}

static liana_status make_request(liana__remote *remote, const liana__remote_object *object,
                                 liana__http_request *request, liana__error *error)
{
    return begin_request(remote, object->bucket, object->key, "", "GET", request, error);
}

static liana_status ask(liana__remote *remote, const liana__remote_object *object, liana__http_request *request,
                        liana__error *error)
{
    return begin_request(remote, object->bucket, object->key, "", "HEAD", request, error);
}

static liana_status take(liana__remote_object *object, const liana__http_response *response, liana__arena *arena,
                         liana__error *error)
{
    if (!response->has_length) {
        return liana__fail(error, LIANA_IO_ERROR, "cannot read '%s': the server does not give its length",
                           object->name);
    }
    object->size = response->length;
    object->version = liana__arena_string(arena, response->etag);
    object->has_md5 = !response->encrypted && liana__etag_md5(response->etag, object->md5);
    return object->version ? LIANA_OK : liana__fail_memory(error, object->name);
}

static liana_status ask_list(liana__remote *remote, const char *name, const char *bucket, const char *prefix, bool flat,
                             const char *next, liana__http_request *request, liana__error *error)
{
    LIANA__SCOPED(liana__text) query = {0}; /* sorted, as the signature wants it */
    if (next) {
        liana__text_add(&query, "continuation-token=");
        liana__url_encode(&query, next, true);
        liana__text_add(&query, "&");
    }
    liana__text_add(&query, "%slist-type=2&prefix=", flat ? "delimiter=%2F&" : "");
    liana__url_encode(&query, prefix, true);
    return query.failed ? liana__fail_memory(error, name)
                        : begin_request(remote, bucket, "", query.data, "GET", request, error);
}

static bool same(const liana__remote_object *object, const liana__http_response *response)
{
    return strcmp(object->version, response->etag) == 0;
}

/* ---- writing ---- */

/* A multipart upload becomes an object only when all of its parts are named to the server, so nothing half-written is
 * ever visible.
 *
 * Source: docs.aws.amazon.com/AmazonS3/latest/API (PutObject, CreateMultipartUpload, UploadPart,
 * CompleteMultipartUpload, AbortMultipartUpload) and .../userguide/checking-object-integrity.html. */

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
    s3_call call;
    liana__base64_crc32c crc32c;
    liana__error error;
    liana__http_request request;
    liana__http_response response;
} s3_request;

static liana_status make(void *user, liana__http_request *request, liana__error *error)
{
    s3_request *made = user;
    return sign_request(made->own->remote, &made->call, request, error);
}

/* Refusals that another attempt may change: bytes that were damaged on the way, and failures that come with the status
 * of a success, since the server began its answer before its work (CompleteMultipartUpload). */
static bool is_worth_another(const liana__http_response *response)
{
    static const char *const codes[] = {
        "BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "RequestTimeout", "InternalError",
        "SlowDown",  "ServiceUnavailable"};
    liana__refusal refusal = liana__http_refusal(response);
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

static void s3_request_free(s3_request *asked)
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
    bool refused = asked->response.status / 100 != 2 || *liana__http_refusal(&asked->response).text;
    if (!refused) return LIANA_OK;
    return liana__remote_refused(own->remote, own->object->scheme, own->object->name, &asked->response, error);
}

static liana_status send_request(s3_request *asked, liana__error *error)
{
    liana__http_exchange exchange = exchange_of(asked);
    liana__http_transfer_all(&asked->own->remote->http, &exchange, 1, 1);
    return check(asked, exchange.status, error);
}

static s3_call call_of(const s3_upload *own, const char *method, const char *query)
{
    return (s3_call){.method = method, .bucket = own->object->bucket, .key = own->object->key, .query = query};
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
    LIANA__SCOPED(s3_request) asked = {.own = own, .call = call_of(own, "PUT", "")};
    asked.call.only_if = only_if;
    set_body(&asked, own->buffer, (size_t)own->upload->size);
    liana_status status = send_request(&asked, error);
    *unknown = only_if && asked.response.status == 501;
    if (is_refused(&asked)) {
        *own->upload->refused = true;
        status = LIANA_OK;
    }
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
    LIANA__SCOPED(s3_request) asked = {.own = own, .call = call_of(own, "POST", "uploads=")};
    asked.call.has_body = asked.call.begins = true;
    asked.call.upload = own->tag;
    LIANA_TRY(send_request(&asked, error));
    const char *id = NULL;
    const char *body = liana__http_body(&asked.response);
    if (liana__listing_read_upload(body, asked.response.body.length, &own->arena, &id, error) != LIANA_OK) {
        return liana__fail_within(error, "cannot write '%s'", own->object->name);
    }
    LIANA__SCOPED(liana__text) query = {0};
    liana__text_add(&query, "uploadId=");
    liana__url_encode(&query, id, true);
    own->query = query.failed ? NULL : liana__arena_string(&own->arena, query.data);
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
    for (size_t i = 0; i < made; i++) s3_request_free(&asked[i]);
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
    LIANA__SCOPED(s3_request) asked = {.own = own, .call = call_of(own, "HEAD", "")};
    return send_request(&asked, NULL) == LIANA_OK && strcmp(asked.response.upload, own->tag) == 0;
}

static liana_status complete(s3_upload *own, liana__error *error)
{
    LIANA__SCOPED(liana__text) list = {0};
    add_parts(own, &list);
    LIANA__SCOPED(s3_request) asked = {.own = own, .call = call_of(own, "POST", own->query)};
    asked.call.has_body = true;
    asked.call.body = list.data;
    asked.call.body_size = list.length;
    if (list.failed) return liana__fail_memory(error, own->object->name);
    liana_status status = send_request(&asked, error);
    bool unknown = status == LIANA_NOT_FOUND && asked.response.status == 404;
    return unknown && is_there(own) ? LIANA_OK : status;
}

/* Parts of an upload that is never completed cost money. Where this fails as well, a lifecycle rule of the bucket
 * removes them. */
static void give_up(s3_upload *own)
{
    liana__http *http = &own->remote->http;
    LIANA__SCOPED(s3_request) asked = {.own = own, .call = call_of(own, "DELETE", own->query)};
    liana__http_exchange exchange = exchange_of(&asked);
    exchange.max_attempts = 2;
    liana__http_transfer_all(http, &exchange, 1, 1);
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

static liana_status put(liana__remote *remote, const liana__remote_object *object, const liana__upload *upload,
                        liana__error *error)
{
    s3_upload own = {.remote = remote, .object = object, .upload = upload};
    liana_status status = upload->size <= remote->options.piece_size ? put_whole(&own, error) : put_parts(&own, error);
    free(own.buffer);
    liana__arena_free(&own.arena);
    return status;
}

const liana__scheme liana__scheme_s3 = {
    .name = "s3",
    .prepare = prepare,
    .endpoint = endpoint,
    .ask = ask,
    .take = take,
    .ask_list = ask_list,
    .take_list = liana__listing_read_xml,
    .request = make_request,
    .same = same,
    .put = put,
    .ask_removal = ask_removal,
    .explain_access = explain_access,
};
