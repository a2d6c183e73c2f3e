/* The holders of slices, and how a slice gets another mirror. */
#include "distribute/cluster/sliced_update.h"

#include "base/scoped.h"

#include <stdlib.h>
#include <string.h>

/* ---- choosing ---- */

liana_status liana__mirrors_choose(liana__sliced_update *update, liana__error *error)
{
    liana__cluster *cluster = update->cluster;
    const size_t count = update->num_slices;
    size_t num_left = 0;
    /* Processes may hear of a death at different places of the program: so one names those that are left. */
    LIANA__SCOPED_MEMORY uint64_t *told = calloc(2 + count, sizeof *told);
    if (!told) return liana__fail_memory(error, "the slices of an update");
    told[0] = cluster->generation;
    for (size_t i = 0; i < count; i++) {
        const size_t rank = liana__cluster_owner_rank(cluster, i);
        if (liana__cluster_is_member(cluster, rank)) told[2 + num_left++] = rank;
    }
    told[1] = num_left;
    LIANA_TRY(liana__cluster_follow_chief(cluster, told, (2 + count) * sizeof *told, error));
    update->generation = told[0];
    num_left = (size_t)told[1];
    if (num_left == 0) {
        return liana__fail(error, LIANA_UNAVAILABLE, "no process is left that could own a slice of the update");
    }
    for (size_t i = 0; i < count; i++) {
        update->owners[i] = (size_t)told[2 + i % num_left];
        update->mirrors[i] = update->is_mirrored && num_left > 1 ? (size_t)told[2 + (i + 1) % num_left] : SIZE_MAX;
    }
    return LIANA_OK;
}

/* A process's role for a slice. */
enum { NOTHING, A_MIRROR, THE_OWNER };

/* All tell each other their roles: [processes, slices]. */
static liana_status gather_holdings(const liana__sliced_update *own, unsigned char *all, liana__error *error)
{
    LIANA__SCOPED_MEMORY unsigned char *mine = calloc(own->num_slices, 1);
    if (!mine) return liana__fail_memory(error, "the slices of an update");
    for (size_t i = 0; i < own->num_slices; i++) {
        if (own->slices[i]) mine[i] = own->owners[i] == own->cluster->place.rank ? THE_OWNER : A_MIRROR;
    }
    return liana__cluster_gather(own->cluster, mine, own->num_slices, all, error);
}

/* The first of those that have the slice as `as` or better, but for `not`. */
static size_t find_holder(const liana__sliced_update *own, const unsigned char *all, size_t slice, unsigned char as,
                          size_t not )
{
    for (size_t rank = 0; rank < liana__cluster_size(own->cluster); rank++) {
        if (rank != not &&all[rank * own->num_slices + slice] >= as) return rank;
    }
    return SIZE_MAX;
}

/* The living owner that has the fewest slices; the next ones after the slice's owner are asked first. */
static size_t find_new_mirror(const liana__sliced_update *own, size_t slice)
{
    const liana__cluster *cluster = own->cluster;
    const size_t count = liana__cluster_num_owners(cluster);
    const size_t first = liana__cluster_owner_rank(cluster, 0), after = own->owners[slice] - first;
    size_t best = SIZE_MAX, fewest = SIZE_MAX;
    for (size_t i = 1; i < count; i++) {
        const size_t rank = liana__cluster_owner_rank(cluster, (after + i) % count);
        size_t has = 0;
        if (!liana__cluster_is_member(cluster, rank)) continue;
        for (size_t k = 0; k < own->num_slices; k++) has += own->owners[k] == rank || own->mirrors[k] == rank;
        if (has >= fewest) continue;
        best = rank;
        fewest = has;
    }
    return best;
}

/* The owner of a slice keeps it; of several mirrors the first does. */
static liana_status find_holders(liana__sliced_update *own, const unsigned char *all, liana__error *error)
{
    const size_t rank = own->cluster->place.rank;
    for (size_t i = 0; i < own->num_slices; i++) {
        size_t owner = find_holder(own, all, i, THE_OWNER, SIZE_MAX);
        if (owner == SIZE_MAX) owner = find_holder(own, all, i, A_MIRROR, SIZE_MAX);
        if (owner == SIZE_MAX) {
            return liana__fail(error, LIANA_UNAVAILABLE,
                               "the processes that held slice %zu of the optimizer's state died%s: start the training "
                               "again, it goes on from its newest checkpoint",
                               i,
                               own->is_mirrored ? " before another one had a copy"
                                                : ", and there was no copy (cluster.mirrors)");
        }
        own->owners[i] = owner;
        own->mirrors[i] = own->is_mirrored ? find_holder(own, all, i, A_MIRROR, owner) : SIZE_MAX;
        if (rank == owner || rank == own->mirrors[i]) continue;
        liana__slice_free(own->slices[i]);
        own->slices[i] = NULL;
    }
    return LIANA_OK;
}

