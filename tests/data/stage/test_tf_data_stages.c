/* The stages that tf.data has: windows, groups, scans, choices. Expected elements are those that TensorFlow 2.21 gives
 * for the same pipelines, written down as text. Each pipeline is also begun at every element, with several numbers of
 * threads. */
#include "harness/element_text.h"

#include <stdlib.h>
#include <string.h>

static liana_dataset *range(liana_context *context, int64_t stop)
{
    return liana_dataset_range(context, 0, stop, 1);
}

/* ---- windows ---- */

static liana_dataset *window(liana_dataset *dataset, int64_t size, int64_t shift, int64_t stride, bool drops)
{
    return liana_dataset_window(
        dataset, &(liana_window_options){.size = size, .shift = shift, .stride = stride, .drop_remainder = drops});
}

static void test_windows(void **state)
{
    (void)state;
    static const struct {
        int64_t count, size, shift, stride;
        bool drops;
        const char *expected;
    } cases[] = {
        {7, 3, 0, 0, false, "[0 1 2] [3 4 5] [6] "},
        {7, 3, 0, 0, true, "[0 1 2] [3 4 5] "},
        {7, 3, 1, 1, false, "[0 1 2] [1 2 3] [2 3 4] [3 4 5] [4 5 6] [5 6] [6] "},
        {7, 3, 1, 1, true, "[0 1 2] [1 2 3] [2 3 4] [3 4 5] [4 5 6] "},
        {7, 3, 1, 2, false, "[0 2 4] [1 3 5] [2 4 6] [3 5] [4 6] [5] [6] "},
        {7, 3, 2, 2, true, "[0 2 4] [2 4 6] "},
        {10, 2, 5, 1, false, "[0 1] [5 6] "},
        {10, 2, 4, 3, false, "[0 3] [4 7] [8] "},
        {10, 2, 4, 3, true, "[0 3] [4 7] "},
        {2, 3, 0, 0, false, "[0 1] "},
        {2, 3, 0, 0, true, ""},
        {0, 3, 0, 0, false, ""},
    };
    liana_context *context = liana__test_context();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int replays = 0; replays < 2; replays++) {
            liana_dataset *numbers = range(context, cases[i].count);
            if (replays) numbers = liana__test_replayed(numbers);
            liana_dataset *made = window(numbers, cases[i].size, cases[i].shift, cases[i].stride, cases[i].drops);
            assert_int_equal(liana_dataset_info(made).random_access, !replays);
            gives(made, cases[i].expected);
        }
    }
    /* Windows of windows, and of strings. */
    gives(window(window(range(context, 5), 2, 1, 1, true), 2, 0, 0, true), "[[0 1] [1 2]] [[2 3] [3 4]] ");
    const liana_bytes words[] = {{"a", 1}, {"bb", 2}, {"", 0}, {"dddd", 4}};
    const liana_array array = {"word", LIANA_STRING, liana_shape_of(4), words};
    gives(window(liana_dataset_from_tensor_slices(context, &array, 1), 3, 1, 1, true),
          "[\"a\" \"bb\" \"\"] [\"bb\" \"\" \"dddd\"] ");
    /* With a target: element i + offset beside each window. The same as zip of windows and skip. */
    static const char *const names[] = {"index"};
    for (int replays = 0; replays < 2; replays++) {
        liana_dataset *counted = liana_dataset_enumerate(liana_dataset_range(context, 10, 17, 1), 0);
        if (replays) counted = liana__test_replayed(counted);
        liana_window_options options = {
            .size = 2, .shift = 1, .stride = 2, .drop_remainder = true, .targets = names, .num_targets = 1};
        gives(liana_dataset_window(liana_dataset_retain(counted), &options),
              "0:[10 12] 1:[11 13] 2:[12 14] 3:[13 15] 4:[14 16] ");
        options.target_offset = 4;
        gives(liana_dataset_window(liana_dataset_retain(counted), &options), "4:[10 12] 5:[11 13] 6:[12 14] ");
        options.drop_remainder = false;
        options.target_offset = 1;
        gives(liana_dataset_window(counted, &options), "1:[10 12] 2:[11 13] 3:[12 14] 4:[13 15] 5:[14 16] 6:[15] ");
    }
    refused(window(range(context, 5), 0, 1, 1, true), "size is 0");
    refused(window(range(context, 5), 2, -1, 1, true), "shift -1");
    refused(window(range(context, 5), 1 << 12, 1, 1 << 12, true), "at most 1048576 elements");
    refused(window(window(range(context, 5), 2, 1, 1, false), 2, 1, 1, false), "'value' is s64 [?]");
    refused(window(NULL, 2, 1, 1, false), "");
    liana_context_destroy(context);
}

