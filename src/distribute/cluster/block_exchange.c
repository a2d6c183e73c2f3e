/* Blocks on their way to the owners of slices. */
#include "distribute/cluster/block_exchange.h"

#include "backends/host_add.h"
#include "base/denormals.h"

#include <stdlib.h>

void liana__block_exchange_free(liana__block_exchange *exchange)
{
    const liana__wire_format format = exchange->sender.format;
    liana__block_sender_free(&exchange->sender);
    for (size_t i = 0; i < exchange->num_slots; i++) free(exchange->slots[i]);
    free(exchange->slots);
    free(exchange->parts);
    free((void *)exchange->own_sums);
    free(exchange->packed);
    free(exchange->reports);
    free(exchange->firsts);
    free(exchange->statuses);
    *exchange = (liana__block_exchange){.context = exchange->context, .sender = {.format = format}};
}

static liana_status reserve_bytes(void **memory, size_t *size, size_t wanted, liana__error *error)
{
    if (wanted <= *size) return LIANA_OK;
    free(*memory);
    *size = 0;
    *memory = malloc(wanted);
    if (!*memory) return liana__fail_memory(error, "the exchange of sums");
    *size = wanted;
    return LIANA_OK;
}

static size_t blocks_of(const liana__tree_plan *tree, size_t worker)
{
    return tree->first_slots[worker + 1] - tree->first_slots[worker];
}

/* Adds what is there: `from` has just come. Additions are in the order of the slots that they take from. */
static void add_up_to(const liana__tree_plan *tree, size_t from, size_t *next, float *const *slots, size_t size,
                      const liana_context *context)
{
    const liana__denormals before = liana__denormals_flush();
    while (*next < tree->num_additions && tree->additions[*next].from <= from) {
        const liana__tree_addition *addition = &tree->additions[(*next)++];
        liana__host_choose_add(context->isa)(slots[addition->into], slots[addition->from], (int64_t)size);
    }
    liana__denormals_restore(before);
}

/* ---- reports ---- */

enum { STATUS_SIZE = sizeof(float) }; /* keeps the sums behind it aligned */

static liana_status make_room(liana__block_exchange *exchange, const liana__cluster *cluster,
                              const liana__tree_plan *tree, size_t size, liana__error *error)
{
    const size_t wanted = tree->num_replicas * STATUS_SIZE + (tree->num_slots + 1) * size * sizeof(float);
    LIANA_TRY(reserve_bytes((void **)&exchange->reports, &exchange->reports_size, wanted, error));
    if (!exchange->statuses) exchange->statuses = calloc(liana__cluster_size(cluster), sizeof *exchange->statuses);
    if (!exchange->statuses) return liana__fail_memory(error, "the exchange of sums");
    if (tree->num_slots <= exchange->num_firsts) return LIANA_OK;
    float **firsts = realloc(exchange->firsts, tree->num_slots * sizeof *firsts);
    if (!firsts) return liana__fail_memory(error, "the exchange of sums");
    exchange->firsts = firsts;
    exchange->num_firsts = tree->num_slots;
    return LIANA_OK;
}

/* Writes the own report, unless it is another worker's, and finds where its sums lie. */
static char *lay_out(liana__block_exchange *exchange, const liana__tree_plan *tree, const liana__local_exchange *local,
                     size_t worker, bool own, liana_status status, size_t size, char *report)
{
    const int32_t said = (int32_t)status;
    if (own) memcpy(report, &said, sizeof said);
    float *sums = (float *)(void *)(report + STATUS_SIZE);
    for (size_t i = 0; i < blocks_of(tree, worker); i++, sums += size) {
        exchange->firsts[tree->first_slots[worker] + i] = sums;
        if (own && status == LIANA_OK) memcpy(sums, local->slots[i], size * sizeof *sums);
        if (own && status != LIANA_OK) memset(sums, 0, size * sizeof *sums);
    }
    return (char *)sums;
}

liana_status liana__block_exchange_report(liana__block_exchange *exchange, liana__cluster *cluster,
                                          const liana__tree_plan *tree, const liana__local_exchange *local, size_t size,
                                          liana_status status, float *first, liana__error *error)
{
    size_t next = 0;
    const size_t rank = cluster->place.rank;
    LIANA_TRY(make_room(exchange, cluster, tree, size, error));
    char *report = exchange->reports;
    for (size_t i = 0; i < tree->num_replicas; i++) {
        char *end = lay_out(exchange, tree, local, i, i == rank, status, size, report);
        if (i == rank) {
            LIANA_TRY(
                liana__cluster_send_to_all(cluster, LIANA__MESSAGE_REPORT, report, (size_t)(end - report), error));
        }
        report = end;
    }
    report = exchange->reports;
    for (size_t i = 0; i < tree->num_replicas; i++) {
        const size_t length = STATUS_SIZE + blocks_of(tree, i) * size * sizeof(float);
        if (!liana__cluster_is_member(cluster, i)) {
            memset(report, 0, length);
        } else if (i != rank) {
            LIANA_TRY(liana__cluster_receive(cluster, i, LIANA__MESSAGE_REPORT, 0, report, length, error));
        }
        memcpy(&exchange->statuses[i], report, sizeof *exchange->statuses);
        report += length;
    }
    LIANA_TRY(liana__cluster_share_error(cluster, exchange->statuses, error));
    for (size_t slot = 0; slot < tree->num_slots; slot++) {
        add_up_to(tree, slot, &next, exchange->firsts, size, exchange->context);
    }
    memcpy(first, exchange->firsts[0], size * sizeof *first);
    return LIANA_OK;
}

