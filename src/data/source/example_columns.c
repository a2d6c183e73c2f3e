/* Makes values of components from features. */
#include "data/source/example_columns.h"
#include "data/source/cast.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A feature with values; false: it is missing, or empty as TensorFlow writes a missing one. */
static bool find_feature(const liana__example *example, const char *name, liana__feature *feature)
{
    return liana__example_find(example, name, feature) && feature->kind != LIANA__FEATURE_EMPTY;
}

/* The first feature with values of a feature list; false: there is none. */
static bool find_step(const liana__example *example, const char *name, liana__feature *feature)
{
    liana__feature_list list;
    bool found = false;
    if (!liana__example_find_list(example, name, &list)) return false;
    for (size_t i = 0; i < list.count && !found; i++) {
        *feature = liana__feature_list_step(&list, i);
        found = feature->kind != LIANA__FEATURE_EMPTY;
    }
    return found;
}

static int detect(const liana__column *column, const liana__example *pattern)
{
    liana__feature feature;
    const char *name = column->from.items[0];
    if (liana__column_is_numbered(column)) return LIANA_S32;
    if (column->multi_hot || column->stacked) return LIANA_F32;
    const bool found = find_feature(pattern, name, &feature) || find_step(pattern, name, &feature);
    if (!found || feature.kind == LIANA__FEATURE_FLOAT) return LIANA_F32;
    if (feature.kind == LIANA__FEATURE_BYTES) return LIANA_STRING;
    return column->length ? LIANA_S32 : LIANA_S64;
}

static liana_status check_column(const liana__column *column, liana__error *error)
{
    if (column->category && !column->vocabulary.count) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "data.columns.%.100s: it has no vocabulary, which a category of a tf.Example needs: set "
                           "vocabulary to the names in the order of their numbers",
                           column->name);
    }
    for (size_t i = 0; i < column->values_if_missing.count; i++) {
        const char *value = column->values_if_missing.items[i];
        if (!liana__is_statistic(value) || column->dtype == LIANA_STRING || column->category) continue;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "data.columns.%.100s: 'missing: %s' is of tables, which are read as a whole; give a number",
                           column->name, value);
    }
    if (column->cross || (column->num_bins && !column->num_boundaries)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "data.columns.%.100s: '%s' is of columns of a table, not of features of tf.Examples%s",
                           column->name, column->cross ? "cross" : "num_bins",
                           column->cross ? "" : "; give bin_boundaries");
    }
    if (strcmp(column->from.items[0], "*") == 0) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "data.columns.%.100s: '*' means columns of a table; name the features of the tf.Examples",
                           column->name);
    }
    if (column->dtype != LIANA_STRING || !column->length) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "data.columns.%.100s: the feature holds texts, which 'length' cannot pad; make numbers of them with "
        "'category' and 'vocabulary'",
        column->name);
}

static bool has_features(const liana__column *column, const liana__example *pattern)
{
    liana__feature feature;
    liana__feature_list list;
    for (size_t i = 0; i < column->from.count; i++) {
        const char *name = column->from.items[i];
        if (!liana__example_find(pattern, name, &feature) && !liana__example_find_list(pattern, name, &list))
            return false;
    }
    return true;
}

liana_status liana__example_columns_find(const liana__columns *wanted, bool optional, const liana__example *pattern,
                                         liana__arena *arena, liana__example_columns *found, liana__error *error)
{
    *found = (liana__example_columns){0};
    LIANA_TRY(liana__columns_copy(wanted, arena, &found->columns, error));
    size_t kept = 0;
    for (size_t i = 0; i < found->columns.count; i++) {
        liana__column *column = &found->columns.items[i];
        if (optional && !has_features(column, pattern)) continue;
        if (column->dtype == LIANA__DTYPE_DETECTED) column->dtype = detect(column, pattern);
        LIANA_TRY(check_column(column, error));
        found->columns.items[kept++] = *column;
    }
    found->columns.count = kept;
    LIANA_TRY(liana__columns_components(&found->columns, &found->components, error));
    for (size_t i = 0; i < found->components.count; i++) {
        found->offsets[i] = found->size;
        found->size += liana__align_up(found->components.sizes[i]);
    }
    return LIANA_OK;
}

