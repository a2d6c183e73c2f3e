/* A server of predictions: which request is answered how. */
#include "serve/predict/prediction_server.h"

#include "base/scoped.h"
#include "formats/image.h"
#include "serve/predict/api_path.h"
#include "serve/predict/metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct liana__prediction_server {
    liana__prediction_options options;
    liana__byte_budget budget;
    liana__registry *registry;
    _Atomic(liana__http_server *) http; /* requests come before the thread that opens it has it */
    atomic_bool drains;
    double start;
};

/* ---- errors ---- */

/* As TensorFlow Serving has them: its codes of errors as codes of HTTP. */
static unsigned code_of(liana_status status)
{
    switch (status) {
    case LIANA_OK: return 200;
    case LIANA_INVALID_ARGUMENT:
    case LIANA_INVALID_CONFIG:
    case LIANA_INVALID_DATA:
    case LIANA_DATA_LOSS:
    case LIANA_OUT_OF_RANGE: return 400;
    case LIANA_NOT_FOUND: return 404;
    case LIANA_UNIMPLEMENTED: return 501;
    case LIANA_OUT_OF_MEMORY:
    case LIANA_UNAVAILABLE: return 503;
    case LIANA_CANCELLED: return 504;
    default: return 500;
    }
}

static void fail(liana__http_answer *answer, unsigned code, const char *message)
{
    answer->status = code;
    answer->type = "application/json";
    liana__text_free(&answer->body);
    liana__response_add_error(&answer->body, message);
    if (code == 503) {
        answer->header[0] = "Retry-After";
        answer->header[1] = "1";
    }
    if (code == 405) {
        answer->header[0] = "Allow";
        answer->header[1] = "GET, HEAD, POST";
    }
}

/* ---- predictions ---- */

/* Whether a body is images: it says so, or begins as one. curl calls every body a form. */
static bool has_images(const liana__web_request *request, const char *type)
{
    if (type && strncasecmp(type, "image/", 6) == 0) return true;
    if (type && strncasecmp(type, "multipart/form-data", 19) == 0) return true;
    return liana__image_sniff(request->body, request->body_size) != LIANA__IMAGE_UNKNOWN;
}

static liana_status read_request(const liana__web_request *web, const liana__api_path *path,
                                 const liana__request_form *form, liana__request *request, liana__error *error)
{
    const char *type = liana__web_header(web, "Content-Type");
    const bool is_predict = path->method == LIANA__SERVE_PREDICT;
    liana_status status;
    if (has_images(web, type)) {
        status = liana__request_read_images(request, form, type, web->body, web->body_size, error);
    } else {
        status = liana__request_read_json(request, form, is_predict ? LIANA__REQUEST_PREDICT : LIANA__REQUEST_EXAMPLES,
                                          web->body, web->body_size, error);
    }
    /* What the client has sent is its own fault, also an image of a kind that is not read. */
    return status == LIANA_UNIMPLEMENTED ? LIANA_INVALID_ARGUMENT : status;
}

/* A whole number of the query; 0: none. *bad: it is no number. */
static int64_t read_top(const liana__web_request *web, bool *bad)
{
    char *end;
    const char *text = liana__web_query(web, "top");
    *bad = false;
    if (!text) return 0;
    const long long top = strtoll(text, &end, 10);
    *bad = *text < '0' || *text > '9' || *end || top < 1;
    return top;
}

static liana_status write_answer(const liana__web_request *web, liana__serve_method method, bool is_columns,
                                 const liana__response_rows *rows, liana__text *text, liana__error *error)
{
    bool bad;
    if (method == LIANA__SERVE_PREDICT) {
        liana__response_add_predictions(text, rows, is_columns);
        return LIANA_OK;
    }
    if (method == LIANA__SERVE_REGRESS) return liana__response_add_regressions(text, rows, error);
    const int64_t top = read_top(web, &bad);
    if (bad) return liana__fail(error, LIANA_INVALID_ARGUMENT, "top: expected a whole number from 1");
    return liana__response_add_classes(text, rows, top, error);
}

