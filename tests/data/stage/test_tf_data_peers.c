/* Random pipelines of tf.data's stages, as TensorFlow runs them (tf_data.py). Each pipeline is begun at every element,
 * with several numbers of threads. LIANA_TF_DATA_SEED gives other pipelines. */
#include "harness/element_text.h"
#include "harness/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STAGES = 8, MOST_NUMBERS = 32 };

/* One stage: its words, and what its functions need. */
typedef struct step {
    char name[24];
    char function[16]; /* of a window */
    int64_t argument;  /* of that function */
    size_t count;
    int64_t numbers[MOST_NUMBERS];
    liana_component made;
} step;

/* ---- functions ---- */

static int64_t first_number(const liana_element *element)
{
    const liana_array array = liana_element_array(element, "value");
    assert_int_equal(array.dtype, LIANA_S64);
    return array.shape.rank ? array.shape.dims[0] : *(const int64_t *)array.data;
}

static bool divides(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)address;
    return first_number(element) % ((const step *)user)->numbers[0] == 0;
}

static bool is_multiple(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)address;
    return first_number(element) % (((const step *)user)->argument + 1) == 0;
}

static bool is_below(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)address;
    return first_number(element) < ((const step *)user)->numbers[0];
}

static liana_status take_rest(void *user, const liana_example_address *address, const liana_element *input,
                              liana_element *output)
{
    (void)address;
    *(int64_t *)liana_element_output(output, "value") = first_number(input) % ((const step *)user)->numbers[0];
    return LIANA_OK;
}

/* The words `scan` and `reduce`. */
static liana_status change_state(void *user, const liana_example_address *address, liana_element *state,
                                 const liana_element *input, liana_element *output)
{
    (void)address;
    int64_t *sum = liana_element_output(state, "value");
    const int64_t value = first_number(input);
    if (output) *(int64_t *)liana_element_output(output, "value") = *sum * ((const step *)user)->numbers[0] + value;
    *sum = output ? *sum + value : *sum * 2 % 1001 + value;
    return LIANA_OK;
}

static liana_status add(void *user, const liana_example_address *address, liana_element *state,
                        const liana_element *input, liana_element *output)
{
    (void)user;
    (void)address;
    (void)output;
    *(int64_t *)liana_element_output(state, "value") += first_number(input);
    return LIANA_OK;
}

static liana_dataset *count_up(void *user, liana_context *context, const liana_example_address *address,
                               const liana_element *element)
{
    (void)user;
    (void)address;
    const int64_t value = first_number(element);
    return liana_dataset_range(context, value, value + value % 4, 1);
}

static int64_t key_of(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)address;
    return first_number(element) % ((const step *)user)->numbers[0];
}

static liana_dataset *of_window(void *user, liana_dataset *window)
{
    step *own = user;
    const int64_t argument = own->argument, zero = 0;
    const char *name = own->function;
    const liana_array start = {"value", LIANA_S64, LIANA_SCALAR, &zero};
    if (strcmp(name, "take") == 0) return liana_dataset_take(window, argument);
    if (strcmp(name, "skip") == 0) return liana_dataset_skip(window, argument);
    if (strcmp(name, "repeat") == 0) return liana_dataset_repeat(window, argument);
    if (strcmp(name, "batch") == 0) return liana_dataset_batch(window, &(liana_batch_options){.batch_size = argument});
    if (strcmp(name, "padded") == 0)
        return liana_dataset_padded_batch(window, &(liana_padded_batch_options){.batch_size = argument});
    if (strcmp(name, "filter") == 0) {
        return liana_dataset_filter(window, &(liana_filter_options){.function = is_multiple, .user = own});
    }
    assert_string_equal(name, "sum");
    return liana_dataset_reduce(window,
                                &(liana_state_options){.function = add, .initial_state = &start, .num_states = 1});
}

static liana_dataset *of_group(void *user, int64_t key, liana_dataset *window)
{
    (void)key;
    return of_window(user, window);
}

/* ---- words ---- */

