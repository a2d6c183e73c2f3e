/* Finds the columns that components are made of, and reads their cells. */
#include "data/source/csv_columns.h"

#include "base/scoped.h"
#include "data/source/class_list.h"
#include "data/source/column_search.h"
#include "remote/remote.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_HEADER = 300 };

/* ---- names of columns ---- */

bool liana__csv_has_header(const liana__csv *csv)
{
    for (size_t i = 0; csv->num_rows && i < csv->num_columns; i++) {
        const char *cell = liana__csv_cell(csv, 0, i);
        if (liana__cell_read(cell, strlen(cell)).kind != LIANA__CELL_TEXT) return false;
    }
    return csv->num_rows > 0;
}

/* Columns without names are called "0", "1", ... */
static int read_number(const liana__csv *csv, const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);
    return *name >= '0' && *name <= '9' && !*end && (size_t)number < csv->num_columns ? (int)number : LIANA__NO_COLUMN;
}

/* Gives the column of a name as liana__column_search does; -1: there is none. Errors: INVALID_DATA (two columns fit),
 * with the file. */
static liana_status find_column(const liana__csv_table *table, const char *name, int *place, liana__error *error)
{
    const liana__csv *csv = table->csv;
    *place = LIANA__NO_COLUMN;
    if (!csv->num_rows) return LIANA_OK;
    if (!table->first_row) *place = read_number(csv, name);
    if (!table->first_row) return LIANA_OK;
    liana_status status = liana__column_search("column", csv->cells, csv->num_columns, name, place, error);
    return status == LIANA_OK ? LIANA_OK : liana__fail_within(error, "'%s'", table->path);
}

static const char *name_of(const liana__csv_table *table, size_t column, liana__arena *arena)
{
    if (!table->first_row) return liana__arena_format(arena, "%zu", column);
    return liana__arena_string(arena, liana__csv_cell(table->csv, 0, column));
}

static liana_status fail_column(const liana__csv_table *table, const char *component, const char *name,
                                liana__error *error)
{
    const liana__csv *csv = table->csv;
    char header[LONGEST_HEADER] = "";
    liana__nearest_search search = liana__nearest_begin(name);
    if (!table->first_row) {
        return liana__fail(
            error, LIANA_INVALID_DATA,
            "'%s' has no column '%.100s' for '%.100s': it has no line of names, so its columns are called "
            "0 to %zu; or set data.header",
            table->path, name, component, csv->num_columns - 1);
    }
    for (size_t i = 0; i < csv->num_columns; i++) {
        size_t length = strlen(header);
        const char *cell = liana__csv_cell(csv, 0, i);
        snprintf(header + length, sizeof header - length, "%s%.40s", i ? ", " : "", cell);
        liana__nearest_add(&search, cell);
    }
    return liana__fail(error, LIANA_INVALID_DATA, "'%s' has no column '%.100s' for '%.100s'%s; its first line is: %s",
                       table->path, name, component, search.nearest ? liana__hint(search.nearest).text : "", header);
}

/* ---- which columns ---- */

static bool is_star(const liana__column *column)
{
    return column->from.count == 1 && strcmp(column->from.items[0], "*") == 0;
}

static const liana__csv_table *first_table(const liana__csv_request *request)
{
    size_t i = 0;
    while (i + 1 < request->count && request->tables[i].csv->num_rows == 0) i++;
    return &request->tables[i];
}

liana_status liana__csv_mark_used(const liana__csv_table *table, const liana__columns *columns, bool *used,
                                  liana__error *error)
{
    for (size_t i = 0; columns && i < columns->count; i++) {
        const liana__column *column = &columns->items[i];
        for (size_t k = 0; k < column->from.count && !is_star(column); k++) {
            int place;
            LIANA_TRY(find_column(table, column->from.items[k], &place, error));
            if (place >= 0) used[place] = true;
        }
    }
    return LIANA_OK;
}

/* The columns that nothing else uses. */
static liana_status list_rest(const liana__csv_request *request, liana__arena *arena, liana__strings *rest,
                              liana__error *error)
{
    const liana__csv_table *first = first_table(request);
    const size_t num_columns = first->csv->num_columns;
    const char **names = liana__arena_allocate(arena, (num_columns + 1) * sizeof *names);
    bool *used = liana__arena_allocate(arena, (num_columns + 1) * sizeof *used);
    if (!names || !used) return liana__fail_memory(error, "a table");
    LIANA_TRY(liana__csv_mark_used(first, request->columns, used, error));
    for (size_t i = 0; i < request->num_used; i++) used[request->used[i]] = true;
    size_t count = 0;
    for (size_t i = 0; i < num_columns; i++) {
        if (!used[i]) names[count++] = name_of(first, i, arena);
    }
    *rest = (liana__strings){count, names};
    return arena->failed ? liana__fail_memory(error, "a table") : LIANA_OK;
}

