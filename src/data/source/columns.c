/* Reads the descriptions of columns, and makes values of components from cells. */
#include "data/source/columns.h"

#include "base/format.h"
#include "base/scoped.h"
#include "base/text_hash.h"
#include "base/utf8.h"
#include "data/source/cast.h"
#include "data/source/class_list.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the description of a column ---- */

static const char *const dtype_names[] = {"auto", "f32",    "f64", "s32", "s64", "u8",  "u32",
                                          "bool", "string", "f16", "s8",  "s16", "u16", NULL};
static const int dtypes[] = {
    LIANA__DTYPE_DETECTED, LIANA_F32, LIANA_F64, LIANA_S32, LIANA_S64, LIANA_U8, LIANA_U32, LIANA_BOOL,
    LIANA_STRING,          LIANA_F16, LIANA_S8,  LIANA_S16, LIANA_U16};

enum { MAX_VALUES = 1 << 24 };

static const liana__field items[] = {
    LIANA__FIELD_ROW(liana__column, from, STRINGS,
                     .doc = "the column, or a list of columns that become one component; '*': all other columns (null: "
                            "the column with the component's name)"),
    LIANA__FIELD_ROW(liana__column, dtype, ENUM, .default_text = "auto", .names = dtype_names,
                     .doc =
                         "auto: s64 or f32 for numbers, f32 for a list of columns, s32 for categories and lengths, f32 "
                         "for multi_hot, else string"),
    LIANA__FIELD_ROW(liana__column, category, BOOL, .default_text = "false",
                     .doc = "values are names, which become their numbers in the vocabulary"),
    LIANA__FIELD_ROW(liana__column, vocabulary, STRINGS,
                     .doc =
                         "the names of a category in the order of their numbers (null: those of the training data, in "
                         "byte order)"),
    LIANA__FIELD_ROW(
        liana__column, num_oov_indices, INT, .maximum = 1,
        .doc = "1: names that the vocabulary lacks become number 0, which is called [UNK], and the others count "
               "from 1; 0: such names are an error"),
    LIANA__FIELD_ROW(liana__column, hash_bins, INT, .maximum = INT32_MAX,
                     .doc = "texts become numbers of this many bins, by their hash, as with Keras's Hashing (0: not)"),
    LIANA__FIELD_ROW(liana__column, cross, INT, .maximum = INT32_MAX,
                     .doc =
                         "the texts of the columns in from become, together, the number of one of this many bins, as "
                         "with Keras's HashedCrossing (0: not)"),
    LIANA__FIELD_ROW(
        liana__column, bin_boundaries, VALUE,
        .doc =
            "a list of numbers in ascending order: a value becomes the number of boundaries that are not above it, as "
            "with Keras's Discretization (null: it stays)"),
    LIANA__FIELD_ROW(liana__column, num_bins, INT, .maximum = 100,
                     .doc =
                         "numbers become those of this many bins, each with about as many values of the training data; "
                         "bin_boundaries are found as by Discretization.adapt (0: not)"),
    LIANA__FIELD_ROW(liana__column, length, INT, .maximum = MAX_VALUES,
                     .doc =
                         "a cell holds several values, separated by blanks; they are padded or cut to this number (0: "
                         "one value)"),
    LIANA__FIELD_ROW(liana__column, padding, FLOAT, .default_text = "0.0", .doc = "what fills up to length"),
    LIANA__FIELD_ROW(liana__column, lengths, STRING,
                     .doc = "the name of another component with the number of values before padding (null: none)"),
    LIANA__FIELD_ROW(liana__column, indices, STRING,
                     .doc =
                         "of tf.Examples: the feature with the place of each value in length, from 0; the other places "
                         "hold the padding (null: values come in order)"),
    LIANA__FIELD_ROW(liana__column, multi_hot, INT, .maximum = MAX_VALUES,
                     .doc =
                         "values are class numbers, several in a cell; the component has this many classes, with 1 at "
                         "each of them (0: not)"),
    LIANA__FIELD_ROW(
        liana__column, missing, VALUE,
        .doc = "what an empty cell, and NA in a column of numbers, stands for: a value, mean or median of the "
               "training data, or a list with one for each column of from (null: it is an error)"),
};
static const liana__fields fields = LIANA__FIELD_TABLE("column", liana__column, items);

const liana__fields *liana__column_fields(void)
{
    return &fields;
}

