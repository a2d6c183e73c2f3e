/* Chunks of the own blocks are sent as their sums come. */
#include "distribute/cluster/block_sender.h"

#include "base/scoped.h"

void liana__block_sender_free(liana__block_sender *sender)
{
    if (sender->is_made) pthread_mutex_destroy(&sender->mutex);
    liana__slice_chunks_free(&sender->chunks);
    liana__arena_free(&sender->arena);
    *sender = (liana__block_sender){.format = sender->format};
}

static size_t own_blocks(const liana__block_sender *own)
{
    const size_t rank = own->cluster->place.rank;
    if (rank >= own->tree->num_replicas) return 0;
    return own->tree->first_slots[rank + 1] - own->tree->first_slots[rank];
}

/* ---- sending ---- */

/* The receiver of this worker's blocks of a slice; SIZE_MAX: none, since the worker adds them itself. */
static size_t find_receiver(const liana__block_sender *own, size_t slice)
{
    const size_t rank = own->cluster->place.rank, owner = liana__sliced_update_owner(own->update, slice);
    if (owner != rank) return owner;
    return own->to_mirrors ? own->update->mirrors[slice] : SIZE_MAX;
}

static liana_status send_parts(liana__block_sender *own, size_t block, const liana__slice_chunk *chunk,
                               const liana__message_part *parts, size_t num_parts, liana__error *error)
{
    const size_t to = find_receiver(own, chunk->slice);
    pthread_mutex_lock(&own->mutex);
    if (atomic_load(&own->num_to_come)) atomic_fetch_add(&own->sent_early, chunk->size);
    const liana_status status =
        liana__cluster_send_parts(own->cluster, to, LIANA__MESSAGE_BLOCKS, liana__slice_chunk_key(chunk, block), parts,
                                  num_parts, error);
    pthread_mutex_unlock(&own->mutex);
    return status;
}

/* Where the pieces of a chunk lie. */
static void list_parts(const liana__block_sender *own, const liana__slice_chunk *chunk, const float *const *sums,
                       liana__message_part *parts)
{
    const liana__chunk_part *pieces = liana__chunk_parts(&own->chunks, chunk);
    for (size_t i = 0; i < chunk->count; i++) {
        const liana__slice_part *range = &pieces[i].range;
        parts[i] = (liana__message_part){sums[range->thing] + range->begin, liana__wire_part_size(&own->format, range)};
    }
}

static void pack(const liana__block_sender *own, const liana__slice_chunk *chunk, const float *const *sums, char *to)
{
    const liana__chunk_part *pieces = liana__chunk_parts(&own->chunks, chunk);
    for (size_t i = 0; i < chunk->count; i++) {
        to = liana__wire_pack_part(&own->format, &pieces[i].range, sums[pieces[i].range.thing], to);
    }
}

static liana_status send_chunk(liana__block_sender *own, size_t block, const liana__slice_chunk *chunk,
                               const float *const *sums, liana__error *error)
{
    const bool is_plain = liana__wire_is_plain(&own->format);
    if (find_receiver(own, chunk->slice) == SIZE_MAX) return LIANA_OK;
    LIANA__SCOPED_MEMORY void *memory = malloc(is_plain ? chunk->count * sizeof(liana__message_part) : chunk->size);
    if (!memory) return liana__fail_memory(error, "the exchange of sums");
    liana__message_part packed = {memory, chunk->size};
    if (is_plain) {
        list_parts(own, chunk, sums, memory);
    } else {
        pack(own, chunk, sums, memory);
    }
    return send_parts(own, block, chunk, is_plain ? memory : &packed, is_plain ? chunk->count : 1, error);
}

/* A block that cannot be sent counts as sent too: the step fails. */
static void send_now(liana__block_sender *own, size_t block, size_t number)
{
    liana__error error = {0};
    atomic_store(&own->is_sent[block * own->chunks.count + number], true);
    const float *const *sums = own->sums + block * own->chunks.num_sums;
    if (send_chunk(own, block, &own->chunks.items[number], sums, &error) == LIANA_OK) return;
    pthread_mutex_lock(&own->mutex);
    if (own->error.status == LIANA_OK) own->error = error;
    pthread_mutex_unlock(&own->mutex);
}

/* Which of the own blocks begins with a shard; their number: none does. */
static size_t find_block(const liana__block_sender *own, size_t first_leaf)
{
    const liana__tree_slot *slots = own->tree->slots + own->tree->first_slots[own->cluster->place.rank];
    size_t block = 0;
    while (block < own->num_blocks &&
           liana__tree_leaves(own->tree->num_leaves, slots[block].block).begin != first_leaf) {
        block++;
    }
    return block;
}

