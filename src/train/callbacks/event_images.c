/* Pictures of event files. */
#include "train/callbacks/event_images.h"

#include "base/memory.h"
#include "base/scoped.h"
#include "base/utf8.h"
#include "formats/image.h"
#include "train/objective/prediction_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the image of an example ---- */

/* The component that has images; NULL: none has. */
static const liana__batch_component *find_images(const liana__batch *batch)
{
    const liana__batch_component *found = NULL;
    for (size_t i = 0; i < batch->num_components; i++) {
        const liana__batch_component *own = &batch->components[i];
        const bool fits = own->shape.rank == 3 && (own->shape.dims[2] == 1 || own->shape.dims[2] == 3) && own->rows &&
                          !own->partner_of && (own->dtype == LIANA_U8 || own->dtype == LIANA_F32);
        if (fits && (!found || strcmp(own->name, "image") == 0)) found = own;
    }
    return found;
}

/* Numbers as levels of 0 to 255: level = (number - least) * factor. */
typedef struct levels {
    float least, factor;
} levels;

static levels find_levels(const float *values, int64_t count)
{
    float least = 0, most = 0;
    for (int64_t i = 0; i < count; i++) {
        if (values[i] < least) least = values[i];
        if (values[i] > most) most = values[i];
    }
    if (least >= 0 && most <= 1) return (levels){0, 255};
    if (least >= 0 && most <= 255) return (levels){0, 1};
    return (levels){least, 255 / (most - least)};
}

static uint8_t level_of(float number, levels of)
{
    const float level = (number - of.least) * of.factor + 0.5F;
    return level > 0 ? level < 255 ? (uint8_t)level : 255 : 0;
}

/* Neither side is above LIANA__EVENT_IMAGE_SIDE: of every `step` x `step` pixels the mean is taken. */
static void shrink(uint8_t *pixels, const int64_t shape[3], int64_t step)
{
    const int64_t height = shape[0] / step, width = shape[1] / step, channels = shape[2];
    for (int64_t at = 0; at < height * width * channels; at++) {
        const int64_t channel = at % channels, x = at / channels % width * step, y = at / channels / width * step;
        int64_t sum = 0;
        for (int64_t k = 0; k < step * step; k++) {
            sum += pixels[((y + k / step) * shape[1] + x + k % step) * channels + channel];
        }
        pixels[at] = (uint8_t)(sum / (step * step)); /* no pixel that is read later stands before it */
    }
}

/* The picture of an example, whose pixels the caller frees. They are NULL if there is no memory. */
static liana__event_picture take_image(const liana__batch_component *images, int64_t row)
{
    const int64_t size = liana_shape_size(&images->shape);
    liana__event_picture picture = {.pixels = malloc((size_t)size + 1)};
    uint8_t *pixels = picture.pixels;
    int64_t *shape = picture.shape;
    if (!pixels) return picture;
    memcpy(shape, images->shape.dims, sizeof picture.shape);
    if (images->dtype == LIANA_U8) {
        memcpy(pixels, (const uint8_t *)images->rows + row * size, (size_t)size);
    } else {
        const float *values = (const float *)images->rows + row * size;
        const levels of = find_levels(values, size);
        for (int64_t i = 0; i < size; i++) pixels[i] = level_of(values[i], of);
    }
    const int64_t longest = shape[0] > shape[1] ? shape[0] : shape[1], shortest = shape[0] + shape[1] - longest;
    int64_t step = (longest + LIANA__EVENT_IMAGE_SIDE - 1) / LIANA__EVENT_IMAGE_SIDE;
    if (step > shortest) step = shortest;
    if (step > 1) {
        shrink(pixels, shape, step);
        shape[0] /= step;
        shape[1] /= step;
    }
    return picture;
}

