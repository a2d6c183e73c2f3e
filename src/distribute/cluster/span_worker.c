/* A worker's side of a span. */
#include "distribute/cluster/span.h"

#include "distribute/cluster/span_wait.h"

#include <stdlib.h>

typedef struct worker {
    const liana__span_parts *span;
    const liana__span_work *work;
    liana__span_side *side;
    uint32_t *numbers; /* by process: the next request */
    char *memory;      /* of one message */
    size_t memory_size;
    bool stopped; /* a process failed, which may be another one */
} worker;

/* ---- messages ---- */

liana_status liana__span_send(const liana__span_parts *span, size_t to, uint32_t number,
                              const liana__span_request *request, liana__error *error)
{
    return liana__cluster_send(span->cluster, to, LIANA__MESSAGE_REQUEST, number, request, sizeof *request, error);
}

liana_status liana__span_answer_to(const liana__span_parts *span, size_t to, uint32_t number,
                                   const liana__span_reply *reply, liana__error *error)
{
    return liana__cluster_send(span->cluster, to, LIANA__MESSAGE_REPLY, number, reply, sizeof *reply, error);
}

static liana_status send_request(worker *own, size_t to, const liana__span_request *request, liana__error *error)
{
    return liana__span_send(own->span, to, own->numbers[to]++, request, error);
}

/* A message of a server. Without the server there is nothing more to do here. */
static liana_status receive(worker *own, size_t from, liana__cluster_message kind, void *data, size_t size,
                            liana__error *error)
{
    bool lost = false;
    const liana_status status =
        liana__span_receive(own->span->cluster, from, kind, own->numbers[from] - 1, data, size, &lost, error);
    if (!lost) return status;
    own->stopped = own->side->broken = true;
    return LIANA_OK;
}

/* The reply to the last request to a server. */
static liana_status hear(worker *own, size_t from, liana__span_reply *reply, liana__error *error)
{
    *reply = (liana__span_reply){.answer = LIANA__SPAN_STOP};
    if (own->side->broken) return LIANA_OK;
    LIANA_TRY(receive(own, from, LIANA__MESSAGE_REPLY, reply, sizeof *reply, error));
    own->stopped |= reply->answer == LIANA__SPAN_STOP;
    return LIANA_OK;
}

static size_t first_server(const worker *own)
{
    return liana__cluster_owner_rank(own->span->cluster, 0);
}

/* Asks the first server. */
static liana_status ask(worker *own, const liana__span_request *request, liana__span_reply *reply, liana__error *error)
{
    LIANA_TRY(send_request(own, first_server(own), request, error));
    return hear(own, first_server(own), reply, error);
}

static liana_status tell_all(worker *own, const liana__span_request *request, liana__error *error)
{
    const liana__cluster *cluster = own->span->cluster;
    for (size_t i = 0; i < liana__cluster_num_owners(cluster); i++) {
        LIANA_TRY(send_request(own, liana__cluster_owner_rank(cluster, i), request, error));
    }
    return LIANA_OK;
}

static liana_status reserve(worker *own, size_t size, liana__error *error)
{
    if (size <= own->memory_size) return LIANA_OK;
    free(own->memory);
    own->memory_size = 0;
    own->memory = malloc(size);
    if (!own->memory) return liana__fail_memory(error, "the slices of a worker");
    own->memory_size = size;
    return LIANA_OK;
}

/* ---- one step ---- */

/* All servers' values that shards read, as they are now. */
static liana_status fetch(worker *own, uint64_t round, liana__error *error)
{
    const liana__span_parts *span = own->span;
    const liana__span_request request = {.kind = LIANA__SPAN_FETCH, .round = round};
    LIANA_TRY(tell_all(own, &request, error));
    for (size_t i = 0; i < liana__cluster_num_owners(span->cluster); i++) {
        const size_t from = liana__cluster_owner_rank(span->cluster, i);
        const size_t size =
            liana__slice_map_bytes(&span->update->maps[i], LIANA__PARTS_FETCHED, span->update->plan->variables);
        liana__span_reply reply;
        LIANA_TRY(hear(own, from, &reply, error));
        if (reply.answer == LIANA__SPAN_STOP || size == 0) continue;
        LIANA_TRY(reserve(own, size, error));
        LIANA_TRY(receive(own, from, LIANA__MESSAGE_REPLY_DATA, own->memory, size, error));
        if (!own->side->broken) liana__sliced_update_take(span->update, i, own->memory);
    }
    return own->stopped ? LIANA_OK : liana__sliced_update_write(span->update, error);
}

