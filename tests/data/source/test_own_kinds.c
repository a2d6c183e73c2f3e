/* Kinds of data that a program registers: copies of liana's own, and one that fills in the opening. */
#include "harness/command_run.h"

#include "data/source/part.h"
#include "data/source/source_open.h"

#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static liana_status open_as(const liana_context *context, const char *kind, const char *pattern, liana__source **source,
                            liana__error *error)
{
    return liana__source_open(&pattern, 1, &(liana__source_options){.context = context, .kind = kind}, source, error);
}

static void register_copy(liana_context *context, const liana_source_type *type, const char *name)
{
    liana_source_type copy = *type;
    copy.part.name = name;
    if (liana_register(context, &copy.part) != LIANA_OK) fail_msg("%s: %s", name, liana_context_message(context));
}

static void assert_same_records(const liana__source *a, const liana__source *b)
{
    liana__error error = {0};
    void *scratch[2] = {liana__source_scratch_create(a), liana__source_scratch_create(b)};
    assert_int_equal(a->num_records, b->num_records);
    assert_int_equal(a->has_labels, b->has_labels);
    for (uint64_t i = 0; i < a->num_records && i < 50; i++) {
        liana_source_record x, y;
        assert_int_equal(liana__source_read(a, i, scratch[0], &x, &error), LIANA_OK);
        assert_int_equal(liana__source_read(b, i, scratch[1], &y, &error), LIANA_OK);
        assert_int_equal(x.label, y.label);
        assert_int_equal(x.size, y.size);
        assert_int_equal(x.height, y.height);
        if (x.bytes) assert_memory_equal(x.bytes, y.bytes, x.size);
        if (x.pixels) assert_memory_equal(x.pixels, y.pixels, (size_t)(x.height * x.width * x.channels));
        const liana_record_address at = liana__source_address(a, i), there = liana__source_address(b, i);
        assert_string_equal(at.file, there.file);
        assert_int_equal(at.record, there.record);
        assert_int_equal(liana__source_offset(a, i), liana__source_offset(b, i));
    }
    liana__source_scratch_destroy(a, scratch[0]);
    liana__source_scratch_destroy(b, scratch[1]);
}

static void test_copies_read_the_same(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_data("train", 40, 1);
    char *list = strdup(liana__test_path("list.csv")), *images = strdup(liana__test_path("train-images"));
    char *records = strdup(liana__test_data("flowers192/train/*.tfrec"));
    FILE *file = fopen(list, "w");
    assert_non_null(file);
    fprintf(file, "image,label\n%s,3\n", liana__test_data("photos/panda.jpg"));
    fclose(file);
    const struct {
        const liana_source_type *type;
        const char *name, *pattern;
    } cases[] = {{&liana__source_idx, "my_idx", images},
                 {&liana__source_tfrecord, "my_records", records},
                 {&liana__source_csv, "my_list", list},
                 {&liana__source_folder, "my_images", liana__test_data("photos/panda.jpg")}};
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__error error = {0};
        liana__source *builtin, *copy;
        register_copy(context, cases[i].type, cases[i].name);
        if (open_as(context, cases[i].type->part.name, cases[i].pattern, &builtin, &error) != LIANA_OK) {
            fail_msg("%s", error.message);
        }
        if (open_as(context, cases[i].name, cases[i].pattern, &copy, &error) != LIANA_OK) fail_msg("%s", error.message);
        assert_string_equal(copy->kind->part.name, cases[i].name);
        assert_same_records(builtin, copy);
        liana__source_close(builtin);
        liana__source_close(copy);
    }
    free(list);
    free(images);
    free(records);
    liana_context_destroy(context);
}

/* ---- a kind that fills in the opening ---- */

/* Each file is one of three records: its first byte is their fault. */
typedef struct letters {
    char first;
    liana_component component;
} letters;

static int closed;
static uint8_t picture[6] = {1, 2, 3, 4, 5, 6};

static liana_status open_letters(liana_source_opening *opening)
{
    static letters own;
    opening->handle = &own;
    FILE *file = fopen(opening->paths[0], "r");
    if (!file) return LIANA_IO_ERROR;
    own.first = (char)fgetc(file);
    fclose(file);
    if (own.first == 'o') {
        snprintf(opening->message, LIANA_SOURCE_MESSAGE, "it begins with o");
        return LIANA_INVALID_DATA;
    }
    own.component = (liana_component){"x", LIANA_F32, liana_shape_of(2)};
    if (own.first == 'c') own.component.shape.dims[0] = 0;
    opening->num_records = 3;
    opening->has_images = opening->has_labels = true;
    opening->components = &own.component;
    opening->num_components = 1;
    return LIANA_OK;
}

static void close_letters(void *handle)
{
    assert_non_null(handle);
    closed++;
}

