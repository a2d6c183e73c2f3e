/* Whole updates: one program of all devices. Each device has its own copy of the variables, and as each makes the same
 * update of the same sums, the copies stay equal. */
#include "backends/pjrt/whole_update.h"

#include "backends/dump.h"
#include "backends/pjrt/error_place.h"
#include "backends/pjrt/memory_advice.h"
#include "backends/pjrt/program.h"
#include "backends/pjrt/staging.h"
#include "backends/pjrt/tables.h"
#include "backends/pjrt/whole_graphs.h"
#include "backends/shard_programs.h"
#include "base/scoped.h"

#include <stdlib.h>

_Static_assert((int)LIANA__WHOLE_DONE == (int)LIANA__STEP_DONE &&
                   (int)LIANA__WHOLE_BAD_SUMS == (int)LIANA__STEP_BAD_SUMS &&
                   (int)LIANA__WHOLE_BAD_VALUES == (int)LIANA__STEP_BAD_VALUES &&
                   (int)LIANA__WHOLE_LEFT_OUT == (int)LIANA__STEP_LEFT_OUT,
               "both enums name the same things");

typedef struct whole_update {
    liana__whole_plan plan;
    size_t count;
    liana__arena arena; /* of the lists */
    liana__device **devices;
    liana__buffer **copies; /* by device, then by variable of the program; NULL of the first, which has the plan's */
    void ***arguments, ***results; /* by device */
    liana__whole_graphs graphs;
    liana__stablehlo_variables variables;
    size_t *places;     /* of the program's variables in the plan's list */
    uint64_t *versions; /* of the plan's variables, that the other devices' copies are of */
    liana__pjrt_program *program;
    int64_t all_temporaries; /* its need if nothing were computed twice; 0: not more */
    size_t components[LIANA__MAX_LEAF_INPUTS];
    bool in_table[LIANA__MAX_LEAF_INPUTS];
    liana__tables tables;
    liana__staging_layout layout;
    liana__staging stagings[2];
    int next;          /* the one that is being filled */
    int32_t num_steps; /* of the execution that runs; 0: none does */
    liana__buffer *rows;
    float *downloaded;
} whole_update;

/* ---- setting up ---- */

static void destroy_whole(liana__whole *whole)
{
    whole_update *own = (whole_update *)whole;
    if (!own) return;
    for (int i = 0; i < 2; i++) liana__staging_free(&own->stagings[i]);
    liana__tables_free(&own->tables);
    liana__pjrt_buffer_destroy(own->rows);
    for (size_t i = 0; own->copies && i < own->count * own->variables.count; i++) {
        liana__pjrt_buffer_destroy(own->copies[i]);
    }
    liana__pjrt_program_drop(own->program);
    liana__whole_graphs_free(&own->graphs);
    free(own->variables.items);
    liana__arena_free(&own->arena);
    free(own);
}

static liana__pjrt_device *device_of(const whole_update *own, size_t device)
{
    return (liana__pjrt_device *)own->devices[device];
}

static liana_status build_leaves(whole_update *own, int64_t side_by_side, int recomputed, liana__error *error)
{
    liana__pjrt_program_drop(own->program);
    own->program = NULL;
    LIANA_TRY(liana__whole_graphs_build_leaves(&own->graphs, &own->plan, side_by_side, recomputed, error));
    LIANA_TRY(liana__leaf_components(own->plan.leaf, own->graphs.shape.leaves, own->components, error));
    for (size_t i = 0; i < own->graphs.shape.leaves->num_inputs; i++) {
        const size_t component = own->components[i];
        own->in_table[i] = component < LIANA__MAX_COMPONENTS && own->plan.in_tables >> component & 1;
    }
    own->layout.leaves = own->graphs.shape.leaves;
    return LIANA_OK;
}

static liana_status device_ids(const whole_update *own, int *ids, liana__error *error)
{
    for (size_t i = 0; i < own->count; i++) {
        const liana__pjrt_device *device = device_of(own, i);
        liana__pjrt_device_facts facts;
        LIANA_TRY(liana__pjrt_device_describe(device->client, device->number, &facts, error));
        ids[i] = facts.id;
    }
    return LIANA_OK;
}

static bool is_cpu(const whole_update *own)
{
    return liana__pjrt_is_cpu(device_of(own, 0)->client);
}

