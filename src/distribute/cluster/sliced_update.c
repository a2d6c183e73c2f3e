/* An update of one slice, and the way of new values. */
#include "distribute/cluster/sliced_update.h"

#include "distribute/cluster/held.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the slice's variables ---- */

/* Which part of the plan's variables a slice's graph calls so. */
static liana_status find_origin(const liana__sliced_update *own, const liana__node *node, liana__slice_part *part,
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
static liana_status first_values(const liana__sliced_update *own, const liana__slice_part *part, char **values,
                                 char **memory, liana__error *error)
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

static liana_status add_variable(liana__sliced_update *own, const liana__node *node, liana__error *error)
{
    if (liana__variables_find(&own->variables, node->name)) return LIANA_OK;
    liana__slice_origin origin = {0};
    char *values = NULL, *memory = NULL;
    LIANA_TRY(find_origin(own, node, &origin.part, error));
    const liana__variable *from = &own->plan->variables->items[origin.part.thing];
    origin.held = liana__is_held(from);
    origin.version = from->buffer->version;
    if (!liana__grow(&own->origins, own->variables.count, &own->num_origins_allocated, sizeof origin)) {
        return liana__fail_memory(error, "the slice of a variable");
    }
    liana_status status = first_values(own, &origin.part, &values, &memory, error);
    own->origins[own->variables.count] = origin;
    if (status == LIANA_OK) {
        status = liana__variables_add(&own->variables, node->name, node->dtype, &node->shape, values, error);
    }
    free(memory);
    LIANA_TRY(status);
    const size_t size = liana__byte_size(node->dtype, &node->shape);
    *(origin.held ? &own->cluster->counters.slot_bytes : &own->cluster->counters.variable_bytes) += size;
    return LIANA_OK;
}

static liana_status add_variables(liana__sliced_update *own, const liana_graph *graph, liana__error *error)
{
    for (size_t i = 0; graph && i < graph->num_variables; i++) {
        LIANA_TRY(add_variable(own, graph->variables[i], error));
    }
    return LIANA_OK;
}

/* ---- the slice's plan ---- */

static liana_status build_update(void *user, liana_graph **graph, liana__error *error)
{
    liana__sliced_update *own = user;
    const liana__strategy_plan *plan = own->plan;
    *graph = NULL;
    if (own->slice == liana__cluster_num_owners(own->cluster)) return LIANA_OK;
    if (plan->slicing) {
        LIANA_TRY(plan->slicing->build_update(plan->user, own->slice, graph, error));
    } else if (own->slice == 0) {
        LIANA_TRY(plan->build_update(plan->user, graph, error));
    }
    liana_status status = add_variables(own, *graph, error);
    if (status != LIANA_OK) liana_graph_destroy(*graph);
    return status;
}

static liana_status build_sums(void *user, size_t round, liana_graph **graph, liana__error *error)
{
    liana__sliced_update *own = user;
    const liana__strategy_plan *plan = own->plan;
    *graph = NULL;
    if (own->slice == liana__cluster_num_owners(own->cluster)) return LIANA_OK;
    if (plan->slicing) {
        LIANA_TRY(plan->slicing->build_sums(plan->user, own->slice, round, graph, error));
    } else if (own->slice == 0) {
        LIANA_TRY(plan->build_sums(plan->user, round, graph, error));
    }
    if (!*graph) own->of_part.updates_ignore_sums = true;
    liana_status status = add_variables(own, *graph, error);
    if (status != LIANA_OK) liana_graph_destroy(*graph);
    return status;
}

/* All owners' sums of a round, in the order of the slices, are finished by everybody. */
static liana_status finish_sums(void *user, size_t round, const float *chunk_sums, float *scalars,
                                const float **finished, liana__error *error)
{
    liana__sliced_update *own = user;
    liana__cluster *cluster = own->cluster;
    const size_t num_rounds = own->plan->num_sum_rounds, rank = cluster->place.rank;
    const uint64_t *sizes = own->round_sizes;
    float *to = own->chunk_sums[round];
    liana__cluster_begin(cluster);
    const size_t own_size = (size_t)sizes[rank * num_rounds + round];
    if (own_size) {
        LIANA_TRY(liana__cluster_send_to_all(cluster, LIANA__MESSAGE_SUMS, chunk_sums, own_size * sizeof *to, error));
    }
    for (size_t i = 0; i < liana__cluster_num_owners(cluster); i++) {
        const size_t from = liana__cluster_owner_rank(cluster, i), size = (size_t)sizes[from * num_rounds + round];
        if (from == rank && size) memcpy(to, chunk_sums, size * sizeof *to);
        if (from != rank && size) {
            LIANA_TRY(liana__cluster_receive(cluster, from, LIANA__MESSAGE_SUMS, 0, to, size * sizeof *to, error));
        }
        to += size;
    }
    const liana__strategy_plan *plan = own->plan;
    LIANA_TRY(plan->finish_sums(plan->user, round, own->chunk_sums[round], scalars, finished, error));
    if (own_size && plan->slicing) *finished += plan->slicing->first_finished(plan->user, own->slice, round);
    return LIANA_OK;
}

/* The part of the own sums that an input reads; SIZE_MAX if there is no memory for it. */
static size_t find_sum(void *user, const char *input)
{
    liana__sliced_update *own = user;
    const liana__strategy_plan *plan = own->plan;
    char name[512];
    liana__slice_part part = {0};
    bool is_piece = plan->slicing && !liana__variables_find(plan->variables, input) &&
                    liana__piece_of_name(input, name, sizeof name, &part.begin, &part.end);
    part.thing = plan->find_sum(plan->user, is_piece ? name : input);
    liana__slice_map *map = &own->own;
    for (size_t i = 0; i < map->counts[LIANA__PARTS_OF_SUMS]; i++) {
        const liana__slice_part *known = &map->parts[LIANA__PARTS_OF_SUMS][i];
        if (known->thing == part.thing && (!is_piece || known->begin == part.begin)) return i;
    }
    const liana_status status = liana__slice_map_add(map, LIANA__PARTS_OF_SUMS, part, NULL);
    return status == LIANA_OK ? map->counts[LIANA__PARTS_OF_SUMS] - 1 : SIZE_MAX;
}

/* ---- setting up ---- */

void liana__sliced_update_free(liana__sliced_update *update)
{
    if (!update->plan) return;
    liana__finite_check_free(&update->sums_check);
    liana__finite_check_free(&update->new_values);
    if (update->update.plan) liana__replica_update_free(&update->update);
    for (size_t i = 0; i < update->variables.count; i++) {
        const liana__buffer *buffer = update->variables.items[i].buffer;
        *(update->origins[i].held ? &update->cluster->counters.slot_bytes
                                  : &update->cluster->counters.variable_bytes) -= buffer->size;
    }
    if (update->variables.device) liana__variables_free(&update->variables);
    for (size_t i = 0; update->maps && i < liana__cluster_num_owners(update->cluster); i++) {
        liana__slice_map_free(&update->maps[i]);
    }
    liana__slice_map_free(&update->own);
    for (size_t i = 0; update->chunk_sums && i < update->plan->num_sum_rounds; i++) free(update->chunk_sums[i]);
    for (size_t i = 0; update->whole && i < update->num_places; i++) free(update->whole[i]);
    free(update->chunk_sums);
    free(update->whole);
    free(update->maps);
    free(update->origins);
    free(update->sum_offsets);
    free(update->round_sizes);
    free(update->packed);
    *update = (liana__sliced_update){0};
}

/* The sizes of the own sums are known from the graph that reads them. */
static liana_status place_sums(liana__sliced_update *own, liana__error *error)
{
    liana__slice_map *map = &own->own;
    for (size_t number = 0; number <= own->plan->num_sum_rounds; number++) {
        const liana__update_program *program = &own->update.programs[number];
        for (size_t i = 0; program->program && i < program->num_read; i++) {
            if (program->sums_read[i] == SIZE_MAX) return liana__fail_memory(error, "the slice of an update");
            liana__slice_part *part = &map->parts[LIANA__PARTS_OF_SUMS][program->sums_read[i]];
            part->end = part->begin + (uint64_t)liana_shape_size(&program->program->graph->inputs[i]->shape);
        }
    }
    own->sum_offsets = calloc(map->counts[LIANA__PARTS_OF_SUMS] + 1, sizeof *own->sum_offsets);
    if (!own->sum_offsets) return liana__fail_memory(error, "the slice of an update");
    for (size_t i = 0; i < map->counts[LIANA__PARTS_OF_SUMS]; i++) {
        const liana__slice_part *part = &map->parts[LIANA__PARTS_OF_SUMS][i];
        own->sum_offsets[i + 1] = own->sum_offsets[i] + (size_t)(part->end - part->begin);
    }
    return LIANA_OK;
}

static const liana_graph *update_graph(const liana__sliced_update *own)
{
    const liana__program *program = own->update.programs[own->plan->num_sum_rounds].program;
    return program ? program->graph : NULL;
}

/* What is held, and what is sent once it is new. */
static liana_status list_variables(liana__sliced_update *own, liana__error *error)
{
    const liana_graph *graph = update_graph(own);
    for (size_t i = 0; graph && i < graph->num_assignments; i++) {
        const liana__variable *found = liana__variables_find(&own->variables, graph->assignments[i].variable->name);
        own->origins[found - own->variables.items].assigned = true;
    }
    for (size_t i = 0; i < own->variables.count; i++) {
        const liana__slice_origin *origin = &own->origins[i];
        if (!origin->held && !origin->assigned) continue;
        const liana__part_list list = origin->held ? LIANA__PARTS_HELD : LIANA__PARTS_SENT;
        LIANA_TRY(liana__slice_map_add(&own->own, list, origin->part, error));
    }
    return LIANA_OK;
}

static liana_status make_checks(liana__sliced_update *own, liana__error *error)
{
    const liana_graph *graph = update_graph(own);
    if (!graph) return LIANA_OK;
    const liana__update_program *last = &own->update.programs[own->plan->num_sum_rounds];
    LIANA_TRY(liana__finite_check_create(own->device, graph->inputs, last->num_read, NULL, &own->sums_check, error));
    liana__node **assigned = calloc(graph->num_assignments + 1, sizeof *assigned);
    if (!assigned) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < graph->num_assignments; i++) assigned[i] = graph->assignments[i].variable;
    liana_status status = liana__finite_check_create(own->device, assigned, graph->num_assignments, &own->variables,
                                                     &own->new_values, error);
    free(assigned);
    return status;
}

