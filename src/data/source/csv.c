/* CSV lists of image files: a row for each, with its path or URL and perhaps its label (a number or a class name) and
 * id. Columns are found by the names in the first line, as Kaggle's and AutoML's lists have them, or, where the first
 * line is no header, by their place: path, label. Paths count from the folder of the list, which may be a URL.
 *
 * More columns become components. A table is a list without image files. */
#include "base/search.h"
#include "base/text.h"
#include "data/source/column_search.h"
#include "data/source/csv_columns.h"
#include "data/source/csv_labels.h"
#include "data/source/image_files.h"
#include "data/source/image_names.h"
#include "formats/csv_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct csv_source {
    liana__source base;
    liana__image_files files;
    size_t num_lists;
    const char **lists;
    const liana__csv_list *readers; /* [num_lists] while it is opened */
    uint64_t *starts;               /* [num_lists + 1] index of each list's first record */
    int64_t *lines;                 /* of a table: [num_records] the line of each row, from 1; NULL: images */
    liana__csv_labels labels;
    liana__csv_columns columns;
    liana__csv_table *tables; /* [num_lists] while it is opened */
    bool is_table;            /* it is opened as one */
} csv_source;

enum { MAX_LIST_SIZE = 1 << 30, LONGEST_HEADER = 200 };

static const char *const IMAGE_NAMES[] = {"image", "path", "file", "filename", "file_name", "image_path", "filepath"};
static const char *const LABEL_NAMES[] = {"label", "class", "class_name", "target"};
static const char *const ID_NAMES[] = {"id", "image_id"};
#define COUNT(names) (sizeof(names) / sizeof *(names))

static bool recognises(const char *path, const uint8_t *head, size_t head_size)
{
    (void)head;
    (void)head_size;
    return liana__csv_file_is_named(path);
}

static void close_source(void *handle)
{
    csv_source *source = handle;
    liana__csv_columns_free(&source->columns);
    liana__image_files_free(&source->files);
    free(source->lists);
    free(source->starts);
    free(source);
}

static liana_record_address address(const void *handle, uint64_t index)
{
    const csv_source *source = handle;
    size_t list = liana__part_of(source->starts, source->num_lists, index);
    return (liana_record_address){.file = source->lists[list],
                                  .record = (int64_t)(index - source->starts[list]),
                                  .line = source->lines ? source->lines[index] : 0};
}

static void visit_files(const void *handle, liana_file_visitor *visit, void *user)
{
    const csv_source *source = handle;
    liana__image_files_visit(&source->files, source->base.num_records, visit, user);
}

static void expect(const void *handle, uint64_t index)
{
    const csv_source *source = handle;
    if (!source->base.lacks_images) liana__image_files_expect(&source->files, index);
}

static liana_status read_record(void *handle, liana_source_record *record)
{
    const csv_source *source = handle;
    const liana__csv_columns *columns = &source->columns;
    if (liana__image_files_read(&source->files, record->index, record->scratch, record, record->error) != LIANA_OK) {
        return liana__source_fail_within(&source->base, record->index, record, record->error);
    }
    for (size_t i = 0; i < columns->components.count; i++) {
        record->values[i] = columns->values[i] + record->index * columns->components.sizes[i];
    }
    return LIANA_OK;
}

static int64_t known_label(const void *handle, uint64_t index)
{
    return ((const csv_source *)handle)->files.items[index].label;
}

/* ---- columns ---- */

static liana_status fail_column(const liana__csv_list *reader, const char *what, const char *wanted,
                                liana__error *error)
{
    char header[LONGEST_HEADER] = "";
    for (size_t i = 0; i < reader->csv.num_columns; i++) {
        size_t used = strlen(header);
        snprintf(header + used, sizeof header - used, "%s%.40s", i ? ", " : "", liana__csv_cell(&reader->csv, 0, i));
    }
    return liana__fail(
        error, LIANA_INVALID_DATA,
        "'%s' has no column '%s' of %s; its first line is: %s. Name the columns in the first line (image, "
        "label, id) or in data.features%s",
        reader->path, wanted ? wanted : "image", what, header,
        wanted ? "" : "; for a table without images set data.train.kind: table");
}

