#include "cli/progress.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { WIDEST_BAR = 30, NARROWEST_BAR = 10, MOST_PARTS = LIANA__PROGRESS_MAX_METRICS + 4 };

static double images_per_second(const liana__progress *progress)
{
    return progress->seconds > 0 ? (double)progress->images / progress->seconds : 0;
}

static void add_rate(liana__text *text, const liana__progress *progress)
{
    double rate = images_per_second(progress);
    liana__text_add(text, rate < 9.95 ? "%.1f images/s" : "%.0f images/s", rate);
}

/* As Keras: four decimals, or an exponent for what they would not show. */
static void add_number(liana__text *text, double number)
{
    double size = fabs(number);
    bool plain = size == 0 || (size > 1e-3 && size < 1e6) || isnan(number);
    liana__text_add(text, plain ? "%.4f" : "%.4e", isnan(number) ? NAN : number);
}

/* "12s", "1:05", "1:02:03" */
static void add_time(liana__text *text, double seconds)
{
    int64_t whole = seconds > 0 && seconds < 1e15 ? (int64_t)(seconds + 0.5) : 0;
    if (whole < 60) {
        liana__text_add(text, "%" PRId64 "s", whole);
    } else if (whole < 3600) {
        liana__text_add(text, "%" PRId64 ":%02" PRId64, whole / 60, whole % 60);
    } else {
        liana__text_add(text, "%" PRId64 ":%02" PRId64 ":%02" PRId64, whole / 3600, whole / 60 % 60, whole % 60);
    }
}

static void add_clock(liana__text *text, const liana__progress *progress)
{
    bool known = progress->phase != LIANA__PHASE_EPOCH_DONE && progress->steps > 0 && progress->step > 0;
    if (known) {
        double left = (double)(progress->steps - progress->step);
        liana__text_add(text, "ETA: ");
        add_time(text, progress->seconds / (double)progress->step * left);
    } else {
        add_time(text, progress->seconds);
    }
}

static int digits(int64_t number)
{
    int count = 1;
    for (; number >= 10; number /= 10) count++;
    return count;
}

/* " 7/26", "7/?" */
static void add_count(liana__text *text, const liana__progress *progress)
{
    if (progress->steps > 0) {
        liana__text_add(text, "%*" PRId64 "/%" PRId64, digits(progress->steps), progress->step, progress->steps);
    } else {
        liana__text_add(text, "%" PRId64 "/?", progress->step);
    }
}

/* " [=====>....]" with `length` columns inside. */
static void add_bar(liana__text *text, const liana__progress *progress, int length)
{
    double share = (double)progress->step / (double)progress->steps;
    int filled = share >= 1 ? length : share > 0 ? (int)(share * length) : 0;
    liana__text_add(text, " [");
    for (int i = 0; i < length; i++) {
        bool head = i == filled - 1 && filled < length;
        liana__text_add(text, i >= filled ? "." : head ? ">" : "=");
    }
    liana__text_add(text, "]");
}

/* The parts behind the bar, the most wanted first; returns how many. `ends` are their ends in `text`. */
static size_t add_parts(liana__text *text, const liana__progress *progress, size_t ends[MOST_PARTS])
{
    size_t count = 0;
    liana__text_add(text, " - ");
    add_clock(text, progress);
    ends[count++] = text->length;
    liana__text_add(text, " - loss: ");
    add_number(text, progress->loss);
    ends[count++] = text->length;
    for (size_t i = 0; i < progress->num_metrics && i < LIANA__PROGRESS_MAX_METRICS; i++) {
        liana__text_add(text, " - %s: ", progress->metrics[i].name);
        add_number(text, progress->metrics[i].value);
        ends[count++] = text->length;
    }
    liana__text_add(text, " - ");
    add_rate(text, progress);
    ends[count++] = text->length;
    liana__text_add(text, " - input %.0f%%", 100 * progress->input_wait);
    ends[count++] = text->length;
    if (progress->bad_records) {
        liana__text_add(text, " - bad records: %" PRId64, progress->bad_records);
        ends[count++] = text->length;
    }
    return count;
}

