/* A slice's variables, programs and sums. */
#include "distribute/cluster/slice.h"

#include "backends/host.h"
#include "base/scoped.h"
#include "distribute/cluster/held.h"

#include <stdio.h>

/* ---- variables ---- */

/* Which part of the plan's variables a slice's graph calls so. */
static liana_status find_origin(const liana__slice *own, const liana__node *node, liana__slice_part *part,
                                liana__error *error)
{
    const liana__variables *all = own->plan->variables;
    char name[512];
    const liana__variable *found = liana__variables_find(all, node->name);
    *part = (liana__slice_part){.end = (uint64_t)liana_shape_size(&node->shape)};
    if (!found && liana__piece_of_name(node->name, name, sizeof name, &part->begin, &part->end)) {
        found = liana__variables_find(all, name);
    }
    if (!found || part->end > (uint64_t)liana_shape_size(&found->buffer->shape)) {
        return liana__fail(error, LIANA_INTERNAL, "the update reads '%s', which is no part of a variable", node->name);
    }
    part->thing = (uint64_t)(found - all->items);
    return LIANA_OK;
}

/* The first values of a part; malloc'ed. */
static liana_status first_values(const liana__slice *own, const liana__slice_part *part, char **values, char **memory,
                                 liana__error *error)
{
    const liana__variable *from = &own->plan->variables->items[part->thing];
    const liana__buffer *buffer = from->buffer;
    const size_t size = liana_dtype_size(buffer->dtype);
    const bool held = liana__is_held(from);
    *memory = calloc(held ? (size_t)(part->end - part->begin) : buffer->size / size + 1, size);
    if (!*memory) return liana__fail_memory(error, "the slice of a variable");
    *values = *memory + (held ? 0 : part->begin * size);
    if (!held) return liana__variable_read(from, *memory, error);
    const float begins_at = (float)liana__held_begins_at(from);
    for (uint64_t i = 0; buffer->dtype == LIANA_F32 && i < part->end - part->begin; i++) {
        memcpy(*memory + i * size, &begins_at, size);
    }
    return LIANA_OK;
}

static liana_status add_variable(liana__slice *own, const liana__node *node, liana__error *error)
{
    if (liana__variables_find(&own->variables, node->name)) return LIANA_OK;
    liana__slice_origin origin = {0};
    LIANA__SCOPED_MEMORY char *memory = NULL;
    char *values = NULL;
    LIANA_TRY(find_origin(own, node, &origin.part, error));
    const liana__variable *from = &own->plan->variables->items[origin.part.thing];
    origin.held = liana__is_held(from);
    origin.version = from->buffer->version;
    if (!liana__grow(&own->origins, own->variables.count, &own->num_origins_allocated, sizeof origin)) {
        return liana__fail_memory(error, "the slice of a variable");
    }
    LIANA_TRY(first_values(own, &origin.part, &values, &memory, error));
    own->origins[own->variables.count] = origin;
    return liana__variables_add(&own->variables, node->name, node->dtype, &node->shape, values, error);
}

static liana_status add_variables(liana__slice *own, const liana_graph *graph, liana__error *error)
{
    for (size_t i = 0; graph && i < graph->num_variables; i++) {
        LIANA_TRY(add_variable(own, graph->variables[i], error));
    }
    return LIANA_OK;
}

/* ---- the plan ---- */

/* An update that cannot be cut is the first slice's. *which is the graph that is built; false: none is. */
static bool builds(const liana__slice *own, size_t *which)
{
    *which = own->plan->update->cut ? own->number : LIANA__WHOLE_UPDATE;
    return own->plan->update->cut || own->number == 0;
}

static liana_status add_variables_or_free(liana__slice *own, liana_graph *graph, liana__error *error)
{
    const liana_status status = add_variables(own, graph, error);
    if (status != LIANA_OK) liana_graph_destroy(graph);
    return status;
}

static liana_status build(void *user, size_t slice, liana_graph **graph, liana__error *error)
{
    liana__slice *own = user;
    const liana__update_functions *update = own->plan->update;
    *graph = NULL;
    if (builds(own, &slice)) LIANA_TRY(update->build(update->user, slice, graph, error));
    return add_variables_or_free(own, *graph, error);
}

static liana_status build_round(void *user, size_t slice, size_t round, liana_graph **graph, liana__error *error)
{
    liana__slice *own = user;
    const liana__update_functions *update = own->plan->update;
    *graph = NULL;
    if (builds(own, &slice)) LIANA_TRY(update->build_round(update->user, slice, round, graph, error));
    if (!*graph) own->of_part.updates_ignore_sums = true;
    return add_variables_or_free(own, *graph, error);
}

