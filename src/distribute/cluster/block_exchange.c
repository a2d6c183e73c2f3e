/* Blocks on their way to the owners of slices. */
#include "distribute/cluster/block_exchange.h"

#include "backends/host_add.h"
#include "base/denormals.h"

#include <stdlib.h>
#include <string.h>

void liana__block_exchange_free(liana__block_exchange *exchange)
{
    const liana__wire_format format = exchange->sender.format;
    liana__block_sender_free(&exchange->sender);
    for (size_t i = 0; i < exchange->num_slots; i++) {
        liana__message_free(&exchange->messages[i]);
        free(exchange->rooms[i]);
    }
    free(exchange->messages);
    free(exchange->rooms);
    free((void *)exchange->where);
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

/* Adds the slices that are there: `from` has just come. Additions are in the order of the slots that they take from. */
static void add_up_to(const liana__tree_plan *tree, size_t from, size_t *next, float *const *slots, size_t size,
                      const liana_context *context)
{
    const liana__denormals before = liana__denormals_flush();
    while (*next < tree->num_additions && tree->additions[*next].from <= from) {
        const liana__tree_addition *addition = &tree->additions[(*next)++];
        float *into = slots[addition->into];
        liana__host_choose_add(context->isa)(into, into, slots[addition->from], (int64_t)size);
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
        if (own && status == LIANA_OK) memcpy(sums, liana__local_exchange_sum(local, i, 0), size * sizeof *sums);
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

/* A chunk that is being added up. */
typedef struct addition {
    liana__block_exchange *exchange;
    const liana__tree_plan *tree;
    liana__slice *slice;
    const liana__slice_chunk *chunk;
    const liana__chunk_part *parts; /* of the chunk */
    size_t count;                   /* of them */
} addition;

static size_t part_size(const addition *own, size_t part)
{
    return (size_t)(own->parts[part].range.end - own->parts[part].range.begin);
}

static const float **place_of(const addition *own, size_t slot, size_t part)
{
    return &own->exchange->where[slot * own->count + part];
}

static liana_status reserve_slots(liana__block_exchange *exchange, size_t num_slots, liana__error *error)
{
    if (num_slots <= exchange->num_slots) return LIANA_OK;
    liana__message *messages = realloc(exchange->messages, num_slots * sizeof *messages);
    if (messages) exchange->messages = messages;
    float **rooms = realloc(exchange->rooms, num_slots * sizeof *rooms);
    if (rooms) exchange->rooms = rooms;
    if (!messages || !rooms) return liana__fail_memory(error, "the exchange of sums");
    for (; exchange->num_slots < num_slots; exchange->num_slots++) {
        messages[exchange->num_slots] = (liana__message){0};
        rooms[exchange->num_slots] = NULL;
    }
    return LIANA_OK;
}

/* Room for the chunk as each block has it. */
static liana_status reserve_chunk(const addition *own, liana__error *error)
{
    liana__block_exchange *exchange = own->exchange;
    const size_t num_slots = own->tree->num_slots, before = exchange->num_slots;
    LIANA_TRY(reserve_slots(exchange, num_slots, error));
    if (num_slots * own->count > exchange->num_parts) {
        free((void *)exchange->where);
        exchange->where = malloc(num_slots * own->count * sizeof *exchange->where);
        exchange->num_parts = exchange->where ? num_slots * own->count : 0;
        if (!exchange->where) return liana__fail_memory(error, "the exchange of sums");
    }
    const bool grows = own->chunk->elements > exchange->room_size;
    if (grows) exchange->room_size = own->chunk->elements;
    for (size_t slot = grows ? 0 : before; slot < exchange->num_slots; slot++) {
        free(exchange->rooms[slot]);
        exchange->rooms[slot] = liana__allocate_aligned(exchange->room_size * sizeof(float));
        if (exchange->rooms[slot]) continue;
        exchange->room_size = 0;
        return liana__fail_memory(error, "the exchange of sums");
    }
    return LIANA_OK;
}

/* A block of this worker: as its device has it, and as others would receive it. */
static void find_own(const addition *own, size_t slot, size_t block)
{
    const liana__block_sender *sender = &own->exchange->sender;
    const float *const *sums = sender->sums + block * sender->chunks.num_sums;
    for (size_t i = 0; i < own->count; i++) {
        const liana__slice_part *range = &own->parts[i].range;
        *place_of(own, slot, i) = liana__wire_round_part(&sender->format, range, sums[range->thing] + range->begin,
                                                         own->exchange->rooms[slot] + own->parts[i].offset);
    }
}

static liana_status receive(const addition *own, const liana__cluster *cluster, size_t slot, size_t from, size_t block,
                            liana__error *error)
{
    liana__message *message = &own->exchange->messages[slot];
    LIANA_TRY(liana__cluster_take(cluster, from, LIANA__MESSAGE_BLOCKS, liana__slice_chunk_key(own->chunk, block),
                                  own->chunk->size, message, error));
    const char *bytes = message->bytes;
    for (size_t i = 0; i < own->count; i++) {
        *place_of(own, slot, i) = liana__wire_read_part(&own->exchange->sender.format, &own->parts[i].range, &bytes,
                                                        own->exchange->rooms[slot] + own->parts[i].offset);
    }
    return LIANA_OK;
}

/* The sum of all is the first slot's, and the slice's. */
static float *sum_of(const addition *own, size_t slot, size_t part)
{
    const liana__chunk_part *piece = &own->parts[part];
    if (slot == 0) return liana__slice_sum(own->slice, piece->part) + piece->skipped;
    return own->exchange->rooms[slot] + piece->offset;
}

static void add_parts(const addition *own, const liana__tree_addition *pair)
{
    const liana__host_add_loop add = liana__host_choose_add(own->exchange->context->isa);
    for (size_t i = 0; i < own->count; i++) {
        const float **left = place_of(own, pair->into, i);
        float *sum = sum_of(own, pair->into, i);
        add(sum, *left, *place_of(own, pair->from, i), (int64_t)part_size(own, i));
        *left = sum;
    }
}

/* A slice that was not added to any is copied. */
static void finish(const addition *own)
{
    for (size_t i = 0; i < own->count; i++) {
        float *sum = sum_of(own, 0, i);
        const float *lies = *place_of(own, 0, i);
        if (lies != sum) memcpy(sum, lies, part_size(own, i) * sizeof *sum);
    }
    for (size_t slot = 0; slot < own->tree->num_slots; slot++) liana__message_free(&own->exchange->messages[slot]);
}

/* Each block's sums are added as soon as they are there and the tree allows. Additions are in the order of the slots
 * that they take from. */
static liana_status add_chunk(const addition *own, const liana__cluster *cluster, liana__error *error)
{
    const liana__tree_plan *tree = own->tree;
    size_t next = 0;
    LIANA_TRY(reserve_chunk(own, error));
    for (size_t slot = 0; slot < tree->num_slots; slot++) {
        const size_t from = tree->slots[slot].replica, block = slot - tree->first_slots[from];
        if (from == cluster->place.rank) {
            find_own(own, slot, block);
        } else {
            LIANA_TRY(receive(own, cluster, slot, from, block, error));
        }
        const liana__denormals before = liana__denormals_flush();
        while (next < tree->num_additions && tree->additions[next].from <= slot) {
            add_parts(own, &tree->additions[next++]);
        }
        liana__denormals_restore(before);
    }
    finish(own);
    return LIANA_OK;
}

/* After a death messages may have stayed. */
static void forget_messages(liana__block_exchange *exchange)
{
    for (size_t i = 0; i < exchange->num_slots; i++) liana__message_free(&exchange->messages[i]);
}

/* Whatever is added up goes to the mirror while the next chunk is on its way. */
static liana_status add_slice(liana__block_exchange *exchange, liana__cluster *cluster, const liana__tree_plan *tree,
                              const liana__sliced_update *update, size_t number, liana__error *error)
{
    const liana__slice_chunks *chunks = &exchange->sender.chunks;
    liana__slice *slice = update->slices[number];
    for (size_t i = chunks->first[number]; i < chunks->first[number + 1]; i++) {
        const liana__slice_chunk *chunk = &chunks->items[i];
        const addition own = {.exchange = exchange,
                              .tree = tree,
                              .slice = slice,
                              .chunk = chunk,
                              .parts = liana__chunk_parts(chunks, chunk),
                              .count = chunk->count};
        LIANA_TRY(add_chunk(&own, cluster, error));
        if (!exchange->sender.to_mirrors) LIANA_TRY(liana__mirrors_send_chunk(update, chunks, chunk, error));
    }
    return liana__slice_take_sums(slice, error);
}

liana_status liana__block_exchange_add(liana__block_exchange *exchange, liana__cluster *cluster,
                                       const liana__tree_plan *tree, const liana__sliced_update *update,
                                       liana__error *error)
{
    const bool mirrors_add = exchange->sender.to_mirrors;
    forget_messages(exchange);
    for (size_t i = 0; i < update->num_slices; i++) {
        const bool adds = mirrors_add ? update->slices[i] != NULL : liana__sliced_update_owned(update, i) != NULL;
        if (!adds || liana__slice_map_sums(&update->maps[i]) == 0) continue;
        LIANA_TRY(add_slice(exchange, cluster, tree, update, i, error));
    }
    return mirrors_add ? LIANA_OK : liana__mirrors_receive_sums(update, &exchange->sender.chunks, error);
}