static liana_status read_letters(void *handle, liana_source_record *record)
{
    static const float values[3][2] = {{1, 2}, {3, 4}, {5, 6}};
    const letters *own = handle;
    if (own->first == 'r') {
        snprintf(record->message, LIANA_SOURCE_MESSAGE, "it cannot be read");
        return LIANA_DATA_LOSS;
    }
    record->pixels = own->first == 'p' ? NULL : picture;
    record->height = 2;
    record->width = own->first == 'w' ? 0 : 3;
    record->channels = 1;
    record->values[0] = own->first == 'v' ? NULL : values[record->index];
    record->has_label = true;
    record->label = (int64_t)record->index - 1; /* any number */
    record->id = record->index == 1 ? "one" : NULL;
    return LIANA_OK;
}

static int64_t label_of(const void *handle, uint64_t index)
{
    (void)handle;
    return (int64_t)index - 1;
}

static const liana_source_type letters_type = {
    LIANA_PART(SOURCE, liana_source_type, "letters", "Three pictures."),
    .open = open_letters,
    .close = close_letters,
    .read = read_letters,
    .known_label = label_of,
};

static const char *write_letter(char letter)
{
    char name[] = "x.letters";
    name[0] = letter;
    const char *path = liana__test_path(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputc(letter, file);
    fclose(file);
    return path;
}

static void test_a_kind_of_a_program(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context;
    liana__error error = {0};
    liana__source *source, *training, *validation;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_register(context, &letters_type.part), LIANA_OK);
    closed = 0;
    assert_int_equal(open_as(context, "letters", write_letter('a'), &source, &error), LIANA_OK);
    assert_false(source->lacks_images);
    void *scratch = liana__source_scratch_create(source);
    for (uint64_t i = 0; i < 3; i++) {
        liana_source_record record;
        assert_int_equal(liana__source_read(source, i, scratch, &record, &error), LIANA_OK);
        assert_int_equal(record.label, (int)i - 1);
        assert_true(record.has_label);
        assert_ptr_equal(record.pixels, picture);
        assert_int_equal(record.id_size, i == 1 ? 3 : 0);
        assert_float_equal(((const float *)record.values[0])[1], 2 + 2 * (float)i, 0);
        assert_says(liana__source_address(source, i).file, "a.letters");
        assert_int_equal(liana__source_address(source, i).record, (int)i);
    }
    bool seen[2] = {0};
    assert_true(liana__source_known_classes(source, 0, 2, seen));
    assert_true(seen[0] && seen[1]);
    liana__source_scratch_destroy(source, scratch);

    /* Of a part of it each record is checked, too. */
    const liana__split_options split = {.validation = 0.4, .seed = 1, .label_offset = 1, .owns = true};
    assert_int_equal(liana__source_split(source, &split, &training, &validation, &error), LIANA_INVALID_CONFIG);
    assert_says(error.message, "takes none");
    liana__source_close(source);
    assert_int_equal(closed, 1);
    liana_context_destroy(context);
}

static void test_wrong_kinds_are_named(void **state)
{
    (void)state;
    liana__test_folder();
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_register(context, &letters_type.part), LIANA_OK);
    static const struct {
        char letter;
        bool opens;
        const char *message;
    } cases[] = {{'o', false, "o.letters' (kind letters): it begins with o"},
                 {'c', false, "a component has no name, no dtype of numbers, or no static shape"},
                 {'r', true, "r.letters', record 2 (kind letters): it cannot be read"},
                 {'p', true, "record 2 (kind letters): it has no image"},
                 {'w', true, "its pixels are not [height, width, 1 or 3]"},
                 {'v', true, "a component has no values"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int part = 0; part <= cases[i].opens; part++) {
            liana__error error = {0};
            liana__source *source = NULL, *piece;
            closed = 0;
            liana_status status = open_as(context, "letters", write_letter(cases[i].letter), &source, &error);
            assert_int_equal(status == LIANA_OK, cases[i].opens);
            if (status == LIANA_OK && part) {
                uint64_t *records = malloc(sizeof *records);
                assert_non_null(records);
                *records = 2;
                const liana__part_options options = {.inner = source, .records = records, .count = 1, .owns = true};
                assert_int_equal(liana__source_part(&options, &piece, &error), LIANA_OK);
                source = piece;
            }
            if (status == LIANA_OK) {
                liana_source_record record;
                assert_int_not_equal(liana__source_read(source, part ? 0 : 2, NULL, &record, &error), LIANA_OK);
            }
            assert_says(error.message, cases[i].message);
            liana__source_close(source);
            assert_int_equal(closed, 1);
        }
    }
    liana_source_type type = letters_type;
    type.part.name = "auto";
    assert_int_equal(liana_register(context, &type.part), LIANA_INVALID_ARGUMENT);
    assert_says(liana_context_message(context), "liana has one of this name");
    type.part.name = "csv";
    assert_int_equal(liana_register(context, &type.part), LIANA_INVALID_ARGUMENT);
    assert_says(liana_context_message(context), "liana has one of this name");
    type.part.name = "other";
    type.read = NULL;
    assert_int_equal(liana_register(context, &type.part), LIANA_INVALID_ARGUMENT);
    assert_says(liana_context_message(context), "its function 'read' is NULL");
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_read_the_same),
        cmocka_unit_test(test_a_kind_of_a_program),
        cmocka_unit_test(test_wrong_kinds_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
