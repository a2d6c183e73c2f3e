/* Datasets and files in turn: against a model of the cycle in plain arrays, and against tf.data's own example. */
#include "harness/command_run.h"
#include "harness/tiny_records.h"

#include "base/random.h"
#include "data/dataset/turns.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PARTS = 14, MAX_ELEMENTS = 400, SIZE = LIANA__TINY_SIZE };

/* The elements of each part. */
typedef struct plain {
    int count;
    int parts[MAX_ELEMENTS];
    int indices[MAX_ELEMENTS];
} plain;

static plain go_round(const uint64_t *lengths, int num_parts, int cycle, int64_t block)
{
    plain made = {0};
    int place_part[64], place_next[64], fed = 0, open = 0, at = 0;
    for (int i = 0; i < cycle; i++) place_part[i] = -1;
    while (fed < num_parts || open > 0) {
        if (place_part[at] < 0 && fed < num_parts) {
            place_part[at] = fed++;
            place_next[at] = 0;
            open++;
        }
        int part = place_part[at];
        for (int64_t given = 0; part >= 0 && given < block; given++) {
            if (place_next[at] == (int)lengths[part]) {
                place_part[at] = -1;
                open--;
                break;
            }
            made.parts[made.count] = part;
            made.indices[made.count++] = place_next[at]++;
        }
        at = (at + 1) % cycle;
    }
    return made;
}

static void test_turns_are_those_of_a_cycle(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 3000; trial++) {
        uint32_t counter[4] = {trial}, words[4];
        liana__philox(liana__philox_make_key(1, LIANA__STREAM_TEST, 2), counter, words);
        uint64_t lengths[MAX_PARTS];
        int num_parts = 1 + (int)(words[0] % MAX_PARTS), cycle = 1 + (int)(words[1] % 17);
        static const int64_t blocks[] = {1, 2, 3, 5, 1000, INT64_MAX};
        int64_t block = blocks[words[2] % 6];
        for (int i = 0; i < num_parts; i++) {
            uint32_t inner[4] = {trial, 1, (uint32_t)i}, drawn[4];
            liana__philox(liana__philox_make_key(1, LIANA__STREAM_TEST, 2), inner, drawn);
            lengths[i] = drawn[0] % 4 == 0 ? 0 : drawn[1] % 25;
        }
        plain expected = go_round(lengths, num_parts, cycle, block);
        liana__turns *turns;
        liana__error error = {0};
        assert_ok(liana__turns_create(lengths, (size_t)num_parts, (size_t)cycle, (uint64_t)block, &turns, &error),
                  &error);
        for (int i = expected.count - 1; i >= 0; i--) {
            uint64_t index = (uint64_t)i;
            assert_int_equal(liana__turns_find(turns, &index), expected.parts[i]);
            assert_int_equal(index, expected.indices[i]);
        }
        liana__turns_destroy(turns);
    }
}

/* Long parts: nothing is laid out element by element. */
static void test_turns_of_long_parts(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {(uint64_t)1 << 61, 3, (uint64_t)1 << 60};
    liana__turns *turns;
    liana__error error = {0};
    assert_ok(liana__turns_create(lengths, 3, 2, 2, &turns, &error), &error);
    /* 0 0 1 1 | 0 0 1 | 0 0 2 2 | ... */
    uint64_t index = 7 + 4 * ((uint64_t)1 << 40) + 3;
    assert_int_equal(liana__turns_find(turns, &index), 2);
    assert_int_equal(index, ((uint64_t)1 << 41) + 1);
    index = lengths[0] + lengths[1] + lengths[2] - 1;
    assert_int_equal(liana__turns_find(turns, &index), 0);
    assert_int_equal(index, lengths[0] - 1);
    liana__turns_destroy(turns);
}

/* ---- as datasets ---- */

static bool keep_all(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    (void)element;
    return true;
}

/* Ranges: part i counts from 100 i. */
static liana_dataset *make_parts(liana_context *context, const uint64_t *lengths, int num_parts, bool replayed,
                                 const liana_interleave_datasets_options *options)
{
    liana_dataset *parts[MAX_PARTS];
    for (int i = 0; i < num_parts; i++) {
        parts[i] = liana_dataset_range(context, 100 * i, 100 * i + (int64_t)lengths[i], 1);
        if (replayed && i % 2 == 0) {
            parts[i] = liana_dataset_filter(parts[i], &(liana_filter_options){.function = keep_all});
        }
    }
    return liana_dataset_interleave_datasets(parts, (size_t)num_parts, options);
}