/* Numbers with commas between them; "-" has none. */
static size_t read_list(const char *text, int64_t *numbers, size_t most)
{
    size_t count = 0;
    char *end;
    if (strcmp(text, "-") == 0 || !*text) return 0;
    for (;; text = end + 1) {
        assert_compare(count, <, most);
        numbers[count++] = strtoll(text, &end, 10);
        if (*end != ',') return count;
    }
}

static liana_status next_list(void *user, void *state, const liana_example_address *address, liana_element *element)
{
    (void)state;
    const char *text = user;
    int64_t numbers[MOST_NUMBERS];
    char list[256];
    for (uint64_t i = 0; i < address->position && text; i++) {
        text = strchr(text, '/');
        if (text) text++;
    }
    if (!text || !*text) return LIANA_END_OF_DATA;
    snprintf(list, sizeof list, "%.*s", (int)strcspn(text, "/"), text);
    const size_t count = read_list(list, numbers, MOST_NUMBERS);
    const liana_status status = liana_element_set_rows(element, "value", (int64_t)count);
    if (status == LIANA_OK && count) memcpy(liana_element_output(element, "value"), numbers, count * sizeof *numbers);
    return status;
}

static liana_dataset *make_choose(liana_context *context, bool skips, const char *ends, const char *choices)
{
    int64_t lengths[MOST_NUMBERS], numbers[MOST_NUMBERS];
    liana_dataset *inputs[MOST_NUMBERS];
    const size_t count = read_list(ends, lengths, MOST_NUMBERS);
    const int64_t num_choices = (int64_t)read_list(choices, numbers, MOST_NUMBERS);
    const liana_array array = {"choice", LIANA_S64, liana_shape_of(num_choices), numbers};
    for (size_t i = 0; i < count; i++) {
        inputs[i] = liana_dataset_range(context, 100 * (int64_t)i, 100 * (int64_t)i + lengths[i], 1);
    }
    return liana_dataset_choose_from_datasets(inputs, count, liana_dataset_from_tensor_slices(context, &array, 1),
                                              &(liana_choose_options){.skip_empty_datasets = skips});
}

static liana_dataset *make_timeseries(liana_context *context, const int64_t *n)
{
    int64_t numbers[64];
    for (int i = 0; i < 64; i++) numbers[i] = i;
    const liana_array array = {"value", LIANA_S64, liana_shape_of(n[0]), numbers};
    const liana_timeseries_options options = {.sequence_length = n[1],
                                              .sequence_stride = n[2],
                                              .sampling_rate = n[3],
                                              .batch_size = n[4],
                                              .start_index = n[5],
                                              .end_index = n[6]};
    return liana_dataset_timeseries_from_array(context, &array, 1, NULL, 0, &options);
}

static liana_dataset *make_source(liana_context *context, char *words)
{
    static const liana_component list = {"value", LIANA_S64, {1, {LIANA_UNKNOWN_DIM}}};
    char *after = words + strcspn(words, " ");
    int64_t n[8] = {0};
    if (*after) *after++ = 0;
    if (strcmp(words, "lists") == 0) {
        return liana_dataset_from_generator(context, &(liana_generator_options){.next = next_list,
                                                                                .user = after,
                                                                                .components = &list,
                                                                                .num_components = 1});
    }
    if (strcmp(words, "choose") == 0) {
        char *ends = strchr(after, ' ') + 1, *choices = strchr(ends, ' ') + 1;
        choices[-1] = 0;
        return make_choose(context, *after == '1', ends, choices);
    }
    char *end = after;
    for (int i = 0; i < 8; i++) n[i] = strtoll(end, &end, 10);
    if (strcmp(words, "range") == 0) return liana_dataset_range(context, n[0], n[1], n[2]);
    assert_string_equal(words, "timeseries");
    return make_timeseries(context, n);
}

/* ---- stages ---- */

