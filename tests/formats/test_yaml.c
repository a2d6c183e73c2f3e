/* YAML: values, positions and refusals. */
#include "harness/harness.h"

#include "formats/yaml.h"
#include "harness/mutate.h"
#include "harness/try/try_values.h"

#include <stdlib.h>
#include <string.h>

static liana__value *parse(liana__arena *arena, const char *text)
{
    liana__error error = {0};
    liana__value *value;
    assert_ok(liana__yaml_parse(text, strlen(text), "c.yaml", arena, &value, &error), &error);
    return value;
}

/* JSON is a notation that the writer's own tests check with another program. */
static void assert_means(const char *yaml, const char *json)
{
    liana__arena arena = {0};
    liana__text text = {0};
    liana__value_write_json(parse(&arena, yaml), 0, &text);
    assert_string_equal(text.data, json);
    liana__text_free(&text);
    liana__arena_free(&arena);
}

/* Examples 2.1 to 2.13 and 7.x of the YAML 1.2.2 specification, in parts, and our own corners. */
static void test_what_texts_mean(void **state)
{
    (void)state;
    assert_means("- Mark McGwire\n- Sammy Sosa\n", "[\"Mark McGwire\", \"Sammy Sosa\"]");
    assert_means("american:\n- Boston Red Sox\n- New York Mets\n",
                 "{\"american\": [\"Boston Red Sox\", \"New York Mets\"]}");
    assert_means("-\n  name: Mark\n  hr:   65\n", "[{\"name\": \"Mark\", \"hr\": 65}]");
    assert_means("Mark: {hr: 65, avg: 0.278}", "{\"Mark\": {\"hr\": 65, \"avg\": 0.278}}");
    assert_means("a: &SS Sammy\nb: *SS\n", "{\"a\": \"Sammy\", \"b\": \"Sammy\"}");
    assert_means("--- |\n  \\//||\\/||\n  // ||  ||__\n", "\"\\\\//||\\\\/||\\n// ||  ||__\\n\"");
    assert_means("'it''s': \"\\u263A\\n\"", "{\"it's\": \"\xE2\x98\xBA\\n\"}");
    assert_means(
        "lr: 3.0e-4\nmomentum: 1e-4\nsteps: 10\nflag: true\nnone: ~\nempty:\n",
        "{\"lr\": 0.0003, \"momentum\": 0.0001, \"steps\": 10, \"flag\": true, \"none\": null, \"empty\": null}");
    assert_means("a: '1'\nb: \"true\"\nc: !!str 3\nd: yes\n",
                 "{\"a\": \"1\", \"b\": \"true\", \"c\": \"3\", \"d\": \"yes\"}");
    assert_means("0: daisy\nnull: x\n", "{\"0\": \"daisy\", \"null\": \"x\"}");
    assert_means("x: ../a/*.tfrec # all of them\ny: a#b\nz: http://h:1/p\n",
                 "{\"x\": \"../a/*.tfrec\", \"y\": \"a#b\", \"z\": \"http://h:1/p\"}");
    assert_means("a: [192,\n  192]\nb: multi\n  line\n", "{\"a\": [192, 192], \"b\": \"multi line\"}");
    assert_means("{\"json\": [1, 2.5, null, {\"deep\": false}]}", "{\"json\": [1, 2.5, null, {\"deep\": false}]}");
    assert_means("\xEF\xBB\xBFz: 1\n", "{\"z\": 1}");
    assert_means("a: 1\r\nb: 2\r\n", "{\"a\": 1, \"b\": 2}");
    assert_means("", "null");
    assert_means("# nothing\n\n", "null");
    assert_means("%YAML 1.2\n---\na: 1\n...\n", "{\"a\": 1}");
}

