/* One list of classes numbers all parts of a run's data, whichever of them each part has; and the images of one run
 * have one name and one number of channels. */
#include "harness/command_run.h"

#include "base/file.h"
#include "data/source/class_list.h"
#include "formats/image.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

enum { SIZE = 8, NUM_CLASSES = 4, PER_CLASS = 6 };

/* In byte order; each has a colour of its own, by which a small model tells them apart without a mistake. */
static const char *const NAMES[NUM_CLASSES] = {"cat", "dog", "eel", "fox"};
static const uint8_t COLOURS[NUM_CLASSES][3] = {{250, 20, 20}, {20, 250, 20}, {20, 20, 250}, {240, 240, 240}};

static void write_image(const char *name, int class, int shade, int channels)
{
    uint8_t pixels[SIZE * SIZE * 3];
    liana__text png = {0};
    liana__error error = {0};
    for (int i = 0; i < SIZE * SIZE * channels; i++) {
        pixels[i] = (uint8_t)(COLOURS[class][channels == 3 ? i % 3 : 1] - shade);
    }
    assert_ok(liana__png_encode(pixels, SIZE, SIZE, channels, &png, &error), &error);
    liana__test_write(name, png.data, png.length);
    liana__text_free(&png);
}

static void make_folder(const char *name)
{
    liana__error error = {0};
    assert_ok(liana__folder_make(liana__test_path(name), &error), &error);
}

/* A folder of class folders, without one of them (-1: all are there). */
static void write_folders(const char *root, int without)
{
    char name[128];
    for (int class = 0; class < NUM_CLASSES; class ++) {
        if (class == without) continue;
        snprintf(name, sizeof name, "%s/%s", root, NAMES[class]);
        make_folder(name);
        for (int i = 0; i < PER_CLASS; i++) {
            snprintf(name, sizeof name, "%s/%s/%d.png", root, NAMES[class], i);
            write_image(name, class, i, 3);
        }
    }
}

/* A list of the images of the folder "all", without a class; `labels` by class. */
static void write_list(const char *name, const char *const *labels, int without)
{
    liana__text text = {0};
    liana__text_add(&text, "image,label\n");
    for (int i = 0; i < PER_CLASS; i++) {
        for (int class = 0; class < NUM_CLASSES; class ++) {
            if (class != without) liana__text_add(&text, "all/%s/%d.png,%s\n", NAMES[class], i, labels[class]);
        }
    }
    liana__test_write(name, text.data, text.length);
    liana__text_free(&text);
}

static void set_up(void)
{
    static const char config[] = "data: {train: all, cache: none}\n"
                                 "model:\n"
                                 "  layers:\n"
                                 "    - Flatten\n"
                                 "    - Dense: {units: 4, activation: softmax}\n"
                                 "train:\n"
                                 "  {epochs: 12, batch_size: 8, seed: 3, precision: float32,\n"
                                 "   optimizer: {name: Adam, learning_rate: 0.02}}\n"
                                 "output: run\n";
    static const char *const numbers[] = {"0", "1", "2", "3"}, *const turned[] = {"3", "2", "1", "0"};
    liana__test_folder();
    write_folders("all", -1);
    write_folders("few", 0);
    liana__test_write("config.yaml", config, sizeof config - 1);
    write_list("names.csv", NAMES, -1);
    write_list("few.csv", NAMES, 0);
    write_list("numbers.csv", numbers, -1);
    write_list("turned.csv", turned, -1);
}

static liana__test_result train(const char *training, const char *validation, const char *more)
{
    char first[600], second[600];
    snprintf(first, sizeof first, "data.train=%s", liana__test_path(training));
    snprintf(second, sizeof second, "data.validation=%s", liana__test_path(validation));
    return liana__test_command("train", liana__test_path("config.yaml"), "--out", liana__test_path("run"), first,
                               second, more);
}

static liana__test_result evaluate(const char *validation, const char *more)
{
    char data[600];
    snprintf(data, sizeof data, "data.validation=%s", liana__test_path(validation));
    return liana__test_command("evaluate", liana__test_path("run"), "--json", data, more);
}

static void forget_run(void)
{
    assert_ok(liana__folder_remove(liana__test_path("run"), NULL), NULL);
}