/* Adds the PNG of pixels to `images`, which have room. */
static void add_png(liana__event_list *list, const uint8_t *pixels, const int64_t shape[3],
                    liana__summary_image *images, size_t *count)
{
    LIANA__SCOPED(liana__text) png = {0};
    liana__error error = {0};
    const bool drawn = pixels && liana__png_encode(pixels, shape[0], shape[1], (int)shape[2], &png, &error) == LIANA_OK;
    void *bytes = drawn ? liana__arena_copy(&list->arena, png.data, png.length) : NULL;
    list->failed |= !bytes;
    if (bytes) images[(*count)++] = (liana__summary_image){bytes, png.length};
}

static void add_images(liana__event_list *list, const char *tag, const liana__summary_image *images, size_t count,
                       const int64_t shape[3])
{
    const liana__summary_value value = {.tag = tag,
                                        .kind = LIANA__SUMMARY_IMAGES,
                                        .images = images,
                                        .num_images = count,
                                        .width = (int)shape[1],
                                        .height = (int)shape[0]};
    if (count) liana__event_list_add_value(list, &value);
}

void liana__event_list_add_examples(liana__event_list *list, const char *tag, const liana__batch *batch)
{
    const liana__batch_component *of = find_images(batch);
    const int64_t count = batch->count < LIANA__EVENT_MOST_IMAGES ? batch->count : LIANA__EVENT_MOST_IMAGES;
    liana__summary_image *images = liana__arena_allocate(&list->arena, LIANA__EVENT_MOST_IMAGES * sizeof *images);
    size_t drawn = 0;
    int64_t shape[3] = {0};
    for (int64_t i = 0; of && images && i < count; i++) {
        const liana__event_picture picture = take_image(of, i);
        memcpy(shape, picture.shape, sizeof shape);
        add_png(list, picture.pixels, shape, images, &drawn);
        free(picture.pixels);
    }
    add_images(list, tag, images, drawn, shape);
}

/* The same of pictures that are there. */
static void add_pictures(liana__event_list *list, const char *tag, const liana__event_picture *const *pictures,
                         size_t count)
{
    liana__summary_image *images = liana__arena_allocate(&list->arena, LIANA__EVENT_MOST_IMAGES * sizeof *images);
    int64_t shape[3] = {0};
    size_t drawn = 0;
    for (size_t i = 0; images && i < count; i++) {
        if (!pictures[i]->pixels) continue;
        memcpy(shape, pictures[i]->shape, sizeof shape);
        add_png(list, pictures[i]->pixels, shape, images, &drawn);
    }
    add_images(list, tag, images, drawn, shape);
}

/* ---- a review ---- */

enum { MOST_CLASSES = 1000, MATRIX_SIDE = 512, ID_BYTES = 120 };

static void free_mistake(liana__event_mistake *mistake)
{
    free(mistake->id);
    free(mistake->picture.pixels);
}

static void free_pictures(liana__event_review *review)
{
    for (size_t i = 0; i < review->num_mistakes; i++) free_mistake(&review->mistakes[i]);
    for (size_t i = 0; i < review->num_samples; i++) free(review->samples[i].pixels);
    review->num_mistakes = review->num_samples = 0;
    review->is_gathered = false;
}

void liana__event_review_free(liana__event_review *review)
{
    free_pictures(review);
    free(review->counts);
    *review = (liana__event_review){0};
}

/* One sigmoid is between two classes. */
static bool is_of_two(const liana__objective *objective)
{
    const liana__objective_output *output = &objective->outputs[0];
    return objective->num_outputs == 1 && output->activation == LIANA_LOGITS_SIGMOID &&
           liana_shape_size(&output->shape) == 1;
}

static int64_t count_classes(const liana__objective *objective)
{
    const liana__objective_output *output = &objective->outputs[0];
    if (is_of_two(objective)) return 2;
    if (!liana__predicts_classes(objective) || output->target != LIANA_TARGET_CLASSES) return 0;
    return liana_shape_size(&output->shape);
}

