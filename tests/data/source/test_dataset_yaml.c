/* Sources that a configuration makes of others: concatenate, sample_from, filter, map, shard, skip, take. */
#include "harness/command_run.h"

#include "base/file.h"
#include "base/text.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_TRAINING = 108, NUM_VALIDATION = 54, SIZE = LIANA__TINY_SIZE };

static char config_path[256];

static void set_up(void)
{
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(NUM_TRAINING));
}

/* printf with up to two paths in the test's folder for $0 and $1: $0 is the training images, $1 the others. */
static char *with_paths(const char *format)
{
    liana__text text = {0};
    static const char *const names[] = {"train-images", "validation-images"};
    for (; *format; format++) {
        if (*format == '$') {
            format++;
            liana__text_add(&text, "%s", liana__test_path(names[*format - '0']));
        } else {
            liana__text_add_bytes(&text, format, 1);
        }
    }
    return text.data;
}

static bool label_is_odd(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    return *(const int64_t *)liana_element_array(element, "label").data % 2 != 0;
}

static liana_status invert(void *user, const liana_example_address *address, const liana_element *input,
                           liana_element *output)
{
    (void)user;
    (void)address;
    const uint8_t *from = liana_element_array(input, "image").data;
    uint8_t *pixels = liana_element_output(output, "image");
    for (int i = 0; i < SIZE * SIZE; i++) pixels[i] = (uint8_t)(255 - from[i]);
    return LIANA_OK;
}

/* The elements of liana_dataset_configure, against the images as they are made. Seeds 1 and 2 are those of the two
 * files. */
static void check_elements(liana_context *context, const char *format, const int *files, const uint32_t *records,
                           int count, bool inverted)
{
    char *text = with_paths(format);
    liana_dataset *dataset;
    liana_iterator *iterator;
    const liana_element *element;
    liana_status status = liana_dataset_configure(context, text, NULL, &dataset);
    if (status != LIANA_OK) print_error("%s: %s\n", format, liana_context_message(context));
    assert_int_equal(status, LIANA_OK);
    assert_int_equal(liana_iterator_create(dataset, NULL, &iterator), LIANA_OK);
    for (int i = 0; i < count; i++) {
        uint8_t pixels[SIZE * SIZE];
        int label = liana__test_tiny_image((uint32_t)files[i], records[i], pixels);
        for (int k = 0; inverted && k < SIZE * SIZE; k++) pixels[k] = (uint8_t)(255 - pixels[k]);
        assert_int_equal(liana_iterator_next(iterator, &element), LIANA_OK);
        assert_int_equal(*(const int64_t *)liana_element_array(element, "label").data, label);
        assert_memory_equal(liana_element_array(element, "image").data, pixels, sizeof pixels);
    }
    assert_int_equal(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);
    free(text);
}

static liana_status register_stage(liana_context *context, const char *name, liana_map_function map,
                                   liana_filter_function keep)
{
    const liana_stage_type stage = {LIANA_PART(STAGE, liana_stage_type, name, NULL), .map = map, .keep = keep};
    return liana_register(context, &stage.part);
}

