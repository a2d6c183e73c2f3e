/* Elements kept in a file: made once, made anew when anything that they depend on is another, whole or not there. */
#include "harness/tiny_records.h"

#include "base/file.h"

#include <liana/liana.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 60 };

/* The source, and its messages. */
typedef struct fixture {
    liana_context *context;
    atomic_int calls;
    int fail_at; /* -1: never */
    char log[1000];
} fixture;

static void keep_line(void *user, const char *topic, const char *line)
{
    fixture *own = user;
    if (strcmp(topic, "data") == 0) snprintf(own->log, sizeof own->log, "%s", line);
}

static void set_up(fixture *own)
{
    *own = (fixture){.fail_at = -1};
    liana__test_folder();
    assert_int_equal(setenv("LIANA_LOG", "data", 1), 0);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2, .log = keep_line, .log_user = own},
                                          &own->context),
                     LIANA_OK);
}

static const char *cache_path(void)
{
    return liana__test_path("deep/folder/kept");
}

/* A number of another size each, strings, and none at all. */
static liana_status make(void *user, const liana_example_address *address, const liana_element *input,
                         liana_element *output)
{
    fixture *own = user;
    (void)address;
    atomic_fetch_add(&own->calls, 1);
    int64_t value = *(const int64_t *)liana_element_array(input, "value").data;
    if (value == own->fail_at) return liana_element_fail(output, LIANA_INVALID_DATA, "it is the one");
    float *numbers = liana_element_output(output, "numbers");
    for (int i = 0; i < 6; i++) numbers[i] = (float)value / (float)(i + 1);
    char text[100];
    for (int k = 0; k < 2; k++) {
        memset(text, 'a' + (int)(value % 26), sizeof text);
        LIANA_TRY(liana_element_set_string(output, "words", k, text, (size_t)(value * (k + 1) % 97)));
    }
    *(uint8_t *)liana_element_output(output, "small") = (uint8_t)value;
    return LIANA_OK;
}

static bool keep_all(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    (void)element;
    return true;
}

typedef struct recipe {
    int64_t start;
    const char *name;
    const char *version;
    bool replayed;
    const char *path;
} recipe;

static liana_dataset *open_cache(fixture *own, const recipe *wanted)
{
    static const liana_component components[] = {{"numbers", LIANA_F32, {2, {2, 3}}},
                                                 {"words", LIANA_STRING, {1, {2}}},
                                                 {"small", LIANA_U8, {0}}};
    liana_dataset *data = liana_dataset_range(own->context, wanted->start, wanted->start + COUNT, 1);
    if (wanted->replayed) data = liana_dataset_filter(data, &(liana_filter_options){.function = keep_all});
    data = liana_dataset_map(data, &(liana_map_options){.name = wanted->name ? wanted->name : "make",
                                                        .function = make,
                                                        .user = own,
                                                        .components = components,
                                                        .num_components = 3});
    const char *path = wanted->path ? wanted->path : cache_path();
    return liana_dataset_cache(data, &(liana_cache_options){.path = path, .version = wanted->version});
}

static void check_element(const liana_element *element, int64_t value)
{
    const float *numbers = liana_element_array(element, "numbers").data;
    for (int i = 0; i < 6; i++) assert_compare(numbers[i], ==, (float)value / (float)(i + 1), i);
    for (int k = 0; k < 2; k++) {
        liana_bytes word = liana_element_string(element, "words", k);
        assert_int_equal(word.size, value * (k + 1) % 97);
        for (size_t i = 0; i < word.size; i++) assert_int_equal(((const char *)word.data)[i], 'a' + value % 26);
    }
    assert_int_equal(*(const uint8_t *)liana_element_array(element, "small").data, (uint8_t)value);
}

/* Reads all, twice; returns how many were made. */
static int use(fixture *own, const recipe *wanted)
{
    liana_dataset *dataset = open_cache(own, wanted);
    assert_non_null(dataset);
    own->log[0] = 0;
    atomic_store(&own->calls, 0);
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        liana_iterator *iterator;
        const liana_element *element;
        liana_iterator_options options = {.epoch = epoch, .start = epoch * 7, .num_threads = (int)epoch * 3 - 1};
        assert_int_equal(liana_iterator_create(dataset, &options, &iterator), LIANA_OK);
        for (int64_t i = (int64_t)options.start; i < COUNT; i++) {
            liana_status status = liana_iterator_next(iterator, &element);
            if (status != LIANA_OK) print_error("%s\n", liana_context_message(own->context));
            assert_int_equal(status, LIANA_OK);
            check_element(element, wanted->start + i);
        }
        assert_int_equal(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
        liana_iterator_destroy(iterator);
    }
    liana_dataset_close(dataset);
    return atomic_load(&own->calls);
}