/* `price` and `[a, b]` mean {from: ...}; null means {}. */
static const liana__value *spell_out(const liana__value *value, liana__arena *arena)
{
    if (value->kind == LIANA__VALUE_MAP) return value;
    liana__value *map = liana__value_map(arena);
    if (!map) return NULL;
    map->place = value->place;
    if (value->kind != LIANA__VALUE_NULL) {
        liana__value_append(arena, map, "from", &value->place, (liana__value *)(uintptr_t)value);
    }
    return map;
}

static liana_status check_column(const liana__column *column, const liana__place *place, const char *where,
                                 liana__error *error)
{
    bool several = column->length || column->multi_hot;
    bool is_number = column->dtype != LIANA_STRING;
    if (column->length && column->multi_hot) {
        return liana__fail_at(error, place, where, "'length' and 'multi_hot' exclude each other; keep one of them");
    }
    if (column->lengths && !column->length) return liana__fail_at(error, place, where, "'lengths' needs 'length'");
    if (column->indices && !column->length) return liana__fail_at(error, place, where, "'indices' needs 'length'");
    if (column->indices && column->lengths) {
        return liana__fail_at(error, place, where, "'indices' and 'lengths' exclude each other; keep one of them");
    }
    if (column->num_oov_indices && !column->category) {
        return liana__fail_at(error, place, where, "'num_oov_indices' needs 'category: true'");
    }
    if (column->vocabulary.count && !column->category) {
        return liana__fail_at(error, place, where, "'vocabulary' needs 'category: true'");
    }
    if ((column->category || several) && !is_number) {
        return liana__fail_at(
            error, place, where,
            "found the dtype string, expected one of numbers for 'category', 'length' or 'multi_hot'");
    }
    bool is_real = column->dtype == LIANA_F32 || column->dtype == LIANA_F64 || column->dtype == LIANA__DTYPE_DETECTED;
    if (column->padding != floor(column->padding) && !is_real) {
        return liana__fail_at(error, place, where, "found the padding %g, expected a whole number for the dtype %s",
                              column->padding, liana_dtype_name((liana_dtype)column->dtype));
    }
    return LIANA_OK;
}

/* The text of a cell that stands for an empty one. */
static liana_status read_one_missing(const liana__value *value, const char *where, liana__arena *arena,
                                     const char **text, liana__error *error)
{
    char found[128];
    if (value->kind == LIANA__VALUE_STRING) {
        *text = value->string;
        return LIANA_OK;
    }
    if (value->kind != LIANA__VALUE_INT && value->kind != LIANA__VALUE_FLOAT) {
        return liana__fail_at(error, &value->place, where, "'missing' is %s, expected a number or a text",
                              liana__value_describe(value, found, sizeof found));
    }
    LIANA__SCOPED(liana__text) number = {0};
    if (value->kind == LIANA__VALUE_INT) liana__text_add(&number, "%" PRId64, value->integer);
    if (value->kind == LIANA__VALUE_FLOAT) liana__text_add_double(&number, value->number);
    *text = number.failed ? NULL : liana__arena_string(arena, number.data);
    return *text ? LIANA_OK : liana__fail_memory(error, "a column");
}

