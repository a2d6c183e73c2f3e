/* Tables and pictures of what bench_run recorded. For bench.sh.
 *
 *   bench_report best RECORDS WORKLOAD     the peer's variants that are worth further rounds, one in a line: its best
 *                                          in fp32, in bf16 and tuned
 *   bench_report write RECORDS FOLDER CAPTION     FOLDER/table.txt (also on standard output), table.json, plot.png and
 *                                          plot.svg */
#include "base/file.h"
#include "bench_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- The variants to go on with ---------------------------------------------------------------------------------- */

static void print_best(const bench_records *records, const char *workload)
{
    for (size_t i = 0; i < records->count; i++) {
        const bench_panel *panel = &records->panels[i];
        if (panel->unit == BENCH_MEBIBYTES) continue;
        for (size_t k = 0; k < panel->count; k++) {
            const bench_row *row = &panel->rows[k];
            if (strcmp(row->workload, workload) != 0) continue;
            if (row->peer_float32) printf("%s\n", row->peer_float32->variant);
            if (row->peer_bfloat16) printf("%s\n", row->peer_bfloat16->variant);
            if (row->peer_tuned) printf("%s\n", row->peer_tuned->variant);
        }
    }
}

/* --- The table --------------------------------------------------------------------------------------------------- */

static void print_median(const bench_series *series, char *text, size_t size)
{
    snprintf(text, size, "-");
    if (series && series->count > 0) bench_print_number(series->median, text, size);
}

/* "12.3 (11.9 to 12.6)" */
static void print_spread(const bench_series *series, char *text, size_t size)
{
    char median[32], low[32], high[32];
    print_median(series, median, sizeof median);
    if (series->count > 1) {
        bench_print_number(series->low, low, sizeof low);
        bench_print_number(series->high, high, sizeof high);
        snprintf(text, size, "%s (%s to %s)", median, low, high);
    } else {
        snprintf(text, size, "%s", median);
    }
}

static void print_ratio(double ratio, char *text, size_t size)
{
    if (isfinite(ratio)) {
        snprintf(text, size, "%.2fx", ratio);
    } else {
        snprintf(text, size, "-");
    }
}

/* A peer's column: its number, and how many times better liana's is. */
static void add_peer(liana__text *text, const bench_panel *panel, const bench_series *own, const bench_series *peer)
{
    char median[32], ratio[32];
    print_median(peer, median, sizeof median);
    print_ratio(bench_ratio(panel->unit, own, peer), ratio, sizeof ratio);
    liana__text_add(text, " %9s %7s", median, ratio);
}

static void add_row(liana__text *text, const bench_panel *panel, const bench_row *row)
{
    const char *label = row->label;
    for (size_t i = 0; i < row->count; i++) {
        const bench_series *own = &row->series[i];
        if (!bench_is_liana(own)) continue;
        char spread[128];
        print_spread(own, spread, sizeof spread);
        liana__text_add(text, "%-33s %-15s %29s", label, own->variant, spread);
        add_peer(text, panel, own, row->peer_float32);
        add_peer(text, panel, own, row->peer);
        add_peer(text, panel, own, row->peer_tuned);
        liana__text_add(text, "\n");
        label = "";
    }
}

static void add_failures(liana__text *text, const bench_records *records)
{
    bool any = false;
    for (size_t i = 0; i < records->count; i++) {
        const bench_panel *panel = &records->panels[i];
        if (panel->unit == BENCH_MEBIBYTES) continue;
        for (size_t k = 0; k < panel->count; k++) {
            for (size_t s = 0; s < panel->rows[k].count; s++) {
                const bench_series *series = &panel->rows[k].series[s];
                if (!series->error) continue;
                if (!any) liana__text_add(text, "\nWhat failed:\n");
                any = true;
                liana__text_add(text, "%s, %s %s: %s\n", panel->rows[k].workload, series->program, series->variant,
                                series->error);
            }
        }
    }
}

static void write_table(const bench_records *records, const char *caption, liana__text *text)
{
    liana__text_add(
        text,
        "%s\nMedians of up to %zu rounds (lowest to highest). Ratios above 1: liana is faster, or needs less.\n"
        "PyTorch as it is installed: in fp32, and the better of fp32 and bf16, in the better layout; 'tuned' "
        "with malloc\nthat keeps its pages, and for inference with torch.jit.\n",
        caption, records->rounds);
    for (size_t i = 0; i < records->count; i++) {
        const bench_panel *panel = &records->panels[i];
        char title[128];
        snprintf(title, sizeof title, "%s, %s", panel->title, bench_unit_name(panel->unit));
        liana__text_add(text, "\n%-49s %29s %9s %7s %9s %7s %9s %7s\n", title, "liana", "PT fp32", "ratio", "PT best",
                        "ratio", "PT tuned", "ratio");
        for (size_t k = 0; k < panel->count; k++) add_row(text, panel, &panel->rows[k]);
    }
    add_failures(text, records);
}

