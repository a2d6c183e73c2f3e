/* Runs the parts of a graph on their devices at the same time. */
#include "program/device_parts.h"

#include "base/threads.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* A value on its way to a device. */
typedef struct arrival {
    liana__buffer *buffer; /* of the last run, to be used again */
    liana__fence *fence;
    bool is_there; /* in the running run */
} arrival;

/* A value on its way through the host. */
typedef struct crossing {
    void *data;
    bool is_there;
} crossing;

/* A device's work in a run. */
typedef struct member {
    size_t device;
    bool has_result; /* nobody has read its last result */
    liana_status status;
    liana__error error;
} member;

struct liana__device_parts {
    liana__arena arena; /* of all lists below, and of what crosses */
    liana__split split;
    const liana__placed_devices *devices;
    liana__variables *values;
    liana__program **programs; /* by part */
    size_t *crossing_places;   /* by crossing: of a variable, among the values */
    size_t *assigned;          /* by wanted assignment */
    size_t num_assigned;
    arrival *arrivals;
    crossing *crossings;
    char *read_only; /* room, for each member, for a result that is read only to learn whether there is one */
    size_t read_only_size;
    member *members;
    size_t num_members;
    liana__pool *pool;
    pthread_mutex_t mutex; /* of `is_there` of crossings, and of has_failed */
    pthread_cond_t changed;
    bool has_failed;
    const liana_array *const *feeds; /* of the running run */
};

static liana__device *device_of(const liana__device_parts *parts, size_t index)
{
    return parts->devices->items[index].device;
}

void liana__device_parts_destroy(liana__device_parts *parts)
{
    if (!parts) return;
    liana__pool_destroy(parts->pool);
    for (size_t i = 0; parts->programs && i < parts->split.num_parts; i++) liana__program_destroy(parts->programs[i]);
    for (size_t i = 0; parts->arrivals && i < parts->split.num_arrivals; i++) {
        liana__buffer *buffer = parts->arrivals[i].buffer;
        if (buffer) buffer->device->backend->buffer_destroy(buffer);
    }
    pthread_mutex_destroy(&parts->mutex);
    pthread_cond_destroy(&parts->changed);
    liana__split_free(&parts->split);
    liana__arena_free(&parts->arena);
    free(parts);
}

const liana__split *liana__device_parts_split(const liana__device_parts *parts)
{
    return &parts->split;
}

/* ---- making ---- */

static liana_status compile_parts(liana__device_parts *parts, const char *name, liana__error *error)
{
    for (size_t i = 0; i < parts->split.num_parts; i++) {
        liana__part *part = &parts->split.parts[i];
        char own_name[300];
        snprintf(own_name, sizeof own_name, "%s-part%zu", name, i + 1);
        liana_graph *graph = part->graph;
        part->graph = NULL;
        if (liana__program_create(device_of(parts, part->device), graph, own_name, parts->values, &parts->programs[i],
                                  error) != LIANA_OK) {
            return liana__fail_within(error, "%s: on %s", name, parts->devices->items[part->device].name);
        }
    }
    return LIANA_OK;
}

static size_t result_size(const liana__program *program, size_t output)
{
    const liana__node *node = program->graph->outputs[output].node;
    return liana__byte_size(node->dtype, &node->shape);
}

static size_t smallest_result(const liana__program *program)
{
    size_t smallest = 0;
    for (size_t i = 1; i < program->graph->num_outputs; i++) {
        if (result_size(program, i) < result_size(program, smallest)) smallest = i;
    }
    return smallest;
}

static liana_status make_room(liana__device_parts *parts, liana__error *error)
{
    for (size_t i = 0; i < parts->split.num_crossings; i++) {
        const liana__node *node = parts->split.crossings[i].node;
        parts->crossings[i].data = liana__arena_allocate(&parts->arena, liana__byte_size(node->dtype, &node->shape));
        if (!parts->crossings[i].data) return liana__fail_memory(error, "a value that goes to another device");
        if (!parts->split.crossings[i].is_variable) continue;
        parts->crossing_places[i] = (size_t)(liana__variables_find(parts->values, node->name) - parts->values->items);
    }
    parts->read_only_size = 1;
    for (size_t i = 0; i < parts->split.num_parts; i++) {
        const liana__program *program = parts->programs[i];
        size_t size = result_size(program, smallest_result(program));
        if (size > parts->read_only_size) parts->read_only_size = size;
    }
    parts->read_only = liana__arena_allocate(&parts->arena, parts->num_members * parts->read_only_size);
    return parts->read_only ? LIANA_OK : liana__fail_memory(error, "a run on several devices");
}

static void add_member(liana__device_parts *parts, size_t device)
{
    for (size_t i = 0; i < parts->num_members; i++) {
        if (parts->members[i].device == device) return;
    }
    parts->members[parts->num_members++] = (member){.device = device};
}

static void list_members(liana__device_parts *parts)
{
    const liana__split *split = &parts->split;
    for (size_t i = 0; i < split->num_parts; i++) add_member(parts, split->parts[i].device);
    for (size_t i = 0; i < split->num_crossings; i++) add_member(parts, split->crossings[i].device);
    for (size_t i = 0; i < split->num_arrivals; i++) add_member(parts, split->arrivals[i].device);
}

