/* The files of liana predict, read by numpy and TensorFlow (tests/cli/predict/read_predictions.py). */
#include "harness/command_run.h"
#include "harness/peers.h"

#include "base/text.h"
#include "formats/image.h"

#include <string.h>
#include <sys/stat.h>

static void write_image(const char *class_folder, int index)
{
    uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
    char name[100];
    liana__text png = {0};
    liana__error error;
    liana__test_tiny_image(9, (uint32_t)index, pixels);
    assert_ok(liana__png_encode(pixels, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1, &png, &error), &error);
    snprintf(name, sizeof name, "by/%s/\"%d,\nx\".png", class_folder, index);
    liana__test_write(name, png.data, png.length);
    liana__text_free(&png);
}

/* Ids with commas, quotes and line ends. */
static void test_files_are_read_by_others(void **state)
{
    (void)state;
    static const char *const files[] = {"p.jsonl", "p.csv", "p.npy", "p.tfrecord"};
    char run[300], images[300];
    if (!liana__test_peer("tensorflow")) skip();
    liana__test_folder();
    const char *config = liana__test_tiny_run(64);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(images, sizeof images, "%s", liana__test_path("by"));
    assert_code(liana__test_command("train", config, "train.epochs=1",
                                    "data.class_names=[north, 'east, \"e\"', south, west]", "--out", run),
                0);
    assert_int_equal(mkdir(images, 0700), 0);
    assert_int_equal(mkdir(liana__test_path("by/east, \"e\""), 0700), 0);
    assert_int_equal(mkdir(liana__test_path("by/west"), 0700), 0);
    for (int i = 0; i < 30; i++) write_image(i % 3 ? "east, \"e\"" : "west", i);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_code(liana__test_command("predict", run, images, "--out", liana__test_path(files[i])), 0);
    }
    liana__test_run_keras("tests/cli/predict/read_predictions.py", (const char *const[]){liana__test_path("."), NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_are_read_by_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