static char *image_path(csv_source *source, const liana__csv_list *reader, const char *cell)
{
    liana__arena *arena = &source->files.arena;
    if (!liana__path_is_remote(reader->folder) || *cell == '/') return liana__path_join(arena, reader->folder, cell);
    /* On a server ".." is a name like any other. */
    const char *folder = reader->folder;
    for (bool more = true; more && folder;) {
        bool up = liana__starts_with(cell, "../");
        more = up || liana__starts_with(cell, "./");
        if (up) folder = liana__path_folder(arena, folder);
        if (more) cell += up ? 3 : 2;
    }
    return folder ? liana__path_join(arena, folder, cell) : NULL;
}

/* Whether the first cell of a list without a header names a file: one on a server can only be told by its name. */
static bool names_file(const char *path)
{
    if (!liana__path_is_remote(path)) return liana__file_exists(path);
    return liana__begins_as_image(path, strcspn(path, "?#"));
}

/* The columns of a list by their use. */
typedef struct column_roles {
    const char *const *names; /* of the columns */
    const char *const *free;  /* the same, NULL where something else is made of the column */
    size_t count;
} column_roles;

static liana_status find_role(const column_roles *roles, const char *const *names, const char *wanted, const char *key,
                              const char *const *usual, size_t num_usual, int *place, liana__error *error)
{
    if (liana__column_search_usual("column", names, roles->count, wanted, usual, num_usual, place, error) == LIANA_OK) {
        return LIANA_OK;
    }
    return liana__fail_within(error, "data.features.%s", key);
}

/* The usual names mean a label only where nothing else is made of that column. An id may be a component too. */
static liana_status find_roles(liana__csv_list *reader, const column_roles *roles, const liana__source_options *options,
                               liana__error *error)
{
    const char *wanted = options->label_feature;
    bool make_label;
    const char *id = options->id_feature ? options->id_feature : liana__columns_only(options->columns, "id");
    LIANA_TRY(find_role(roles, roles->names, options->image_feature, "image", IMAGE_NAMES, COUNT(IMAGE_NAMES),
                        &reader->image, error));
    LIANA_TRY(liana__columns_make_label(options->columns, wanted, &make_label, error));
    LIANA_TRY(find_role(roles, wanted ? roles->names : roles->free, wanted, "label", LABEL_NAMES,
                        make_label ? 0 : COUNT(LABEL_NAMES), &reader->label, error));
    return find_role(roles, roles->names, id, "id", ID_NAMES, COUNT(ID_NAMES), &reader->id, error);
}

/* Finds image, label and id by the names in the first line. Without such a line, a column is named by its number, and
 * the usual names mean nothing. */
static liana_status find_named_columns(csv_source *source, liana__csv_list *reader,
                                       const liana__source_options *options, liana__error *error)
{
    const liana__csv_table table = {reader->path, &reader->csv, reader->first_row};
    liana__arena *arena = &source->files.arena;
    const size_t count = reader->csv.num_columns;
    const char **names = liana__arena_allocate(arena, (count + 1) * sizeof *names);
    const char **free_names = liana__arena_allocate(arena, (count + 1) * sizeof *free_names);
    bool *used = liana__arena_allocate(arena, (count + 1) * sizeof *used);
    if (!names || !free_names || !used) return liana__fail_memory(error, reader->path);
    LIANA_TRY(liana__csv_mark_used(&table, options->columns, used, error));
    for (size_t i = 0; i < count; i++) {
        names[i] = reader->first_row ? liana__csv_cell(&reader->csv, 0, i) : liana__arena_format(arena, "%zu", i);
        free_names[i] = used[i] ? NULL : names[i];
    }
    if (arena->failed) return liana__fail_memory(error, reader->path);
    const column_roles roles = {names, free_names, count};
    if (find_roles(reader, &roles, options, error) == LIANA_OK) return LIANA_OK;
    return liana__fail_within(error, "'%s'", reader->path);
}