static void test_sources_are_made_of_others(void **state)
{
    (void)state;
    set_up();
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    assert_int_equal(register_stage(context, "odd", NULL, label_is_odd), LIANA_OK);
    assert_int_equal(register_stage(context, "invert", invert, NULL), LIANA_OK);
    assert_int_equal(register_stage(context, "both", invert, label_is_odd), LIANA_OK);
    check_elements(context, "{paths: $0, skip: 3, take: 4}", (const int[]){1, 1, 1, 1}, (const uint32_t[]){3, 4, 5, 6},
                   4, false);
    check_elements(context, "{concatenate: [{paths: [$0], take: 2}, {paths: $1, skip: 51}, {paths: $1, take: 1}]}",
                   (const int[]){1, 1, 2, 2, 2, 2}, (const uint32_t[]){0, 1, 51, 52, 53, 0}, 6, false);
    check_elements(context,
                   "{concatenate: [{paths: $0, take: 6}, {concatenate: [$1], take: 2}], shard: {count: 3, index: 1}}",
                   (const int[]){1, 1, 2}, (const uint32_t[]){1, 4, 1}, 3, false);
    check_elements(context, "{paths: $0, map: invert, take: 2}", (const int[]){1, 1}, (const uint32_t[]){0, 1}, 2,
                   true);
    int files[3] = {1, 1, 1};
    uint32_t odd[3];
    uint8_t pixels[SIZE * SIZE];
    for (uint32_t i = 0, count = 0; count < 3; i++) {
        if (liana__test_tiny_image(1, i, pixels) % 2) odd[count++] = i;
    }
    check_elements(context, "{images: $0, filter: odd, take: 3}", files, odd, 3, false);
    check_elements(context, "{images: $0, filter: both, take: 3}", files, odd, 3, false);
    check_elements(context, "{images: $0, filter: odd, map: both, take: 3}", files, odd, 3, true);

    /* By weight: each once. */
    char *text = with_paths("{sample_from: [{paths: $0, weight: 3}, $1]}");
    liana_dataset *mixed;
    assert_int_equal(liana_dataset_configure(context, text, NULL, &mixed), LIANA_OK);
    assert_int_equal(liana_dataset_info(mixed).num_examples, NUM_TRAINING + NUM_VALIDATION);
    liana_iterator *iterator;
    const liana_element *element;
    assert_int_equal(liana_iterator_create(mixed, NULL, &iterator), LIANA_OK);
    uint32_t next[2] = {0};
    for (int i = 0; i < 80; i++) {
        assert_int_equal(liana_iterator_next(iterator, &element), LIANA_OK);
        liana__test_tiny_image(1, next[0], pixels);
        int from = memcmp(liana_element_array(element, "image").data, pixels, sizeof pixels) != 0;
        next[from]++;
    }
    assert_in_range(next[0], 50, 70);
    liana_iterator_destroy(iterator);
    liana_dataset_close(mixed);
    free(text);
    liana_context_destroy(context);
}

static void test_what_is_wrong_is_named(void **state)
{
    (void)state;
    set_up();
    static const char *const wrong[][2] = {
        {"{paths: $0, concatenate: [$1]}", "exclude each other"},
        {"{concatenate: [$0, {path: $1}]}", "dataset.concatenate[1]: unknown key 'path'; did you mean 'paths'"},
        {"{concatenate: []}", "dataset.concatenate: found a list of 0, expected a list of sources"},
        {"{sample_from: [{weight: 1}]}", "dataset.sample_from[0]: no source found"},
        {"{take: 4}", "no source"},
        {"{paths: $0, window: {shift: 2}}", "'window' has no 'size'"},
        {"{paths: $0, window: {size: 2, target_offset: 1}}", "no 'window.targets' have it"},
        {"{paths: $0, rejection_resample: {initial_dist: [1, 2]}}", "'rejection_resample' has no 'target_dist'"},
        {"{paths: $0, rejection_resample: {same_each_epoch: true}}", "'rejection_resample' has no 'target_dist'"},
        {"{paths: $0, snapshot_compression: GZIP}", "'snapshot_compression' needs 'snapshot'"},
        {"{paths: $0, shard: {count: 2, index: 2}}", "shard.index is 2, expected less than shard.count, which is 2"},
        {"{paths: $0, filter: odd}", "dataset.filter: there is no function 'odd'"},
        {"{sample_from: [{paths: $0, map: f}]}", "dataset[0].map: there is no function 'f'"},
        {"{sample_from: [{paths: $0, weight: 0}]}", "all weights are 0"},
        {"{concatenate: [/nowhere/at-all]}", "nowhere"},
        {"7", "found the number 7"},
    };
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *text = with_paths(wrong[i][0]);
        liana_dataset *dataset;
        liana_status status = liana_dataset_configure(context, text, NULL, &dataset);
        const char *message = liana_context_message(context);
        if (status == LIANA_OK || !strstr(message, wrong[i][1])) print_error("%s: %s\n", wrong[i][0], message);
        assert_int_not_equal(status, LIANA_OK);
        assert_says(message, wrong[i][1]);
        assert_null(dataset);
        free(text);
    }
    assert_int_equal(register_stage(context, "", invert, NULL), LIANA_INVALID_ARGUMENT);
    assert_int_equal(register_stage(context, "f", invert, NULL), LIANA_OK);
    assert_int_equal(register_stage(context, "f", NULL, label_is_odd), LIANA_INVALID_ARGUMENT);
    assert_says(liana_context_message(context), "has registered 'f' already");
    assert_int_equal(register_stage(context, "take", invert, NULL), LIANA_INVALID_ARGUMENT);
    assert_says(liana_context_message(context), "liana has one of this name");
    assert_int_equal(register_stage(context, "g", NULL, NULL), LIANA_INVALID_ARGUMENT);
    assert_says(liana_context_message(context), "its function 'map' or 'keep' is NULL");
    /* A stage of another use. */
    static const char *const other[][2] = {{"{paths: $0, filter: f}", "dataset.filter: there is no function 'f'"},
                                           {"{paths: $0, map: take}", "dataset.map: there is no function 'take'"}};
    for (int i = 0; i < 2; i++) {
        char *text = with_paths(other[i][0]);
        liana_dataset *dataset;
        assert_int_equal(liana_dataset_configure(context, text, NULL, &dataset), LIANA_INVALID_CONFIG);
        assert_says(liana_context_message(context), other[i][1]);
        free(text);
    }
    liana_context_destroy(context);
}