/* How much each process adds to each round of sums. */
static liana_status share_rounds(liana__sliced_update *own, liana__error *error)
{
    const size_t num_rounds = own->plan->num_sum_rounds, size = liana__cluster_size(own->cluster);
    if (num_rounds == 0) return LIANA_OK;
    uint64_t *sizes = calloc(num_rounds, sizeof *sizes);
    own->round_sizes = calloc(size * num_rounds, sizeof *own->round_sizes);
    own->chunk_sums = calloc(num_rounds, sizeof *own->chunk_sums);
    liana_status status =
        sizes && own->round_sizes && own->chunk_sums ? LIANA_OK : liana__fail_memory(error, "the sums of an update");
    for (size_t round = 0; status == LIANA_OK && round < num_rounds; round++) {
        const liana__program *program = own->update.programs[round].program;
        if (program) sizes[round] = (uint64_t)liana_shape_size(&program->graph->outputs[0].node->shape);
    }
    if (status == LIANA_OK) {
        status = liana__cluster_gather(own->cluster, sizes, num_rounds * sizeof *sizes, own->round_sizes, error);
    }
    for (size_t round = 0; status == LIANA_OK && round < num_rounds; round++) {
        size_t total = 0;
        for (size_t i = 0; i < size; i++) total += (size_t)own->round_sizes[i * num_rounds + round];
        own->chunk_sums[round] = calloc(total + 1, sizeof(float));
        if (!own->chunk_sums[round]) status = liana__fail_memory(error, "the sums of an update");
    }
    free(sizes);
    return status;
}