static liana_status read_missing(const liana__value *value, const char *where, liana__arena *arena,
                                 liana__column *column, liana__error *error)
{
    if (!value || value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    const bool is_list = value->kind == LIANA__VALUE_LIST;
    const size_t count = is_list ? value->count : 1;
    if (is_list && count != column->from.count) {
        return liana__fail_at(error, &value->place, where,
                              "'missing' has %zu values, expected one for each of %zu columns", count,
                              column->from.count);
    }
    const char **texts = liana__arena_allocate(arena, count * sizeof *texts);
    if (!texts) return liana__fail_memory(error, "a column");
    for (size_t i = 0; i < count; i++) {
        LIANA_TRY(read_one_missing(is_list ? value->items[i] : value, where, arena, &texts[i], error));
    }
    column->values_if_missing = (liana__strings){count, texts};
    return LIANA_OK;
}

static liana_status read_boundaries(liana__column *column, const char *where, liana__arena *arena, liana__error *error)
{
    const liana__value *list = column->bin_boundaries;
    char found[128];
    if (!list || list->kind == LIANA__VALUE_NULL) return LIANA_OK;
    bool fits = list->kind == LIANA__VALUE_LIST && list->count > 0;
    double *made = fits ? liana__arena_allocate(arena, list->count * sizeof *made) : NULL;
    if (fits && !made) return liana__fail_memory(error, "a column");
    for (size_t i = 0; fits && i < list->count; i++) {
        const liana__value *item = list->items[i];
        fits = item->kind == LIANA__VALUE_INT || item->kind == LIANA__VALUE_FLOAT;
        if (fits) made[i] = item->number;
        fits = fits && isfinite(made[i]) && (i == 0 || made[i] >= made[i - 1]);
    }
    if (!fits) {
        return liana__fail_at(error, &list->place, where,
                              "'bin_boundaries' is %s, expected a list of numbers that do not fall",
                              liana__value_describe(list, found, sizeof found));
    }
    column->boundaries = made;
    column->num_boundaries = list->count;
    return LIANA_OK;
}

/* Values become numbers in one way. */
static liana_status check_bins(const liana__column *column, const liana__place *place, const char *where,
                               liana__error *error)
{
    const int ways = (column->hash_bins > 0) + (column->cross > 0) +
                     (column->num_boundaries > 0 || column->num_bins > 0) + column->category + (column->multi_hot > 0);
    if (ways > 1) {
        return liana__fail_at(
            error, place, where,
            "'category', 'hash_bins', 'cross', 'bin_boundaries' or 'num_bins', and 'multi_hot' exclude each "
            "other; keep one of them");
    }
    if (liana__column_is_numbered(column) && column->dtype == LIANA_STRING) {
        return liana__fail_at(error, place, where, "found the dtype string, expected one of numbers for bins");
    }
    if (column->num_bins == 1) {
        return liana__fail_at(error, place, where, "found num_bins 1, expected at least 2 (0: numbers stay)");
    }
    if (column->num_bins && column->num_boundaries && (int64_t)column->num_boundaries + 1 != column->num_bins) {
        return liana__fail_at(error, place, where,
                              "%zu 'bin_boundaries' make %zu bins, but 'num_bins' is %" PRId64 "; keep one of them",
                              column->num_boundaries, column->num_boundaries + 1, column->num_bins);
    }
    const size_t count = column->from.count;
    if (!column->cross || (count > 1 && count <= LIANA__MOST_CROSSED && !column->length)) return LIANA_OK;
    return liana__fail_at(error, place, where, "'cross' is of 2 to %d columns, with one value each: from: [a, b]",
                          LIANA__MOST_CROSSED);
}

/* A statistic is of numbers; numbers are not missing as texts. */
static liana_status check_missing(const liana__column *column, const liana__place *place, const char *where,
                                  liana__error *error)
{
    const bool are_texts = column->category || column->hash_bins || column->cross || column->dtype == LIANA_STRING;
    const bool are_numbers = column->num_bins || column->num_boundaries ||
                             (!are_texts && !column->multi_hot && column->dtype != LIANA__DTYPE_DETECTED);
    for (size_t i = 0; i < column->values_if_missing.count; i++) {
        const char *value = column->values_if_missing.items[i];
        const bool is_statistic = liana__is_statistic(value);
        bool is_name = false;
        for (size_t k = 0; k < column->vocabulary.count; k++) {
            is_name = is_name || strcmp(column->vocabulary.items[k], value) == 0;
        }
        if (is_statistic && (are_texts || column->multi_hot) && !is_name) {
            return liana__fail_at(error, place, where,
                                  "'missing' is the %s, which only columns of numbers have; expected the value that an "
                                  "empty cell stands for",
                                  value);
        }
        if (!are_numbers || is_statistic || column->length) continue;
        if (liana__cell_read(value, strlen(value)).kind != LIANA__CELL_TEXT) continue;
        return liana__fail_at(error, place, where, "'missing' is '%.40s', expected a number, mean or median", value);
    }
    return LIANA_OK;
}

static liana_status check_vocabulary(const liana__column *column, const liana__place *place, const char *key,
                                     liana__error *error)
{
    liana__error own = {0};
    liana__twins twins;
    LIANA_TRY(liana__class_list_find_twins(&column->vocabulary, &twins, error));
    if (twins.one >= 0) {
        return liana__fail_at(error, place, key, "vocabulary: found '%.100s' twice; remove one of them",
                              column->vocabulary.items[twins.one]);
    }
    liana_status status = liana__class_list_check(&column->vocabulary, &own);
    return status == LIANA_OK ? LIANA_OK : liana__fail_at(error, place, key, "vocabulary: %s", own.message);
}

static liana_status read_column(const liana__value *value, const char *name, const char *where, liana__arena *arena,
                                liana__column *column, liana__error *error)
{
    char found[128];
    bool fits = value->kind == LIANA__VALUE_NULL || value->kind == LIANA__VALUE_STRING ||
                value->kind == LIANA__VALUE_LIST || value->kind == LIANA__VALUE_MAP;
    const liana__value *map = fits ? spell_out(value, arena) : value;
    const char *key = liana__arena_format(arena, "%s.%s", where, name);
    if (!map || !key) return liana__fail_memory(error, "the columns");
    if (!fits) {
        return liana__fail_at(error, &value->place, key, "found %s, expected a column, a list of columns or a mapping",
                              liana__value_describe(value, found, sizeof found));
    }
    LIANA_TRY(liana__fields_read(&fields, map, key, NULL, arena, column, error));
    const liana__value *from = liana__value_get(map, "from");
    column->name = name;
    column->stacked = from && from->kind == LIANA__VALUE_LIST;
    column->dtype = dtypes[column->dtype];
    const liana__value *vocabulary = liana__value_get(map, "vocabulary");
    if (vocabulary && vocabulary->kind == LIANA__VALUE_STRING) {
        return liana__fail_at(
            error, &vocabulary->place, key,
            "vocabulary: found the text '%.100s', expected a list such as [red, green]; the file of a "
            "vocabulary is read in a configuration",
            vocabulary->string);
    }
    column->category = column->category || column->vocabulary.count;
    LIANA_TRY(check_vocabulary(column, &value->place, key, error));
    LIANA_TRY(liana__column_set_vocabulary(column, &column->vocabulary, arena, error));
    if (!column->from.count) {
        const char **only = liana__arena_allocate(arena, sizeof *only);
        if (!only) return liana__fail_memory(error, "the columns");
        *only = name;
        column->from = (liana__strings){1, only};
    }
    if (column->from.count == 1 && strcmp(column->from.items[0], "*") == 0) column->stacked = true;
    LIANA_TRY(read_missing(column->missing, key, arena, column, error));
    column->missing = NULL;
    LIANA_TRY(read_boundaries(column, key, arena, error));
    LIANA_TRY(check_bins(column, &value->place, key, error));
    LIANA_TRY(check_missing(column, &value->place, key, error));
    return check_column(column, &value->place, key, error);
}

/* The names of all components must differ. */
static liana_status check_lengths(const liana__columns *columns, const liana__place *place, const char *where,
                                  liana__error *error)
{
    for (size_t i = 0; i < columns->count; i++) {
        const char *name = columns->items[i].lengths;
        bool taken = name && liana__columns_get(columns, name);
        for (size_t k = 0; name && k < i; k++) {
            taken = taken || (columns->items[k].lengths && strcmp(columns->items[k].lengths, name) == 0);
        }
        if (taken) {
            return liana__fail_at(error, place, where,
                                  "there are two components '%.100s'; give the lengths of '%.100s' "
                                  "another name",
                                  name, columns->items[i].name);
        }
    }
    return LIANA_OK;
}

liana_status liana__columns_read(const liana__value *map, const char *where, liana__arena *arena,
                                 liana__columns *columns, liana__error *error)
{
    char found[128];
    *columns = (liana__columns){0};
    if (!map || map->kind == LIANA__VALUE_NULL) return LIANA_OK;
    if (map->kind != LIANA__VALUE_MAP || map->count == 0) {
        return liana__fail_at(error, &map->place, where, "found %s, expected a mapping of components to columns",
                              liana__value_describe(map, found, sizeof found));
    }
    columns->items = liana__arena_allocate(arena, map->count * sizeof *columns->items);
    if (!columns->items) return liana__fail_memory(error, "the columns");
    for (size_t i = 0; i < map->count; i++) {
        LIANA_TRY(read_column(map->items[i], map->keys[i], where, arena, &columns->items[i], error));
        columns->count++;
    }
    return check_lengths(columns, &map->place, where, error);
}

const liana__column *liana__columns_get(const liana__columns *columns, const char *name)
{
    for (size_t i = 0; columns && i < columns->count; i++) {
        if (strcmp(columns->items[i].name, name) == 0) return &columns->items[i];
    }
    return NULL;
}

bool liana__columns_use(const liana__columns *columns, const char *name)
{
    for (size_t i = 0; columns && i < columns->count; i++) {
        const liana__strings *from = &columns->items[i].from;
        for (size_t k = 0; k < from->count; k++) {
            if (strcmp(from->items[k], name) == 0) return true;
        }
    }
    return false;
}

const char *liana__columns_only(const liana__columns *columns, const char *name)
{
    const liana__column *column = liana__columns_get(columns, name);
    return column && column->from.count == 1 && strcmp(column->from.items[0], "*") != 0 ? column->from.items[0] : NULL;
}

liana_status liana__columns_make_label(const liana__columns *columns, const char *wanted, bool *make,
                                       liana__error *error)
{
    const char *only = liana__columns_only(columns, "label");
    *make = !wanted && liana__columns_get(columns, "label");
    if (!wanted || !liana__columns_get(columns, "label") || (only && strcmp(only, wanted) == 0)) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_ARGUMENT,
        "data.features.label names '%.100s', but data.columns makes the component 'label' of %s%.100s%s; "
        "expected one of both, or another name for the component",
        wanted, only ? "'" : "", only ? only : "several columns", only ? "'" : "");
}