static liana_dataset *last_two(void *user, liana_dataset *elements)
{
    if (user) return liana_dataset_skip(elements, -1);
    const int64_t count = liana_dataset_info(elements).num_examples;
    return liana_dataset_repeat(liana_dataset_skip(elements, count > 2 ? count - 2 : 0), 2);
}

static liana_dataset *batch_two(void *user, liana_dataset *elements)
{
    (void)user;
    return liana_dataset_batch(elements, &(liana_batch_options){.batch_size = 2});
}

static liana_dataset *nothing(void *user, liana_dataset *elements)
{
    (void)user;
    return liana_dataset_take(elements, 0);
}

/* range(n).window(size, shift, stride, drop).flat_map(function). */
static void test_windows_are_datasets(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    const liana_component batch = {.name = "value", .dtype = LIANA_S64, .shape = {1, {LIANA_UNKNOWN_DIM}}};
    liana_window_options options = {.size = 3, .shift = 1, .stride = 2, .reduce = last_two};
    gives(liana_dataset_window(range(context, 7), &options), "2 4 2 4 3 5 3 5 4 6 4 6 3 5 3 5 4 6 4 6 5 5 6 6 ");
    options.drop_remainder = true;
    gives(liana_dataset_window(range(context, 7), &options), "2 4 2 4 3 5 3 5 4 6 4 6 ");
    options =
        (liana_window_options){.size = 3, .shift = 5, .reduce = batch_two, .components = &batch, .num_components = 1};
    gives(liana_dataset_window(range(context, 9), &options), "[0 1] [2] [5 6] [7] ");
    gives(liana_dataset_window(liana__test_replayed(range(context, 2)), &options), "[0 1] ");
    options.reduce = nothing;
    options.components = NULL;
    gives(liana_dataset_window(range(context, 9), &options), "");
    options = (liana_window_options){.size = 2, .reduce = last_two, .user = &options, .name = "ends"};
    fails(liana_dataset_window(range(context, 5), &options), LIANA_INVALID_ARGUMENT, "",
          "window_datasets 'ends': window 0 of epoch 0: the function 'reduce' made no dataset: skip: the number of "
          "elements is below 0");
    options = (liana_window_options){.size = 2, .reduce = batch_two};
    fails(liana_dataset_window(range(context, 5), &options), LIANA_INVALID_ARGUMENT, "",
          "component 0 is 'value' s64 [?], expected 'value' s64 []");
    static const char *const names[] = {"value"};
    options.targets = names;
    options.num_targets = 1;
    refused(liana_dataset_window(range(context, 5), &options), "targets and reduce exclude each other");
    liana_context_destroy(context);
}

