/* The client of service.h: one DEALER socket. */
#include "distribute/transport/service.h"
#include "distribute/transport/zmq_internal.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds in which a connection may break while it opens, as it does with a server that has just started. One that
 * breaks later is refused. */
static const double MOST_BREAKING = 1;

struct liana__link {
    liana__zmq zmq; /* its one peer is the server */
    liana__zmq_peer server;
    char keys[256]; /* the folder, for messages */
    bool is_connected;
    bool is_answered; /* by the server, since the connection has begun */
    bool is_heard;    /* the link is open: the server knows this connection, and keeps it */
    bool is_lost;
    double broken_since; /* when a connection first broke while it was opened; 0: none has */
    liana__assembly assembly;
};

/* ---- open and close ---- */

static liana_status prepare(liana__link *link, const liana__service_place *place, liana__error *error)
{
    LIANA_TRY(liana__zmq_prepare_service(&link->zmq, place, link->server.address, error));
    if (link->zmq.has_keys) snprintf(link->keys, sizeof link->keys, "%s", place->keys);
    if (link->zmq.has_keys || liana__zmq_is_ipc(place->address)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "a server over a network (%s) is reached with the cluster's key: copy the folder that 'liana "
                       "cluster keys' has made, and name it in cluster.keys or LIANA_CLUSTER_KEYS",
                       place->address);
}

static liana_status fail_key(const liana__link *link, liana__error *error)
{
    return liana__fail(error, LIANA_UNAVAILABLE,
                       "somebody is at %s who does not hold the key of %s: all processes need the same, and a server "
                       "must be of this version",
                       link->server.address, *link->keys ? link->keys : "the cluster");
}

/* libzmq connects again by itself. With another key the connection breaks each time. */
static bool may_break(liana__link *link)
{
    const double now = liana__clock_seconds();
    if (link->broken_since == 0) link->broken_since = now;
    return now - link->broken_since < MOST_BREAKING;
}

/* Whether the connection has begun; an error if it has ended. */
static liana_status look(liana__link *link, liana__error *error)
{
    int event;
    uint32_t value = 0;
    while ((event = liana__zmq_next_event(link->server.monitor, &value)) != 0) {
        if (event == ZMQ_EVENT_CONNECTED) {
            liana__zmq_widen(&link->server, value);
        } else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
            link->is_connected = true;
            link->is_answered = false;
            /* So that the server knows it, however long nothing is asked. It answers. */
            liana__zmq_send_control(&link->zmq, 0, LIANA__FRAME_BEAT, NULL, 0);
        } else if (link->is_heard) {
            link->is_lost = true;
        } else if (link->is_connected) {
            /* A server that many strangers visit ends connections that have said nothing yet (zmq_door.c). */
            link->is_connected = false;
        } else if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL && may_break(link)) {
            continue;
        } else if (event != ZMQ_EVENT_DISCONNECTED) {
            return fail_key(link, error);
        }
    }
    if (!link->is_lost) return LIANA_OK;
    return liana__fail(error, LIANA_UNAVAILABLE,
                       "the server at %s has closed the connection: it has ended, or the network is cut",
                       link->server.address);
}

static void wait_for(liana__link *link, double seconds)
{
    zmq_pollitem_t items[2] = {{.socket = link->server.socket, .events = ZMQ_POLLIN},
                               {.socket = link->server.monitor, .events = ZMQ_POLLIN}};
    zmq_poll(items, 2, (long)(seconds * 1000) + 1);
}

static liana_status take_frame(liana__link *link, zmq_msg_t *body, bool *whole, liana__error *error)
{
    liana__frame frame;
    *whole = false;
    liana_status status = liana__frame_read(zmq_msg_data(body), zmq_msg_size(body), &frame, error);
    if (status != LIANA_OK) return liana__fail_within(error, "the server at %s", link->server.address);
    if (frame.kind == LIANA__FRAME_REFUSAL) {
        link->is_lost = true;
        return liana__fail(error, LIANA_UNAVAILABLE, "the server at %s refuses this process: %.*s",
                           link->server.address, (int)(frame.num_bytes < 1024 ? frame.num_bytes : 1024),
                           (const char *)frame.bytes);
    }
    link->is_answered = true;
    /* Before the link is open no answer to a request can come. */
    if (!link->is_heard || frame.kind != LIANA__FRAME_DATA) return LIANA_OK;
    return liana__assembly_add(&link->assembly, &frame, NULL, NULL, whole, error);
}

