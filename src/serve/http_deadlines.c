/* Cuts connections that take too long. */
#include "serve/http_deadlines.h"

#include "base/clock.h"
#include "base/thread_start.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

struct liana__http_guest {
    int descriptor;
    bool is_watched, is_cut;
    double since;
    liana__http_guest *before, *after;
};

struct liana__http_deadlines {
    double seconds;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t watcher;
    bool closes;
    size_t num_cut;
    liana__http_guest guests; /* a ring */
};

/* The descriptor is open as long as its guest is here. Shut down, it reads and writes no more: its thread then ends the
 * connection. */
static void cut_late(liana__http_deadlines *own, double now)
{
    for (liana__http_guest *guest = own->guests.after; guest != &own->guests; guest = guest->after) {
        if (!guest->is_watched || guest->is_cut || now - guest->since < own->seconds) continue;
        shutdown(guest->descriptor, SHUT_RDWR);
        guest->is_cut = true;
        own->num_cut++;
    }
}

static void *watch(void *user)
{
    liana__http_deadlines *own = user;
    const double step = own->seconds / 8 < 1 ? own->seconds / 8 : 1;
    pthread_mutex_lock(&own->lock);
    while (!own->closes) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        const int64_t nanoseconds = until.tv_nsec + (int64_t)(step * 1e9);
        until.tv_sec += (time_t)(nanoseconds / 1000000000);
        until.tv_nsec = (long)(nanoseconds % 1000000000);
        pthread_cond_timedwait(&own->changed, &own->lock, &until);
        cut_late(own, liana__clock_seconds());
    }
    pthread_mutex_unlock(&own->lock);
    return NULL;
}

liana_status liana__http_deadlines_open(double seconds, liana__http_deadlines **deadlines, liana__error *error)
{
    pthread_condattr_t attributes;
    liana__http_deadlines *own = calloc(1, sizeof *own);
    *deadlines = NULL;
    if (!own) return liana__fail_memory(error, "a server");
    own->seconds = seconds;
    own->guests.before = own->guests.after = &own->guests;
    pthread_mutex_init(&own->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&own->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (liana__thread_start(&own->watcher, watch, own) != 0) {
        pthread_cond_destroy(&own->changed);
        pthread_mutex_destroy(&own->lock);
        free(own);
        return liana__fail(error, LIANA_IO_ERROR, "the system gives no thread for a server");
    }
    *deadlines = own;
    return LIANA_OK;
}

void liana__http_deadlines_close(liana__http_deadlines *own)
{
    if (!own) return;
    pthread_mutex_lock(&own->lock);
    own->closes = true;
    pthread_cond_signal(&own->changed);
    pthread_mutex_unlock(&own->lock);
    pthread_join(own->watcher, NULL);
    pthread_cond_destroy(&own->changed);
    pthread_mutex_destroy(&own->lock);
    free(own);
}

size_t liana__http_deadlines_cut(liana__http_deadlines *own)
{
    if (!own) return 0;
    pthread_mutex_lock(&own->lock);
    const size_t count = own->num_cut;
    pthread_mutex_unlock(&own->lock);
    return count;
}

/* ---- guests ---- */

liana__http_guest *liana__http_guest_enter(liana__http_deadlines *own, int descriptor)
{
    liana__http_guest *guest = own ? calloc(1, sizeof *guest) : NULL;
    if (!guest) return NULL;
    *guest = (liana__http_guest){.descriptor = descriptor, .is_watched = true, .since = liana__clock_seconds()};
    pthread_mutex_lock(&own->lock);
    guest->before = &own->guests;
    guest->after = own->guests.after;
    guest->after->before = own->guests.after = guest;
    pthread_mutex_unlock(&own->lock);
    return guest;
}

void liana__http_guest_leave(liana__http_deadlines *own, liana__http_guest *guest)
{
    if (!guest) return;
    pthread_mutex_lock(&own->lock);
    guest->before->after = guest->after;
    guest->after->before = guest->before;
    pthread_mutex_unlock(&own->lock);
    free(guest);
}

static void set_watched(liana__http_deadlines *own, liana__http_guest *guest, bool is_watched)
{
    if (!guest) return;
    pthread_mutex_lock(&own->lock);
    guest->is_watched = is_watched;
    guest->since = liana__clock_seconds();
    pthread_mutex_unlock(&own->lock);
}

void liana__http_guest_starts(liana__http_deadlines *own, liana__http_guest *guest)
{
    set_watched(own, guest, true);
}

void liana__http_guest_waits(liana__http_deadlines *own, liana__http_guest *guest)
{
    set_watched(own, guest, false);
}