/* Memory for what is sent. */
static liana_status make_room(liana__sliced_update *own, liana__error *error)
{
    const liana__variables *all = own->plan->variables;
    size_t largest = 0;
    own->num_places = all->count;
    own->whole = calloc(all->count + 1, sizeof *own->whole);
    if (!own->whole) return liana__fail_memory(error, "the new weights");
    for (size_t i = 0; i < liana__cluster_num_owners(own->cluster); i++) {
        const liana__slice_map *map = &own->maps[i];
        const size_t size = liana__slice_map_sent(map, all);
        if (size > largest) largest = size;
        for (size_t k = 0; k < map->counts[LIANA__PARTS_SENT]; k++) {
            const size_t place = (size_t)map->parts[LIANA__PARTS_SENT][k].thing;
            if (place >= all->count)
                return liana__fail(error, LIANA_INVALID_DATA, "a process owns no variable of ours");
            if (!own->whole[place]) own->whole[place] = malloc(all->items[place].buffer->size + 1);
            if (!own->whole[place]) return liana__fail_memory(error, "the new weights");
        }
    }
    own->packed = malloc(largest + 1);
    return own->packed ? LIANA_OK : liana__fail_memory(error, "the new weights");
}

static liana_status compile_slice(liana__sliced_update *own, liana__error *error)
{
    const liana__strategy_plan *plan = own->plan;
    if (plan->slicing) LIANA_TRY(plan->slicing->cut(plan->user, liana__cluster_num_owners(own->cluster), error));
    LIANA_TRY(liana__replica_update_create(own->device, &own->of_part, &own->update, error));
    LIANA_TRY(place_sums(own, error));
    LIANA_TRY(list_variables(own, error));
    return make_checks(own, error);
}

