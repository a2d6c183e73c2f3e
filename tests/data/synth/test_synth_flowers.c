/* Drawn flowers: addresses, shapes and shards. */
#include "harness/harness.h"

#include "base/file.h"
#include "base/random.h"
#include "data/synth/synth_draw.h"
#include "data/synth/synth_flowers.h"
#include "formats/example.h"
#include "formats/image.h"
#include "formats/tfrecord.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana__synth_options default_options(void)
{
    liana__error error = {0};
    liana__arena arena = {0};
    liana__synth_options options;
    assert_ok(liana__fields_default(&liana__synth_fields, &arena, &options, &error), &error);
    liana__arena_free(&arena);
    return options;
}

static void test_shapes_and_names_differ(void **state)
{
    (void)state;
    static liana__flower_shape shapes[LIANA__MAX_FLOWER_CLASSES], few[10];
    static char names[LIANA__MAX_FLOWER_CLASSES][96];
    liana__flower_shapes(shapes, LIANA__MAX_FLOWER_CLASSES);
    liana__flower_shapes(few, 10);
    for (int i = 0; i < LIANA__MAX_FLOWER_CLASSES; i++) {
        liana__flower_shape_name(&shapes[i], names[i], sizeof names[i]);
        for (int k = 0; k < i; k++) assert_string_not_equal(names[i], names[k]);
    }
    for (int i = 0; i < 10; i++) {
        char name[96];
        liana__flower_shape_name(&few[i], name, sizeof name);
        assert_string_equal(name, names[i]);
    }
}

/* Two classes at one address share everything but the flower: the corners, which no flower reaches, are equal. */
static void test_class_changes_the_flower_and_nothing_else(void **state)
{
    (void)state;
    enum { SIZE = 64 };
    static uint8_t one[SIZE * SIZE * 3], other[SIZE * SIZE * 3], again[SIZE * SIZE * 3];
    liana__flower_shape shapes[2];
    liana__flower_shapes(shapes, 2);
    liana__error error = {0};
    int64_t equal_corners = 0, changed = 0;
    for (uint32_t index = 0; index < 20; index++) {
        liana__synth_address address = {5, 0, index};
        assert_ok(liana__synth_draw(&shapes[0], &address, SIZE, one, &error), &error);
        assert_ok(liana__synth_draw(&shapes[0], &address, SIZE, again, &error), &error);
        assert_ok(liana__synth_draw(&shapes[1], &address, SIZE, other, &error), &error);
        assert_memory_equal(one, again, sizeof one);
        equal_corners += memcmp(one, other, 3) == 0;
        equal_corners += memcmp(one + sizeof one - 3, other + sizeof other - 3, 3) == 0;
        for (size_t i = 0; i < sizeof one; i++) changed += abs(one[i] - other[i]) > 16;
    }
    assert_int_equal(equal_corners, 40);
    assert_compare(changed, >, 20 * SIZE * SIZE * 3 / 40);
}

/* --- The files --------------------------------------------------------------------------------------------------- */

/* Counts the records of each class in a split (-1 where there is none: counts[classes]); checks ids and images. */
static void read_split(const char *pattern, int64_t image_size, int64_t classes, int64_t *counts)
{
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths paths;
    liana__example example = {0};
    liana__image image = {0};
    assert_ok(liana__file_match(pattern, &arena, &paths, &error), &error);
    for (size_t i = 0; i < paths.count; i++) {
        liana__tfrecord *file;
        assert_ok(liana__tfrecord_open(paths.items[i], NULL, &file, &error), &error);
        const char *count = strrchr(paths.items[i], '-');
        assert_int_equal(strtol(count + 1, NULL, 10), liana__tfrecord_count(file));
        for (size_t record = 0; record < liana__tfrecord_count(file); record++) {
            const uint8_t *bytes;
            size_t size;
            int64_t label = classes;
            liana__feature feature;
            assert_ok(liana__tfrecord_get(file, record, &bytes, &size, &error), &error);
            assert_ok(liana__example_parse(&example, NULL, record, bytes, size, &error), &error);
            if (liana__example_find(&example, "class", &feature)) {
                assert_ok(liana__example_int64(&example, "class", &label, &error), &error);
                assert_in_range(label, 0, classes - 1);
            }
            assert_ok(liana__example_bytes(&example, "id", &bytes, &size, &error), &error);
            assert_ok(liana__example_bytes(&example, "image", &bytes, &size, &error), &error);
            assert_int_equal(liana__image_sniff(bytes, size), LIANA__IMAGE_JPEG);
            assert_ok(liana__image_decode(bytes, size, NULL, &image, &error), &error);
            assert_int_equal(image.height, image_size);
            assert_int_equal(image.width, image_size);
            counts[label]++;
        }
        liana__tfrecord_close(file);
    }
    liana__image_free(&image);
    liana__example_free(&example);
    liana__arena_free(&arena);
}

