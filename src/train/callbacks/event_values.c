/* What callbacks write into event files. */
#include "train/callbacks/event_values.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/event_histogram.h"
#include "formats/image.h"

#include <stdlib.h>
#include <string.h>

static const char *const part_folders[LIANA__NUM_EVENT_PARTS] = {"train", "validation"};

/* ---- files ---- */

static liana_status part_folder(const liana__event_files *files, liana__event_part part, liana__text *folder,
                                liana__error *error)
{
    liana__text_add(folder, "%s/%s", files->folder, part_folders[part]);
    return folder->failed ? liana__fail_memory(error, "event files") : LIANA_OK;
}

liana_status liana__event_files_begin(liana__event_files *files, const liana_fit_context *context, const char *folder,
                                      bool is_chief, liana__event_keeps keeps, void *user, liana__error *error)
{
    liana__text path = {0};
    const bool inside = context->folder && folder[0] != '/';
    liana__text_add(&path, "%s%s%s", inside ? context->folder : "", inside ? "/" : "", folder);
    if (path.failed) return liana__fail_memory(error, "event files");
    liana__event_files_free(files);
    files->folder = path.data;
    for (int i = 0; is_chief && context->resumed && i < LIANA__NUM_EVENT_PARTS; i++) {
        LIANA__SCOPED(liana__text) part = {0};
        LIANA_TRY(part_folder(files, (liana__event_part)i, &part, error));
        LIANA_TRY(liana__event_folder_trim(part.data, keeps, user, error));
    }
    return LIANA_OK;
}

static liana_status open_part(liana__event_files *files, liana__event_part part, liana__error *error)
{
    LIANA__SCOPED(liana__text) folder = {0};
    if (files->writers[part]) return LIANA_OK;
    LIANA_TRY(part_folder(files, part, &folder, error));
    return liana__event_writer_open(folder.data, &files->writers[part], error);
}

liana_status liana__event_files_add(liana__event_files *files, liana__event_part part, int64_t step,
                                    const liana__summary_value *values, size_t count, liana__error *error)
{
    LIANA_TRY(open_part(files, part, error));
    return liana__event_writer_add(files->writers[part], step, values, count, error);
}

liana_status liana__event_files_add_graph(liana__event_files *files, const void *bytes, size_t size,
                                          liana__error *error)
{
    LIANA_TRY(open_part(files, LIANA__EVENTS_TRAINING, error));
    return liana__event_writer_add_graph(files->writers[LIANA__EVENTS_TRAINING], bytes, size, error);
}

liana_status liana__event_files_flush(liana__event_files *files, liana__error *error)
{
    for (int i = 0; i < LIANA__NUM_EVENT_PARTS; i++) {
        if (files->writers[i]) LIANA_TRY(liana__event_writer_flush(files->writers[i], error));
    }
    return LIANA_OK;
}

void liana__event_files_free(liana__event_files *files)
{
    liana__error ignored = {0};
    for (int i = 0; i < LIANA__NUM_EVENT_PARTS; i++) {
        if (liana__event_writer_close(files->writers[i], &ignored) != LIANA_OK) continue;
    }
    free(files->folder);
    *files = (liana__event_files){0};
}

/* ---- weights ---- */

void liana__event_weights_free(liana__event_weights *weights)
{
    for (size_t i = 0; i < weights->count; i++) free(weights->values[i]);
    free(weights->values);
    *weights = (liana__event_weights){0};
}

static liana_status reserve(liana__event_weights *weights, const liana__training *training, liana__error *error)
{
    const size_t count = training->trainer->num_weights;
    if (weights->count == count) return LIANA_OK;
    liana__event_weights_free(weights);
    weights->values = calloc(count + 1, sizeof *weights->values);
    if (!weights->values) return liana__fail_memory(error, "the weights");
    for (; weights->count < count; weights->count++) {
        float **values = &weights->values[weights->count];
        *values = malloc(training->variables.items[weights->count].buffer->size);
        if (!*values) return liana__fail_memory(error, "the weights");
    }
    return LIANA_OK;
}

liana_status liana__event_weights_read(liana__event_weights *weights, const liana__training *training,
                                       liana__error *error)
{
    LIANA_TRY(reserve(weights, training, error));
    for (size_t i = 0; i < weights->count; i++) {
        LIANA_TRY(liana__variable_read(&training->variables.items[i], weights->values[i], error));
    }
    return LIANA_OK;
}

/* ---- lists of values ---- */

void liana__event_list_add_value(liana__event_list *list, const liana__summary_value *value)
{
    list->failed |= !value->tag || list->arena.failed ||
                    !liana__grow(&list->values, list->count, &list->capacity, sizeof *list->values);
    if (!list->failed) list->values[list->count++] = *value;
}

static void add(liana__event_list *list, liana__summary_value value)
{
    liana__event_list_add_value(list, &value);
}

void liana__event_list_add(liana__event_list *list, const char *tag, double number)
{
    add(list, (liana__summary_value){.tag = tag, .kind = LIANA__SUMMARY_SCALAR, .number = number});
}

