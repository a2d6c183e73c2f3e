/* https://: any web server. It has no lists of files, so patterns are refused. http:// works only on this machine,
 * since its answers could come from anybody. */
#include "remote/remote_internal.h"

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

/* Requests the first byte. Its answer has all properties, and HEAD may be refused (addresses signed for GET). */
static liana_status ask(liana__remote *remote, const liana__remote_object *object, liana__http_request *request,
                        liana__error *error)
{
    request->has_range = true;
    request->range_count = 1;
    return make_request(remote, object, request, error);
}

/* Of a body that is not wanted, one byte is enough. */
static bool take_one_byte(void *user, const liana__http_response *response, const void *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    return response->status == 206 && size <= 1;
}

static liana_status take(liana__remote_object *object, const liana__http_response *response, liana__arena *arena,
                         liana__error *error)
{
    object->version = liana__arena_string(arena, version_of(response));
    if (!object->version) return liana__fail_memory(error, object->name);
    object->whole = response->status == 200;
    object->size = object->whole ? response->length : response->range_total;
    if (object->whole ? response->has_length : response->has_range) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR,
                       "cannot read '%s': the server does not give its length; download it and pass the local path",
                       object->name);
}

const liana__scheme liana__scheme_https = {
    .name = "https",
    .ask = ask,
    .ask_sink = take_one_byte,
    .take = take,
    .request = make_request,
    .same = same,
    .explain_access = explain_access,
};

const liana__scheme liana__scheme_http = {
    .name = "http",
    .ask = ask,
    .ask_sink = take_one_byte,
    .take = take,
    .request = make_request,
    .same = same,
    .explain_access = explain_access,
};
