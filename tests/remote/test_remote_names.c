/* URLs work wherever a file name does. */
#include "harness/command_run.h"
#include "harness/remote_server.h"

#include "base/file.h"
#include "data/source/source_open.h"

#include <liana/train.h>
#include <stdlib.h>
#include <string.h>

static void serve_text(const char *name, const char *text)
{
    liana__test_serve(name, text, strlen(text));
}

/* ---- sources ---- */

static liana_status open_url(const char *url, const liana__source_options *options, liana__source **source,
                             liana__error *error)
{
    return liana__source_open(&url, 1, options, source, error);
}

static void check_record(const liana__source *source, uint64_t index, int64_t label, const char *bytes)
{
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record;
    liana__error error = {0};
    assert_ok(liana__source_read(source, index, scratch, &record, &error), &error);
    assert_int_equal(record.label, label);
    assert_int_equal(record.size, strlen(bytes));
    assert_memory_equal(record.bytes, bytes, record.size);
    liana__source_scratch_destroy(source, scratch);
}

/* Rows may be URLs of any kind, and paths; names in a list on a server count from the folder of the list. */
static void test_rows_of_a_list(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__source *source;
    char text[1000];
    serve_text("img/1.jpg", "one");
    serve_text("img/2.jpg", "two, longer");
    serve_text("lists/3.jpg", "three");
    liana__test_write("4.jpg", "four", 4);
    snprintf(text, sizeof text, "path,label\ngs://bucket/img/1.jpg,1\ns3://bucket/img/2.jpg,2\n%s,3\n4.jpg,4\n",
             liana__test_server_url("/web/lists/3.jpg"));
    const char *list = liana__test_write("l.csv", text, strlen(text));
    assert_ok(open_url(list, NULL, &source, &error), &error);
    assert_int_equal(source->num_records, 4);
    check_record(source, 0, 1, "one");
    check_record(source, 1, 2, "two, longer");
    check_record(source, 2, 3, "three");
    check_record(source, 3, 4, "four");
    liana__source_close(source);

    static const char *const bodies[] = {
        "path,label\n../img/1.jpg,1\n3.jpg,3\n./3.jpg,3\ns3://bucket/img/2.jpg,2\n",
        "../img/1.jpg,1\n3.jpg,3\n./3.jpg,3\ns3://bucket/img/2.jpg,2\n",
    };
    for (int i = 0; i < 2; i++) {
        serve_text("lists/l.csv", bodies[i]);
        const char *const urls[] = {"gs://bucket/lists/l.csv", liana__test_server_url("/web/lists/l.csv")};
        assert_ok(open_url(urls[i], NULL, &source, &error), &error);
        assert_int_equal(source->num_records, 4);
        check_record(source, 0, 1, "one");
        check_record(source, 2, 3, "three");
        check_record(source, 3, 2, "two, longer");
        assert_string_equal(liana__source_address(source, 1).file, urls[i]);
        liana__source_close(source);
    }

    serve_text("lists/l.csv", "path,label\n../img/1.jpg,1\nnone.jpg,3\n3.jpg,3\n");
    assert_fails(open_url("gs://bucket/lists/l.csv", NULL, &source, &error), LIANA_NOT_FOUND, &error,
                 "'gs://bucket/lists/l.csv', line 3", "there is no 'gs://bucket/lists/none.jpg'");
    assert_ok(open_url("gs://bucket/lists/l.csv", &(liana__source_options){.skip_damage = true}, &source, &error),
              &error);
    assert_int_equal(source->num_records, 3);
    check_record(source, 2, 3, "three");
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record;
    assert_fails(liana__source_read(source, 1, scratch, &record, &error), LIANA_NOT_FOUND, &error,
                 "'gs://bucket/lists/l.csv', record 1 (id 'none.jpg')", "gs://bucket/lists/none.jpg");
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
    /* Names that cannot be; and a file that is named more than once. */
    serve_text("lists/l.csv", "path,label\nftp://h/x.jpg,1\ngs://bucket/img/../img/1.jpg,1\ngs://NO/x.jpg,2\n3.jpg,3\n"
                              "3.jpg,4\n");
    assert_ok(open_url("s3://bucket/lists/l.csv", &(liana__source_options){.skip_damage = true}, &source, &error),
              &error);
    check_record(source, 3, 3, "three");
    check_record(source, 4, 4, "three");
    scratch = liana__source_scratch_create(source);
    assert_fails(liana__source_read(source, 0, scratch, &record, &error), LIANA_INVALID_DATA, &error, "record 0",
                 "'ftp://' cannot be read");
    assert_fails(liana__source_read(source, 1, scratch, &record, &error), LIANA_NOT_FOUND, &error, "record 1",
                 "img/../img/1.jpg");
    assert_fails(liana__source_read(source, 2, scratch, &record, &error), LIANA_INVALID_DATA, &error, "record 2",
                 "not the name of a bucket");
    liana__source_scratch_destroy(source, scratch);
    liana__source_close(source);
    /* Where nothing can be had, it is no matter of bad records. */
    serve_text("lists/l.csv", "path,label\nnone.jpg,3\nneither.jpg,3\n");
    assert_fails(open_url("gs://bucket/lists/l.csv", &(liana__source_options){.skip_damage = true}, &source, &error),
                 LIANA_NOT_FOUND, &error, "line 2", "none.jpg");
}

