/* Tables and pictures of what bench_run recorded. For bench.sh.
 *
 *   bench_report best RECORDS WORKLOAD PROGRAM
 *       Prints the peer's variants that are worth further rounds, one a line: the best one of each precision (of
 *       PyTorch 1.13 as installed, and tuned), and those nearly as fast.
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

static bool is_near_best(const bench_panel *panel, const bench_row *row, const bench_series *series,
                         const char *program)
{
    for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
        if (strcmp(bench_peer_program((bench_peer)peer), program) != 0) continue;
        if (!bench_is_of(series, (bench_peer)peer)) continue;
        return bench_ratio(panel->unit, series, row->best[series->precision].of[peer]) >= near;
    }
    return false;
}

static void print_best(const bench_records *records, const char *workload, const char *program)
{
    for (size_t i = 0; i < records->count; i++) {
        const bench_panel *panel = &records->panels[i];
        if (panel->unit == BENCH_MEBIBYTES) continue;
        for (size_t k = 0; k < panel->count; k++) {
            const bench_row *row = &panel->rows[k];
            if (strcmp(row->workload, workload) != 0) continue;
            for (size_t s = 0; s < row->count; s++) {
                if (is_near_best(panel, row, &row->series[s], program)) printf("%s\n", row->series[s].variant);
            }
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

/* "1.25x (1.20 to 1.31)" */
static void print_ratio(bench_ratios ratio, char *text, size_t size)
{
    if (!isfinite(ratio.median)) {
        snprintf(text, size, "-");
    } else if (ratio.count > 1) {
        snprintf(text, size, "%.2fx (%.2f to %.2f)", ratio.median, ratio.low, ratio.high);
    } else {
        snprintf(text, size, "%.2fx", ratio.median);
    }
}

/* The peers' numbers are those of the same precision. */
static void add_row(liana__text *text, const bench_panel *panel, const bench_row *row)
{
    const char *label = row->label;
    for (size_t i = 0; i < row->count; i++) {
        const bench_series *own = &row->series[i];
        if (!bench_is_liana(own)) continue;
        const bench_best *best = &row->best[own->precision];
        char cell[128];
        print_spread(own, cell, sizeof cell);
        liana__text_add(text, "%-26s %-14s %28s", label, own->variant, cell);
        for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
            print_median(best->of[peer], cell, sizeof cell);
            liana__text_add(text, " %8s", cell);
        }
        print_ratio(bench_compare(panel->unit, own, best->rival), cell, sizeof cell);
        liana__text_add(text, " %23s\n", cell);
        label = "";
    }
}

/* --- Means of ratios --------------------------------------------------------------------------------------------- */

/* The ratios of one of liana's variants to the best peer of each row. */
typedef struct ratio_sum {
    const char *variant;
    bool same; /* peers in the variant's own precision; otherwise in either */
    double logarithms;
    int count;
    double least;
    const char *least_workload;
} ratio_sum;

static const char *const variants[] = {"float32", "mixed_bfloat16"};
enum { NUM_VARIANTS = sizeof variants / sizeof *variants, NUM_SUMS = 2 * NUM_VARIANTS };

static void add_ratios(ratio_sum *sum, const bench_panel *panel)
{
    for (size_t k = 0; k < panel->count; k++) {
        const bench_row *row = &panel->rows[k];
        for (size_t i = 0; i < row->count; i++) {
            const bench_series *own = &row->series[i];
            if (!bench_is_liana(own) || strcmp(own->variant, sum->variant) != 0) continue;
            const bench_precision precision = sum->same ? own->precision : BENCH_ANY_PRECISION;
            const double ratio = bench_ratio(panel->unit, own, row->best[precision].rival);
            if (!isfinite(ratio)) continue;
            if (sum->count++ == 0 || ratio < sum->least) {
                sum->least = ratio;
                sum->least_workload = row->workload;
            }
            sum->logarithms += log(ratio);
        }
    }
}

static double mean_of(const ratio_sum *sum)
{
    return exp(sum->logarithms / sum->count);
}

static void add_sum(liana__text *text, const char *label, const ratio_sum *sum)
{
    if (sum->count < 2) return;
    liana__text_add(text, "%-26s %-14s %.2fx in %d rows, least %.2fx: %s\n", label, sum->variant, mean_of(sum),
                    sum->count, sum->least, sum->least_workload);
}

/* All rows of speed: each variant against its own precision, then against either. */
static void sum_all(const bench_records *records, ratio_sum sums[NUM_SUMS])
{
    for (size_t i = 0; i < NUM_SUMS; i++) {
        sums[i] = (ratio_sum){.variant = variants[i % NUM_VARIANTS], .same = i < NUM_VARIANTS};
        for (size_t k = 0; k < records->count; k++) {
            if (records->panels[k].unit == BENCH_IMAGES_PER_SECOND) add_ratios(&sums[i], &records->panels[k]);
        }
    }
}

static void add_all_means(liana__text *text, const bench_records *records)
{
    ratio_sum sums[NUM_SUMS];
    sum_all(records, sums);
    if (sums[NUM_VARIANTS].count < 2 && sums[NUM_VARIANTS + 1].count < 2) return;
    liana__text_add(text, "\nAll rows of images/s: geometric mean and least of the ratios to each row's best peer\n");
    for (size_t i = 0; i < NUM_SUMS; i++) {
        add_sum(text, i < NUM_VARIANTS ? "in the same precision" : "in either precision", &sums[i]);
    }
}

