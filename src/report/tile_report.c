/* Prints the plan of a training on a TPU. */
#include "report/reports.h"

#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, MOST_WIDTHS = 5 };

static void add_row(const liana__tile_row *row, int width, liana__text *text)
{
    liana__text_add(text, "%-*s  %-22s", width, row->layer, row->type);
    if (row->flops > 0) {
        liana__text_add(text, " %10.3f %6d%%", 1e-9 * row->flops, liana__tile_share(row->flops, row->padded_flops));
    } else {
        liana__text_add(text, " %10s %7s", "-", "-");
    }
    liana__text_add(text, " %10.2f %10.2f\n", row->bytes / MIB, row->padded_bytes / MIB);
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
    add_part("weights and optimizer", plan->variables, plan->padded_variables, text);
    add_part("gradients and statistics", plan->sums, plan->padded_sums, text);
    add_part("kept for the backward pass", plan->activations, plan->padded_activations, text);
    liana__tile_memory_add(plan, text);
}

void liana__tile_report(const liana__tile_plan *plan, size_t most, liana__text *text)
{
    const liana__tile_row **rows = liana__tile_rows_by_loss(plan);
    if (!rows) {
        text->failed = true;
        return;
    }
    liana__text_add(text, "TPU %s, shards of %lld examples\n\n", plan->generation->name, (long long)plan->shard);
    add_table(plan, rows, most, text);
    liana__text_add(text, "\n");
    liana__tile_advice_add(plan, rows, MOST_WIDTHS, text);
    liana__text_add(text, "\n");
    add_memory(plan, text);
    free(rows);
}
