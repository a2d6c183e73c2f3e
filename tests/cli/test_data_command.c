/* liana data: the pictures are there, have the right contents, and bad input is answered. */
#include "harness/command_run.h"

#include "base/file.h"
#include "formats/image.h"

#include <stdlib.h>

/* Reads a picture that must be there. Free with liana__image_free. */
static liana__image read_picture(const char *folder, const char *name)
{
    char path[700];
    liana__error error = {0};
    liana__image image = {0};
    char *bytes;
    size_t size;
    snprintf(path, sizeof path, "%s/%s.png", folder, name);
    assert_ok(liana__file_read(path, 1 << 26, &bytes, &size, &error), &error);
    assert_ok(liana__image_decode(bytes, size, &(liana__image_options){.channels = 3}, &image, &error), &error);
    free(bytes);
    snprintf(path, sizeof path, "%s/%s.svg", folder, name);
    assert_ok(liana__file_read(path, 1 << 26, &bytes, &size, &error), &error);
    assert_says(bytes, "<svg");
    free(bytes);
    return image;
}

/* How many pixels have about a colour. */
static long count_colour(const liana__image *image, int red, int green, int blue)
{
    long count = 0;
    for (int64_t i = 0; i < image->height * image->width; i++) {
        const uint8_t *p = image->pixels + 3 * i;
        count += abs(p[0] - red) < 6 && abs(p[1] - green) < 6 && abs(p[2] - blue) < 6;
    }
    return count;
}

static void test_pictures_show_the_data(void **state)
{
    (void)state;
    liana__test_folder();
    char config[256], folder[600];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(60));
    snprintf(folder, sizeof folder, "%s", liana__test_path("pictures"));
    liana__test_result got =
        liana__test_command("data", config, "data.augment=[random_flip, {random_rotation: {fill: 255}}, mixup]",
                            "data.oversample.target_count=30", "--out", folder);
    static const char *const names[] = {"samples", "labels", "sampling", "sizes", "augmented"};
    for (int i = 0; i < 5; i++) assert_says(got.out, names[i]);
    assert_says(got.out, "oversampling: epoch 1 has");
    assert_code(got, 0);

    /* Bars of training are blue and those of validation orange, about as long. */
    liana__image labels = read_picture(folder, "labels");
    long blue = count_colour(&labels, 41, 107, 191), orange = count_colour(&labels, 227, 125, 33);
    assert_compare(blue, >, 10000);
    assert_compare(orange, >, 10000);
    assert_compare(blue, <, 2 * orange);
    assert_compare(orange, <, 2 * blue);
    /* Oversampled ones are longer than the originals, by 30 to 15 on average. */
    liana__image sampling = read_picture(folder, "sampling");
    long before = count_colour(&sampling, 115, 122, 133), after = count_colour(&sampling, 41, 107, 191);
    assert_compare((double)after, >, 1.6 * (double)before);
    assert_compare((double)after, <, 2.6 * (double)before);
    /* A row of six for each of four images; 24 samples in rows of six have as many. */
    liana__image samples = read_picture(folder, "samples"), augmented = read_picture(folder, "augmented");
    assert_int_equal(samples.width, augmented.width);
    assert_int_equal(samples.height, augmented.height);
    assert_memory_not_equal(samples.pixels, augmented.pixels, (size_t)(samples.height * samples.width * 3));
    liana__image sizes = read_picture(folder, "sizes");
    assert_compare(count_colour(&sizes, 227, 125, 33), >, 50);
    liana__image *all[] = {&labels, &sampling, &samples, &augmented, &sizes};
    for (int i = 0; i < 5; i++) liana__image_free(all[i]);
}

/* Without stages and sampling there is nothing to show of them; --json says the same for machines. */
static void test_what_is_not_configured_is_not_drawn(void **state)
{
    (void)state;
    liana__test_folder();
    char config[256];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(20));
    liana__test_result got = liana__test_command("data", config, "--json", "--out", liana__test_path("pictures"));
    assert_says(got.out, "{\"event\":");
    assert_says(got.out, "samples.png");
    assert_never_says(got.out, "sampling.png");
    assert_never_says(got.out, "augmented.png");
    assert_code(got, 0);
}

static void test_bad_invocations_are_refused(void **state)
{
    (void)state;
    liana__test_folder();
    char config[256];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(20));
    assert_refused(liana__test_command("data", config), 2, "data:", "--out DIR");
    assert_refused(liana__test_command("data", config, "data.augment=[random_flop]", "--out", liana__test_path("x")), 2,
                   "data.augment[0]", "'random_flip'");
    assert_refused(liana__test_command("data", config, "data.train=null", "--out", liana__test_path("x")), 2,
                   "data.train", "missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures_show_the_data),
        cmocka_unit_test(test_what_is_not_configured_is_not_drawn),
        cmocka_unit_test(test_bad_invocations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
