/* Checks and copies what parts of all kinds have in common. */
#include "base/own_part.h"

#include "base/format.h"
#include "base/memory.h"
#include "base/other_names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_NAME = 60, LARGEST_OPTIONS = 1 << 20, MOST_OPTIONS = 100 };

/* How each public struct begins. */
typedef struct part_head {
    LIANA_PART_MEMBERS;
} part_head;

static bool is_name(const char *name)
{
    size_t length = strnlen(name, LONGEST_NAME + 1);
    if (length == 0 || length > LONGEST_NAME || !isalpha((unsigned char)*name)) return false;
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)name[i]) && !strchr("_-.", name[i])) return false;
    }
    return true;
}

liana_status liana__own_part_refuse(liana_context *context, const liana__own_part *own, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    liana__fail_list(&context->error, LIANA_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
    return liana__fail_within(&context->error, "the %s '%s'", own->kind, own->name);
}

void *liana__own_part_allocate(liana_context *context, size_t size)
{
    void *memory = liana__arena_allocate(&context->parts, size);
    if (!memory) liana__fail_memory(&context->error, "an own part");
    return memory;
}

/* Before anything else of the struct is read. */
static liana_status check_head(liana_context *context, const liana__own_request *request)
{
    const part_head *head = request->given;
    liana__error *error = &context->error;
    if (head->size < sizeof *head) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a %s: its size is %zu, expected sizeof the struct, which is %zu", request->kind, head->size,
                           request->size);
    }
    if (head->version != LIANA_PARTS_VERSION) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a %s was built for version %d of liana's parts, this liana has version %d; build it again "
                           "with this liana's headers",
                           request->kind, head->version, LIANA_PARTS_VERSION);
    }
    if (!head->name || !is_name(head->name)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a %s is called '%.70s', expected a letter, then letters, digits, '_', '-' and '.', at most "
                           "%d in all",
                           request->kind, head->name ? head->name : "", LONGEST_NAME);
    }
    if (head->size == request->size) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the %s '%s': its size is %zu, expected %zu; build it again with this liana's headers",
                       request->kind, head->name, head->size, request->size);
}

/* ---- the table of options ---- */

typedef struct kind_row {
    liana__field_kind kind;
    size_t size;
} kind_row;

static const kind_row kind_rows[] = {
    [LIANA_OPTION_BOOL] = {LIANA__FIELD_BOOL, sizeof(bool)},
    [LIANA_OPTION_INT] = {LIANA__FIELD_INT, sizeof(int64_t)},
    [LIANA_OPTION_FLOAT] = {LIANA__FIELD_FLOAT, sizeof(double)},
    [LIANA_OPTION_TEXT] = {LIANA__FIELD_STRING, sizeof(char *)},
    [LIANA_OPTION_WORD] = {LIANA__FIELD_ENUM, sizeof(int)},
    [LIANA_OPTION_INTS] = {LIANA__FIELD_INTS, sizeof(liana_ints)},
};

