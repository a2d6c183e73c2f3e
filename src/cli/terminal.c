/* Draws lines on terminals. */
#include "cli/command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int liana__terminal_width(FILE *stream)
{
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    return width > 0 ? width : 80;
}

void liana__terminal_draw(FILE *stream, const char *line)
{
    size_t room = (size_t)liana__terminal_width(stream) - 1, length = strlen(line);
    fprintf(stream, "\r%.*s\x1b[K", (int)(length < room ? length : room), line);
    fflush(stream);
}

liana__counter liana__counter_begin(const liana__invocation *invocation, const char *things)
{
    bool quiet = liana__invocation_has(invocation, "json") || !isatty(fileno(invocation->out));
    return (liana__counter){.terminal = quiet ? NULL : invocation->out, .things = things};
}

bool liana__counter_show(void *user, int64_t done, int64_t total)
{
    liana__counter *state = user;
    if (state->terminal && (done == total || done - state->shown >= 1 + total / 200)) {
        char line[80];
        snprintf(line, sizeof line, "%" PRId64 "/%" PRId64 " %s", done, total, state->things);
        liana__terminal_draw(state->terminal, line);
        if (done == total) fputc('\n', state->terminal);
        state->shown = done;
    }
    return liana__signals_caught() == 0;
}
