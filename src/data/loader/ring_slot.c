/* Memory of one batch, and how many batches a loader's memory holds. */
#include "data/loader/ring_slot.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_BATCHES = 2, ENOUGH_BATCHES = 4, MAX_BATCHES = 32 };
/* A ring of this size stays in a processor's last-level cache, so that decoding does not wait for memory. */
#define NEAR_MEMORY ((size_t)32 << 20)

/* Images are the part that is worth huge pages. */
static bool make_rows(liana__batch *batch, size_t batch_size, const liana__batch_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const liana__wanted_component *wanted = &rows->components[i];
        const size_t size = batch_size * rows->sizes[i];
        void *data = (int)i == rows->image ? liana__allocate_large(size) : liana__allocate_zeroed(size);
        liana__batch_add(batch, wanted->name, wanted->dtype, &wanted->shape, data);
        if (!data) return false;
    }
    if (rows->image >= 0 && rows->components[rows->image].dtype == LIANA_F32) {
        batch->fractions = batch->components[rows->image].rows;
    } else if (rows->image >= 0) {
        batch->images = batch->components[rows->image].rows;
    }
    if (rows->label >= 0) batch->labels = batch->components[rows->label].rows;
    return true;
}

/* Where examples are mixed. */
static bool make_partners(liana__batch *batch, size_t batch_size, const liana__batch_rows *rows)
{
    void *shares = liana__allocate_zeroed(batch_size * sizeof(float));
    liana__batch_add(batch, LIANA__SHARES, LIANA_F32, &LIANA_SCALAR, shares);
    for (size_t i = 0; i < rows->count; i++) {
        const liana__wanted_component *wanted = &rows->components[i];
        if (!wanted->partners) continue;
        void *data = liana__allocate_zeroed(batch_size * rows->sizes[i]);
        liana__batch_add(batch, wanted->partners, wanted->dtype, &wanted->shape, data);
        batch->components[batch->num_components - 1].partner_of = &batch->components[i];
        if (!data) return false;
    }
    return shares;
}

liana_status liana__ring_slot_make(liana__ring_slot *slot, size_t batch_size, const liana__batch_rows *rows, bool mixed,
                                   liana__error *error)
{
    liana__batch *batch = &slot->batch;
    batch->positions = liana__allocate_zeroed(batch_size * sizeof *batch->positions);
    batch->records = liana__allocate_zeroed(batch_size * sizeof *batch->records);
    batch->ids = calloc(batch_size, sizeof *batch->ids);
    slot->id_memory = calloc(batch_size, sizeof *slot->id_memory);
    slot->id_capacities = calloc(batch_size, sizeof *slot->id_capacities);
    const bool has_rows = make_rows(batch, batch_size, rows);
    if (has_rows && mixed && !make_partners(batch, batch_size, rows)) {
        return liana__fail_memory(error, "targets of mixed images");
    }
    if (has_rows && batch->positions && batch->records && batch->ids && slot->id_memory && slot->id_capacities) {
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_OUT_OF_MEMORY,
                       "out of memory for batches of %zu examples of %zu bytes; make the batch or the examples smaller",
                       batch_size, rows->example_size);
}

void liana__ring_slot_free(liana__ring_slot *slot, int64_t batch_size)
{
    liana__gaps_free(&slot->gaps);
    liana__gaps_free(&slot->all_gaps);
    liana__step_workers_free(&slot->workers);
    for (int64_t i = 0; slot->id_memory && i < batch_size; i++) free(slot->id_memory[i]);
    free(slot->id_memory);
    free(slot->id_capacities);
    for (size_t i = 0; i < slot->batch.num_components; i++) free(slot->batch.components[i].rows);
    free(slot->batch.positions);
    free(slot->batch.records);
    free(slot->batch.ids);
}

liana_status liana__ring_slot_keep_id(liana__ring_slot *slot, int64_t i, const char *id, size_t size,
                                      liana__error *error)
{
    slot->batch.ids[i] = NULL;
    if (!id) return LIANA_OK;
    if (size >= slot->id_capacities[i]) {
        char *bigger = realloc(slot->id_memory[i], size + 1);
        if (!bigger) return liana__fail_memory(error, "an id");
        slot->id_memory[i] = bigger;
        slot->id_capacities[i] = size + 1;
    }
    memcpy(slot->id_memory[i], id, size);
    slot->id_memory[i][size] = 0;
    slot->batch.ids[i] = slot->id_memory[i];
    return LIANA_OK;
}