/* On any of the device's threads. */
static void hear(void *user, size_t first_leaf, size_t sum, const void *data)
{
    liana__block_sender *own = user;
    const liana__slice_chunks *chunks = &own->chunks;
    const size_t block = find_block(own, first_leaf);
    if (block == own->num_blocks || sum >= chunks->num_sums) return;
    own->sums[block * chunks->num_sums + sum] = data;
    atomic_fetch_sub(&own->num_to_come, 1);
    for (size_t i = chunks->first_use[sum]; i < chunks->first_use[sum + 1]; i++) {
        const size_t number = chunks->uses[i];
        if (atomic_fetch_sub(&own->parts[block * chunks->count + number], 1) == 1) send_now(own, block, number);
    }
}

/* ---- a step ---- */

static liana_status make(liana__block_sender *own, size_t num_sums, liana__error *error)
{
    if (own->is_made) return LIANA_OK;
    const liana_status status = liana__slice_chunks_make(&own->format, own->update->maps, own->update->num_slices,
                                                         num_sums, &own->chunks, error);
    if (status != LIANA_OK) {
        liana__slice_chunks_free(&own->chunks);
        return status;
    }
    pthread_mutex_init(&own->mutex, NULL);
    own->is_made = true;
    own->watch = (liana__sum_watch){hear, own};
    return LIANA_OK;
}

static liana_status reserve(liana__block_sender *own, liana__error *error)
{
    const size_t count = own->num_blocks;
    if (count <= own->num_reserved) return LIANA_OK;
    liana__arena_free(&own->arena);
    own->sums = liana__arena_allocate(&own->arena, count * own->chunks.num_sums * sizeof *own->sums);
    own->parts = liana__arena_allocate(&own->arena, count * own->chunks.count * sizeof *own->parts);
    own->is_sent = liana__arena_allocate(&own->arena, count * own->chunks.count * sizeof *own->is_sent);
    own->num_reserved = own->arena.failed ? 0 : count;
    return own->num_reserved ? LIANA_OK : liana__fail_memory(error, "the exchange of sums");
}

liana_status liana__block_sender_begin(liana__block_sender *sender, liana__cluster *cluster,
                                       const liana__tree_plan *tree, const liana__sliced_update *update,
                                       size_t num_sums, liana__error *error)
{
    sender->cluster = cluster;
    sender->tree = tree;
    sender->update = update;
    sender->num_blocks = 0;
    sender->error = (liana__error){0};
    LIANA_TRY(make(sender, num_sums, error));
    sender->num_blocks = own_blocks(sender);
    sender->to_mirrors = liana__mirrors_add(update, tree);
    LIANA_TRY(reserve(sender, error));
    const size_t count = sender->chunks.count;
    for (size_t i = 0; i < sender->num_blocks * count; i++) {
        const liana__slice_chunk *chunk = &sender->chunks.items[i % count];
        atomic_store(&sender->parts[i], chunk->count);
        atomic_store(&sender->is_sent[i], false);
    }
    atomic_store(&sender->num_to_come, sender->num_blocks * num_sums);
    atomic_store(&sender->sent_early, 0);
    return LIANA_OK;
}

/* The chunks of a slice, of all own blocks. */
static liana_status send_rest(liana__block_sender *own, size_t slice, liana__error *error)
{
    const liana__slice_chunks *chunks = &own->chunks;
    for (size_t number = chunks->first[slice]; number < chunks->first[slice + 1]; number++) {
        for (size_t block = 0; block < own->num_blocks; block++) {
            if (atomic_load(&own->is_sent[block * chunks->count + number])) continue;
            const float *const *sums = own->sums + block * chunks->num_sums;
            LIANA_TRY(send_chunk(own, block, &chunks->items[number], sums, error));
        }
    }
    return LIANA_OK;
}

liana_status liana__block_sender_end(liana__block_sender *sender, const liana__local_exchange *local,
                                     liana__error *error)
{
    const size_t num_sums = sender->chunks.num_sums, num_slices = sender->update->num_slices;
    sender->cluster->counters.sent_early += atomic_load(&sender->sent_early);
    if (sender->error.status != LIANA_OK) {
        return liana__fail(error, sender->error.status, "%s", sender->error.message);
    }
    for (size_t block = 0; block < sender->num_blocks; block++) {
        for (size_t sum = 0; sum < num_sums; sum++) {
            sender->sums[block * num_sums + sum] = liana__local_exchange_sum(local, block, sum);
        }
    }
    atomic_store(&sender->num_to_come, 0);
    for (size_t i = 1; i <= num_slices; i++) {
        LIANA_TRY(send_rest(sender, (sender->cluster->place.rank + i) % num_slices, error));
    }
    return LIANA_OK;
}