static liana_status compile_text(whole_update *own, const char *text, liana__error *error)
{
    const liana__pjrt_device *first = device_of(own, 0);
    liana__pjrt_compile_options options = {.fewer_loops = is_cpu(own),
                                           .keeps_barriers = is_cpu(own) && own->graphs.again.graph};
    LIANA__SCOPED_MEMORY int *ids = calloc(own->count, sizeof *ids);
    if (!ids) return liana__fail_memory(error, "the update");
    liana_status status = device_ids(own, ids, error);
    if (own->count > 1) options.devices = ids;
    if (own->count > 1) options.num_replicas = own->count;
    if (status == LIANA_OK) {
        status = liana__pjrt_program_make(first->client, text, strlen(text), &options, &own->program, error);
    }
    return status == LIANA_OK ? status : liana__fail_within(error, "%s, compiling the update", first->name);
}

static liana_status print(const whole_update *own, bool locations, char **text, liana__error *error)
{
    const liana__stablehlo_options options = {.name = "update",
                                              .highest_precision = !device_of(own, 0)->default_products,
                                              .for_cpus = is_cpu(own),
                                              .locations = locations,
                                              .no_locations = !locations};
    return liana__stablehlo_print_whole(&own->graphs.shape, &own->variables, &options, text, error);
}

/* A program that the plugin refuses is compiled once more with the places of its ops, so that the plugin can name
 * one. */
static liana_status explain(whole_update *own, liana_status status, liana__error *error)
{
    liana__error explained = {0};
    LIANA__SCOPED_MEMORY char *text = NULL;
    if (print(own, true, &text, &explained) == LIANA_OK) {
        (void)!compile_text(own, text, &explained);
        liana__pjrt_program_drop(own->program);
        own->program = NULL;
    }
    const liana__node *node = liana__pjrt_find_place(own->graphs.shape.leaves, explained.message);
    return liana__pjrt_fail_at_place(node ? own->graphs.shape.leaves : own->graphs.shape.update.graph,
                                     explained.message, status, error);
}

static liana_status compile(whole_update *own, liana__error *error)
{
    LIANA__SCOPED_MEMORY char *text = NULL;
    free(own->variables.items);
    LIANA_TRY(liana__stablehlo_whole_variables(&own->graphs.shape, &own->variables, error));
    LIANA_TRY(print(own, false, &text, error));
    LIANA_TRY(liana__dump_text(own->graphs.shape.leaves->context, "whole-update.mlir", text, error));
    const liana_status status = compile_text(own, text, error);
    if (status == LIANA_OK || status == LIANA_OUT_OF_MEMORY) return status;
    return explain(own, status, error);
}

/* The memory that the tables leave. */
static liana_status find_room_for_tables(const whole_update *own, int64_t all, int64_t *room, liana__error *error)
{
    static const double MIB = 1 << 20;
    const size_t size = liana__tables_size(&own->tables);
    *room = all - (int64_t)size;
    if (*room > 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "data.cache is device, but %s has no room for the data: %lld examples take %.1f MiB on each "
                       "device, and %.1f MiB are free there; set data.cache to memory, or use smaller images or fewer "
                       "examples",
                       device_of(own, 0)->name, (long long)own->plan.table_rows, (double)size / MIB,
                       (double)(all > 0 ? all : 0) / MIB);
}

/* Compiles `side` shards side by side; `recomputed` is the level of recompute.h. `room` is their limit, of
 * `all_room`. */
static liana_status compile_leaves(whole_update *own, int64_t side, int recomputed, int64_t all_room, int64_t *room,
                                   liana__error *error)
{
    *room = all_room;
    LIANA_TRY(build_leaves(own, side, recomputed, error));
    if (own->graphs.shape.in_table) LIANA_TRY(find_room_for_tables(own, all_room, room, error));
    LIANA_TRY(liana__whole_graphs_build_update(&own->graphs, &own->plan, error));
    const liana_status status = compile(own, error);
    const int64_t limit = liana__pjrt_limit(own->devices[0]);
    if (limit < *room) *room = limit;
    own->layout.places = own->graphs.shape.rounds * side;
    return status;
}

static liana_status advise(const whole_update *own, liana__error *error)
{
    return liana__pjrt_advise(device_of(own, 0), own->layout.size, own->program, own->devices[0]->memory_limit == 0,
                              error);
}

static bool fits(const whole_update *own, liana_status status, int64_t room)
{
    return status == LIANA_OK && own->program->temporaries <= room;
}

