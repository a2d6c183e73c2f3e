/* From the command's side: training from gs:// and s3:// gives what training from files gives. */
#include "harness/command_run.h"
#include "harness/remote_server.h"

#include "base/file.h"

#include <liana/dataset.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void serve_copy(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "data/%s", name);
    liana__test_serve_file(path, liana__test_path(name));
}

static void assert_same_model(const char *run, const char *expected)
{
    char a[600], b[600];
    snprintf(a, sizeof a, "%s/variables.safetensors", liana__test_newest_checkpoint(run));
    snprintf(b, sizeof b, "%s/variables.safetensors", liana__test_newest_checkpoint(expected));
    assert_same_file(a, b);
}

static void test_training_from_buckets(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(96);
    static const char *const names[] = {"train-images",      "train-labels", "validation-images",
                                        "validation-labels", "test-images",  "config.yaml"};
    for (size_t i = 0; i < 6; i++) serve_copy(names[i]);
    static const char classes[] = "north\nsouth\neast\nwest\n";
    liana__test_serve("data/classes.txt", classes, strlen(classes));
    assert_code(liana__test_command("train", config, "--out", liana__test_path("local")), 0);
    liana__test_server_fault("503", 2);
    liana__test_result got =
        liana__test_command("train", config, "--out", liana__test_path("gs"),
                            "data.train={images: gs://bucket/data/train-images, labels: gs://bucket/data/train-labels}",
                            "data.validation=gs://bucket/data/validation-*",
                            "data.class_names=gs://bucket/data/classes.txt");
    assert_says(got.out, "remote files: 2 of 2");
    assert_code(got, 0);
    assert_same_model("gs", "local");
    /* The configuration from there as well: its files lie next to it. */
    assert_code(liana__test_command("train", "s3://bucket/data/config.yaml", "--out", liana__test_path("s3")), 0);
    assert_same_model("s3", "local");
    /* Code that it names does not run unasked. */
    static const char *const named[] = {"train: {device: 'pjrt:/none.so'}\n", "plugins: [/none.so]\n",
                                        "train: {strategy: {name: mirrored, devices: ['pjrt:/none.so:0']}}\n"};
    for (size_t i = 0; i < 3; i++) {
        liana__test_serve("data/code.yaml", named[i], strlen(named[i]));
        assert_refused(liana__test_command("train", "s3://bucket/data/code.yaml", "--out", liana__test_path("none")), 2,
                       "the plugin '/none.so' is not loaded", "--allow-plugins");
    }
    /* The run folder records the data's place without the signature. */
    char *text;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path("gs/config.yaml"), 1 << 20, &text, &size, &error), &error);
    assert_says(text, "gs://bucket/data/train-images");
    assert_says(text, "west");
    assert_never_says(text, "token-given");
    assert_never_says(text, "/views/");
    free(text);
    /* Nothing new: a resume and an evaluation read the cache. */
    liana__test_server_forget();
    assert_code(liana__test_command("train", liana__test_path("gs/config.yaml"), "--out", liana__test_path("gs"),
                                    "--resume", "train.seed=4"),
                2);
    assert_code(liana__test_command("evaluate", liana__test_path("gs")), 0);
    assert_int_equal(liana__test_server_requests("alt=media", NULL), 0);
    char weights[256];
    snprintf(weights, sizeof weights, "%s", liana__test_newest_checkpoint("local"));
    char *data;
    snprintf(weights + strlen(weights), sizeof weights - strlen(weights), "/variables.safetensors");
    assert_ok(liana__file_read(weights, 1 << 26, &data, &size, &error), &error);
    liana__test_serve("data/w.safetensors", data, size);
    free(data);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("from-url"), "train.epochs=1",
                                    "model.weights=s3://bucket/data/w.safetensors"),
                0);
    char assignment[300];
    snprintf(assignment, sizeof assignment, "model.weights=%s", weights);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("from-file"), "train.epochs=1",
                                    assignment),
                0);
    assert_same_model("from-url", "from-file");
}