/* keras.utils.timeseries_dataset_from_array of Keras 3.15 with the same arrays. */
static void test_timeseries(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    int64_t numbers[20], tens[20];
    for (int i = 0; i < 20; i++) numbers[i] = i;
    for (int i = 0; i < 20; i++) tens[i] = 10 * i;
    liana_array data = {"data", LIANA_S64, liana_shape_of(20), numbers};
    liana_array targets = {"target", LIANA_S64, liana_shape_of(20), tens};
    gives(liana_dataset_timeseries_from_array(context, &data, 1, NULL, 0,
                                              &(liana_timeseries_options){.sequence_length = 14, .batch_size = 4}),
          "[[0 1 2 3 4 5 6 7 8 9 10 11 12 13] [1 2 3 4 5 6 7 8 9 10 11 12 13 14] "
          "[2 3 4 5 6 7 8 9 10 11 12 13 14 15] [3 4 5 6 7 8 9 10 11 12 13 14 15 16]] "
          "[[4 5 6 7 8 9 10 11 12 13 14 15 16 17] [5 6 7 8 9 10 11 12 13 14 15 16 17 18] "
          "[6 7 8 9 10 11 12 13 14 15 16 17 18 19]] ");
    data.shape.dims[0] = targets.shape.dims[0] = 12;
    liana_timeseries_options options = {.sequence_length = 3,
                                        .sequence_stride = 2,
                                        .sampling_rate = 2,
                                        .batch_size = 2};
    gives(liana_dataset_timeseries_from_array(context, &data, 1, &targets, 1, &options),
          "[[0 2 4] [2 4 6]]:[0 20] [[4 6 8] [6 8 10]]:[40 60] ");
    data.shape.dims[0] = targets.shape.dims[0] = 15;
    options = (liana_timeseries_options){
        .sequence_length = 3, .sequence_stride = 3, .batch_size = -1, .start_index = 2, .end_index = 12};
    gives(liana_dataset_timeseries_from_array(context, &data, 1, &targets, 1, &options),
          "[2 3 4]:20 [5 6 7]:50 [8 9 10]:80 ");
    data.shape.dims[0] = 12;
    targets.shape.dims[0] = 5;
    options = (liana_timeseries_options){.sequence_length = 3, .batch_size = -1};
    gives(liana_dataset_timeseries_from_array(context, &data, 1, &targets, 1, &options),
          "[0 1 2]:0 [1 2 3]:10 [2 3 4]:20 [3 4 5]:30 [4 5 6]:40 ");
    /* Shuffled, each sequence keeps its target. */
    options = (liana_timeseries_options){.sequence_length = 3, .batch_size = -1, .shuffle = true, .seed = 5};
    liana_dataset *mixed = liana_dataset_timeseries_from_array(context, &data, 1, &targets, 1, &options);
    char *found = liana__test_show(context, mixed, NULL, LIANA_END_OF_DATA);
    assert_string_not_equal(found, "[0 1 2]:0 [1 2 3]:10 [2 3 4]:20 [3 4 5]:30 [4 5 6]:40 ");
    assert_says(found, "[2 3 4]:20 ");
    assert_int_equal(liana__test_count_elements(found), 5);
    free(found);
    liana_dataset_close(mixed);
    options = (liana_timeseries_options){.sequence_length = 7, .sampling_rate = 2};
    refused(liana_dataset_timeseries_from_array(context, &data, 1, NULL, 0, &options),
            "a sequence spans 13 rows (sequence_length 7, sampling_rate 2), but there are 12");
    options = (liana_timeseries_options){.sequence_length = 2, .start_index = 5, .end_index = 13};
    refused(liana_dataset_timeseries_from_array(context, &data, 1, NULL, 0, &options), "end_index 13");
    options = (liana_timeseries_options){.sequence_length = 0};
    refused(liana_dataset_timeseries_from_array(context, &data, 1, NULL, 0, &options), "sequence_length is 0");
    liana_context_destroy(context);
}

/* ---- groups ---- */

static int64_t by_three(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    return liana__test_number(element, "value") % 3;
}

static int64_t seven_less(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    return ((7 - liana__test_number(element, "value")) % 3 + 3) % 3;
}

static int64_t key_and_one(void *user, int64_t key)
{
    (void)user;
    return key + 1;
}