static void read_step(const char *words, step *own)
{
    char copy[256], *rest = copy;
    snprintf(copy, sizeof copy, "%s", words);
    snprintf(own->name, sizeof own->name, "%s", strsep(&rest, " "));
    own->function[0] = 0;
    own->count = 0;
    for (char *word; (word = strsep(&rest, " "));) {
        if (*word >= 'a' && *word <= 'z') {
            snprintf(own->function, sizeof own->function, "%s", word);
            own->argument = strtoll(strsep(&rest, " "), NULL, 10);
        } else if (*word) {
            own->count += read_list(word, own->numbers + own->count, MOST_NUMBERS - own->count);
        }
    }
}

/* What the function of a window makes of elements of a dataset. */
static void find_made(const liana_dataset *input, step *own)
{
    own->made = liana_dataset_info(input).components[0];
    const bool batches = strcmp(own->function, "batch") == 0 || strcmp(own->function, "padded") == 0;
    if (!batches) return;
    memmove(own->made.shape.dims + 1, own->made.shape.dims, (size_t)own->made.shape.rank * sizeof(int64_t));
    own->made.shape.dims[0] = LIANA_UNKNOWN_DIM;
    own->made.shape.rank++;
}

static liana_dataset *add_buckets(liana_dataset *input, const step *own)
{
    const size_t count = (own->count - 4) / 2;
    const int64_t *last = own->numbers + 2 * count + 1;
    const liana_component_padding filling = {.component = "value", .value = (double)last[1]};
    return liana_dataset_bucket_by_sequence_length(input,
                                                   &(liana_bucket_options){.component = "value",
                                                                           .boundaries = own->numbers,
                                                                           .batch_sizes = own->numbers + count,
                                                                           .num_boundaries = count,
                                                                           .paddings = &filling,
                                                                           .num_paddings = 1,
                                                                           .drop_remainder = last[0] != 0,
                                                                           .pad_to_bucket_boundary = last[2] != 0});
}

static liana_dataset *add_window(liana_dataset *input, step *own)
{
    const int64_t *n = own->numbers;
    liana_window_options options = {.size = n[0], .shift = n[1], .stride = n[2], .drop_remainder = n[3] != 0};
    if (strcmp(own->name, "windows") == 0) {
        find_made(input, own);
        options.reduce = of_window;
        options.user = own;
        options.components = &own->made;
        options.num_components = 1;
    }
    return liana_dataset_window(input, &options);
}

static liana_dataset *add_group(liana_dataset *input, step *own)
{
    find_made(input, own);
    return liana_dataset_group_by_window(input, &(liana_group_by_window_options){.key = key_of,
                                                                                 .window_size = own->numbers[1],
                                                                                 .reduce = of_group,
                                                                                 .user = own,
                                                                                 .components = &own->made,
                                                                                 .num_components = 1});
}

static liana_dataset *add_padded(liana_dataset *input, const step *own)
{
    const int64_t *n = own->numbers;
    liana_component_padding filling = {.component = "value", .value = (double)n[2]};
    if (n[3]) filling.shape = liana_shape_of(n[3]);
    return liana_dataset_padded_batch(input, &(liana_padded_batch_options){.batch_size = n[0],
                                                                           .drop_remainder = n[1] != 0,
                                                                           .paddings = &filling,
                                                                           .num_paddings = 1});
}

static liana_dataset *add_state(liana_dataset *input, step *own)
{
    const bool scans = strcmp(own->name, "scan") == 0;
    const int64_t first = scans ? 1 : 3;
    const liana_array start = {"value", LIANA_S64, LIANA_SCALAR, &first};
    const liana_state_options options = {.function = change_state,
                                         .user = own,
                                         .initial_state = &start,
                                         .num_states = 1};
    return scans ? liana_dataset_scan(input, &options) : liana_dataset_reduce(input, &options);
}

static liana_dataset *add_interleave(liana_dataset *input, const step *own)
{
    return liana_dataset_interleave(input, &(liana_interleave_options){.function = count_up,
                                                                       .cycle_length = own->numbers[0],
                                                                       .block_length = own->numbers[1]});
}

