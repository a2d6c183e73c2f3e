/* Updates of slices, and the way of new values. */
#include "distribute/cluster/sliced_update.h"

#include "backends/host.h"
#include "base/scoped.h"
#include "distribute/cluster/held.h"
#include "distribute/cluster/recovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- setting up ---- */

void liana__sliced_update_free(liana__sliced_update *update)
{
    if (!update->plan) return;
    for (size_t i = 0; i < update->num_slices; i++) {
        if (update->slices) liana__slice_free(update->slices[i]);
        if (update->maps) liana__slice_map_free(&update->maps[i]);
        if (update->received) liana__message_free(&update->received[i]);
    }
    liana__cluster_counters *counters = &update->cluster->counters;
    counters->slot_bytes = counters->mirror_bytes = counters->variable_bytes = 0;
    liana__arena_free(&update->arena);
    *update = (liana__sliced_update){0};
}

/* How much each slice adds to each round of sums; [slices, rounds] of this process's slices, zeros of the rest. */
static void list_rounds(const liana__sliced_update *own, uint64_t *sizes)
{
    const size_t num_rounds = own->plan->update->num_rounds;
    for (size_t slice = 0; slice < own->num_slices; slice++) {
        for (size_t round = 0; own->slices[slice] && round < num_rounds; round++) {
            const liana__program *program = own->slices[slice]->update.programs[round].program;
            if (!program) continue;
            sizes[slice * num_rounds + round] = (uint64_t)liana_shape_size(&program->graph->outputs[0].node->shape);
        }
    }
}

static liana_status share_rounds(liana__sliced_update *own, liana__error *error)
{
    const size_t num_rounds = own->plan->update->num_rounds, size = liana__cluster_size(own->cluster);
    const size_t count = own->num_slices * num_rounds;
    if (num_rounds == 0) return LIANA_OK;
    LIANA__SCOPED_MEMORY uint64_t *sizes = calloc(count, sizeof *sizes);
    LIANA__SCOPED_MEMORY uint64_t *all = calloc(size * count, sizeof *all);
    own->round_sizes = liana__arena_allocate(&own->arena, count * sizeof *own->round_sizes);
    own->chunk_sums = liana__arena_allocate(&own->arena, num_rounds * sizeof *own->chunk_sums);
    if (!sizes || !all || own->arena.failed) return liana__fail_memory(error, "the sums of an update");
    list_rounds(own, sizes);
    LIANA_TRY(liana__cluster_gather(own->cluster, sizes, count * sizeof *sizes, all, error));
    for (size_t i = 0; i < size * count; i++) {
        if (all[i]) own->round_sizes[i % count] = all[i];
    }
    for (size_t round = 0; round < num_rounds; round++) {
        size_t total = 0;
        for (size_t i = 0; i < own->num_slices; i++) total += (size_t)own->round_sizes[i * num_rounds + round];
        own->chunk_sums[round] = liana__arena_allocate(&own->arena, total * sizeof(float));
        if (!own->chunk_sums[round]) return liana__fail_memory(error, "the sums of an update");
    }
    return LIANA_OK;
}

/* A place whose new values are sent. A device with memory of its own gets them from the host's. */
static liana_status note_sent(liana__sliced_update *own, size_t place, liana__error *error)
{
    if (place >= own->num_places) return liana__fail(error, LIANA_INVALID_DATA, "a process owns no variable of ours");
    const liana__buffer *buffer = own->plan->variables->items[place].buffer;
    if (own->whole[place] || liana__host_view(buffer)) return LIANA_OK;
    own->whole[place] = liana__arena_allocate(&own->arena, buffer->size);
    return own->whole[place] ? LIANA_OK : liana__fail_memory(error, "the new weights");
}