/* Takes a frame, if one has come. */
static liana_status take_next(liana__link *link, bool *found, bool *whole, liana__error *error)
{
    zmq_msg_t body;
    zmq_msg_init(&body);
    *found = zmq_msg_recv(&body, link->server.socket, ZMQ_DONTWAIT) >= 0;
    const liana_status status = *found ? take_frame(link, &body, whole, error) : LIANA_OK;
    zmq_msg_close(&body);
    return status;
}

static liana_status connect_to(liana__link *link, const liana__service_place *place, liana__error *error)
{
    LIANA_TRY(prepare(link, place, error));
    LIANA_TRY(liana__zmq_connect(&link->zmq, 0, error));
    if (!link->server.monitor) return liana__fail_memory(error, "a connection");
    double end = liana__clock_seconds() + place->timeout;
    for (;;) {
        bool found, whole;
        LIANA_TRY(take_next(link, &found, &whole, error));
        /* The connection that was answered may have ended since, and another one begun, which the server does not know
         * yet. */
        LIANA_TRY(look(link, error));
        link->is_heard = link->is_connected && link->is_answered;
        if (link->is_heard) return LIANA_OK;
        if (place->stop && place->stop(place->user)) {
            return liana__fail(error, LIANA_CANCELLED, "stopped while it waited for the server at %s", place->address);
        }
        double left = end - liana__clock_seconds();
        if (left <= 0) break;
        wait_for(link, left < 0.1 ? left : 0.1);
    }
    return liana__fail(error, LIANA_UNAVAILABLE,
                       "nobody has answered at %s within %g s (%s): is 'liana server' running there?", place->address,
                       place->timeout, place->source);
}

liana_status liana__link_open(const liana__service_place *place, liana__link **out, liana__error *error)
{
    *out = NULL;
    LIANA_TRY(liana__zmq_load(error));
    liana__link *link = calloc(1, sizeof *link);
    if (!link) return liana__fail_memory(error, "a connection");
    link->zmq.peers = &link->server;
    link->zmq.base.num_ranks = link->zmq.num_peers = 1;
    link->zmq.base.rank = SIZE_MAX;
    link->zmq.wake = link->zmq.lock = -1;
    liana_status status = connect_to(link, place, error);
    if (status != LIANA_OK) {
        link->is_lost = true; /* nothing is to be sent any more */
        liana__link_close(link);
        return status;
    }
    *out = link;
    return LIANA_OK;
}

void liana__link_close(liana__link *link)
{
    if (!link) return;
    static const int none = 0;
    if (link->is_lost && link->server.socket) zmq_setsockopt(link->server.socket, ZMQ_LINGER, &none, sizeof none);
    liana__zmq_close_sockets(&link->zmq);
    liana__assembly_free(&link->assembly);
    liana__cluster_keys_forget(&link->zmq.keys);
    free(link);
}

/* ---- messages ---- */

static liana_status send_piece(liana__link *link, const liana__frame *frame, const liana__message_part *parts,
                               liana__error *error)
{
    zmq_msg_t piece;
    if (!liana__zmq_make_message(frame, parts, &piece)) return liana__fail_memory(error, "a message");
    if (zmq_msg_send(&piece, link->server.socket, ZMQ_DONTWAIT) >= 0) return LIANA_OK;
    int reason = zmq_errno();
    zmq_msg_close(&piece);
    return liana__fail(error, LIANA_UNAVAILABLE, "nothing can be sent to the server at %s: %s", link->server.address,
                       zmq_strerror(reason));
}

liana_status liana__link_send(liana__link *link, const liana__service_message *message, const void *more,
                              size_t num_more, liana__error *error)
{
    const liana__message_part parts[2] = {{message->bytes, message->size}, {more, num_more}};
    liana__frame frame = liana__zmq_first_piece(message, message->size + num_more);
    LIANA_TRY(look(link, error));
    do {
        LIANA_TRY(send_piece(link, &frame, parts, error));
    } while (liana__zmq_next_piece(&frame));
    return LIANA_OK;
}

liana_status liana__link_receive(liana__link *link, liana__service_message *message, liana__error *error)
{
    for (;;) {
        bool found, whole = false;
        LIANA_TRY(take_next(link, &found, &whole, error));
        if (whole) break;
        if (found) continue;
        LIANA_TRY(look(link, error));
        wait_for(link, 0.1);
    }
    *message = link->assembly.message;
    link->assembly = (liana__assembly){0};
    return LIANA_OK;
}