/* The part of the own sums that an input reads; SIZE_MAX if there is no memory for it. */
static size_t find_sum(void *user, const char *input)
{
    liana__slice *own = user;
    const liana__strategy_plan *plan = own->plan;
    char name[512];
    liana__slice_part part = {0};
    bool is_piece = plan->update->cut && !liana__variables_find(plan->variables, input) &&
                    liana__piece_of_name(input, name, sizeof name, &part.begin, &part.end);
    part.thing = plan->update->find_sum(plan->update->user, is_piece ? name : input);
    liana__slice_map *map = &own->map;
    for (size_t i = 0; i < map->counts[LIANA__PARTS_OF_SUMS]; i++) {
        const liana__slice_part *known = &map->parts[LIANA__PARTS_OF_SUMS][i];
        if (known->thing == part.thing && (!is_piece || known->begin == part.begin)) return i;
    }
    const liana_status status = liana__slice_map_add(map, LIANA__PARTS_OF_SUMS, part, NULL);
    return status == LIANA_OK ? map->counts[LIANA__PARTS_OF_SUMS] - 1 : SIZE_MAX;
}

/* ---- setting up ---- */

void liana__slice_free(liana__slice *slice)
{
    if (!slice) return;
    if (slice->update.plan) liana__replica_update_free(&slice->update);
    if (slice->variables.device) liana__variables_free(&slice->variables);
    for (size_t i = 0; slice->sums && i < slice->map.counts[LIANA__PARTS_OF_SUMS]; i++) {
        if (slice->sums[i]) slice->device->backend->buffer_destroy(slice->sums[i]);
    }
    liana__slice_map_free(&slice->map);
    free(slice->sums);
    free(slice->origins);
    free(slice->sum_offsets);
    free(slice->memory);
    free(slice->values);
    free(slice);
}

/* The buffer of a sum, for all programs that read it. */
static liana_status make_sum(liana__slice *own, const liana__node *input, size_t number, liana__error *error)
{
    if (own->sums[number]) return LIANA_OK;
    liana__slice_part *part = &own->map.parts[LIANA__PARTS_OF_SUMS][number];
    part->end = part->begin + (uint64_t)liana_shape_size(&input->shape);
    LIANA__SCOPED_MEMORY void *zeros = liana__allocate_zeroed(liana__byte_size(input->dtype, &input->shape));
    if (!zeros) return liana__fail_memory(error, "the sums of a slice");
    return own->device->backend->upload(own->device, input->dtype, &input->shape, zeros, &own->sums[number], NULL,
                                        error);
}

static liana_status make_sums(liana__slice *own, liana__error *error)
{
    own->sums = calloc(own->map.counts[LIANA__PARTS_OF_SUMS] + 1, sizeof *own->sums);
    if (!own->sums) return liana__fail_memory(error, "the sums of a slice");
    for (size_t number = 0; number <= own->plan->update->num_rounds; number++) {
        const liana__update_program *program = &own->update.programs[number];
        for (size_t i = 0; program->program && i < program->num_read; i++) {
            if (program->sums_read[i] == SIZE_MAX) return liana__fail_memory(error, "the slice of an update");
            LIANA_TRY(make_sum(own, program->program->graph->inputs[i], program->sums_read[i], error));
        }
    }
    return LIANA_OK;
}

static liana_status place_sums(liana__slice *own, liana__error *error)
{
    const size_t count = own->map.counts[LIANA__PARTS_OF_SUMS];
    LIANA_TRY(make_sums(own, error));
    own->sum_offsets = calloc(count + 1, sizeof *own->sum_offsets);
    if (!own->sum_offsets) return liana__fail_memory(error, "the slice of an update");
    for (size_t i = 0; i < count; i++) {
        const liana__slice_part *part = &own->map.parts[LIANA__PARTS_OF_SUMS][i];
        own->sum_offsets[i + 1] = own->sum_offsets[i] + (size_t)(part->end - part->begin);
    }
    if (own->device->backend->in_host_memory) return LIANA_OK;
    own->memory = malloc((own->sum_offsets[count] + 1) * sizeof *own->memory);
    return own->memory ? LIANA_OK : liana__fail_memory(error, "the sums of a slice");
}

/* Whether shards read a variable that updates assign to. */
static bool is_fetched(const liana__slice *own, const liana__slice_origin *origin)
{
    return origin->assigned && !origin->held && origin->part.thing < own->plan->num_leaf_variables;
}

