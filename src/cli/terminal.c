/* Draws lines on terminals. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

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
