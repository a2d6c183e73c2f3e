/* All processes meet: each greets each, the chief hears when all have met all, and says so.
 *
 * A process that has not come by the deadline is named with the place where it was looked for. A process that gives up
 * tells the others, so that none waits longer. */
#include "distribute/transport/zmq_internal.h"

#include "base/clock.h"
#include "base/scoped.h"
#include "base/text.h"

#include <liana/context.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double turn = 0.05, greet_again = 0.5, say_first = 3, say_again = 15; /* seconds */
/* Seconds. After these and a heartbeat, processes that meet again have closed their old sockets, and listen. */
static const double opening = 5;

/* ---- the table of addresses, which the master sends ---- */

static void send_table(liana__zmq *own)
{
    LIANA__SCOPED(liana__text) table = {0};
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        liana__text_add(&table, "%s\n", i == own->base.rank ? own->address : own->peers[i].address);
    }
    if (table.failed || table.length > LIANA__FRAME_CONTROL) return;
    for (size_t i = 1; i < own->base.num_ranks; i++) {
        if (!own->peers[i].ready) liana__zmq_send_control(own, i, LIANA__FRAME_TABLE, table.data, table.length);
    }
}

/* ---- the missing ---- */

static bool has_met(const liana__zmq *own, size_t rank)
{
    return !liana__zmq_expects(own, rank) || (own->peers[rank].heard && own->peers[rank].welcomed);
}

static bool has_met_all(const liana__zmq *own)
{
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        if (!has_met(own, i)) return false;
    }
    return true;
}

static void describe_missing(const liana__zmq *own, size_t rank, liana__text *text)
{
    const liana__zmq_peer *peer = &own->peers[rank];
    liana__text_add(text, "%srank %zu", text->length ? "; " : "", rank);
    if (!*peer->address) {
        liana__text_add(text, ", which was to come to %s", own->place.master);
        return;
    }
    liana__text_add(text, " at %s", peer->address);
    if (peer->heard) {
        liana__text_add(text, " (%s) is there, but does not answer", peer->whereabouts);
    } else if (peer->closed) {
        liana__text_add(
            text, ": somebody is there who ends the connection: it does not hold the cluster's key (%s), or is cut off",
            own->place.keys);
    }
}

static void list_missing(const liana__zmq *own, liana__text *text)
{
    enum { MOST = 12 };
    size_t count = 0;
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        if (!has_met(own, i) && count++ < MOST) describe_missing(own, i, text);
    }
    if (count > MOST) liana__text_add(text, "; and %zu more", count - MOST);
    if (count == 0) {
        const char *before = "";
        liana__text_add(text, "this process has met all, but others have not: ");
        for (size_t i = 0; i < own->base.num_ranks; i++) {
            const bool tells = own->base.rank == own->round.chief || i == own->round.chief;
            if (!liana__zmq_expects(own, i) || own->peers[i].ready || !tells) continue;
            liana__text_add(text, "%srank %zu (%s)", before, i, own->peers[i].whereabouts);
            before = ", ";
        }
    }
    if (own->place.master && own->base.rank != 0 && !own->peers[0].heard && liana__zmq_expects(own, 0)) {
        liana__text_add(text, "; rank 0 is where all find each other: if the others go on without it, start it there "
                              "again first");
    }
    if (own->strangers) {
        liana__text_add(text, "; %u connections to this process ended before they showed the cluster's key",
                        own->strangers);
    }
}

/* The others go on, and have said that they take this process in. */
static bool waits_for_a_round(const liana__zmq *own)
{
    return own->told_to_wait > 0 && own->round.number == 0;
}

static void say_missing(const liana__zmq *own)
{
    LIANA__SCOPED(liana__text) text = {0};
    LIANA__SCOPED(liana__text) line = {0};
    if (!own->place.say) return;
    if (waits_for_a_round(own)) {
        liana__text_add(&line, "rank %zu of %zu waits until the others, who go on already, take it in", own->base.rank,
                        own->base.num_ranks);
    } else {
        list_missing(own, &text);
        liana__text_add(&line, "rank %zu of %zu waits for %s", own->base.rank, own->base.num_ranks,
                        text.data ? text.data : "");
    }
    if (!line.failed) own->place.say(own->place.user, line.data);
}

