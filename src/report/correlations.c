/* Counts how much the columns of a table have to do with each other. */
#include "report/reports.h"

#include "data/source/cast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CATEGORIES = 100, LONGEST_NAME = 200 };

/* A number of each record. */
typedef struct series {
    size_t component;
    int64_t index; /* in the component */
    bool is_label;
    size_t categories; /* 0: values are numbers */
} series;

/* Two columns: sums of both, by updating means (Welford, "Note on a method for calculating corrected sums of squares
 * and products", 1962); or a table. */
typedef struct pair {
    double count, mean_x, mean_y, square_x, square_y, product;
    double
        *table; /* two categories: counts [rows, columns]; a category and numbers: counts and means [2, categories] */
} pair;

typedef struct counting {
    const liana__source *source;
    const liana__correlation_request *request;
    liana__arena *arena;
    series columns[LIANA__MOST_CORRELATED];
    size_t count;
    pair *pairs;    /* [count, count]; those with row <= column are used */
    double *values; /* [count] of one record */
} counting;

/* ---- columns ---- */

/* How many names a column has; 0: it has numbers. */
static int64_t count_categories(const liana__column *column)
{
    if (!column) return 0;
    if (column->category) return (int64_t)column->vocabulary.count;
    return column->hash_bins ? column->hash_bins : column->cross;
}

static void add_series(counting *own, series one, int64_t categories)
{
    if (own->count == LIANA__MOST_CORRELATED || categories > MOST_CATEGORIES) return;
    one.categories = (size_t)categories;
    own->columns[own->count++] = one;
}

static void list_columns(counting *own)
{
    const liana__source *source = own->source;
    if (source->has_labels && own->request->num_classes) {
        add_series(own, (series){.is_label = true}, own->request->num_classes);
    }
    for (size_t i = 0; i < source->num_components; i++) {
        const liana_component *component = &source->components[i];
        const int64_t count = component->dtype == LIANA_STRING ? 0 : liana_shape_size(&component->shape);
        const int64_t categories = count_categories(liana__columns_get(source->columns, component->name));
        for (int64_t k = 0; k < count; k++) add_series(own, (series){.component = i, .index = k}, categories);
    }
}

/* ---- counting ---- */

static size_t table_size(const series *a, const series *b)
{
    if (a->categories && b->categories) return a->categories * b->categories;
    return a->categories || b->categories ? 2 * (a->categories + b->categories) : 0;
}

static liana_status make_pairs(counting *own, liana__error *error)
{
    const size_t count = own->count;
    own->pairs = liana__arena_allocate(own->arena, (count * count + 1) * sizeof *own->pairs);
    own->values = liana__arena_allocate(own->arena, (count + 1) * sizeof *own->values);
    if (!own->pairs || !own->values) return liana__fail_memory(error, "correlations");
    for (size_t row = 0; row < count; row++) {
        for (size_t column = row; column < count; column++) {
            const size_t size = table_size(&own->columns[row], &own->columns[column]);
            pair *both = &own->pairs[row * count + column];
            if (size) both->table = liana__arena_allocate(own->arena, size * sizeof *both->table);
        }
    }
    return own->arena->failed ? liana__fail_memory(error, "correlations") : LIANA_OK;
}

/* The sums of squares around the means that follow each value. */
static void add_numbers(pair *both, double x, double y)
{
    const double dx = x - both->mean_x, dy = y - both->mean_y;
    both->count++;
    both->mean_x += dx / both->count;
    both->mean_y += dy / both->count;
    both->square_x += dx * (x - both->mean_x);
    both->square_y += dy * (y - both->mean_y);
    both->product += dx * (y - both->mean_y);
}

static void add_pair(const counting *own, size_t row, size_t column)
{
    pair *both = &own->pairs[row * own->count + column];
    const series *a = &own->columns[row], *b = &own->columns[column];
    double x = own->values[row], y = own->values[column];
    if (!isfinite(x) || !isfinite(y)) return;
    if (a->categories && b->categories) {
        both->table[(size_t)x * b->categories + (size_t)y]++;
        both->count++;
        return;
    }
    if (a->categories || b->categories) {
        const size_t categories = a->categories + b->categories, category = (size_t)(a->categories ? x : y);
        const double number = a->categories ? y : x;
        double *counts = both->table, *means = both->table + categories;
        means[category] += (number - means[category]) / ++counts[category];
        x = y = number;
    }
    add_numbers(both, x, y);
}

/* A number outside of its category's names is missing. */
static void read_values(const counting *own, const liana_source_record *record)
{
    const liana__source *source = own->source;
    for (size_t i = 0; i < own->count; i++) {
        const series *one = &own->columns[i];
        double *value = &own->values[i];
        if (one->is_label) {
            *value = record->has_label ? (double)(record->label + own->request->label_offset) : (double)NAN;
        } else {
            const liana_dtype dtype = (liana_dtype)source->components[one->component].dtype;
            const char *values = record->values[one->component];
            (void)liana__cast_values(dtype, values + (size_t)one->index * liana_dtype_size(dtype), LIANA_F64, value, 1);
        }
        if (one->categories && !(*value >= 0 && *value < (double)one->categories)) *value = (double)NAN;
    }
}

