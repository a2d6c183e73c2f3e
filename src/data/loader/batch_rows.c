/* Finds the components of batches in a source, and copies their values. */
#include "data/loader/batch_rows.h"

#include "base/scoped.h"
#include "data/dataset/element.h"
#include "data/source/cast.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- finding ---- */

static liana_component described(const liana__wanted_component *wanted)
{
    return (liana_component){wanted->name, (int)wanted->dtype, wanted->shape};
}

static int find_component(const liana__source *source, const char *name)
{
    for (size_t i = 0; i < source->num_components; i++) {
        if (strcmp(source->components[i].name, name) == 0) return (int)i;
    }
    return -1;
}

static liana_status fail_missing(const liana__source *source, const char *name, liana__error *error)
{
    liana__nearest_search search = liana__nearest_begin(name);
    LIANA__SCOPED(liana__text) there = {0};
    const char *const usual[] = {source->lacks_images ? NULL : "image", source->has_labels ? "label" : NULL};
    for (size_t i = 0; i < 2; i++) {
        if (!usual[i] || find_component(source, usual[i]) >= 0) continue;
        liana__text_add(&there, "%s%s", there.length ? ", " : "", usual[i]);
        liana__nearest_add(&search, usual[i]);
    }
    for (size_t i = 0; i < source->num_components; i++) {
        liana__text_add(&there, "%s%s", there.length ? ", " : "", source->components[i].name);
        liana__nearest_add(&search, source->components[i].name);
    }
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the data have no component '%.100s'%s; there are: %s", name,
                       search.nearest ? liana__hint(search.nearest).text : "", there.data ? there.data : "none");
}

/* Whether shapes are the same but for dimensions of 1: then their values are the same, in the same order. */
static bool same_values(const liana_shape *a, const liana_shape *b)
{
    int i = 0, k = 0;
    for (;;) {
        while (i < a->rank && a->dims[i] == 1) i++;
        while (k < b->rank && b->dims[k] == 1) k++;
        if (i == a->rank || k == b->rank) return i == a->rank && k == b->rank;
        if (a->dims[i++] != b->dims[k++]) return false;
    }
}

static liana_status check_texts(const liana__wanted_component *wanted, const liana_component *found,
                                liana__error *error)
{
    const int64_t count = liana_shape_size(&found->shape);
    if (liana__dtype_has_texts(found->dtype) && count == wanted->texts.count) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the component '%.100s' is %s, expected %lld text%s (string, or whole numbers) for '%.100s'",
                       found->name, liana__component_describe(found).text, (long long)wanted->texts.count,
                       wanted->texts.count == 1 ? "" : "s", wanted->name);
}

static liana_status check_values(const liana__wanted_component *wanted, const liana_component *found,
                                 liana__error *error)
{
    if (wanted->texts.run) return check_texts(wanted, found, error);
    liana_component expected = described(wanted);
    if (found->dtype == LIANA_STRING) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the component '%.100s' is %s, expected numbers (%s); make numbers of its texts first, as "
                           "categories of a CSV table or with liana_dataset_map",
                           found->name, liana__component_describe(found).text,
                           liana__component_describe(&expected).text);
    }
    if (same_values(&found->shape, &wanted->shape)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the component '%.100s' is %s, expected %s for '%.100s'; change the data's or the model's shape",
                       found->name, liana__component_describe(found).text, liana__component_describe(&expected).text,
                       wanted->name);
}

/* Finds the values of the component `name` of the source, which may be the label. */
static liana_status find_origin(const liana__source *source, const liana__wanted_component *wanted, const char *name,
                                int *origin, liana_dtype *dtype, liana__error *error)
{
    static const liana_component label = {.name = "label", .dtype = LIANA_S64};
    const bool is_label = source->has_labels && strcmp(name, label.name) == 0;
    *origin = is_label ? LIANA__FROM_LABEL : find_component(source, name);
    if (*origin < 0 && !is_label) return fail_missing(source, name, error);
    const liana_component *component = is_label ? &label : &source->components[*origin];
    *dtype = (liana_dtype)component->dtype;
    return check_values(wanted, component, error);
}

