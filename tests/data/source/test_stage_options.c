/* Texts, tables and stages as a configuration or the options of a program say them: folders of text files, the form of
 * tables, windows of rows, classes drawn by chance, snapshots. */
#include "harness/element_text.h"

#include "base/file.h"
#include "formats/tfrecord.h"
#include "samples/sequence_records.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define write_text(name, text) liana__test_write((name), (text), sizeof(text) - 1)

/* A dataset of a text as printf makes it. */
static LIANA__PRINTF(3, 4) liana_dataset *configure(liana_context *context, const liana_dataset_options *options,
                                                    const char *format, ...)
{
    char text[1000];
    liana_dataset *dataset;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return liana_dataset_configure(context, text, options, &dataset) == LIANA_OK ? dataset : NULL;
}

static void make_folders(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) assert_int_equal(mkdir(liana__test_path(names[i]), 0777), 0);
}

/* keras.utils.text_dataset_from_directory finds the same classes, and files in the same order without shuffling. */
static void test_texts_in_folders(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    static const char *const folders[] = {"reviews", "reviews/neg", "reviews/pos"};
    make_folders(folders, 3);
    write_text("reviews/pos/b.txt", "good\nline");
    write_text("reviews/pos/a.txt", "fine");
    write_text("reviews/neg/c.txt", "");
    write_text("reviews/neg/notes.md", "no example");
    liana_dataset *texts = liana_dataset_text_from_directory(context, liana__test_path("reviews"), NULL);
    assert_non_null(texts);
    int64_t num_classes;
    assert_int_equal(liana_dataset_count_classes(texts, &num_classes), LIANA_OK);
    assert_int_equal(num_classes, 2);
    gives(texts, "0:\"neg/c.txt\":\"\" 1:\"pos/a.txt\":\"fine\" 1:\"pos/b.txt\":\"good\nline\" ");
    const char *const other[] = {"pos", "neg", NULL};
    const liana_dataset_options options = {.class_names = other};
    gives(liana_dataset_text_from_directory(context, liana__test_path("reviews"), &options),
          "1:\"neg/c.txt\":\"\" 0:\"pos/a.txt\":\"fine\" 0:\"pos/b.txt\":\"good\nline\" ");
    gives(configure(context, NULL, "{paths: %s, kind: text, skip: 1, take: 1}", liana__test_path("reviews")),
          "1:\"pos/a.txt\":\"fine\" ");
    static const char *const empty[] = {"empty", "empty/a", "empty/b"};
    make_folders(empty, 3);
    write_text("empty/b/x.jpg", "no text");
    refused(liana_dataset_text_from_directory(context, liana__test_path("empty"), NULL),
            "no text file (NAME.txt) in the folder of class 'a'");
    refused(liana_dataset_text_from_directory(context, liana__test_path("none"), NULL), "none");
    liana_context_destroy(context);
}

/* tf.data.experimental.CsvDataset with the same options. */
static void test_forms_of_tables(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    const char *path = write_text("t.csv", "a;b\n1;\"x;\ny\"\n2;\"z\"\"z\"");
    gives(liana_dataset_csv(context, path, &(liana_dataset_options){.field_delim = ';', .columns = "{a: a, b: b}"}),
          "\"\":1:\"x;\ny\" \"\":2:\"z\"z\" ");
    path = write_text("t.csv", "a,b\n1,\"x\n-,y\"\n");
    const liana_dataset_options plain = {.plain_quotes = true,
                                         .na_value = "-",
                                         .columns = "{a: {from: a, missing: 7}, b: b}"};
    gives(liana_dataset_csv(context, path, &plain), "\"\":1:\"\"x\" \"\":7:\"y\"\" ");
    gives(liana_dataset_csv(context, path, &(liana_dataset_options){.columns = "{b: b}"}), "\"\":\"x\n-,y\" ");
    refused(liana_dataset_csv(context, path,
                              &(liana_dataset_options){.plain_quotes = true, .columns = "{a: {from: a, dtype: f32}}"}),
            "t.csv', line 3, column 'a': found '-', expected a number");
    path = write_text("t.csv", "a,b\n1,\"x\n");
    refused(liana_dataset_csv(context, path, NULL),
            "t.csv', line 2: a cell begins with a quote (\") but does not end with one");
    path = write_text("t.csv", "a;b\n1;2\n");
    refused(liana_dataset_csv(context, path, NULL), "or set field_delim");
    liana_context_destroy(context);
}

