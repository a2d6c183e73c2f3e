/* Values whose number differs from element to element: padded batches, strings, lines and records of files, buckets of
 * lengths. Expected elements are those that TensorFlow 2.21 gives for the same pipelines, written down as text. */
#include "harness/element_text.h"
#include "harness/gzip_file.h"

#include <stdlib.h>
#include <string.h>

static liana_dataset *range(liana_context *context, int64_t stop)
{
    return liana_dataset_range(context, 0, stop, 1);
}

/* ---- values of any length ---- */

static const liana_component ragged = {.name = "v", .dtype = LIANA_S64, .shape = {1, {LIANA_UNKNOWN_DIM}}};

/* n times n. */
static liana_status fill(void *user, const liana_example_address *address, const liana_element *input,
                         liana_element *output)
{
    (void)user;
    (void)address;
    const int64_t n = liana__test_number(input, "value");
    const liana_status status = liana_element_set_rows(output, "v", n);
    if (status != LIANA_OK) return status;
    int64_t *values = liana_element_output(output, "v");
    for (int64_t i = 0; i < n; i++) values[i] = n;
    return LIANA_OK;
}

static liana_dataset *fills(liana_dataset *numbers)
{
    return liana_dataset_map(numbers,
                             &(liana_map_options){.function = fill, .components = &ragged, .num_components = 1});
}

static void test_padded_batches(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    for (int replays = 0; replays < 2; replays++) {
        liana_dataset *one = liana_dataset_range(context, 1, 6, 1);
        if (replays) one = liana__test_replayed(one);
        liana_dataset *values = fills(one);
        gives(liana_dataset_retain(values), "[1] [2 2] [3 3 3] [4 4 4 4] [5 5 5 5 5] ");
        gives(liana_dataset_padded_batch(liana_dataset_retain(values), &(liana_padded_batch_options){.batch_size = 2}),
              "[[1 0] [2 2]] [[3 3 3 0] [4 4 4 4]] [[5 5 5 5 5]] ");
        const liana_component_padding six = {.component = "v", .shape = liana_shape_of(6), .value = -1};
        const liana_padded_batch_options options = {2, true, &six, 1};
        liana_dataset *made = liana_dataset_padded_batch(liana_dataset_retain(values), &options);
        assert_int_equal(liana_dataset_info(made).random_access, !replays);
        assert_int_equal(liana_dataset_info(made).batch_size, 2); /* a model can read it */
        gives(made, "[[1 -1 -1 -1 -1 -1] [2 2 -1 -1 -1 -1]] [[3 3 3 -1 -1 -1] [4 4 4 4 -1 -1]] ");
        const liana_component_padding facts = {
            .component = "v", .value = 7, .lengths = "length", .mask = "is_real", .shape = {0}};
        gives(liana_dataset_padded_batch(liana_dataset_retain(values),
                                         &(liana_padded_batch_options){3, false, &facts, 1}),
              "[[1 7 7] [2 2 7] [3 3 3]]:[1 2 3]:[[1 0 0] [1 1 0] [1 1 1]] "
              "[[4 4 4 4 7] [5 5 5 5 5]]:[4 5]:[[1 1 1 1 0] [1 1 1 1 1]] ");
        const liana_component_padding three = {.component = "v", .shape = liana_shape_of(3)};
        fails(liana_dataset_padded_batch(liana_dataset_retain(values),
                                         &(liana_padded_batch_options){2, false, &three, 1}),
              LIANA_INVALID_DATA, "[[1 0 0] [2 2 0]] ", "the component 'v' is s64 [4], which is longer");
        gives(liana_dataset_pad(values, &(liana_pad_options){&three, 1, true}),
              "[1 0 0] [2 2 0] [3 3 3] [4 4 4] [5 5 5] ");
    }
    /* What comes out of a batch can be batched again, and taken apart. */
    liana_dataset *batches = liana_dataset_padded_batch(fills(liana_dataset_range(context, 1, 4, 1)),
                                                        &(liana_padded_batch_options){.batch_size = 2});
    gives(liana_dataset_unbatch(liana_dataset_retain(batches)), "[1 0] [2 2] [3 3 3] ");
    const liana_component_padding four = {.component = "v", .shape = liana_shape_of(2, 4), .value = 9};
    gives(liana_dataset_padded_batch(batches, &(liana_padded_batch_options){2, false, &four, 1}),
          "[[[1 0 9 9] [2 2 9 9]] [[3 3 3 9] [9 9 9 9]]] ");
    liana_context_destroy(context);
}

