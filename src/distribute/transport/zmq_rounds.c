/* Processes that come when the others have met. They wait, and are told so. At a moment of its own choice the cluster
 * closes its connections and meets again, in its next round, with those that it has invited. Only then is a process taken
 * in: what it knows is that of the round, as for all others. */
#include "distribute/transport/zmq_calls.h"
#include "distribute/transport/zmq_internal.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds. A process that waits greets twice a second, and has ended when it was silent for `silence`. One that is there
 * beats after a newcomer has come: `overlap` later nothing of what it sent before its end is under way. */
static const double silence = 3, overlap = 0.2;

static liana__zmq *own_of(const liana__transport_instance *instance)
{
    return (liana__zmq *)(uintptr_t)instance;
}

bool liana__zmq_expects(const liana__zmq *own, size_t rank)
{
    return rank != own->base.rank && !own->absent[rank];
}

/* ---- the others have met ---- */

static bool is_there(const liana__zmq *own, size_t rank)
{
    return !own->absent[rank] && !own->peers[rank].left && !liana__mailbox_is_gone(own->base.mailbox, rank);
}

/* This process was left behind: the others have met in a later round. */
static void note_left_behind(liana__zmq *own)
{
    liana__mailbox_set_gone(own->base.mailbox, own->base.rank,
                            "was taken for dead by the others, who go on without it");
}

/* Notes who greets. False: the process that it wants to replace may be there still, or is. */
static bool may_replace(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size, liana__text *why)
{
    liana__zmq_peer *peer = &own->peers[frame->sender];
    liana__zmq_newcomer *newcomer = &peer->newcomer;
    const double now = liana__clock_seconds();
    if (newcomer->incarnation != frame->incarnation) {
        *newcomer = (liana__zmq_newcomer){.incarnation = frame->incarnation, .first_heard = now};
    }
    newcomer->last_heard = now;
    newcomer->id_size = id_size <= sizeof newcomer->id ? id_size : 0;
    memcpy(newcomer->id, id, newcomer->id_size);
    if (!is_there(own, frame->sender)) return true;
    if (peer->lost_since == 0 && peer->last_heard > newcomer->first_heard + overlap) {
        liana__text_add(why, "two processes say that they are rank %u: %s, which is there, and this one", frame->sender,
                        peer->whereabouts);
    }
    return false;
}

void liana__zmq_take_newcomer(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size,
                              liana__text *why)
{
    static const char wait[] = "all have met already: this process is taken in later";
    if (frame->cluster > own->cluster) {
        if (!own->has_invitation) note_left_behind(own);
        return;
    }
    if (!may_replace(own, frame, id, id_size, why)) return;
    if (!own->takes_in) {
        liana__text_add(
            why,
            "the others have met already, and this program takes no process in later: rank %u of it is gone, "
            "and the others go on without",
            frame->sender);
        return;
    }
    own->peers[frame->sender].waits = true;
    liana__zmq_send_over(own, id, id_size, LIANA__FRAME_LATER, wait, sizeof wait - 1);
}

void liana__zmq_take_stranger(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size)
{
    static const char text[] = "the others took this process for dead, and go on without it";
    if (!own->has_thread) return;
    if (frame->cluster > own->cluster) {
        if (!own->has_invitation) note_left_behind(own);
    } else if (frame->kind == LIANA__FRAME_BEAT &&
               frame->incarnation != own->peers[frame->sender].newcomer.incarnation) {
        liana__zmq_send_refusal(own, id, id_size, text);
    }
}

void liana__zmq_look_at_newcomers(liana__zmq *own)
{
    const double now = liana__clock_seconds();
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        if (now - own->peers[i].newcomer.last_heard > silence) own->peers[i].waits = false;
    }
}

void liana__zmq_hear_refusals(liana__zmq *own)
{
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        liana__zmq_peer *peer = &own->peers[i];
        zmq_msg_t message;
        zmq_msg_init(&message);
        pthread_mutex_lock(&peer->mutex);
        const bool found = peer->socket && zmq_msg_recv(&message, peer->socket, ZMQ_DONTWAIT) >= 0;
        pthread_mutex_unlock(&peer->mutex);
        liana__frame frame;
        if (found && liana__frame_read(zmq_msg_data(&message), zmq_msg_size(&message), &frame, NULL) == LIANA_OK &&
            frame.kind == LIANA__FRAME_REFUSAL && frame.cluster - own->first_round <= UINT32_MAX) {
            note_left_behind(own);
        }
        zmq_msg_close(&message);
    }
}

