/* Collects records that cannot be used, writes them as CSV and reads them. */
#include "data/check/bad_records.h"

#include "base/file.h"
#include "base/scoped.h"
#include "base/text.h"
#include "formats/csv.h"
#include "remote/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIST_SIZE = 1 << 28 };

typedef enum column { COLUMN_PART, COLUMN_FILE, COLUMN_RECORD, COLUMN_OFFSET, COLUMN_ID, COLUMN_REASON } column;
static const char *const COLUMNS[] = {"part", "file", "record", "offset", "id", "reason"};
enum { NUM_COLUMNS = sizeof COLUMNS / sizeof *COLUMNS };

void liana__bad_records_free(liana__bad_records *list)
{
    liana__arena_free(&list->arena);
    free(list->items);
    *list = (liana__bad_records){0};
}

/* ---- the list ---- */

/* The rank of a part: first those of a run in their order, then others by name. */
static int rank_of(const char *part)
{
    static const char *const parts[] = {"train", "validation", "test"};
    int rank = 0;
    while (rank < 3 && strcmp(part, parts[rank]) != 0) rank++;
    return rank;
}

static int compare(const liana__bad_record *a, const liana__bad_record *b)
{
    int order = rank_of(a->part) - rank_of(b->part);
    if (!order) order = strcmp(a->part, b->part);
    if (!order) order = strcmp(a->file, b->file);
    return order ? order : (a->record > b->record) - (a->record < b->record);
}

/* Where a record is, or would go. */
static size_t find(const liana__bad_records *list, const liana__bad_record *record)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&list->items[middle], record) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

liana_status liana__bad_records_add(liana__bad_records *list, const liana__bad_record *record, bool *added,
                                    liana__error *error)
{
    char *real = realpath(record->file, NULL);
    liana__bad_record wanted = *record;
    if (real) wanted.file = real;
    size_t at = find(list, &wanted);
    bool known = at < list->count && compare(&list->items[at], &wanted) == 0;
    if (added) *added = !known;
    bool enough = known || liana__grow(&list->items, list->count, &list->capacity, sizeof *list->items);
    if (!known && enough) {
        liana__arena *arena = &list->arena;
        wanted.part = liana__arena_string(arena, wanted.part);
        wanted.file = liana__arena_string(arena, wanted.file);
        wanted.id = liana__arena_string(arena, wanted.id);
        wanted.reason = liana__arena_string(arena, wanted.reason);
        enough = !arena->failed;
    }
    if (!known && enough) {
        memmove(list->items + at + 1, list->items + at, (list->count - at) * sizeof *list->items);
        list->items[at] = wanted;
        list->count++;
        list->changed = true;
    }
    free(real);
    return enough ? LIANA_OK : liana__fail_memory(error, "the list of bad records");
}

liana_status liana__bad_records_meet(liana__bad_records *list, const liana__bad_record *record, liana__error *error)
{
    bool added;
    LIANA_TRY(liana__bad_records_add(list, record, &added, error));
    if (added && list->on_note) {
        char where[40] = "", note[2304];
        if (record->offset >= 0) snprintf(where, sizeof where, " (offset %" PRId64 ")", record->offset);
        snprintf(note, sizeof note, "left out of %s: %s%s", record->part, record->reason, where);
        list->on_note(list->user, note);
    }
    if (list->most == 0 || list->count <= (size_t)list->most) return LIANA_OK;
    liana__fail(error, LIANA_DATA_LOSS, "%s", record->reason);
    return liana__fail_within(error, "more than %" PRId64 " bad records (data.max_bad); the last one", list->most);
}

/* ---- writing ---- */

