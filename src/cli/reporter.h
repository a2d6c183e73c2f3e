/* reporter.h - prints progress: a bar that is redrawn on a terminal, now and then a line into a pipe, JSON lines for
 * machines. Called after every step; costs a comparison of times unless something is due. */
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
    int width;       /* columns of the terminal */
    double interval; /* seconds between two prints of a phase; the end of an epoch is always printed */
    double printed;  /* when the last one was; below 0: never */
    int64_t epoch;   /* whose heading stands on the terminal */
    bool line_open;  /* the bar's line waits to be redrawn or ended */
    bool unread;     /* the pipe's other end is closed: nothing is printed any more */
    liana__text text;
} liana__reporter;

/* BAR on a terminal (its width, else $COLUMNS, else 80), LINES elsewhere, JSON if asked for. */
void liana__reporter_init(liana__reporter *reporter, FILE *stream, bool json);
/* `now`: seconds of any clock that only goes forward. */
void liana__reporter_update(liana__reporter *reporter, const liana__progress *progress, double now);
/* A line between the others: "saved checkpoints/step-100". As {"event": "note", "message": ...} in JSON. */
void liana__reporter_note(liana__reporter *reporter, const char *format, ...) LIANA__PRINTF(2, 3);
/* Ends an open line (before an error is printed, too) and frees. */
void liana__reporter_free(liana__reporter *reporter);

#endif
