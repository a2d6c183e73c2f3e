/* The live page. */
#include "serve/live_server.h"

#include "base/scoped.h"
#include "formats/json.h"
#include "report/page/run_page.h"
#include "serve/http_server.h"
#include "serve/live_runs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A browser takes a quiet connection for a dead one after some time. */
enum { GATHER_MILLISECONDS = 500, QUIET_SECONDS = 15, LAST_SECONDS = 2 };

struct liana__live_server {
    liana__http_server *http;
    liana__live_runs runs;
    const char **folders; /* [runs.count] */
    size_t worker;
    bool is_own, has_address; /* the address is left in the run folder, once there is one */
    pthread_t gatherer;
    bool has_gatherer;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool rests, closes; /* the gatherer's end, and then that of readers */
    size_t num_readers;
    /* What readers get; under the lock. */
    char *page_data, *step; /* JSON; `step` is what has changed since the version before */
    uint64_t page_version, version;
    /* The gatherer's own. */
    liana__live_place *places; /* [runs.count] */
    liana__live_point points[LIANA__LIVE_MOST_POINTS];
};

/* ---- messages ---- */

/* What runs do, and their points from `places` on. NULL: there is no memory. */
static char *make_now(liana__live_server *own, liana__live_place *places, liana__live_point *points)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__text) text = {0};
    liana__value *map = liana__value_map(&arena), *list = liana__value_list(&arena);
    for (size_t i = 0; i < own->runs.count; i++) {
        bool anew;
        const liana__live_now now = liana__live_feed_now(own->runs.items[i].feed);
        const size_t count = liana__live_feed_points(own->runs.items[i].feed, &places[i], points, &anew);
        liana__value *run = liana__live_now_value(&now, &arena);
        liana__value_set(&arena, run, "name", liana__value_string(&arena, own->runs.items[i].name));
        liana__value_set(&arena, run, "anew", liana__value_bool(&arena, anew));
        liana__value_set(&arena, run, "points", liana__live_points_value(points, count, now.num_values, &arena));
        liana__value_add(&arena, list, run);
    }
    liana__value_set(&arena, map, "runs", list);
    if (arena.failed) return NULL;
    liana__value_write_json(map, 0, &text);
    return text.failed ? NULL : strdup(text.data);
}

static char *make_page_data(const liana__live_server *own)
{
    LIANA__SCOPED(liana__run_page) page = {0};
    LIANA__SCOPED(liana__text) text = {0};
    liana__error ignored = {0};
    if (liana__run_page_begin(&page, own->folders, own->runs.num_folders, false, &ignored) != LIANA_OK) return NULL;
    liana__run_page_set_live(&page);
    liana__value_write_json(page.data, 0, &text);
    return text.failed ? NULL : strdup(text.data);
}

/* ---- gathering ---- */

/* Whether a message says something else than the one before: its points, or what a run does. */
static bool is_news(const liana__live_server *own, const char *step)
{
    return !own->step || strcmp(own->step, step) != 0;
}

/* Without it the page is there, but 'liana watch' does not find it. */
static void leave_address(liana__live_server *own)
{
    if (!own->is_own || own->has_address || !own->http || !liana__is_run_folder(own->folders[0])) return;
    liana__live_address address = {.port = liana__http_server_port(own->http)};
    memcpy(address.token, liana__http_server_token(own->http), sizeof address.token);
    own->has_address = liana__live_address_write(own->folders[0], own->worker, &address, NULL) == LIANA_OK;
}

static void gather_once(liana__live_server *own, bool looks_at_files)
{
    leave_address(own);
    liana__live_runs_ask(&own->runs);
    char *page_data = looks_at_files && liana__live_runs_changed(&own->runs) ? make_page_data(own) : NULL;
    char *step = make_now(own, own->places, own->points);
    pthread_mutex_lock(&own->lock);
    if (page_data) {
        free(own->page_data);
        own->page_data = page_data;
        own->page_version++;
    }
    const bool news = step && is_news(own, step);
    if (news) {
        free(own->step);
        own->step = step;
        own->version++;
    }
    if (page_data || news) pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->lock);
    if (!news) free(step);
}