/* ---- reading ---- */

static liana_status put_value(const liana__column *column, void *values, int64_t k, const liana__feature *feature,
                              size_t index, liana__error *error)
{
    char number[24];
    liana__cell cell = {.kind = LIANA__CELL_TEXT};
    if (feature->kind == LIANA__FEATURE_BYTES) {
        cell.text = (const char *)feature->bytes[index].data;
        cell.size = feature->bytes[index].len;
    } else if (feature->kind == LIANA__FEATURE_FLOAT) {
        cell.kind = LIANA__CELL_REAL;
        cell.real = (double)feature->floats[index];
    } else {
        cell.kind = LIANA__CELL_WHOLE;
        cell.whole = feature->int64s[index];
    }
    bool needs_text = column->category || column->hash_bins || column->dtype == LIANA_STRING;
    if (needs_text && cell.kind == LIANA__CELL_REAL) {
        return liana__fail(error, LIANA_INVALID_DATA, "found a float, expected a text");
    }
    if (needs_text && cell.kind == LIANA__CELL_WHOLE) {
        if (column->dtype == LIANA_STRING) {
            return liana__fail(error, LIANA_INVALID_DATA, "found a whole number, expected a text");
        }
        cell.size = (size_t)snprintf(number, sizeof number, "%" PRId64, cell.whole);
        cell.text = number;
    }
    return liana__column_put(column, values, k, &cell, error);
}

/* The values in place of a missing feature. */
static liana_status put_missing(const liana__column *column, size_t part, void *values, int64_t *k,
                                const liana__example *example, liana__error *error)
{
    liana__feature feature;
    const char *text = liana__column_if_missing(column, part), *name = column->from.items[part];
    if (text) {
        liana__cell cell = liana__cell_read(text, strlen(text));
        return liana__column_put(column, values, (*k)++, &cell, error);
    }
    if (column->length || column->multi_hot) return LIANA_OK;
    return liana__example_list(example, name, LIANA__FEATURE_FLOAT, &feature, error);
}

/* Numbers as bytes, as tf.io.decode_raw reads them: little-endian, of the column's dtype; or one byte for each. STRING:
 * the feature has no such numbers. */
static int raw_dtype(const liana__column *column, const liana__feature *feature)
{
    bool is_number = column->dtype != LIANA_STRING && column->dtype != LIANA_BOOL && !column->category;
    if (!is_number || column->multi_hot || column->length < 2) return LIANA_STRING;
    if (feature->kind != LIANA__FEATURE_BYTES || feature->count != 1) return LIANA_STRING;
    const size_t size = feature->bytes[0].len, count = (size_t)column->length;
    if (size == count * liana_dtype_size((liana_dtype)column->dtype)) return column->dtype;
    return size == count ? LIANA_U8 : LIANA_STRING;
}

static liana_status read_raw(const liana__column *column, void *values, int dtype, const liana__feature *feature,
                             liana__error *error)
{
    const ProtobufCBinaryData *bytes = &feature->bytes[0];
    if (dtype == column->dtype) {
        memcpy(values, bytes->data, bytes->len);
        return LIANA_OK;
    }
    int64_t bad =
        liana__cast_values((liana_dtype)dtype, bytes->data, (liana_dtype)column->dtype, values, column->length);
    if (bad < 0) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "the feature '%.100s', number %" PRId64 " of its bytes: %s cannot hold it", feature->name, bad,
                       liana_dtype_name((liana_dtype)column->dtype));
}

/* Bytes that are neither as many numbers as the column has nor text. */
static liana_status check_bytes(const liana__column *column, const liana__feature *feature, liana__error *error)
{
    bool is_number = column->dtype != LIANA_STRING && !column->category && !column->multi_hot && column->length > 1;
    if (!is_number || feature->kind != LIANA__FEATURE_BYTES || feature->count != 1) return LIANA_OK;
    const size_t size = feature->bytes[0].len;
    liana__cell cell = liana__cell_read((const char *)feature->bytes[0].data, size);
    if (cell.kind != LIANA__CELL_TEXT) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "the feature '%.100s' has %zu bytes, expected %" PRId64 " numbers of %s (%" PRId64
                       " bytes, or a byte for each); set length and dtype in data.columns.%.100s to what was written",
                       feature->name, size, column->length, liana_dtype_name((liana_dtype)column->dtype),
                       column->length * (int64_t)liana_dtype_size((liana_dtype)column->dtype), column->name);
}