void liana__progress_render_bar(const liana__progress *progress, int width, liana__text *text)
{
    enum { FRAME = 3 }; /* " [" and "]" */
    size_t room = width > 1 ? (size_t)width - 1 : 1, start = text->length;
    liana__text parts = {0};
    size_t ends[MOST_PARTS];
    size_t count = add_parts(&parts, progress, ends);
    if (progress->phase == LIANA__PHASE_VALIDATE) liana__text_add(text, "validation ");
    add_count(text, progress);
    size_t used = text->length - start;
    size_t rest = room > used ? room - used : 0;
    bool has_bar = progress->steps > 0;
    size_t bar = 0;
    if (has_bar && rest >= parts.length + FRAME + NARROWEST_BAR) {
        bar = rest - parts.length - FRAME;
        if (bar > WIDEST_BAR) bar = WIDEST_BAR;
        add_bar(text, progress, (int)bar);
    }
    while (bar == 0 && count > 0 && ends[count - 1] > rest) count--;
    if (count && !parts.failed) liana__text_add_bytes(text, parts.data, ends[count - 1]);
    if (text->data && text->length - start > room) {
        text->length = start + room;
        text->data[text->length] = 0;
    }
    text->failed = text->failed || parts.failed;
    liana__text_free(&parts);
}

void liana__progress_render_line(const liana__progress *progress, liana__text *text)
{
    const char *what = progress->phase == LIANA__PHASE_VALIDATE ? "validation step" : "step";
    liana__text_add(text, "epoch %" PRId64 "/%" PRId64 ": %s %" PRId64, progress->epoch, progress->epochs, what,
                    progress->step);
    if (progress->steps > 0) liana__text_add(text, "/%" PRId64, progress->steps);
    liana__text_add(text, ", %.1f s, loss ", progress->seconds);
    add_number(text, progress->loss);
    for (size_t i = 0; i < progress->num_metrics && i < LIANA__PROGRESS_MAX_METRICS; i++) {
        liana__text_add(text, ", %s ", progress->metrics[i].name);
        add_number(text, progress->metrics[i].value);
    }
    liana__text_add(text, ", ");
    add_rate(text, progress);
    liana__text_add(text, ", input wait %.0f%%", 100 * progress->input_wait);
    if (progress->bad_records) liana__text_add(text, ", bad records %" PRId64, progress->bad_records);
}

void liana__progress_render_json(const liana__progress *progress, liana__text *text)
{
    static const char *const events[] = {
        [LIANA__PHASE_TRAIN] = "step",
        [LIANA__PHASE_VALIDATE] = "validation",
        [LIANA__PHASE_EPOCH_DONE] = "epoch",
    };
    liana__arena arena = {0};
    liana__value *event = liana__value_map(&arena);
    liana__value *steps = progress->steps > 0 ? liana__value_int(&arena, progress->steps) : liana__value_null(&arena);
    liana__value_set(&arena, event, "event", liana__value_string(&arena, events[progress->phase]));
    liana__value_set(&arena, event, "epoch", liana__value_int(&arena, progress->epoch));
    liana__value_set(&arena, event, "epochs", liana__value_int(&arena, progress->epochs));
    liana__value_set(&arena, event, "step", liana__value_int(&arena, progress->step));
    liana__value_set(&arena, event, "steps", steps);
    liana__value_set(&arena, event, "seconds", liana__value_float(&arena, progress->seconds));
    liana__value_set(&arena, event, "images", liana__value_int(&arena, progress->images));
    liana__value_set(&arena, event, "images_per_second", liana__value_float(&arena, images_per_second(progress)));
    liana__value_set(&arena, event, "loss", liana__value_float(&arena, progress->loss));
    for (size_t i = 0; i < progress->num_metrics && i < LIANA__PROGRESS_MAX_METRICS; i++) {
        const liana__progress_metric *metric = &progress->metrics[i];
        liana__value_set(&arena, event, metric->name, liana__value_float(&arena, metric->value));
    }
    liana__value_set(&arena, event, "input_wait", liana__value_float(&arena, progress->input_wait));
    if (progress->bad_records) {
        liana__value_set(&arena, event, "bad_records", liana__value_int(&arena, progress->bad_records));
    }
    if (arena.failed || !event) {
        text->failed = true;
    } else {
        liana__value_write_json(event, 0, text);
    }
    liana__arena_free(&arena);
}