/* "id, label" has a blank that nobody means. */
static const char *trimmed(liana__arena *arena, const char *name)
{
    const liana__cell cell = liana__cell_read(name, strlen(name));
    return cell.size == strlen(name) ? name : liana__arena_format(arena, "%.*s", (int)cell.size, cell.text);
}

/* The components `label` and `id` of a row are those that data.features names; another column of that name is none. */
static bool is_taken(const liana__csv_request *request, const char *name)
{
    return (request->has_label && strcmp(name, "label") == 0) || (request->has_id && strcmp(name, "id") == 0);
}

/* Each column is a component. */
static liana_status take_all(const liana__csv_request *request, liana__csv_columns *found, liana__error *error)
{
    liana__strings rest;
    LIANA_TRY(list_rest(request, found->arena, &rest, error));
    found->columns.items = liana__arena_allocate(found->arena, (rest.count + 1) * sizeof *found->columns.items);
    if (!found->columns.items) return liana__fail_memory(error, "a table");
    for (size_t i = 0; i < rest.count; i++) {
        const char *name = trimmed(found->arena, rest.items[i]);
        if (name && is_taken(request, name)) continue;
        found->columns.items[found->columns.count++] =
            (liana__column){.name = name, .from = {1, &rest.items[i]}, .dtype = LIANA__DTYPE_DETECTED};
    }
    return found->arena->failed ? liana__fail_memory(error, "a table") : LIANA_OK;
}

/* Whether all files have the columns. */
static liana_status has_columns(const liana__csv_request *request, const liana__column *column, bool *has,
                                liana__error *error)
{
    *has = true;
    for (size_t t = 0; t < request->count; t++) {
        if (request->tables[t].csv->num_rows == 0) continue;
        for (size_t k = 0; k < column->from.count && !is_star(column); k++) {
            int place;
            LIANA_TRY(find_column(&request->tables[t], column->from.items[k], &place, error));
            *has = *has && place >= 0;
        }
    }
    return LIANA_OK;
}

static liana_status take_wanted(const liana__csv_request *request, liana__csv_columns *found, liana__error *error)
{
    liana__columns *columns = &found->columns;
    LIANA_TRY(liana__columns_copy(request->columns, found->arena, columns, error));
    size_t kept = 0;
    for (size_t i = 0; i < columns->count; i++) {
        liana__column *column = &columns->items[i];
        bool has = true;
        if (request->optional) LIANA_TRY(has_columns(request, column, &has, error));
        if (!has) continue;
        if (is_star(column)) LIANA_TRY(list_rest(request, found->arena, &column->from, error));
        if (!column->from.count) {
            return liana__fail(error, LIANA_INVALID_DATA, "'%s' has no other columns for '%.100s'",
                               request->tables[0].path, column->name);
        }
        columns->items[kept++] = *column;
    }
    columns->count = kept;
    return LIANA_OK;
}

static liana_status find_places(const liana__csv_request *request, liana__csv_columns *found, liana__error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < found->columns.count; i++) count += found->columns.items[i].from.count;
    found->num_places = count;
    found->places = liana__arena_allocate(found->arena, (request->count * count + 1) * sizeof *found->places);
    if (!found->places) return liana__fail_memory(error, "a table");
    int *place = found->places;
    for (size_t t = 0; t < request->count; t++) {
        for (size_t i = 0; i < found->columns.count; i++) {
            const liana__column *column = &found->columns.items[i];
            for (size_t k = 0; k < column->from.count; k++, place++) {
                LIANA_TRY(find_column(&request->tables[t], column->from.items[k], place, error));
                if (*place >= 0 || request->tables[t].csv->num_rows == 0) continue;
                return fail_column(&request->tables[t], column->name, column->from.items[k], error);
            }
        }
    }
    return LIANA_OK;
}

/* ---- the kinds of cells ---- */

/* A walk over the values of a column in all files. */
typedef void (*visitor)(void *user, const char *text, size_t size);

