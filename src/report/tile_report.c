/* Prints what a TPU makes of a training. */
#include "report/tile_report.h"

#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, NARROW = 128, ROWS = 8, MOST_WIDTHS = 5 };

static double lost(const liana__tile_row *row)
{
    return row->padded_flops - row->flops;
}

static int by_loss(const void *a, const void *b)
{
    const liana__tile_row *one = *(const liana__tile_row *const *)a, *two = *(const liana__tile_row *const *)b;
    const double difference = lost(two) - lost(one);
    if (difference != 0) return difference > 0 ? 1 : -1;
    const double bytes = (two->padded_bytes - two->bytes) - (one->padded_bytes - one->bytes);
    return bytes > 0 ? 1 : bytes < 0 ? -1 : 0;
}

static int share(double part, double whole)
{
    return whole > 0 ? (int)(100 * part / whole + 0.5) : 100;
}

static void add_row(const liana__tile_row *row, int width, liana__text *text)
{
    liana__text_add(text, "%-*s  %-22s", width, row->layer, row->type);
    if (row->flops > 0) {
        liana__text_add(text, " %10.3f %6d%%", 1e-9 * row->flops, share(row->flops, row->padded_flops));
    } else {
        liana__text_add(text, " %10s %7s", "-", "-");
    }
    liana__text_add(text, " %10.2f %10.2f\n", row->bytes / MIB, row->padded_bytes / MIB);
}

/* The rows in the order of their loss; malloc'ed. */
static const liana__tile_row **sort_rows(const liana__tile_plan *plan)
{
    const liana__tile_row **rows = calloc(plan->count + 1, sizeof *rows);
    for (size_t i = 0; rows && i < plan->count; i++) rows[i] = &plan->rows[i];
    if (rows) qsort(rows, plan->count, sizeof *rows, by_loss);
    return rows;
}

static void add_table(const liana__tile_plan *plan, const liana__tile_row *const *rows, size_t most, liana__text *text)
{
    int width = (int)strlen("layer");
    const size_t count = most && most < plan->count ? most : plan->count;
    for (size_t i = 0; i < count; i++) {
        if ((int)strlen(rows[i]->layer) > width) width = (int)strlen(rows[i]->layer);
    }
    liana__text_add(text, "%-*s  %-22s %10s %7s %10s %10s\n", width, "layer", "result", "GFLOP", "used", "MiB",
                    "in tiles");
    for (size_t i = 0; i < count; i++) add_row(rows[i], width, text);
    if (count < plan->count) {
        liana__text_add(text, "(%zu layers lose less; --all shows them)\n", plan->count - count);
    }
}

static void add_part(const char *name, double bytes, double padded_bytes, liana__text *text)
{
    liana__text_add(text, "%-28s %10.1f MiB, in tiles %10.1f MiB\n", name, bytes / MIB, padded_bytes / MIB);
}

static void add_memory(const liana__tile_plan *plan, liana__text *text)
{
    const double needed = liana__tile_plan_memory(plan);
    add_part("weights and optimizer", plan->variables, plan->padded_variables, text);
    add_part("gradients and statistics", plan->sums, plan->padded_sums, text);
    add_part("kept for the backward pass", plan->activations, plan->padded_activations, text);
    liana__text_add(text, "Of a core's %.0f GiB that is %d%%.", plan->generation->memory / MIB / 1024,
                    share(needed, plan->generation->memory));
    if (needed > plan->generation->memory) {
        liana__text_add(text, " It does not fit: take smaller shards (train.microbatch), or recompute "
                              "(train.recompute: true).");
    }
    liana__text_add(text, "\n");
}

static void add_width(const liana__tile_row *row, liana__text *text)
{
    const int64_t wide = (row->features + NARROW - 1) / NARROW * NARROW;
    liana__text_add(text, "- %s: %lld features cost as much as %lld.\n", row->layer, (long long)row->features,
                    (long long)wide);
}

static void add_advice(const liana__tile_plan *plan, const liana__tile_row *const *rows, liana__text *text)
{
    liana__text_add(text, "Products use at most %d%% of the matrix units.\n", share(plan->flops, plan->padded_flops));
    if (plan->shard % ROWS) {
        const long long fewer = plan->shard / ROWS * ROWS, more = fewer + ROWS;
        liana__text_add(text, "- Shards of %lld examples are padded to %lld: take ", (long long)plan->shard, more);
        if (fewer) liana__text_add(text, "%lld or ", fewer);
        liana__text_add(text, "%lld (train.microbatch).\n", more);
    }
    size_t shown = 0;
    for (size_t i = 0; i < plan->count && shown < MOST_WIDTHS; i++) {
        if (rows[i]->flops <= 0 || rows[i]->features % NARROW == 0) continue;
        add_width(rows[i], text);
        shown++;
    }
}

void liana__tile_report(const liana__tile_plan *plan, size_t most, liana__text *text)
{
    const liana__tile_row **rows = sort_rows(plan);
    if (!rows) {
        text->failed = true;
        return;
    }
    liana__text_add(text, "TPU %s, shards of %lld examples\n\n", plan->generation->name, (long long)plan->shard);
    add_table(plan, rows, most, text);
    liana__text_add(text, "\n");
    add_advice(plan, rows, text);
    liana__text_add(text, "\n");
    add_memory(plan, text);
    free(rows);
}