static liana_status find_values(const liana__source *source, liana__batch_rows *rows, size_t i, liana__error *error)
{
    const liana__wanted_component *wanted = &rows->components[i];
    const char *name = wanted->from ? wanted->from : wanted->name;
    LIANA_TRY(find_origin(source, wanted, name, &rows->origins[i], &rows->dtypes[i], error));
    rows->columns[i] = rows->origins[i] == LIANA__FROM_LABEL ? NULL : liana__columns_only(source->columns, name);
    for (size_t k = 0; k < wanted->texts.num_components; k++) {
        LIANA_TRY(find_origin(source, wanted, wanted->texts.components[k], &rows->text_origins[i][k],
                              &rows->text_dtypes[i][k], error));
    }
    return LIANA_OK;
}

/* Fills in the dtype and shape, by the maker. */
static liana_status find_component_of_batch(const liana__source *source, const liana__loader_options *options,
                                            liana__batch_rows *rows, size_t i, liana__error *error)
{
    liana__wanted_component *wanted = &rows->components[i];
    const liana__decode_options *image = &options->image;
    int *only = wanted->maker == LIANA__MAKE_IMAGE ? &rows->image : &rows->label;
    if (wanted->maker == LIANA__MAKE_VALUES) return find_values(source, rows, i, error);
    if (*only >= 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%.100s' and '%.100s' are both made of the %s, expected one",
                           rows->components[*only].name, wanted->name, only == &rows->image ? "image" : "label");
    }
    *only = (int)i;
    if (wanted->maker == LIANA__MAKE_LABEL) {
        if (!wanted->partners) wanted->partners = "partners";
        wanted->dtype = LIANA_S32;
        wanted->shape = LIANA_SCALAR;
        return LIANA_OK;
    }
    wanted->dtype = image->fractions ? LIANA_F32 : LIANA_U8;
    wanted->shape = (liana_shape){3, {image->height, image->width, image->channels}};
    return source->lacks_images ? fail_missing(source, "image", error) : LIANA_OK;
}

liana_status liana__batch_rows_find(const liana__source *source, const liana__loader_options *options,
                                    liana__batch_rows *rows, liana__error *error)
{
    static const liana__wanted_component usual[] = {{.maker = LIANA__MAKE_IMAGE, .name = "image"},
                                                    {.maker = LIANA__MAKE_LABEL, .name = "label"}};
    bool given = options->num_components > 0;
    *rows = (liana__batch_rows){.count = given ? options->num_components : 2, .image = -1, .label = -1};
    if (rows->count > LIANA_MAX_COMPONENTS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a batch of %zu components was asked for, expected at most %d", rows->count,
                           LIANA_MAX_COMPONENTS);
    }
    memcpy(rows->components, given ? options->components : usual, rows->count * sizeof *usual);
    for (size_t i = 0; i < rows->count; i++) {
        LIANA_TRY(find_component_of_batch(source, options, rows, i, error));
        liana_component component = described(&rows->components[i]);
        rows->sizes[i] = liana__component_size(&component, liana__component_rows(&component), 0);
        rows->example_size += rows->sizes[i];
        if (rows->components[i].maker == LIANA__MAKE_VALUES) rows->values_size += rows->sizes[i];
    }
    return LIANA_OK;
}

/* ---- values ---- */

static uint8_t *row_of(const liana__batch_rows *rows, const liana__batch *batch, size_t component, int64_t i)
{
    return (uint8_t *)batch->components[component].rows + (size_t)i * rows->sizes[component];
}

static liana_status fail_value(const liana__wanted_component *wanted, liana_dtype from, const void *values, int64_t at,
                               liana__error *error)
{
    char found[40];
    liana__cast_describe(from, values, at, found, sizeof found);
    return liana__fail(error, LIANA_OUT_OF_RANGE,
                       "value %" PRId64
                       " of the component '%.100s' is %s (%s), which %s cannot hold%s; expected values "
                       "that fit, or another dtype for '%.100s'",
                       at, wanted->from ? wanted->from : wanted->name, found, liana_dtype_name(from),
                       liana_dtype_name(wanted->dtype), wanted->dtype == LIANA_F32 ? " without rounding" : "",
                       wanted->name);
}

/* The values of a record's component. */
typedef struct record_values {
    const liana_source_record *record;
    int64_t label;
} record_values;

static const void *values_of(const record_values *given, int origin)
{
    return origin == LIANA__FROM_LABEL ? (const void *)&given->label : given->record->values[origin];
}

