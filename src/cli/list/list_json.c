/* The JSON of `liana list --json`. Manual pages and the reference are written from it (scripts/reference/). */
#include "cli/list/list.h"

#include <string.h>

typedef struct writer {
    liana__arena *arena;
    liana__value *map;
} writer;

static void set_text(writer to, const char *key, const char *text)
{
    if (text) liana__value_set(to.arena, to.map, key, liana__value_string(to.arena, text));
}

static void set_list(writer to, const char *key, const char *const *texts)
{
    liana__value *list = liana__value_list(to.arena);
    for (size_t i = 0; texts[i]; i++) liana__value_add(to.arena, list, liana__value_string(to.arena, texts[i]));
    liana__value_set(to.arena, to.map, key, list);
}

/* Type, range and words. */
static void set_field(writer to, const liana__field *field)
{
    set_text(to, "type", liana__list_type(field));
    set_text(to, "range", liana__list_range(field, to.arena));
    if (field->kind == LIANA__FIELD_ENUM) set_list(to, "words", field->names);
}

static void add_options(const liana__fields *fields, bool are_common, liana__value *list, liana__arena *arena)
{
    for (size_t i = 0; fields && i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        const writer to = {arena, liana__value_map(arena)};
        set_text(to, "name", field->name);
        liana__value_set(arena, to.map, "required", liana__value_bool(arena, field->required));
        if (!field->required) set_text(to, "default", liana__list_default(field));
        set_field(to, field);
        if (are_common) liana__value_set(arena, to.map, "common", liana__value_bool(arena, true));
        set_text(to, "doc", field->doc ? field->doc : "");
        liana__value_add(arena, list, to.map);
    }
}

static void add_command_option(const char *name, const char *argument, const char *doc, liana__value *list,
                               liana__arena *arena)
{
    const writer to = {arena, liana__value_map(arena)};
    set_text(to, "name", liana__arena_format(arena, "%s%s", liana__option_dashes(name), name));
    set_text(to, "argument", argument);
    set_text(to, "doc", doc);
    liana__value_add(arena, list, to.map);
}

static void set_command(writer to, const liana__command *command)
{
    liana__value *options = liana__value_list(to.arena);
    for (const liana__option *option = command->options; option && option->name; option++) {
        add_command_option(option->name, option->argument, option->doc, options, to.arena);
    }
    add_command_option("help", NULL, "print this help", options, to.arena);
    set_text(to, "operands", command->operands);
    set_text(to, "help", command->help);
    liana__value_set(to.arena, to.map, "overrides", liana__value_bool(to.arena, command->overrides));
    liana__value_set(to.arena, to.map, "options", options);
}

static liana__value *item_of(const liana__list_kind *which, const liana__list_item *item, liana__arena *arena)
{
    const writer to = {arena, liana__value_map(arena)};
    liana__value *options = liana__value_list(arena);
    set_text(to, "name", item->name);
    set_text(to, "doc", item->doc);
    if (item->aliases && item->aliases[0]) set_list(to, "aliases", item->aliases);
    if (item->field) set_field(to, item->field);
    set_text(to, "default", item->default_text);
    set_text(to, "in_c", item->in_c);
    set_text(to, "resume", item->resumes);
    if (item->resumes) liana__value_set(arena, to.map, "each_process", liana__value_bool(arena, item->differs));
    for (size_t i = 0; item->facts && i < item->facts->count; i++) {
        liana__value_set(arena, to.map, item->facts->keys[i], item->facts->items[i]);
    }
    add_options(item->fields, false, options, arena);
    add_options(which->common, true, options, arena);
    if (options->count) liana__value_set(arena, to.map, "options", options);
    if (item->command) set_command(to, item->command);
    return to.map;
}

void liana__list_print_json(liana__invocation *invocation, const liana__list_kind *which, const liana__list_items *list)
{
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__session_event(invocation, "list"), *items = liana__value_list(arena);
    for (size_t i = 0; i < list->count; i++) liana__value_add(arena, items, item_of(which, &list->items[i], arena));
    liana__value_set(arena, event, "kind", liana__value_string(arena, which->name));
    liana__value_set(arena, event, "doc", liana__value_string(arena, which->doc));
    if (list->sections->count) liana__value_set(arena, event, "sections", list->sections);
    liana__value_set(arena, event, "items", items);
    liana__invocation_print_json(invocation, event);
}
