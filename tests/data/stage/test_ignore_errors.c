/* Elements that cannot be made are left out, or marked; fits leave bad records out, and go on in the middle of an
 * epoch. */
#include "harness/tiny_records.h"

#include "base/file.h"

#include <liana/liana.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 50, SIZE = LIANA__TINY_SIZE, CLASSES = LIANA__TINY_CLASSES };

static bool fails(int64_t value)
{
    return value % 7 == 3 || value == 11 || value == 12 || value == COUNT - 1;
}

static liana_status make(void *user, const liana_example_address *address, const liana_element *input,
                         liana_element *output)
{
    (void)user;
    (void)address;
    int64_t value = *(const int64_t *)liana_element_array(input, "value").data;
    *(int64_t *)liana_element_output(output, "value") = value * value;
    return fails(value) ? liana_element_fail(output, LIANA_INVALID_DATA, "not this one") : LIANA_OK;
}

typedef struct told {
    atomic_int count[COUNT];
    int refuse; /* -1: none */
} told;

static bool note(void *user, const liana_example_address *address, const char *message)
{
    told *own = user;
    if (!strstr(message, "map 'make': position ") || !strstr(message, "not this one")) return false;
    atomic_fetch_add(&own->count[address->position], 1);
    return (int)address->position != own->refuse;
}

static liana_dataset *make_data(liana_context *context)
{
    return liana_dataset_map(liana_dataset_range(context, 0, COUNT, 1),
                             &(liana_map_options){.name = "make", .function = make});
}