static liana__value *write_missing(const liana__strings *values, liana__arena *arena)
{
    if (!values->count) return NULL;
    if (values->count == 1) return liana__value_string(arena, values->items[0]);
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; list && i < values->count; i++) {
        liana__value_add(arena, list, liana__value_string(arena, values->items[i]));
    }
    return list;
}

liana__value *liana__columns_write(const liana__columns *columns, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena);
    for (size_t i = 0; map && i < columns->count; i++) {
        const liana__column *column = &columns->items[i];
        liana__column own = *column;
        for (size_t k = 0; k < COUNT(dtypes); k++) {
            if (dtypes[k] == column->dtype) own.dtype = (int)k;
        }
        own.missing = write_missing(&column->values_if_missing, arena);
        liana__value *made = liana__fields_write(&fields, arena, &own);
        if (made && !column->stacked && column->from.count == 1) {
            liana__value_set(arena, made, "from", liana__value_string(arena, column->from.items[0]));
        }
        liana__value_set(arena, map, column->name, made);
    }
    return arena->failed ? NULL : map;
}

static bool has_statistic(const liana__strings *values)
{
    bool found = false;
    for (size_t i = 0; i < values->count; i++) found = found || liana__is_statistic(values->items[i]);
    return found;
}

void liana__columns_inherit(liana__columns *columns, const liana__columns *found)
{
    for (size_t i = 0; i < columns->count; i++) {
        liana__column *column = &columns->items[i];
        const liana__column *known = liana__columns_get(found, column->name);
        if (!known) continue;
        if (column->dtype == LIANA__DTYPE_DETECTED) column->dtype = known->dtype;
        if (column->category && !column->vocabulary.count) {
            column->vocabulary = known->vocabulary;
            column->ascending = known->ascending;
            column->num_oov_indices = known->num_oov_indices;
        }
        if (column->num_bins && !column->num_boundaries) {
            column->bin_boundaries = known->bin_boundaries;
            column->boundaries = known->boundaries;
            column->num_boundaries = known->num_boundaries;
        }
        if (has_statistic(&column->values_if_missing)) column->values_if_missing = known->values_if_missing;
        if (column->from.count == 1 && strcmp(column->from.items[0], "*") == 0) column->from = known->from;
    }
}

