/* Runs in a terminal: a line for each, and the curves of the first measures. */
#include "cli/watch/watch_terminal.h"

#include "base/scoped.h"
#include "report/run_plot.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { MOST_MEASURES = 2, WIDEST = 160, LOWEST_PANEL = 8, HIGHEST_PANEL = 18 };

typedef struct viewer {
    liana__invocation *invocation;
    liana__live_runs runs;
    const char *const *folders;
    bool ascii, redraws;
    int width, height;
} viewer;

/* ---- lines ---- */

static void add_run(const liana__live_run *run, const liana__run_files *files, liana__text *text)
{
    const liana__live_now now = liana__live_feed_now(run->feed);
    liana__text_add_name(text, run->name);
    liana__text_add(text, ": %s", now.state == LIANA__LIVE_UNKNOWN ? "epochs" : liana__live_states[now.state]);
    if (now.state == LIANA__LIVE_UNKNOWN) {
        liana__text_add(text, " %zu\n", files ? files->epochs->count : 0);
        return;
    }
    liana__text_add(text, ", epoch %lld", (long long)now.epoch);
    if (now.epochs) liana__text_add(text, "/%lld", (long long)now.epochs);
    liana__text_add(text, ", %lld", (long long)now.step);
    if (now.steps) liana__text_add(text, "/%lld", (long long)now.steps);
    for (size_t i = 0; i < now.num_values; i++) {
        liana__text_add(text, ", ");
        liana__text_add_name(text, now.names[i]);
        liana__text_add(text, " %.4g", now.last[i]);
    }
    if (isfinite(now.examples_per_second)) liana__text_add(text, ", %.0f/s", now.examples_per_second);
    if (isfinite(now.input_wait)) liana__text_add(text, ", input %.0f%%", 100 * now.input_wait);
    liana__text_add(text, "\n");
}

/* ---- curves ---- */

static bool take_epochs(const liana__run_files *run, const char *key, const char *name, liana__arena *arena,
                        liana__text_curve *curve)
{
    const size_t count = run->epochs->count;
    double *x = liana__arena_allocate(arena, (count + 1) * sizeof *x);
    double *y = liana__arena_allocate(arena, (count + 1) * sizeof *y);
    bool any = false;
    for (size_t i = 0; x && y && i < count; i++) {
        x[i] = (double)i + 1;
        y[i] = liana__run_files_number(run->epochs, i, key);
        any |= isfinite(y[i]);
    }
    *curve = (liana__text_curve){name, x, y, count};
    return any;
}

/* Of one run training and validation, of several the validation, or the training where there is none. */
static void draw_measure(const viewer *own, const liana__run_files *runs, const char *measure, liana__arena *arena,
                         int height, liana__text *text)
{
    liana__text_curve curves[LIANA__TEXT_CURVES];
    const char *validation = liana__arena_format(arena, "val_%s", measure);
    size_t count = 0;
    for (size_t i = 0; validation && i < own->runs.num_folders && count + 1 < LIANA__TEXT_CURVES; i++) {
        const bool only = own->runs.num_folders == 1;
        const char *name = own->runs.items[i].name;
        bool has = take_epochs(&runs[i], validation, only ? "validation" : name, arena, &curves[count]);
        count += has;
        if (has && !only) continue;
        count += take_epochs(&runs[i], measure, only ? "training" : name, arena, &curves[count]);
    }
    liana__text_curves_draw(measure, "epoch", curves, count, own->width, height, own->ascii, text);
}

/* Within epochs, of the runs that tell it. */
static void draw_losses(const viewer *own, liana__arena *arena, int height, liana__text *text)
{
    liana__text_curve curves[LIANA__TEXT_CURVES];
    size_t count = 0;
    for (size_t i = 0; i < own->runs.count && count < LIANA__TEXT_CURVES; i++) {
        liana__live_place place = {0};
        bool anew;
        liana__live_point *points = liana__arena_allocate(arena, LIANA__LIVE_MOST_POINTS * sizeof *points);
        double *x = liana__arena_allocate(arena, LIANA__LIVE_MOST_POINTS * sizeof *x);
        double *y = liana__arena_allocate(arena, LIANA__LIVE_MOST_POINTS * sizeof *y);
        if (!points || !x || !y) return;
        const size_t num = liana__live_feed_points(own->runs.items[i].feed, &place, points, &anew);
        for (size_t k = 0; k < num; k++) {
            x[k] = points[k].step;
            y[k] = points[k].values[0];
        }
        if (num) curves[count++] = (liana__text_curve){own->runs.items[i].name, x, y, num};
    }
    if (count) liana__text_curves_draw("loss", "update", curves, count, own->width, height, own->ascii, text);
}