static void test_they_are_left_out_or_marked(void **state)
{
    (void)state;
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    int64_t left[COUNT], num_left = 0;
    for (int64_t i = 0; i < COUNT; i++) {
        if (!fails(i)) left[num_left++] = i;
    }
    for (int threads = -1; threads < 5; threads += 2) {
        for (int mask = 0; mask < 2; mask++) {
            for (uint64_t start = 0; start < 40; start += 13) {
                told seen = {.refuse = -1};
                liana_ignore_errors_options options = {note, &seen};
                liana_dataset *data = make_data(context);
                data = mask ? liana_dataset_mark_errors(data, &options) : liana_dataset_ignore_errors(data, &options);
                assert_int_equal(liana_dataset_info(data).random_access, mask);
                assert_int_equal(liana_dataset_info(data).num_examples, mask ? COUNT : LIANA_UNKNOWN);
                liana_iterator *iterator;
                const liana_element *element;
                liana_iterator_options how = {.num_threads = threads, .start = start};
                assert_int_equal(liana_iterator_create(data, &how, &iterator), LIANA_OK);
                for (int64_t i = (int64_t)start; i < (mask ? COUNT : num_left); i++) {
                    assert_int_equal(liana_iterator_next(iterator, &element), LIANA_OK);
                    int64_t value = *(const int64_t *)liana_element_array(element, "value").data,
                            wanted = mask ? i : left[i];
                    assert_int_equal(value, mask && fails(i) ? 0 : wanted * wanted);
                    const bool *valid = liana_element_array(element, "valid").data;
                    if (mask) assert_int_equal(*valid, !fails(i));
                    if (!mask) assert_null(valid);
                }
                assert_int_equal(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
                liana_iterator_destroy(iterator);
                liana_dataset_close(data);
                for (int i = mask ? (int)start : 0; i < COUNT; i++) {
                    assert_int_equal(atomic_load(&seen.count[i]), fails(i));
                }
            }
        }
    }
    liana_context_destroy(context);
}

static void test_one_that_is_not_to_be_ignored_is_an_error(void **state)
{
    (void)state;
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    for (int mask = 0; mask < 2; mask++) {
        told seen = {.refuse = 11};
        liana_ignore_errors_options options = {note, &seen};
        liana_dataset *data = make_data(context);
        data = mask ? liana_dataset_mark_errors(data, &options) : liana_dataset_ignore_errors(data, &options);
        liana_iterator *iterator;
        const liana_element *element;
        assert_int_equal(liana_iterator_create(data, NULL, &iterator), LIANA_OK);
        liana_status status = LIANA_OK;
        int given = 0;
        while ((status = liana_iterator_next(iterator, &element)) == LIANA_OK) given++;
        assert_int_equal(status, LIANA_INVALID_DATA);
        assert_int_equal(given, mask ? 11 : 9);
        assert_says(liana_context_message(context), "map 'make': position 11 of epoch 0");
        liana_iterator_destroy(iterator);
        liana_dataset_close(data);
    }
    assert_null(liana_dataset_ignore_errors(liana_dataset_ignore_errors(make_data(context), NULL), NULL));
    assert_says(liana_context_message(context), "ignore_errors: the elements after a failed one");
    assert_null(liana_dataset_mark_errors(liana_dataset_repeat(make_data(context), -1), NULL));
    assert_null(
        liana_dataset_mark_errors(liana_dataset_batch(make_data(context), &(liana_batch_options){.batch_size = 4}),
                                  NULL));
    assert_says(liana_context_message(context), "mark_errors: the component 'value' is s64 [?]");
    liana_context_destroy(context);
}

/* ---- fits ---- */

typedef struct notes {
    int count;
    char last[500];
    int64_t bad[4];
} notes;

static void note_record(void *user, const char *text)
{
    notes *own = user;
    own->count++;
    snprintf(own->last, sizeof own->last, "%s", text);
}

static bool note_epoch(void *user, const liana_epoch *epoch)
{
    notes *own = user;
    if (own && epoch->epoch <= 4) own->bad[epoch->epoch - 1] = epoch->training.bad_records;
    return true;
}

static liana_status fit(liana_context *context, const liana_fit_options *options, float outputs[16][CLASSES])
{
    liana_model *model;
    liana_dataset *plain;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(SIZE, SIZE, 1));
    liana_flatten(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
    liana_status status = liana_fit(model, options);
    assert_int_equal(liana_dataset_open(context, liana__test_path("plain.tfrec"), NULL, &plain), LIANA_OK);
    if (status == LIANA_OK) assert_int_equal(liana_predict(model, plain, NULL, outputs[0]), LIANA_OK);
    liana_dataset_close(plain);
    liana_model_destroy(model);
    return status;
}

static void write_files(void)
{
    static const uint8_t wrong[] = "no image";
    const liana__test_odd odd[] = {{.record = 5, .image = wrong, .image_size = sizeof wrong},
                                   {.record = 31, .image = wrong, .image_size = sizeof wrong}};
    liana__test_folder();
    liana__test_tiny_records("bad.tfrec", 1, 0, 40, odd, 2);
    liana__test_tiny_records("plain.tfrec", 1, 100, 16, NULL, 0);
}

static void test_fits_leave_bad_records_out(void **state)
{
    (void)state;
    write_files();
    liana_context *context;
    liana_dataset *data;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    assert_int_equal(liana_dataset_open(context, liana__test_path("bad.tfrec"), NULL, &data), LIANA_OK);
    float outputs[2][16][CLASSES];
    notes seen = {0};
    liana_fit_options options = {.training = data,
                                 .epochs = 2,
                                 .batch_size = 8,
                                 .keep_order = true,
                                 .on_epoch = note_epoch,
                                 .on_bad_record = note_record,
                                 .user = &seen};
    assert_int_equal(fit(context, &options, outputs[0]), LIANA_INVALID_DATA);
    assert_says(liana_context_message(context), "bad.tfrec', record 5");
    options.skip_bad_records = true;
    options.max_bad_records = 1;
    assert_int_equal(fit(context, &options, outputs[0]), LIANA_DATA_LOSS);
    assert_says(liana_context_message(context), "more than 1 bad records");
    options.max_bad_records = 2;
    seen = (notes){0};
    assert_int_equal(fit(context, &options, outputs[0]), LIANA_OK);
    assert_int_equal(seen.count, 2);
    assert_says(seen.last, "bad.tfrec', record 31");
    assert_int_equal(seen.bad[0], 2);
    assert_int_equal(seen.bad[1], 2);
    /* Behind stages it is the same. */
    options.training = liana_dataset_prefetch(liana_dataset_retain(data));
    assert_int_equal(fit(context, &options, outputs[1]), LIANA_OK);
    assert_memory_equal(outputs[0], outputs[1], sizeof outputs[0]);
    options.max_bad_records = -1;
    assert_int_equal(fit(context, &options, outputs[0]), LIANA_INVALID_ARGUMENT);
    assert_says(liana_context_message(context), "max_bad_records is -1");
    liana_dataset_close((liana_dataset *)options.training);
    liana_dataset_close(data);
    liana_context_destroy(context);
}

static bool keep_most(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)element;
    return (address->record + address->epoch) % 9 != 0;
}