static liana_dataset *batch_three(void *user, int64_t key, liana_dataset *elements)
{
    (void)user;
    (void)key;
    return liana_dataset_batch(elements, &(liana_batch_options){.batch_size = 3});
}

static liana_status ten_times(void *user, const liana_example_address *address, const liana_element *input,
                              liana_element *output)
{
    (void)address;
    *(int64_t *)liana_element_output(output, "value") =
        10 * liana__test_number(input, "value") + (int64_t)(intptr_t)user;
    return LIANA_OK;
}

static liana_dataset *map_key(void *user, int64_t key, liana_dataset *elements)
{
    (void)user;
    return liana_dataset_map(elements, &(liana_map_options){.function = ten_times, .user = (void *)(intptr_t)key});
}

static liana_dataset *none(void *user, int64_t key, liana_dataset *elements)
{
    (void)user;
    (void)key;
    return liana_dataset_skip(elements, -1);
}

static void test_groups(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    const liana_component batch = {.name = "value", .dtype = LIANA_S64, .shape = {1, {LIANA_UNKNOWN_DIM}}};
    liana_group_by_window_options options = {
        .key = by_three, .window_size = 3, .reduce = batch_three, .components = &batch, .num_components = 1};
    gives(liana_dataset_group_by_window(range(context, 10), &options), "[0 3 6] [1 4 7] [2 5 8] [9] ");
    /* tf.math.floormod in the key, as Python's %. */
    options = (liana_group_by_window_options){.key = seven_less, .window_size_of = key_and_one, .reduce = map_key};
    gives(liana_dataset_group_by_window(range(context, 12), &options), "10 1 31 40 70 22 52 82 61 91 100 112 ");
    gives(liana_dataset_group_by_window(range(context, 0), &options), "");
    options = (liana_group_by_window_options){.name = "n", .key = by_three, .window_size = 2, .reduce = none};
    fails(
        liana_dataset_group_by_window(range(context, 9), &options), LIANA_INVALID_ARGUMENT, "",
        "group_by_window 'n': the window of key 0 after 4 elements of epoch 0: the function 'reduce' made no dataset: "
        "skip: the number of elements is below 0");
    options = (liana_group_by_window_options){.key = by_three, .window_size = 3, .reduce = batch_three};
    fails(liana_dataset_group_by_window(range(context, 9), &options), LIANA_INVALID_ARGUMENT, "",
          "component 0 is 'value' s64 [?], expected 'value' s64 []");
    options.window_size = 0;
    refused(liana_dataset_group_by_window(range(context, 9), &options), "window_size is 0");
    options = (liana_group_by_window_options){.key = by_three, .window_size = 1};
    refused(liana_dataset_group_by_window(range(context, 9), &options), "the function 'reduce' is NULL");
    liana_context_destroy(context);
}

/* ---- one after the other ---- */

/* The state is the sum; the output is twice the state before, and the input. */
static liana_status add_up(void *user, const liana_example_address *address, liana_element *state,
                           const liana_element *input, liana_element *output)
{
    (void)user;
    (void)address;
    int64_t *sum = liana_element_output(state, "sum");
    const int64_t value = liana__test_number(input, "value");
    if (value == 13) return liana_element_fail(state, LIANA_INVALID_DATA, "thirteen");
    if (output) *(int64_t *)liana_element_output(output, "value") = 2 * *sum + value;
    *sum = output ? *sum + value : 2 * *sum + value;
    return LIANA_OK;
}