void liana__zmq_dismiss_newcomers(liana__zmq *own)
{
    bool *absent = calloc(own->base.num_ranks, sizeof *absent);
    liana__cluster_round round = {0};
    const liana__text *text = &own->invitation;
    const bool invites = absent && own->has_invitation &&
                         liana__invitation_read((const uint8_t *)text->data, text->length, own->base.num_ranks, &round,
                                                absent, NULL) == LIANA_OK;
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        const liana__zmq_newcomer *newcomer = &own->peers[i].newcomer;
        if (!own->peers[i].waits) continue;
        if (invites && !absent[i]) {
            liana__zmq_send_over(own, newcomer->id, newcomer->id_size, LIANA__FRAME_INVITE, text->data, text->length);
        } else if (!invites) {
            liana__zmq_send_refusal(own, newcomer->id, newcomer->id_size,
                                    "what this process was to take part in is over");
        }
    }
    free(absent);
}

/* ---- what the cluster asks ---- */

void liana__zmq_take_in(liana__transport_instance *instance, bool may)
{
    /* The addresses of processes that come later are not known to all. */
    own_of(instance)->takes_in = may && !own_of(instance)->place.master;
}

bool liana__zmq_waits(const liana__transport_instance *instance, size_t rank)
{
    return own_of(instance)->peers[rank].waits;
}

liana_status liana__zmq_invite(liana__transport_instance *instance, const liana__cluster_round *round,
                               liana__error *error)
{
    liana__zmq *own = own_of(instance);
    if (own->has_invitation) return LIANA_OK;
    LIANA_TRY(liana__invitation_write(round, own->base.num_ranks, &own->invitation, error));
    own->has_invitation = true;
    return LIANA_OK;
}

void liana__zmq_find_round(const liana__transport_instance *instance, liana__cluster_round *round)
{
    *round = own_of(instance)->round;
}

/* ---- while all meet ---- */

/* Goes to a later round: all are greeted anew. */
static void go_to_round(liana__zmq *own, const liana__cluster_round *round)
{
    memcpy(own->absent, round->absent, own->base.num_ranks * sizeof *own->absent);
    own->round.number = round->number;
    own->round.chief = round->chief;
    own->cluster = own->first_round + round->number;
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        own->peers[i].heard = own->peers[i].welcomed = own->peers[i].ready = false;
        own->peers[i].lost_since = 0;
    }
}

void liana__zmq_take_invitation(liana__zmq *own, const liana__frame *frame)
{
    bool *absent = calloc(own->base.num_ranks, sizeof *absent);
    liana__cluster_round round;
    const bool fits =
        absent && frame->cluster - own->first_round <= UINT32_MAX &&
        liana__invitation_read(frame->bytes, frame->num_bytes, own->base.num_ranks, &round, absent, NULL) == LIANA_OK;
    if (fits && round.number > own->round.number && !absent[own->base.rank]) go_to_round(own, &round);
    free(absent);
}

static void send_invitation(liana__zmq *own, const liana__cluster_round *round, size_t rank, const void *id,
                            size_t id_size)
{
    liana__text text = {0};
    if (liana__invitation_write(round, own->base.num_ranks, &text, NULL) == LIANA_OK) {
        if (id) {
            liana__zmq_send_over(own, id, id_size, LIANA__FRAME_INVITE, text.data, text.length);
        } else {
            liana__zmq_send_control(own, rank, LIANA__FRAME_INVITE, text.data, text.length);
        }
    }
    liana__text_free(&text);
}

void liana__zmq_take_other_round(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size)
{
    static const char wait[] = "all are about to meet again: this process is taken in later";
    /* Whoever is ahead invites this process, or has been told that it comes. */
    if (frame->cluster > own->cluster) return;
    if (own->absent[frame->sender]) {
        liana__zmq_send_over(own, id, id_size, LIANA__FRAME_LATER, wait, sizeof wait - 1);
    } else {
        send_invitation(own, &own->round, frame->sender, id, id_size);
    }
}

/* Who has met the chief is there; whoever else was to come may have died meanwhile. */
void liana__zmq_leave_out_missing(liana__zmq *own)
{
    const double now = liana__clock_seconds(), patience = 2 * own->place.heartbeat;
    bool *absent = calloc(own->base.num_ranks, sizeof *absent);
    liana__cluster_round next = {own->round.number + 1, own->round.chief, absent};
    size_t num_left = 0;
    if (own->round_begun == 0) own->round_begun = now;
    const bool is_due = absent && own->base.rank == own->round.chief && now - own->round_begun > patience;
    for (size_t i = 0; is_due && i < own->base.num_ranks; i++) {
        const liana__zmq_peer *peer = &own->peers[i];
        const bool is_there = peer->heard && peer->welcomed && peer->lost_since == 0;
        absent[i] = own->absent[i] || (liana__zmq_expects(own, i) && !is_there);
        num_left += absent[i] && !own->absent[i];
    }
    if (num_left) {
        for (size_t i = 0; i < own->base.num_ranks; i++) {
            if (i != own->base.rank && !absent[i]) send_invitation(own, &next, i, NULL, 0);
        }
        own->round_begun = now;
        go_to_round(own, &next);
    }
    free(absent);
}
