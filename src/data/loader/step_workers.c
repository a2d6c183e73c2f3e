/* Divides the steps of a loader among processes, and tells each of them the findings of all. */
#include "data/loader/step_workers.h"

#include "base/message.h"
#include "batch/cut.h"

#include <stdlib.h>

liana_status liana__step_workers_make(liana__step_workers *step, const liana__input_workers *workers,
                                      int64_t batch_size, bool one_reader, liana__error *error)
{
    int64_t most = liana__cut_batch(batch_size, workers->microbatch).count;
    *step = (liana__step_workers){.count = workers->count, .self = workers->self, .one_reader = one_reader};
    step->bounds = calloc(workers->count + 1, sizeof *step->bounds);
    step->shard_counts = calloc((size_t)most, sizeof *step->shard_counts);
    return step->bounds && step->shard_counts ? LIANA_OK : liana__fail_memory(error, "the shards of a step");
}

void liana__step_workers_free(liana__step_workers *step)
{
    free(step->bounds);
    free(step->shard_counts);
    *step = (liana__step_workers){0};
}

/* The first position that a process makes; of the process behind the last one, their number. */
static int64_t position_of(const liana__step_workers *step, const liana__input_workers *workers, int64_t num_positions,
                           size_t process)
{
    if (step->one_reader) return process <= step->reader ? 0 : num_positions;
    liana__cut cut = liana__cut_batch(num_positions, workers->microbatch);
    const int64_t shard = step->bounds[process];
    return shard == step->num_shards ? num_positions : liana__cut_begin(&cut, shard);
}

static void give_to_one(liana__step_workers *step, size_t owner)
{
    for (size_t i = 0; i <= step->count; i++) step->bounds[i] = i > owner ? step->num_shards : 0;
}

void liana__step_workers_divide(liana__step_workers *step, const liana__input_workers *workers, uint64_t number,
                                int64_t num_positions, int64_t *begin, int64_t *end)
{
    step->num_shards = liana__cut_batch(num_positions, workers->microbatch).count;
    step->reader = step->one_reader && workers->reader ? workers->reader(workers->user) : 0;
    if (workers->owner) {
        give_to_one(step, workers->owner(workers->user, number));
    } else {
        workers->divide(workers->user, step->num_shards, step->bounds);
    }
    *begin = position_of(step, workers, num_positions, step->self);
    *end = position_of(step, workers, num_positions, step->self + 1);
}

/* ---- messages ---- */

static void write_findings(const liana__step_findings *own, int64_t begin, liana__text *message)
{
    liana__message_put_u64(message, own->failure != NULL);
    if (own->failure) {
        liana__message_put_u64(message, own->failure->status);
        liana__message_put_text(message, own->failure->message);
        return;
    }
    liana__message_put_u64(message, own->gaps->count);
    for (size_t i = 0; i < own->gaps->count; i++) {
        const liana__gap *gap = &own->gaps->items[i];
        liana__message_put_i64(message, begin + gap->example);
        liana__message_put_u64(message, gap->record);
        liana__message_put_text(message, gap->id);
        liana__message_put_text(message, gap->reason);
    }
}

/* Reads the message of the process of the positions [begin, end). False: no such message, or memory is short. */
static bool read_gaps(liana__message_reader *reader, int64_t begin, int64_t end, liana__gaps *gaps)
{
    uint64_t count = liana__message_get_below(reader, (uint64_t)(end - begin) + 1);
    int64_t next = begin;
    for (uint64_t i = 0; i < count && !reader->failed; i++) {
        int64_t example = liana__message_get_i64(reader);
        uint64_t record = liana__message_get_u64(reader);
        const char *id = liana__message_get_text(reader), *reason = liana__message_get_text(reader);
        if (reader->failed || !reason || example < next || example >= end) return false;
        if (!liana__gaps_append(gaps, example, record, id, reason)) return false;
        next = example + 1;
    }
    return liana__message_is_read(reader);
}

static bool read_failure(liana__message_reader *reader, liana__error *failure)
{
    liana_status status = (liana_status)liana__message_get_below(reader, LIANA_INTERNAL + 1);
    const char *message = liana__message_get_text(reader);
    if (!message || status == LIANA_OK || !liana__message_is_read(reader)) return false;
    liana__fail(failure, status, "%s", message);
    return true;
}

/* The examples of each shard: its positions without its gaps. */
static void count_examples(liana__step_workers *step, const liana__input_workers *workers, int64_t num_positions,
                           const liana__gaps *gaps)
{
    liana__cut cut = liana__cut_batch(num_positions, workers->microbatch);
    size_t next = 0;
    for (int64_t shard = 0; shard < cut.count; shard++) {
        int64_t size = liana__cut_size(&cut, shard), end = liana__cut_begin(&cut, shard) + size;
        step->shard_counts[shard] = size;
        for (; next < gaps->count && gaps->items[next].example < end; next++) step->shard_counts[shard]--;
    }
    step->num_examples = num_positions - (int64_t)gaps->count;
}

/* The messages of all processes, in their order, which is the order of positions. */
static liana_status hear(const liana__step_workers *step, const liana__input_workers *workers, int64_t num_positions,
                         const liana__told *all, liana__gaps *gaps, bool *failed, liana__error *failure,
                         liana__error *error)
{
    for (size_t i = 0; i < workers->count && !*failed; i++) {
        if (workers->apart && i != step->self) continue;
        liana__message_reader reader = {.data = all[i].data, .size = all[i].size};
        int64_t begin = position_of(step, workers, num_positions, i),
                end = position_of(step, workers, num_positions, i + 1);
        if (all[i].size == 0 && begin == end) continue; /* it is gone */
        if (all[i].size == 0 && step->one_reader) {
            return liana__fail(error, LIANA_UNAVAILABLE,
                               "process %zu, which read the stream for all, is gone in the middle of a step: start the "
                               "training again, it goes on from its newest checkpoint",
                               i);
        }
        *failed = liana__message_get_below(&reader, 2) == 1;
        bool read = *failed ? read_failure(&reader, failure) : read_gaps(&reader, begin, end, gaps);
        if (read) continue;
        return liana__fail(error, LIANA_INTERNAL, "what process %zu says of its part of a step cannot be read", i);
    }
    return LIANA_OK;
}

liana_status liana__step_workers_meet(liana__step_workers *step, const liana__input_workers *workers,
                                      int64_t num_positions, const liana__step_findings *own, liana__gaps *gaps,
                                      bool *failed, liana__error *failure, liana__error *error)
{
    liana__text message = {0};
    liana__told *all = calloc(workers->count, sizeof *all);
    *failed = false;
    liana__gaps_clear(gaps);
    write_findings(own, position_of(step, workers, num_positions, step->self), &message);
    liana_status status = all && !message.failed ? LIANA_OK : liana__fail_memory(error, "the shards of a step");
    if (status == LIANA_OK && workers->apart) {
        all[step->self] = (liana__told){message.data, message.length};
        message = (liana__text){0};
    } else if (status == LIANA_OK) {
        status = workers->gather(workers->user, message.data, message.length, all, error);
    }
    if (status == LIANA_OK) status = hear(step, workers, num_positions, all, gaps, failed, failure, error);
    for (size_t i = 0; all && i < workers->count; i++) free(all[i].data);
    free(all);
    liana__text_free(&message);
    if (status == LIANA_OK && !*failed) count_examples(step, workers, num_positions, gaps);
    return status;
}
