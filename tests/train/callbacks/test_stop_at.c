/* A training that ends at a time of the clock. The clock is this test's own: it goes on by a second each time somebody
 * looks. */
#include "harness/tiny_fit.h"

#include "base/clock.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>

/* 2026-11-23 05:59:50 UTC */
enum { BEGIN = 1795413590, EXAMPLES = 108 };

static time_t moment = BEGIN;

/* Takes the place of the C library's function in this program. */
time_t time(time_t *out)
{
    moment++;
    if (out) *out = moment;
    return moment;
}

static void use_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

static void assert_read(const char *text, time_t now, time_t expected)
{
    time_t found = 0;
    assert_true(liana__wall_clock_read(text, now, &found));
    assert_int_equal(found, expected);
}

static void test_moments_are_read(void **state)
{
    (void)state;
    const time_t six = BEGIN + 10, day = 24 * 60 * 60;
    use_zone("UTC");
    assert_read("2026-11-23T06:00", BEGIN, six);
    assert_read("2026-11-23 06:00:05", BEGIN, six + 5);
    assert_read("2026-11-23T06:00Z", BEGIN, six);
    assert_read("2026-11-23T06:00:00+01:00", BEGIN, six - 3600);
    assert_read("2026-11-23T06:00-0530", BEGIN, six + 5 * 3600 + 1800);
    assert_read("2028-02-29T00:00", BEGIN, 1835395200);
    assert_read("06:00", BEGIN, six);
    assert_read("06:00", six, six + day);
    assert_read("05:00:30", BEGIN, six - 3570 + day);
    /* Two hours ahead in summer, one in winter. */
    use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
    assert_read("2026-11-23T06:00", BEGIN, six - 3600);
    assert_read("2026-07-01T06:00", BEGIN, 1782878400);
    assert_read("06:00", BEGIN, six - 3600 + day);
    char text[64];
    assert_string_equal(liana__wall_clock_show(six, text), "2026-11-23 07:00:00 +0100");
    static const char *const wrong[] = {"",
                                        "6",
                                        "6:00",
                                        "24:00",
                                        "06:60",
                                        "2026-11-23",
                                        "2026-13-01",
                                        "2026-02-30T06:00",
                                        "06:00Z",
                                        "06:00:",
                                        "2026-11-23T06:00+1",
                                        "2026-11-23T06:00 UTC",
                                        "1969-01-01T00:00",
                                        "tomorrow"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        time_t found;
        if (liana__wall_clock_read(wrong[i], BEGIN, &found)) fail_msg("'%s' was read", wrong[i]);
    }
    use_zone("UTC");
}

static const char *in_folder(const char *folder, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return liana__test_path(path);
}

#define TRAIN(folder, ...) liana__test_command("train", config, "train.epochs=3", "--out", folder, __VA_ARGS__)

/* It ends in the middle of an epoch, with a checkpoint and results, and goes on from there with another time. */
static void test_a_run_ends_and_goes_on(void **state)
{
    (void)state;
    use_zone("UTC");
    liana__test_folder();
    char config[256], run[256], whole[256], newest[600], last[700];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(EXAMPLES));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(whole, sizeof whole, "%s", liana__test_path("whole"));
    moment = BEGIN;
    liana__test_result got = TRAIN(run, "train.stop_at=06:00");
    assert_says(got.out, "stop_at ended the training in epoch ");
    assert_says(got.out, "it is 2026-11-23 06:00:00 +0000");
    assert_code(got, 0);
    assert_true(liana__file_exists(in_folder("run", "validation_predictions.csv")));
    snprintf(newest, sizeof newest, "%s", liana__test_newest_checkpoint("run"));
    /* The same moment again is past. */
    got = TRAIN(run, "--resume", "train.stop_at=2026-11-23T06:00");
    assert_says(got.out, "nothing is left to train");
    assert_code(got, 0);
    assert_string_equal(liana__test_newest_checkpoint("run"), newest);
    /* The next six o'clock is tomorrow; then there is no limit at all. */
    got = TRAIN(run, "--resume", "train.stop_at=06:00");
    assert_says(got.out, "resumed from '");
    assert_code(got, 0);
    assert_compare(strcmp(liana__test_newest_checkpoint("run"), newest), >, 0);
    assert_code(TRAIN(whole, "data.threads=1"), 0);
    snprintf(newest, sizeof newest, "%s/variables.safetensors", liana__test_newest_checkpoint("run"));
    snprintf(last, sizeof last, "%s/variables.safetensors", liana__test_newest_checkpoint("whole"));
    assert_same_file(newest, last);
    snprintf(last, sizeof last, "%s", in_folder("whole", "history.json"));
    snprintf(newest, sizeof newest, "%s", in_folder("run", "history.json"));
    assert_same_file(newest, last);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    use_zone("UTC");
    liana__tiny_fit own = liana__tiny_fit_open(EXAMPLES);
    char config[256], run[256];
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    snprintf(run, sizeof run, "%s", liana__test_path("refused"));
    moment = BEGIN;
    assert_refused(TRAIN(run, "train.stop_at=tomorrow"), 2, "train.stop_at", "found 'tomorrow'", "2026-11-23T06:00");
    assert_refused(TRAIN(run, "train.stop_at=2026-11-23T05:00"), 2, "train.stop_at",
                   "found 2026-11-23 05:00:00 +0000, expected a time to come; now it is 2026-11-23 05:59:");
    assert_false(liana__folder_exists(in_folder("refused", "checkpoints")));
    liana_model *model = liana__tiny_model(own.context);
    liana_fit_options options = {.training = own.training, .stop_at = "half past six"};
    refused(liana_fit(model, &options), LIANA_INVALID_ARGUMENT, "stop_at is 'half past six', expected a time");
    options.stop_at = "2026-11-23T05:00Z";
    refused(liana_fit(model, &options), LIANA_INVALID_ARGUMENT, "expected a time to come");
    options.optimizer = "{name: SGD, learning_rate: {name: CosineDecay}}";
    options.stop_at = "06:00";
    refused(liana_fit(model, &options), LIANA_INVALID_CONFIG, "not known with stop_at alone");
    /* Without epochs it ends by the clock alone. */
    liana__notebook notes = {""};
    options.optimizer = NULL;
    options.on_note = liana__write_note;
    options.user = &notes;
    moment = BEGIN;
    done(liana_fit(model, &options));
    assert_says(notes.text, "stop_at ended the training");
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments_are_read),
        cmocka_unit_test(test_a_run_ends_and_goes_on),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests_name("stop_at", tests, NULL, NULL);
}
