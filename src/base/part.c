/* Finds, checks and registers parts of all kinds. */
#include "base/part.h"

#include "base/format.h"
#include "base/memory.h"
#include "base/other_names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_NAME = 60, LARGEST_OPTIONS = 1 << 20, MOST_OPTIONS = 100 };

const char *liana__part_word(liana_part_kind kind)
{
    static const char *const words[] = {
        [LIANA_PART_LAYER] = "layer",
        [LIANA_PART_LOSS] = "loss",
        [LIANA_PART_METRIC] = "metric",
        [LIANA_PART_OPTIMIZER] = "optimizer",
        [LIANA_PART_SCHEDULE] = "schedule",
        [LIANA_PART_INITIALIZER] = "initializer",
        [LIANA_PART_ACTIVATION] = "activation",
        [LIANA_PART_REGULARIZER] = "regularizer",
        [LIANA_PART_CONSTRAINT] = "constraint",
        [LIANA_PART_CALLBACK] = "callback",
        [LIANA_PART_SOURCE] = "source",
        [LIANA_PART_STAGE] = "stage",
        [LIANA_PART_AUGMENTATION] = "augmentation",
    };
    return words[kind];
}

/* ---- finding ---- */

bool liana__part_is_named(const liana_part *part, const char *name, size_t length)
{
    const char *own = part->name;
    for (size_t i = 0; own; own = i < LIANA_MAX_ALIASES ? part->aliases[i++] : NULL) {
        if (strncmp(own, name, length) == 0 && !own[length]) return true;
    }
    return false;
}

/* A part of the context, from one registered thing on; NULL: it is of another kind. */
static const liana_part *registered_part(const liana__registered *item, const liana__kind *kind)
{
    return strcmp(item->kind, liana__part_word(kind->kind)) == 0 ? item->user : NULL;
}

/* Whether a name or an alias is that text, as it is written or in another spelling. */
static bool is_exactly(const liana_part *part, const char *name)
{
    return liana__part_is_named(part, name, strlen(name));
}

static bool is_spelled_alike(const liana_part *part, const char *name)
{
    const char *own = part->name;
    for (size_t i = 0; own; own = i < LIANA_MAX_ALIASES ? part->aliases[i++] : NULL) {
        if (liana__same_name(own, name)) return true;
    }
    return false;
}

static const char *find_nearest(const liana_context *context, const liana__kind *kind, const char *name)
{
    liana__nearest_search search = liana__nearest_begin_known(name);
    for (size_t i = 0; kind->builtin[i]; i++) liana__nearest_add_known(&search, kind->builtin[i]->name);
    for (const liana__registered *item = context ? context->registered : NULL; item; item = item->next) {
        if (registered_part(item, kind)) liana__nearest_add_known(&search, item->name);
    }
    return search.nearest;
}

static const void *find_part(const liana_context *context, const liana__kind *kind, const char *name,
                             bool (*is_meant)(const liana_part *part, const char *name))
{
    for (size_t i = 0; kind->builtin[i]; i++) {
        if (is_meant(kind->builtin[i], name)) return kind->builtin[i];
    }
    for (const liana__registered *item = context ? context->registered : NULL; item; item = item->next) {
        const liana_part *part = registered_part(item, kind);
        if (part && is_meant(part, name)) return part;
    }
    return NULL;
}

const void *liana__part_find(const liana_context *context, const liana__kind *kind, const char *name,
                             const char **nearest)
{
    const void *found = find_part(context, kind, name, is_exactly);
    if (!found) found = find_part(context, kind, name, is_spelled_alike);
    if (!found && nearest) *nearest = find_nearest(context, kind, name);
    return found;
}

const void *liana__part_at(const liana_context *context, const liana__kind *kind, size_t index)
{
    size_t count = 0;
    for (; kind->builtin[count]; count++) {
        if (count == index) return kind->builtin[index];
    }
    /* The newest is the first of the list. */
    const liana__registered *first = context ? context->registered : NULL;
    for (const liana__registered *item = first; item; item = item->next) count += registered_part(item, kind) != NULL;
    for (const liana__registered *item = first; item; item = item->next) {
        if (registered_part(item, kind) && --count == index) return item->user;
    }
    return NULL;
}

