/* Event files of a program: values of every kind, the sums of a step, and arguments that cannot be. */
#include "formats/event_files.h"
#include "harness/tiny_fit.h"

#include "formats/image.h"

#include <liana/liana.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct trial {
    liana_context *context;
    liana_summary *summary;
} trial;

static events read_events;

static trial begin(void)
{
    trial own = {0};
    liana__test_folder();
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &own.context), LIANA_OK);
    done(liana_summary_create(own.context, liana__test_path("logs/first"), &own.summary));
    return own;
}

static void end(trial *own)
{
    assert_int_equal(liana_summary_destroy(own->summary), LIANA_OK);
    liana_context_destroy(own->context);
}

static void test_kinds_of_values(void **state)
{
    (void)state;
    const float values[] = {1, 2, NAN, 4, 8, INFINITY};
    trial own = begin();
    done(liana_summary_scalar(own.summary, 7, "loss", 0.25));
    done(liana_summary_scalar(own.summary, 8, "loss", (double)NAN));
    done(liana_summary_histogram(own.summary, 7, "weights", values, 6));
    done(liana_summary_histogram(own.summary, 8, "weights", values + 2, 1));
    done(liana_summary_histogram(own.summary, 9, "weights", values, 0));
    done(liana_summary_text(own.summary, -1, "note", "# \xe2\x9c\x93"));
    done(liana_summary_flush(own.summary));
    assert_says(liana_summary_path(own.summary), "logs/first/events.out.tfevents.");
    events_read(&read_events, "logs/first");
    assert_near(events_find(&read_events, "loss", 7)->number, 0.25, 0, 0);
    assert_true(isnan(events_find(&read_events, "loss", 8)->number));
    assert_steps(&read_events, "weights", "7");
    assert_near(events_find(&read_events, "weights", 7)->counted, 4, 0, 0);
    assert_near(events_find(&read_events, "weights", 7)->greatest, 8, 0, 0);
    assert_string_equal(events_find(&read_events, "note", -1)->plugin, "text");
    end(&own);
}

/* The pictures of the only value of a file, as a reader of PNG has them. */
static void check_pictures(const char *path, const uint8_t *pixels, size_t count, int height, int width, int channels)
{
    liana__error error = {0};
    liana__tfrecord *file;
    const uint8_t *bytes;
    size_t size;
    assert_ok(liana__tfrecord_open(path, NULL, &file, &error), &error);
    assert_ok(liana__tfrecord_get(file, 1, &bytes, &size, &error), &error);
    Liana__Event__Event *event = liana__event__event__unpack(NULL, size, bytes);
    assert_non_null(event);
    const Liana__Event__Tensor *tensor = event->summary->value[0]->tensor;
    assert_int_equal(tensor->n_string_val, 2 + count);
    for (size_t i = 0; i < count; i++) {
        liana__image image = {0};
        assert_ok(liana__image_decode(tensor->string_val[2 + i].data, tensor->string_val[2 + i].len,
                                      &(liana__image_options){.channels = channels}, &image, &error),
                  &error);
        assert_int_equal(image.height, height);
        assert_int_equal(image.width, width);
        const size_t each = (size_t)height * (size_t)width * (size_t)channels;
        assert_memory_equal(image.pixels, pixels + i * each, each);
        liana__image_free(&image);
    }
    liana__event__event__free_unpacked(event, NULL);
    liana__tfrecord_close(file);
}

