/* The transport `zmq`: libzmq's sockets, for processes that are started one by one. On one machine they are sockets in
 * a folder; between machines they are TCP, encrypted and locked with the cluster's key (CURVE). */
#include "distribute/transport/zmq_internal.h"

#include "base/clock.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- open ---- */

/* FNV-1a: a name for the common facts of all processes of a cluster. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (const char *at = text; *at; at++) hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

static uint64_t make_id(const liana__cluster_place *place, size_t num_ranks)
{
    uint64_t hash = 0xcbf29ce484222325u;
    if (place->id) return hash_text(hash, place->id);
    if (place->master) return hash_text(hash, place->master);
    for (size_t i = 0; i < num_ranks; i++) hash = hash_text(hash, place->addresses[i]);
    return hash;
}

static liana_status copy_addresses(liana__zmq *own, const liana__cluster_place *place, liana__error *error)
{
    if (!place->addresses) {
        if (own->base.rank == 0) return liana__zmq_copy_address(own->address, place->master, error);
        LIANA_TRY(liana__zmq_copy_address(own->peers[0].address, place->master, error));
        return liana__zmq_copy_address(own->address, "*:*", error);
    }
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        char *to = i == own->base.rank ? own->address : own->peers[i].address;
        LIANA_TRY(liana__zmq_copy_address(to, place->addresses[i], error));
    }
    return LIANA_OK;
}

static liana_status read_keys(liana__zmq *own, const liana__cluster_place *place, liana__error *error)
{
    bool all_here = place->addresses != NULL;
    for (size_t i = 0; all_here && i < own->base.num_ranks; i++) {
        all_here = liana__zmq_is_ipc(place->addresses[i]);
    }
    if (all_here) return LIANA_OK;
    if (!place->keys) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "processes that meet over a network (%s) need the cluster's key: 'liana cluster keys FOLDER' "
            "makes one; copy the folder to each machine, and name it in cluster.keys or "
            "LIANA_CLUSTER_KEYS",
            place->source);
    }
    LIANA_TRY(liana__cluster_keys_read(place->keys, &own->keys, error));
    own->has_keys = true;
    return LIANA_OK;
}

static liana_status make_parts(liana__zmq *own, liana__error *error)
{
    own->peers = calloc(own->base.num_ranks, sizeof *own->peers);
    own->absent = calloc(own->base.num_ranks, sizeof *own->absent);
    if (!own->peers || !own->absent) return liana__fail_memory(error, "the other processes");
    own->round = own->place.round;
    if (own->round.absent) memcpy(own->absent, own->round.absent, own->base.num_ranks * sizeof *own->absent);
    own->round.absent = own->absent;
    for (; own->num_peers < own->base.num_ranks; own->num_peers++) {
        pthread_mutex_init(&own->peers[own->num_peers].mutex, NULL);
    }
    LIANA_TRY(liana__mailbox_create(own->base.num_ranks, own->place.max_kept, &own->base.mailbox, error));
    own->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    own->context = zmq_ctx_new();
    if (own->wake < 0 || !own->context) {
        return liana__fail(error, LIANA_UNAVAILABLE, "no sockets can be made: %s", strerror(errno));
    }
    /* For each process a socket and its monitor's two. */
    zmq_ctx_set(own->context, ZMQ_MAX_SOCKETS, (int)(3 * own->base.num_ranks + 64));
    while (own->incarnation == 0) {
        if (getrandom(&own->incarnation, sizeof own->incarnation, 0) < 0) {
            return liana__fail(error, LIANA_UNAVAILABLE, "no random numbers: %s", strerror(errno));
        }
    }
    return LIANA_OK;
}

static liana_status start_thread(liana__zmq *own, liana__error *error)
{
    double now = liana__clock_seconds();
    for (size_t i = 0; i < own->base.num_ranks; i++) own->peers[i].last_heard = now;
    own->has_thread = true; /* it is true for the thread */
    const liana_status status = liana__endpoint_start_thread(&own->thread, liana__zmq_serve, own, error);
    own->has_thread = status == LIANA_OK;
    return status;
}

static liana_status open_all(liana__zmq *own, const liana__cluster_place *place, liana__error *error)
{
    LIANA_TRY(make_parts(own, error));
    LIANA_TRY(copy_addresses(own, place, error));
    LIANA_TRY(read_keys(own, place, error));
    own->first_round = make_id(place, own->base.num_ranks);
    own->cluster = own->first_round + own->round.number;
    liana__zmq_door_open(&own->door, own->base.num_ranks);
    LIANA_TRY(liana__zmq_listen(own, error));
    LIANA_TRY(liana__zmq_meet(own, error));
    return start_thread(own, error);
}

