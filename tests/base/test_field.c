/* Tables of fields: reading, defaults, checks and messages. */
#include "harness/harness.h"

#include "base/field.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct inner {
    int64_t factor;
    const char *path;
} inner;

typedef struct sample {
    bool shuffle;
    int64_t epochs;
    double rate;
    const char *name;
    const char *file;
    int padding;
    int64_t size[2];
    liana__ints shape;
    liana__strings metrics;
    liana__strings files;
    const liana__value *optimizer;
    double momentum;
    inner resize;
} sample;

static const char *const paddings[] = {"valid", "same", "causal", NULL};

static const liana__field inner_items[] = {
    {.name = "factor", .kind = LIANA__FIELD_INT, .offset = offsetof(inner, factor), .default_text = "2"},
    {.name = "path", .kind = LIANA__FIELD_PATH, .offset = offsetof(inner, path)},
};
static const liana__fields inner_fields = {"resize", sizeof(inner), 2, inner_items};

static const liana__field sample_items[] = {
    {.name = "shuffle", .kind = LIANA__FIELD_BOOL, .offset = offsetof(sample, shuffle), .default_text = "true"},
    {.name = "epochs",
     .kind = LIANA__FIELD_INT,
     .offset = offsetof(sample, epochs),
     .required = true,
     .minimum = 1,
     .maximum = INFINITY,
     .doc = "how many times to go over the data"},
    {.name = "rate",
     .kind = LIANA__FIELD_FLOAT,
     .offset = offsetof(sample, rate),
     .default_text = "1.0e-3",
     .minimum = 0,
     .maximum = 0.5},
    {.name = "name", .kind = LIANA__FIELD_STRING, .offset = offsetof(sample, name), .default_text = "1"},
    {.name = "file", .kind = LIANA__FIELD_PATH, .offset = offsetof(sample, file)},
    {.name = "padding",
     .kind = LIANA__FIELD_ENUM,
     .offset = offsetof(sample, padding),
     .default_text = "same",
     .names = paddings},
    {.name = "size",
     .kind = LIANA__FIELD_INT_PAIR,
     .offset = offsetof(sample, size),
     .default_text = "[3, 5]",
     .minimum = 1,
     .maximum = 100},
    {.name = "shape", .kind = LIANA__FIELD_INTS, .offset = offsetof(sample, shape)},
    {.name = "metrics",
     .kind = LIANA__FIELD_STRINGS,
     .offset = offsetof(sample, metrics),
     .default_text = "[accuracy, 5]"},
    {.name = "files", .kind = LIANA__FIELD_PATHS, .offset = offsetof(sample, files)},
    {.name = "optimizer", .kind = LIANA__FIELD_VALUE, .offset = offsetof(sample, optimizer), .default_text = "Adam"},
    {.name = "momentum",
     .kind = LIANA__FIELD_FLOAT,
     .offset = offsetof(sample, momentum),
     .default_text = "null",
     .maximum = 1},
    {.name = "resize", .kind = LIANA__FIELD_SECTION, .offset = offsetof(sample, resize), .section = &inner_fields},
};
static const liana__fields sample_fields = {"train", sizeof(sample), sizeof sample_items / sizeof *sample_items,
                                            sample_items};

typedef struct fixture {
    liana__arena arena;
    liana__error error;
    sample object;
    liana__value *map;
} fixture;

static int set_up(void **state)
{
    static fixture fixed;
    fixed = (fixture){0};
    fixed.map = liana__value_map(&fixed.arena);
    fixed.map->place = (liana__place){"dir/c.yaml", 1, 1};
    *state = &fixed;
    return 0;
}

static int tear_down(void **state)
{
    liana__arena_free(&((fixture *)*state)->arena);
    return 0;
}

/* Sets a key as if written in dir/c.yaml at line 7, key in column 3, value in column 9. */
static void set(fixture *fixed, const char *key, liana__value *value)
{
    value->place = (liana__place){"dir/c.yaml", 7, 9};
    liana__value_append(&fixed->arena, fixed->map, key, &(liana__place){"dir/c.yaml", 7, 3}, value);
}

static liana__value *list_of(fixture *fixed, size_t count, const char *const *words)
{
    liana__value *list = liana__value_list(&fixed->arena);
    for (size_t i = 0; i < count; i++) {
        liana__value *item = liana__value_from_word(&fixed->arena, words[i]);
        item->place = (liana__place){"dir/c.yaml", 7, 10 + (int)i};
        liana__value_add(&fixed->arena, list, item);
    }
    return list;
}

static liana_status read_it(fixture *fixed)
{
    return liana__fields_read(&sample_fields, fixed->map, "train", NULL, &fixed->arena, &fixed->object, &fixed->error);
}

