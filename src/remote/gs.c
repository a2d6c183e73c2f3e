/* gs://: Google Cloud Storage, through its JSON interface (cloud.google.com/storage/docs/json_api/v1). */
#include "remote/gs_upload.h"
#include "remote/sigv4.h"

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
        liana__text value = {0};
        liana__text_add(&value, "Bearer %s", google->token);
        liana__http_request_header(request, "Authorization", value.data ? value.data : "");
        request->failed |= value.failed;
        liana__text_free(&value);
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

liana_status liana__gs_begin_upload(liana__remote *remote, const liana__remote_object *object, const char *only_if,
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
    const char *body = response->body.data ? response->body.data : "";
    if (liana__listing_read_object(body, response->body.length, arena, &listed, error) != LIANA_OK) {
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
    /* Without it the server would inflate what was stored with gzip, and then the length is another. */
    liana__http_request_header(request, "Accept-Encoding", "gzip");
    return LIANA_OK;
}

static bool same(const liana__remote_object *object, const liana__http_response *response)
{
    return !*response->generation || strcmp(response->generation, object->version) == 0;
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
    .put = liana__gs_put,
    .ask_removal = ask_removal,
    .explain_access = explain_access,
};
