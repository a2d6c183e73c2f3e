/* Numbers have a point, in files and out of them, in a program whose locale has a decimal comma. */
#include "harness/command_run.h"
#include "harness/peers.h"

#include "base/file.h"
#include "base/format.h"
#include "base/value.h"
#include "formats/json.h"
#include "formats/yaml.h"
#include "layers/initializers.h"

#include <liana/liana.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* Makes the locale, as far as the system can. */
static int make_locale(void **state)
{
    (void)state;
    char folder[256], command[600];
    snprintf(folder, sizeof folder, "%s", liana__test_folder());
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >&2", folder);
    if (system(command) != 0) print_message("localedef has failed\n");
    return setenv("LOCPATH", folder, 1);
}

/* The test is skipped where there is no such locale. */
static void use_commas(void)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        liana__test_skip("there is no locale de_DE.UTF-8, and none can be made: install the package locales");
    }
    char number[16];
    snprintf(number, sizeof number, "%.1f", 0.5);
    assert_string_equal(number, "0,5"); /* or the tests could not fail */
}

static int use_points(void **state)
{
    (void)state;
    setlocale(LC_ALL, "C");
    return 0;
}

static void test_helpers(void **state)
{
    (void)state;
    use_commas();
    char number[32], *end;
    liana__text text = {0};
    liana__error error = {0};
    liana__arena arena = {0};
    liana__format(number, sizeof number, "%.2f %g", 1.25, 0.5);
    assert_string_equal(number, "1.25 0.5");
    assert_compare(liana__parse_double("2.5e-1,", &end), ==, 0.25);
    assert_compare(*end, ==, ',');
    liana__text_add(&text, "%.3f ", 0.125);
    liana__text_add_double(&text, 0.1);
    liana__text_add_double(&text, 1e-5);
    liana__text_add_double(&text, 3);
    assert_string_equal(text.data, "0.125 0.11.0e-053.0");
    liana__text_free(&text);
    liana_status status = liana__fail(&error, LIANA_INTERNAL, "%.1f", 0.5);
    liana__fail_within(&error, "%g", 1.5);
    assert_fails(status, LIANA_INTERNAL, &error, "1.5: 0.5");
    assert_string_equal(liana__arena_format(&arena, "%.2f", 0.25), "0.25");
    liana__arena_free(&arena);
    snprintf(number, sizeof number, "%.1f", 0.5);
    assert_string_equal(number, "0,5"); /* the program's locale is as it was */
}

static void test_readers_and_writers(void **state)
{
    (void)state;
    use_commas();
    liana__arena arena = {0};
    liana__error error = {0};
    liana__value *yaml, *json;
    static const char yaml_text[] = "{a: 0.25, b: 1e-3, c: [1.5, -2.75]}", json_text[] = "{\"a\": 0.25, \"b\": 1.5e3}";
    assert_ok(liana__yaml_parse(yaml_text, strlen(yaml_text), "t", &arena, &yaml, &error), &error);
    assert_compare(liana__value_get(yaml, "a")->number, ==, 0.25);
    assert_compare(liana__value_get(yaml, "b")->number, ==, 1e-3);
    assert_compare(liana__value_get(yaml, "c")->items[1]->number, ==, -2.75);
    assert_ok(liana__json_parse(json_text, strlen(json_text), "t", &arena, &json, &error), &error);
    assert_compare(liana__value_get(json, "a")->number, ==, 0.25);
    assert_compare(liana__value_get(json, "b")->number, ==, 1500);
    liana__text text = {0};
    liana__value_write_json(json, 0, &text);
    liana__value_write_yaml(json, &text);
    assert_never_says(text.data, "0,");
    assert_says(text.data, "0.25");
    liana__text_free(&text);
    liana__arena_free(&arena);
}

static void train(const char *run)
{
    assert_code(liana__test_command("train", liana__test_path("config.yaml"), "--out", liana__test_path(run),
                                    "train.optimizer={name: Adam, learning_rate: 0.0031}"),
                0);
}

/* A whole run: the files are the same, byte for byte. */
static void test_a_run_under_a_comma(void **state)
{
    (void)state;
    static const char *const names[] = {"history.json", "model.json", "validation_predictions.csv",
                                        "test_predictions.csv", "curves.png"};
    char ours[64], theirs[64];
    use_commas();
    setlocale(LC_ALL, "C");
    liana__test_tiny_run(200);
    train("points");
    assert_code(liana__test_command("report", liana__test_path("points")), 0);
    use_commas();
    train("commas");
    assert_code(liana__test_command("report", liana__test_path("commas")), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(ours, sizeof ours, "commas/%s", names[i]);
        snprintf(theirs, sizeof theirs, "points/%s", names[i]);
        assert_same_file(liana__test_path(ours), liana__test_path(theirs));
    }
    char variables[2][600];
    snprintf(variables[0], sizeof variables[0], "%s/variables.safetensors", liana__test_newest_checkpoint("points"));
    snprintf(variables[1], sizeof variables[1], "%s/variables.safetensors", liana__test_newest_checkpoint("commas"));
    assert_same_file(variables[0], variables[1]);
    /* The configuration is read again where the run is used. */
    liana__test_result got = liana__test_command("predict", liana__test_path("commas"), "--data",
                                                 liana__test_path("test-images"), "--out", liana__test_path("p.csv"));
    assert_code(got, 0);
    got = liana__test_command("predict", liana__test_path("points"), "--data", liana__test_path("test-images"), "--out",
                              liana__test_path("q.csv"));
    assert_code(got, 0);
    assert_same_file(liana__test_path("p.csv"), liana__test_path("q.csv"));
}

/* Texts with numbers that a program gives. */
static void test_options_of_programs(void **state)
{
    (void)state;
    use_commas();
    liana__test_tiny_data("train", 40, 1);
    liana_context *context;
    liana_model *model;
    liana_dataset *data;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_flatten(model);
    liana_dense(model, .units = 4, .activation = "softmax", .kernel_initializer = "random_normal(stddev=0.25)");
    if (liana_model_status(model) != LIANA_OK) print_error("%s\n", liana_context_message(context));
    assert_int_equal(liana_model_status(model), LIANA_OK);
    assert_int_equal(liana_dataset_open(context, liana__test_path("train-images"), NULL, &data), LIANA_OK);
    liana_fit_options options = {.training = data, .optimizer = "{name: SGD, momentum: 0.5, learning_rate: 0.01}"};
    assert_int_equal(liana_fit(model, &options), LIANA_OK);
    liana_dataset_close(data);
    liana_model_destroy(model);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_helpers, use_points),
        cmocka_unit_test_teardown(test_readers_and_writers, use_points),
        cmocka_unit_test_teardown(test_a_run_under_a_comma, use_points),
        cmocka_unit_test_teardown(test_options_of_programs, use_points),
    };
    return cmocka_run_group_tests(tests, make_locale, NULL);
}
