/* Event files that liana writes: their records, read by protobuf's own fields, and by the reader of event files. */
#include "harness/harness.h"

#include "base/file.h"
#include "formats/event.h"
#include "formats/event.pb-c.h"
#include "formats/event_histogram.h"
#include "formats/event_writer.h"
#include "formats/tfrecord.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static liana__error error;

static liana__event_writer *open_writer(const char *folder)
{
    liana__event_writer *writer;
    assert_ok(liana__event_writer_open(liana__test_path(folder), &writer, &error), &error);
    return writer;
}

/* The record of a file. */
static Liana__Event__Event *read_event(const liana__tfrecord *file, size_t index)
{
    const uint8_t *bytes;
    size_t size;
    assert_ok(liana__tfrecord_get(file, index, &bytes, &size, &error), &error);
    Liana__Event__Event *event = liana__event__event__unpack(NULL, size, bytes);
    assert_non_null(event);
    return event;
}

static liana__tfrecord *open_file(const char *path)
{
    liana__tfrecord *file;
    assert_ok(liana__tfrecord_open(path, NULL, &file, &error), &error);
    return file;
}

static const Liana__Event__Tensor *check_value(const Liana__Event__SummaryValue *value, const char *tag,
                                               const char *plugin, int data_class, int dtype)
{
    assert_string_equal(value->tag, tag);
    assert_string_equal(value->metadata->plugin_data->plugin_name, plugin);
    assert_int_equal(value->metadata->data_class, data_class);
    assert_int_equal(value->value_case, LIANA__EVENT__SUMMARY_VALUE__VALUE_TENSOR);
    assert_int_equal(value->tensor->dtype, dtype);
    return value->tensor;
}

static void test_values(void **state)
{
    (void)state;
    static const char odd[] = "a/\"<b>\"/\xc3\xa4\xf0\x9f\x8c\xb7";
    const double buckets[] = {0, 1, 3, 1, 2.5, 4};
    const liana__summary_image images[] = {{"png1", 4}, {"png22", 5}};
    const liana__summary_value values[] = {
        {.tag = "loss", .kind = LIANA__SUMMARY_SCALAR, .number = 0.1},
        {.tag = odd, .kind = LIANA__SUMMARY_SCALAR, .number = (double)NAN},
        {.tag = "w", .kind = LIANA__SUMMARY_HISTOGRAM, .buckets = buckets, .num_buckets = 2},
        {.tag = "pictures", .kind = LIANA__SUMMARY_IMAGES, .images = images, .num_images = 2, .width = 7, .height = 5},
        {.tag = "note", .kind = LIANA__SUMMARY_TEXT, .text = "**bold**\n\xe2\x9c\x93"},
    };
    liana__event_writer *writer = open_writer("values/inner");
    char path[1024];
    snprintf(path, sizeof path, "%s", liana__event_writer_path(writer));
    assert_ok(liana__event_writer_add(writer, 17, values, 5, &error), &error);
    assert_ok(liana__event_writer_add(writer, 18, values, 0, &error), &error);
    assert_ok(liana__event_writer_add_graph(writer, "graph", 5, &error), &error);
    assert_ok(liana__event_writer_close(writer, &error), &error);
    assert_says(path, "/values/inner/events.out.tfevents.");
    liana__tfrecord *file = open_file(path);
    assert_int_equal(liana__tfrecord_count(file), 3);
    Liana__Event__Event *event = read_event(file, 0);
    assert_string_equal(event->file_version, "brain.Event:2");
    liana__event__event__free_unpacked(event, NULL);
    event = read_event(file, 1);
    assert_int_equal(event->step, 17);
    assert_compare(event->wall_time, >, 1.7e9);
    assert_int_equal(event->summary->n_value, 5);
    Liana__Event__SummaryValue **found = event->summary->value;
    const Liana__Event__Tensor *tensor = check_value(found[0], "loss", "scalars", 1, 1);
    assert_int_equal(tensor->tensor_shape->n_dim, 0);
    assert_near(tensor->float_val[0], 0.1F, 0, 0);
    assert_true(isnan(check_value(found[1], odd, "scalars", 1, 1)->float_val[0]));
    tensor = check_value(found[2], "w", "histograms", 2, 2);
    assert_int_equal(tensor->tensor_shape->dim[0]->size, 2);
    assert_int_equal(tensor->tensor_shape->dim[1]->size, 3);
    assert_memory_equal(tensor->double_val, buckets, sizeof buckets);
    tensor = check_value(found[3], "pictures", "images", 3, 7);
    assert_int_equal(tensor->tensor_shape->dim[0]->size, 4);
    assert_int_equal(tensor->n_string_val, 4);
    assert_memory_equal(tensor->string_val[0].data, "7", 1);
    assert_memory_equal(tensor->string_val[1].data, "5", 1);
    assert_int_equal(tensor->string_val[3].len, 5);
    assert_memory_equal(tensor->string_val[3].data, "png22", 5);
    tensor = check_value(found[4], "note", "text", 2, 7);
    assert_int_equal(tensor->string_val[0].len, strlen(values[4].text));
    liana__event__event__free_unpacked(event, NULL);
    event = read_event(file, 2);
    assert_int_equal(event->graph_def.len, 5);
    liana__event__event__free_unpacked(event, NULL);
    liana__tfrecord_close(file);
}

