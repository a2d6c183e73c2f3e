/* Reads the records that measurements leave. */
#include "bench_records.h"

#include "base/file.h"
#include "formats/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RECORDS = 64 << 20 }; /* bytes */

/* The meaning of a workload's name: the panel, and the values of its records. */
static const struct {
    const char *prefix; /* of the workload; "" fits all */
    const char *key, *title;
    bench_unit unit;
} kinds[] = {
    {"train-", "train", "Training step, batch 32", BENCH_IMAGES_PER_SECOND},
    {"train-", "memory", "Peak memory of training, batch 32", BENCH_MEBIBYTES},
    {"infer32-", "infer32", "Inference, batch 32", BENCH_IMAGES_PER_SECOND},
    {"infer1-", "infer1", "Inference, batch 1", BENCH_IMAGES_PER_SECOND},
    {"layers-", "layers", "Training step of layers, batch 32", BENCH_IMAGES_PER_SECOND},
    {"avx2-", "avx2", "The same, all with AVX2 at most", BENCH_IMAGES_PER_SECOND},
    {"start-", "start", "Process start to the end of one step", BENCH_SECONDS},
    {"", "examples", "Training of the examples", BENCH_IMAGES_PER_SECOND},
};
enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

static const struct {
    const char *workload, *label;
} labels[] = {
    {"flowers-step", "flowers, steps"},
    {"flowers-jpeg", "flowers from JPEGs"},
    {"flowers-cached", "flowers decoded once"},
    {"mnist-step", "MNIST convnet, steps"},
    {"mnist-converged", "MNIST convnet, converged"},
    {"mnist-files", "MNIST convnet, epochs"},
    {"mlp-step", "MLP 784-512-10, steps"},
    {"layers-lstm", "LSTM(128), 100 steps"},
    {"layers-gru", "GRU(128), 100 steps"},
    {"layers-transformer", "Transformer block"},
    {"layers-conv1d", "Conv1D stack"},
    {"layers-conv3d", "Conv3D stack"},
    {"layers-decoder", "Conv2DTranspose decoder"},
    {"layers-layer_norm_mlp", "LayerNorm MLP"},
    {"avx2-lstm", "LSTM(128), 100 steps"},
    {"avx2-gru", "GRU(128), 100 steps"},
    {"avx2-transformer", "Transformer block"},
    {"avx2-conv1d", "Conv1D stack"},
    {"avx2-conv3d", "Conv3D stack"},
    {"avx2-decoder", "Conv2DTranspose decoder"},
    {"avx2-layer_norm_mlp", "LayerNorm MLP"},
    {"start-mnist", "MNIST convnet"},
    {"start-flowers", "flowers (MobileNetV2 0.35)"},
    {"start-mnist-fast", "all of mnist_fast.yaml"},
};

static const struct {
    const char *program, *title;
} peers[BENCH_NUM_PEERS] = {
    [BENCH_PYTORCH_1] = {"PyTorch 1.13", "PT 1.13"}, [BENCH_PYTORCH_1_TUNED] = {"PyTorch 1.13", "tuned"},
    [BENCH_PYTORCH_2] = {"PyTorch 2", "PT 2"},       [BENCH_JAX] = {"JAX", "JAX"},
    [BENCH_TENSORFLOW] = {"TensorFlow", "TF"},
};

static const char *label_of(const char *workload, const char *prefix)
{
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        if (strcmp(workload, labels[i].workload) == 0) return labels[i].label;
    }
    return workload + strlen(prefix);
}

/* A number of a map, or NaN. */
static double number_of(const liana__value *map, const char *key)
{
    const liana__value *value = map && map->kind == LIANA__VALUE_MAP ? liana__value_get(map, key) : NULL;
    bool number = value && (value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT);
    return number ? value->number : NAN;
}

static const char *string_of(const liana__value *map, const char *key)
{
    const liana__value *value = map->kind == LIANA__VALUE_MAP ? liana__value_get(map, key) : NULL;
    return value && value->kind == LIANA__VALUE_STRING ? value->string : NULL;
}

/* Single steps are all alike, so their median counts; where batches are made ahead the mean does; of the epochs in
 * liana's timing.json the last. */
static double rate_of(const liana__value *record, const char *workload)
{
    const liana__value *result = liana__value_get(record, "result");
    const liana__value *epochs = result && result->kind == LIANA__VALUE_MAP ? liana__value_get(result, "epochs") : NULL;
    if (epochs && epochs->kind == LIANA__VALUE_LIST && epochs->count > 0) result = epochs->items[epochs->count - 1];
    bool files = liana__ends_with(workload, "-jpeg") || liana__ends_with(workload, "-cached") ||
                 liana__ends_with(workload, "-files");
    return number_of(result, files ? "images_per_second" : "images_per_second_median");
}

static double value_of(const liana__value *record, const char *workload, bench_unit unit)
{
    if (unit == BENCH_SECONDS) return number_of(record, "seconds");
    if (unit == BENCH_MEBIBYTES) return number_of(record, "peak_memory") / (1 << 20);
    return rate_of(record, workload);
}