static double last_accuracy(void)
{
    json_error_t problem;
    json_t *history = json_load_file(liana__test_path("run/history.json"), 0, &problem);
    assert_non_null(history);
    json_t *epochs = json_object_get(history, "epochs");
    json_t *last = json_array_get(epochs, json_array_size(epochs) - 1);
    double accuracy = json_number_value(json_object_get(last, "val_accuracy"));
    json_decref(history);
    return accuracy;
}

static void check_evaluation(const char *validation, const char *more, double expected)
{
    json_error_t problem;
    liana__test_result got = evaluate(validation, more);
    if (got.code) print_error("%s", got.err);
    json_t *json = json_loads(got.out, 0, &problem);
    assert_non_null(json);
    assert_compare(json_number_value(json_object_get(json, "accuracy")), ==, expected);
    json_decref(json);
    assert_code(got, 0);
}

/* Classes that a part lacks do not change the numbers of the others. */
static void test_parts_are_numbered_by_the_run(void **state)
{
    (void)state;
    static const char *const trainings[] = {"all", "names.csv"}, *const validations[] = {"few", "few.csv"};
    set_up();
    for (int i = 0; i < 4; i++) {
        assert_code(train(trainings[i / 2], validations[i % 2], NULL), 0);
        assert_compare(last_accuracy(), ==, 1);
        for (int k = 0; k < 2; k++) check_evaluation(validations[k], NULL, 1);
        check_evaluation("all", NULL, 1);
        forget_run();
    }
}

static void test_numbers_are_no_names(void **state)
{
    (void)state;
    set_up();
    /* The run has names, the others have numbers: CSV, and IDX files, whose labels can only be numbers. */
    assert_refused(train("all", "numbers.csv", NULL), 1, "numbers.csv', line 2", "'0' is not the name of a class",
                   "4 classes: cat, dog, eel, fox", "4 classes: 0, 1, 2, 3");
    assert_refused(train("names.csv", "turned.csv", NULL), 1, "turned.csv", "4 classes: cat, dog, eel, fox",
                   "4 classes: 0, 1, 2, 3");
    liana__test_tiny_data("tiny", 20, 1);
    assert_refused(train("all", "tiny-images", NULL), 1, "tiny-images' are numbers (", "4 classes: cat, dog, eel, fox",
                   "data.class_names");
    /* The other way round. */
    assert_refused(train("numbers.csv", "all", NULL), 1, "all' are names (4 classes: cat, dog, eel, fox)",
                   "numbers for its classes, 0 to 3", "data.class_names");
    assert_refused(train("numbers.csv", "few.csv", NULL), 1, "few.csv' are names (3 classes: dog, eel, fox)");
    /* A class that the run does not have. */
    write_folders("more", -1);
    make_folder("more/gnu");
    write_image("more/gnu/1.png", 0, 0, 3);
    assert_refused(train("all", "more", NULL), 1, "more/gnu' does not have the name of a class",
                   "4 classes: cat, dog, eel, fox", "5 classes: cat, dog, eel, fox, gnu");
    /* Of a finished run. */
    assert_code(train("all", "few", NULL), 0);
    assert_refused(evaluate("turned.csv", NULL), 1, "turned.csv", "4 classes: cat, dog, eel, fox");
    assert_refused(evaluate("tiny-images", NULL), 1, "tiny-images' are numbers");
    assert_refused(evaluate("more", NULL), 1, "more/gnu");
    /* A user who knows the meaning of the numbers says so. */
    check_evaluation("numbers.csv", "data.label_kind=auto", 1);
    check_evaluation("turned.csv", "data.label_kind=auto", 0);
    forget_run();
    assert_code(train("numbers.csv", "all", "data.class_names=[cat, dog, eel, fox]"), 0);
    assert_compare(last_accuracy(), ==, 1);
    check_evaluation("names.csv", NULL, 1);
    forget_run();
    assert_code(train("numbers.csv", "numbers.csv", NULL), 0);
    assert_refused(evaluate("all", NULL), 1, "all' are names (4 classes: cat, dog, eel, fox)");
    check_evaluation("all", "data.class_names=[cat, dog, eel, fox]", 1);
}