/* Whoever reads the file while it grows sees whole records. */
static void test_flushing(void **state)
{
    (void)state;
    liana__event_writer *writer = open_writer("flush"), *other = open_writer("flush");
    assert_string_not_equal(liana__event_writer_path(writer), liana__event_writer_path(other));
    const liana__summary_value value = {.tag = "x", .kind = LIANA__SUMMARY_SCALAR, .number = 1};
    for (int64_t step = 0; step < 3000; step++) {
        assert_ok(liana__event_writer_add(writer, step, &value, 1, &error), &error);
    }
    assert_ok(liana__event_writer_flush(writer, &error), &error);
    liana__tfrecord *file = open_file(liana__event_writer_path(writer));
    assert_int_equal(liana__tfrecord_count(file), 3001);
    liana__tfrecord_close(file);
    assert_ok(liana__event_writer_close(writer, &error), &error);
    assert_ok(liana__event_writer_close(other, &error), &error);
    assert_ok(liana__event_writer_close(NULL, &error), &error);
}

static bool keeps_first_steps(void *user, int64_t step, const char *tag)
{
    return step <= *(const int64_t *)user || strcmp(tag, "always") == 0;
}

static void add_scalar(liana__event_writer *writer, const char *tag, int64_t step)
{
    const liana__summary_value value = {.tag = tag, .kind = LIANA__SUMMARY_SCALAR, .number = 1};
    assert_ok(liana__event_writer_add(writer, step, &value, 1, &error), &error);
}

/* A training that goes on from step 2 of a process that was killed in the middle of a record. */
static void test_trimming(void **state)
{
    (void)state;
    char path[1024], *bytes;
    size_t size;
    int64_t last = 2;
    assert_ok(liana__event_folder_trim(liana__test_path("nowhere"), keeps_first_steps, &last, &error), &error);
    liana__event_writer *writer = open_writer("trim");
    snprintf(path, sizeof path, "%s", liana__event_writer_path(writer));
    for (int64_t step = 1; step <= 5; step++) add_scalar(writer, "x", step);
    add_scalar(writer, "always", 9);
    assert_ok(liana__event_writer_close(writer, &error), &error);
    /* A file that is right stays as it is. */
    last = 5;
    assert_ok(liana__file_read(path, 1 << 20, &bytes, &size, &error), &error);
    assert_ok(liana__event_folder_trim(liana__test_path("trim"), keeps_first_steps, &last, &error), &error);
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_size, size);
    free(bytes);
    assert_int_equal(truncate(path, (off_t)size - 3), 0);
    last = 2;
    assert_ok(liana__event_folder_trim(liana__test_path("trim"), keeps_first_steps, &last, &error), &error);
    liana__tfrecord *file = open_file(path);
    assert_int_equal(liana__tfrecord_count(file), 3); /* the version, and steps 1 and 2 */
    liana__tfrecord_close(file);
}

static void test_what_is_wrong(void **state)
{
    (void)state;
    liana__event_writer *writer;
    const char *path = liana__test_write("a_file", "x", 1);
    assert_fails(liana__event_writer_open(path, &writer, &error), LIANA_IO_ERROR, &error, "a_file");
    assert_null(writer);
}

/* ---- histograms ---- */

static void test_buckets(void **state)
{
    (void)state;
    double buckets[LIANA__EVENT_BUCKETS * 3];
    float values[301];
    for (int i = 0; i <= 300; i++) values[i] = (float)i;
    assert_int_equal(liana__event_buckets(values, 301, buckets), 301);
    for (int i = 0; i < LIANA__EVENT_BUCKETS; i++) {
        assert_near(buckets[i * 3], 10 * i, 1e-9, i);
        assert_near(buckets[i * 3 + 1], 10 * (i + 1), 1e-9, i);
        assert_near(buckets[i * 3 + 2], i + 1 < LIANA__EVENT_BUCKETS ? 10 : 11, 0, i);
    }
    /* Without those that are not finite. */
    const float some[] = {2, NAN, 2, INFINITY, 2, -INFINITY};
    assert_int_equal(liana__event_buckets(some, 6, buckets), 3);
    for (int i = 0; i < LIANA__EVENT_BUCKETS; i++) {
        assert_near(buckets[i * 3], 2, 0, i);
        assert_near(buckets[i * 3 + 1], 2, 0, i);
        assert_near(buckets[i * 3 + 2], i + 1 < LIANA__EVENT_BUCKETS ? 0 : 3, 0, i);
    }
    const float none[] = {NAN};
    assert_int_equal(liana__event_buckets(none, 1, buckets), 0);
    assert_int_equal(liana__event_buckets(NULL, 0, buckets), 0);
    /* Numbers so large that their distance is not one of f32. */
    const float wide[] = {-3e38F, 3e38F, 0};
    assert_int_equal(liana__event_buckets(wide, 3, buckets), 3);
    assert_near(buckets[2] + buckets[15 * 3 + 2] + buckets[29 * 3 + 2], 3, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),        cmocka_unit_test(test_flushing), cmocka_unit_test(test_trimming),
        cmocka_unit_test(test_what_is_wrong), cmocka_unit_test(test_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
