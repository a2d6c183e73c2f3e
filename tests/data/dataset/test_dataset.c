/* Datasets: the specs of stages' elements, refusals, files, iterators, and fitting to them. */
#include "harness/gzip_file.h"
#include "harness/harness.h"

#include "base/context.h"
#include "base/file.h"
#include "base/random.h"
#include "formats/example.h"
#include "formats/image.h"
#include "formats/tfrecord.h"

#include <liana/liana.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <zlib.h>

static liana_context *open_context(void)
{
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    return context;
}

static void check_status(const liana_context *context, liana_status status, liana_status expected, int line)
{
    if (status != expected) {
        print_error("line %d: %s: %s\n", line, liana_status_name(status), liana_context_message(context));
    }
    assert_int_equal(status, expected);
}
#define check(status, expected) check_status(context, (status), (expected), __LINE__)

static void check_says(const liana_context *context, const char *text, int line)
{
    const char *message = liana_context_message(context);
    if (!strstr(message, text)) print_error("line %d: '%s' does not say '%s'\n", line, message, text);
    assert_says(message, text);
}
#define says(text) check_says(context, (text), __LINE__)

static liana_iterator *iterate(liana_context *context, const liana_dataset *dataset,
                               const liana_iterator_options *options)
{
    liana_iterator *iterator;
    check(liana_iterator_create(dataset, options, &iterator), LIANA_OK);
    return iterator;
}

static int64_t number_of(const liana_element *element, const char *name)
{
    return *(const int64_t *)liana_element_array(element, name).data;
}

