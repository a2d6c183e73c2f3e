/* The live page's server, by plain sockets: who may ask and who may not, values that come, readers that are slow or go
 * away, and actions that reach the training, here and from another process's page. */
#include "harness/command_run.h"
#include "harness/wait_until.h"

#include "serve/live_ask.h"
#include "serve/live_server.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static char run_folder[256];
static liana__error error;

/* A run of two epochs. */
static void set_up(void)
{
    liana__test_folder();
    const char *config = liana__test_tiny_run(96);
    snprintf(run_folder, sizeof run_folder, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config, "--out", run_folder, "train.epochs=2"), 0);
}

typedef struct trial {
    liana__live_feed *feed;
    liana__live_server *server;
    int port;
    char token[33];
} trial;

static liana_status open_worker(trial *own, int port, bool is_own, size_t worker)
{
    static const char *folders[1];
    folders[0] = run_folder;
    *own = (trial){.feed = is_own ? liana__live_feed_create(0.001) : NULL};
    const liana__live_options options = {port, "--live", folders, 1, own->feed, worker};
    const liana_status status = liana__live_server_open(&options, &own->server, &error);
    if (status != LIANA_OK) return status;
    assert_int_equal(sscanf(liana__live_server_url(own->server), "http://127.0.0.1:%d/%32s", &own->port, own->token),
                     2);
    return status;
}

static liana_status open_at(trial *own, int port, bool is_own)
{
    return open_worker(own, port, is_own, 0);
}

static void close_trial(trial *own)
{
    liana__live_server_close(own->server);
    liana__live_feed_destroy(own->feed);
}

/* ---- requests ---- */

static int connect_to(int port)
{
    const struct timeval most = {.tv_sec = 20};
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    assert_int_equal(connect(descriptor, (const struct sockaddr *)&to, sizeof to), 0);
    return descriptor;
}

