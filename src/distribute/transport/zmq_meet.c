/* All processes meet: each greets each, the chief hears when all have met all, and says so.
 *
 * Who has not come by the deadline is named with the place where it was looked for. A process that gives up tells the
 * others, so that none waits longer. */
#include "distribute/transport/zmq_calls.h"
#include "distribute/transport/zmq_internal.h"

#include "base/clock.h"
#include "base/text.h"

#include <liana/context.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double turn = 0.05, greet_again = 0.5, say_first = 3, say_again = 15; /* seconds */
/* Seconds. In so many and a heartbeat processes that meet again have closed what they had, and listen. */
static const double opening = 5;

/* ---- greetings ---- */

static size_t write_greeting(const liana__zmq *own, char text[LIANA__GREETING_SIZE])
{
    liana__greeting greeting = {.num_workers = own->place.num_workers,
                                .num_servers = own->place.num_servers,
                                .process = (uint64_t)getpid()};
    snprintf(greeting.version, sizeof greeting.version, "%s", liana_version());
    snprintf(greeting.address, sizeof greeting.address, "%s", own->address);
    gethostname(greeting.host, sizeof greeting.host - 1);
    return liana__greeting_write(&greeting, text);
}

/* Whether the greeting is of this cluster; else why not, for the other process. */
static bool fits(const liana__zmq *own, const liana__frame *frame, const liana__greeting *greeting, liana__text *why)
{
    const liana__cluster_place *place = &own->place;
    if (strcmp(greeting->version, liana_version()) != 0) {
        liana__text_add(why, "rank %u is liana %s, rank %zu is liana %s: all processes need the same version",
                        frame->sender, greeting->version, own->base.rank, liana_version());
    } else if (greeting->num_workers != place->num_workers || greeting->num_servers != place->num_servers) {
        liana__text_add(why,
                        "rank %u on %s was told of %llu workers and %llu servers, rank %zu of %zu and %zu (%s): all "
                        "processes must be told the same",
                        frame->sender, greeting->host, (unsigned long long)greeting->num_workers,
                        (unsigned long long)greeting->num_servers, own->base.rank, place->num_workers,
                        place->num_servers, place->source);
    } else if (frame->cluster - own->first_round > UINT32_MAX) {
        liana__text_add(why,
                        "rank %u on %s belongs to another cluster than rank %zu: their lists of addresses differ (%s)",
                        frame->sender, greeting->host, own->base.rank, place->source);
    }
    return why->length == 0 && !why->failed;
}

/* Whether another process has come that says the same rank: it waits until the first one has ended or has said a word. */
static bool is_taken(liana__zmq *own, const liana__frame *frame, const liana__greeting *greeting, const void *id,
                     size_t id_size, const char *peer_host, liana__text *why)
{
    const liana__zmq_peer *peer = &own->peers[frame->sender];
    if (frame->sender == own->base.rank) {
        liana__text_add(why,
                        "two processes say that they are rank %zu: this one is process %d, the other one is "
                        "process %llu on %s",
                        own->base.rank, (int)getpid(), (unsigned long long)greeting->process, greeting->host);
        return true;
    }
    if (!peer->heard || peer->incarnation == frame->incarnation) return false;
    liana__zmq_newcomer *newcomer = &own->peers[frame->sender].newcomer;
    liana__zmq_note_newcomer(own, frame, id, id_size);
    newcomer->greeting = *greeting;
    snprintf(newcomer->peer_host, sizeof newcomer->peer_host, "%s", peer_host ? peer_host : "");
    newcomer->contests = true;
    return true;
}

/* "*:port" with the host that the connection comes from. What comes from the master's own machine is reached there. */
static void complete_address(const liana__zmq *own, const char *address, const char *host, char *completed, size_t size)
{
    const char *port = strrchr(address, ':'), *master = own->place.master;
    if (!liana__starts_with(address, "*:") || !port) {
        snprintf(completed, size, "%s", address);
    } else if (!host || liana__starts_with(host, "127.") || strcmp(host, "::1") == 0) {
        const char *end = strrchr(master, ':');
        snprintf(completed, size, "%.*s%s", end ? (int)(end - master) : 0, master, port);
    } else {
        snprintf(completed, size, strchr(host, ':') ? "[%s]%s" : "%s%s", host, port);
    }
}

/* As long as not all have met, no cluster comes of it: who was first with this rank need not wait either, nor this
 * process. */
