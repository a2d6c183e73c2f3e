/* CSV lists of image files: a row for each, with its path or URL and perhaps its label (a number or a class name) and
 * id. Columns are found by the names in the first line, as Kaggle's and AutoML's lists have them, or, where the first
 * line is no header, by their place: path, label. Paths count from the folder of the list, which may be a URL.
 *
 * More columns become components. A table is a list without image files. */
#include "formats/csv.h"
#include "base/search.h"
#include "base/text.h"
#include "data/source/class_list.h"
#include "data/source/csv_columns.h"
#include "data/source/image_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Names in the source's arena. */
typedef struct name_list {
    const char **items;
    size_t count;
    size_t capacity;
} name_list;

/* One list while it is read. */
typedef struct list_reader {
    const char *path;
    const char *folder;
    liana__csv csv;
    size_t first_row; /* 1 behind a header */
    int image;        /* columns; -1: none; all lists have images, or none has */
    int label;
    int id;
} list_reader;

typedef struct csv_source {
    liana__source base;
    liana__image_files files;
    size_t num_lists;
    const char **lists;
    const list_reader *readers; /* [num_lists] while it is opened */
    uint64_t *starts;           /* [num_lists + 1] index of each list's first record */
    name_list classes;          /* in the order of the labels; NULL: labels are numbers */
    bool lists_classes;         /* they are those of the options */
    bool ignore_labels;
    bool skip_damage;
    liana__csv_columns columns;
    liana__csv_table *tables; /* [num_lists] while it is opened */
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
    size_t length = strlen(path);
    return length > 4 && (strcasecmp(path + length - 4, ".csv") == 0 || strcasecmp(path + length - 4, ".tsv") == 0);
}

static void close_source(liana__source *base)
{
    csv_source *source = (csv_source *)base;
    liana__csv_columns_free(&source->columns);
    liana__image_files_free(&source->files);
    free(source->lists);
    free(source->starts);
    free(source->classes.items);
    free(source);
}

static liana__record_address address(const liana__source *base, uint64_t index)
{
    const csv_source *source = (const csv_source *)base;
    size_t list = liana__part_of(source->starts, source->num_lists, index);
    return (liana__record_address){source->lists[list], (int64_t)(index - source->starts[list])};
}

static void visit_files(const liana__source *base,
                        void (*visit)(void *user, const char *path, const char *name, bool labels), void *user)
{
    liana__image_files_visit(&((const csv_source *)base)->files, base->num_records, visit, user);
}

static void expect(const liana__source *base, uint64_t index)
{
    if (!base->lacks_images) liana__image_files_expect(&((const csv_source *)base)->files, index);
}

static liana_status read_record(const liana__source *base, uint64_t index, void *scratch, liana__record *record,
                                liana__error *error)
{
    const csv_source *source = (const csv_source *)base;
    const liana__csv_columns *columns = &source->columns;
    if (liana__image_files_read(&source->files, index, scratch, record, error) != LIANA_OK) {
        return liana__source_fail_within(base, index, record, error);
    }
    for (size_t i = 0; i < columns->components.count; i++) {
        record->values[i] = columns->values[i] + index * columns->components.sizes[i];
    }
    return LIANA_OK;
}

static int64_t known_label(const liana__source *base, uint64_t index)
{
    return ((const csv_source *)base)->files.items[index].label;
}

/* ---- columns ---- */

static int find_column(const list_reader *reader, const char *wanted, const char *const *usual, size_t num_usual)
{
    const liana__csv *csv = &reader->csv;
    for (size_t i = 0; i < (wanted ? 1 : num_usual); i++) {
        for (size_t column = 0; column < csv->num_columns; column++) {
            if (strcasecmp(liana__csv_cell(csv, 0, column), wanted ? wanted : usual[i]) == 0) return (int)column;
        }
    }
    return -1;
}