/* The variables that are held, and those that are sent once they are new. */
static liana_status list_variables(liana__slice *own, liana__error *error)
{
    const liana__program *program = own->update.programs[own->plan->update->num_rounds].program;
    const liana_graph *graph = program ? program->graph : NULL;
    for (size_t i = 0; graph && i < graph->num_assignments; i++) {
        const liana__variable *found = liana__variables_find(&own->variables, graph->assignments[i].variable->name);
        own->origins[found - own->variables.items].assigned = true;
    }
    for (size_t i = 0; i < own->variables.count; i++) {
        const liana__slice_origin *origin = &own->origins[i];
        if (!origin->held && !origin->assigned) continue;
        const liana__part_list list = origin->held ? LIANA__PARTS_HELD : LIANA__PARTS_SENT;
        LIANA_TRY(liana__slice_map_add(&own->map, list, origin->part, error));
        if (!is_fetched(own, origin)) continue;
        LIANA_TRY(liana__slice_map_add(&own->map, LIANA__PARTS_FETCHED, origin->part, error));
    }
    return LIANA_OK;
}

static liana_status compile(liana__slice *own, liana__error *error)
{
    LIANA_TRY(liana__replica_update_create(own->device, &own->of_part, &own->update, error));
    LIANA_TRY(place_sums(own, error));
    return list_variables(own, error);
}

liana_status liana__slice_create(liana__device *device, const liana__strategy_plan *plan, size_t number,
                                 liana__slice **slice, liana__error *error)
{
    liana__slice *own = calloc(1, sizeof *own);
    *slice = own;
    if (!own) return liana__fail_memory(error, "the slice of an update");
    own->number = number;
    own->plan = plan;
    own->device = device;
    liana__variables_init(&own->variables, device);
    own->of_part = *plan;
    /* Rounds are finished for all slices at once. */
    own->functions = (liana__update_functions){.build = build,
                                               .find_sum = find_sum,
                                               .num_rounds = plan->update->num_rounds,
                                               .build_round = build_round,
                                               .user = own};
    own->of_part.update = &own->functions;
    own->of_part.variables = &own->variables;
    return compile(own, error);
}

/* ---- running ---- */

liana_status liana__slice_refresh(liana__slice *slice, liana__error *error)
{
    for (size_t i = 0; i < slice->variables.count; i++) {
        liana__slice_origin *origin = &slice->origins[i];
        const liana__variable *from = &slice->plan->variables->items[origin->part.thing];
        if (origin->held || origin->version == from->buffer->version) continue;
        LIANA__SCOPED_MEMORY char *memory = NULL;
        char *values = NULL;
        LIANA_TRY(first_values(slice, &origin->part, &values, &memory, error));
        LIANA_TRY(liana__variable_write(&slice->variables.items[i], values, error));
        origin->version = from->buffer->version;
    }
    return LIANA_OK;
}

void liana__slice_written(liana__slice *slice)
{
    for (size_t i = 0; i < slice->variables.count; i++) {
        liana__slice_origin *origin = &slice->origins[i];
        if (origin->assigned) origin->version = slice->plan->variables->items[origin->part.thing].buffer->version;
    }
}

float *liana__slice_sum(const liana__slice *slice, size_t part)
{
    return slice->memory ? slice->memory + slice->sum_offsets[part] : liana__host_view(slice->sums[part]);
}

liana_status liana__slice_take_sums(liana__slice *slice, liana__error *error)
{
    liana__device *device = slice->device;
    for (size_t i = 0; i < slice->map.counts[LIANA__PARTS_OF_SUMS]; i++) {
        liana__buffer *sum = slice->sums[i];
        if (!slice->memory) {
            liana__host_touch(sum);
            continue;
        }
        const liana_shape shape = sum->shape;
        const float *data = slice->memory + slice->sum_offsets[i];
        LIANA_TRY(device->backend->upload(device, sum->dtype, &shape, data, &slice->sums[i], NULL, error));
    }
    return LIANA_OK;
}

static liana_status feed_sum(void *user, liana__program *program, size_t input, size_t sum, liana__error *error)
{
    (void)error;
    liana__program_bind(program, input, ((const liana__slice *)user)->sums[sum]);
    return LIANA_OK;
}

liana_status liana__slice_run(liana__slice *slice, size_t number, liana__error *error)
{
    return liana__replica_update_run_program(&slice->update, number, &(liana__sum_feed){feed_sum, slice}, error);
}

liana_status liana__slice_check(liana__slice *slice, liana__checked what, int64_t *count, char name[256],
                                liana__error *error)
{
    const liana__sum_feed sums = {feed_sum, slice};
    liana__non_finite found;
    uint64_t begin, end;
    *name = 0;
    LIANA_TRY(liana__replica_update_check(&slice->update, what, &sums, &found, error));
    *count = found.count;
    if (!found.name) return LIANA_OK;
    const bool whole = liana__variables_find(slice->plan->variables, found.name) != NULL;
    if (whole || !liana__piece_of_name(found.name, name, 256, &begin, &end)) snprintf(name, 256, "%s", found.name);
    return LIANA_OK;
}