/* --- Sorting records in ------------------------------------------------------------------------------------------ */

static bench_panel *find_panel(bench_records *records, size_t kind)
{
    for (size_t i = 0; i < records->count; i++) {
        if (strcmp(records->panels[i].key, kinds[kind].key) == 0) return &records->panels[i];
    }
    bench_panel *panel = &records->panels[records->count++];
    *panel = (bench_panel){.key = kinds[kind].key, .title = kinds[kind].title, .unit = kinds[kind].unit};
    return panel;
}

static bench_row *find_row(bench_records *records, bench_panel *panel, const char *workload, const char *label)
{
    for (size_t i = 0; i < panel->count; i++) {
        if (strcmp(panel->rows[i].workload, workload) == 0) return &panel->rows[i];
    }
    if (!liana__grow(&panel->rows, panel->count, &panel->capacity, sizeof *panel->rows)) return NULL;
    bench_row *row = &panel->rows[panel->count++];
    *row = (bench_row){.workload = liana__arena_string(&records->arena, workload),
                       .label = liana__arena_string(&records->arena, label)};
    return row;
}

/* "bf16 compile", "tuned bf16 channels_last", "mixed_bfloat16" */
static bench_precision precision_of(const char *variant)
{
    const char *setting = liana__starts_with(variant, "tuned ") ? variant + strlen("tuned ") : variant;
    const bool low = liana__starts_with(setting, "bf16") || strcmp(setting, "mixed_bfloat16") == 0;
    return low ? BENCH_BFLOAT16 : BENCH_FLOAT32;
}

static bench_series *find_series(bench_records *records, bench_row *row, const char *program, const char *variant)
{
    for (size_t i = 0; i < row->count; i++) {
        bench_series *series = &row->series[i];
        if (strcmp(series->program, program) == 0 && strcmp(series->variant, variant) == 0) return series;
    }
    if (!liana__grow(&row->series, row->count, &row->capacity, sizeof *row->series)) return NULL;
    bench_series *series = &row->series[row->count++];
    *series = (bench_series){.program = liana__arena_string(&records->arena, program),
                             .variant = liana__arena_string(&records->arena, variant),
                             .precision = precision_of(variant)};
    return series;
}

static liana_status add_record(bench_records *records, const liana__value *record, size_t kind, liana__error *error)
{
    const char *workload = string_of(record, "workload"), *program = string_of(record, "program");
    const char *variant = string_of(record, "variant"), *failure = string_of(record, "error");
    if (!workload || !program || !variant) {
        return liana__fail(error, LIANA_INVALID_DATA, "a record without workload, program or variant");
    }
    if (!liana__starts_with(workload, kinds[kind].prefix)) return LIANA_OK;
    /* A kind without a prefix takes the workloads that no other does. */
    for (size_t i = 0; !*kinds[kind].prefix && i < kind; i++) {
        if (liana__starts_with(workload, kinds[i].prefix)) return LIANA_OK;
    }
    bench_row *row = find_row(records, find_panel(records, kind), workload, label_of(workload, kinds[kind].prefix));
    bench_series *series = row ? find_series(records, row, program, variant) : NULL;
    const char *version = string_of(record, "version");
    if (series && version) series->version = liana__arena_string(&records->arena, version);
    if (!series) return liana__fail_memory(error, "the records");
    double value = failure ? NAN : value_of(record, workload, kinds[kind].unit);
    if (!isfinite(value)) {
        series->error = liana__arena_string(&records->arena, failure ? failure : "its report has no such number");
    } else if (series->count == BENCH_MOST_ROUNDS) {
        return liana__fail(error, LIANA_INVALID_DATA, "%s, %s %s has more than %d rounds, expected no more", workload,
                           program, variant, BENCH_MOST_ROUNDS);
    } else {
        series->rounds[series->count] = (int64_t)number_of(record, "round");
        series->values[series->count++] = value;
    }
    return records->arena.failed ? liana__fail_memory(error, "the records") : LIANA_OK;
}

/* --- The meaning of values --------------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts the values. */
static bench_ratios spread_of(double *values, size_t count)
{
    if (count == 0) return (bench_ratios){NAN, NAN, NAN, 0};
    qsort(values, count, sizeof *values, compare_doubles);
    return (bench_ratios){(values[(count - 1) / 2] + values[count / 2]) / 2, values[0], values[count - 1], count};
}

static void summarise(bench_series *series)
{
    double sorted[BENCH_MOST_ROUNDS];
    memcpy(sorted, series->values, series->count * sizeof *sorted);
    const bench_ratios spread = spread_of(sorted, series->count);
    series->median = spread.median;
    series->low = spread.low;
    series->high = spread.high;
}

/* The best of a peer's series; one that was measured in more rounds goes before. */
static const bench_series *best_of(const bench_row *row, bench_unit unit, bench_peer peer, bench_precision precision)
{
    const bench_series *best = NULL;
    for (size_t i = 0; i < row->count; i++) {
        const bench_series *series = &row->series[i];
        if (series->count == 0 || !bench_is_of(series, peer)) continue;
        if (precision != BENCH_ANY_PRECISION && series->precision != precision) continue;
        bool better = !best || series->count > best->count ||
                      (series->count == best->count && bench_ratio(unit, series, best) > 1);
        if (better) best = series;
    }
    return best;
}