static liana_status fail_column(const list_reader *reader, const char *what, const char *wanted, liana__error *error)
{
    char header[LONGEST_HEADER] = "";
    for (size_t i = 0; i < reader->csv.num_columns; i++) {
        size_t used = strlen(header);
        snprintf(header + used, sizeof header - used, "%s%.40s", i ? ", " : "", liana__csv_cell(&reader->csv, 0, i));
    }
    return liana__fail(
        error, LIANA_INVALID_DATA,
        "'%s' has no column '%s' of %s; its first line is: %s. Name the columns in the first line (image, "
        "label, id) or in data.features",
        reader->path, wanted ? wanted : "image", what, header);
}

static char *image_path(csv_source *source, const list_reader *reader, const char *cell)
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
    static const char *const suffixes[] = {".jpg", ".jpeg", ".png"};
    if (!liana__path_is_remote(path)) return liana__file_exists(path);
    size_t length = strcspn(path, "?#");
    for (size_t i = 0; i < COUNT(suffixes); i++) {
        size_t size = strlen(suffixes[i]);
        if (length > size && strncasecmp(path + length - size, suffixes[i], size) == 0) return true;
    }
    return false;
}

/* The usual names mean a label or an id only where nothing else is made of that column. */
static int find_free_column(const liana__csv_table *table, const char *wanted, const char *const *usual,
                            size_t num_usual, const liana__columns *columns)
{
    if (wanted) return liana__csv_find_column(table, wanted);
    for (size_t i = 0; i < num_usual; i++) {
        int found = table->first_row ? liana__csv_find_column(table, usual[i]) : -1;
        if (found >= 0 && !liana__columns_use(columns, usual[i])) return found;
    }
    return -1;
}

static liana_status find_table_columns(list_reader *reader, const liana__source_options *options, liana__error *error)
{
    bool header = options->header == LIANA__HEADER_AUTO ? liana__csv_has_header(&reader->csv)
                                                        : options->header == LIANA__HEADER_YES;
    reader->first_row = header;
    reader->image = -1;
    liana__csv_table table = {reader->path, &reader->csv, reader->first_row};
    reader->label = find_free_column(&table, options->label_feature, LABEL_NAMES, COUNT(LABEL_NAMES), options->columns);
    reader->id = find_free_column(&table, options->id_feature, ID_NAMES, COUNT(ID_NAMES), options->columns);
    bool needs_label = options->label_feature && !options->ignore_labels;
    if (needs_label && reader->label < 0) return fail_column(reader, "labels", options->label_feature, error);
    if (options->id_feature && reader->id < 0) return fail_column(reader, "ids", options->id_feature, error);
    return LIANA_OK;
}

/* Without a header the first cell of the first line is a file that is there. */
static liana_status find_columns(csv_source *source, list_reader *reader, const liana__source_options *options,
                                 liana__error *error)
{
    reader->image = find_column(reader, options->image_feature, IMAGE_NAMES, COUNT(IMAGE_NAMES));
    reader->label = find_column(reader, options->label_feature, LABEL_NAMES, COUNT(LABEL_NAMES));
    reader->id = find_column(reader, options->id_feature, ID_NAMES, COUNT(ID_NAMES));
    reader->first_row = 1;
    bool named = options->image_feature || options->label_feature || options->id_feature;
    bool is_table = options->columns && !options->image_feature && reader->image < 0;
    if (source->base.kind == &liana__source_table || is_table) return find_table_columns(reader, options, error);
    if (!options->label_feature && reader->label >= 0 &&
        liana__columns_use(options->columns, liana__csv_cell(&reader->csv, 0, (size_t)reader->label))) {
        reader->label = -1;
    }
    if (reader->image < 0 && !named && liana__csv_cell(&reader->csv, 0, 0)[0]) {
        const char *first = image_path(source, reader, liana__csv_cell(&reader->csv, 0, 0));
        if (!first) return liana__fail_memory(error, reader->path);
        if (!names_file(first)) return fail_column(reader, "image files", NULL, error);
        reader->first_row = 0;
        reader->image = 0;
        reader->label = reader->csv.num_columns > 1 ? 1 : -1;
        reader->id = -1;
    }
    if (reader->image < 0) return fail_column(reader, "image files", options->image_feature, error);
    if (options->label_feature && reader->label < 0)
        return fail_column(reader, "labels", options->label_feature, error);
    if (options->id_feature && reader->id < 0) return fail_column(reader, "ids", options->id_feature, error);
    return LIANA_OK;
}

