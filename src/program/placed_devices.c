/* Opens the devices that scopes name, each once. */
#include "program/placed_devices.h"

#include "backends/pjrt/device_name.h"
#include "backends/remote/names.h"
#include "base/context.h"
#include "base/scoped.h"
#include "base/text.h"

#include <ctype.h>

enum { MOST_LOCAL = 64 };

/* A name in a form in which equal devices have equal texts. */
typedef struct plain_name {
    const char *text;
    const char *host_kind; /* "cpu" or "reference" of this process; NULL: something else */
    size_t number;         /* of a host_kind */
} plain_name;

/* Reads "cpu", "cpu:1", "reference". */
static bool read_host(const char *text, plain_name *name, liana__arena *arena)
{
    static const char *const kinds[] = {"cpu", "reference"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t length = strlen(kinds[i]);
        if (strncmp(text, kinds[i], length) != 0) continue;
        const char *rest = text + length;
        char *end = (char *)rest;
        if (*rest == ':' && isdigit((unsigned char)rest[1])) name->number = strtoul(rest + 1, &end, 10);
        if (*end != '\0') continue;
        name->host_kind = kinds[i];
        name->text = liana__arena_format(arena, "%s:%zu", kinds[i], name->number);
        return true;
    }
    return false;
}

static liana_status read_plain(const char *text, plain_name *name, liana__arena *arena, liana__error *error)
{
    liana__pjrt_device_name read;
    if (read_host(text, name, arena)) return LIANA_OK;
    /* A name that is not understood is told by opening it. */
    name->text = liana__arena_string(arena, text);
    if (strcmp(text, "auto") == 0) return LIANA_OK;
    if (liana__pjrt_device_name_read(text, arena, &read, NULL) != LIANA_OK) return LIANA_OK;
    name->text = liana__arena_format(arena, "%s:%zu%s%s", read.shown, read.number, *read.option_text ? "?" : "",
                                     read.option_text);
    return arena->failed ? liana__fail_memory(error, "the name of a device") : LIANA_OK;
}

static liana_status read_name(const char *text, plain_name *name, liana__arena *arena, liana__error *error)
{
    liana__served_name served;
    *name = (plain_name){0};
    if (!liana__served_knows(text)) return read_plain(text, name, arena, error);
    LIANA_TRY(liana__served_name_read(text, arena, &served, error));
    if (!served.address && (!served.job || strcmp(served.job, "localhost") == 0)) {
        return read_plain(served.device, name, arena, error);
    }
    name->text = liana__served_name_print(&served, served.task, arena);
    return name->text ? LIANA_OK : liana__fail_memory(error, "the name of a device");
}

bool liana__placed_is_local_cpu(const char *text)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    plain_name name;
    return read_name(text, &name, &arena, NULL) == LIANA_OK && name.host_kind && strcmp(name.host_kind, "cpu") == 0;
}

/* ---- the list ---- */

static liana_status add(liana__placed_devices *devices, const char *name, liana__device *device, bool is_own,
                        liana__error *error)
{
    const char *copy = liana__arena_string(&devices->arena, name);
    if (!copy || !liana__grow(&devices->items, devices->count, &devices->capacity, sizeof *devices->items)) {
        return liana__fail_memory(error, "the devices of a program");
    }
    devices->items[devices->count++] = (liana__placed_device){copy, device, is_own};
    return LIANA_OK;
}

liana_status liana__placed_devices_init(liana__placed_devices *devices, liana_context *context, liana__device *first,
                                        liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    plain_name name;
    devices->context = context;
    LIANA_TRY(read_name(first->opened_as, &name, &arena, error));
    return add(devices, name.text, first, false, error);
}

void liana__placed_devices_free(liana__placed_devices *devices)
{
    for (size_t i = 0; i < devices->count; i++) {
        if (devices->items[i].is_own) liana__device_close(devices->items[i].device);
    }
    free(devices->items);
    liana__arena_free(&devices->arena);
    *devices = (liana__placed_devices){0};
}

size_t liana__placed_devices_index(const liana__placed_devices *devices, const liana__device *device)
{
    size_t index = 0;
    while (index < devices->count && devices->items[index].device != device) index++;
    return index;
}

/* ---- opening ---- */

/* CPU devices of this process have threads of their own, so that they can compute at the same time. */
static liana_status open_device(const liana__placed_devices *devices, const char *text, const plain_name *name,
                                liana__device **device, liana__error *error)
{
    if (!name->host_kind) return liana__device_open(devices->context, text, device, error);
    if (name->number >= MOST_LOCAL) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "there is no device '%.100s': a process has the devices %s:0 to %s:%d", text,
                           name->host_kind, name->host_kind, MOST_LOCAL - 1);
    }
    return liana__device_open_with(devices->context, name->host_kind, liana_context_num_threads(devices->context),
                                   device, error);
}

liana_status liana__placed_devices_find(liana__placed_devices *devices, const char *text, size_t *index,
                                        liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    plain_name name;
    liana__device *device;
    LIANA_TRY(read_name(text, &name, &arena, error));
    for (*index = 0; *index < devices->count; ++*index) {
        if (strcmp(devices->items[*index].name, name.text) == 0) return LIANA_OK;
    }
    LIANA_TRY(open_device(devices, text, &name, &device, error));
    liana_status status = add(devices, name.text, device, true, error);
    if (status != LIANA_OK) liana__device_close(device);
    return status;
}
