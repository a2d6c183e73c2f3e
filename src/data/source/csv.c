/* CSV lists of image files: a row for each, with its path or URL and perhaps its label (a number or a class name) and
 * id. Columns are found by the names in the first line, as Kaggle's and AutoML's lists have them, or, where the first
 * line is no header, by their place: path, label. Paths count from the folder of the list, which may be a URL. */
#include "formats/csv.h"
#include "base/search.h"
#include "base/text.h"
#include "data/image_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct csv_source {
    liana__source base;
    liana__image_files files;
    size_t num_lists;
    const char **lists;
    uint64_t *starts;     /* [num_lists + 1] index of each list's first record */
    const char **classes; /* in the order of the labels; NULL: labels are numbers */
    size_t num_classes;
    size_t classes_capacity;
    bool ignore_labels;
} csv_source;

/* One list while it is read. */
typedef struct list_reader {
    const char *path;
    const char *folder;
    liana__csv csv;
    size_t first_row; /* 1 behind a header */
    int image;        /* columns; -1: none */
    int label;
    int id;
} list_reader;

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
    liana__image_files_free(&source->files);
    free(source->lists);
    free(source->starts);
    free(source->classes);
    free(source);
}

static liana__record_address address(const liana__source *base, uint64_t index)
{
    const csv_source *source = (const csv_source *)base;
    size_t list = liana__part_of(source->starts, source->num_lists, index);
    return (liana__record_address){source->lists[list], (int64_t)(index - source->starts[list])};
}

static void expect(const liana__source *base, uint64_t index)
{
    liana__image_files_expect(&((const csv_source *)base)->files, index);
}