/* --- The table, whole -------------------------------------------------------------------------------------------- */

static void add_panel(liana__text *text, const bench_panel *panel)
{
    char title[128];
    snprintf(title, sizeof title, "%s, %s", panel->title, bench_unit_name(panel->unit));
    liana__text_add(text, "\n%-43s %26s", title, "liana");
    for (int peer = 0; peer < BENCH_NUM_PEERS; peer++)
        liana__text_add(text, " %8s", bench_peer_title((bench_peer)peer));
    liana__text_add(text, " %23s\n", "ratio");
    for (size_t k = 0; k < panel->count; k++) add_row(text, panel, &panel->rows[k]);
    for (size_t i = 0; i < NUM_VARIANTS; i++) {
        ratio_sum sum = {.variant = variants[i], .same = true};
        add_ratios(&sum, panel);
        add_sum(text, "geometric mean", &sum);
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

static bool has_peer(const bench_best *best)
{
    for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
        if (best->of[peer]) return true;
    }
    return false;
}

static const int setting_widths[BENCH_NUM_PEERS] = {28, 28, 23, 13, 0};

static void add_settings_header(liana__text *text)
{
    liana__text_add(text, "\n%-26s", "The peers' settings");
    for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
        liana__text_add(text, " %-*s", setting_widths[peer], bench_peer_title((bench_peer)peer));
    }
}

static void add_settings_of(liana__text *text, const char *workload, const bench_best *best)
{
    liana__text_add(text, "\n%-26s", workload);
    for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
        const char *variant = best->of[peer] ? best->of[peer]->variant : "-";
        if (liana__starts_with(variant, "tuned ")) variant += strlen("tuned ");
        liana__text_add(text, " %-*s", setting_widths[peer], variant);
    }
}

/* Which variant each number of a peer is of, a line for each precision. */
static void add_settings(liana__text *text, const bench_records *records)
{
    bool any = false;
    for (size_t i = 0; i < records->count; i++) {
        const bench_panel *panel = &records->panels[i];
        for (size_t k = 0; panel->unit != BENCH_MEBIBYTES && k < panel->count; k++) {
            const bench_row *row = &panel->rows[k];
            const char *workload = row->workload;
            for (int precision = 0; precision < BENCH_ANY_PRECISION; precision++) {
                if (!has_peer(&row->best[precision])) continue;
                if (!any) add_settings_header(text);
                any = true;
                add_settings_of(text, workload, &row->best[precision]);
                workload = "";
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
    liana__text_add(text,
                    "Medians of up to %zu rounds (lowest to highest). Ratios above 1: liana is faster, or needs less. "
                    "They are the ratios "
                    "of each round's\nruns in turn, and their median. Peers' numbers are of the same precision as "
                    "liana's in their row, in "
                    "each peer's best setting, listed\nbelow. PT 1.13: as it is installed; tuned: with malloc that "
                    "keeps its pages, and "
                    "for inference with torch.jit. PT 2, JAX, TF: today's,\nwith such a malloc. The ratio is to the "
                    "best of today's; where "
                    "there is none, to the better of PT 1.13.\n",
                    records->rounds);
    for (size_t i = 0; i < records->count; i++) add_panel(text, &records->panels[i]);
    add_all_means(text, records);
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
    const bench_best *same = &row->best[series->precision], *any = &row->best[BENCH_ANY_PRECISION];
    if (bench_is_liana(series)) {
        const bench_ratios ratio = bench_compare(panel->unit, series, same->rival);
        set_number(arena, map, "ratio", ratio.median);
        set_number(arena, map, "lowest_ratio", ratio.low);
        set_number(arena, map, "highest_ratio", ratio.high);
        set_number(arena, map, "ratio_to_either_precision", bench_ratio(panel->unit, series, any->rival));
        set_number(arena, map, "ratio_to_pytorch_1", bench_ratio(panel->unit, series, same->of[BENCH_PYTORCH_1]));
        set_number(arena, map, "ratio_to_tuned", bench_ratio(panel->unit, series, same->of[BENCH_PYTORCH_1_TUNED]));
    } else {
        liana__value_set(arena, map, "best_of_today", liana__value_bool(arena, series == any->today));
        liana__value_set(arena, map, "best_of_precision", liana__value_bool(arena, series == same->today));
    }
    return map;
}

static liana__value *means_value(liana__arena *arena, const bench_records *records)
{
    ratio_sum sums[NUM_SUMS];
    sum_all(records, sums);
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < NUM_SUMS; i++) {
        const ratio_sum *sum = &sums[i];
        if (sum->count == 0) continue;
        liana__value *map = liana__value_map(arena);
        liana__value_set(arena, map, "variant", liana__value_string(arena, sum->variant));
        liana__value_set(arena, map, "peers_in",
                         liana__value_string(arena, sum->same ? "same precision" : "either precision"));
        liana__value_set(arena, map, "rows", liana__value_int(arena, sum->count));
        set_number(arena, map, "geometric_mean", mean_of(sum));
        set_number(arena, map, "least", sum->least);
        liana__value_set(arena, map, "least_workload", liana__value_string(arena, sum->least_workload));
        liana__value_add(arena, list, map);
    }
    return list;
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
    liana__value_set(arena, root, "means", means_value(arena, records));
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