static void test_commands_read_urls(void **state)
{
    (void)state;
    liana__test_tiny_data("train", 20, 1);
    serve_copy("train-images");
    serve_copy("train-labels");
    liana__test_result got = liana__test_command("inspect", "s3://bucket/data/train-labels");
    assert_says(got.out, "path: s3://bucket/data/train-labels");
    assert_says(got.out, "IDX");
    assert_code(got, 0);
    assert_code(liana__test_command("check", "gs://bucket/data/train-*"), 0);
    assert_code(liana__test_command("convert", "gs://bucket/data/train-*", "--out", liana__test_path("shards")), 0);
    assert_refused(liana__test_command("inspect", "gs://bucket/none"), 1, "'gs://bucket/none'");
    assert_refused(liana__test_command("inspect", "gs://bucket/data/train-*"), 1, "2 files");
    /* A damaged file is named as it was named. */
    liana__test_serve("data/bad.tfrec", "no record at all, but long enough", 33);
    assert_refused(liana__test_command("convert", "s3://bucket/data/bad.tfrec", "--out", liana__test_path("x")), 1,
                   "'s3://bucket/data/bad.tfrec'");
}

static void serve_shard(const char *name, size_t cut, size_t damaged)
{
    char *data, path[300], served[300];
    size_t size;
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths names;
    assert_ok(liana__folder_list(liana__test_path("shards/train"), &arena, &names, &error), &error);
    snprintf(path, sizeof path, "shards/train/%s", names.items[0]);
    liana__arena_free(&arena);
    assert_ok(liana__file_read(liana__test_path(path), 1 << 26, &data, &size, &error), &error);
    if (damaged) data[damaged] ^= 1;
    snprintf(served, sizeof served, "shards/%s", name);
    liana__test_serve(served, data, size - cut);
    free(data);
}

/* The records of a dataset in C. */
static void test_records_of_a_dataset(void **state)
{
    (void)state;
    liana__test_tiny_data("train", 20, 1);
    assert_code(liana__test_command("convert", liana__test_path("train-images"), "--out", liana__test_path("shards"),
                                    "--validation", "0.1"),
                0);
    serve_shard("a.tfrec", 0, 0);
    serve_shard("b.tfrec", 0, 0);
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    liana_dataset *one = liana_dataset_tfrecord(context, "s3://bucket/shards/a.tfrec");
    assert_non_null(one);
    liana_dataset *both = liana_dataset_tfrecord(context, "s3://bucket/shards/*.tfrec");
    assert_non_null(both);
    assert_compare(liana_dataset_info(one).num_examples, >, 0);
    assert_int_equal(liana_dataset_info(both).num_examples, 2 * liana_dataset_info(one).num_examples);
    liana_dataset_close(one);
    liana_dataset_close(both);
    assert_null(liana_dataset_tfrecord(context, "s3://bucket/none.tfrec"));
    assert_says(liana_context_message(context), "'s3://bucket/none.tfrec'");
    liana_context_destroy(context);
}

static void test_damage_is_named_by_url_and_left_out(void **state)
{
    (void)state;
    const char *config = liana__test_tiny_run(64);
    assert_code(liana__test_command("convert", liana__test_path("train-images"), "--out", liana__test_path("shards"),
                                    "--validation", "0.1"),
                0);
    serve_shard("a.tfrec", 0, 2000);
    serve_shard("b.tfrec", 20, 0);
    liana__test_result got = liana__test_command("check", "gs://bucket/shards/*.tfrec");
    assert_says(got.out, "gs://bucket/shards/a.tfrec");
    assert_says(got.out, "gs://bucket/shards/b.tfrec");
    assert_never_says(got.out, "/views/");
    assert_code(got, 1);
    const char *list = liana__test_path("list.csv");
    assert_code(liana__test_command("check", "gs://bucket/shards/a.tfrec", "--quarantine", list), 1);
    assert_refused(liana__test_command("train", config, "--out", liana__test_path("x"),
                                       "data.train=gs://bucket/shards/a.tfrec", "train.epochs=1"),
                   1, "'gs://bucket/shards/a.tfrec'", "checksum");
    char assignment[300];
    snprintf(assignment, sizeof assignment, "data.quarantine=%s", list);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("run"), assignment,
                                    "data.train=gs://bucket/shards/a.tfrec", "train.epochs=1"),
                0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_training_from_buckets, liana__test_server_set_up,
                                        liana__test_server_tear_down),
        cmocka_unit_test_setup_teardown(test_commands_read_urls, liana__test_server_set_up,
                                        liana__test_server_tear_down),
        cmocka_unit_test_setup_teardown(test_records_of_a_dataset, liana__test_server_set_up,
                                        liana__test_server_tear_down),
        cmocka_unit_test_setup_teardown(test_damage_is_named_by_url_and_left_out, liana__test_server_set_up,
                                        liana__test_server_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
