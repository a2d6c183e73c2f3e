/* s3://: Amazon S3 and what speaks as it does (AWS_ENDPOINT_URL). Buckets are part of the server's name at AWS
 * ("virtual-hosted style"), of the path elsewhere and where a bucket's name has a point, which certificates do not
 * cover. */
#include "remote/remote_internal.h"
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
                    "s3:ListBucket",
                    aws->access_key, aws->origin, aws->region);
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

static void sign(const liana__remote *remote, const bucket_place *place, const char *method, const char *path,
                 const char *query, liana__http_request *request)
{
    const liana__aws_credentials *aws = &remote->aws;
    if (!aws->access_key) return;
    liana__sigv4_time now = liana__sigv4_time_of(time(NULL));
    const liana__sigv4_header headers[] = {{"host", place->host},
                                           {"x-amz-content-sha256", LIANA__SHA256_EMPTY},
                                           {"x-amz-date", now.text},
                                           {"x-amz-security-token", aws->session_token}};
    liana__sigv4_request canonical = {.method = method,
                                      .path = path,
                                      .query = query,
                                      .headers = headers,
                                      .num_headers = aws->session_token ? 4 : 3,
                                      .payload_hash = LIANA__SHA256_EMPTY};
    liana__sigv4_key key = {aws->access_key, aws->secret_key, aws->region, "s3"};
    liana__text authorization = {0};
    liana__sigv4_authorize(&canonical, &key, &now, &authorization);
    for (size_t i = 0; i < canonical.num_headers; i++) {
        liana__http_request_header(request, headers[i].name, headers[i].value);
    }
    liana__http_request_header(request, "Authorization", authorization.data ? authorization.data : "");
    request->failed |= authorization.failed;
    liana__text_free(&authorization);
}

static liana_status begin_request(liana__remote *remote, const char *bucket, const char *key, const char *query,
                                  const char *method, liana__http_request *request, liana__error *error)
{
    liana__arena arena = {0};
    bucket_place place = {0};
    liana__text path = {0};
    liana__aws_credentials *aws = &remote->aws;
    const char *name = liana__arena_format(&arena, "s3://%s/%s", bucket, key);
    liana_status status = name ? liana__aws_credentials_refresh(&remote->http, name, &remote->arena, aws, error)
                               : liana__fail_memory(error, bucket);
    if (status == LIANA_OK) status = find_place(remote, bucket, &arena, &place, error);
    if (status == LIANA_OK) {
        liana__text_add(&path, "%s/", place.path);
        liana__url_encode(&path, key, false);
        if (path.failed) status = liana__fail_memory(error, bucket);
    }
    if (status == LIANA_OK) {
        liana__text_add(&request->url, "%s%s%s%s", place.base, path.data, *query ? "?" : "", query);
        sign(remote, &place, method, path.data, query, request);
    }
    liana__text_free(&path);
    liana__arena_free(&arena);
    return status;
}

static liana_status make_request(liana__remote *remote, const liana__remote_object *object,
                                 liana__http_request *request, liana__error *error)
{
    return begin_request(remote, object->bucket, object->key, "", "GET", request, error);
}

static liana_status ask(liana__remote *remote, const liana__remote_object *object, liana__http_request *request,
                        liana__error *error)
{
    request->head = true;
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
    .explain_access = explain_access,
};