liana_status liana__columns_copy(const liana__columns *columns, liana__arena *arena, liana__columns *copy,
                                 liana__error *error)
{
    const liana__columns from = *columns; /* which may be the copy itself */
    *copy = (liana__columns){.items = liana__arena_allocate(arena, (from.count + 1) * sizeof *copy->items)};
    for (size_t i = 0; copy->items && i < from.count; i++) {
        const liana__column *column = &from.items[i];
        liana__column *made = &copy->items[copy->count++];
        *made = *column;
        made->name = liana__arena_string(arena, column->name);
        made->lengths = liana__arena_string(arena, column->lengths);
        made->indices = liana__arena_string(arena, column->indices);
        made->values_if_missing = liana__names_copy(&column->values_if_missing, arena);
        made->bin_boundaries = column->bin_boundaries ? liana__value_copy(arena, column->bin_boundaries) : NULL;
        if (column->num_boundaries) {
            made->boundaries =
                liana__arena_copy(arena, column->boundaries, column->num_boundaries * sizeof *column->boundaries);
        }
        made->from = liana__names_copy(&column->from, arena);
        made->vocabulary = liana__names_copy(&column->vocabulary, arena);
    }
    return arena->failed ? liana__fail_memory(error, "the columns") : LIANA_OK;
}

/* The component of a column whose dtype is known and whose `from` is complete. */
static liana_component component_of(const liana__column *column)
{
    liana_component made = {.name = column->name, .dtype = column->dtype};
    int64_t count = column->length ? column->length : column->multi_hot ? column->multi_hot : 0;
    if (!count && column->stacked && !column->cross) count = (int64_t)column->from.count;
    if (count) made.shape = (liana_shape){1, {count}};
    return made;
}

