/* Numbers of a running training as lines of text. */
#include "cli/reporter.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { WIDEST_BAR = 30, NARROWEST_BAR = 10, MOST_PARTS = LIANA__PROGRESS_MAX_METRICS + 4 };

static double examples_per_second(const liana__progress *progress)
{
    return progress->seconds > 0 ? (double)progress->examples / progress->seconds : 0;
}

static void add_rate(liana__text *text, const liana__progress *progress)
{
    double rate = examples_per_second(progress);
    liana__text_add(text, rate < 9.95 ? "%.1f %s/s" : "%.0f %s/s", rate, progress->no_images ? "examples" : "images");
}

/* Like Keras: four decimals, or an exponent for very small or large numbers. */
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

/* How much a part is wanted where not all fit. */
typedef enum rank { RANK_INPUT, RANK_RATE, RANK_CLOCK, RANK_BAD_RECORDS, RANK_METRIC } rank;

/* The text after the bar: pieces of one text. */
typedef struct parts {
    liana__text text;
    size_t count;
    size_t ends[MOST_PARTS];
    rank ranks[MOST_PARTS];
    bool kept[MOST_PARTS];
    size_t first_validation; /* the first part of the validation's; `count`: missing */
} parts;

static void end_part(parts *own, rank wanted)
{
    own->ends[own->count] = own->text.length;
    own->kept[own->count] = true;
    own->ranks[own->count++] = wanted;
}

static size_t start_of(const parts *own, size_t index)
{
    return index ? own->ends[index - 1] : 0;
}

static size_t length_of(const parts *own)
{
    size_t length = 0;
    for (size_t i = 0; i < own->count; i++) {
        if (own->kept[i]) length += own->ends[i] - start_of(own, i);
    }
    return length;
}

/* During validation, the training's results are known and less important. */
static rank rank_of_training(const liana__progress *progress)
{
    return progress->phase == LIANA__PHASE_VALIDATE ? RANK_RATE : RANK_METRIC;
}

static void add_parts(parts *own, const liana__progress *progress)
{
    liana__text *text = &own->text;
    own->first_validation = MOST_PARTS;
    liana__text_add(text, " - ");
    add_clock(text, progress);
    end_part(own, RANK_CLOCK);
    liana__text_add(text, " - loss: ");
    add_number(text, progress->loss);
    end_part(own, rank_of_training(progress));
    for (size_t i = 0; i < progress->num_metrics && i < LIANA__PROGRESS_MAX_METRICS; i++) {
        bool validation = liana__starts_with(progress->metrics[i].name, "val_");
        if (validation && own->first_validation == MOST_PARTS) own->first_validation = own->count;
        liana__text_add(text, " - %s: ", progress->metrics[i].name);
        add_number(text, progress->metrics[i].value);
        end_part(own, validation ? RANK_METRIC : rank_of_training(progress));
    }
    liana__text_add(text, " - ");
    add_rate(text, progress);
    end_part(own, RANK_RATE);
    liana__text_add(text, " - input %.0f%%", 100 * progress->input_wait);
    end_part(own, RANK_INPUT);
    if (!progress->bad_records) return;
    liana__text_add(text, " - bad records: %" PRId64, progress->bad_records);
    end_part(own, RANK_BAD_RECORDS);
}

/* The least wanted go first, of equal ones the last. Returns whether all that ranks above `spared` is still there. */
static bool drop_parts(parts *own, size_t room, rank spared)
{
    bool complete = true;
    while (length_of(own) > room) {
        size_t least = own->count;
        for (size_t i = 0; i < own->count; i++) {
            if (own->kept[i] && (least == own->count || own->ranks[i] <= own->ranks[least])) least = i;
        }
        if (least == own->count) break;
        own->kept[least] = false;
        complete = complete && own->ranks[least] <= spared;
    }
    return complete;
}

static void add_kept(liana__text *text, const parts *own)
{
    for (size_t i = 0; i < own->count && !own->text.failed; i++) {
        size_t start = start_of(own, i);
        if (own->kept[i]) liana__text_add_bytes(text, own->text.data + start, own->ends[i] - start);
    }
}

