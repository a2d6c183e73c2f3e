/* The sockets of the transport `zmq`: listening, connecting, keys, and events of connections. */
#include "distribute/transport/zmq_internal.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/text.h"

#include <liana/context.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { RECONNECT = 20, RECONNECT_MOST = 500, HANDSHAKE = 5000, LINGER = 200 /* milliseconds */, CURVE_BYTES = 256 };
enum { SOCKET_BYTES = 2 * LIANA__FRAME_PIECE };
static const char ipc[] = "ipc://", domain[] = "liana", gate_address[] = "inproc://zeromq.zap.01";

static void set_number(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof value);
}

bool liana__zmq_is_ipc(const char *address)
{
    return liana__starts_with(address, ipc);
}

liana_status liana__zmq_copy_address(char *to, const char *from, liana__error *error)
{
    if (strlen(from) < LIANA__ZMQ_ADDRESS) {
        strcpy(to, from);
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_CONFIG, "the address '%.60s...' is too long", from);
}

liana_status liana__zmq_prepare_service(liana__zmq *own, const liana__service_place *place, char *address,
                                        liana__error *error)
{
    own->is_service = own->pings = true;
    own->place.source = place->source;
    own->place.heartbeat = place->heartbeat;
    own->context = zmq_ctx_new();
    if (!own->context) return liana__fail(error, LIANA_UNAVAILABLE, "no sockets can be made: %s", strerror(errno));
    LIANA_TRY(liana__zmq_copy_address(address, place->address, error));
    if (liana__zmq_is_ipc(address) || !place->keys) return LIANA_OK;
    LIANA_TRY(liana__cluster_keys_read(place->keys, &own->keys, error));
    own->has_keys = true;
    return LIANA_OK;
}

/* The listener's name, in messages. */
typedef struct name_text {
    char text[32];
} name_text;

static name_text name_of(const liana__zmq *own)
{
    name_text name = {"the server"};
    if (!own->is_service) snprintf(name.text, sizeof name.text, "rank %zu", own->base.rank);
    return name;
}

/* The events of a connection that tell how it is. */
static void *watch(liana__zmq *own, void *socket, const char *name)
{
    enum {
        EVENTS = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                 ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                 ZMQ_EVENT_HANDSHAKE_FAILED_AUTH
    };
    char address[64];
    snprintf(address, sizeof address, "inproc://liana-%s", name);
    if (zmq_socket_monitor(socket, address, EVENTS) != 0) return NULL;
    void *monitor = zmq_socket(own->context, ZMQ_PAIR);
    if (monitor && zmq_connect(monitor, address) != 0) {
        zmq_close(monitor);
        monitor = NULL;
    }
    return monitor;
}

/* A socket that is closed may live on for a while. libzmq (4.3) loses memory for each event that nobody is there to
 * take. */
static void unwatch(void *socket, void *monitor)
{
    if (!monitor) return;
    zmq_socket_monitor(socket, NULL, 0);
    zmq_close(monitor);
}

static liana_status fail_socket(liana__error *error, const char *what)
{
    return liana__fail(error, zmq_errno() == ENOMEM ? LIANA_OUT_OF_MEMORY : LIANA_UNAVAILABLE, "%s: %s", what,
                       zmq_strerror(zmq_errno()));
}

/* The common part of all sockets. */
static void *open_socket(liana__zmq *own, int type, const char *address)
{
    void *socket = zmq_socket(own->context, type);
    if (!socket) return NULL;
    /* Encryption adds some bytes to a frame. */
    int64_t most = LIANA__FRAME_HEADER + CURVE_BYTES;
    most += LIANA__FRAME_PIECE > LIANA__FRAME_CONTROL ? LIANA__FRAME_PIECE : LIANA__FRAME_CONTROL;
    zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most);
    set_number(socket, ZMQ_SNDHWM, 0);
    set_number(socket, ZMQ_RCVHWM, 0);
    set_number(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE);
    set_number(socket, ZMQ_LINGER, LINGER);
    set_number(socket, ZMQ_RECONNECT_IVL, RECONNECT);
    set_number(socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MOST);
    if (strchr(address, '[')) set_number(socket, ZMQ_IPV6, 1);
    if (own->pings) {
        set_number(socket, ZMQ_HEARTBEAT_IVL, (int)(own->place.heartbeat * 250));
        set_number(socket, ZMQ_HEARTBEAT_TIMEOUT, (int)(own->place.heartbeat * 1000));
    }
    return socket;
}