static void visit_cell(const liana__column *column, const char *cell, visitor visit, void *user)
{
    const char *end = cell + strlen(cell), *text;
    size_t size;
    if (column->length || column->multi_hot) {
        while (liana__cell_next(&cell, end, &text, &size)) visit(user, text, size);
        return;
    }
    liana__cell trimmed = liana__cell_read(cell, (size_t)(end - cell));
    if (trimmed.size) visit(user, trimmed.text, trimmed.size);
}

/* The rows that a walk visits: those of the training, or all. */
typedef enum rows { ROWS_ALL, ROWS_OF_TRAINING } rows;

/* Whether a row is held out; *next is the number of the next one that is. */
static bool is_held_out(const liana__csv_request *request, const liana__csv_table *table, size_t row, size_t *next)
{
    if (*next == request->num_held_out) return false;
    const liana_record_address *held_out = &request->held_out[*next];
    const bool is = held_out->record == (int64_t)(row - table->first_row) &&
                    strcmp(held_out->file, liana__remote_name(table->path)) == 0;
    *next += is;
    return is;
}

/* The cells of number `k` of `from`. */
static void visit_part(const liana__csv_request *request, const liana__csv_columns *found, rows which, size_t number,
                       size_t k, visitor visit, void *user)
{
    const liana__column *column = &found->columns.items[number];
    size_t place = k, next = 0;
    uint64_t num_rows = 0;
    const bool chosen = which == ROWS_OF_TRAINING;
    for (size_t i = 0; i < number; i++) place += found->columns.items[i].from.count;
    for (size_t t = 0; t < request->count; t++) {
        const liana__csv_table *table = &request->tables[t];
        const size_t at = (size_t)found->places[t * found->num_places + place];
        for (size_t row = table->first_row; row < table->csv->num_rows; row++, num_rows++) {
            if (chosen && request->take && num_rows >= request->take) return;
            if (chosen && is_held_out(request, table, row, &next)) continue;
            visit_cell(column, liana__csv_cell(table->csv, row, at), visit, user);
        }
    }
}

static void visit_column(const liana__csv_request *request, const liana__csv_columns *found, rows which, size_t number,
                         visitor visit, void *user)
{
    for (size_t k = 0; k < found->columns.items[number].from.count; k++) {
        visit_part(request, found, which, number, k, visit, user);
    }
}

typedef struct kinds {
    size_t texts, wholes, reals;
    size_t missing; /* "NA" and the like */
    size_t zeros;   /* whole numbers that would be written otherwise: 007 */
} kinds;

static void count_kind(void *user, const char *text, size_t size)
{
    kinds *own = user;
    switch (liana__cell_read(text, size).kind) {
    case LIANA__CELL_TEXT:
        own->missing += liana__cell_is_missing(text, size);
        own->texts++;
        break;
    case LIANA__CELL_WHOLE:
        own->zeros += (size > 1 && *text == '0') || *text == '+' || (size > 1 && *text == '-' && text[1] == '0');
        own->wholes++;
        break;
    case LIANA__CELL_REAL: own->reals++; break;
    }
}

/* Numbers in all cells, and a text for the empty ones. */
static liana_status fail_missing(const liana__csv_request *request, const liana__column *column, const char *text,
                                 liana__error *error)
{
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "'%s', column '%.100s': all its cells are numbers, but missing is '%.40s', expected a number, mean "
        "or median; or set dtype: string",
        request->tables[0].path, column->from.items[0], text);
}

static liana_status find_dtype(const liana__csv_request *request, liana__csv_columns *found, size_t number,
                               liana__error *error)
{
    liana__column *column = &found->columns.items[number];
    kinds own = {0};
    if (column->dtype != LIANA__DTYPE_DETECTED) return LIANA_OK;
    const bool is_bin = liana__column_is_numbered(column);
    column->dtype = is_bin ? LIANA_S32 : LIANA_F32;
    if (is_bin || column->multi_hot) return LIANA_OK;
    visit_column(request, found, ROWS_ALL, number, count_kind, &own);
    const bool all_numbers = own.wholes + own.reals > 0 && own.texts == own.missing;
    for (size_t i = 0; i < column->values_if_missing.count; i++) {
        const char *value = column->values_if_missing.items[i];
        const bool is_text = liana__cell_read(value, strlen(value)).kind == LIANA__CELL_TEXT;
        if (liana__is_statistic(value)) {
            own.reals++; /* of numbers it is hardly a whole one */
        } else if (all_numbers && is_text && !column->length) {
            return fail_missing(request, column, value, error);
        } else {
            count_kind(&own, value, strlen(value));
        }
    }
    bool several = column->length || column->stacked;
    const size_t numbers = own.wholes + own.reals, texts = numbers ? own.texts - own.missing : own.texts;
    bool are_numbers = request->skip_damage ? numbers >= texts : texts == 0;
    if (own.zeros && strcmp(column->name, "id") == 0) are_numbers = false;
    bool are_whole = own.reals == 0 && (!column->length || column->padding == floor(column->padding));
    /* A number that is expected for sure, with a text in it, is an error at that cell. */
    if (!are_numbers && !several) column->dtype = LIANA_STRING;
    if (are_numbers && are_whole && !several) column->dtype = LIANA_S64;
    if (are_whole && column->length) column->dtype = LIANA_S32;
    return LIANA_OK;
}

