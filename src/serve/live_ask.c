/* Asks the live server of another process. */
#include "serve/live_ask.h"

#include "base/file.h"
#include "base/scoped.h"
#include "base/text.h"
#include "base/value_read.h"
#include "formats/json.h"
#include "report/page/page.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { TOKEN_DIGITS = 32, MOST_ANSWER = 4 << 20, MOST_FILE = 1 << 12 };

/* ---- the address ---- */

static void file_of(const char *folder, size_t worker, char *path, size_t size)
{
    if (worker) snprintf(path, size, "%s/live-%zu.json", folder, worker);
    if (!worker) snprintf(path, size, "%s/live.json", folder);
}

liana_status liana__live_address_write(const char *folder, size_t worker, const liana__live_address *address,
                                       liana__error *error)
{
    char path[4096], text[128];
    file_of(folder, worker, path, sizeof path);
    const int length = snprintf(text, sizeof text, "{\"port\": %d, \"token\": \"%s\", \"process\": %ld}\n",
                                address->port, address->token, (long)getpid());
    liana__live_address_remove(folder, worker);
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    const bool written = descriptor >= 0 && write(descriptor, text, (size_t)length) == length;
    const int reason = errno;
    if (descriptor >= 0) close(descriptor);
    return written ? LIANA_OK : liana__fail(error, LIANA_IO_ERROR, "cannot write '%s': %s", path, strerror(reason));
}

void liana__live_address_remove(const char *folder, size_t worker)
{
    char path[4096];
    file_of(folder, worker, path, sizeof path);
    unlink(path);
}

liana__live_address liana__live_address_read(const char *folder, size_t worker)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__live_address address = {0};
    liana__value *map = NULL;
    char path[4096], *text = NULL;
    size_t size;
    file_of(folder, worker, path, sizeof path);
    if (!liana__file_exists(path) || liana__file_read(path, MOST_FILE, &text, &size, NULL) != LIANA_OK) return address;
    const bool is_json = liana__json_parse(text, size, path, &arena, &map, NULL) == LIANA_OK;
    const int64_t port = is_json ? liana__value_int_of(map, "port", 0) : 0;
    const char *token = is_json ? liana__value_text_of(map, "token", "") : "";
    const bool has_token = strlen(token) == TOKEN_DIGITS && strspn(token, "0123456789abcdef") == TOKEN_DIGITS;
    if (has_token && port >= 1 && port <= 65535) {
        address.port = (int)port;
        memcpy(address.token, token, sizeof address.token);
    }
    free(text);
    return address;
}

/* ---- asking ---- */

static int connect_to(const liana__live_address *address)
{
    const struct timeval second = {.tv_sec = 1};
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)address->port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
    if (connect(descriptor, (const struct sockaddr *)&to, sizeof to) == 0) return descriptor;
    close(descriptor);
    return -1;
}

/* The whole answer, until the server closes. */
static bool read_answer(int descriptor, liana__text *answer)
{
    char buffer[16384];
    for (;;) {
        const ssize_t count = recv(descriptor, buffer, sizeof buffer, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count == 0) return !answer->failed;
        if (count < 0 || answer->length > MOST_ANSWER) return false;
        liana__text_add_bytes(answer, buffer, (size_t)count);
    }
}

/* HTTP 1.0, so that the answer is neither in pieces nor followed by others. *body is in `answer`. */
static bool ask(const liana__live_address *address, const char *method, const char *what, liana__text *answer,
                const char **body)
{
    char request[512];
    const int length =
        snprintf(request, sizeof request, "%s /%s/%s HTTP/1.0\r\nHost: 127.0.0.1:%d\r\nContent-Length: 0\r\n\r\n",
                 method, address->token, what, address->port);
    const int descriptor = address->port ? connect_to(address) : -1;
    if (descriptor < 0) return false;
    const bool sent = send(descriptor, request, (size_t)length, MSG_NOSIGNAL) == length;
    const bool read = sent && read_answer(descriptor, answer);
    close(descriptor);
    const char *head = read && answer->data ? strstr(answer->data, "\r\n\r\n") : NULL;
    *body = head ? head + 4 : NULL;
    return head && strncmp(answer->data, "HTTP/1.", 7) == 0 && strncmp(answer->data + 8, " 200", 4) == 0;
}

bool liana__live_ask_to(const liana__live_address *address, liana__live_action action)
{
    LIANA__SCOPED(liana__text) answer = {0};
    const char *body;
    char what[64];
    snprintf(what, sizeof what, "control?run=0&action=%s", liana__live_actions[action]);
    return ask(address, "POST", what, &answer, &body);
}

/* ---- as values ---- */

