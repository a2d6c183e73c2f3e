/* Gathers the predictions of a model for its validation data. */
#include "report/examine.h"

#include <stdlib.h>
#include <string.h>

/* The probabilities that are kept for curves: 16 MiB. Of larger data every n-th example is kept. */
enum { MOST_KEPT = 4 << 20 };

typedef struct pass {
    liana__examined *to;
    uint64_t total; /* examples */
    int64_t row_size;
    size_t rows;   /* that have come */
    size_t wanted; /* images chosen evenly */
    liana__error *error;
} pass;

/* ---- images ---- */

/* Puts an image into a list if its rank is high enough. Its pixels are copied into those of the image that it
 * replaces. */
static void rank_image(pass *own, liana__examined_images *list, const liana__examined_image *image,
                       const liana__batch *batch, int64_t index)
{
    const int64_t *shape = own->to->run->image_shape;
    const size_t size = (size_t)(shape[0] * shape[1] * shape[2]), most = own->to->most_pictures;
    size_t at = list->count;
    if (most == 0 || (list->count == most && image->rank <= list->items[most - 1].rank)) return;
    if (at == most) at--;
    uint8_t *pixels = list->count == most ? list->items[at].pixels : liana__arena_allocate(&own->to->arena, size);
    if (!pixels) return;
    liana__batch_pixels(batch, index, size, pixels);
    if (list->count < most) list->count++;
    for (; at > 0 && list->items[at - 1].rank < image->rank; at--) list->items[at] = list->items[at - 1];
    list->items[at] = *image;
    list->items[at].id =
        batch->ids && batch->ids[index] ? liana__arena_string(&own->to->arena, batch->ids[index]) : NULL;
    list->items[at].pixels = pixels;
}

/* Image k of `wanted` is example k * total / wanted. */
static void choose_image(pass *own, const liana__examined_image *image, const liana__batch *batch, int64_t index)
{
    liana__examined_images *list = &own->to->chosen;
    const uint64_t position = batch->positions[index];
    const size_t k = own->wanted ? (size_t)((position * own->wanted + own->total - 1) / own->total) : 0;
    if (k >= own->wanted || k * own->total / own->wanted != position) return;
    liana__examined_image ranked = *image;
    ranked.rank = -(double)k;
    rank_image(own, list, &ranked, batch, index);
}

static void add_image(pass *own, const liana__batch *batch, int64_t index, const float *probabilities, size_t said,
                      int truth)
{
    const double truth_probability = truth >= 0 ? (double)probabilities[truth] : NAN;
    liana__examined_image image = {.truth = truth,
                                   .said = said,
                                   .confidence = (double)probabilities[said],
                                   .truth_probability = truth_probability};
    choose_image(own, &image, batch, index);
    image.rank = -truth_probability;
    if (truth >= 0 && truth != (int)said) rank_image(own, &own->to->mistakes, &image, batch, index);
    image.rank = -image.confidence;
    rank_image(own, &own->to->uncertain, &image, batch, index);
}

/* ---- rows ---- */

static int true_class(const liana__objective_output *from, const liana__examined_output *output, const void *targets,
                      int64_t index)
{
    if (!targets) return -1;
    if (from->target == LIANA_TARGET_CLASSES) {
        const int32_t label = ((const int32_t *)targets)[index];
        return label >= 0 && (size_t)label < output->width ? label : -1;
    }
    const int64_t size = liana_shape_size(&from->target_shape);
    const float *row = (const float *)targets + index * size;
    return size == 1 ? row[0] > 0.5f : (int)liana__likeliest_class(row, size);
}

static size_t said_class(const pass *own, const liana__examined_output *output, const float *probabilities)
{
    if (output->classes.of_one) return (double)probabilities[1] > own->to->run->config->job.threshold;
    return (size_t)liana__likeliest_class(probabilities, (int64_t)output->width);
}

static void keep_targets(liana__examined_output *output, const liana__objective_output *from, const void *targets,
                         int64_t index, int truth)
{
    const size_t at = output->num_kept;
    if (output->labels) {
        output->labels[at] = truth;
        return;
    }
    const float *row = targets ? (const float *)targets + (size_t)index * output->width : NULL;
    for (size_t i = 0; i < output->width; i++) {
        float value = NAN;
        if (row && from->target == LIANA_TARGET_CLASSES) value = (float)((const int32_t *)targets)[index];
        if (row && from->target != LIANA_TARGET_CLASSES) value = row[i];
        output->targets[at * output->width + i] = value;
    }
}