static void refuse(liana__zmq *own, size_t rank, const void *id, size_t id_size, const char *why)
{
    const liana__zmq_peer *peer = &own->peers[rank];
    liana__zmq_answer(own, rank, id, id_size, LIANA__FRAME_REFUSAL, why, strlen(why));
    if (own->has_thread) return;
    liana__fail(&own->failure, LIANA_UNAVAILABLE, "%s", why);
    if (peer->id_size) liana__zmq_send_refusal(own, peer->id, peer->id_size, why);
}

/* A greeting that fits, of a process that is new to this one. */
static void note_greeting(liana__zmq_peer *peer, uint64_t incarnation, const liana__greeting *greeting, const void *id,
                          size_t id_size)
{
    peer->id_size = id_size <= sizeof peer->id ? id_size : 0;
    if (peer->id_size) memcpy(peer->id, id, peer->id_size);
    snprintf(peer->whereabouts, sizeof peer->whereabouts, "process %llu on %s", (unsigned long long)greeting->process,
             greeting->host);
    peer->heard = true;
    peer->incarnation = incarnation;
    peer->last_heard = liana__clock_seconds();
}

/* Whether the sender is one whom this process meets now, or has met; else it is dealt with. */
static bool is_met_now(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size, liana__text *why)
{
    const liana__zmq_peer *peer = &own->peers[frame->sender];
    const bool is_known = peer->heard && peer->incarnation == frame->incarnation;
    if (own->has_thread && frame->sender != own->base.rank) {
        if (!is_known) liana__zmq_take_newcomer(own, frame, id, id_size, why);
        return is_known && frame->cluster == own->cluster;
    }
    if (frame->cluster == own->cluster && (frame->sender == own->base.rank || !own->absent[frame->sender])) return true;
    liana__zmq_take_other_round(own, frame, id, id_size);
    return false;
}

/* The master hears from the others where they are. False: the address is of no use. */
static bool finds_newcomer(liana__zmq *own, size_t rank, const char *said, const char *peer_host)
{
    char address[LIANA__ZMQ_ADDRESS];
    if (!own->place.master || own->base.rank != 0 || own->has_thread) return true;
    complete_address(own, said, peer_host, address, sizeof address);
    return liana__zmq_follow(own, rank, address, &own->failure) == LIANA_OK;
}

void liana__zmq_take_greeting(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size,
                              const char *peer_host)
{
    liana__greeting greeting;
    liana__error error = {0};
    liana__text why = {0};
    if (frame->sender >= own->base.num_ranks || frame->incarnation == 0) return;
    if (liana__greeting_read(frame->bytes, frame->num_bytes, &greeting, &error) != LIANA_OK) return;
    liana__zmq_peer *peer = &own->peers[frame->sender];
    const bool goes_on = fits(own, frame, &greeting, &why) && is_met_now(own, frame, id, id_size, &why) &&
                         !is_taken(own, frame, &greeting, id, id_size, peer_host, &why);
    if (why.length || why.failed) refuse(own, frame->sender, id, id_size, why.data ? why.data : "out of memory");
    liana__text_free(&why);
    if (!goes_on) return;
    if (!peer->heard) {
        note_greeting(peer, frame->incarnation, &greeting, id, id_size);
        if (!finds_newcomer(own, frame->sender, greeting.address, peer_host)) return;
    }
    peer->last_heard = liana__clock_seconds();
    liana__zmq_send_control(own, frame->sender, LIANA__FRAME_WELCOME, NULL, 0);
}

/* ---- two processes of one rank ---- */

/* The end of its connection may not have been looked at when the newcomer greets, and libzmq may have made it again since: to
 * the newcomer. */
static bool has_ended(const liana__zmq *own, const liana__zmq_peer *peer, double now)
{
    const double heard = peer->last_heard > peer->newcomer.first_heard ? peer->last_heard : peer->newcomer.first_heard;
    return peer->lost_since > 0 || peer->closed_at > peer->last_heard || now - heard > own->place.heartbeat;
}

/* The greeting that has waited. */
static void replace(liana__zmq *own, size_t rank)
{
    liana__zmq_peer *peer = &own->peers[rank];
    const liana__zmq_newcomer *newcomer = &peer->newcomer;
    peer->welcomed = peer->ready = false;
    note_greeting(peer, newcomer->incarnation, &newcomer->greeting, newcomer->id, newcomer->id_size);
    if (!finds_newcomer(own, rank, newcomer->greeting.address, *newcomer->peer_host ? newcomer->peer_host : NULL))
        return;
    liana__zmq_send_control(own, rank, LIANA__FRAME_WELCOME, NULL, 0);
}

