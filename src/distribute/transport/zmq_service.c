/* The server of service.h: one ROUTER socket, and the frames of each client so far. */
#include "distribute/transport/service.h"
#include "distribute/transport/zmq_internal.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Connections at a time: further ones are told so. */
enum { MOST_CLIENTS = 1024, ROUTING_ID = 255 };

typedef struct service_client {
    uint64_t number;
    uint8_t id[ROUTING_ID]; /* the connection's, by libzmq */
    size_t id_size;
    int file; /* its file descriptor: the name by which its end is told */
    liana__assembly assembly;
} service_client;

struct liana__service {
    liana__zmq zmq; /* first */
    liana__service_calls calls;
    service_client *clients;
    size_t num_clients, capacity;
    uint64_t num_ever;
    int *ended; /* file descriptors of connections that have ended; their frames may still wait */
    size_t num_ended, ended_capacity;
};

/* ---- open and close ---- */

static liana_status open_all(liana__service *service, const liana__service_place *place, liana__error *error)
{
    liana__zmq *zmq = &service->zmq;
    zmq->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (zmq->wake < 0) return liana__fail(error, LIANA_UNAVAILABLE, "no sockets can be made: %s", strerror(errno));
    LIANA_TRY(liana__zmq_prepare_service(zmq, place, zmq->address, error));
    if (!zmq->has_keys && !liana__zmq_is_ipc(place->address)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "a server at %s, which others reach over a network, needs the cluster's key: 'liana cluster "
                           "keys FOLDER' makes one; name the folder in --keys, cluster.keys or LIANA_CLUSTER_KEYS",
                           place->address);
    }
    liana__zmq_door_open(&zmq->door, 0);
    return liana__zmq_listen(zmq, error);
}

liana_status liana__service_open(const liana__service_place *place, const liana__service_calls *calls,
                                 liana__service **out, liana__error *error)
{
    *out = NULL;
    LIANA_TRY(liana__zmq_load(error));
    liana__service *service = calloc(1, sizeof *service);
    if (!service) return liana__fail_memory(error, "a server");
    service->calls = *calls;
    service->zmq.wake = service->zmq.lock = -1;
    liana_status status = open_all(service, place, error);
    if (status != LIANA_OK) {
        liana__service_close(service);
        return status;
    }
    *out = service;
    return LIANA_OK;
}

void liana__service_close(liana__service *service)
{
    if (!service) return;
    for (size_t i = 0; i < service->num_clients; i++) liana__assembly_free(&service->clients[i].assembly);
    free(service->clients);
    free(service->ended);
    liana__zmq_close_sockets(&service->zmq);
    if (service->zmq.wake >= 0) close(service->zmq.wake);
    liana__cluster_keys_forget(&service->zmq.keys);
    free(service);
}

const char *liana__service_address(const liana__service *service)
{
    return service->zmq.address;
}

void liana__service_wake(liana__service *service)
{
    /* Fails only if the turn is to end already. */
    eventfd_write(service->zmq.wake, 1);
}

/* ---- clients ---- */

static service_client *find_number(liana__service *service, uint64_t number)
{
    for (size_t i = 0; i < service->num_clients; i++) {
        if (service->clients[i].number == number) return &service->clients[i];
    }
    return NULL;
}

static service_client *find_id(liana__service *service, zmq_msg_t *id)
{
    for (size_t i = 0; i < service->num_clients; i++) {
        service_client *client = &service->clients[i];
        if (client->id_size == zmq_msg_size(id) && memcmp(client->id, zmq_msg_data(id), client->id_size) == 0) {
            return client;
        }
    }
    return NULL;
}

static void remove_client(liana__service *service, service_client *client)
{
    liana__assembly_free(&client->assembly);
    *client = service->clients[--service->num_clients];
}

static void drop_client(liana__service *service, service_client *client, const char *reason)
{
    liana__zmq_send_refusal(&service->zmq, client->id, client->id_size, reason);
    remove_client(service, client);
}

void liana__service_drop(liana__service *service, uint64_t number, const char *reason)
{
    service_client *client = find_number(service, number);
    if (client) drop_client(service, client, reason);
}

static void lose_client(liana__service *service, service_client *client)
{
    uint64_t number = client->number;
    remove_client(service, client);
    service->calls.gone(service->calls.user, number);
}

/* After an error: a client that waits for an answer must hear that none comes. */
static void refuse_client(liana__service *service, service_client *client, const char *reason)
{
    uint64_t number = client->number;
    drop_client(service, client, reason);
    service->calls.gone(service->calls.user, number);
}

static void lose_clients(liana__service *service, int file)
{
    for (size_t i = service->num_clients; i-- > 0;) {
        if (service->clients[i].file == file) lose_client(service, &service->clients[i]);
    }
}

static void note_end(liana__service *service, int file)
{
    if (liana__grow(&service->ended, service->num_ended, &service->ended_capacity, sizeof *service->ended)) {
        service->ended[service->num_ended++] = file;
    } else {
        lose_clients(service, file);
    }
}

/* A new connection has the number of one that has ended. */
static void note_reuse(liana__service *service, int file)
{
    for (size_t i = service->num_ended; i-- > 0;) {
        if (service->ended[i] != file) continue;
        lose_clients(service, file);
        service->ended[i] = service->ended[--service->num_ended];
    }
}

static void note_connections(liana__zmq *zmq)
{
    liana__service *service = (liana__service *)zmq;
    int event;
    uint32_t file = 0;
    while ((event = liana__zmq_next_event(zmq->router_monitor, &file)) != 0) {
        liana__zmq_door_note(&zmq->door, event, file);
        if (event == ZMQ_EVENT_ACCEPTED) note_reuse(service, (int)file);
        if (event == ZMQ_EVENT_DISCONNECTED) note_end(service, (int)file);
    }
}

