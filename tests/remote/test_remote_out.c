/* Results in buckets, from the command's side and in C: the files there are those of a local run, also after the run
 * was killed, refused or cut off. */
#include "harness/command_run.h"
#include "harness/peers.h"
#include "harness/remote_server.h"
#include "harness/wait_until.h"

#include "base/file.h"
#include "base/text.h"

#include <liana/liana.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const EXACT[] = {"history.json", "model.json", "validation_predictions.csv", "test_predictions.csv"};

static size_t count_left(const char *cache)
{
    liana__arena arena = {0};
    liana__paths names;
    char path[300];
    snprintf(path, sizeof path, "%s/out", cache);
    size_t count = liana__folder_list(path, &arena, &names, NULL) == LIANA_OK ? names.count : 0;
    liana__arena_free(&arena);
    return count;
}

/* Both are in the test's folder. `all`: the run has the same checkpoints; otherwise it has the newest. */
static void assert_same_run(const char *run, const char *expected, bool all)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__paths a, b;
    char name[300], other[300];
    for (size_t i = 0; i < sizeof EXACT / sizeof *EXACT; i++) {
        snprintf(name, sizeof name, "%s/%s", run, EXACT[i]);
        snprintf(other, sizeof other, "%s/%s", expected, EXACT[i]);
        assert_same_file(liana__test_path(name), liana__test_path(other));
    }
    snprintf(name, sizeof name, "%s/checkpoints", run);
    snprintf(other, sizeof other, "%s/checkpoints", expected);
    assert_ok(liana__folder_list(liana__test_path(name), &arena, &a, &error), &error);
    assert_ok(liana__folder_list(liana__test_path(other), &arena, &b, &error), &error);
    for (size_t i = 0; all && i < a.count && a.count != b.count; i++) print_error("%s: '%s'\n", run, a.items[i]);
    if (all) assert_int_equal(a.count, b.count);
    assert_compare(a.count, >, 0);
    assert_compare(a.count, <=, b.count);
    assert_string_equal(a.items[a.count - 1], b.items[b.count - 1]);
    for (size_t i = 0; i < a.count; i++) {
        if (all) assert_string_equal(a.items[i], b.items[i]);
        snprintf(other, sizeof other, "%s/checkpoints/%s/state.json", expected, a.items[i]);
        if (!liana__file_exists(liana__test_path(other))) continue;
        snprintf(name, sizeof name, "%s/checkpoints/%s/variables.safetensors", run, a.items[i]);
        snprintf(other, sizeof other, "%s/checkpoints/%s/variables.safetensors", expected, a.items[i]);
        assert_same_file(liana__test_path(name), liana__test_path(other));
        snprintf(name, sizeof name, "%s/checkpoints/%s/state.json", run, a.items[i]);
        assert_true(liana__file_exists(liana__test_path(name)));
    }
    liana__arena_free(&arena);
}

static void assert_text(const char *name, const char *text, bool there)
{
    char *data;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path(name), 1 << 20, &data, &size, &error), &error);
    if ((strstr(data, text) != NULL) != there) {
        print_error("'%s' %s '%s'\n", name, there ? "lacks" : "has", text);
        fail();
    }
    free(data);
}

/* ---- whole runs ---- */

static void check_commands(const char *url)
{
    liana__test_result here = liana__test_command("evaluate", liana__test_path("local"));
    liana__test_result there = liana__test_command("evaluate", url);
    const char *name = strstr(there.out, ", with '");
    assert_int_equal(strncmp(here.out, there.out, (size_t)(strstr(here.out, ", with '") - here.out)), 0);
    assert_non_null(name);
    assert_begins(name + strlen(", with '"), url);
    assert_code(here, 0);
    assert_code(there, 0);
    assert_code(liana__test_command("evaluate", url, "--checkpoint", "step-0000000009"), 0);
    assert_refused(liana__test_command("evaluate", url, "--checkpoint", "step-0000000001"), 1, url,
                   "no complete checkpoint 'step-0000000001'");
    char summary[200], predictions[200];
    snprintf(summary, sizeof summary, "%s", url);
    assert_code(liana__test_command("summary", summary), 0);
    snprintf(predictions, sizeof predictions, "%s.csv", url);
    assert_code(liana__test_command("predict", url, "--data", liana__test_path("test-images"), "--out", predictions),
                0);
    assert_code(liana__test_command("predict", liana__test_path("local"), "--data", liana__test_path("test-images"),
                                    "--out", liana__test_path("predictions.csv")),
                0);
    char served[200];
    assert_code(liana__test_command("evaluate", url, "--follow", "--every", "0.01"), 0);
    assert_code(liana__test_command("evaluate", liana__test_path("local"), "--follow", "--every", "0.01"), 0);
    snprintf(served, sizeof served, "served/%s/evaluations.json", strrchr(url, '/') + 1);
    assert_same_file(liana__test_path(served), liana__test_path("local/evaluations.json"));
    snprintf(served, sizeof served, "served/%s.csv", strrchr(url, '/') + 1);
    assert_same_file(liana__test_path(served), liana__test_path("predictions.csv"));
}

