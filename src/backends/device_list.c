/* Collects facts about the devices of this process. */
#include "backends/device_list.h"

#include "base/context.h"
#include "base/cpu.h"

#include <stdlib.h>

void liana__device_list_free(liana_device_list *list)
{
    free(list->items);
    liana__arena_free(&list->arena);
    *list = (liana_device_list){0};
}

liana_status liana__device_list_add(liana_device_list *list, const liana_device_facts *facts, liana__error *error)
{
    if (list->arena.failed || !liana__grow(&list->items, list->count, &list->capacity, sizeof *list->items)) {
        return liana__fail_memory(error, "the list of devices");
    }
    list->items[list->count++] = *facts;
    return LIANA_OK;
}

liana_status liana__device_list_add_cpu(liana_device_list *list, const liana_context *context, liana__error *error)
{
    const liana_device_facts facts = {
        .name = "cpu",
        .kind = liana__isa_name(context->isa),
        .platform = "cpu",
        .memory = (int64_t)liana__machine_memory(),
        .memory_used = -1,
        .threads = liana_context_num_threads(context),
        .version = liana_version(),
    };
    return liana__device_list_add(list, &facts, error);
}
