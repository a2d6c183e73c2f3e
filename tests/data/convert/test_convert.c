/* liana convert: data of each form as shards, and back. */
#include "harness/harness.h"

#include "base/file.h"
#include "base/text.h"
#include "data/convert/convert.h"
#include "formats/example.h"
#include "formats/image.h"
#include "formats/tfrecord.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_CLASSES = 3, PER_CLASS = 7, NUM_IMAGES = NUM_CLASSES * PER_CLASS };

static const char *const CLASS_NAMES[NUM_CLASSES] = {"Zinnia", "aster", "rose"};

/* Paths that outlive the harness's buffers. */
static char INPUT[1024], OUTPUT[1024];
static const char *const INPUTS[] = {INPUT};

/* A PNG of one grey pixel whose value tells which image it is. */
static void write_pixel(const char *path, uint8_t value)
{
    liana__error error = {0};
    liana__text png = {0};
    assert_ok(liana__png_encode(&value, 1, 1, 1, &png, &error), &error);
    assert_ok(liana__file_replace(path, png.data, png.length, &error), &error);
    liana__text_free(&png);
}

/* Class folders with PNGs, and things that are to be ignored. Image i of class c has the pixel 10 c + i. */
static void make_class_folders(void)
{
    liana__error error = {0};
    liana__test_folder();
    snprintf(INPUT, sizeof INPUT, "%s", liana__test_path("in"));
    snprintf(OUTPUT, sizeof OUTPUT, "%s", liana__test_path("out"));
    static const char *const suffixes[] = {"png", "PNG", "jpeg"}; /* the name does not decide the format */
    char path[1200];
    for (int c = 0; c < NUM_CLASSES; c++) {
        snprintf(path, sizeof path, "%s/%s", INPUT, CLASS_NAMES[c]);
        assert_ok(liana__folder_make(path, &error), &error);
        for (int i = 0; i < PER_CLASS; i++) {
            snprintf(path, sizeof path, "%s/%s/i%d.%s", INPUT, CLASS_NAMES[c], i, suffixes[i % 3]);
            write_pixel(path, (uint8_t)(10 * c + i));
        }
    }
    snprintf(path, sizeof path, "%s/aster/notes.txt", INPUT);
    assert_ok(liana__file_replace(path, "x", 1, &error), &error);
    snprintf(path, sizeof path, "%s/aster/.hidden.png", INPUT);
    assert_ok(liana__file_replace(path, "x", 1, &error), &error);
    snprintf(path, sizeof path, "%s/LICENSE", INPUT);
    assert_ok(liana__file_replace(path, "x", 1, &error), &error);
}

/* The one pixel of an encoded image, by libpng's own simplified reader. */
static uint8_t read_pixel(const uint8_t *bytes, size_t size)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    uint8_t pixel = 0;
    assert_true(png_image_begin_read_from_memory(&image, bytes, size));
    image.format = PNG_FORMAT_GRAY;
    assert_int_equal(image.width * image.height, 1);
    assert_true(png_image_finish_read(&image, NULL, &pixel, 0, NULL));
    return pixel;
}

typedef struct found {
    size_t num_files;
    size_t num_records;
    size_t file_sizes[32];
    int pixels[64];
    int64_t classes[64]; /* -1: none */
    char ids[64][32];
} found;