/* ---- listening ---- */

/* libzmq takes a socket file over from a process that still listens on it. So each holds a lock next to its own. */
static liana_status lock_socket(liana__zmq *own, const char *path, liana__error *error)
{
    char lock[LIANA__ZMQ_ADDRESS + 8];
    snprintf(lock, sizeof lock, "%s.lock", path);
    own->lock = liana__open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (own->lock < 0) return liana__fail(error, LIANA_UNAVAILABLE, "%s: %s", lock, strerror(errno));
    if (flock(own->lock, LOCK_EX | LOCK_NB) == 0) return LIANA_OK;
    close(own->lock);
    own->lock = -1;
    return liana__fail(error, LIANA_UNAVAILABLE, "another process listens at %s: %s is there already", own->address,
                       name_of(own).text);
}

static void unlock_socket(liana__zmq *own)
{
    char lock[LIANA__ZMQ_ADDRESS + 8];
    if (own->lock < 0) return;
    snprintf(lock, sizeof lock, "%s.lock", own->address + strlen(ipc));
    unlink(lock);
    close(own->lock);
    own->lock = -1;
}

static liana_status check_ipc(liana__zmq *own, liana__error *error)
{
    const char *path = own->address + strlen(ipc);
    const char *slash = strrchr(path, '/');
    char folder[LIANA__ZMQ_ADDRESS];
    if (*path != '/' || !slash || slash == path || strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "'%s' is no place for a socket: expected ipc:///FOLDER/NAME with a path of at most %zu bytes", own->address,
            sizeof((struct sockaddr_un *)0)->sun_path - 1);
    }
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    LIANA_TRY(liana__check_private_folder(folder, "the folder of sockets", error));
    return lock_socket(own, path, error);
}

/* On all interfaces, since the machine may be known by a name that its interfaces do not have; except for this machine
 * alone. */
static void bind_address(const liana__zmq *own, char *endpoint, size_t size)
{
    const char *port = strrchr(own->address, ':');
    bool is_local = liana__starts_with(own->address, "localhost:") || liana__starts_with(own->address, "127.");
    if (liana__zmq_is_ipc(own->address)) {
        snprintf(endpoint, size, "%s", own->address);
    } else if (is_local) {
        snprintf(endpoint, size, "tcp://127.0.0.1%s", port);
    } else {
        snprintf(endpoint, size, "tcp://*%s", port ? port : ":*");
    }
}

static liana_status fail_bind(const liana__zmq *own, liana__error *error)
{
    if (zmq_errno() == EADDRINUSE) {
        return liana__fail(error, LIANA_UNAVAILABLE,
                           "the port of %s, where %s is to listen, is in use by another process of this machine "
                           "(%s); end that process, or give %s another port",
                           own->address, name_of(own).text, own->place.source, name_of(own).text);
    }
    return liana__fail(error, LIANA_UNAVAILABLE, "%s cannot listen at %s (%s): %s", name_of(own).text, own->address,
                       own->place.source, zmq_strerror(zmq_errno()));
}

