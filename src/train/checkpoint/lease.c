/* Takes, renews and loses leases. */
#include "train/checkpoint/lease.h"

#include "base/clock.h"
#include "base/thread_start.h"
#include "train/checkpoint/lease_place.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A lease is renewed RENEWALS times in its time. A process that waits for it looks at it LOOKS times in that time, or
 * every few seconds if that is more often: its holder may give it up at any time. */
static const double RENEWALS = 6, LOOKS = 10, LONGEST_LOOK = 2;
/* So many times of its lease a chief may need to hear that the others go on without it: the step that it computes, or
 * the file that it writes, is finished first. */
enum { TIMES_TO_HEAR = 10 };
/* How much of its time a holder goes on without having renewed it. */
static const double TRUSTED = 2.0 / 3;

struct liana__lease {
    liana__lease_place place;
    liana__lease_text text;
    pthread_mutex_t mutex; /* for all members */
    pthread_cond_t changed;
    pthread_t thread;
    bool has_thread, ending;
    double renewed;      /* when, by our clock */
    liana_status status; /* why it is lost */
    liana__error error;
};

/* ---- renewing ---- */

static void note_time(liana__lease_text *text)
{
    time_t now = time(NULL);
    struct tm parts;
    if (!gmtime_r(&now, &parts) || !strftime(text->renewed, sizeof text->renewed, "%Y-%m-%dT%H:%M:%SZ", &parts)) {
        text->renewed[0] = '\0';
    }
}

static liana_status lose(liana__lease *own)
{
    liana__lease_found found = {0};
    liana__lease_text other = {0};
    char holder[400];
    bool there = liana__lease_place_read(&own->place, &found, NULL) == LIANA_OK && found.there;
    if (there) liana__lease_text_read(found.bytes, found.size, &other);
    own->status = LIANA_UNAVAILABLE;
    return liana__fail(&own->error, LIANA_UNAVAILABLE,
                       "this process has lost the run folder '%s': %s%s; it writes nothing more there",
                       own->place.folder, there ? "it is held by " : "another process has held it since",
                       there ? liana__lease_text_holder(&other, holder) : "");
}

/* The mutex is held. */
static liana_status renew(liana__lease *own, liana__error *error)
{
    bool held = false;
    liana__error why = {0};
    if (own->status != LIANA_OK) {
        if (error) *error = own->error;
        return own->status;
    }
    liana__lease_text next = own->text;
    next.renewals++;
    note_time(&next);
    const double begun = liana__clock_seconds();
    liana_status status = liana__lease_place_renew(&own->place, &next, &held, &why);
    if (status == LIANA_OK && held) {
        own->text = next;
        own->renewed = begun;
        return LIANA_OK;
    }
    const double silent = liana__clock_seconds() - own->renewed;
    if (status == LIANA_OK) {
        status = lose(own);
    } else if (silent > TRUSTED * own->text.seconds) {
        status = own->status = LIANA_UNAVAILABLE;
        liana__fail(&own->error, status,
                    "the lease of the run folder '%s' could not be renewed for %.0f s, so another process may have "
                    "taken it (%s); this process writes nothing more there",
                    own->place.folder, silent, why.message);
    } else {
        return LIANA_OK; /* not known yet; writing the files will tell it */
    }
    if (error) *error = own->error;
    return status;
}

static void wait_for(liana__lease *own, double seconds)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)seconds;
    end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (end.tv_nsec >= 1000000000) {
        end.tv_nsec -= 1000000000;
        end.tv_sec++;
    }
    int code = 0;
    while (!own->ending && code != ETIMEDOUT) code = pthread_cond_timedwait(&own->changed, &own->mutex, &end);
}

static void *thread_main(void *user)
{
    liana__lease *own = user;
    pthread_mutex_lock(&own->mutex);
    while (!own->ending && own->status == LIANA_OK) {
        wait_for(own, own->text.seconds / RENEWALS);
        if (!own->ending) (void)!renew(own, NULL);
    }
    pthread_mutex_unlock(&own->mutex);
    return NULL;
}

static liana_status start_thread(liana__lease *own, liana__error *error)
{
    int code = liana__thread_start(&own->thread, thread_main, own);
    own->has_thread = code == 0;
    if (code == 0) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_MEMORY, "no thread can be started for the lease: %s", strerror(code));
}

liana_status liana__lease_check(liana__lease *own, liana__error *error)
{
    if (!own) return LIANA_OK;
    pthread_mutex_lock(&own->mutex);
    liana_status status = renew(own, error);
    pthread_mutex_unlock(&own->mutex);
    return status;
}