/* One shard at a time is too much: parts of it are computed twice. */
static liana_status compile_recomputed(whole_update *own, int64_t all_room, liana__error *error)
{
    int64_t room, least = own->program ? own->program->temporaries : -1;
    liana_status status = LIANA_OUT_OF_MEMORY;
    own->all_temporaries = least;
    for (int level = 1; level <= LIANA__MOST_RECOMPUTED; level++) {
        status = compile_leaves(own, 1, level, all_room, &room, error);
        if (fits(own, status, room)) return status;
        if (status != LIANA_OK && status != LIANA_OUT_OF_MEMORY) return status;
        if (status == LIANA_OK && (least < 0 || own->program->temporaries < least)) {
            least = own->program->temporaries;
        }
    }
    if (least >= 0) return liana__pjrt_fail_limit(own->devices[0], least, error);
    return advise(own, error);
}

/* As many shards side by side as fit. Compilers for TPUs refuse programs that do not fit. */
static liana_status compile_what_fits(whole_update *own, liana__error *error)
{
    const liana__pjrt_device *first = device_of(own, 0);
    const int64_t all_room = (int64_t)liana__pjrt_device_room(first->client, first->number, own->count);
    const bool may_recompute = own->devices[0]->memory_limit > 0;
    int64_t room, side = own->plan.side_by_side ? liana__whole_places(&own->plan, own->count) : 1;
    liana_status status = compile_leaves(own, side, 0, all_room, &room, error);
    while (side > 1 && (status == LIANA_OUT_OF_MEMORY || (status == LIANA_OK && !fits(own, status, room)))) {
        side = (side + 1) / 2;
        status = compile_leaves(own, side, 0, all_room, &room, error);
    }
    if (fits(own, status, room) || (status != LIANA_OK && status != LIANA_OUT_OF_MEMORY)) return status;
    if (may_recompute) return compile_recomputed(own, all_room, error);
    if (status == LIANA_OK) return status; /* the compiler may be wrong */
    return advise(own, error);
}

static liana_status find_places(whole_update *own, liana__error *error)
{
    const liana__variables *all = own->plan.variables;
    own->places = liana__arena_allocate(&own->arena, (own->variables.count + 1) * sizeof *own->places);
    own->versions = liana__arena_allocate(&own->arena, (own->variables.count + 1) * sizeof *own->versions);
    if (!own->places || !own->versions) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < own->variables.count; i++) {
        const liana__node *node = own->variables.items[i].node;
        const liana__variable *found = liana__variables_find(all, node->name);
        if (!found) return liana__fail(error, LIANA_INTERNAL, "there is no variable '%s'", node->name);
        LIANA_TRY(liana__check_buffers("the update", "variable", node, found->buffer, error));
        own->places[i] = (size_t)(found - all->items);
    }
    return LIANA_OK;
}

static liana_status make_lists(whole_update *own, liana__error *error)
{
    const size_t arguments = own->graphs.shape.leaves->num_inputs + 3 + own->variables.count;
    const size_t results = 1 + own->variables.num_changed;
    const size_t columns = (size_t)liana__stablehlo_whole_columns(&own->graphs.shape);
    liana__arena *arena = &own->arena;
    own->copies = liana__arena_allocate(arena, own->count * own->variables.count * sizeof *own->copies);
    own->arguments = liana__arena_allocate(arena, own->count * sizeof *own->arguments);
    own->results = liana__arena_allocate(arena, own->count * sizeof *own->results);
    own->downloaded = liana__arena_allocate(arena, own->plan.most_steps * columns * sizeof *own->downloaded);
    for (size_t i = 0; !arena->failed && i < own->count; i++) {
        own->arguments[i] = liana__arena_allocate(arena, arguments * sizeof **own->arguments);
        own->results[i] = liana__arena_allocate(arena, results * sizeof **own->results);
    }
    return arena->failed ? liana__fail_memory(error, "the update") : LIANA_OK;
}

static liana_status set_up(whole_update *own, liana__device *const *devices, liana__error *error)
{
    LIANA_TRY(liana__whole_graphs_begin(&own->graphs, &own->plan, own->count, error));
    own->devices = liana__arena_copy(&own->arena, devices, own->count * sizeof *own->devices);
    if (!own->devices) return liana__fail_memory(error, "the update");
    own->layout.components = own->components;
    own->layout.devices = own->devices;
    own->tables = (liana__tables){.layout = &own->layout, .num_rows = own->plan.table_rows};
    if (own->plan.table_rows) own->layout.in_table = own->graphs.shape.in_table = own->in_table;
    LIANA_TRY(compile_what_fits(own, error));
    LIANA_TRY(find_places(own, error));
    for (int i = 0; i < 2; i++) LIANA_TRY(liana__staging_create(&own->layout, &own->stagings[i], error));
    return make_lists(own, error);
}

