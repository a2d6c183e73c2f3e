/* A parameter server's side of a span. */
#include "distribute/cluster/span_gate.h"
#include "distribute/cluster/span_inbox.h"

#include "backends/host_add.h"
#include "base/denormals.h"

#include <stdlib.h>
#include <string.h>

/* What a server knows of a worker. */
typedef struct client {
    bool ended;
    bool waits_to_begin, waits_to_fetch, gave; /* requests without a reply yet; `gave`: gradients */
    liana__span_request request;               /* the last one that waits */
    uint32_t number;
    uint64_t fetched_at; /* updates that had been applied */
} client;

struct liana__span_server {
    const liana__span_parts *span;
    const liana__span_work *work;
    liana__span_counts *counts;
    client *clients;
    size_t num_clients, num_ended;
    liana__span_gate gate;
    char **messages;     /* by worker: gradients */
    liana__slice *slice; /* that it owns */
    size_t size;         /* of the slice, in floats */
    float *room;         /* for a part of it */
    char *values;
    float *scalars;
    liana__span_inbox *inbox;
    uint64_t applied;  /* updates, of this server */
    uint64_t round;    /* of the first server: the running update */
    uint64_t accepted; /* gradients for it */
    bool stopping;
    liana_status failed;
    liana__error *error;
};

/* ---- setting up ---- */

void liana__span_server_destroy(liana__span_server *server)
{
    if (!server) return;
    liana__span_inbox_close(server->inbox);
    for (size_t i = 0; server->messages && i < server->num_clients; i++) free(server->messages[i]);
    liana__span_gate_free(&server->gate);
    free(server->messages);
    free(server->clients);
    free(server->room);
    free(server->values);
    free(server->scalars);
    free(server);
}

static liana_status make_room(liana__span_server *own, liana__error *error)
{
    const liana__sliced_update *update = own->span->update;
    const size_t size = liana__wire_size(own->span->format, &own->slice->map);
    own->clients = calloc(own->num_clients, sizeof *own->clients);
    own->messages = calloc(own->num_clients, sizeof *own->messages);
    own->room = malloc((own->size + 1) * sizeof *own->room);
    own->values = malloc(liana__slice_map_sent(&own->slice->map, update->plan->variables) + 1);
    own->scalars = calloc(update->plan->num_scalars + 1, sizeof *own->scalars);
    bool enough = own->clients && own->messages && own->room && own->values && own->scalars;
    for (size_t i = 0; enough && i < own->num_clients; i++) enough = (own->messages[i] = malloc(size + 1)) != NULL;
    if (!enough) return liana__fail_memory(error, "a parameter server");
    LIANA_TRY(liana__span_gate_create(own->num_clients, (uint64_t)own->span->options.max_staleness, &own->gate, error));
    return liana__span_inbox_open(own->span->cluster, own->messages, size, &own->inbox, error);
}

liana_status liana__span_server_create(const liana__span_parts *span, const liana__span_work *work,
                                       liana__span_counts *counts, liana__span_server **server, liana__error *error)
{
    liana__span_server *made = calloc(1, sizeof *made);
    if (!made) return liana__fail_memory(error, "a parameter server");
    *made = (liana__span_server){.span = span, .work = work, .counts = counts};
    made->num_clients = span->cluster->place.num_workers;
    *server = made;
    for (size_t i = 0; i < span->update->num_slices && !made->slice; i++) {
        made->slice = liana__sliced_update_owned(span->update, i);
    }
    if (!made->slice) return liana__fail(error, LIANA_INTERNAL, "a parameter server owns no slice");
    made->size = liana__slice_map_sums(&made->slice->map);
    return make_room(made, error);
}

/* ---- replies ---- */

/* From the first failure on there are no good answers. */
static void stop(liana__span_server *own, liana_status status)
{
    own->stopping = true;
    if (own->failed == LIANA_OK) own->failed = status;
}

static void answer(liana__span_server *own, size_t worker, uint32_t number, liana__span_answer given, uint64_t round)
{
    const liana__span_reply reply = {.answer = own->stopping ? LIANA__SPAN_STOP : given, .round = round};
    liana__error unsent = {0};
    liana_status status = liana__span_answer_to(own->span, worker, number, &reply, &unsent);
    if (status == LIANA_OK) return;
    if (own->failed == LIANA_OK && own->error) *own->error = unsent;
    stop(own, status);
}