/* Reads back all shards that match a pattern below the output. */
static found read_shards(const char *pattern)
{
    liana__error error = {0};
    found all = {0};
    liana__arena arena = {0};
    liana__paths paths;
    assert_ok(liana__file_match(liana__path_join(&arena, OUTPUT, pattern), &arena, &paths, &error), &error);
    liana__example example = {0};
    for (size_t p = 0; p < paths.count; p++) {
        liana__tfrecord *file;
        assert_ok(liana__tfrecord_open(paths.items[p], NULL, &file, &error), &error);
        size_t count = liana__tfrecord_count(file);
        assert_int_equal(count, atoi(strrchr(paths.items[p], '-') + 1));
        all.file_sizes[all.num_files++] = count;
        for (size_t record = 0; record < count; record++) {
            const uint8_t *bytes, *value;
            size_t size, value_size;
            assert_compare(all.num_records, <, 64);
            assert_ok(liana__tfrecord_get(file, record, &bytes, &size, &error), &error);
            assert_ok(liana__example_parse(&example, paths.items[p], record, bytes, size, &error), &error);
            assert_ok(liana__example_bytes(&example, "image", &value, &value_size, &error), &error);
            all.pixels[all.num_records] = read_pixel(value, value_size);
            all.classes[all.num_records] = -1;
            liana__feature feature;
            if (liana__example_find(&example, "class", &feature)) all.classes[all.num_records] = feature.int64s[0];
            assert_ok(liana__example_bytes(&example, "id", &value, &value_size, &error), &error);
            memcpy(all.ids[all.num_records], value, value_size);
            all.num_records++;
        }
        liana__tfrecord_close(file);
    }
    liana__example_free(&example);
    liana__arena_free(&arena);
    return all;
}

static void assert_file_is(const char *name, const char *expected)
{
    liana__error error = {0};
    char path[1200], *data;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", OUTPUT, name);
    assert_ok(liana__file_read(path, 10000, &data, &size, &error), &error);
    assert_string_equal(data, expected);
    free(data);
}

static size_t count_entries(const char *folder)
{
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths names;
    assert_ok(liana__folder_list(folder, &arena, &names, &error), &error);
    liana__arena_free(&arena);
    return names.count;
}

static void test_class_folders(void **state)
{
    (void)state;
    liana__error error = {0};
    make_class_folders();
    liana__convert_summary summary;
    liana__convert_options options = {
        .inputs = INPUTS, .num_inputs = 1, .output = OUTPUT, .prefix = "flowers", .num_shards = 4};
    assert_ok(liana__convert(&options, &summary, &error), &error);
    assert_int_equal(summary.num_classes, NUM_CLASSES);
    assert_int_equal(summary.num_records, NUM_IMAGES);
    assert_int_equal(summary.num_train, NUM_IMAGES);
    assert_int_equal(summary.num_shards, 4);
    assert_int_equal(summary.num_ignored, 1);
    assert_file_is("classes.txt", "Zinnia\naster\nrose\n");
    assert_true(liana__file_exists(liana__test_path("out/flowers00-6.tfrec")));
    assert_true(liana__file_exists(liana__test_path("out/flowers03-5.tfrec")));
    assert_int_equal(count_entries(OUTPUT), 5);
    found all = read_shards("*.tfrec");
    assert_int_equal(all.num_records, NUM_IMAGES);
    for (int i = 0; i < NUM_IMAGES; i++) {
        assert_int_equal(all.classes[i], i / PER_CLASS);
        assert_int_equal(all.pixels[i], 10 * (i / PER_CLASS) + i % PER_CLASS);
    }
    /* The names of the files, without the folders; there are three of each. */
    assert_string_equal(all.ids[0], "i0.png");
    assert_string_equal(all.ids[7], "i0-2.png");
    assert_string_equal(all.ids[20], "i6-3.png");
}

static void test_records_per_shard(void **state)
{
    (void)state;
    liana__error error = {0};
    make_class_folders();
    liana__convert_summary summary;
    liana__convert_options options = {.inputs = INPUTS, .num_inputs = 1, .output = OUTPUT, .records_per_shard = 10};
    assert_ok(liana__convert(&options, &summary, &error), &error);
    assert_int_equal(summary.num_shards, 3);
    assert_int_equal(read_shards("part0[012]-7.tfrec").num_records, NUM_IMAGES);
}

