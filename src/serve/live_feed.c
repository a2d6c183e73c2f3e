/* What a training tells while it runs, and what is asked of it. */
#include "serve/live_feed.h"

#include "base/clock.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const liana__live_states[] = {"unknown", "training", "validating", "paused", "stopping", "ended", NULL};
const char *const liana__live_actions[] = {"pause", "continue", "checkpoint", "stop", NULL};

struct liana__live_feed {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a pause ends */
    liana__live_now now;
    liana__live_point points[LIANA__LIVE_MOST_POINTS];
    size_t count;
    uint64_t generation;
    atomic_bool pauses, saves, stops;
    /* Of the training's thread alone. */
    double every, last_point, last_validation; /* seconds */
    double last_loss;                          /* the sum, and the examples, of the epoch up to the last point */
    int64_t last_count, last_epoch;
};

liana__live_feed *liana__live_feed_create(double every)
{
    liana__live_feed *feed = calloc(1, sizeof *feed);
    if (!feed) return NULL;
    feed->every = every;
    feed->last_point = feed->last_validation = -INFINITY;
    feed->now.examples_per_second = feed->now.input_wait = (double)NAN;
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->changed, NULL);
    return feed;
}

void liana__live_feed_destroy(liana__live_feed *feed)
{
    if (!feed) return;
    pthread_cond_destroy(&feed->changed);
    pthread_mutex_destroy(&feed->lock);
    free(feed);
}

/* ---- points ---- */

static void drop_every_second(liana__live_feed *feed)
{
    for (size_t i = 0; i < feed->count / 2; i++) feed->points[i] = feed->points[2 * i];
    feed->count /= 2;
    feed->every *= 2;
    feed->generation++;
}

static void add_point(liana__live_feed *feed, const liana__live_point *point)
{
    if (feed->count == LIANA__LIVE_MOST_POINTS) drop_every_second(feed);
    feed->points[feed->count++] = *point;
}

/* The mean loss of the examples since the last point; those of an epoch that has begun since are all. */
static double loss_since(liana__live_feed *feed, const liana__fit_event *event)
{
    const double sum = liana__totals_value(event->training, 0) * (double)event->training->count;
    const bool goes_on = feed->last_epoch == event->epoch && event->training->count > feed->last_count;
    const double before = goes_on ? feed->last_loss : 0;
    const int64_t count = event->training->count - (goes_on ? feed->last_count : 0);
    feed->last_loss = sum;
    feed->last_count = event->training->count;
    feed->last_epoch = event->epoch;
    return count > 0 ? (sum - before) / (double)count : (double)NAN;
}

/* ---- the training's side ---- */

static void set_values(liana__live_now *now, const liana__fit_event *event, const char *const *names,
                       size_t num_metrics)
{
    const liana__totals *totals = event->training;
    now->num_values = 0;
    for (size_t i = 0; i <= num_metrics && now->num_values + 1 < LIANA__LIVE_MOST_VALUES; i++) {
        char *name = now->names[now->num_values];
        snprintf(name, LIANA__LIVE_NAME_BYTES, "%s", i ? names[i - 1] : "loss");
        now->last[now->num_values++] = totals && totals->count ? liana__totals_value(totals, i) : (double)NAN;
    }
    snprintf(now->names[now->num_values], LIANA__LIVE_NAME_BYTES, "learning_rate");
    now->last[now->num_values++] = event->learning_rate;
}

