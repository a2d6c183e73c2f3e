/* The transport `zmq`: libzmq's sockets, for processes that are started one by one. On one machine they are sockets in a
 * folder; between machines they are TCP, encrypted and locked with the cluster's key (CURVE). */
#include "distribute/transport/zmq_calls.h"
#include "distribute/transport/zmq_internal.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- open ---- */

/* FNV-1a: a name for what all processes of a cluster know. */
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

static liana_status copy_address(char *to, const char *from, liana__error *error)
{
    if (strlen(from) < LIANA__ZMQ_ADDRESS) {
        strcpy(to, from);
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_CONFIG, "the address '%.60s...' is too long", from);
}

static liana_status copy_addresses(liana__zmq *own, const liana__cluster_place *place, liana__error *error)
{
    if (!place->addresses) {
        if (own->rank == 0) return copy_address(own->address, place->master, error);
        LIANA_TRY(copy_address(own->peers[0].address, place->master, error));
        return copy_address(own->address, "*:*", error);
    }
    for (size_t i = 0; i < own->num_ranks; i++) {
        char *to = i == own->rank ? own->address : own->peers[i].address;
        LIANA_TRY(copy_address(to, place->addresses[i], error));
    }
    return LIANA_OK;
}

static liana_status read_keys(liana__zmq *own, const liana__cluster_place *place, liana__error *error)
{
    bool all_here = place->addresses != NULL;
    for (size_t i = 0; all_here && i < own->num_ranks; i++) {
        all_here = liana__starts_with(place->addresses[i], "ipc://");
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
    own->peers = calloc(own->num_ranks, sizeof *own->peers);
    if (!own->peers) return liana__fail_memory(error, "the other processes");
    for (; own->num_peers < own->num_ranks; own->num_peers++) {
        pthread_mutex_init(&own->peers[own->num_peers].mutex, NULL);
    }
    LIANA_TRY(liana__mailbox_create(own->num_ranks, own->place.max_kept, &own->mailbox, error));
    own->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    own->context = zmq_ctx_new();
    if (own->wake < 0 || !own->context) {
        return liana__fail(error, LIANA_UNAVAILABLE, "no sockets can be made: %s", strerror(errno));
    }
    /* For each process a socket and its monitor's two. */
    zmq_ctx_set(own->context, ZMQ_MAX_SOCKETS, (int)(3 * own->num_ranks + 64));
    while (own->incarnation == 0) {
        if (getrandom(&own->incarnation, sizeof own->incarnation, 0) < 0) {
            return liana__fail(error, LIANA_UNAVAILABLE, "no random numbers: %s", strerror(errno));
        }
    }
    return LIANA_OK;
}

static liana_status start_thread(liana__zmq *own, liana__error *error)
{
    sigset_t all, before;
    double now = liana__clock_seconds();
    for (size_t i = 0; i < own->num_ranks; i++) own->peers[i].last_heard = now;
    own->has_thread = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&own->thread, NULL, liana__zmq_serve, own);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0) return LIANA_OK;
    own->has_thread = false;
    return liana__fail(error, LIANA_OUT_OF_MEMORY, "no thread for messages can be started: %s", strerror(code));
}

static liana_status open_all(liana__zmq *own, const liana__cluster_place *place, liana__error *error)
{
    LIANA_TRY(make_parts(own, error));
    LIANA_TRY(copy_addresses(own, place, error));
    LIANA_TRY(read_keys(own, place, error));
    own->cluster = make_id(place, own->num_ranks);
    LIANA_TRY(liana__zmq_listen(own, error));
    LIANA_TRY(liana__zmq_meet(own, error));
    return start_thread(own, error);
}