void liana__event_list_add_totals(liana__event_list *list, const liana__training *training, const liana__totals *totals,
                                  const char *before, const char *behind)
{
    if (!totals || !totals->count) return;
    for (size_t i = 0; i <= training->num_metrics; i++) {
        const char *name = i ? training->metric_names[i - 1] : "loss";
        const char *tag = liana__arena_format(&list->arena, "%s%s%s", before, name, behind);
        liana__event_list_add(list, tag, liana__totals_value(totals, i));
    }
}

void liana__event_list_add_histogram(liana__event_list *list, const char *tag, const float *values, int64_t count)
{
    double *buckets = liana__arena_allocate(&list->arena, LIANA__EVENT_BUCKETS * 3 * sizeof *buckets);
    const bool any = buckets && liana__event_buckets(values, count, buckets) > 0;
    if (buckets && !any) return;
    add(list, (liana__summary_value){.tag = tag,
                                     .kind = LIANA__SUMMARY_HISTOGRAM,
                                     .buckets = buckets,
                                     .num_buckets = LIANA__EVENT_BUCKETS});
}

void liana__event_list_add_text(liana__event_list *list, const char *tag, const char *text)
{
    list->failed |= !text;
    add(list, (liana__summary_value){.tag = tag, .kind = LIANA__SUMMARY_TEXT, .text = text});
}

void liana__event_list_free(liana__event_list *list)
{
    liana__arena_free(&list->arena);
    free(list->values);
    *list = (liana__event_list){0};
}

liana_status liana__event_list_write(liana__event_list *list, liana__event_files *files, liana__event_part part,
                                     int64_t step, liana__error *error)
{
    liana_status status = list->failed ? liana__fail_memory(error, "the values of an event file") : LIANA_OK;
    if (status == LIANA_OK && list->count) {
        status = liana__event_files_add(files, part, step, list->values, list->count, error);
    }
    liana__event_list_free(list);
    return status;
}

/* ---- weights as images ---- */

enum { MOST_IMAGES = 3, LARGEST_SIDE = 4096 }; /* the first is TensorFlow's max_outputs */

/* Where the elements of a weight are in its images. */
typedef struct layout {
    int64_t count, rows, columns; /* element [row, column, image] */
    bool is_turned;               /* a row of an image is a column of the weight */
} layout;

static bool find_layout(const liana_shape *shape, layout *found)
{
    int64_t dims[LIANA_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] != 1) dims[rank++] = shape->dims[i];
    }
    if (rank < 1 || rank > 3) return false;
    *found = (layout){.count = rank == 3 ? dims[2] : 1, .rows = dims[0], .columns = rank > 1 ? dims[1] : 1};
    found->is_turned = rank == 2 && found->rows > found->columns;
    return found->rows <= LARGEST_SIDE && found->columns <= LARGEST_SIDE;
}

/* Numbers of 0 to 1 as grey levels; those beyond are black or white. */
static uint8_t level_of(float number)
{
    return number > 0 ? number < 1 ? (uint8_t)(number * 255.0F + 0.5F) : 255 : 0;
}

/* The PNG of an image, in the arena. */
static bool draw(liana__event_list *list, const layout *of, const float *values, int64_t image, uint8_t *pixels,
                 liana__summary_image *drawn)
{
    const int64_t size = of->rows * of->columns;
    for (int64_t i = 0; i < size; i++) {
        const int64_t row = i / of->columns, column = i % of->columns;
        pixels[of->is_turned ? column * of->rows + row : i] = level_of(values[i * of->count + image]);
    }
    LIANA__SCOPED(liana__text) png = {0};
    liana__error error = {0};
    const int64_t height = of->is_turned ? of->columns : of->rows, width = of->is_turned ? of->rows : of->columns;
    if (liana__png_encode(pixels, height, width, 1, &png, &error) != LIANA_OK) return false;
    *drawn = (liana__summary_image){liana__arena_copy(&list->arena, png.data, png.length), png.length};
    return drawn->bytes != NULL;
}

void liana__event_list_add_weight_images(liana__event_list *list, const char *tag, const float *values,
                                         const liana_shape *shape)
{
    layout of;
    if (!find_layout(shape, &of)) return;
    const int64_t count = of.count < MOST_IMAGES ? of.count : MOST_IMAGES;
    liana__summary_image *images = liana__arena_allocate(&list->arena, MOST_IMAGES * sizeof *images);
    uint8_t *pixels = malloc((size_t)(of.rows * of.columns) + 1);
    list->failed |= !images || !pixels;
    for (int64_t k = 0; !list->failed && k < count; k++) {
        list->failed = !draw(list, &of, values, k, pixels, &images[k]);
    }
    free(pixels);
    if (list->failed) return;
    add(list, (liana__summary_value){.tag = tag,
                                     .kind = LIANA__SUMMARY_IMAGES,
                                     .images = images,
                                     .num_images = (size_t)count,
                                     .width = (int)(of.is_turned ? of.rows : of.columns),
                                     .height = (int)(of.is_turned ? of.columns : of.rows)});
}