static liana_status put_texts(const liana__batch_rows *rows, size_t k, const record_values *given, void *row,
                              liana__error *error)
{
    const liana__row_of_texts *how = &rows->components[k].texts;
    liana__given_texts parts[LIANA_MAX_LAYER_INPUTS] = {{(int)rows->dtypes[k], values_of(given, rows->origins[k])}};
    for (size_t i = 0; i < how->num_components; i++) {
        parts[i] = (liana__given_texts){(int)rows->text_dtypes[k][i], values_of(given, rows->text_origins[k][i])};
    }
    return liana__row_from_texts(how, parts, row, rows->sizes[k], error);
}

static liana_status put_row(const liana__batch_rows *rows, size_t k, const record_values *given, void *row,
                            liana__error *error)
{
    const liana__wanted_component *wanted = &rows->components[k];
    const liana_dtype from = rows->dtypes[k];
    const void *values = values_of(given, rows->origins[k]);
    if (wanted->texts.run) return put_texts(rows, k, given, row, error);
    const int64_t bad = liana__cast_values(from, values, wanted->dtype, row, liana_shape_size(&wanted->shape));
    if (bad >= 0) return fail_value(wanted, from, values, bad, error);
    return wanted->check ? wanted->check(wanted, row, error) : LIANA_OK;
}

static bool needs_label(const liana__batch_rows *rows, size_t k)
{
    bool needed = rows->origins[k] == LIANA__FROM_LABEL;
    for (size_t i = 0; i < rows->components[k].texts.num_components; i++) {
        needed |= rows->text_origins[k][i] == LIANA__FROM_LABEL;
    }
    return needed;
}

liana_status liana__batch_rows_put(const liana__batch_rows *rows, const liana_source_record *record,
                                   int64_t label_offset, liana__batch *batch, int64_t i, liana__error *error)
{
    record_values given = {.record = record};
    if (__builtin_add_overflow(record->label, label_offset, &given.label)) given.label = record->label;
    for (size_t k = 0; k < rows->count; k++) {
        const liana__wanted_component *wanted = &rows->components[k];
        if (wanted->maker != LIANA__MAKE_VALUES) continue;
        if (needs_label(rows, k) && !record->has_label) {
            return liana__fail(error, LIANA_INVALID_DATA, "it has no label");
        }
        liana_status status = put_row(rows, k, &given, row_of(rows, batch, k, i), error);
        if (status == LIANA_OK) continue;
        if (rows->columns[k]) liana__fail_within(error, "column '%.100s'", rows->columns[k]);
        return status;
    }
    return LIANA_OK;
}

void liana__batch_rows_pack(const liana__batch_rows *rows, const liana__batch *batch, int64_t i, uint8_t *values)
{
    for (size_t k = 0; k < rows->count; k++) {
        if (rows->components[k].maker != LIANA__MAKE_VALUES) continue;
        memcpy(values, row_of(rows, batch, k, i), rows->sizes[k]);
        values += rows->sizes[k];
    }
}

void liana__batch_rows_unpack(const liana__batch_rows *rows, const uint8_t *values, liana__batch *batch, int64_t i)
{
    for (size_t k = 0; k < rows->count; k++) {
        if (rows->components[k].maker != LIANA__MAKE_VALUES) continue;
        memcpy(row_of(rows, batch, k, i), values, rows->sizes[k]);
        values += rows->sizes[k];
    }
}

void liana__batch_rows_describe(const liana__batch_rows *rows, int64_t label_offset, liana__text *text)
{
    for (size_t k = 0; k < rows->count; k++) {
        const liana__wanted_component *wanted = &rows->components[k];
        if (wanted->maker != LIANA__MAKE_VALUES) continue;
        liana_component component = described(wanted);
        liana__text_add(text, "values %s %s offset %" PRId64 "\n", wanted->from ? wanted->from : wanted->name,
                        liana__component_describe(&component).text, label_offset);
        if (wanted->check) liana__text_add(text, "checked as %s\n", wanted->check_name);
        if (wanted->texts.run) liana__text_add(text, "of texts by %016" PRIx64 "\n", wanted->texts.fingerprint);
        for (size_t i = 0; i < wanted->texts.num_components; i++) {
            liana__text_add(text, "of %s\n", wanted->texts.components[i]);
        }
    }
}