static void test_states(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    const int64_t zero = 0, three = 3;
    liana_array first = {"sum", LIANA_S64, LIANA_SCALAR, &zero};
    liana_state_options options = {.function = add_up, .initial_state = &first, .num_states = 1};
    gives(liana_dataset_scan(range(context, 10), &options), "0 1 4 9 16 25 36 49 64 81 ");
    gives(liana_dataset_scan(range(context, 0), &options), "");
    first.data = &three;
    gives(liana_dataset_reduce(range(context, 10), &options), "4085 ");
    gives(liana_dataset_reduce(range(context, 0), &options), "3 ");
    gives(liana_dataset_repeat(liana_dataset_reduce(liana__test_replayed(range(context, 10)), &options), 2),
          "4085 4085 ");
    options.name = "sum";
    fails(liana_dataset_scan(liana_dataset_range(context, 11, 20, 1), &options), LIANA_INVALID_DATA, "17 40 ",
          "scan 'sum': position 2 of epoch 0 (record 2): thirteen");
    fails(liana_dataset_reduce(range(context, 20), &options), LIANA_INVALID_DATA, "", "reduce 'sum': position 13");
    refused(liana_dataset_reduce(liana_dataset_repeat(range(context, 2), -1), &options), "the data are endless");
    first.data = NULL;
    refused(liana_dataset_scan(range(context, 2), &options), "initial_state: 'sum' is s64 [] without values");
    options.function = NULL;
    refused(liana_dataset_scan(range(context, 2), &options), "the function is NULL");
    liana_context_destroy(context);
}

static bool small_square(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    const int64_t value = liana__test_number(element, "value");
    return value * value < 20;
}

static void test_take_while_and_unique(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    gives(liana_dataset_take_while(range(context, 10), &(liana_filter_options){.function = small_square}),
          "0 1 2 3 4 ");
    gives(liana_dataset_repeat(liana_dataset_take_while(range(context, 10),
                                                        &(liana_filter_options){.function = small_square}),
                               2),
          "0 1 2 3 4 0 1 2 3 4 ");
    /* The example of unique in the documentation of TensorFlow. */
    const int64_t numbers[] = {1, 37, 2, 37, 2, 1, 5};
    const liana_array array = {"value", LIANA_S64, liana_shape_of(7), numbers};
    gives(liana_dataset_unique(liana_dataset_from_tensor_slices(context, &array, 1)), "1 37 2 5 ");
    const liana_bytes texts[] = {{"a", 1}, {"", 0}, {"ab", 2}, {"a", 1}, {"", 0}};
    const liana_array strings = {"s", LIANA_STRING, liana_shape_of(5), texts};
    gives(liana_dataset_unique(liana_dataset_from_tensor_slices(context, &strings, 1)), "\"a\" \"\" \"ab\" ");
    refused(liana_dataset_take_while(range(context, 1), &(liana_filter_options){.name = "x"}),
            "take_while 'x': the function is NULL");
    liana_context_destroy(context);
}

static void test_rebatch(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    for (int drops = 0; drops < 2; drops++) {
        liana_dataset *batches = liana_dataset_batch(range(context, 10), &(liana_batch_options){.batch_size = 4});
        const liana_batch_options options = {3, drops ? LIANA_REMAINDER_DROP : LIANA_REMAINDER_KEEP};
        gives(liana_dataset_rebatch(batches, &options),
              drops ? "[0 1 2] [3 4 5] [6 7 8] " : "[0 1 2] [3 4 5] [6 7 8] [9] ");
    }
    liana_context_destroy(context);
}

