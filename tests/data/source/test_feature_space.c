/* Columns of tables that become numbers, as keras.utils.FeatureSpace makes them (feature_space.py): of a table that
 * another program wrote, and of drawn ones. LIANA_FEATURE_SPACE_SEED draws others. */
#include "harness/element_text.h"
#include "harness/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line without its end; malloc'ed. */
static char *next_line(FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    if (getline(&line, &size, file) < 0) {
        free(line);
        return NULL;
    }
    line[strcspn(line, "\n")] = 0;
    return line;
}

static void compare(liana_context *context, const char *number, const char *columns, const char *const *expected)
{
    char names[2][64];
    snprintf(names[0], sizeof names[0], "tables/%s.csv", number);
    snprintf(names[1], sizeof names[1], "tables/%s.later.csv", number);
    print_message("%s: %s\n", number, columns);
    liana_dataset *first =
        liana_dataset_csv(context, liana__test_path(names[0]), &(liana_dataset_options){.columns = columns});
    liana_dataset *later =
        first ? liana_dataset_csv(context, liana__test_path(names[1]), &(liana_dataset_options){.classes_of = first})
              : NULL;
    if (!later) print_error("%s\n", liana_context_message(context));
    assert_non_null(later);
    liana_dataset *both[] = {first, later};
    for (int i = 0; i < 2; i++) {
        char *found = liana__test_show(context, both[i], NULL, LIANA_END_OF_DATA);
        assert_string_equal(found, expected[i]);
        free(found);
    }
    liana_dataset_close(first);
    liana_dataset_close(later);
}

static void test_columns_have_the_numbers_of_feature_space(void **state)
{
    (void)state;
    if (!liana__test_peer("tensorflow")) return;
    const char *seed = getenv("LIANA_FEATURE_SPACE_SEED"), *folder = liana__test_path("tables");
    const char *const make[] = {"mkdir", "-p", folder, NULL};
    liana__test_run_program(make);
    const char *const arguments[] = {folder, liana__test_data("jpeg_odd/pillow_results.tsv"), seed ? seed : "1", NULL};
    liana__test_run_keras("tests/data/source/feature_space.py", arguments);
    FILE *file = fopen(liana__test_path("tables/tables.txt"), "r");
    assert_non_null(file);
    liana_context *context = liana__test_context();
    int count = 0;
    for (char *number; (number = next_line(file)); count++) {
        char *columns = next_line(file), *expected[] = {next_line(file), next_line(file)};
        assert_non_null(expected[1]);
        compare(context, number, columns, (const char *const *)expected);
        free(number);
        free(columns);
        free(expected[0]);
        free(expected[1]);
    }
    assert_int_equal(count, 5);
    fclose(file);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_columns_have_the_numbers_of_feature_space)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
