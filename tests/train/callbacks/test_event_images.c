/* Pictures of event files: examples as they are in the data, the confusion matrix against predictions that are made
 * anew, the most confident mistakes. */
#include "formats/event_files.h"
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "formats/event.h"
#include "formats/tfrecord.h"

#include <liana/liana.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRAINING = 100, VALIDATION = 50, CLASSES = LIANA__TINY_CLASSES, SIDE = LIANA__TINY_SIZE };

static events read_events;

typedef struct known {
    float outputs[VALIDATION * CLASSES];
    int32_t labels[VALIDATION];
    uint8_t pixels[VALIDATION * SIDE * SIDE];
} known;

static void read_examples(liana__tiny_fit *own, known *data)
{
    liana_iterator *iterator;
    const liana_element *element;
    liana__tiny_done(own->context, liana_iterator_create(own->validation, NULL, &iterator), __FILE__, __LINE__);
    for (int64_t i = 0; i < VALIDATION; i++) {
        liana__tiny_done(own->context, liana_iterator_next(iterator, &element), __FILE__, __LINE__);
        data->labels[i] = *(const int32_t *)liana_element_array(element, "label").data;
        const liana_array image = liana_element_array(element, "image");
        assert_int_equal(image.dtype, LIANA_U8);
        memcpy(data->pixels + i * SIDE * SIDE, image.data, SIDE * SIDE);
    }
    liana_iterator_destroy(iterator);
}

static int said_class(const float *output)
{
    int best = 0;
    for (int k = 1; k < CLASSES; k++) {
        if (output[k] > output[best]) best = k;
    }
    return best;
}

/* Cells from white to (8, 48, 107), by the share of the row. */
static void check_matrix(const known *data, const liana__image *image)
{
    double counts[CLASSES][CLASSES] = {{0}}, rows[CLASSES] = {0};
    for (int i = 0; i < VALIDATION; i++) {
        counts[data->labels[i]][said_class(data->outputs + i * CLASSES)]++;
        rows[data->labels[i]]++;
    }
    assert_int_equal(image->channels, 3);
    assert_int_equal(image->height, image->width);
    const int64_t cell = image->width / CLASSES;
    assert_int_equal(cell * CLASSES, image->width);
    for (int truth = 0; truth < CLASSES; truth++) {
        for (int said = 0; said < CLASSES; said++) {
            const double share = rows[truth] > 0 ? counts[truth][said] / rows[truth] : 0;
            const int64_t at = ((truth * cell + cell / 2) * image->width + said * cell + cell / 2) * 3;
            assert_near(image->pixels[at], 255 - 247 * share, 0.51, truth, said);
            assert_near(image->pixels[at + 2], 255 - 148 * share, 0.51, truth, said);
        }
    }
}

/* The first one is the most confident of all. */
static void check_mistakes(const known *data, const liana__image *image)
{
    int worst = -1;
    double confidence = -1;
    for (int i = 0; i < VALIDATION; i++) {
        const float *output = data->outputs + i * CLASSES;
        const int said = said_class(output);
        if (said == data->labels[i] || (double)output[said] <= confidence) continue;
        confidence = (double)output[said];
        worst = i;
    }
    assert_compare(worst, >=, 0);
    assert_int_equal(image->height, SIDE);
    assert_memory_equal(image->pixels, data->pixels + worst * SIDE * SIDE, SIDE * SIDE);
}