static void test_elements_are_made_once(void **state)
{
    (void)state;
    fixture own;
    set_up(&own);
    for (int replayed = 0; replayed < 2; replayed++) {
        recipe wanted = {.replayed = replayed, .version = replayed ? "replayed" : NULL};
        assert_int_equal(use(&own, &wanted), COUNT);
        assert_int_equal(use(&own, &wanted), 0);
        assert_string_equal(own.log, "");
        assert_int_equal(use(&own, &wanted), 0);
    }
    assert_false(liana__file_exists(liana__test_path("deep/folder/kept.tmp")));
    liana_context_destroy(own.context);
}

static void test_what_has_changed_is_made_anew(void **state)
{
    (void)state;
    fixture own;
    set_up(&own);
    static const recipe recipes[] = {{.start = 0},
                                     {.start = 1},
                                     {.start = 1, .name = "other"},
                                     {.start = 1, .name = "other", .version = "2"},
                                     {.start = 1, .name = "other", .version = "2", .replayed = true},
                                     {.start = 0}};
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        assert_int_equal(use(&own, &recipes[i]), COUNT);
        if (i) assert_says(own.log, "deep/folder/kept' is made again: the stages before it have changed");
        assert_int_equal(use(&own, &recipes[i]), 0);
    }
    liana_context_destroy(own.context);
}

static int64_t sum(liana_dataset *dataset)
{
    liana_iterator *iterator;
    const liana_element *element;
    int64_t total = 0;
    assert_int_equal(liana_iterator_create(dataset, NULL, &iterator), LIANA_OK);
    while (liana_iterator_next(iterator, &element) == LIANA_OK) {
        total += *(const int64_t *)liana_element_array(element, "value").data;
    }
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);
    return total;
}

/* The end of the data is met there. */
static int number_of(liana_dataset *dataset)
{
    liana_iterator *iterator;
    const liana_element *element;
    int count = 0;
    assert_int_equal(liana_iterator_create(dataset, NULL, &iterator), LIANA_OK);
    while (liana_iterator_next(iterator, &element) == LIANA_OK) count++;
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);
    return count;
}

static liana_dataset *cache(liana_dataset *dataset)
{
    return liana_dataset_cache(dataset, &(liana_cache_options){.path = cache_path()});
}

/* Options of stages, values and files. */
static void test_options_and_sources_are_told_apart(void **state)
{
    (void)state;
    fixture own;
    set_up(&own);
    liana_context *context = own.context;
    for (int variant = 0; variant < 12; variant++) {
        int64_t values[] = {1, 2, 3, 4, variant == 11 ? 7 : 5};
        liana_array array = {"value", LIANA_S64, liana_shape_of(5), values};
        for (int again = 0; again < 2; again++) {
            liana_dataset *data = liana_dataset_from_tensor_slices(context, &array, 1);
            if (variant == 1) data = liana_dataset_take(data, 3);
            if (variant == 2) data = liana_dataset_take(data, 2);
            if (variant == 3) data = liana_dataset_skip(data, 2);
            if (variant == 4) data = liana_dataset_repeat(data, 2);
            if (variant == 5) data = liana_dataset_repeat(data, 3);
            if (variant == 6 || variant == 7) {
                data = liana_dataset_shuffle(data, &(liana_shuffle_options){.seed = (uint64_t)variant});
                data = liana_dataset_take(data, 3);
            }
            if (variant >= 8 && variant < 11) {
                liana_dataset *both[2] = {liana_dataset_range(context, 0, 50, 1), data};
                data = liana_dataset_sample_from_datasets(
                    both, 2, &(liana_sample_options){.weights = (const double[]){variant, 1}, .seed = 1});
                data = liana_dataset_take(data, 6);
            }
            int64_t expected = sum(liana_dataset_retain(data));
            own.log[0] = 0;
            assert_int_equal(sum(cache(data)), expected);
            assert_int_equal(own.log[0] != 0, variant > 0 && again == 0);
        }
    }
    /* Another file of the same name. */
    for (int count = 3; count <= 5; count++) {
        liana__test_tiny_records("records.tfrec", 1, 0, count, NULL, 0);
        for (int again = 0; again < 2; again++) {
            liana_dataset *records = cache(liana_dataset_tfrecord(context, liana__test_path("records.tfrec")));
            liana_dataset *files;
            assert_int_equal(liana_dataset_open(context, liana__test_path("records.tfrec"), NULL, &files), LIANA_OK);
            files = liana_dataset_cache(files, &(liana_cache_options){.path = liana__test_path("files.cache")});
            own.log[0] = 0;
            assert_int_equal(number_of(records), count);
            assert_int_equal(own.log[0] != 0, again == 0);
            own.log[0] = 0;
            assert_int_equal(number_of(files), count);
            assert_int_equal(own.log[0] != 0, again == 0 && count > 3);
            if (count > 3 && again == 0) assert_says(own.log, "the source files have changed");
        }
    }
    liana_context_destroy(context);
}