liana_status liana__sliced_update_create(liana__cluster *cluster, liana__device *device,
                                         const liana__strategy_plan *plan, liana__sliced_update *update,
                                         liana__error *error)
{
    *update = (liana__sliced_update){.plan = plan,
                                     .cluster = cluster,
                                     .device = device,
                                     .slice = liana__cluster_own_slice(cluster)};
    liana__variables_init(&update->variables, device);
    update->of_part = *plan;
    update->of_part.build_update = build_update;
    update->of_part.build_sums = build_sums;
    update->of_part.finish_sums = finish_sums;
    update->of_part.find_sum = find_sum;
    update->of_part.user = update;
    update->of_part.variables = &update->variables;
    update->maps = calloc(liana__cluster_num_owners(cluster), sizeof *update->maps);
    liana_status status = update->maps ? compile_slice(update, error) : liana__fail_memory(error, "the update");
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    LIANA_TRY(liana__slice_maps_gather(cluster, &update->own, update->maps, error));
    LIANA_TRY(share_rounds(update, error));
    return make_room(update, error);
}

/* ---- running ---- */

/* Takes over what was written to the plan's variables from outside of updates. */
static liana_status refresh(liana__sliced_update *own, liana__error *error)
{
    for (size_t i = 0; i < own->variables.count; i++) {
        liana__slice_origin *origin = &own->origins[i];
        const liana__variable *from = &own->plan->variables->items[origin->part.thing];
        if (origin->held || origin->version == from->buffer->version) continue;
        char *values = NULL, *memory = NULL;
        liana_status status = first_values(own, &origin->part, &values, &memory, error);
        if (status == LIANA_OK) status = liana__variable_write(&own->variables.items[i], values, error);
        free(memory);
        LIANA_TRY(status);
        origin->version = from->buffer->version;
    }
    return LIANA_OK;
}

static liana_status feed_sum(void *user, liana__program *program, size_t input, size_t sum, liana__error *error)
{
    const liana__sliced_update *own = user;
    const liana__node *node = program->graph->inputs[input];
    return liana__program_feed(program, input, node->dtype, &node->shape, own->sums + own->sum_offsets[sum], error);
}

/* Copies an owner's new values, one behind the other, to their places. */
static void unpack(liana__sliced_update *own, const liana__slice_map *map, const char *from)
{
    for (size_t i = 0; i < map->counts[LIANA__PARTS_SENT]; i++) {
        const liana__slice_part *part = &map->parts[LIANA__PARTS_SENT][i];
        const size_t element = liana_dtype_size(own->plan->variables->items[part->thing].buffer->dtype);
        const size_t size = (size_t)(part->end - part->begin) * element;
        memcpy(own->whole[part->thing] + part->begin * element, from, size);
        from += size;
    }
}

liana_status liana__sliced_update_give(liana__sliced_update *update, char *values, size_t *size, liana__error *error)
{
    char *to = values;
    LIANA_TRY(refresh(update, error));
    for (size_t i = 0; i < update->variables.count; i++) {
        if (update->origins[i].held || !update->origins[i].assigned) continue;
        LIANA_TRY(liana__variable_read(&update->variables.items[i], to, error));
        to += update->variables.items[i].buffer->size;
    }
    *size = (size_t)(to - values);
    return LIANA_OK;
}

static liana_status send_values(liana__sliced_update *own, liana__error *error)
{
    size_t size;
    LIANA_TRY(liana__sliced_update_give(own, own->packed, &size, error));
    if (size == 0) return LIANA_OK;
    LIANA_TRY(liana__cluster_send_to_all(own->cluster, LIANA__MESSAGE_VARIABLES, own->packed, size, error));
    unpack(own, &own->own, own->packed);
    return LIANA_OK;
}