/* Memory for messages. */
static liana_status make_room(liana__sliced_update *own, liana__error *error)
{
    size_t most = 0;
    own->num_places = own->plan->variables->count;
    own->whole = liana__arena_allocate(&own->arena, own->num_places * sizeof *own->whole);
    own->received = liana__arena_allocate(&own->arena, own->num_slices * sizeof *own->received);
    if (!own->whole || !own->received) return liana__fail_memory(error, "the new weights");
    for (size_t i = 0; i < own->num_slices; i++) {
        const liana__slice_map *map = &own->maps[i];
        const size_t count = map->counts[LIANA__PARTS_SENT];
        if (count > most) most = count;
        for (size_t k = 0; k < count; k++) {
            LIANA_TRY(note_sent(own, (size_t)map->parts[LIANA__PARTS_SENT][k].thing, error));
        }
    }
    own->parts = liana__arena_allocate(&own->arena, most * sizeof *own->parts);
    return own->parts ? LIANA_OK : liana__fail_memory(error, "the new weights");
}

static liana_status make_tables(liana__sliced_update *own, liana__error *error)
{
    const size_t count = own->num_slices;
    own->slices = liana__arena_allocate(&own->arena, count * sizeof *own->slices);
    own->owners = liana__arena_allocate(&own->arena, count * sizeof *own->owners);
    own->mirrors = liana__arena_allocate(&own->arena, count * sizeof *own->mirrors);
    own->maps = liana__arena_allocate(&own->arena, count * sizeof *own->maps);
    own->scalars = liana__arena_allocate(&own->arena, own->plan->num_scalars * sizeof *own->scalars);
    return own->arena.failed ? liana__fail_memory(error, "the update") : LIANA_OK;
}

static liana_status compile_slices(liana__sliced_update *own, liana__error *error)
{
    const liana__strategy_plan *plan = own->plan;
    const size_t rank = own->cluster->place.rank;
    if (plan->update->cut) LIANA_TRY(plan->update->cut(plan->update->user, own->num_slices, error));
    for (size_t i = 0; i < own->num_slices; i++) {
        if (own->owners[i] != rank && own->mirrors[i] != rank) continue;
        LIANA_TRY(liana__slice_create(own->device, plan, i, &own->slices[i], error));
    }
    return LIANA_OK;
}

static liana_status share_maps(liana__sliced_update *own, liana__error *error)
{
    LIANA__SCOPED_MEMORY const liana__slice_map **maps = calloc(own->num_slices, sizeof(liana__slice_map *));
    if (!maps) return liana__fail_memory(error, "the slices of an update");
    for (size_t i = 0; i < own->num_slices; i++) maps[i] = own->slices[i] ? &own->slices[i]->map : NULL;
    return liana__slice_maps_gather(own->cluster, maps, own->num_slices, own->maps, error);
}

liana_status liana__sliced_update_create(liana__cluster *cluster, liana__device *device,
                                         const liana__strategy_plan *plan, liana__sliced_update *update,
                                         liana__error *error)
{
    *update = (liana__sliced_update){.plan = plan,
                                     .cluster = cluster,
                                     .device = device,
                                     .num_slices = liana__cluster_num_owners(cluster),
                                     .is_mirrored = cluster->recovery && cluster->place.mirrors};
    liana_status status = make_tables(update, error);
    if (status == LIANA_OK) status = liana__mirrors_choose(update, error);
    if (status == LIANA_OK) status = compile_slices(update, error);
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    LIANA_TRY(share_maps(update, error));
    LIANA_TRY(share_rounds(update, error));
    LIANA_TRY(make_room(update, error));
    liana__mirrors_count(update);
    return LIANA_OK;
}

/* ---- holders ---- */

size_t liana__sliced_update_owner(const liana__sliced_update *update, size_t slice)
{
    const size_t owner = update->owners[slice], mirror = update->mirrors[slice];
    if (liana__cluster_is_member(update->cluster, owner)) return owner;
    return mirror != SIZE_MAX && liana__cluster_is_member(update->cluster, mirror) ? mirror : SIZE_MAX;
}

liana__slice *liana__sliced_update_owned(const liana__sliced_update *update, size_t slice)
{
    const bool own = liana__sliced_update_owner(update, slice) == update->cluster->place.rank;
    return own ? update->slices[slice] : NULL;
}

/* ---- running ---- */

