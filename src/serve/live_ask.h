/* live_ask.h - asks the live server of another process on this machine: where its training is, and what it is to do.
 *
 * A training that is live leaves its address in live.json of its run folder, for its user alone; worker 2 of a cluster
 * in live-2.json. */
#ifndef LIANA_SERVE_LIVE_ASK_H
#define LIANA_SERVE_LIVE_ASK_H

#include "serve/live_feed.h"

/* An address. port 0: none. */
typedef struct liana__live_address {
    int port;
    char token[33];
} liana__live_address;

/* Writes live.json, readable for its owner. `worker`: of a cluster; 0: the chief, or an only process. Errors (may be
 * NULL): IO_ERROR. */
liana_status liana__live_address_write(const char *folder, size_t worker, const liana__live_address *address,
                                       liana__error *error) LIANA_MUST_USE;
void liana__live_address_remove(const char *folder, size_t worker);
/* The address of a run's training; port 0: there is none, or the file is no such file. */
liana__live_address liana__live_address_read(const char *folder, size_t worker);

/* Takes where the training is, and the points behind *place, into a feed. False: nobody answers within a second. */
bool liana__live_ask_now(const liana__live_address *address, liana__live_place *place, liana__live_feed *feed);
/* False: nobody answers. */
bool liana__live_ask_to(const liana__live_address *address, liana__live_action action);

/* ---- as values ---- */

/* A map of where a training is: state, epoch, ..., names and last. Numbers that are not finite are null. */
liana__value *liana__live_now_value(const liana__live_now *now, liana__arena *arena);
/* A list of points: [step, value, ...]. */
liana__value *liana__live_points_value(const liana__live_point *points, size_t count, size_t num_values,
                                       liana__arena *arena);

#endif