static bool count_progress(void *user, int64_t done, int64_t total)
{
    int64_t *seen = user;
    seen[0] = done;
    seen[1] = total;
    return true;
}

static bool stop_at_once(void *user, int64_t done, int64_t total)
{
    (void)user;
    return done == total;
}

static void test_files_hold_what_was_ordered(void **state)
{
    (void)state;
    liana__error error = {0};
    const char *folder = liana__test_folder();
    liana__synth_options options = default_options();
    options.classes = 7;
    options.images = 300;
    options.image_size = 32;
    options.shards = 5;
    liana__synth_counts counts;
    int64_t seen[2] = {0};
    assert_ok(liana__synth_flowers(folder, &options, 2, count_progress, seen, &counts, &error), &error);
    assert_int_equal(counts.train, 210);
    assert_int_equal(counts.validation, 45);
    assert_int_equal(counts.test, 45);
    assert_int_equal(seen[0], 300);
    assert_int_equal(seen[1], 300);
    int64_t train[8] = {0}, validation[8] = {0}, test[8] = {0};
    read_split(liana__test_path("train/flowers0[0-4]-42.tfrec"), 32, 7, train);
    read_split(liana__test_path("val/*.tfrec"), 32, 7, validation);
    read_split(liana__test_path("test/flowers00-45.tfrec"), 32, 7, test);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(train[i], 30);
        assert_in_range(validation[i], 6, 7);
        assert_int_equal(test[i], 0);
    }
    assert_int_equal(test[7], 45);
    char *names;
    size_t size, lines = 0;
    assert_ok(liana__file_read(liana__test_path("classes.txt"), 10000, &names, &size, &error), &error);
    for (size_t i = 0; i < size; i++) lines += names[i] == '\n';
    assert_int_equal(lines, 7);
    free(names);
}