/* A column that is named must be there. */
static liana_status check_named(const liana__csv_list *reader, const liana__source_options *options,
                                liana__error *error)
{
    bool needs_label = options->label_feature && !(options->ignore_labels && reader->image < 0);
    if (options->image_feature && reader->image < 0) {
        return fail_column(reader, "image files", options->image_feature, error);
    }
    if (needs_label && reader->label < 0) return fail_column(reader, "labels", options->label_feature, error);
    if (options->id_feature && reader->id < 0) return fail_column(reader, "ids", options->id_feature, error);
    return LIANA_OK;
}

static liana_status find_table_columns(csv_source *source, liana__csv_list *reader,
                                       const liana__source_options *options, liana__error *error)
{
    bool header = options->header == LIANA__HEADER_AUTO ? liana__csv_has_header(&reader->csv)
                                                        : options->header == LIANA__HEADER_YES;
    reader->first_row = header;
    LIANA_TRY(find_named_columns(source, reader, options, error));
    reader->image = -1;
    return check_named(reader,
                       &(liana__source_options){.label_feature = options->label_feature,
                                                .id_feature = options->id_feature,
                                                .ignore_labels = options->ignore_labels},
                       error);
}

static bool has_image_column(const liana__csv_list *reader)
{
    for (size_t column = 0; column < reader->csv.num_columns; column++) {
        for (size_t i = 0; i < COUNT(IMAGE_NAMES); i++) {
            if (liana__column_names_alike(liana__csv_cell(&reader->csv, 0, column), IMAGE_NAMES[i])) return true;
        }
    }
    return false;
}

/* Without a header the first cell of the first line is a file that is there: columns are found by their place. */
static liana_status find_places(csv_source *source, liana__csv_list *reader, bool *found, liana__error *error)
{
    const char *cell = liana__csv_cell(&reader->csv, 0, 0), *first = *cell ? image_path(source, reader, cell) : NULL;
    if (*cell && !first) return liana__fail_memory(error, reader->path);
    *found = first && names_file(first);
    if (!*found) return LIANA_OK;
    reader->first_row = 0;
    reader->image = 0;
    reader->label = reader->csv.num_columns > 1 ? 1 : -1;
    reader->id = -1;
    return LIANA_OK;
}

/* Whether the first row behind a header names a file that is there, in whichever column. */
static liana_status names_files(csv_source *source, const liana__csv_list *reader, bool *found, liana__error *error)
{
    const liana__csv *csv = &reader->csv;
    *found = false;
    for (size_t i = 0; csv->num_rows > 1 && i < csv->num_columns && !*found; i++) {
        const char *cell = liana__csv_cell(csv, 1, i), *path = *cell ? image_path(source, reader, cell) : NULL;
        if (*cell && !path) return liana__fail_memory(error, reader->path);
        *found = path && names_file(path);
    }
    return LIANA_OK;
}

static liana_status find_columns(csv_source *source, liana__csv_list *reader, const liana__source_options *options,
                                 liana__error *error)
{
    const bool named = options->image_feature || has_image_column(reader);
    bool is_table = source->is_table || (options->columns && !named), found = false;
    if (!is_table && !named && !options->label_feature && !options->id_feature) {
        LIANA_TRY(find_places(source, reader, &found, error));
        if (found) return LIANA_OK;
    }
    /* A list of images whose column has another name is no table. */
    if (options->or_table && !named) LIANA_TRY(names_files(source, reader, &found, error));
    if (is_table || (options->or_table && !named && !found)) {
        return find_table_columns(source, reader, options, error);
    }
    reader->first_row = 1;
    LIANA_TRY(find_named_columns(source, reader, options, error));
    if (reader->image < 0) return fail_column(reader, "image files", options->image_feature, error);
    return check_named(reader, options, error);
}