/* Writes a part of a variable, on a device with memory of its own only to the host's. */
static void write_part(const liana__sliced_update *own, const liana__slice_part *part, const char *from)
{
    liana__buffer *buffer = own->plan->variables->items[part->thing].buffer;
    const size_t element = liana_dtype_size(buffer->dtype);
    char *memory = own->whole[part->thing];
    if (!memory) {
        memory = liana__host_view(buffer);
        liana__host_touch(buffer);
    }
    memcpy(memory + part->begin * element, from, (size_t)(part->end - part->begin) * element);
}

static size_t part_bytes(const liana__sliced_update *own, const liana__slice_part *part)
{
    return (size_t)(part->end - part->begin) * liana_dtype_size(own->plan->variables->items[part->thing].buffer->dtype);
}

/* An owner's new values of a list, one behind the other. */
static void unpack(const liana__sliced_update *own, const liana__slice_map *map, liana__part_list list,
                   const char *from)
{
    for (size_t i = 0; i < map->counts[list]; i++) {
        const liana__slice_part *part = &map->parts[list][i];
        write_part(own, part, from);
        from += part_bytes(own, part);
    }
}

/* The same from where the slice has them. */
static liana_status copy_own(liana__sliced_update *own, size_t slice, liana__error *error)
{
    const liana__slice_map *map = &own->maps[slice];
    LIANA_TRY(liana__slice_list_sent(own->slices[slice], own->parts, error));
    for (size_t i = 0; i < map->counts[LIANA__PARTS_SENT]; i++) {
        write_part(own, &map->parts[LIANA__PARTS_SENT][i], own->parts[i].data);
    }
    return LIANA_OK;
}

/* A mirror applies the same update, so it has the new values itself. Where it may have other bits, the owner's
 * count. */
static bool knows_values(const liana__sliced_update *own, size_t slice, size_t rank)
{
    return own->cluster->computes_alike && rank == own->mirrors[slice];
}

/* A message about a slice, to all others. */
static liana_status send_parts_of_slice(const liana__sliced_update *own, liana__cluster_message kind, size_t slice,
                                        const liana__message_part *parts, size_t num_parts, liana__error *error)
{
    const liana__cluster *cluster = own->cluster;
    const size_t count = liana__cluster_size(cluster), rank = cluster->place.rank;
    for (size_t i = 1; i < count; i++) {
        const size_t to = (rank + i) % count;
        if (!liana__cluster_is_member(cluster, to)) continue;
        if (kind == LIANA__MESSAGE_VARIABLES && knows_values(own, slice, to)) continue;
        LIANA_TRY(liana__cluster_send_parts(cluster, to, kind, slice, parts, num_parts, error));
    }
    return LIANA_OK;
}

static liana_status send_of_slice(const liana__sliced_update *own, liana__cluster_message kind, size_t slice,
                                  const void *data, size_t size, liana__error *error)
{
    return send_parts_of_slice(own, kind, slice, &(liana__message_part){data, size}, 1, error);
}

/* Whether the variables have seen the running update before: it is done once more. */
static bool has_applied(const liana__sliced_update *own, const liana__slice *slice)
{
    return slice->applied > own->num_updates;
}

/* The sums of a round from all owners to all. A process that has applied the update knows them from the time before. */
static liana_status exchange_round(liana__sliced_update *own, size_t round, liana__error *error)
{
    const size_t num_rounds = own->plan->update->num_rounds;
    float *to = own->chunk_sums[round];
    for (size_t i = 0; i < own->num_slices; i++) {
        const size_t size = (size_t)own->round_sizes[i * num_rounds + round];
        const liana__slice *slice = liana__sliced_update_owned(own, i);
        if (slice && size) {
            if (!has_applied(own, slice)) memcpy(to, slice->update.programs[round].chunk_sums, size * sizeof *to);
            LIANA_TRY(send_of_slice(own, LIANA__MESSAGE_SUMS, i, to, size * sizeof *to, error));
        }
        to += size;
    }
    to = own->chunk_sums[round];
    for (size_t i = 0; i < own->num_slices; i++) {
        const size_t size = (size_t)own->round_sizes[i * num_rounds + round];
        const size_t from = liana__sliced_update_owner(own, i);
        if (from != own->cluster->place.rank && size) {
            LIANA_TRY(liana__cluster_receive(own->cluster, from, LIANA__MESSAGE_SUMS, i, to, size * sizeof *to, error));
        }
        to += size;
    }
    return LIANA_OK;
}