/* Each image lands in just one split; the test records have no class; the same seed gives the same files. */
static void test_splits_and_shuffle(void **state)
{
    (void)state;
    liana__error error = {0};
    make_class_folders();
    liana__convert_summary summary;
    liana__convert_options options = {.inputs = INPUTS,
                                      .num_inputs = 1,
                                      .output = OUTPUT,
                                      .shuffle = true,
                                      .seed = 5,
                                      .validation_fraction = 0.2,
                                      .test_fraction = 0.1,
                                      .num_shards = 5};
    assert_ok(liana__convert(&options, &summary, &error), &error);
    assert_int_equal(summary.num_train, 15);
    assert_int_equal(summary.num_validation, 4);
    assert_int_equal(summary.num_test, 2);
    found train = read_shards("train/*.tfrec"), validation = read_shards("val/*.tfrec"),
          test = read_shards("test/*.tfrec");
    assert_int_equal(train.num_records, 15);
    assert_int_equal(train.num_files, 4);
    assert_int_equal(validation.num_records, 4);
    assert_int_equal(validation.num_files, 1);
    assert_int_equal(test.num_records, 2);
    assert_int_equal(test.num_files, 1);
    bool seen[64] = {false};
    size_t moved = 0;
    const found *splits[] = {&train, &validation, &test};
    for (int s = 0; s < 3; s++) {
        for (size_t i = 0; i < splits[s]->num_records; i++) {
            int pixel = splits[s]->pixels[i];
            assert_false(seen[pixel]);
            seen[pixel] = true;
            assert_int_equal(splits[s]->classes[i], s == 2 ? -1 : pixel / 10);
            assert_null(strchr(splits[s]->ids[i], '/'));
            assert_int_equal(splits[s]->ids[i][1] - '0', pixel % 10);
        }
    }
    /* The number that tells files of one name apart goes by the mixed order: it says nothing of the class. */
    bool second_is_first_class = false;
    for (size_t i = 0; i < train.num_records; i++) {
        second_is_first_class |= train.classes[i] == 0 && strchr(train.ids[i], '-');
    }
    assert_true(second_is_first_class);
    for (size_t i = 0; i + 1 < train.num_records; i++) moved += train.pixels[i] > train.pixels[i + 1];
    assert_compare(moved, >, 3);

    options.overwrite = true;
    assert_ok(liana__convert(&options, &summary, &error), &error);
    found again = read_shards("train/*.tfrec");
    assert_memory_equal(&again, &train, sizeof train);
    options.seed = 6;
    assert_ok(liana__convert(&options, &summary, &error), &error);
    found other = read_shards("train/*.tfrec");
    assert_memory_not_equal(other.pixels, train.pixels, sizeof train.pixels);
}

static void test_overwrites_only_when_told(void **state)
{
    (void)state;
    liana__error error = {0};
    make_class_folders();
    liana__convert_options options = {.inputs = INPUTS, .num_inputs = 1, .output = OUTPUT, .num_shards = 4};
    assert_ok(liana__folder_make(OUTPUT, &error), &error);
    liana__test_write("out/keep.txt", "mine", 4);
    assert_fails(liana__convert(&options, NULL, &error), LIANA_INVALID_CONFIG, &error, OUTPUT, "not empty", "keep.txt",
                 "--overwrite");
    assert_int_equal(count_entries(OUTPUT), 1);
    options.overwrite = true;
    assert_ok(liana__convert(&options, NULL, &error), &error);
    assert_int_equal(count_entries(OUTPUT), 6);
    liana__test_write("out/part-of-mine.tfrec", "", 0);
    liana__test_write("out/other00-1.tfrec", "", 0);
    options.num_shards = 2;
    assert_ok(liana__convert(&options, NULL, &error), &error);
    /* The four old shards are gone: two shards, classes.txt and the three others. */
    assert_int_equal(count_entries(OUTPUT), 6);
    assert_file_is("keep.txt", "mine");
    /* A failure leaves all as it is, and so do the remains of a killed conversion. */
    liana__test_write("in/rose/i7.jpg", "%PDF-1.7..", 10);
    options.num_shards = 3;
    assert_fails(liana__convert(&options, NULL, &error), LIANA_INVALID_DATA, &error, "in/rose/i7.jpg", "PDF");
    assert_int_equal(count_entries(OUTPUT), 6);
    assert_int_equal(read_shards("part0*.tfrec").num_records, NUM_IMAGES);
    assert_file_is("classes.txt", "Zinnia\naster\nrose\n");
    assert_ok(liana__folder_make(liana__test_path("out/.unfinished/train"), &error), &error);
    liana__test_write("out/.unfinished/train/part00-1.tfrec", "", 0);
    assert_int_equal(remove(liana__test_path("in/rose/i7.jpg")), 0);
    assert_ok(liana__convert(&options, NULL, &error), &error);
    assert_int_equal(read_shards("part0?-7.tfrec").num_files, 3);
    assert_int_equal(count_entries(OUTPUT), 7);
    /* With splits the shards without are replaced too. */
    options.shuffle = true;
    options.test_fraction = 0.2;
    options.num_shards = 2;
    assert_ok(liana__convert(&options, NULL, &error), &error);
    assert_int_equal(read_shards("*/*.tfrec").num_records, NUM_IMAGES);
    assert_false(liana__file_exists(liana__test_path("out/part00-7.tfrec")));
}

