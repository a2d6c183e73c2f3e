/* A parameter server's side of a span. */
#include "distribute/cluster/span_gate.h"
#include "distribute/cluster/span_inbox.h"
#include "distribute/cluster/span_wait.h"

#include "backends/host_add.h"
#include "base/denormals.h"
#include "base/scoped.h"

/* A server's record of another process: a worker, or a server that it speaks with. */
typedef struct client {
    bool heard; /* it has a part in the span */
    bool ended;
    bool waits_to_begin, waits_to_fetch, gave; /* requests without a reply yet; `gave`: gradients */
    liana__span_request request;               /* the last one that waits */
    uint32_t number;
    uint64_t fetched_at; /* updates that had been applied */
    bool gone;           /* a worker: nothing of it is applied any more */
    uint64_t joined;     /* the last update that takes its gradients, counted from 1; 0: none */
} client;

struct liana__span_server {
    liana__arena arena; /* of the lists */
    const liana__span_parts *span;
    const liana__span_work *work;
    liana__span_side *side;
    client *clients; /* by rank */
    size_t num_workers, num_ranks, num_left, num_workers_left, num_gone;
    bool *seen; /* [workers, ranks]: a server knows that a worker is gone */
    bool is_first;
    liana__span_gate gate;
    char **messages;     /* by worker: gradients */
    liana__slice *slice; /* that it owns */
    size_t size;         /* of the slice, in floats */
    float *room;         /* for a part of it */
    char *values;
    float *scalars;
    liana__span_inbox *inbox;
    uint32_t *numbers; /* by rank: the next message to another server */
    int64_t *targets;  /* by step: gradients that its update takes of those that are left; -1: as they say themselves */
    uint64_t applied;  /* updates, of this server */
    uint64_t round;    /* of the first server: the running update */
    double last_look;
    bool stopping, called_back, has_told_end;
    liana_status failed;
    liana__error *error;
};

/* ---- setting up ---- */

void liana__span_server_destroy(liana__span_server *server)
{
    if (!server) return;
    liana__span_inbox_close(server->inbox);
    for (size_t i = 0; server->messages && i < server->num_workers; i++) free(server->messages[i]);
    liana__span_gate_free(&server->gate);
    free(server->room);
    free(server->values);
    liana__arena_free(&server->arena);
    free(server);
}

/* A worker, and where deaths are survived the first server or, for that one, all others. */
static bool has_part(const liana__span_server *own, size_t rank)
{
    const liana__cluster *cluster = own->span->cluster;
    const size_t first = liana__cluster_owner_rank(cluster, 0);
    if (!liana__cluster_is_member(cluster, rank)) return false;
    if (rank < own->num_workers) return true;
    return cluster->recovery && rank != cluster->place.rank && (own->is_first || rank == first);
}

static liana_status open_inbox(liana__span_server *own, size_t size, liana__error *error)
{
    LIANA__SCOPED_MEMORY bool *heard = calloc(own->num_ranks, sizeof *heard);
    if (!heard) return liana__fail_memory(error, "a parameter server");
    for (size_t i = 0; i < own->num_ranks; i++) {
        heard[i] = own->clients[i].heard = has_part(own, i);
        own->num_left += heard[i];
        own->num_workers_left += heard[i] && i < own->num_workers;
    }
    return liana__span_inbox_open(own->span->cluster, heard, own->messages, size, &own->inbox, error);
}