static liana_status build(liana__device_parts *parts, const char *name, const size_t *assigned, size_t num_assigned,
                          liana__error *error)
{
    const liana__split *split = &parts->split;
    liana__arena *arena = &parts->arena;
    parts->programs = liana__arena_allocate(arena, split->num_parts * sizeof *parts->programs);
    parts->crossing_places = liana__arena_allocate(arena, split->num_crossings * sizeof *parts->crossing_places);
    parts->assigned = liana__arena_copy(arena, assigned, num_assigned * sizeof *parts->assigned);
    parts->arrivals = liana__arena_allocate(arena, split->num_arrivals * sizeof *parts->arrivals);
    parts->crossings = liana__arena_allocate(arena, split->num_crossings * sizeof *parts->crossings);
    parts->members = liana__arena_allocate(arena, parts->devices->count * sizeof *parts->members);
    if (arena->failed) return liana__fail_memory(error, "the parts of a program");
    parts->num_assigned = num_assigned;
    list_members(parts);
    LIANA_TRY(compile_parts(parts, name, error));
    LIANA_TRY(make_room(parts, error));
    return liana__pool_create((int)parts->num_members, &parts->pool, error);
}

liana_status liana__device_parts_create(const liana__placed_devices *devices, const liana_graph *graph,
                                        const liana__wanted *wanted, const size_t *node_devices, const char *name,
                                        liana__variables *values, const size_t *assigned, liana__device_parts **out,
                                        liana__error *error)
{
    *out = NULL;
    liana__device_parts *parts = calloc(1, sizeof *parts);
    if (!parts) return liana__fail_memory(error, "the parts of a program");
    parts->devices = devices;
    parts->values = values;
    pthread_mutex_init(&parts->mutex, NULL);
    pthread_cond_init(&parts->changed, NULL);
    liana_status status = liana__split_make(graph, wanted, node_devices, &parts->split);
    if (status == LIANA_OK) status = build(parts, name, assigned, wanted->num_assignments, error);
    if (status != LIANA_OK) {
        liana__device_parts_destroy(parts);
        return status;
    }
    *out = parts;
    return LIANA_OK;
}

/* ---- values from device to device; each is called by its device's thread ---- */

static void give_crossing(liana__device_parts *parts, size_t index)
{
    pthread_mutex_lock(&parts->mutex);
    parts->crossings[index].is_there = true;
    pthread_cond_broadcast(&parts->changed);
    pthread_mutex_unlock(&parts->mutex);
}

static liana_status give_variables(liana__device_parts *parts, const member *own, liana__error *error)
{
    for (size_t i = 0; i < parts->split.num_crossings; i++) {
        const liana__crossing *given = &parts->split.crossings[i];
        if (!given->is_variable || given->device != own->device) continue;
        LIANA_TRY(
            liana__variable_read(&parts->values->items[parts->crossing_places[i]], parts->crossings[i].data, error));
        give_crossing(parts, i);
    }
    return LIANA_OK;
}

static liana_status give_results(liana__device_parts *parts, member *own, size_t part, liana__error *error)
{
    own->has_result = true;
    for (size_t i = 0; i < parts->split.num_crossings; i++) {
        const liana__crossing *given = &parts->split.crossings[i];
        if (given->is_variable || given->from.part != part) continue;
        LIANA_TRY(liana__program_fetch(parts->programs[part], given->from.output, parts->crossings[i].data, error));
        own->has_result = false;
        give_crossing(parts, i);
    }
    return LIANA_OK;
}

/* Waits for another device's value. False: some device has failed, and it will not come. */
static bool wait_for(liana__device_parts *parts, size_t index)
{
    pthread_mutex_lock(&parts->mutex);
    while (!parts->crossings[index].is_there && !parts->has_failed) {
        pthread_cond_wait(&parts->changed, &parts->mutex);
    }
    bool is_there = parts->crossings[index].is_there;
    pthread_mutex_unlock(&parts->mutex);
    return is_there;
}

/* CANCELLED: another device has failed, and says why. */
static liana_status take(liana__device_parts *parts, size_t index, liana__error *error)
{
    const liana__part_arrival *wanted = &parts->split.arrivals[index];
    arrival *own = &parts->arrivals[index];
    if (own->is_there) return LIANA_OK;
    if (!wanted->is_feed && !wait_for(parts, wanted->index)) return LIANA_CANCELLED;
    const void *data = wanted->is_feed ? parts->feeds[wanted->index]->data : parts->crossings[wanted->index].data;
    liana__device *device = device_of(parts, wanted->device);
    LIANA_TRY(device->backend->upload(device, wanted->node->dtype, &wanted->node->shape, data, &own->buffer,
                                      &own->fence, error));
    own->is_there = true;
    return LIANA_OK;
}

