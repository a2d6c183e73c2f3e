/* Opens the devices of a strategy. */
#include "distribute/device_set.h"

#include "backends/pjrt/platform.h"

#include <stdlib.h>
#include <string.h>

static liana_status bind_groups(const liana__device_layout *layout, liana__device_set *set, liana__error *error)
{
    bool bound;
    set->groups = calloc(layout->count, sizeof *set->groups);
    if (!set->groups) return liana__fail_memory(error, "the devices");
    liana_status status = liana__cpu_groups(layout->binding, layout->count, set->groups, &bound, error);
    if (status == LIANA_OK && bound) return LIANA_OK;
    free(set->groups);
    set->groups = NULL;
    return status;
}

/* Where the strategy takes all devices, and the first one knows how many there are, makes room for them. */
static liana_status take_all(liana__device_layout *layout, liana__device_set *set, liana__error *error)
{
    const liana__backend *backend = set->items[0]->backend;
    if (!layout->all || !backend->count) return LIANA_OK;
    size_t count = backend->count(set->items[0]);
    liana__device **items = realloc(set->items, count * sizeof(liana__device *));
    if (!items) return liana__fail_memory(error, "the devices");
    set->items = items;
    free(set->groups);
    set->groups = NULL;
    layout->count = count;
    layout->all = false;
    return LIANA_OK;
}

/* A strategy for one platform takes its device where none was chosen. */
static const char *device_for(const liana__device_layout *layout, const char *name)
{
    const bool is_open = !layout->platform || (strcmp(name, "cpu") != 0 && strcmp(name, "auto") != 0);
    return is_open ? name : layout->platform;
}

static liana_status explain(const liana__strategy *strategy, const liana__device_layout *layout, liana_status status,
                            liana__error *error)
{
    if (!layout->platform || !error) return status;
    const liana__error was = *error;
    return liana__fail(
        error, status,
        "the strategy %s: %.1200s; 'liana devices' lists what there is; the same training runs without a "
        "%s with train.device='pjrt:cpu?cpu_device_count=8' train.strategy=mirrored",
        strategy->name, was.message, layout->platform);
}

/* Where only one platform will do, the first device must be of it. */
static liana_status check_platform(const liana__strategy *strategy, const liana__device_layout *layout,
                                   const liana__device *first, liana__error *error)
{
    if (!layout->platform) return LIANA_OK;
    const char *platform = liana__pjrt_platform_of(first);
    if (platform && strcmp(platform, layout->platform) == 0) return liana__pjrt_check_slice(first, error);
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the strategy %s computes on a device of the platform %s, and '%s' is one of %s; leave out "
                       "train.device, or use the strategy mirrored, which takes all devices of any kind",
                       strategy->name, layout->platform, first->opened_as, platform ? platform : first->backend->name);
}

liana_status liana__device_set_open(liana_context *context, const char *name, const liana__strategy_choice *choice,
                                    liana__device *first, liana__device_set *set, liana__error *error)
{
    const liana__strategy *strategy = choice->strategy;
    liana__device_layout layout = {.count = 1, .binding = LIANA__BIND_NONE};
    if (strategy->lay_out) LIANA_TRY(strategy->lay_out(choice->options, context, &layout, error));
    set->items = calloc(layout.count, sizeof(liana__device *));
    if (!set->items) return liana__fail_memory(error, "the devices");
    LIANA_TRY(bind_groups(&layout, set, error));
    set->borrows_first = first != NULL;
    if (first) set->items[set->count++] = first;
    name = device_for(&layout, name);
    liana_status status = first ? check_platform(strategy, &layout, first, error) : LIANA_OK;
    if (status == LIANA_OK && first) status = take_all(&layout, set, error);
    while (status == LIANA_OK && set->count < layout.count) {
        /* The device's threads stay where the thread that starts them is. */
        const cpu_set_t *group = set->groups ? &set->groups[set->count] : NULL;
        cpu_set_t before;
        liana__cpu_enter(group, &before);
        const liana__device_request request = {name, layout.num_threads, set->count};
        status = liana__device_open_request(context, &request, &set->items[set->count], error);
        liana__cpu_leave(group, &before);
        if (status != LIANA_OK) return explain(strategy, &layout, status, error);
        set->count++;
        status = check_platform(strategy, &layout, set->items[0], error);
        if (status == LIANA_OK) status = take_all(&layout, set, error);
    }
    return status;
}

void liana__device_set_close(liana__device_set *set)
{
    for (size_t i = set->borrows_first; i < set->count; i++) liana__device_close(set->items[i]);
    free(set->items);
    free(set->groups);
    *set = (liana__device_set){0};
}
