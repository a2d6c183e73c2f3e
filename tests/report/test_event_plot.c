/* Figures of event files: of one file and of folders in folders, cut files, tags that are not there; and the settings
 * of a sweep in event files. */
#include "harness/harness.h"

#include "base/file.h"
#include "formats/event.pb-c.h"
#include "formats/event_hparams.h"
#include "formats/event_writer.h"
#include "formats/hparams.pb-c.h"
#include "formats/tfrecord.h"
#include "report/event_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static liana__error error;

/* Values step + `shift` of `tag` at steps 1 to `steps`. Returns the path of the file. */
static const char *write_events(const char *folder, const char *tag, int64_t steps, double shift)
{
    static char path[1024];
    liana__event_writer *writer;
    assert_ok(liana__event_writer_open(liana__test_path(folder), &writer, &error), &error);
    snprintf(path, sizeof path, "%s", liana__event_writer_path(writer));
    for (int64_t step = 1; step <= steps; step++) {
        const liana__summary_value value = {.tag = tag,
                                            .kind = LIANA__SUMMARY_SCALAR,
                                            .number = step == 2 ? (double)NAN : (double)step + shift};
        assert_ok(liana__event_writer_add(writer, step, &value, 1, &error), &error);
    }
    assert_ok(liana__event_writer_close(writer, &error), &error);
    return path;
}

typedef struct plotted {
    liana__arena arena;
    liana__event_plot_facts facts;
    char out[1024];
} plotted;

static liana_status plot(plotted *own, const char *const *paths, size_t count, const char *const *tags, size_t num_tags)
{
    *own = (plotted){0};
    snprintf(own->out, sizeof own->out, "%s", liana__test_path("plot.svg"));
    unlink(own->out);
    return liana__plot_events(paths, count, tags, num_tags, own->out, &own->facts, &own->arena, &error);
}

static void check(plotted *own, size_t num_tags, size_t num_drawn)
{
    assert_int_equal(own->facts.num_tags, num_tags);
    assert_int_equal(own->facts.num_drawn, num_drawn);
    assert_true(liana__file_exists(own->out));
    liana__arena_free(&own->arena);
}

static void test_files_and_folders(void **state)
{
    (void)state;
    char folder[1024], file[1024];
    plotted own;
    liana__test_folder();
    snprintf(folder, sizeof folder, "%s", liana__test_path("run"));
    write_events("run/train", "loss", 5, 0);
    write_events("run/train", "batch/loss", 9, 1);
    snprintf(file, sizeof file, "%s", write_events("run/validation", "loss", 5, 2));
    const char *const whole[] = {folder}, *const one[] = {file}, *const both[] = {folder, file};
    const char *const tag[] = {"batch/loss"}, *const wrong[] = {"los"};
    assert_true(liana__event_plot_takes(folder));
    assert_true(liana__event_plot_takes(file));
    assert_ok(plot(&own, whole, 1, NULL, 0), &error);
    check(&own, 2, 2);
    assert_ok(plot(&own, one, 1, NULL, 0), &error);
    check(&own, 1, 1);
    assert_ok(plot(&own, both, 2, tag, 1), &error);
    check(&own, 2, 1);
    assert_fails(plot(&own, whole, 1, wrong, 1), LIANA_INVALID_CONFIG, &error, "'los'", "did you mean 'loss'");
    liana__arena_free(&own.arena);
    assert_false(liana__file_exists(own.out));
    /* A folder of a run is no folder of event files, and neither is one without any. */
    liana__test_write("run/history.json", "{}", 2);
    assert_false(liana__event_plot_takes(folder));
    assert_false(liana__event_plot_takes(liana__test_path("nowhere")));
    assert_false(liana__event_plot_takes(liana__test_write("text", "abc", 3)));
}

/* More tags than panels: those without a group come first. */
static void test_many_tags(void **state)
{
    (void)state;
    plotted own;
    char folder[1024], name[32];
    liana__test_folder();
    snprintf(folder, sizeof folder, "%s", liana__test_path("many"));
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, i % 2 ? "tag%d" : "group/tag%d", i);
        write_events("many/a", name, 3, i);
    }
    const char *const paths[] = {folder};
    assert_ok(plot(&own, paths, 1, NULL, 0), &error);
    check(&own, 20, LIANA__EVENT_PLOT_PANELS);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "many/%c", 'a' + i);
        write_events(name, "loss", 3, i);
    }
    assert_fails(plot(&own, paths, 1, NULL, 0), LIANA_INVALID_CONFIG, &error, "more than 7 folders", "'h'");
    liana__arena_free(&own.arena);
}

