/* liana list: all names that a configuration or a command line may use, directly from the registries. */
#include "cli/list/list.h"

#include "base/context_plugins.h"
#include "base/named.h"
#include "base/part.h"
#include "base/plugin.h"
#include "base/scoped.h"

#include <string.h>

LIANA__SCOPED_POINTER(liana_context_destroy, liana_context)

static const liana__option options[] = {
    {"plugin", "FILE.so", "list the parts of a plugin as well"},
    {LIANA__OPTION_JSON},
    {0},
};

static bool is_below(const char *key, const char *section)
{
    size_t length = strlen(section);
    return strncmp(key, section, length) == 0 && key[length] == '.';
}

/* Leaves the entry of that name; of the configuration, a section's keys too. */
static liana_status select_name(liana__invocation *invocation, const liana__list_kind *which, const char *name,
                                liana__list_items *list)
{
    const char *nearest = NULL;
    const liana_part *part = which->parts ? liana__part_find(list->context, which->parts, name, NULL) : NULL;
    if (part) name = part->name;
    (void)liana__named_find(LIANA__NAMED(liana__list_item, list->items, list->count), name, &nearest);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const liana__list_item *item = &list->items[i];
        if (strcmp(item->name, name) == 0 || is_below(item->name, name)) list->items[kept++] = *item;
    }
    list->count = kept;
    if (kept) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "list: there is no '%.100s' among the %s%s", name,
                       which->name, liana__hint(nearest).text);
}

static liana_status list_kinds(liana__invocation *invocation, const liana_context *context)
{
    bool json = liana__invocation_has(invocation, "json");
    liana__list_items *list = liana__arena_allocate(&invocation->arena, sizeof *list);
    if (!list) return liana__fail_memory(&invocation->error, "the list");
    list->arena = &invocation->arena;
    list->context = context;
    list->everywhere = json;
    const liana__list_kind *which;
    for (size_t i = 0; invocation->num_operands == 0 && (which = liana__list_kind_at(i)); i++) {
        LIANA_TRY(liana__list_fill(which, list, &invocation->error));
        if (json && which->measure) LIANA_TRY(which->measure(invocation, list));
        if (json) liana__list_print_json(invocation, which, list);
        if (!json) fprintf(invocation->out, "%-16s  %3zu  %s\n", which->name, list->count, which->doc);
    }
    if (invocation->num_operands == 0) return LIANA_OK;
    LIANA_TRY(liana__list_kind_find(invocation->operands[0], &which, &invocation->error));
    LIANA_TRY(liana__list_fill(which, list, &invocation->error));
    bool one = invocation->num_operands == 2;
    if (one) LIANA_TRY(select_name(invocation, which, invocation->operands[1], list));
    if (which->measure) LIANA_TRY(which->measure(invocation, list));
    if (json) {
        liana__list_print_json(invocation, which, list);
    } else if (one && list->count == 1 && !list->items[0].default_text) {
        liana__list_print_one(invocation, which, &list->items[0]);
    } else {
        liana__list_print_lines(invocation, which, list);
    }
    return LIANA_OK;
}

static liana_status run(liana__invocation *invocation)
{
    const char *plugin = liana__invocation_text(invocation, "plugin");
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    if (plugin && liana__context_make(NULL, &context) != LIANA_OK)
        return liana__fail_memory(&invocation->error, "a context");
    if (plugin) LIANA_TRY(liana__plugin_load(context, plugin, &invocation->error));
    return list_kinds(invocation, context);
}

const liana__command liana__subcommand_list = {
    .name = "list",
    .operands = "[KIND [NAME]]",
    .summary = "List every name: keys, layers, optimizers, options and others",
    .help = "Without a KIND, lists the kinds. 'liana list layers Conv2D' explains the options of a layer,\n"
            "'liana list configuration train' the keys of a section with their defaults,\n"
            "'liana list configuration train.epochs' one of them, and what programs in C call it.\n"
            "'liana list models' gives sizes, with the architecture's own classifier: the image, the number of\n"
            "parameters, and the operations of a prediction for one image in 1e9 (GFLOP). These are the ones of\n"
            "convolutions and matrix products; a multiply-add is two operations. --json gives the numbers.\n",
    .options = options,
    .max_operands = 2,
    .run = run,
};
