/* Writes a profile as tables. */
#include "report/reports.h"

#include "base/scoped.h"
#include "ir/graph.h"
#include "kernels/kernel_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void liana__profile_op_name(const liana__profile_row *row, char *name, size_t size)
{
    const char *variant = row->cost.variant;
    snprintf(name, size, "%s%s%s", row->node->op->name, variant ? " " : "", variant ? variant : "");
}

const char *liana__profile_variable_name(const liana__node *node)
{
    for (uint32_t i = 0; i < node->num_inputs; i++) {
        if (liana__is_variable(node->inputs[i])) return node->inputs[i]->name;
    }
    return "";
}

const char *liana__profile_bound(const liana__profile_row *row)
{
    return row->memory_seconds >= row->compute_seconds ? "memory" : "compute";
}

double liana__profile_share(const liana__profile *profile, double worker_seconds)
{
    double all = profile->seconds * profile->num_workers;
    return all > 0 ? worker_seconds / all : 0;
}

double liana__profile_undisturbed(const liana__profile *profile)
{
    double wanted = profile->busy + profile->reading, most = profile->seconds * profile->num_cores;
    if (wanted > most) wanted = most; /* they wait for each other too */
    return wanted > profile->cpu ? profile->cpu / wanted : 1;
}

static double percent(const liana__profile *profile, double worker_seconds)
{
    return 100 * liana__profile_share(profile, worker_seconds);
}

static bool is_of(const liana__profile_row *node, const liana__profile_row *op)
{
    if (node->node->op != op->node->op) return false;
    const char *a = node->cost.variant, *b = op->cost.variant;
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Appends a word to a list that begins at `begin`, unless it is in the list. */
static void add_once(liana__text *text, size_t begin, const char *separator, const char *word)
{
    size_t length = strlen(word), gap = strlen(separator);
    const char *at = text->length > begin ? text->data + begin : NULL;
    while (at) {
        const char *end = strstr(at, separator);
        if (end ? (size_t)(end - at) == length && memcmp(at, word, length) == 0 : strcmp(at, word) == 0) return;
        at = end ? end + gap : NULL;
    }
    liana__text_add(text, "%s%s", text->length > begin ? separator : "", word);
}

void liana__profile_kernels(const liana__profile *profile, const liana__profile_row *op, liana__text *text)
{
    size_t begin = text->length;
    for (size_t i = 0; i < profile->by_node.count; i++) {
        const liana__profile_row *row = &profile->by_node.items[i];
        if (is_of(row, op)) add_once(text, begin, ", ", row->kernel->name);
    }
}

void liana__profile_declined(const liana__profile *profile, const liana__profile_row *op, liana__text *text)
{
    size_t begin = text->length;
    for (size_t i = 0; i < profile->by_node.count; i++) {
        const liana__profile_row *row = &profile->by_node.items[i];
        if (!is_of(row, op)) continue;
        for (const liana__kernel *const *kernel = op->node->op->kernels; *kernel && *kernel != row->kernel; kernel++) {
            const char *reason = liana__kernel_declines(*kernel, row->node, profile->context->isa);
            char words[256];
            snprintf(words, sizeof words, "%s: %s", (*kernel)->name, reason ? reason : "passed over");
            add_once(text, begin, "; ", words);
        }
    }
}

/* ---- the verdict ---- */

/* Rows of one family and variant, such as all passes of 1x1 convolutions. */
static bool same_family(const liana__profile_row *a, const liana__profile_row *b)
{
    if (strcmp(a->cost.family, b->cost.family) != 0) return false;
    const char *x = a->cost.variant, *y = b->cost.variant;
    return x && y ? strcmp(x, y) == 0 : x == y;
}

static size_t add_up_families(const liana__profile *profile, liana__profile_row *families)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->by_op.count; i++) {
        const liana__profile_row *row = &profile->by_op.items[i];
        size_t k = 0;
        while (k < count && !same_family(&families[k], row)) k++;
        if (k == count) {
            families[count++] = *row;
            continue;
        }
        families[k].seconds += row->seconds;
        families[k].roofline_seconds += row->roofline_seconds;
        families[k].memory_seconds += row->memory_seconds;
        families[k].compute_seconds += row->compute_seconds;
    }
    return count;
}

static int longest_first(const void *a, const void *b)
{
    double x = ((const liana__profile_row *)a)->seconds, y = ((const liana__profile_row *)b)->seconds;
    return (x < y) - (x > y);
}

enum { MOST_FAMILIES = 4 };
static const double WORTH_NAMING = 4; /* percent */