liana__value *liana__live_now_value(const liana__live_now *now, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *names = liana__value_list(arena), *last = liana__value_list(arena);
    liana__value_set(arena, map, "state", liana__value_string(arena, liana__live_states[now->state]));
    liana__value_set(arena, map, "epoch", liana__value_int(arena, now->epoch));
    liana__value_set(arena, map, "epochs", liana__value_int(arena, now->epochs));
    liana__value_set(arena, map, "step", liana__value_int(arena, now->step));
    liana__value_set(arena, map, "steps", liana__value_int(arena, now->steps));
    liana__value_set(arena, map, "global_step", liana__value_int(arena, now->global_step));
    liana__value_set(arena, map, "examples_per_second", liana__page_number(arena, now->examples_per_second));
    liana__value_set(arena, map, "input_wait", liana__page_number(arena, now->input_wait));
    for (size_t i = 0; i < now->num_values; i++) {
        liana__value_add(arena, names, liana__value_string(arena, now->names[i]));
        liana__value_add(arena, last, liana__page_number(arena, now->last[i]));
    }
    liana__value_set(arena, map, "names", names);
    liana__value_set(arena, map, "last", last);
    return map;
}

liana__value *liana__live_points_value(const liana__live_point *points, size_t count, size_t num_values,
                                       liana__arena *arena)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < count; i++) {
        liana__value *point = liana__value_list(arena);
        liana__value_add(arena, point, liana__value_int(arena, (int64_t)points[i].step));
        for (size_t k = 0; k < num_values; k++)
            liana__value_add(arena, point, liana__page_number(arena, points[i].values[k]));
        liana__value_add(arena, list, point);
    }
    return list;
}

/* ---- values as they come ---- */

static int64_t whole_of(const liana__value *map, const char *key)
{
    const int64_t number = liana__value_int_of(map, key, 0);
    return number > 0 ? number : 0;
}

/* NaN: no number. */
static double number_of(const liana__value *value)
{
    if (!value || !liana__value_is_number(value)) return (double)NAN;
    return value->kind == LIANA__VALUE_INT ? (double)value->integer : value->number;
}

static void read_now(const liana__value *map, liana__live_now *now)
{
    const char *state = liana__value_text_of(map, "state", "");
    const liana__value *names = liana__value_list_of(map, "names"), *last = liana__value_list_of(map, "last");
    *now = (liana__live_now){.epoch = whole_of(map, "epoch"),
                             .epochs = whole_of(map, "epochs"),
                             .step = whole_of(map, "step"),
                             .steps = whole_of(map, "steps"),
                             .global_step = whole_of(map, "global_step"),
                             .examples_per_second = liana__value_number_of(map, "examples_per_second", NAN),
                             .input_wait = liana__value_number_of(map, "input_wait", NAN)};
    for (int i = 0; liana__live_states[i]; i++) {
        if (strcmp(state, liana__live_states[i]) == 0) now->state = (liana__live_state)i;
    }
    for (size_t i = 0; names && last && i < names->count && i < last->count && i < LIANA__LIVE_MOST_VALUES; i++) {
        const liana__value *name = names->items[i];
        snprintf(now->names[i], LIANA__LIVE_NAME_BYTES, "%s", name->kind == LIANA__VALUE_STRING ? name->string : "");
        now->last[i] = number_of(last->items[i]);
        now->num_values++;
    }
}

static size_t read_points(const liana__value *map, liana__live_point *points)
{
    const liana__value *list = liana__value_list_of(map, "points");
    size_t count = 0;
    for (size_t i = 0; list && i < list->count && count < LIANA__LIVE_MOST_POINTS; i++) {
        const liana__value *point = list->items[i];
        if (point->kind != LIANA__VALUE_LIST || !point->count || !liana__value_is_number(point->items[0])) continue;
        liana__live_point *own = &points[count++];
        own->step = number_of(point->items[0]);
        for (size_t k = 0; k < LIANA__LIVE_MOST_VALUES; k++) {
            own->values[k] = number_of(k + 1 < point->count ? point->items[k + 1] : NULL);
        }
    }
    return count;
}

bool liana__live_ask_now(const liana__live_address *address, liana__live_place *place, liana__live_feed *feed)
{
    LIANA__SCOPED(liana__text) answer = {0};
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *map = NULL;
    liana__live_now now;
    const char *body;
    char what[96];
    snprintf(what, sizeof what, "now?generation=%llu&next=%zu", (unsigned long long)place->generation, place->next);
    if (!ask(address, "GET", what, &answer, &body)) return false;
    if (liana__json_parse(body, strlen(body), "now", &arena, &map, NULL) != LIANA_OK) return false;
    liana__live_point *points = liana__arena_allocate(&arena, LIANA__LIVE_MOST_POINTS * sizeof *points);
    if (!points || map->kind != LIANA__VALUE_MAP) return false;
    read_now(map, &now);
    const size_t count = read_points(map, points);
    place->generation = (uint64_t)whole_of(map, "generation");
    place->next = (size_t)whole_of(map, "next");
    liana__live_feed_set(feed, &now, points, count, liana__value_true_of(map, "anew"));
    return true;
}
