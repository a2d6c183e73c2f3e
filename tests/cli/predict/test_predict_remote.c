/* liana predict with results on a server: each form of file, and the outputs of a layer, are the local ones. */
#include "harness/command_run.h"
#include "harness/remote_server.h"

#include "base/file.h"

#include <string.h>

static void test_files_on_a_server(void **state)
{
    (void)state;
    static const char *const files[] = {"p.csv", "p.jsonl", "p.npy", "p.ids.csv", "p.tfrecord"};
    char run[300], images[300];
    const char *config = liana__test_tiny_run(64);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config, "train.epochs=1", "--out", run), 0);
    liana__test_tiny_data("new", 21, 9);
    snprintf(images, sizeof images, "%s", liana__test_path("new-images"));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char url[100], served[100];
        snprintf(url, sizeof url, "s3://bucket/results/%s", files[i]);
        snprintf(served, sizeof served, "served/results/%s", files[i]);
        if (strcmp(files[i], "p.ids.csv") != 0) { /* it is beside p.npy */
            assert_code(liana__test_command("predict", run, images, "--out", url), 0);
            assert_code(liana__test_command("predict", run, images, "--out", liana__test_path(files[i])), 0);
        }
        assert_same_file(liana__test_path(files[i]), liana__test_path(served));
    }
}

static void test_layers_and_pictures(void **state)
{
    (void)state;
    char run[300], images[300];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(images, sizeof images, "%s", liana__test_path("new-images"));
    assert_code(liana__test_command("predict", run, images, "--layer", "flatten", "--out", "gs://bucket/l/f.npy"), 0);
    assert_code(liana__test_command("predict", run, images, "--layer", "flatten", "--out", liana__test_path("f.npy")),
                0);
    assert_same_file(liana__test_path("f.npy"), liana__test_path("served/l/f.npy"));
    assert_same_file(liana__test_path("f.ids.csv"), liana__test_path("served/l/f.ids.csv"));
    assert_code(liana__test_command("predict", run, images, "--out", "s3://bucket/pictures/"), 0);
    assert_code(liana__test_command("predict", run, images, "--out", liana__test_path("pictures/")), 0);
    assert_same_file(liana__test_path("pictures/0.png"), liana__test_path("served/pictures/0.png"));
    assert_same_file(liana__test_path("pictures/20.png"), liana__test_path("served/pictures/20.png"));
    assert_refused(liana__test_command("predict", run, images, "--out", "https://example.com/p.npy"), 1, "example.com");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_on_a_server),
        cmocka_unit_test(test_layers_and_pictures),
    };
    return cmocka_run_group_tests(tests, liana__test_server_set_up, liana__test_server_tear_down);
}