/* ---- a picture ---- */

static liana_status draw(viewer *own, liana__text *text)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__error *error = &own->invocation->error;
    liana__run_files *files;
    const char **notes, *const *measures;
    size_t num_measures;
    LIANA_TRY(liana__run_files_read_any(own->folders, own->runs.num_folders, &arena, &files, &notes, error));
    LIANA_TRY(liana__run_files_measures(files, own->runs.num_folders, &arena, &measures, &num_measures, error));
    const size_t shown = num_measures < MOST_MEASURES ? num_measures : MOST_MEASURES;
    const int lines = own->runs.count < 8 ? (int)own->runs.count : 8;
    int each = (own->height - lines - 1) / (int)(shown + 1);
    each = each < LOWEST_PANEL ? LOWEST_PANEL : each > HIGHEST_PANEL ? HIGHEST_PANEL : each;
    for (int i = 0; i < lines; i++)
        add_run(&own->runs.items[i], (size_t)i < own->runs.num_folders ? &files[i] : NULL, text);
    if ((size_t)lines < own->runs.count) liana__text_add(text, "and %zu more runs\n", own->runs.count - (size_t)lines);
    draw_losses(own, &arena, each, text);
    for (size_t i = 0; i < shown; i++) draw_measure(own, files, measures[i], &arena, each, text);
    return text->failed || arena.failed ? liana__fail_memory(error, "the curves") : LIANA_OK;
}

static void find_size(viewer *own)
{
    struct winsize size;
    own->width = liana__terminal_width(own->invocation->out);
    if (own->width > WIDEST) own->width = WIDEST;
    own->height = 40;
    if (ioctl(fileno(own->invocation->out), TIOCGWINSZ, &size) == 0 && size.ws_row > 0) own->height = size.ws_row;
}

/* From the first row on, each line without the rest of an older one, and nothing below. */
static liana_status show(viewer *own)
{
    LIANA__SCOPED(liana__text) text = {0};
    FILE *out = own->invocation->out;
    find_size(own);
    liana__live_runs_ask(&own->runs);
    LIANA_TRY(draw(own, &text));
    if (own->redraws) fputs("\x1b[H", out);
    for (const char *line = text.data ? text.data : ""; *line;) {
        const size_t length = strcspn(line, "\n");
        fprintf(out, "%.*s%s\n", (int)length, line, own->redraws ? "\x1b[K" : "");
        line += length + (line[length] == '\n');
    }
    if (own->redraws) fputs("\x1b[J", out);
    return fflush(out) == 0 ? LIANA_OK : liana__fail(&own->invocation->error, LIANA_IO_ERROR, "the output is closed");
}

/* Whether all runs that were trained have ended. */
static bool all_end(const viewer *own)
{
    for (size_t i = 0; i < own->runs.count; i++) {
        if (liana__live_feed_now(own->runs.items[i].feed).state != LIANA__LIVE_ENDED) return false;
    }
    return true;
}

/* Waits a second, or for a key. True: it is q. */
static bool rests_until_q(void)
{
    struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
    char key = 0;
    if (poll(&keys, 1, 1000) <= 0) return false;
    return read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q';
}

/* Keys come at once, and are not shown; the picture is on a screen of its own. */
static liana_status show_again(viewer *own)
{
    struct termios before;
    const bool has_keys = tcgetattr(STDIN_FILENO, &before) == 0;
    if (has_keys) {
        struct termios raw = before;
        raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    fputs("\x1b[?1049h\x1b[?25l\x1b[2J", own->invocation->out);
    liana_status status = show(own);
    while (status == LIANA_OK && !liana__signals_caught() && !all_end(own) && !rests_until_q()) status = show(own);
    fputs("\x1b[?25h\x1b[?1049l", own->invocation->out);
    if (has_keys) tcsetattr(STDIN_FILENO, TCSANOW, &before);
    own->redraws = false;
    /* What it showed last stays. */
    return status == LIANA_OK ? show(own) : status;
}

liana_status liana__watch_in_terminal(liana__invocation *invocation, const char *const *folders, size_t count,
                                      bool ascii)
{
    setlocale(LC_CTYPE, "");
    const bool is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    setlocale(LC_CTYPE, "C");
    viewer own = {.invocation = invocation,
                  .folders = folders,
                  .ascii = ascii || !is_utf8,
                  .redraws = isatty(fileno(invocation->out))};
    liana_status status = liana__live_runs_open(&own.runs, folders, count, NULL, &invocation->error);
    if (status == LIANA_OK) status = own.redraws ? show_again(&own) : show(&own);
    liana__live_runs_close(&own.runs);
    return status;
}