void liana__live_feed_take(liana__live_feed *feed, const liana__fit_event *event, const char *const *names,
                           size_t num_metrics, double now)
{
    const bool is_step = event->kind == LIANA__FIT_STEP, is_end = event->kind == LIANA__FIT_EPOCH;
    const bool is_validation = event->kind == LIANA__FIT_VALIDATION;
    if (!is_step && !is_end && !is_validation) return;
    /* Short epochs have ends and validations more often than points. */
    double *last = is_validation ? &feed->last_validation : &feed->last_point;
    if (!is_end && now - *last < feed->every) return;
    if (pthread_mutex_trylock(&feed->lock) != 0) return; /* a reader copies: the next update has the value */
    liana__live_now *own = &feed->now;
    if (!is_end) *last = now;
    own->state = feed->stops ? LIANA__LIVE_STOPPING : is_validation ? LIANA__LIVE_VALIDATING : LIANA__LIVE_TRAINING;
    own->epoch = event->epoch;
    own->epochs = event->epochs;
    own->step = event->step;
    own->steps = event->steps;
    own->global_step = event->global_step;
    if (is_step && event->seconds > 0) {
        own->examples_per_second = (double)event->images / event->seconds;
        own->input_wait = event->wait / event->seconds;
    }
    if (!is_validation) {
        set_values(own, event, names, num_metrics);
        liana__live_point point = {.step = (double)event->global_step};
        memcpy(point.values, own->last, sizeof point.values);
        point.values[0] = loss_since(feed, event);
        /* The end of an epoch comes right behind its last update. */
        if (!is_end && event->training->count) add_point(feed, &point);
    }
    pthread_mutex_unlock(&feed->lock);
}

double liana__live_feed_wait(liana__live_feed *feed, bool (*stops)(void))
{
    if (!feed->pauses || feed->stops) return 0;
    const double begin = liana__clock_seconds();
    pthread_mutex_lock(&feed->lock);
    const liana__live_state before = feed->now.state;
    while (feed->pauses && !feed->stops && !stops()) {
        struct timespec until;
        feed->now.state = LIANA__LIVE_PAUSED;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200 * 1000 * 1000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&feed->changed, &feed->lock, &until);
    }
    feed->now.state = feed->stops ? LIANA__LIVE_STOPPING : before;
    pthread_mutex_unlock(&feed->lock);
    return liana__clock_seconds() - begin;
}

bool liana__live_feed_stops(liana__live_feed *feed)
{
    return feed->stops;
}

bool liana__live_feed_saves(liana__live_feed *feed)
{
    return atomic_exchange(&feed->saves, false);
}

void liana__live_feed_end(liana__live_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    feed->now.state = LIANA__LIVE_ENDED;
    pthread_mutex_unlock(&feed->lock);
}

/* ---- the readers' side ---- */

void liana__live_feed_ask(liana__live_feed *feed, liana__live_action action)
{
    pthread_mutex_lock(&feed->lock);
    if (action == LIANA__LIVE_PAUSE) feed->pauses = true;
    if (action == LIANA__LIVE_CONTINUE) feed->pauses = false;
    if (action == LIANA__LIVE_CHECKPOINT) feed->saves = true;
    if (action == LIANA__LIVE_STOP) feed->stops = true;
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
}

liana__live_now liana__live_feed_now(liana__live_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    const liana__live_now now = feed->now;
    pthread_mutex_unlock(&feed->lock);
    return now;
}

size_t liana__live_feed_points(liana__live_feed *feed, liana__live_place *place, liana__live_point *points, bool *anew)
{
    pthread_mutex_lock(&feed->lock);
    *anew = place->generation != feed->generation || place->next > feed->count || place->next == 0;
    const size_t from = *anew ? 0 : place->next, count = feed->count - from;
    memcpy(points, feed->points + from, count * sizeof *points);
    *place = (liana__live_place){feed->generation, feed->count};
    pthread_mutex_unlock(&feed->lock);
    return count;
}

void liana__live_feed_set(liana__live_feed *feed, const liana__live_now *now, const liana__live_point *points,
                          size_t count, bool anew)
{
    pthread_mutex_lock(&feed->lock);
    feed->now = *now;
    if (anew) {
        feed->count = 0;
        feed->generation++;
    }
    for (size_t i = 0; i < count; i++) add_point(feed, &points[i]);
    pthread_mutex_unlock(&feed->lock);
}
