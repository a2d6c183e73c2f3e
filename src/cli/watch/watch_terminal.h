/* watch_terminal.h - curves of runs in a terminal. */
#ifndef LIANA_CLI_WATCH_TERMINAL_H
#define LIANA_CLI_WATCH_TERMINAL_H

#include "cli/command.h"
#include "serve/live_runs.h"

/* A curve: [count] values by x, ascending; NaN: a gap. */
typedef struct liana__text_curve {
    const char *name;
    const double *x, *y;
    size_t count;
} liana__text_curve;

enum { LIANA__TEXT_CURVES = 4 };

/* Adds a name, up to 40 bytes of it. Control characters, which would move the terminal's cursor, are written as
 * texts. */
void liana__text_add_name(liana__text *text, const char *name);

/* Draws up to LIANA__TEXT_CURVES curves as lines of text, `width` columns wide and `height` rows high with axes: in
 * dots of Braille's characters, two columns and four rows each, or in `ascii` with a letter for each curve. Where
 * several curves meet, the later one is seen in ascii. */
void liana__text_curves_draw(const char *title, const char *x_label, const liana__text_curve *curves, size_t count,
                             int width, int height, bool ascii, liana__text *text);

/* Shows the runs until a signal, q, or the end of all; once where standard output is no terminal. Errors: those of the
 * folders. */
liana_status liana__watch_in_terminal(liana__invocation *invocation, const char *const *folders, size_t count,
                                      bool ascii) LIANA_MUST_USE;

#endif