/* ---- labels ---- */

/* The cell of a row's label; NULL if there is none, or nothing in it. */
static const char *label_cell(const list_reader *reader, size_t row)
{
    if (reader->label < 0) return NULL;
    const char *cell = liana__csv_cell(&reader->csv, row, (size_t)reader->label);
    return cell[strspn(cell, " \t")] ? cell : NULL;
}

/* How many labels of a list are numbers, and how many are not. */
typedef struct label_counts {
    size_t numbers;
    size_t names;
} label_counts;

static label_counts count_labels(const list_reader *reader)
{
    label_counts counts = {0};
    for (size_t row = reader->first_row; row < reader->csv.num_rows; row++) {
        int64_t number;
        const char *cell = label_cell(reader, row);
        bool is_number = cell && liana__class_number_read(cell, &number) != LIANA__CLASS_NO_NUMBER;
        counts.numbers += is_number;
        counts.names += cell && !is_number;
    }
    return counts;
}

/* Whether all labels are numbers; or most of them, if bad rows may be left out. One list with only numbers and one with
 * only names is always a mistake: which number belongs to which name is not known. */
static liana_status find_numbers(const list_reader *readers, size_t count, bool skip_damage, bool *are_numbers,
                                 liana__error *error)
{
    label_counts all = {0};
    const char *numbered = NULL, *named = NULL;
    for (size_t i = 0; i < count; i++) {
        label_counts own = count_labels(&readers[i]);
        all.numbers += own.numbers;
        all.names += own.names;
        if (own.numbers && !own.names) numbered = readers[i].path;
        if (own.names && !own.numbers) named = readers[i].path;
    }
    *are_numbers = skip_damage ? all.numbers >= all.names : all.names == 0;
    if (!numbered || !named) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "the labels of '%s' are numbers, those of '%s' are names of classes; which number belongs to "
                       "which name is not known: write all labels in one way",
                       numbered, named);
}

