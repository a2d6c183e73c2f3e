/* What `liana list` prints for people. */
#include "cli/list/list.h"

#include <string.h>

static void widen(int *width, const char *text)
{
    if ((int)strlen(text) > *width) *width = (int)strlen(text);
}

static void print_range(liana__invocation *invocation, const liana__field *field)
{
    const char *range = liana__list_range(field, &invocation->arena);
    if (range) fprintf(invocation->out, " (%s)", range);
}

static void print_fields(liana__invocation *invocation, const liana__fields *fields, int names, int defaults)
{
    for (size_t i = 0; fields && i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        fprintf(invocation->out, "    %-*s  %-*s  %s", names, field->name, defaults, liana__list_default(field),
                field->doc ? field->doc : "");
        for (size_t k = 0; field->kind == LIANA__FIELD_ENUM && field->names[k]; k++) {
            fprintf(invocation->out, "%s%s%s", k ? ", " : " (", field->names[k], field->names[k + 1] ? "" : ")");
        }
        print_range(invocation, field);
        fputc('\n', invocation->out);
    }
}

static void print_aliases(liana__invocation *invocation, const liana__list_item *item)
{
    if (!item->aliases || !item->aliases[0]) return;
    fputs("    also:", invocation->out);
    for (size_t i = 0; item->aliases[i]; i++) fprintf(invocation->out, "%s %s", i ? "," : "", item->aliases[i]);
    fputc('\n', invocation->out);
}

/* What else is known of one key, below its line. */
static void print_key(liana__invocation *invocation, const liana__list_item *key)
{
    const char *range = liana__list_range(key->field, &invocation->arena);
    fprintf(invocation->out, "    type: %s%s%s", liana__list_type(key->field), range ? ", " : "", range ? range : "");
    for (size_t i = 0; key->field->kind == LIANA__FIELD_ENUM && key->field->names[i]; i++) {
        fprintf(invocation->out, "%s%s", i ? ", " : ": ", key->field->names[i]);
    }
    fputc('\n', invocation->out);
    if (key->in_c) fprintf(invocation->out, "    in C: %s\n", key->in_c);
    if (!key->resumes) return;
    fprintf(invocation->out, "    may change when a run goes on: %s\n", key->resumes);
    if (key->differs) fputs("    may differ between the processes of a cluster\n", invocation->out);
}

/* One thing with its options. */
void liana__list_print_one(liana__invocation *invocation, const liana__list_kind *which, const liana__list_item *item)
{
    const liana__fields *both[] = {item->fields, which->common};
    int names = (int)strlen("option"), defaults = (int)strlen("default");
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; both[i] && k < both[i]->count; k++) {
            widen(&names, both[i]->items[k].name);
            widen(&defaults, liana__list_default(&both[i]->items[k]));
        }
    }
    fprintf(invocation->out, "%s%s%s\n", item->name, *item->doc ? ": " : "", item->doc);
    for (size_t i = 0; item->cells && which->columns[i]; i++) {
        fprintf(invocation->out, "%s%s: %s%s", i ? ", " : "    ", which->columns[i], item->cells[i],
                which->columns[i + 1] ? "" : "\n");
    }
    print_aliases(invocation, item);
    if (item->command) liana__command_print_help(item->command, invocation->out);
    if (!item->fields && !which->common) return;
    fprintf(invocation->out, "    %-*s  %-*s\n", names, "option", defaults, "default");
    for (size_t i = 0; i < 2; i++) print_fields(invocation, both[i], names, defaults);
}

/* Cells of numbers end in one line. `texts` are the cells of a row, or the titles. */
static void print_cells(liana__invocation *invocation, const liana__list_kind *which, const liana__list_items *list,
                        const char *const *texts)
{
    for (size_t k = 0; which->columns[k]; k++) {
        int width = (int)strlen(which->columns[k]);
        for (size_t i = 0; i < list->count; i++) widen(&width, list->items[i].cells[k]);
        fprintf(invocation->out, "  %*s", width, texts[k]);
    }
}

void liana__list_print_lines(liana__invocation *invocation, const liana__list_kind *which,
                             const liana__list_items *list)
{
    int names = which->columns ? (int)strlen("name") : 0, defaults = 0;
    for (size_t i = 0; i < list->count; i++) {
        widen(&names, list->items[i].name);
        if (list->items[i].default_text) widen(&defaults, list->items[i].default_text);
    }
    if (which->columns) {
        fprintf(invocation->out, "%-*s", names, "name");
        print_cells(invocation, which, list, which->columns);
        fputc('\n', invocation->out);
    }
    for (size_t i = 0; i < list->count; i++) {
        const liana__list_item *item = &list->items[i];
        fprintf(invocation->out, "%-*s", *item->doc ? names : 0, item->name);
        if (item->default_text) fprintf(invocation->out, "  %-*s", defaults, item->default_text);
        if (item->cells) print_cells(invocation, which, list, item->cells);
        fprintf(invocation->out, "%s%s\n", *item->doc ? "  " : "", item->doc);
    }
    if (list->count == 1 && list->items[0].field) print_key(invocation, &list->items[0]);
}