static void test_cut_files(void **state)
{
    (void)state;
    plotted own;
    char *bytes;
    size_t size;
    liana__test_folder();
    const char *path = write_events("cut", "loss", 5, 0);
    const char *const paths[] = {path};
    assert_ok(liana__file_read(path, 1 << 20, &bytes, &size, &error), &error);
    assert_int_equal(truncate(path, (off_t)size - 3), 0);
    assert_ok(plot(&own, paths, 1, NULL, 0), &error);
    assert_says(own.facts.damage, path);
    check(&own, 1, 1);
    bytes[size / 2] ^= 1; /* in a record */
    assert_ok(liana__file_replace(path, bytes, size, &error), &error);
    assert_ok(plot(&own, paths, 1, NULL, 0), &error);
    assert_says(own.facts.damage, path);
    check(&own, 1, 1);
    free(bytes);
}

static void test_files_without_numbers(void **state)
{
    (void)state;
    plotted own;
    char folder[1024];
    liana__test_folder();
    snprintf(folder, sizeof folder, "%s", liana__test_path("none"));
    const char *const paths[] = {folder};
    write_events("none", "loss", 0, 0);
    assert_fails(plot(&own, paths, 1, NULL, 0), LIANA_INVALID_CONFIG, &error, "have no numbers", "liana inspect");
    liana__arena_free(&own.arena);
}

/* ---- hyperparameters ---- */

/* The plugin's message of the value of a record. */
static Liana__Hparams__PluginData *read_session(const liana__tfrecord *file, size_t record, const char *tag)
{
    const uint8_t *bytes;
    size_t size;
    assert_ok(liana__tfrecord_get(file, record, &bytes, &size, &error), &error);
    Liana__Event__Event *event = liana__event__event__unpack(NULL, size, bytes);
    assert_non_null(event);
    const Liana__Event__SummaryValue *value = event->summary->value[0];
    assert_string_equal(value->tag, tag);
    assert_string_equal(value->metadata->plugin_data->plugin_name, "hparams");
    assert_int_equal(value->tensor->tensor_shape->dim[0]->size, 0);
    const ProtobufCBinaryData *content = &value->metadata->plugin_data->content;
    Liana__Hparams__PluginData *data = liana__hparams__plugin_data__unpack(NULL, content->len, content->data);
    assert_non_null(data);
    liana__event__event__free_unpacked(event, NULL);
    return data;
}

static void test_hyperparameters(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__paths names;
    liana__tfrecord *file = NULL;
    liana__test_folder();
    const char *folder = liana__arena_string(&arena, liana__test_path("session"));
    liana__value *list = liana__value_list(&arena);
    liana__value_add(&arena, list, liana__value_int(&arena, 3));
    const liana__event_hparam hparams[] = {{"rate", liana__value_float(&arena, 0.25)},
                                           {"batch", liana__value_int(&arena, 64)},
                                           {"name", liana__value_string(&arena, "Adam")},
                                           {"frozen", liana__value_bool(&arena, true)},
                                           {"sizes", list}};
    liana__event_session session = {hparams, 5, "first", 1000.5, 2000.25, false};
    assert_ok(liana__event_session_write(folder, &session, &error), &error);
    session.has_failed = true;
    assert_ok(liana__event_session_write(folder, &session, &error), &error);
    /* The first file was emptied. */
    size_t num_files = 0;
    assert_ok(liana__folder_list(folder, &arena, &names, &error), &error);
    for (size_t i = 0; i < names.count; i++) {
        liana__tfrecord *opened;
        assert_ok(liana__tfrecord_open(liana__path_join(&arena, folder, names.items[i]), NULL, &opened, &error),
                  &error);
        if (liana__tfrecord_count(opened) == 3) {
            file = opened;
            num_files++;
        } else {
            assert_int_equal(liana__tfrecord_count(opened), 1);
            liana__tfrecord_close(opened);
        }
    }
    assert_int_equal(num_files, 1);
    Liana__Hparams__PluginData *begin = read_session(file, 1, "_hparams_/session_start_info");
    assert_string_equal(begin->session_start_info->group_name, "first");
    assert_near(begin->session_start_info->start_time_secs, 1000.5, 0, 0);
    assert_int_equal(begin->session_start_info->n_hparams, 5);
    Liana__Hparams__Entry **entries = begin->session_start_info->hparams;
    assert_string_equal(entries[0]->key, "rate");
    assert_near(entries[0]->value->number_value, 0.25, 0, 0);
    assert_near(entries[1]->value->number_value, 64, 0, 0);
    assert_string_equal(entries[2]->value->string_value, "Adam");
    assert_true(entries[3]->value->bool_value);
    assert_string_equal(entries[4]->value->string_value, "[3]");
    liana__hparams__plugin_data__free_unpacked(begin, NULL);
    Liana__Hparams__PluginData *end = read_session(file, 2, "_hparams_/session_end_info");
    assert_int_equal(end->session_end_info->status, LIANA__HPARAMS__STATUS__STATUS_FAILURE);
    assert_near(end->session_end_info->end_time_secs, 2000.25, 0, 0);
    liana__hparams__plugin_data__free_unpacked(end, NULL);
    liana__tfrecord_close(file);
    liana__arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_and_folders), cmocka_unit_test(test_many_tags),
        cmocka_unit_test(test_cut_files),         cmocka_unit_test(test_files_without_numbers),
        cmocka_unit_test(test_hyperparameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