/* Sends a request, and reads until `wanted` has come, or all. Returns the connection. */
static int ask(const trial *own, const char *request, const char *wanted, char *answer, size_t size)
{
    const int descriptor = connect_to(own->port);
    size_t length = 0;
    assert_int_equal(send(descriptor, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    answer[0] = 0;
    while (length + 1 < size && !(wanted && strstr(answer, wanted))) {
        const ssize_t count = recv(descriptor, answer + length, size - 1 - length, 0);
        if (count <= 0) break;
        length += (size_t)count;
        answer[length] = 0;
    }
    return descriptor;
}

static int status_of(const trial *own, const char *method, const char *path, const char *headers)
{
    static char answer[1 << 20];
    char request[1024];
    snprintf(request, sizeof request, "%s %s HTTP/1.0\r\n%sContent-Length: 0\r\n\r\n", method, path, headers);
    close(ask(own, request, NULL, answer, sizeof answer));
    int status = 0;
    assert_int_equal(sscanf(answer, "HTTP/1.%*d %d", &status), 1);
    return status;
}

static const char *at(const trial *own, const char *path)
{
    static char full[128];
    snprintf(full, sizeof full, "/%s/%s", own->token, path);
    return full;
}

static void test_who_may_ask(void **state)
{
    (void)state;
    trial own;
    char host[64], origin[128], wrong[64];
    assert_ok(open_at(&own, 0, true), &error);
    snprintf(host, sizeof host, "Host: 127.0.0.1:%d\r\n", own.port);
    snprintf(origin, sizeof origin, "%sOrigin: http://localhost:%d\r\n", host, own.port);
    assert_int_equal(status_of(&own, "GET", at(&own, ""), host), 200);
    assert_int_equal(status_of(&own, "GET", at(&own, "now"), origin), 200);
    assert_int_equal(status_of(&own, "GET", at(&own, "other"), host), 404);
    assert_int_equal(status_of(&own, "GET", at(&own, "../"), host), 404);
    assert_int_equal(status_of(&own, "PUT", at(&own, ""), host), 405);
    assert_int_equal(status_of(&own, "POST", at(&own, ""), host), 405);
    assert_int_equal(status_of(&own, "GET", at(&own, "control?run=0&action=pause"), host), 405);
    /* Without the token, or with another one. */
    assert_int_equal(status_of(&own, "GET", "/", host), 403);
    assert_int_equal(status_of(&own, "GET", "/now", host), 403);
    snprintf(wrong, sizeof wrong, "/%.31s%c/", own.token, own.token[31] == '0' ? '1' : '0');
    assert_int_equal(status_of(&own, "GET", wrong, host), 403);
    snprintf(wrong, sizeof wrong, "/%.31s/", own.token);
    assert_int_equal(status_of(&own, "GET", wrong, host), 403);
    /* From elsewhere: a name that leads here, and a page of another server. */
    assert_int_equal(status_of(&own, "GET", at(&own, ""), "Host: evil.example\r\n"), 403);
    assert_int_equal(status_of(&own, "GET", at(&own, ""), ""), 403);
    snprintf(origin, sizeof origin, "%sOrigin: http://evil.example\r\n", host);
    assert_int_equal(status_of(&own, "POST", at(&own, "control?run=0&action=stop"), origin), 403);
    snprintf(origin, sizeof origin, "%sOrigin: null\r\n", host);
    assert_int_equal(status_of(&own, "GET", at(&own, "now"), origin), 403);
    assert_false(liana__live_feed_stops(own.feed));
    close_trial(&own);
}

static void test_the_page(void **state)
{
    (void)state;
    static char answer[1 << 20];
    trial own;
    char request[512];
    assert_ok(open_at(&own, 0, true), &error);
    snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: 127.0.0.1:%d\r\n\r\n", at(&own, ""), own.port);
    close(ask(&own, request, NULL, answer, sizeof answer));
    assert_says(answer, "text/html; charset=utf-8");
    assert_says(answer, "no-store");
    assert_says(answer, "no-referrer");
    assert_says(answer, "connect-src 'self'");
    assert_says(answer, "\"live\": {\"events\": \"events\", \"control\": \"control\"}");
    assert_says(answer, "val_accuracy");
    assert_never_says(answer, own.token);
    close_trial(&own);
}

/* ---- actions ---- */

static bool caught(void)
{
    return false;
}

static void test_actions(void **state)
{
    (void)state;
    trial own, other;
    char host[64];
    struct stat facts;
    assert_ok(open_at(&own, 0, true), &error);
    snprintf(host, sizeof host, "Host: 127.0.0.1:%d\r\n", own.port);
    static const char *const bad[] = {"control",
                                      "control?run=0",
                                      "control?run=0&action=jump",
                                      "control?run=1&action=stop",
                                      "control?run=-1&action=stop",
                                      "control?run=x&action=stop",
                                      "control?action=stop"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(status_of(&own, "POST", at(&own, bad[i]), host), 400);
    }
    assert_false(liana__live_feed_stops(own.feed));
    assert_int_equal(status_of(&own, "POST", at(&own, "control?run=0&action=checkpoint"), host), 200);
    assert_true(liana__live_feed_saves(own.feed));
    /* live.json is for its owner alone; another page finds the training by it. */
    char path[512];
    snprintf(path, sizeof path, "%s/live.json", run_folder);
    wait_until(stat(path, &facts) == 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_ok(open_at(&other, 0, false), &error);
    snprintf(host, sizeof host, "Host: 127.0.0.1:%d\r\n", other.port);
    assert_int_equal(status_of(&other, "POST", at(&other, "control?run=0&action=stop"), host), 200);
    wait_until(liana__live_feed_stops(own.feed));
    assert_near(liana__live_feed_wait(own.feed, caught), 0, 0, 0);
    close_trial(&own);
    assert_int_equal(stat(path, &facts), -1);
    /* Its process is gone. */
    assert_int_equal(status_of(&other, "POST", at(&other, "control?run=0&action=pause"), host), 409);
    close_trial(&other);
}

/* ---- values as they come ---- */

static void feed_point(const trial *own, double step, double loss)
{
    liana__live_now now = {.state = LIANA__LIVE_TRAINING, .epoch = 1, .global_step = (int64_t)step, .num_values = 1};
    strcpy(now.names[0], "loss");
    now.last[0] = loss;
    now.examples_per_second = now.input_wait = (double)NAN;
    const liana__live_point point = {step, {loss}};
    liana__live_feed_set(own->feed, &now, &point, 1, false);
}

static int begin_events(const trial *own, const char *wanted, char *answer, size_t size)
{
    char request[512];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", at(own, "events"), own->port);
    return ask(own, request, wanted, answer, size);
}

/* What is read of a stream until a text has come. */
static void read_until(int descriptor, const char *wanted, char *answer, size_t size)
{
    size_t length = 0;
    answer[0] = 0;
    while (!strstr(answer, wanted) && length + 1 < size) {
        const ssize_t count = recv(descriptor, answer + length, size - 1 - length, 0);
        assert_compare(count, >, 0);
        length += (size_t)count;
        answer[length] = 0;
    }
}

static void test_events(void **state)
{
    (void)state;
    static char answer[1 << 20];
    trial own, other;
    assert_ok(open_at(&own, 0, true), &error);
    feed_point(&own, 1, 0.5);
    const int stream = begin_events(&own, "[[1, 0.5]]", answer, sizeof answer);
    assert_says(answer, "text/event-stream");
    assert_says(answer, "event: page\ndata: {");
    assert_says(answer, "event: now\ndata: {\"runs\": [{");
    assert_says(answer, "\"anew\": true");
    /* The server has told the first point by now. */
    read_until(stream, "[[1, 0.5]]", answer, sizeof answer);
    feed_point(&own, 2, (double)NAN);
    read_until(stream, "[[2, null]]", answer, sizeof answer);
    assert_says(answer, "\"anew\": false");
    assert_never_says(answer, "event: page");
    /* Through another process's page. */
    assert_ok(open_at(&other, 0, false), &error);
    const int mirrored = begin_events(&other, "[[1, 0.5], [2, null]]", answer, sizeof answer);
    feed_point(&own, 3, 0.25);
    read_until(mirrored, "[3, 0.25]", answer, sizeof answer);
    liana__live_feed_end(own.feed);
    read_until(stream, "\"state\": \"ended\"", answer, sizeof answer);
    close_trial(&own);
    read_until(mirrored, "\"state\": \"ended\"", answer, sizeof answer);
    close(stream);
    close(mirrored);
    close_trial(&other);
}

/* The processes of a cluster side by side: each has its own values and takes its own actions. */
static void test_workers(void **state)
{
    (void)state;
    static char answer[1 << 20];
    trial chief, worker, other;
    struct stat facts;
    char path[512], host[64];
    assert_ok(open_worker(&chief, 0, true, 0), &error);
    assert_ok(open_worker(&worker, 0, true, 2), &error);
    snprintf(path, sizeof path, "%s/live.json", run_folder);
    wait_until(stat(path, &facts) == 0);
    snprintf(path, sizeof path, "%s/live-2.json", run_folder);
    wait_until(stat(path, &facts) == 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    feed_point(&chief, 1, 0.5);
    feed_point(&worker, 1, 0.75);
    assert_ok(open_at(&other, 0, false), &error);
    /* In this order, in one message or in two. */
    const int stream = begin_events(&other, "[[1, 0.75]]", answer, sizeof answer);
    assert_says(answer, "\"name\": \"run, worker 2\"");
    snprintf(host, sizeof host, "Host: 127.0.0.1:%d\r\n", other.port);
    assert_int_equal(status_of(&other, "POST", at(&other, "control?run=1&action=checkpoint"), host), 200);
    wait_until(liana__live_feed_saves(worker.feed));
    assert_false(liana__live_feed_saves(chief.feed));
    assert_int_equal(status_of(&other, "POST", at(&other, "control?run=2&action=stop"), host), 400);
    close(stream);
    close_trial(&other);
    close_trial(&worker);
    assert_int_equal(stat(path, &facts), -1);
    close_trial(&chief);
}

/* One that reads nothing, and one that goes away: the feed takes values as fast as ever, and closing does not hang. */
static void test_slow_and_vanishing_readers(void **state)
{
    (void)state;
    static char answer[1 << 20];
    trial own;
    assert_ok(open_at(&own, 0, true), &error);
    char request[512];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", at(&own, "events"), own.port);
    const int slow = connect_to(own.port);
    assert_int_equal(send(slow, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    const int gone = begin_events(&own, "event: now", answer, sizeof answer);
    close(gone);
    struct timeval before, after;
    gettimeofday(&before, NULL);
    for (int step = 1; step <= 20000; step++) feed_point(&own, step, 1);
    const int reader = begin_events(&own, "\"global_step\": 20000", answer, sizeof answer);
    close_trial(&own);
    gettimeofday(&after, NULL);
    assert_compare(after.tv_sec - before.tv_sec, <, 30);
    close(slow);
    close(reader);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    trial own, second;
    char expected[64];
    static const char *nowhere[1];
    assert_ok(open_at(&own, 0, true), &error);
    snprintf(expected, sizeof expected, "port %d of 127.0.0.1 is in use", own.port);
    assert_fails(open_at(&second, own.port, true), LIANA_IO_ERROR, &error, expected, "--live=PORT");
    liana__live_feed_destroy(second.feed);
    nowhere[0] = liana__test_path("nowhere");
    const liana__live_options options = {0, "--port", nowhere, 1, NULL, 0};
    liana__live_server *server;
    assert_fails(liana__live_server_open(&options, &server, &error), LIANA_INVALID_CONFIG, &error, "nowhere");
    assert_null(server);
    close_trial(&own);
}

static int prepare(void **state)
{
    (void)state;
    set_up();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_may_ask),     cmocka_unit_test(test_the_page),
        cmocka_unit_test(test_actions),         cmocka_unit_test(test_events),
        cmocka_unit_test(test_workers),         cmocka_unit_test(test_slow_and_vanishing_readers),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