static liana_status make_room(liana__span_server *own, liana__error *error)
{
    const liana__sliced_update *update = own->span->update;
    const size_t size = liana__wire_size(own->span->format, &own->slice->map), num_steps = own->work->num_steps;
    liana__arena *arena = &own->arena;
    own->clients = liana__arena_allocate(arena, own->num_ranks * sizeof *own->clients);
    own->messages = liana__arena_allocate(arena, own->num_workers * sizeof *own->messages);
    own->scalars = liana__arena_allocate(arena, update->plan->num_scalars * sizeof *own->scalars);
    own->numbers = liana__arena_allocate(arena, own->num_ranks * sizeof *own->numbers);
    own->seen = liana__arena_allocate(arena, own->num_workers * own->num_ranks);
    own->targets = liana__arena_allocate(arena, num_steps * sizeof *own->targets);
    own->room = malloc((own->size + 1) * sizeof *own->room);
    own->values = malloc(liana__slice_map_bytes(&own->slice->map, LIANA__PARTS_FETCHED, update->plan->variables) + 1);
    bool enough = !arena->failed && own->room && own->values;
    for (size_t i = 0; enough && i < own->num_workers; i++) enough = (own->messages[i] = malloc(size + 1)) != NULL;
    if (!enough) return liana__fail_memory(error, "a parameter server");
    for (size_t i = 0; i < num_steps; i++) own->targets[i] = -1;
    LIANA_TRY(liana__span_gate_create(own->num_workers, (uint64_t)own->span->options.max_staleness, &own->gate, error));
    return open_inbox(own, size, error);
}