liana_status liana__bad_records_write(const liana__bad_records *list, const char *path, liana__error *error)
{
    LIANA__SCOPED(liana__text) text = {0};
    for (int i = 0; i < NUM_COLUMNS; i++) liana__text_add(&text, "%s%s", i ? "," : "", COLUMNS[i]);
    liana__text_add(&text, "\n");
    for (size_t i = 0; i < list->count; i++) {
        const liana__bad_record *record = &list->items[i];
        liana__csv_add(&text, record->part);
        liana__text_add(&text, ",");
        liana__csv_add(&text, record->file);
        liana__text_add(&text, ",");
        if (record->record >= 0) liana__text_add(&text, "%" PRId64, record->record);
        liana__text_add(&text, ",");
        if (record->offset >= 0) liana__text_add(&text, "%" PRId64, record->offset);
        liana__text_add(&text, ",");
        liana__csv_add(&text, record->id ? record->id : "");
        liana__text_add(&text, ",");
        liana__csv_add(&text, record->reason);
        liana__text_add(&text, "\n");
    }
    return text.failed ? liana__fail_memory(error, path) : liana__store_replace(path, text.data, text.length, error);
}

/* ---- reading ---- */

/* Which column of the file each of ours is; -1: none. */
static liana_status find_columns(const liana__csv *csv, const char *path, int columns[NUM_COLUMNS], liana__error *error)
{
    for (int kind = 0; kind < NUM_COLUMNS; kind++) {
        columns[kind] = -1;
        for (size_t i = 0; csv->num_rows && i < csv->num_columns; i++) {
            if (strcmp(liana__csv_cell(csv, 0, i), COLUMNS[kind]) == 0) columns[kind] = (int)i;
        }
    }
    if (columns[COLUMN_FILE] >= 0 && columns[COLUMN_RECORD] >= 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s' is not a list of records: expected a first line with the names of the columns, 'file' and "
                       "'record' among them",
                       path);
}

/* An empty cell is -1. */
static bool read_number(const char *cell, int64_t *number)
{
    char *end;
    *number = -1;
    if (!*cell) return true;
    long long value = strtoll(cell, &end, 10);
    if (*end || value < 0) return false;
    *number = value;
    return true;
}

static const char *cell_of(const liana__csv *csv, size_t row, int number)
{
    return number < 0 ? "" : liana__csv_cell(csv, row, (size_t)number);
}

static liana_status read_row(liana__bad_records *list, const liana__csv *csv, const char *path, size_t row,
                             const int columns[NUM_COLUMNS], liana__error *error)
{
    const char *file = cell_of(csv, row, columns[COLUMN_FILE]), *id = cell_of(csv, row, columns[COLUMN_ID]);
    const char *numbers[2] = {cell_of(csv, row, columns[COLUMN_RECORD]), cell_of(csv, row, columns[COLUMN_OFFSET])};
    liana__bad_record record = {.part = cell_of(csv, row, columns[COLUMN_PART]),
                                .id = *id ? id : NULL,
                                .reason = cell_of(csv, row, columns[COLUMN_REASON])};
    const char *wrong = !*file                                     ? "the name of the file is missing"
                        : !read_number(numbers[0], &record.record) ? "the record is not a whole number"
                        : !read_number(numbers[1], &record.offset) ? "the offset is not a whole number"
                                                                   : NULL;
    if (wrong) return liana__fail(error, LIANA_INVALID_DATA, "'%s', line %zu: %s", path, csv->lines[row], wrong);
    const char *folder = liana__path_folder(&list->arena, path);
    record.file = folder ? liana__path_join(&list->arena, folder, file) : NULL;
    if (!record.file) return liana__fail_memory(error, path);
    return liana__bad_records_add(list, &record, NULL, error);
}

static liana_status read_list(liana__bad_records *list, const char *path, const char *local, liana__error *error)
{
    LIANA__SCOPED_MEMORY char *data = NULL;
    size_t size;
    LIANA_TRY(liana__file_read(local, MAX_LIST_SIZE, &data, &size, error));
    LIANA__SCOPED(liana__csv) csv = {0};
    int columns[NUM_COLUMNS];
    LIANA_TRY(liana__csv_parse(path, data, size, ',', &csv, error));
    LIANA_TRY(find_columns(&csv, path, columns, error));
    for (size_t row = 1; row < csv.num_rows; row++) LIANA_TRY(read_row(list, &csv, path, row, columns, error));
    return LIANA_OK;
}

liana_status liana__bad_records_read(liana__bad_records *list, const char *path, liana__remote *remote,
                                     liana__error *error)
{
    const char *local = path;
    if (remote) LIANA_TRY(liana__remote_file(remote, path, &list->arena, &local, error));
    return read_list(list, liana__remote_name(local), local, error);
}