static liana_status create_whole(liana__device *const *devices, size_t count, const liana__whole_plan *plan,
                                 liana__whole **whole, liana__error *error)
{
    *whole = NULL;
    whole_update *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "the update");
    own->plan = *plan;
    own->count = count;
    own->layout = (liana__staging_layout){.size = plan->leaf->leaf_size,
                                          .most_steps = plan->most_steps,
                                          .num_scalars = plan->num_scalars,
                                          .num_devices = count};
    liana_status status = set_up(own, devices, error);
    if (status != LIANA_OK) {
        destroy_whole((liana__whole *)own);
        return status;
    }
    *whole = (liana__whole *)own;
    return LIANA_OK;
}

static void memory_whole(const liana__whole *whole, liana__replica_memory *memory)
{
    const whole_update *own = (const whole_update *)whole;
    const int64_t temporaries = own->program->temporaries > 0 ? own->program->temporaries : 0;
    const double executions = (double)(own->graphs.shape.rounds * (int64_t)own->count);
    const int64_t before = own->all_temporaries > temporaries ? own->all_temporaries : temporaries;
    *memory = (liana__replica_memory){.workspace = (size_t)temporaries,
                                      .workspace_before = (size_t)before,
                                      .num_segments = own->graphs.again.num_segments,
                                      .flops = executions * own->graphs.again.flops,
                                      .flops_before = executions * liana__pjrt_count_flops(own->graphs.shape.leaves)};
}

/* ---- the other devices' variables ---- */

/* Where a device has a variable. */
static liana__buffer **buffer_of(const whole_update *own, size_t device, size_t number)
{
    if (device > 0) return &own->copies[device * own->variables.count + number];
    return &own->plan.variables->items[own->places[number]].buffer;
}

static liana_status copy_variable(whole_update *own, size_t number, liana__error *error)
{
    const liana__variable *from = &own->plan.variables->items[own->places[number]];
    const liana__buffer *buffer = from->buffer;
    LIANA__SCOPED_MEMORY void *data = malloc(buffer->size);
    if (!data) return liana__fail_memory(error, "the variables of another device");
    LIANA_TRY(liana__variable_read(from, data, error));
    for (size_t i = 1; i < own->count; i++) {
        LIANA_TRY(liana__pjrt_upload(own->devices[i], buffer->dtype, &buffer->shape, data, buffer_of(own, i, number),
                                     NULL, error));
    }
    return LIANA_OK;
}

/* Copies variables that others than this program have changed. */
static liana_status copy_variables(whole_update *own, liana__error *error)
{
    for (size_t i = 0; own->count > 1 && i < own->variables.count; i++) {
        const uint64_t version = own->plan.variables->items[own->places[i]].buffer->version;
        if (own->versions[i] == version) continue;
        LIANA_TRY(copy_variable(own, i, error));
        own->versions[i] = version;
    }
    return LIANA_OK;
}

/* ---- running ---- */

static liana_status keep_whole(liana__whole *whole, const liana__leaf_batch *batch, liana__error *error)
{
    whole_update *own = (whole_update *)whole;
    return batch ? liana__tables_keep(&own->tables, batch, error) : liana__tables_send(&own->tables, error);
}

static liana_status stage_whole(liana__whole *whole, const liana__leaf_batch *batch, liana__error *error)
{
    whole_update *own = (whole_update *)whole;
    liana__staging *staging = &own->stagings[own->next];
    if (own->graphs.shape.in_table) LIANA_TRY(liana__tables_check(&own->tables, batch, error));
    liana__staging_add(staging, batch);
    return (size_t)staging->num_steps == own->plan.most_steps ? liana__staging_send_rows(staging, error) : LIANA_OK;
}

static liana_status drop_whole(liana__whole *whole, liana__error *error)
{
    whole_update *own = (whole_update *)whole;
    return liana__staging_clear(&own->stagings[own->next], error);
}

static liana_status gather(whole_update *own, size_t device, const liana__staging *staging, liana__error *error)
{
    size_t count;
    liana__buffer *const *sent = liana__staging_buffers(staging, device, &count);
    void **next = own->arguments[device];
    for (size_t i = 0; i < count; i++) {
        const bool in_table = i < own->layout.leaves->num_inputs && own->in_table[i] && own->graphs.shape.in_table;
        liana__buffer *buffer = in_table ? liana__tables_buffer(&own->tables, device, i) : sent[i];
        if (buffer) *next++ = ((liana__pjrt_buffer *)buffer)->handle;
    }
    for (size_t i = 0; i < own->variables.count; i++) {
        const liana__buffer *buffer = *buffer_of(own, device, i);
        LIANA_TRY(liana__check_buffers("the update", "variable", own->variables.items[i].node, buffer, error));
        *next++ = ((const liana__pjrt_buffer *)buffer)->handle;
    }
    return LIANA_OK;
}