liana_status liana__event_review_begin(liana__event_review *review, const liana__training *training,
                                       liana__error *error)
{
    const int64_t classes = count_classes(training->objective);
    free_pictures(review);
    if (classes < 2 || classes > MOST_CLASSES) return LIANA_OK;
    if (classes != review->num_classes) free(review->counts);
    if (classes != review->num_classes) review->counts = malloc((size_t)(classes * classes) * sizeof(double));
    review->num_classes = review->counts ? classes : 0;
    if (!review->counts) return liana__fail_memory(error, "a confusion matrix");
    memset(review->counts, 0, (size_t)(classes * classes) * sizeof(double));
    return LIANA_OK;
}

/* The picture of a row; none, if its example has no image, or another process has the row. */
static liana_status find_picture(const liana__batch *batch, int64_t row, liana__event_picture *picture,
                                 liana__error *error)
{
    const liana__batch *here = batch->own ? batch->own : batch;
    const liana__batch_component *images = find_images(here);
    *picture = (liana__event_picture){0};
    if (!images) return LIANA_OK;
    for (int64_t i = batch->own ? 0 : row; i < here->count; i++) {
        if (batch->own && here->positions[i] != batch->positions[row]) continue;
        *picture = take_image(images, i);
        return picture->pixels ? LIANA_OK : liana__fail_memory(error, "the images of a validation");
    }
    return LIANA_OK;
}

liana_status liana__event_review_start(liana__event_review *review, const liana__batch *batch, liana__error *error)
{
    review->is_gathered = batch->own != NULL;
    for (int64_t i = 0; i < batch->count && i < LIANA__EVENT_MOST_IMAGES; i++) {
        LIANA_TRY(find_picture(batch, i, &review->samples[review->num_samples], error));
        review->num_samples++;
    }
    return LIANA_OK;
}

/* Keeps a mistake if it is among the most confident ones. */
static liana_status add_mistake(liana__event_review *review, liana__event_mistake found, const liana__batch *batch,
                                int64_t row, liana__error *error)
{
    size_t place = review->num_mistakes;
    while (place > 0 && found.confidence > review->mistakes[place - 1].confidence) place--;
    if (place == LIANA__EVENT_MOST_IMAGES) return LIANA_OK;
    LIANA__SCOPED(liana__text) id = {0};
    if (batch->records || batch->ids) liana__add_example_id(batch, row, &id);
    if (id.failed) return liana__fail_memory(error, "the mistakes of a validation");
    LIANA_TRY(find_picture(batch, row, &found.picture, error));
    found.id = strdup(id.length ? id.data : "");
    if (!found.id) {
        free_mistake(&found);
        return liana__fail_memory(error, "the mistakes of a validation");
    }
    if (review->num_mistakes == LIANA__EVENT_MOST_IMAGES) free_mistake(&review->mistakes[--review->num_mistakes]);
    memmove(&review->mistakes[place + 1], &review->mistakes[place],
            (review->num_mistakes - place) * sizeof *review->mistakes);
    review->mistakes[place] = found;
    review->num_mistakes++;
    return LIANA_OK;
}

liana_status liana__event_review_add(liana__event_review *review, const liana__training *training,
                                     const liana__batch *batch, const float *outputs, liana__error *error)
{
    const liana__trainer *trainer = training->trainer;
    const void *targets = liana__trainer_targets(trainer, batch, 0);
    const bool of_two = is_of_two(training->objective);
    const bool has_numbers = training->objective->outputs[0].target == LIANA_TARGET_CLASSES;
    if (!review->num_classes || !targets) return LIANA_OK;
    for (int64_t i = 0; i < batch->count; i++) {
        const float *output = outputs + i * liana__trainer_row_size(trainer);
        const int64_t truth =
            has_numbers ? ((const int32_t *)targets)[i] : (int64_t)(((const float *)targets)[i] > 0.5F);
        const int64_t said = of_two ? (int64_t)(output[0] > 0.5F) : liana__likeliest_class(output, review->num_classes);
        if (truth < 0 || truth >= review->num_classes) continue;
        review->counts[truth * review->num_classes + said]++;
        if (truth == said) continue;
        const double confidence = (double)(!of_two ? output[said] : said ? output[0] : 1 - output[0]);
        LIANA_TRY(add_mistake(review, (liana__event_mistake){.truth = truth, .said = said, .confidence = confidence},
                              batch, i, error));
    }
    return LIANA_OK;
}