static liana_dataset *add_plain(liana_dataset *input, step *own)
{
    const int64_t *n = own->numbers;
    const char *name = own->name;
    const liana_batch_options batch = {n[0], n[1] ? LIANA_REMAINDER_DROP : LIANA_REMAINDER_KEEP};
    if (strcmp(name, "batch") == 0) return liana_dataset_batch(input, &batch);
    if (strcmp(name, "rebatch") == 0) return liana_dataset_rebatch(input, &batch);
    if (strcmp(name, "unbatch") == 0) return liana_dataset_unbatch(input);
    if (strcmp(name, "unique") == 0) return liana_dataset_unique(input);
    if (strcmp(name, "take") == 0) return liana_dataset_take(input, n[0]);
    if (strcmp(name, "skip") == 0) return liana_dataset_skip(input, n[0]);
    if (strcmp(name, "shard") == 0) return liana_dataset_shard(input, n[0], n[1]);
    if (strcmp(name, "repeat") == 0) return liana_dataset_repeat(input, n[0]);
    if (strcmp(name, "modulo") == 0) {
        return liana_dataset_map(input, &(liana_map_options){.function = take_rest, .user = own});
    }
    if (strcmp(name, "take_while") == 0) {
        return liana_dataset_take_while(input, &(liana_filter_options){.function = is_below, .user = own});
    }
    assert_string_equal(name, "filter");
    return liana_dataset_filter(input, &(liana_filter_options){.function = divides, .user = own});
}

static liana_dataset *add_stage(liana_dataset *input, step *own)
{
    static const struct {
        const char *name;
        liana_dataset *(*make)(liana_dataset *input, step *own);
    } makers[] = {{"window", add_window},
                  {"windows", add_window},
                  {"group", add_group},
                  {"scan", add_state},
                  {"reduce", add_state}};
    if (!input) return NULL;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        if (strcmp(own->name, makers[i].name) == 0) return makers[i].make(input, own);
    }
    if (strcmp(own->name, "bucket") == 0) return add_buckets(input, own);
    if (strcmp(own->name, "padded") == 0) return add_padded(input, own);
    if (strcmp(own->name, "interleave") == 0) return add_interleave(input, own);
    return add_plain(input, own);
}

/* Compares one pipeline; its first 200 elements. */
static void compare(char *words, const char *expected)
{
    liana_context *context = liana__test_context();
    step steps[MOST_STAGES];
    size_t count = 0;
    print_message("%s\n", words);
    char *next = strstr(words, " | ");
    if (next) *next = 0;
    liana_dataset *dataset = make_source(context, words);
    while (next) {
        char *begin = next + 3;
        assert_compare(count, <, MOST_STAGES);
        next = strstr(begin, " | ");
        if (next) *next = 0;
        read_step(begin, &steps[count]);
        dataset = add_stage(dataset, &steps[count++]);
    }
    gives(liana_dataset_take(dataset, 200), expected);
    liana_context_destroy(context);
}

static void test_pipelines_are_those_of_tensorflow(void **state)
{
    (void)state;
    if (!liana__test_peer("tensorflow")) return;
    const char *seed = getenv("LIANA_TF_DATA_SEED"), *number = getenv("LIANA_TF_DATA_COUNT");
    const char *folder = liana__test_path("pipelines");
    const char *const make[] = {"mkdir", "-p", folder, NULL};
    const char *const arguments[] = {folder, seed ? seed : "1", number ? number : "60", NULL};
    liana__test_run_program(make);
    liana__test_run_keras("tests/data/stage/tf_data.py", arguments);
    FILE *file = fopen(liana__test_path("pipelines/pipelines.txt"), "r");
    assert_non_null(file);
    char *words = NULL, *expected = NULL;
    size_t words_size = 0, expected_size = 0, count = 0;
    while (getline(&words, &words_size, file) > 0) {
        assert_compare(getline(&expected, &expected_size, file), >, 0);
        words[strcspn(words, "\n")] = expected[strcspn(expected, "\n")] = 0;
        compare(words, expected);
        count++;
    }
    assert_in_range(count, 1, 100000);
    free(words);
    free(expected);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pipelines_are_those_of_tensorflow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