/* --- The same for programs --------------------------------------------------------------------------------------- */

/* NaN becomes null. */
static void set_number(liana__arena *arena, liana__value *map, const char *key, double number)
{
    liana__value_set(arena, map, key, liana__value_float(arena, number));
}

static liana__value *series_value(liana__arena *arena, const bench_panel *panel, const bench_row *row,
                                  const bench_series *series)
{
    liana__value *map = liana__value_map(arena);
    liana__value_set(arena, map, "measure", liana__value_string(arena, panel->key));
    liana__value_set(arena, map, "unit", liana__value_string(arena, bench_unit_name(panel->unit)));
    liana__value_set(arena, map, "workload", liana__value_string(arena, row->workload));
    liana__value_set(arena, map, "program", liana__value_string(arena, series->program));
    liana__value_set(arena, map, "variant", liana__value_string(arena, series->variant));
    liana__value_set(arena, map, "rounds", liana__value_int(arena, (int64_t)series->count));
    set_number(arena, map, "median", series->median);
    set_number(arena, map, "lowest", series->low);
    set_number(arena, map, "highest", series->high);
    if (series->error) liana__value_set(arena, map, "error", liana__value_string(arena, series->error));
    if (bench_is_liana(series)) {
        set_number(arena, map, "ratio_to_fp32", bench_ratio(panel->unit, series, row->peer_float32));
        set_number(arena, map, "ratio_to_best", bench_ratio(panel->unit, series, row->peer));
        set_number(arena, map, "ratio_to_tuned", bench_ratio(panel->unit, series, row->peer_tuned));
    }
    return map;
}

static void write_json(bench_records *records, const char *caption, liana__text *text)
{
    liana__arena *arena = &records->arena;
    liana__value *root = liana__value_map(arena), *list = liana__value_list(arena);
    for (size_t i = 0; i < records->count; i++) {
        const bench_panel *panel = &records->panels[i];
        for (size_t k = 0; k < panel->count; k++) {
            const bench_row *row = &panel->rows[k];
            for (size_t s = 0; s < row->count; s++) {
                liana__value_add(arena, list, series_value(arena, panel, row, &row->series[s]));
            }
        }
    }
    liana__value_set(arena, root, "machine", liana__value_string(arena, caption));
    liana__value_set(arena, root, "series", list);
    liana__value_write_json(root, 2, text);
}

static liana_status write_file(bench_records *records, const char *folder, const char *name, const liana__text *text,
                               liana__error *error)
{
    char *path = liana__arena_format(&records->arena, "%s/%s", folder, name);
    if (!path || text->failed) return liana__fail_memory(error, name);
    return liana__file_replace(path, text->data, text->length, error);
}

static liana_status write_all(bench_records *records, const char *folder, const char *caption, liana__error *error)
{
    liana__text table = {0}, json = {0};
    write_table(records, caption, &table);
    write_json(records, caption, &json);
    if (!table.failed) fputs(table.data, stdout);
    liana_status status = write_file(records, folder, "table.txt", &table, error);
    if (status == LIANA_OK) status = write_file(records, folder, "table.json", &json, error);
    static const char *const pictures[] = {"plot.png", "plot.svg"};
    for (size_t i = 0; i < 2 && status == LIANA_OK; i++) {
        char *path = liana__arena_format(&records->arena, "%s/%s", folder, pictures[i]);
        status = path ? bench_plot(records, caption, path, error) : liana__fail_memory(error, pictures[i]);
    }
    liana__text_free(&table);
    liana__text_free(&json);
    return status;
}

int main(int argc, char **argv)
{
    bool best = argc == 4 && strcmp(argv[1], "best") == 0, write = argc == 5 && strcmp(argv[1], "write") == 0;
    if (!best && !write) {
        fprintf(stderr, "usage: bench_report best RECORDS WORKLOAD | bench_report write RECORDS FOLDER CAPTION\n");
        return 2;
    }
    bench_records records;
    liana__error error = {0};
    liana_status status = bench_records_read(argv[2], &records, &error);
    if (status == LIANA_OK && best) print_best(&records, argv[3]);
    if (status == LIANA_OK && write) status = write_all(&records, argv[3], argv[4], &error);
    if (status != LIANA_OK) fprintf(stderr, "bench_report: %s\n", error.message);
    bench_records_free(&records);
    return status == LIANA_OK ? 0 : 1;
}
