/* The names of `liana list`, one by one, for completion. */
#include "cli/list/list_names.h"

#include "cli/list/list.h"

#include <string.h>

void liana__list_visit_kinds(liana__list_visit *visit, void *user)
{
    const liana__list_kind *which;
    for (size_t i = 0; (which = liana__list_kind_at(i)); i++) visit(user, which->name, which->doc);
}

void liana__list_visit_names(const char *kind_name, liana__arena *arena, liana__list_visit *visit, void *user)
{
    const liana__list_kind *which;
    liana__error error;
    liana__list_items *list = liana__arena_allocate(arena, sizeof *list);
    if (!list || liana__list_kind_find(kind_name, &which, &error) != LIANA_OK) return;
    *list = (liana__list_items){.arena = arena};
    if (liana__list_fill(which, list, &error) != LIANA_OK) return;
    for (size_t i = 0; i < list->count; i++) visit(user, list->items[i].name, list->items[i].doc);
}

const char *liana__list_kind_for(const char *key)
{
    const liana__list_kind *which;
    for (size_t i = 0; (which = liana__list_kind_at(i)); i++) {
        const char *words = strstr(which->doc, ", for ");
        if (words && strcmp(words + strlen(", for "), key) == 0) return which->name;
    }
    return NULL;
}