static liana_status write_values(liana__sliced_update *own, liana__error *error)
{
    liana__variables *all = own->plan->variables;
    for (size_t place = 0; place < own->num_places; place++) {
        if (own->whole[place]) LIANA_TRY(liana__variable_write(&all->items[place], own->whole[place], error));
    }
    for (size_t i = 0; i < own->variables.count; i++) {
        liana__slice_origin *origin = &own->origins[i];
        if (origin->assigned) origin->version = all->items[origin->part.thing].buffer->version;
    }
    return LIANA_OK;
}

/* All owners' new values to all processes. */
static liana_status exchange_values(liana__sliced_update *own, liana__error *error)
{
    liana__cluster *cluster = own->cluster;
    liana__cluster_begin(cluster);
    LIANA_TRY(send_values(own, error));
    for (size_t i = 0; i < liana__cluster_num_owners(cluster); i++) {
        const size_t from = liana__cluster_owner_rank(cluster, i);
        const size_t size = liana__slice_map_sent(&own->maps[i], own->plan->variables);
        if (from == cluster->place.rank || size == 0) continue;
        LIANA_TRY(liana__cluster_receive(cluster, from, LIANA__MESSAGE_VARIABLES, 0, own->packed, size, error));
        unpack(own, &own->maps[i], own->packed);
    }
    return write_values(own, error);
}

liana_status liana__sliced_update_apply(liana__sliced_update *update, const float *sums, const float *scalars,
                                        liana__error *error)
{
    LIANA_TRY(refresh(update, error));
    update->sums = sums;
    LIANA_TRY(liana__replica_update_run(&update->update, &(liana__sum_feed){feed_sum, update}, scalars, error));
    update->cluster->counters.updates++;
    return LIANA_OK;
}

liana_status liana__sliced_update_run(liana__sliced_update *update, const float *sums, const float *scalars,
                                      liana__error *error)
{
    LIANA_TRY(liana__sliced_update_apply(update, sums, scalars, error));
    return exchange_values(update, error);
}

void liana__sliced_update_take(liana__sliced_update *update, size_t owner, const char *values)
{
    unpack(update, &update->maps[owner], values);
}

liana_status liana__sliced_update_write(liana__sliced_update *update, liana__error *error)
{
    return write_values(update, error);
}

liana_status liana__sliced_update_exchange(liana__sliced_update *update, liana__error *error)
{
    return exchange_values(update, error);
}

liana_status liana__sliced_update_check(liana__sliced_update *update, liana__checked what, const float *sums,
                                        int64_t *count, char name[256], liana__error *error)
{
    liana__finite_check *check = what == LIANA__CHECK_SUMS ? &update->sums_check : &update->new_values;
    const liana__update_program *last = &update->update.programs[update->plan->num_sum_rounds];
    liana__non_finite found;
    uint64_t begin, end;
    *name = 0;
    update->sums = sums;
    for (size_t i = 0; what == LIANA__CHECK_SUMS && check->program && i < last->num_read; i++) {
        LIANA_TRY(feed_sum(update, check->program, i, last->sums_read[i], error));
    }
    LIANA_TRY(liana__finite_check_run(check, &found, error));
    *count = found.count;
    if (!found.name) return LIANA_OK;
    const bool whole = liana__variables_find(update->plan->variables, found.name) != NULL;
    if (whole || !liana__piece_of_name(found.name, name, 256, &begin, &end)) snprintf(name, 256, "%s", found.name);
    return LIANA_OK;
}

/* ---- what owners hold ---- */

/* Copies the own parts of a thing, one behind the other. */
static liana_status pack_own(const liana__sliced_update *own, liana__part_list list, size_t thing, char *to,
                             liana__error *error)
{
    for (size_t i = 0; list == LIANA__PARTS_HELD && i < own->variables.count; i++) {
        if (!own->origins[i].held || own->origins[i].part.thing != thing) continue;
        LIANA_TRY(liana__variable_read(&own->variables.items[i], to, error));
        to += own->variables.items[i].buffer->size;
    }
    for (size_t i = 0; list == LIANA__PARTS_OF_SUMS && i < own->own.counts[list]; i++) {
        if (own->own.parts[list][i].thing != thing) continue;
        const size_t size = (own->sum_offsets[i + 1] - own->sum_offsets[i]) * sizeof(float);
        memcpy(to, own->sums + own->sum_offsets[i], size);
        to += size;
    }
    return LIANA_OK;
}

