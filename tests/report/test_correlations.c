/* Correlations of columns, against numpy's numbers and known answers; columns of which none is defined. */
#include "harness/harness.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/image.h"
#include "report/reports.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 10, DAMAGED = -99 };

/* A row of a table in memory. */
typedef struct row {
    float numbers[3]; /* x, y, fixed: one component */
    int32_t kind;
    int64_t label;
} row;

static const row rows[ROWS] = {
    {{1, 2.5f, 5}, 0, 0}, {{2, 1.5f, 5}, 0, 1}, {{3, 3.5f, 5}, 1, 1}, {{4, 3, 5}, 1, 1},    {{5, 6.5f, 5}, 2, 0},
    {{6, 4, 5}, 2, 0},    {{7, 8.5f, 5}, 0, 0}, {{8, 7, 5}, 1, 1},    {{9, 7.5f, 5}, 2, 1}, {{10, 11, 5}, 0, 0},
};

/* A source begins with what all have in common. */
typedef struct memory_table {
    liana__source source;
    const row *content;
} memory_table;

static liana_status read_row(void *handle, liana_source_record *record)
{
    const row *one = &((const memory_table *)handle)->content[record->index];
    if (one->kind == DAMAGED) return liana__fail(record->error, LIANA_DATA_LOSS, "damaged");
    record->has_label = true;
    record->label = one->label;
    record->values[0] = one->numbers;
    record->values[1] = &one->kind;
    return LIANA_OK;
}

static const char *const kinds[] = {"red", "green", "blue"};
static const char *const numbers[] = {"x", "y", "fixed"};
static const liana_source_type type = {.read = read_row};
static const liana_component components[] = {{"numbers", LIANA_F32, {1, {3}}}, {"kind", LIANA_S32, {0, {0}}}};
static liana__column items[] = {{.name = "numbers", .from = {3, numbers}},
                                {.name = "kind", .category = true, .vocabulary = {3, kinds}}};
static const liana__columns columns = {2, items};

static memory_table table(const row *content, uint64_t count)
{
    return (memory_table){.source = {.kind = &type,
                                     .num_records = count,
                                     .lacks_images = true,
                                     .has_labels = true,
                                     .num_components = 2,
                                     .components = components,
                                     .columns = &columns},
                          .content = content};
}

static double *find(const row *content, uint64_t count, liana__arena *arena, liana__correlations *found)
{
    const memory_table made = table(content, count);
    const liana__correlation_request request = {.num_classes = 2};
    liana__error error = {0};
    assert_ok(liana__correlations_find(&made.source, &request, arena, found, &error), &error);
    assert_int_equal(found->count, 5);
    return found->values;
}

/* The columns are label, x, y, fixed, kind. numpy 2.4: corrcoef; chi^2 and sums of squares from its arrays. */
static void test_numbers_are_those_of_numpy(void **state)
{
    (void)state;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__correlations found;
    const double *got = find(rows, ROWS, &arena, &found);
    static const double expected[5][5] = {
        {1, 0.10444659357341865, 0.3450327796711771, NAN, 0.6582805886043833},
        {0.10444659357341865, 1, 0.9009374626955589, NAN, 0.26590801173915524},
        {0.3450327796711771, 0.9009374626955589, 1, NAN, 0.22658174179374144},
        {NAN, NAN, NAN, NAN, NAN},
        {0.6582805886043833, 0.26590801173915524, 0.22658174179374144, NAN, 1},
    };
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 5; k++) {
            if (isnan(expected[i][k])) assert_true(isnan(got[5 * i + k]));
            if (!isnan(expected[i][k])) assert_near(got[5 * i + k], expected[i][k], 1e-12, i, k);
        }
    }
    static const bool categories[] = {true, false, false, false, true};
    static const char *const names[] = {"label", "x (in numbers)", "y (in numbers)", "fixed (in numbers)", "kind"};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(found.categories[i], categories[i]);
        assert_string_equal(found.names[i], names[i]);
    }
}

/* Large numbers that hardly differ keep their digits, and a sign is a sign. */
static void test_known_answers(void **state)
{
    (void)state;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__correlations found;
    row content[ROWS];
    for (int i = 0; i < ROWS; i++) content[i] = (row){{(float)(16777200 - i), (float)(3 * i), 1}, i % 3, i % 3 == 1};
    const double *got = find(content, ROWS, &arena, &found);
    assert_near(got[5 * 1 + 2], -1, 1e-12);
    assert_near(got[5 * 4 + 0], 1, 1e-12); /* the label follows from the kind */
}

/* Rows where one of two is not a number count for the other pairs. numpy: the same without rows 3 and 7. */
static void test_values_that_are_not_finite_are_left_out_by_pair(void **state)
{
    (void)state;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__correlations found;
    row content[ROWS];
    memcpy(content, rows, sizeof rows);
    content[3].numbers[1] = NAN;
    content[7].numbers[1] = -INFINITY;
    const double *got = find(content, ROWS, &arena, &found);
    assert_near(got[5 * 1 + 2], 0.9062434248113426, 1e-12);
    assert_near(got[5 * 0 + 2], 0.3680135070946318, 1e-12);
    assert_near(got[5 * 4 + 2], 0.2623405304126314, 1e-12);
    assert_near(got[5 * 4 + 1], 0.26590801173915524, 1e-12);
    for (int i = 0; i < ROWS; i++) content[i].numbers[1] = NAN;
    got = find(content, ROWS, &arena, &found);
    for (int i = 0; i < 5; i++) assert_true(isnan(got[5 * i + 2]));
}