static void test_paddings_that_do_not_fit(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    static const struct {
        liana_component_padding padding;
        const char *message;
    } cases[] = {
        {{.component = "w"}, "there is no component 'w'"},
        {{.component = "v", .shape = {2, {3, 4}}}, "'v' is s64 [?] and cannot be padded to s64 [3, 4]"},
        {{.component = "v", .value = 0.5}, "padded with 0.5, which its dtype cannot hold"},
        {{.component = "v", .text = "x"}, "'v' is s64 [?], and its padding a string: 'x'"},
        {{.component = "v", .mask = "v"}, "there are two components 'v'"},
        {{.component = NULL}, "there is no component '(NULL)'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused(liana_dataset_pad(fills(range(context, 3)), &(liana_pad_options){&cases[i].padding, 1, false}),
                cases[i].message);
    }
    const liana_component_padding twice[] = {{.component = "v"}, {.component = "v"}};
    refused(liana_dataset_pad(fills(range(context, 3)), &(liana_pad_options){twice, 2, false}), "'v' is there twice");
    refused(liana_dataset_padded_batch(fills(range(context, 3)), &(liana_padded_batch_options){.batch_size = 0}),
            "padded_batch: batch_size is 0");
    refused(liana_dataset_batch(fills(range(context, 3)), &(liana_batch_options){.batch_size = 2}),
            "liana_dataset_padded_batch");
    liana_context_destroy(context);
}

/* ---- strings ---- */

static const liana_component words = {.name = "words", .dtype = LIANA_STRING, .shape = {1, {LIANA_UNKNOWN_DIM}}};

/* The words of a line. */
static liana_status split(void *user, const liana_example_address *address, const liana_element *input,
                          liana_element *output)
{
    (void)user;
    (void)address;
    const liana_bytes line = liana_element_string(input, "line", 0);
    const char *text = line.data;
    int64_t count = 0;
    for (size_t i = 0; i < line.size; i++) count += text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
    liana_status status = liana_element_set_rows(output, "words", count);
    count = 0;
    for (size_t i = 0, end = 0; i < line.size && status == LIANA_OK; i = end + 1) {
        for (end = i; end < line.size && text[end] != ' ';) end++;
        if (end > i) status = liana_element_set_string(output, "words", count++, text + i, end - i);
    }
    return status;
}

#define write_text(name, text) liana__test_write((name), (text), sizeof(text) - 1)

static void test_lines_and_words(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    /* As tf.data.TextLineDataset reads them. */
    write_text("a.txt", "one\ntwo\r\n\nlast");
    write_text("b.txt", "x\n");
    write_text("c.txt", "");
    write_text("d.txt", "\n\n");
    gives(liana_dataset_text_line(context, liana__test_path("a.txt"), NULL), "\"one\" \"two\" \"\" \"last\" ");
    gives(liana_dataset_text_line(context, liana__test_path("c.txt"), NULL), "");
    gives(liana_dataset_text_line(context, liana__test_path("?.txt"), NULL),
          "\"one\" \"two\" \"\" \"last\" \"x\" \"\" \"\" ");
    write_text("words", "the cat  sat\n\non the mat\nend\n");
    liana_dataset *lines = liana_dataset_text_line(context, liana__test_path("words"), NULL);
    liana_dataset *split_lines =
        liana_dataset_map(lines, &(liana_map_options){.function = split, .components = &words, .num_components = 1});
    gives(liana_dataset_retain(split_lines), "[\"the\" \"cat\" \"sat\"] [] [\"on\" \"the\" \"mat\"] [\"end\"] ");
    const liana_component_padding padding = {.component = "words", .text = "-", .lengths = "n"};
    gives(liana_dataset_padded_batch(liana_dataset_retain(split_lines),
                                     &(liana_padded_batch_options){2, false, &padding, 1}),
          "[[\"the\" \"cat\" \"sat\"] [\"-\" \"-\" \"-\"]]:[3 0] [[\"on\" \"the\" \"mat\"] [\"end\" \"-\" \"-\"]]:[3 "
          "1] ");
    gives(liana_dataset_cache(split_lines, &(liana_cache_options){.path = liana__test_path("cache")}),
          "[\"the\" \"cat\" \"sat\"] [] [\"on\" \"the\" \"mat\"] [\"end\"] ");
    refused(liana_dataset_text_line(context, liana__test_path("none"), NULL), "text_line: ");
    refused(liana_dataset_text_line(context, liana__test_path("a.txt"),
                                    &(liana_text_line_options){LIANA_COMPRESSION_GZIP}),
            "a.txt");
    liana_context_destroy(context);
}

static void test_compressed_lines(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    /* zlib.compress(b"a\nb\n") of Python. */
    static const unsigned char zlibbed[] = {0x78, 0x9c, 0x4b, 0xe4, 0x4a, 0xe2, 0x02, 0x00, 0x02, 0x74, 0x00, 0xd8};
    liana__test_write_gzip(liana__test_path("a.gz"), "a\nb\n", 4);
    liana__test_write("a.z", zlibbed, sizeof zlibbed);
    gives(liana_dataset_text_line(context, liana__test_path("a.gz"), NULL), "\"a\" \"b\" ");
    gives(liana_dataset_text_line(context, liana__test_path("a.z"), &(liana_text_line_options){LIANA_COMPRESSION_ZLIB}),
          "\"a\" \"b\" ");
    const liana_fixed_length_record_options two = {.record_bytes = 2, .compression = LIANA_COMPRESSION_ZLIB};
    gives(liana_dataset_fixed_length_record(context, liana__test_path("a.z"), &two), "\"a\n\" \"b\n\" ");
    liana_context_destroy(context);
}

