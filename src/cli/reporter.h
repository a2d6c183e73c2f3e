/* reporter.h - prints progress: a redrawn bar on a terminal, lines from time to time into a pipe, JSON lines for
 * machines. Called after every step; costs only a comparison of times, unless something is to be printed. */
#ifndef LIANA_CLI_REPORTER_H
#define LIANA_CLI_REPORTER_H

#include "base/error.h"
#include "cli/progress.h"

#include <stdbool.h>
#include <stdio.h>

typedef enum liana__reporter_mode {
    LIANA__REPORTER_BAR,
    LIANA__REPORTER_LINES,
    LIANA__REPORTER_JSON,
} liana__reporter_mode;

typedef struct liana__reporter {
    FILE *stream;
    liana__reporter_mode mode;
    int width;       /* columns of a line; 0: as many as the terminal has when it is drawn */
    double interval; /* seconds between two prints of a phase; the end of an epoch is always printed */
    double printed;  /* time of the last one; below 0: never */
    int64_t epoch;   /* the epoch whose heading is on the terminal */
    bool line_open;  /* the bar's line is not ended yet */
    bool logs;       /* --log-every: its lines stand for those that come from time to time while training */
    bool unread;     /* the pipe has no reader: nothing is printed any more */
    liana__text text;
} liana__reporter;

/* Chooses BAR on a terminal, LINES elsewhere, JSON if asked for. */
void liana__reporter_init(liana__reporter *reporter, FILE *stream, bool json);
/* `now`: seconds of a monotonic clock. */
void liana__reporter_update(liana__reporter *reporter, const liana__progress *progress, double now);
/* Prints a line of --log-every, for progress of LIANA__PHASE_LOG. It takes the place of a bar, which comes again. */
void liana__reporter_log(liana__reporter *reporter, const liana__progress *progress);
/* Prints a line between the others: "saved checkpoints/step-100". In JSON: {"event": "note", "message": ...}. */
void liana__reporter_note(liana__reporter *reporter, const char *format, ...) LIANA__PRINTF(2, 3);
/* Ends an open line, and frees. Call it also before printing an error. */
void liana__reporter_free(liana__reporter *reporter);

#endif