/* The mutex is held. */
static void note_without(liana__lease *own, const bool *is_member, size_t num_ranks)
{
    own->text.num_without = 0;
    for (size_t i = 0; i < num_ranks && own->text.num_without < LIANA__LEASE_WITHOUT; i++) {
        if (!is_member[i]) own->text.without[own->text.num_without++] = (int64_t)i;
    }
}

liana_status liana__lease_lead(liana__lease *own, const bool *is_member, size_t num_ranks, liana__error *error)
{
    if (!own) return LIANA_OK;
    pthread_mutex_lock(&own->mutex);
    note_without(own, is_member, num_ranks);
    liana_status status = renew(own, error);
    pthread_mutex_unlock(&own->mutex);
    return status;
}

void liana__lease_leave(liana__lease *own)
{
    if (!own) return;
    pthread_mutex_lock(&own->mutex);
    own->text.left = true;
    /* If that cannot be written, it is taken later. */
    if (renew(own, NULL) == LIANA_OK) {
        own->status = liana__fail(&own->error, LIANA_UNAVAILABLE,
                                  "this process has left the run folder '%s' to the others of its training; it writes "
                                  "nothing more there",
                                  own->place.folder);
    }
    pthread_mutex_unlock(&own->mutex);
}

liana_status liana__lease_status(liana__lease *own, liana__error *error)
{
    if (!own || pthread_mutex_trylock(&own->mutex) != 0) return LIANA_OK; /* it is being renewed just now */
    liana_status status = own->status;
    if (status != LIANA_OK && error) *error = own->error;
    pthread_mutex_unlock(&own->mutex);
    return status;
}

/* ---- taking ---- */

static bool same(const liana__lease_found *a, const liana__lease_found *b)
{
    return a->there == b->there && a->generation == b->generation && a->size == b->size &&
           memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* A holder on this machine would still have the lock. */
static bool is_dead(const liana__lease *own, const liana__lease_text *other)
{
    return *own->text.lock && *own->text.boot && other->version == LIANA__LEASE_VERSION &&
           strcmp(other->boot, own->text.boot) == 0 && strcmp(other->lock, own->text.lock) == 0;
}

/* One that does not say how long it lasts is watched as long as ours would last. */
static double time_of(const liana__lease_options *options, const liana__lease_text *other)
{
    return other->seconds > 0 ? other->seconds : options->seconds;
}

static liana_status refuse(const liana__lease_options *options, const liana__lease_found *now, liana__error *error)
{
    liana__lease_text other;
    char holder[400];
    liana__lease_text_read(now->bytes, now->size, &other);
    return liana__fail(error, LIANA_UNAVAILABLE,
                       "another process is training in '%s': %s; wait for it (if it dies, its lease can be taken %g s "
                       "later), or %s",
                       options->folder, liana__lease_text_holder(&other, holder), time_of(options, &other),
                       options->advice);
}

/* A signal does not end it early, unless it asks to stop. */
static void pause_for(const liana__lease_options *options, double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
        if (options->stop && options->stop(options->user)) return;
    }
}

static bool goes_on_without(const liana__lease_text *other, size_t rank)
{
    for (size_t i = 0; i < other->num_without; i++) {
        if (other->without[i] == (int64_t)rank) return true;
    }
    return false;
}

/* The lease is renewed. The dead chief of this job lives, so it is about to hear that it has lost its place. */
static bool is_to_be_left(const liana__lease_options *options, const liana__lease_text *before,
                          const liana__lease_found *now)
{
    liana__lease_text other;
    liana__lease_text_read(now->bytes, now->size, &other);
    return options->job && strcmp(other.job, options->job) == 0 && strcmp(other.id, before->id) == 0 &&
           !goes_on_without(&other, options->rank);
}

/* To the others of its job. Anybody else watches it first. */
static bool is_left_to(const liana__lease_options *options, const liana__lease_found *found)
{
    liana__lease_text other;
    liana__lease_text_read(found->bytes, found->size, &other);
    return options->job && other.left;
}

/* Watches a lease until it is renewed (refused), given back, left, or old. */
static liana_status watch(const liana__lease_options *options, liana__lease *own, liana__lease_found *found,
                          liana__error *error)
{
    liana__lease_text other;
    char holder[400];
    liana__lease_text_read(found->bytes, found->size, &other);
    if (is_left_to(options, found) || is_dead(own, &other)) return LIANA_OK;
    const double seconds = time_of(options, &other);
    const double look = seconds / LOOKS < LONGEST_LOOK ? seconds / LOOKS : LONGEST_LOOK;
    const int64_t enough = (int64_t)ceil(seconds / look);
    liana__note(&options->notes, "'%s' has a lease of %s; it is taken if it does not change for %g s", options->folder,
                liana__lease_text_holder(&other, holder), seconds);
    /* Looks are counted, not time: a process that was halted between two of them has seen nothing. */
    for (int64_t looks = 0, unchanged = 0; unchanged < enough; looks++) {
        liana__lease_found now;
        pause_for(options, look);
        if (options->stop && options->stop(options->user)) {
            return liana__fail(error, LIANA_CANCELLED, "stopped while waiting for the lease of '%s'", options->folder);
        }
        LIANA_TRY(liana__lease_place_read(&own->place, &now, error));
        const bool is_renewed = now.there && !same(&now, found), ends = !now.there || is_left_to(options, &now);
        const bool waits = is_to_be_left(options, &other, &now) && looks < TIMES_TO_HEAR * enough;
        if (is_renewed && !ends && !waits) return refuse(options, &now, error);
        *found = now;
        if (ends) return LIANA_OK;
        unchanged = is_renewed ? 0 : unchanged + 1;
    }
    return LIANA_OK;
}