static void collect_name(void *user, const char *text, size_t size)
{
    liana__name_set_add(user, text, size);
}

/* Names that mean the same are one, written in two ways. */
static liana_status check_spelling(const liana__csv_request *request, const liana__column *column, liana__error *error)
{
    liana__alike alike;
    LIANA_TRY(liana__class_list_find_alike(&column->vocabulary, false, &alike, error));
    if (!alike.one) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s', column '%.100s': the names %s and %s are written differently, but mean the same; write "
                       "them alike%s",
                       request->tables[0].path, column->from.items[0],
                       liana__class_name_show(alike.one, alike.looks_same).text,
                       liana__class_name_show(alike.other, alike.looks_same).text,
                       alike.looks_same ? "" : ", or list both in its vocabulary if they are two");
}

static liana_status find_vocabulary(const liana__csv_request *request, liana__csv_columns *found, size_t number,
                                    liana__error *error)
{
    liana__column *column = &found->columns.items[number];
    if (!column->category || column->vocabulary.count) return LIANA_OK;
    liana__name_set set = {.arena = found->arena};
    visit_column(request, found, ROWS_ALL, number, collect_name, &set);
    for (size_t i = 0; i < column->values_if_missing.count; i++) {
        collect_name(&set, column->values_if_missing.items[i], strlen(column->values_if_missing.items[i]));
    }
    const liana__strings names = liana__name_set_take(&set);
    if (found->arena->failed) return liana__fail_memory(error, "a vocabulary");
    LIANA_TRY(liana__column_set_vocabulary(column, &names, found->arena, error));
    if (names.count) return check_spelling(request, column, error);
    return liana__fail(error, LIANA_INVALID_DATA, "'%s': the category '%.100s' has no name in any row",
                       request->tables[0].path, column->name);
}

/* ---- means and medians ---- */

typedef struct numbers {
    double *items;
    size_t count;
    size_t capacity;
    bool failed;
} numbers;

static void numbers_free(numbers *own)
{
    free(own->items);
}

static void collect_number(void *user, const char *text, size_t size)
{
    numbers *own = user;
    const liana__cell cell = liana__cell_read(text, size);
    if (cell.kind == LIANA__CELL_TEXT || own->failed) return;
    own->failed = !liana__grow(&own->items, own->count, &own->capacity, sizeof *own->items);
    if (!own->failed) own->items[own->count++] = cell.kind == LIANA__CELL_WHOLE ? (double)cell.whole : cell.real;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double statistic_of(numbers *own, const char *name)
{
    const size_t half = own->count / 2;
    double sum = 0;
    if (strcmp(name, "mean") == 0) {
        for (size_t i = 0; i < own->count; i++) sum += own->items[i];
        return sum / (double)own->count;
    }
    qsort(own->items, own->count, sizeof *own->items, compare_numbers);
    return own->count % 2 ? own->items[half] : (own->items[half - 1] + own->items[half]) / 2;
}

/* The number that stands for the missing values of number `k` of `from`. */
static liana_status find_statistic(const liana__csv_request *request, liana__csv_columns *found, size_t number,
                                   size_t k, const char *name, const char **text, liana__error *error)
{
    const liana__column *column = &found->columns.items[number];
    LIANA__SCOPED(numbers) own = {0};
    LIANA__SCOPED(liana__text) made = {0};
    visit_part(request, found, ROWS_OF_TRAINING, number, k, collect_number, &own);
    if (own.failed) return liana__fail_memory(error, column->name);
    if (!own.count) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s', column '%.100s': no row has a number, so there is no %s for the missing ones",
                           request->tables[0].path, column->from.items[k], name);
    }
    liana__text_add_double(&made, statistic_of(&own, name));
    *text = made.failed ? NULL : liana__arena_string(found->arena, made.data);
    return *text ? LIANA_OK : liana__fail_memory(error, column->name);
}