static void add_families(const liana__profile *profile, liana__profile_row *families, liana__text *text)
{
    size_t count = add_up_families(profile, families);
    qsort(families, count, sizeof *families, longest_first);
    for (size_t i = 0; i < count && i < MOST_FAMILIES; i++) {
        const liana__profile_row *row = &families[i];
        double share = percent(profile, row->seconds);
        if (i > 0 && share < WORTH_NAMING) break;
        const char *variant = row->cost.variant;
        liana__text_add(text, "%.0f%% in %s%s%s (%s-bound) at %.0f%% of the roofline; ", share, variant ? variant : "",
                        variant ? " " : "", row->cost.family, liana__profile_bound(row),
                        100 * liana__profile_roofline_share(row));
    }
}

static double idle_seconds(const liana__profile *profile)
{
    double idle = profile->seconds * profile->num_workers - profile->busy - profile->wait * profile->num_workers;
    return idle > 0 ? idle : 0;
}

void liana__profile_verdict(const liana__profile *profile, liana__text *text)
{
    liana__profile_row *families = calloc(profile->by_op.count + 1, sizeof *families);
    if (!families) {
        text->failed = true;
        return;
    }
    add_families(profile, families, text);
    free(families);
    double reduction = percent(profile, profile->reduction), idle = percent(profile, idle_seconds(profile));
    if (reduction >= WORTH_NAMING) liana__text_add(text, "%.0f%% adding gradients; ", reduction);
    if (idle >= WORTH_NAMING) liana__text_add(text, "%.0f%% workers idle; ", idle);
    liana__text_add(text, "input wait %.0f%%", percent(profile, profile->wait * profile->num_workers));
}

/* ---- the table ---- */

static const double UNDISTURBED = 0.9;

static void print_machine(const liana__profile *profile, liana__text *text)
{
    const liana__roofline *roofline = &profile->roofline;
    double each = 1e-9 / roofline->num_workers;
    liana__text_add(text, "machine: %d workers, %s; each of them, while all work, does %.1f GFLOP/s (f32",
                    profile->num_workers, liana__isa_name(profile->context->isa), roofline->flops * each);
    if (roofline->bf16_flops != roofline->flops) {
        liana__text_add(text, "; %.1f in dot products of bf16", roofline->bf16_flops * each);
    }
    liana__text_add(text, ") and moves\n");
    for (int i = 0; i < LIANA__ROOFLINE_SIZES; i++) {
        const liana__bandwidth *memory = &roofline->memory[i];
        liana__text_add(text, "%s%.1f GB/s in %.4g MiB", i ? ", " : "  ", memory->rate * each,
                        (double)memory->size / (1 << 20));
    }
    liana__text_add(text, "\n");
    if (roofline->undisturbed < UNDISTURBED) {
        liana__text_add(text,
                        "other programs ran while the machine was measured: liana's threads had a core for only %.0f%% "
                        "of the time; the machine can do more, and shares of the roofline are too large\n",
                        100 * roofline->undisturbed);
    }
}

static void print_steps(const liana__profile *profile, liana__text *text)
{
    double steps = (double)profile->steps, ms = 1e3 / steps;
    double rate = profile->seconds > 0 ? (double)profile->examples / profile->seconds : 0;
    liana__text_add(
        text,
        "%lld steps of %lld examples: %.2f ms each, %.1f examples/s; parallel efficiency (the workers' time at "
        "work) %.0f%%\n",
        (long long)profile->steps, (long long)(profile->examples / profile->steps), profile->seconds * ms, rate,
        percent(profile, profile->busy));
    liana__text_add(text, "a step: %.2f ms waiting for input, %.2f ms shards and reduction, %.2f ms update\n",
                    profile->wait * ms, profile->shards * ms, profile->update * ms);
    if (profile->recomputed_seconds > 0) {
        liana__text_add(text, "%.2f ms of the workers' time in a step (%.1f%%), %.3g GFLOP, are for recomputation\n",
                        profile->recomputed_seconds * ms, percent(profile, profile->recomputed_seconds),
                        profile->recomputed_flops / steps * 1e-9);
    }
    double undisturbed = liana__profile_undisturbed(profile);
    if (undisturbed < UNDISTURBED) {
        liana__text_add(text,
                        "other programs are running: liana's threads had a core for only %.0f%% of their time at work; "
                        "do not trust these times\n",
                        100 * undisturbed);
    }
    if (profile->dropped) {
        liana__text_add(text, "%zu events were dropped and are missing below\n", profile->dropped);
    }
}

static void print_heads(const char *first, int width, const char *last, liana__text *text)
{
    liana__text_add(text, "\n%-*s %9s %6s %7s %8s %7s %8s  %-7s  %s\n", width, first, "ms/step", "share", "calls",
                    "GFLOP/s", "GB/s", "roofline", "bound", last);
}

