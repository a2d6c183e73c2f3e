/* The thread of the transport `zmq`: reads frames, sends heartbeats, and notices deaths. */
#include "distribute/transport/zmq_internal.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_MOVED = 64 << 10 }; /* bytes of a frame that is not copied */

/* Seconds. A connection that ends and does not come back within `lost` has lost its process. */
static const double longest_turn = 0.1, lost = 0.5;

/* ---- frames ---- */

static void note_gap(liana__zmq *own, size_t rank, uint64_t sequence)
{
    liana__zmq_peer *peer = &own->peers[rank];
    if (sequence == peer->received) return;
    peer->received = sequence;
    liana__mailbox_set_gone(own->base.mailbox, rank, "was cut off: messages of it were lost");
}

static void release_body(void *body)
{
    zmq_msg_close(body);
    free(body);
}

/* Bytes of a large message do not lie in its zmq_msg_t, so they stay where they are when that moves. NULL: they are
 * copied. */
static zmq_msg_t *move_body(zmq_msg_t *body)
{
    zmq_msg_t *moved = zmq_msg_size(body) >= LEAST_MOVED ? malloc(sizeof *moved) : NULL;
    if (!moved) return NULL;
    zmq_msg_init(moved);
    zmq_msg_move(moved, body);
    return moved;
}

static void take_data(liana__zmq *own, const liana__frame *frame, zmq_msg_t *body)
{
    liana__zmq_peer *peer = &own->peers[frame->sender];
    liana__error error = {0};
    note_gap(own, frame->sender, frame->sequence);
    peer->received++;
    zmq_msg_t *moved = move_body(body);
    liana__message_memory memory = {moved, release_body};
    liana_status status = liana__endpoint_put(&own->base, frame, moved ? &memory : NULL, &error);
    if (memory.owner) release_body(memory.owner);
    if (status == LIANA_INVALID_DATA) liana__mailbox_set_gone(own->base.mailbox, frame->sender, "was cut off");
}

static void take_goodbye(liana__zmq *own, const liana__frame *frame)
{
    liana__zmq_peer *peer = &own->peers[frame->sender];
    char reason[320] = "has left the cluster";
    if (frame->num_bytes) {
        snprintf(reason, sizeof reason, "has left the cluster: %.*s",
                 (int)(frame->num_bytes < 280 ? frame->num_bytes : 280), (const char *)frame->bytes);
    }
    liana__zmq_send_control(own, frame->sender, LIANA__FRAME_BYE_SEEN, NULL, 0);
    peer->left = true;
    own->resumable = own->resumable || (!own->has_thread && frame->key.part);
    liana__mailbox_set_gone(own->base.mailbox, frame->sender, reason);
    if (own->has_thread || own->failure.status != LIANA_OK) return;
    liana__fail(&own->failure, LIANA_UNAVAILABLE, "rank %u (%s) has given up: %.*s", frame->sender, peer->whereabouts,
                (int)(frame->num_bytes < 1500 ? frame->num_bytes : 1500), (const char *)frame->bytes);
}

/* The sender goes on without this process, unless this one has taken it for dead first: then each goes its own way, and
 * the run folder's lease decides. Of two processes never both end, since each says this only of one that it takes for
 * dead. */
static void take_verdict(liana__zmq *own, const liana__frame *frame)
{
    if (!own->has_thread) return;
    if (!liana__mailbox_is_gone(own->base.mailbox, frame->sender)) liana__zmq_note_left_behind(own);
    own->peers[frame->sender].left = true;
    liana__mailbox_set_gone(own->base.mailbox, frame->sender, "took this process for dead, and goes on without it");
}

static void take_frame(liana__zmq *own, const liana__frame *frame, zmq_msg_t *body)
{
    liana__zmq_peer *peer = &own->peers[frame->sender];
    peer->last_heard = liana__clock_seconds();
    switch (frame->kind) {
    case LIANA__FRAME_WELCOME: peer->welcomed = true; break;
    case LIANA__FRAME_TABLE: liana__zmq_take_table(own, frame); break;
    case LIANA__FRAME_READY:
        peer->ready = true;
        /* It asks again, so the first answer was lost. */
        if (own->has_thread && own->base.rank == own->round.chief)
            liana__zmq_send_control(own, frame->sender, LIANA__FRAME_GO, NULL, 0);
        break;
    case LIANA__FRAME_GO: peer->ready = frame->sender == own->round.chief; break;
    case LIANA__FRAME_DATA: take_data(own, frame, body); break;
    case LIANA__FRAME_BEAT: note_gap(own, frame->sender, frame->sequence); break;
    case LIANA__FRAME_BYE: take_goodbye(own, frame); break;
    case LIANA__FRAME_BYE_SEEN: peer->seen_goodbye = true; break;
    case LIANA__FRAME_DEAD: take_verdict(own, frame); break;
    default:
        if (!own->has_thread) liana__zmq_take_answer(own, frame->sender, frame);
        break;
    }
}