static void test_pictures_of_a_fit(void **state)
{
    (void)state;
    static known data;
    char summaries[400];
    liana__image image;
    liana__tiny_fit own = liana__tiny_fit_open(TRAINING);
    liana_model *model = liana__tiny_model(own.context);
    snprintf(summaries, sizeof summaries, "{folder: %s, image_freq: 2, histogram_freq: 0}", liana__test_path("events"));
    const liana_fit_options options = {.training = own.training,
                                       .validation = own.validation,
                                       .batch_size = 24,
                                       .validation_batch_size = 16,
                                       .epochs = 3,
                                       .optimizer = "{name: SGD, learning_rate: 0.01}",
                                       .summaries = summaries};
    done(liana_fit(model, &options));
    read_examples(&own, &data);
    done(liana_predict(model, own.validation, &(liana_predict_options){.batch_size = 16}, data.outputs));
    events_read(&read_events, "events/train");
    assert_steps(&read_events, "examples", "5 15");
    /* The last batch has four examples. */
    assert_int_equal(events_find(&read_events, "examples", 15)->pictures, 4);
    events_read(&read_events, "events/validation");
    assert_steps(&read_events, "examples", "5 15");
    assert_steps(&read_events, "confusion_matrix", "5 15");
    assert_steps(&read_events, "mistakes", "5 15");
    assert_int_equal(events_find(&read_events, "examples", 15)->pictures, 8);
    for (size_t i = 0; i < 8; i++) {
        events_read_picture(&read_events, "events/validation", "examples", 15, i, &image);
        assert_memory_equal(image.pixels, data.pixels + i * SIDE * SIDE, SIDE * SIDE);
        liana__image_free(&image);
    }
    events_read_picture(&read_events, "events/validation", "confusion_matrix", 15, 0, &image);
    check_matrix(&data, &image);
    liana__image_free(&image);
    events_read_picture(&read_events, "events/validation", "mistakes", 15, 0, &image);
    check_mistakes(&data, &image);
    liana__image_free(&image);
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

/* ---- the names of classes ---- */

/* The text of a tag in the only event file of a folder; "": none. */
static void read_text(const char *folder, const char *tag, char *text, size_t size)
{
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths names;
    liana__tfrecord *file;
    char path[800];
    *text = 0;
    assert_ok(liana__folder_list(liana__test_path(folder), &arena, &names, &error), &error);
    assert_int_equal(names.count, 1);
    snprintf(path, sizeof path, "%s/%s", liana__test_path(folder), names.items[0]);
    assert_ok(liana__tfrecord_open(path, NULL, &file, &error), &error);
    for (size_t i = 0; i < liana__tfrecord_count(file); i++) {
        const uint8_t *bytes;
        size_t length;
        liana__event_record event;
        assert_ok(liana__tfrecord_get(file, i, &bytes, &length, &error), &error);
        assert_ok(liana__event_parse(bytes, length, &event, &error), &error);
        for (size_t k = 0; k < event.num_values; k++) {
            if (strcmp(event.values[k].tag, tag) != 0) continue;
            assert_true(liana__event_value_has_texts(&event.values[k]));
            const uint8_t *own = liana__event_value_text(&event.values[k], 0, &length);
            snprintf(text, size, "%.*s", (int)length, (const char *)own);
        }
        liana__event_free(&event);
    }
    liana__tfrecord_close(file);
    liana__arena_free(&arena);
}

/* A run that has learnt nothing says one class of four: the mistakes are of the three others. */
static void test_mistakes_by_name(void **state)
{
    (void)state;
    char text[4096];
    liana__test_folder();
    liana__test_result got =
        liana__test_command("train", liana__test_tiny_run(32), "train.epochs=1", "train.optimizer.learning_rate=1e-9",
                            "data.class_names=[north-west, \"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d\", \"a|b<c\", "
                            "\"x\xe2\x80\xaey\"]",
                            "summaries={folder: told, histogram_freq: 0}", "--out", liana__test_path("named"));
    assert_code(got, 0);
    read_text("named/told/validation", "mistakes_table", text, sizeof text);
    assert_says(text, "| image | example | class | predicted | confidence |");
    int found = 0;
    found += strstr(text, "| north-west |") != NULL;
    found += strstr(text, "| \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d |") != NULL;
    found += strstr(text, "| a b c |") != NULL;
    found += strstr(text, "| x???y |") != NULL;
    assert_compare(found, >=, 2);
    for (char *line = strstr(text, "| 1 |"); line; line = strchr(line + 1, '\n')) {
        char cells[5][64] = {{0}};
        if (sscanf(line, " | %63[^|]| %63[^|]| %63[^|]| %63[^|]| %63[^|]|", cells[0], cells[1], cells[2], cells[3],
                   cells[4]) != 5) {
            break;
        }
        for (int i = 2; i < 4; i++) assert_null(strchr("0123456789", cells[i][0]));
        assert_string_not_equal(cells[2], cells[3]);
    }
}

/* ---- images of numbers, and large ones ---- */

enum { HEIGHT = 300, WIDTH = 520, NUMBERS = HEIGHT * WIDTH * 3 };

/* Of [300, 520] the longer side is at most 256: every pixel is the mean of 3 x 3. Numbers of -1 to 1 are from black to
 * white. */
static void test_large_images_of_numbers(void **state)
{
    (void)state;
    static float numbers[2 * NUMBERS];
    float targets[2] = {0, 1};
    char summaries[400];
    liana__image image;
    struct {
        liana_context *context;
    } own;
    liana__test_folder();
    for (int i = 0; i < 2 * NUMBERS; i++) numbers[i] = (float)(i % NUMBERS * 7 % 201 - 100) / 100;
    assert_int_equal(liana_context_create(NULL, &own.context), LIANA_OK);
    const liana_array arrays[] = {{"picture", LIANA_F32, liana_shape_of(2, HEIGHT, WIDTH, 3), numbers},
                                  {"y", LIANA_F32, liana_shape_of(2, 1), targets}};
    liana_dataset *rows = liana_dataset_from_tensor_slices(own.context, arrays, 2);
    liana_model *model;
    done(liana_model_create(own.context, NULL, &model));
    liana_input(model, .name = "picture", .shape = LIANA_INTS(HEIGHT, WIDTH, 3));
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = 1, .name = "y");
    snprintf(summaries, sizeof summaries, "{folder: %s}", liana__test_path("events"));
    const liana_fit_options options = {.training = rows,
                                       .validation = rows,
                                       .batch_size = 2,
                                       .keep_order = true,
                                       .optimizer = "SGD",
                                       .loss = "mse",
                                       .summaries = summaries};
    done(liana_fit(model, &options));
    events_read_picture(&read_events, "events/train", "examples", 1, 1, &image);
    assert_int_equal(image.height, HEIGHT / 3);
    assert_int_equal(image.width, WIDTH / 3);
    for (int64_t y = 0; y < image.height; y += 7) {
        for (int64_t x = 0; x < image.width; x++) {
            double mean = 0;
            for (int k = 0; k < 9; k++) {
                const double number = (double)numbers[((y * 3 + k / 3) * WIDTH + x * 3 + k % 3) * 3 + 1];
                mean += (number + 1) * 127.5 / 9;
            }
            assert_near(image.pixels[(y * image.width + x) * 3 + 1], mean, 1.01, y, x);
        }
    }
    liana__image_free(&image);
    events_read(&read_events, "events/validation");
    assert_steps(&read_events, "confusion_matrix", ""); /* it predicts no classes */
    liana_model_destroy(model);
    liana_dataset_close(rows);
    liana_context_destroy(own.context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures_of_a_fit),
        cmocka_unit_test(test_mistakes_by_name),
        cmocka_unit_test(test_large_images_of_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