/* ---- options that were read ---- */

liana_status liana__part_check(const liana_part *part, const liana_context *context, const void *options,
                               const liana__value *map, const char *where, liana__error *error)
{
    if (!part->check) return LIANA_OK;
    return part->check(&(liana_check){(void *)options, context, map, where, error});
}

liana_status liana_option_refuse(liana_check *check, const char *option, const char *format, ...)
{
    if (!check || !format) return LIANA_INVALID_ARGUMENT;
    char message[512], where[256];
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(message, sizeof message, format, arguments);
    va_end(arguments);
    const bool inside = check->where && *check->where;
    snprintf(where, sizeof where, "%s%s%s", inside ? check->where : "", inside && option ? "." : "",
             option ? option : "");
    const liana__value *value = option ? liana__value_get(check->map, option) : NULL;
    const liana__place *place = value ? &value->place : check->map ? &check->map->place : NULL;
    return liana__fail_at(check->error, place, where, "%s", message);
}

/* ---- registering ---- */

static bool is_name(const char *name)
{
    size_t length = strnlen(name, LONGEST_NAME + 1);
    if (length == 0 || length > LONGEST_NAME || !isalpha((unsigned char)*name)) return false;
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)name[i]) && !strchr("_-.", name[i])) return false;
    }
    return true;
}

liana_status liana__part_refuse(liana_context *context, const liana_part *part, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    liana__fail_list(&context->error, LIANA_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
    return liana__fail_within(&context->error, "the %s '%s'", liana__part_word(part->kind), part->name);
}

liana_status liana__part_needs(liana_context *context, const liana_part *part, bool is_there, const char *function)
{
    return is_there ? LIANA_OK : liana__part_refuse(context, part, "its function '%s' is NULL", function);
}

/* Before anything else of the struct is read. */
static liana_status check_head(liana_context *context, const liana__kind *kind, const liana_part *head)
{
    liana__error *error = &context->error;
    const char *word = liana__part_word(kind->kind);
    if (head->size < sizeof *head) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a %s: its size is %zu, expected sizeof the struct, which is %zu", word, head->size,
                           kind->size);
    }
    if (!head->name || !is_name(head->name)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a %s is called '%.70s', expected a letter, then letters, digits, '_', '-' and '.', at most "
                           "%d in all",
                           word, head->name ? head->name : "", LONGEST_NAME);
    }
    if (head->size == kind->size) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the %s '%s': its size is %zu, expected %zu; build it again with this liana's headers", word,
                       head->name, head->size, kind->size);
}

/* ---- the table of options ---- */

static const size_t option_sizes[] = {
    [LIANA_OPTION_BOOL] = sizeof(bool),
    [LIANA_OPTION_INT] = sizeof(int64_t),
    [LIANA_OPTION_FLOAT] = sizeof(double),
    [LIANA_OPTION_STRING] = sizeof(char *),
    [LIANA_OPTION_PATH] = sizeof(char *),
    [LIANA_OPTION_ENUM] = sizeof(int),
    [LIANA_OPTION_INT_PAIR] = 2 * sizeof(int64_t),
    [LIANA_OPTION_INTS] = sizeof(liana_ints),
    [LIANA_OPTION_STRINGS] = sizeof(liana_strings),
    [LIANA_OPTION_PATHS] = sizeof(liana_strings),
    [LIANA_OPTION_VALUE] = sizeof(void *),
    [LIANA_OPTION_SECTION] = 0,
    [LIANA_OPTION_FLOATS] = sizeof(liana_floats),
    [LIANA_OPTION_INTEGERS] = sizeof(liana_integers),
    [LIANA_OPTION_AXES] = LIANA_MAX_AXES * sizeof(int64_t),
    [LIANA_OPTION_LAYER] = sizeof(liana_held_layer),
    [LIANA_OPTION_LAYERS] = sizeof(liana_held_layers),
    [LIANA_OPTION_INT_SINGLE] = sizeof(int64_t),
    [LIANA_OPTION_INT_TRIPLE] = 3 * sizeof(int64_t),
};

