/* Asks a server for its devices. */
#include "backends/remote/look.h"

#include "backends/remote/device.h"
#include "base/scoped.h"

/* NULL if the server does not know it. */
static const char *read_text(liana__wire *wire, liana__arena *arena)
{
    char text[LIANA__SERVED_TEXT];
    liana__wire_text(wire, text);
    return *text ? liana__arena_string(arena, text) : NULL;
}

/* -1 if the server does not know it, and for a number that is no size. */
static int64_t read_bytes(liana__wire *wire)
{
    const uint64_t bytes = liana__wire_u64(wire);
    return bytes > INT64_MAX ? -1 : (int64_t)bytes;
}

static liana_device_facts read_device(liana__wire *wire, const char *server, liana__arena *arena)
{
    liana_device_facts facts = {0};
    const char *name = read_text(wire, arena);
    facts.name = liana__arena_format(arena, "%s/%s", server, name ? name : "");
    facts.kind = read_text(wire, arena);
    facts.platform = read_text(wire, arena);
    facts.plugin = read_text(wire, arena);
    facts.interface_version = read_text(wire, arena);
    facts.version = read_text(wire, arena);
    facts.environment = read_text(wire, arena);
    facts.memory = read_bytes(wire);
    facts.memory_used = read_bytes(wire);
    facts.threads = (int64_t)liana__wire_u32(wire);
    return facts;
}

static liana_status read_list(liana__wire *wire, const char *server, const char *address, liana_device_list *list,
                              liana__error *error)
{
    const uint32_t count = liana__wire_count(wire, LIANA__SERVED_DEVICE_BYTES);
    const char *own_address = liana__arena_string(&list->arena, address);
    for (uint32_t i = 0; i < count && !wire->failed; i++) {
        liana_device_facts facts = read_device(wire, server, &list->arena);
        facts.address = own_address;
        if (!wire->failed) LIANA_TRY(liana__device_list_add(list, &facts, error));
    }
    return LIANA_OK;
}

static liana_status ask(liana__served_device *device, const char *server, const char *address, liana_device_list *list,
                        liana__error *error)
{
    liana__text text = {0};
    LIANA__SCOPED_MEMORY uint8_t *answer = NULL;
    liana__wire wire;
    liana__served_put_client(&text);
    LIANA_TRY(liana__served_call(device, LIANA__SERVED_DEVICES, &text, NULL, 0, &answer, &wire, error));
    LIANA_TRY(read_list(&wire, server, address, list, error));
    return liana__served_check_answer(device, &wire, error);
}

liana_status liana__served_look(liana_context *context, const char *text, liana_device_list *list, liana__error *error)
{
    liana__served_name name;
    liana__served_cluster cluster;
    const char *const *addresses;
    size_t count;
    liana__arena *arena = &list->arena;
    LIANA_TRY(liana__served_name_read(text, arena, &name, error));
    if (!name.address && !name.job) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "'%.100s' names no server: expected /job:NAME/task:N", text);
    }
    LIANA_TRY(liana__served_find_cluster(context, arena, &cluster, error));
    LIANA_TRY(liana__served_resolve(&name, &cluster, &addresses, &count, error));
    const char *server =
        name.address ? name.address : liana__arena_format(arena, "/job:%s/task:%zu", name.job, name.task);
    if (!server) return liana__fail_memory(error, "the list of devices");
    const liana__service_place place = liana__served_place(&cluster, addresses[0], context);
    liana__served_device *device;
    LIANA_TRY(liana__served_connect(context, &place, server, &device, error));
    liana_status status = ask(device, server, addresses[0], list, error);
    device->base.backend->close(&device->base);
    return status;
}