/* Where a name is in a sorted list, or would be. */
static size_t name_place(const name_list *list, const char *name)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(list->items[middle], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static liana_status add_name(csv_source *source, name_list *list, size_t place, const char *name, liana__error *error)
{
    const char *copy = liana__arena_string(&source->files.arena, name);
    if (!copy || !liana__grow(&list->items, list->count, &list->capacity, sizeof copy)) {
        return liana__fail_memory(error, "a list of classes");
    }
    memmove(list->items + place + 1, list->items + place, (list->count - place) * sizeof copy);
    list->items[place] = copy;
    list->count++;
    return LIANA_OK;
}

/* All labels that occur, in byte order. */
static liana_status collect_names(csv_source *source, name_list *list, liana__error *error)
{
    for (size_t i = 0; i < source->num_lists; i++) {
        const list_reader *reader = &source->readers[i];
        for (size_t row = reader->first_row; row < reader->csv.num_rows; row++) {
            const char *cell = label_cell(reader, row);
            size_t place = cell ? name_place(list, cell) : 0;
            if (!cell || (place < list->count && strcmp(list->items[place], cell) == 0)) continue;
            LIANA_TRY(add_name(source, list, place, cell, error));
        }
    }
    return LIANA_OK;
}

/* "'FILE', line N" of a label that occurs. */
static const char *first_place(csv_source *source, const char *name)
{
    for (size_t i = 0; i < source->num_lists; i++) {
        const list_reader *reader = &source->readers[i];
        for (size_t row = reader->first_row; row < reader->csv.num_rows; row++) {
            const char *cell = label_cell(reader, row);
            if (!cell || strcmp(cell, name) != 0) continue;
            return liana__arena_format(&source->files.arena, "'%s', line %zu", reader->path, reader->csv.lines[row]);
        }
    }
    return NULL;
}

static int compare_loosely(const void *a, const void *b)
{
    return liana__class_name_compare_loosely(*(const char *const *)a, *(const char *const *)b);
}

/* Names that differ only in their blanks or in case are one class, written in two ways. */
static liana_status check_spelling(csv_source *source, liana__error *error)
{
    const name_list *classes = &source->classes;
    const char **sorted = liana__arena_allocate(&source->files.arena, (classes->count + 1) * sizeof *sorted);
    if (!sorted) return liana__fail_memory(error, "a list of classes");
    for (size_t i = 0; i < classes->count; i++) sorted[i] = classes->items[i];
    qsort(sorted, classes->count, sizeof *sorted, compare_loosely);
    for (size_t i = 1; i < classes->count; i++) {
        if (compare_loosely(&sorted[i - 1], &sorted[i]) != 0) continue;
        const char *one = first_place(source, sorted[i - 1]), *other = first_place(source, sorted[i]);
        if (!one || !other) return liana__fail_memory(error, "a list of classes");
        return liana__fail(error, LIANA_INVALID_DATA,
                           "%s: the label '%.100s', and %s: '%.100s' are written differently, but mean the same; write "
                           "them alike, or list both in data.class_names if they are two classes",
                           one, sorted[i - 1], other, sorted[i]);
    }
    return LIANA_OK;
}

/* The classes of labels that are names: the listed ones, or all that occur, in byte order. */
static liana_status find_classes(csv_source *source, const liana__source_options *options, liana__error *error)
{
    const liana__strings *listed = &options->class_names;
    source->lists_classes = listed->count > 0;
    for (size_t i = 0; i < listed->count; i++) {
        LIANA_TRY(add_name(source, &source->classes, i, listed->items[i], error));
    }
    if (listed->count) return LIANA_OK;
    LIANA_TRY(collect_names(source, &source->classes, error));
    return check_spelling(source, error);
}

/* Whether labels are looked up among the listed names even if they are numbers. */
static bool numbers_are_names(const liana__source_options *options)
{
    const liana__strings *listed = &options->class_names;
    return listed->count && (options->labels_are_names || liana__class_list_is_numbers(listed));
}

/* The place of a label among the classes, or -1: "7.0" is the class "7". */
static int64_t find_name(const name_list *classes, const char *cell)
{
    int64_t number, found = liana__find_name(classes->items, classes->count, cell);
    if (found >= 0 || liana__class_number_read(cell, &number) != LIANA__CLASS_WHOLE_NUMBER) return found;
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    return liana__find_name(classes->items, classes->count, text);
}

/* Both lists of classes: the run's, and those of the labels. */
typedef struct both_lists {
    liana__class_list_text listed;
    liana__class_list_text found;
} both_lists;

static liana_status show_lists(csv_source *source, both_lists *both, liana__error *error)
{
    name_list own = {0};
    LIANA_TRY(collect_names(source, &own, error));
    both->listed = liana__class_list_show(&(liana__strings){source->classes.count, source->classes.items});
    both->found = liana__class_list_show(&(liana__strings){own.count, own.items});
    free(own.items);
    return LIANA_OK;
}

static liana_status fail_name(csv_source *source, const list_reader *reader, size_t row, const char *cell,
                              liana__error *error)
{
    const name_list *classes = &source->classes;
    const char *nearest = liana__nearest(cell, classes->items, classes->count);
    both_lists both = {{""}, {""}};
    /* Bad rows are reported one by one, without the lists. */
    if (source->lists_classes && !source->skip_damage) LIANA_TRY(show_lists(source, &both, error));
    const char *listed = both.listed.text;
    return liana__fail(error, LIANA_INVALID_DATA, "line %zu: '%.100s' is not the name of a class%s%s%s%s%s",
                       reader->csv.lines[row], cell, nearest ? liana__hint(nearest).text : " (see data.class_names)",
                       *listed ? ". There are " : "", listed, *listed ? "; the labels here are of " : "",
                       both.found.text);
}

/* Where rows may be left out: that none of the labels is a class is no damage, but a list of other classes. */
static liana_status check_any_label(csv_source *source, liana__error *error)
{
    if (!source->lists_classes || !source->skip_damage || source->ignore_labels) return LIANA_OK;
    bool any = false, unknown = false;
    for (size_t i = 0; i < source->files.count && !any; i++) {
        any = source->files.items[i].label >= 0;
        unknown = unknown || source->files.items[i].reason;
    }
    if (any || !unknown) return LIANA_OK;
    both_lists both;
    LIANA_TRY(show_lists(source, &both, error));
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s': none of its labels is the name of a class. There are %s; the labels here are of %s",
                       source->lists[0], both.listed.text, both.found.text);
}

