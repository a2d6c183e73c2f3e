/* The list of callbacks, reading their options, and running them. */
#include "train/callbacks/callback.h"
#include "base/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_SELF = 1 << 30 };

static liana_status accept(liana_context *context, liana_part *part)
{
    const liana_callback_type *type = (const liana_callback_type *)part;
    if (type->self_size <= LARGEST_SELF) return LIANA_OK;
    return liana__part_refuse(context, part, "its self_size is %zu, expected at most %d bytes", type->self_size,
                              LARGEST_SELF);
}

static const liana_part *const list_of_callbacks[] = {
#define LIANA__CALLBACK(stem, name) &liana__callback_##name.part,
#include "train/callbacks/callbacks.def"
#undef LIANA__CALLBACK
    NULL,
};

static const liana_part *const list_of_controls[] = {
#define LIANA__CONTROL(stem, name) &liana__control_##name.part,
#include "train/callbacks/controls.def"
#undef LIANA__CONTROL
    NULL,
};

const liana__kind liana__callback_kind = {.kind = LIANA_PART_CALLBACK,
                                          .size = sizeof(liana_callback_type),
                                          .builtin = list_of_callbacks,
                                          .accept = accept};
const liana__kind liana__control_kind = {.kind = LIANA_PART_CALLBACK,
                                         .size = sizeof(liana_callback_type),
                                         .builtin = list_of_controls,
                                         .accept = accept};

/* ---- the list ---- */

void liana__callback_list_free(liana__callback_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        liana_callback_item *item = &list->items[i];
        if (item->type->close) item->type->close(item);
        free(item->self);
    }
    free(list->items);
    *list = (liana__callback_list){0};
}

bool liana__callback_list_has(const liana__callback_list *list, const char *name)
{
    for (size_t i = 0; list && i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) return true;
    }
    return false;
}

bool liana__callback_list_has_type(const liana__callback_list *list, const liana_callback_type *type)
{
    for (size_t i = 0; list && i < list->count; i++) {
        if (list->items[i].type == type) return true;
    }
    return false;
}

bool liana__callback_list_has_control(const liana__callback_list *list)
{
    for (const liana_part *const *control = list_of_controls; *control; control++) {
        if (liana__callback_list_has_type(list, (const liana_callback_type *)*control)) return true;
    }
    return false;
}

/* NAME, NAME_2, NAME_3: as layers are named. */
static void choose_name(const liana__callback_list *list, const char *name, liana_callback_item *item)
{
    if (!name) return;
    snprintf(item->name, sizeof item->name, "%.48s", name);
    for (int number = 2; liana__callback_list_has(list, item->name); number++) {
        snprintf(item->name, sizeof item->name, "%.48s_%d", name, number);
    }
}

liana_status liana__callback_list_add(liana__callback_list *list, const liana_callback_type *type, const void *options,
                                      const char *name, liana_callback_item **item, liana__error *error)
{
    liana_callback_item added = {.type = type, .options = options, .self = calloc(1, type->self_size + 1)};
    choose_name(list, name, &added);
    bool enough = added.self && liana__grow(&list->items, list->count, &list->capacity, sizeof *list->items);
    if (!enough) {
        free(added.self);
        return liana__fail_memory(error, "the callbacks");
    }
    list->items[list->count++] = added;
    if (item) *item = &list->items[list->count - 1];
    return LIANA_OK;
}

/* ---- reading ---- */

/* A callback or control that a list or train.control chooses. */
typedef struct chosen {
    const liana__kind *kind;
    const char *what, *name;
    const liana__place *place;
    const liana__value *options;
    const char *const *ignored;
} chosen;

static liana_status add_chosen(liana__callback_list *list, const liana_context *own, const chosen *item,
                               const char *where, bool with_name, liana__arena *arena, liana__error *error)
{
    const char *nearest = NULL;
    const liana_callback_type *type = liana__part_find(own, item->kind, item->name, &nearest);
    if (!type) {
        return liana__fail_at(error, item->place, where, "there is no %s '%.60s'; 'liana list %ss' shows them%s",
                              item->what, item->name, item->what, nearest ? liana__hint(nearest).text : "");
    }
    char key[256];
    const void *options = NULL;
    snprintf(key, sizeof key, "%s%s%s", where, with_name ? "." : "", with_name ? type->part.name : "");
    LIANA_TRY(liana__choice_options(&type->part.options, item->options, key, item->ignored, arena, &options, error));
    LIANA_TRY(liana__part_check(&type->part, own, options, item->options, key, error));
    return liana__callback_list_add(list, type, options, type->part.name, NULL, error);
}

static liana_status read_item(liana__callback_list *list, const liana_context *own, const liana__value *entry,
                              const char *where, liana__arena *arena, liana__error *error)
{
    chosen item = {.kind = &liana__callback_kind, .what = "callback"};
    LIANA_TRY(liana__choice_entry(entry, where, "one callback: 'CSVLogger' or 'EarlyStopping: {patience: 3}'",
                                  &item.name, &item.place, &item.options, error));
    return add_chosen(list, own, &item, where, true, arena, error);
}