static liana_status add_component(liana__column_components *all, const liana_component *component,
                                  const liana__column *made_by, liana__error *error)
{
    if (all->count == LIANA_MAX_COMPONENTS) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the examples would have more than %d components; make one component of several columns: "
                           "data.columns: {features: [COLUMN, COLUMN, ...]}",
                           LIANA_MAX_COMPONENTS);
    }
    size_t size =
        component->dtype == LIANA_STRING ? sizeof(liana_bytes) : liana_dtype_size((liana_dtype)component->dtype);
    all->items[all->count] = *component;
    all->sizes[all->count] = size * (size_t)liana_shape_size(&component->shape);
    all->made_by[all->count++] = made_by;
    return LIANA_OK;
}

static liana_status check_padding(const liana__column *column, liana__error *error)
{
    double place;
    if (!column->length || liana__cast_values(LIANA_F64, &column->padding, (liana_dtype)column->dtype, &place, 1) < 0) {
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_CONFIG, "data.columns.%.100s.padding: found %g, which %s cannot hold",
                       column->name, column->padding, liana_dtype_name((liana_dtype)column->dtype));
}

liana_status liana__columns_components(const liana__columns *columns, liana__column_components *all,
                                       liana__error *error)
{
    *all = (liana__column_components){0};
    for (size_t i = 0; i < columns->count; i++) {
        const liana__column *column = &columns->items[i];
        liana_component component = component_of(column);
        LIANA_TRY(check_padding(column, error));
        LIANA_TRY(add_component(all, &component, column, error));
        if (!column->lengths) continue;
        component = (liana_component){.name = column->lengths, .dtype = LIANA_S32};
        LIANA_TRY(add_component(all, &component, NULL, error));
    }
    return LIANA_OK;
}

/* ---- cells ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool liana__cell_next(const char **at, const char *end, const char **text, size_t *size)
{
    while (*at < end && is_blank(**at)) ++*at;
    *text = *at;
    while (*at < end && !is_blank(**at)) ++*at;
    *size = (size_t)(*at - *text);
    return *size > 0;
}

liana__cell liana__cell_read(const char *text, size_t size)
{
    enum { LONGEST_NUMBER = 400 };
    char copy[LONGEST_NUMBER + 1], *end;
    while (size && is_blank(*text)) text++, size--;
    while (size && is_blank(text[size - 1])) size--;
    liana__cell cell = {.text = text, .size = size};
    if (size == 0 || size > LONGEST_NUMBER) return cell;
    memcpy(copy, text, size);
    copy[size] = 0;
    /* strtod reads "nan", "inf" and hexadecimal numbers too. */
    if (strspn(copy, "+-.0123456789eE") != size) return cell;
    errno = 0;
    long long whole = strtoll(copy, &end, 10);
    if (end != copy && *end == 0 && errno == 0) {
        cell.kind = LIANA__CELL_WHOLE;
        cell.whole = whole;
        return cell;
    }
    cell.real = liana__parse_double(copy, &end);
    if (end != copy && *end == 0 && isfinite(cell.real)) cell.kind = LIANA__CELL_REAL;
    return cell;
}

bool liana__cell_is_missing(const char *text, size_t size)
{
    static const char *const usual[] = {"", "NA", "N/A", "#N/A", "nan", "-nan", "null", "none", "nil", "?", "-", "."};
    while (size && is_blank(*text)) text++, size--;
    while (size && is_blank(text[size - 1])) size--;
    for (size_t i = 0; i < COUNT(usual); i++) {
        if (strlen(usual[i]) == size && strncasecmp(usual[i], text, size) == 0) return true;
    }
    return false;
}

bool liana__is_statistic(const char *value)
{
    return strcmp(value, "mean") == 0 || strcmp(value, "median") == 0;
}

bool liana__columns_need_rows(const liana__columns *columns)
{
    bool need = false;
    for (size_t i = 0; columns && i < columns->count && !need; i++) {
        const liana__column *column = &columns->items[i];
        need = column->num_bins && !column->num_boundaries;
        for (size_t k = 0; k < column->values_if_missing.count; k++) {
            need = need || liana__is_statistic(column->values_if_missing.items[k]);
        }
    }
    return need;
}

