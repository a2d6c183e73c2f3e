/* Clients of plugins, and their devices. */
#include "backends/pjrt/client.h"

#include "base/memory.h"
#include "base/scoped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

static liana_status read_text(const liana__pjrt_client *client, liana__pjrt_function function, void *object, char *text,
                              size_t size, liana__error *error)
{
    liana__pjrt_list_args args = {.object = object};
    LIANA_TRY(liana__pjrt_call(&client->plugin, function, &args, error));
    snprintf(text, size, "%.*s", (int)args.count, args.items ? (const char *)args.items : "");
    return LIANA_OK;
}

static liana_status learn(liana__pjrt_client *client, liana__error *error)
{
    liana__pjrt_list_args devices = {.object = client->handle};
    LIANA_TRY(liana__pjrt_call(&client->plugin, LIANA__PJRT_CLIENT_ADDRESSABLE_DEVICES, &devices, error));
    client->devices = devices.items;
    client->num_devices = devices.count;
    liana__pjrt_list_args all = {.object = client->handle};
    const bool said = liana__pjrt_call(&client->plugin, LIANA__PJRT_CLIENT_DEVICES, &all, NULL) == LIANA_OK;
    client->num_devices_of_all = said && all.count > devices.count ? all.count : devices.count;
    LIANA_TRY(read_text(client, LIANA__PJRT_CLIENT_PLATFORM_NAME, client->handle, client->platform,
                        sizeof client->platform, error));
    return read_text(client, LIANA__PJRT_CLIENT_PLATFORM_VERSION, client->handle, client->version,
                     sizeof client->version, error);
}

static void destroy_handle(liana__pjrt_client *client)
{
    liana__pjrt_destroy(&client->plugin, LIANA__PJRT_CLIENT_DESTROY, client->handle);
    client->handle = NULL;
}

static liana_status create(liana__pjrt_client *client, const liana__pjrt_device_name *name, liana__error *error)
{
    liana__pjrt_client_create_args args = {.options = name->options, .num_options = name->num_options};
    LIANA_TRY(liana__pjrt_call(&client->plugin, LIANA__PJRT_CLIENT_CREATE, &args, error));
    client->handle = args.client;
    client->has_failed = false;
    liana_status status = learn(client, error);
    if (status != LIANA_OK) destroy_handle(client);
    return status;
}

/* The context keeps a client's struct until it ends, under this kind and a name of path and options. */
static const char KIND[] = "PJRT client";

static liana_status make_struct(liana_context *context, const char *path, const char *key, liana__pjrt_client **made,
                                liana__error *error)
{
    liana__pjrt_client *client = liana__arena_allocate(&context->parts, sizeof *client);
    const char *own_path = liana__arena_string(&context->parts, path);
    if (!client || !own_path) return liana__fail_memory(error, "a PJRT client");
    client->options = key + strlen(path) + 1;
    LIANA_TRY(liana__pjrt_plugin_load(own_path, &client->plugin, error));
    pthread_mutex_init(&client->mutex, NULL);
    *made = client;
    liana_status status = liana__context_register(context, KIND, key, NULL, client);
    return status == LIANA_OK ? status : liana__fail_memory(error, "a PJRT client");
}

liana_status liana__pjrt_client_open(liana_context *context, const char *path, const liana__pjrt_device_name *name,
                                     liana__pjrt_client **out, liana__error *error)
{
    *out = NULL;
    LIANA__SCOPED_MEMORY char *real = realpath(path, NULL);
    const char *key = liana__arena_format(&context->parts, "%s?%s", real ? real : path, name->option_text);
    if (!key) return liana__fail_memory(error, "a PJRT client");
    const liana__registered *known = liana__context_registered(context, KIND, key);
    liana__pjrt_client *client = known ? known->user : NULL;
    if (!client) LIANA_TRY(make_struct(context, real ? real : path, key, &client, error));
    if (!client->handle) LIANA_TRY(create(client, name, error));
    client->users++;
    *out = client;
    return LIANA_OK;
}

liana__pjrt_client *liana__pjrt_client_find(const liana_context *context, const char *path)
{
    LIANA__SCOPED_MEMORY char *real = realpath(path, NULL);
    liana__pjrt_client *found = NULL;
    for (const liana__registered *entry = context->registered; entry && real; entry = entry->next) {
        liana__pjrt_client *client = strcmp(entry->kind, KIND) == 0 ? entry->user : NULL;
        if (client && client->handle && strcmp(client->plugin.path, real) == 0) found = client;
    }
    return found;
}

bool liana__pjrt_is_cpu(const liana__pjrt_client *client)
{
    return strcmp(client->platform, "cpu") == 0;
}

void liana__pjrt_client_close(liana__pjrt_client *client)
{
    if (!client || --client->users > 0) return;
    destroy_handle(client);
}

/* ---- devices ---- */

liana_status liana__pjrt_device_describe(const liana__pjrt_client *client, size_t number,
                                         liana__pjrt_device_facts *facts, liana__error *error)
{
    *facts = (liana__pjrt_device_facts){.memory = -1, .memory_used = -1};
    liana__pjrt_pointer_args description = {.object = client->devices[number]};
    LIANA_TRY(liana__pjrt_call(&client->plugin, LIANA__PJRT_DEVICE_GET_DESCRIPTION, &description, error));
    LIANA_TRY(read_text(client, LIANA__PJRT_DEVICE_DESCRIPTION_KIND, description.pointer, facts->kind,
                        sizeof facts->kind, error));
    liana__pjrt_int_args id = {.object = description.pointer};
    LIANA_TRY(liana__pjrt_call(&client->plugin, LIANA__PJRT_DEVICE_DESCRIPTION_ID, &id, error));
    facts->id = id.number;
    /* Some plugins do not count memory. */
    liana__pjrt_memory_stats_args memory = {.device = client->devices[number]};
    if (liana__pjrt_call(&client->plugin, LIANA__PJRT_DEVICE_MEMORY_STATS, &memory, NULL) != LIANA_OK) return LIANA_OK;
    facts->memory_used = memory.bytes_in_use;
    if (memory.bytes_limit.is_set) facts->memory = memory.bytes_limit.bytes;
    return LIANA_OK;
}

size_t liana__pjrt_device_room(const liana__pjrt_client *client, size_t number, size_t count)
{
    liana__pjrt_device_facts facts;
    const bool known = liana__pjrt_device_describe(client, number, &facts, NULL) == LIANA_OK;
    if (!known || facts.memory <= 0) return liana__machine_memory() / 2 / count;
    return facts.memory > facts.memory_used ? (size_t)(facts.memory - facts.memory_used) : 0;
}