static void give_values(liana__span_server *own, size_t worker)
{
    const liana__span_parts *span = own->span;
    client *one = &own->clients[worker];
    size_t size = 0;
    one->waits_to_fetch = false;
    one->fetched_at = own->applied;
    if (!own->stopping) {
        liana_status status = liana__slice_refresh(own->slice, own->error);
        if (status == LIANA_OK) status = liana__slice_read_sent(own->slice, own->values, &size, own->error);
        if (status != LIANA_OK) stop(own, status);
    }
    answer(own, worker, one->number, LIANA__SPAN_YES, own->applied);
    if (own->stopping || size == 0) return;
    const liana_status status = liana__cluster_send(span->cluster, worker, LIANA__MESSAGE_REPLY_DATA, one->number,
                                                    own->values, size, own->error);
    if (status != LIANA_OK) stop(own, status);
}

static void let_begin(liana__span_server *own, size_t worker)
{
    own->clients[worker].waits_to_begin = false;
    answer(own, worker, own->clients[worker].number, LIANA__SPAN_YES, own->round);
}

/* Answers all that can be answered now. */
static void go_on(liana__span_server *own)
{
    const bool rounds = own->span->options.synchronous;
    size_t worker;
    while (!rounds && !own->stopping && liana__span_gate_admit(&own->gate, &worker)) let_begin(own, worker);
    for (size_t i = 0; i < own->num_clients; i++) {
        client *one = &own->clients[i];
        const bool is_due = rounds && own->round >= one->request.round;
        if (one->waits_to_begin && (own->stopping || is_due)) let_begin(own, i);
        if (one->waits_to_fetch && (own->stopping || !rounds || own->applied >= one->request.round)) {
            give_values(own, i);
        }
        if (!one->gave || !own->stopping) continue;
        one->gave = false;
        answer(own, i, one->number, LIANA__SPAN_STOP, 0);
    }
}

/* ---- updates ---- */

static liana_status check(liana__span_server *own, liana__checked what)
{
    int64_t count = 0;
    char name[256];
    LIANA_TRY(liana__sliced_update_check(own->span->update, what, &count, name, own->error));
    if (count == 0) return LIANA_OK;
    return liana__fail(
        own->error, LIANA_OUT_OF_RANGE,
        what == LIANA__CHECK_SUMS
            ? "the sum for '%.300s', of gradients or statistics, has %lld numbers that are not finite; "
              "updates that are not in step cannot be run again to find the first op: try synchronous "
              "updates, a smaller learning rate, or clipvalue"
            : "the update gives '%.300s' %lld numbers that are not finite; try a smaller learning rate, or "
              "clipvalue",
        name, (long long)count);
}

/* `sums` are of so many examples. Without any nothing changes, but the update counts. */
static void apply(liana__span_server *own, int64_t count)
{
    const bool owns = own->size > 0;
    liana_status status = LIANA_OK;
    own->work->scalars(own->work->user, (size_t)own->applied, (double)count, own->scalars);
    if (count && owns) status = liana__slice_take_sums(own->slice, own->error);
    if (status == LIANA_OK && count && owns) status = check(own, LIANA__CHECK_SUMS);
    if (status == LIANA_OK && count) {
        status = liana__sliced_update_apply(own->span->update, own->scalars, own->error);
    }
    if (status == LIANA_OK && count && owns) status = check(own, LIANA__CHECK_VARIABLES);
    own->applied++;
    if (status != LIANA_OK) stop(own, status);
}

static void measure(liana__span_server *own, size_t worker)
{
    const uint64_t staleness = own->applied - own->clients[worker].fetched_at;
    own->counts->measured++;
    own->counts->staleness += staleness;
    if (staleness > own->counts->largest_staleness) own->counts->largest_staleness = staleness;
}

/* The gradients of a worker become the slice's sums, or are added to them. */
static void take_slice(liana__span_server *own, size_t worker, bool adds)
{
    const liana__slice_map *map = &own->slice->map;
    const liana__host_add_loop add = liana__host_choose_add(own->span->update->device->context->isa);
    const char *from = own->messages[worker];
    for (size_t i = 0; i < map->counts[LIANA__PARTS_OF_SUMS]; i++) {
        const liana__slice_part *part = &map->parts[LIANA__PARTS_OF_SUMS][i];
        const size_t size = (size_t)(part->end - part->begin);
        const float *sum = liana__wire_read_part(own->span->format, part, &from, own->room);
        float *to = liana__slice_sum(own->slice, i);
        if (adds) {
            add(to, to, sum, (int64_t)size);
        } else {
            memcpy(to, sum, size * sizeof *to);
        }
    }
}