/* Puts example `from` where `to` is; their memory for ids changes places. */
static void move_example(liana__ring_slot *slot, const liana__batch_rows *rows, int64_t to, int64_t from)
{
    liana__batch *batch = &slot->batch;
    for (size_t i = 0; i < rows->count; i++) {
        uint8_t *row = batch->components[i].rows;
        size_t size = rows->sizes[i];
        memcpy(row + (size_t)to * size, row + (size_t)from * size, size);
    }
    batch->positions[to] = batch->positions[from];
    batch->records[to] = batch->records[from];
    batch->ids[to] = batch->ids[from];
    char *memory = slot->id_memory[to];
    size_t capacity = slot->id_capacities[to];
    slot->id_memory[to] = slot->id_memory[from];
    slot->id_capacities[to] = slot->id_capacities[from];
    slot->id_memory[from] = memory;
    slot->id_capacities[from] = capacity;
}

void liana__ring_slot_close_gaps(liana__ring_slot *slot, const liana__batch_rows *rows)
{
    if (slot->gaps.count == 0) return;
    liana__gaps_sort(&slot->gaps);
    int64_t count = 0;
    size_t passed = 0;
    for (int64_t i = 0; i < slot->planned; i++) {
        if (passed < slot->gaps.count && slot->gaps.items[passed].example == i) {
            passed++;
            continue;
        }
        if (count < i) move_example(slot, rows, count, i);
        count++;
    }
    slot->batch.count = count;
}

/* ---- how many ---- */

/* A thread's own bytes for records and codecs, without an example of the batch's size. */
enum { LEAST_SHARE = 64 << 10 };

/* Of an example without its rows: share, position, record, and an id of the usual length. */
enum { EXAMPLE_BYTES = 92 };

/* The bytes of a batch and of everything that belongs to its examples; SIZE_MAX on overflow. */
static size_t batch_bytes(const liana__ring_room *room)
{
    size_t size;
    if (__builtin_add_overflow(room->example, (size_t)EXAMPLE_BYTES, &size) ||
        __builtin_mul_overflow(size, room->batch_size, &size)) {
        return SIZE_MAX;
    }
    return size;
}

/* `a` - `b`, or 0. */
static size_t less(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

static liana_status fail_room(const liana__ring_room *room, size_t batch, size_t threads, liana__error *error)
{
    const double mebi = 1 << 20;
    double needed = MIN_BATCHES * (double)batch + (double)room->source + (double)threads;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "two batches of %zu examples need %.1f MiB, reading threads %.1f MiB and the index of the data "
                       "%.1f MiB, but data.memory leaves only %.1f MiB for these data: make data.memory at least %.1f "
                       "times as large, or train.batch_size smaller",
                       room->batch_size, MIN_BATCHES * (double)batch / mebi, (double)threads / mebi,
                       (double)room->source / mebi, (double)room->memory / mebi, needed / (double)room->memory + 0.05);
}

liana_status liana__ring_divide(const liana__ring_room *room, liana__ring_split *split, liana__error *error)
{
    size_t batch = batch_bytes(room), least = room->example + LEAST_SHARE,
           threads = room->working + least * room->num_threads;
    if (batch == SIZE_MAX) return liana__fail_memory(error, "a batch");
    size_t rest = less(room->memory, room->source);
    rest = less(rest, threads);
    if (rest / MIN_BATCHES < batch) return fail_room(room, batch, threads, error);
    rest -= MIN_BATCHES * batch;

    size_t wanted = NEAR_MEMORY / batch;
    wanted = wanted < ENOUGH_BATCHES ? ENOUGH_BATCHES : wanted > MAX_BATCHES ? MAX_BATCHES : wanted;
    size_t more = rest / 2 / batch;
    if (more > wanted - MIN_BATCHES) more = wanted - MIN_BATCHES;
    rest -= more * batch;

    *split = (liana__ring_split){.num_batches = MIN_BATCHES + more, .elements = room->streams ? rest / 4 * 3 : 0};
    rest -= split->elements;
    size_t beside = rest / 4 / room->num_threads;
    split->share = least + beside;
    split->pool = rest - beside * room->num_threads;
    return LIANA_OK;
}