/* ---- opening ---- */

static liana_status read_table_row(csv_source *source, const liana__csv_list *reader, size_t row,
                                   liana__image_file *file, liana__error *error)
{
    const char *id = reader->id >= 0 ? liana__csv_cell(&reader->csv, row, (size_t)reader->id) : NULL;
    *file = (liana__image_file){.id = liana__arena_string(&source->files.arena, id), .names_itself = true, .label = -1};
    if (id && !file->id) return liana__fail_memory(error, reader->path);
    return liana__csv_find_label(&source->labels, reader, row, &file->label, error);
}

/* Adds a row as a file; an error message begins with its line. */
static liana_status read_list_row(csv_source *source, const liana__csv_list *reader, size_t row,
                                  liana__image_file *file, liana__error *error)
{
    liana__arena *arena = &source->files.arena;
    const char *cell = liana__csv_cell(&reader->csv, row, (size_t)reader->image);
    const char *id = reader->id >= 0 ? liana__csv_cell(&reader->csv, row, (size_t)reader->id) : cell;
    *file = (liana__image_file){.path = image_path(source, reader, cell),
                                .id = liana__arena_string(arena, id),
                                .names_itself = reader->id >= 0,
                                .label = -1};
    if (!file->path || !file->id) return liana__fail_memory(error, reader->path);
    if (!*cell) {
        return liana__fail(error, LIANA_INVALID_DATA, "line %zu: the cell of the image file is empty%s",
                           reader->csv.lines[row],
                           reader->csv.num_ragged ? ", or the line has another number of cells than the first" : "");
    }
    return liana__csv_find_label(&source->labels, reader, row, &file->label, error);
}

static liana_status read_row(csv_source *source, const liana__csv_list *reader, size_t row, liana__image_file *file,
                             liana__error *error)
{
    bool is_table = source->base.lacks_images;
    LIANA_TRY((is_table ? read_table_row : read_list_row)(source, reader, row, file, error));
    if (!source->columns.components.count) return LIANA_OK;
    return liana__csv_columns_read(&source->columns, source->tables, (size_t)(reader - source->readers), row,
                                   source->files.count, error);
}

static liana_status add_rows(csv_source *source, const liana__csv_list *reader, bool skip_damage, liana__error *error)
{
    for (size_t row = reader->first_row; row < reader->csv.num_rows; row++) {
        liana__image_file file;
        liana__error own = {0};
        liana_status status = read_row(source, reader, row, &file, &own);
        if (status != LIANA_OK && (!skip_damage || !liana__source_is_bad_record(status))) {
            return liana__fail(error, status, "'%s', %s", reader->path, own.message);
        }
        if (status != LIANA_OK) {
            file.status = status;
            file.reason = liana__arena_string(&source->files.arena, own.message);
            if (!file.reason) return liana__fail_memory(error, reader->path);
        }
        if (source->lines) source->lines[source->files.count] = (int64_t)reader->csv.lines[row];
        LIANA_TRY(liana__image_files_add(&source->files, &file, error));
    }
    return LIANA_OK;
}

/* A cell with a text that stands for a missing value counts as an empty one. */
static void empty_missing(liana__csv *csv, const char *na_value)
{
    for (size_t i = 0; i < csv->num_rows * csv->num_columns; i++) {
        if (strcmp(csv->cells[i], na_value) == 0) csv->cells[i] = "";
    }
}

