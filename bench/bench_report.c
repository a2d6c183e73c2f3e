/* Tables and pictures of what bench_run recorded. For bench.sh.
 *
 *   bench_report best RECORDS WORKLOAD PROGRAM
 *       Prints the peer's variants that are worth further rounds, one a line: the best one (of PyTorch 1.13 as
 *       installed, and tuned), and those nearly as fast.
 *   bench_report write RECORDS FOLDER CAPTION
 *       Writes FOLDER/table.txt (also to standard output), table.json, plot.png and plot.svg. */
#include "base/file.h"
#include "bench_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- The variants to go on with ---------------------------------------------------------------------------------- */

/* One round does not say which of two is the faster if they are closer than this. */
static const double near = 0.85;

static void print_best_of(const bench_panel *panel, const bench_row *row, const char *program)
{
    for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
        if (strcmp(bench_peer_program((bench_peer)peer), program) != 0) continue;
        for (size_t i = 0; i < row->count; i++) {
            const bench_series *series = &row->series[i];
            bool good = bench_ratio(panel->unit, series, row->best[peer]) >= near;
            if (good && bench_is_of(series, (bench_peer)peer)) printf("%s\n", series->variant);
        }
    }
}

static void print_best(const bench_records *records, const char *workload, const char *program)
{
    for (size_t i = 0; i < records->count; i++) {
        const bench_panel *panel = &records->panels[i];
        if (panel->unit == BENCH_MEBIBYTES) continue;
        for (size_t k = 0; k < panel->count; k++) {
            if (strcmp(panel->rows[k].workload, workload) == 0) print_best_of(panel, &panel->rows[k], program);
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

static void add_number(liana__text *text, const bench_series *series)
{
    char median[32];
    print_median(series, median, sizeof median);
    liana__text_add(text, " %9s", median);
}

/* How many times better liana's number is. */
static void add_ratio(liana__text *text, const bench_panel *panel, const bench_series *own, const bench_series *peer)
{
    char ratio[32];
    print_ratio(bench_ratio(panel->unit, own, peer), ratio, sizeof ratio);
    liana__text_add(text, " %7s", ratio);
}

static void add_row(liana__text *text, const bench_panel *panel, const bench_row *row)
{
    const char *label = row->label;
    for (size_t i = 0; i < row->count; i++) {
        const bench_series *own = &row->series[i];
        if (!bench_is_liana(own)) continue;
        char spread[128];
        print_spread(own, spread, sizeof spread);
        liana__text_add(text, "%-26s %-14s %28s", label, own->variant, spread);
        for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
            add_number(text, row->best[peer]);
            if (peer == BENCH_PYTORCH_1) add_ratio(text, panel, own, row->best[peer]);
        }
        add_ratio(text, panel, own, row->today);
        liana__text_add(text, "\n");
        label = "";
    }
}

/* The geometric mean of a variant's ratios to the best of today's peers, and the least of them. */
static void add_mean(liana__text *text, const bench_panel *panel, const char *variant)
{
    double sum = 0, least = INFINITY;
    int count = 0;
    for (size_t k = 0; k < panel->count; k++) {
        const bench_row *row = &panel->rows[k];
        for (size_t i = 0; i < row->count; i++) {
            const bench_series *own = &row->series[i];
            if (!bench_is_liana(own) || strcmp(own->variant, variant) != 0) continue;
            const double ratio = bench_ratio(panel->unit, own, row->today);
            if (!isfinite(ratio)) continue;
            sum += log(ratio);
            least = fmin(least, ratio);
            count++;
        }
    }
    if (count < 2) return;
    liana__text_add(text, "%-26s %-14s last ratio of %d: %.2fx, least %.2fx\n", "geometric mean", variant, count,
                    exp(sum / count), least);
}

static void add_panel(liana__text *text, const bench_panel *panel)
{
    char title[128];
    snprintf(title, sizeof title, "%s, %s", panel->title, bench_unit_name(panel->unit));
    liana__text_add(text, "\n%-41s %28s", title, "liana");
    for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
        liana__text_add(text, " %9s", bench_peer_title((bench_peer)peer));
        if (peer == BENCH_PYTORCH_1) liana__text_add(text, " %7s", "ratio");
    }
    liana__text_add(text, " %7s\n", "ratio");
    for (size_t k = 0; k < panel->count; k++) add_row(text, panel, &panel->rows[k]);
    for (size_t i = 0; panel->count > 0 && i < panel->rows[0].count; i++) {
        if (bench_is_liana(&panel->rows[0].series[i])) add_mean(text, panel, panel->rows[0].series[i].variant);
    }
}

/* The program's version as the first of its series says it; NULL where it was not measured. */
static const char *version_of(const bench_records *records, const char *program)
{
    for (size_t i = 0; i < records->count; i++) {
        for (size_t k = 0; k < records->panels[i].count; k++) {
            const bench_row *row = &records->panels[i].rows[k];
            for (size_t s = 0; s < row->count; s++) {
                if (strcmp(row->series[s].program, program) == 0 && row->series[s].version) {
                    return row->series[s].version;
                }
            }
        }
    }
    return NULL;
}

/* "PyTorch 2 is 2.13.0. JAX is 0.10.2." */
static void add_versions(liana__text *text, const bench_records *records)
{
    const char *separator = "";
    for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
        if (peer == BENCH_PYTORCH_1_TUNED) continue;
        const char *program = bench_peer_program((bench_peer)peer), *version = version_of(records, program);
        if (!version) continue;
        liana__text_add(text, "%s%s is %s.", separator, program, version);
        separator = " ";
    }
    if (*separator) liana__text_add(text, "\n");
}

