/* Predictions as a folder of annotated images. */
#include "cli/predict/predict.h"

#include "cli/predict/prediction_picture.h"
#include "data/image/decode.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>

/* Pictures are drawn with a longer side of these pixels. */
enum { LARGEST = 640, SMALLEST = 224, MOST_CLASSES = 5, LONGEST_NAME = 180 };

typedef struct liana__predict_pictures {
    liana__arena arena;
    void *names; /* a tree of the names of files that are there */
    void *scratch;
    liana__decoder decoder;
    uint8_t *pixels;
    size_t capacity;
} liana__predict_pictures;

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* ---- names of files ---- */

/* An id may be a path, or anything: letters, digits, "-", "_" and "." stay, and bytes of other alphabets. */
static void clean_name(const char *id, char name[LONGEST_NAME + 1])
{
    const char *dot = strrchr(id, '.');
    size_t length = strlen(id);
    if (dot && dot > id && strlen(dot) <= 5 && !strchr(dot, '/')) length = (size_t)(dot - id);
    if (length > LONGEST_NAME) length = LONGEST_NAME;
    while (length < strlen(id) && length && ((uint8_t)id[length] & 0xc0) == 0x80) length--; /* whole characters */
    for (size_t i = 0; i < length; i++) {
        const uint8_t byte = (uint8_t)id[i];
        const bool stays = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                           (byte >= 'A' && byte <= 'Z') || strchr("-_.", byte) || byte >= 0x80;
        name[i] = stays && byte ? (char)byte : '_';
    }
    name[length] = 0;
    if (name[0] == '.') name[0] = '_';
}

/* The first of NAME.png, NAME_2.png, ... that no other example has. */
static const char *choose_name(liana__predict_pictures *own, const char *id, liana__error *error)
{
    char name[LONGEST_NAME + 1];
    clean_name(id, name);
    for (size_t i = 1;; i++) {
        const char *file = i > 1 ? liana__arena_format(&own->arena, "%s_%zu.png", *name ? name : "example", i)
                                 : liana__arena_format(&own->arena, "%s.png", *name ? name : "example");
        const char *const *found = file ? tsearch(file, &own->names, compare) : NULL;
        if (!found) {
            (void)liana__fail_memory(error, "the names of pictures");
            return NULL;
        }
        if (*found == file) return file;
    }
}

/* ---- pixels ---- */

/* As it is, but not larger or much smaller than a screen's window. */
static void find_size(const liana_source_record *record, const liana__probe *probe, int64_t size[2])
{
    const double height = (double)(record->bytes ? probe->height : record->height);
    const double width = (double)(record->bytes ? probe->width : record->width), side = fmax(height, width);
    const double factor = side > LARGEST ? LARGEST / side : side < SMALLEST ? ceil(SMALLEST / side) : 1;
    size[0] = (int64_t)fmax(1, round(height * factor));
    size[1] = (int64_t)fmax(1, round(width * factor));
}

static liana_status probe_size(const liana_source_record *record, liana__probe *probe, liana__error *error)
{
    liana__image image = {0};
    if (!record->bytes) return LIANA_OK;
    const liana_status status = liana__image_probe(record->bytes, record->size, NULL, &image, error);
    probe->height = image.height;
    probe->width = image.width;
    return status;
}

static liana_status read_pixels(liana__predict_pictures *own, const liana__run *run, const liana__source *source,
                                uint64_t index, int64_t size[2], liana__error *error)
{
    liana_source_record record;
    liana__probe probe = {0};
    LIANA_TRY(liana__source_read(source, index, own->scratch, &record, error));
    LIANA_TRY(probe_size(&record, &probe, error));
    find_size(&record, &probe, size);
    const liana__decode_options options = {.height = size[0],
                                           .width = size[1],
                                           .channels = (int)run->image_shape[2],
                                           .antialias = true};
    const size_t bytes = liana__decoded_bytes(&options);
    if (bytes > own->capacity) {
        free(own->pixels);
        own->pixels = malloc(bytes);
        own->capacity = own->pixels ? bytes : 0;
    }
    if (!own->pixels) return liana__fail_memory(error, "a picture");
    return liana__decode_record(&own->decoder, &options, &record, NULL, own->pixels, error);
}