/* A copy of a list of words; NULL: out of memory. */
static const char *const *copy_words(liana_context *context, const char *const *words)
{
    size_t count = 0;
    while (words[count]) count++;
    const char **copy = liana__own_part_allocate(context, (count + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) copy[i] = liana__arena_string(&context->parts, words[i]);
    return copy && !context->parts.failed ? copy : NULL;
}

static liana_status copy_row(liana_context *context, const liana__own_part *own, size_t options_size,
                             const liana_option *row, liana__field *field)
{
    if ((unsigned)row->kind >= sizeof kind_rows / sizeof *kind_rows) {
        return liana__own_part_refuse(context, own, "its option '%s' has the unknown kind %d", row->name,
                                      (int)row->kind);
    }
    const kind_row *kind = &kind_rows[row->kind];
    if (row->offset > options_size || options_size - row->offset < kind->size) {
        return liana__own_part_refuse(context, own,
                                      "its option '%s' has the offset %zu, which is outside of its struct of %zu bytes",
                                      row->name, row->offset, options_size);
    }
    if (row->kind == LIANA_OPTION_WORD && (!row->words || !row->words[0])) {
        return liana__own_part_refuse(context, own, "its option '%s' has no words", row->name);
    }
    *field = (liana__field){
        .name = liana__arena_string(&context->parts, row->name),
        .kind = kind->kind,
        .offset = own->shift + row->offset,
        .default_text = liana__arena_string(&context->parts, row->default_text),
        .required = row->required,
        .minimum = row->minimum,
        .maximum = row->maximum,
        .names = row->kind == LIANA_OPTION_WORD ? copy_words(context, row->words) : NULL,
        .doc = liana__arena_string(&context->parts, row->doc ? row->doc : ""),
    };
    return context->parts.failed ? liana__fail_memory(&context->error, own->name) : LIANA_OK;
}

static bool is_reserved(const liana__own_request *request, const char *name)
{
    bool found = strcmp(name, "name") == 0;
    for (size_t i = 0; request->reserved && request->reserved[i]; i++) {
        found = found || strcmp(name, request->reserved[i]) == 0;
    }
    return found;
}

static liana_status copy_options(liana_context *context, const liana__own_request *request, liana__own_part *own)
{
    const part_head *head = request->given;
    if (head->num_options > MOST_OPTIONS || (head->num_options && !head->options)) {
        return liana__own_part_refuse(context, own, "it has %zu options%s, expected at most %d", head->num_options,
                                      head->options ? "" : " at NULL", MOST_OPTIONS);
    }
    if (head->options_size > LARGEST_OPTIONS) {
        return liana__own_part_refuse(context, own, "its struct of options has %zu bytes, expected at most %d",
                                      head->options_size, LARGEST_OPTIONS);
    }
    size_t count = request->num_common + head->num_options;
    liana__field *fields = liana__own_part_allocate(context, (count + 1) * sizeof *fields);
    if (!fields) return LIANA_OUT_OF_MEMORY;
    own->options = (liana__fields){own->name, own->shift + head->options_size, 0, fields};
    for (size_t i = 0; i < request->num_common; i++) fields[own->options.count++] = request->common[i];
    for (size_t i = 0; i < head->num_options; i++) {
        const liana_option *row = &head->options[i];
        if (!row->name || !is_name(row->name)) {
            return liana__own_part_refuse(context, own, "option %zu is called '%.70s', which is no name", i,
                                          row->name ? row->name : "");
        }
        if (is_reserved(request, row->name) || liana__fields_find(&own->options, row->name)) {
            return liana__own_part_refuse(context, own, "there is an option '%s' already", row->name);
        }
        LIANA_TRY(copy_row(context, own, head->options_size, row, &fields[own->options.count]));
        own->options.count++;
    }
    return LIANA_OK;
}

/* Defaults are texts, which may be wrong. */
static liana_status check_defaults(liana_context *context, const liana__own_part *own)
{
    liana__arena arena = {0};
    liana__error reason = {0};
    void *options = liana__arena_allocate(&arena, own->options.size + 1);
    liana_status status = options ? liana__fields_default(&own->options, &arena, options, &reason)
                                  : liana__fail_memory(&reason, own->name);
    liana__arena_free(&arena);
    if (status == LIANA_OK) return LIANA_OK;
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(&context->error, own->name);
    return liana__own_part_refuse(context, own, "%s", reason.message);
}

liana_status liana__own_part_begin(liana_context *context, const liana__own_request *request, liana__own_part *own,
                                   void *copy)
{
    LIANA_TRY(check_head(context, request));
    const part_head *head = request->given;
    memcpy(copy, head, request->size);
    *own = (liana__own_part){.kind = request->kind,
                             .name = liana__arena_string(&context->parts, head->name),
                             .doc = liana__arena_string(&context->parts, head->doc ? head->doc : ""),
                             .check = head->check,
                             .stamp = request->stamp,
                             .shift = request->shift,
                             .has_options = head->options_size > 0};
    if (!own->name || !own->doc) return liana__fail_memory(&context->error, request->kind);
    LIANA_TRY(copy_options(context, request, own));
    return check_defaults(context, own);
}

liana_status liana__own_part_add(liana_context *context, liana__own_part *own, bool builtin, const void *thing)
{
    if (builtin) {
        return liana__own_part_refuse(context, own, "liana has one of this name; choose another name");
    }
    for (const liana__registered *other = context->registered; other; other = other->next) {
        if (strcmp(other->kind, own->kind) != 0 || strcasecmp(other->name, own->name) != 0) continue;
        return liana__own_part_refuse(context, own, "%s%s%s has registered '%s' already; choose another name",
                                      other->owner ? "the plugin '" : "the program", other->owner ? other->owner : "",
                                      other->owner ? "'" : "", other->name);
    }
    own->thing = thing;
    return liana__context_register(context, own->kind, own->name, NULL, own);
}

const liana__own_part *liana__own_part_at(const liana_context *context, const char *kind, size_t index)
{
    /* The newest is the first of the list. */
    const liana__registered *first = context ? context->registered : NULL;
    size_t count = 0;
    for (const liana__registered *own = first; own; own = own->next) count += strcmp(own->kind, kind) == 0;
    for (const liana__registered *own = first; own; own = own->next) {
        if (strcmp(own->kind, kind) == 0 && --count == index) return own->user;
    }
    return NULL;
}

static bool is_of_kind(const liana__registered *own, const char *kind)
{
    return strcmp(own->kind, kind) == 0;
}

static const void *find_own(const liana_context *context, const char *kind, bool any_case, const char *name)
{
    int (*compare)(const char *, const char *) = any_case ? strcasecmp : strcmp;
    for (const liana__registered *own = context ? context->registered : NULL; own; own = own->next) {
        if (is_of_kind(own, kind) && compare(own->name, name) == 0) {
            return ((const liana__own_part *)own->user)->thing;
        }
    }
    return NULL;
}

static const char *find_nearest(const liana_context *context, const char *kind, liana__named builtin, const char *name)
{
    liana__nearest_search search = liana__nearest_begin_known(name);
    for (size_t i = 0; i < builtin.count; i++) liana__nearest_add_known(&search, liana__named_at(builtin, i));
    for (const liana__registered *own = context ? context->registered : NULL; own; own = own->next) {
        if (is_of_kind(own, kind)) liana__nearest_add_known(&search, own->name);
    }
    return search.nearest;
}

const void *liana__part_find(const liana_context *context, const char *kind, liana__named builtin, const char *name,
                             const char **nearest)
{
    size_t index = liana__named_find(builtin, name, NULL);
    if (index < builtin.count) return liana__named_thing(builtin, index);
    const void *own = find_own(context, kind, builtin.any_case, name);
    if (!own && nearest) *nearest = find_nearest(context, kind, builtin, name);
    return own;
}

const void *liana__part_at(const liana_context *context, const char *kind, size_t index)
{
    const liana__own_part *own = liana__own_part_at(context, kind, index);
    return own ? own->thing : NULL;
}

liana_status liana__own_part_finish(const liana__own_part *own, const void *options, const liana__place *place,
                                    const char *where, liana__error *error)
{
    if (!own) return LIANA_OK;
    memcpy((char *)options + own->stamp, &own, sizeof own);
    const char *reason = own->check ? own->check(liana__own_options_of(own, options)) : NULL;
    return reason ? liana__fail_at(error, place, where, "%s", reason) : LIANA_OK;
}