static void add_row(pass *own, size_t index, const liana__batch *batch, int64_t example, const float *row)
{
    const liana__trainer *trainer = own->to->run->core.trainer;
    const liana__objective *objective = liana__trainer_objective(trainer);
    liana__examined_output *output = &own->to->outputs[index];
    size_t from = 0;
    for (; from < objective->num_outputs && objective->outputs[from].name != output->name; from++) {
        row += liana_shape_size(&objective->outputs[from].shape);
    }
    const void *targets = liana__trainer_targets(trainer, batch, from);
    float both[2];
    const float *values = output->classes.count ? liana__class_probabilities(&output->classes, row, both) : row;
    int truth = -1;
    if (output->exclusive) {
        const size_t said = said_class(own, output, values);
        truth = true_class(&objective->outputs[from], output, targets, example);
        if (truth >= 0) {
            output->truths[output->num_pairs] = truth;
            output->said[output->num_pairs++] = (int32_t)said;
        }
        if (index == 0 && own->to->has_images) add_image(own, batch, example, values, said, truth);
    }
    if (own->rows % output->stride != 0 || (output->labels && truth < 0)) return;
    memcpy(output->values + output->num_kept * output->width, values, output->width * sizeof *values);
    keep_targets(output, &objective->outputs[from], targets, example, truth);
    output->num_kept++;
}

static liana_status add_batch(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    pass *own = user;
    for (int64_t i = 0; i < batch->count && own->rows < own->total; i++, own->rows++) {
        for (size_t k = 0; k < own->to->num_outputs; k++) add_row(own, k, batch, i, outputs + i * own->row_size);
    }
    return own->to->arena.failed ? liana__fail_memory(error, "the predictions") : LIANA_OK;
}

/* ---- outputs ---- */

/* Outputs with a row of values for each example, and targets of the same form. */
static bool can_compare(const liana__objective_output *from, const liana__examined_output *output)
{
    const int64_t targets = liana_shape_size(&from->target_shape);
    if (!from->choice.loss || from->masked || from->shape.rank != 2) return false;
    if (from->target == LIANA_TARGET_CLASSES) return output->classes.count > 0 && targets == 1;
    if (output->exclusive) return targets == 1 || (size_t)targets == output->width;
    return (size_t)targets == output->width;
}

static bool make_room(pass *own, liana__examined_output *output)
{
    liana__arena *arena = &own->to->arena;
    output->stride = 1 + (size_t)own->total * output->width / MOST_KEPT;
    const size_t kept = (size_t)own->total / output->stride + 1;
    output->values = liana__arena_allocate(arena, kept * output->width * sizeof *output->values);
    if (output->exclusive) {
        output->truths = liana__arena_allocate(arena, (size_t)(own->total + 1) * sizeof *output->truths);
        output->said = liana__arena_allocate(arena, (size_t)(own->total + 1) * sizeof *output->said);
        output->labels = liana__arena_allocate(arena, kept * sizeof *output->labels);
    } else {
        output->targets = liana__arena_allocate(arena, kept * output->width * sizeof *output->targets);
    }
    return !arena->failed;
}

static liana_status find_outputs(pass *own)
{
    liana__run *run = own->to->run;
    const liana__objective *objective = liana__trainer_objective(run->core.trainer);
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const liana__objective_output *from = &objective->outputs[i];
        liana__examined_output *output = &own->to->outputs[own->to->num_outputs];
        *output = (liana__examined_output){.name = from->name, .classes = liana__run_output_classes(run, i)};
        const size_t size = (size_t)liana_shape_size(&from->shape);
        output->width = output->classes.count ? output->classes.count : size;
        output->exclusive =
            output->classes.count > 1 && (output->classes.of_one || from->activation != LIANA_LOGITS_SIGMOID ||
                                          size == 1 || from->target == LIANA_TARGET_CLASSES);
        if (output->classes.count == 1 || !can_compare(from, output)) continue;
        if (!make_room(own, output)) return liana__fail_memory(own->error, "the predictions");
        own->to->num_outputs++;
    }
    return LIANA_OK;
}

liana_status liana__examine(liana__run *run, size_t most_pictures, liana__examined *examined, liana__error *error)
{
    pass own = {.to = examined,
                .total = liana__loader_epoch_length(run->validation.loader, 0),
                .row_size = liana__trainer_row_size(run->core.trainer),
                .error = error};
    examined->run = run;
    examined->most_pictures =
        most_pictures < LIANA__EXAMINED_MOST_PICTURES ? most_pictures : LIANA__EXAMINED_MOST_PICTURES;
    own.wanted = own.total < examined->most_pictures ? (size_t)own.total : examined->most_pictures;
    examined->has_images = run->image_shape[0] > 0 && liana__run_predicts_classes(run);
    LIANA_TRY(find_outputs(&own));
    return liana__evaluate(run->core.trainer, run->validation.loader, 0, &examined->totals, add_batch, &own, error);
}

void liana__examined_free(liana__examined *examined)
{
    liana__totals_free(&examined->totals);
    liana__arena_free(&examined->arena);
}

const char *liana__examined_class(liana__examined *examined, const liana__examined_output *output, size_t index)
{
    if (index < output->classes.names.count) return output->classes.names.items[index];
    const char *name = liana__arena_format(&examined->arena, "class %zu", index);
    return name ? name : "";
}
