/* https://: any web server. It can give no list of files, so patterns are refused. http:// only on this machine: what
 * comes by it could come from anybody. */
#include "remote/scheme.h"

#include <string.h>

static void explain_access(const liana__remote *remote, liana__text *text)
{
    (void)remote;
    liana__text_add(text, "without a password, unless ~/.netrc has one for this server");
}

static liana_status make_request(liana__remote *remote, const liana__remote_object *object,
                                 liana__http_request *request, liana__error *error)
{
    (void)remote;
    (void)error;
    liana__text_add(&request->url, "%s", object->key);
    request->follow = true;
    return LIANA_OK;
}

static const char *version_of(const liana__http_response *response)
{
    return *response->etag ? response->etag : response->last_modified;
}

static bool same(const liana__remote_object *object, const liana__http_response *response)
{
    return strcmp(object->version, version_of(response)) == 0;
}

/* Of a body that is not wanted, one byte is enough. */
static bool take_one_byte(void *user, const liana__http_response *response, const void *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    return response->status == 206 && size <= 1;
}

/* The answer to a request of the first byte says it all, where HEAD may be refused (addresses signed for GET). */
static liana_status take_answer(const liana__http_response *response, liana__remote_object *object, liana__arena *arena,
                                liana__error *error)
{
    object->version = liana__arena_string(arena, version_of(response));
    if (!object->version) return liana__fail_memory(error, object->name);
    object->whole = response->status == 200;
    object->size = object->whole ? response->length : response->range_total;
    if (object->whole ? response->has_length : response->has_range) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR,
                       "cannot read '%s': the server does not say how long it is; download it and name the copy",
                       object->name);
}

static liana_status describe(liana__remote *remote, liana__remote_object *object, liana__arena *arena,
                             liana__error *error)
{
    liana__http_request request = {.has_range = true, .range_count = 1};
    liana__http_response response = {.sink = take_one_byte};
    liana_status status = make_request(remote, object, &request, error);
    if (status == LIANA_OK) status = liana__http_send(&remote->http, object->name, &request, &response, error);
    /* The first byte of no bytes is not there. */
    bool empty = response.status == 416 && response.has_range && response.range_total == 0;
    if (status == LIANA_OK && !empty && response.status != 200 && response.status != 206) {
        status = liana__remote_refused(remote, object->scheme, object->name, &response, error);
    }
    if (status == LIANA_OK) status = take_answer(&response, object, arena, error);
    liana__http_request_free(&request);
    liana__http_response_free(&response);
    return status;
}

const liana__scheme liana__scheme_https = {
    .name = "https",
    .describe = describe,
    .request = make_request,
    .same = same,
    .explain_access = explain_access,
};

const liana__scheme liana__scheme_http = {
    .name = "http",
    .describe = describe,
    .request = make_request,
    .same = same,
    .explain_access = explain_access,
};
