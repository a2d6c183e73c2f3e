/* Asks servers about files: one by one, many at a time, or by lists. */
#include "remote/remote_internal.h"

#include "base/scoped.h"

/* Objects are requested in groups of GROUP. A list longer than MAX_LISTED is not a data set, or comes from a server
 * that never ends it. */
enum { GROUP = 64, MAX_LISTED = 20000000 };

/* ---- one by one ---- */

typedef struct question {
    liana__http_request request;
    liana__http_response response;
    liana__error error;
} question;

/* Whether a failure is the file's own, and not that of the server or the network. */
static bool is_of_the_file(const liana__http_response *response)
{
    return response->status >= 400 && response->status < 500 && response->status != 408 && response->status != 429;
}

static liana_status take_answer(liana__remote *remote, liana__remote_object *object, const question *asked,
                                liana__arena *arena, liana__error *error)
{
    const liana__http_response *response = &asked->response;
    /* The first byte of no bytes is not there. */
    bool empty = response->status == 416 && response->has_range && response->range_total == 0;
    if (response->status / 100 == 2 || empty) return object->scheme->take(object, response, arena, error);
    liana__error own = {0};
    liana_status status = liana__remote_refused(remote, object->scheme, object->name, response, &own);
    if (status == LIANA_NOT_FOUND || (object->optional && is_of_the_file(response))) {
        object->status = status;
        object->reason = liana__arena_string(arena, own.message);
        return object->reason ? LIANA_OK : liana__fail_memory(error, object->name);
    }
    if (error) *error = own;
    return status;
}

static liana_status describe_group(liana__remote *remote, liana__remote_object *objects, size_t count, question *asked,
                                   liana__arena *arena, liana__error *error)
{
    liana__http_exchange exchanges[GROUP];
    liana_status status = LIANA_OK;
    size_t made = 0;
    for (; made < count && status == LIANA_OK; made++) {
        const liana__scheme *scheme = objects[made].scheme;
        asked[made] = (question){.response = {.sink = scheme->ask_sink}};
        status = scheme->ask(remote, &objects[made], &asked[made].request, error);
        exchanges[made] = (liana__http_exchange){.name = objects[made].name,
                                                 .request = &asked[made].request,
                                                 .response = &asked[made].response,
                                                 .error = &asked[made].error};
    }
    if (status == LIANA_OK) liana__http_send_all(&remote->http, exchanges, count, remote->options.connections);
    for (size_t i = 0; i < count && status == LIANA_OK; i++) {
        status = exchanges[i].status;
        if (status == LIANA_OK) {
            status = take_answer(remote, &objects[i], &asked[i], arena, error);
        } else if (error) {
            *error = asked[i].error;
        }
    }
    for (size_t i = 0; i < made; i++) {
        liana__http_request_free(&asked[i].request);
        liana__http_response_free(&asked[i].response);
    }
    return status;
}

liana_status liana__remote_describe(liana__remote *remote, liana__remote_object *objects, size_t count,
                                    liana__arena *arena, liana__error *error)
{
    LIANA__SCOPED_MEMORY question *asked = malloc((count < GROUP ? count + 1 : GROUP) * sizeof *asked);
    if (!asked) return liana__fail_memory(error, "remote files");
    for (size_t first = 0; first < count; first += GROUP) {
        size_t size = count - first < GROUP ? count - first : GROUP;
        LIANA_TRY(describe_group(remote, objects + first, size, asked, arena, error));
    }
    return LIANA_OK;
}

/* ---- lists ---- */

void liana__remote_object_set(liana__remote_object *object, const liana__listed *listed)
{
    object->size = listed->size;
    object->version = listed->version;
    object->has_crc32c = listed->has_crc32c;
    object->crc32c = listed->crc32c;
    object->has_md5 = listed->has_md5;
    memcpy(object->md5, listed->md5, sizeof object->md5);
}

static liana_status add_page(liana__remote *remote, const liana__remote_object *where, const char *name,
                             const char *prefix, bool flat, liana__arena *arena, liana__listing *listing,
                             liana__error *error)
{
    const liana__scheme *scheme = where->scheme;
    LIANA__SCOPED(liana__http_request) request = {0};
    LIANA__SCOPED(liana__http_response) response = {0};
    LIANA_TRY(scheme->ask_list(remote, name, where->bucket, prefix, flat, listing->next, &request, error));
    LIANA_TRY(liana__http_send(&remote->http, name, &request, &response, error));
    if (response.status / 100 != 2) return liana__remote_refused(remote, scheme, name, &response, error);
    const liana_status status =
        scheme->take_list(liana__http_body(&response), response.body.length, arena, listing, error);
    return status == LIANA_OK ? LIANA_OK : liana__fail_within(error, "cannot list '%s'", name);
}

liana_status liana__remote_list(liana__remote *remote, const liana__remote_object *where, const char *prefix, bool flat,
                                liana__arena *arena, liana__listing *listing, liana__error *error)
{
    const char *last, *name = liana__arena_format(arena, "%s://%s/%s", where->scheme->name, where->bucket, prefix);
    if (!name) return liana__fail_memory(error, where->name);
    do {
        last = listing->next;
        LIANA_TRY(add_page(remote, where, name, prefix, flat, arena, listing, error));
        bool endless = listing->next && last && strcmp(listing->next, last) == 0;
        if (endless || listing->count > MAX_LISTED) {
            return liana__fail(error, LIANA_IO_ERROR, "cannot list '%s': the server's list has no end", where->name);
        }
    } while (listing->next);
    return LIANA_OK;
}