/* ImageNet calls two of its classes 'crane'. Here two are called 'dog'. */
static void test_two_classes_of_one_name(void **state)
{
    (void)state;
    static const char list[] = "cat\ndog\neel\ndog\n", both[] = "the classes 1 and 3 (counted from 0; lines 2 and 4 of "
                                                                "their list) are both called 'dog'";
    char out[600], names[600];
    set_up();
    liana__test_write("names.txt", list, sizeof list - 1);
    snprintf(names, sizeof names, "data.class_names=%s", liana__test_path("names.txt"));
    liana__test_result got = train("numbers.csv", "numbers.csv", names);
    assert_says(got.out, both);
    assert_code(got, 0);
    assert_compare(last_accuracy(), ==, 1);
    check_evaluation("numbers.csv", "--by-class", 1);
    /* Each has a number of its own in what is predicted. */
    char run[600], photo[600];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(photo, sizeof photo, "%s", liana__test_path("all/fox/0.png"));
    got = liana__test_command("predict", run, photo);
    assert_says(got.out, "dog");
    assert_code(got, 0);
    got = liana__test_command("predict", run, photo, "--json");
    json_error_t problem;
    json_t *event = json_loads(got.out, 0, &problem), *all = json_object_get(event, "probabilities");
    assert_int_equal(json_object_size(all), 4);
    double sum = 0;
    sum += json_number_value(json_object_get(all, "dog")) + json_number_value(json_object_get(all, "dog_3"));
    sum += json_number_value(json_object_get(all, "cat")) + json_number_value(json_object_get(all, "eel"));
    assert_near(sum, 1, 1e-5);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(json_object_get(event, "classes"), 0), "label")),
                     3);
    json_decref(event);
    assert_code(got, 0);
    snprintf(out, sizeof out, "%s", liana__test_path("p.csv"));
    assert_code(liana__test_command("predict", run, liana__test_path("numbers.csv"), "--out", out, "--probabilities"),
                0);
    char *rows;
    size_t size;
    assert_ok(liana__file_read(out, 1 << 20, &rows, &size, NULL), NULL);
    assert_begins(rows, "id,label,class,confidence,cat,dog,eel,dog_3,true_label,true_class,correct\n");
    free(rows);
    /* Where a name must say which class is meant, it cannot. */
    forget_run();
    assert_refused(train("names.csv", "numbers.csv", "data.class_names=[cat, dog, eel, dog]"), 1, "names.csv",
                   "line 3: the label is the name of two classes", both);
    assert_refused(train("all", "numbers.csv", "data.class_names=[cat, dog, eel, fox, dog]"), 1, "all/dog",
                   "the name of two classes", "lines 2 and 5");
    char weights[700];
    snprintf(weights, sizeof weights, "data={train: %s, class_names: [cat, dog, eel, dog]}",
             liana__test_path("numbers.csv"));
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", run, weights,
                                    "train.class_weights={1: 2, 3: 1}"),
                0);
    forget_run();
    assert_refused(liana__test_command("train", liana__test_path("config.yaml"), "--out", run, weights,
                                       "train.class_weights={dog: 2}"),
                   2, "train.class_weights", both, "write the number");
}

static void test_a_resumed_run_keeps_its_classes(void **state)
{
    (void)state;
    char out[300], first[600];
    set_up();
    assert_code(train("names.csv", "few", "checkpoint.keep=0"), 0);
    assert_ok(liana__folder_remove(liana__test_newest_checkpoint("run"), NULL), NULL);
    snprintf(out, sizeof out, "%s", liana__test_path("run"));
    snprintf(first, sizeof first, "data.train=%s", liana__test_path("names.csv"));
    char second[600];
    snprintf(second, sizeof second, "data.validation=%s", liana__test_path("few"));
    /* The same file, of numbers now. */
    static const char *const numbers[] = {"0", "1", "2", "3"};
    write_list("names.csv", numbers, -1);
    assert_refused(liana__test_command("train", liana__test_path("config.yaml"), "--out", out, first, second,
                                       "checkpoint.keep=0", "--resume"),
                   1, "names.csv', line 2", "4 classes: cat, dog, eel, fox", "4 classes: 0, 1, 2, 3");
    write_list("names.csv", NAMES, -1);
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", out, first, second,
                                    "checkpoint.keep=0", "--resume"),
                0);
    assert_compare(last_accuracy(), ==, 1);
}

