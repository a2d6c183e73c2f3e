/* Lists the devices of this machine and of servers. */
#include "program/device_list.h"

#include "backends/pjrt/survey.h"
#include "backends/pjrt/tpu_environment.h"
#include "backends/remote/look.h"

#include <stdlib.h>
#include <string.h>

/* Devices that were looked for and not found are in the list, with the reason. */
static liana_status note_missing(liana_device_list *list, const char *name, liana_status status,
                                 const liana__error *reason, liana__error *error)
{
    if (status == LIANA_OK) return LIANA_OK;
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(error, "the list of devices");
    liana_device_facts facts = {.memory = -1, .memory_used = -1};
    facts.name = liana__arena_string(&list->arena, name);
    facts.missing = liana__arena_string(&list->arena, reason->message);
    if (strcmp(name, "tpu") == 0) facts.environment = liana__tpu_environment_in(&list->arena);
    return liana__device_list_add(list, &facts, error);
}

static liana_status add_local(liana_device_list *list, liana_context *context, liana__error *error)
{
    static const char *const kinds[] = {"gpu", "tpu", "pjrt:cpu"};
    LIANA_TRY(liana__device_list_add_cpu(list, context, error));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        liana__error reason = {0};
        const liana_status status = liana__pjrt_list_devices(list, context, kinds[i], &reason);
        LIANA_TRY(note_missing(list, kinds[i], status, &reason, error));
    }
    return LIANA_OK;
}

/* The devices of all servers that the cluster names. */
static liana_status add_served(liana_device_list *list, liana_context *context, liana__error *error)
{
    liana__served_cluster cluster;
    LIANA_TRY(liana__served_find_cluster(context, &list->arena, &cluster, error));
    for (size_t i = 0; i < cluster.num_jobs; i++) {
        for (size_t k = 0; k < cluster.jobs[i].num_tasks; k++) {
            const char *name = liana__arena_format(&list->arena, "/job:%s/task:%zu", cluster.jobs[i].name, k);
            if (!name) return liana__fail_memory(error, "the list of devices");
            liana__error reason = {0};
            const liana_status status = liana__served_look(context, name, list, &reason);
            LIANA_TRY(note_missing(list, name, status, &reason, error));
        }
    }
    return LIANA_OK;
}

static liana_status fill(liana_device_list *list, liana_context *context, const char *name, liana__error *error)
{
    if (name && liana__served_knows(name)) return liana__served_look(context, name, list, error);
    if (name && strcmp(name, "cpu") == 0) return liana__device_list_add_cpu(list, context, error);
    if (name) return liana__pjrt_list_devices(list, context, name, error);
    LIANA_TRY(add_local(list, context, error));
    return add_served(list, context, error);
}

liana_status liana__device_list_make(liana_context *context, const char *name, liana_device_list **list,
                                     liana__error *error)
{
    *list = calloc(1, sizeof **list);
    return *list ? fill(*list, context, name, error) : liana__fail_memory(error, "the list of devices");
}

static liana_status create(liana_context *context, const char *name, liana_device_list **list)
{
    const liana_status status = liana__device_list_make(context, name, list, &context->error);
    if (status == LIANA_OK) return LIANA_OK;
    liana_device_list_destroy(*list);
    *list = NULL;
    return status;
}

liana_status liana_device_list_create(liana_context *context, const char *name, liana_device_list **list)
{
    LIANA__REQUIRE(liana__context_error(context), list);
    *list = NULL;
    LIANA__REQUIRE(NULL, context);
    LIANA__CONTEXT_CALL(context, create(context, name, list));
}

void liana_device_list_destroy(liana_device_list *list)
{
    if (!list) return;
    liana__device_list_free(list);
    free(list);
}

const liana_device_facts *liana_device_list_at(const liana_device_list *list, size_t index)
{
    return list && index < list->count ? &list->items[index] : NULL;
}