static void test_runs_in_buckets(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(96);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("local")), 0);
    static const char *const urls[] = {"s3://bucket/one", "gs://bucket/two"};
    for (int i = 0; i < 2; i++) {
        char served[100], file[150];
        snprintf(served, sizeof served, "served/%s", urls[i] + strlen("s3://bucket/"));
        liana__test_server_fault("put-503", 2);
        liana__test_result got = liana__test_command("train", config, "--out", urls[i]);
        assert_says(got.out, "the run is in '");
        assert_says(got.out, urls[i]);
        assert_code(got, 0);
        assert_same_run(served, "local", true);
        snprintf(file, sizeof file, "%s/config.yaml", served);
        assert_text(file, urls[i], true);
        assert_text(file, "/out/", false);
        assert_int_equal(count_left(liana__test_path("cache")), 0);
        check_commands(urls[i]);
        assert_refused(liana__test_command("train", config, "--out", urls[i]), 2, urls[i], "already holds a run",
                       "--resume");
        got = liana__test_command("train", config, "--out", urls[i], "--resume", "data.on_bad_record=skip");
        assert_says(got.out, "nothing is left to train");
        assert_says(got.out, urls[i]);
        assert_code(got, 0);
        assert_same_run(served, "local", true);
        /* The run in place of its configuration. */
        got = liana__test_command("train", urls[i], "--resume");
        assert_says(got.out, "nothing is left to train");
        assert_code(got, 0);
        assert_refused(liana__test_command("train", urls[i]), 2, "is a run folder", "--resume goes on");
    }
    assert_refused(liana__test_command("train", config, "--out", "s3://bucket/one", "--resume", "train.seed=8"), 2,
                   "'train.seed': 7 -> 8", "s3://bucket/one/config.yaml");
    assert_refused(liana__test_command("evaluate", "gs://bucket/none"), 1, "'gs://bucket/none' is not a run folder");
    assert_refused(liana__test_command("evaluate", "https://example.com/run"), 1, "https://example.com/run",
                   "web servers");
}

static void test_pictures(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(64);
    assert_code(liana__test_command("train", config, "--out", "gs://bucket/run", "train.epochs=1"), 0);
    liana__test_result got = liana__test_command("report", "gs://bucket/run");
    if (strstr(got.err, "libcairo") || strstr(got.err, "no cairo")) {
        liana__test_free_result(&got);
        liana__test_skip("no cairo");
    }
    assert_says(got.out, "gs://bucket/run/curves.png");
    assert_code(got, 0);
    assert_true(liana__file_exists(liana__test_path("served/run/curves.png")));
    assert_true(liana__file_exists(liana__test_path("served/run/predictions.png")));
    got = liana__test_command("data", config, "--out", "s3://bucket/pictures");
    assert_says(got.out, "s3://bucket/pictures/");
    assert_code(got, 0);
    assert_true(liana__folder_exists(liana__test_path("served/pictures")));
    assert_int_equal(count_left(liana__test_path("cache")), 0);
}