static liana_status run(whole_update *own, liana__error *error)
{
    const size_t num_arguments =
        own->layout.leaves->num_inputs + (own->graphs.shape.in_table ? 3 : 2) + own->variables.count;
    return liana__pjrt_program_run(own->program, own->count == 1 ? device_of(own, 0)->handle : NULL, own->arguments,
                                   num_arguments, own->results, error);
}

/* Takes over all results, also on failure. The rows of the first device are kept; those of others are the same. */
static liana_status take_results(whole_update *own, size_t device, liana__error *error)
{
    liana__pjrt_device *each = device_of(own, device);
    const liana_shape shape =
        liana_shape_of((int64_t)own->plan.most_steps, liana__stablehlo_whole_columns(&own->graphs.shape));
    liana__buffer *other = NULL;
    liana_status status = liana__pjrt_buffer_put(each, LIANA_F32, &shape, own->results[device][0],
                                                 device == 0 ? &own->rows : &other, error);
    liana__pjrt_buffer_destroy(other);
    for (size_t i = 0; i < own->variables.count; i++) {
        const liana__stablehlo_variable *variable = &own->variables.items[i];
        if (variable->result < 0) continue;
        liana__buffer **place = buffer_of(own, device, i);
        liana_status one = liana__pjrt_buffer_put(each, variable->node->dtype, &variable->node->shape,
                                                  own->results[device][variable->result], place, error);
        if (status == LIANA_OK) status = one;
    }
    return status;
}

/* A device that fails in the middle of a run may have taken over the donated variables already. */
static void mark_gone(const whole_update *own)
{
    for (size_t i = 0; i < own->variables.count; i++) {
        if (own->variables.items[i].result >= 0) liana__pjrt_buffer_mark_gone(*buffer_of(own, 0, i));
    }
}

static liana_status fail_run(whole_update *own, liana_status status, liana__error *error)
{
    device_of(own, 0)->client->has_failed = true;
    mark_gone(own);
    const liana__error was = *error;
    liana__pjrt_fail_at_place(own->graphs.shape.leaves, was.message, status, error);
    liana__fail_within(error, "%s, running the update", device_of(own, 0)->name);
    if (status != LIANA_OUT_OF_MEMORY) return status;
    return advise(own, error);
}

static liana_status launch_whole(liana__whole *whole, const float *scalars, liana__error *error)
{
    whole_update *own = (whole_update *)whole;
    liana__staging *staging = &own->stagings[own->next];
    LIANA_TRY(liana__staging_send_rows(staging, error));
    LIANA_TRY(liana__staging_send_scalars(staging, scalars, error));
    LIANA_TRY(copy_variables(own, error));
    for (size_t i = 0; i < own->count; i++) LIANA_TRY(gather(own, i, staging, error));
    liana_status status = run(own, error);
    if (status != LIANA_OK) return fail_run(own, status, error);
    for (size_t i = 0; i < own->count; i++) {
        liana_status one = take_results(own, i, error);
        if (status == LIANA_OK) status = one;
    }
    for (size_t i = 0; i < own->variables.count; i++) {
        own->versions[i] = own->plan.variables->items[own->places[i]].buffer->version;
    }
    own->num_steps = staging->num_steps;
    own->next ^= 1;
    return status;
}

static liana_status collect_whole(liana__whole *whole, float *first, float *penalties, int *statuses,
                                  liana__error *error)
{
    whole_update *own = (whole_update *)whole;
    const size_t columns = (size_t)own->rows->shape.dims[1], num_sums = columns - (own->graphs.shape.penalty ? 2 : 1);
    const float *row = own->downloaded;
    liana_status status = liana__pjrt_download(own->rows, own->downloaded, error);
    if (status != LIANA_OK) return fail_run(own, status, error);
    for (int32_t i = 0; i < own->num_steps; i++, row += columns) {
        memcpy(first + (size_t)i * num_sums, row, num_sums * sizeof *first);
        penalties[i] = own->graphs.shape.penalty ? row[num_sums] : 0;
        statuses[i] = (int)row[columns - 1];
    }
    own->num_steps = 0;
    return liana__staging_clear(&own->stagings[own->next ^ 1], error);
}

const liana__whole_functions liana__pjrt_whole = {create_whole, destroy_whole, keep_whole, stage_whole,
                                                  launch_whole, collect_whole, drop_whole, memory_whole};
