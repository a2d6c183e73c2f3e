/* Draws pictures of a trained run. */
#include "report/reports.h"

#include "base/value_read.h"
#include "formats/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cells are wide enough for the names of most classes. */
enum { MAX_IMAGES = 24, CELL_SIZE = 168, MAX_PANELS = LIANA__CURVES_MOST_PANELS };

/* ---- predictions ---- */

/* The images that are drawn, gathered batch by batch. Pixels are copies: batches are given back. */
typedef struct gathering {
    liana__run *run;
    liana__strings class_names;
    liana__arena arena;
    float *outputs; /* of one batch of this loader */
    liana__grid_item items[MAX_IMAGES];
    size_t count;
    size_t num_right;
    liana__error *error;
} gathering;

static const char *class_name(gathering *own, int64_t label)
{
    const liana__strings *names = &own->class_names;
    return (size_t)label < names->count ? names->items[label]
                                        : liana__arena_format(&own->arena, "class %lld", (long long)label);
}

static void add_image(gathering *own, const liana__batch *batch, int64_t index)
{
    const liana__run *run = own->run;
    const int truth = liana__run_true_class(run, liana__trainer_targets(run->core.trainer, batch, 0), index);
    const float *output = own->outputs + index * liana__trainer_row_size(run->core.trainer);
    float both[2];
    size_t num_classes;
    const float *probabilities = liana__run_probabilities(run, output, both, &num_classes);
    const size_t best = liana__run_said_class(run, probabilities, num_classes);
    size_t size = (size_t)(run->image_shape[0] * run->image_shape[1] * run->image_shape[2]);
    uint8_t *pixels = liana__arena_allocate(&own->arena, size);
    if (!pixels) return;
    liana__batch_pixels(batch, index, size, pixels);
    own->num_right += truth == (int)best;
    own->items[own->count++] = (liana__grid_item){
        .pixels = pixels,
        .height = (int)run->image_shape[0],
        .width = (int)run->image_shape[1],
        .channels = (int)run->image_shape[2],
        .predicted = class_name(own, (int64_t)best),
        .truth = class_name(own, truth),
        .confidence = (double)probabilities[best],
    };
}

static liana_status evaluate_batch(gathering *own, const liana__batch *batch)
{
    if (batch->count == 0) return LIANA_OK; /* no record of it can be read */
    const float *sums;
    return liana__step_measure(own->run->core.trainer->step, batch, own->outputs, &sums, own->error);
}

/* Records that cannot be read have no row in the batch. */
static void add_position(gathering *own, const liana__batch *batch, uint64_t position)
{
    for (int64_t i = 0; i < batch->count; i++) {
        if (batch->positions[i] == position) add_image(own, batch, i);
    }
}

/* Image k of `wanted` is example k * total / wanted; each batch with such examples is run once. */
static liana_status gather(gathering *own)
{
    liana__loader *loader = own->run->validation.loader;
    uint64_t total = liana__loader_epoch_length(loader, 0), wanted = total < MAX_IMAGES ? total : MAX_IMAGES;
    const uint64_t batch_size = (uint64_t)liana__loader_batch_size(loader);
    for (uint64_t k = 0; k < wanted;) {
        uint64_t step = k * total / wanted / batch_size;
        LIANA_TRY(liana__loader_begin(loader, 0, step, own->error));
        liana__batch *batch;
        LIANA_TRY(liana__loader_next(loader, &batch, own->error));
        liana_status status = evaluate_batch(own, batch);
        for (; status == LIANA_OK && k < wanted && k * total / wanted / batch_size == step; k++) {
            add_position(own, batch, k * total / wanted);
        }
        liana__loader_release(loader, batch);
        LIANA_TRY(status);
    }
    return own->arena.failed ? liana__fail_memory(own->error, "the images") : LIANA_OK;
}