/* -1 for an empty cell. */
static liana_status find_label(csv_source *source, const list_reader *reader, size_t row, int64_t *label,
                               liana__error *error)
{
    *label = -1;
    const char *cell = source->ignore_labels ? NULL : label_cell(reader, row);
    if (!cell) return LIANA_OK;
    if (source->classes.items) {
        *label = find_name(&source->classes, cell);
        return *label >= 0 ? LIANA_OK : fail_name(source, reader, row, cell, error);
    }
    switch (liana__class_number_read(cell, label)) {
    case LIANA__CLASS_NO_NUMBER:
        return liana__fail(error, LIANA_INVALID_DATA, "line %zu: the label '%.100s' is not a number, as the others are",
                           reader->csv.lines[row], cell);
    case LIANA__CLASS_FRACTION:
        return liana__fail(
            error, LIANA_INVALID_DATA,
            "line %zu: the label '%.100s' is not a whole number; expected the number of a class: 0, 1, 2, ...",
            reader->csv.lines[row], cell);
    default: break;
    }
    if (*label >= 0) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE, "line %zu: the label %s is below 0", reader->csv.lines[row], cell);
}

/* ---- opening ---- */

static liana_status read_table_row(csv_source *source, const list_reader *reader, size_t row, liana__image_file *file,
                                   liana__error *error)
{
    const char *id = reader->id >= 0 ? liana__csv_cell(&reader->csv, row, (size_t)reader->id) : NULL;
    *file = (liana__image_file){.id = liana__arena_string(&source->files.arena, id), .names_itself = true, .label = -1};
    if (id && !file->id) return liana__fail_memory(error, reader->path);
    return find_label(source, reader, row, &file->label, error);
}

/* Adds a row as a file; an error message begins with its line. */
static liana_status read_list_row(csv_source *source, const list_reader *reader, size_t row, liana__image_file *file,
                                  liana__error *error)
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
    return find_label(source, reader, row, &file->label, error);
}

static liana_status read_row(csv_source *source, const list_reader *reader, size_t row, liana__image_file *file,
                             liana__error *error)
{
    bool is_table = source->base.lacks_images;
    LIANA_TRY((is_table ? read_table_row : read_list_row)(source, reader, row, file, error));
    if (!source->columns.components.count) return LIANA_OK;
    return liana__csv_columns_read(&source->columns, source->tables, (size_t)(reader - source->readers), row,
                                   source->files.count, error);
}

static liana_status add_rows(csv_source *source, const list_reader *reader, bool skip_damage, liana__error *error)
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
        LIANA_TRY(liana__image_files_add(&source->files, &file, error));
    }
    return LIANA_OK;
}

/* Reads the rows of a text. If skipping is allowed, rows after damage that hides where rows end are lost. */
static liana_status read_text(csv_source *source, list_reader *reader, const char *text, size_t size,
                              const liana__source_options *options, liana__error *error)
{
    liana__arena *arena = &source->files.arena;
    liana__csv *csv = &reader->csv;
    size_t length = strlen(reader->path);
    char delimiter = strcasecmp(reader->path + length - (length > 4 ? 4 : length), ".tsv") == 0 ? '\t' : ',';
    liana__error own = {0};
    csv->keep_ragged = options->skip_damage;
    liana_status status = liana__csv_parse(reader->path, text, size, delimiter, csv, &own);
    bool damaged = status == LIANA_INVALID_DATA && options->skip_damage;
    if (status != LIANA_OK && !damaged) {
        if (error) *error = own;
        return status;
    }
    if (csv->num_rows == 0 && !damaged) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' is empty: expected lines of a path and a label",
                           reader->path);
    }
    if (csv->num_rows) LIANA_TRY(find_columns(source, reader, options, error));
    if (!damaged) return LIANA_OK;
    liana__lost lost = {.file = reader->path,
                        .record = (int64_t)(csv->num_rows - (csv->num_rows ? reader->first_row : 0)),
                        .offset = (int64_t)csv->size,
                        .bytes = (int64_t)(size - csv->size),
                        .reason = own.message};
    return liana__source_add_lost(&source->base, arena, &lost, error);
}