static liana_status lock_router(liana__zmq *own, liana__error *error)
{
    if (liana__zmq_is_ipc(own->address)) return LIANA_OK;
    own->gate = zmq_socket(own->context, ZMQ_REP);
    if (!own->gate || zmq_bind(own->gate, gate_address) != 0) return fail_socket(error, "the cluster's keys");
    set_number(own->gate, ZMQ_LINGER, 0);
    set_number(own->router, ZMQ_CURVE_SERVER, 1);
    zmq_setsockopt(own->router, ZMQ_CURVE_SECRETKEY, own->keys.secret_key, LIANA__CLUSTER_KEY_SIZE);
    zmq_setsockopt(own->router, ZMQ_ZAP_DOMAIN, domain, strlen(domain));
    return LIANA_OK;
}

/* Where the system has chosen the port: which one. */
static void note_port(liana__zmq *own)
{
    char endpoint[LIANA__ZMQ_ADDRESS] = "";
    size_t size = sizeof endpoint, length = strlen(own->address);
    if (length < 2 || strcmp(own->address + length - 2, ":*") != 0) return;
    if (zmq_getsockopt(own->router, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0 || !strrchr(endpoint, ':')) return;
    snprintf(own->address + length - 2, sizeof own->address - length + 2, "%s", strrchr(endpoint, ':'));
}

liana_status liana__zmq_listen(liana__zmq *own, liana__error *error)
{
    char endpoint[LIANA__ZMQ_ADDRESS + 16];
    if (liana__zmq_is_ipc(own->address)) LIANA_TRY(check_ipc(own, error));
    liana__descriptors_prepare();
    own->router = open_socket(own, ZMQ_ROUTER, own->address);
    if (!own->router) return fail_socket(error, "a socket for the other processes");
    LIANA_TRY(lock_router(own, error));
    own->router_monitor = watch(own, own->router, "router");
    bind_address(own, endpoint, sizeof endpoint);
    if (zmq_bind(own->router, endpoint) != 0) return fail_bind(own, error);
    note_port(own);
    return LIANA_OK;
}

/* ---- connecting ---- */

static void write_endpoint(const char *address, char endpoint[LIANA__ZMQ_ADDRESS + 16])
{
    snprintf(endpoint, LIANA__ZMQ_ADDRESS + 16, "%s%s", liana__zmq_is_ipc(address) ? "" : "tcp://", address);
}

static liana_status connect_to_address(liana__zmq *own, size_t rank, liana__error *error)
{
    const liana__zmq_peer *peer = &own->peers[rank];
    char endpoint[LIANA__ZMQ_ADDRESS + 16];
    write_endpoint(peer->address, endpoint);
    if (zmq_connect(peer->socket, endpoint) == 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "the address '%s' of rank %zu (%s) cannot be used: %s",
                       peer->address, rank, own->place.source, zmq_strerror(zmq_errno()));
}

liana_status liana__zmq_connect(liana__zmq *own, size_t rank, liana__error *error)
{
    liana__zmq_peer *peer = &own->peers[rank];
    char name[32];
    void *socket = open_socket(own, ZMQ_DEALER, peer->address);
    if (!socket) return fail_socket(error, "a socket for another process");
    if (!liana__zmq_is_ipc(peer->address)) {
        zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, own->keys.public_key, LIANA__CLUSTER_KEY_SIZE);
        zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, own->keys.public_key, LIANA__CLUSTER_KEY_SIZE);
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, own->keys.secret_key, LIANA__CLUSTER_KEY_SIZE);
    }
    snprintf(name, sizeof name, "%zu", rank);
    peer->monitor = watch(own, socket, name);
    peer->socket = socket;
    return connect_to_address(own, rank, error);
}

liana_status liana__zmq_follow(liana__zmq *own, size_t rank, const char *address, liana__error *error)
{
    liana__zmq_peer *peer = &own->peers[rank];
    char endpoint[LIANA__ZMQ_ADDRESS + 16];
    const bool is_connected = peer->socket != NULL;
    if (is_connected && strcmp(peer->address, address) == 0) return LIANA_OK;
    write_endpoint(peer->address, endpoint);
    if (is_connected) zmq_disconnect(peer->socket, endpoint);
    snprintf(peer->address, sizeof peer->address, "%s", address);
    return is_connected ? connect_to_address(own, rank, error) : liana__zmq_connect(own, rank, error);
}

