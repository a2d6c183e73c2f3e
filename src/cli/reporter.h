/* reporter.h - prints progress: a redrawn bar on a terminal, lines from time to time into a pipe, JSON lines for
 * machines. Called after every step; costs only a comparison of times, unless something is to be printed. */
#ifndef LIANA_CLI_REPORTER_H
#define LIANA_CLI_REPORTER_H

#include "base/value.h"

#include <stdio.h>

/* ---- progress ---- */

/* The progress of a training as text: pure functions of numbers. reporter.h decides when to print. */

typedef enum liana__phase {
    LIANA__PHASE_TRAIN,
    LIANA__PHASE_VALIDATE,
    LIANA__PHASE_EPOCH_DONE, /* step is the last one; metrics may have val_ values */
    LIANA__PHASE_LOG,        /* as TRAIN, for a line that --log-every asks for */
} liana__phase;

typedef struct liana__progress_metric {
    const char *name;
    double value;
} liana__progress_metric;

enum { LIANA__PROGRESS_MAX_METRICS = 16 };

typedef struct liana__progress {
    liana__phase phase;
    int64_t epoch;       /* from 1 */
    int64_t epochs;      /* 0: not known */
    int64_t step;        /* updates done in the epoch (batches, while validating) */
    int64_t steps;       /* 0: not known */
    int64_t global_step; /* updates done in all, over all stages */
    double seconds;      /* seconds since the phase began; when it is done, of the whole epoch */
    int64_t examples;    /* in that time */
    bool no_images;      /* the model has no image input: examples are counted */
    double loss;         /* the mean over the epoch so far */
    liana__progress_metric metrics[LIANA__PROGRESS_MAX_METRICS];
    size_t num_metrics;
    int64_t bad_records; /* left out in the epoch so far */
    double input_wait;   /* the share of `seconds` spent waiting for input, 0 to 1 */
} liana__progress;

/* A line for a terminal, at most width - 1 columns: Keras's bar, time, loss, metrics, images/s, share of time waiting
 * for input.
 *   " 7/26 [=======>......................] - ETA: 12s - loss: 1.2346 - accuracy: 0.4521 - 131 images/s - input 3%"
 * If not everything fits, the bar shrinks and disappears, then the least important parts: input, images/s, time. During
 * validation, the training's results disappear before the time. At the end of an epoch only input and images/s may be
 * left out: the text then has several lines, with the validation's results on a line of their own. */
void liana__progress_render_bar(const liana__progress *progress, int width, liana__text *text);

/* "epoch 1/5: step 7/26, 3.4 s, loss 1.2346, accuracy 0.4521, 131 images/s, input wait 3%"; of a LOG with "global step
 * 59, " before it */
void liana__progress_render_line(const liana__progress *progress, liana__text *text);

/* {"event": "step" | "validation" | "epoch" | "log", "epoch", "epochs", "step", "steps", "global_step", "seconds",
 * "examples", "examples_per_second", "loss", each metric, "input_wait"}; epochs and steps are null if they are not
 * known. "images" and "images_per_second" are older names, with the same values. */
void liana__progress_render_json(const liana__progress *progress, liana__text *text);

/* ---- reporter ---- */

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
