#include "data/bad_records.h"

#include "base/file.h"
#include "base/text.h"

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

/* The parts in the order in which a run uses them; others behind, by name. */
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
    if (!added) return LIANA_OK;
    if (list->on_note) {
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

static void add_field(liana__text *text, const char *field)
{
    if (!strpbrk(field, ",\"\r\n")) {
        liana__text_add(text, "%s", field);
        return;
    }
    liana__text_add(text, "\"");
    for (; *field; field++) {
        if (*field == '"') liana__text_add(text, "\"");
        liana__text_add_bytes(text, field, 1);
    }
    liana__text_add(text, "\"");
}

liana_status liana__bad_records_write(const liana__bad_records *list, const char *path, liana__error *error)
{
    liana__text text = {0};
    for (int i = 0; i < NUM_COLUMNS; i++) liana__text_add(&text, "%s%s", i ? "," : "", COLUMNS[i]);
    liana__text_add(&text, "\n");
    for (size_t i = 0; i < list->count; i++) {
        const liana__bad_record *record = &list->items[i];
        add_field(&text, record->part);
        liana__text_add(&text, ",");
        add_field(&text, record->file);
        liana__text_add(&text, ",");
        if (record->record >= 0) liana__text_add(&text, "%" PRId64, record->record);
        liana__text_add(&text, ",");
        if (record->offset >= 0) liana__text_add(&text, "%" PRId64, record->offset);
        liana__text_add(&text, ",");
        add_field(&text, record->id ? record->id : "");
        liana__text_add(&text, ",");
        add_field(&text, record->reason);
        liana__text_add(&text, "\n");
    }
    liana_status status =
        text.failed ? liana__fail_memory(error, path) : liana__file_replace(path, text.data, text.length, error);
    liana__text_free(&text);
    return status;
}

/* ---- reading ---- */

typedef struct csv_reader {
    const char *path;
    char *at; /* the file's own bytes; fields are cut out of them in place */
    char *end;
    int line; /* of the row that is read */
    int next_line;
} csv_reader;

static liana_status fail_line(const csv_reader *reader, liana__error *error, const char *what)
{
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s', line %d: %s; expected a list of records as liana writes it, with the columns file and "
                       "record",
                       reader->path, reader->line, what);
}

/* One field, unquoted in place and ended by a 0; *last says whether its row ends there. */
static liana_status read_field(csv_reader *reader, char **field, bool *last, liana__error *error)
{
    char *from = reader->at, *to = from;
    bool quoted = from < reader->end && *from == '"';
    *field = from;
    if (quoted) from++;
    while (from < reader->end) {
        if (quoted && *from == '"') {
            if (from + 1 == reader->end || from[1] != '"') {
                quoted = false;
                from++;
                continue;
            }
            from++;
        } else if (!quoted && (*from == ',' || *from == '\n' || *from == '\r')) {
            break;
        }
        reader->next_line += *from == '\n';
        if (*from == 0) return fail_line(reader, error, "there is a zero byte");
        *to++ = *from++;
    }
    if (quoted) return fail_line(reader, error, "a quote is not closed");
    *last = from == reader->end || *from != ',';
    if (from < reader->end && *from == '\r' && from + 1 < reader->end && from[1] == '\n') from++;
    if (from < reader->end) {
        reader->next_line += *from == '\n';
        from++;
    }
    /* The reader's bytes have a 0 behind them, so there is always room for this one. */
    *to = 0;
    reader->at = from;
    return LIANA_OK;
}

static liana_status read_header(csv_reader *reader, int kinds[], int *count, liana__error *error)
{
    bool last = false, found[NUM_COLUMNS] = {false};
    for (*count = 0; !last; ++*count) {
        char *name;
        LIANA_TRY(read_field(reader, &name, &last, error));
        if (*count == NUM_COLUMNS) return fail_line(reader, error, "there are more columns than six");
        int kind = 0;
        while (kind < NUM_COLUMNS && strcmp(COLUMNS[kind], name) != 0) kind++;
        if (kind == NUM_COLUMNS || found[kind]) return fail_line(reader, error, "a column's name is not known");
        kinds[*count] = kind;
        found[kind] = true;
    }
    if (found[COLUMN_FILE] && found[COLUMN_RECORD]) return LIANA_OK;
    return fail_line(reader, error, "a column is missing");
}

/* An empty field is -1. */
static bool read_number(const char *field, int64_t *number)
{
    char *end;
    *number = -1;
    if (!*field) return true;
    long long value = strtoll(field, &end, 10);
    if (*end || value < 0) return false;
    *number = value;
    return true;
}

static liana_status read_row(liana__bad_records *list, csv_reader *reader, const char *folder, const int kinds[],
                             int count, liana__error *error)
{
    const char *fields[NUM_COLUMNS] = {"", "", "", "", "", ""};
    bool last = false;
    int i = 0;
    for (; !last; i++) {
        char *field;
        LIANA_TRY(read_field(reader, &field, &last, error));
        if (i == 0 && last && !*field) return LIANA_OK; /* an empty line */
        if (i == count) return fail_line(reader, error, "there are more fields than columns");
        fields[kinds[i]] = field;
    }
    if (i < count) return fail_line(reader, error, "fields are missing");
    liana__bad_record record = {.part = fields[COLUMN_PART],
                                .id = *fields[COLUMN_ID] ? fields[COLUMN_ID] : NULL,
                                .reason = fields[COLUMN_REASON]};
    if (!*fields[COLUMN_FILE]) return fail_line(reader, error, "the name of the file is missing");
    if (!read_number(fields[COLUMN_RECORD], &record.record) || !read_number(fields[COLUMN_OFFSET], &record.offset)) {
        return fail_line(reader, error, "a record or offset is no whole number");
    }
    record.file = liana__path_join(&list->arena, folder, fields[COLUMN_FILE]);
    if (!record.file) return liana__fail_memory(error, reader->path);
    return liana__bad_records_add(list, &record, NULL, error);
}

liana_status liana__bad_records_read(liana__bad_records *list, const char *path, liana__error *error)
{
    char *data;
    size_t size;
    LIANA_TRY(liana__file_read(path, MAX_LIST_SIZE, &data, &size, error));
    csv_reader reader = {.path = path, .at = data, .end = data + size, .line = 1, .next_line = 1};
    const char *folder = liana__path_folder(&list->arena, path);
    int kinds[NUM_COLUMNS], count = 0;
    liana_status status = folder ? read_header(&reader, kinds, &count, error) : liana__fail_memory(error, path);
    while (status == LIANA_OK && reader.at < reader.end) {
        reader.line = reader.next_line;
        status = read_row(list, &reader, folder, kinds, count, error);
    }
    free(data);
    return status;
}