static const bench_series *better_of(bench_unit unit, const bench_series *a, const bench_series *b)
{
    return !a || (b && bench_ratio(unit, b, a) > 1) ? b : a;
}

static void choose_best(bench_row *row, bench_unit unit, bench_precision precision)
{
    bench_best *best = &row->best[precision];
    const bench_series *older = NULL;
    for (int peer = 0; peer < BENCH_NUM_PEERS; peer++) {
        const bench_series *series = best->of[peer] = best_of(row, unit, (bench_peer)peer, precision);
        const bench_series **among = peer >= BENCH_PYTORCH_2 ? &best->today : &older;
        *among = better_of(unit, *among, series);
    }
    best->rival = best->today ? best->today : older;
}

static void summarise_row(bench_records *records, bench_row *row, bench_unit unit)
{
    for (size_t i = 0; i < row->count; i++) {
        summarise(&row->series[i]);
        if (row->series[i].count > records->rounds) records->rounds = row->series[i].count;
    }
    for (int precision = 0; precision < BENCH_NUM_PRECISIONS; precision++) {
        choose_best(row, unit, (bench_precision)precision);
    }
}

static liana_status parse(bench_records *records, const char *path, char *text, liana__error *error)
{
    liana__value *list = liana__value_list(&records->arena);
    for (char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        liana__value *record;
        LIANA_TRY(liana__json_parse(line, (size_t)(end - line), path, &records->arena, &record, error));
        liana__value_add(&records->arena, list, record);
        end += *end == '\n';
    }
    if (records->arena.failed) return liana__fail_memory(error, path);
    for (size_t kind = 0; kind < NUM_KINDS; kind++) {
        for (size_t i = 0; i < list->count; i++) LIANA_TRY(add_record(records, list->items[i], kind, error));
    }
    return LIANA_OK;
}

liana_status bench_records_read(const char *path, bench_records *records, liana__error *error)
{
    *records = (bench_records){0};
    char *text;
    size_t size;
    LIANA_TRY(liana__file_read(path, MOST_RECORDS, &text, &size, error));
    liana_status status = parse(records, path, text, error);
    free(text);
    for (size_t i = 0; i < records->count; i++) {
        bench_panel *panel = &records->panels[i];
        for (size_t k = 0; k < panel->count; k++) summarise_row(records, &panel->rows[k], panel->unit);
    }
    return status;
}

void bench_records_free(bench_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        bench_panel *panel = &records->panels[i];
        for (size_t k = 0; k < panel->count; k++) free(panel->rows[k].series);
        free(panel->rows);
    }
    liana__arena_free(&records->arena);
}

const char *bench_unit_name(bench_unit unit)
{
    static const char *const names[] = {"images/s", "s", "MiB"};
    return names[unit];
}

const char *bench_peer_program(bench_peer peer)
{
    return peers[peer].program;
}

const char *bench_peer_title(bench_peer peer)
{
    return peers[peer].title;
}

bool bench_is_of(const bench_series *series, bench_peer peer)
{
    if (strcmp(series->program, peers[peer].program) != 0) return false;
    if (peer > BENCH_PYTORCH_1_TUNED) return true;
    return liana__starts_with(series->variant, "tuned") == (peer == BENCH_PYTORCH_1_TUNED);
}

bool bench_is_liana(const bench_series *series)
{
    return strcmp(series->program, "liana") == 0;
}

static double better_by(bench_unit unit, double own, double other)
{
    return unit == BENCH_IMAGES_PER_SECOND ? own / other : other / own;
}

bench_ratios bench_compare(bench_unit unit, const bench_series *own, const bench_series *other)
{
    if (!own || !other || own->count == 0 || other->count == 0) return spread_of(NULL, 0);
    double ratios[BENCH_MOST_ROUNDS];
    size_t count = 0;
    for (size_t i = 0; i < own->count; i++) {
        for (size_t k = 0; k < other->count; k++) {
            if (own->rounds[i] != other->rounds[k]) continue;
            ratios[count++] = better_by(unit, own->values[i], other->values[k]);
            break;
        }
    }
    if (count > 0) return spread_of(ratios, count);
    const double ratio = better_by(unit, own->median, other->median);
    return (bench_ratios){ratio, ratio, ratio, 0};
}

double bench_ratio(bench_unit unit, const bench_series *own, const bench_series *other)
{
    return bench_compare(unit, own, other).median;
}

void bench_print_number(double number, char *text, size_t size)
{
    if (number >= 999.5) {
        long whole = lround(number);
        if (whole >= 1000000) {
            snprintf(text, size, "%ld,%03ld,%03ld", whole / 1000000, whole / 1000 % 1000, whole % 1000);
        } else {
            snprintf(text, size, "%ld,%03ld", whole / 1000, whole % 1000);
        }
    } else {
        snprintf(text, size, "%.*f", number < 9.995 ? 2 : number < 99.95 ? 1 : 0, number);
    }
}
