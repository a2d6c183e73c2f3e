/* Prints a comparison of devices. */
#include "report/reports.h"

#include "base/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NUM_COLUMNS = 3, CELL = 24 };

static double share_of(const liana__device_difference *difference)
{
    if (difference->largest == 0) return 0;
    return difference->explained > 0 ? difference->largest / difference->explained : INFINITY;
}

/* The worst of a layer's differences of a kind; NULL: it has none. */
static const liana__device_difference *worst_of(const liana__device_comparison *comparison, const char *layer,
                                                liana__compared what)
{
    const liana__device_difference *worst = NULL;
    for (size_t i = 0; i < comparison->count; i++) {
        const liana__device_difference *item = &comparison->items[i];
        if (item->what != what || strcmp(item->layer, layer) != 0) continue;
        if (!worst || share_of(item) > share_of(worst)) worst = item;
    }
    return worst;
}

/* "1.2e-07   34%" */
static void print_cell(const liana__device_difference *difference, char *cell, size_t size)
{
    if (!difference) {
        snprintf(cell, size, "-");
        return;
    }
    const double share = 100 * share_of(difference);
    char part[16];
    if (!isfinite(share)) {
        snprintf(part, sizeof part, "all of it");
    } else if (share > 99999) {
        snprintf(part, sizeof part, ">99999%%");
    } else {
        snprintf(part, sizeof part, "%.0f%%", share);
    }
    char number[24];
    liana__format(number, sizeof number, "%.1e", difference->largest);
    snprintf(cell, size, "%s %7s%s", number, part, liana__is_explained(difference) ? "" : " !");
}

static void print_row(const liana__device_comparison *comparison, const char *layer, int width, liana__text *text)
{
    static const liana__compared columns[] = {LIANA__COMPARED_OUTPUT, LIANA__COMPARED_GRADIENT, LIANA__COMPARED_WEIGHT};
    const liana__device_difference *worst[NUM_COLUMNS];
    bool any = false;
    const int count = comparison->num_updates ? NUM_COLUMNS : NUM_COLUMNS - 1; /* without updates no weights */
    for (int i = 0; i < count; i++) {
        worst[i] = worst_of(comparison, layer, columns[i]);
        any = any || worst[i];
    }
    if (!any) return;
    liana__text_add(text, "%-*s", width, layer);
    for (int i = 0; i < count; i++) {
        char cell[64];
        print_cell(worst[i], cell, sizeof cell);
        liana__text_add(text, i + 1 < count ? "  %-*s" : "  %.*s", CELL, cell);
    }
    liana__text_add(text, "\n");
}

/* Whether an item before this one is of the same layer. */
static bool is_repeated(const liana__device_comparison *comparison, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(comparison->items[i].layer, comparison->items[index].layer) == 0) return true;
    }
    return false;
}

static void print_losses(const liana__device_comparison *comparison, const char *const names[2], liana__text *text)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const liana__device_difference *item = &comparison->items[i];
        if (item->what != LIANA__COMPARED_LOSS) continue;
        char cell[64], first[32], second[32];
        print_cell(item, cell, sizeof cell);
        liana__format(first, sizeof first, "%.7g", item->first);
        liana__format(second, sizeof second, "%.7g", item->second);
        liana__text_add(text, "%s: loss %s on %s, %s on %s; difference %s\n", item->name, first, names[0], second,
                        names[1], cell);
    }
}

void liana__device_report(const liana__device_comparison *comparison, const char *const names[2], liana__text *text)
{
    int width = (int)strlen("layer");
    for (size_t i = 0; i < comparison->count; i++) {
        const int length = (int)strlen(comparison->items[i].layer);
        if (length > width) width = length;
    }
    char weights[64];
    const long long updates = (long long)comparison->num_updates;
    snprintf(weights, sizeof weights, "weights after %lld update%s", updates, updates == 1 ? "" : "s");
    liana__text_add(text, "Largest difference, and its share of what rounding explains:\n\n");
    liana__text_add(text, "%-*s  %-*s  ", width, "layer", CELL, "output");
    liana__text_add(text, updates ? "%-*s  %s\n" : "%.*s%s\n", CELL, "gradients", updates ? weights : "");
    for (size_t i = 0; i < comparison->count; i++) {
        const char *layer = comparison->items[i].layer;
        if (*layer && !is_repeated(comparison, i)) print_row(comparison, layer, width, text);
    }
    liana__text_add(text, "\n");
    print_losses(comparison, names, text);
}

/* "the output of layer 'dense'" */
static void name_item(const liana__device_difference *item, liana__text *text)
{
    switch (item->what) {
    case LIANA__COMPARED_OUTPUT: liana__text_add(text, "The output of layer '%s'", item->layer); return;
    case LIANA__COMPARED_GRADIENT: liana__text_add(text, "The gradient of '%s'", item->name); return;
    case LIANA__COMPARED_WEIGHT: liana__text_add(text, "The weight '%s' after all updates", item->name); return;
    case LIANA__COMPARED_LOSS: liana__text_add(text, "The loss of %s", item->name); return;
    }
}

void liana__device_verdict(const liana__device_comparison *comparison, const char *const names[2], liana__text *text)
{
    const liana__device_difference *first = liana__device_comparison_first(comparison);
    if (!first) {
        liana__text_add(text, "%s and %s agree: rounding explains all differences.", names[0], names[1]);
        return;
    }
    char values[3][32];
    liana__format(values[0], sizeof values[0], "%.7g", first->first);
    liana__format(values[1], sizeof values[1], "%.7g", first->second);
    liana__format(values[2], sizeof values[2], "%.1e", first->explained);
    name_item(first, text);
    liana__text_add(text, " is the first that differs by more than rounding explains: %s on %s, %s on %s", values[0],
                    names[0], values[1], names[1]);
    if (*first->place) liana__text_add(text, " at %s of %s", first->place, first->type);
    liana__text_add(text, ", where %s is explained.", values[2]);
}