static void test_choices(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    const int64_t choices[] = {0, 1, 2, 0, 1, 2, 1, 2, 0, 0, 2, 1, 2};
    const liana_array array = {"choice", LIANA_S64, liana_shape_of(13), choices};
    for (int kind = 0; kind < 4; kind++) { /* inputs of known and of unknown length */
        liana_dataset *inputs[3] = {range(context, 3), liana_dataset_range(context, 100, 102, 1),
                                    liana_dataset_range(context, 200, 205, 1)};
        for (int i = 0; i < 3 && kind % 2; i++) inputs[i] = liana__test_replayed(inputs[i]);
        liana_dataset *which = liana_dataset_from_tensor_slices(context, &array, 1);
        const liana_choose_options options = {.skip_empty_datasets = kind > 1};
        gives(liana_dataset_choose_from_datasets(inputs, 3, which, kind > 1 ? &options : NULL),
              kind > 1 ? "0 100 200 1 101 201 202 2 203 204 " : "0 100 200 1 101 201 ");
    }
    liana_dataset *one = range(context, 3);
    fails(liana_dataset_choose_from_datasets(&one, 1, range(context, 3), NULL), LIANA_OUT_OF_RANGE, "0 ",
          "choose_from_datasets: choice 1 is dataset 1, expected 0 to 0");
    one = range(context, 3);
    refused(liana_dataset_choose_from_datasets(&one, 1, window(range(context, 3), 2, 1, 1, true), NULL),
            "'value' s64 [2], expected one that is s64 []");
    refused(liana_dataset_choose_from_datasets(&one, 0, range(context, 3), NULL), "0 datasets are given");
    liana_context_destroy(context);
}

/* ---- chance ---- */

static int64_t tenth(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)address;
    const int64_t class = liana__test_number(element, "value") % 10 == 0;
    return user && liana__test_number(element, "value") == 50 ? 2 : class;
}

/* Of 10000 elements a tenth is of class 1; wanted are as many of each. tf.data keeps about 2000 of them. */
static void test_rejection_resample(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    const double target[] = {0.5, 0.5}, initial[] = {0.9, 0.1};
    char *kept[3];
    for (int i = 0; i < 3; i++) {
        const liana_rejection_resample_options options = {.class_of = tenth,
                                                          .target_dist = target,
                                                          .num_classes = 2,
                                                          .initial_dist = i == 0 ? NULL : initial,
                                                          .seed = i == 2 ? 7 : 0};
        liana_dataset *made = liana_dataset_rejection_resample(range(context, 10000), &options);
        kept[i] = liana__test_show(context, made, NULL, LIANA_END_OF_DATA);
        int counts[2] = {0, 0}, elements = 0;
        for (const char *at = kept[i]; *at; at = strchr(at, ' ') + 1, elements++) counts[atoi(at) % 10 == 0]++;
        /* All of class 1 stay where its frequency is known; while it is counted, nearly all. */
        assert_in_range(counts[1], i == 0 ? 990 : 1000, 1000);
        assert_in_range(counts[0], 850, 1150);
        const liana_iterator_options from = {.num_threads = 3, .start = 17};
        char *rest = liana__test_show(context, made, &from, LIANA_END_OF_DATA);
        assert_string_equal(rest, liana__test_behind(kept[i], 17));
        free(rest);
        liana_dataset_close(made);
    }
    assert_string_not_equal(kept[1], kept[2]);
    for (int i = 0; i < 3; i++) free(kept[i]);
    /* Other elements in each epoch and repetition, unless that is not wanted. */
    for (int same = 0; same < 2; same++) {
        const liana_rejection_resample_options options = {.class_of = tenth,
                                                          .target_dist = target,
                                                          .num_classes = 2,
                                                          .initial_dist = initial,
                                                          .same_each_epoch = same};
        liana_dataset *made = liana_dataset_rejection_resample(range(context, 200), &options);
        liana_dataset *twice = liana_dataset_repeat(liana_dataset_retain(made), 2);
        const liana_iterator_options second = {.epoch = 1};
        kept[0] = liana__test_show(context, made, NULL, LIANA_END_OF_DATA);
        kept[1] = liana__test_show(context, made, &second, LIANA_END_OF_DATA);
        kept[2] = liana__test_show(context, twice, NULL, LIANA_END_OF_DATA);
        assert_int_equal(strcmp(kept[0], kept[1]) == 0, same);
        assert_string_equal(liana__test_behind(kept[2], liana__test_count_elements(kept[0])), kept[1]);
        for (int i = 0; i < 3; i++) free(kept[i]);
        liana_dataset_close(made);
        liana_dataset_close(twice);
    }
    liana_rejection_resample_options options = {.class_of = tenth,
                                                .user = &options,
                                                .target_dist = (const double[]){0, 1},
                                                .num_classes = 2};
    fails(liana_dataset_rejection_resample(liana_dataset_range(context, 31, 60, 1), &options), LIANA_OUT_OF_RANGE,
          "40 ", "position 19 of epoch 0 (record 19): the class is 2, expected 0 to 1");
    options.initial_dist = (const double[]){1, 0};
    refused(liana_dataset_rejection_resample(range(context, 3), &options), "initial_dist[1] is 0");
    options =
        (liana_rejection_resample_options){.class_of = tenth, .target_dist = (const double[]){0}, .num_classes = 1};
    refused(liana_dataset_rejection_resample(range(context, 3), &options),
            "rejection_resample: target_dist has only zeros");
    options.class_of = NULL;
    refused(liana_dataset_rejection_resample(range(context, 3), &options), "there is no component 'label'");
    liana_context_destroy(context);
}

