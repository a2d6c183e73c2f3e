/* The columns of the CSV files that examples come from. */
#include "cli/predict/predict.h"

#include "base/search.h"
#include "formats/csv_file.h"

#include <stdlib.h>

enum { MOST_FILES_SIZE = 1 << 30 };

/* A file, and the first record of the source that is in it. */
typedef struct kept_file {
    const char *path;
    liana__csv csv;
    uint64_t num_records;
    size_t first_row; /* 1 behind a header */
} kept_file;

struct liana__kept_table {
    const liana__source *source;
    liana__arena arena;
    kept_file *files;
    size_t num_files;
    size_t capacity;
    const char **names;
    size_t num_columns;
};

static liana_status load(const liana__run *run, kept_file *file, liana__error *error)
{
    const liana__data_config *data = &run->config->data;
    char *text;
    size_t size;
    file->csv.plain_quotes = !data->use_quote_delim;
    LIANA_TRY(liana__csv_file_load(file->path, MOST_FILES_SIZE, &text, &size, error));
    const liana_status status =
        liana__csv_file_parse(file->path, text, size, data->field_delim ? *data->field_delim : 0, &file->csv, error);
    free(text);
    return status;
}

static liana_status add_file(const liana__run *run, liana__kept_table *table, const char *path, liana__error *error)
{
    if (!liana__csv_file_is_named(path)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "--keep keeps the columns of CSV files; '%s' is another kind of data",
                           liana__remote_name(path));
    }
    if (!liana__grow(&table->files, table->num_files, &table->capacity, sizeof *table->files)) {
        return liana__fail_memory(error, path);
    }
    kept_file *file = &table->files[table->num_files++];
    *file = (kept_file){.path = path};
    return load(run, file, error);
}

/* All records that are read tell how many lines of a file are no records: none, or its header. */
static liana_status find_files(const liana__run *run, liana__kept_table *table, liana__error *error)
{
    const liana__source *source = table->source;
    for (uint64_t i = 0; i < source->num_records; i++) {
        const liana_record_address address = liana__source_local_address(source, i);
        kept_file *last = table->num_files ? &table->files[table->num_files - 1] : NULL;
        if (!last || strcmp(last->path, address.file) != 0) {
            LIANA_TRY(add_file(run, table, address.file, error));
            last = &table->files[table->num_files - 1];
        }
        last->num_records++;
    }
    return LIANA_OK;
}

/* A table whose first line was no header has numbers for names. */
static liana_status find_names(liana__kept_table *table, liana__error *error)
{
    const liana__csv *first = &table->files[0].csv;
    table->num_columns = first->num_columns;
    table->names = liana__arena_allocate(&table->arena, (first->num_columns + 1) * sizeof *table->names);
    for (size_t i = 0; table->names && i < first->num_columns; i++) {
        table->names[i] =
            table->files[0].first_row ? liana__csv_cell(first, 0, i) : liana__arena_format(&table->arena, "%zu", i);
    }
    if (table->arena.failed) return liana__fail_memory(error, "the columns");
    for (size_t k = 1; k < table->num_files; k++) {
        const kept_file *file = &table->files[k];
        bool same = file->csv.num_columns == first->num_columns && file->first_row == table->files[0].first_row;
        for (size_t i = 0; same && file->first_row && i < first->num_columns; i++) {
            same = strcmp(liana__csv_cell(&file->csv, 0, i), table->names[i]) == 0;
        }
        if (same) continue;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "--keep: '%s' has other columns than '%s'; predict them one by one", file->path,
                           table->files[0].path);
    }
    return LIANA_OK;
}

static liana_status open_table(const liana__run *run, liana__kept_table *table, liana__error *error)
{
    LIANA_TRY(find_files(run, table, error));
    const bool whole = !run->config->data.take && !run->config->data.quarantine && table->num_files;
    for (size_t i = 0; i < table->num_files; i++) {
        kept_file *file = &table->files[i];
        const size_t rows = file->csv.num_rows;
        const bool fits = rows == file->num_records || rows == file->num_records + 1;
        if (!whole || !fits) {
            return liana__fail(error, LIANA_INVALID_CONFIG,
                               "--keep needs all rows of '%s': leave out data.take and data.quarantine", file->path);
        }
        file->first_row = rows - (size_t)file->num_records;
    }
    return find_names(table, error);
}

liana_status liana__kept_table_open(const liana__run *run, const liana__source *source, liana__kept_table **table,
                                    liana__error *error)
{
    *table = calloc(1, sizeof **table);
    if (!*table) return liana__fail_memory(error, "the columns");
    (*table)->source = source;
    const liana_status status = open_table(run, *table, error);
    if (status == LIANA_OK) return LIANA_OK;
    liana__kept_table_close(*table);
    *table = NULL;
    return status;
}

void liana__kept_table_close(liana__kept_table *table)
{
    if (!table) return;
    for (size_t i = 0; i < table->num_files; i++) liana__csv_free(&table->files[i].csv);
    free(table->files);
    liana__arena_free(&table->arena);
    free(table);
}

size_t liana__kept_table_num_columns(const liana__kept_table *table)
{
    return table->num_columns;
}

const char *liana__kept_table_name(const liana__kept_table *table, size_t column)
{
    return table->names[column];
}

const char *liana__kept_table_cell(const liana__kept_table *table, uint64_t record, size_t column)
{
    for (size_t i = 0; i < table->num_files; i++) {
        const kept_file *file = &table->files[i];
        if (record < file->num_records) {
            return liana__csv_cell(&file->csv, file->first_row + (size_t)record, column);
        }
        record -= file->num_records;
    }
    return "";
}