static liana_status read_list(csv_source *source, list_reader *reader, const liana__source_options *options,
                              liana__error *error)
{
    char *text;
    size_t size;
    liana__error own = {0};
    if (liana__file_read(reader->path, MAX_LIST_SIZE, &text, &size, &own) != LIANA_OK) {
        return liana__source_lose_file(&source->base, &source->files.arena, reader->path, options->skip_damage, &own,
                                       error);
    }
    liana_status status = read_text(source, reader, text, size, options, error);
    free(text);
    return status;
}

/* ---- more columns ---- */

static bool is_fraction(const list_reader *reader)
{
    for (size_t row = reader->first_row; row < reader->csv.num_rows; row++) {
        int64_t number;
        const char *cell = label_cell(reader, row);
        if (cell && liana__class_number_read(cell, &number) == LIANA__CLASS_FRACTION) return true;
    }
    return false;
}

/* A table's column that is called as labels are, but holds fractions, is no class: it is a number to predict. */
static void drop_number_labels(list_reader *readers, size_t count, const liana__source_options *options)
{
    bool any = false;
    for (size_t i = 0; i < count && !options->label_feature; i++) any = any || is_fraction(&readers[i]);
    for (size_t i = 0; i < count && any; i++) readers[i].label = -1;
}

static liana_status find_more_columns(csv_source *source, const liana__source_options *options, liana__error *error)
{
    const char *used[4] = {NULL};
    size_t num_used = 0;
    uint64_t num_rows = 0;
    const list_reader *first = source->readers;
    while (first + 1 < source->readers + source->num_lists && first->csv.num_rows == 0) first++;
    if (first->csv.num_rows == 0) return LIANA_OK;
    const int special[] = {first->image, first->label, first->id};
    for (size_t i = 0; i < 3; i++) {
        if (special[i] < 0) continue;
        used[num_used] = first->first_row ? liana__csv_cell(&first->csv, 0, (size_t)special[i])
                                          : liana__arena_format(&source->files.arena, "%d", special[i]);
        if (!used[num_used++]) return liana__fail_memory(error, first->path);
    }
    source->tables = liana__arena_allocate(&source->files.arena, source->num_lists * sizeof *source->tables);
    if (!source->tables) return liana__fail_memory(error, first->path);
    for (size_t i = 0; i < source->num_lists; i++) {
        const list_reader *reader = &source->readers[i];
        source->tables[i] = (liana__csv_table){reader->path, &reader->csv, reader->first_row};
        num_rows += reader->csv.num_rows - (reader->csv.num_rows ? reader->first_row : 0);
    }
    liana__csv_request request = {.tables = source->tables,
                                  .count = source->num_lists,
                                  .columns = options->columns,
                                  .used = used,
                                  .optional = options->columns_optional,
                                  .skip_damage = options->skip_damage};
    LIANA_TRY(liana__csv_columns_find(&request, num_rows, &source->files.arena, &source->columns, error));
    source->base.num_components = source->columns.components.count;
    source->base.components = source->columns.components.items;
    source->base.columns = &source->columns.columns;
    return LIANA_OK;
}

/* Either all lists have images, or none has. */
static liana_status find_images(csv_source *source, list_reader *readers, const liana__source_options *options,
                                liana__error *error)
{
    const char *with = NULL, *without = NULL;
    for (size_t i = 0; i < source->num_lists; i++) {
        if (readers[i].csv.num_rows == 0) continue;
        if (readers[i].image >= 0) with = readers[i].path;
        if (readers[i].image < 0) without = readers[i].path;
    }
    source->base.lacks_images = without != NULL;
    if (without && !with) drop_number_labels(readers, source->num_lists, options);
    if (!without || !with) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_DATA,
        "'%s' lists image files, but '%s' has no column of them; name the column in data.features.image, or "
        "use one of both",
        with, without);
}