static void test_fixed_length_records(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context = liana__test_context();
    write_text("f1", "HHHaabbccFF");
    write_text("f2", "HHHddFF");
    write_text("f3", "HHHFF");
    write_text("f4", "HHF");
    liana_fixed_length_record_options options = {.record_bytes = 2, .header_bytes = 3, .footer_bytes = 2};
    gives(liana_dataset_fixed_length_record(context, liana__test_path("f[123]"), &options),
          "\"aa\" \"bb\" \"cc\" \"dd\" ");
    gives(liana_dataset_shard(liana_dataset_fixed_length_record(context, liana__test_path("f[123]"), &options), 2, 1),
          "\"bb\" \"dd\" ");
    refused(liana_dataset_fixed_length_record(context, liana__test_path("f4"), &options),
            "f4' has 3 bytes, expected a header of 3 and a footer of 2 bytes");
    options.record_bytes = 4;
    refused(
        liana_dataset_fixed_length_record(context, liana__test_path("f1"), &options),
        "f1' has 6 bytes without header and footer, expected a multiple of record_bytes, 4: after 1 records 2 bytes");
    options.record_bytes = 0;
    refused(liana_dataset_fixed_length_record(context, liana__test_path("f1"), &options),
            "fixed_length_record: record_bytes is 0");
    write_text("empty", "");
    options = (liana_fixed_length_record_options){.record_bytes = 4};
    gives(liana_dataset_fixed_length_record(context, liana__test_path("empty"), &options), "");
    liana_context_destroy(context);
}

/* The example of TensorFlow's documentation. */
static liana_status example_lists(void *user, const liana_example_address *address, const liana_element *input,
                                  liana_element *output)
{
    static const int64_t values[] = {0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 13, 14, 15, 16, 19, 20, 21, 22};
    static const int starts[] = {0, 1, 5, 8, 13, 19, 21};
    (void)user;
    (void)address;
    const int64_t n = liana__test_number(input, "value"), count = starts[n + 1] - starts[n];
    const liana_status status = liana_element_set_rows(output, "v", count);
    if (status == LIANA_OK) memcpy(liana_element_output(output, "v"), values + starts[n], (size_t)count * 8);
    return status;
}

static liana_dataset *lists(liana_context *context)
{
    return liana_dataset_map(range(context, 6), &(liana_map_options){.function = example_lists,
                                                                     .components = &ragged,
                                                                     .num_components = 1});
}

static void test_buckets(void **state)
{
    (void)state;
    liana_context *context = liana__test_context();
    const int64_t boundaries[] = {3, 5}, sizes[] = {2, 2, 2}, wide[] = {4, 7}, other_sizes[] = {2, 3, 1};
    liana_bucket_options options = {.component = "v",
                                    .boundaries = boundaries,
                                    .batch_sizes = sizes,
                                    .num_boundaries = 2};
    gives(liana_dataset_bucket_by_sequence_length(lists(context), &options),
          "[[1 2 3 4] [5 6 7 0]] [[7 8 9 10 11 0] [13 14 15 16 19 20]] [[0 0] [21 22]] ");
    const liana_component_padding minus = {.component = "v", .value = -1};
    options.paddings = &minus;
    options.num_paddings = 1;
    gives(liana_dataset_bucket_by_sequence_length(lists(context), &options),
          "[[1 2 3 4] [5 6 7 -1]] [[7 8 9 10 11 -1] [13 14 15 16 19 20]] [[0 -1] [21 22]] ");
    options.num_paddings = 0;
    options.pad_to_bucket_boundary = true;
    fails(liana_dataset_bucket_by_sequence_length(lists(context), &options), LIANA_OUT_OF_RANGE,
          "[[1 2 3 4] [5 6 7 0]] ", "as long as the last boundary, 5, or longer");
    options = (liana_bucket_options){.component = "v",
                                     .boundaries = wide,
                                     .batch_sizes = other_sizes,
                                     .num_boundaries = 2,
                                     .pad_to_bucket_boundary = true};
    gives(liana_dataset_bucket_by_sequence_length(lists(context), &options),
          "[[0 0 0] [5 6 7]] [[1 2 3 4 0 0] [7 8 9 10 11 0] [13 14 15 16 19 20]] [[21 22 0]] ");
    const int64_t falling[] = {5, 5};
    options.boundaries = falling;
    refused(liana_dataset_bucket_by_sequence_length(lists(context), &options),
            "boundaries[1] is 5, expected more than 5");
    options.boundaries = wide;
    options.component = "x";
    refused(liana_dataset_bucket_by_sequence_length(lists(context), &options), "the component 'x' is missing");
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_padded_batches),       cmocka_unit_test(test_paddings_that_do_not_fit),
        cmocka_unit_test(test_lines_and_words),      cmocka_unit_test(test_compressed_lines),
        cmocka_unit_test(test_fixed_length_records), cmocka_unit_test(test_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