/* Puts numbers in place of "mean" and "median". */
static liana_status find_missing(const liana__csv_request *request, liana__csv_columns *found, size_t number,
                                 liana__error *error)
{
    liana__column *column = &found->columns.items[number];
    bool any = false;
    for (size_t i = 0; i < column->values_if_missing.count; i++) {
        any = any || liana__is_statistic(column->values_if_missing.items[i]);
    }
    const bool are_texts = column->dtype == LIANA_STRING || column->category || column->hash_bins || column->cross;
    if (!any || are_texts || column->multi_hot) return LIANA_OK;
    const char **texts = liana__arena_allocate(found->arena, column->from.count * sizeof *texts);
    if (!texts) return liana__fail_memory(error, column->name);
    for (size_t k = 0; k < column->from.count; k++) {
        texts[k] = liana__column_if_missing(column, k);
        if (!liana__is_statistic(texts[k])) continue;
        LIANA_TRY(find_statistic(request, found, number, k, texts[k], &texts[k], error));
    }
    column->values_if_missing = (liana__strings){column->from.count, texts};
    return LIANA_OK;
}

/* ---- bins ---- */

/* The value at a share of the sorted values, between those beside it: number i of `count` has the share (i + 1) /
 * count. */
static double value_at(const double *values, size_t count, double share)
{
    const double place = share * (double)count - 1;
    if (place <= 0) return values[0];
    if (place >= (double)(count - 1)) return values[count - 1];
    const size_t below = (size_t)place;
    return values[below] + (place - (double)below) * (values[below + 1] - values[below]);
}

/* The boundaries of Keras's Discretization.adapt: of every n-th of the sorted values, at most about 200, those at equal
 * shares. */
static liana_status find_bins(const liana__csv_request *request, liana__csv_columns *found, size_t number,
                              liana__error *error)
{
    enum { SUMMARY = 100, MOST_BINS = 100 };
    liana__column *column = &found->columns.items[number];
    double boundaries[MOST_BINS];
    size_t num_kept = 0;
    if (!column->num_bins || column->num_boundaries) return LIANA_OK;
    LIANA__SCOPED(numbers) own = {0};
    visit_column(request, found, ROWS_OF_TRAINING, number, collect_number, &own);
    if (own.failed) return liana__fail_memory(error, column->name);
    if (own.count < (size_t)column->num_bins) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s', column '%.100s': %zu numbers cannot be cut into %lld bins (num_bins)",
                           request->tables[0].path, column->from.items[0], own.count, (long long)column->num_bins);
    }
    qsort(own.items, own.count, sizeof *own.items, compare_numbers);
    const size_t step = own.count > SUMMARY ? own.count / SUMMARY : 1;
    const double first = own.count > SUMMARY ? (double)own.count / SUMMARY - 1 : 0;
    for (size_t i = (size_t)first; i < own.count; i += step) own.items[num_kept++] = own.items[i];
    for (int64_t k = 1; k < column->num_bins; k++) {
        boundaries[k - 1] = value_at(own.items, num_kept, (double)k / (double)column->num_bins);
    }
    return liana__column_set_boundaries(column, boundaries, (size_t)column->num_bins - 1, found->arena, error);
}

/* ---- values ---- */

static liana_status make_room(liana__csv_columns *found, uint64_t num_rows, liana__error *error)
{
    const liana__column_components *all = &found->components;
    for (size_t i = 0; i < all->count; i++) {
        size_t bytes;
        bool fits = !__builtin_mul_overflow(all->sizes[i], (size_t)num_rows, &bytes);
        found->values[i] = fits ? liana__allocate_zeroed(bytes) : NULL;
        if (!found->values[i]) return liana__fail_memory(error, all->items[i].name);
    }
    return LIANA_OK;
}

liana_status liana__csv_columns_find(const liana__csv_request *request, uint64_t num_rows, liana__arena *arena,
                                     liana__csv_columns *found, liana__error *error)
{
    *found = (liana__csv_columns){.arena = arena};
    LIANA_TRY(request->columns ? take_wanted(request, found, error) : take_all(request, found, error));
    LIANA_TRY(find_places(request, found, error));
    for (size_t i = 0; i < found->columns.count; i++) {
        LIANA_TRY(find_dtype(request, found, i, error));
        LIANA_TRY(find_vocabulary(request, found, i, error));
        LIANA_TRY(find_missing(request, found, i, error));
        LIANA_TRY(find_bins(request, found, i, error));
    }
    LIANA_TRY(liana__columns_components(&found->columns, &found->components, error));
    return make_room(found, num_rows, error);
}