static void close_transport(liana__transport_instance *instance)
{
    liana__zmq *own = (liana__zmq *)(void *)instance;
    if (!own) return;
    if (own->has_thread) {
        own->closing = true;
        /* If it is not written, the thread looks after its turn. */
        eventfd_write(own->wake, 1);
        pthread_join(own->thread, NULL);
    }
    if (own->base.mailbox) liana__zmq_close_sockets(own);
    liana__mailbox_destroy(own->base.mailbox);
    if (own->wake >= 0) close(own->wake);
    for (size_t i = 0; i < own->num_peers; i++) pthread_mutex_destroy(&own->peers[i].mutex);
    liana__cluster_keys_forget(&own->keys);
    liana__text_free(&own->invitation);
    free(own->absent);
    free(own->peers);
    free(own);
}

static liana_status open_transport(const liana__cluster_place *place, liana__transport_instance **instance,
                                   liana__error *error)
{
    *instance = NULL;
    LIANA_TRY(liana__zmq_load(error));
    liana__zmq *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "the other processes");
    own->base.rank = place->rank;
    own->base.num_ranks = place->num_workers + place->num_servers;
    own->place = *place;
    own->wake = own->lock = -1;
    liana_status status = open_all(own, place, error);
    if (status == LIANA_OK) {
        *instance = (liana__transport_instance *)(void *)own;
    } else {
        close_transport((liana__transport_instance *)(void *)own);
    }
    return status;
}

/* ---- send ---- */

static liana__zmq *own_of(const liana__transport_instance *instance)
{
    return (liana__zmq *)(uintptr_t)instance;
}

static liana_status send_piece(liana__endpoint *base, size_t to, const liana__outgoing *whole, size_t offset,
                               size_t size, liana__error *error)
{
    liana__zmq *own = (liana__zmq *)(void *)base;
    liana__zmq_peer *peer = &own->peers[to];
    zmq_msg_t message;
    if (zmq_msg_init_size(&message, LIANA__FRAME_HEADER + size) != 0) {
        return liana__fail_memory(error, "a message to another process");
    }
    uint8_t *bytes = zmq_msg_data(&message);
    liana__message_parts_copy(whole->parts, offset, size, bytes + LIANA__FRAME_HEADER);
    pthread_mutex_lock(&peer->mutex);
    const liana__frame frame = {.kind = LIANA__FRAME_DATA,
                                .sender = (uint32_t)own->base.rank,
                                .cluster = own->cluster,
                                .incarnation = own->incarnation,
                                .sequence = peer->sent,
                                .key = whole->key,
                                .size = whole->size,
                                .offset = offset,
                                .num_bytes = size};
    liana__frame_write(&frame, bytes);
    /* A process outside the round has no socket. */
    const bool sent = peer->socket && zmq_msg_send(&message, peer->socket, ZMQ_DONTWAIT) >= 0;
    const int reason = sent || !peer->socket ? 0 : zmq_errno();
    peer->sent += sent;
    pthread_mutex_unlock(&peer->mutex);
    if (!sent) zmq_msg_close(&message);
    if (!reason) return LIANA_OK;
    return liana__fail(error, LIANA_UNAVAILABLE, "a message to rank %zu cannot be sent: %s", to, zmq_strerror(reason));
}

/* A piece is encrypted whole before its first byte is sent, and received whole before it is decrypted. Small ones let
 * all of that happen at the same time. */
static size_t piece_size(const liana__zmq *own)
{
    return own->has_keys ? LIANA__FRAME_ENCRYPTED_PIECE : LIANA__FRAME_PIECE;
}

static liana_status send_message(liana__transport_instance *instance, size_t to, liana__message_key key,
                                 const liana__message_part *parts, size_t num_parts, liana__error *error)
{
    liana__zmq *own = own_of(instance);
    const liana__outgoing whole = liana__outgoing_of(key, parts, num_parts);
    return liana__endpoint_send(&own->base, to, &whole, piece_size(own), send_piece, error);
}

static void interrupt(liana__transport_instance *instance)
{
    liana__zmq *own = own_of(instance);
    liana__mailbox_interrupt(own->base.mailbox);
    /* Fails only if the thread is to wake up already. */
    eventfd_write(own->wake, 1);
}

const liana__transport liana__transport_zmq = {
    .name = "zmq",
    .doc = "libzmq: processes that are started one by one; encrypted between machines",
    .survives_death = true,
    .open = open_transport,
    .close = close_transport,
    .send = send_message,
    .receive = liana__endpoint_receive,
    .interrupt = interrupt,
    .take_in = liana__zmq_take_in,
    .waits = liana__zmq_waits,
    .invite = liana__zmq_invite,
    .find_round = liana__zmq_find_round,
    LIANA__ENDPOINT_QUESTIONS,
};
