/* zmq_internal.h - the common part of the files of the transport `zmq`.
 *
 * Each process listens on one ROUTER socket, and has one DEALER socket for each other process. A thread sends on the
 * DEALER itself, under its mutex. All that comes in goes through the ROUTER: the opening thread reads it until all have
 * met (zmq_meet.c), then a thread of the transport's own (zmq_serve.c). */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_ZMQ_INTERNAL_H
#define LIANA_DISTRIBUTE_TRANSPORT_ZMQ_INTERNAL_H

#include "distribute/transport/cluster_keys.h"
#include "distribute/transport/cluster_place.h"
#include "distribute/transport/endpoint.h"
#include "distribute/transport/service.h"
#include "distribute/transport/zmq_calls.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LIANA__ZMQ_ADDRESS = LIANA__FRAME_ADDRESS };

/* Seconds. A living process says something after another process of its rank has come: this long after, no frame that
 * it sent before its end is under way. */
#define LIANA__ZMQ_OVERLAP 0.2

/* A process that wants to be in the place of another one, which is gone or may be. */
typedef struct liana__zmq_newcomer {
    uint64_t incarnation;
    uint8_t id[8];  /* of its connection to this process ... */
    size_t id_size; /* ... 0: it is answered over this process's connection to it */
    double first_heard, last_heard;
    bool contests;            /* while all meet: the first one may be there still; ... */
    liana__greeting greeting; /* ... its greeting, and the host of its connection */
    char peer_host[LIANA__ZMQ_ADDRESS];
} liana__zmq_newcomer;

/* Another process. Members without a mutex belong to the thread that reads. */
typedef struct liana__zmq_peer {
    pthread_mutex_t mutex; /* of `socket` and `sent` */
    void *socket;          /* DEALER to it; NULL: its address is not known yet */
    uint64_t sent;         /* DATA frames */
    void *monitor;         /* events of the connection */
    char address[LIANA__ZMQ_ADDRESS];
    bool reached;         /* its connection has been open */
    bool heard;           /* its greeting has come ... */
    bool welcomed;        /* ... and it has had ours */
    bool ready;           /* it has met all; of rank 0: and so have all others */
    uint64_t incarnation; /* from its greeting */
    uint8_t id[8];        /* the number of its connection, and its size */
    size_t id_size;
    char whereabouts[192]; /* "process 12 on host" */
    uint64_t received;     /* DATA frames */
    double last_heard;
    double lost_since; /* its connection is closed; 0: it is not */
    double closed_at;  /* when it was last closed */
    unsigned closed;   /* connections that ended before the keys were agreed on */
    bool left;         /* it has said goodbye ... */
    bool seen_goodbye; /* ... and has had ours */
    liana__zmq_newcomer newcomer;
    atomic_bool waits; /* the newcomer, to be taken in */
} liana__zmq_peer;

/* Connections to this process's socket of which nothing has come, oldest first: strangers have no key to say anything.
 * Connections that go on are not in the list. */
typedef struct liana__zmq_door {
    struct liana__zmq_caller *callers;
    size_t count, capacity, most;
} liana__zmq_door;

typedef struct liana__zmq {
    liana__endpoint base;
    bool is_service;                            /* of service.h: no member of a cluster */
    bool pings;                                 /* libzmq itself closes silent connections */
    liana__cluster_place place;                 /* its strings are valid until open returns */
    char address[LIANA__ZMQ_ADDRESS];           /* where this process listens */
    uint64_t first_round, cluster, incarnation; /* the cluster's number in the first round, and in this one */
    liana__cluster_round round;                 /* its table is ... */
    bool *absent;                               /* ... this */
    double round_begun;                         /* when this process began to meet the others in a later round */
    bool resumable;      /* why all do not meet is the end of a process: another start may do better */
    double told_to_wait; /* when the others have said that all have met already; 0: never */
    atomic_bool takes_in;
    liana__text invitation;     /* to the next round. Written before ... */
    atomic_bool has_invitation; /* ... this */
    liana__cluster_keys keys;
    bool has_keys;
    void *context, *router, *router_monitor, *gate; /* the gate answers libzmq's questions about admission */
    liana__zmq_peer *peers;                         /* by rank; the own one is empty */
    size_t num_peers;                               /* whose mutex was made */
    liana__zmq_door door;
    unsigned strangers;   /* connections to this process that had no key, or another one */
    liana__error failure; /* of the meeting */
    int wake;             /* an eventfd */
    int lock;             /* of the socket in a folder, or -1 */
    pthread_t thread;
    bool has_thread;
    atomic_bool closing;
    bool takes_leave; /* the last words are said: a process that greets now gets a BYE at once */
    bool left_behind; /* the others go on without this process */
    double last_beat, last_turn;
} liana__zmq;