/* The successor of a dead chief finds the chief's lease where it was. Otherwise it does not reach that folder, or
 * another job has the folder. */
static liana_status check_job(const liana__lease_options *options, const liana__lease_found *found, liana__error *error)
{
    liana__lease_text other = {0};
    char holder[400];
    if (!options->job) return LIANA_OK;
    if (found->there) liana__lease_text_read(found->bytes, found->size, &other);
    if (found->there && strcmp(other.job, options->job) == 0) {
        if (other.left || !goes_on_without(&other, options->rank)) return LIANA_OK;
        return liana__fail(error, LIANA_UNAVAILABLE, "'%s' is held by %s, which goes on without this process",
                           options->folder, liana__lease_text_holder(&other, holder));
    }
    return liana__fail(error, LIANA_UNAVAILABLE, "'%s' is not the run folder of this training any more: %s%s",
                       options->folder, found->there ? "it is held by " : "there is no lease of it",
                       found->there ? liana__lease_text_holder(&other, holder) : "");
}

static liana_status take(const liana__lease_options *options, liana__lease *own, liana__error *error)
{
    enum { MOST_RACES = 100 };
    bool taken = false;
    for (int i = 0; i < MOST_RACES && !taken; i++) {
        liana__lease_found found;
        LIANA_TRY(liana__lease_place_read(&own->place, &found, error));
        LIANA_TRY(check_job(options, &found, error));
        if (found.there) LIANA_TRY(watch(options, own, &found, error));
        /* Given back meanwhile: the chief was only late, and has ended the training. */
        LIANA_TRY(check_job(options, &found, error));
        own->text.generation = found.generation + 1;
        note_time(&own->text);
        own->renewed = liana__clock_seconds();
        LIANA_TRY(liana__lease_place_take(&own->place, &found, &own->text, &taken, error));
    }
    if (taken) return LIANA_OK;
    return liana__fail(error, LIANA_UNAVAILABLE, "the lease of '%s' cannot be got: others take it all the time",
                       options->folder);
}

static void free_lease(liana__lease *own)
{
    liana__lease_place_close(&own->place);
    pthread_cond_destroy(&own->changed);
    pthread_mutex_destroy(&own->mutex);
    free(own);
}

static liana_status begin(const liana__lease_options *options, liana__lease *own, liana__error *error)
{
    LIANA_TRY(liana__lease_place_open(&own->place, options->folder, options->remote, error));
    liana__lease_text_begin(&own->text);
    own->text.seconds = options->seconds;
    if (options->job) snprintf(own->text.job, sizeof own->text.job, "%s", options->job);
    snprintf(own->text.lock, sizeof own->text.lock, "%s", options->lock ? options->lock : "");
    LIANA_TRY(take(options, own, error));
    return start_thread(own, error);
}

liana_status liana__lease_take(const liana__lease_options *options, liana__lease **lease, liana__error *error)
{
    *lease = NULL;
    liana__lease *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "the lease");
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&own->mutex, NULL);
    pthread_cond_init(&own->changed, &clock);
    pthread_condattr_destroy(&clock);
    own->place.descriptor = -1;
    liana_status status = begin(options, own, error);
    if (status == LIANA_OK) {
        *lease = own;
    } else {
        free_lease(own);
    }
    return status;
}

void liana__lease_job(liana__lease *own, char job[LIANA__LEASE_JOB])
{
    pthread_mutex_lock(&own->mutex);
    snprintf(job, LIANA__LEASE_JOB, "%s", own->text.job);
    pthread_mutex_unlock(&own->mutex);
}

void liana__lease_end(liana__lease *own)
{
    if (!own) return;
    pthread_mutex_lock(&own->mutex);
    own->ending = true;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->mutex);
    if (own->has_thread) pthread_join(own->thread, NULL);
    /* One that stays is taken by the next process, only later. */
    if (own->status == LIANA_OK) (void)!liana__lease_place_give(&own->place, &own->text, NULL);
    free_lease(own);
}
