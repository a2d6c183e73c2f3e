/* Opens the devices of a strategy. */
#include "distribute/device_set.h"

#include "backends/pjrt/platform.h"
#include "backends/remote/names.h"
#include "base/scoped.h"
#include "distribute/named_devices.h"

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

/* The request, with the names of the devices if the strategy has named them. */
typedef struct asked {
    liana_context *context;
    const liana__strategy *strategy;
    liana__device_layout layout;
    const char *name;   /* of the first device; the others have the numbers that follow */
    const char **names; /* by device; NULL: `name` counts */
} asked;

/* Opens the next device. Its threads stay where the thread that starts them is. */
static liana_status open_next(const asked *wanted, liana__device_set *set, liana__error *error)
{
    const size_t number = set->count;
    const cpu_set_t *group = set->groups ? &set->groups[number] : NULL;
    cpu_set_t before;
    liana__device_request request = {wanted->name, wanted->layout.num_threads, number};
    if (wanted->names) request = (liana__device_request){wanted->names[number], wanted->layout.num_threads, 0};
    liana__cpu_enter(group, &before);
    liana_status status = liana__device_open_request(wanted->context, &request, &set->items[number], error);
    liana__cpu_leave(group, &before);
    if (status != LIANA_OK && wanted->names) {
        status = liana__named_devices_explain(wanted->context, request.name, status, error);
    }
    if (status != LIANA_OK && number > 0 && !wanted->names) {
        status =
            liana__fail_within(error, "the strategy %s with %zu devices", wanted->strategy->name, wanted->layout.count);
    }
    if (status != LIANA_OK) return explain(wanted->strategy, &wanted->layout, status, error);
    set->count++;
    return LIANA_OK;
}

static liana_status open_all(asked *wanted, liana__device *first, liana__device_set *set, liana__error *error)
{
    liana__device_layout *layout = &wanted->layout;
    set->items = calloc(layout->count, sizeof(liana__device *));
    if (!set->items) return liana__fail_memory(error, "the devices");
    LIANA_TRY(bind_groups(layout, set, error));
    set->borrows_first = first != NULL;
    if (first) set->items[set->count++] = first;
    wanted->name = device_for(layout, wanted->name);
    if (first) LIANA_TRY(check_platform(wanted->strategy, layout, first, error));
    if (first) LIANA_TRY(take_all(layout, set, error));
    while (set->count < layout->count) {
        LIANA_TRY(open_next(wanted, set, error));
        LIANA_TRY(check_platform(wanted->strategy, layout, set->items[0], error));
        LIANA_TRY(take_all(layout, set, error));
    }
    return LIANA_OK;
}

/* A device that is open already must be the first one of those that are named. */
static liana_status read_names(asked *wanted, const liana__device *first, liana__arena *arena, liana__error *error)
{
    if (!wanted->layout.names) return LIANA_OK;
    LIANA_TRY(liana__named_devices_read(wanted->layout.names, wanted->name, arena, &wanted->names, error));
    if (!first || liana__named_device_is(wanted->names[0], first->opened_as, arena)) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "strategy.devices begins with '%s', but the device that is given is '%s'; that must be the first of them",
        wanted->names[0], first->opened_as);
}

liana_status liana__device_set_open(liana_context *context, const char *name, const liana__strategy_choice *choice,
                                    liana__device *first, liana__device_set *set, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    asked wanted = {context, choice->strategy, {.count = 1, .binding = LIANA__BIND_NONE}, name, NULL};
    if (wanted.strategy->lay_out) {
        LIANA_TRY(wanted.strategy->lay_out(choice->options, context, &wanted.layout, error));
    }
    LIANA_TRY(read_names(&wanted, first, &arena, error));
    return open_all(&wanted, first, set, error);
}

bool liana__device_set_is_served(const liana_context *context, const char *name, const liana__strategy_choice *choice)
{
    liana__device_layout layout = {0};
    const liana__strategy *strategy = choice->strategy;
    /* A fault is told when they are opened. */
    if (strategy && strategy->lay_out && strategy->lay_out(choice->options, context, &layout, NULL) != LIANA_OK) {
        return false;
    }
    return liana__served_knows(layout.names ? layout.names->items[0] : name);
}

void liana__device_set_close(liana__device_set *set)
{
    for (size_t i = set->borrows_first; i < set->count; i++) liana__device_close(set->items[i]);
    free(set->items);
    free(set->groups);
    *set = (liana__device_set){0};
}
