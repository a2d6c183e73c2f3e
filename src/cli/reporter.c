/* Decides when progress is printed, and prints it. */
#include "cli/reporter.h"

#include "base/format.h"
#include "cli/command.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

void liana__reporter_init(liana__reporter *reporter, FILE *stream, bool json)
{
    static const double intervals[] = {
        [LIANA__REPORTER_BAR] = 0.1,
        [LIANA__REPORTER_LINES] = 30,
        [LIANA__REPORTER_JSON] = 1,
    };
    bool terminal = isatty(fileno(stream));
    liana__reporter_mode mode = json ? LIANA__REPORTER_JSON : terminal ? LIANA__REPORTER_BAR : LIANA__REPORTER_LINES;
    *reporter = (liana__reporter){
        .stream = stream,
        .mode = mode,
        .interval = intervals[mode],
        .printed = -1,
    };
}

static void end_line(liana__reporter *reporter)
{
    if (reporter->line_open) fputc('\n', reporter->stream);
    reporter->line_open = false;
}

/* Without a reader, there is nothing more to print. */
static void flush(liana__reporter *reporter)
{
    if (fflush(reporter->stream) != 0) reporter->unread = liana__output_is_unread(reporter->stream);
}

static void print_bar(liana__reporter *reporter, const liana__progress *progress)
{
    if (reporter->epoch != progress->epoch) {
        end_line(reporter);
        fprintf(reporter->stream, "Epoch %" PRId64, progress->epoch);
        if (progress->epochs > 0) fprintf(reporter->stream, "/%" PRId64, progress->epochs);
        fputc('\n', reporter->stream);
        reporter->epoch = progress->epoch;
    }
    int width = reporter->width ? reporter->width : liana__terminal_width(reporter->stream);
    liana__progress_render_bar(progress, width, &reporter->text);
    /* Back to the first column, the line, and nothing left of a longer one before it. */
    fputc('\r', reporter->stream);
    const char *line = reporter->text.data ? reporter->text.data : "";
    for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
        fprintf(reporter->stream, "%.*s\x1b[K\n", (int)(end - line), line);
    }
    fprintf(reporter->stream, "%s\x1b[K", line);
    reporter->line_open = true;
    if (progress->phase == LIANA__PHASE_EPOCH_DONE) end_line(reporter);
}

/* As a line, or as JSON. */
static void print_text(liana__reporter *reporter, const liana__progress *progress)
{
    reporter->text.length = 0;
    if (reporter->mode == LIANA__REPORTER_JSON) {
        liana__progress_render_json(progress, &reporter->text);
    } else {
        liana__progress_render_line(progress, &reporter->text);
    }
    const char *end = reporter->line_open ? "\x1b[K" : "";
    if (reporter->line_open) fputc('\r', reporter->stream);
    if (reporter->text.data) fprintf(reporter->stream, "%s%s\n", reporter->text.data, end);
    reporter->line_open = false;
}

void liana__reporter_log(liana__reporter *reporter, const liana__progress *progress)
{
    if (reporter->unread) return;
    print_text(reporter, progress);
    flush(reporter);
}

void liana__reporter_update(liana__reporter *reporter, const liana__progress *progress, double now)
{
    if (reporter->unread) return;
    bool first = reporter->printed < 0;
    bool due = first ? reporter->mode == LIANA__REPORTER_BAR : now - reporter->printed >= reporter->interval;
    if (first) reporter->printed = now;
    if (!due && progress->phase != LIANA__PHASE_EPOCH_DONE) return;
    if (reporter->logs && reporter->mode == LIANA__REPORTER_LINES && progress->phase == LIANA__PHASE_TRAIN) return;
    reporter->printed = now;
    if (reporter->mode == LIANA__REPORTER_BAR) {
        reporter->text.length = 0;
        print_bar(reporter, progress);
    } else {
        print_text(reporter, progress);
    }
    flush(reporter);
}

void liana__reporter_note(liana__reporter *reporter, const char *format, ...)
{
    if (reporter->unread) return;
    char message[2304];
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(message, sizeof message, format, arguments);
    va_end(arguments);
    liana__escape_controls(message, sizeof message);
    end_line(reporter);
    if (reporter->mode == LIANA__REPORTER_JSON) {
        liana__arena arena = {0};
        liana__value *event = liana__value_map(&arena);
        liana__value_set(&arena, event, "event", liana__value_string(&arena, "note"));
        liana__value_set(&arena, event, "message", liana__value_string(&arena, message));
        reporter->text.length = 0;
        if (event && !arena.failed) liana__value_write_json(event, 0, &reporter->text);
        if (reporter->text.length) fprintf(reporter->stream, "%s\n", reporter->text.data);
        liana__arena_free(&arena);
    } else {
        fprintf(reporter->stream, "%s\n", message);
    }
    flush(reporter);
}

void liana__reporter_free(liana__reporter *reporter)
{
    if (!reporter->unread) end_line(reporter);
    if (!reporter->unread) flush(reporter);
    liana__text_free(&reporter->text);
}