static void test_defaults(void **state)
{
    fixture *fixed = *state;
    memset(&fixed->object, 0xAB, sizeof fixed->object);
    assert_ok(liana__fields_default(&sample_fields, &fixed->arena, &fixed->object, &fixed->error), &fixed->error);
    const sample *object = &fixed->object;
    assert_true(object->shuffle);
    assert_int_equal(object->epochs, 0);
    assert_compare(object->rate, ==, 1e-3);
    assert_string_equal(object->name, "1");
    assert_null(object->file);
    assert_int_equal(object->padding, 1);
    assert_int_equal(object->size[0], 3);
    assert_int_equal(object->size[1], 5);
    assert_int_equal(object->shape.count, 0);
    assert_int_equal(object->metrics.count, 2);
    assert_string_equal(object->metrics.items[1], "5");
    assert_string_equal(object->optimizer->string, "Adam");
    assert_true(isnan(object->momentum));
    assert_int_equal(object->resize.factor, 2);
}

static void test_reads_every_kind(void **state)
{
    fixture *fixed = *state;
    liana__arena *arena = &fixed->arena;
    set(fixed, "shuffle", liana__value_bool(arena, false));
    set(fixed, "epochs", liana__value_float(arena, 1e3));
    set(fixed, "rate", liana__value_int(arena, 0));
    set(fixed, "name", liana__value_null(arena));
    set(fixed, "file", liana__value_string(arena, "../x/*.h5"));
    set(fixed, "padding", liana__value_string(arena, "valid"));
    set(fixed, "momentum", liana__value_float(arena, 0.9));
    set(fixed, "size", liana__value_int(arena, 7));
    set(fixed, "shape", list_of(fixed, 3, (const char *const[]){"1", "-2", "3"}));
    set(fixed, "metrics", liana__value_string(arena, "loss"));
    set(fixed, "files", list_of(fixed, 2, (const char *const[]){"/a/b", "c"}));
    liana__value *section = liana__value_map(arena);
    liana__value_set(arena, section, "factor", liana__value_int(arena, 9));
    set(fixed, "resize", section);
    assert_ok(read_it(fixed), &fixed->error);
    const sample *object = &fixed->object;
    assert_false(object->shuffle);
    assert_int_equal(object->epochs, 1000);
    assert_null(object->name);
    assert_string_equal(object->file, "dir/../x/*.h5");
    assert_int_equal(object->padding, 0);
    assert_int_equal(object->size[1], 7);
    assert_compare(object->momentum, ==, 0.9);
    assert_int_equal(object->shape.count, 3);
    assert_int_equal(object->shape.values[1], -2);
    assert_int_equal(object->metrics.count, 1);
    assert_string_equal(object->files.items[0], "/a/b");
    assert_string_equal(object->files.items[1], "dir/c");
    assert_int_equal(object->resize.factor, 9);
    assert_null(object->resize.path);
}

static void test_paths_of_the_command_line_stay(void **state)
{
    fixture *fixed = *state;
    set(fixed, "epochs", liana__value_int(&fixed->arena, 1));
    liana__value *path = liana__value_string(&fixed->arena, "here.h5");
    set(fixed, "file", path);
    path->place = (liana__place){.file = "command line"};
    assert_ok(read_it(fixed), &fixed->error);
    assert_string_equal(fixed->object.file, "here.h5");
}

static void test_written_and_read_again_is_the_same(void **state)
{
    fixture *fixed = *state;
    set(fixed, "epochs", liana__value_int(&fixed->arena, 4));
    set(fixed, "file", liana__value_string(&fixed->arena, "/w.h5"));
    set(fixed, "name", liana__value_null(&fixed->arena));
    set(fixed, "metrics", liana__value_null(&fixed->arena));
    set(fixed, "optimizer", list_of(fixed, 2, (const char *const[]){"a", "1"}));
    assert_ok(read_it(fixed), &fixed->error);
    liana__value *written = liana__fields_write(&sample_fields, &fixed->arena, &fixed->object);
    assert_int_equal(written->count, sample_fields.count);
    sample again;
    assert_ok(liana__fields_read(&sample_fields, written, "train", NULL, &fixed->arena, &again, &fixed->error),
              &fixed->error);
    assert_true(liana__value_equal(written, liana__fields_write(&sample_fields, &fixed->arena, &again)));
    assert_null(again.name);
    assert_true(isnan(again.momentum));
    assert_int_equal(again.metrics.count, 0);
    assert_string_equal(again.file, "/w.h5");
}

/* One bad value under one key, and the text of the message. */
static void assert_refused(void **state, const char *key, liana__value *value, const char *message)
{
    fixture *fixed = *state;
    fixed->map = liana__value_map(&fixed->arena);
    fixed->map->place = (liana__place){"dir/c.yaml", 1, 1};
    if (strcmp(key, "epochs") != 0) set(fixed, "epochs", liana__value_int(&fixed->arena, 1));
    set(fixed, key, value);
    assert_int_equal(read_it(fixed), LIANA_INVALID_CONFIG);
    assert_string_equal(fixed->error.message, message);
}