/* ---- its contents ---- */

size_t liana__slice_bytes(const liana__slice *slice, bool held)
{
    size_t size = 0;
    for (size_t i = 0; i < slice->variables.count; i++) {
        if (slice->origins[i].held == held) size += slice->variables.items[i].buffer->size;
    }
    return size;
}

liana_status liana__slice_read_fetched(const liana__slice *slice, char *to, size_t *size, liana__error *error)
{
    *size = 0;
    for (size_t i = 0; i < slice->variables.count; i++) {
        if (!is_fetched(slice, &slice->origins[i])) continue;
        LIANA_TRY(liana__variable_read(&slice->variables.items[i], to + *size, error));
        *size += slice->variables.items[i].buffer->size;
    }
    return LIANA_OK;
}

liana_status liana__slice_list_sent(liana__slice *slice, liana__message_part *parts, liana__error *error)
{
    const bool copies = !slice->device->backend->in_host_memory;
    size_t count = 0, offset = 0;
    if (copies && !slice->values) slice->values = malloc(liana__slice_bytes(slice, false) + 1);
    if (copies && !slice->values) return liana__fail_memory(error, "the new weights");
    for (size_t i = 0; i < slice->variables.count; i++) {
        const liana__variable *variable = &slice->variables.items[i];
        if (slice->origins[i].held || !slice->origins[i].assigned) continue;
        const size_t size = variable->buffer->size;
        const void *data = liana__host_view(variable->buffer);
        if (copies) {
            LIANA_TRY(liana__variable_read(variable, slice->values + offset, error));
            data = slice->values + offset;
        }
        parts[count++] = (liana__message_part){data, size};
        offset += size;
    }
    return LIANA_OK;
}

liana_status liana__slice_read_parts(const liana__slice *slice, liana__part_list list, size_t thing, char *to,
                                     liana__error *error)
{
    for (size_t i = 0; list == LIANA__PARTS_HELD && i < slice->variables.count; i++) {
        if (!slice->origins[i].held || slice->origins[i].part.thing != thing) continue;
        LIANA_TRY(liana__variable_read(&slice->variables.items[i], to, error));
        to += slice->variables.items[i].buffer->size;
    }
    for (size_t i = 0; list == LIANA__PARTS_OF_SUMS && i < slice->map.counts[list]; i++) {
        if (slice->map.parts[list][i].thing != thing) continue;
        const size_t size = (slice->sum_offsets[i + 1] - slice->sum_offsets[i]) * sizeof(float);
        memcpy(to, liana__slice_sum(slice, i), size);
        to += size;
    }
    return LIANA_OK;
}

liana_status liana__slice_write_held(liana__slice *slice, size_t place, const void *data, liana__error *error)
{
    const size_t element = liana_dtype_size(slice->plan->variables->items[place].buffer->dtype);
    for (size_t i = 0; i < slice->variables.count; i++) {
        const liana__slice_origin *origin = &slice->origins[i];
        if (!origin->held || origin->part.thing != place) continue;
        const char *values = (const char *)data + origin->part.begin * element;
        LIANA_TRY(liana__variable_write(&slice->variables.items[i], values, error));
    }
    return LIANA_OK;
}

liana_status liana__slice_read_held(const liana__slice *slice, size_t place, void *data, liana__error *error)
{
    const size_t element = liana_dtype_size(slice->plan->variables->items[place].buffer->dtype);
    for (size_t i = 0; i < slice->variables.count; i++) {
        const liana__slice_origin *origin = &slice->origins[i];
        if (!origin->held || origin->part.thing != place) continue;
        char *to = (char *)data + origin->part.begin * element;
        LIANA_TRY(liana__variable_read(&slice->variables.items[i], to, error));
    }
    return LIANA_OK;
}

liana_status liana__slice_read_all(const liana__slice *slice, char *to, liana__error *error)
{
    for (size_t i = 0; i < slice->variables.count; i++) {
        LIANA_TRY(liana__variable_read(&slice->variables.items[i], to, error));
        to += slice->variables.items[i].buffer->size;
    }
    return LIANA_OK;
}

liana_status liana__slice_write_all(liana__slice *slice, const char *from, liana__error *error)
{
    for (size_t i = 0; i < slice->variables.count; i++) {
        LIANA_TRY(liana__variable_write(&slice->variables.items[i], from, error));
        from += slice->variables.items[i].buffer->size;
    }
    return LIANA_OK;
}