static void test_images(void **state)
{
    (void)state;
    uint8_t pixels[2 * 5 * 7 * 3];
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 37);
    for (int channels = 1; channels <= 3; channels += 2) {
        trial own = begin();
        char path[1024];
        snprintf(path, sizeof path, "%s", liana_summary_path(own.summary));
        done(liana_summary_image(own.summary, 3, "pictures", pixels, 2, 5, 7, channels));
        end(&own);
        check_pictures(path, pixels, 2, 5, 7, channels);
    }
    trial own = begin();
    refused(liana_summary_image(own.summary, 3, "p", pixels, 2, 5, 7, 2), LIANA_INVALID_ARGUMENT,
            "the images 'p' are [2, 5, 7, 2]");
    refused(liana_summary_image(own.summary, 3, "p", pixels, 0, 5, 7, 1), LIANA_INVALID_ARGUMENT, "[0, 5, 7, 1]");
    refused(liana_summary_image(own.summary, 3, "p", pixels, 1, -5, 7, 1), LIANA_INVALID_ARGUMENT, "[1, -5, 7, 1]");
    refused(liana_summary_image(own.summary, 3, "p", pixels, 1, 5, INT64_MAX, 1), LIANA_INVALID_ARGUMENT, "sides of");
    refused(liana_summary_scalar(own.summary, 3, "", 1), LIANA_INVALID_ARGUMENT, "a value without a tag");
    refused(liana_summary_histogram(own.summary, 3, "h", (const float[]){1}, -1), LIANA_INVALID_ARGUMENT,
            "the histogram 'h' is of -1 values");
    end(&own);
}

/* ---- sums of a step ---- */

static void build_shard(liana_shard *shard, void *user)
{
    liana_tensor x = liana_shard_input(shard, "x");
    (void)user;
    liana_shard_sum(shard, "squares", liana_op_multiply(x, x));
    liana_shard_sum(shard, "y", liana_shard_input(shard, "y"));
}

static void test_sums_of_a_step(void **state)
{
    (void)state;
    trial own = begin();
    liana_dataset *rows = liana__tiny_rows(own.context);
    liana_dataset *batches =
        liana_dataset_batch(liana_dataset_retain(rows), &(liana_batch_options){.batch_size = LIANA__TINY_ROWS});
    liana_step *step;
    liana_step_results results;
    const liana_step_options options = {.shard = build_shard,
                                        .dataset = batches,
                                        .batch_size = LIANA__TINY_ROWS,
                                        .microbatch = 7};
    done(liana_step_create(own.context, &options, &step));
    done(liana_step_run(step, &(liana_step_input){.dataset = batches}, &results));
    done(liana_summary_results(own.summary, 4, "train", &results));
    done(liana_summary_results(own.summary, 5, NULL, &results));
    done(liana_summary_results(own.summary, 6, NULL, &(liana_step_results){.num_sums = 1}));
    done(liana_summary_flush(own.summary));
    /* The same by hand. */
    double squares = 0, ys = 0;
    liana_iterator *iterator;
    const liana_element *element;
    done(liana_iterator_create(rows, NULL, &iterator));
    for (int i = 0; i < LIANA__TINY_ROWS; i++) {
        done(liana_iterator_next(iterator, &element));
        const float *values = liana_element_array(element, "x").data;
        for (int k = 0; k < LIANA__TINY_FEATURES; k++) squares += (double)values[k] * (double)values[k];
        ys += (double)*(const float *)liana_element_array(element, "y").data;
    }
    liana_iterator_destroy(iterator);
    events_read(&read_events, "logs/first");
    assert_near(events_find(&read_events, "train/squares", 4)->number, squares / LIANA__TINY_ROWS, 1e-6, 4);
    assert_near(events_find(&read_events, "train/y", 4)->number, ys / LIANA__TINY_ROWS, 1e-6, 4);
    assert_near(events_find(&read_events, "squares", 5)->number, squares / LIANA__TINY_ROWS, 1e-6, 5);
    assert_steps(&read_events, "squares", "5");
    liana_step_destroy(step);
    liana_dataset_close(batches);
    liana_dataset_close(rows);
    end(&own);
}

static void test_a_folder_that_cannot_be(void **state)
{
    (void)state;
    trial own = begin();
    liana_summary *summary;
    const char *path = liana__test_write("a_file", "x", 1);
    refused(liana_summary_create(own.context, path, &summary), LIANA_IO_ERROR, "a_file");
    assert_null(summary);
    end(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_of_values),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_sums_of_a_step),
        cmocka_unit_test(test_a_folder_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