/* Single files: records to leave out, and a trace. */
static void test_lists_and_traces(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(32);
    char bad[300];
    snprintf(bad, sizeof bad, "%s", liana__test_path("bad.tfrec"));
    assert_code(liana__test_command("convert", liana__test_path("train-images"), "--out", liana__test_path("shards")),
                0);
    char *data;
    size_t size;
    liana__error error = {0};
    liana__paths names;
    liana__arena arena = {0};
    assert_ok(liana__file_match(liana__test_path("shards/*tfrec*"), &arena, &names, &error), &error);
    assert_ok(liana__file_read(names.items[0], 1 << 24, &data, &size, &error), &error);
    data[size / 2] ^= 1;
    assert_ok(liana__file_replace(bad, data, size, &error), &error);
    free(data);
    liana__arena_free(&arena);
    assert_code(liana__test_command("check", bad, "--quarantine", liana__test_path("local.csv")), 1);
    liana__test_result got = liana__test_command("check", bad, "--quarantine", "s3://bucket/sent.csv");
    assert_says(got.out, "'s3://bucket/sent.csv'");
    assert_code(got, 1);
    assert_same_file(liana__test_path("served/sent.csv"), liana__test_path("local.csv"));
    assert_refused(liana__test_command("check", bad, "--quarantine", "gs://readonly/sent.csv"), 1,
                   "gs://readonly/sent.csv");
    assert_code(liana__test_command("profile", config, "--steps", "1", "--trace", "gs://bucket/trace.json"), 0);
    assert_text("served/trace.json", "\"traceEvents\"", true);
    assert_text("served/trace.json", "\"process_name\"", true);
    assert_refused(liana__test_command("profile", config, "--steps", "1", "--trace", "s3://missing/trace.json"), 1,
                   "s3://missing/trace.json");
}

/* ---- runs that are interrupted ---- */

static void run_until_killed(const char *config, const char *url, int sent)
{
    liana__test_server_forget();
    liana__test_server_fault("put-enough", sent);
    pid_t process = liana__test_spawn((const char *const[]){"train", config, "--out", url, "checkpoint.every_steps=2",
                                                            "cluster.lease=2", NULL},
                                      NULL);
    wait_until((int)liana__test_server_requests("PUT ", NULL) >= sent);
    /* In the middle of the next upload, or a little later. */
    usleep(300000);
    kill(process, SIGKILL);
    liana__test_result got = liana__test_wait(process);
    assert_int_equal(got.code, 128 + SIGKILL);
    liana__test_free_result(&got);
    liana__test_server_fault("none", 0);
}

static void test_killed_runs(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(96);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("local"), "checkpoint.every_steps=2"),
                0);
    static const int sent[] = {0, 1, 2, 3, 4, 5, 6, 8, 11};
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
        char url[64], served[64], cache[300];
        snprintf(url, sizeof url, "%s://bucket/run-%zu", i % 3 == 2 ? "gs" : "s3", i);
        snprintf(served, sizeof served, "served/run-%zu", i);
        run_until_killed(config, url, sent[i]);
        /* On this machine, which has the files that were not sent; or on another. */
        bool other = i % 2;
        snprintf(cache, sizeof cache, "%s", liana__test_path(other ? "cache-of-another" : "cache"));
        setenv("LIANA_CACHE", cache, 1);
        assert_code(liana__test_command("train", config, "--out", url, "--resume", "checkpoint.every_steps=2",
                                        "cluster.lease=2"),
                    0);
        /* Older checkpoints that were not sent are not there for another machine. */
        assert_same_run(served, "local", !other);
        setenv("LIANA_CACHE", liana__test_path("cache"), 1);
    }
}

static void test_a_bucket_that_refuses_later(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(96);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("local")), 0);
    liana__test_server_fault("put-denied", 9);
    liana__test_result got = liana__test_command("train", config, "--out", "s3://bucket/run");
    const char *kept = strstr(got.err, "is kept in '");
    assert_non_null(kept);
    assert_says(got.err, "HTTP 403");
    assert_says(got.err, "--resume sends it");
    assert_code(got, 1);
    assert_int_equal(count_left(liana__test_path("cache")), 1);
    /* Kept files are not overwritten by mistake, and are sent by a resume. */
    liana__test_server_fault("none", 0);
    got = liana__test_command("train", config, "--out", "s3://bucket/run");
    if (!strstr(got.err, "were not sent")) assert_says(got.err, "already holds a run");
    assert_code(got, 2);
    assert_code(liana__test_command("train", config, "--out", "s3://bucket/run", "--resume"), 0);
    assert_same_run("served/run", "local", true);
    assert_int_equal(count_left(liana__test_path("cache")), 0);
}