/* Adds the gradients of the running update in the order of the workers: the sum does not depend on who was first. */
static int64_t add_gradients(liana__span_server *own)
{
    const liana__denormals before = liana__denormals_flush();
    int64_t count = 0;
    for (size_t i = 0; i < own->num_clients; i++) {
        const client *one = &own->clients[i];
        if (!one->gave || one->request.count == 0) continue;
        take_slice(own, i, count > 0);
        count += one->request.count;
    }
    liana__denormals_restore(before);
    return count;
}

/* An update is due when as many have given as it takes. */
static void update_in_rounds(liana__span_server *own)
{
    uint64_t given = 0, expected = 0;
    for (size_t i = 0; i < own->num_clients; i++) {
        if (!own->clients[i].gave) continue;
        given++;
        expected = own->clients[i].request.expected;
    }
    if (own->stopping || given == 0 || given < expected) return;
    apply(own, add_gradients(own));
    for (size_t i = 0; i < own->num_clients; i++) {
        client *one = &own->clients[i];
        if (!one->gave) continue;
        one->gave = false;
        answer(own, i, one->number, LIANA__SPAN_YES, own->applied);
    }
}

static void take_gradients(liana__span_server *own, size_t worker)
{
    client *one = &own->clients[worker];
    one->gave = true;
    if (own->span->options.synchronous) {
        update_in_rounds(own);
        return;
    }
    if (own->stopping) return;
    measure(own, worker);
    if (one->request.count) take_slice(own, worker, false);
    apply(own, one->request.count);
    one->gave = false;
    answer(own, worker, one->number, LIANA__SPAN_YES, own->applied);
}

/* ---- requests ---- */

/* Of the first server: the first so many are taken. */
static void decide(liana__span_server *own, size_t worker)
{
    const client *one = &own->clients[worker];
    const bool taken = one->request.round == own->round;
    answer(own, worker, one->number, taken ? LIANA__SPAN_YES : LIANA__SPAN_NO, own->round);
    if (!taken || ++own->accepted < one->request.expected) return;
    own->round++;
    own->accepted = 0;
}

static void end_worker(liana__span_server *own, size_t worker)
{
    client *one = &own->clients[worker];
    if (one->ended) return;
    one->ended = true;
    own->num_ended++;
    liana__span_gate_done(&own->gate, worker);
}

static void serve_one(liana__span_server *own, const liana__span_letter *letter)
{
    client *one = &own->clients[letter->worker];
    if (letter->failed != LIANA_OK) {
        if (own->failed == LIANA_OK && own->error) *own->error = *liana__span_inbox_error(own->inbox, letter->worker);
        stop(own, letter->failed);
        end_worker(own, letter->worker);
        return;
    }
    one->request = letter->request;
    one->number = letter->number;
    switch ((liana__span_request_kind)letter->request.kind) {
    case LIANA__SPAN_BEGIN:
        one->waits_to_begin = true;
        if (!own->span->options.synchronous) liana__span_gate_ask(&own->gate, letter->worker);
        break;
    case LIANA__SPAN_FETCH: one->waits_to_fetch = true; break;
    case LIANA__SPAN_OFFER: decide(own, letter->worker); break;
    case LIANA__SPAN_GRADIENTS: take_gradients(own, letter->worker); break;
    case LIANA__SPAN_DONE: liana__span_gate_done(&own->gate, letter->worker); break;
    case LIANA__SPAN_END:
        if (letter->request.stops) stop(own, LIANA_OK);
        end_worker(own, letter->worker);
        break;
    }
}

liana_status liana__span_serve(liana__span_server *server, liana__error *error)
{
    server->error = error;
    liana__span_inbox_begin(server->inbox);
    while (server->num_ended < server->num_clients) {
        const liana__span_letter letter = liana__span_inbox_take(server->inbox);
        serve_one(server, &letter);
        go_on(server);
    }
    return server->failed;
}