static void test_random(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    enum { COUNT = 4000 };
    liana_dataset *numbers = liana_dataset_random(context, &(liana_random_options){.seed = 3});
    assert_int_equal(liana_dataset_info(numbers).num_examples, LIANA_INFINITE);
    liana_iterator *iterator;
    const liana_element *element;
    assert_int_equal(liana_iterator_create(numbers, NULL, &iterator), LIANA_OK);
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(liana_iterator_next(iterator, &element), LIANA_OK);
        const int64_t value = liana__test_number(element, "value");
        assert_in_range(value, 0, UINT32_MAX);
        sum += (double)value / 4294967296.0;
    }
    assert_near(sum / COUNT, 0.5, 0.02); /* four standard deviations */
    liana_iterator_destroy(iterator);
    /* The same in each epoch, unless they are drawn anew. */
    for (int anew = 0; anew < 2; anew++) {
        const liana_random_options options = {.seed = 3, .rerandomize_each_iteration = anew};
        liana_dataset *few = liana_dataset_take(liana_dataset_random(context, &options), 5);
        char *one = liana__test_show(context, few, NULL, LIANA_END_OF_DATA);
        char *two = liana__test_show(context, few, &(liana_iterator_options){.epoch = 1}, LIANA_END_OF_DATA);
        assert_int_equal(strcmp(one, two) != 0, anew);
        free(one);
        free(two);
        liana_dataset_close(few);
    }
    liana_dataset_close(numbers);
    liana_context_destroy(context);
}

/* ---- generators ---- */

typedef struct countdown {
    int64_t from;    /* elements */
    int64_t failing; /* the position that fails; below 0: none */
    int open;
} countdown;

static liana_status begin_countdown(void *user, uint64_t epoch, void **state, liana_element *failure)
{
    countdown *own = user;
    if (epoch == 9) return liana_element_fail(failure, LIANA_NOT_FOUND, "no ninth epoch");
    int64_t *left = malloc(sizeof *left);
    *left = own->from + (int64_t)epoch;
    own->open++;
    *state = left;
    return LIANA_OK;
}

static liana_status next_countdown(void *user, void *state, const liana_example_address *address,
                                   liana_element *element)
{
    const countdown *own = user;
    int64_t *left = state;
    if (*left == 0) return LIANA_END_OF_DATA;
    if ((int64_t)address->position == own->failing) {
        return liana_element_fail(element, LIANA_IO_ERROR, "the line is dead");
    }
    *(int64_t *)liana_element_output(element, "value") = (*left)--;
    return LIANA_OK;
}

static void end_countdown(void *user, void *state)
{
    ((countdown *)user)->open--;
    free(state);
}