static void test_failure_leaves_nothing(void **state)
{
    (void)state;
    liana__error error = {0};
    make_class_folders();
    liana__convert_options options = {.inputs = INPUTS,
                                      .num_inputs = 1,
                                      .output = OUTPUT,
                                      .shuffle = true,
                                      .validation_fraction = 0.3,
                                      .records_per_shard = 2};
    liana__test_write("in/rose/i7.jpg", "%PDF-1.7..", 10);
    assert_fails(liana__convert(&options, NULL, &error), LIANA_INVALID_DATA, &error, "in/rose/i7.jpg", "PDF");
    assert_false(liana__folder_exists(OUTPUT));
    liana__test_write("in/rose/i7.jpg", "", 0);
    assert_int_equal(liana__convert(&options, NULL, &error), LIANA_INVALID_DATA);
    assert_says(error.message, "in/rose/i7.jpg");
    assert_ok(liana__folder_make(OUTPUT, &error), &error);
    assert_int_equal(liana__convert(&options, NULL, &error), LIANA_INVALID_DATA);
    assert_int_equal(count_entries(OUTPUT), 0);
    options.output = "/proc/no/such";
    assert_int_not_equal(liana__convert(&options, NULL, &error), LIANA_OK);
    assert_says(error.message, "/proc/no");
}

static bool stop_after_five(void *user, int64_t done, int64_t total)
{
    assert_int_equal(total, NUM_IMAGES);
    *(size_t *)user = (size_t)done;
    return done < 5;
}

static void test_can_be_stopped(void **state)
{
    (void)state;
    liana__error error = {0};
    make_class_folders();
    size_t done = 0;
    liana__convert_options options = {
        .inputs = INPUTS, .num_inputs = 1, .output = OUTPUT, .progress = stop_after_five, .user = &done};
    assert_fails(liana__convert(&options, NULL, &error), LIANA_CANCELLED, &error, "5 of 21");
    assert_int_equal(done, 5);
    assert_false(liana__folder_exists(OUTPUT));
}

