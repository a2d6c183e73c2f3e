/* live_server.h - the live page: the page of runs (report/page), which shows values as they come, and buttons.
 *
 *   GET  /TOKEN/                                the page
 *   GET  /TOKEN/events                          server-sent events: "page" (the page's data) and "now"
 *   GET  /TOKEN/now?generation=G&next=N         where the only run is, and its points from there on
 *   POST /TOKEN/control?run=I&action=pause      also continue, checkpoint, stop
 *
 * A thread gathers twice a second. A reader that is slow misses states in between and never an end. */
#ifndef LIANA_SERVE_LIVE_SERVER_H
#define LIANA_SERVE_LIVE_SERVER_H

#include "serve/live_feed.h"

typedef struct liana__live_server liana__live_server;

typedef struct liana__live_options {
    int port;                   /* 0: one that is free */
    const char *what;           /* the option that names a port, in messages: "--live" */
    const char *const *folders; /* of the runs, [count]; borrowed */
    size_t count;
    /* The feed of this process, which trains the only run; its address is left in the run folder. NULL: runs of other
     * processes are shown. Borrowed. */
    liana__live_feed *feed;
    size_t worker; /* of a cluster, whose address is in a file of its own; 0: the chief, or an only process */
} liana__live_options;

/* Errors: INVALID_CONFIG for a folder that is no run; IO_ERROR (a port in use); UNIMPLEMENTED (a library is not
 * there). */
liana_status liana__live_server_open(const liana__live_options *options, liana__live_server **server,
                                     liana__error *error) LIANA_MUST_USE;
const char *liana__live_server_url(const liana__live_server *server);
/* Tells readers the last state. NULL is allowed. */
void liana__live_server_close(liana__live_server *server);

#endif