static bool has_peer(const bench_row *row)
{
    for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
        if (row->best[peer]) return true;
    }
    return false;
}

/* Which variant each number of a peer is of. */
static void add_settings(liana__text *text, const bench_records *records)
{
    static const int widths[BENCH_NUM_PEERS] = {29, 29, 23, 14, 0};
    bool any = false;
    for (size_t i = 0; i < records->count; i++) {
        const bench_panel *panel = &records->panels[i];
        for (size_t k = 0; panel->unit != BENCH_MEBIBYTES && k < panel->count; k++) {
            const bench_row *row = &panel->rows[k];
            if (!has_peer(row)) continue;
            if (!any) {
                liana__text_add(text, "\n%-22s", "The peers' settings");
                for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
                    liana__text_add(text, " %-*s", widths[peer], bench_peer_title((bench_peer)peer));
                }
            }
            any = true;
            liana__text_add(text, "\n%-22s", row->workload);
            for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
                const char *variant = row->best[peer] ? row->best[peer]->variant : "-";
                if (liana__starts_with(variant, "tuned ")) variant += strlen("tuned ");
                liana__text_add(text, " %-*s", widths[peer], variant);
            }
        }
    }
    if (any) liana__text_add(text, "\n");
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
    liana__text_add(text, "%s\n", caption);
    add_versions(text, records);
    liana__text_add(
        text,
        "Medians of up to %zu rounds (lowest to highest). Ratios above 1: liana is faster, or needs less.\n"
        "Each peer is in its best setting, listed below. PT 1.13: as it is installed, and the ratio to it; tuned: with "
        "malloc that\nkeeps its pages, and for inference with torch.jit. PT 2, JAX, TF: today's, with such a malloc; "
        "the "
        "last ratio is to the best of them.\n",
        records->rounds);
    for (size_t i = 0; i < records->count; i++) add_panel(text, &records->panels[i]);
    add_settings(text, records);
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
    if (series->version) liana__value_set(arena, map, "version", liana__value_string(arena, series->version));
    liana__value_set(arena, map, "variant", liana__value_string(arena, series->variant));
    liana__value_set(arena, map, "rounds", liana__value_int(arena, (int64_t)series->count));
    set_number(arena, map, "median", series->median);
    set_number(arena, map, "lowest", series->low);
    set_number(arena, map, "highest", series->high);
    if (series->error) liana__value_set(arena, map, "error", liana__value_string(arena, series->error));
    if (bench_is_liana(series)) {
        set_number(arena, map, "ratio_to_pytorch_1", bench_ratio(panel->unit, series, row->best[BENCH_PYTORCH_1]));
        set_number(arena, map, "ratio_to_tuned", bench_ratio(panel->unit, series, row->best[BENCH_PYTORCH_1_TUNED]));
        set_number(arena, map, "ratio_to_today", bench_ratio(panel->unit, series, row->today));
    } else {
        liana__value_set(arena, map, "best_of_today", liana__value_bool(arena, series == row->today));
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
    bool best = argc == 5 && strcmp(argv[1], "best") == 0, write = argc == 5 && strcmp(argv[1], "write") == 0;
    if (!best && !write) {
        fprintf(stderr,
                "usage: bench_report best RECORDS WORKLOAD PROGRAM | bench_report write RECORDS FOLDER CAPTION\n");
        return 2;
    }
    bench_records records;
    liana__error error = {0};
    liana_status status = bench_records_read(argv[2], &records, &error);
    if (status == LIANA_OK && best) print_best(&records, argv[3], argv[4]);
    if (status == LIANA_OK && write) status = write_all(&records, argv[3], argv[4], &error);
    if (status != LIANA_OK) fprintf(stderr, "bench_report: %s\n", error.message);
    bench_records_free(&records);
    return status == LIANA_OK ? 0 : 1;
}
