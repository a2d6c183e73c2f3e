/* Lines that a thread of its own writes. */
#include "serve/predict/access_log.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/scoped.h"
#include "base/thread_start.h"
#include "base/value.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A line has less than PIPE_BUF bytes: a pipe that poll calls writable takes it as a whole. */
enum { MOST_LINES = 4096, LINE_BYTES = 2048, WAIT_MILLISECONDS = 100, LAST_SECONDS = 1 };

struct liana__access_log {
    int descriptor;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t writer;
    bool closes;
    double end;              /* of the last lines */
    char *lines[MOST_LINES]; /* a ring */
    size_t first, count, num_lost;
};

static bool goes_on(liana__access_log *own)
{
    pthread_mutex_lock(&own->lock);
    const bool on = !own->closes || liana__clock_seconds() < own->end;
    pthread_mutex_unlock(&own->lock);
    return on;
}

/* False: the line is lost. */
static bool write_line(liana__access_log *own, const char *line)
{
    size_t length = strlen(line);
    bool on = goes_on(own);
    while (length && on) {
        struct pollfd wanted = {.fd = own->descriptor, .events = POLLOUT};
        const int ready = poll(&wanted, 1, WAIT_MILLISECONDS);
        if (ready == 0 || (ready < 0 && errno == EINTR)) {
            on = goes_on(own);
            continue;
        }
        const ssize_t written = write(own->descriptor, line, length);
        if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (written <= 0) return false;
        line += written;
        length -= (size_t)written;
    }
    return !length;
}

static void *write_lines(void *user)
{
    liana__access_log *own = user;
    pthread_mutex_lock(&own->lock);
    for (;;) {
        while (!own->count && !own->closes) pthread_cond_wait(&own->changed, &own->lock);
        if (!own->count) break;
        char *line = own->lines[own->first];
        own->first = (own->first + 1) % MOST_LINES;
        own->count--;
        pthread_mutex_unlock(&own->lock);
        const bool written = write_line(own, line);
        free(line);
        pthread_mutex_lock(&own->lock);
        own->num_lost += !written;
    }
    pthread_mutex_unlock(&own->lock);
    return NULL;
}

liana_status liana__access_log_open(int descriptor, liana__access_log **log, liana__error *error)
{
    liana__access_log *own = calloc(1, sizeof *own);
    *log = NULL;
    if (!own) return liana__fail_memory(error, "a log");
    own->descriptor = descriptor;
    pthread_mutex_init(&own->lock, NULL);
    pthread_cond_init(&own->changed, NULL);
    if (liana__thread_start(&own->writer, write_lines, own) != 0) {
        pthread_cond_destroy(&own->changed);
        pthread_mutex_destroy(&own->lock);
        free(own);
        return liana__fail(error, LIANA_IO_ERROR, "the system gives no thread for a log");
    }
    *log = own;
    return LIANA_OK;
}

void liana__access_log_close(liana__access_log *own)
{
    if (!own) return;
    pthread_mutex_lock(&own->lock);
    own->closes = true;
    own->end = liana__clock_seconds() + LAST_SECONDS;
    pthread_cond_signal(&own->changed);
    pthread_mutex_unlock(&own->lock);
    pthread_join(own->writer, NULL);
    pthread_cond_destroy(&own->changed);
    pthread_mutex_destroy(&own->lock);
    free(own);
}

void liana__access_log_add(liana__access_log *own, const char *line)
{
    if (!own) return;
    const size_t length = strnlen(line, LINE_BYTES - 2);
    char *copy = malloc(length + 2);
    if (copy) {
        memcpy(copy, line, length);
        memcpy(copy + length, "\n", 2);
    }
    pthread_mutex_lock(&own->lock);
    if (copy && own->count < MOST_LINES) {
        own->lines[(own->first + own->count++) % MOST_LINES] = copy;
        copy = NULL;
        pthread_cond_signal(&own->changed);
    } else {
        own->num_lost++;
    }
    pthread_mutex_unlock(&own->lock);
    free(copy);
}

size_t liana__access_log_lost(liana__access_log *own)
{
    if (!own) return 0;
    pthread_mutex_lock(&own->lock);
    const size_t count = own->num_lost;
    pthread_mutex_unlock(&own->lock);
    return count;
}

/* ---- requests ---- */

static void add_json(liana__access_log *own, const liana__access_entry *entry)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__text) text = {0};
    liana__value *map = liana__value_map(&arena);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const double time = (double)now.tv_sec + (double)(now.tv_nsec / 1000000) / 1000;
    liana__value_set(&arena, map, "event", liana__value_string(&arena, "request"));
    liana__value_set(&arena, map, "time", liana__value_float(&arena, time));
    liana__value_set(&arena, map, "client", liana__value_string(&arena, entry->client));
    liana__value_set(&arena, map, "method", liana__value_string(&arena, entry->method));
    liana__value_set(&arena, map, "path", liana__value_string(&arena, entry->path));
    liana__value_set(&arena, map, "status", liana__value_int(&arena, entry->status));
    liana__value_set(&arena, map, "bytes", liana__value_int(&arena, (int64_t)entry->bytes));
    liana__value_set(&arena, map, "seconds", liana__value_float(&arena, entry->seconds));
    if (arena.failed) return;
    liana__value_write_json(map, 0, &text);
    if (!text.failed) liana__access_log_add(own, text.data);
}

static void add_plain(liana__access_log *own, const liana__access_entry *entry)
{
    char line[LINE_BYTES], time_text[64], path[1024];
    const time_t now = time(NULL);
    struct tm parts;
    localtime_r(&now, &parts);
    strftime(time_text, sizeof time_text, "%d/%b/%Y:%H:%M:%S %z", &parts);
    snprintf(path, sizeof path, "%.800s", entry->path);
    liana__escape_controls(path, sizeof path);
    for (char *at = path; *at; at++) {
        if (*at == '"') *at = '\'';
    }
    liana__format(line, sizeof line, "%s - - [%s] \"%.16s /%s\" %u %zu %.1fms", entry->client, time_text, entry->method,
                  path, entry->status, entry->bytes, entry->seconds * 1e3);
    liana__access_log_add(own, line);
}

void liana__access_log_add_request(liana__access_log *own, const liana__access_entry *entry, bool json)
{
    char path[1024];
    liana__access_entry shown = *entry;
    snprintf(path, sizeof path, "%.800s", entry->path);
    shown.path = path;
    if (!own) return;
    if (json) add_json(own, &shown);
    if (!json) add_plain(own, &shown);
}
