/* Processes that come when the others have met. They wait, and are told so. At a moment of its own choice the cluster
 * closes its connections and meets again, in its next round, with those that it has invited. Only then is a process
 * taken in: it knows the facts of the round, as all others do. */
#include "distribute/transport/zmq_internal.h"

#include "base/clock.h"
#include "base/scoped.h"

/* Seconds. A process that waits greets twice a second, and has ended when it was silent for `silence`. */
static const double silence = 3;

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

void liana__zmq_note_left_behind(liana__zmq *own)
{
    own->left_behind = true;
    liana__mailbox_set_gone(own->base.mailbox, own->base.rank,
                            "was taken for dead by the others, who go on without it");
}

double liana__zmq_note_newcomer(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size)
{
    liana__zmq_newcomer *newcomer = &own->peers[frame->sender].newcomer;
    const double now = liana__clock_seconds();
    if (newcomer->incarnation != frame->incarnation) {
        *newcomer = (liana__zmq_newcomer){.incarnation = frame->incarnation, .first_heard = now};
    }
    newcomer->last_heard = now;
    newcomer->id_size = id_size <= sizeof newcomer->id ? id_size : 0;
    if (newcomer->id_size) memcpy(newcomer->id, id, newcomer->id_size);
    return newcomer->first_heard;
}

/* Notes the process that greets. False: the process that it wants to replace may be there still, or is. */
static bool may_replace(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size, liana__text *why)
{
    const liana__zmq_peer *peer = &own->peers[frame->sender];
    const double now = liana__clock_seconds(), begun = liana__zmq_note_newcomer(own, frame, id, id_size);
    if (!is_there(own, frame->sender)) return true;
    /* Its connection leads to the new one already, and a heartbeat of the old one should have come. */
    if (peer->closed_at > peer->last_heard && now - begun > own->place.heartbeat / 4 + LIANA__ZMQ_OVERLAP) {
        liana__mailbox_set_gone(own->base.mailbox, frame->sender, "has ended: another process has come in its place");
        return true;
    }
    if (peer->lost_since == 0 && peer->last_heard > begun + LIANA__ZMQ_OVERLAP) {
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
        if (!own->has_invitation) liana__zmq_note_left_behind(own);
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
    liana__zmq_answer(own, frame->sender, id, id_size, LIANA__FRAME_LATER, wait, sizeof wait - 1);
    if (own->takes_leave) liana__zmq_dismiss_newcomers(own);
}

void liana__zmq_look_at_newcomers(liana__zmq *own)
{
    const double now = liana__clock_seconds();
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        const liana__zmq_newcomer *newcomer = &own->peers[i].newcomer;
        /* A master that comes back greets when it hears a heartbeat. */
        const double longest = newcomer->id_size ? silence : silence + own->place.heartbeat;
        if (now - newcomer->last_heard > longest) own->peers[i].waits = false;
    }
}

void liana__zmq_dismiss_newcomers(liana__zmq *own)
{
    static const char over[] = "what this process was to take part in is over";
    LIANA__SCOPED_MEMORY bool *absent = calloc(own->base.num_ranks, sizeof *absent);
    liana__cluster_round round = {0};
    const liana__text *text = &own->invitation;
    own->takes_leave = true;
    const bool invites = absent && own->has_invitation &&
                         liana__invitation_read((const uint8_t *)text->data, text->length, own->base.num_ranks, &round,
                                                absent, NULL) == LIANA_OK;
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        const liana__zmq_newcomer *newcomer = &own->peers[i].newcomer;
        if (!own->peers[i].waits) continue;
        if (invites && !absent[i]) {
            liana__zmq_answer(own, i, newcomer->id, newcomer->id_size, LIANA__FRAME_INVITE, text->data, text->length);
        } else if (!invites) {
            liana__zmq_answer(own, i, newcomer->id, newcomer->id_size, LIANA__FRAME_REFUSAL, over, sizeof over - 1);
        }
    }
}

/* ---- requests of the cluster ---- */

void liana__zmq_take_in(liana__transport_instance *instance, bool may)
{
    own_of(instance)->takes_in = may;
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
    static const char wait[] = "all meet again: this process is taken in later";
    memcpy(own->absent, round->absent, own->base.num_ranks * sizeof *own->absent);
    own->round.number = round->number;
    own->round.chief = round->chief;
    own->cluster = own->first_round + round->number;
    own->round_begun = liana__clock_seconds();
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        /* It has met this process, and nobody else: it is to greet again. */
        if (own->peers[i].heard && own->absent[i]) {
            liana__zmq_send_control(own, i, LIANA__FRAME_LATER, wait, sizeof wait - 1);
        }
        own->peers[i].heard = own->peers[i].welcomed = own->peers[i].ready = false;
        own->peers[i].lost_since = 0;
        own->peers[i].newcomer.contests = false;
    }
}