static bool returns(const liana__zmq *own)
{
    return own->place.returns && own->round.number == 0;
}

/* A process that comes back is told to wait as long as another is there that can tell it. */
static double patience(const liana__zmq *own)
{
    const double longest = 3 * own->place.heartbeat + 5;
    return returns(own) && longest < own->place.timeout ? longest : own->place.timeout;
}

static liana_status fail_late(const liana__zmq *own, liana__error *error)
{
    LIANA__SCOPED(liana__text) text = {0};
    list_missing(own, &text);
    return liana__fail(error, LIANA_UNAVAILABLE, "the cluster did not come together within %g s (%s); missing: %s",
                       patience(own),
                       returns(own) ? "this process was started again after others had met" : "cluster.timeout",
                       text.data ? text.data : "out of memory");
}

/* ---- the meeting ---- */

static void wait_for_frames(liana__zmq *own, zmq_pollitem_t *items)
{
    int count = 0;
    items[count++] = (zmq_pollitem_t){.socket = own->router, .events = ZMQ_POLLIN};
    if (own->gate) items[count++] = (zmq_pollitem_t){.socket = own->gate, .events = ZMQ_POLLIN};
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        if (own->peers[i].socket)
            items[count++] = (zmq_pollitem_t){.socket = own->peers[i].socket, .events = ZMQ_POLLIN};
    }
    zmq_poll(items, count, (long)(turn * 1000));
    if (own->gate && items[1].revents) liana__zmq_answer_gate(own);
    liana__zmq_take_frames(own);
    for (size_t i = 0; i < own->base.num_ranks; i++) liana__zmq_hear_answers(own, i);
    liana__zmq_look_at_connections(own);
}

/* Frames that are sent again and again, until they are answered. */
static void speak(liana__zmq *own)
{
    char text[LIANA__GREETING_SIZE];
    size_t size = liana__zmq_write_greeting(own, text);
    bool all_heard = true;
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        const liana__zmq_peer *peer = &own->peers[i];
        if (!liana__zmq_expects(own, i)) continue;
        all_heard = all_heard && peer->heard;
        if (peer->socket && !peer->welcomed) liana__zmq_send_control(own, i, LIANA__FRAME_HELLO, text, size);
    }
    /* In a later round those that are there go on, if others do not come. */
    const bool knows_enough = all_heard || own->round.number > 0;
    if (own->base.rank == 0 && own->place.master && knows_enough) send_table(own);
    if (own->base.rank != own->round.chief && has_met_all(own)) {
        liana__zmq_send_control(own, own->round.chief, LIANA__FRAME_READY, NULL, 0);
    }
}

/* Counts the events, so that an answer to one is not late. */
static size_t progress(const liana__zmq *own)
{
    size_t count = 0;
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        const liana__zmq_peer *peer = &own->peers[i];
        count += (size_t)peer->heard + (size_t)peer->welcomed + (size_t)peer->ready + (peer->socket != NULL);
    }
    return count;
}

static bool all_ready(const liana__zmq *own)
{
    if (!has_met_all(own)) return false;
    if (own->base.rank != own->round.chief) return own->peers[own->round.chief].ready;
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        if (liana__zmq_expects(own, i) && !own->peers[i].ready) return false;
    }
    return true;
}

static liana_status fail_stopped(const liana__zmq *own, liana__error *error)
{
    return liana__fail(error, LIANA_CANCELLED, "rank %zu was stopped while it waited for the other processes",
                       own->base.rank);
}

/* A process that was there and has ended will not come again by itself: nobody waits for it until the timeout. Its
 * connection may be broken for a while, or another process may be started in its place. One that has not greeted may
 * have met the others before, and be about to meet them again. */