/* The frames that a process of an older round sends again and again. */
static bool is_beat(const liana__frame *frame)
{
    return frame->kind == LIANA__FRAME_BEAT || frame->kind == LIANA__FRAME_DEAD;
}

/* A frame of a round that this process does not belong to. */
static void take_stranger(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size)
{
    static const char text[] = "the others took this process for dead, and go on without it";
    if (!own->has_thread) {
        const bool speaks_to_old = is_beat(frame) || frame->kind == LIANA__FRAME_DATA;
        if (speaks_to_old) liana__zmq_greet_back(own, id, id_size);
        liana__zmq_take_answer(own, frame->sender, frame);
        return;
    }
    if (frame->cluster > own->cluster) {
        if (!own->has_invitation) liana__zmq_note_left_behind(own);
    } else if (is_beat(frame) && frame->incarnation != own->peers[frame->sender].newcomer.incarnation) {
        liana__zmq_send_refusal(own, id, id_size, text);
    }
}

static void take_bytes(liana__zmq *own, zmq_msg_t *id, zmq_msg_t *body)
{
    liana__frame frame;
    liana__error error = {0};
    liana_status status = liana__frame_read(zmq_msg_data(body), zmq_msg_size(body), &frame, &error);
    if (status == LIANA_UNAVAILABLE && own->failure.status == LIANA_OK) own->failure = error;
    if (status != LIANA_OK) return;
    if (frame.kind == LIANA__FRAME_HELLO) {
        liana__zmq_take_greeting(own, &frame, zmq_msg_data(id), zmq_msg_size(id), zmq_msg_gets(body, "Peer-Address"));
        return;
    }
    if (frame.sender >= own->base.num_ranks || frame.sender == own->base.rank) return;
    if (frame.cluster - own->first_round > UINT32_MAX) return;
    const liana__zmq_peer *peer = &own->peers[frame.sender];
    const bool is_known = peer->heard && peer->incarnation == frame.incarnation && !own->absent[frame.sender];
    if (is_known && frame.cluster == own->cluster) {
        take_frame(own, &frame, body);
    } else {
        take_stranger(own, &frame, zmq_msg_data(id), zmq_msg_size(id));
    }
}

void liana__zmq_take_frames(liana__zmq *own)
{
    liana__zmq_read_router(own, liana__zmq_look_at_callers, take_bytes);
}

/* A frame that has come over this process's own connection to that rank. */
static void take_answer(liana__zmq *own, size_t rank, zmq_msg_t *message)
{
    liana__frame frame;
    liana__error error = {0};
    const liana_status status = liana__frame_read(zmq_msg_data(message), zmq_msg_size(message), &frame, &error);
    if (status == LIANA_UNAVAILABLE && !own->has_thread && own->failure.status == LIANA_OK) {
        liana__fail(&own->failure, LIANA_UNAVAILABLE, "rank %zu at %s: %s", rank, own->peers[rank].address,
                    error.message);
    }
    if (status != LIANA_OK || (own->has_thread && frame.cluster - own->first_round > UINT32_MAX)) return;
    if (frame.kind == LIANA__FRAME_HELLO && frame.sender == rank) {
        liana__zmq_take_greeting(own, &frame, NULL, 0, NULL);
    } else if (!own->has_thread) {
        liana__zmq_take_answer(own, rank, &frame);
    } else if (frame.kind == LIANA__FRAME_REFUSAL) {
        liana__zmq_note_left_behind(own);
    }
}

static bool hear_answer(liana__zmq *own, size_t rank)
{
    liana__zmq_peer *peer = &own->peers[rank];
    zmq_msg_t message;
    zmq_msg_init(&message);
    pthread_mutex_lock(&peer->mutex);
    const bool found = peer->socket && zmq_msg_recv(&message, peer->socket, ZMQ_DONTWAIT) >= 0;
    pthread_mutex_unlock(&peer->mutex);
    if (found) take_answer(own, rank, &message);
    zmq_msg_close(&message);
    return found;
}