liana_status liana__report_predictions(liana__run *run, const char *path, liana__error *error)
{
    gathering own = {.run = run, .class_names = liana__run_output_names(run, 0), .error = error};
    const int64_t batch_size = liana__loader_batch_size(run->validation.loader);
    size_t num_outputs = (size_t)(batch_size * liana__trainer_row_size(run->core.trainer));
    own.outputs = malloc(num_outputs * sizeof *own.outputs);
    liana_status status = own.outputs ? gather(&own) : liana__fail_memory(error, "the model's outputs");
    if (status == LIANA_OK) {
        char title[64];
        snprintf(title, sizeof title, "Validation images: %zu of these %zu are right", own.num_right, own.count);
        status = liana__grid_write(path, own.items, own.count,
                                   &(liana__grid_options){.title = title, .cell_size = CELL_SIZE}, error);
    }
    free(own.outputs);
    liana__arena_free(&own.arena);
    return status;
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

/* The decisions of train.control, in the panel of the metric that they watched. An epoch's decisions lie evenly within
 * it. */
static void add_marks(const liana__value *history, liana__curve_panel *panels, size_t num_panels, liana__arena *arena)
{
    const liana__value *decisions = liana__value_list_of(history, "decisions");
    const size_t count = decisions ? decisions->count : 0;
    const liana__value *monitor = count ? liana__value_get(decisions->items[0], "monitor") : NULL;
    liana__curve_mark *marks = liana__arena_allocate(arena, (count + 1) * sizeof *marks);
    if (!marks || !monitor || monitor->kind != LIANA__VALUE_STRING) return;
    const double epochs = (double)liana__value_get(history, "epochs")->count;
    const double updates = liana__value_number_of(decisions->items[count - 1], "update", NAN);
    const double last_epoch = liana__value_number_of(decisions->items[count - 1], "epoch", NAN);
    for (size_t i = 0; i < count; i++) {
        const liana__value *one = decisions->items[i], *accepted = liana__value_get(one, "accepted");
        double share = liana__value_number_of(one, "update", NAN) / updates;
        marks[i] = (liana__curve_mark){.epoch = share * fmin(last_epoch, epochs),
                                       .value = liana__value_number_of(one, "value", NAN),
                                       .accepted = accepted && accepted->boolean};
    }
    const char *name = monitor->string;
    if (liana__starts_with(name, "val_")) name += strlen("val_");
    for (size_t i = 0; i < num_panels; i++) {
        if (strcmp(panels[i].name, name) != 0) continue;
        panels[i].marks = marks;
        panels[i].num_marks = count;
    }
}

/* An epoch that was not validated gets the measurement of an evaluator at its end, if there was one. */
static void add_evaluation(const liana__value *evaluation, const liana__value *epochs, liana__arena *arena)
{
    static const char *const no_measures[] = {"checkpoint", "iteration", "epoch", "step", "examples", "bad_records"};
    const double epoch = liana__value_number_of(evaluation, "epoch", NAN);
    if (liana__value_number_of(evaluation, "step", NAN) != 0 || !(epoch >= 1 && epoch <= (double)epochs->count)) return;
    liana__value *to = epochs->items[(size_t)epoch - 1];
    for (size_t i = 0; to->kind == LIANA__VALUE_MAP && i < evaluation->count; i++) {
        bool measure = true;
        for (size_t k = 0; k < sizeof no_measures / sizeof *no_measures; k++) {
            measure = measure && strcmp(evaluation->keys[i], no_measures[k]) != 0;
        }
        const char *key = measure ? liana__arena_format(arena, "val_%s", evaluation->keys[i]) : NULL;
        const liana__value *there = key ? liana__value_get(to, key) : NULL;
        if (!key || (there && there->kind != LIANA__VALUE_NULL)) continue;
        liana__value_set(arena, to, key, evaluation->items[i]);
    }
}

static liana_status add_evaluations(const char *history_path, const liana__value *epochs, liana__arena *arena,
                                    liana__error *error)
{
    const char *folder = liana__path_folder(arena, history_path);
    const char *path = folder ? liana__path_join(arena, folder, "evaluations.json") : NULL;
    if (!path) return liana__fail_memory(error, history_path);
    if (!liana__file_exists(path)) return LIANA_OK;
    liana__value *root;
    LIANA_TRY(liana__json_read(path, arena, &root, error));
    const liana__value *list = root->kind == LIANA__VALUE_MAP ? liana__value_get(root, "evaluations") : NULL;
    for (size_t i = 0; list && list->kind == LIANA__VALUE_LIST && i < list->count; i++) {
        if (list->items[i]->kind == LIANA__VALUE_MAP) add_evaluation(list->items[i], epochs, arena);
    }
    return LIANA_OK;
}

liana_status liana__report_curves(const char *history_path, const char *path, liana__arena *arena, liana__error *error)
{
    liana__value *history;
    LIANA_TRY(liana__json_read(history_path, arena, &history, error));
    const liana__value *epochs = liana__value_get(history, "epochs");
    bool has_epochs =
        epochs && epochs->kind == LIANA__VALUE_LIST && epochs->count > 0 && epochs->items[0]->kind == LIANA__VALUE_MAP;
    if (!has_epochs) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s': expected {\"epochs\": [...]} with at least one epoch, as liana train writes it",
                           history_path);
    }
    LIANA_TRY(add_evaluations(history_path, epochs, arena, error));
    liana__curve_panel panels[MAX_PANELS];
    size_t num_panels = 0;
    const liana__value *first = epochs->items[0];
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
    add_marks(history, panels, num_panels, arena);
    if (arena->failed) return liana__fail_memory(error, history_path);
    return liana__curves_write(path, NULL, panels, num_panels, epochs->count, error);
}
