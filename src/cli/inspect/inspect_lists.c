/* Describes archives and lists of images. */
#include "base/text.h"
#include "cli/inspect/inspect.h"
#include "data/source/source.h"
#include "formats/csv.h"
#include "formats/tar.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A list may have any number of classes; a report does not. */
enum { MAX_ROWS = 1000, MAX_LIST = 1 << 30 };

/* How often something comes, and how many bytes that are. */
typedef struct tally {
    const char *name;
    int64_t count;
    int64_t bytes;
} tally;

typedef struct tallies {
    tally items[MAX_ROWS];
    size_t count;
} tallies;

static void add(tallies *all, const char *name, int64_t bytes)
{
    size_t i = 0;
    while (i < all->count && strcmp(all->items[i].name, name) != 0) i++;
    if (i == MAX_ROWS) return;
    if (i == all->count) all->items[all->count++] = (tally){.name = name};
    all->items[i].count++;
    all->items[i].bytes += bytes;
}

static int compare_tallies(const void *a, const void *b)
{
    return strcmp(((const tally *)a)->name, ((const tally *)b)->name);
}

static void report_tallies(tallies *all, const char *name, const char *count, bool bytes, const char *key,
                           liana__value *report, liana__arena *arena)
{
    liana__value *rows = liana__value_list(arena);
    qsort(all->items, all->count, sizeof *all->items, compare_tallies);
    for (size_t i = 0; i < all->count; i++) {
        liana__value *row = liana__value_map(arena);
        liana__inspect_text(arena, row, name, all->items[i].name);
        liana__inspect_int(arena, row, count, all->items[i].count);
        if (bytes) liana__inspect_int(arena, row, "bytes", all->items[i].bytes);
        liana__value_add(arena, rows, row);
    }
    if (all->count) liana__value_set(arena, report, key, rows);
}

/* ---- tar ---- */

/* Members of one name up to the first dot of its last part are an example of a WebDataset. */
static void report_members(const liana__tar *tar, tallies *extensions, liana__value *report, liana__arena *arena)
{
    int64_t examples = 0;
    size_t before = 0;
    for (size_t i = 0; i < tar->count; i++) {
        const liana__tar_member *member = &tar->members[i];
        const char *dot = strchr(liana__path_name(member->name), '.');
        size_t size = dot ? (size_t)(dot - member->name) : strlen(member->name);
        bool same = i && size == before && strncmp(member->name, tar->members[i - 1].name, size) == 0;
        examples += !same;
        before = size;
        const char *extension = liana__arena_string(arena, dot ? dot : "(none)");
        if (extension) add(extensions, extension, (int64_t)member->size);
    }
    liana__inspect_int(arena, report, "members", (int64_t)tar->count);
    liana__inspect_int(arena, report, "examples", examples);
    report_tallies(extensions, "extension", "members", true, "extensions", report, arena);
}

liana_status liana__inspect_tar(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    liana__tar tar = {0};
    tallies *extensions = calloc(1, sizeof *extensions);
    if (!extensions) return liana__fail_memory(error, path);
    liana_status status = liana__tar_open(path, &tar, error);
    if (status == LIANA_OK || tar.count) {
        liana__inspect_text(arena, report, "kind", "tar archive (WebDataset)");
        liana__inspect_int(arena, report, "bytes", (int64_t)tar.size);
        report_members(&tar, extensions, report, arena);
    }
    if (status != LIANA_OK && tar.count) {
        const liana__tar_member *last = &tar.members[tar.count - 1];
        liana__inspect_int(arena, report, "whole_until", (int64_t)(last->offset + last->size));
    }
    liana__tar_close(&tar);
    free(extensions);
    return status;
}

/* ---- CSV ---- */

static liana_status read_table(const char *path, liana__csv *csv, liana__error *error)
{
    char *text;
    size_t size;
    LIANA_TRY(liana__file_read(path, MAX_LIST, &text, &size, error));
    size_t length = strlen(path);
    char delimiter = length > 4 && strcasecmp(path + length - 4, ".tsv") == 0 ? '\t' : ',';
    liana_status status = liana__csv_parse(path, text, size, delimiter, csv, error);
    free(text);
    return status;
}

/* Reports labels and missing files, as training would read the list. */
static liana_status report_records(const liana__source *source, liana__value *report, liana__arena *arena,
                                   liana__error *error)
{
    tallies *labels = calloc(1, sizeof *labels);
    void *scratch = liana__source_scratch_create(source);
    liana_status status = labels && scratch ? LIANA_OK : liana__fail_memory(error, "a list of labels");
    int64_t missing = 0;
    for (uint64_t i = 0; status == LIANA_OK && i < source->num_records; i++) {
        liana__record record;
        liana__error why = {0};
        missing += liana__source_read(source, i, scratch, &record, &why) != LIANA_OK;
        if (!record.has_label) continue;
        bool named = record.label >= 0 && (uint64_t)record.label < source->class_names.count;
        const char *name = named ? source->class_names.items[record.label]
                                 : liana__arena_format(arena, "%lld", (long long)record.label);
        if (name) add(labels, liana__arena_string(arena, name), 0);
    }
    if (status == LIANA_OK) {
        liana__inspect_int(arena, report, "unreadable_images", missing);
        report_tallies(labels, "label", "records", false, "labels", report, arena);
    }
    liana__source_scratch_destroy(source, scratch);
    free(labels);
    return status;
}

liana_status liana__inspect_csv(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    liana__csv csv = {0};
    liana__source *source = NULL;
    liana_status status = read_table(path, &csv, error);
    liana__inspect_text(arena, report, "kind", "CSV list");
    liana__inspect_int(arena, report, "lines", (int64_t)csv.num_rows);
    liana__text header = {0};
    for (size_t i = 0; csv.num_rows && i < csv.num_columns; i++) {
        liana__text_add(&header, "%s%.80s", i ? ", " : "", liana__csv_cell(&csv, 0, i));
    }
    if (csv.num_rows) liana__inspect_text(arena, report, "first_line", liana__arena_string(arena, header.data));
    liana__text_free(&header);
    liana__csv_free(&csv);
    const liana__source_options options = {.kind = "csv"};
    if (status == LIANA_OK) status = liana__source_open(&path, 1, &options, &source, error);
    if (status != LIANA_OK) return status;
    liana__inspect_int(arena, report, "records", (int64_t)source->num_records);
    status = report_records(source, report, arena, error);
    liana__source_close(source);
    return status;
}