void liana__zmq_hear_answers(liana__zmq *own, size_t rank)
{
    /* A process that speaks without end is not heard beyond this. */
    enum { MOST = 256 };
    for (int count = 0; count < MOST && hear_answer(own, rank); count++) {
    }
}

/* ---- heartbeats ---- */

static void send_beats(liana__zmq *own, double now)
{
    /* A master that comes back waits for an answer. */
    if (own->place.master) liana__zmq_hear_answers(own, 0);
    if (now - own->last_beat < own->place.heartbeat / 4) return;
    own->last_beat = now;
    for (size_t i = 0; i < own->base.num_ranks; i++) liana__zmq_hear_answers(own, i);
    liana__zmq_look_at_newcomers(own);
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        if (!liana__zmq_expects(own, i) || own->peers[i].left) continue;
        /* A process that was taken for dead, and lives, hears of it: else it would wait for ever. Its own frames may
         * not come. */
        const bool gone = liana__mailbox_is_gone(own->base.mailbox, i);
        liana__zmq_send_control(own, i, gone ? LIANA__FRAME_DEAD : LIANA__FRAME_BEAT, NULL, 0);
    }
}

static void notice_gone(liana__zmq *own, double now)
{
    /* This process itself was stopped: frames that the others sent meanwhile have not been read yet. */
    double pause = now - own->last_turn > own->place.heartbeat / 2 ? now - own->last_turn : 0;
    char reason[128];
    own->last_turn = now;
    snprintf(reason, sizeof reason, "was silent for more than %g s (cluster.heartbeat)", own->place.heartbeat);
    /* Also in a generation that has begun since. */
    if (own->left_behind) liana__zmq_note_left_behind(own);
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        liana__zmq_peer *peer = &own->peers[i];
        if (!liana__zmq_expects(own, i)) continue;
        if (peer->left) liana__mailbox_set_gone(own->base.mailbox, i, "has left the cluster");
        if (peer->left) continue;
        peer->last_heard += pause;
        if (peer->lost_since > 0) peer->lost_since += pause;
        if (now - peer->last_heard > own->place.heartbeat) {
            liana__mailbox_set_gone(own->base.mailbox, i, reason);
        } else if (peer->lost_since > 0 && now - peer->lost_since > lost) {
            liana__mailbox_set_gone(own->base.mailbox, i,
                                    "has closed its connection: the process has ended, or the network is cut");
        }
    }
}

/* ---- the end ---- */

static void say_goodbye(liana__zmq *own)
{
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        if (!liana__zmq_expects(own, i) || own->peers[i].left) continue;
        liana__zmq_send_control(own, i, LIANA__FRAME_BYE, NULL, 0);
    }
    liana__zmq_dismiss_newcomers(own);
}

/* Whether all living processes have had this process's frames. */
static bool is_heard_out(liana__zmq *own)
{
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        const liana__zmq_peer *peer = &own->peers[i];
        bool waits = liana__zmq_expects(own, i) && !peer->left && !peer->seen_goodbye;
        if (waits && !liana__mailbox_is_gone(own->base.mailbox, i)) return false;
    }
    return true;
}

void *liana__zmq_serve(void *transport)
{
    liana__zmq *own = transport;
    double end = 0;
    own->last_turn = liana__clock_seconds();
    for (;;) {
        double now = liana__clock_seconds();
        if (own->closing && end == 0) {
            end = now + own->place.heartbeat;
            say_goodbye(own);
        }
        if (end > 0 && (is_heard_out(own) || now > end)) return NULL;
        send_beats(own, now);
        double wait = own->place.heartbeat / 4 < longest_turn ? own->place.heartbeat / 4 : longest_turn;
        zmq_pollitem_t items[4] = {{.socket = own->router, .events = ZMQ_POLLIN},
                                   {.fd = own->wake, .events = ZMQ_POLLIN},
                                   {.socket = own->gate, .events = ZMQ_POLLIN},
                                   {.socket = own->router_monitor, .events = ZMQ_POLLIN}};
        /* Only a socket that is reached over a network has a gate, and strangers. */
        zmq_poll(items, !own->gate ? 2 : own->router_monitor ? 4 : 3, (long)(wait * 1000) + 1);
        if (items[1].revents) {
            uint64_t count;
            if (read(own->wake, &count, sizeof count) == (ssize_t)sizeof count) liana__mailbox_wake(own->base.mailbox);
        }
        if (own->gate && items[2].revents) liana__zmq_answer_gate(own);
        liana__zmq_take_frames(own);
        liana__zmq_look_at_connections(own);
        notice_gone(own, liana__clock_seconds());
    }
}