static void test_windows_of_rows(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    write_text("rows.csv", "t,u,y\n0,10,100\n1,11,101\n2,12,102\n3,13,103\n4,14,104\n5,15,105\n");
    const liana_dataset_options options = {.columns = "{x: {from: [t, u], dtype: s32}, y: y}"};
    /* Rows i, i + 2 of x, and row i + 3 of y: what TensorFlow's windows give of the slices. */
    gives(configure(context, &options,
                    "{paths: %s, kind: table, window: {size: 2, stride: 2, targets: [y, id], target_offset: 3}}",
                    liana__test_path("rows.csv")),
          "\"\":[[0 10] [2 12]]:103 \"\":[[1 11] [3 13]]:104 \"\":[[2 12] [4 14]]:105 ");
    gives(configure(context, &options,
                    "{paths: %s, kind: table, window: {size: 3, shift: 2, targets: [y, id]}, skip: 1}",
                    liana__test_path("rows.csv")),
          "\"\":[[2 12] [3 13] [4 14]]:102 ");
    refused(configure(context, &options, "{paths: %s, kind: table, window: {size: 2, targets: [z]}}",
                      liana__test_path("rows.csv")),
            "targets: there is no component 'z'");
    refused(configure(context, &options, "{paths: %s, kind: table, window: {size: 2, shift: 0}}",
                      liana__test_path("rows.csv")),
            "window.shift");
    liana_context_destroy(context);
}

static void test_choosing(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    write_text("rows.csv", "label,x\n0,1\n1,2\n0,1\n1,3\n1,2\n");
    const liana_dataset_options options = {.columns = "{x: x}"};
    gives(configure(context, &options, "{paths: %s, kind: table, unique: true}", liana__test_path("rows.csv")),
          "0:\"\":1 1:\"\":2 1:\"\":3 ");
    gives(configure(context, &options,
                    "{paths: %s, kind: table, rejection_resample: {target_dist: [0, 1], initial_dist: [0.4, 0.6]}}",
                    liana__test_path("rows.csv")),
          "1:\"\":2 1:\"\":3 1:\"\":2 ");
    gives(configure(context, &options, "{paths: %s, kind: table, unique: true, take: 2, snapshot: %s}",
                    liana__test_path("rows.csv"), liana__test_path("kept")),
          "0:\"\":1 1:\"\":2 ");
    assert_true(liana__folder_exists(liana__test_path("kept")));
    refused(configure(context, &options, "{paths: %s, kind: table, rejection_resample: {target_dist: [0, x]}}",
                      liana__test_path("rows.csv")),
            "rejection_resample.target_dist[1]: found the text 'x', expected a number");
    refused(configure(context, &options,
                      "{paths: %s, kind: table, rejection_resample: {target_dist: [0, 1], initial_dist: [1]}}",
                      liana__test_path("rows.csv")),
            "initial_dist: found a list of 1, expected a list with a number for each class");
    refused(configure(context, &options, "{paths: %s, kind: table, take_while: nobody}", liana__test_path("rows.csv")),
            "take_while: there is no function 'nobody'");
    liana_context_destroy(context);
}

/* keras.layers.StringLookup(num_oov_indices=1) of Keras 3.15: vocabulary [UNK], bonn, koeln; koeln is 2, ulm is 0. */
static void test_unknown_categories(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    const char *path = write_text("train.csv", "city\nkoeln\nbonn\nkoeln\n");
    liana_dataset *training =
        liana_dataset_csv(context, path,
                          &(liana_dataset_options){.columns = "{city: {category: true, num_oov_indices: 1}}"});
    gives(liana_dataset_retain(training), "\"\":2 \"\":1 \"\":2 ");
    path = write_text("later.csv", "city\nulm\nbonn\n[UNK]\n");
    gives(liana_dataset_csv(context, path, &(liana_dataset_options){.classes_of = training}), "\"\":0 \"\":1 \"\":0 ");
    liana_dataset_close(training);
    gives(liana_dataset_csv(context, path,
                            &(liana_dataset_options){.columns =
                                                         "{city: {vocabulary: [ulm, bonn], num_oov_indices: 1}}"}),
          "\"\":1 \"\":2 \"\":0 ");
    gives(liana_dataset_csv(context, path,
                            &(liana_dataset_options){.columns =
                                                         "{city: {vocabulary: ['[UNK]', bonn], num_oov_indices: 1}}"}),
          "\"\":0 \"\":1 \"\":0 ");
    refused(liana_dataset_csv(context, path, &(liana_dataset_options){.columns = "{city: {vocabulary: [ulm, bonn]}}"}),
            "later.csv', line 4, column 'city': '[UNK]' is none of the 2 names of this category");
    refused(liana_dataset_csv(context, path, &(liana_dataset_options){.columns = "{city: {num_oov_indices: 1}}"}),
            "'num_oov_indices' needs 'category: true'");
    liana_context_destroy(context);
}

