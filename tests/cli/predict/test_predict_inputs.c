/* liana predict: lists of names, standard input, models without a run, true classes of folders; and mistakes. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/file.h"
#include "base/text.h"
#include "formats/image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char run[300];

static void write_image(const char *name, int index)
{
    uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
    liana__text png = {0};
    liana__error error;
    liana__test_tiny_image(9, (uint32_t)index, pixels);
    assert_ok(liana__png_encode(pixels, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1, &png, &error), &error);
    liana__test_write(name, png.data, png.length);
    liana__text_free(&png);
}

static void train(void)
{
    liana__test_folder();
    const char *config = liana__test_tiny_run(64);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config, "train.epochs=1", "data.class_names=[north, east, south, west]",
                                    "--out", run),
                0);
    assert_int_equal(mkdir(liana__test_path("photos"), 0700), 0);
    write_image("photos/a, b.png", 0);
    write_image("photos/c.png", 1);
}

static char *predict_text(const char *data)
{
    liana__test_result got = liana__test_command("predict", run, data);
    if (got.code) print_error("%s", got.err);
    assert_int_equal(got.code, 0);
    free(got.err);
    return got.out;
}

/* With a file of the test's folder as standard input. */
static liana__test_result predict_input(const char *bytes, size_t size, const char *const *words)
{
    const int before = dup(STDIN_FILENO);
    const int file = open(liana__test_write("input", bytes, size), O_RDONLY);
    assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
    liana__test_result got = liana__test_command_words(words);
    assert_int_equal(dup2(before, STDIN_FILENO), STDIN_FILENO);
    close(file);
    close(before);
    return got;
}

#define PREDICT_INPUT(bytes, size, ...) predict_input(bytes, size, (const char *const[]){__VA_ARGS__, NULL})

static void test_lists(void **state)
{
    (void)state;
    static const char names[] = "photos/a, b.png\r\n\nphotos/c.png";
    train();
    char *folder = predict_text(liana__test_path("photos")), at[400], text[600];
    liana__test_write("list.txt", names, sizeof names - 1);
    snprintf(at, sizeof at, "@%s", liana__test_path("list.txt"));
    char *listed = predict_text(at);
    assert_string_equal(listed, folder);
    free(listed);
    liana__test_result got = liana__test_command("predict", run, "--data", at);
    assert_string_equal(got.out, folder);
    assert_code(got, 0);
    /* Standard input has the names of the current folder, here whole paths. */
    const int length =
        snprintf(text, sizeof text, "%s\n%s\n", liana__test_path("photos/a, b.png"), liana__test_path("photos/c.png"));
    got = PREDICT_INPUT(text, (size_t)length, "predict", run, "-");
    assert_string_equal(got.out, folder);
    assert_code(got, 0);
    free(folder);
    liana__test_write("bad.txt", "photos/c.png\nphotos/none.png\n", 29);
    snprintf(at, sizeof at, "@%s", liana__test_path("bad.txt"));
    assert_refused(liana__test_command("predict", run, at), 1, "bad.txt, line 2", "'photos/none.png'");
    liana__test_write("empty.txt", "\n\n", 2);
    snprintf(at, sizeof at, "@%s", liana__test_path("empty.txt"));
    assert_refused(liana__test_command("predict", run, at), 1, "empty.txt", "names nothing");
    assert_refused(liana__test_command("predict", run, "@none.txt"), 1, "none.txt");
}

static void test_an_image_of_standard_input(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    liana__error error;
    train();
    assert_ok(liana__file_read(liana__test_path("photos/c.png"), SIZE_MAX, &bytes, &size, &error), &error);
    char *file = predict_text(liana__test_path("photos/c.png"));
    liana__test_result got = PREDICT_INPUT(bytes, size, "predict", run, "-");
    assert_int_equal(strncmp(got.out, "stdin.png\n", 10), 0);
    assert_string_equal(strchr(got.out, '\n'), strchr(file, '\n'));
    assert_code(got, 0);
    /* Half of it is an image that cannot be read. */
    assert_refused(PREDICT_INPUT(bytes, size / 2, "predict", run, "-"), 1, "stdin.png");
    assert_refused(PREDICT_INPUT("", 0, "predict", run, "-"), 1, "standard input is empty");
    assert_refused(PREDICT_INPUT("\x00\x01\x02", 3, "predict", run, "-"), 1, "no text");
    assert_refused(PREDICT_INPUT(bytes, size, "predict", run, "-", "-"), 2, "'-' is given twice");
    free(file);
    free(bytes);
}

static void test_a_table_of_standard_input(void **state)
{
    (void)state;
    static const char table[] = "id,x,kind\n7,1,low\n8,2,high\n";
    static const char config[] = "data:\n  train: {paths: t.csv, kind: table}\n"
                                 "  columns: {id: id, x: x, kind: {category: true}}\n  inputs: x\n  targets: kind\n"
                                 "model: {layers: [{Dense: {units: 2, activation: softmax}}]}\ntrain: {epochs: 1}\n";
    liana__test_folder();
    liana__test_write("t.csv", table, sizeof table - 1);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", liana__test_write("config.yaml", config, sizeof config - 1), "--out", run),
                0);
    char *file = predict_text(liana__test_path("t.csv"));
    liana__test_result got = PREDICT_INPUT(table, sizeof table - 1, "predict", run, "-");
    assert_string_equal(got.out, file);
    assert_says(got.out, "true: low (");
    assert_code(got, 0);
    free(file);
}