static liana_status read_record(const liana__source *base, uint64_t index, void *scratch, liana__record *record,
                                liana__error *error)
{
    if (liana__image_files_read(&((const csv_source *)base)->files, index, scratch, record, error) == LIANA_OK) {
        return LIANA_OK;
    }
    return liana__source_fail_within(base, index, record, error);
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

/* Without a header the first cell of the first line is a file that is there. */
static liana_status find_columns(csv_source *source, list_reader *reader, const liana__source_options *options,
                                 liana__error *error)
{
    reader->image = find_column(reader, options->image_feature, IMAGE_NAMES, COUNT(IMAGE_NAMES));
    reader->label = find_column(reader, options->label_feature, LABEL_NAMES, COUNT(LABEL_NAMES));
    reader->id = find_column(reader, options->id_feature, ID_NAMES, COUNT(ID_NAMES));
    reader->first_row = 1;
    bool named = options->image_feature || options->label_feature || options->id_feature;
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

static bool parse_label(const char *text, int64_t *label)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    while (*end == ' ') end++;
    *label = value;
    return end > text && *end == 0 && errno == 0;
}

/* All labels are numbers, or, where bad rows may be left out, most of them. */
static bool labels_are_numbers(const list_reader *readers, size_t count, bool skip_damage)
{
    size_t num_numbers = 0, num_names = 0;
    for (size_t i = 0; i < count; i++) {
        if (readers[i].label < 0) continue;
        for (size_t row = readers[i].first_row; row < readers[i].csv.num_rows; row++) {
            int64_t label;
            const char *cell = liana__csv_cell(&readers[i].csv, row, (size_t)readers[i].label);
            bool is_number = parse_label(cell, &label);
            num_numbers += is_number;
            num_names += *cell && !is_number;
        }
    }
    return skip_damage ? num_numbers >= num_names : num_names == 0;
}

/* Where a name is in the sorted list of classes, or would be. */
static size_t class_place(const csv_source *source, const char *name)
{
    size_t low = 0, high = source->num_classes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(source->classes[middle], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static liana_status add_class(csv_source *source, size_t place, const char *name, liana__error *error)
{
    const char *copy = liana__arena_string(&source->files.arena, name);
    if (!copy || !liana__grow(&source->classes, source->num_classes, &source->classes_capacity, sizeof copy)) {
        return liana__fail_memory(error, "a list of classes");
    }
    memmove(source->classes + place + 1, source->classes + place, (source->num_classes - place) * sizeof copy);
    source->classes[place] = copy;
    source->num_classes++;
    return LIANA_OK;
}

/* Labels that are names: those that are listed, or all that occur, in byte order. */
static liana_status find_classes(csv_source *source, const list_reader *readers, size_t count,
                                 const liana__source_options *options, liana__error *error)
{
    for (size_t i = 0; i < options->class_names.count; i++) {
        LIANA_TRY(add_class(source, i, options->class_names.items[i], error));
    }
    for (size_t i = 0; i < count && !options->class_names.count; i++) {
        if (readers[i].label < 0) continue;
        for (size_t row = readers[i].first_row; row < readers[i].csv.num_rows; row++) {
            const char *cell = liana__csv_cell(&readers[i].csv, row, (size_t)readers[i].label);
            size_t place = class_place(source, cell);
            if (!*cell || (place < source->num_classes && strcmp(source->classes[place], cell) == 0)) continue;
            LIANA_TRY(add_class(source, place, cell, error));
        }
    }
    return LIANA_OK;
}

/* -1 for an empty cell. */
static liana_status find_label(const csv_source *source, const list_reader *reader, size_t row, int64_t *label,
                               liana__error *error)
{
    *label = -1;
    if (reader->label < 0 || source->ignore_labels) return LIANA_OK;
    const char *cell = liana__csv_cell(&reader->csv, row, (size_t)reader->label);
    if (!*cell) return LIANA_OK;
    if (source->classes) *label = liana__find_name(source->classes, source->num_classes, cell);
    if (source->classes && *label < 0) {
        const char *nearest = liana__nearest(cell, source->classes, source->num_classes);
        return liana__fail(error, LIANA_INVALID_DATA, "line %zu: '%.100s' is the name of no class%s",
                           reader->csv.lines[row], cell,
                           nearest ? liana__hint(nearest).text : " (see data.class_names)");
    }
    if (source->classes) return LIANA_OK;
    if (!parse_label(cell, label)) {
        return liana__fail(error, LIANA_INVALID_DATA, "line %zu: the label '%.100s' is no number, as others are",
                           reader->csv.lines[row], cell);
    }
    if (*label >= 0) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE, "line %zu: the label %s is below 0", reader->csv.lines[row], cell);
}

/* ---- opening ---- */

/* A row as a file; what is wrong with it begins with its line. */
static liana_status read_row(csv_source *source, const list_reader *reader, size_t row, liana__image_file *file,
                             liana__error *error)
{
    liana__arena *arena = &source->files.arena;
    const char *cell = liana__csv_cell(&reader->csv, row, (size_t)reader->image);
    const char *id = reader->id >= 0 ? liana__csv_cell(&reader->csv, row, (size_t)reader->id) : cell;
    *file = (liana__image_file){.path = image_path(source, reader, cell),
                                .id = liana__arena_string(arena, id),
                                .label = -1};
    if (!file->path || !file->id) return liana__fail_memory(error, reader->path);
    if (!*cell) {
        return liana__fail(error, LIANA_INVALID_DATA, "line %zu: the cell of the image file is empty%s",
                           reader->csv.lines[row],
                           reader->csv.num_ragged ? ", or the line has another number of cells than the first" : "");
    }
    return find_label(source, reader, row, &file->label, error);
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

/* The rows of a text; where skipping is allowed, what lies behind damage that hides where rows end is lost. */
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

static liana_status fill_source(csv_source *source, list_reader *readers, const liana__paths *paths,
                                const liana__source_options *options, liana__error *error)
{
    for (size_t i = 0; i < paths->count; i++) {
        readers[i].path = source->lists[i] = liana__arena_string(&source->files.arena, paths->items[i]);
        readers[i].folder = liana__path_folder(&source->files.arena, liana__remote_name(paths->items[i]));
        if (!readers[i].path || !readers[i].folder) return liana__fail_memory(error, paths->items[i]);
        LIANA_TRY(read_list(source, &readers[i], options, error));
    }
    if (!options->ignore_labels && !labels_are_numbers(readers, paths->count, options->skip_damage)) {
        LIANA_TRY(find_classes(source, readers, paths->count, options, error));
    }
    for (size_t i = 0; i < paths->count; i++) {
        source->starts[i] = source->files.count;
        LIANA_TRY(add_rows(source, &readers[i], options->skip_damage, error));
    }
    source->starts[paths->count] = source->files.count;
    LIANA_TRY(fetch_images(source, readers, options, error));
    source->base.num_records = source->files.count;
    source->base.memory = liana__image_files_memory(&source->files);
    source->base.has_labels = liana__image_files_labelled(&source->files, options->skip_damage);
    source->base.class_names = (liana__strings){source->num_classes, source->classes};
    return LIANA_OK;
}

static liana_status open_source(const liana__paths *paths, const liana__source_options *options, liana__source **out,
                                liana__error *error)
{
    csv_source *source = calloc(1, sizeof *source);
    if (!source) return liana__fail_memory(error, "a list of images");
    source->base.kind = &liana__source_csv;
    source->ignore_labels = options->ignore_labels;
    source->num_lists = paths->count;
    source->lists = calloc(paths->count, sizeof *source->lists);
    source->starts = calloc(paths->count + 1, sizeof *source->starts);
    list_reader *readers = calloc(paths->count, sizeof *readers);
    liana_status status = source->lists && source->starts && readers
                              ? fill_source(source, readers, paths, options, error)
                              : liana__fail_memory(error, "a list of images");
    for (size_t i = 0; readers && i < paths->count; i++) liana__csv_free(&readers[i].csv);
    free(readers);
    return liana__source_finish(&source->base, status, out);
}

const liana__source_kind liana__source_csv = {
    .name = "csv",
    .doc = "CSV or TSV lists of image files with their labels, as numbers or class names.",
    .recognises = recognises,
    .named_only = true,
    .open = open_source,
    .close = close_source,
    .read = read_record,
    .address = address,
    .known_label = known_label,
    .expect = expect,
    .scratch_size = sizeof(liana__file_buffer),
    .num_buffers = 1,
};