static liana_status predict(const liana__web_request *web, const liana__api_path *path, liana__servable *servable,
                            liana__text *text, liana__error *error)
{
    LIANA__SCOPED(liana__request) request = {0};
    liana__response_rows rows;
    LIANA_TRY(read_request(web, path, liana__servable_form(servable), &request, error));
    LIANA_TRY(liana__servable_run(servable, &request, &rows, error));
    const liana_status status = write_answer(web, path->method, request.is_columns, &rows, text, error);
    free((void *)(uintptr_t)rows.values);
    return status;
}

static void answer_prediction(liana__prediction_server *own, const liana__web_request *web, const liana__api_path *path,
                              liana__http_answer *answer)
{
    liana__served *served;
    liana__error error = {0};
    answer->type = "application/json";
    liana_status status = liana__registry_borrow(own->registry, path->model, &path->wish, &served, &error);
    if (status == LIANA_OK) {
        status = predict(web, path, liana__served_servable(served), &answer->body, &error);
        liana__registry_return(own->registry, served);
    }
    if (status != LIANA_OK) fail(answer, code_of(status), error.message);
}

/* ---- what is told ---- */

static void write_value(const liana__value *value, bool has_memory, liana__http_answer *answer)
{
    answer->type = "application/json";
    if (has_memory) liana__value_write_json(value, 1, &answer->body);
    if (!has_memory) fail(answer, 503, "the server has no memory for it now");
}

static void answer_status(liana__prediction_server *own, const liana__api_path *path, liana__http_answer *answer)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__error error = {0};
    liana__value *value;
    const liana_status status = liana__registry_status(own->registry, path->model, &path->wish, &arena, &value, &error);
    if (status != LIANA_OK) {
        fail(answer, code_of(status), error.message);
        return;
    }
    write_value(value, !arena.failed, answer);
}

static void answer_metadata(liana__prediction_server *own, const liana__api_path *path, liana__http_answer *answer)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__error error = {0};
    liana__served *served;
    const liana_status status = liana__registry_borrow(own->registry, path->model, &path->wish, &served, &error);
    if (status != LIANA_OK) {
        fail(answer, code_of(status), error.message);
        return;
    }
    liana__value *value =
        liana__metadata_value(path->model, liana__served_number(served), liana__served_servable(served), &arena);
    write_value(value, !arena.failed, answer);
    liana__registry_return(own->registry, served);
}

static void answer_list(liana__prediction_server *own, liana__http_answer *answer)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *map = liana__value_map(&arena);
    liana__value_set(&arena, map, "models", liana__registry_list(own->registry, &arena));
    write_value(map, !arena.failed, answer);
}

static void answer_metrics(liana__prediction_server *own, liana__http_answer *answer)
{
    liana__serve_gauges gauges = {.start = own->start, .bytes = atomic_load(&own->budget.used)};
    gauges.lost_log_lines = liana__access_log_lost(own->options.log);
    liana__http_server *http = atomic_load(&own->http);
    if (http) liana__http_server_count(http, &gauges.connections, &gauges.cut_connections);
    answer->type = "text/plain; version=0.0.4; charset=utf-8";
    liana__registry_add_metrics(own->registry, &gauges, &answer->body);
}

static void answer_health(liana__http_answer *answer, bool is_well, const char *otherwise)
{
    answer->status = is_well ? 200 : 503;
    liana__text_add(&answer->body, "%s\n", is_well ? "ok" : otherwise);
}

/* ---- addresses ---- */

static bool is_metrics(const char *path)
{
    return strcmp(path, "metrics") == 0 || strcmp(path, "monitoring/prometheus/metrics") == 0;
}

static bool is_public(const char *path)
{
    return !*path || strcmp(path, "healthz") == 0 || strcmp(path, "readyz") == 0;
}

/* Addresses of the server itself. False: it is none. */
static bool answer_own(liana__prediction_server *own, const char *path, liana__http_answer *answer)
{
    if (!*path) {
        answer->type = "text/html; charset=utf-8";
        liana__serve_page_text(&answer->body, own->options.http.token != NULL);
    } else if (strcmp(path, "healthz") == 0) {
        answer_health(answer, true, "");
    } else if (strcmp(path, "readyz") == 0) {
        const bool drains = atomic_load(&own->drains);
        answer_health(answer, !drains && liana__registry_is_ready(own->registry),
                      drains ? "the server ends" : "a model is not loaded");
    } else if (is_metrics(path)) {
        answer_metrics(own, answer);
    } else {
        return false;
    }
    return true;
}