static void unpack_to(const liana__slice_map *map, liana__part_list list, size_t thing, size_t element,
                      const char *from, char *data)
{
    for (size_t i = 0; i < map->counts[list]; i++) {
        const liana__slice_part *part = &map->parts[list][i];
        const size_t size = (size_t)(part->end - part->begin) * element;
        if (part->thing != thing) continue;
        memcpy(data + part->begin * element, from, size);
        from += size;
    }
}

/* The parts of one thing from all their owners to all processes. `memory` has room for the thing. */
static liana_status collect(liana__sliced_update *own, liana__part_list list, size_t thing, size_t element,
                            char *memory, char *data, liana__error *error)
{
    liana__cluster *cluster = own->cluster;
    const size_t size = liana__slice_map_elements(&own->own, list, thing) * element;
    liana__cluster_begin(cluster);
    if (size) {
        LIANA_TRY(pack_own(own, list, thing, memory, error));
        LIANA_TRY(liana__cluster_send_to_all(cluster, LIANA__MESSAGE_SUMS, memory, size, error));
        unpack_to(&own->own, list, thing, element, memory, data);
    }
    for (size_t i = 0; i < liana__cluster_num_owners(cluster); i++) {
        const size_t from = liana__cluster_owner_rank(cluster, i);
        const size_t length = liana__slice_map_elements(&own->maps[i], list, thing) * element;
        if (from == cluster->place.rank || length == 0) continue;
        LIANA_TRY(liana__cluster_receive(cluster, from, LIANA__MESSAGE_SUMS, 0, memory, length, error));
        unpack_to(&own->maps[i], list, thing, element, memory, data);
    }
    return LIANA_OK;
}

liana_status liana__sliced_update_gather(liana__sliced_update *update, size_t place, void *data, liana__error *error)
{
    const liana__variable *variable = &update->plan->variables->items[place];
    const liana__buffer *buffer = variable->buffer;
    const size_t element = liana_dtype_size(buffer->dtype);
    const float begins_at = (float)liana__held_begins_at(variable);
    char *memory = malloc(buffer->size + 1);
    if (!memory) return liana__fail_memory(error, "what others hold");
    memset(data, 0, buffer->size);
    for (size_t i = 0; buffer->dtype == LIANA_F32 && i < buffer->size / element; i++) ((float *)data)[i] = begins_at;
    liana_status status = collect(update, LIANA__PARTS_HELD, place, element, memory, data, error);
    free(memory);
    return status;
}

liana_status liana__sliced_update_scatter(liana__sliced_update *update, size_t place, const void *data,
                                          liana__error *error)
{
    const size_t element = liana_dtype_size(update->plan->variables->items[place].buffer->dtype);
    for (size_t i = 0; i < update->variables.count; i++) {
        const liana__slice_origin *origin = &update->origins[i];
        if (!origin->held || origin->part.thing != place) continue;
        const char *values = (const char *)data + origin->part.begin * element;
        LIANA_TRY(liana__variable_write(&update->variables.items[i], values, error));
    }
    return LIANA_OK;
}

liana_status liana__sliced_update_read_own(const liana__sliced_update *update, size_t place, void *data,
                                           liana__error *error)
{
    const size_t element = liana_dtype_size(update->plan->variables->items[place].buffer->dtype);
    for (size_t i = 0; i < update->variables.count; i++) {
        const liana__slice_origin *origin = &update->origins[i];
        if (!origin->held || origin->part.thing != place) continue;
        char *to = (char *)data + origin->part.begin * element;
        LIANA_TRY(liana__variable_read(&update->variables.items[i], to, error));
    }
    return LIANA_OK;
}

liana_status liana__sliced_update_read_sum(liana__sliced_update *update, size_t sum, const float *sums, float *data,
                                           liana__error *error)
{
    size_t size = 0;
    update->sums = sums;
    for (size_t i = 0; i < liana__cluster_num_owners(update->cluster); i++) {
        size += liana__slice_map_elements(&update->maps[i], LIANA__PARTS_OF_SUMS, sum);
    }
    char *memory = malloc(size * sizeof *data + 1);
    if (!memory) return liana__fail_memory(error, "a sum of the leaves");
    liana_status status = collect(update, LIANA__PARTS_OF_SUMS, sum, sizeof *data, memory, (char *)data, error);
    free(memory);
    return status;
}