/* All processes finish the sums, and so come to the same scalars. */
static liana_status run_round(liana__sliced_update *own, size_t round, liana__error *error)
{
    const liana__strategy_plan *plan = own->plan;
    const float *finished;
    for (size_t i = 0; i < own->num_slices; i++) {
        liana__slice *slice = liana__sliced_update_owned(own, i);
        if (!slice || has_applied(own, slice)) continue;
        memcpy(slice->update.scalars, own->scalars, plan->num_scalars * sizeof *own->scalars);
        LIANA_TRY(liana__slice_run(slice, round, error));
    }
    liana__cluster_begin(own->cluster);
    LIANA_TRY(exchange_round(own, round, error));
    LIANA_TRY(
        plan->update->finish_round(plan->update->user, round, own->chunk_sums[round], own->scalars, &finished, error));
    for (size_t i = 0; i < own->num_slices; i++) {
        if (!own->slices[i]) continue;
        const bool reads = plan->update->cut && own->round_sizes[i * plan->update->num_rounds + round];
        own->slices[i]->update.finished[round] =
            finished + (reads ? plan->update->first_finished(plan->update->user, i, round) : 0);
    }
    return LIANA_OK;
}

/* Owners and mirrors do the same. */
static liana_status apply(liana__sliced_update *own, liana__error *error)
{
    const liana__strategy_plan *plan = own->plan;
    for (size_t i = 0; i < own->num_slices; i++) {
        liana__slice *slice = own->slices[i];
        if (!slice || has_applied(own, slice)) continue;
        memcpy(slice->update.scalars, own->scalars, plan->num_scalars * sizeof *own->scalars);
        LIANA_TRY(liana__slice_run(slice, plan->update->num_rounds, error));
        slice->applied = own->num_updates + 1;
    }
    return LIANA_OK;
}

/* Whether this process has the new values of a slice without a message. */
static bool has_values(const liana__sliced_update *own, size_t slice)
{
    return liana__sliced_update_owned(own, slice) || knows_values(own, slice, own->cluster->place.rank);
}

static liana_status send_values(liana__sliced_update *own, liana__error *error)
{
    for (size_t i = 0; i < own->num_slices; i++) {
        const size_t count = own->maps[i].counts[LIANA__PARTS_SENT];
        if (!liana__sliced_update_owned(own, i) || count == 0) continue;
        LIANA_TRY(liana__slice_list_sent(own->slices[i], own->parts, error));
        LIANA_TRY(send_parts_of_slice(own, LIANA__MESSAGE_VARIABLES, i, own->parts, count, error));
    }
    return LIANA_OK;
}

/* All owners' new values to all processes that have not applied the same update. */
static liana_status exchange_values(liana__sliced_update *own, liana__error *error)
{
    liana__cluster *cluster = own->cluster;
    liana__cluster_begin(cluster);
    LIANA_TRY(send_values(own, error));
    for (size_t i = 0; i < own->num_slices; i++) {
        const size_t size = liana__slice_map_bytes(&own->maps[i], LIANA__PARTS_SENT, own->plan->variables);
        liana__message_free(&own->received[i]);
        if (size == 0 || has_values(own, i)) continue;
        const size_t from = liana__sliced_update_owner(own, i);
        LIANA_TRY(liana__cluster_take(cluster, from, LIANA__MESSAGE_VARIABLES, i, size, &own->received[i], error));
    }
    return LIANA_OK;
}