/* ---- runs ---- */

static void train(const char *run, const char *source, const char *const *more)
{
    char *override = with_paths(source);
    const char *words[24] = {"train", config_path, "--out", liana__test_path(run), override};
    for (int i = 5; *more; more++) words[i++] = *more;
    assert_code(liana__test_command_words(words), 0);
    free(override);
}

static void assert_same_weights(const char *a, const char *b)
{
    char first[600], second[600];
    snprintf(first, sizeof first, "%s/variables.safetensors", liana__test_newest_checkpoint(a));
    snprintf(second, sizeof second, "%s/variables.safetensors", liana__test_newest_checkpoint(b));
    assert_same_file(first, second);
}

static void test_a_list_and_its_concatenation_train_alike(void **state)
{
    (void)state;
    set_up();
    static const char *const more[] = {"train.epochs=1", NULL};
    train("list", "data.train=[$0, $1]", more);
    train("chain", "data.train={concatenate: [$0, {paths: $1, skip: 0}]}", more);
    assert_same_weights("list", "chain");
    train("part", "data.train={concatenate: [$0, {paths: $1, skip: 1}]}", more);
    /* The run's own configuration says the same, from any folder. */
    liana__test_result got = liana__test_command("train", liana__test_path("chain/config.yaml"), "train.epochs=1",
                                                 "--out", liana__test_path("again"));
    assert_code(got, 0);
    assert_same_weights("list", "again");
}

static void test_a_mixture_goes_on_where_it_stopped(void **state)
{
    (void)state;
    set_up();
    static const char *const more[] = {"data.repeat=true",
                                       "train.steps_per_epoch=5",
                                       "train.epochs=2",
                                       "checkpoint.every_steps=3",
                                       "checkpoint.keep=0",
                                       "--resume",
                                       NULL};
    static const char source[] = "data.train={sample_from: [{paths: $0, weight: 3}, {paths: $1, take: 20}]}";
    train("whole", source, more);
    train("run", source, more);
    /* Without what came after the first checkpoint. */
    size_t left = 0;
    for (const char *newest = liana__test_newest_checkpoint("run"); *newest && atoi(strrchr(newest, '-') + 1) > 3;
         newest = liana__test_newest_checkpoint("run")) {
        assert_ok(liana__folder_remove(newest, NULL), NULL);
        left++;
    }
    assert_compare(left, >=, 2);
    assert_int_equal(atoi(strrchr(liana__test_newest_checkpoint("run"), '-') + 1), 3);
    train("run", source, more);
    assert_same_weights("run", "whole");
    assert_same_file(liana__test_path("run/history.json"), liana__test_path("whole/history.json"));
}

static void test_runs_say_what_does_not_go_together(void **state)
{
    (void)state;
    set_up();
    char *mixed = with_paths("data.train={sample_from: [$0, $1]}");
    assert_refused(liana__test_command("train", config_path, mixed, "data.oversample.target_count=50"), 2,
                   "data.oversample", "train.class_weights");
    free(mixed);
    assert_refused(liana__test_command("train", config_path, "data.train.filter=odd"), 2, "data.train.filter",
                   "there is no function 'odd'");
    assert_refused(liana__test_command("train", config_path, "data.train.shard={count: 2, index: 3}"), 2, "data.train",
                   "shard.index is 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sources_are_made_of_others),
        cmocka_unit_test(test_what_is_wrong_is_named),
        cmocka_unit_test(test_a_list_and_its_concatenation_train_alike),
        cmocka_unit_test(test_a_mixture_goes_on_where_it_stopped),
        cmocka_unit_test(test_runs_say_what_does_not_go_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