static void test_options_that_do_not_fit(void **state)
{
    (void)state;
    liana__error error = {0};
    make_class_folders();
    const struct {
        liana__convert_options options;
        const char *message;
    } cases[] = {
        {{.inputs = INPUTS, .num_inputs = 1}, "no output folder"},
        {{.output = OUTPUT, .inputs = INPUTS, .num_inputs = 1, .prefix = "a/b"}, "'a/b'"},
        {{.output = OUTPUT, .inputs = INPUTS, .num_inputs = 1, .num_shards = 2, .records_per_shard = 3},
         "expected one"},
        {{.output = OUTPUT, .inputs = INPUTS, .num_inputs = 1, .num_shards = 22}, "only 21 records"},
        {{.output = OUTPUT, .inputs = INPUTS, .num_inputs = 1, .shuffle = true, .test_fraction = 1.5},
         "test fraction is 1.5"},
        {{.output = OUTPUT,
          .inputs = INPUTS,
          .num_inputs = 1,
          .shuffle = true,
          .test_fraction = 0.5,
          .validation_fraction = 0.5},
         "nothing to train on"},
        {{.output = OUTPUT, .inputs = INPUTS, .num_inputs = 1, .shuffle = true, .test_fraction = 0.01},
         "none would be left for test"},
        {{.output = OUTPUT, .inputs = INPUTS, .num_inputs = 1, .test_fraction = 0.1}, "shuffle too"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(liana__convert(&cases[i].options, NULL, &error), LIANA_INVALID_CONFIG, &error, cases[i].message);
    }
    char inside[1100];
    snprintf(inside, sizeof inside, "%s/out", INPUT);
    liana__convert_options options = {.inputs = INPUTS, .num_inputs = 1, .output = inside};
    assert_fails(liana__convert(&options, NULL, &error), LIANA_INVALID_CONFIG, &error, inside, "outside");
    assert_false(liana__folder_exists(inside));
    /* Nor shards into their own folder. */
    options.output = OUTPUT;
    assert_ok(liana__convert(&options, NULL, &error), &error);
    options.inputs = (const char *const[]){liana__test_path("out/part00-21.tfrec")};
    options.overwrite = true;
    assert_fails(liana__convert(&options, NULL, &error), LIANA_INVALID_CONFIG, &error, "part00-21", "outside");
    assert_true(liana__file_exists(liana__test_path("out/part00-21.tfrec")));
}

static void test_folders_that_do_not_fit(void **state)
{
    (void)state;
    liana__error error = {0};
    make_class_folders();
    char path[1100];
    const char *const inputs[] = {path};
    liana__convert_options options = {.inputs = inputs, .num_inputs = 1, .output = OUTPUT};
    snprintf(path, sizeof path, "%s/none", INPUT);
    assert_fails(liana__convert(&options, NULL, &error), LIANA_NOT_FOUND, &error, "in/none");
    snprintf(path, sizeof path, "%s/rose", INPUT);
    assert_fails(liana__convert(&options, NULL, &error), LIANA_INVALID_DATA, &error, "in/rose",
                 "a folder for each class");
    snprintf(path, sizeof path, "%s/..", INPUT);
    assert_fails(liana__convert(&options, NULL, &error), LIANA_INVALID_DATA, &error, "class 'in'",
                 "one level too high");
    assert_false(liana__folder_exists(OUTPUT));
    snprintf(path, sizeof path, "%s", INPUT);
    assert_ok(liana__folder_make(liana__test_path("in/lily"), &error), &error);
    assert_fails(liana__convert(&options, NULL, &error), LIANA_INVALID_DATA, &error, "in/lily", "no image");
}

/* A plain folder of images is converted when it is said that there are no labels. */
static void test_without_labels(void **state)
{
    (void)state;
    liana__error error = {0};
    make_class_folders();
    const char *const inputs[] = {liana__test_path("in/rose")};
    liana__convert_summary summary;
    liana__convert_options options = {.inputs = inputs,
                                      .num_inputs = 1,
                                      .output = OUTPUT,
                                      .source = {.ignore_labels = true}};
    assert_ok(liana__convert(&options, &summary, &error), &error);
    assert_int_equal(summary.num_classes, 0);
    found all = read_shards("part00-7.tfrec");
    for (int i = 0; i < PER_CLASS; i++) {
        assert_int_equal(all.classes[i], -1);
        assert_int_equal(all.pixels[i], 20 + i);
    }
    assert_string_equal(all.ids[1], "i1.PNG");
    assert_false(liana__file_exists(liana__test_path("out/classes.txt")));
}

/* Names that look like the ones that are made up for others. */
static void test_ids_are_there_once(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    snprintf(INPUT, sizeof INPUT, "%s", liana__test_path("in"));
    snprintf(OUTPUT, sizeof OUTPUT, "%s", liana__test_path("out"));
    static const char *const names[] = {"a/x.png", "a/x-2.png", "b/x.png", "b/x-2.png", "c/x.png", "c/x-2-2.png"};
    static const char *const expected[] = {"x-2.png", "x.png", "x-2-3.png", "x-3.png", "x-2-2.png", "x-4.png"};
    char path[1200];
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s/%c", INPUT, names[i][0]);
        assert_ok(liana__folder_make(path, &error), &error);
        snprintf(path, sizeof path, "%s/%s", INPUT, names[i]);
        write_pixel(path, (uint8_t)i);
    }
    liana__convert_options options = {.inputs = INPUTS, .num_inputs = 1, .output = OUTPUT};
    assert_ok(liana__convert(&options, NULL, &error), &error);
    found all = read_shards("part00-6.tfrec");
    for (int i = 0; i < 6; i++) assert_string_equal(all.ids[i], expected[i]);
}