static liana_status put_values(const liana__column *column, void *values, int64_t *k, const liana__feature *feature,
                               liana__error *error)
{
    for (size_t i = 0; i < feature->count; i++) {
        if (put_value(column, values, (*k)++, feature, i, error) == LIANA_OK) continue;
        return liana__fail_within(error, "the feature '%.100s', value %zu", feature->name, i);
    }
    return LIANA_OK;
}

/* The values of all steps, one after the other. */
static liana_status read_list(const liana__column *column, void *values, int64_t *k, const liana__feature_list *list,
                              liana__error *error)
{
    if (!column->length && !column->multi_hot) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the feature list '%.100s' has %zu steps; set length or multi_hot in data.columns.%.100s",
                           list->name, list->count, column->name);
    }
    for (size_t i = 0; i < list->count; i++) {
        const liana__feature step = liana__feature_list_step(list, i);
        if (put_values(column, values, k, &step, error) == LIANA_OK) continue;
        return liana__fail_within(error, "step %zu", i);
    }
    return LIANA_OK;
}

/* Values at the places that another feature has. */
static liana_status read_sparse(const liana__column *column, void *values, const liana__example *example,
                                const liana__feature *feature, liana__error *error)
{
    liana__feature indices;
    LIANA_TRY(liana__example_list(example, column->indices, LIANA__FEATURE_INT64, &indices, error));
    if (indices.count != feature->count) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the feature '%.100s' has %zu indices, expected %zu: one for each value of '%.100s'",
                           column->indices, indices.count, feature->count, feature->name);
    }
    for (size_t i = 0; i < indices.count; i++) {
        const int64_t index = indices.int64s[i];
        if (index < 0 || index >= column->length) {
            return liana__fail(error, LIANA_OUT_OF_RANGE,
                               "the feature '%.100s', value %zu is the index %" PRId64 ", expected 0 to %" PRId64
                               ", as length in data.columns.%.100s says",
                               column->indices, i, index, column->length - 1, column->name);
        }
        LIANA_TRY(put_value(column, values, index, feature, i, error));
    }
    return LIANA_OK;
}

static liana_status read_feature(const liana__column *column, size_t part, void *values, int64_t *k,
                                 const liana__example *example, liana__error *error)
{
    const char *name = column->from.items[part];
    liana__feature feature;
    liana__feature_list list;
    if (!find_feature(example, name, &feature)) {
        if (liana__example_find_list(example, name, &list)) return read_list(column, values, k, &list, error);
        return put_missing(column, part, values, k, example, error);
    }
    if (column->indices) return read_sparse(column, values, example, &feature, error);
    bool several = column->length || column->multi_hot;
    if (!several && feature.count != 1) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the feature '%.100s' has %zu values, expected 1; for several set length or multi_hot in "
                           "data.columns.%.100s",
                           name, feature.count, column->name);
    }
    int raw = *k == 0 && column->from.count == 1 ? raw_dtype(column, &feature) : LIANA_STRING;
    if (raw != LIANA_STRING) {
        *k = column->length;
        return read_raw(column, values, raw, &feature, error);
    }
    LIANA_TRY(check_bytes(column, &feature, error));
    return put_values(column, values, k, &feature, error);
}

liana_status liana__example_columns_read(const liana__example_columns *columns, const liana__example *example,
                                         char *memory, liana__error *error)
{
    const liana__column_components *all = &columns->components;
    for (size_t i = 0; i < all->count; i++) {
        const liana__column *column = all->made_by[i];
        if (!column) continue;
        void *values = memory + columns->offsets[i];
        int64_t k = 0;
        liana__column_begin(column, values);
        for (size_t c = 0; c < column->from.count; c++) {
            LIANA_TRY(read_feature(column, c, values, &k, example, error));
        }
        int32_t length = (int32_t)(k < column->length ? k : column->length);
        if (column->lengths) memcpy(memory + columns->offsets[i + 1], &length, sizeof length);
    }
    return LIANA_OK;
}