/* `liana check` finds the data that a run refuses. */
static void test_check_finds_other_classes(void **state)
{
    (void)state;
    char first[600], second[600];
    set_up();
    const char *config = liana__test_path("config.yaml");
    snprintf(first, sizeof first, "data.validation=%s", liana__test_path("turned.csv"));
    assert_refused(liana__test_command("check", config, first), 1,
                   "turned.csv': none of its labels is the name of a class", "4 classes: cat, dog, eel, fox",
                   "4 classes: 0, 1, 2, 3");
    assert_refused(train("all", "turned.csv", "data.on_bad_record=skip"), 1,
                   "none of its labels is the name of a class");
    snprintf(first, sizeof first, "data.train=%s", liana__test_path("turned.csv"));
    snprintf(second, sizeof second, "data.validation=%s", liana__test_path("all"));
    assert_refused(liana__test_command("check", config, first, second), 1,
                   "validation: its labels are names (4 classes: cat, dog, eel, fox)");
}

static void test_lists_are_shown_in_short(void **state)
{
    (void)state;
    const char *names[12], *long_name = "a name of more than thirty-two letters";
    for (int i = 0; i < 12; i++) names[i] = i ? "x" : long_name;
    assert_string_equal(liana__class_list_show(&(liana__strings){12, names}).text,
                        "12 classes: a name of more than thirty-two l..., x, x, x, x, x, x, x, ..., x");
    assert_string_equal(liana__class_list_show(&(liana__strings){1, names + 1}).text, "1 class: x");
}

static void test_grey_first_images_do_not_make_data_grey(void **state)
{
    (void)state;
    set_up();
    write_image("all/cat/0.png", 0, 0, 1);
    liana__test_result got = train("all", "few", NULL);
    assert_says(got.out, "the first image is grey");
    assert_says(got.out, "images 8x8x3");
    assert_code(got, 0);
    assert_compare(last_accuracy(), ==, 1); /* grey, three of the classes would be alike */
    forget_run();
    got = train("all", "few", "data.channels=1");
    assert_never_says(got.out, "the first image is grey");
    assert_says(got.out, "images 8x8x1");
    assert_code(got, 0);
    forget_run();
    /* The model says it. */
    got = train("all", "few",
                "model.layers=[InputLayer: {shape: [8, 8, 1]}, Flatten, Dense: {units: 4, activation: softmax}]");
    assert_never_says(got.out, "the first image is grey");
    assert_says(got.out, "images 8x8x1");
    assert_code(got, 0);
    forget_run();
    /* IDX files are grey by their format. */
    liana__test_tiny_data("tiny", 20, 1);
    got = train("tiny-images", "tiny-images", NULL);
    assert_says(got.out, "images 12x12x1");
    assert_code(got, 0);
}

static void test_ids_of_predictions_are_unique(void **state)
{
    (void)state;
    set_up();
    assert_code(train("all", "few", NULL), 0);
    char *text;
    size_t size;
    liana__error error = {0};
    const char *out = liana__test_path("p.csv");
    assert_code(liana__test_command("predict", liana__test_path("run"), "--data", liana__test_path("all/*/1.png"),
                                    "--out", out),
                0);
    assert_ok(liana__file_read(out, 1 << 20, &text, &size, &error), &error);
    for (int i = 0; i < NUM_CLASSES; i++) {
        char row[64];
        snprintf(row, sizeof row, "\n%s/1.png,%d,%s,", NAMES[i], i, NAMES[i]);
        assert_says(text, row);
    }
    free(text);
    /* All names differ: they are the ids. */
    assert_code(liana__test_command("predict", liana__test_path("run"), "--data", liana__test_path("all/dog/*.png"),
                                    "--out", out),
                0);
    assert_ok(liana__file_read(out, 1 << 20, &text, &size, &error), &error);
    assert_says(text, "\n1.png,1,dog,");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_numbered_by_the_run),
        cmocka_unit_test(test_numbers_are_no_names),
        cmocka_unit_test(test_two_classes_of_one_name),
        cmocka_unit_test(test_a_resumed_run_keeps_its_classes),
        cmocka_unit_test(test_check_finds_other_classes),
        cmocka_unit_test(test_lists_are_shown_in_short),
        cmocka_unit_test(test_grey_first_images_do_not_make_data_grey),
        cmocka_unit_test(test_ids_of_predictions_are_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