static void test_places_that_cannot_be_written(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(32);
    /* All of it is said before anything is trained. */
    assert_refused(liana__test_command("train", config, "--out", "s3://missing/run"), 1, "s3://missing/run",
                   "NoSuchBucket");
    liana__test_result got = liana__test_command("train", config, "--out", "gs://readonly/run");
    assert_says(got.err, "storage.objects.create");
    assert_never_says(got.out, "epoch 1");
    assert_code(got, 1);
    assert_refused(liana__test_command("train", config, "--out", "https://example.com/run"), 1,
                   "https://example.com/run", "web servers take no files");
    assert_refused(liana__test_command("predict", "s3://bucket/none", "--data", "x"), 1, "'s3://bucket/none'");
    setenv("LIANA_CACHE", "/dev/full/x", 1);
    assert_refused(liana__test_command("train", config, "--out", "s3://bucket/run"), 1, "s3://bucket/run", "/dev/full");
}

/* ---- shards ---- */

static void assert_same_shards(const char *served, const char *expected)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__paths names;
    static const char *const folders[] = {"", "/train", "/val"};
    for (int i = 0; i < 3; i++) {
        char folder[300], other[300];
        snprintf(folder, sizeof folder, "%s%s", expected, folders[i]);
        assert_ok(liana__folder_list(liana__test_path(folder), &arena, &names, &error), &error);
        for (size_t k = 0; k < names.count; k++) {
            snprintf(folder, sizeof folder, "%s%s/%s", expected, folders[i], names.items[k]);
            snprintf(other, sizeof other, "%s%s/%s", served, folders[i], names.items[k]);
            if (liana__file_exists(liana__test_path(folder))) {
                assert_same_file(liana__test_path(folder), liana__test_path(other));
            }
        }
    }
    liana__arena_free(&arena);
}

static void test_shards(void **state)
{
    (void)state;
    liana__test_tiny_data("train", 60, 1);
    char data[300];
    snprintf(data, sizeof data, "%s", liana__test_path("train-images"));
    assert_code(liana__test_command("convert", data, "--out", liana__test_path("here"), "--validation", "0.2",
                                    "--records", "10"),
                0);
    static const char *const urls[] = {"s3://bucket/one", "gs://bucket/two"};
    for (int i = 0; i < 2; i++) {
        char served[100], stale[150], names[150];
        snprintf(served, sizeof served, "served/%s", urls[i] + strlen("s3://bucket/"));
        snprintf(stale, sizeof stale, "%s/train/part99-1.tfrec", urls[i] + strlen("s3://bucket/"));
        snprintf(names, sizeof names, "%s/other.txt", urls[i] + strlen("s3://bucket/"));
        liana__test_serve(stale, "old", 3);
        liana__test_serve(names, "mine", 4);
        assert_refused(liana__test_command("convert", data, "--out", urls[i]), 2, urls[i], "is not empty",
                       "--overwrite");
        liana__test_server_forget();
        liana__test_server_fault("put-503", 2);
        liana__test_result got = liana__test_command("convert", data, "--out", urls[i], "--validation", "0.2",
                                                     "--records", "10", "--overwrite");
        assert_says(got.out, urls[i]);
        assert_code(got, 0);
        assert_same_shards(served, "here");
        char path[200];
        snprintf(path, sizeof path, "served/%s", stale);
        assert_false(liana__file_exists(liana__test_path(path)));
        snprintf(path, sizeof path, "served/%s", names);
        assert_true(liana__file_exists(liana__test_path(path)));
        assert_int_equal(count_left(liana__test_path("cache")), 0);
    }
    assert_refused(liana__test_command("convert", "gs://bucket/two/train", "--out", "gs://bucket/two", "--overwrite"),
                   2, "one inside the other");
    liana__test_server_fault("put-denied", 2);
    assert_refused(liana__test_command("convert", data, "--out", "s3://bucket/three", "--records", "10"), 1, "HTTP 403",
                   "is kept in '");
    assert_false(liana__file_exists(liana__test_path("served/three/classes.txt")));
}

/* ---- in C ---- */

static liana_model *make_model(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_flatten(model);
    liana_dropout(model, .rate = 0.25);
    liana_dense(model, .units = LIANA__TINY_CLASSES, .activation = "softmax");
    return model;
}

static void fit_done(liana_context *context, liana_status status)
{
    if (status != LIANA_OK) print_error("%s\n", liana_context_message(context));
    assert_int_equal(status, LIANA_OK);
}