/* All parts on as many lines as they take; the validation's begin one. `used` columns are taken in the first. */
static void add_wrapped(liana__text *text, const parts *own, size_t used, size_t room)
{
    size_t column = used;
    for (size_t i = 0; i < own->count && !own->text.failed; i++) {
        size_t start = start_of(own, i), length = own->ends[i] - start;
        if (column > used && (column + length > room || i == own->first_validation)) {
            liana__text_add(text, "\n%*s", (int)used, "");
            column = used;
        }
        liana__text_add_bytes(text, own->text.data + start, length);
        column += length;
    }
}

void liana__progress_render_bar(const liana__progress *progress, int width, liana__text *text)
{
    enum { FRAME = 3, LEAST_WRAPPED = 40 }; /* " [" and "]" */
    size_t room = width > 1 ? (size_t)width - 1 : 1, start = text->length;
    parts own = {0};
    add_parts(&own, progress);
    if (progress->phase == LIANA__PHASE_VALIDATE) liana__text_add(text, "validation ");
    add_count(text, progress);
    size_t used = text->length - start, rest = room > used ? room - used : 0;
    if (progress->steps > 0 && rest >= own.text.length + FRAME + NARROWEST_BAR) {
        size_t bar = rest - own.text.length - FRAME;
        add_bar(text, progress, bar > WIDEST_BAR ? WIDEST_BAR : (int)bar);
    }
    bool complete = drop_parts(&own, rest, RANK_RATE);
    bool wrapped = !complete && progress->phase == LIANA__PHASE_EPOCH_DONE && room >= LEAST_WRAPPED;
    if (wrapped) {
        add_wrapped(text, &own, used, room);
    } else {
        add_kept(text, &own);
    }
    if (text->data && !wrapped && text->length - start > room) {
        text->length = start + room;
        text->data[text->length] = 0;
    }
    text->failed = text->failed || own.text.failed;
    liana__text_free(&own.text);
}

void liana__progress_render_line(const liana__progress *progress, liana__text *text)
{
    const char *what = progress->phase == LIANA__PHASE_VALIDATE ? "validation step" : "step";
    if (progress->phase == LIANA__PHASE_LOG) liana__text_add(text, "global step %" PRId64 ", ", progress->global_step);
    liana__text_add(text, "epoch %" PRId64, progress->epoch);
    if (progress->epochs > 0) liana__text_add(text, "/%" PRId64, progress->epochs);
    liana__text_add(text, ": %s %" PRId64, what, progress->step);
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
        [LIANA__PHASE_LOG] = "log",
    };
    liana__arena arena = {0};
    liana__value *event = liana__value_map(&arena);
    liana__value *steps = progress->steps > 0 ? liana__value_int(&arena, progress->steps) : liana__value_null(&arena);
    liana__value *epochs =
        progress->epochs > 0 ? liana__value_int(&arena, progress->epochs) : liana__value_null(&arena);
    liana__value_set(&arena, event, "event", liana__value_string(&arena, events[progress->phase]));
    liana__value_set(&arena, event, "epoch", liana__value_int(&arena, progress->epoch));
    liana__value_set(&arena, event, "epochs", epochs);
    liana__value_set(&arena, event, "step", liana__value_int(&arena, progress->step));
    liana__value_set(&arena, event, "steps", steps);
    liana__value_set(&arena, event, "global_step", liana__value_int(&arena, progress->global_step));
    liana__value_set(&arena, event, "seconds", liana__value_float(&arena, progress->seconds));
    /* Both by their old names too. */
    static const char *const counts[] = {"examples", "images"};
    static const char *const rates[] = {"examples_per_second", "images_per_second"};
    for (int i = 0; i < 2; i++) {
        liana__value_set(&arena, event, counts[i], liana__value_int(&arena, progress->examples));
        liana__value_set(&arena, event, rates[i], liana__value_float(&arena, examples_per_second(progress)));
    }
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