static void damage(const char *path, long offset)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    fputc(byte ^ 0x10, file);
    assert_int_equal(fclose(file), 0);
}

static void test_damage_is_named_and_mended(void **state)
{
    (void)state;
    fixture own;
    set_up(&own);
    for (int replayed = 0; replayed < 2; replayed++) {
        recipe wanted = {.replayed = replayed};
        use(&own, &wanted);
        struct stat info;
        assert_int_equal(stat(cache_path(), &info), 0);
        for (long at = 0; at < (long)info.st_size; at += info.st_size / 97) {
            damage(cache_path(), at);
            int made = use(&own, &wanted);
            /* A gap between values changes nothing but the checksum of its element. */
            assert_compare(made, >, 0);
            assert_says(own.log, "deep/folder/kept'");
            assert_says(own.log, "damaged");
            use(&own, &wanted);
            assert_int_equal(use(&own, &wanted), 0);
        }
        for (long size = 0; size < (long)info.st_size; size += info.st_size / 13 + 1) {
            assert_int_equal(truncate(cache_path(), size), 0);
            assert_int_equal(use(&own, &wanted), COUNT);
            assert_says(own.log, "kept' is made again: it is damaged, truncated or another kind of file");
        }
        assert_int_equal(use(&own, &wanted), 0);
    }
    liana_context_destroy(own.context);
}

/* Cut while it is read: the rest is made again. */
static void test_a_file_that_is_cut_under_the_reader(void **state)
{
    (void)state;
    fixture own;
    set_up(&own);
    for (int replayed = 0; replayed < 2; replayed++) {
        recipe wanted = {.replayed = replayed};
        use(&own, &wanted);
        liana_dataset *dataset = open_cache(&own, &wanted);
        liana_iterator *iterator;
        const liana_element *element;
        assert_int_equal(liana_iterator_create(dataset, &(liana_iterator_options){.num_threads = -1}, &iterator),
                         LIANA_OK);
        for (int i = 0; i < COUNT; i++) {
            if (i == COUNT / 2) assert_int_equal(truncate(cache_path(), 100), 0);
            assert_int_equal(liana_iterator_next(iterator, &element), LIANA_OK);
            check_element(element, i);
        }
        assert_int_equal(liana_iterator_next(iterator, &element), LIANA_END_OF_DATA);
        assert_says(own.log, "the cache is damaged and was removed");
        liana_iterator_destroy(iterator);
        liana_dataset_close(dataset);
        assert_false(liana__file_exists(cache_path()));
    }
    liana_context_destroy(own.context);
}

static liana_status read_one(fixture *own, const recipe *wanted)
{
    liana_dataset *dataset = open_cache(own, wanted);
    liana_iterator *iterator;
    const liana_element *element;
    assert_int_equal(liana_iterator_create(dataset, NULL, &iterator), LIANA_OK);
    liana_status status = liana_iterator_next(iterator, &element);
    liana_iterator_destroy(iterator);
    liana_dataset_close(dataset);
    return status;
}