/* Reads the rows of a text. If skipping is allowed, rows after damage that hides where rows end are lost. */
static liana_status read_text(csv_source *source, liana__csv_list *reader, const char *text, size_t size,
                              const liana__source_options *options, liana__error *error)
{
    liana__arena *arena = &source->files.arena;
    liana__csv *csv = &reader->csv;
    liana__error own = {0};
    csv->keep_ragged = options->skip_damage;
    csv->plain_quotes = options->plain_quotes;
    liana_status status = liana__csv_file_parse(reader->path, text, size, options->field_delim, csv, &own);
    if (options->na_value) empty_missing(csv, options->na_value);
    bool damaged = status == LIANA_INVALID_DATA && options->skip_damage;
    if (status != LIANA_OK && !damaged) return liana__fail_as(error, &own);
    if (csv->num_rows == 0 && !damaged) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' is empty: expected lines of %s", reader->path,
                           source->is_table ? "cells" : "a path and a label");
    }
    if (csv->num_rows) LIANA_TRY(find_columns(source, reader, options, error));
    if (csv->num_rows && reader->label >= 0) {
        liana__csv_trim_column(csv, reader->first_row, (size_t)reader->label);
    }
    if (!damaged) return LIANA_OK;
    liana__lost lost = {.file = reader->path,
                        .record = (int64_t)(csv->num_rows - (csv->num_rows ? reader->first_row : 0)),
                        .offset = (int64_t)csv->size,
                        .bytes = (int64_t)(size - csv->size),
                        .reason = own.message};
    return liana__source_add_lost(&source->base, arena, &lost, error);
}

static liana_status read_list(csv_source *source, liana__csv_list *reader, const liana__source_options *options,
                              liana__error *error)
{
    char *text;
    size_t size;
    liana__error own = {0};
    if (liana__csv_file_load(reader->path, MAX_LIST_SIZE, &text, &size, &own) != LIANA_OK) {
        return liana__source_lose_file(&source->base, &source->files.arena, reader->path, &own, error);
    }
    liana_status status = read_text(source, reader, text, size, options, error);
    free(text);
    return status;
}

/* ---- more columns ---- */

/* The first with rows. */
static const liana__csv_list *first_list(const csv_source *source)
{
    const liana__csv_list *first = source->readers;
    while (first + 1 < source->readers + source->num_lists && first->csv.num_rows == 0) first++;
    return first;
}

static liana_status find_more_columns(csv_source *source, const liana__source_options *options, liana__error *error)
{
    uint64_t num_rows = 0;
    int used[3];
    size_t num_used = 0;
    const liana__csv_list *first = first_list(source);
    if (first->csv.num_rows == 0) return LIANA_OK;
    const int special[] = {first->image, first->label, first->id};
    for (size_t i = 0; i < 3; i++) {
        if (special[i] >= 0) used[num_used++] = special[i];
    }
    source->tables = liana__arena_allocate(&source->files.arena, source->num_lists * sizeof *source->tables);
    if (!source->tables) return liana__fail_memory(error, first->path);
    for (size_t i = 0; i < source->num_lists; i++) {
        const liana__csv_list *reader = &source->readers[i];
        source->tables[i] = (liana__csv_table){reader->path, &reader->csv, reader->first_row};
        num_rows += reader->csv.num_rows - (reader->csv.num_rows ? reader->first_row : 0);
    }
    liana__csv_request request = {.tables = source->tables,
                                  .count = source->num_lists,
                                  .columns = options->columns,
                                  .used = used,
                                  .num_used = num_used,
                                  .has_label = first->label >= 0,
                                  .has_id = first->id >= 0,
                                  .optional = options->columns_optional,
                                  .skip_damage = options->skip_damage,
                                  .take = options->take,
                                  .held_out = options->held_out,
                                  .num_held_out = options->num_held_out};
    LIANA_TRY(liana__csv_columns_find(&request, num_rows, &source->files.arena, &source->columns, error));
    source->base.num_components = source->columns.components.count;
    source->base.components = source->columns.components.items;
    source->base.columns = &source->columns.columns;
    return LIANA_OK;
}