static void close_transport(liana__transport_instance *instance)
{
    liana__zmq *own = (liana__zmq *)(void *)instance;
    if (!own) return;
    if (own->has_thread) {
        static const uint64_t one = 1;
        own->closing = true;
        /* If it is not written, the thread looks after its turn. */
        ssize_t written = write(own->wake, &one, sizeof one);
        (void)written;
        pthread_join(own->thread, NULL);
    }
    if (own->mailbox) liana__zmq_close_sockets(own);
    liana__mailbox_destroy(own->mailbox);
    if (own->wake >= 0) close(own->wake);
    for (size_t i = 0; i < own->num_peers; i++) pthread_mutex_destroy(&own->peers[i].mutex);
    liana__cluster_keys_forget(&own->keys);
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
    own->rank = place->rank;
    own->num_ranks = place->num_workers + place->num_servers;
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

/* ---- send and receive ---- */

static liana__zmq *own_of(const liana__transport_instance *instance)
{
    return (liana__zmq *)(uintptr_t)instance;
}

/* Called with the mutex of the receiver. */
static liana_status send_piece(liana__zmq *own, size_t to, const liana__mail_piece *piece, liana__error *error)
{
    liana__zmq_peer *peer = &own->peers[to];
    liana__frame frame = {.kind = LIANA__FRAME_DATA,
                          .sender = (uint32_t)own->rank,
                          .cluster = own->cluster,
                          .incarnation = own->incarnation,
                          .sequence = peer->sent,
                          .key = piece->key,
                          .size = piece->size,
                          .offset = piece->offset,
                          .num_bytes = piece->num_bytes};
    zmq_msg_t message;
    if (zmq_msg_init_size(&message, LIANA__FRAME_HEADER + piece->num_bytes) != 0) {
        return liana__fail_memory(error, "a message to another process");
    }
    uint8_t *bytes = zmq_msg_data(&message);
    liana__frame_write(&frame, bytes);
    if (piece->num_bytes) memcpy(bytes + LIANA__FRAME_HEADER, piece->bytes, piece->num_bytes);
    if (zmq_msg_send(&message, peer->socket, ZMQ_DONTWAIT) >= 0) {
        peer->sent++;
        return LIANA_OK;
    }
    int reason = zmq_errno();
    zmq_msg_close(&message);
    return liana__fail(error, LIANA_UNAVAILABLE, "a message to rank %zu cannot be sent: %s", to, zmq_strerror(reason));
}

static liana_status send_pieces(liana__zmq *own, size_t to, const liana__mail_piece *message, liana__error *error)
{
    liana__mail_piece piece = *message;
    const uint8_t *bytes = message->bytes;
    size_t offset = 0;
    do {
        size_t left = message->num_bytes - offset;
        piece.offset = offset;
        piece.bytes = bytes ? bytes + offset : NULL;
        piece.num_bytes = left < LIANA__FRAME_PIECE ? left : LIANA__FRAME_PIECE;
        LIANA_TRY(send_piece(own, to, &piece, error));
        offset += piece.num_bytes;
    } while (offset < message->num_bytes);
    own->messages_sent++;
    own->bytes_sent += message->num_bytes;
    return LIANA_OK;
}

static liana_status send_message(liana__transport_instance *instance, size_t to, liana__message_key key,
                                 const void *data, size_t size, liana__error *error)
{
    liana__zmq *own = own_of(instance);
    liana__mail_piece whole = {own->rank, key, size, 0, data, size};
    if (to >= own->num_ranks) return liana__fail(error, LIANA_INTERNAL, "there is no rank %zu", to);
    if (to == own->rank) return liana__mailbox_put(own->mailbox, &whole, error);
    if (key.generation < liana__mailbox_generation(own->mailbox) || liana__mailbox_is_gone(own->mailbox, to)) {
        return LIANA_OK;
    }
    pthread_mutex_lock(&own->peers[to].mutex);
    liana_status status = send_pieces(own, to, &whole, error);
    pthread_mutex_unlock(&own->peers[to].mutex);
    return status;
}

static liana_status receive_message(liana__transport_instance *instance, size_t from, liana__message_key key,
                                    void *data, size_t size, double deadline, liana__error *error)
{
    liana__zmq *own = own_of(instance);
    if (from >= own->num_ranks) return liana__fail(error, LIANA_INTERNAL, "there is no rank %zu", from);
    return liana__mailbox_receive(own->mailbox, from, key, data, size, deadline, error);
}

static bool peek_message(liana__transport_instance *instance, size_t from, liana__message_key key, size_t *size)
{
    liana__zmq *own = own_of(instance);
    return from < own->num_ranks && liana__mailbox_peek(own->mailbox, from, key, size);
}

/* ---- who is there ---- */

static bool is_gone(const liana__transport_instance *instance, size_t rank)
{
    liana__zmq *own = own_of(instance);
    return rank >= own->num_ranks || liana__mailbox_is_gone(own->mailbox, rank);
}

static void interrupt(liana__transport_instance *instance)
{
    static const uint64_t one = 1;
    liana__zmq *own = own_of(instance);
    liana__mailbox_interrupt(own->mailbox);
    /* Fails only if the thread is to wake up already. */
    ssize_t written = write(own->wake, &one, sizeof one);
    (void)written;
}

static void set_generation(liana__transport_instance *instance, uint64_t generation, const bool *members)
{
    liana__zmq *own = own_of(instance);
    liana__mailbox_set_generation(own->mailbox, generation, members);
}

static void read_counters(const liana__transport_instance *instance, liana__transport_counters *counters)
{
    liana__zmq *own = own_of(instance);
    *counters =
        (liana__transport_counters){own->messages_sent, own->bytes_sent, own->messages_received, own->bytes_received};
}

const liana__transport liana__transport_zmq = {
    .name = "zmq",
    .doc = "libzmq: processes that are started one by one; encrypted between machines",
    .survives_death = true,
    .open = open_transport,
    .close = close_transport,
    .send = send_message,
    .receive = receive_message,
    .peek = peek_message,
    .is_gone = is_gone,
    .interrupt = interrupt,
    .set_generation = set_generation,
    .counters = read_counters,
};
