/* s3://: Amazon S3 and what speaks as it does (AWS_ENDPOINT_URL). Buckets are part of the server's name at AWS
 * ("virtual-hosted style"), of the path elsewhere and where a bucket's name has a point, which certificates do not
 * cover. */
#include "remote/s3_upload.h"
#include "remote/sigv4.h"

#include <string.h>

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
    liana__text path = {0};
    if (slash) liana__text_add(&path, "%s", slash);
    if (in_path) {
        liana__text_add(&path, "/");
        liana__url_encode(&path, bucket, true);
    }
    place->base = liana__arena_format(arena, "%.*s", (int)(host + length - base), base);
    place->host = place->base ? place->base + (host - base) : NULL;
    place->path = path.failed ? NULL : liana__arena_string(arena, path.data ? path.data : "");
    liana__text_free(&path);
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

static void authorize(const liana__remote *remote, const s3_headers *headers, const liana__s3_call *call,
                      const char *path, const char *payload_hash, const liana__sigv4_time *now,
                      liana__http_request *request)
{
    const liana__aws_credentials *aws = &remote->aws;
    liana__sigv4_request canonical = {.method = call->method,
                                      .path = path,
                                      .query = call->query,
                                      .headers = headers->items,
                                      .num_headers = headers->count,
                                      .payload_hash = payload_hash};
    liana__sigv4_key key = {aws->access_key, aws->secret_key, aws->region, "s3"};
    liana__text authorization = {0};
    liana__sigv4_authorize(&canonical, &key, now, &authorization);
    liana__http_request_header(request, "Authorization", authorization.data ? authorization.data : "");
    request->failed |= authorization.failed;
    liana__text_free(&authorization);
}

static void add_headers(const liana__remote *remote, const bucket_place *place, const char *path,
                        const liana__s3_call *call, liana__http_request *request)
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

liana_status liana__s3_request(liana__remote *remote, const liana__s3_call *call, liana__http_request *request,
                               liana__error *error)
{
    liana__arena arena = {0};
    bucket_place place = {0};
    liana__text path = {0};
    liana__aws_credentials *aws = &remote->aws;
    const char *name = liana__arena_format(&arena, "s3://%s/%s", call->bucket, call->key);
    liana_status status = name ? liana__aws_credentials_refresh(&remote->http, name, &remote->arena, aws, error)
                               : liana__fail_memory(error, call->bucket);
    if (status == LIANA_OK) status = find_place(remote, call->bucket, &arena, &place, error);
    if (status == LIANA_OK) {
        liana__text_add(&path, "%s/", place.path);
        liana__url_encode(&path, call->key, false);
        if (path.failed) status = liana__fail_memory(error, call->bucket);
    }
    if (status == LIANA_OK) {
        request->head = strcmp(call->method, "HEAD") == 0;
        if (call->has_body || strcmp(call->method, "DELETE") == 0) request->method = call->method;
        request->has_body = call->has_body;
        request->body = call->body;
        request->body_size = call->body_size;
        request->slow = call->has_body && strcmp(call->method, "POST") == 0;
        liana__text_add(&request->url, "%s%s%s%s", place.base, path.data, *call->query ? "?" : "", call->query);
        add_headers(remote, &place, path.data, call, request);
    }
    liana__text_free(&path);
    liana__arena_free(&arena);
    return status;
}

static liana_status begin_request(liana__remote *remote, const char *bucket, const char *key, const char *query,
                                  const char *method, liana__http_request *request, liana__error *error)
{
    liana__s3_call call = {.method = method, .bucket = bucket, .key = key, .query = query};
    return liana__s3_request(remote, &call, request, error);
}

static liana_status ask_removal(liana__remote *remote, const liana__remote_object *object, liana__http_request *request,
                                liana__error *error)
{
    const liana__s3_call call = {
        .method = "DELETE", .bucket = object->bucket, .key = object->key, .query = "", .only_if = object->version};
    return liana__s3_request(remote, &call, request, error);
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
    liana__text query = {0}; /* sorted, as the signature wants it */
    if (next) {
        liana__text_add(&query, "continuation-token=");
        liana__url_encode(&query, next, true);
        liana__text_add(&query, "&");
    }
    liana__text_add(&query, "%slist-type=2&prefix=", flat ? "delimiter=%2F&" : "");
    liana__url_encode(&query, prefix, true);
    liana_status status = query.failed ? liana__fail_memory(error, name)
                                       : begin_request(remote, bucket, "", query.data, "GET", request, error);
    liana__text_free(&query);
    return status;
}

static bool same(const liana__remote_object *object, const liana__http_response *response)
{
    return strcmp(object->version, response->etag) == 0;
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
    .put = liana__s3_put,
    .ask_removal = ask_removal,
    .explain_access = explain_access,
};