/* In a process of its own, whose files may have 4000 bytes. */
static void test_a_full_disk_leaves_what_was_there(void **state)
{
    (void)state;
    fixture own;
    set_up(&own);
    use(&own, &(recipe){0});
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){4000, 4000});
        liana_status status = read_one(&own, &(recipe){.start = 5});
        const char *message = liana_context_message(own.context);
        bool right = status == LIANA_IO_ERROR && strstr(message, "cache_file: cannot write '") &&
                     strstr(message, "deep/folder/kept'") && strstr(message, "File too large");
        if (!right) fprintf(stderr, "%s\n", message);
        _exit(!right);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_compare(WEXITSTATUS(result), ==, 0);
    assert_int_equal(use(&own, &(recipe){0}), 0);
    assert_false(liana__file_exists(liana__test_path("deep/folder/kept.tmp")));
    liana_context_destroy(own.context);
}

static void test_failures_leave_no_file(void **state)
{
    (void)state;
    fixture own;
    set_up(&own);
    own.fail_at = 41;
    assert_int_equal(read_one(&own, &(recipe){0}), LIANA_INVALID_DATA);
    const char *message = liana_context_message(own.context);
    assert_says(message, "cache_file: map 'make': position 41 of epoch 0 (record 41): it is the one");
    assert_false(liana__file_exists(cache_path()));
    assert_false(liana__file_exists(liana__test_path("deep/folder/kept.tmp")));
    own.fail_at = -1;
    liana__test_write("file", "x", 1);
    assert_int_equal(read_one(&own, &(recipe){.path = liana__test_path("file/kept")}), LIANA_IO_ERROR);
    assert_says(liana_context_message(own.context), "cache_file");
    assert_says(liana_context_message(own.context), "file");
    assert_null(open_cache(&own, &(recipe){.path = ""}));
    assert_says(liana_context_message(own.context), "cache_file: the path of the file is missing");
    assert_null(liana_dataset_cache(liana_dataset_repeat(liana_dataset_range(own.context, 0, 3, 1), -1),
                                    &(liana_cache_options){.path = cache_path()}));
    assert_says(liana_context_message(own.context), "cache_file: the data are endless");
    liana_dataset *twice = cache(liana_dataset_skip(cache(liana_dataset_range(own.context, 0, 3, 1)), 1));
    assert_null(twice);
    assert_says(liana_context_message(own.context), "is also the file of an input");
    /* Nothing is kept as well. */
    liana_dataset *none =
        liana_dataset_cache(liana_dataset_range(own.context, 0, 0, 1), &(liana_cache_options){.path = cache_path()});
    assert_int_equal(sum(liana_dataset_retain(none)), 0);
    assert_int_equal(sum(none), 0);
    liana_context_destroy(own.context);
}

static void test_several_processes_make_one_file(void **state)
{
    (void)state;
    enum { NUM_PROCESSES = 5 };
    liana__test_folder();
    pid_t children[NUM_PROCESSES];
    for (int i = 0; i < NUM_PROCESSES; i++) {
        children[i] = fork();
        if (children[i]) continue;
        fixture own = {.fail_at = -1};
        int wrong = liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context) != LIANA_OK;
        liana_dataset *dataset = open_cache(&own, &(recipe){0});
        liana_iterator *iterator;
        const liana_element *element;
        int count = 0;
        wrong |= liana_iterator_create(dataset, NULL, &iterator) != LIANA_OK;
        while (!wrong && liana_iterator_next(iterator, &element) == LIANA_OK) {
            wrong |= *(const uint8_t *)liana_element_array(element, "small").data != count++;
        }
        /* The second one has nothing to do. */
        int calls = atomic_load(&own.calls);
        _exit(wrong || count != COUNT || (calls != 0 && calls != COUNT) ? 100 : calls != 0);
    }
    int makers = 0;
    for (int i = 0; i < NUM_PROCESSES; i++) {
        int result;
        assert_compare(waitpid(children[i], &result, 0), ==, children[i], i);
        assert_true(WIFEXITED(result));
        assert_compare(WEXITSTATUS(result), <=, 1);
        makers += WEXITSTATUS(result);
    }
    assert_int_equal(makers, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_are_made_once),
        cmocka_unit_test(test_what_has_changed_is_made_anew),
        cmocka_unit_test(test_options_and_sources_are_told_apart),
        cmocka_unit_test(test_damage_is_named_and_mended),
        cmocka_unit_test(test_a_file_that_is_cut_under_the_reader),
        cmocka_unit_test(test_a_full_disk_leaves_what_was_there),
        cmocka_unit_test(test_failures_leave_no_file),
        cmocka_unit_test(test_several_processes_make_one_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