static void refuse_newcomer(liana__zmq *own, size_t rank)
{
    const liana__zmq_newcomer *newcomer = &own->peers[rank].newcomer;
    liana__text why = {0};
    liana__text_add(&why, "two processes say that they are rank %zu: %s, which was first, and process %llu on %s", rank,
                    own->peers[rank].whereabouts, (unsigned long long)newcomer->greeting.process,
                    newcomer->greeting.host);
    refuse(own, rank, newcomer->id, newcomer->id_size, why.data ? why.data : "out of memory");
    liana__text_free(&why);
}

/* Whoever was first is asked for a word, as often as a greeting is sent. */
static void settle_contests(liana__zmq *own, double now, bool asks)
{
    char question[LIANA__GREETING_SIZE];
    const size_t size = write_greeting(own, question);
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        liana__zmq_peer *peer = &own->peers[i];
        const bool has_answered = peer->last_heard > peer->newcomer.first_heard + LIANA__ZMQ_OVERLAP;
        if (!peer->newcomer.contests) continue;
        peer->newcomer.contests = false;
        if (!peer->heard || has_ended(own, peer, now)) {
            replace(own, i);
        } else if (has_answered) {
            refuse_newcomer(own, i);
        } else {
            peer->newcomer.contests = true;
            if (asks) liana__zmq_answer(own, i, peer->id, peer->id_size, LIANA__FRAME_HELLO, question, size);
        }
    }
}

/* All have met before that was settled: it greets again, and is answered as one who comes later. */
static void put_off_contests(liana__zmq *own)
{
    static const char wait[] = "all have met already: this process is taken in later";
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        const liana__zmq_newcomer *newcomer = &own->peers[i].newcomer;
        if (!newcomer->contests) continue;
        liana__zmq_answer(own, i, newcomer->id, newcomer->id_size, LIANA__FRAME_LATER, wait, sizeof wait - 1);
    }
}

/* ---- the table of addresses, which the master sends ---- */

void liana__zmq_take_table(liana__zmq *own, const liana__frame *frame)
{
    const char *text = (const char *)frame->bytes, *end = text + frame->num_bytes;
    char address[LIANA__FRAME_ADDRESS];
    if (frame->sender != 0 || !own->place.master) return;
    for (size_t rank = 0; rank < own->base.num_ranks && liana__frame_next_address(&text, end, address); rank++) {
        const liana__zmq_peer *peer = &own->peers[rank];
        const bool is_met = peer->heard && peer->welcomed;
        if (!liana__zmq_expects(own, rank) || rank == 0 || is_met || !*address) continue;
        if (own->failure.status != LIANA_OK || liana__zmq_follow(own, rank, address, &own->failure) != LIANA_OK) return;
    }
}

static void send_table(liana__zmq *own)
{
    liana__text table = {0};
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        liana__text_add(&table, "%s\n", i == own->base.rank ? own->address : own->peers[i].address);
    }
    if (!table.failed && table.length <= LIANA__FRAME_CONTROL) {
        for (size_t i = 1; i < own->base.num_ranks; i++) {
            if (!own->peers[i].ready) {
                liana__zmq_send_control(own, i, LIANA__FRAME_TABLE, table.data, table.length);
            }
        }
    }
    liana__text_free(&table);
}

/* ---- who is missing ---- */

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
    liana__text text = {0}, line = {0};
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
    liana__text_free(&text);
    liana__text_free(&line);
}

static bool returns(const liana__zmq *own)
{
    return own->place.returns && own->round.number == 0;
}

/* Who comes back is told to wait as long as somebody is there who can tell it. */
static double patience(const liana__zmq *own)
{
    const double longest = 3 * own->place.heartbeat + 5;
    return returns(own) && longest < own->place.timeout ? longest : own->place.timeout;
}

static liana_status fail_late(const liana__zmq *own, liana__error *error)
{
    liana__text text = {0};
    list_missing(own, &text);
    liana__fail(error, LIANA_UNAVAILABLE, "the cluster did not come together within %g s (%s); missing: %s",
                patience(own), returns(own) ? "this process was started again after others had met" : "cluster.timeout",
                text.data ? text.data : "out of memory");
    liana__text_free(&text);
    return error->status;
}

