/* live_runs.h - the runs that are looked at: that of this process, or those of others on this machine, with what their
 * folders say and where their trainings are. For live_server.c and the terminal; one thread gathers. */
#ifndef LIANA_SERVE_LIVE_RUNS_H
#define LIANA_SERVE_LIVE_RUNS_H

#include "serve/live_ask.h"

typedef struct liana__live_run {
    const char *folder;
    size_t worker;          /* of a cluster that trains it; 0: the chief, or an only process */
    char *name;             /* as short as it tells this run from the others */
    liana__live_feed *feed; /* this process's, or a mirror */
    bool is_mirror;
    liana__live_address address; /* of a mirror */
    liana__live_place place;     /* in the other process's points */
} liana__live_run;

typedef struct liana__live_runs {
    liana__live_run *items; /* those of the folders, then the workers of their clusters */
    size_t count, capacity, num_folders;
    uint64_t stamp; /* of the files */
} liana__live_runs;

/* Folders are borrowed. `own`: the feed of this process, for an only run, whose folder may not be there yet; NULL: all
 * are other processes', and workers of clusters are those of this machine that are there now. Errors: INVALID_CONFIG
 * for a folder that is no run, and for more runs than a page has; OUT_OF_MEMORY. */
liana_status liana__live_runs_open(liana__live_runs *runs, const char *const *folders, size_t count,
                                   liana__live_feed *own, liana__error *error) LIANA_MUST_USE;
void liana__live_runs_close(liana__live_runs *runs);

/* Asks the processes of mirrors. */
void liana__live_runs_ask(liana__live_runs *runs);
/* Whether files of the runs have changed since the last call. */
bool liana__live_runs_changed(liana__live_runs *runs);
/* Hands an action on, from any thread. False: no process takes it. */
bool liana__live_run_act(const liana__live_run *run, liana__live_action action);

#endif