static liana_status count_records(counting *own, liana__error *error)
{
    void *scratch = liana__source_scratch_create(own->source);
    liana_status status = scratch ? LIANA_OK : liana__fail_memory(error, "reading a table");
    for (uint64_t i = 0; status == LIANA_OK && i < own->source->num_records; i++) {
        liana_source_record record;
        status = liana__source_read(own->source, i, scratch, &record, error);
        if (own->source->skip_damage && liana__source_is_bad_record(status)) {
            status = LIANA_OK;
            continue;
        }
        if (status == LIANA_OK) read_values(own, &record);
        for (size_t row = 0; status == LIANA_OK && row < own->count; row++) {
            for (size_t column = row; column < own->count; column++) add_pair(own, row, column);
        }
    }
    liana__source_scratch_destroy(own->source, scratch);
    return status;
}

/* ---- the numbers ---- */

static double pearson(const pair *both)
{
    const double product = sqrt(both->square_x) * sqrt(both->square_y);
    return product > 0 ? fmax(-1, fmin(1, both->product / product)) : (double)NAN;
}

/* The share of the sum of squares that the means of the categories explain, as a root. */
static double correlation_ratio(const pair *both, size_t categories)
{
    const double *counts = both->table, *means = both->table + categories;
    double between = 0;
    size_t met = 0;
    for (size_t i = 0; i < categories; i++) {
        const double distance = means[i] - both->mean_x;
        between += counts[i] * distance * distance;
        met += counts[i] > 0;
    }
    return met > 1 && both->square_x > 0 ? sqrt(fmin(1, between / both->square_x)) : (double)NAN;
}

/* Rows and columns of the table that nothing is in do not count. */
static double cramer(const pair *both, size_t rows, size_t columns)
{
    double row_sums[MOST_CATEGORIES] = {0}, column_sums[MOST_CATEGORIES] = {0}, chi_square = 0;
    size_t num_rows = 0, num_columns = 0;
    for (size_t i = 0; i < rows * columns; i++) {
        row_sums[i / columns] += both->table[i];
        column_sums[i % columns] += both->table[i];
    }
    for (size_t i = 0; i < rows; i++) num_rows += row_sums[i] > 0;
    for (size_t i = 0; i < columns; i++) num_columns += column_sums[i] > 0;
    const size_t least = num_rows < num_columns ? num_rows : num_columns;
    if (least < 2) return (double)NAN;
    for (size_t i = 0; i < rows * columns; i++) {
        const double expected = row_sums[i / columns] * column_sums[i % columns] / both->count;
        const double distance = both->table[i] - expected;
        if (expected > 0) chi_square += distance * distance / expected;
    }
    return sqrt(fmin(1, chi_square / (both->count * (double)(least - 1))));
}

static double measure(const counting *own, size_t row, size_t column)
{
    const series *a = &own->columns[row], *b = &own->columns[column];
    const pair *both = &own->pairs[row * own->count + column];
    if (a->categories && b->categories) return cramer(both, a->categories, b->categories);
    return a->categories || b->categories ? correlation_ratio(both, a->categories + b->categories) : pearson(both);
}

static liana_status give(const counting *own, liana__correlations *found, liana__error *error)
{
    const size_t count = own->count;
    found->count = count;
    found->names = liana__arena_allocate(own->arena, (count + 1) * sizeof *found->names);
    found->categories = liana__arena_allocate(own->arena, (count + 1) * sizeof *found->categories);
    found->values = liana__arena_allocate(own->arena, (count * count + 1) * sizeof *found->values);
    if (!found->names || !found->categories || !found->values) return liana__fail_memory(error, "correlations");
    for (size_t row = 0; row < count; row++) {
        const series *one = &own->columns[row];
        char name[LONGEST_NAME] = "label";
        if (!one->is_label) liana__column_title(own->source, one->component, one->index, name, sizeof name);
        found->names[row] = liana__arena_string(own->arena, name);
        found->categories[row] = one->categories > 0;
        for (size_t column = row; column < count; column++) {
            const double value = measure(own, row, column);
            found->values[row * count + column] = found->values[column * count + row] = value;
        }
    }
    return own->arena->failed ? liana__fail_memory(error, "correlations") : LIANA_OK;
}

liana_status liana__correlations_find(const liana__source *source, const liana__correlation_request *request,
                                      liana__arena *arena, liana__correlations *found, liana__error *error)
{
    counting *own = liana__arena_allocate(arena, sizeof *own);
    *found = (liana__correlations){0};
    if (!own) return liana__fail_memory(error, "correlations");
    *own = (counting){.source = source, .request = request, .arena = arena};
    list_columns(own);
    LIANA_TRY(make_pairs(own, error));
    LIANA_TRY(count_records(own, error));
    return give(own, found, error);
}