/* When all frames are taken: the rest of a client's frames would make a new client of it. */
static void look_at_connections(liana__service *service)
{
    note_connections(&service->zmq);
    while (service->num_ended) lose_clients(service, service->ended[--service->num_ended]);
    liana__zmq_door_tidy(&service->zmq.door);
}

static void refuse(liana__service *service, zmq_msg_t *id, const char *text)
{
    liana__zmq_send_refusal(&service->zmq, zmq_msg_data(id), zmq_msg_size(id), text);
}

/* A connection from which something has come for the first time. */
static service_client *add_client(liana__service *service, zmq_msg_t *id, zmq_msg_t *body)
{
    bool fits = service->num_clients < MOST_CLIENTS && zmq_msg_size(id) <= ROUTING_ID;
    if (!fits || !liana__grow(&service->clients, service->num_clients, &service->capacity, sizeof *service->clients)) {
        refuse(service, id, "the server has too many connections");
        return NULL;
    }
    service_client *client = &service->clients[service->num_clients++];
    *client = (service_client){.number = ++service->num_ever, .file = zmq_msg_get(body, ZMQ_SRCFD)};
    client->id_size = zmq_msg_size(id);
    memcpy(client->id, zmq_msg_data(id), client->id_size);
    return client;
}

/* ---- messages ---- */

/* Whether a message fits together with those of which a part has come. */
static bool has_room(void *user, size_t size)
{
    const liana__service *service = user;
    size_t begun = size;
    for (size_t i = 0; i < service->num_clients; i++) {
        const liana__assembly *assembly = &service->clients[i].assembly;
        if (assembly->is_under_way && assembly->message.bytes) begun += assembly->message.size;
    }
    return begun >= size && service->calls.has_room(service->calls.user, begun);
}

static void take_whole(liana__service *service, service_client *client, zmq_msg_t *body)
{
    const liana__service_calls *calls = &service->calls;
    liana__service_message message = client->assembly.message;
    uint64_t number = client->number;
    const char *host = zmq_msg_gets(body, "Peer-Address");
    client->assembly = (liana__assembly){0};
    if (message.bytes) {
        calls->take(calls->user, number, host ? host : "", &message);
    } else {
        calls->refuse(calls->user, number, message.number, message.size);
    }
}

static void take_bytes(liana__zmq *zmq, zmq_msg_t *id, zmq_msg_t *body)
{
    liana__service *service = (liana__service *)zmq;
    liana__frame frame;
    liana__error error = {0};
    bool whole = false;
    liana_status status = liana__frame_read(zmq_msg_data(body), zmq_msg_size(body), &frame, &error);
    if (status == LIANA_OK && frame.kind == LIANA__FRAME_HELLO) {
        status = liana__fail(&error, LIANA_INVALID_DATA,
                             "this is 'liana server', which offers devices; a process of a training belongs elsewhere");
    } else if (status == LIANA_OK && frame.kind != LIANA__FRAME_DATA) {
        /* A client that has come in: now it knows that its connection is kept. */
        if (frame.kind == LIANA__FRAME_BEAT) {
            liana__zmq_send_over(zmq, zmq_msg_data(id), zmq_msg_size(id), LIANA__FRAME_BEAT, NULL, 0);
        }
        return;
    }
    service_client *client = find_id(service, id);
    if (!client && status == LIANA_OK) client = add_client(service, id, body);
    if (!client) {
        if (status != LIANA_OK) refuse(service, id, error.message);
        return;
    }
    if (status == LIANA_OK) {
        status = liana__assembly_add(&client->assembly, &frame, has_room, service, &whole, &error);
    }
    if (status != LIANA_OK) {
        refuse_client(service, client, error.message);
    } else if (whole) {
        take_whole(service, client, body);
    }
}

void liana__service_turn(liana__service *service, double seconds)
{
    liana__zmq *zmq = &service->zmq;
    zmq_pollitem_t items[4] = {{.socket = zmq->router, .events = ZMQ_POLLIN},
                               {.fd = zmq->wake, .events = ZMQ_POLLIN},
                               {.socket = zmq->router_monitor, .events = ZMQ_POLLIN},
                               {.socket = zmq->gate, .events = ZMQ_POLLIN}};
    zmq_poll(items, zmq->gate ? 4 : 3, (long)(seconds * 1000) + 1);
    if (items[1].revents) {
        eventfd_t count;
        eventfd_read(zmq->wake, &count);
    }
    if (zmq->gate && items[3].revents) liana__zmq_answer_gate(zmq);
    liana__zmq_read_router(zmq, note_connections, take_bytes);
    look_at_connections(service);
}

/* ---- answers ---- */

static bool send_piece(const liana__service *service, const service_client *client, const liana__frame *frame,
                       const liana__message_part *part)
{
    zmq_msg_t message;
    if (!liana__zmq_make_message(frame, part, &message)) return false;
    bool sent = zmq_send(service->zmq.router, client->id, client->id_size, ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0 &&
                zmq_msg_send(&message, service->zmq.router, ZMQ_DONTWAIT) >= 0;
    if (!sent) zmq_msg_close(&message);
    return sent;
}

void liana__service_send(liana__service *service, uint64_t number, const liana__service_message *message)
{
    service_client *client = find_number(service, number);
    liana__frame frame = liana__zmq_first_piece(message, message->size);
    if (!client) return;
    do {
        if (send_piece(service, client, &frame, &(liana__message_part){message->bytes, message->size})) continue;
        refuse_client(service, client, "an answer could not be sent");
        return;
    } while (liana__zmq_next_piece(&frame));
}