static void test_generators(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    const liana_component value = {.name = "value", .dtype = LIANA_S64};
    countdown own = {.from = 4, .failing = -1};
    liana_generator_options options = {.name = "down",
                                       .begin = begin_countdown,
                                       .next = next_countdown,
                                       .end = end_countdown,
                                       .user = &own,
                                       .components = &value,
                                       .num_components = 1};
    gives(liana_dataset_from_generator(context, &options), "4 3 2 1 ");
    gives(liana_dataset_repeat(liana_dataset_from_generator(context, &options), 2), "4 3 2 1 5 4 3 2 1 ");
    gives(liana_dataset_batch(liana_dataset_from_generator(context, &options), &(liana_batch_options){.batch_size = 3}),
          "[4 3 2] [1] ");
    own.failing = 2;
    fails(liana_dataset_from_generator(context, &options), LIANA_IO_ERROR, "4 3 ",
          "from_generator 'down': position 2 of epoch 0 (record 2): the line is dead");
    liana_dataset *dataset = liana_dataset_from_generator(context, &options);
    liana_iterator *iterator;
    assert_int_equal(liana_iterator_create(dataset, &(liana_iterator_options){.epoch = 9}, &iterator), LIANA_NOT_FOUND);
    assert_says(liana_context_message(context), "no ninth epoch");
    liana_dataset_close(dataset);
    assert_int_equal(own.open, 0); /* each state was freed */
    options.components = NULL;
    refused(liana_dataset_from_generator(context, &options), "the components are NULL");
    options.next = NULL;
    refused(liana_dataset_from_generator(context, &options), "the function 'next' is NULL");
    liana_context_destroy(context);
}

/* ---- snapshots ---- */

static liana_status count_calls(void *user, const liana_example_address *address, const liana_element *input,
                                liana_element *output)
{
    (void)address;
    (void)input;
    (void)output;
    __atomic_fetch_add((int *)user, 1, __ATOMIC_RELAXED);
    return LIANA_OK;
}

static void test_snapshots(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    int calls = 0;
    const liana_map_options counting = {.name = "count", .function = count_calls, .user = &calls};
    const liana_cache_options folder = {.path = liana__test_path("snapshots")};
    for (int i = 0; i < 4; i++) { /* two pipelines, each made twice, in one folder */
        liana_dataset *made = liana_dataset_map(range(context, i % 2 ? 3 : 5), &counting);
        gives(liana_dataset_snapshot(made, &folder), i % 2 ? "0 1 2 " : "0 1 2 3 4 ");
    }
    assert_int_equal(calls, 5 + 3);
    /* Deflated: another file, whose elements have any size. */
    liana_cache_options deflated = folder;
    deflated.compression = LIANA_COMPRESSION_GZIP;
    for (int i = 0; i < 2; i++) {
        liana_dataset *made = liana_dataset_map(range(context, 5), &counting);
        gives(liana_dataset_snapshot(made, &deflated), "0 1 2 3 4 ");
        const liana_bytes texts[] = {{"", 0}, {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 40}, {"\xff\"", 2}};
        const liana_array array = {"text", LIANA_STRING, liana_shape_of(3), texts};
        made = liana_dataset_padded_batch(liana_dataset_from_tensor_slices(context, &array, 1),
                                          &(liana_padded_batch_options){.batch_size = 2});
        gives(liana_dataset_snapshot(made, &deflated),
              "[\"\" \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"] [\"\xff\"\"] ");
    }
    assert_int_equal(calls, 5 + 3 + 5);
    deflated.compression = (liana_compression)9;
    refused(liana_dataset_snapshot(range(context, 2), &deflated), "compression is 9");
    refused(liana_dataset_snapshot(range(context, 2), &(liana_cache_options){0}), "options->path");
    refused(liana_dataset_snapshot(liana_dataset_repeat(range(context, 2), -1), &folder), "put it before repeat");
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_windows_are_datasets),
        cmocka_unit_test(test_timeseries),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_take_while_and_unique),
        cmocka_unit_test(test_rebatch),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_rejection_resample),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_generators),
        cmocka_unit_test(test_snapshots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