/* Either all lists have images, or none has. */
static liana_status find_images(csv_source *source, liana__csv_list *readers, const liana__source_options *options,
                                liana__error *error)
{
    const char *with = NULL, *without = NULL;
    for (size_t i = 0; i < source->num_lists; i++) {
        if (readers[i].csv.num_rows == 0) continue;
        if (readers[i].image >= 0) with = readers[i].path;
        if (readers[i].image < 0) without = readers[i].path;
    }
    source->base.lacks_images = without != NULL;
    if (without && !with) liana__csv_drop_numbers(readers, source->num_lists, options);
    if (!without || !with) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_DATA,
        "'%s' lists image files, but '%s' has no column of them; name the column in data.features.image, or "
        "use one of both",
        with, without);
}

static liana_status fetch_images(csv_source *source, const liana__csv_list *readers,
                                 const liana__source_options *options, liana__error *error)
{
    size_t failed;
    liana_status status = liana__image_files_fetch(&source->files, options, &failed, error);
    if (status == LIANA_OK || failed == SIZE_MAX) return status;
    size_t list = liana__part_of(source->starts, source->num_lists, failed);
    const liana__csv_list *reader = &readers[list];
    size_t row = reader->first_row + (size_t)(failed - source->starts[list]);
    return liana__fail_within(error, "'%s', line %zu", reader->path, reader->csv.lines[row]);
}

static bool has_label_column(const csv_source *source)
{
    for (size_t i = 0; i < source->num_lists; i++) {
        if (source->readers[i].csv.num_rows && source->readers[i].label < 0) return false;
    }
    return true;
}

/* Where rows may be left out: that none of the labels is a class is no damage, but a list of other classes. */
static liana_status check_any_label(const csv_source *source, liana__error *error)
{
    const liana__csv_labels *labels = &source->labels;
    if (!labels->lists_classes || !labels->skip_damage || labels->ignored) return LIANA_OK;
    bool any = false, unknown = false;
    for (size_t i = 0; i < source->files.count && !any; i++) {
        any = source->files.items[i].label >= 0;
        unknown = unknown || source->files.items[i].reason;
    }
    return any || !unknown ? LIANA_OK : liana__csv_fail_labels(labels, error);
}

/* Cells are often ids, and the files called NAME.jpg. The first one tells. */
static liana_status check_endings(csv_source *source, const liana__csv_list *reader, liana__error *error)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG"};
    const liana__image_file *file = source->files.items;
    if (!source->files.count || !file->path || liana__path_is_remote(file->path) || liana__file_exists(file->path)) {
        return LIANA_OK;
    }
    for (size_t i = 0; i < COUNT(endings); i++) {
        const char *path = liana__arena_format(&source->files.arena, "%s%s", file->path, endings[i]);
        if (!path) return liana__fail_memory(error, reader->path);
        if (!liana__file_exists(path)) continue;
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s', line %zu: there is no file '%s', but '%s'; write the ending %s in the column of the "
                           "image files",
                           reader->path, reader->csv.lines[reader->first_row], file->path, path, endings[i]);
    }
    return LIANA_OK;
}

/* Rows of tables have no file of their own that a message could name, so their lines are kept. */
static liana_status make_lines(csv_source *source, liana__error *error)
{
    size_t count = 1;
    for (size_t i = 0; i < source->num_lists; i++) count += source->readers[i].csv.num_rows;
    source->lines = liana__arena_allocate(&source->files.arena, count * sizeof *source->lines);
    return source->lines ? LIANA_OK : liana__fail_memory(error, "a table");
}

