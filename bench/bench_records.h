/* bench_records.h - what bench_run recorded, in order: panels of rows of series.
 *
 * A panel is a kind of measurement ("training step"), a row one workload in it ("ResNet50"), a series one program in
 * one variant ("PyTorch 2", "bf16 compile"), with a value for each round. */
#ifndef LIANA_BENCH_RECORDS_H
#define LIANA_BENCH_RECORDS_H

#include "base/memory.h"
#include "base/value.h"

typedef enum bench_unit {
    BENCH_IMAGES_PER_SECOND,
    BENCH_SECONDS,
    BENCH_MEBIBYTES,
} bench_unit;

/* The peers of liana, in the order of the columns. */
typedef enum bench_peer {
    BENCH_PYTORCH_1,       /* Debian's PyTorch 1.13 as it is installed */
    BENCH_PYTORCH_1_TUNED, /* the same with malloc and torch.jit set up by hand: variants "tuned ..." */
    BENCH_PYTORCH_2,       /* from here on: today's */
    BENCH_JAX,
    BENCH_TENSORFLOW,
    BENCH_NUM_PEERS,
} bench_peer;

/* The precision in which convolutions and products are computed. The last one chooses among both. */
typedef enum bench_precision {
    BENCH_FLOAT32,
    BENCH_BFLOAT16,
    BENCH_ANY_PRECISION,
    BENCH_NUM_PRECISIONS,
} bench_precision;

enum { BENCH_MOST_ROUNDS = 64 };

typedef struct bench_series {
    const char *program; /* "liana", or one that bench_peer_program names */
    const char *version; /* the program's own version; NULL if it does not say */
    const char *variant; /* "float32", "mixed_bfloat16", "float32 avx2"; a peer's setting */
    const char *error;   /* why there is no value; NULL if there is one */
    bench_precision precision;
    double values[BENCH_MOST_ROUNDS];
    int64_t rounds[BENCH_MOST_ROUNDS]; /* the round of each value, from 1 */
    size_t count;
    double median, low, high; /* NaN without values */
} bench_series;

/* Each peer in its best variant; NULL where it was not measured. */
typedef struct bench_best {
    const bench_series *of[BENCH_NUM_PEERS];
    const bench_series *today; /* the best of today's peers */
    const bench_series
        *rival; /* the same, and where none of them was measured PyTorch 1.13: what liana is held against */
} bench_best;

typedef struct bench_row {
    const char *workload; /* bench.sh's name */
    const char *label;    /* its name for people */
    bench_series *series;
    size_t count, capacity;
    bench_best best[BENCH_NUM_PRECISIONS];
} bench_row;

typedef struct bench_panel {
    const char *key;
    const char *title;
    bench_unit unit;
    bench_row *rows;
    size_t count, capacity;
} bench_panel;

enum { BENCH_MAX_PANELS = 8 };

typedef struct bench_records {
    bench_panel panels[BENCH_MAX_PANELS];
    size_t count;
    size_t rounds; /* of the series that has most */
    liana__arena arena;
} bench_records;

/* Reads the file that bench_run writes. Free with bench_records_free in any case. */
liana_status bench_records_read(const char *path, bench_records *records, liana__error *error) LIANA_MUST_USE;
void bench_records_free(bench_records *records);

const char *bench_unit_name(bench_unit unit);
/* The peer's name in records, and the name of its column. */
const char *bench_peer_program(bench_peer peer);
const char *bench_peer_title(bench_peer peer);
/* Whether a series is one of this peer's. */
bool bench_is_of(const bench_series *series, bench_peer peer);
bool bench_is_liana(const bench_series *series);
/* How many times better one series is than another: more images per second, or less time or memory. These are the
 * ratios in the rounds that both have, so what slows a whole round down does not count. NaN where a series is
 * missing. */
typedef struct bench_ratios {
    double median, low, high;
    size_t count; /* rounds; 0: they have no round in common, and the median is that of the medians */
} bench_ratios;
bench_ratios bench_compare(bench_unit unit, const bench_series *own, const bench_series *other);
/* The median of bench_compare. */
double bench_ratio(bench_unit unit, const bench_series *own, const bench_series *other);
/* "12.3", "1,234": three digits or more. */
void bench_print_number(double number, char *text, size_t size);

#endif