/* One request for each of many images, several at a time. */
static void test_a_long_list(void **state)
{
    (void)state;
    enum { ROWS = 200 };
    char name[64], list[ROWS * 40 + 20] = "path,label\n";
    for (int i = 0; i < ROWS; i++) {
        snprintf(name, sizeof name, "rows/%d.jpg", i);
        serve_text(name, name);
        snprintf(list + strlen(list), sizeof list - strlen(list), "s3://bucket/rows/%d.jpg,%d\n", i, i % 7);
    }
    liana__source *source;
    liana__error error = {0};
    assert_ok(open_url(liana__test_write("l.csv", list, strlen(list)), NULL, &source, &error), &error);
    assert_int_equal(source->num_records, ROWS);
    check_record(source, 123, 123 % 7, "rows/123.jpg");
    liana__source_close(source);
    assert_int_equal(liana__test_server_requests("HEAD", NULL), ROWS);
    assert_int_equal(liana__test_server_requests("GET", NULL), ROWS);
}

static void test_labels_beside_images(void **state)
{
    (void)state;
    liana__test_tiny_data("train", 20, 1);
    liana__test_serve_file("data/train-images", liana__test_path("train-images"));
    liana__test_serve_file("data/train-labels", liana__test_path("train-labels"));
    liana__error error = {0};
    liana__source *source;
    const char *const urls[] = {"gs://bucket/data/train-images", "s3://bucket/data/train-images",
                                liana__test_server_url("/web/data/train-images")};
    for (int i = 0; i < 3; i++) {
        assert_ok(open_url(urls[i], &(liana__source_options){.need_labels = true}, &source, &error), &error);
        assert_int_equal(source->num_records, 20);
        liana__source_close(source);
    }
    liana__test_serve_file("other/images", liana__test_path("train-images"));
    assert_ok(open_url("s3://bucket/other/images", NULL, &source, &error), &error);
    assert_false(source->has_labels);
    liana__source_close(source);
}

/* ---- commands ---- */

static void serve_tiny(void)
{
    static const char *const names[] = {"train-images", "train-labels", "validation-images", "validation-labels"};
    for (size_t i = 0; i < 4; i++) {
        char served[64];
        snprintf(served, sizeof served, "data/%s", names[i]);
        liana__test_serve_file(served, liana__test_path(names[i]));
    }
}

static void test_lists_of_what_to_leave_out(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(32);
    serve_tiny();
    serve_text("data/list.csv", "file,record\ntrain-images,3\ngs://bucket/data/train-images,5\n"
                                "s3://bucket/data/train-images,7\n");
    liana__test_result got = liana__test_command("train", config, "--out", liana__test_path("run"),
                                                 "data.train=gs://bucket/data/train-images",
                                                 "data.validation=gs://bucket/data/validation-images",
                                                 "data.quarantine=gs://bucket/data/list.csv", "train.epochs=1");
    assert_says(got.out, "30 training");
    assert_code(got, 0);
    got = liana__test_command("check", config, "data.train=gs://bucket/data/train-images",
                              "data.quarantine=gs://bucket/data/list.csv");
    assert_says(got.out, "30");
    assert_code(got, 0);
    serve_text("data/list.csv", "file,record\ntrain-images,x\n");
    assert_refused(liana__test_command("check", config, "data.quarantine=s3://bucket/data/list.csv"), 1,
                   "'s3://bucket/data/list.csv', line 2");
}

static void test_check_keeps_to_its_configuration(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(32);
    serve_tiny();
    char assignment[600];
    snprintf(assignment, sizeof assignment, "data.remote_cache=%s", liana__test_path("elsewhere"));
    assert_code(liana__test_command("check", config, "data.train=gs://bucket/data/train-images", assignment), 0);
    assert_true(liana__folder_exists(liana__test_path("elsewhere/files")));
    assert_false(liana__folder_exists(liana__test_path("cache")));
}