/* The host's data may change again. All fences are taken, whatever comes. */
static liana_status wait_for_uploads(liana__device_parts *parts, const member *own, liana__error *error)
{
    liana_status status = LIANA_OK;
    const liana__backend *backend = device_of(parts, own->device)->backend;
    for (size_t i = 0; i < parts->split.num_arrivals; i++) {
        liana__error other;
        if (parts->split.arrivals[i].device != own->device || !parts->arrivals[i].fence) continue;
        liana_status one = backend->wait(parts->arrivals[i].fence, status == LIANA_OK ? error : &other);
        if (status == LIANA_OK) status = one;
        parts->arrivals[i].fence = NULL;
    }
    return status;
}

/* ---- a device's part of a run ---- */

static liana_status run_part(liana__device_parts *parts, size_t number, liana__error *error)
{
    const liana__part *part = &parts->split.parts[number];
    liana__program *program = parts->programs[number];
    for (size_t i = 0; i < part->num_inputs; i++) {
        const liana__part_input *input = &part->inputs[i];
        if (input->is_arrival) LIANA_TRY(take(parts, input->arrival, error));
        liana__program_bind(program, i,
                            input->is_arrival ? parts->arrivals[input->arrival].buffer
                                              : parts->programs[input->from.part]->outputs[input->from.output]);
    }
    for (size_t i = 0; i < part->num_variables; i++) {
        program->values[i] = parts->values->items[program->places[i]].buffer;
        if (part->variables[i] == SIZE_MAX) continue;
        LIANA_TRY(take(parts, part->variables[i], error));
        program->values[i] = parts->arrivals[part->variables[i]].buffer;
    }
    return liana__program_run_with(program, program->values, error);
}

/* A device may still be computing. Nobody may believe a new value before it is known that there is one, and reading a
 * result tells. */
static liana_status make_sure(const liana__device_parts *parts, const member *own, size_t last, liana__error *error)
{
    if (!own->has_result || parts->num_assigned == 0) return LIANA_OK;
    const liana__program *program = parts->programs[last];
    const size_t number = (size_t)(own - parts->members);
    return liana__program_fetch(program, smallest_result(program), parts->read_only + number * parts->read_only_size,
                                error);
}

static liana_status compute(liana__device_parts *parts, member *own, liana__error *error)
{
    size_t last = 0;
    LIANA_TRY(give_variables(parts, own, error));
    for (size_t i = 0; i < parts->split.num_parts; i++) {
        if (parts->split.parts[i].device != own->device) continue;
        LIANA_TRY(run_part(parts, i, error));
        LIANA_TRY(give_results(parts, own, i, error));
        last = i;
    }
    for (size_t i = 0; i < parts->split.num_arrivals; i++) {
        const liana__part_arrival *wanted = &parts->split.arrivals[i];
        if (wanted->device == own->device && wanted->becomes_variable) LIANA_TRY(take(parts, i, error));
    }
    return make_sure(parts, own, last, error);
}

static void run_member(void *user, size_t task, int worker)
{
    liana__device_parts *parts = user;
    member *own = &parts->members[task];
    (void)worker;
    own->error = (liana__error){0};
    own->has_result = false;
    own->status = compute(parts, own, &own->error);
    liana__error later = {0};
    liana_status uploads = wait_for_uploads(parts, own, &later);
    if (own->status == LIANA_OK && uploads != LIANA_OK) {
        own->status = uploads;
        own->error = later;
    }
    if (own->status == LIANA_OK) return;
    pthread_mutex_lock(&parts->mutex);
    parts->has_failed = true;
    pthread_cond_broadcast(&parts->changed);
    pthread_mutex_unlock(&parts->mutex);
}

/* ---- a run ---- */

liana_status liana__device_parts_run(liana__device_parts *parts, const liana_array *const *feeds, liana__error *error)
{
    parts->feeds = feeds;
    parts->has_failed = false;
    for (size_t i = 0; i < parts->split.num_arrivals; i++) parts->arrivals[i].is_there = false;
    for (size_t i = 0; i < parts->split.num_crossings; i++) parts->crossings[i].is_there = false;
    liana__pool_run(parts->pool, parts->num_members, run_member, parts);
    for (size_t i = 0; i < parts->num_members; i++) {
        const member *own = &parts->members[i];
        if (own->status == LIANA_OK || own->status == LIANA_CANCELLED) continue;
        *error = own->error;
        return own->status;
    }
    return LIANA_OK;
}

liana_status liana__device_parts_fetch(const liana__device_parts *parts, size_t result, void *data, liana__error *error)
{
    const liana__part_output *from = &parts->split.results[result];
    return liana__program_fetch(parts->programs[from->part], from->output, data, error);
}

void liana__device_parts_commit(liana__device_parts *parts)
{
    for (size_t i = 0; i < parts->num_assigned; i++) {
        const liana__placed_value *change = &parts->split.changes[i];
        liana__buffer **value = change->is_arrival ? &parts->arrivals[change->arrival].buffer
                                                   : &parts->programs[change->from.part]->outputs[change->from.output];
        liana__variable *variable = &parts->values->items[parts->assigned[i]];
        liana__buffer *before = variable->buffer;
        variable->buffer = *value;
        *value = before;
    }
}