static liana_status fetch_images(csv_source *source, const list_reader *readers, const liana__source_options *options,
                                 liana__error *error)
{
    size_t failed;
    liana_status status = liana__image_files_fetch(&source->files, options, &failed, error);
    if (status == LIANA_OK || failed == SIZE_MAX) return status;
    size_t list = liana__part_of(source->starts, source->num_lists, failed);
    const list_reader *reader = &readers[list];
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

static liana_status fill_source(csv_source *source, list_reader *readers, const liana__paths *paths,
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
    bool are_numbers = true;
    if (!options->ignore_labels) {
        LIANA_TRY(find_numbers(readers, paths->count, options->skip_damage, &are_numbers, error));
    }
    if (!options->ignore_labels && (!are_numbers || numbers_are_names(options))) {
        LIANA_TRY(find_classes(source, options, error));
    }
    for (size_t i = 0; i < paths->count; i++) {
        source->starts[i] = source->files.count;
        LIANA_TRY(add_rows(source, &readers[i], options->skip_damage, error));
    }
    source->starts[paths->count] = source->files.count;
    LIANA_TRY(check_any_label(source, error));
    if (!source->base.lacks_images) {
        LIANA_TRY(liana__image_files_distinguish(&source->files, error));
        LIANA_TRY(fetch_images(source, readers, options, error));
        LIANA_TRY(liana__image_files_note_versions(&source->files, error));
    }
    source->base.num_records = source->files.count;
    source->base.memory =
        liana__image_files_memory(&source->files) + liana__csv_columns_memory(&source->columns, source->files.count);
    source->base.has_labels = liana__image_files_labelled(&source->files, options->skip_damage);
    if (source->base.lacks_images && !has_label_column(source)) source->base.has_labels = false;
    source->base.class_names = (liana__strings){source->classes.count, source->classes.items};
    return LIANA_OK;
}

static liana_status open_as(const liana__source_kind *kind, const liana__paths *paths,
                            const liana__source_options *options, liana__source **out, liana__error *error)
{
    csv_source *source = calloc(1, sizeof *source);
    if (!source) return liana__fail_memory(error, "a list of images");
    source->base.kind = kind;
    source->ignore_labels = options->ignore_labels;
    source->skip_damage = options->skip_damage;
    source->num_lists = paths->count;
    source->lists = calloc(paths->count, sizeof *source->lists);
    source->starts = calloc(paths->count + 1, sizeof *source->starts);
    list_reader *readers = calloc(paths->count, sizeof *readers);
    source->readers = readers;
    liana_status status = source->lists && source->starts && readers
                              ? fill_source(source, readers, paths, options, error)
                              : liana__fail_memory(error, "a list of images");
    for (size_t i = 0; readers && i < paths->count; i++) liana__csv_free(&readers[i].csv);
    free(readers);
    source->readers = NULL;
    source->tables = NULL;
    return liana__source_finish(&source->base, status, out);
}

static liana_status open_list(const liana__paths *paths, const liana__source_options *options, liana__source **out,
                              liana__error *error)
{
    return open_as(&liana__source_csv, paths, options, out, error);
}

static liana_status open_table(const liana__paths *paths, const liana__source_options *options, liana__source **out,
                               liana__error *error)
{
    return open_as(&liana__source_table, paths, options, out, error);
}

/* A file may be either; only its name in data.kind, or the lack of image files, says that it is a table. */
static bool recognises_nothing(const char *path, const uint8_t *head, size_t head_size)
{
    (void)path;
    (void)head;
    (void)head_size;
    return false;
}

const liana__source_kind liana__source_csv = {
    .name = "csv",
    .doc = "CSV or TSV lists of image files with their labels, as numbers or class names, and values of other columns.",
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

const liana__source_kind liana__source_table = {
    .name = "table",
    .doc = "CSV or TSV tables of numbers, categories and sequences, without images.",
    .recognises = recognises_nothing,
    .named_only = true,
    .open = open_table,
    .close = close_source,
    .read = read_record,
    .address = address,
    .known_label = known_label,
    .scratch_size = sizeof(liana__file_buffer),
    .num_buffers = 1,
};
