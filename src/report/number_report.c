/* Draws how near a run's numbers are to the true ones. */
#include "report/examine.h"

#include "base/text.h"

/* A page or picture has at most so many values of an output, and so many examples of each. */
enum { MOST_VALUES = 6, MOST_POINTS = 1000 };

static const liana__ink grey = {0.45, 0.48, 0.52};

typedef struct reporter {
    liana__examined *examined;
    const liana__drawings *drawings;
    liana__arena *arena;
    liana__error *error;
} reporter;

/* One value of an output, with its errors over all examples that were kept. */
typedef struct value {
    const liana__examined_output *output;
    size_t index;
    double absolute, squared, r2; /* mean errors; r2 NaN: all true values are equal */
    double low, high;             /* of true and predicted values */
    double predicted_low, predicted_high;
    size_t count; /* of examples where both are finite */
} value;

static double predicted(const value *own, size_t i)
{
    return (double)own->output->values[i * own->output->width + own->index];
}

static double truth(const value *own, size_t i)
{
    return (double)own->output->targets[i * own->output->width + own->index];
}

static bool is_known(const value *own, size_t i)
{
    return isfinite(predicted(own, i)) && isfinite(truth(own, i));
}

static void measure(value *own)
{
    double sum = 0, spread = 0;
    own->low = own->predicted_low = INFINITY;
    own->high = own->predicted_high = -INFINITY;
    for (size_t i = 0; i < own->output->num_kept; i++) {
        if (!is_known(own, i)) continue;
        const double said = predicted(own, i), right = truth(own, i);
        own->absolute += fabs(said - right);
        own->squared += (said - right) * (said - right);
        own->low = fmin(own->low, fmin(said, right));
        own->high = fmax(own->high, fmax(said, right));
        own->predicted_low = fmin(own->predicted_low, said);
        own->predicted_high = fmax(own->predicted_high, said);
        sum += right;
        own->count++;
    }
    for (size_t i = 0; i < own->output->num_kept; i++) {
        const double from_mean = is_known(own, i) ? truth(own, i) - sum / (double)own->count : 0;
        spread += from_mean * from_mean;
    }
    own->r2 = spread > 0 ? 1 - own->squared / spread : NAN;
    own->absolute /= (double)own->count;
    own->squared /= (double)own->count;
}

/* Points of evenly chosen examples: of the prediction by the truth, or of the error by the prediction. */
static size_t add_points(const value *own, bool residuals, liana__figure_mark *marks)
{
    const size_t step = own->output->num_kept / MOST_POINTS + 1;
    size_t count = 0;
    for (size_t i = 0; i < own->output->num_kept; i += step) {
        if (!is_known(own, i)) continue;
        const double said = predicted(own, i), right = truth(own, i);
        marks[count++] = (liana__figure_mark){.x = residuals ? said : right,
                                              .y = residuals ? said - right : said,
                                              .ink = liana__figure_inks[0],
                                              .dot = true};
    }
    return count;
}

/* The line on which a perfect model's points would be. */
static const liana__figure_line *perfect_line(const reporter *own, const value *of, bool residuals)
{
    liana__figure_line *line = liana__arena_allocate(own->arena, sizeof *line);
    double *ends = liana__arena_allocate(own->arena, 4 * sizeof *ends);
    if (!line || !ends) return NULL;
    ends[0] = residuals ? of->predicted_low : of->low;
    ends[1] = residuals ? of->predicted_high : of->high;
    ends[2] = residuals ? 0 : of->low;
    ends[3] = residuals ? 0 : of->high;
    *line = (liana__figure_line){
        .name = "perfect", .x = ends, .y = ends + 2, .count = 2, .ink = grey, .dashed = true, .thin = true};
    return line;
}

static const char *value_name(const reporter *own, const value *of)
{
    const char *name = liana__isolate(own->arena, of->output->name);
    return of->output->width == 1 ? name : liana__arena_format(own->arena, "%s %zu", name, of->index);
}

static void add_panel(const reporter *own, const value *of, bool residuals, liana__figure_panel *panel)
{
    const char *name = value_name(own, of);
    liana__figure_mark *marks = liana__arena_allocate(own->arena, (MOST_POINTS + 1) * sizeof *marks);
    const liana__figure_line *line = perfect_line(own, of, residuals);
    if (!name || !marks || !line) return;
    *panel = (liana__figure_panel){
        .title = residuals ? liana__arena_format(own->arena, "%s: residuals", name)
                           : liana__arena_format(own->arena, "%s: mean absolute error %.4g, R2 %.4f", name,
                                                 of->absolute, of->r2),
        .x_label = residuals ? "predicted" : "true",
        .y_label = residuals ? "predicted - true" : "predicted",
        .lines = line,
        .num_lines = 1,
        .marks = marks,
        .num_marks = add_points(of, residuals, marks),
    };
}

static liana_status draw_output(const reporter *own, const liana__examined_output *output)
{
    liana__figure_panel panels[2 * MOST_VALUES];
    size_t count = 0;
    for (size_t i = 0; i < output->width && i < MOST_VALUES; i++) {
        value of = {.output = output, .index = i};
        measure(&of);
        if (!of.count) continue;
        add_panel(own, &of, false, &panels[count++]);
        add_panel(own, &of, true, &panels[count++]);
        if (own->arena->failed) return liana__fail_memory(own->error, "the predicted numbers");
    }
    if (!count) return LIANA_OK;
    const liana__objective *objective = liana__trainer_objective(own->examined->run->core.trainer);
    const char *name =
        objective->num_outputs == 1 ? "predicted" : liana__arena_format(own->arena, "%s_predicted", output->name);
    const liana__figure_key keys[2] = {{.name = "an example", .ink = liana__figure_inks[0], .ring = true},
                                       {.name = "perfect", .ink = grey, .dashed = true, .thin = true}};
    const liana__figure figure = {.keys = keys, .num_keys = 2, .panels = panels, .num_panels = count, .columns = 2};
    const liana__drawing drawing = {.name = name, .kind = LIANA__DRAWING_FIGURE, .figure = &figure};
    return name ? liana__drawings_add(own->drawings, &drawing, own->error)
                : liana__fail_memory(own->error, "the predicted numbers");
}

liana_status liana__report_numbers(liana__examined *examined, const liana__drawings *drawings, liana__error *error)
{
    const reporter own = {.examined = examined, .drawings = drawings, .arena = &examined->arena, .error = error};
    for (size_t i = 0; i < examined->num_outputs; i++) {
        if (!examined->outputs[i].classes.count) LIANA_TRY(draw_output(&own, &examined->outputs[i]));
    }
    return LIANA_OK;
}
