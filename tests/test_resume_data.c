/* A run does not go on with other data than it was begun with. */
#include "harness/command_run.h"
#include "harness/tiny_records.h"

#include "base/file.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUM_FILES = 3, SIZE = LIANA__TINY_SIZE, CLASSES = LIANA__TINY_CLASSES };
static const int counts[NUM_FILES] = {20, 9, 30};

static void write_file(int file, int count)
{
    char name[32];
    snprintf(name, sizeof name, "part-%d.tfrec", file);
    liana__test_tiny_records(name, 1, 100 * file, count, NULL, 0);
}

static void set_up(void)
{
    liana__test_folder();
    liana__test_tiny_run(40);
    for (int i = 0; i < NUM_FILES; i++) write_file(i, counts[i]);
}

/* `more`: of the source. */
static liana__test_result train(const char *run, const char *more, bool resume)
{
    char source[800];
    snprintf(source, sizeof source, "data.train={paths: [\"%s\"]%s}", liana__test_path("part-*.tfrec"), more);
    const char *words[] = {"train",
                           liana__test_path("config.yaml"),
                           "--out",
                           liana__test_path(run),
                           source,
                           "train.epochs=2",
                           "checkpoint.keep=0",
                           resume ? "--resume" : NULL,
                           NULL};
    return liana__test_command_words(words);
}

static void assert_same_weights(const char *a, const char *b)
{
    char first[600], second[600];
    snprintf(first, sizeof first, "%s/variables.safetensors", liana__test_newest_checkpoint(a));
    snprintf(second, sizeof second, "%s/variables.safetensors", liana__test_newest_checkpoint(b));
    assert_same_file(first, second);
}

static void check_runs(const char *more)
{
    set_up();
    assert_code(train("whole", more, false), 0);
    assert_code(train("run", more, false), 0);
    char before[600], path[600];
    /* Without what came after the first epoch. */
    assert_ok(liana__folder_remove(liana__test_newest_checkpoint("run"), NULL), NULL);
    snprintf(before, sizeof before, "%s", liana__test_newest_checkpoint("run"));
    assert_true(*before);

    /* One record more. */
    write_file(1, 10);
    assert_refused(train("run", more, true), 1, "state.json'",
                   "the training data are not those that it was trained on: 'part-1.tfrec' had 9 records in ",
                   ", and has 10 in ", "put the former data back");
    /* As many, of other sizes. */
    static const uint8_t other[] = "no image";
    liana__test_odd odd = {.record = 4, .image = other, .image_size = sizeof other};
    liana__test_tiny_records("part-1.tfrec", 1, 100, 9, &odd, 1);
    assert_refused(train("run", more, true), 1, "'part-1.tfrec' had 9 records in ", ", and has 9 in");
    write_file(1, 9);
    /* Another file, one less, one of another name. */
    write_file(3, 5);
    assert_refused(train("run", more, true), 1, "'part-3.tfrec' is new: 3 files were there, and now", "there are 4");
    assert_int_equal(unlink(liana__test_path("part-3.tfrec")), 0);
    snprintf(path, sizeof path, "%s", liana__test_path("part-2.tfrec"));
    assert_int_equal(rename(path, liana__test_path("part-4.tfrec")), 0);
    assert_refused(train("run", more, true), 1, "'part-4.tfrec' is where 'part-2.tfrec' was");
    assert_int_equal(rename(liana__test_path("part-4.tfrec"), liana__test_path("away")), 0);
    assert_refused(train("run", more, true), 1, "'part-2.tfrec' is missing: 3 files were there, and now there are 2");
    /* Nothing of the run was touched, and with the former data it goes on to the same end. */
    assert_string_equal(liana__test_newest_checkpoint("run"), before);
    assert_int_equal(rename(liana__test_path("away"), liana__test_path("part-2.tfrec")), 0);
    assert_code(train("run", more, true), 0);
    assert_same_weights("run", "whole");
}

static void test_runs_refuse_other_data(void **state)
{
    (void)state;
    check_runs("");
}

/* The files behind stages. */
static void test_runs_of_stages_refuse_other_data(void **state)
{
    (void)state;
    check_runs(", skip: 3");
}

static liana_status fit(liana_context *context, int count, int64_t epochs, bool resume)
{
    static uint8_t images[64][SIZE][SIZE];
    static int64_t labels[64];
    for (int i = 0; i < count; i++) labels[i] = liana__test_tiny_image(1, (uint32_t)i, images[i][0]);
    const liana_array arrays[] = {{"label", LIANA_S64, liana_shape_of(count), labels},
                                  {"image", LIANA_U8, liana_shape_of(count, SIZE, SIZE), images}};
    liana_dataset *data = liana_dataset_from_tensor_slices(context, arrays, 2);
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(SIZE, SIZE, 1));
    liana_flatten(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
    liana_fit_options options = {.training = data,
                                 .epochs = epochs,
                                 .checkpoints = liana__test_path("checkpoints"),
                                 .resume = resume};
    liana_status status = liana_fit(model, &options);
    liana_model_destroy(model);
    liana_dataset_close(data);
    return status;
}

static void test_fits_refuse_other_data(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    assert_int_equal(fit(context, 60, 1, false), LIANA_OK);
    assert_int_equal(fit(context, 59, 2, true), LIANA_INVALID_DATA);
    assert_non_null(strstr(liana_context_message(context), "they had 60 examples, and have 59 now"));
    assert_int_equal(fit(context, 60, 2, true), LIANA_OK);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_refuse_other_data),
        cmocka_unit_test(test_runs_of_stages_refuse_other_data),
        cmocka_unit_test(test_fits_refuse_other_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