liana_status liana__callback_list_read(liana__callback_list *list, const liana_context *own, const liana__value *value,
                                       const char *where, liana__arena *arena, liana__error *error)
{
    char found[128], key[128];
    if (!value || value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    if (value->kind != LIANA__VALUE_LIST) {
        return liana__fail_at(error, &value->place, where,
                              "found %s, expected a list of callbacks: [CSVLogger, EarlyStopping: {patience: 3}]",
                              liana__value_describe(value, found, sizeof found));
    }
    for (size_t i = 0; i < value->count; i++) {
        snprintf(key, sizeof key, "%s[%zu]", where, i);
        LIANA_TRY(read_item(list, own, value->items[i], key, arena, error));
    }
    return LIANA_OK;
}

liana_status liana__control_read(liana__callback_list *list, const liana__value *value, const char *where,
                                 liana__arena *arena, liana__error *error)
{
    static const char *const ignored[] = {"name", NULL};
    chosen item = {.kind = &liana__control_kind, .what = "control", .ignored = ignored};
    if (!value || value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    item.place = &value->place;
    LIANA_TRY(liana__choice_read(value, where, "a control: annealing, or {name: annealing, every_steps: 50}",
                                 &item.name, &item.options, error));
    return add_chosen(list, NULL, &item, where, false, arena, error);
}

liana_status liana__summaries_read(liana__callback_list *list, const liana__value *value, const char *where,
                                   liana__arena *arena, liana__error *error)
{
    char found[128];
    chosen item = {.kind = &liana__callback_kind, .what = "callback", .name = "Summaries"};
    if (!value || value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    const bool is_bool = value->kind == LIANA__VALUE_BOOL;
    if (is_bool && !value->boolean) return LIANA_OK;
    if (!is_bool && value->kind != LIANA__VALUE_MAP) {
        return liana__fail_at(error, &value->place, where, "found %s, expected true, or options: {every_steps: 10}",
                              liana__value_describe(value, found, sizeof found));
    }
    item.place = &value->place;
    item.options = is_bool ? NULL : value;
    return add_chosen(list, NULL, &item, where, false, arena, error);
}

/* ---- running ---- */

/* Before a function of a callback is called: no message, so that one of its own is known. A message that was there
 * comes back after it, if all is well. */
typedef struct kept_message {
    liana_status status;
    char first;
} kept_message;

static kept_message forget_message(liana__error *error)
{
    if (!error) return (kept_message){0};
    const kept_message kept = {error->status, error->message[0]};
    error->status = LIANA_OK;
    error->message[0] = 0;
    return kept;
}

/* A callback that failed has left its message in `error`, or none. */
static liana_status tell(liana_status status, kept_message kept, const char *what, liana__error *error)
{
    if (status != LIANA_OK) {
        bool told = error && error->status == status && error->message[0];
        return told ? status : liana__fail(error, status, "%s %s", what, liana_status_name(status));
    }
    if (error && error->status == LIANA_OK) {
        error->status = kept.status;
        error->message[0] = kept.first;
    }
    return LIANA_OK;
}

liana_status liana__callback_list_call(liana__callback_list *list, liana_callback_event event,
                                       liana_fit_context *context, liana__error *error)
{
    liana_status status = LIANA_OK;
    context->error = error;
    for (size_t i = 0; list && i < list->count && status == LIANA_OK; i++) {
        liana_callback_item *item = &list->items[i];
        liana_event_function *function = item->type->on[event];
        if (!function) continue;
        const kept_message kept = forget_message(error);
        context->running = item;
        status = tell(function(item, context), kept, "it returned", error);
        if (status != LIANA_OK && *item->name) {
            status = liana__fail_within(error, "the callback %s", item->name);
        }
    }
    context->running = NULL;
    return status;
}

/* ---- state ---- */

liana_status liana__callback_list_save(const liana__callback_list *list, liana__kept_values *states,
                                       liana__error *error)
{
    liana__kept_values_free(states);
    for (size_t i = 0; list && i < list->count; i++) {
        const liana_callback_item *item = &list->items[i];
        liana_callback_state state = {states, item->name};
        if (item->type->save && *item->name) item->type->save(item, &state);
    }
    return states->arena.failed ? liana__fail_memory(error, "the states of the callbacks") : LIANA_OK;
}

typedef struct unknown_owners {
    const liana__callback_list *list;
    const liana__notes *notes;
    char told[64]; /* the last one: its values stand together */
} unknown_owners;

static void tell_unknown(void *user, const char *owner)
{
    unknown_owners *own = user;
    if (liana__callback_list_has(own->list, owner) || strcmp(owner, own->told) == 0) return;
    snprintf(own->told, sizeof own->told, "%.63s", owner);
    liana__note(own->notes,
                "the checkpoint has the state of a callback '%s', which is not among the callbacks now: its state is "
                "dropped",
                owner);
}

liana_status liana__callback_list_load(liana__callback_list *list, liana_fit_context *context,
                                       liana__kept_values *states, liana__error *error)
{
    unknown_owners unknown = {.list = list, .notes = &context->notes};
    context->error = error;
    liana__kept_values_owners(states, tell_unknown, &unknown);
    for (size_t i = 0; list && i < list->count; i++) {
        liana_callback_item *item = &list->items[i];
        liana_callback_state state = {states, item->name};
        if (!item->type->load || !*item->name) continue;
        const kept_message kept = forget_message(error);
        if (tell(item->type->load(item, context, &state), kept, "load returned", error) == LIANA_OK) continue;
        return liana__fail_within(error, "the state of the callback %s", item->name);
    }
    return LIANA_OK;
}