/* Texts of many pieces: escapes, and lines of a block. */
static void test_long_texts(void **state)
{
    (void)state;
    for (int pieces = 1; pieces <= 100; pieces++) {
        liana__text single = {0}, twice = {0}, block = {0}, expected = {0}, lines = {0};
        liana__text_add(&single, "'");
        liana__text_add(&twice, "\"");
        liana__text_add(&block, "|\n");
        for (int i = 0; i < pieces; i++) {
            liana__text_add(&single, "%d''", i);
            liana__text_add(&twice, "%d\\x27", i);
            liana__text_add(&block, "  line %d\n", i);
            liana__text_add(&expected, "%d'", i);
            liana__text_add(&lines, "line %d\n", i);
        }
        liana__text_add(&single, "'");
        liana__text_add(&twice, "\"");
        liana__arena arena = {0};
        assert_string_equal(parse(&arena, single.data)->string, expected.data);
        assert_string_equal(parse(&arena, twice.data)->string, expected.data);
        assert_string_equal(parse(&arena, block.data)->string, lines.data);
        liana__arena_free(&arena);
        liana__text *const all[] = {&single, &twice, &block, &expected, &lines};
        for (size_t i = 0; i < 5; i++) liana__text_free(all[i]);
    }
}

static void assert_place(const liana__value *value, int line, int column)
{
    assert_non_null(value);
    assert_string_equal(value->place.file, "c.yaml");
    assert_int_equal(value->place.line, line);
    assert_int_equal(value->place.column, column);
}

static void test_places(void **state)
{
    (void)state;
    liana__arena arena = {0};
    const liana__value *root = parse(&arena, "data:\n"
                                             "  train: \"x\"\n"
                                             "  size: [192, 1e-4]\n"
                                             "  empty:\n"
                                             "  note: |\n"
                                             "    text\n"
                                             "model: {base: 'B', alpha: &a 0.35}\n"
                                             "layers:\n"
                                             "  - Dense: *a\n");
    const liana__value *data = liana__value_get(root, "data");
    assert_place(root, 1, 1);
    assert_place(data, 2, 3);
    assert_int_equal(data->key_places[1].line, 3);
    assert_int_equal(data->key_places[1].column, 3);
    assert_place(liana__value_get(data, "train"), 2, 10);
    assert_place(liana__value_get(data, "size"), 3, 9);
    assert_place(liana__value_get(data, "size")->items[1], 3, 15);
    assert_place(liana__value_get(data, "empty"), 4, 3);
    assert_place(liana__value_get(data, "note"), 5, 3);
    const liana__value *model = liana__value_get(root, "model");
    assert_place(model, 7, 8);
    assert_place(liana__value_get(model, "base"), 7, 15);
    const liana__value *layers = liana__value_get(root, "layers");
    assert_place(layers->items[0], 9, 5);
    assert_ptr_equal(liana__value_get(layers->items[0], "Dense"), liana__value_get(model, "alpha"));
    liana__arena_free(&arena);
}

static void assert_refused(const char *text, size_t size, const char *message)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *value;
    assert_fails(liana__yaml_parse(text, size, "c.yaml", &arena, &value, &error), LIANA_INVALID_CONFIG, &error,
                 message);
    assert_null(value);
    liana__arena_free(&arena);
}

static void test_what_is_refused_and_where(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a: 1\nb: 2\na: 3\n", "c.yaml:3:1: the key 'a' was given before, in line 1"},
        {"x: {k: 1, \"k\": 2}", "c.yaml:1:11: the key 'k' was given before, in line 1"},
        {"a: [1, 2\nb: 3\n", "c.yaml:3:1: not valid YAML: "},
        {"a:\n\t- b", "c.yaml:2:1: not valid YAML: tab"},
        {"a: \"b\n", "c.yaml:1:5: not valid YAML: double-quoted scalar without closing quote"},
        {"a: b: c", "c.yaml:1:5: not valid YAML"},
        {"a: 1\n---\nb: 2\n", "c.yaml:2:1: a second document"},
        {"a: !foo 3", "c.yaml:1:4: tag '!foo' is not supported"},
        {"? [a]\n: b", "c.yaml:1:3: a key is a list or a mapping"},
        {"a: &x 1\n*x : 3", "c.yaml:2:1: an alias as a key"},
        {"&x a: 1", "c.yaml:1:4: an anchor on a key"},
        {"a: \"\\0\"", "c.yaml:1:4: a text holds a 0 byte"},
        {"a: *b", "c.yaml:1:4: the alias '*b' has no finished anchor"},
        {"a: &b [*b]", "c.yaml:1:8: the alias '*b' has no finished anchor"},
        {"a: 1\nb: \x01", "c.yaml:2:4: the character U+0001"},
        {"a: \xC3\xA9\xC3", "c.yaml:1:5: byte 0xC3 is not UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(cases[i][0], strlen(cases[i][0]), cases[i][1]);
    }
    assert_refused("a: b\0c", 6, "c.yaml:1:5: the character U+0000");
}