/* Folders of the run's classes have true classes; folders of others are told, and predicted all the same. */
static void test_true_classes_of_folders(void **state)
{
    (void)state;
    train();
    assert_int_equal(mkdir(liana__test_path("by"), 0700), 0);
    assert_int_equal(mkdir(liana__test_path("by/east"), 0700), 0);
    assert_int_equal(mkdir(liana__test_path("by/west"), 0700), 0);
    for (int i = 0; i < 8; i++) {
        char name[40];
        snprintf(name, sizeof name, "by/%s/%d.png", i % 2 ? "east" : "west", i);
        write_image(name, i);
    }
    liana__test_result got = liana__test_command("predict", run, liana__test_path("by"), "--top", "1");
    int right = 0, wrong = 0;
    for (const char *at = got.out; (at = strstr(at, "  true: ")); at++) {
        const char *is = strchr(at, '(');
        right += strncmp(is, "(right)\n", 8) == 0;
        wrong += strncmp(is, "(wrong)\n", 8) == 0;
        /* The line above has the class that is said. */
        const char *said = at - 1;
        while (said[-1] != '\n') said--;
        const bool same = strncmp(said + 10, at + 8, 4) == 0;
        assert_int_equal(same, strncmp(is, "(right)", 7) == 0);
    }
    assert_int_equal(right + wrong, 8);
    char total[64];
    snprintf(total, sizeof total, "right: %d of 8 (%.1f%%)\n", right, 100.0 * right / 8);
    assert_says(got.out, total);
    assert_code(got, 0);
    assert_int_equal(rename(liana__test_path("by/west"), liana__test_path("by/holidays")), 0);
    got = liana__test_command("predict", run, liana__test_path("by"), "--top", "1");
    assert_never_says(got.out, "true:");
    assert_says(got.err, "note: the labels of these data are not the run's classes");
    assert_says(got.err, "holidays");
    assert_code(got, 0);
}

/* An image that cannot be read is named; with data.on_bad_record=skip it has no row. */
static void test_bad_images(void **state)
{
    (void)state;
    train();
    liana__test_write("photos/broken.png", "\x89PNG\r\n\x1a\nnothing", 15);
    assert_refused(liana__test_command("predict", run, liana__test_path("photos")), 1, "broken.png");
    liana__test_result got = liana__test_command("predict", run, liana__test_path("photos"), "data.on_bad_record=skip",
                                                 "--out", liana__test_path("p.csv"));
    assert_says(got.err, "broken.png");
    assert_says(got.out, ": 2; 1 records left out");
    assert_code(got, 0);
    got = liana__test_command("predict", run, liana__test_path("photos"), "data.on_bad_record=skip", "--augment", "3",
                              "data.augment=[random_flip]", "--ensemble", run, "--out", liana__test_path("p.csv"));
    assert_says(got.out, ": 2; 1 records left out");
    assert_code(got, 0);
}

/* A model's file, or a folder of one, stands where a run may stand. */
static void test_models_without_a_run(void **state)
{
    (void)state;
    static const char *const models[] = {"m.keras", "m.h5", "m.onnx", "folder"};
    train();
    liana__test_result wanted = liana__test_command("predict", run, liana__test_path("photos/c.png"), "--json");
    json_t *by_run = liana__test_parse_json(wanted.out);
    assert_code(wanted, 0);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char model[300];
        snprintf(model, sizeof model, "%s", liana__test_path(models[i]));
        assert_code(liana__test_command("convert-model", run, model), 0);
        liana__test_result got = liana__test_command("predict", model, liana__test_path("photos/c.png"), "--json",
                                                     "data.class_names=[north, east, south, west]");
        json_t *event = liana__test_parse_json(got.out);
        for (const char *const *name = (const char *const[]){"north", "east", "south", "west", NULL}; *name; name++) {
            const json_t *a = json_object_get(json_object_get(event, "probabilities"), *name);
            const json_t *b = json_object_get(json_object_get(by_run, "probabilities"), *name);
            assert_near(json_number_value(a), json_number_value(b), 1e-5, i);
        }
        json_decref(event);
        assert_code(got, 0);
    }
    json_decref(by_run);
    assert_refused(liana__test_command("predict", liana__test_path("none.keras"), liana__test_path("photos/c.png")), 1,
                   "none.keras");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_an_image_of_standard_input),
        cmocka_unit_test(test_a_table_of_standard_input),
        cmocka_unit_test(test_true_classes_of_folders),
        cmocka_unit_test(test_bad_images),
        cmocka_unit_test(test_models_without_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
