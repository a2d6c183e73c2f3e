/* Asks a server for its devices. */
#include "backends/remote/look.h"

#include "backends/remote/device.h"

#include <stdlib.h>

static liana_status read_device(liana__wire *wire, const char *server, liana__arena *arena, liana__served_facts *facts,
                                liana__error *error)
{
    char name[LIANA__SERVED_TEXT], text[LIANA__SERVED_TEXT];
    liana__wire_text(wire, name);
    liana__wire_text(wire, text);
    facts->name = liana__arena_format(arena, "%s/%s", server, name);
    facts->text = liana__arena_string(arena, text);
    return arena->failed ? liana__fail_memory(error, "the list of devices") : LIANA_OK;
}

static liana_status read_list(liana__wire *wire, liana__arena *arena, liana__served_list *list, liana__error *error)
{
    char version[LIANA__SERVED_TEXT];
    liana__wire_text(wire, version);
    uint32_t count = liana__wire_count(wire, 8);
    list->version = liana__arena_string(arena, version);
    list->devices = liana__arena_allocate(arena, (count + (size_t)1) * sizeof *list->devices);
    if (arena->failed) return liana__fail_memory(error, "the list of devices");
    for (; list->num_devices < count && !wire->failed; list->num_devices++) {
        LIANA_TRY(read_device(wire, list->name, arena, &list->devices[list->num_devices], error));
    }
    if (!wire->failed) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "%s: the server's answer cannot be read", list->name);
}

static liana_status ask(liana__served_device *device, liana__arena *arena, liana__served_list *list,
                        liana__error *error)
{
    liana__text text = {0};
    liana__service_message answer;
    liana__wire wire;
    liana__served_put_client(&text);
    LIANA_TRY(liana__served_call(device, LIANA__SERVED_DEVICES, &text, NULL, 0, &answer, &wire, error));
    liana_status status = read_list(&wire, arena, list, error);
    free(answer.bytes);
    return status;
}

liana_status liana__served_look(liana_context *context, const char *text, liana__arena *arena, liana__served_list *list,
                                liana__error *error)
{
    liana__served_name name;
    liana__served_cluster cluster;
    const char *const *addresses;
    size_t count;
    *list = (liana__served_list){0};
    LIANA_TRY(liana__served_name_read(text, arena, &name, error));
    if (!name.address && !name.job) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "'%.100s' names no server: expected /job:NAME/task:N", text);
    }
    LIANA_TRY(liana__served_find_cluster(context, arena, &cluster, error));
    LIANA_TRY(liana__served_resolve(&name, &cluster, &addresses, &count, error));
    list->address = addresses[0];
    list->name = name.address ? name.address : liana__arena_format(arena, "/job:%s/task:%zu", name.job, name.task);
    if (!list->name) return liana__fail_memory(error, "the list of devices");
    const liana__service_place place = liana__served_place(&cluster, addresses[0], context);
    liana__served_device *device;
    LIANA_TRY(liana__served_connect(context, &place, list->name, &device, error));
    liana_status status = ask(device, arena, list, error);
    device->base.backend->close(&device->base);
    return status;
}