static void test_bad_values_say_where_and_what(void **state)
{
    fixture *fixed = *state;
    liana__arena *arena = &fixed->arena;
    assert_refused(state, "bach_size", liana__value_int(arena, 1),
                   "dir/c.yaml:7:3: train: unknown key 'bach_size'; the known keys are shuffle, epochs, rate, name, "
                   "file, padding, size, shape, metrics, files, optimizer, momentum, resize");
    assert_refused(state, "shufle", liana__value_int(arena, 1),
                   "dir/c.yaml:7:3: train: unknown key 'shufle'; did you mean 'shuffle'?");
    assert_refused(state, "epochs", liana__value_int(arena, 0),
                   "dir/c.yaml:7:9: train.epochs: found the number 0, expected a whole number of at least 1");
    assert_refused(state, "epochs", liana__value_float(arena, 1.5),
                   "dir/c.yaml:7:9: train.epochs: found the number 1.5, expected a whole number of at least 1");
    assert_refused(state, "rate", liana__value_float(arena, NAN),
                   "dir/c.yaml:7:9: train.rate: found the number nan, expected a number from 0.0 to 0.5");
    assert_refused(state, "rate", liana__value_float(arena, 0.6),
                   "dir/c.yaml:7:9: train.rate: found the number 0.6, expected a number from 0.0 to 0.5");
    assert_refused(state, "shuffle", liana__value_string(arena, "yes"),
                   "dir/c.yaml:7:9: train.shuffle: found the text 'yes', expected true or false");
    assert_refused(state, "name", liana__value_int(arena, 3),
                   "dir/c.yaml:7:9: train.name: found the number 3, expected text; write it in quotes");
    assert_refused(state, "file", liana__value_string(arena, ""),
                   "dir/c.yaml:7:9: train.file: found the text '', expected a path");
    assert_refused(state, "padding", liana__value_string(arena, "smae"),
                   "dir/c.yaml:7:9: train.padding: found the text 'smae', expected valid, same or causal; did you mean "
                   "'same'?");
    assert_refused(state, "size", list_of(fixed, 3, (const char *const[]){"1", "2", "3"}),
                   "dir/c.yaml:7:9: train.size: found a list of 3, expected one whole number or two in a list");
    assert_refused(state, "size", list_of(fixed, 2, (const char *const[]){"1", "0"}),
                   "dir/c.yaml:7:11: train.size[1]: found the number 0, expected a whole number from 1 to 100");
    assert_refused(state, "metrics", list_of(fixed, 2, (const char *const[]){"a", "1"}),
                   "dir/c.yaml:7:11: train.metrics[1]: found the number 1, expected text; write it in quotes");
    static const char *const many[LIANA_MAX_INTS + 1] = {"1", "1", "1", "1", "1", "1", "1", "1", "1",
                                                         "1", "1", "1", "1", "1", "1", "1", "1"};
    assert_refused(state, "shape", list_of(fixed, LIANA_MAX_INTS + 1, many),
                   "dir/c.yaml:7:9: train.shape: found a list of 17, expected a list of at most 16 whole numbers");
    assert_refused(state, "resize", liana__value_int(arena, 2),
                   "dir/c.yaml:7:9: train.resize: found the number 2, expected a mapping (key: value)");
}

static void test_missing_ignored_and_nested(void **state)
{
    fixture *fixed = *state;
    assert_int_equal(read_it(fixed), LIANA_INVALID_CONFIG);
    assert_string_equal(fixed->error.message,
                        "dir/c.yaml:1:1: train: the key 'epochs' is missing: how many times to go "
                        "over the data");
    assert_fails(liana__fields_read(&sample_fields, NULL, "train", NULL, &fixed->arena, &fixed->object, &fixed->error),
                 LIANA_INVALID_CONFIG, &fixed->error, "train: the key 'epochs' is missing");
    set(fixed, "epochs", liana__value_int(&fixed->arena, 1));
    set(fixed, "class", liana__value_int(&fixed->arena, 1));
    assert_ok(liana__fields_read(&sample_fields, fixed->map, "train", (const char *const[]){"name", "class", NULL},
                                 &fixed->arena, &fixed->object, &fixed->error),
              &fixed->error);
    assert_fails(read_it(fixed), LIANA_INVALID_CONFIG, &fixed->error, "unknown key 'class'");
    liana__value *section = liana__value_map(&fixed->arena), *factor = liana__value_bool(&fixed->arena, true);
    factor->place = (liana__place){"dir/c.yaml", 8, 5};
    liana__value_set(&fixed->arena, section, "factor", factor);
    assert_refused(state, "resize", section,
                   "dir/c.yaml:8:5: train.resize.factor: found true, expected a whole number");
}

static void test_a_wrong_default_is_our_own_defect(void **state)
{
    fixture *fixed = *state;
    static const liana__field items[] = {{.name = "factor", .kind = LIANA__FIELD_INT, .default_text = "two"}};
    static const liana__fields fields = {"resize", sizeof(inner), 1, items};
    assert_fails(liana__fields_default(&fields, &fixed->arena, &fixed->object, &fixed->error), LIANA_INTERNAL,
                 &fixed->error, "the default of resize", "factor", "'two'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reads_every_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_paths_of_the_command_line_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_written_and_read_again_is_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_values_say_where_and_what, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_ignored_and_nested, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_wrong_default_is_our_own_defect, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