/* zmq_peers.c: sockets. */

bool liana__zmq_is_ipc(const char *address);
/* Copies an address to LIANA__ZMQ_ADDRESS bytes. Errors: INVALID_CONFIG, it is too long. */
liana_status liana__zmq_copy_address(char *to, const char *from, liana__error *error) LIANA_MUST_USE;
/* What a server and its clients need before they have sockets. The address is copied. Over a network keys are read, if
 * the place names some. Errors: UNAVAILABLE, INVALID_CONFIG. */
liana_status liana__zmq_prepare_service(liana__zmq *own, const liana__service_place *place, char *address,
                                        liana__error *error) LIANA_MUST_USE;

/* Listens where this process is to be found. Errors: UNAVAILABLE (port in use), INVALID_CONFIG. */
liana_status liana__zmq_listen(liana__zmq *own, liana__error *error) LIANA_MUST_USE;
/* Connects to a process at peers[rank].address. Does not wait for it. */
liana_status liana__zmq_connect(liana__zmq *own, size_t rank, liana__error *error) LIANA_MUST_USE;
/* Connects to where a process is now: it may be another one than was connected to before, at another address. While all
 * meet. */
liana_status liana__zmq_follow(liana__zmq *own, size_t rank, const char *address, liana__error *error) LIANA_MUST_USE;
/* The next event of a monitor, and its value (NULL: not wanted); 0: there is none. */
int liana__zmq_next_event(void *monitor, uint32_t *value);
/* Lets a socket in a folder hold more than the system's 200 kB, at whose end two threads are woken each time. `number`
 * comes with ZMQ_EVENT_CONNECTED. */
void liana__zmq_widen(const liana__zmq_peer *peer, uint32_t number);
/* Reads the events of connections to this process, or to all. */
void liana__zmq_look_at_callers(liana__zmq *own);
void liana__zmq_look_at_connections(liana__zmq *own);
/* Answers a question of libzmq's whether a key may come in. */
void liana__zmq_answer_gate(liana__zmq *own);
/* Closes all sockets. Waits a moment until all frames to living processes are sent. */
void liana__zmq_close_sockets(liana__zmq *own);
/* Writes this process's greeting, and returns its bytes. */
size_t liana__zmq_write_greeting(const liana__zmq *own, char text[LIANA__GREETING_SIZE]);
/* Takes what has come to the ROUTER: `take` gets the number of a connection, and a frame. Before each one `look` is to
 * note what has happened to connections: one of them has begun before its first frame came. */
void liana__zmq_read_router(liana__zmq *own, void (*look)(liana__zmq *own),
                            void (*take)(liana__zmq *own, zmq_msg_t *id, zmq_msg_t *body));
/* A frame's header and its bytes, of those that the parts make, as a message to be sent. False: there is no memory. */
bool liana__zmq_make_message(const liana__frame *frame, const liana__message_part *parts, zmq_msg_t *message);
/* The first piece of a message of `size` bytes of service.h. */
liana__frame liana__zmq_first_piece(const liana__service_message *message, size_t size);
/* The piece behind it; false: there is none. */
bool liana__zmq_next_piece(liana__frame *frame);
/* Sends a control frame to a process (text may be NULL), or over the ROUTER to the connection of that id. */
void liana__zmq_send_control(liana__zmq *own, size_t rank, liana__frame_kind kind, const char *text, size_t size);
void liana__zmq_send_over(liana__zmq *own, const void *id, size_t id_size, liana__frame_kind kind, const char *text,
                          size_t size);
void liana__zmq_send_refusal(liana__zmq *own, const void *id, size_t id_size, const char *text);
/* Over the connection of that id, or, if id_size is 0, over this process's own to that rank. */
void liana__zmq_answer(liana__zmq *own, size_t rank, const void *id, size_t id_size, liana__frame_kind kind,
                       const char *text, size_t size);

