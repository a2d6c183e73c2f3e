/* liana report of runs on a server: the page and the pictures are those of a local run. */
#include "harness/command_run.h"
#include "harness/remote_server.h"
#include "harness/text_files.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 64 };

/* The data of a page without the places of the run, its dates and durations, which differ between two trainings. */
static bool has_same_part(const char *a, const char *b, const char *key)
{
    const char *one = strstr(a, key), *other = strstr(b, key);
    if (!one || !other) fail_msg("no %s in %s", key, one ? "the second page" : "the first page");
    const size_t size = strcspn(one, "]}");
    return strncmp(one, other, size) == 0 && size > strlen(key) + 1;
}

static void compare_pages(const char *local, const char *served)
{
    char *one = liana__test_read_text(local), *other = liana__test_read_text(served);
    static const char *const keys[] = {"\"val_loss\"", "\"confusion\"", "\"accuracy\""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!has_same_part(one, other, keys[i])) fail_msg("%s differs", keys[i]);
    }
    /* No address of a script or of a picture: the page needs no network. */
    assert_never_says(other, "src=\"http");
    free(one);
    free(other);
}

static void test_a_run_on_a_server(void **state)
{
    (void)state;
    static const char *const urls[] = {"gs://bucket/run", "s3://bucket/other"};
    static const char *const pages[] = {"served/run/report.html", "served/other/report.html"};
    static const char *const pictures[] = {"served/run/curves.png", "served/other/curves.png"};
    char local[300];
    const char *config = liana__test_tiny_run(COUNT);
    snprintf(local, sizeof local, "%s", liana__test_path("local"));
    assert_code(liana__test_command("train", config, "train.epochs=2", "--out", local), 0);
    assert_code(liana__test_command("report", local, "--html"), 0);
    assert_code(liana__test_command("report", local), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_code(liana__test_command("train", config, "train.epochs=2", "--out", urls[i]), 0);
        assert_code(liana__test_command("report", urls[i], "--html"), 0);
        compare_pages("local/report.html", pages[i]);
        assert_code(liana__test_command("report", urls[i]), 0);
        assert_same_file(liana__test_path("local/curves.png"), liana__test_path(pictures[i]));
    }
    liana__test_result got =
        liana__test_command("report", urls[0], local, "--html", "--out", liana__test_path("both.html"));
    assert_code(got, 0);
    char *both = liana__test_read_text("both.html");
    assert_says(both, "gs://bucket/run");
    free(both);
    got = liana__test_command("compare", urls[0], urls[1]);
    assert_says(got.out, "run                    other");
    assert_code(got, 0);
    assert_code(liana__test_command("plot", urls[0], local, "--out", liana__test_path("both.png")), 0);
    assert_refused(liana__test_command("report", "gs://bucket/none", "--html"), 1, "gs://bucket/none",
                   "no such folder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_on_a_server),
    };
    return cmocka_run_group_tests(tests, liana__test_server_set_up, liana__test_server_tear_down);
}