/* TFRecords are sharded anew, with their own ids and labels. */
static void test_tfrecords(void **state)
{
    (void)state;
    liana__error error = {0};
    make_class_folders();
    liana__convert_options options = {.inputs = INPUTS, .num_inputs = 1, .output = OUTPUT, .num_shards = 4};
    assert_ok(liana__convert(&options, NULL, &error), &error);
    found before = read_shards("*.tfrec");
    const char *const inputs[] = {liana__test_path("out/*.tfrec")};
    char again[1024];
    snprintf(again, sizeof again, "%s", liana__test_path("again"));
    options = (liana__convert_options){.inputs = inputs, .num_inputs = 1, .output = again, .records_per_shard = 11};
    liana__convert_summary summary;
    assert_ok(liana__convert(&options, &summary, &error), &error);
    assert_int_equal(summary.num_classes, NUM_CLASSES);
    assert_int_equal(summary.num_shards, 2);
    snprintf(OUTPUT, sizeof OUTPUT, "%s", again);
    found after = read_shards("*.tfrec");
    assert_int_equal(after.file_sizes[0], 11);
    assert_memory_equal(after.pixels, before.pixels, sizeof after.pixels);
    assert_memory_equal(after.classes, before.classes, sizeof after.classes);
    assert_memory_equal(after.ids, before.ids, sizeof after.ids);
    assert_file_is("classes.txt", "0\n1\n2\n");
}

/* IDX files of 1 x 1 images. */
static void test_idx(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    snprintf(OUTPUT, sizeof OUTPUT, "%s", liana__test_path("out"));
    char images[1024], labels[1024];
    snprintf(images, sizeof images, "%s",
             liana__test_write("images", "\0\0\x08\3\0\0\0\4\0\0\0\1\0\0\0\1\x14\0\x1e\1", 20));
    snprintf(labels, sizeof labels, "%s", liana__test_write("labels", "\0\0\x08\1\0\0\0\4\2\0\3\0", 12));
    liana__convert_summary summary;
    const char *const inputs[] = {images, labels};
    liana__convert_options options = {.inputs = inputs, .num_inputs = 2, .output = OUTPUT, .num_shards = 1};
    assert_ok(liana__convert(&options, &summary, &error), &error);
    assert_int_equal(summary.num_classes, 4);
    assert_file_is("classes.txt", "0\n1\n2\n3\n");
    found all = read_shards("part00-4.tfrec");
    assert_memory_equal(all.pixels, ((int[]){20, 0, 30, 1}), 4 * sizeof(int));
    assert_memory_equal(all.classes, ((int64_t[]){2, 0, 3, 0}), 4 * sizeof(int64_t));
    assert_string_equal(all.ids[3], "3");

    options.overwrite = true;
    liana__test_write("labels", "\0\0\x08\1\0\0\0\3\2\0\3", 11);
    assert_fails(liana__convert(&options, NULL, &error), LIANA_INVALID_DATA, &error, "images' has 4 images",
                 "labels' has 3 labels");
    options.inputs = inputs + 1;
    options.num_inputs = 1;
    assert_fails(liana__convert(&options, NULL, &error), LIANA_INVALID_DATA, &error, "labels' holds labels");
    /* The former files are still there: the mistake was found before. */
    assert_int_equal(read_shards("part00-4.tfrec").num_records, 4);
}