static void test_limits(void **state)
{
    (void)state;
    liana__text text = {0};
    for (int i = 0; i < LIANA__YAML_MAX_DEPTH; i++) liana__text_add(&text, "[");
    for (int i = 0; i < LIANA__YAML_MAX_DEPTH; i++) liana__text_add(&text, "]");
    liana__arena arena = {0};
    parse(&arena, text.data);
    liana__arena_free(&arena);
    liana__text_free(&text);
    for (int i = 0; i < 100000; i++) liana__text_add(&text, "[");
    assert_refused(text.data, text.length, "more than 64 lists and mappings deep");
    liana__text_free(&text);
    /* Each line stands for ten of the line before: 10^7 values in 8 lines. */
    liana__text_add(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 8; i++) {
        liana__text_add(&text, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++) liana__text_add(&text, "*a%d%s", i - 1, j < 9 ? ", " : "]\n");
    }
    assert_refused(text.data, text.length, "more than 1000000 values (with aliases)");
    liana__text_free(&text);
    for (int i = 0; i <= LIANA__YAML_MAX_KEYS; i++) liana__text_add(&text, "k%d: 1\n", i);
    assert_refused(text.data, text.length, "c.yaml:10001:1: more than 10000 keys in one mapping");
    liana__text_free(&text);
    char *large = calloc(1, (size_t)LIANA__YAML_MAX_SIZE + 1);
    assert_refused(large, (size_t)LIANA__YAML_MAX_SIZE + 1, "expected at most 16777216");
    free(large);
}

static void test_files(void **state)
{
    (void)state;
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *value;
    const char *path = liana__test_write("a.yaml", "a: [", 4);
    assert_fails(liana__yaml_read(path, &arena, &value, &error), LIANA_INVALID_CONFIG, &error,
                 "/a.yaml:2:1: not valid");
    assert_fails(liana__yaml_read(liana__test_path("no.yaml"), &arena, &value, &error), LIANA_NOT_FOUND, &error,
                 "no.yaml");
    path = liana__test_write("a.yaml", "a: 1", 4);
    assert_ok(liana__yaml_read(path, &arena, &value, &error), &error);
    assert_string_equal(value->place.file, path);
    liana__arena_free(&arena);
}

static const char seed_text[] = "data:\n"
                                "  train: ../../shared/data/*.tfrec  # a pattern\n"
                                "  image_size: [192, 192]\n"
                                "  names: &n [a, 'b', \"c\\n\\x41\\u00e9\"]\n"
                                "model: {base: MobileNetV2, alpha: 0.35, flag: true, none: ~}\n"
                                "layers:\n"
                                "- Conv2D: {filters: 32}\n"
                                "- Dense:\n"
                                "    units: 10\n"
                                "    rate: -1.5e-3\n"
                                "- !!str 12\n"
                                "- *n\n"
                                "text: |\n"
                                "  two\n"
                                "  lines\n"
                                "folded: >-\n"
                                "  one\n"
                                "  line\n"
                                "? key\n"
                                ": value\n"
                                "...\n";

static void test_damaged_texts_fail_cleanly_or_round_trip(void **state)
{
    (void)state;
    int good = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        size_t size;
        char *damaged =
            liana__test_mutate(seed_text, sizeof seed_text - 1, " \n:-[]{}#&*!|>'\"%@`,?\\~.0e", 1, i, &size);
        good += liana__try_yaml((const uint8_t *)damaged, size);
        free(damaged);
    }
    assert_compare(good, >, 1000);
    assert_compare(good, <, 19000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_texts_mean),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_what_is_refused_and_where),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_damaged_texts_fail_cleanly_or_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