static void check_iteration(const liana_dataset *dataset, const liana_iterator_options *options,
                            const int64_t *expected, int count)
{
    liana_iterator *iterator;
    const liana_element *element;
    assert_int_equal(liana_iterator_create(dataset, options, &iterator), LIANA_OK);
    for (int i = (int)options->start; i < count; i++) {
        assert_int_equal(liana_iterator_next(iterator, &element), LIANA_OK);
        assert_int_equal(*(const int64_t *)liana_element_array(element, "value").data, expected[i]);
    }
    assert_int_equal(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
    liana_iterator_destroy(iterator);
}

static void test_datasets_in_turn(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {5, 0, 12, 1, 7, 7, 30, 2};
    enum { NUM_PARTS = 8 };
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    for (int cycle = 0; cycle <= 10; cycle += 1 + cycle / 3) {
        for (int block = 0; block <= 4; block += 2) {
            plain order = go_round(lengths, NUM_PARTS, cycle ? cycle : NUM_PARTS, block ? block : 1);
            int64_t expected[MAX_ELEMENTS];
            for (int i = 0; i < order.count; i++) expected[i] = 100 * order.parts[i] + order.indices[i];
            for (int replayed = 0; replayed < 2; replayed++) {
                liana_dataset *dataset = make_parts(context, lengths, NUM_PARTS, replayed,
                                                    &(liana_interleave_datasets_options){cycle, block});
                assert_int_equal(liana_dataset_info(dataset).random_access, !replayed);
                assert_int_equal(liana_dataset_info(dataset).num_examples, replayed ? LIANA_UNKNOWN : order.count);
                for (uint64_t start = 0; start <= (uint64_t)order.count; start += 9) {
                    liana_iterator_options options = {.num_threads = (int)(start % 3), .start = start};
                    check_iteration(dataset, &options, expected, order.count);
                }
                liana_dataset_close(dataset);
            }
        }
    }
    liana_context_destroy(context);
}

/* tf.data.Dataset.range(1, 6).interleave(lambda x: from_tensors(x).repeat(6), cycle_length=2, block_length=4), from
 * the documentation of TensorFlow. */
static void test_the_example_of_tf_data(void **state)
{
    (void)state;
    static const int64_t expected[30] = {1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3,
                                         3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5};
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    liana_dataset *parts[5];
    for (int64_t i = 0; i < 5; i++) parts[i] = liana_dataset_repeat(liana_dataset_range(context, i + 1, i + 2, 1), 6);
    liana_dataset *dataset = liana_dataset_interleave_datasets(parts, 5, &(liana_interleave_datasets_options){2, 4});
    check_iteration(dataset, &(liana_iterator_options){0}, expected, 30);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

static void test_wrong_options_are_named(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 2};
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    static const liana_interleave_datasets_options wrong[] = {{-1, 0}, {1025, 0}, {1, -2}};
    for (int i = 0; i < 3; i++) {
        assert_null(make_parts(context, lengths, 2, false, &wrong[i]));
        const char *message = liana_context_message(context);
        assert_says(message, "interleave_datasets: cycle_length is ");
        assert_says(message, "expected 1 to 1024 and at least 1");
    }
    const liana_array array = {"other", LIANA_S64, liana_shape_of(2), (int64_t[]){1, 2}};
    liana_dataset *both[2] = {liana_dataset_range(context, 0, 4, 1),
                              liana_dataset_from_tensor_slices(context, &array, 1)};
    assert_null(liana_dataset_interleave_datasets(both, 2, NULL));
    assert_says(liana_context_message(context), "interleave_datasets: dataset 1");
    /* One that never ends makes the whole endless. */
    liana_dataset *endless[2] = {liana_dataset_range(context, 0, 2, 1),
                                 liana_dataset_repeat(liana_dataset_range(context, 0, 2, 1), -1)};
    liana_dataset *all = liana_dataset_interleave_datasets(endless, 2, NULL);
    assert_int_equal(liana_dataset_info(all).num_examples, LIANA_INFINITE);
    all = liana_dataset_take(all, 7);
    check_iteration(all, &(liana_iterator_options){0}, (const int64_t[]){0, 0, 1, 1, 0, 1, 0}, 7);
    liana_dataset_close(all);
    liana_context_destroy(context);
}

/* ---- in configurations ---- */

enum { NUM_FILES = 5 };
static const int file_counts[NUM_FILES] = {20, 7, 1, 33, 12};

static void write_files(bool compressed)
{
    liana__test_folder();
    liana__test_tiny_run(40);
    for (int i = 0, first = 0; i < NUM_FILES; first += file_counts[i++]) {
        char name[32];
        snprintf(name, sizeof name, "part-%d.tfrec%s", i, compressed ? ".gz" : "");
        liana__test_tiny_records(name, 1, first, file_counts[i], NULL, 0);
    }
}

/* Words that begin with $ become paths in the test's folder. */
static void with_paths(const char *format, char text[1200])
{
    for (; *format; format++) {
        if (*format != '$') {
            *text++ = *format;
            continue;
        }
        size_t length = strcspn(format + 1, ",]} ");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)length, format + 1);
        text += sprintf(text, "\"%s\"", liana__test_path(name));
        format += length;
    }
    *text = 0;
}

