/* Sends rows of batches from the process that reads a stream to the others. */
#include "data/loader/row_message.h"

#include "base/message.h"

#include <stdlib.h>
#include <string.h>

/* ---- one message ---- */

static void put(liana__text *message, const void *items, size_t size, int64_t begin, int64_t count)
{
    liana__message_put_bytes(message, (const char *)items + (size_t)begin * size, (size_t)count * size);
}

void liana__row_message_write(const liana__batch *batch, int64_t begin, int64_t count, liana__text *message)
{
    put(message, batch->positions, sizeof *batch->positions, begin, count);
    put(message, batch->records, sizeof *batch->records, begin, count);
    for (int64_t i = begin; i < begin + count; i++) liana__message_put_text(message, batch->ids[i]);
    for (size_t i = 0; i < batch->num_components; i++) {
        const liana__batch_component *component = &batch->components[i];
        put(message, component->rows, liana__batch_row_size(component), begin, count);
    }
}

static void take(liana__message_reader *reader, void *items, size_t size, int64_t count)
{
    size_t found;
    const void *bytes = liana__message_get_bytes(reader, &found);
    if (found != (size_t)count * size) reader->failed = true;
    if (bytes && !reader->failed && found) memcpy(items, bytes, found);
}

liana_status liana__row_message_read(liana__ring_slot *slot, const liana__told *message, int64_t count,
                                     liana__error *error)
{
    liana__batch *batch = &slot->batch;
    liana__message_reader reader = {.data = message->data, .size = message->size};
    take(&reader, batch->positions, sizeof *batch->positions, count);
    take(&reader, batch->records, sizeof *batch->records, count);
    for (int64_t i = 0; i < count && !reader.failed; i++) {
        const char *id = liana__message_get_text(&reader);
        LIANA_TRY(liana__ring_slot_keep_id(slot, i, id, id ? strlen(id) : 0, error));
    }
    for (size_t i = 0; i < batch->num_components; i++) {
        const liana__batch_component *component = &batch->components[i];
        take(&reader, component->rows, liana__batch_row_size(component), count);
    }
    batch->count = count;
    if (liana__message_is_read(&reader)) return LIANA_OK;
    return liana__fail(error, LIANA_INTERNAL, "the rows of a stream that another process sent cannot be read");
}

/* ---- to all ---- */

static int64_t count_of(const liana__step_workers *step, size_t process)
{
    int64_t count = 0;
    for (int64_t i = step->bounds[process]; i < step->bounds[process + 1]; i++) count += step->shard_counts[i];
    return count;
}

/* The reader writes a message for each of the others. Its own rows are the first ones, and stay where they are: the
 * processes before it are gone, and have no rows. */
static bool write_all(const liana__ring_slot *slot, size_t count, liana__told *messages)
{
    const size_t reader = slot->workers.reader;
    int64_t begin = count_of(&slot->workers, reader);
    for (size_t i = reader + 1; i < count; i++) {
        const int64_t examples = count_of(&slot->workers, i);
        liana__text message = {0};
        liana__row_message_write(&slot->batch, begin, examples, &message);
        messages[i] = (liana__told){message.data, message.length};
        if (message.failed) return false;
        begin += examples;
    }
    return true;
}

static liana_status send_all(liana__ring_slot *slot, const liana__input_workers *workers, liana__error *error)
{
    liana__told *messages = calloc(workers->count, sizeof *messages);
    const size_t reader = slot->workers.reader;
    bool enough = messages && write_all(slot, workers->count, messages);
    liana_status status = enough ? workers->scatter(workers->user, reader, messages, NULL, error)
                                 : liana__fail_memory(error, "the rows of a stream");
    for (size_t i = 0; messages && i < workers->count; i++) free(messages[i].data);
    free(messages);
    slot->batch.count = count_of(&slot->workers, reader);
    return status;
}

liana_status liana__row_message_share(liana__ring_slot *slot, const liana__input_workers *workers, liana__error *error)
{
    const size_t reader = slot->workers.reader;
    if (workers->self == reader) return send_all(slot, workers, error);
    liana__told own = {0};
    LIANA_TRY(workers->scatter(workers->user, reader, NULL, &own, error));
    liana_status status = liana__row_message_read(slot, &own, count_of(&slot->workers, workers->self), error);
    free(own.data);
    return status;
}