/* ---- the meeting ---- */

void liana__zmq_take_answer(liana__zmq *own, size_t rank, const liana__frame *frame)
{
    liana__zmq_peer *peer = &own->peers[rank];
    if (frame->kind == LIANA__FRAME_LATER) {
        own->told_to_wait = liana__clock_seconds();
        peer->welcomed = false;
    } else if (frame->kind == LIANA__FRAME_INVITE) {
        liana__zmq_take_invitation(own, frame);
    } else if (frame->kind == LIANA__FRAME_REFUSAL && own->failure.status == LIANA_OK) {
        liana__fail(&own->failure, LIANA_UNAVAILABLE, "rank %zu at %s refuses this process: %.*s", rank,
                    *peer->address ? peer->address : "an address that is not known",
                    (int)(frame->num_bytes < 1024 ? frame->num_bytes : 1024), (const char *)frame->bytes);
    }
}

void liana__zmq_greet_back(liana__zmq *own, const void *id, size_t id_size)
{
    char text[LIANA__GREETING_SIZE];
    if (!own->place.master || own->base.rank != 0 || id_size == 0) return;
    liana__zmq_send_over(own, id, id_size, LIANA__FRAME_HELLO, text, write_greeting(own, text));
}

/* What a process says on its own connection to us: why it refuses us. */
static void take_answers(liana__zmq *own, size_t rank)
{
    liana__zmq_peer *peer = &own->peers[rank];
    liana__error error = {0};
    zmq_msg_t message;
    for (;;) {
        zmq_msg_init(&message);
        if (zmq_msg_recv(&message, peer->socket, ZMQ_DONTWAIT) < 0) break;
        liana__frame frame;
        liana_status status = liana__frame_read(zmq_msg_data(&message), zmq_msg_size(&message), &frame, &error);
        if (status == LIANA_OK && frame.sender == rank && frame.kind == LIANA__FRAME_HELLO) {
            liana__zmq_take_greeting(own, &frame, NULL, 0, NULL);
        } else if (status == LIANA_OK) {
            liana__zmq_take_answer(own, rank, &frame);
        } else if (status == LIANA_UNAVAILABLE && own->failure.status == LIANA_OK) {
            liana__fail(&own->failure, LIANA_UNAVAILABLE, "rank %zu at %s: %s", rank, peer->address, error.message);
        }
        zmq_msg_close(&message);
    }
    zmq_msg_close(&message);
}

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
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        if (own->peers[i].socket) take_answers(own, i);
    }
    liana__zmq_look_at_connections(own);
}

/* What is said again and again, until it is answered. */
static void speak(liana__zmq *own)
{
    char text[LIANA__GREETING_SIZE];
    size_t size = write_greeting(own, text);
    bool all_heard = true;
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        const liana__zmq_peer *peer = &own->peers[i];
        if (!liana__zmq_expects(own, i)) continue;
        all_heard = all_heard && peer->heard;
        if (peer->socket && !peer->welcomed) liana__zmq_send_control(own, i, LIANA__FRAME_HELLO, text, size);
    }
    /* In a later round those who are there go on, if others do not come. */
    const bool knows_enough = all_heard || own->round.number > 0;
    if (own->base.rank == 0 && own->place.master && knows_enough) send_table(own);
    if (own->base.rank != own->round.chief && has_met_all(own)) {
        liana__zmq_send_control(own, own->round.chief, LIANA__FRAME_READY, NULL, 0);
    }
}

/* Counts what has happened, so that an answer to it is not late. */
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
 * connection may be broken for a while, or another process may be started in its place. One that has not greeted may have met
 * the others before, and be about to meet them again. */
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
        settle_contests(own, now, is_time);
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
    put_off_contests(own);
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
    zmq_pollitem_t *items = calloc(own->base.num_ranks + 2, sizeof *items);
    if (!items) return liana__fail_memory(error, "the other processes");
    liana_status status = meet(own, items, error);
    free(items);
    /* Who was told to stop may be started again, and the others with it. */
    own->resumable = status == LIANA_CANCELLED || (status != LIANA_OK && is_resumable(own));
    if (own->place.resumable) *own->place.resumable = own->resumable;
    for (size_t i = 0; status != LIANA_OK && i < own->base.num_ranks; i++) {
        if (own->peers[i].heard) {
            liana__zmq_send_control(own, i, LIANA__FRAME_BYE, error->message, strlen(error->message));
        }
    }
    return status;
}