/* Uploads variables that were written on the host only, the first `num_places`. All of these were written. */
static liana_status upload_values(liana__sliced_update *own, size_t num_places, liana__error *error)
{
    liana__variables *all = own->plan->variables;
    for (size_t place = 0; place < num_places; place++) {
        if (own->whole[place]) LIANA_TRY(liana__variable_write(&all->items[place], own->whole[place], error));
    }
    for (size_t i = 0; i < own->num_slices; i++) {
        if (own->slices[i]) liana__slice_written(own->slices[i]);
    }
    return LIANA_OK;
}

static liana_status write_values(liana__sliced_update *own, liana__error *error)
{
    for (size_t i = 0; i < own->num_slices; i++) {
        if (own->received[i].bytes) {
            unpack(own, &own->maps[i], LIANA__PARTS_SENT, own->received[i].bytes);
            liana__message_free(&own->received[i]);
        } else if (has_values(own, i)) {
            LIANA_TRY(copy_own(own, i, error));
        }
    }
    return upload_values(own, own->num_places, error);
}

liana_status liana__sliced_update_run(liana__sliced_update *update, const float *scalars, liana__error *error)
{
    memcpy(update->scalars, scalars, update->plan->num_scalars * sizeof *scalars);
    for (size_t i = 0; i < update->num_slices; i++) {
        if (update->slices[i]) LIANA_TRY(liana__slice_refresh(update->slices[i], error));
    }
    for (size_t round = 0; round < update->plan->update->num_rounds; round++)
        LIANA_TRY(run_round(update, round, error));
    LIANA_TRY(apply(update, error));
    LIANA_TRY(exchange_values(update, error));
    /* A process that comes here has applied the update, and has all new values. */
    LIANA_TRY(liana__cluster_section_end(update->cluster, error));
    update->num_updates++;
    update->cluster->counters.updates++;
    return write_values(update, error);
}

/* ---- parts of an update, of workers that are not in step ---- */

liana_status liana__sliced_update_apply(liana__sliced_update *update, const float *scalars, liana__error *error)
{
    const size_t size = update->plan->num_scalars * sizeof *scalars;
    for (size_t i = 0; i < update->num_slices; i++) {
        liana__slice *slice = liana__sliced_update_owned(update, i);
        if (!slice) continue;
        LIANA_TRY(liana__slice_refresh(slice, error));
        memcpy(slice->update.scalars, scalars, size);
        LIANA_TRY(liana__slice_run(slice, update->plan->update->num_rounds, error));
    }
    update->cluster->counters.updates++;
    return LIANA_OK;
}

void liana__sliced_update_take(liana__sliced_update *update, size_t slice, const char *values)
{
    unpack(update, &update->maps[slice], LIANA__PARTS_FETCHED, values);
}

liana_status liana__sliced_update_write(liana__sliced_update *update, liana__error *error)
{
    return upload_values(update, update->plan->num_leaf_variables, error);
}

liana_status liana__sliced_update_exchange(liana__sliced_update *update, liana__error *error)
{
    for (size_t i = 0; i < update->num_slices; i++) {
        if (update->slices[i]) LIANA_TRY(liana__slice_refresh(update->slices[i], error));
    }
    LIANA_TRY(exchange_values(update, error));
    return write_values(update, error);
}

/* ---- numbers that are not finite ---- */

liana_status liana__sliced_update_check(const liana__sliced_update *update, liana__checked what, int64_t *count,
                                        char name[256], liana__error *error)
{
    *count = 0;
    *name = 0;
    for (size_t i = 0; i < update->num_slices; i++) {
        liana__slice *slice = liana__sliced_update_owned(update, i);
        int64_t found = 0;
        char found_name[256];
        if (!slice) continue;
        LIANA_TRY(liana__slice_check(slice, what, &found, found_name, error));
        if (found && *count == 0) memcpy(name, found_name, sizeof found_name);
        *count += found;
    }
    return LIANA_OK;
}

/* ---- held variables ---- */

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
typedef struct collection {
    liana__sliced_update *update;
    liana__part_list list;
    size_t thing, element;
    char *memory, *data;
} collection;