static void test_mnist(void **state)
{
    (void)state;
    liana__error error = {0};
    char images[1024];
    snprintf(images, sizeof images, "%s", liana__test_data("mnist/t10k-images-idx3-ubyte.gz"));
    liana__test_folder();
    snprintf(OUTPUT, sizeof OUTPUT, "%s", liana__test_path("out"));
    const char *const inputs[] = {images}; /* the labels lie in the same folder */
    liana__convert_options options = {
        .inputs = inputs, .num_inputs = 1, .output = OUTPUT, .records_per_shard = 10000, .shuffle = true};
    assert_ok(liana__convert(&options, NULL, &error), &error);
    liana__tfrecord *file;
    assert_ok(liana__tfrecord_open(liana__test_path("out/part00-10000.tfrec"), NULL, &file, &error), &error);
    liana__example example = {0};
    liana__image image = {0};
    int64_t histogram[10] = {0};
    uint64_t sum = 0;
    for (size_t record = 0; record < liana__tfrecord_count(file); record++) {
        const uint8_t *bytes, *png;
        size_t size, png_size;
        int64_t label;
        assert_ok(liana__tfrecord_get(file, record, &bytes, &size, &error), &error);
        assert_ok(liana__example_parse(&example, "mnist", record, bytes, size, &error), &error);
        assert_ok(liana__example_int64(&example, "class", &label, &error), &error);
        assert_compare(label, >=, 0);
        assert_compare(label, <, 10);
        histogram[label]++;
        assert_ok(liana__example_bytes(&example, "image", &png, &png_size, &error), &error);
        assert_ok(liana__image_decode(png, png_size, NULL, &image, &error), &error);
        assert_int_equal(image.height * image.width * image.channels, 28 * 28);
        for (int i = 0; i < 28 * 28; i++) sum += image.pixels[i];
    }
    assert_memory_equal(histogram, ((int64_t[]){980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}),
                        sizeof histogram);
    assert_int_equal(sum, 264923200);
    liana__image_free(&image);
    liana__example_free(&example);
    liana__tfrecord_close(file);
}

/* Photos are taken as they are, byte for byte. */
static void test_flower_photos(void **state)
{
    (void)state;
    liana__error error = {0};
    char photos[1024];
    snprintf(photos, sizeof photos, "%s", liana__test_data("flower_photos"));
    liana__test_folder();
    snprintf(OUTPUT, sizeof OUTPUT, "%s", liana__test_path("out"));
    const char *const inputs[] = {photos};
    liana__convert_options options = {.inputs = inputs, .num_inputs = 1, .output = OUTPUT, .num_shards = 1};
    liana__convert_summary summary;
    assert_ok(liana__convert(&options, &summary, &error), &error);
    assert_int_equal(summary.num_classes, 5);
    assert_file_is("classes.txt", "daisy\ndandelion\nroses\nsunflowers\ntulips\n");
    liana__arena arena = {0};
    liana__paths paths;
    assert_ok(liana__file_match(liana__path_join(&arena, photos, "*/*.jpg"), &arena, &paths, &error), &error);
    assert_int_equal(summary.num_records, paths.count);
    char name[64];
    snprintf(name, sizeof name, "out/part00-%zu.tfrec", paths.count);
    liana__tfrecord *file;
    assert_ok(liana__tfrecord_open(liana__test_path(name), NULL, &file, &error), &error);
    liana__example example = {0};
    for (size_t record = 0; record < paths.count; record++) {
        const uint8_t *bytes, *jpeg;
        size_t size, jpeg_size;
        assert_ok(liana__tfrecord_get(file, record, &bytes, &size, &error), &error);
        assert_ok(liana__example_parse(&example, name, record, bytes, size, &error), &error);
        assert_ok(liana__example_bytes(&example, "image", &jpeg, &jpeg_size, &error), &error);
        liana__mapping mapping;
        assert_ok(liana__file_map(paths.items[record], &mapping, &error), &error);
        assert_int_equal(jpeg_size, mapping.size);
        assert_memory_equal(jpeg, mapping.data, jpeg_size);
        liana__file_unmap(&mapping);
    }
    liana__example_free(&example);
    liana__tfrecord_close(file);
    liana__arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class_folders),
        cmocka_unit_test(test_records_per_shard),
        cmocka_unit_test(test_splits_and_shuffle),
        cmocka_unit_test(test_overwrites_only_when_told),
        cmocka_unit_test(test_failure_leaves_nothing),
        cmocka_unit_test(test_can_be_stopped),
        cmocka_unit_test(test_options_that_do_not_fit),
        cmocka_unit_test(test_folders_that_do_not_fit),
        cmocka_unit_test(test_without_labels),
        cmocka_unit_test(test_ids_are_there_once),
        cmocka_unit_test(test_tfrecords),
        cmocka_unit_test(test_idx),
        cmocka_unit_test(test_mnist),
        cmocka_unit_test(test_flower_photos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
