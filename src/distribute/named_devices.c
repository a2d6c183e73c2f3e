/* Reads the names of a strategy's devices. */
#include "distribute/named_devices.h"

#include "backends/pjrt/device_name.h"
#include "backends/pjrt/survey.h"
#include "backends/remote/names.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* A name in its parts. */
typedef struct named {
    const char *kind;    /* "gpu", "pjrt:/path/plugin.so"; of a server's devices "gpu of a server" */
    const char *options; /* "": none */
    const char *head;    /* the name before the options, with the number */
    bool has_number;
    bool is_served;
} named;

static const char *print(const named *name, liana__arena *arena)
{
    return liana__arena_format(arena, "%s%s%s", name->head, *name->options ? "?" : "", name->options);
}

static bool ends_with_number(const char *text, size_t length)
{
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)text[length - 1 - digits])) digits++;
    return digits > 0 && digits < length && text[length - 1 - digits] == ':';
}

static liana_status read_served(const liana__served_name *read, const char *text, liana__arena *arena, named *name,
                                liana__error *error)
{
    if (!read->address && !read->has_task) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "strategy.devices: '%s' means all tasks of a job; name one: /job:%s/task:0/%s", text,
                           read->job, read->device);
    }
    const char *whole = liana__served_name_print(read, read->task, arena);
    name->is_served = true;
    name->has_number = true;
    name->kind = liana__arena_format(arena, "%.*s of a server", (int)strcspn(read->device, ":?"), read->device);
    if (!whole || !name->kind) return liana__fail_memory(error, "the names of devices");
    name->head = liana__arena_format(arena, "%.*s", (int)strcspn(whole, "?"), whole);
    const char *options = strchr(whole, '?');
    name->options = options ? options + 1 : "";
    return LIANA_OK;
}

static bool is_host(const char *text)
{
    static const char *const hosts[] = {"cpu", "reference"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        const size_t length = strlen(hosts[i]);
        if (strncmp(text, hosts[i], length) == 0 && (!text[length] || text[length] == ':')) return true;
    }
    return false;
}

static liana_status read_local(const char *text, liana__arena *arena, named *name, liana__error *error)
{
    liana__pjrt_device_name read;
    if (is_host(text)) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "strategy.devices: '%s' cannot be named here: on a CPU a device is a group of threads, and 'replicas' "
            "says how many",
            text);
    }
    if (liana__pjrt_device_name_read(text, arena, &read, error) != LIANA_OK) {
        return liana__fail_within(error, "strategy.devices");
    }
    name->kind = read.shown;
    name->options = read.option_text;
    name->has_number = ends_with_number(text, strcspn(text, "?"));
    name->head = liana__arena_format(arena, "%s:%zu", read.shown, read.number);
    return LIANA_OK;
}

static liana_status read_name(const char *text, liana__arena *arena, named *name, liana__error *error)
{
    liana__served_name served;
    *name = (named){.options = ""};
    if (!liana__served_knows(text)) return read_local(text, arena, name, error);
    LIANA_TRY(liana__served_name_read(text, arena, &served, error));
    const bool is_local = !served.address && (!served.job || strcmp(served.job, "localhost") == 0);
    return is_local ? read_local(served.device, arena, name, error) : read_served(&served, text, arena, name, error);
}

/* The training's device lends its options, and contradicts none of the names. */
static liana_status compare_device(const char *device, liana__arena *arena, named *names, size_t count,
                                   liana__error *error)
{
    named own;
    if (strcmp(device, "cpu") == 0 || strcmp(device, "auto") == 0) return LIANA_OK;
    const bool is_known = read_name(device, arena, &own, NULL) == LIANA_OK;
    if (!is_known || strcmp(own.kind, names[0].kind) != 0) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "strategy.devices names '%s', but the training's device is '%s', which is of another kind: leave that "
            "out",
            names[0].head, device);
    }
    if (own.has_number && strcmp(own.head, names[0].head) != 0) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "strategy.devices begins with '%s', but the training's device is '%s': leave that out, or name it "
            "first",
            names[0].head, device);
    }
    for (size_t i = 0; i < count; i++) {
        if (!*names[i].options) names[i].options = own.options;
    }
    return LIANA_OK;
}

static liana_status check_names(const named *names, size_t count, const char *const *texts, liana__error *error)
{
    for (size_t i = 1; i < count; i++) {
        if (strcmp(names[i].kind, names[0].kind) != 0 || strcmp(names[i].options, names[0].options) != 0) {
            return liana__fail(
                error, LIANA_INVALID_CONFIG,
                "strategy.devices: '%s' and '%s' are of different kinds or plugins' options; all must be alike",
                texts[0], texts[i]);
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[i].head, names[k].head) != 0) continue;
            return liana__fail(error, LIANA_INVALID_CONFIG,
                               "strategy.devices: '%s' is there twice; name each device once", names[i].head);
        }
    }
    return LIANA_OK;
}

liana_status liana__named_devices_read(const liana__strings *asked, const char *device, liana__arena *arena,
                                       const char ***out, liana__error *error)
{
    named *names = liana__arena_allocate(arena, (asked->count + 1) * sizeof *names);
    *out = liana__arena_allocate(arena, (asked->count + 1) * sizeof **out);
    if (!names || !*out) return liana__fail_memory(error, "the names of devices");
    for (size_t i = 0; i < asked->count; i++) LIANA_TRY(read_name(asked->items[i], arena, &names[i], error));
    LIANA_TRY(compare_device(device, arena, names, asked->count, error));
    LIANA_TRY(check_names(names, asked->count, asked->items, error));
    for (size_t i = 0; i < asked->count; i++) (*out)[i] = print(&names[i], arena);
    return arena->failed ? liana__fail_memory(error, "the names of devices") : LIANA_OK;
}

bool liana__named_device_is(const char *name, const char *opened_as, liana__arena *arena)
{
    named own;
    if (read_name(opened_as, arena, &own, NULL) != LIANA_OK) return false;
    const char *text = print(&own, arena);
    return text && strcmp(text, name) == 0;
}

/* "gpu:0, gpu:1" of the kind of a name; "": it cannot be said. */
static void list_kind(liana_context *context, const char *name, liana__text *text)
{
    liana_device_list list = {0};
    liana__pjrt_device_name read;
    liana__error ignored;
    liana_status status = liana__pjrt_device_name_read(name, &list.arena, &read, &ignored);
    const char *kind = status == LIANA_OK ? liana__arena_format(&list.arena, "%s%s%s", read.shown,
                                                                *read.option_text ? "?" : "", read.option_text)
                                          : NULL;
    if (kind) status = liana__pjrt_list_devices(&list, context, kind, &ignored);
    for (size_t i = 0; status == LIANA_OK && i < list.count; i++) {
        const int length = (int)strcspn(list.items[i].name, "?");
        liana__text_add(text, "%s%.*s", i ? ", " : "", length, list.items[i].name);
    }
    liana__device_list_free(&list);
}

liana_status liana__named_devices_explain(liana_context *context, const char *name, liana_status status,
                                          liana__error *error)
{
    if (!error || status == LIANA_OK || liana__served_knows(name)) return status;
    const liana__error was = *error;
    liana__text there = {0};
    list_kind(context, name, &there);
    if (there.length && !there.failed) {
        status = liana__fail(error, status, "strategy.devices: %.600s; there are: %.400s", was.message, there.data);
    }
    liana__text_free(&there);
    return status;
}
