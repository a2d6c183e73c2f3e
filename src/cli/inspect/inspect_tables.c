/* Describes CSV lists of images and tables for liana inspect. */
#include "base/scoped.h"
#include "cli/inspect/inspect.h"
#include "data/dataset/element.h"
#include "data/source/source_open.h"
#include "formats/csv_file.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TABLE = 1 << 30, MAX_HEADER = 1000 };

/* The numbers of a column. */
typedef struct column_sum {
    double low, high, sum;
} column_sum;

static liana_status read_table(const char *path, liana__csv *csv, liana__error *error)
{
    LIANA__SCOPED_MEMORY char *text = NULL;
    size_t size;
    LIANA_TRY(liana__csv_file_load(path, MAX_TABLE, &text, &size, error));
    return liana__csv_file_parse(path, text, size, 0, csv, error);
}

static void report_header(const liana__csv *csv, liana__value *report, liana__arena *arena)
{
    liana__text header = {0};
    for (size_t i = 0; i < csv->num_columns && header.length < MAX_HEADER; i++) {
        liana__text_add(&header, "%s%.80s", i ? ", " : "", liana__csv_cell(csv, 0, i));
    }
    if (header.length >= MAX_HEADER) liana__text_add(&header, ", ...");
    liana__findings_text(arena, report, "first_line", liana__arena_string(arena, header.data));
    liana__text_free(&header);
    liana__findings_int(arena, report, "columns_of_lines", (int64_t)csv->num_columns);
}

static void add_values(const liana__source *source, const liana_source_record *record, column_sum *sums, bool first)
{
    for (size_t i = 0; i < source->num_components; i++) {
        const int dtype = source->components[i].dtype;
        if (dtype != LIANA_S64 && dtype != LIANA_F32) continue;
        const double value = dtype == LIANA_S64 ? (double)*(const int64_t *)record->values[i]
                                                : (double)*(const float *)record->values[i];
        column_sum *sum = &sums[i];
        if (first || value < sum->low) sum->low = value;
        if (first || value > sum->high) sum->high = value;
        sum->sum += value;
    }
}

static void report_columns(const liana__source *source, const column_sum *sums, uint64_t count, liana__value *report,
                           liana__arena *arena)
{
    liana__value *rows = liana__value_list(arena);
    for (size_t i = 0; i < source->num_components; i++) {
        const liana_component *component = &source->components[i];
        liana__value *row = liana__value_map(arena);
        liana__findings_text(arena, row, "column", component->name);
        liana__findings_text(arena, row, "dtype",
                             liana__arena_string(arena, liana__component_describe(component).text));
        if (component->dtype != LIANA_STRING && count) {
            liana__findings_number(arena, row, "smallest", sums[i].low);
            liana__findings_number(arena, row, "largest", sums[i].high);
            liana__findings_number(arena, row, "mean", sums[i].sum / (double)count);
        }
        liana__value_add(arena, rows, row);
    }
    if (source->num_components) liana__value_set(arena, report, "columns", rows);
}

static const char *label_name(const liana__source *source, int64_t label, liana__arena *arena)
{
    if (label >= 0 && (uint64_t)label < source->class_names.count) {
        return liana__arena_string(arena, source->class_names.items[label]);
    }
    return liana__arena_format(arena, "%lld", (long long)label);
}

/* Reports labels, values and missing files, as training would read them. */
static liana_status report_records(const liana__source *source, liana__value *report, liana__arena *arena,
                                   liana__error *error)
{
    LIANA__SCOPED_MEMORY liana__tallies *labels = calloc(1, sizeof *labels);
    LIANA__SCOPED_MEMORY column_sum *sums = calloc(source->num_components + 1, sizeof *sums);
    void *scratch = liana__source_scratch_create(source);
    liana_status status = labels && sums && scratch ? LIANA_OK : liana__fail_memory(error, "a list of labels");
    uint64_t missing = 0;
    for (uint64_t i = 0; status == LIANA_OK && i < source->num_records; i++) {
        liana_source_record record;
        liana__error why = {0};
        const bool read = liana__source_read(source, i, scratch, &record, &why) == LIANA_OK;
        if (read) add_values(source, &record, sums, i == missing);
        missing += !read;
        if (!record.has_label) continue;
        const char *name = label_name(source, record.label, arena);
        if (name) liana__tallies_add(labels, name, 0);
    }
    if (status == LIANA_OK) {
        if (!source->lacks_images) liana__findings_int(arena, report, "unreadable_images", (int64_t)missing);
        report_columns(source, sums, source->num_records - missing, report, arena);
        liana__tallies_report(labels, "label", "records", false, "labels", report, arena);
    }
    liana__source_scratch_destroy(source, scratch);

    return status;
}

liana_status liana__inspect_csv(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    liana__csv csv = {0};
    liana__source *source = NULL;
    liana_status status = read_table(path, &csv, error);
    liana__findings_text(arena, report, "kind", "CSV");
    liana__findings_int(arena, report, "lines", (int64_t)csv.num_rows);
    if (csv.num_rows) report_header(&csv, report, arena);
    liana__csv_free(&csv);
    const liana__source_options options = {.kind = "csv", .or_table = true};
    if (status == LIANA_OK) status = liana__source_open(&path, 1, &options, &source, error);
    if (status != LIANA_OK) return status;
    liana__findings_text(arena, report, "kind", source->lacks_images ? "CSV table" : "CSV list");
    liana__findings_int(arena, report, "records", (int64_t)source->num_records);
    status = report_records(source, report, arena, error);
    liana__source_close(source);
    return status;
}

liana_status liana__inspect_cifar(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    liana__source *source;
    const liana__source_options options = {.kind = "cifar", .skip_damage = true};
    liana__findings_text(arena, report, "kind", "CIFAR");
    LIANA_TRY(liana__source_open(&path, 1, &options, &source, error));
    liana__findings_int(arena, report, "records", (int64_t)source->num_records);
    liana_status status = report_records(source, report, arena, error);
    if (status == LIANA_OK && source->num_lost) {
        status = liana__fail(error, LIANA_DATA_LOSS, "%s", source->lost[0].reason);
    }
    liana__source_close(source);
    return status;
}
