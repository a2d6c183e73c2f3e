/* transport.h - moves messages between the processes of a cluster.
 *
 * The processes are numbered from 0 on; the numbers are ranks. A message goes from one process to another and has a
 * key. The receiver asks for it by sender and key, in any order: a message that nobody has asked for yet is kept. No
 * two messages of one sender to one receiver have the same key. Nothing is summed on the way: the caller decides which
 * sums are made, and in which order.
 *
 * To add a transport: a file with the struct, and a row in transports.def. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_H
#define LIANA_DISTRIBUTE_TRANSPORT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which message. Messages of an older generation than the transport's are dropped, sent or kept. */
typedef struct liana__message_key {
    uint64_t generation; /* how often the members of the cluster have changed */
    uint64_t step;       /* counts collective operations or updates, as the sender's part of the program likes */
    uint32_t kind;       /* its purpose: one number for each place in the program */
    uint32_t part;       /* a slice, a block */
} liana__message_key;

/* One of several pieces of memory that make a message, one behind the other. */
typedef struct liana__message_part {
    const void *data;
    size_t size;
} liana__message_part;

/* Copies `size` bytes from `offset` on of the parts' bytes. */
void liana__message_parts_copy(const liana__message_part *parts, size_t offset, size_t size, void *to);

/* The memory of a message's bytes, and how it is freed. */
typedef struct liana__message_memory {
    void *owner;
    void (*release)(void *owner); /* NULL: nothing holds them */
} liana__message_memory;

/* A message in memory of its own. Zero-initialise; free it. */
typedef struct liana__message {
    const void *bytes;
    liana__message_memory memory;
} liana__message;

void liana__message_free(liana__message *message);

/* A receiver's wish: a copy of a message, or the message's own memory. */
typedef struct liana__receipt {
    void *data;              /* NULL: no copy */
    liana__message *message; /* zeros before; NULL: a copy */
    size_t size;
} liana__receipt;

typedef struct liana__transport_instance liana__transport_instance;

/* The work of a transport since it was opened. */
typedef struct liana__transport_counters {
    uint64_t messages_sent, bytes_sent;         /* to others; bytes of the messages, without headers */
    uint64_t messages_received, bytes_received; /* from others */
} liana__transport_counters;

struct liana__cluster_place; /* our place, and the addresses of the others: cluster_place.h */
struct liana__cluster_round;

typedef struct liana__transport {
    const char *name;
    const char *doc;
    bool survives_death; /* a process that is gone is noticed, and the others may go on without it */
    /* Joins the cluster: comes back when all processes have met, or fails after the place's timeout with the list of
     * those that are missing and where they were looked for. Errors: UNAVAILABLE, INVALID_CONFIG, OUT_OF_MEMORY. */
    liana_status (*open)(const struct liana__cluster_place *place, liana__transport_instance **instance,
                         liana__error *error);
    /* Messages that were sent are delivered first, as far as their receivers are there. */
    void (*close)(liana__transport_instance *instance);
    /* Sends a message of several parts, which are copied once and may be changed afterwards. A process may send to
     * itself. A message to a process that is gone is dropped without an error. Any thread. Errors: OUT_OF_MEMORY,
     * UNAVAILABLE. */
    liana_status (*send)(liana__transport_instance *instance, size_t to, liana__message_key key,
                         const liana__message_part *parts, size_t num_parts, liana__error *error);
    /* Waits for a message. Any thread; threads may wait for different messages at the same time. `deadline`: seconds by
     * liana__clock; 0: waits for as long as the sender lives. Errors: UNAVAILABLE with the sender's rank if it is gone,
     * at the deadline, or when liana__transport.interrupt was called; INTERNAL for a message of another size, with both
     * sizes; OUT_OF_MEMORY if more was kept than the place's max_kept. */
    liana_status (*receive)(liana__transport_instance *instance, size_t from, liana__message_key key,
                            const liana__receipt *wanted, double deadline, liana__error *error);
    /* The size of a message that has come and that nobody has received; false: there is none yet. Never waits. */
    bool (*peek)(liana__transport_instance *instance, size_t from, liana__message_key key, size_t *size);
    /* Whether a process is gone: dead, stopped or cut off for longer than the place's heartbeat. A process that is
     * gone stays gone until `set_generation`. */
    bool (*is_gone)(const liana__transport_instance *instance, size_t rank);
    /* Ends all waits with UNAVAILABLE, until the generation changes. Any thread; async-signal-safe. */
    void (*interrupt)(liana__transport_instance *instance);
    /* Begins a generation: messages of older ones are dropped. `members[rank]` says whether that process belongs to
     * it. */
    void (*set_generation)(liana__transport_instance *instance, uint64_t generation, const bool *members);
    void (*counters)(const liana__transport_instance *instance, liana__transport_counters *counters);
    /* ---- processes that come when the others have met. NULL, all four: they are refused ---- */
    /* From now on such a process may wait to be taken in, in the place of one that is gone; before it is refused. */
    void (*take_in)(liana__transport_instance *instance, bool may);
    /* Whether somebody waits to be this rank. Any thread. */
    bool (*waits)(const liana__transport_instance *instance, size_t rank);
    /* Before `close`: those that wait and belong to the round will meet in it. Without that they are told that all is
     * over. Errors: OUT_OF_MEMORY. */
    liana_status (*invite)(liana__transport_instance *instance, const struct liana__cluster_round *round,
                           liana__error *error);
    /* In which round the processes have met: that of the place, or another one that this process was invited to. Valid
     * until it is closed. */
    void (*find_round)(const liana__transport_instance *instance, struct liana__cluster_round *round);
} liana__transport;

/* Sends a message of one part, and receives a copy of one. As the members of liana__transport. */
liana_status liana__transport_send(const liana__transport *transport, liana__transport_instance *instance, size_t to,
                                   liana__message_key key, const void *data, size_t size, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__transport_receive(const liana__transport *transport, liana__transport_instance *instance,
                                      size_t from, liana__message_key key, void *data, size_t size, double deadline,
                                      liana__error *error) LIANA_MUST_USE;

/* All transports of this build, NULL-terminated. */
extern const liana__transport *const liana__transports[];
/* The transport of that name. NULL with INVALID_CONFIG: there is none. */
const liana__transport *liana__transport_find(const char *name, liana__error *error);

#endif
