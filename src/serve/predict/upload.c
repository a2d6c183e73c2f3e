/* The bodies of requests as arrays: image files, alone or in a form. */
#include "serve/predict/request.h"

#include "formats/image.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static liana_status add_image(liana__request *request, const liana__request_form *form, const char *what,
                              const char *bytes, size_t size, liana__error *error)
{
    LIANA_TRY(liana__request_grow(request, form, error));
    float *row = liana__request_row(request, form, 0);
    const liana_status status = form->decode(form->user, bytes, size, row, error);
    if (status != LIANA_OK) return liana__fail_within(error, "%s", what);
    request->count++;
    return LIANA_OK;
}

/* ---- multipart/form-data (RFC 7578) ---- */

typedef struct form_body {
    const char *at, *end;
    char mark[80]; /* "--BOUNDARY" */
    size_t mark_length;
} form_body;

static const char *find(const char *from, const char *end, const char *wanted, size_t length)
{
    return (size_t)(end - from) < length ? NULL : memmem(from, (size_t)(end - from), wanted, length);
}

/* A parameter of a header's value: `boundary` of "multipart/form-data; boundary=x". Quotes are taken off. */
static bool read_parameter(const char *value, size_t size, const char *name, char *to, size_t room)
{
    const size_t length = strlen(name);
    for (const char *at = value, *end = value + size; at < end; at++) {
        const bool begins = at > value && (at[-1] == ';' || at[-1] == ' ') && (size_t)(end - at) > length;
        if (!begins || strncasecmp(at, name, length) != 0 || at[length] != '=') continue;
        at += length + 1;
        const bool is_quoted = at < end && *at == '"';
        at += is_quoted;
        size_t count = 0;
        while (at + count < end && (is_quoted ? at[count] != '"' : at[count] != ';' && at[count] != ' ')) count++;
        if (!count || count >= room) return false;
        memcpy(to, at, count);
        to[count] = 0;
        return true;
    }
    return false;
}

/* The next part: its headers, and its contents. False: there is none. */
static bool next_part(form_body *own, const char **headers, size_t *headers_size, const char **contents,
                      size_t *contents_size, bool *is_cut)
{
    const char *at = own->at;
    *is_cut = false;
    if (own->end - at >= 2 && memcmp(at, "--", 2) == 0) return false;
    *is_cut = true;
    if (own->end - at < 2 || memcmp(at, "\r\n", 2) != 0) return false;
    *headers = at;
    const char *blank = find(at, own->end, "\r\n\r\n", 4);
    if (!blank) return false;
    *headers_size = (size_t)(blank - at);
    *contents = blank + 4;
    /* The contents end before "\r\n--BOUNDARY". */
    for (const char *from = *contents;; from++) {
        const char *mark = find(from, own->end, own->mark, own->mark_length);
        if (!mark) return false;
        from = mark;
        if (mark - *contents < 2 || memcmp(mark - 2, "\r\n", 2) != 0) continue;
        *contents_size = (size_t)(mark - 2 - *contents);
        own->at = mark + own->mark_length;
        *is_cut = false;
        return true;
    }
}

static liana_status read_form(liana__request *request, const liana__request_form *form, form_body *body,
                              liana__error *error)
{
    const char *headers, *contents;
    size_t headers_size, contents_size;
    bool is_cut;
    const char *begin = find(body->at, body->end, body->mark, body->mark_length);
    if (!begin) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the form has no part: its boundary is not there");
    body->at = begin + body->mark_length;
    while (next_part(body, &headers, &headers_size, &contents, &contents_size, &is_cut)) {
        char name[128], what[160];
        /* Other fields of a form have no file. */
        if (!read_parameter(headers, headers_size, "filename", name, sizeof name)) continue;
        snprintf(what, sizeof what, "the file %.128s", name);
        LIANA_TRY(add_image(request, form, what, contents, contents_size, error));
    }
    if (is_cut) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the form is cut off, or its parts are damaged");
    if (request->count) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the form has no file: a part needs a filename");
}

liana_status liana__request_read_images(liana__request *request, const liana__request_form *form, const char *type,
                                        const char *body, size_t size, liana__error *error)
{
    static const char multipart[] = "multipart/form-data";
    if (form->num_inputs != 1 || !form->inputs[0].is_image) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the model takes no image; send its inputs as JSON (GET .../metadata shows them)");
    }
    if (!type || strncasecmp(type, multipart, sizeof multipart - 1) != 0) {
        return add_image(request, form, "the image", body, size, error);
    }
    form_body own = {.at = body, .end = body + size, .mark = "--"};
    if (!read_parameter(type, strlen(type), "boundary", own.mark + 2, sizeof own.mark - 2)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the form's Content-Type has no boundary of up to 70 bytes");
    }
    own.mark_length = strlen(own.mark);
    return read_form(request, form, &own, error);
}
