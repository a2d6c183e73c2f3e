/* Errors for requests that servers refuse. */
#include "remote/remote_internal.h"

#include "base/scoped.h"

liana_status liana__remote_changed(const char *name, liana__error *error)
{
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s' changed on its server while it was read; run again when nobody writes to it", name);
}

static const char *status_text(long status)
{
    switch (status) {
    case 400: return " Bad Request";
    case 401: return " Unauthorized";
    case 403: return " Forbidden";
    case 404: return " Not Found";
    case 408: return " Request Timeout";
    case 410: return " Gone";
    case 429: return " Too Many Requests";
    case 500: return " Internal Server Error";
    case 502: return " Bad Gateway";
    case 503: return " Service Unavailable";
    case 504: return " Gateway Timeout";
    default: return "";
    }
}

liana__refusal liana__http_refusal(const liana__http_response *response)
{
    return liana__listing_read_refusal(liana__http_body(response), response->body.length);
}

liana_status liana__remote_refused(const liana__remote *remote, const liana__scheme *scheme, const char *name,
                                   const liana__http_response *response, liana__error *error)
{
    long status = response->status;
    const char *verb = response->writes ? "write" : "read";
    const liana__refusal refusal = liana__http_refusal(response);
    LIANA__SCOPED(liana__text) said = {0};
    LIANA__SCOPED(liana__text) access = {0};
    liana__text_add(&said, "HTTP %ld%s%s%s", status, status_text(status), *refusal.text ? ": " : "", refusal.text);
    scheme->explain_access(remote, &access);
    const char *what = said.data ? said.data : "", *how = access.data ? access.data : "";
    if ((status == 301 || status == 307 || status == 400) && *response->region) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "cannot %s '%s': its bucket is in the region %s; set AWS_REGION=%s", verb, name,
                           response->region, response->region);
    }
    if ((status == 404 || status == 410) && response->writes) {
        return liana__fail(error, LIANA_NOT_FOUND, "cannot write '%s': is there such a bucket? (%s)", name, what);
    }
    if (status == 404 || status == 410) {
        return liana__fail(error, LIANA_NOT_FOUND, "there is no '%s' (%s); check the name", name, what);
    }
    if (status == 401 || status == 403) {
        return liana__fail(error, LIANA_IO_ERROR, "access to '%s' was denied (%s); the request was made %s", name, what,
                           how);
    }
    if (status == 408 || status == 429 || status >= 500) {
        return liana__fail(error, LIANA_IO_ERROR,
                           "cannot %s '%s': the server failed (%s; tried %d times); try again later", verb, name, what,
                           remote->http.max_attempts);
    }
    return liana__fail(error, LIANA_IO_ERROR, "cannot %s '%s': the server answered with %s", verb, name, what);
}