static liana_status check_row(liana_context *context, const liana_part *part, const liana_options *table,
                              const liana_option *row)
{
    if ((unsigned)row->kind >= sizeof option_sizes / sizeof *option_sizes) {
        return liana__part_refuse(context, part, "its option '%s' has the unknown kind %d", row->name, (int)row->kind);
    }
    if (row->kind == LIANA_OPTION_SECTION && !row->section) {
        return liana__part_refuse(context, part, "its option '%s' has no table", row->name);
    }
    const size_t size = row->section ? row->section->size : option_sizes[row->kind];
    if (row->offset > table->size || table->size - row->offset < size) {
        return liana__part_refuse(context, part,
                                  "its option '%s' has the offset %zu, which is outside of its struct of %zu bytes",
                                  row->name, row->offset, table->size);
    }
    if (row->kind == LIANA_OPTION_ENUM && (!row->names || !row->names[0])) {
        return liana__part_refuse(context, part, "its option '%s' has no words", row->name);
    }
    return LIANA_OK;
}

static bool is_reserved(const liana__kind *kind, const char *name)
{
    bool found = strcmp(name, "name") == 0;
    for (size_t i = 0; kind->reserved && kind->reserved[i]; i++) found = found || strcmp(name, kind->reserved[i]) == 0;
    return found;
}

static liana_status check_table(liana_context *context, const liana__kind *kind, const liana_part *part,
                                const liana_options *table)
{
    if (table->count > MOST_OPTIONS || (table->count && !table->items)) {
        return liana__part_refuse(context, part, "it has %zu options%s, expected at most %d", table->count,
                                  table->items ? "" : " at NULL", MOST_OPTIONS);
    }
    if (table->size > LARGEST_OPTIONS) {
        return liana__part_refuse(context, part, "its struct of options has %zu bytes, expected at most %d",
                                  table->size, LARGEST_OPTIONS);
    }
    for (size_t i = 0; i < table->count; i++) {
        const liana_option *row = &table->items[i];
        if (!row->name || !is_name(row->name)) {
            return liana__part_refuse(context, part, "option %zu is called '%.70s', which is no name", i,
                                      row->name ? row->name : "");
        }
        const liana_options before = {table->name, table->size, i, table->items};
        if (is_reserved(kind, row->name) || liana__fields_find(&before, row->name)) {
            return liana__part_refuse(context, part, "there is an option '%s' already", row->name);
        }
        LIANA_TRY(check_row(context, part, table, row));
        if (row->kind == LIANA_OPTION_SECTION) LIANA_TRY(check_table(context, kind, part, row->section));
    }
    return LIANA_OK;
}

/* Defaults are texts, which may be wrong. */
static liana_status check_defaults(liana_context *context, const liana_part *part)
{
    liana__arena arena = {0};
    liana__error reason = {0};
    void *options = liana__arena_allocate(&arena, part->options.size + 1);
    liana_status status = options ? liana__fields_default(&part->options, &arena, options, &reason)
                                  : liana__fail_memory(&reason, part->name);
    liana__arena_free(&arena);
    if (status == LIANA_OK) return LIANA_OK;
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(&context->error, part->name);
    return liana__part_refuse(context, part, "%s", reason.message);
}

liana_status liana__part_needs_rows(liana_context *context, const liana_part *part, const liana_option *rows,
                                    size_t count, const char *macro)
{
    for (size_t i = 0; i < count; i++) {
        const liana_option *row = liana__fields_find(&part->options, rows[i].name);
        if (row && row->kind == rows[i].kind && row->offset == rows[i].offset) continue;
        return liana__part_refuse(context, part, "its table of options has %s '%s', expected the rows of %s",
                                  row ? "another option" : "no option", rows[i].name, macro);
    }
    return LIANA_OK;
}

/* ---- copies ---- */

static liana_options copy_table(liana__arena *arena, const liana_options *table);