/* Models that begin where others ended, and checkpoints to measure. */
static void test_models_and_checkpoints(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(32);
    liana_context *context;
    liana_model *model;
    assert_code(liana__test_command("train", config, "--out", liana__test_path("run"), "train.epochs=1"), 0);
    char checkpoint[600], path[700];
    snprintf(checkpoint, sizeof checkpoint, "%s", liana__test_newest_checkpoint("run"));
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths names;
    assert_ok(liana__folder_list(checkpoint, &arena, &names, &error), &error);
    for (size_t i = 0; i < names.count; i++) {
        char served[200];
        snprintf(path, sizeof path, "%s/%s", checkpoint, names.items[i]);
        snprintf(served, sizeof served, "best/%s", names.items[i]);
        liana__test_serve_file(served, path);
    }
    liana__arena_free(&arena);
    liana__test_result here = liana__test_command("evaluate", liana__test_path("run"));
    liana__test_result there =
        liana__test_command("evaluate", liana__test_path("run"), "--checkpoint", "s3://bucket/best");
    const char *numbers = strstr(here.out, "loss"), *same = strstr(there.out, "loss");
    assert_non_null(numbers);
    assert_non_null(same);
    assert_int_equal(strncmp(numbers, same, 20), 0);
    assert_code(here, 0);
    assert_code(there, 0);
    assert_refused(liana__test_command("evaluate", liana__test_path("run"), "--checkpoint", "gs://bucket/none"), 1,
                   "gs://bucket/none");
    assert_refused(liana__test_command("evaluate", "gs://bucket/best"), 1, "'gs://bucket/best' is not a run folder",
                   "config.yaml");

    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_model_load(context, liana__test_path("run"), &model), LIANA_OK);
    assert_int_equal(liana_model_save(model, liana__test_path("model")), LIANA_OK);
    int64_t count = liana_model_info(model).num_parameters;
    liana_model_destroy(model);
    liana__test_serve_file("model/model.json", liana__test_path("model/model.json"));
    assert_int_equal(liana_model_load(context, "gs://bucket/model", &model), LIANA_NOT_FOUND);
    assert_says(liana_context_message(context), "gs://bucket/model/weights.safetensors");
    liana__test_serve_file("model/weights.safetensors", liana__test_path("model/weights.safetensors"));
    const char *const urls[] = {"gs://bucket/model", liana__test_server_url("/web/model")};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(liana_model_load(context, urls[i], &model), LIANA_OK);
        assert_int_equal(liana_model_info(model).num_parameters, count);
        assert_int_equal(liana_model_load_weights(model, "s3://bucket/model/weights.safetensors", false), LIANA_OK);
        liana_model_destroy(model);
    }
    liana_context_destroy(context);
}

/* A model of Keras in one file, by its URL. */
static void test_a_file_of_keras(void **state)
{
    (void)state;
    liana_context *context;
    liana_model *model;
    const char *const urls[] = {"gs://bucket/m.keras", liana__test_server_url("/web/m.h5")};
    liana__test_serve_file("m.keras", LIANA_SOURCE_DIR "/tests/samples/keras3_compiled.keras");
    liana__test_serve_file("m.h5", LIANA_SOURCE_DIR "/tests/samples/keras3_compiled.h5");
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(liana_model_load(context, urls[i], &model), LIANA_OK);
        assert_int_equal(liana_model_info(model).num_parameters, 63);
        liana_model_destroy(model);
    }
    assert_int_equal(liana_model_load(context, "gs://bucket/none.keras", &model), LIANA_NOT_FOUND);
    assert_says(liana_context_message(context), "gs://bucket/none.keras");
    liana_context_destroy(context);
}

/* A signed URL is identified by the part that stays when it is signed anew; the signature is in no file and in no
 * message. */
static void test_signed_urls(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(32);
    serve_tiny();
    char train[300], other[300], validation[300];
    snprintf(train, sizeof train, "data.train=%s?X-Amz-Date=1&X-Amz-Signature=hidden-first",
             liana__test_server_url("/web/data/train-images"));
    snprintf(other, sizeof other, "data.train=%s?X-Amz-Date=2&X-Amz-Signature=hidden-second",
             liana__test_server_url("/web/data/train-images"));
    snprintf(validation, sizeof validation, "data.validation=%s?sp=r&sig=hidden&se=1",
             liana__test_server_url("/web/data/validation-images"));
    liana__test_result got =
        liana__test_command("train", config, "--out", liana__test_path("run"), train, validation, "train.epochs=1");
    assert_never_says(got.out, "hidden");
    assert_code(got, 0);
    char *text;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path("run/config.yaml"), 1 << 20, &text, &size, &error), &error);
    assert_says(text, "/web/data/train-images?REDACTED");
    assert_says(text, "/web/data/validation-images?REDACTED");
    assert_never_says(text, "hidden");
    free(text);
    assert_refused(liana__test_command("evaluate", liana__test_path("run")), 1, "?REDACTED'", "signature",
                   "data.validation=URL");
    liana__test_server_forget();
    got = liana__test_command("evaluate", liana__test_path("run"), validation);
    assert_code(got, 0);
    /* Signed anew it is the same file, of the cache and of the run. */
    got = liana__test_command("train", config, "--out", liana__test_path("run"), "--resume", other, validation,
                              "train.epochs=1");
    assert_code(got, 0);
    assert_int_equal(liana__test_server_requests("train-images", "bytes=0-0"), 1);
    assert_int_equal(liana__test_server_requests("train-images", NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, liana__test_server_set_up, liana__test_server_tear_down)
        TEST(test_rows_of_a_list),
        TEST(test_a_long_list),
        TEST(test_labels_beside_images),
        TEST(test_lists_of_what_to_leave_out),
        TEST(test_check_keeps_to_its_configuration),
        TEST(test_models_and_checkpoints),
        TEST(test_signed_urls),
        TEST(test_a_file_of_keras),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
