/* Advice for TPUs. */
#include "train/training/tile_plan.h"

#include "backends/pjrt/platform.h"
#include "base/scoped.h"
#include "distribute/cluster/cluster.h"

#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, GIB_IN_MIB = 1024, NARROW = 128, ROWS = 8, MOST_NOTED = 3 };

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

const liana__tile_row **liana__tile_rows_by_loss(const liana__tile_plan *plan)
{
    const liana__tile_row **rows = calloc(plan->count + 1, sizeof *rows);
    for (size_t i = 0; rows && i < plan->count; i++) rows[i] = &plan->rows[i];
    if (rows) qsort(rows, plan->count, sizeof *rows, by_loss);
    return rows;
}

int liana__tile_share(double part, double whole)
{
    return whole > 0 ? (int)(100 * part / whole + 0.5) : 100;
}

static void add_width(const liana__tile_row *row, liana__text *text)
{
    const int64_t wide = (row->features + NARROW - 1) / NARROW * NARROW;
    liana__text_add(text, "- %s: %lld features cost as much as %lld.\n", row->layer, (long long)row->features,
                    (long long)wide);
}

void liana__tile_advice_add(const liana__tile_plan *plan, const liana__tile_row *const *rows, size_t most_widths,
                            liana__text *text)
{
    liana__text_add(text, "Products use at most %d%% of the matrix units.\n",
                    liana__tile_share(plan->flops, plan->padded_flops));
    if (plan->shard % ROWS) {
        const long long fewer = plan->shard / ROWS * ROWS, more = fewer + ROWS;
        liana__text_add(text, "- Shards of %lld examples are padded to %lld: take ", (long long)plan->shard, more);
        if (fewer) liana__text_add(text, "%lld or ", fewer);
        liana__text_add(text, "%lld (train.microbatch).\n", more);
    }
    size_t shown = 0;
    for (size_t i = 0; i < plan->count && shown < most_widths; i++) {
        if (rows[i]->flops <= 0 || rows[i]->features % NARROW == 0) continue;
        add_width(rows[i], text);
        shown++;
    }
}

void liana__tile_memory_add(const liana__tile_plan *plan, liana__text *text)
{
    const double needed = liana__tile_plan_memory(plan), memory = plan->generation->memory;
    if (memory <= 0) return;
    liana__text_add(text, "Of a core's %.0f GiB that is %d%%.", memory / MIB / GIB_IN_MIB,
                    liana__tile_share(needed, memory));
    if (needed > memory)
        liana__text_add(text, " It does not fit: take smaller shards (train.microbatch), or let "
                              "parts be computed twice (train.recompute: auto).");
    liana__text_add(text, "\n");
}

/* ---- at the beginning of a run ---- */

/* The name that a device gives itself. XLA says "TPU v5 lite" for v5e and "TPU v6 lite" for v6e. */
static liana__tpu_generation generation_of(const liana__device *device)
{
    static const struct {
        const char *kind, *name;
    } kinds[] = {{"TPU v2", "v2"},   {"TPU v3", "v3"},  {"TPU v4", "v4"},   {"TPU v5 lite", "v5e"},
                 {"TPU v5e", "v5e"}, {"TPU v5", "v5p"}, {"TPU v5p", "v5p"}, {"TPU v6 lite", "v6e"},
                 {"TPU v6e", "v6e"}, {NULL, NULL}};
    char kind[128];
    const int64_t memory = liana__pjrt_describe_memory(device, kind, sizeof kind);
    liana__tpu_generation own = {.name = "of an unknown generation", .matrix_unit = NARROW};
    const liana__tpu_generation *known;
    for (size_t i = 0; kinds[i].kind; i++) {
        if (strcmp(kind, kinds[i].kind) != 0) continue;
        liana__error ignored;
        if (liana__tpu_generation_find(kinds[i].name, &known, &ignored) == LIANA_OK) own = *known;
    }
    if (memory > 0) own.memory = (double)memory;
    return own;
}

static void add_parts(const liana__tile_plan *plan, liana__text *text)
{
    liana__text_add(
        text,
        "Memory in tiles: %.1f MiB of weights and optimizer, %.1f MiB of gradients and statistics, %.1f MiB "
        "that the backward pass reads.\n",
        plan->padded_variables / MIB, plan->padded_sums / MIB, plan->padded_activations / MIB);
}

/* Each line is a note of its own. */
static void tell_lines(char *lines, const liana__notes *notes)
{
    for (char *line = lines, *end; *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        const bool is_last = !*end;
        *end = '\0';
        liana__note(notes, "%s", line);
        if (is_last) break;
    }
}

static void tell(const liana__tile_plan *plan, const liana__notes *notes)
{
    const liana__tile_row **rows = liana__tile_rows_by_loss(plan);
    LIANA__SCOPED(liana__text) text = {0};
    if (rows) {
        liana__text_add(&text, "TPU %s, shards of %lld examples:\n", plan->generation->name, (long long)plan->shard);
        liana__tile_advice_add(plan, rows, MOST_NOTED, &text);
        add_parts(plan, &text);
        liana__tile_memory_add(plan, &text);
        liana__text_add(&text, "More: liana plan CONFIG --device tpu\n");
        if (!text.failed) tell_lines(text.data, notes);
    }
    free(rows);
}

void liana__tile_advice_note(const liana__training *training, const liana__notes *notes)
{
    const char *platform = liana__pjrt_platform_of(training->device);
    const liana__cluster *cluster = training->cluster;
    if (!notes->tell || !platform || strcmp(platform, "tpu") != 0) return;
    if (!liana__cluster_is_chief(cluster) || liana__cluster_is_later_round(cluster)) return;
    const liana__tpu_generation generation = generation_of(training->device);
    LIANA__SCOPED(liana__tile_plan) plan = {0};
    const int64_t shard = liana__trainer_microbatch(training->trainer);
    liana__error ignored;
    if (liana__tile_plan_make(training, shard, &generation, &plan, &ignored) == LIANA_OK) tell(&plan, notes);
}