void liana__zmq_close_sockets(liana__zmq *own)
{
    for (size_t i = 0; i < own->num_peers; i++) {
        liana__zmq_peer *peer = &own->peers[i];
        /* An invitation may be on its way over it. */
        const bool is_invited = peer->waits && peer->newcomer.id_size == 0;
        if (peer->socket && own->base.mailbox && liana__mailbox_is_gone(own->base.mailbox, i) && !peer->left &&
            !is_invited) {
            set_number(peer->socket, ZMQ_LINGER, 0);
        }
        unwatch(peer->socket, peer->monitor);
        if (peer->socket) zmq_close(peer->socket);
        peer->monitor = peer->socket = NULL;
    }
    unwatch(own->router, own->router_monitor);
    if (own->router) zmq_close(own->router);
    if (own->gate) zmq_close(own->gate);
    if (own->context) zmq_ctx_term(own->context);
    own->context = own->router = own->router_monitor = own->gate = NULL;
    liana__zmq_door_close(&own->door);
    unlock_socket(own);
}

/* ---- sending frames that are no messages ---- */

size_t liana__zmq_write_greeting(const liana__zmq *own, char text[LIANA__GREETING_SIZE])
{
    liana__greeting greeting = {.num_workers = own->place.num_workers,
                                .num_servers = own->place.num_servers,
                                .process = (uint64_t)getpid()};
    snprintf(greeting.version, sizeof greeting.version, "%s", liana_version());
    snprintf(greeting.address, sizeof greeting.address, "%s", own->address);
    gethostname(greeting.host, sizeof greeting.host - 1);
    return liana__greeting_write(&greeting, text);
}

bool liana__zmq_make_message(const liana__frame *frame, const liana__message_part *parts, zmq_msg_t *message)
{
    if (zmq_msg_init_size(message, LIANA__FRAME_HEADER + frame->num_bytes) != 0) return false;
    uint8_t *bytes = zmq_msg_data(message);
    liana__frame_write(frame, bytes);
    liana__message_parts_copy(parts, (size_t)frame->offset, frame->num_bytes, bytes + LIANA__FRAME_HEADER);
    return true;
}

static size_t piece_size(const liana__frame *frame)
{
    const uint64_t left = frame->size - frame->offset;
    return left < LIANA__FRAME_PIECE ? (size_t)left : LIANA__FRAME_PIECE;
}

liana__frame liana__zmq_first_piece(const liana__service_message *message, size_t size)
{
    liana__frame frame = {.kind = LIANA__FRAME_DATA,
                          .key = {.step = message->number, .kind = message->kind},
                          .size = size};
    frame.num_bytes = piece_size(&frame);
    return frame;
}

bool liana__zmq_next_piece(liana__frame *frame)
{
    frame->offset += frame->num_bytes;
    frame->num_bytes = piece_size(frame);
    return frame->num_bytes > 0;
}

static bool make_frame(const liana__zmq *own, uint64_t sequence, liana__frame_kind kind, const char *text, size_t size,
                       zmq_msg_t *message)
{
    liana__frame frame = {.kind = kind,
                          .sender = (uint32_t)own->base.rank,
                          .cluster = own->cluster,
                          .incarnation = own->incarnation,
                          .sequence = sequence,
                          .key = {.part = kind == LIANA__FRAME_BYE && own->resumable},
                          .size = size,
                          .num_bytes = size};
    return liana__zmq_make_message(&frame, &(liana__message_part){text, size}, message);
}