static void answer_any(void *user, const liana__web_request *request, liana__http_answer *answer)
{
    liana__prediction_server *own = user;
    liana__api_path path;
    char message[400];
    const bool is_api = liana__api_path_read(request->path, &path);
    const bool predicts = path.method < LIANA__SERVE_STATUS;
    if (!request->is_post && answer_own(own, request->path, answer)) return;
    if (is_api && request->is_post && predicts) {
        answer_prediction(own, request, &path, answer);
    } else if (is_api && !request->is_post && path.is_list) {
        answer_list(own, answer);
    } else if (is_api && !request->is_post && path.is_metadata) {
        answer_metadata(own, &path, answer);
    } else if (is_api && !request->is_post && !predicts) {
        answer_status(own, &path, answer);
    } else {
        const bool is_known = is_api || strncasecmp(request->path, "v1/", 3) == 0;
        snprintf(message, sizeof message, "%s: %.16s /%.256s",
                 is_known ? "Malformed request" : "There is no such address", request->method, request->path);
        fail(answer, is_known ? 400 : 404, message);
    }
}

static void note_answer(void *user, const liana__web_request *request, unsigned status, size_t bytes, double seconds)
{
    liana__prediction_server *own = user;
    liana__api_path path;
    liana__model_metrics *metrics = liana__registry_other_metrics(own->registry);
    liana__api_path_read(request->path, &path);
    if (!path.is_list && path.method != LIANA__SERVE_OTHER) {
        liana__model_metrics *found = liana__registry_model_metrics(own->registry, path.model);
        if (found) metrics = found;
    }
    liana__count_answer(metrics, path.method, status, seconds);
    if (!own->options.log) return;
    char client[64];
    const liana__access_entry entry = {.client = liana__web_client(request, client),
                                       .method = request->method,
                                       .path = request->path,
                                       .status = status,
                                       .bytes = bytes,
                                       .seconds = seconds};
    liana__access_log_add_request(own->options.log, &entry, own->options.json);
}

/* ---- opening ---- */

static liana_status start(liana__prediction_server *own, liana__error *error)
{
    liana__http_options http = own->options.http;
    own->budget.limit = own->options.max_memory;
    own->options.registry.servable.budget = &own->budget;
    http.answer = answer_any;
    http.on_answer = note_answer;
    http.is_public = is_public;
    http.user = own;
    http.budget = &own->budget;
    LIANA_TRY(liana__registry_open(&own->options.registry, &own->registry, error));
    liana__http_server *opened;
    const liana_status status = liana__http_server_open(&http, &opened, error);
    atomic_store(&own->http, opened);
    return status;
}

liana_status liana__prediction_server_open(const liana__prediction_options *options, liana__prediction_server **server,
                                           liana__error *error)
{
    struct timespec now;
    liana__prediction_server *own = calloc(1, sizeof *own);
    *server = NULL;
    if (!own) return liana__fail_memory(error, "a server");
    own->options = *options;
    clock_gettime(CLOCK_REALTIME, &now);
    own->start = (double)now.tv_sec;
    const liana_status status = start(own, error);
    if (status == LIANA_OK) *server = own;
    if (status != LIANA_OK) liana__prediction_server_close(own);
    return status;
}

const char *liana__prediction_server_url(const liana__prediction_server *server)
{
    return liana__http_server_url(server->http);
}

int liana__prediction_server_port(const liana__prediction_server *server)
{
    return liana__http_server_port(server->http);
}

void liana__prediction_server_poll(liana__prediction_server *server, bool all)
{
    liana__registry_poll(server->registry, all);
}

void liana__prediction_server_drain(liana__prediction_server *own, double seconds)
{
    atomic_store(&own->drains, true);
    liana__http_server_drain(own->http, seconds);
}

void liana__prediction_server_close(liana__prediction_server *own)
{
    if (!own) return;
    liana__http_server_close(own->http);
    liana__registry_close(own->registry);
    free(own);
}
