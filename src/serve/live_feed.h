/* live_feed.h - what a training tells while it runs, and what is asked of it: one object that the training's thread and
 * the threads of a server share. The training never waits for a reader: a value that comes while one reads is left
 * out. */
#ifndef LIANA_SERVE_LIVE_FEED_H
#define LIANA_SERVE_LIVE_FEED_H

#include "base/value.h"
#include "train/callbacks/standard.h"

/* So many points are kept; of more, every second one is dropped, and later ones come half as often. */
enum { LIANA__LIVE_MOST_POINTS = 2048, LIANA__LIVE_MOST_VALUES = 6, LIANA__LIVE_NAME_BYTES = 48 };

typedef enum liana__live_state {
    LIANA__LIVE_UNKNOWN, /* nothing is known of a process that trains it */
    LIANA__LIVE_TRAINING,
    LIANA__LIVE_VALIDATING,
    LIANA__LIVE_PAUSED,
    LIANA__LIVE_STOPPING,
    LIANA__LIVE_ENDED,
} liana__live_state;
/* "unknown", "training", ...; ended by NULL. */
extern const char *const liana__live_states[];

/* Questions and answers are between two updates. */
typedef enum liana__live_action {
    LIANA__LIVE_PAUSE,
    LIANA__LIVE_CONTINUE,
    LIANA__LIVE_CHECKPOINT,
    LIANA__LIVE_STOP, /* with a checkpoint, as on a signal */
} liana__live_action;
/* "pause", "continue", "checkpoint", "stop"; ended by NULL. */
extern const char *const liana__live_actions[];

/* By update: the first value is the mean loss of the examples since the point before. */
typedef struct liana__live_point {
    double step; /* updates done in all */
    double values[LIANA__LIVE_MOST_VALUES];
} liana__live_point;

/* Where a training is. */
typedef struct liana__live_now {
    liana__live_state state;
    int64_t epoch, epochs, step, steps, global_step; /* epochs and steps 0: not known */
    double examples_per_second, input_wait;          /* NaN: not known */
    size_t num_values;
    char names[LIANA__LIVE_MOST_VALUES][LIANA__LIVE_NAME_BYTES]; /* "loss", metrics, "learning_rate" */
    double last[LIANA__LIVE_MOST_VALUES];                        /* means of the epoch so far, and the rate */
} liana__live_now;

typedef struct liana__live_feed liana__live_feed;

/* NULL: there is no memory. `every`: seconds between two points, above 0. */
liana__live_feed *liana__live_feed_create(double every);
/* NULL is allowed. No other thread may use it any more. */
void liana__live_feed_destroy(liana__live_feed *feed);

/* ---- the training's side ---- */

/* Takes the values of an event. `names`: of the metrics, [num_metrics]. `now` is a monotonic clock, in seconds. */
void liana__live_feed_take(liana__live_feed *feed, const liana__fit_event *event, const char *const *names,
                           size_t num_metrics, double now);
/* While a pause is asked for, waits until it ends, or `stops` says so (asked five times a second). Returns the seconds
 * that it waited. */
double liana__live_feed_wait(liana__live_feed *feed, bool (*stops)(void));
/* Whether a stop, or a checkpoint, was asked for; a checkpoint once. */
bool liana__live_feed_stops(liana__live_feed *feed);
bool liana__live_feed_saves(liana__live_feed *feed);
/* The training has ended: readers are told so. */
void liana__live_feed_end(liana__live_feed *feed);

/* ---- the readers' side ---- */

/* A place in the points. Zero-initialise for all of them. */
typedef struct liana__live_place {
    uint64_t generation; /* another one: points were dropped, and all come again */
    size_t next;
} liana__live_place;

void liana__live_feed_ask(liana__live_feed *feed, liana__live_action action);
liana__live_now liana__live_feed_now(liana__live_feed *feed);
/* Copies the points from *place on, up to LIANA__LIVE_MOST_POINTS, and moves it behind them. *anew: they are all that
 * there are. Returns their number. */
size_t liana__live_feed_points(liana__live_feed *feed, liana__live_place *place, liana__live_point *points, bool *anew);

/* For a mirror of another process's feed. */
void liana__live_feed_set(liana__live_feed *feed, const liana__live_now *now, const liana__live_point *points,
                          size_t count, bool anew);

#endif
