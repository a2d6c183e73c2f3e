/* Collects facts about the devices of this process. */
#include "backends/device_list.h"

#include "backends/pjrt/platform.h"
#include "backends/pjrt/survey.h"
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

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

/* What libtpu reads, which says most about a TPU that is missing. */
static const char *tpu_environment(liana__arena *arena)
{
    liana__text text = {0};
    liana__tpu_environment_print(&text);
    const char *copy = text.length ? liana__arena_string(arena, text.data) : NULL;
    liana__text_free(&text);
    return copy;
}

liana_status liana__device_list_add_missing(liana_device_list *list, const char *name, const char *reason,
                                            liana__error *error)
{
    liana_device_facts facts = {.memory = -1, .memory_used = -1};
    facts.name = liana__arena_string(&list->arena, name);
    facts.missing = liana__arena_string(&list->arena, reason);
    if (strcmp(name, "tpu") == 0) facts.environment = tpu_environment(&list->arena);
    return liana__device_list_add(list, &facts, error);
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

/* The name that opens the device, with the options that the plugin needs for it. */
static const char *name_of(const liana__pjrt_survey *survey, size_t number, liana__arena *arena)
{
    return liana__arena_format(arena, "%s:%zu%s%s", survey->name, number, *survey->options ? "?" : "", survey->options);
}

liana_status liana__device_list_add_plugin(liana_device_list *list, liana_context *context, const char *name,
                                           liana__error *error)
{
    liana__pjrt_survey survey;
    liana__arena *arena = &list->arena;
    LIANA_TRY(liana__pjrt_look(context, name, arena, &survey, error));
    liana_device_facts facts = {.platform = survey.platform, .plugin = survey.plugin, .version = survey.version};
    facts.interface_version = liana__arena_format(arena, "%d.%d", survey.major, survey.minor);
    if (strcmp(survey.platform, "tpu") == 0) facts.environment = tpu_environment(arena);
    for (size_t i = 0; i < survey.num_devices; i++) {
        facts.name = name_of(&survey, i, arena);
        facts.kind = survey.devices[i].kind;
        facts.memory = survey.devices[i].memory;
        facts.memory_used = survey.devices[i].memory_used;
        LIANA_TRY(liana__device_list_add(list, &facts, error));
    }
    return LIANA_OK;
}