void liana__zmq_take_invitation(liana__zmq *own, const liana__frame *frame)
{
    LIANA__SCOPED_MEMORY bool *absent = calloc(own->base.num_ranks, sizeof *absent);
    liana__cluster_round round;
    const bool fits =
        absent && frame->cluster - own->first_round <= UINT32_MAX &&
        liana__invitation_read(frame->bytes, frame->num_bytes, own->base.num_ranks, &round, absent, NULL) == LIANA_OK;
    if (fits && round.number > own->round.number && !absent[own->base.rank]) go_to_round(own, &round);
}

void liana__zmq_greet_back(liana__zmq *own, const void *id, size_t id_size)
{
    char text[LIANA__GREETING_SIZE];
    if (!own->place.master || own->base.rank != 0 || id_size == 0) return;
    liana__zmq_send_over(own, id, id_size, LIANA__FRAME_HELLO, text, liana__zmq_write_greeting(own, text));
}

static void send_invitation(liana__zmq *own, const liana__cluster_round *round, size_t rank, const void *id,
                            size_t id_size)
{
    LIANA__SCOPED(liana__text) text = {0};
    if (liana__invitation_write(round, own->base.num_ranks, &text, NULL) != LIANA_OK) return;
    liana__zmq_answer(own, rank, id, id_size, LIANA__FRAME_INVITE, text.data, text.length);
}

void liana__zmq_take_other_round(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size)
{
    static const char wait[] = "all are about to meet again: this process is taken in later";
    /* A process that is ahead invites this one, or has been told that it comes. */
    if (frame->cluster > own->cluster) {
        liana__zmq_greet_back(own, id, id_size);
    } else if (own->absent[frame->sender]) {
        liana__zmq_answer(own, frame->sender, id, id_size, LIANA__FRAME_LATER, wait, sizeof wait - 1);
    } else {
        send_invitation(own, &own->round, frame->sender, id, id_size);
    }
}

/* Without the master's process nobody finds the others. */
static void look_for_master(liana__zmq *own, double now, double patience)
{
    const liana__zmq_peer *master = &own->peers[0];
    const bool is_there = own->base.rank == 0 || (master->heard && master->welcomed && master->lost_since == 0);
    if (!own->place.master || is_there || own->failure.status != LIANA_OK) return;
    if (!own->absent[0] && now - own->round_begun <= patience) return;
    liana__fail(
        &own->failure, LIANA_UNAVAILABLE,
        "all were to meet again at %s, but rank 0 has ended, which is there: start all processes again, they go "
        "on from the newest checkpoint",
        own->place.master);
}

/* A process that has met the chief is there; the others may have died meanwhile. */
void liana__zmq_leave_out_missing(liana__zmq *own)
{
    static const double opening = 5; /* seconds: a process closes its old sockets before it meets the others */
    const double now = liana__clock_seconds(), patience = 2 * own->place.heartbeat;
    LIANA__SCOPED_MEMORY bool *absent = calloc(own->base.num_ranks, sizeof *absent);
    liana__cluster_round next = {own->round.number + 1, own->round.chief, absent};
    size_t num_left = 0;
    if (own->round_begun == 0) own->round_begun = now;
    look_for_master(own, now, patience + opening);
    const bool finds_all = !own->place.master || own->base.rank == 0 || own->peers[0].welcomed;
    const bool is_due = absent && finds_all && own->base.rank == own->round.chief && now - own->round_begun > patience;
    for (size_t i = 0; is_due && i < own->base.num_ranks; i++) {
        const liana__zmq_peer *peer = &own->peers[i];
        const bool is_there = peer->heard && peer->welcomed && peer->lost_since == 0;
        absent[i] = own->absent[i] || (liana__zmq_expects(own, i) && !is_there);
        num_left += absent[i] && !own->absent[i];
    }
    if (num_left == 0) return;
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        if (i != own->base.rank && !absent[i]) send_invitation(own, &next, i, NULL, 0);
    }
    go_to_round(own, &next);
}