/* The examples are numbered through all files. */
static void check_ids(liana_context *context, const char *format, const plain *order, const int *firsts)
{
    char text[1200];
    with_paths(format, text);
    liana_dataset *dataset;
    liana_status status = liana_dataset_configure(context, text, NULL, &dataset);
    if (status != LIANA_OK) print_error("%s: %s\n", text, liana_context_message(context));
    assert_int_equal(status, LIANA_OK);
    assert_int_equal(liana_dataset_info(dataset).num_examples, order->count);
    for (uint64_t start = 0; start < 40; start += 13) {
        liana_iterator *iterator;
        const liana_element *element;
        assert_int_equal(liana_iterator_create(dataset, &(liana_iterator_options){.start = start}, &iterator),
                         LIANA_OK);
        for (int i = (int)start; i < order->count; i++) {
            char id[24];
            snprintf(id, sizeof id, "img%03d", firsts[order->parts[i]] + order->indices[i]);
            assert_int_equal(liana_iterator_next(iterator, &element), LIANA_OK);
            assert_memory_equal(liana_element_string(element, "id", 0).data, id, strlen(id));
        }
        assert_int_equal(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
        liana_iterator_destroy(iterator);
    }
    liana_dataset_close(dataset);
}

static void test_files_and_sources_in_turn(void **state)
{
    (void)state;
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    for (int compressed = 0; compressed < 2; compressed++) {
        write_files(compressed);
        uint64_t lengths[NUM_FILES];
        int firsts[NUM_FILES] = {0};
        for (int i = 0; i < NUM_FILES; i++) lengths[i] = (uint64_t)file_counts[i];
        for (int i = 1; i < NUM_FILES; i++) firsts[i] = firsts[i - 1] + file_counts[i - 1];
        plain order = go_round(lengths, NUM_FILES, 3, 4);
        check_ids(context, "{paths: $part-*.tfrec*, interleave: {cycle_length: 3, block_length: 4}}", &order, firsts);
        order = go_round(lengths, NUM_FILES, 2, 1);
        check_ids(context, "{paths: $part-*.tfrec*, interleave: {cycle_length: 2}}", &order, firsts);
    }
    write_files(false);
    plain pair = go_round((const uint64_t[]){20, 30}, 2, 2, 2);
    check_ids(context, "{interleave: {sources: [$part-0.tfrec, {paths: $part-3.tfrec, skip: 3}], block_length: 2}}",
              &pair, (const int[]){0, 28 + 3});
    liana_context_destroy(context);
}

static void test_what_is_wrong_is_named(void **state)
{
    (void)state;
    write_files(false);
    static const char *const wrong[][2] = {
        {"{paths: $part-0.tfrec, interleave: {block_length: 4}}",
         "dataset: interleave.block_length is 4; set interleave.cycle_length"},
        {"{paths: $part-0.tfrec, interleave: {cycle_length: 2000}}",
         "dataset.interleave.cycle_length: found the number 2000"},
        {"{paths: $part-0.tfrec, interleave: {sources: [$part-0.tfrec]}}", "'interleave.sources' exclude each other"},
        {"{interleave: {sources: []}}", "dataset.interleave.sources: found a list of 0, expected a list of sources"},
        {"{interleave: {sources: [{take: 2}]}}", "dataset.interleave.sources[0]: no source found"},
        {"{concatenate: [$part-0.tfrec], interleave: {cycle_length: 2}}", "neither is given"},
        {"{paths: $classes, interleave: {cycle_length: 2}}", "is one example: only files of many examples"},
    };
    static const char *const folders[] = {"classes", "classes/a", "classes/b"};
    for (int i = 0; i < 3; i++) assert_int_equal(mkdir(liana__test_path(folders[i]), 0777), 0);
    liana__test_write("classes/a/1.png", "x", 1);
    liana__test_write("classes/b/2.png", "x", 1);
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[1200];
        with_paths(wrong[i][0], text);
        liana_dataset *dataset;
        liana_status status = liana_dataset_configure(context, text, NULL, &dataset);
        const char *message = liana_context_message(context);
        if (status == LIANA_OK || !strstr(message, wrong[i][1])) print_error("%s: %s\n", text, message);
        assert_int_not_equal(status, LIANA_OK);
        assert_says(message, wrong[i][1]);
        assert_null(dataset);
    }
    liana_context_destroy(context);
}