/* ---- pictures of a review ---- */

/* From white to dark blue by the share of a row's examples. */
static void paint(uint8_t *pixel, double share)
{
    static const double white[] = {255, 255, 255}, blue[] = {8, 48, 107};
    for (int i = 0; i < 3; i++) pixel[i] = (uint8_t)(white[i] + (blue[i] - white[i]) * share + 0.5);
}

static void add_matrix(liana__event_list *list, const liana__event_review *review)
{
    const int64_t classes = review->num_classes, cell = classes < MATRIX_SIDE ? MATRIX_SIDE / classes : 1,
                  side = cell * classes;
    const int64_t shape[] = {side, side, 3};
    uint8_t *pixels = malloc((size_t)(side * side * 3));
    liana__summary_image *images = liana__arena_allocate(&list->arena, sizeof *images);
    size_t drawn = 0;
    for (int64_t row = 0; pixels && row < classes; row++) {
        const double *counts = review->counts + row * classes;
        double all = 0;
        for (int64_t k = 0; k < classes; k++) all += counts[k];
        for (int64_t i = 0; i < cell * side; i++) {
            const double count = counts[i % side / cell];
            paint(pixels + (row * cell * side + i) * 3, all > 0 ? count / all : 0);
        }
    }
    if (images) add_png(list, pixels, shape, images, &drawn);
    free(pixels);
    add_images(list, "confusion_matrix", images, drawn, shape);
}

/* A cell of Markdown's table: on one line, without its signs, and without HTML's. */
static void add_cell(liana__text *text, const char *words)
{
    char cell[ID_BYTES + 1];
    snprintf(cell, sizeof cell, "%s", words);
    liana__make_visible(cell);
    for (char *at = cell; *at; at++) {
        if (strchr("|`<>", *at)) *at = ' ';
    }
    liana__text_add(text, " %s |", cell);
}

static void add_table(liana__event_list *list, const liana__event_review *review, liana__strings class_names)
{
    const liana__output_classes classes = {.names = class_names};
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "| image | example | class | predicted | confidence |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < review->num_mistakes; i++) {
        const liana__event_mistake *own = &review->mistakes[i];
        char number[24];
        liana__text_add(&text, "| %zu |", i + 1);
        add_cell(&text, own->id);
        add_cell(&text, liana__class_name(&classes, (size_t)own->truth, number));
        add_cell(&text, liana__class_name(&classes, (size_t)own->said, number));
        liana__text_add(&text, " %.3f |\n", own->confidence);
    }
    liana__event_list_add_text(list, "mistakes_table",
                               text.failed ? NULL : liana__arena_string(&list->arena, text.data));
}

void liana__event_list_add_review(liana__event_list *list, const liana__event_review *review,
                                  liana__strings class_names)
{
    const liana__event_picture *pictures[LIANA__EVENT_MOST_IMAGES];
    for (size_t i = 0; i < review->num_samples; i++) pictures[i] = &review->samples[i];
    add_pictures(list, "examples", pictures, review->num_samples);
    if (!review->num_classes) return;
    add_matrix(list, review);
    if (!review->num_mistakes) return;
    add_table(list, review, class_names);
    for (size_t i = 0; i < review->num_mistakes; i++) pictures[i] = &review->mistakes[i].picture;
    add_pictures(list, "mistakes", pictures, review->num_mistakes);
}