liana_status liana__column_set_vocabulary(liana__column *column, const liana__strings *vocabulary, liana__arena *arena,
                                          liana__error *error)
{
    const size_t first = (size_t)column->num_oov_indices;
    column->vocabulary = *vocabulary;
    column->ascending = true;
    if (first && vocabulary->count && strcmp(vocabulary->items[0], LIANA__UNKNOWN_NAME) != 0) {
        const char **names = liana__arena_allocate(arena, (vocabulary->count + 1) * sizeof *names);
        if (!names) return liana__fail_memory(error, "a vocabulary");
        names[0] = LIANA__UNKNOWN_NAME;
        memcpy(names + 1, vocabulary->items, vocabulary->count * sizeof *names);
        column->vocabulary = (liana__strings){vocabulary->count + 1, names};
    }
    for (size_t i = first + 1; i < column->vocabulary.count; i++) {
        const char *const *names = (const char *const *)column->vocabulary.items;
        column->ascending = column->ascending && strcmp(names[i - 1], names[i]) < 0;
    }
    return LIANA_OK;
}

/* ---- values ---- */

static void put_number(const liana__column *column, void *values, int64_t k, const void *number, liana_dtype from,
                       int64_t *bad)
{
    char *at = (char *)values + (size_t)k * liana_dtype_size((liana_dtype)column->dtype);
    *bad = liana__cast_values(from, number, (liana_dtype)column->dtype, at, 1);
}

void liana__column_begin(const liana__column *column, void *values)
{
    liana_component component = component_of(column);
    int64_t count = liana_shape_size(&component.shape), bad;
    size_t size = column->dtype == LIANA_STRING ? sizeof(liana_bytes) : liana_dtype_size((liana_dtype)column->dtype);
    memset(values, 0, (size_t)count * size);
    if (!column->length || column->padding == 0) return;
    for (int64_t k = 0; k < count; k++) put_number(column, values, k, &column->padding, LIANA_F64, &bad);
}

/* "'rose'", at most 60 bytes of it; bytes that are no text are counted, and never printed. Returns `buffer`. */
enum { SHOWN = 96 };
static const char *show_text(const char *text, size_t size, char buffer[SHOWN])
{
    bool is_text = true;
    for (size_t i = 0; i < size && is_text;) {
        uint32_t code;
        size_t length = liana__utf8_character(text + i, size - i, &code);
        is_text = length > 0 && code >= 0x20 && code != 0x7f;
        i += length;
    }
    if (is_text && size > 0) {
        snprintf(buffer, SHOWN, "'%.*s'", (int)(size < 60 ? size : 60), text);
    } else if (size == 0) {
        snprintf(buffer, SHOWN, "''");
    } else {
        snprintf(buffer, SHOWN, "%zu bytes that are no text", size);
    }
    return buffer;
}

static liana_status fail_cell(const liana__cell *cell, const char *expected, liana_status status, liana__error *error)
{
    char number[40];
    if (cell->kind != LIANA__CELL_TEXT && !cell->text) {
        bool is_whole = cell->kind == LIANA__CELL_WHOLE;
        liana__cast_describe(is_whole ? LIANA_S64 : LIANA_F64, is_whole ? (const void *)&cell->whole : &cell->real, 0,
                             number, sizeof number);
        return liana__fail(error, status, "found %s, expected %s", number, expected);
    }
    char shown[SHOWN];
    return liana__fail(error, status, "found %s, expected %s", show_text(cell->text, cell->size, shown), expected);
}

static liana_status fail_name(const liana__column *column, const liana__cell *cell, liana__error *error)
{
    char name[64];
    size_t size = cell->size < sizeof name - 1 ? cell->size : sizeof name - 1;
    memcpy(name, cell->text, size);
    name[size] = 0;
    const liana__class_hint_text hint = liana__class_hint(name, &column->vocabulary);
    char shown[SHOWN];
    return liana__fail(error, LIANA_INVALID_DATA, "%s is none of the %zu names of this category%s%s",
                       show_text(cell->text, cell->size, shown), column->vocabulary.count, hint.text,
                       *hint.text ? "" : "; a name that only later data have must stand in its vocabulary");
}

/* true, false, 1, 0 */
static bool read_bool(const liana__cell *cell, uint8_t *value)
{
    bool is_true = cell->size == 4 && strncasecmp(cell->text, "true", 4) == 0;
    *value = is_true;
    return is_true || (cell->size == 5 && strncasecmp(cell->text, "false", 5) == 0);
}

