/* terminal.h - one line of a terminal that is drawn again and again. */
#ifndef LIANA_CLI_TERMINAL_H
#define LIANA_CLI_TERMINAL_H

#include "cli/command.h"

/* The columns of the terminal as it is now, else $COLUMNS, else 80. It may be made narrower at any time: ask at each
 * drawing, since a line that is too long goes on in the next row, and the next drawing leaves it there. */
int liana__terminal_width(FILE *stream);
/* Draws a line in place of the one that the cursor is in, as much of it as fits, and flushes. The cursor stays in
 * it. */
void liana__terminal_draw(FILE *stream, const char *line);

/* Draws how much of something is done, unless the output is no terminal or JSON. */
typedef struct liana__counter {
    FILE *terminal; /* NULL: say nothing */
    const char *things;
    int64_t shown;
} liana__counter;

liana__counter liana__counter_begin(const liana__invocation *invocation, const char *things);
/* Returns whether to go on: no signal was caught. `user` is the counter. */
bool liana__counter_show(void *user, int64_t done, int64_t total);

#endif