/* ---- another mirror ---- */

/* A slice's state as a message: updates that it has seen, its variables, and the sums of the last rounds of all slices,
 * which it may have to tell once more. */
static size_t state_size(const liana__sliced_update *own, const liana__slice *slice)
{
    size_t size = sizeof slice->applied + liana__slice_bytes(slice, true) + liana__slice_bytes(slice, false);
    for (size_t i = 0; i < own->num_slices * own->plan->update->num_rounds; i++) {
        size += (size_t)own->round_sizes[i] * sizeof(float);
    }
    return size;
}

static size_t round_bytes(const liana__sliced_update *own, size_t round)
{
    size_t size = 0;
    for (size_t i = 0; i < own->num_slices; i++) {
        size += (size_t)own->round_sizes[i * own->plan->update->num_rounds + round] * sizeof(float);
    }
    return size;
}

static liana_status write_state(const liana__sliced_update *own, const liana__slice *slice, char *to,
                                liana__error *error)
{
    memcpy(to, &slice->applied, sizeof slice->applied);
    to += sizeof slice->applied;
    LIANA_TRY(liana__slice_read_all(slice, to, error));
    to += liana__slice_bytes(slice, true) + liana__slice_bytes(slice, false);
    for (size_t round = 0; round < own->plan->update->num_rounds; round++) {
        memcpy(to, own->chunk_sums[round], round_bytes(own, round));
        to += round_bytes(own, round);
    }
    return LIANA_OK;
}

static liana_status read_state(liana__sliced_update *own, liana__slice *slice, const char *from, liana__error *error)
{
    memcpy(&slice->applied, from, sizeof slice->applied);
    from += sizeof slice->applied;
    LIANA_TRY(liana__slice_write_all(slice, from, error));
    from += liana__slice_bytes(slice, true) + liana__slice_bytes(slice, false);
    /* The same in all that have applied the update; the others compute them anew. */
    for (size_t round = 0; slice->applied > own->num_updates && round < own->plan->update->num_rounds; round++) {
        memcpy(own->chunk_sums[round], from, round_bytes(own, round));
        from += round_bytes(own, round);
    }
    return LIANA_OK;
}

static liana_status send_state(liana__sliced_update *own, size_t slice, size_t to, liana__error *error)
{
    const size_t size = state_size(own, own->slices[slice]);
    /* The receiver takes its variables for up to date, and would never hear of values written since the last update. */
    LIANA_TRY(liana__slice_refresh(own->slices[slice], error));
    LIANA__SCOPED_MEMORY char *state = malloc(size);
    if (!state) return liana__fail_memory(error, "the mirror of a slice");
    LIANA_TRY(write_state(own, own->slices[slice], state, error));
    return liana__cluster_send(own->cluster, to, LIANA__MESSAGE_MIRROR, slice, state, size, error);
}

static liana_status receive_into(liana__sliced_update *own, size_t slice, liana__slice *made, liana__error *error)
{
    const size_t size = state_size(own, made), owner = own->owners[slice];
    LIANA__SCOPED_MEMORY char *state = malloc(size + 1);
    if (!state) return liana__fail_memory(error, "the mirror of a slice");
    LIANA_TRY(liana__cluster_receive(own->cluster, owner, LIANA__MESSAGE_MIRROR, slice, state, size, error));
    return read_state(own, made, state, error);
}

static liana_status receive_state(liana__sliced_update *own, size_t slice, liana__error *error)
{
    liana__slice *made = NULL;
    liana_status status = liana__slice_create(own->device, own->plan, slice, &made, error);
    if (status == LIANA_OK) status = receive_into(own, slice, made, error);
    if (status != LIANA_OK) liana__slice_free(made);
    own->slices[slice] = status == LIANA_OK ? made : NULL;
    return status;
}

static liana_status make_mirrors(liana__sliced_update *own, liana__error *error)
{
    const size_t rank = own->cluster->place.rank;
    liana__cluster_begin(own->cluster);
    for (size_t i = 0; i < own->num_slices; i++) {
        if (!own->is_mirrored || own->mirrors[i] != SIZE_MAX) continue;
        const size_t mirror = find_new_mirror(own, i);
        if (mirror == SIZE_MAX) continue;
        if (rank == own->owners[i]) LIANA_TRY(send_state(own, i, mirror, error));
        if (rank == mirror) LIANA_TRY(receive_state(own, i, error));
        own->mirrors[i] = mirror;
    }
    return LIANA_OK;
}