void liana__zmq_send_control(liana__zmq *own, size_t rank, liana__frame_kind kind, const char *text, size_t size)
{
    liana__zmq_peer *peer = &own->peers[rank];
    zmq_msg_t message;
    pthread_mutex_lock(&peer->mutex);
    if (peer->socket && make_frame(own, peer->sent, kind, text, size, &message)) {
        if (zmq_msg_send(&message, peer->socket, ZMQ_DONTWAIT) < 0) zmq_msg_close(&message);
    }
    pthread_mutex_unlock(&peer->mutex);
}

void liana__zmq_send_refusal(liana__zmq *own, const void *id, size_t id_size, const char *text)
{
    liana__zmq_send_over(own, id, id_size, LIANA__FRAME_REFUSAL, text, strlen(text));
}

void liana__zmq_send_over(liana__zmq *own, const void *id, size_t id_size, liana__frame_kind kind, const char *text,
                          size_t size)
{
    zmq_msg_t message;
    if (!make_frame(own, 0, kind, text, size, &message)) return;
    bool begun = zmq_send(own->router, id, id_size, ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0;
    if (!begun || zmq_msg_send(&message, own->router, ZMQ_DONTWAIT) < 0) zmq_msg_close(&message);
}

void liana__zmq_answer(liana__zmq *own, size_t rank, const void *id, size_t id_size, liana__frame_kind kind,
                       const char *text, size_t size)
{
    if (id_size) {
        liana__zmq_send_over(own, id, id_size, kind, text, size);
    } else {
        liana__zmq_send_control(own, rank, kind, text, size);
    }
}

/* ---- incoming messages ---- */

/* A message of the ROUTER: the connection's number, and one frame. False: there is none. */
static bool read_one(liana__zmq *own, void (*look)(liana__zmq *own),
                     void (*take)(liana__zmq *own, zmq_msg_t *id, zmq_msg_t *body))
{
    zmq_msg_t id, body;
    zmq_msg_init(&id);
    zmq_msg_init(&body);
    bool found = zmq_msg_recv(&id, own->router, ZMQ_DONTWAIT) >= 0;
    int parts = 1;
    for (bool more = found && zmq_msg_more(&id); more; parts++) {
        more = zmq_msg_recv(&body, own->router, ZMQ_DONTWAIT) >= 0 && zmq_msg_more(&body);
    }
    if (found && parts == 2) {
        look(own);
        liana__zmq_door_hear(&own->door, zmq_msg_get(&body, ZMQ_SRCFD));
        take(own, &id, &body);
    }
    zmq_msg_close(&body);
    zmq_msg_close(&id);
    return found;
}

void liana__zmq_read_router(liana__zmq *own, void (*look)(liana__zmq *own),
                            void (*take)(liana__zmq *own, zmq_msg_t *id, zmq_msg_t *body))
{
    /* Now and then other things must be done too. */
    for (int i = 0; i < 256 && read_one(own, look, take); i++) {
    }
}

/* ---- events of connections ---- */

int liana__zmq_next_event(void *monitor, uint32_t *value)
{
    zmq_msg_t message;
    int event = 0;
    if (!monitor) return 0;
    for (int part = 0, more = 1; more; part++) {
        zmq_msg_init(&message);
        if (zmq_msg_recv(&message, monitor, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&message);
            return 0;
        }
        if (part == 0 && zmq_msg_size(&message) >= 2) {
            uint16_t number;
            memcpy(&number, zmq_msg_data(&message), sizeof number);
            event = number;
            if (value && zmq_msg_size(&message) >= sizeof number + sizeof *value) {
                memcpy(value, (const char *)zmq_msg_data(&message) + sizeof number, sizeof *value);
            }
        }
        more = zmq_msg_more(&message);
        zmq_msg_close(&message);
    }
    return event;
}

/* libzmq sets no size for sockets in a folder, but tells their numbers. If the system refuses, it is only slower. */
void liana__zmq_widen(const liana__zmq_peer *peer, uint32_t number)
{
    const int size = SOCKET_BYTES;
    if (liana__zmq_is_ipc(peer->address)) setsockopt((int)number, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

void liana__zmq_look_at_callers(liana__zmq *own)
{
    int event;
    uint32_t value = 0;
    while ((event = liana__zmq_next_event(own->router_monitor, &value)) != 0) {
        const bool fails = event != ZMQ_EVENT_ACCEPTED && event != ZMQ_EVENT_DISCONNECTED;
        if (fails && event != ZMQ_EVENT_HANDSHAKE_SUCCEEDED) own->strangers++;
        liana__zmq_door_note(&own->door, event, value);
    }
    liana__zmq_door_tidy(&own->door);
}

void liana__zmq_look_at_connections(liana__zmq *own)
{
    int event;
    uint32_t value = 0;
    liana__zmq_look_at_callers(own);
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        liana__zmq_peer *peer = &own->peers[i];
        while ((event = liana__zmq_next_event(peer->monitor, &value)) != 0) {
            if (event == ZMQ_EVENT_CONNECTED) {
                liana__zmq_widen(peer, value);
            } else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
                peer->reached = true;
                peer->lost_since = 0;
                peer->closed = 0;
            } else if (event == ZMQ_EVENT_DISCONNECTED) {
                peer->closed_at = liana__clock_seconds();
                if (peer->lost_since == 0) peer->lost_since = peer->closed_at;
            } else {
                peer->closed++;
            }
        }
    }
}

/* ---- the gate: holders of the cluster's key ---- */

enum { GATE_PARTS = 7, GATE_ID = 1, GATE_DOMAIN = 2, GATE_MECHANISM = 5, GATE_KEY = 6 };

static bool is_text(const zmq_msg_t *part, const char *text)
{
    zmq_msg_t *message = (zmq_msg_t *)part;
    return zmq_msg_size(message) == strlen(text) && memcmp(zmq_msg_data(message), text, strlen(text)) == 0;
}

static bool holds_key(const liana__zmq *own, zmq_msg_t parts[GATE_PARTS])
{
    uint8_t key[32];
    return zmq_z85_decode(key, own->keys.public_key) && is_text(&parts[0], "1.0") &&
           is_text(&parts[GATE_DOMAIN], domain) && is_text(&parts[GATE_MECHANISM], "CURVE") &&
           zmq_msg_size(&parts[GATE_KEY]) == sizeof key && memcmp(zmq_msg_data(&parts[GATE_KEY]), key, sizeof key) == 0;
}

void liana__zmq_answer_gate(liana__zmq *own)
{
    zmq_msg_t parts[GATE_PARTS];
    int count = 0;
    bool more = true, whole = true;
    while (more) {
        zmq_msg_t extra, *part = count < GATE_PARTS ? &parts[count] : &extra;
        zmq_msg_init(part);
        whole = zmq_msg_recv(part, own->gate, ZMQ_DONTWAIT) >= 0;
        more = whole && zmq_msg_more(part);
        if (part == &extra) zmq_msg_close(part);
        count++;
    }
    if (whole) {
        bool opens = count == GATE_PARTS && holds_key(own, parts);
        zmq_send(own->gate, "1.0", 3, ZMQ_SNDMORE);
        zmq_send(own->gate, count > GATE_ID ? zmq_msg_data(&parts[GATE_ID]) : "",
                 count > GATE_ID ? zmq_msg_size(&parts[GATE_ID]) : 0, ZMQ_SNDMORE);
        zmq_send(own->gate, opens ? "200" : "400", 3, ZMQ_SNDMORE);
        zmq_send(own->gate, "", 0, ZMQ_SNDMORE);
        zmq_send(own->gate, "", 0, ZMQ_SNDMORE);
        zmq_send(own->gate, "", 0, 0);
    }
    for (int i = 0; i < count && i < GATE_PARTS; i++) zmq_msg_close(&parts[i]);
}