/* ---- the form ---- */

static liana_status begin(liana__predict_writer *writer, liana__error *error)
{
    const liana__predict_facts *facts = writer->facts;
    if (!facts->run->image_shape[0] || facts->data->source->lacks_images) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "--out %s is a folder of annotated images, but the data have no images; name a file: .csv, "
                           ".jsonl, .npy or .tfrecord",
                           writer->name);
    }
    writer->pictures = calloc(1, sizeof *writer->pictures);
    if (!writer->pictures) return liana__fail_memory(error, "pictures");
    writer->pictures->scratch = liana__source_scratch_create(facts->data->source);
    return writer->pictures->scratch ? LIANA_OK : liana__fail_memory(error, "pictures");
}

/* The likeliest classes of the first output of classes; else nothing. */
static size_t describe(const liana__predict_facts *facts, const liana__prediction *one,
                       liana__picture_line lines[MOST_CLASSES], char numbers[MOST_CLASSES][24])
{
    float both[2];
    if (!facts->classes[0].count) return 0;
    const float *values = liana__class_probabilities(&facts->classes[0], one->output, both);
    size_t count = liana__predict_find_shown(facts, &facts->classes[0], values);
    if (count > MOST_CLASSES) count = MOST_CLASSES;
    for (size_t i = 0; i < count; i++) {
        const size_t label = facts->top[i];
        lines[i] =
            (liana__picture_line){liana__class_name(&facts->classes[0], label, numbers[i]), (double)values[label]};
    }
    return count;
}

static liana_status add(liana__predict_writer *writer, const liana__prediction *one, liana__error *error)
{
    const liana__predict_facts *facts = writer->facts;
    liana__predict_pictures *own = writer->pictures;
    liana__picture_line lines[MOST_CLASSES];
    char numbers[MOST_CLASSES][24], number[24];
    int64_t size[2];
    LIANA_TRY(read_pixels(own, facts->run, facts->data->source, one->record, size, error));
    const char *name = choose_name(own, one->id, error);
    if (!name) return LIANA_OUT_OF_MEMORY;
    const char *path = liana__path_join(&own->arena, writer->path, name);
    if (!path) return liana__fail_memory(error, "a picture");
    const size_t count = describe(facts, one, lines, numbers);
    const liana__prediction_picture picture = {.pixels = own->pixels,
                                               .height = (int)size[0],
                                               .width = (int)size[1],
                                               .channels = (int)facts->run->image_shape[2],
                                               .lines = lines,
                                               .num_lines = count,
                                               .truth = one->truth < 0 ? NULL
                                                                       : liana__class_name(&facts->classes[0],
                                                                                           (size_t)one->truth, number),
                                               .is_right = one->said == (size_t)one->truth};
    return liana__prediction_picture_write(path, &picture, error);
}

static void free_name(void *name)
{
    (void)name; /* it is in the arena */
}

static void end(liana__predict_writer *writer)
{
    liana__predict_pictures *own = writer->pictures;
    if (!own) return;
    tdestroy(own->names, free_name);
    liana__source_scratch_destroy(writer->facts->data->source, own->scratch);
    liana__decoder_free(&own->decoder);
    liana__arena_free(&own->arena);
    free(own->pixels);
    free(own);
    writer->pictures = NULL;
}

static liana_status finish(liana__predict_writer *writer, liana__error *error)
{
    (void)error;
    end(writer);
    return LIANA_OK;
}

const liana__predict_form liana__predict_folder = {.begin = begin, .add = add, .finish = finish, .abandon = end};
