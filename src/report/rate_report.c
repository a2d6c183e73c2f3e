/* Draws and writes the curve of a learning-rate sweep. */
#include "report/reports.h"

#include "base/file.h"
#include "base/format.h"
#include "base/scoped.h"
#include "base/value.h"

#include <math.h>

/* The smoothed loss at a rate of the curve, or between two of them. */
static double smoothed_at(const liana__rate_curve *curve, double rate)
{
    for (size_t i = 0; i + 1 < curve->count; i++) {
        if (curve->rates[i + 1] < rate) continue;
        double share = log(rate / curve->rates[i]) / log(curve->rates[i + 1] / curve->rates[i]);
        return curve->smoothed[i] + share * (curve->smoothed[i + 1] - curve->smoothed[i]);
    }
    return NAN;
}

liana_status liana__report_rates(const liana__rate_curve *curve, const liana__rate_suggestion *suggestion,
                                 const char *path, liana__error *error)
{
    const liana__ink *inks = liana__figure_inks, grey = {0.72, 0.75, 0.80};
    double highest = 0;
    char suggested[80] = "no suggestion", lowest[80];
    for (size_t i = 0; i < curve->count; i++) highest = fmax(highest, curve->smoothed[i]);
    const liana__figure_line lines[] = {
        {.x = curve->rates, .y = curve->losses, .count = curve->count, .ink = grey, .thin = true},
        {.x = curve->rates, .y = curve->smoothed, .count = curve->count, .ink = inks[0]},
    };
    const liana__figure_mark marks[] = {
        {.x = suggestion->lowest, .y = smoothed_at(curve, suggestion->lowest), .ink = inks[2]},
        {.x = suggestion->rate, .y = smoothed_at(curve, suggestion->rate), .ink = inks[1]},
    };
    bool has_rate = isfinite(suggestion->rate);
    if (has_rate) liana__format(suggested, sizeof suggested, "suggested rate: %.2g", suggestion->rate);
    liana__format(lowest, sizeof lowest, "lowest loss at: %.2g", suggestion->lowest);
    const liana__figure_key keys[] = {
        {.name = "smoothed loss", .ink = inks[0]},
        {.name = "loss of each update", .ink = grey, .thin = true},
        {.name = suggested, .ink = inks[1], .ring = true},
        {.name = lowest, .ink = inks[2], .ring = true},
    };
    const liana__figure_panel panel = {.title = "loss by learning rate",
                                       .x_label = "learning rate",
                                       .log_x = true,
                                       .y_most = highest,
                                       .lines = lines,
                                       .num_lines = 2,
                                       .marks = marks,
                                       .num_marks = has_rate ? 2 : 0};
    const liana__figure figure = {
        .keys = keys, .num_keys = has_rate ? 4 : 2, .panels = &panel, .num_panels = 1, .columns = 1};
    return liana__figure_write(path, &figure, error);
}

/* ---- numbers ---- */

static void add_csv(const liana__rate_curve *curve, liana__text *text)
{
    liana__text_add(text, "update,rate,loss,smoothed\r\n");
    for (size_t i = 0; i < curve->count; i++) {
        liana__text_add(text, "%zu,", i + 1);
        liana__text_add_double(text, curve->rates[i]);
        liana__text_add(text, ",");
        liana__text_add_double(text, curve->losses[i]);
        liana__text_add(text, ",");
        liana__text_add_double(text, curve->smoothed[i]);
        liana__text_add(text, "\r\n");
    }
}

static void set_number(liana__arena *arena, liana__value *map, const char *key, double number)
{
    liana__value_set(arena, map, key, isfinite(number) ? liana__value_float(arena, number) : liana__value_null(arena));
}

static void add_json(const liana__rate_curve *curve, const liana__rate_suggestion *suggestion, liana__arena *arena,
                     liana__text *text)
{
    liana__value *root = liana__value_map(arena), *updates = liana__value_list(arena);
    set_number(arena, root, "suggested", suggestion->rate);
    set_number(arena, root, "steepest", suggestion->steepest);
    set_number(arena, root, "lowest", suggestion->lowest);
    liana__value_set(arena, root, "diverged", liana__value_bool(arena, curve->diverged));
    liana__value_set(arena, root, "reason", liana__value_string(arena, suggestion->reason));
    for (size_t i = 0; i < curve->count; i++) {
        liana__value *update = liana__value_map(arena);
        liana__value_set(arena, update, "update", liana__value_int(arena, (int64_t)i + 1));
        set_number(arena, update, "rate", curve->rates[i]);
        set_number(arena, update, "loss", curve->losses[i]);
        set_number(arena, update, "smoothed", curve->smoothed[i]);
        liana__value_add(arena, updates, update);
    }
    liana__value_set(arena, root, "updates", updates);
    if (root && !arena->failed) liana__value_write_json(root, 2, text);
}

liana_status liana__report_rate_numbers(const liana__rate_curve *curve, const liana__rate_suggestion *suggestion,
                                        const char *path, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__text) text = {0};
    if (liana__ends_with(path, ".json")) {
        add_json(curve, suggestion, &arena, &text);
    } else {
        add_csv(curve, &text);
    }
    bool enough = text.data && !text.failed && !arena.failed;
    return enough ? liana__file_replace(path, text.data, text.length, error) : liana__fail_memory(error, path);
}
