/* Draws the curves and the predictions of a trained run. */
#include "report/examine.h"
#include "report/reports.h"
#include "report/run_plot.h"

#include "base/value_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cells are wide enough for the names of most classes. */
enum { CELL_SIZE = 168, MAX_PANELS = LIANA__CURVES_MOST_PANELS };

/* ---- predictions ---- */

static liana_status draw_images(liana__examined *examined, const liana__examined_images *images, const char *name,
                                const char *title, const liana__drawings *drawings, liana__error *error)
{
    const int64_t *shape = examined->run->image_shape;
    const liana__examined_output *output = &examined->outputs[0];
    liana__grid_item items[LIANA__EXAMINED_MOST_PICTURES];
    for (size_t i = 0; i < images->count; i++) {
        const liana__examined_image *image = &images->items[i];
        items[i] = (liana__grid_item){
            .pixels = image->pixels,
            .height = (int)shape[0],
            .width = (int)shape[1],
            .channels = (int)shape[2],
            .predicted = liana__examined_class(examined, output, image->said),
            .truth = image->truth >= 0 ? liana__examined_class(examined, output, (size_t)image->truth) : NULL,
            .confidence = image->confidence,
            .truth_probability = image->truth_probability,
            .id = image->id,
        };
    }
    if (examined->arena.failed) return liana__fail_memory(error, "the images");
    const liana__grid_options options = {.title = title, .cell_size = CELL_SIZE};
    const liana__drawing drawing = {.name = name,
                                    .kind = LIANA__DRAWING_GRID,
                                    .grid = {items, images->count, &options}};
    return liana__drawings_add(drawings, &drawing, error);
}

liana_status liana__report_predictions(liana__examined *examined, const liana__drawings *drawings, liana__error *error)
{
    const liana__examined_images *chosen = &examined->chosen;
    char title[80];
    size_t right = 0;
    if (!examined->has_images) return LIANA_OK;
    for (size_t i = 0; i < chosen->count; i++) right += chosen->items[i].truth == (int)chosen->items[i].said;
    snprintf(title, sizeof title, "Validation images: %zu of these %zu are right", right, chosen->count);
    LIANA_TRY(draw_images(examined, chosen, "predictions", title, drawings, error));
    LIANA_TRY(draw_images(examined, &examined->mistakes, "mistakes",
                          "The worst mistakes: the true class has the lowest probability", drawings, error));
    return draw_images(examined, &examined->uncertain, "uncertain", "The least certain predictions", drawings, error);
}

/* ---- curves ---- */

/* The values of a key in each epoch; NULL if no epoch has it. */
static const double *curve(const liana__value *epochs, const char *key, liana__arena *arena)
{
    double *values = liana__arena_allocate(arena, (epochs->count + 1) * sizeof *values);
    bool any = false;
    for (size_t i = 0; values && i < epochs->count; i++) {
        const liana__value *epoch = epochs->items[i];
        values[i] = liana__value_number_of(epoch, key, NAN);
        any |= liana__value_is_number(liana__value_get(epoch, key));
    }
    return any ? values : NULL;
}

static void add_marks(const liana__run_files *run, liana__curve_panel *panels, size_t num_panels, liana__arena *arena)
{
    liana__run_decisions decisions = liana__run_files_decisions(run, arena);
    for (size_t i = 0; i < num_panels && decisions.count; i++) {
        if (strcmp(panels[i].name, decisions.measure) != 0) continue;
        panels[i].marks = decisions.marks;
        panels[i].num_marks = decisions.count;
    }
}

liana_status liana__report_curves(const liana__run_files *run, const char *path, liana__arena *arena,
                                  liana__error *error)
{
    liana__curve_panel panels[MAX_PANELS];
    size_t num_panels = 0;
    const liana__value *epochs = run->epochs, *first = epochs->items[0];
    for (size_t i = 0; i < first->count && num_panels < MAX_PANELS; i++) {
        const char *key = first->keys[i];
        if (!liana__history_is_measure(key) || strncmp(key, "val_", 4) == 0) continue;
        const char *validation_key = liana__arena_format(arena, "val_%s", key);
        if (!validation_key) break;
        const double *train = curve(epochs, key, arena);
        if (!train) continue; /* a list by class */
        panels[num_panels++] = (liana__curve_panel){
            .name = key,
            .train = train,
            .validation = curve(epochs, validation_key, arena),
            .higher_is_better = !liana__monitor_falls(key),
        };
    }
    add_marks(run, panels, num_panels, arena);
    if (arena->failed) return liana__fail_memory(error, path);
    return liana__curves_write(path, NULL, panels, num_panels, epochs->count, error);
}