/* A copy of a list of words. */
static const char *const *copy_words(liana__arena *arena, const char *const *words)
{
    size_t count = 0;
    while (words && words[count]) count++;
    const char **copy = count ? liana__arena_allocate(arena, (count + 1) * sizeof *copy) : NULL;
    for (size_t i = 0; copy && i < count; i++) copy[i] = liana__arena_string(arena, words[i]);
    return copy;
}

static liana_option copy_row(liana__arena *arena, const liana_option *row)
{
    liana_option copy = *row;
    copy.name = liana__arena_string(arena, row->name);
    copy.default_text = liana__arena_string(arena, row->default_text);
    copy.names = copy_words(arena, row->names);
    copy.doc = liana__arena_string(arena, row->doc ? row->doc : "");
    liana_options *section = row->section ? liana__arena_allocate(arena, sizeof *section) : NULL;
    if (section) *section = copy_table(arena, row->section);
    copy.section = section;
    return copy;
}

static liana_options copy_table(liana__arena *arena, const liana_options *table)
{
    liana_options copy = *table;
    liana_option *rows = liana__arena_allocate(arena, (table->count + 1) * sizeof *rows);
    for (size_t i = 0; rows && i < table->count; i++) rows[i] = copy_row(arena, &table->items[i]);
    copy.items = rows;
    return copy;
}

/* The struct with its texts. NULL: out of memory. */
static liana_part *copy_part(liana__arena *arena, const liana_part *given)
{
    liana_part *part = liana__arena_allocate(arena, given->size);
    if (!part) return NULL;
    memcpy(part, given, given->size);
    part->name = liana__arena_string(arena, given->name);
    part->doc = liana__arena_string(arena, given->doc ? given->doc : "");
    for (size_t i = 0; i < LIANA_MAX_ALIASES && given->aliases[i]; i++) {
        part->aliases[i] = liana__arena_string(arena, given->aliases[i]);
    }
    part->options = copy_table(arena, &given->options);
    part->options.name = part->name;
    return arena->failed ? NULL : part;
}

/* ---- names ---- */

static liana_status refuse_taken(liana_context *context, const liana__kind *kind, const liana_part *part,
                                 const char *name)
{
    for (size_t i = 0; kind->builtin[i]; i++) {
        if (is_exactly(kind->builtin[i], name) || is_spelled_alike(kind->builtin[i], name)) {
            return liana__part_refuse(context, part, "liana has one of this name; choose another name");
        }
    }
    for (const liana__registered *item = context->registered; item; item = item->next) {
        const liana_part *other = registered_part(item, kind);
        if (!other || (!is_exactly(other, name) && !is_spelled_alike(other, name))) continue;
        return liana__part_refuse(context, part, "%s%s%s has registered '%s' already; choose another name",
                                  item->owner ? "the plugin '" : "the program", item->owner ? item->owner : "",
                                  item->owner ? "'" : "", other->name);
    }
    return LIANA_OK;
}

static liana_status check_names(liana_context *context, const liana__kind *kind, const liana_part *part)
{
    LIANA_TRY(refuse_taken(context, kind, part, part->name));
    for (size_t i = 0; i < LIANA_MAX_ALIASES && part->aliases[i]; i++) {
        if (!is_name(part->aliases[i])) {
            return liana__part_refuse(context, part, "its alias '%.70s' is no name", part->aliases[i]);
        }
        LIANA_TRY(refuse_taken(context, kind, part, part->aliases[i]));
    }
    return LIANA_OK;
}

liana_status liana__part_register(liana_context *context, const liana__kind *kind, const liana_part *given)
{
    LIANA_TRY(check_head(context, kind, given));
    LIANA_TRY(check_table(context, kind, given, &given->options));
    liana_part *part = copy_part(&context->parts, given);
    if (!part) return liana__fail_memory(&context->error, "an own part");
    LIANA_TRY(check_defaults(context, part));
    LIANA_TRY(kind->accept(context, part));
    LIANA_TRY(check_names(context, kind, part));
    return liana__context_register(context, liana__part_word(kind->kind), part->name, NULL, part);
}