liana_status liana__span_server_create(const liana__span_parts *span, const liana__span_work *work,
                                       liana__span_side *side, liana__span_server **server, liana__error *error)
{
    const liana__cluster *cluster = span->cluster;
    liana__span_server *made = calloc(1, sizeof *made);
    if (!made) return liana__fail_memory(error, "a parameter server");
    *made = (liana__span_server){.span = span, .work = work, .side = side};
    made->num_workers = cluster->place.num_workers;
    made->num_ranks = liana__cluster_size(cluster);
    made->is_first = cluster->place.rank == liana__cluster_owner_rank(cluster, 0);
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
    if (own->clients[worker].gone) return;
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
        if (status == LIANA_OK) status = liana__slice_read_fetched(own->slice, own->values, &size, own->error);
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
    for (size_t i = 0; i < own->num_workers; i++) {
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
    char found[256];
    LIANA_TRY(liana__sliced_update_check(own->span->update, what, &count, found, own->error));
    if (count == 0) return LIANA_OK;
    const bool is_sum = what == LIANA__CHECK_SUMS && own->work->name_sum;
    const char *name = is_sum ? own->work->name_sum(own->work->user, found) : found;
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

/* `sums` are of `count` examples. Without any nothing changes, but the update counts. */
static void apply(liana__span_server *own, int64_t count)
{
    const bool owns = own->size > 0, checks = owns && !own->work->allows_non_finite;
    liana_status status;
    status = own->work->scalars(own->work->user, (size_t)own->applied, (double)count, own->scalars, own->error);
    if (status == LIANA_OK && count && owns) status = liana__slice_take_sums(own->slice, own->error);
    if (status == LIANA_OK && count && checks) status = check(own, LIANA__CHECK_SUMS);
    if (status == LIANA_OK && count) {
        status = liana__sliced_update_apply(own->span->update, own->scalars, own->error);
    }
    if (status == LIANA_OK && count && checks) status = check(own, LIANA__CHECK_VARIABLES);
    own->applied++;
    if (status != LIANA_OK) stop(own, status);
}

static void measure(liana__span_server *own, size_t worker)
{
    const uint64_t staleness = own->applied - own->clients[worker].fetched_at;
    liana__span_counts *counts = &own->side->counts;
    liana__span_step *step = &own->side->steps[own->clients[worker].request.round];
    counts->measured++;
    counts->staleness += staleness;
    if (staleness > counts->largest_staleness) counts->largest_staleness = staleness;
    if (staleness > step->staleness) step->staleness = (uint32_t)staleness;
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

/* Adds the gradients of the running update in the order of the workers: the sum does not depend on the order of
 * arrival. */
static int64_t add_gradients(liana__span_server *own)
{
    const liana__denormals before = liana__denormals_flush();
    int64_t count = 0;
    for (size_t i = 0; i < own->num_workers; i++) {
        const client *one = &own->clients[i];
        if (!one->gave || one->request.count == 0) continue;
        take_slice(own, i, count > 0);
        count += one->request.count;
    }
    liana__denormals_restore(before);
    return count;
}

/* An update has taken the gradients of a worker. */
static void count_used(liana__span_server *own, size_t worker)
{
    const liana__span_request *request = &own->clients[worker].request;
    own->side->given[worker].used++;
    own->side->given[worker].examples += request->count;
    own->side->steps[request->round].used++;
}

/* How many gradients the next update takes; -1: nobody has said so yet. */
static int64_t find_target(const liana__span_server *own)
{
    if (own->targets[own->applied] >= 0) return own->targets[own->applied];
    for (size_t i = 0; i < own->num_workers; i++) {
        if (own->clients[i].gave) return (int64_t)own->clients[i].request.expected;
    }
    return -1;
}

/* An update is due when as many have given as it takes. False: it is not. */
static bool update_once(liana__span_server *own)
{
    if (own->stopping || own->applied >= own->work->num_steps) return false;
    const int64_t target = find_target(own);
    int64_t given = 0;
    for (size_t i = 0; i < own->num_workers; i++) given += own->clients[i].gave;
    if (target < 0 || given < target) return false;
    apply(own, add_gradients(own));
    for (size_t i = 0; i < own->num_workers; i++) {
        client *one = &own->clients[i];
        if (!one->gave) continue;
        one->gave = false;
        count_used(own, i);
        answer(own, i, one->number, LIANA__SPAN_YES, own->applied);
    }
    return true;
}

static void update_in_rounds(liana__span_server *own)
{
    while (update_once(own)) {
    }
}

/* This server had updated with the gradients of a worker that was gone, for others, when it heard of that. */
static void answer_late(liana__span_server *own, size_t worker)
{
    own->clients[worker].gave = false;
    answer(own, worker, own->clients[worker].number, LIANA__SPAN_YES, own->applied);
}

static void take_gradients(liana__span_server *own, size_t worker)
{
    client *one = &own->clients[worker];
    one->gave = true;
    if (own->span->options.synchronous) {
        if (one->request.round < own->applied) answer_late(own, worker);
        update_in_rounds(own);
        return;
    }
    if (own->stopping) return;
    measure(own, worker);
    if (one->request.count) take_slice(own, worker, false);
    apply(own, one->request.count);
    one->gave = false;
    count_used(own, worker);
    answer(own, worker, one->number, LIANA__SPAN_YES, own->applied);
}

/* ---- between servers ---- */

static void tell_server(liana__span_server *own, size_t rank, const liana__span_request *request)
{
    liana__error unsent = {0};
    const liana_status status = liana__span_send(own->span, rank, own->numbers[rank]++, request, &unsent);
    if (status == LIANA_OK) return;
    if (own->failed == LIANA_OK && own->error) *own->error = unsent;
    stop(own, status);
}

/* The first server to all others, or another one to the first. */
static void tell_servers(liana__span_server *own, const liana__span_request *request)
{
    for (size_t i = own->num_workers; i < own->num_ranks; i++) {
        if (own->clients[i].heard) tell_server(own, i, request);
    }
}

/* The first server ends last, so that the others hear of deaths. */
static void tell_end(liana__span_server *own)
{
    const bool ends = own->is_first ? own->num_left == 0 : own->num_workers_left == 0;
    if (own->has_told_end || !(ends || own->stopping)) return;
    own->has_told_end = true;
    tell_servers(own, &(liana__span_request){.kind = LIANA__SPAN_END, .stops = own->stopping});
}

static void end_client(liana__span_server *own, size_t rank)
{
    client *one = &own->clients[rank];
    if (one->ended || !one->heard) return;
    one->ended = true;
    own->num_left--;
    if (rank >= own->num_workers) return;
    own->num_workers_left--;
    liana__span_gate_done(&own->gate, rank);
}

/* ---- first arrivals ---- */

/* Those whose gradients an update takes, of the workers that are left. */
static int64_t count_joined(const liana__span_server *own, uint64_t round, int64_t *num_gone)
{
    int64_t count = 0;
    *num_gone = 0;
    for (size_t i = 0; i < own->num_workers; i++) {
        const client *one = &own->clients[i];
        if (one->joined == round + 1) *(one->gone ? num_gone : &count) += 1;
    }
    return count;
}

/* An update takes fewer gradients than its workers expect. */
static void close_round(liana__span_server *own, uint64_t round)
{
    int64_t num_gone;
    const int64_t target = count_joined(own, round, &num_gone);
    own->targets[round] = target;
    tell_servers(own, &(liana__span_request){.kind = LIANA__SPAN_CLOSE, .round = round, .expected = (uint64_t)target});
}

/* Whether nobody will offer gradients for the running update any more, since those that would are gone. */
static bool is_exhausted(const liana__span_server *own)
{
    if (own->num_gone == 0 || own->stopping || own->round >= own->work->num_steps) return false;
    for (size_t i = 0; i < own->num_workers; i++) {
        const client *one = &own->clients[i];
        const bool is_past = one->joined == own->round + 1 || (one->waits_to_begin && one->request.round > own->round);
        if (one->heard && !one->ended && !one->gone && !is_past) return false;
    }
    return true;
}

static void close_exhausted_rounds(liana__span_server *own)
{
    if (!own->is_first || !own->span->options.synchronous) return;
    while (is_exhausted(own)) close_round(own, own->round++);
    if (own->num_gone) update_in_rounds(own);
}

/* Of the first server: the first ones are taken, up to the number of the options. */
static void decide(liana__span_server *own, size_t worker)
{
    client *one = &own->clients[worker];
    const bool taken = one->request.round == own->round;
    answer(own, worker, one->number, taken ? LIANA__SPAN_YES : LIANA__SPAN_NO, own->round);
    own->side->given[worker].dropped += !taken;
    own->side->steps[one->request.round].dropped += !taken;
    if (!taken) return;
    one->joined = own->round + 1;
    int64_t num_gone;
    const int64_t count = count_joined(own, own->round, &num_gone);
    if (count + num_gone < (int64_t)one->request.expected) return;
    if (num_gone) close_round(own, own->round);
    own->round++;
}

/* ---- workers that are gone ---- */

/* Of the first server: whether no server applies anything of a worker any more, so that nobody's gradients become
 * staler than the bound by it. A server that has ended applies nothing. */
static bool is_settled(const liana__span_server *own, size_t worker)
{
    for (size_t i = own->num_workers; i < own->num_ranks; i++) {
        const bool knows = own->clients[i].ended || own->seen[worker * own->num_ranks + i];
        if (own->clients[i].heard && !knows) return false;
    }
    return true;
}

static void settle_gone(liana__span_server *own)
{
    for (size_t i = 0; own->is_first && i < own->num_workers; i++) {
        if (own->clients[i].gone && (own->stopping || is_settled(own, i))) end_client(own, i);
    }
}

static void forget_requests(client *one)
{
    one->gone = true;
    one->waits_to_begin = one->waits_to_fetch = one->gave = false;
}

/* Of the first server. */
static void lose_worker(liana__span_server *own, size_t worker)
{
    client *one = &own->clients[worker];
    const uint64_t joined = one->joined;
    forget_requests(one);
    own->num_gone++;
    tell_servers(own, &(liana__span_request){.kind = LIANA__SPAN_GONE, .round = worker});
    if (own->span->options.synchronous && joined && joined <= own->round) close_round(own, joined - 1);
    settle_gone(own);
}

static void look_at_worker(liana__span_server *own, size_t worker)
{
    client *one = &own->clients[worker];
    const size_t first = liana__cluster_owner_rank(own->span->cluster, 0);
    if (!one->heard || !liana__span_is_gone(own->span->cluster, worker)) return;
    /* Also one that has ended here: it may not have told the others. */
    if (own->is_first && !one->gone) lose_worker(own, worker);
    /* Nobody would say it. */
    const bool is_over = own->stopping || (!own->is_first && own->clients[first].ended);
    if (is_over) end_client(own, worker);
}

/* Looks for deaths; without another server the span cannot stay. */
static void look_around(liana__span_server *own)
{
    liana__cluster *cluster = own->span->cluster;
    liana__span_look(cluster, &own->last_look);
    own->called_back = liana__span_is_called_back(cluster);
    for (size_t i = own->num_workers; i < own->num_ranks; i++) {
        const bool belongs = i != cluster->place.rank && liana__cluster_is_member(cluster, i);
        if (!belongs || !liana__span_is_gone(cluster, i)) continue;
        own->side->broken = true;
        stop(own, LIANA_OK);
        end_client(own, i);
    }
    for (size_t i = 0; i < own->num_workers; i++) look_at_worker(own, i);
    own->side->broken |= own->called_back;
}

/* ---- requests ---- */

/* Of another server than the first. */
static void take_gone(liana__span_server *own, size_t first, size_t worker)
{
    forget_requests(&own->clients[worker]);
    end_client(own, worker);
    tell_server(own, first, &(liana__span_request){.kind = LIANA__SPAN_SEEN, .round = worker});
}

static void take_word_of_server(liana__span_server *own, const liana__span_letter *letter)
{
    const liana__span_request *request = &letter->request;
    const bool of_worker = request->round < own->num_workers;
    if (request->kind == LIANA__SPAN_END) {
        if (request->stops) stop(own, LIANA_OK);
        end_client(own, letter->from);
    } else if (request->kind == LIANA__SPAN_GONE && of_worker && !own->is_first) {
        take_gone(own, letter->from, request->round);
    } else if (request->kind == LIANA__SPAN_SEEN && of_worker && own->is_first) {
        own->seen[request->round * own->num_ranks + letter->from] = true;
    } else if (request->kind == LIANA__SPAN_CLOSE && request->round < own->work->num_steps) {
        own->targets[request->round] = (int64_t)request->expected;
    }
    settle_gone(own);
    if (own->span->options.synchronous) update_in_rounds(own);
}

static void take_request(liana__span_server *own, const liana__span_letter *letter)
{
    client *one = &own->clients[letter->from];
    if (one->gone) return;
    one->request = letter->request;
    one->number = letter->number;
    switch ((liana__span_request_kind)letter->request.kind) {
    case LIANA__SPAN_BEGIN:
        one->waits_to_begin = true;
        if (!own->span->options.synchronous) liana__span_gate_ask(&own->gate, letter->from);
        break;
    case LIANA__SPAN_FETCH: one->waits_to_fetch = true; break;
    case LIANA__SPAN_OFFER: decide(own, letter->from); break;
    case LIANA__SPAN_GRADIENTS: take_gradients(own, letter->from); break;
    case LIANA__SPAN_DONE: liana__span_gate_done(&own->gate, letter->from); break;
    case LIANA__SPAN_END:
        if (letter->request.stops) stop(own, LIANA_OK);
        end_client(own, letter->from);
        break;
    case LIANA__SPAN_GONE:
    case LIANA__SPAN_SEEN:
    case LIANA__SPAN_CLOSE: break;
    }
}

static void fail_with(liana__span_server *own, const liana__span_letter *letter)
{
    if (own->failed == LIANA_OK && own->error) *own->error = *liana__span_inbox_error(own->inbox, letter->from);
    stop(own, letter->failed);
    end_client(own, letter->from);
}

static void serve_one(liana__span_server *own, const liana__span_letter *letter)
{
    if (letter->failed != LIANA_OK) {
        fail_with(own, letter);
    } else if (letter->from >= own->num_workers) {
        take_word_of_server(own, letter);
    } else if (letter->request.round < own->work->num_steps) {
        take_request(own, letter);
    } else {
        stop(own,
             liana__fail(own->error, LIANA_INVALID_DATA, "rank %zu asks for a step that there is not", letter->from));
        answer(own, letter->from, letter->number, LIANA__SPAN_STOP, 0);
    }
}

liana_status liana__span_serve(liana__span_server *server, liana__error *error)
{
    server->error = error;
    liana__span_inbox_begin(server->inbox);
    while (server->num_left > 0 && !server->called_back) {
        liana__span_letter letter;
        if (liana__span_inbox_take(server->inbox, &letter)) serve_one(server, &letter);
        look_around(server);
        close_exhausted_rounds(server);
        go_on(server);
        tell_end(server);
    }
    return server->failed;
}