liana_status liana__mirrors_follow(liana__sliced_update *update, liana__error *error)
{
    const liana__cluster *cluster = update->cluster;
    if (update->generation == cluster->generation) return LIANA_OK;
    LIANA__SCOPED_MEMORY unsigned char *all = calloc(liana__cluster_size(cluster), update->num_slices);
    if (!all) return liana__fail_memory(error, "the slices of an update");
    LIANA_TRY(gather_holdings(update, all, error));
    LIANA_TRY(find_holders(update, all, error));
    LIANA_TRY(make_mirrors(update, error));
    update->generation = cluster->generation;
    liana__mirrors_count(update);
    return LIANA_OK;
}

/* ---- each step ---- */

bool liana__mirrors_add(const liana__sliced_update *update, const liana__tree_plan *tree)
{
    const liana__cluster *cluster = update->cluster;
    size_t num_members = 0;
    for (size_t i = 0; i < liana__cluster_size(cluster); i++) num_members += liana__cluster_is_member(cluster, i);
    if (!update->is_mirrored || num_members != 2 || cluster->place.num_servers || tree->num_slots != 2) return false;
    return tree->slots[0].replica != tree->slots[1].replica;
}

/* The sums of a piece, and how many bytes they have. */
static float *sums_of(const liana__slice *slice, const liana__chunk_part *piece, size_t *size)
{
    *size = (size_t)(piece->range.end - piece->range.begin) * sizeof(float);
    return liana__slice_sum(slice, piece->part) + piece->skipped;
}

liana_status liana__mirrors_send_chunk(const liana__sliced_update *update, const liana__slice_chunks *chunks,
                                       const liana__slice_chunk *chunk, liana__error *error)
{
    const size_t mirror = update->mirrors[chunk->slice];
    if (update->owners[chunk->slice] != update->cluster->place.rank || mirror == SIZE_MAX) return LIANA_OK;
    LIANA__SCOPED_MEMORY liana__message_part *parts = malloc(chunk->count * sizeof *parts);
    if (!parts) return liana__fail_memory(error, "the sums of a slice");
    for (size_t i = 0; i < chunk->count; i++) {
        const liana__chunk_part *piece = &liana__chunk_parts(chunks, chunk)[i];
        parts[i].data = sums_of(update->slices[chunk->slice], piece, &parts[i].size);
    }
    return liana__cluster_send_parts(update->cluster, mirror, LIANA__MESSAGE_MIRROR, liana__slice_chunk_key(chunk, 0),
                                     parts, chunk->count, error);
}

static liana_status receive_chunk(const liana__sliced_update *update, const liana__slice_chunks *chunks,
                                  const liana__slice_chunk *chunk, liana__error *error)
{
    liana__message message;
    LIANA_TRY(liana__cluster_take(update->cluster, update->owners[chunk->slice], LIANA__MESSAGE_MIRROR,
                                  liana__slice_chunk_key(chunk, 0), chunk->elements * sizeof(float), &message, error));
    const char *from = message.bytes;
    for (size_t i = 0; i < chunk->count; i++) {
        size_t size;
        float *to = sums_of(update->slices[chunk->slice], &liana__chunk_parts(chunks, chunk)[i], &size);
        memcpy(to, from, size);
        from += size;
    }
    liana__message_free(&message);
    return LIANA_OK;
}

liana_status liana__mirrors_receive_sums(const liana__sliced_update *update, const liana__slice_chunks *chunks,
                                         liana__error *error)
{
    for (size_t i = 0; i < update->num_slices; i++) {
        if (update->mirrors[i] != update->cluster->place.rank) continue;
        for (size_t k = chunks->first[i]; k < chunks->first[i + 1]; k++) {
            LIANA_TRY(receive_chunk(update, chunks, &chunks->items[k], error));
        }
        LIANA_TRY(liana__slice_take_sums(update->slices[i], error));
    }
    return LIANA_OK;
}

void liana__mirrors_count(const liana__sliced_update *update)
{
    liana__cluster_counters *counters = &update->cluster->counters;
    counters->slot_bytes = counters->mirror_bytes = counters->variable_bytes = 0;
    for (size_t i = 0; i < update->num_slices; i++) {
        const liana__slice *slice = update->slices[i];
        if (!slice) continue;
        if (update->owners[i] == update->cluster->place.rank) {
            counters->slot_bytes += liana__slice_bytes(slice, true);
            counters->variable_bytes += liana__slice_bytes(slice, false);
        } else {
            counters->mirror_bytes += liana__slice_bytes(slice, true) + liana__slice_bytes(slice, false);
        }
    }
}