static liana_status find_number(const liana__column *column, const liana__cell *given, liana__cell *cell,
                                liana__error *error)
{
    *cell = *given;
    if (column->category) {
        const size_t first = column->vocabulary.count ? (size_t)column->num_oov_indices : 0;
        const liana__strings names = {column->vocabulary.count - first, column->vocabulary.items + first};
        cell->whole = liana__names_find(&names, column->ascending, given->text, given->size) + (int64_t)first;
        cell->kind = LIANA__CELL_WHOLE;
        return cell->whole >= 0 ? LIANA_OK : fail_name(column, given, error);
    }
    if (column->hash_bins) {
        cell->whole = (int64_t)(liana__farm_hash(given->text, given->size) % (uint64_t)column->hash_bins);
        cell->kind = LIANA__CELL_WHOLE;
        return LIANA_OK;
    }
    if (cell->kind == LIANA__CELL_TEXT) return fail_cell(given, "a number", LIANA_INVALID_DATA, error);
    if (column->num_boundaries) {
        const double number = cell->kind == LIANA__CELL_WHOLE ? (double)cell->whole : cell->real;
        cell->kind = LIANA__CELL_WHOLE;
        for (cell->whole = 0; (size_t)cell->whole < column->num_boundaries; cell->whole++) {
            if (column->boundaries[cell->whole] > number) break;
        }
    }
    return LIANA_OK;
}

liana_status liana__column_set_boundaries(liana__column *column, const double *boundaries, size_t count,
                                          liana__arena *arena, liana__error *error)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; list && i < count; i++) liana__value_add(arena, list, liana__value_float(arena, boundaries[i]));
    column->bin_boundaries = list;
    column->boundaries = liana__arena_copy(arena, boundaries, count * sizeof *boundaries);
    column->num_boundaries = count;
    return arena->failed ? liana__fail_memory(error, "a column") : LIANA_OK;
}

void liana__column_put_cross(const liana__column *column, void *values, const liana_bytes *texts)
{
    uint64_t joined = LIANA__CROSS_KEY;
    int64_t bad;
    for (size_t i = 0; i < column->from.count; i++) {
        joined = liana__cross_hash(joined, liana__farm_hash(texts[i].data, texts[i].size));
    }
    const int64_t bin = (int64_t)(joined % (uint64_t)column->cross);
    put_number(column, values, 0, &bin, LIANA_S64, &bad);
}

liana_status liana__column_put(const liana__column *column, void *values, int64_t k, const liana__cell *given,
                               liana__error *error)
{
    liana__cell cell;
    int64_t bad;
    if (column->length && k >= column->length) return LIANA_OK;
    if (column->dtype == LIANA_STRING) {
        ((liana_bytes *)values)[k] = (liana_bytes){given->text ? given->text : "", given->size};
        return LIANA_OK;
    }
    if (column->dtype == LIANA_BOOL && given->kind == LIANA__CELL_TEXT && !column->category && !column->multi_hot &&
        read_bool(given, (uint8_t *)values + k)) {
        return LIANA_OK;
    }
    LIANA_TRY(find_number(column, given, &cell, error));
    const bool is_bin = liana__column_is_numbered(column);
    if (column->multi_hot) {
        static const int64_t one = 1;
        char expected[64];
        snprintf(expected, sizeof expected, "a class number from 0 to %" PRId64, column->multi_hot - 1);
        bool is_class = cell.kind == LIANA__CELL_WHOLE && cell.whole >= 0 && cell.whole < column->multi_hot;
        if (!is_class) return fail_cell(given, expected, LIANA_OUT_OF_RANGE, error);
        put_number(column, values, cell.whole, &one, LIANA_S64, &bad);
        return LIANA_OK;
    }
    /* A decimal number means the nearest float, however many digits it has. */
    bool to_real = column->dtype == LIANA_F32 || column->dtype == LIANA_F64;
    double nearest = (double)cell.whole;
    if (column->dtype == LIANA_F32) nearest = (double)(float)cell.whole;
    if (cell.kind == LIANA__CELL_REAL) {
        put_number(column, values, k, &cell.real, LIANA_F64, &bad);
    } else if (to_real && !is_bin) {
        put_number(column, values, k, &nearest, LIANA_F64, &bad);
    } else {
        put_number(column, values, k, &cell.whole, LIANA_S64, &bad);
    }
    if (bad < 0) return LIANA_OK;
    char expected[64];
    snprintf(expected, sizeof expected, "a number that fits %s", liana_dtype_name((liana_dtype)column->dtype));
    return fail_cell(given, expected, LIANA_OUT_OF_RANGE, error);
}