/* Sends each server its slice, and waits until all have it. */
static liana_status send_gradients(worker *own, const liana__span_request *request, const float *block,
                                   liana__error *error)
{
    const liana__span_parts *span = own->span;
    for (size_t i = 0; i < liana__cluster_num_owners(span->cluster); i++) {
        const size_t to = liana__cluster_owner_rank(span->cluster, i);
        const size_t size = liana__wire_size(span->format, &span->update->maps[i]);
        const uint32_t number = own->numbers[to];
        LIANA_TRY(send_request(own, to, request, error));
        if (size == 0 || request->count == 0) continue;
        LIANA_TRY(reserve(own, size, error));
        liana__wire_pack(span->format, &span->update->maps[i], span->offsets, block, own->memory);
        LIANA_TRY(
            liana__cluster_send(span->cluster, to, LIANA__MESSAGE_REQUEST_DATA, number, own->memory, size, error));
    }
    for (size_t i = 0; i < liana__cluster_num_owners(span->cluster); i++) {
        liana__span_reply reply;
        LIANA_TRY(hear(own, liana__cluster_owner_rank(span->cluster, i), &reply, error));
    }
    return LIANA_OK;
}

/* Whether an update takes these gradients: always, or if they are among the first. */
static liana_status offer(worker *own, const liana__span_request *request, bool *taken, liana__error *error)
{
    liana__span_reply reply = {.answer = LIANA__SPAN_YES};
    if (own->span->options.synchronous) {
        liana__span_request offered = *request;
        offered.kind = LIANA__SPAN_OFFER;
        LIANA_TRY(ask(own, &offered, &reply, error));
    }
    *taken = reply.answer == LIANA__SPAN_YES;
    return LIANA_OK;
}

static liana_status compute_step(worker *own, size_t step, const liana__span_share *share, liana__error *error)
{
    const liana__span_parts *span = own->span;
    const size_t first_expected = (size_t)span->options.replicas_to_aggregate;
    const float *block = NULL;
    bool taken = false;
    LIANA_TRY(fetch(own, step, error));
    if (own->stopped) return LIANA_OK;
    if (share->count) LIANA_TRY(span->compute(span->user, &share->leaves, &block, error));
    if (share->count && own->work->look) LIANA_TRY(own->work->look(own->work->user, step, block, error));
    own->side->counts.computed++;
    const liana__span_request request = {
        .kind = LIANA__SPAN_GRADIENTS,
        .round = step,
        .expected = first_expected < share->num_sharing ? first_expected : share->num_sharing,
        .count = share->count,
    };
    LIANA_TRY(offer(own, &request, &taken, error));
    if (own->stopped) return LIANA_OK;
    own->side->counts.dropped += !taken;
    if (!taken) return LIANA_OK;
    LIANA_TRY(send_gradients(own, &request, block, error));
    if (own->stopped) return LIANA_OK;
    own->side->counts.used++;
    return own->work->end(own->work->user, step, block, error);
}

/* ---- all steps ---- */

/* Each own step, as soon as the first server lets it begin. */
static liana_status run_asynchronously(worker *own, liana__error *error)
{
    for (size_t step = 0; step < own->work->num_steps && !own->stopped; step++) {
        liana__span_share share = {0};
        liana__span_reply reply;
        const liana__span_request begin = {.kind = LIANA__SPAN_BEGIN, .round = step}, done = {.kind = LIANA__SPAN_DONE};
        if (own->work->done[step]) continue;
        LIANA_TRY(own->work->begin(own->work->user, step, &share, error));
        if (share.num_sharing == 0) continue;
        LIANA_TRY(ask(own, &begin, &reply, error));
        if (own->stopped) break;
        LIANA_TRY(compute_step(own, step, &share, error));
        LIANA_TRY(send_request(own, first_server(own), &done, error));
    }
    return LIANA_OK;
}

/* The share of each update that is not over when the worker comes to it. */
static liana_status run_in_rounds(worker *own, liana__error *error)
{
    uint64_t running = 0; /* the update, as far as this worker knows */
    for (size_t step = 0; step < own->work->num_steps && !own->stopped; step++) {
        liana__span_share share = {0};
        liana__span_reply reply;
        const liana__span_request begin = {.kind = LIANA__SPAN_BEGIN, .round = step};
        if (own->work->done[step]) continue;
        LIANA_TRY(own->work->begin(own->work->user, step, &share, error));
        if (share.num_sharing == 0) continue;
        if (running <= step) {
            LIANA_TRY(ask(own, &begin, &reply, error));
            if (own->stopped) break;
            running = reply.round;
        }
        if (running > step) {
            own->side->counts.skipped++;
            continue;
        }
        LIANA_TRY(compute_step(own, step, &share, error));
    }
    return LIANA_OK;
}

liana_status liana__span_worker(const liana__span_parts *span, const liana__span_work *work, liana__span_side *side,
                                liana__error *error)
{
    worker own = {.span = span, .work = work, .side = side};
    own.numbers = calloc(liana__cluster_size(span->cluster), sizeof *own.numbers);
    if (!own.numbers) return liana__fail_memory(error, "a worker");
    liana_status status = span->options.synchronous ? run_in_rounds(&own, error) : run_asynchronously(&own, error);
    /* The servers wait for this, whatever happened. */
    const liana__span_request end = {.kind = LIANA__SPAN_END, .stops = own.stopped || status != LIANA_OK};
    liana__error unsent = {0};
    liana_status told = tell_all(&own, &end, status == LIANA_OK ? error : &unsent);
    free(own.numbers);
    free(own.memory);
    return status == LIANA_OK ? told : status;
}