/* One record says nothing of two columns; a number outside of the names is missing. */
static void test_what_is_not_defined(void **state)
{
    (void)state;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__correlations found;
    const double *got = find(rows, 1, &arena, &found);
    for (int i = 0; i < 25; i++) assert_true(isnan(got[i]));
    row content[ROWS];
    memcpy(content, rows, sizeof rows);
    content[0].kind = -1;
    content[1].kind = 3;
    content[2].label = INT64_MAX;
    got = find(content, ROWS, &arena, &found);
    assert_near(got[5 * 1 + 2], 0.9009374626955589, 1e-12);
    assert_compare(got[5 * 4 + 1], >=, 0);
    assert_compare(got[5 * 4 + 1], <=, 1);
}

/* A record that cannot be read is an error, or left out where the data say so. numpy: as without rows 3 and 7. */
static void test_records_that_cannot_be_read(void **state)
{
    (void)state;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__correlations found;
    liana__error error = {0};
    row content[ROWS];
    memcpy(content, rows, sizeof rows);
    content[3].kind = content[7].kind = DAMAGED;
    memory_table made = table(content, ROWS);
    const liana__correlation_request request = {.num_classes = 2};
    assert_int_equal(liana__correlations_find(&made.source, &request, &arena, &found, &error), LIANA_DATA_LOSS);
    made.source.skip_damage = true;
    assert_ok(liana__correlations_find(&made.source, &request, &arena, &found, &error), &error);
    assert_near(found.values[5 * 1 + 2], 0.9062434248113426, 1e-12);
}

/* ---- pictures ---- */

static void test_the_matrix_is_drawn(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_folder();
    static const char *const names[] = {"a\x1b[31m", "\xe2\x80\xae\x65vil",
                                        "a long name that does not fit beside the matrix"};
    static const bool categories[] = {false, false, true};
    static const double values[] = {1, -1, NAN, -1, 1, 0.9, NAN, 0.9, 1};
    const liana__correlation_matrix matrix = {"Correlations", names, categories, values, 3};
    const char *path = liana__test_path("m.png");
    assert_ok(liana__correlation_matrix_write(path, &matrix, &error), &error);
    char *bytes;
    size_t size;
    LIANA__SCOPED(liana__image) image = {0};
    assert_ok(liana__file_read(path, 1 << 26, &bytes, &size, &error), &error);
    assert_ok(liana__image_decode(bytes, size, NULL, &image, &error), &error);
    free(bytes);
    /* A corner of each cell has its colour: 50 units a cell, 1.5 pixels a unit, the labels' 170 before. */
    static const int colours[9] = {'b', 'o', '-', 'o', 'b', 'g', '-', 'g', 'g'};
    for (int i = 0; i < 9; i++) {
        const int64_t x = (int64_t)(1.5 * (24 + 170 + i % 3 * 50 + 6)), y = (int64_t)(1.5 * (86 + i / 3 * 50 + 6));
        const uint8_t *p = image.pixels + (y * image.width + x) * 3;
        const bool blue = p[2] > p[0] + 60, orange = p[0] > p[2] + 60, green = p[1] > p[0] + 60;
        const int seen = green && !(p[2] > p[1]) ? 'g' : blue ? 'b' : orange ? 'o' : '-';
        assert_compare(seen, ==, colours[i], i);
    }
    assert_ok(liana__correlation_matrix_write(liana__test_path("m.svg"), &matrix, &error), &error);
    assert_fails(liana__correlation_matrix_write(liana__test_path("no/m.png"), &matrix, &error), LIANA_NOT_FOUND,
                 &error, "no/m.png");
}

/* ---- frequencies ---- */

typedef struct seen {
    char titles[8][250];
    double sums[8];
    size_t counts[8];
} seen;

static liana_status keep(void *user, size_t number, const liana__bars *bars)
{
    seen *all = user;
    assert_compare(number, <=, 8);
    snprintf(all->titles[number - 1], sizeof *all->titles, "%s", bars->title);
    all->counts[number - 1] = bars->count;
    for (size_t i = 0; i < bars->count; i++) all->sums[number - 1] += bars->series[0].values[i];
    return LIANA_OK;
}

static void test_frequencies_of_odd_columns(void **state)
{
    (void)state;
    liana__error error = {0};
    row content[ROWS];
    memcpy(content, rows, sizeof rows);
    for (int i = 0; i < ROWS; i++) content[i].numbers[0] = i % 2 ? NAN : INFINITY;
    content[3].numbers[1] = NAN;
    const memory_table made = table(content, ROWS);
    seen all = {0};
    assert_ok(liana__report_columns(&made.source, keep, &all, &error), &error);
    assert_string_equal(all.titles[0], "x (in numbers): 10 not finite");
    assert_string_equal(all.titles[1], "y (in numbers): 1 not finite");
    assert_string_equal(all.titles[2], "fixed (in numbers)");
    assert_near(all.sums[0], 0, 0);
    assert_near(all.sums[1], ROWS - 1, 0);
    assert_near(all.sums[2], ROWS, 0);
    assert_int_equal(all.counts[2], 1);
    assert_near(all.sums[3], ROWS, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_those_of_numpy),
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_values_that_are_not_finite_are_left_out_by_pair),
        cmocka_unit_test(test_what_is_not_defined),
        cmocka_unit_test(test_records_that_cannot_be_read),
        cmocka_unit_test(test_the_matrix_is_drawn),
        cmocka_unit_test(test_frequencies_of_odd_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
