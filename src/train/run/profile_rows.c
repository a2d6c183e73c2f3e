/* From events to rows. */
#include "train/run/profile.h"

#include <stdlib.h>
#include <string.h>

static double seconds_of(const liana__event *event)
{
    return (double)(event->end - event->begin) * 1e-9;
}

static void add_phase(liana__profile *profile, const liana__event *event)
{
    double seconds = seconds_of(event);
    switch (event->kind) {
    case LIANA__EVENT_STEP: profile->seconds += seconds; break;
    case LIANA__EVENT_WAIT: profile->wait += seconds; break;
    case LIANA__EVENT_SHARDS: profile->shards += seconds; break;
    case LIANA__EVENT_UPDATE:
        profile->update += seconds;
        profile->busy += seconds;
        break;
    case LIANA__EVENT_SHARD: profile->busy += seconds; break;
    case LIANA__EVENT_REDUCE:
        profile->reduction += seconds;
        profile->busy += seconds;
        break;
    case LIANA__EVENT_ADD: profile->reduction += seconds; break;
    case LIANA__EVENT_PACK:
    case LIANA__EVENT_NODE: profile->nodes += seconds; break;
    case LIANA__EVENT_READ: profile->reading += seconds; break;
    case LIANA__NUM_EVENTS: break;
    }
}

static int compare_text(const char *a, const char *b)
{
    if (!a || !b) return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

/* Graphs have no order among each other: that of their nodes in memory will do, since rows are sorted by time. */
static int by_node(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const liana__profile_row *)a)->node,
              y = (uintptr_t)((const liana__profile_row *)b)->node;
    return (x > y) - (x < y);
}

static int by_op(const void *a, const void *b)
{
    const liana__profile_row *x = a, *y = b;
    int order = strcmp(x->node->op->name, y->node->op->name);
    return order ? order : compare_text(x->cost.variant, y->cost.variant);
}

static int by_time(const void *a, const void *b)
{
    const liana__profile_row *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
    return by_op(a, b);
}

static void add_row(liana__profile_row *sum, const liana__profile_row *row)
{
    sum->calls += row->calls;
    sum->seconds += row->seconds;
    sum->flops += row->flops;
    sum->bytes += row->bytes;
    sum->roofline_seconds += row->roofline_seconds;
    sum->memory_seconds += row->memory_seconds;
    sum->compute_seconds += row->compute_seconds;
}

/* Merges rows that `compare` calls equal, in place, slowest first. */
static void merge(liana__profile_rows *rows, int (*compare)(const void *, const void *))
{
    qsort(rows->items, rows->count, sizeof *rows->items, compare);
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        liana__profile_row *row = &rows->items[i];
        if (count == 0 || compare(&rows->items[count - 1], row) != 0) {
            rows->items[count++] = *row;
        } else {
            add_row(&rows->items[count - 1], row);
        }
    }
    rows->count = count;
    qsort(rows->items, count, sizeof *rows->items, by_time);
}

/* Dot products of bf16, which units of their own may do; all else is computed in f32. */
static bool multiplies_bf16(const liana__node *node, const liana__cost *cost)
{
    return cost->dot_products && node->num_inputs > 0 && node->inputs[0]->dtype == LIANA_BF16;
}

static bool is_of_node(const liana__event *event)
{
    return event->kind == LIANA__EVENT_NODE || event->kind == LIANA__EVENT_PACK;
}

/* Packing is no call, and none of the work that must be done: it only takes time. */
static liana__profile_row row_of(const liana__roofline *roofline, const liana__event *event)
{
    liana__profile_row row = {.node = event->subject, .kernel = event->how, .calls = 1, .seconds = seconds_of(event)};
    row.cost = liana__node_cost(row.node);
    if (event->kind == LIANA__EVENT_PACK) {
        row.calls = 0;
        return row;
    }
    row.flops = row.cost.flops;
    row.bytes = row.cost.bytes;
    row.compute_seconds = liana__roofline_compute_seconds(roofline, row.flops, multiplies_bf16(row.node, &row.cost));
    row.memory_seconds = liana__roofline_memory_seconds(roofline, row.bytes);
    row.roofline_seconds = row.compute_seconds > row.memory_seconds ? row.compute_seconds : row.memory_seconds;
    return row;
}

liana_status liana__profile_add_up(liana__profile *profile, liana__error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->num_events; i++) {
        add_phase(profile, &profile->events[i].event);
        count += is_of_node(&profile->events[i].event);
    }
    liana__profile_rows *nodes = &profile->by_node, *ops = &profile->by_op;
    nodes->items = calloc(count + 1, sizeof *nodes->items);
    if (!nodes->items) return liana__fail_memory(error, "the profile");
    for (size_t i = 0; i < profile->num_events; i++) {
        const liana__event *event = &profile->events[i].event;
        if (is_of_node(event)) nodes->items[nodes->count++] = row_of(&profile->roofline, event);
    }
    for (size_t i = 0; i < nodes->count; i++) {
        if (!nodes->items[i].node->recomputed) continue;
        profile->recomputed_seconds += nodes->items[i].seconds;
        profile->recomputed_flops += nodes->items[i].flops;
    }
    merge(nodes, by_node);
    ops->items = malloc((nodes->count + 1) * sizeof *ops->items);
    if (!ops->items) return liana__fail_memory(error, "the profile");
    if (nodes->count) memcpy(ops->items, nodes->items, nodes->count * sizeof *ops->items);
    ops->count = nodes->count;
    merge(ops, by_op);
    return LIANA_OK;
}
