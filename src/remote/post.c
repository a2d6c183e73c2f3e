/* Sends a text to a server. */
#include "remote/post.h"

#include "base/scoped.h"
#include "remote/http.h"

enum { STALL_SECONDS = 10 };

static void add_headers(const char *const *headers, liana__http_request *request)
{
    for (size_t i = 0; headers && headers[i] && headers[i + 1]; i += 2) {
        liana__http_request_header(request, headers[i], headers[i + 1]);
    }
}

static liana_status send_once(liana__http *http, const liana__posting *posting, liana__error *error)
{
    LIANA__SCOPED(liana__http_request) request = {0};
    LIANA__SCOPED(liana__http_response) response = {0};
    liana__text_add(&request.url, "%s", posting->url);
    liana__http_request_header(&request, "Content-Type", posting->content_type);
    add_headers(posting->headers, &request);
    liana__text_add(&request.form, "%s", posting->body);
    if (request.failed || request.url.failed || request.form.failed) return liana__fail_memory(error, posting->url);
    LIANA_TRY(liana__http_send(http, posting->url, &request, &response, error));
    if (response.status < 400) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR, "'%s' answered with status %ld", posting->url, response.status);
}

liana_status liana__remote_post(const liana__posting *posting, liana__error *error)
{
    LIANA_TRY(liana__remote_load(error));
    liana__http http = {.multi = curl_multi_init(),
                        .asking = curl_multi_init(),
                        .stall_seconds = STALL_SECONDS,
                        .max_attempts = 1,
                        .first_delay = 100};
    const liana_status status =
        http.multi && http.asking ? send_once(&http, posting, error) : liana__fail_memory(error, posting->url);
    if (http.asking) curl_multi_cleanup(http.asking);
    if (http.multi) curl_multi_cleanup(http.multi);
    return status;
}