/* A cell that will be borrowed is copied. */
static liana_status put(liana__csv_columns *columns, const liana__column *column, void *values, int64_t k,
                        const char *text, size_t size, liana__error *error)
{
    liana__cell cell = liana__cell_read(text, size);
    if (column->dtype == LIANA_STRING) {
        char *copy = liana__arena_copy(columns->arena, text, size);
        if (!copy && size) return liana__fail_memory(error, "a table");
        cell = (liana__cell){.text = copy, .size = size};
    }
    return liana__column_put(column, values, k, &cell, error);
}

/* The values of one cell, from number *k on. */
static liana_status put_cell(liana__csv_columns *columns, const liana__column *column, size_t part, void *values,
                             int64_t *k, const char *cell, liana__error *error)
{
    const char *if_missing = liana__column_if_missing(column, part);
    const bool is_number = column->dtype != LIANA_STRING && !column->category && !column->hash_bins;
    bool is_empty = cell[strspn(cell, " \t\r\n")] == 0;
    bool is_missing = is_empty || (is_number && liana__cell_is_missing(cell, strlen(cell)));
    if (is_missing && if_missing) cell = if_missing;
    const char *end = cell + strlen(cell), *text;
    size_t size;
    if (column->length || column->multi_hot) {
        while (liana__cell_next(&cell, end, &text, &size)) {
            LIANA_TRY(put(columns, column, values, (*k)++, text, size, error));
        }
        return LIANA_OK;
    }
    if (is_empty && !if_missing && column->dtype != LIANA_STRING) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the cell is empty; fill it, or say what an empty cell stands for "
                           "(missing: VALUE)");
    }
    if (is_missing && !is_empty && !if_missing) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "found '%.20s', expected a number; fill the cell, or say what a missing value stands for "
                           "(missing: VALUE)",
                           cell);
    }
    return put(columns, column, values, (*k)++, cell, (size_t)(end - cell), error);
}

/* The texts of a row's cells together; an empty cell is a text too, unless another stands for it. */
static void put_cross(const liana__csv *csv, size_t row, const liana__column *column, const int *places, void *values)
{
    liana_bytes texts[LIANA__MOST_CROSSED];
    for (size_t i = 0; i < column->from.count; i++) {
        const char *cell = liana__csv_cell(csv, row, (size_t)places[i]);
        const char *if_missing = liana__column_if_missing(column, i);
        if (if_missing && cell[strspn(cell, " \t\r\n")] == 0) cell = if_missing;
        const liana__cell trimmed = liana__cell_read(cell, strlen(cell));
        texts[i] = (liana_bytes){trimmed.text, trimmed.size};
    }
    liana__column_put_cross(column, values, texts);
}

liana_status liana__csv_columns_read(liana__csv_columns *columns, const liana__csv_table *tables, size_t table,
                                     size_t row, uint64_t index, liana__error *error)
{
    const liana__csv *csv = tables[table].csv;
    const int *place = columns->places + table * columns->num_places;
    const liana__column_components *all = &columns->components;
    for (size_t i = 0; i < all->count; i++) {
        const liana__column *column = all->made_by[i];
        if (!column) continue;
        void *values = columns->values[i] + index * all->sizes[i];
        int64_t k = 0;
        liana__column_begin(column, values);
        if (column->cross) {
            put_cross(csv, row, column, place, values);
            place += column->from.count;
            continue;
        }
        for (size_t c = 0; c < column->from.count; c++, place++) {
            const char *cell = liana__csv_cell(csv, row, (size_t)*place);
            if (put_cell(columns, column, c, values, &k, cell, error) == LIANA_OK) continue;
            return liana__fail_within(error, "line %zu, column '%.100s'", csv->lines[row], column->from.items[c]);
        }
        int32_t length = (int32_t)(k < column->length ? k : column->length);
        if (column->lengths) memcpy(columns->values[i + 1] + index * sizeof length, &length, sizeof length);
    }
    return LIANA_OK;
}

size_t liana__csv_columns_memory(const liana__csv_columns *columns, uint64_t num_rows)
{
    size_t bytes = 0;
    for (size_t i = 0; i < columns->components.count; i++) bytes += columns->components.sizes[i] * (size_t)num_rows;
    return bytes;
}

void liana__csv_columns_free(liana__csv_columns *columns)
{
    for (size_t i = 0; i < columns->components.count; i++) free(columns->values[i]);
    *columns = (liana__csv_columns){0};
}