static struct timespec after(double seconds)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    const int64_t nanoseconds = at.tv_nsec + (int64_t)(seconds * 1e9);
    return (struct timespec){at.tv_sec + (time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
}

/* Waits; false: the server closes. */
static bool rest(liana__live_server *own)
{
    const struct timespec until = after(GATHER_MILLISECONDS / 1e3);
    pthread_mutex_lock(&own->lock);
    while (!own->rests && pthread_cond_timedwait(&own->changed, &own->lock, &until) == 0) continue;
    const bool goes_on = !own->rests;
    pthread_mutex_unlock(&own->lock);
    return goes_on;
}

static void *gather(void *user)
{
    liana__live_server *own = user;
    for (uint64_t turn = 0; rest(own); turn++) gather_once(own, turn % 2 == 0);
    return NULL;
}

/* ---- a reader ---- */

typedef struct reader {
    liana__live_server *server;
    uint64_t version, page_version; /* that it has */
    bool has_begun;
    char *waiting; /* bytes that it is to get, or NULL */
    size_t length, sent;
    liana__live_place *places;
} reader;

static void set_message(reader *own, const char *page, const char *now)
{
    liana__text text = {0};
    if (page) liana__text_add(&text, "event: page\ndata: %s\n\n", page);
    if (now) liana__text_add(&text, "event: now\ndata: %s\n\n", now);
    if (!page && !now) liana__text_add(&text, ": nothing new\n\n");
    own->length = text.failed ? 0 : text.length;
    own->waiting = text.data;
    own->sent = 0;
}

/* All that a reader has missed, or that there is at its begin. Without the lock: feeds have their own. */
static char *make_whole(reader *own)
{
    liana__live_point *points = malloc(LIANA__LIVE_MOST_POINTS * sizeof *points);
    memset(own->places, 0, own->server->runs.count * sizeof *own->places);
    char *whole = points ? make_now(own->server, own->places, points) : NULL;
    free(points);
    return whole;
}

/* Waits for news, for a while. False: the server closes. */
static bool take_news(reader *own)
{
    liana__live_server *server = own->server;
    const struct timespec until = after(QUIET_SECONDS);
    char *page = NULL, *now = NULL;
    pthread_mutex_lock(&server->lock);
    int waited = 0;
    while (!server->closes && own->version == server->version && own->page_version == server->page_version &&
           waited == 0) {
        waited = pthread_cond_timedwait(&server->changed, &server->lock, &until);
    }
    const bool closes = server->closes && own->version == server->version && own->page_version == server->page_version;
    const bool missed = !own->has_begun || server->version > own->version + 1;
    if (own->page_version != server->page_version && server->page_data) page = strdup(server->page_data);
    if (!missed && server->version != own->version) now = strdup(server->step);
    own->version = server->version;
    own->page_version = server->page_version;
    own->has_begun = true;
    pthread_mutex_unlock(&server->lock);
    if (missed) now = make_whole(own);
    if (!closes) set_message(own, page, now);
    free(page);
    free(now);
    return !closes;
}

static ssize_t next_bytes(void *stream, char *buffer, size_t size)
{
    reader *own = stream;
    if (own->sent == own->length) {
        free(own->waiting);
        own->waiting = NULL;
        own->length = own->sent = 0;
        if (!take_news(own)) return -1;
    }
    const size_t left = own->length - own->sent, count = left < size ? left : size;
    if (!count) return -1; /* there was no memory */
    memcpy(buffer, own->waiting + own->sent, count);
    own->sent += count;
    return (ssize_t)count;
}

static void end_reader(void *stream)
{
    reader *own = stream;
    liana__live_server *server = own->server;
    free(own->waiting);
    free(own->places);
    free(own);
    pthread_mutex_lock(&server->lock);
    server->num_readers--;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static void answer_events(liana__live_server *server, liana__http_answer *answer)
{
    reader *own = calloc(1, sizeof *own);
    if (own) own->places = calloc(server->runs.count + 1, sizeof *own->places);
    if (!own || !own->places) {
        free(own);
        answer->status = 503;
        return;
    }
    own->server = server;
    pthread_mutex_lock(&server->lock);
    server->num_readers++;
    pthread_mutex_unlock(&server->lock);
    answer->type = "text/event-stream; charset=utf-8";
    answer->next = next_bytes;
    answer->end = end_reader;
    answer->stream = own;
}

/* ---- other answers ---- */

static void answer_page(const liana__live_server *server, liana__http_answer *answer)
{
    LIANA__SCOPED(liana__run_page) page = {0};
    liana__error error = {0};
    answer->type = "text/html; charset=utf-8";
    if (server->is_own && !liana__is_run_folder(server->folders[0])) {
        liana__text_add(&answer->body,
                        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" "
                        "content=\"1\"><title>liana</title></head><body><p>The training begins.</p></body></html>\n");
        return;
    }
    if (liana__run_page_begin(&page, server->folders, server->runs.num_folders, false, &error) != LIANA_OK) {
        answer->type = "text/plain; charset=utf-8";
        answer->status = 500;
        liana__text_add(&answer->body, "%s\n", error.message);
        return;
    }
    liana__run_page_set_live(&page);
    liana__run_page_text(&page, &answer->body);
}

/* A whole number of the query; `otherwise` if it is none. */
static uint64_t number_of(const liana__web_request *request, const char *name, uint64_t otherwise)
{
    char *end;
    const char *text = liana__web_query(request, name);
    if (!text || *text < '0' || *text > '9') return otherwise;
    const unsigned long long number = strtoull(text, &end, 10);
    return *end ? otherwise : number;
}

static void answer_now(liana__live_server *server, const liana__web_request *request, liana__http_answer *answer)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__live_place place = {number_of(request, "generation", 0), (size_t)number_of(request, "next", 0)};
    liana__live_feed *feed = server->runs.items[0].feed;
    liana__live_point *points = liana__arena_allocate(&arena, LIANA__LIVE_MOST_POINTS * sizeof *points);
    bool anew;
    const liana__live_now now = liana__live_feed_now(feed);
    const size_t count = points ? liana__live_feed_points(feed, &place, points, &anew) : 0;
    liana__value *map = liana__live_now_value(&now, &arena);
    liana__value_set(&arena, map, "generation", liana__value_int(&arena, (int64_t)place.generation));
    liana__value_set(&arena, map, "next", liana__value_int(&arena, (int64_t)place.next));
    liana__value_set(&arena, map, "anew", liana__value_bool(&arena, points && anew));
    liana__value_set(&arena, map, "points", liana__live_points_value(points, count, now.num_values, &arena));
    answer->type = "application/json";
    if (arena.failed) answer->status = 503;
    if (!arena.failed) liana__value_write_json(map, 0, &answer->body);
}

static void answer_control(liana__live_server *server, const liana__web_request *request, liana__http_answer *answer)
{
    const char *action = liana__web_query(request, "action");
    const uint64_t run = number_of(request, "run", UINT64_MAX);
    int wanted = 0;
    while (action && liana__live_actions[wanted] && strcmp(action, liana__live_actions[wanted]) != 0) wanted++;
    if (!request->is_post) {
        answer->status = 405;
        liana__text_add(&answer->body, "POST it.\n");
    } else if (!action || !liana__live_actions[wanted] || run >= server->runs.count) {
        answer->status = 400;
        liana__text_add(&answer->body, "Expected run=0 and action=pause, continue, checkpoint or stop.\n");
    } else if (!liana__live_run_act(&server->runs.items[run], (liana__live_action)wanted)) {
        answer->status = 409;
        liana__text_add(&answer->body, "No process that trains this run takes it: it has ended, or was started without "
                                       "--live.\n");
    } else {
        liana__text_add(&answer->body, "It is done after the running update.\n");
    }
}

static void answer_any(void *user, const liana__web_request *request, liana__http_answer *answer)
{
    liana__live_server *server = user;
    if (strcmp(request->path, "control") == 0) {
        answer_control(server, request, answer);
    } else if (request->is_post) {
        answer->status = 405;
    } else if (!*request->path) {
        answer_page(server, answer);
    } else if (strcmp(request->path, "events") == 0) {
        answer_events(server, answer);
    } else if (strcmp(request->path, "now") == 0 && server->is_own) {
        answer_now(server, request, answer);
    } else {
        answer->status = 404;
        liana__text_add(&answer->body, "There is no such page.\n");
    }
}

/* ---- opening and closing ---- */

static liana_status start(liana__live_server *own, const liana__live_options *options, liana__error *error)
{
    const liana__http_options http = {
        .port = options->port, .what = options->what, .answer = answer_any, .user = own, .token_in_path = true};
    own->folders = malloc((options->count + 1) * sizeof *own->folders);
    if (!own->folders) return liana__fail_memory(error, "a live page");
    memcpy(own->folders, options->folders, options->count * sizeof *own->folders);
    LIANA_TRY(liana__live_runs_open(&own->runs, options->folders, options->count, options->feed, error));
    own->places = calloc(own->runs.count + 1, sizeof *own->places);
    if (!own->places) return liana__fail_memory(error, "a live page");
    gather_once(own, true);
    LIANA_TRY(liana__http_server_open(&http, &own->http, error));
    if (pthread_create(&own->gatherer, NULL, gather, own) != 0) {
        return liana__fail(error, LIANA_IO_ERROR, "the system gives no thread for a live page");
    }
    own->has_gatherer = true;
    return LIANA_OK;
}

liana_status liana__live_server_open(const liana__live_options *options, liana__live_server **server,
                                     liana__error *error)
{
    liana__live_server *own = calloc(1, sizeof *own);
    *server = NULL;
    if (!own) return liana__fail_memory(error, "a live page");
    own->is_own = options->feed != NULL;
    own->worker = options->worker;
    pthread_mutex_init(&own->lock, NULL);
    pthread_cond_init(&own->changed, NULL);
    const liana_status status = start(own, options, error);
    if (status == LIANA_OK) *server = own;
    if (status != LIANA_OK) liana__live_server_close(own);
    return status;
}

const char *liana__live_server_url(const liana__live_server *server)
{
    return liana__http_server_url(server->http);
}

static void set_end(liana__live_server *own, bool *end)
{
    pthread_mutex_lock(&own->lock);
    *end = true;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->lock);
}

/* Streams end with their last bytes; one that takes none is cut. */
static void wait_for_readers(liana__live_server *own)
{
    const struct timespec until = after(LAST_SECONDS);
    int waited = 0;
    pthread_mutex_lock(&own->lock);
    while (own->num_readers && waited == 0) waited = pthread_cond_timedwait(&own->changed, &own->lock, &until);
    pthread_mutex_unlock(&own->lock);
}

void liana__live_server_close(liana__live_server *own)
{
    if (!own) return;
    set_end(own, &own->rests);
    if (own->has_gatherer) pthread_join(own->gatherer, NULL);
    if (own->has_gatherer) gather_once(own, true);
    if (own->has_address) liana__live_address_remove(own->folders[0], own->worker);
    set_end(own, &own->closes);
    wait_for_readers(own);
    liana__http_server_close(own->http);
    liana__live_runs_close(&own->runs);
    pthread_cond_destroy(&own->changed);
    pthread_mutex_destroy(&own->lock);
    free(own->page_data);
    free(own->step);
    free(own->places);
    free(own->folders);
    free(own);
}