static void look_for_ended(liana__zmq *own, double now)
{
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        const liana__zmq_peer *peer = &own->peers[i];
        const bool was_there = peer->heard || (peer->reached && own->round.number == 0);
        const double longest = own->place.heartbeat + (peer->heard ? 0 : opening);
        const bool has_ended =
            liana__zmq_expects(own, i) && was_there && peer->lost_since > 0 && now - peer->lost_since > longest;
        if (!has_ended || own->failure.status != LIANA_OK) continue;
        own->resumable = true;
        liana__fail(&own->failure, LIANA_UNAVAILABLE,
                    "rank %zu (%s) has ended before all had met, and no other process has come in its place: start all "
                    "processes again",
                    i, peer->heard ? peer->whereabouts : peer->address);
    }
}

/* Each greeting is answered by those that have met, as long as one of them is there. */
static void look_for_silence(liana__zmq *own, double now)
{
    const double longest = own->place.heartbeat + opening;
    if (now - own->told_to_wait <= longest || own->failure.status != LIANA_OK) return;
    liana__fail(&own->failure, LIANA_UNAVAILABLE,
                "the others, who were to take rank %zu in, have said nothing for %g s: they have ended. If the job is "
                "not complete, start all processes again, they go on from the newest checkpoint",
                own->base.rank, longest);
}

static liana_status meet(liana__zmq *own, zmq_pollitem_t *items, liana__error *error)
{
    double begun = liana__clock_seconds(), spoken = 0, say_at = begun + say_first;
    size_t known = SIZE_MAX;
    while (own->failure.status == LIANA_OK && !all_ready(own)) {
        double now = liana__clock_seconds();
        if (own->place.stop && own->place.stop(own->place.user)) return fail_stopped(own, error);
        if (now - (own->told_to_wait > begun ? own->told_to_wait : begun) >= patience(own)) {
            return fail_late(own, error);
        }
        const bool is_time = now - spoken >= greet_again || progress(own) != known;
        if (waits_for_a_round(own)) {
            look_for_silence(own, now);
        } else {
            look_for_ended(own, now);
        }
        if (own->round.number) liana__zmq_leave_out_missing(own);
        liana__zmq_settle_contests(own, now, is_time);
        if (is_time) {
            known = progress(own);
            spoken = now;
            speak(own);
        }
        if (now >= say_at) {
            say_missing(own);
            say_at = now + say_again;
        }
        wait_for_frames(own, items);
    }
    if (own->failure.status != LIANA_OK) return liana__fail(error, own->failure.status, "%s", own->failure.message);
    for (size_t i = 0; own->base.rank == own->round.chief && i < own->base.num_ranks; i++) {
        if (liana__zmq_expects(own, i)) liana__zmq_send_control(own, i, LIANA__FRAME_GO, NULL, 0);
    }
    liana__zmq_put_off_contests(own);
    return LIANA_OK;
}

static bool is_resumable(const liana__zmq *own)
{
    bool resumable = own->resumable || own->place.returns || own->told_to_wait > 0 || own->round.number > 0;
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        resumable = resumable || (own->peers[i].heard && own->peers[i].lost_since > 0);
    }
    return resumable;
}

liana_status liana__zmq_meet(liana__zmq *own, liana__error *error)
{
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        if (liana__zmq_expects(own, i) && *own->peers[i].address) LIANA_TRY(liana__zmq_connect(own, i, error));
    }
    LIANA__SCOPED_MEMORY zmq_pollitem_t *items = calloc(own->base.num_ranks + 2, sizeof *items);
    if (!items) return liana__fail_memory(error, "the other processes");
    liana_status status = meet(own, items, error);
    /* A process that was told to stop may be started again, and the others with it. */
    own->resumable = status == LIANA_CANCELLED || (status != LIANA_OK && is_resumable(own));
    if (own->place.resumable) *own->place.resumable = own->resumable;
    for (size_t i = 0; status != LIANA_OK && i < own->base.num_ranks; i++) {
        if (own->peers[i].heard) {
            liana__zmq_send_control(own, i, LIANA__FRAME_BYE, error->message, strlen(error->message));
        }
    }
    return status;
}
