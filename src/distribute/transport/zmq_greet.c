/* A process's answers to those that meet it: greetings, two processes of one rank, the table of addresses. */
#include "distribute/transport/zmq_internal.h"

#include "base/clock.h"
#include "base/scoped.h"
#include "base/text.h"

#include <liana/context.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- greetings ---- */

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

/* Whether another process has come that says the same rank: it waits until the first one has ended or has said a
 * word. */
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

/* "*:port" with the host that the connection comes from. An address of the master's own machine is reached there. */
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

/* As long as not all have met, no cluster comes of it: the first process with this rank need not wait either, nor this
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
    LIANA__SCOPED(liana__text) why = {0};
    if (frame->sender >= own->base.num_ranks || frame->incarnation == 0) return;
    if (liana__greeting_read(frame->bytes, frame->num_bytes, &greeting, &error) != LIANA_OK) return;
    liana__zmq_peer *peer = &own->peers[frame->sender];
    const bool goes_on = fits(own, frame, &greeting, &why) && is_met_now(own, frame, id, id_size, &why) &&
                         !is_taken(own, frame, &greeting, id, id_size, peer_host, &why);
    if (why.length || why.failed) refuse(own, frame->sender, id, id_size, why.data ? why.data : "out of memory");
    if (!goes_on) return;
    if (!peer->heard) {
        note_greeting(peer, frame->incarnation, &greeting, id, id_size);
        if (!finds_newcomer(own, frame->sender, greeting.address, peer_host)) return;
    }
    peer->last_heard = liana__clock_seconds();
    liana__zmq_send_control(own, frame->sender, LIANA__FRAME_WELCOME, NULL, 0);
}

/* ---- two processes of one rank ---- */

/* The end of its connection may not have been looked at when the newcomer greets, and libzmq may have made it again
 * since: to the newcomer. */
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
    LIANA__SCOPED(liana__text) why = {0};
    liana__text_add(&why, "two processes say that they are rank %zu: %s, which was first, and process %llu on %s", rank,
                    own->peers[rank].whereabouts, (unsigned long long)newcomer->greeting.process,
                    newcomer->greeting.host);
    refuse(own, rank, newcomer->id, newcomer->id_size, why.data ? why.data : "out of memory");
}

/* The first one is asked for a word, as often as a greeting is sent. */
void liana__zmq_settle_contests(liana__zmq *own, double now, bool asks)
{
    char question[LIANA__GREETING_SIZE];
    const size_t size = liana__zmq_write_greeting(own, question);
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

/* All have met before that was settled: the second one greets again, and is answered as a late one. */
void liana__zmq_put_off_contests(liana__zmq *own)
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

/* ---- answers ---- */

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