static void print_row(const liana__profile *profile, const liana__profile_row *row, int width, const char *name,
                      liana__text *text)
{
    double steps = (double)profile->steps, nanoseconds = row->seconds > 0 ? row->seconds * 1e9 : 1;
    liana__text_add(text, "%-*s %9.3f %5.1f%% %7.1f %8.1f %7.1f %7.0f%%  %-7s  ", width, name,
                    row->seconds * 1e3 / steps, percent(profile, row->seconds), (double)row->calls / steps,
                    row->flops / nanoseconds, row->bytes / nanoseconds, 100 * liana__profile_roofline_share(row),
                    liana__profile_bound(row));
}

/* How long the workers did other things than nodes. */
static void print_rest(const liana__profile *profile, const char *name, double seconds, liana__text *text)
{
    if (seconds < 0) seconds = 0;
    liana__text_add(text, "%-44s %9.3f %5.1f%%\n", name, seconds * 1e3 / (double)profile->steps,
                    percent(profile, seconds));
}

static const double WORTH_A_LINE = 0.05; /* percent */

enum { NAME_SIZE = 128, OP_WIDTH = 44, NODE_WIDTH = 72 };

/* From half a percent on, which rounds to a number above 100. */
static bool exceeds_roofline(const liana__profile_rows *rows)
{
    bool any = false;
    for (size_t i = 0; i < rows->count; i++) any |= liana__profile_roofline_share(&rows->items[i]) > 1.005;
    return any;
}

static void print_ops(const liana__profile *profile, liana__text *text)
{
    print_heads("op (times: all workers together)", OP_WIDTH, "kernel", text);
    for (size_t i = 0; i < profile->by_op.count; i++) {
        const liana__profile_row *row = &profile->by_op.items[i];
        char name[NAME_SIZE];
        liana__profile_op_name(row, name, sizeof name);
        print_row(profile, row, OP_WIDTH, name, text);
        liana__profile_kernels(profile, row, text);
        liana__text_add(text, "\n");
    }
    print_rest(profile, "- adding gradients", profile->reduction, text);
    print_rest(profile, "- between nodes", profile->busy - profile->reduction - profile->nodes, text);
    print_rest(profile, "- waiting for input", profile->wait * profile->num_workers, text);
    print_rest(profile, "- without work", idle_seconds(profile), text);
}

static void print_nodes(const liana__profile *profile, liana__text *text)
{
    print_heads("node", NODE_WIDTH, "kernel, place", text);
    size_t i = 0;
    for (; i < profile->by_node.count && percent(profile, profile->by_node.items[i].seconds) >= WORTH_A_LINE; i++) {
        const liana__profile_row *row = &profile->by_node.items[i];
        const liana__node *node = row->node;
        char op[NAME_SIZE], name[3 * NAME_SIZE];
        liana__profile_op_name(row, op, sizeof op);
        snprintf(name, sizeof name, "%%%u %s %s", node->id, op, liana__type_print(node->dtype, &node->shape).text);
        print_row(profile, row, NODE_WIDTH, name, text);
        const char *variable = liana__profile_variable_name(node), *file = strrchr(node->where.file, '/');
        liana__text_add(text, "%s, %s:%d%s%s\n", row->kernel->name, file ? file + 1 : node->where.file,
                        node->where.line, *variable ? ", " : "", variable);
    }
    if (i < profile->by_node.count) {
        liana__text_add(text, "- and %zu nodes of less than %g%% each\n", profile->by_node.count - i, WORTH_A_LINE);
    }
}

static void print_declined(const liana__profile *profile, liana__text *text)
{
    bool any = false;
    for (size_t i = 0; i < profile->by_op.count; i++) {
        const liana__profile_row *row = &profile->by_op.items[i];
        LIANA__SCOPED(liana__text) reasons = {0};
        liana__profile_declined(profile, row, &reasons);
        if (reasons.length) {
            char name[NAME_SIZE];
            liana__profile_op_name(row, name, sizeof name);
            liana__text_add(text, "%s%-*s %s\n", any ? "" : "\nkernels that declined\n", OP_WIDTH, name, reasons.data);
            any = true;
        }
        text->failed |= reasons.failed;
    }
}

void liana__profile_print(const liana__profile *profile, bool nodes, liana__text *text)
{
    print_machine(profile, text);
    print_steps(profile, text);
    print_ops(profile, text);
    if (nodes) print_nodes(profile, text);
    if (exceeds_roofline(nodes ? &profile->by_node : &profile->by_op)) {
        liana__text_add(text, "\nabove 100%% of the roofline: the kernel does less work than is counted, or the "
                              "machine was busy while it was measured\n");
    }
    print_declined(profile, text);
    liana__text_add(text, "\n");
    liana__profile_verdict(profile, text);
    liana__text_add(text, "\n");
}