/* zmq_door.c: how many connections that say nothing a process keeps. Everything that listens on a network does so. */

/* Before it listens. `expected` connections may begin at the same time. */
void liana__zmq_door_open(liana__zmq_door *door, size_t expected);
void liana__zmq_door_close(liana__zmq_door *door);
/* An event of the listening socket, with its value. */
void liana__zmq_door_note(liana__zmq_door *door, int event, uint32_t value);
/* A frame that the key's holder has sent has come over this connection. */
void liana__zmq_door_hear(liana__zmq_door *door, int descriptor);
/* Ends the oldest ones of too many. Call it when all events have been noted. */
void liana__zmq_door_tidy(liana__zmq_door *door);

/* zmq_greet.c: a process's answers to those that meet it. */

/* Control frames of the meeting. Late ones are answered too. Without an id (id_size 0) a greeting has come over this
 * process's own connection to the sender. */
void liana__zmq_take_greeting(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size,
                              const char *peer_host);
void liana__zmq_take_table(liana__zmq *own, const liana__frame *frame);
/* While all meet: a process's answer to a greeting. */
void liana__zmq_take_answer(liana__zmq *own, size_t rank, const liana__frame *frame);
/* While all meet: asks the first of two processes of one rank for a word, if `asks`, and decides which one has the
 * rank. */
void liana__zmq_settle_contests(liana__zmq *own, double now, bool asks);
/* All have met before that was settled: the second one greets again, and is answered as a late one. */
void liana__zmq_put_off_contests(liana__zmq *own);

/* zmq_rounds.c: processes that come when the others have met, and how all meet once more. */

/* Whether a process belongs to the round, and is another one than this. */
bool liana__zmq_expects(const liana__zmq *own, size_t rank);
/* Notes a process that greets with the rank of another one, and returns when it first did. */
double liana__zmq_note_newcomer(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size);
/* A process that this one did not know greets, after all have met. `why` gets the text of a refusal, or stays empty. */
void liana__zmq_take_newcomer(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size,
                              liana__text *why);
/* While all meet: a greeting of another round. */
void liana__zmq_take_other_round(liana__zmq *own, const liana__frame *frame, const void *id, size_t id_size);
/* While all meet: goes to the round of an INVITE, if that is a later one. */
void liana__zmq_take_invitation(liana__zmq *own, const liana__frame *frame);
/* While all meet in a later round: its chief goes to the next round with those that are there. */
void liana__zmq_leave_out_missing(liana__zmq *own);
/* This process was left behind: the others go on without it, or have met in a later round. */
void liana__zmq_note_left_behind(liana__zmq *own);
/* Where only the master's address is known, a master that comes back knows nobody: it greets those that still speak to
 * that address, over their connections. */
void liana__zmq_greet_back(liana__zmq *own, const void *id, size_t id_size);
/* Forgets those that do not wait any more. */
void liana__zmq_look_at_newcomers(liana__zmq *own);
/* The last word to those that wait, and from now on to those that come. */
void liana__zmq_dismiss_newcomers(liana__zmq *own);
/* As the members of liana__transport. */
void liana__zmq_take_in(liana__transport_instance *instance, bool may);
bool liana__zmq_waits(const liana__transport_instance *instance, size_t rank);
liana_status liana__zmq_invite(liana__transport_instance *instance, const liana__cluster_round *round,
                               liana__error *error);
void liana__zmq_find_round(const liana__transport_instance *instance, liana__cluster_round *round);

/* zmq_serve.c: reads frames. */

/* Takes all frames that have come to the ROUTER. */
void liana__zmq_take_frames(liana__zmq *own);
/* Takes the frames that have come over this process's own connection to a process: while all meet its answers; later
 * that the others go on without this one, or that the master is there again. */
void liana__zmq_hear_answers(liana__zmq *own, size_t rank);
/* The main function of the thread. */
void *liana__zmq_serve(void *transport);

/* zmq_meet.c: all processes meet. */
liana_status liana__zmq_meet(liana__zmq *own, liana__error *error) LIANA_MUST_USE;

#endif