/* ---- blocks ---- */

static liana_status reserve_slots(liana__block_exchange *exchange, size_t num_slots, size_t size, liana__error *error)
{
    if (!exchange->own_sums) {
        exchange->own_sums = calloc(exchange->sender.chunks.num_sums + 1, sizeof *exchange->own_sums);
    }
    if (!exchange->own_sums) return liana__fail_memory(error, "the exchange of sums");
    if (exchange->slot_size < size) {
        for (size_t i = 0; i < exchange->num_slots; i++) free(exchange->slots[i]);
        exchange->num_slots = 0;
        exchange->slot_size = size;
    }
    if (num_slots <= exchange->num_slots) return LIANA_OK;
    float **slots = realloc(exchange->slots, num_slots * sizeof *slots);
    if (slots) exchange->slots = slots;
    float **parts = realloc(exchange->parts, num_slots * sizeof *parts);
    if (parts) exchange->parts = parts;
    if (!slots || !parts) return liana__fail_memory(error, "the exchange of sums");
    while (exchange->num_slots < num_slots) {
        float *slot = liana__allocate_aligned(exchange->slot_size * sizeof *slot);
        if (!slot) return liana__fail_memory(error, "the exchange of sums");
        slots[exchange->num_slots++] = slot;
    }
    return LIANA_OK;
}

/* A chunk of all blocks becomes its sum, in the first slot. */
static liana_status add_chunk(liana__block_exchange *exchange, const liana__cluster *cluster,
                              const liana__tree_plan *tree, const liana__local_exchange *local,
                              const liana__slice_map *map, const liana__slice_chunk *chunk, liana__error *error)
{
    const liana__wire_format *format = &exchange->sender.format;
    const float **sums = exchange->own_sums;
    size_t next = 0;
    for (size_t slot = 0; slot < tree->num_slots; slot++) {
        const size_t from = tree->slots[slot].replica, block = slot - tree->first_slots[from];
        exchange->parts[slot] = exchange->slots[slot] + chunk->offset;
        if (from == cluster->place.rank) {
            for (size_t sum = 0; sum < local->num_sums; sum++) sums[sum] = local->slots[block] + local->offsets[sum];
            liana__wire_pack_parts(format, map, chunk->first_part, chunk->end_part, sums, exchange->packed);
        } else {
            LIANA_TRY(liana__cluster_receive(cluster, from, LIANA__MESSAGE_BLOCKS, liana__slice_chunk_key(chunk, block),
                                             exchange->packed, chunk->size, error));
        }
        liana__wire_unpack_parts(format, map, chunk->first_part, chunk->end_part, exchange->packed,
                                 exchange->parts[slot]);
        add_up_to(tree, slot, &next, exchange->parts, chunk->elements, exchange->context);
    }
    return LIANA_OK;
}

/* Whatever is added up goes to the mirror while the next chunk is on its way. */
static liana_status add_slice(liana__block_exchange *exchange, liana__cluster *cluster, const liana__tree_plan *tree,
                              const liana__local_exchange *local, const liana__sliced_update *update, size_t slice,
                              liana__error *error)
{
    const liana__slice_chunks *chunks = &exchange->sender.chunks;
    const liana__slice_map *map = &update->maps[slice];
    LIANA_TRY(reserve_slots(exchange, tree->num_slots, liana__slice_map_sums(map), error));
    for (size_t i = chunks->first[slice]; i < chunks->first[slice + 1]; i++) {
        const liana__slice_chunk *chunk = &chunks->items[i];
        LIANA_TRY(reserve_bytes((void **)&exchange->packed, &exchange->packed_size, chunk->size, error));
        LIANA_TRY(add_chunk(exchange, cluster, tree, local, map, chunk, error));
        LIANA_TRY(liana__mirrors_send_chunk(update, chunk, exchange->parts[0], error));
    }
    return LIANA_OK;
}

liana_status liana__block_exchange_add(liana__block_exchange *exchange, liana__cluster *cluster,
                                       const liana__tree_plan *tree, const liana__local_exchange *local,
                                       const liana__sliced_update *update, liana__error *error)
{
    size_t num_owned = 0;
    for (size_t i = 0; i < update->num_slices; i++) num_owned += liana__sliced_update_owned(update, i) != NULL;
    for (size_t i = 0; i < update->num_slices; i++) {
        liana__slice *slice = liana__sliced_update_owned(update, i);
        const size_t size = liana__slice_map_sums(&update->maps[i]);
        if (!slice || size == 0) continue;
        LIANA_TRY(add_slice(exchange, cluster, tree, local, update, i, error));
        slice->sums = exchange->slots[0];
        if (num_owned == 1) continue;
        /* The slots are for the next slice. */
        LIANA_TRY(liana__slice_reserve(slice, error));
        memcpy(slice->memory, exchange->slots[0], size * sizeof *slice->memory);
    }
    return liana__mirrors_receive_sums(update, &exchange->sender.chunks, error);
}