/* From a checkpoint in the middle of an epoch, of files and of a stream that is shuffled in a buffer. */
static void test_fits_go_on_in_the_middle_of_an_epoch(void **state)
{
    (void)state;
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    for (int streams = 0; streams < 3; streams++) {
        write_files();
        liana__test_tiny_records("good.tfrec", 1, 0, 90, NULL, 0);
        liana_dataset *data;
        assert_int_equal(liana_dataset_open(context, liana__test_path("good.tfrec"), NULL, &data), LIANA_OK);
        if (streams) {
            data = liana_dataset_filter(data, &(liana_filter_options){.function = keep_most});
            data = liana_dataset_shuffle(data, &(liana_shuffle_options){.buffer_size = 20, .seed = 4});
        }
        float whole[16][CLASSES], resumed[16][CLASSES];
        liana_fit_options options = {.training = data,
                                     .epochs = 2,
                                     .batch_size = 8,
                                     .seed = 3,
                                     .augment = "[random_flip]",
                                     /* With steps its length is not known before it ends: in the second epoch. */
                                     .steps_per_epoch = streams == 2 ? 7 : 0,
                                     .checkpoints = liana__test_path("checkpoints"),
                                     .checkpoint_steps = 1};
        assert_int_equal(fit(context, &options, whole), LIANA_OK);
        /* The newest three were kept. */
        liana__arena arena = {0};
        liana__paths names;
        assert_ok(liana__folder_list(options.checkpoints, &arena, &names, NULL), NULL);
        assert_int_equal(names.count, 3);
        for (int i = 1; i < 3; i++) {
            assert_ok(liana__folder_remove(liana__path_join(&arena, options.checkpoints, names.items[i]), NULL), NULL);
        }
        liana__arena_free(&arena);
        options.resume = true;
        assert_int_equal(fit(context, &options, resumed), LIANA_OK);
        assert_memory_equal(whole, resumed, sizeof whole);
        options.checkpoint_steps = -1;
        assert_int_equal(fit(context, &options, resumed), LIANA_INVALID_ARGUMENT);
        options.checkpoint_steps = 0;
        options.data_memory = -1;
        assert_int_equal(fit(context, &options, resumed), LIANA_INVALID_ARGUMENT);
        assert_says(liana_context_message(context), "data_memory is -1");
        liana_dataset_close(data);
    }
    liana_context_destroy(context);
}

/* ---- streams of unknown length ---- */

typedef struct calls {
    atomic_int filter;
    atomic_int map;
} calls;

static bool count_filter(void *user, const liana_example_address *address, const liana_element *element)
{
    atomic_fetch_add(&((calls *)user)->filter, 1);
    return keep_most(NULL, address, element);
}

static liana_status count_map(void *user, const liana_example_address *address, const liana_element *input,
                              liana_element *output)
{
    (void)address;
    (void)input;
    (void)output;
    atomic_fetch_add(&((calls *)user)->map, 1);
    return LIANA_OK;
}

static liana_dataset *make_stream(liana_context *context, calls *seen)
{
    liana_dataset *data;
    assert_int_equal(liana_dataset_open(context, liana__test_path("many.tfrec"), NULL, &data), LIANA_OK);
    data = liana_dataset_filter(data, &(liana_filter_options){.function = count_filter, .user = seen});
    data = liana_dataset_shuffle(data, &(liana_shuffle_options){.buffer_size = 9});
    return liana_dataset_map(data, &(liana_map_options){.name = "count", .function = count_map, .user = seen});
}

static void test_streams_are_not_gone_through_before(void **state)
{
    (void)state;
    enum { MANY = 900, VERY_MANY = 6000 };
    write_files();
    liana__test_tiny_records("many.tfrec", 1, 0, VERY_MANY, NULL, 0);
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    calls seen = {0};
    liana_dataset *data = make_stream(context, &seen);
    /* An epoch of 3 steps. The elements that are read ahead are far from all: the ring has places for 32 batches, each
     * of the three stages for 256 elements. */
    float steps[2][16][CLASSES];
    liana_fit_options options = {.training = data, .batch_size = 8, .epochs = 1, .steps_per_epoch = 3};
    assert_int_equal(fit(context, &options, steps[0]), LIANA_OK);
    assert_in_range(atomic_load(&seen.filter), 24, VERY_MANY / 3);
    liana_dataset_close(data);
    liana__test_tiny_records("many.tfrec", 1, 0, MANY, NULL, 0);
    data = make_stream(context, &seen);
    options.training = data;
    /* Without steps they are counted: once, and without the stages that only change them. */
    liana_results results;
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(SIZE, SIZE, 1));
    liana_flatten(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
    seen = (calls){0};
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(liana_evaluate(model, data, NULL, &results), LIANA_OK);
        assert_int_equal(results.num_examples, MANY - MANY / 9);
    }
    /* Two epochs, and the elements that were read ahead of a third and a fourth. */
    int map_calls = atomic_load(&seen.map);
    assert_in_range(map_calls, 2 * results.num_examples, 4 * results.num_examples);
    assert_in_range(atomic_load(&seen.filter), 3 * MANY, 5 * MANY);
    liana_model_destroy(model);
    /* The end is met on the way: as with a repetition that is said. */
    options.steps_per_epoch = 130;
    options.epochs = 2;
    assert_int_equal(fit(context, &options, steps[0]), LIANA_OK);
    options.training = liana_dataset_repeat(data, -1);
    assert_int_equal(fit(context, &options, steps[1]), LIANA_OK);
    assert_memory_equal(steps[0], steps[1], sizeof steps[0]);
    liana_dataset_close((liana_dataset *)options.training);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_they_are_left_out_or_marked),
        cmocka_unit_test(test_one_that_is_not_to_be_ignored_is_an_error),
        cmocka_unit_test(test_fits_leave_bad_records_out),
        cmocka_unit_test(test_streams_are_not_gone_through_before),
        cmocka_unit_test(test_fits_go_on_in_the_middle_of_an_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