static liana_status collect(void *user, liana__cluster *cluster, liana__error *error)
{
    const collection *of = user;
    const liana__sliced_update *own = of->update;
    for (size_t i = 0; i < own->num_slices; i++) {
        const liana__slice *slice = liana__sliced_update_owned(own, i);
        const size_t size = liana__slice_map_elements(&own->maps[i], of->list, of->thing) * of->element;
        if (!slice || size == 0) continue;
        LIANA_TRY(liana__slice_read_parts(slice, of->list, of->thing, of->memory, error));
        LIANA_TRY(send_of_slice(own, LIANA__MESSAGE_SUMS, i, of->memory, size, error));
        unpack_to(&own->maps[i], of->list, of->thing, of->element, of->memory, of->data);
    }
    for (size_t i = 0; i < own->num_slices; i++) {
        const size_t from = liana__sliced_update_owner(own, i);
        const size_t size = liana__slice_map_elements(&own->maps[i], of->list, of->thing) * of->element;
        if (from == cluster->place.rank || size == 0) continue;
        if (from == SIZE_MAX) {
            return liana__fail(
                error, LIANA_UNAVAILABLE,
                "the processes that held slice %zu of the optimizer's state are gone: start the training "
                "again, it goes on from its newest checkpoint",
                i);
        }
        LIANA_TRY(liana__cluster_receive(cluster, from, LIANA__MESSAGE_SUMS, i, of->memory, size, error));
        unpack_to(&own->maps[i], of->list, of->thing, of->element, of->memory, of->data);
    }
    return LIANA_OK;
}

/* `size`: bytes of the thing, all of which owners have or `data` has already. */
static liana_status collect_all(collection *of, size_t size, liana__error *error)
{
    const liana__operation operation = {.run = collect, .user = of, .result = of->data, .size = size};
    LIANA__SCOPED_MEMORY char *memory = of->memory = malloc(size + 1);
    return memory ? liana__cluster_operate(of->update->cluster, &operation, error)
                  : liana__fail_memory(error, "what others hold");
}

liana_status liana__sliced_update_gather(liana__sliced_update *update, size_t place, void *data, liana__error *error)
{
    const liana__variable *variable = &update->plan->variables->items[place];
    const liana__buffer *buffer = variable->buffer;
    const size_t element = liana_dtype_size(buffer->dtype);
    const float begins_at = (float)liana__held_begins_at(variable);
    memset(data, 0, buffer->size);
    for (size_t i = 0; buffer->dtype == LIANA_F32 && i < buffer->size / element; i++) ((float *)data)[i] = begins_at;
    collection of = {.update = update, .list = LIANA__PARTS_HELD, .thing = place, .element = element, .data = data};
    const liana_status status = collect_all(&of, buffer->size, error);
    *(status == LIANA_OK ? &update->cluster->held_reads : &update->cluster->held_failures) += 1;
    return status;
}

liana_status liana__sliced_update_scatter(liana__sliced_update *update, size_t place, const void *data,
                                          liana__error *error)
{
    for (size_t i = 0; i < update->num_slices; i++) {
        if (update->slices[i]) LIANA_TRY(liana__slice_write_held(update->slices[i], place, data, error));
    }
    return LIANA_OK;
}

liana_status liana__sliced_update_read_own(const liana__sliced_update *update, size_t place, void *data,
                                           liana__error *error)
{
    for (size_t i = 0; i < update->num_slices; i++) {
        if (update->slices[i]) LIANA_TRY(liana__slice_read_held(update->slices[i], place, data, error));
    }
    return LIANA_OK;
}

liana_status liana__sliced_update_read_sum(liana__sliced_update *update, size_t sum, float *data, liana__error *error)
{
    size_t size = 0;
    for (size_t i = 0; i < update->num_slices; i++) {
        size += liana__slice_map_elements(&update->maps[i], LIANA__PARTS_OF_SUMS, sum);
    }
    collection of = {
        .update = update, .list = LIANA__PARTS_OF_SUMS, .thing = sum, .element = sizeof *data, .data = (char *)data};
    return collect_all(&of, size * sizeof *data, error);
}