static void check_numbers(liana_iterator *iterator, const int64_t *expected, int count)
{
    const liana_element *element;
    for (int i = 0; i < count; i++) {
        assert_int_equal(liana_iterator_next(iterator, &element), LIANA_OK);
        assert_int_equal(number_of(element, "value"), expected[i]);
    }
    assert_int_equal(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
}

/* ---- what elements are ---- */

static void test_components_are_known_before_the_first_element(void **state)
{
    (void)state;
    liana_context *context = open_context();
    static const float points[4][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}};
    static const liana_bytes names[4] = {{"a", 1}, {"", 0}, {"ccc", 3}, {"d\0d", 3}};
    const liana_array arrays[] = {{"point", LIANA_F32, liana_shape_of(4, 3), points},
                                  {"name", LIANA_STRING, liana_shape_of(4), names}};
    liana_dataset *dataset = liana_dataset_from_tensor_slices(context, arrays, 2);
    dataset = liana_dataset_batch(dataset, &(liana_batch_options){3, LIANA_REMAINDER_PAD});
    const liana_component *components = liana_dataset_info(dataset).components;
    assert_int_equal(liana_dataset_info(dataset).num_components, 3);
    assert_string_equal(components[0].name, "point");
    assert_true(liana_shape_equal(&components[0].shape, &liana_shape_of(3, 3)));
    assert_int_equal(components[1].dtype, LIANA_STRING);
    assert_string_equal(components[2].name, "mask");
    assert_int_equal(liana_dataset_info(dataset).num_examples, 2);
    liana_iterator *iterator = iterate(context, dataset, NULL);
    const liana_element *element;
    check(liana_iterator_next(iterator, &element), LIANA_OK);
    assert_memory_equal(liana_element_array(element, "point").data, points, 9 * sizeof(float));
    assert_memory_equal(liana_element_string(element, "name", 2).data, "ccc", 3);
    assert_int_equal(liana_element_string(element, "name", 1).size, 0);
    assert_null(liana_element_array(element, "name").data);
    assert_null(liana_element_array(element, "nothing").data);
    assert_null(liana_element_string(element, "name", 3).data);
    check(liana_iterator_next(iterator, &element), LIANA_OK);
    static const float padded[9] = {10, 11, 12};
    assert_memory_equal(liana_element_array(element, "point").data, padded, sizeof padded);
    assert_memory_equal(liana_element_string(element, "name", 0).data, "d\0d", 3);
    assert_int_equal(liana_element_string(element, "name", 1).size, 0);
    assert_memory_equal(liana_element_array(element, "mask").data, "\1\0\0", 3);
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);

    dataset = liana_dataset_from_tensors(context, arrays, 2);
    assert_int_equal(liana_dataset_info(dataset).num_examples, 1);
    iterator = iterate(context, dataset, NULL);
    check(liana_iterator_next(iterator, &element), LIANA_OK);
    assert_memory_equal(liana_element_array(element, "point").data, points, sizeof points);
    check(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

static void check_refusal(const liana_context *context, liana_dataset *dataset, const char *stage, const char *text,
                          int line)
{
    assert_null(dataset);
    check_says(context, stage, line);
    check_says(context, text, line);
}
#define refused(dataset, stage, text) check_refusal(context, (dataset), (stage), (text), __LINE__)

static void test_what_does_not_fit_is_named(void **state)
{
    (void)state;
    liana_context *context = open_context();
    static const float values[6];
    const liana_array uneven[] = {{"a", LIANA_F32, liana_shape_of(3), values},
                                  {"b", LIANA_F32, liana_shape_of(2, 3), values}};
    refused(liana_dataset_from_tensor_slices(context, uneven, 2), "from_tensor_slices", "'b' is f32 [2, 3]");
    refused(liana_dataset_from_tensors(context, uneven, 0), "from_tensors", "0 components");
    const liana_array twice[] = {uneven[0], uneven[0]};
    refused(liana_dataset_from_tensors(context, twice, 2), "from_tensors", "two components 'a'");
    const liana_array absurd = {"a", LIANA_F64, liana_shape_of(1 << 30, 1 << 30), values};
    refused(liana_dataset_from_tensors(context, &absurd, 1), "from_tensors", "2^40");

    liana_dataset *numbers = liana_dataset_range(context, 0, 10, 1);
    liana_dataset *points = liana_dataset_from_tensor_slices(context, uneven, 1);
#define again(dataset) liana_dataset_retain(dataset)
    refused(liana_dataset_concatenate((liana_dataset *[]){again(numbers), again(points)}, 2), "concatenate: dataset 1",
            "component 0 is 'a' f32 [], expected 'value' s64 []");
    refused(liana_dataset_zip((liana_dataset *[]){again(numbers), again(numbers)}, 2), "zip", "two components 'value'");
    refused(liana_dataset_sample_from_datasets((liana_dataset *[]){again(numbers), again(numbers)}, 2,
                                               &(liana_sample_options){.weights = (const double[]){1, -1}}),
            "sample_from_datasets", "the weight of dataset 1 is -1");
    refused(liana_dataset_rename(again(numbers), "valeu", "x"), "rename", "did you mean 'value'?");
    refused(liana_dataset_unbatch(again(numbers)), "unbatch", "'value' is s64 []");
    refused(liana_dataset_shard(again(numbers), 3, 3), "shard", "below their number");
    refused(liana_dataset_batch(again(numbers), &(liana_batch_options){.batch_size = 0}), "batch", "batch_size is 0");
    refused(liana_dataset_range(context, 0, 5, 0), "range", "the step is 0");
    refused(liana_dataset_cache(liana_dataset_repeat(again(numbers), -1), NULL), "cache", "before repeat");
    liana_dataset *uneven_batches = liana_dataset_batch(again(numbers), &(liana_batch_options){.batch_size = 3});
    refused(liana_dataset_batch(uneven_batches, &(liana_batch_options){.batch_size = 3}), "batch",
            "'value' is s64 [?]");
    refused(liana_dataset_map(again(numbers), &(liana_map_options){.name = "f"}), "map 'f'", "NULL");
    refused(liana_dataset_decode_images(again(numbers), &(liana_decode_options){4, 4, 3, false}), "decode_images",
            "no component 'image'");
    const liana_component feature = {.name = "f", .dtype = LIANA_F32};
    refused(liana_dataset_parse_example(again(numbers), &feature, 1), "parse_example", "'record'");
    refused(liana_dataset_parse_example(again(numbers), NULL, 1), "parse_example", "'features' is NULL");

    /* A stage on NULL is NULL, and leaves no message of its own. */
    assert_null(liana_dataset_prefetch(liana_dataset_enumerate(liana_dataset_skip(again(numbers), -1), 0)));
    says("skip: the number of elements is below 0");
    liana_iterator *iterator;
    assert_int_equal(liana_iterator_create(NULL, NULL, &iterator), LIANA_INVALID_ARGUMENT);
    assert_null(iterator);
    says("skip: ");
    liana_dataset_close(numbers);
    liana_dataset_close(points);
    liana_context_destroy(context);
}

/* ---- functions of the program ---- */

static liana_status fail_at_seven(void *user, const liana_example_address *address, const liana_element *input,
                                  liana_element *output)
{
    (void)user;
    (void)address;
    if (number_of(input, "value") < 7) return LIANA_OK;
    return liana_element_fail(output, LIANA_INVALID_DATA, "seven is too much");
}

static void test_a_function_that_fails_is_named_with_its_address(void **state)
{
    (void)state;
    liana_context *context = open_context();
    for (int threads = -1; threads < 6; threads += 2) {
        liana_dataset *dataset = liana_dataset_skip(liana_dataset_range(context, 0, 20, 1), 2);
        dataset = liana_dataset_map(dataset, &(liana_map_options){.name = "check", .function = fail_at_seven});
        dataset = liana_dataset_batch(dataset, &(liana_batch_options){.batch_size = 2});
        liana_iterator *iterator = iterate(context, dataset, &(liana_iterator_options){.num_threads = threads});
        const liana_element *element;
        check(liana_iterator_next(iterator, &element), LIANA_OK);
        check(liana_iterator_next(iterator, &element), LIANA_OK);
        for (int again = 0; again < 2; again++) {
            check(liana_iterator_next(iterator, &element), LIANA_INVALID_DATA);
            assert_null(element);
            says("map 'check': position 5 of epoch 0 (record 7): seven is too much");
        }
        /* It can be begun again; the elements before the failure are still there. */
        check(liana_iterator_initialize(iterator, NULL, NULL), LIANA_OK);
        check(liana_iterator_next(iterator, &element), LIANA_OK);
        assert_int_equal(number_of(element, "value"), 2);
        liana_iterator_destroy(iterator);
        liana_dataset_close(dataset);
    }
    liana_context_destroy(context);
}

static liana_status repeat_name(void *user, const liana_example_address *address, const liana_element *input,
                                liana_element *output)
{
    (void)user;
    (void)address;
    char text[32];
    int size = snprintf(text, sizeof text, "number %d", (int)number_of(input, "value"));
    *(float *)liana_element_output(output, "half") = (float)number_of(input, "value") / 2;
    if (liana_element_set_string(output, "none", 0, "", 0) == LIANA_OK) return LIANA_INTERNAL;
    return liana_element_set_string(output, "name", 1, text, (size_t)size);
}

static void test_map_makes_components_of_its_own(void **state)
{
    (void)state;
    liana_context *context = open_context();
    const liana_component made[] = {{"half", LIANA_F32, LIANA_SCALAR}, {"name", LIANA_STRING, liana_shape_of(2)}};
    liana_dataset *dataset =
        liana_dataset_map(liana_dataset_range(context, 5, 8, 1),
                          &(liana_map_options){.function = repeat_name, .components = made, .num_components = 2});
    liana_iterator *iterator = iterate(context, dataset, NULL);
    const liana_element *element;
    for (int i = 5; i < 8; i++) {
        check(liana_iterator_next(iterator, &element), LIANA_OK);
        assert_compare(*(const float *)liana_element_array(element, "half").data, ==, (float)i / 2, i);
        assert_int_equal(liana_element_string(element, "name", 0).size, 0);
        char expected[32];
        liana_bytes name = liana_element_string(element, "name", 1);
        assert_int_equal(name.size, snprintf(expected, sizeof expected, "number %d", i));
        assert_memory_equal(name.data, expected, name.size);
    }
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

static liana_dataset *break_off(void *user, liana_context *context, const liana_example_address *address,
                                const liana_element *element)
{
    (void)address;
    int64_t value = number_of(element, "value");
    if (value == 3 && strcmp(user, "stage") == 0) return liana_dataset_range(context, 0, 3, 0);
    if (value == 3 && strcmp(user, "spec") == 0) {
        return liana_dataset_enumerate(liana_dataset_range(context, 0, 3, 1), 0);
    }
    return value == 3 ? NULL : liana_dataset_range(context, 0, 3, 1);
}

static void test_a_dataset_that_cannot_be_made_is_named(void **state)
{
    (void)state;
    liana_context *context = open_context();
    static const char *const ways[][2] = {{"stage", "range: the step is 0"},
                                          {"spec", "component 0 is 'index' s64 [], expected 'value' s64 []"},
                                          {"nothing", "does not fit"}};
    for (int i = 0; i < 3; i++) {
        liana_dataset *dataset = liana_dataset_flat_map(liana_dataset_range(context, 0, 5, 1),
                                                        &(liana_interleave_options){.name = "rows",
                                                                                    .function = break_off,
                                                                                    .user = (void *)ways[i][0]});
        liana_iterator *iterator = iterate(context, dataset, NULL);
        const liana_element *element;
        for (int k = 0; k < 9; k++) check(liana_iterator_next(iterator, &element), LIANA_OK);
        check(liana_iterator_next(iterator, &element), LIANA_INVALID_ARGUMENT);
        says("interleave 'rows': ");
        says("position 3 of epoch 0 (record 3)");
        says(ways[i][1]);
        liana_iterator_destroy(iterator);
        liana_dataset_close(dataset);
    }
    liana_context_destroy(context);
}

/* ---- draws ---- */

/* Where element 0..11 comes out over many seeds: chi-squared, 11 degrees of freedom; 31.3 is exceeded by chance once in
 * a thousand. */
static void check_order(liana_context *context, liana_dataset *(*make)(liana_context *, uint64_t seed))
{
    enum { COUNT = 12, TRIALS = 3000 };
    static int bins[COUNT][COUNT];
    memset(bins, 0, sizeof bins);
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        liana_dataset *dataset = make(context, seed);
        liana_iterator *iterator = iterate(context, dataset, &(liana_iterator_options){.num_threads = -1});
        const liana_element *element;
        for (int i = 0; i < COUNT; i++) {
            check(liana_iterator_next(iterator, &element), LIANA_OK);
            bins[number_of(element, "value")][i]++;
        }
        liana_iterator_destroy(iterator);
        liana_dataset_close(dataset);
    }
    for (int value = 0; value < COUNT; value++) {
        double chi = 0, expected = (double)TRIALS / COUNT;
        for (int i = 0; i < COUNT; i++) chi += pow(bins[value][i] - expected, 2) / expected;
        assert_compare(chi, <, 31.3);
    }
}

static liana_dataset *make_permutation(liana_context *context, uint64_t seed)
{
    return liana_dataset_shuffle(liana_dataset_range(context, 0, 12, 1), &(liana_shuffle_options){.seed = seed});
}

static bool keep_all(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    (void)element;
    return true;
}

static liana_dataset *make_buffer(liana_context *context, uint64_t seed)
{
    liana_dataset *stream = liana_dataset_range(context, 0, 12, 1);
    stream = liana_dataset_filter(stream, &(liana_filter_options){.function = keep_all});
    return liana_dataset_shuffle(stream, &(liana_shuffle_options){.seed = seed});
}

static void test_shuffles_spread_evenly(void **state)
{
    (void)state;
    liana_context *context = open_context();
    check_order(context, make_permutation);
    check_order(context, make_buffer);
    liana_context_destroy(context);
}

/* An element cannot come out earlier than the buffer lets it. */
static void test_a_buffer_is_as_large_as_it_is(void **state)
{
    (void)state;
    liana_context *context = open_context();
    liana_dataset *stream = liana_dataset_range(context, 0, 1000, 1);
    stream = liana_dataset_filter(stream, &(liana_filter_options){.function = keep_all});
    stream = liana_dataset_shuffle(stream, &(liana_shuffle_options){.buffer_size = 10});
    liana_iterator *iterator = iterate(context, stream, NULL);
    const liana_element *element;
    int64_t farthest = 0;
    for (int i = 0; i < 1000; i++) {
        check(liana_iterator_next(iterator, &element), LIANA_OK);
        int64_t ahead = number_of(element, "value") - i;
        if (ahead > farthest) farthest = ahead;
    }
    assert_int_equal(farthest, 9);
    liana_iterator_destroy(iterator);
    /* And as large as the memory allows. */
    iterator = iterate(context, stream, &(liana_iterator_options){.memory = 1000});
    check(liana_iterator_next(iterator, &element), LIANA_OUT_OF_RANGE);
    says("shuffle: the kept elements take more than 500 bytes");
    liana_iterator_destroy(iterator);
    liana_dataset_close(stream);
    liana_context_destroy(context);
}

static void test_samples_come_by_weight(void **state)
{
    (void)state;
    enum { TRIALS = 20000 };
    static const double weights[3] = {1, 0, 3};
    liana_context *context = open_context();
    liana_dataset *inputs[3];
    for (int i = 0; i < 3; i++) inputs[i] = liana_dataset_repeat(liana_dataset_range(context, i, i + 1, 1), -1);
    liana_dataset *mixed =
        liana_dataset_sample_from_datasets(inputs, 3, &(liana_sample_options){.weights = weights, .seed = 4});
    assert_int_equal(liana_dataset_info(mixed).num_examples, LIANA_INFINITE);
    liana_iterator *iterator = iterate(context, mixed, NULL);
    const liana_element *element;
    int counts[3] = {0};
    for (int i = 0; i < TRIALS; i++) {
        check(liana_iterator_next(iterator, &element), LIANA_OK);
        counts[number_of(element, "value")]++;
    }
    assert_int_equal(counts[1], 0);
    /* Chi-squared, 1 degree of freedom: 10.8 is exceeded by chance once in a thousand. */
    double off = counts[0] - TRIALS / 4.0;
    assert_compare(off * off / (TRIALS / 4.0) + off * off / (TRIALS * 3 / 4.0), <, 10.8);
    liana_iterator_destroy(iterator);
    liana_dataset_close(mixed);
    liana_context_destroy(context);
}

/* ---- iterators ---- */

static void test_iterators_are_initialised_again_and_fed(void **state)
{
    (void)state;
    liana_context *context = open_context();
    liana_dataset *small = liana_dataset_range(context, 0, 3, 1), *large = liana_dataset_range(context, 10, 15, 1);
    liana_dataset *other = liana_dataset_rename(liana_dataset_range(context, 0, 3, 1), "value", "x");
    liana_iterator *iterator = iterate(context, small, NULL);
    check_numbers(iterator, (const int64_t[]){0, 1, 2}, 3);
    check(liana_iterator_initialize(iterator, large, &(liana_iterator_options){.start = 3}), LIANA_OK);
    assert_int_equal(liana_iterator_position(iterator), 3);
    check_numbers(iterator, (const int64_t[]){13, 14}, 2);
    check(liana_iterator_initialize(iterator, other, NULL), LIANA_INVALID_ARGUMENT);
    says("component 0 is 'x' s64 [], expected 'value' s64 []");
    check(liana_iterator_initialize(iterator, NULL, NULL), LIANA_OK);
    check_numbers(iterator, (const int64_t[]){10, 11, 12, 13, 14}, 5);

    /* A feedable one goes on where each of the others stands. */
    liana_iterator *a = iterate(context, small, NULL), *b = iterate(context, large, NULL), *fed, *wrong;
    wrong = iterate(context, other, NULL);
    check(liana_iterator_create_feedable(a, &fed), LIANA_OK);
    const liana_element *element;
    check(liana_iterator_next(fed, &element), LIANA_OK);
    assert_int_equal(number_of(element, "value"), 0);
    check(liana_iterator_feed(fed, b), LIANA_OK);
    for (int i = 10; i < 12; i++) {
        check(liana_iterator_next(fed, &element), LIANA_OK);
        assert_int_equal(number_of(element, "value"), i);
    }
    check(liana_iterator_feed(fed, a), LIANA_OK);
    check_numbers(fed, (const int64_t[]){1, 2}, 2);
    check(liana_iterator_feed(fed, b), LIANA_OK);
    check_numbers(fed, (const int64_t[]){12, 13, 14}, 3);
    check(liana_iterator_feed(fed, wrong), LIANA_INVALID_ARGUMENT);
    says("the source does not fit");
    check(liana_iterator_feed(fed, fed), LIANA_INVALID_ARGUMENT);
    check(liana_iterator_feed(a, b), LIANA_INVALID_ARGUMENT);
    liana_iterator *all[] = {iterator, fed, a, b, wrong};
    for (int i = 0; i < 5; i++) liana_iterator_destroy(all[i]);
    liana_dataset_close(small);
    liana_dataset_close(large);
    liana_dataset_close(other);
    liana_context_destroy(context);
}

/* A start that only needs to be jumped to calls no function of the elements before it. */
static liana_status count_calls(void *user, const liana_example_address *address, const liana_element *input,
                                liana_element *output)
{
    (void)address;
    (void)input;
    (void)output;
    atomic_fetch_add((atomic_int *)user, 1);
    return LIANA_OK;
}

static void test_a_start_is_jumped_to(void **state)
{
    (void)state;
    liana_context *context = open_context();
    atomic_int calls = 0;
    liana_dataset *dataset = liana_dataset_range(context, 0, 1000000000, 1);
    dataset = liana_dataset_shuffle(dataset, NULL);
    dataset = liana_dataset_map(dataset, &(liana_map_options){.function = count_calls, .user = &calls});
    dataset = liana_dataset_repeat(dataset, -1);
    dataset = liana_dataset_batch(dataset, &(liana_batch_options){8, LIANA_REMAINDER_DROP});
    liana_iterator *iterator =
        iterate(context, dataset, &(liana_iterator_options){.num_threads = -1, .start = 3000000000});
    const liana_element *element;
    check(liana_iterator_next(iterator, &element), LIANA_OK);
    assert_int_equal(calls, 8);
    assert_int_equal(((const int64_t *)liana_element_array(element, "value").data)[1],
                     liana__permute(0, 24, 1, 1000000000));
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);

    /* Replayed, but one for one: a skipped element is taken and not computed. */
    calls = 0;
    dataset =
        liana_dataset_filter(liana_dataset_range(context, 0, 100, 1), &(liana_filter_options){.function = keep_all});
    dataset = liana_dataset_map(dataset, &(liana_map_options){.function = count_calls, .user = &calls});
    iterator = iterate(context, dataset, &(liana_iterator_options){.num_threads = -1, .start = 99});
    check_numbers(iterator, (const int64_t[]){99}, 1);
    assert_int_equal(calls, 1);
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

static void test_cache_computes_once(void **state)
{
    (void)state;
    liana_context *context = open_context();
    for (int replayed = 0; replayed < 2; replayed++) {
        atomic_int calls = 0;
        liana_dataset *dataset = liana_dataset_range(context, 0, 100, 1);
        if (replayed) dataset = liana_dataset_filter(dataset, &(liana_filter_options){.function = keep_all});
        dataset = liana_dataset_map(dataset, &(liana_map_options){.function = count_calls, .user = &calls});
        dataset = liana_dataset_prefetch(liana_dataset_cache(dataset, NULL));
        assert_int_equal(liana_dataset_info(dataset).cached_bytes, 0);
        for (int epoch = 0; epoch < 3; epoch++) {
            liana_iterator *iterator = iterate(context, dataset, NULL);
            const liana_element *element;
            for (int i = 0; i < 100; i++) {
                check(liana_iterator_next(iterator, &element), LIANA_OK);
                assert_int_equal(number_of(element, "value"), i);
            }
            check(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
            liana_iterator_destroy(iterator);
        }
        assert_int_equal(calls, 100);
        assert_compare(liana_dataset_info(dataset).cached_bytes, >=, 100 * sizeof(int64_t));
        liana_dataset_close(dataset);
    }
    liana_context_destroy(context);
}

/* 4 KB from each number. */
static liana_status fill(void *user, const liana_example_address *address, const liana_element *input,
                         liana_element *output)
{
    (void)user;
    (void)address;
    memset(liana_element_output(output, "block"), (int)(number_of(input, "value") & 0xff), 4096);
    return LIANA_OK;
}

static long peak_kilobytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* 400 MB go through stages that may keep 1 MiB, before a consumer that is slower than they are. */
static void test_memory_stays_within_its_bound(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    liana_context *context = open_context();
    const liana_component block = {"block", LIANA_U8, liana_shape_of(4096)};
    liana_dataset *dataset = liana_dataset_shuffle(liana_dataset_range(context, 0, COUNT, 1), NULL);
    dataset =
        liana_dataset_map(dataset, &(liana_map_options){.function = fill, .components = &block, .num_components = 1});
    dataset = liana_dataset_filter(dataset, &(liana_filter_options){.function = keep_all});
    dataset = liana_dataset_shuffle(dataset, &(liana_shuffle_options){.buffer_size = 50});
    dataset = liana_dataset_prefetch(liana_dataset_batch(dataset, &(liana_batch_options){.batch_size = 16}));
    liana_iterator *iterator =
        iterate(context, dataset, &(liana_iterator_options){.num_threads = 3, .memory = 1 << 20});
    const liana_element *element;
    long before = peak_kilobytes();
    for (int i = 0; i < COUNT / 16; i++) {
        check(liana_iterator_next(iterator, &element), LIANA_OK);
        if (i % 1000 == 0) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    check(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
    assert_compare(peak_kilobytes() - before, <, 40000);
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);
    liana_context_destroy(context);
}

/* ---- files ---- */

static liana_component feature(const char *name, int dtype, liana_shape shape)
{
    return (liana_component){name, dtype, shape};
}

enum { NUM_RECORDS = 20 };

/* A file of examples with three features; compression by zlib, which is what tf.io writes for "ZLIB". */
static void write_records(const char *name, const char *compression, int first)
{
    liana__error error = {0};
    liana__tfrecord_writer writer;
    liana__example_builder builder = {0};
    char path[512];
    snprintf(path, sizeof path, "%s", liana__test_path(name));
    assert_ok(liana__tfrecord_writer_begin(&writer, path, &error), &error);
    for (int i = first; i < first + NUM_RECORDS; i++) {
        const uint8_t *bytes;
        size_t size;
        int64_t numbers[2] = {i, -i};
        float third = (float)i / 3;
        char text[32];
        int length = snprintf(text, sizeof text, "record %d", i);
        liana__example_add_int64s(&builder, "numbers", numbers, 2);
        liana__example_add_floats(&builder, "third", &third, 1);
        liana__example_add_bytes(&builder, "text", text, (size_t)length);
        assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
        assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
    }
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    liana__example_builder_free(&builder);
    if (strcmp(compression, "gzip") == 0) liana__test_gzip(path);
    if (strcmp(compression, "zlib") != 0) return;
    char *plain;
    size_t size;
    assert_ok(liana__file_read(path, 1 << 20, &plain, &size, &error), &error);
    uLongf packed_size = compressBound(size);
    Bytef *packed = malloc(packed_size);
    assert_int_equal(compress(packed, &packed_size, (const Bytef *)plain, size), Z_OK);
    liana__test_write(name, packed, packed_size);
    free(packed);
    free(plain);
}

static void test_records_are_parsed(void **state)
{
    (void)state;
    liana_context *context = open_context();
    liana__test_folder();
    write_records("a.tfrec", "none", 0);
    write_records("b.tfrec", "gzip", NUM_RECORDS);
    write_records("c.tfrec", "zlib", 2 * NUM_RECORDS);
    const liana_component features[] = {feature("numbers", LIANA_S64, liana_shape_of(2)),
                                        feature("third", LIANA_F32, LIANA_SCALAR),
                                        feature("text", LIANA_STRING, LIANA_SCALAR)};
    liana_dataset *dataset = liana_dataset_tfrecord(context, liana__test_path("*.tfrec"));
    assert_int_equal(liana_dataset_info(dataset).num_examples, 3 * NUM_RECORDS);
    dataset = liana_dataset_parse_example(liana_dataset_enumerate(dataset, 0), features, 3);
    liana_iterator *iterator = iterate(context, dataset, NULL);
    const liana_element *element;
    for (int i = 0; i < 3 * NUM_RECORDS; i++) {
        check(liana_iterator_next(iterator, &element), LIANA_OK);
        const int64_t *numbers = liana_element_array(element, "numbers").data;
        assert_int_equal(numbers[0], i);
        assert_int_equal(numbers[1], -i);
        assert_int_equal(number_of(element, "index"), i);
        assert_compare(*(const float *)liana_element_array(element, "third").data, ==, (float)i / 3, i);
        char text[32];
        liana_bytes read = liana_element_string(element, "text", 0);
        assert_int_equal(read.size, snprintf(text, sizeof text, "record %d", i));
        assert_memory_equal(read.data, text, read.size);
    }
    check(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);

    const liana_component wrong = feature("numbers", LIANA_S64, liana_shape_of(3));
    dataset = liana_dataset_parse_example(liana_dataset_tfrecord(context, liana__test_path("a.tfrec")), &wrong, 1);
    iterator = iterate(context, dataset, NULL);
    check(liana_iterator_next(iterator, &element), LIANA_INVALID_DATA);
    says("a.tfrec', record 0: the feature 'numbers' has 2 values, expected 3: it is declared as s64 [3]");
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);
    const liana_component unknown = feature("numbers", LIANA_U8, LIANA_SCALAR);
    assert_null(liana_dataset_parse_example(liana_dataset_tfrecord(context, liana__test_path("a.tfrec")), &unknown, 1));
    says("parse_example: the feature 'numbers' is declared as u8 []");
    assert_null(liana_dataset_tfrecord(context, liana__test_path("z*.tfrec")));
    says("tfrecord: ");
    liana_context_destroy(context);
}

/* A colour image as PNG, whose pixels come back as they were. */
static void test_images_are_decoded(void **state)
{
    (void)state;
    enum { SIDE = 4, COUNT = 3 };
    liana_context *context = open_context();
    uint8_t pixels[COUNT][SIDE * SIDE * 3];
    liana_bytes files[COUNT];
    liana__text encoded[COUNT] = {0};
    liana__error error = {0};
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < SIDE * SIDE * 3; k++) pixels[i][k] = (uint8_t)(i * 80 + k * 5);
        assert_ok(liana__png_encode(pixels[i], SIDE, SIDE, 3, &encoded[i], &error), &error);
        files[i] = (liana_bytes){encoded[i].data, encoded[i].length};
    }
    files[2].size = 20;
    const liana_array image = {"image", LIANA_STRING, liana_shape_of(COUNT), files};
    liana_dataset *dataset = liana_dataset_from_tensor_slices(context, &image, 1);
    dataset = liana_dataset_decode_images(dataset, &(liana_decode_options){SIDE, SIDE, 3, false});
    liana_iterator *iterator = iterate(context, dataset, NULL);
    const liana_element *element;
    for (int i = 0; i < 2; i++) {
        check(liana_iterator_next(iterator, &element), LIANA_OK);
        assert_memory_equal(liana_element_array(element, "image").data, pixels[i], sizeof pixels[i]);
    }
    check(liana_iterator_next(iterator, &element), LIANA_DATA_LOSS);
    says("decode_images: position 2 of epoch 0 (record 2): ");
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);
    for (int i = 0; i < COUNT; i++) liana__text_free(&encoded[i]);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_components_are_known_before_the_first_element),
        cmocka_unit_test(test_what_does_not_fit_is_named),
        cmocka_unit_test(test_a_function_that_fails_is_named_with_its_address),
        cmocka_unit_test(test_map_makes_components_of_its_own),
        cmocka_unit_test(test_a_dataset_that_cannot_be_made_is_named),
        cmocka_unit_test(test_shuffles_spread_evenly),
        cmocka_unit_test(test_a_buffer_is_as_large_as_it_is),
        cmocka_unit_test(test_samples_come_by_weight),
        cmocka_unit_test(test_iterators_are_initialised_again_and_fed),
        cmocka_unit_test(test_a_start_is_jumped_to),
        cmocka_unit_test(test_cache_computes_once),
        cmocka_unit_test(test_memory_stays_within_its_bound),
        cmocka_unit_test(test_records_are_parsed),
        cmocka_unit_test(test_images_are_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