static bool stop_early(void *user, const liana_epoch *epoch)
{
    (void)user;
    return epoch->epoch < 2;
}

static void test_fits_and_models(void **state)
{
    (void)state;
    liana__test_tiny_data("train", 64, 1);
    liana_context *context;
    liana_dataset *data;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    assert_int_equal(liana_dataset_open(context, liana__test_path("train-images"), NULL, &data), LIANA_OK);
    liana_fit_options options = {.training = data, .epochs = 4, .batch_size = 16, .seed = 3};
    liana_model *straight = make_model(context), *model = make_model(context);
    fit_done(context, liana_fit(straight, &options));
    /* Stopped, and continued from the bucket by another model, on another machine. */
    options.checkpoints = "s3://bucket/fit";
    options.on_epoch = stop_early;
    assert_int_equal(liana_fit(model, &options), LIANA_CANCELLED);
    assert_true(liana__file_exists(liana__test_path("served/fit/step-0000000008/state.json")));
    liana_model_destroy(model);
    model = make_model(context);
    setenv("LIANA_CACHE", liana__test_path("cache-of-another"), 1);
    options.on_epoch = NULL;
    options.resume = true;
    fit_done(context, liana_fit(model, &options));
    assert_false(liana__folder_exists(liana__test_path("served/fit/step-0000000004")));
    float expected[64 * LIANA__TINY_CLASSES], found[64 * LIANA__TINY_CLASSES];
    fit_done(context, liana_predict(straight, data, NULL, expected));
    fit_done(context, liana_predict(model, data, NULL, found));
    assert_memory_equal(expected, found, sizeof expected);
    liana_model_destroy(straight);

    static const char *const urls[] = {"gs://bucket/model", "s3://bucket/model"};
    for (int i = 0; i < 2; i++) {
        liana_model *loaded;
        fit_done(context, liana_model_save(model, urls[i]));
        fit_done(context, liana_model_load(context, urls[i], &loaded));
        fit_done(context, liana_predict(loaded, data, NULL, found));
        assert_memory_equal(expected, found, sizeof expected);
        liana_model_destroy(loaded);
    }
    assert_int_equal(liana_model_save(model, "gs://readonly/model"), LIANA_IO_ERROR);
    assert_says(liana_context_message(context), "gs://readonly/model/weights.safetensors");
    options.checkpoints = "s3://readonly/fit";
    options.resume = false;
    assert_int_equal(liana_fit(model, &options), LIANA_IO_ERROR);
    assert_says(liana_context_message(context), "AccessDenied");
    liana_model_destroy(model);
    liana_dataset_close(data);
    liana_context_destroy(context);
}

static void test_a_run_as_a_model(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(64);
    assert_code(liana__test_command("train", config, "--out", "gs://bucket/run", "train.epochs=2", "checkpoint.keep=0",
                                    "checkpoint.best=loss"),
                0);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("run"), "train.epochs=1"), 0);
    liana_context *context;
    liana_dataset *data;
    liana_model *here, *there;
    float expected[32 * LIANA__TINY_CLASSES], found[32 * LIANA__TINY_CLASSES];
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_dataset_open(context, liana__test_path("validation-images"), NULL, &data), LIANA_OK);
    /* A checkpoint of it, by name; and the best one. */
    fit_done(context, liana_model_load(context, "gs://bucket/run/checkpoints/best", &there));
    liana_model_destroy(there);
    fit_done(context, liana_model_load(context, "gs://bucket/run/checkpoints/step-0000000002", &there));
    fit_done(context, liana_model_load(context, liana__test_path("run"), &here));
    fit_done(context, liana_predict(here, data, NULL, expected));
    fit_done(context, liana_predict(there, data, NULL, found));
    assert_memory_equal(expected, found, sizeof expected);
    liana_model_destroy(here);
    liana_model_destroy(there);
    liana_dataset_close(data);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, liana__test_server_set_up, liana__test_server_tear_down)
        TEST(test_runs_in_buckets),
        TEST(test_pictures),
        TEST(test_lists_and_traces),
        TEST(test_killed_runs),
        TEST(test_a_bucket_that_refuses_later),
        TEST(test_places_that_cannot_be_written),
        TEST(test_shards),
        TEST(test_fits_and_models),
        TEST(test_a_run_as_a_model),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