/* Hashing(num_bins=10), HashedCrossing(num_bins=20) and Discretization(bin_boundaries=[0, 1, 2.5]) of Keras 3.15. */
static void test_bins(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    const char *path =
        write_text("t.csv", "city,kind,x\nbonn,a,-1\nkoeln,b,0\nulm,a,0.5\nbonn,b,1\nbern,a,2.5\n1,1,9\n");
    liana_dataset_options options = {
        .columns = "{city: {hash_bins: 10}, both: {from: [city, kind], cross: 20}, x: {bin_boundaries: [0, 1, 2.5]}}"};
    liana_dataset *training = liana_dataset_csv(context, path, &options);
    assert_non_null(training);
    const liana_component *components = liana_dataset_info(training).components;
    for (int i = 1; i < 4; i++) {
        assert_int_equal(components[i].dtype, LIANA_S32);
        assert_int_equal(components[i].shape.rank, 0);
    }
    char *found = liana__test_show(context, training, NULL, LIANA_END_OF_DATA);
    assert_says(found, "\"\":1:9:0 \"\":5:1:1 \"\":8:12:1 \"\":1:4:2 \"\":6:");
    assert_says(found, ":3 \"\":9:"); /* Keras's bin of the number 1 */
    free(found);
    path = write_text("later.csv", "city,kind,x\nulm,a,7\n");
    gives(liana_dataset_csv(context, path, &(liana_dataset_options){.classes_of = training}), "\"\":8:12:3 ");
    liana_dataset_close(training);
    /* Discretization(num_bins=3).adapt([1, 2, 2, 3, 5, 8, 13]) finds 2 and 4.33. */
    path = write_text("seven.csv", "x\n13\n2\n1\n3\n2\n8\n5\n");
    gives(liana_dataset_csv(context, path, &(liana_dataset_options){.columns = "{x: {num_bins: 3}}"}),
          "\"\":2 \"\":1 \"\":0 \"\":1 \"\":1 \"\":2 \"\":2 ");
    refused(liana_dataset_csv(context, path, &(liana_dataset_options){.columns = "{x: {num_bins: 8}}"}),
            "seven.csv', column 'x': 7 numbers cannot be cut into 8 bins");
    path = write_text("later.csv", "city,kind,x\nulm,a,7\n");
    static const struct {
        const char *columns, *message;
    } refusals[] = {
        {"{x: {bin_boundaries: [2, 1]}}",
         "'bin_boundaries' is a list of 2, expected a list of numbers that do not fall"},
        {"{x: {bin_boundaries: [a]}}", "expected a list of numbers that do not fall"},
        {"{x: {hash_bins: 3, category: true}}", "'num_bins', and 'multi_hot' exclude each"},
        {"{x: {cross: 3}}", "'cross' is of 2 to 8 columns"},
        {"{city: {bin_boundaries: [1]}}", "later.csv', line 2, column 'city': found 'ulm', expected a number"},
        {"{city: {hash_bins: 3, dtype: string}}", "found the dtype string"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        options.columns = refusals[i].columns;
        refused(liana_dataset_csv(context, path, &options), refusals[i].message);
    }
    liana_context_destroy(context);
}

/* numpy.nanmean and numpy.nanmedian of the columns. */
static void test_missing_numbers(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    const char *path = write_text("train.csv", "a,b\n1,10\n,20\n2,NA\n6,90\n");
    liana_dataset *training =
        liana_dataset_csv(context, path,
                          &(liana_dataset_options){
                              .columns = "{x: {from: [a, b], missing: mean}, m: {from: b, missing: median}}"});
    gives(liana_dataset_retain(training), "\"\":[1 10]:10 \"\":[3 20]:20 \"\":[2 40]:20 \"\":[6 90]:90 ");
    /* Later data have the numbers of the training data. */
    path = write_text("later.csv", "a,b\n,\n100,200\n");
    gives(liana_dataset_csv(context, path, &(liana_dataset_options){.classes_of = training}),
          "\"\":[3 40]:20 \"\":[100 200]:200 ");
    liana_dataset_close(training);
    gives(liana_dataset_csv(context, path,
                            &(liana_dataset_options){.columns = "{x: {from: [a, b], missing: [median, -1]}}"}),
          "\"\":[100 -1] \"\":[100 200] ");
    /* Of an even number of values the median is between two. */
    path = write_text("even.csv", "a\n4\n\"\"\n1\n2\n9\n");
    gives(liana_dataset_csv(context, path, &(liana_dataset_options){.columns = "{a: {from: a, missing: median}}"}),
          "\"\":4 \"\":3 \"\":1 \"\":2 \"\":9 ");
    path = write_text("none.csv", "a,b\n,1\nNA,2\n");
    refused(liana_dataset_csv(context, path,
                              &(liana_dataset_options){.columns = "{a: {from: a, missing: mean, dtype: f32}}"}),
            "none.csv', column 'a': no row has a number, so there is no mean for the missing ones");
    refused(liana_dataset_csv(context, path,
                              &(liana_dataset_options){.columns = "{x: {from: [a, b], missing: [1, 2, 3]}}"}),
            "'missing' has 3 values, expected one for each of 2 columns");
    liana_context_destroy(context);
}

/* tf.SequenceExamples as columns. */
static void test_columns_of_sequence_examples(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    liana__error error = {0};
    for (int i = 0; i < 2; i++) {
        liana__tfrecord_writer writer;
        const char *path = liana__test_path(i ? "sparse.tfrec" : "sequence.tfrec");
        assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
        const void *bytes = i ? sparse_record : sequence_record;
        const size_t size = i ? sizeof sparse_record : sizeof sequence_record;
        assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
        assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    }
    liana_dataset *dataset;
    liana_dataset_options options = {
        .unlabelled = true,
        .columns = "{words: {length: 8, padding: -1, lengths: n}, xy: {length: 4}, number: {from: id}}"};
    assert_int_equal(liana_dataset_open(context, liana__test_path("sequence.tfrec"), &options, &dataset), LIANA_OK);
    char *found = liana__test_show(context, dataset, NULL, LIANA_END_OF_DATA);
    assert_says(found, "[1 2 3 4 5 6 -1 -1]:6:[1 2 3 4]:7 ");
    free(found);
    liana_dataset_close(dataset);
    options.columns = "{dense: {from: v, length: 6, indices: i}}";
    assert_int_equal(liana_dataset_open(context, liana__test_path("sparse.tfrec"), &options, &dataset), LIANA_OK);
    found = liana__test_show(context, dataset, NULL, LIANA_END_OF_DATA);
    assert_says(found, "[0 2.5 0 0 1.5 0] ");
    free(found);
    liana_dataset_close(dataset);
    options.columns = "{dense: {from: v, length: 3, indices: i}}";
    assert_int_equal(liana_dataset_open(context, liana__test_path("sparse.tfrec"), &options, &dataset),
                     LIANA_OUT_OF_RANGE);
    assert_says(liana_context_message(context), "the feature 'i', value 0 is the index 4, expected 0 to 2");
    options.columns = "{words: words}";
    assert_int_equal(liana_dataset_open(context, liana__test_path("sequence.tfrec"), &options, &dataset),
                     LIANA_INVALID_DATA);
    assert_says(liana_context_message(context), "the feature list 'words' has 4 steps; set length or multi_hot");
    options.columns = "{words: {indices: i}}";
    assert_int_equal(liana_dataset_open(context, liana__test_path("sequence.tfrec"), &options, &dataset),
                     LIANA_INVALID_CONFIG);
    assert_says(liana_context_message(context), "'indices' needs 'length'");
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_in_folders),   cmocka_unit_test(test_forms_of_tables),
        cmocka_unit_test(test_windows_of_rows),    cmocka_unit_test(test_choosing),
        cmocka_unit_test(test_unknown_categories), cmocka_unit_test(test_bins),
        cmocka_unit_test(test_missing_numbers),    cmocka_unit_test(test_columns_of_sequence_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