static void test_same_seed_same_bytes_for_any_number_of_threads(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    liana__synth_options options = default_options();
    options.images = 40;
    options.image_size = 24;
    options.shards = 1;
    static const char *const names[] = {"one/train/flowers00-28.tfrec", "three/train/flowers00-28.tfrec",
                                        "other/train/flowers00-28.tfrec"};
    static const char *const folders[] = {"one", "three", "other"};
    char *bytes[3];
    size_t sizes[3];
    for (int i = 0; i < 3; i++) {
        liana__synth_counts counts;
        options.seed = i == 2 ? 9 : 4;
        assert_ok(liana__synth_flowers(liana__test_path(folders[i]), &options, i == 1 ? 3 : 1, NULL, NULL, &counts,
                                       &error),
                  &error);
        assert_ok(liana__file_read(liana__test_path(names[i]), 1 << 24, &bytes[i], &sizes[i], &error), &error);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    if (sizes[0] == sizes[2]) assert_memory_not_equal(bytes[0], bytes[2], sizes[0]);
    for (int i = 0; i < 3; i++) free(bytes[i]);
}

static void test_bad_options_are_named(void **state)
{
    (void)state;
    liana__error error = {0};
    const char *folder = liana__test_folder();
    liana__synth_options options = default_options();
    liana__synth_counts counts;
    options.classes = 1001;
    assert_fails(liana__synth_flowers(folder, &options, 1, NULL, NULL, &counts, &error), LIANA_INVALID_CONFIG, &error,
                 "classes is 1001", "2 to 1000");
    options.classes = 100;
    options.images = 120;
    assert_fails(liana__synth_flowers(folder, &options, 1, NULL, NULL, &counts, &error), LIANA_INVALID_CONFIG, &error,
                 "84 to train on", "at least 100");
    options.classes = 3;
    options.images = 10;
    options.image_size = 16;
    options.shards = 1;
    assert_ok(liana__synth_flowers(folder, &options, 1, NULL, NULL, &counts, &error), &error);
    assert_fails(liana__synth_flowers(folder, &options, 1, NULL, NULL, &counts, &error), LIANA_INVALID_CONFIG, &error,
                 "classes.txt", "overwrite=true");
    options.overwrite = true;
    options.images = 12;
    assert_ok(liana__synth_flowers(folder, &options, 1, NULL, NULL, &counts, &error), &error);
    assert_true(liana__file_exists(liana__test_path("train/flowers00-8.tfrec")));
    assert_false(liana__file_exists(liana__test_path("train/flowers00-6.tfrec")));
    assert_fails(liana__synth_flowers(liana__test_path("more"), &options, 1, stop_at_once, NULL, &counts, &error),
                 LIANA_CANCELLED, &error, "more", "8 of 12");
    assert_false(liana__folder_exists(liana__test_path("more")));
    assert_fails(liana__synth_flowers(folder, &options, 1, stop_at_once, NULL, &counts, &error), LIANA_CANCELLED,
                 &error, "8 of 12");
    assert_true(liana__file_exists(liana__test_path("train/flowers00-8.tfrec")));
    assert_true(liana__file_exists(liana__test_path("classes.txt")));
    const char *file = liana__test_write("file", "", 0);
    assert_fails(liana__synth_flowers(file, &options, 1, NULL, NULL, &counts, &error), LIANA_IO_ERROR, &error, "file");
}

/* --- Colours must not give the class away ------------------------------------------------------------------------ */

enum { BINS = 8 * 8 * 8, CLASSES = 10, TRAIN = 2000, TEST = 500, SIDE = 48 };

/* The square roots of an 8x8x8 histogram of colours: distances between them are Hellinger distances. With `tinted`
 * each class gets a colour of its own, mixed half and half. */
static void make_histograms(uint32_t split, int count, bool tinted, float *histograms)
{
    liana__flower_shape shapes[CLASSES];
    liana__flower_shapes(shapes, CLASSES);
    static uint8_t pixels[SIDE * SIDE * 3];
    liana__error error = {0};
    for (int i = 0; i < count; i++) {
        liana__synth_address address = {1, split, (uint32_t)i};
        assert_ok(liana__synth_draw(&shapes[i % CLASSES], &address, SIDE, pixels, &error), &error);
        for (int k = 0; tinted && k < SIDE * SIDE * 3; k++) {
            int tint = k % 3 == 0 ? i % CLASSES * 28 : k % 3 == 1 ? 128 : 252 - i % CLASSES * 28;
            pixels[k] = (uint8_t)((pixels[k] + tint) / 2);
        }
        float *bins = histograms + (size_t)i * BINS;
        for (int k = 0; k < SIDE * SIDE; k++) {
            const uint8_t *pixel = pixels + k * 3;
            bins[(pixel[0] >> 5) * 64 + (pixel[1] >> 5) * 8 + (pixel[2] >> 5)] += 1.0f / (SIDE * SIDE);
        }
        for (int bin = 0; bin < BINS; bin++) bins[bin] = sqrtf(bins[bin]);
    }
}

static int vote(const float *distances, int num_neighbours)
{
    int votes[CLASSES] = {0}, best = 0;
    bool taken[TRAIN] = {0};
    for (int n = 0; n < num_neighbours; n++) {
        int nearest = -1;
        for (int i = 0; i < TRAIN; i++) {
            if (!taken[i] && (nearest < 0 || distances[i] < distances[nearest])) nearest = i;
        }
        taken[nearest] = true;
        votes[nearest % CLASSES]++;
    }
    for (int c = 1; c < CLASSES; c++) best = votes[c] > votes[best] ? c : best;
    return best;
}

/* The best accuracy of k nearest neighbours, k from 1 to 25: chosen on the test images, in the classifier's favour. */
static double nearest_neighbours(const float *train, const float *test)
{
    static const int neighbours[] = {1, 5, 25};
    int right[3] = {0}, best = 0;
    static float distances[TRAIN];
    for (int i = 0; i < TEST; i++) {
        for (int k = 0; k < TRAIN; k++) {
            float sum = 0;
            for (int bin = 0; bin < BINS; bin++) {
                float gap = test[i * BINS + bin] - train[k * BINS + bin];
                sum += gap * gap;
            }
            distances[k] = sum;
        }
        for (int n = 0; n < 3; n++) right[n] += vote(distances, neighbours[n]) == i % CLASSES;
    }
    for (int n = 1; n < 3; n++) best = right[n] > right[best] ? n : best;
    return (double)right[best] / TEST;
}

static void score(const float *weights, const float *features, float *scores)
{
    for (int c = 0; c < CLASSES; c++) {
        float sum = weights[c * (BINS + 1) + BINS];
        for (int bin = 0; bin < BINS; bin++) sum += weights[c * (BINS + 1) + bin] * features[bin];
        scores[c] = sum;
    }
}

static void learn(float *weights, const float *features, int label, float rate)
{
    float scores[CLASSES], highest = -INFINITY, sum = 0;
    score(weights, features, scores);
    for (int c = 0; c < CLASSES; c++) highest = fmaxf(highest, scores[c]);
    for (int c = 0; c < CLASSES; c++) sum += scores[c] = expf(scores[c] - highest);
    for (int c = 0; c < CLASSES; c++) {
        float gradient = rate * (scores[c] / sum - (c == label));
        for (int bin = 0; bin < BINS; bin++) weights[c * (BINS + 1) + bin] -= gradient * features[bin];
        weights[c * (BINS + 1) + BINS] -= gradient;
    }
}

/* The best accuracy over the epochs of softmax regression by stochastic gradient descent: again in its favour. */
static double softmax_regression(const float *train, const float *test)
{
    float weights[CLASSES * (BINS + 1)] = {0};
    double best = 0;
    for (int epoch = 0; epoch < 20; epoch++) {
        for (uint64_t i = 0; i < TRAIN; i++) {
            uint64_t place = liana__permute(1, (uint64_t)epoch, i, TRAIN);
            learn(weights, train + place * BINS, (int)(place % CLASSES), 0.5f / (1 + 0.1f * (float)epoch));
        }
        int right = 0;
        for (int i = 0; i < TEST; i++) {
            float scores[CLASSES];
            int guess = 0;
            score(weights, test + i * BINS, scores);
            for (int c = 1; c < CLASSES; c++) guess = scores[c] > scores[guess] ? c : guess;
            right += guess == i % CLASSES;
        }
        best = fmax(best, (double)right / TEST);
    }
    return best;
}

static void test_colour_histograms_do_not_tell_the_class(void **state)
{
    (void)state;
    float *train = calloc((size_t)TRAIN * BINS, sizeof *train), *test = calloc((size_t)TEST * BINS, sizeof *test);
    assert_true(train && test);
    make_histograms(0, TRAIN, false, train);
    make_histograms(1, TEST, false, test);
    double neighbours = nearest_neighbours(train, test), regression = softmax_regression(train, test);
    printf("colour histograms on %d classes of drawn flowers (%d train, %d test images; chance is %.0f%%): nearest "
           "neighbours %.1f%%, softmax regression %.1f%%\n",
           CLASSES, TRAIN, TEST, 100.0 / CLASSES, 100 * neighbours, 100 * regression);
    assert_compare(neighbours, <, 0.6);
    assert_compare(regression, <, 0.6);
    /* The same classifiers do see colours, where there are any to see. */
    memset(train, 0, sizeof *train * TRAIN * BINS);
    memset(test, 0, sizeof *test * TEST * BINS);
    make_histograms(0, TRAIN, true, train);
    make_histograms(1, TEST, true, test);
    neighbours = nearest_neighbours(train, test);
    regression = softmax_regression(train, test);
    printf("with a tint for each class: nearest neighbours %.1f%%, softmax regression %.1f%%\n", 100 * neighbours,
           100 * regression);
    assert_compare(neighbours, >, 0.6);
    assert_compare(regression, >, 0.6);
    free(train);
    free(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_and_names_differ),
        cmocka_unit_test(test_class_changes_the_flower_and_nothing_else),
        cmocka_unit_test(test_files_hold_what_was_ordered),
        cmocka_unit_test(test_same_seed_same_bytes_for_any_number_of_threads),
        cmocka_unit_test(test_bad_options_are_named),
        cmocka_unit_test(test_colour_histograms_do_not_tell_the_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
