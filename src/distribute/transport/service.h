/* service.h - one server, and clients that come and go: over libzmq's sockets, with a cluster's keys and frames.
 *
 * A transport (transport.h) joins a fixed set of processes that meet once. A service lives on when its clients leave,
 * and knows none of them before. Both sides send messages: a number, a kind and bytes. Each side gets the messages of
 * the other in the order in which they were sent, or is told that the other is gone. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_SERVICE_H
#define LIANA_DISTRIBUTE_TRANSPORT_SERVICE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a server listens, and how a client reaches it. The strings are needed only while it is opened. */
typedef struct liana__service_place {
    const char *address; /* "host:port" or "ipc:///folder/socket" */
    const char *keys;    /* folder of the cluster's keys; NULL: there are none, which only ipc allows */
    const char *source;  /* where this was read, for messages */
    double timeout;      /* of a client: seconds until a server must have answered */
    double heartbeat;    /* seconds after which a silent other side is gone */
    /* Asked by a client while it waits for its server; true ends the wait with CANCELLED. NULL: never. */
    bool (*stop)(void *user);
    void *user;
} liana__service_place;

typedef struct liana__service_message {
    uint64_t number; /* an answer has the number of its request */
    uint32_t kind;
    uint8_t *bytes; /* from malloc */
    size_t size;
} liana__service_message;

/* ---- the server ---- */

typedef struct liana__service liana__service;

/* The functions of the server. Called by the thread that calls liana__service_turn. */
typedef struct liana__service_calls {
    /* Whether there is memory for `size` bytes: a message that begins, and those of which a part has come. If not,
     * `refuse` follows for the one that begins, and its bytes are dropped. */
    bool (*has_room)(void *user, size_t size);
    /* A message has come. Takes over its bytes. `host`: the client's address; "" within one machine. */
    void (*take)(void *user, uint64_t client, const char *host, const liana__service_message *message);
    void (*refuse)(void *user, uint64_t client, uint64_t number, size_t size);
    /* A client is gone. Nothing of it comes any more. */
    void (*gone)(void *user, uint64_t client);
    void *user;
} liana__service_calls;

/* Listens. Errors: UNAVAILABLE (port in use), INVALID_CONFIG, OUT_OF_MEMORY, UNIMPLEMENTED without libzmq. */
liana_status liana__service_open(const liana__service_place *place, const liana__service_calls *calls,
                                 liana__service **service, liana__error *error) LIANA_MUST_USE;
/* Where it listens, with the port that the system has chosen for "host:*". */
const char *liana__service_address(const liana__service *service);
/* Takes messages for `seconds`; ends after one has come, or at a wake. */
void liana__service_turn(liana__service *service, double seconds);
/* Ends a turn. Any thread; async-signal-safe. */
void liana__service_wake(liana__service *service);
/* Sends to a client; a client that is gone gets nothing. The thread of liana__service_turn alone. */
void liana__service_send(liana__service *service, uint64_t client, const liana__service_message *message);
/* Lets a client go, and tells it why: it may wait for an answer. `gone` is not called. A client that is gone: no
 * effect. */
void liana__service_drop(liana__service *service, uint64_t client, const char *reason);
void liana__service_close(liana__service *service);

/* ---- the client ---- */

typedef struct liana__link liana__link;

/* Connects, and waits until the server has answered. Errors: UNAVAILABLE (nobody is there, somebody has
 * another key), CANCELLED (place->stop), INVALID_CONFIG, OUT_OF_MEMORY, UNIMPLEMENTED without libzmq. */
liana_status liana__link_open(const liana__service_place *place, liana__link **link, liana__error *error)
    LIANA_MUST_USE;
/* Sends a message of two parts, which may be changed afterwards. One call at a time for a link, also of receive.
 * Errors: UNAVAILABLE, OUT_OF_MEMORY. */
liana_status liana__link_send(liana__link *link, const liana__service_message *message, const void *more,
                              size_t num_more, liana__error *error) LIANA_MUST_USE;
/* Waits for the next message, as long as the server is there. The caller frees its bytes. Errors: UNAVAILABLE for a
 * server that is gone or refuses this process, INVALID_DATA for bytes that are no message, OUT_OF_MEMORY. */
liana_status liana__link_receive(liana__link *link, liana__service_message *message, liana__error *error)
    LIANA_MUST_USE;
void liana__link_close(liana__link *link);

/* ---- for both ---- */

/* Puts pieces of messages together. Zero-initialise. */
typedef struct liana__assembly {
    liana__service_message message;
    size_t num_there;
    bool is_under_way;
    bool is_dropped; /* its bytes are not kept */
} liana__assembly;

struct liana__frame;
/* Adds a DATA frame. *whole: the message is complete; the caller takes its bytes (NULL if they were dropped). The first
 * piece makes room, if `has_room` (NULL: always) says so. Errors: INVALID_DATA for a piece that does not follow,
 * OUT_OF_MEMORY. */
liana_status liana__assembly_add(liana__assembly *assembly, const struct liana__frame *frame,
                                 bool (*has_room)(void *user, size_t size), void *user, bool *whole,
                                 liana__error *error) LIANA_MUST_USE;
void liana__assembly_free(liana__assembly *assembly);

#endif