static liana_status fill_source(csv_source *source, liana__csv_list *readers, const liana__paths *paths,
                                const liana__source_options *options, liana__error *error)
{
    for (size_t i = 0; i < paths->count; i++) {
        readers[i].path = source->lists[i] = liana__arena_string(&source->files.arena, paths->items[i]);
        readers[i].folder = liana__path_folder(&source->files.arena, liana__remote_name(paths->items[i]));
        if (!readers[i].path || !readers[i].folder) return liana__fail_memory(error, paths->items[i]);
        LIANA_TRY(read_list(source, &readers[i], options, error));
    }
    LIANA_TRY(find_images(source, readers, options, error));
    if (source->base.lacks_images || options->columns) LIANA_TRY(find_more_columns(source, options, error));
    if (source->base.lacks_images) LIANA_TRY(make_lines(source, error));
    LIANA_TRY(liana__csv_find_classes(&source->labels, options, error));
    for (size_t i = 0; i < paths->count; i++) {
        source->starts[i] = source->files.count;
        LIANA_TRY(add_rows(source, &readers[i], options->skip_damage, error));
    }
    source->starts[paths->count] = source->files.count;
    LIANA_TRY(check_any_label(source, error));
    if (!source->base.lacks_images) {
        LIANA_TRY(check_endings(source, first_list(source), error));
        LIANA_TRY(liana__image_files_distinguish(&source->files, error));
        LIANA_TRY(fetch_images(source, readers, options, error));
        LIANA_TRY(liana__image_files_note_versions(&source->files, error));
    }
    source->base.num_records = source->files.count;
    source->base.memory =
        liana__image_files_memory(&source->files) + liana__csv_columns_memory(&source->columns, source->files.count);
    source->base.has_labels = liana__image_files_labelled(&source->files, options->skip_damage);
    if (source->base.lacks_images && !has_label_column(source)) source->base.has_labels = false;
    source->base.class_names = source->labels.classes;
    return LIANA_OK;
}

static liana_status open_as(liana_source_opening *opening, bool is_table)
{
    const liana__paths *paths = &(liana__paths){(char **)opening->paths, opening->num_paths};
    const liana__source_options *options = opening->options;
    liana__error *error = opening->error;
    csv_source *source = liana__source_make(opening, sizeof *source);
    if (!source) return LIANA_OUT_OF_MEMORY;
    source->is_table = is_table;
    source->num_lists = paths->count;
    source->lists = calloc(paths->count, sizeof *source->lists);
    source->starts = calloc(paths->count + 1, sizeof *source->starts);
    liana__csv_list *readers = calloc(paths->count, sizeof *readers);
    source->readers = readers;
    source->labels = (liana__csv_labels){.arena = &source->files.arena,
                                         .lists = readers,
                                         .num_lists = paths->count,
                                         .ignored = options->ignore_labels,
                                         .skip_damage = options->skip_damage};
    liana_status status = source->lists && source->starts && readers
                              ? fill_source(source, readers, paths, options, error)
                              : liana__fail_memory(error, "a list of images");
    for (size_t i = 0; readers && i < paths->count; i++) liana__csv_free(&readers[i].csv);
    free(readers);
    source->readers = source->labels.lists = NULL;
    source->tables = NULL;
    return status;
}

static liana_status open_list(liana_source_opening *opening)
{
    return open_as(opening, false);
}

static liana_status open_table(liana_source_opening *opening)
{
    return open_as(opening, true);
}

const liana_source_type liana__source_csv = {
    LIANA_PART(
        SOURCE, liana_source_type, "csv",
        "CSV or TSV lists of image files with their labels, as numbers or class names, and values of other columns."),
    .recognises = recognises,
    .named_only = true,
    .open = open_list,
    .close = close_source,
    .read = read_record,
    .address = address,
    .visit_files = visit_files,
    .known_label = known_label,
    .expect = expect,
    .scratch_size = sizeof(liana__file_buffer),
    .num_buffers = 1,
};

/* A file may be either; only its name in data.kind, or the lack of image files, says that it is a table. */
const liana_source_type liana__source_table = {
    LIANA_PART(SOURCE, liana_source_type, "table",
               "CSV or TSV tables of numbers, categories and sequences, without images."),
    .named_only = true,
    .open = open_table,
    .close = close_source,
    .read = read_record,
    .address = address,
    .known_label = known_label,
    .scratch_size = sizeof(liana__file_buffer),
    .num_buffers = 1,
};