static void train(const char *run, const char *const *more)
{
    char source[700];
    snprintf(source, sizeof source, "data.train.paths=[\"%s\"]", liana__test_path("part-*.tfrec"));
    const char *words[24] = {"train",
                             liana__test_path("config.yaml"),
                             "--out",
                             liana__test_path(run),
                             "data.train.images=null",
                             "data.train.labels=null",
                             source};
    for (int i = 7; *more; more++) words[i++] = *more;
    assert_code(liana__test_command_words(words), 0);
}

static void assert_weights(const char *a, const char *b, bool same)
{
    char first[600], second[600];
    snprintf(first, sizeof first, "%s/variables.safetensors", liana__test_newest_checkpoint(a));
    snprintf(second, sizeof second, "%s/variables.safetensors", liana__test_newest_checkpoint(b));
    if (same) {
        assert_same_file(first, second);
        return;
    }
    char command[1300];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", first, second);
    assert_int_not_equal(system(command), 0);
}

static void test_runs_take_files_in_turn(void **state)
{
    (void)state;
    write_files(false);
    static const char turns[] = "data.train.interleave={cycle_length: 2, block_length: 3}";
    train("plain", (const char *const[]){"train.epochs=1", NULL});
    train("shuffled", (const char *const[]){"train.epochs=1", turns, NULL});
    assert_weights("plain", "shuffled", true);
    train("ordered", (const char *const[]){"train.epochs=1", "data.shuffle=false", NULL});
    train("turns", (const char *const[]){"train.epochs=2", "data.shuffle=false", turns, NULL});
    assert_weights("ordered", "turns", false);
    /* Stopped in the middle of an epoch, it goes on to the same end. */
    train("first", (const char *const[]){"train.epochs=2", "data.shuffle=false", turns, "checkpoint.every_steps=1",
                                         "checkpoint.keep=0", NULL});
    char last[600];
    snprintf(last, sizeof last, "%s", liana__test_newest_checkpoint("first"));
    int steps = atoi(strrchr(last, '-') + 1);
    for (int step = 2; step <= steps; step++) {
        char command[700];
        snprintf(command, sizeof command, "rm -r '%.*s-%010d'", (int)(strrchr(last, '-') - last), last, step);
        assert_int_equal(system(command), 0);
    }
    train("first", (const char *const[]){"train.epochs=2", "data.shuffle=false", turns, "checkpoint.every_steps=1",
                                         "checkpoint.keep=0", "--resume", NULL});
    assert_weights("first", "turns", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns_are_those_of_a_cycle), cmocka_unit_test(test_turns_of_long_parts),
        cmocka_unit_test(test_datasets_in_turn),           cmocka_unit_test(test_the_example_of_tf_data),
        cmocka_unit_test(test_wrong_options_are_named),    cmocka_unit_test(test_files_and_sources_in_turn),
        cmocka_unit_test(test_what_is_wrong_is_named),     cmocka_unit_test(test_runs_take_files_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
