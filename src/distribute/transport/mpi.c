/* The transport `mpi`: Open MPI or MPICH, for processes that mpirun or srun has started. One thread makes all calls of
 * MPI. A process that dies ends the job. MPI's own launcher sees to that, but says it in its own words, and srun may
 * leave the others waiting: so the processes of one machine watch each other. */
#include "distribute/transport/cluster_place.h"
#include "distribute/transport/endpoint.h"
#include "distribute/transport/mpi_load.h"
#include "distribute/transport/process_watch.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* MPI cannot wake a thread, so the thread looks again and again: without a pause while something happens and somebody
 * waits, then with longer and longer ones. Where nobody waits, each look takes time from computing on this core, and
 * nothing hangs on it: a thread that begins to wait wakes this one. Only a network wants to be fed while a message is
 * on its way; in one machine's memory a message is taken in one piece. Nanoseconds. */
enum {
    BUSY_LOOKS = 200,
    SHORTEST_PAUSE = 5 * 1000,
    WAITING_PAUSE = 20 * 1000,
    SENDING_PAUSE = 200 * 1000,
    LONGEST_PAUSE = 5 * 1000 * 1000
};

enum { LEAST_OWN = 64 << 10 }; /* bytes of a frame that gets memory of its own */

/* A frame that is to be sent, or is on its way. */
typedef struct parcel {
    struct parcel *next;
    size_t to, size;
    void *request;
    uint8_t bytes[];
} parcel;

/* The bytes [offset, offset + size) of a message. */
typedef struct outgoing_piece {
    const liana__outgoing *whole;
    size_t offset, size;
} outgoing_piece;

typedef struct transport {
    liana__endpoint base;
    const liana__mpi_module *module;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool has_opened, is_abandoned; /* the thread has joined the job, or failed; nobody waits for it any more */
    liana__error error;            /* why it could not join */
    parcel *first, *last;          /* to be sent */
    parcel *sending;
    bool *left;          /* by rank: it has said goodbye, or has died */
    bool is_broken;      /* a call of MPI has failed, or a process has died */
    bool has_death;      /* so leaving MPI would wait for ever */
    bool is_one_machine; /* all processes are on this one */
    uint8_t *room;       /* for a small message; NULL: there is none, and nothing is received */
    liana__process_watch *watch;
    int wake;
    atomic_size_t num_waiting; /* threads that want a message */
    atomic_bool interrupted, closing;
} transport;

static transport *own_of(const liana__transport_instance *instance)
{
    return (transport *)(uintptr_t)instance;
}

static void wake_thread(const transport *own)
{
    eventfd_write(own->wake, 1);
}

static void free_transport(transport *own)
{
    liana__process_watch_destroy(own->watch);
    liana__mailbox_destroy(own->base.mailbox);
    if (own->wake >= 0) close(own->wake);
    pthread_cond_destroy(&own->opened);
    pthread_mutex_destroy(&own->mutex);
    free(own->left);
    free(own);
}

/* ---- the thread ---- */

/* A call of MPI has failed: nothing can be sent or received any more. */
static void fail_all(transport *own, const char *what, int code)
{
    char text[256], reason[320];
    own->module->describe(code, text, sizeof text);
    snprintf(reason, sizeof reason, "cannot be reached: %s: %s", what, text);
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        if (i != own->base.rank) liana__mailbox_set_gone(own->base.mailbox, i, reason);
    }
    own->is_broken = true;
}

static bool begin_parcels(transport *own)
{
    pthread_mutex_lock(&own->mutex);
    parcel *first = own->first;
    own->first = own->last = NULL;
    pthread_mutex_unlock(&own->mutex);
    bool any = first != NULL;
    while (first) {
        parcel *next = first->next;
        int code = own->module->send(first->bytes, first->size, (int)first->to, &first->request);
        if (code == 0) {
            first->next = own->sending;
            own->sending = first;
        } else {
            free(first);
            fail_all(own, "a message cannot be sent", code);
        }
        first = next;
    }
    return any;
}

static bool end_parcels(transport *own)
{
    bool any = false;
    for (parcel **at = &own->sending; *at;) {
        parcel *item = *at;
        int sent = 0;
        int code = own->module->is_done(item->request, &sent);
        if (code != 0) fail_all(own, "a message was not sent", code);
        if (sent || code != 0) {
            *at = item->next;
            free(item);
            any = true;
        } else {
            at = &item->next;
        }
    }
    return any;
}

/* `memory` holds the bytes, and may be taken over. */
static void take_frame(transport *own, size_t from, const uint8_t *bytes, size_t size, liana__message_memory *memory)
{
    liana__frame frame;
    liana__error error = {0};
    if (liana__frame_read(bytes, size, &frame, &error) != LIANA_OK || frame.sender != from) {
        liana__mailbox_set_gone(own->base.mailbox, from,
                                *error.message ? error.message : "says that it is another rank");
    } else if (frame.kind == LIANA__FRAME_BYE) {
        own->left[from] = true;
        liana__process_watch_remove(own->watch, from);
        liana__mailbox_set_gone(own->base.mailbox, from, "has left the cluster");
    } else if (frame.kind == LIANA__FRAME_HELLO) {
        liana__process_watch_add(own->watch, from, frame.bytes, frame.num_bytes);
    } else if (frame.kind == LIANA__FRAME_DATA &&
               liana__endpoint_put(&own->base, &frame, memory, &error) == LIANA_INVALID_DATA) {
        liana__mailbox_set_gone(own->base.mailbox, from, error.message);
    }
}

/* This thread looks for messages first, so most messages of the dead have come. */
static void note_deaths(transport *own)
{
    char reason[128];
    size_t rank;
    while (liana__process_watch_next(own->watch, &rank, reason, sizeof reason)) {
        own->left[rank] = own->has_death = own->is_broken = true;
        liana__mailbox_set_gone(own->base.mailbox, rank, reason);
    }
}

/* Waits for a message that comes in pieces; false: its sender has died, so the rest of it will never come. */
static bool await_pieces(transport *own, size_t from, void *request, int *code)
{
    int done = 0, looks = 0, looks_after_death = 0;
    for (;;) {
        *code = own->module->is_done(request, &done);
        if (done || *code != 0) return true;
        if (own->left[from] && ++looks_after_death > BUSY_LOOKS) return false;
        if (++looks % BUSY_LOOKS == 0) note_deaths(own);
        sched_yield();
    }
}

static uint8_t *make_room(void)
{
    return malloc(LIANA__FRAME_HEADER + LIANA__FRAME_PIECE);
}

/* A message that may be kept gets memory of its own; small messages are copied out of own->room. */
static int take_message_of(transport *own, size_t from, void *message, size_t size)
{
    uint8_t *bytes = size >= LEAST_OWN ? malloc(size) : NULL;
    liana__message_memory memory = {bytes, free};
    void *request;
    int code = own->module->take(message, bytes ? bytes : own->room, size, &request);
    if (code == 0 && !await_pieces(own, from, request, &code)) {
        /* The message keeps its memory for good: MPI may still write there. */
        if (!bytes) own->room = make_room();
        return 0;
    }
    if (code == 0) take_frame(own, from, bytes ? bytes : own->room, size, bytes ? &memory : NULL);
    /* NULL if it was taken over. */
    free(memory.owner);
    return code;
}

static bool take_one(transport *own)
{
    if (!own->room) return false;
    int from = 0;
    size_t size = 0;
    void *message = NULL;
    int code = own->module->look(&from, &size, &message);
    if (code == 0 && message && size <= LIANA__FRAME_HEADER + LIANA__FRAME_PIECE) {
        code = take_message_of(own, (size_t)from, message, size);
        if (code == 0) return true;
    }
    if (code != 0 || message) fail_all(own, "a message cannot be received", code);
    return false;
}

/* After a pause of `before`. */
static long next_pause(const transport *own, long before)
{
    if (!atomic_load(&own->num_waiting)) {
        return own->sending && !own->is_one_machine ? SENDING_PAUSE : LONGEST_PAUSE;
    }
    return before * 2 < WAITING_PAUSE ? before * 2 : WAITING_PAUSE;
}

static void wait_a_moment(transport *own, long *pause, int *looks)
{
    uint64_t count;
    /* Where nobody waits, this core has shards to compute. */
    if (++*looks < BUSY_LOOKS && atomic_load(&own->num_waiting)) return;
    struct pollfd wakes[] = {{.fd = own->wake, .events = POLLIN},
                             {.fd = liana__process_watch_file(own->watch), .events = POLLIN}};
    *pause = next_pause(own, *pause);
    struct timespec time = {.tv_nsec = *pause};
    if (ppoll(wakes, 2, &time, NULL) <= 0) return;
    if (wakes[1].revents) note_deaths(own);
    if (!wakes[0].revents || read(own->wake, &count, sizeof count) <= 0) return;
    *looks = 0;
    *pause = SHORTEST_PAUSE;
}

static bool all_left(transport *own)
{
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        if (i != own->base.rank && !own->left[i]) return false;
    }
    return true;
}

static liana_status send_kind(transport *own, size_t to, liana__frame_kind kind, const outgoing_piece *piece,
                              liana__error *error);

/* A neighbour is to notice if this process dies. */
static void say_hello(transport *own)
{
    char name[LIANA__PROCESS_NAME_SIZE];
    const liana__message_part part = {name, liana__process_watch_name(own->watch, name)};
    const liana__outgoing whole = liana__outgoing_of((liana__message_key){0}, &part, 1);
    for (size_t i = 0; i < own->base.num_ranks; i++) {
        const outgoing_piece piece = {&whole, 0, whole.size};
        /* Without it a death is noticed later, by the launcher. */
        if (i != own->base.rank) (void)!send_kind(own, i, LIANA__FRAME_HELLO, &piece, NULL);
    }
}

static void serve(transport *own)
{
    bool said_goodbye = false;
    say_hello(own);
    /* Pauses are to be as short as they are said to be. */
    prctl(PR_SET_TIMERSLACK, 1ul);
    long pause = SHORTEST_PAUSE;
    int looks = 0;
    for (;;) {
        if (own->closing && !said_goodbye) {
            said_goodbye = true;
            for (size_t i = 0; i < own->base.num_ranks; i++) {
                if (i != own->base.rank && send_kind(own, i, LIANA__FRAME_BYE, NULL, NULL) != LIANA_OK)
                    own->left[i] = true;
            }
        }
        bool begun = begin_parcels(own), ended = end_parcels(own), taken = take_one(own);
        if (said_goodbye && (own->is_broken || (!own->sending && all_left(own)))) return;
        if (own->interrupted) {
            own->interrupted = false;
            liana__mailbox_wake(own->base.mailbox);
        }
        if (begun || ended || taken) {
            pause = SHORTEST_PAUSE;
            looks = 0;
        } else {
            wait_a_moment(own, &pause, &looks);
        }
    }
}

static liana_status join(transport *own)
{
    int rank = 0, size = 0;
    int code = own->module->init(&rank, &size, &own->is_one_machine);
    if (code != 0) {
        char text[256];
        own->module->describe(code, text, sizeof text);
        return liana__fail(&own->error, LIANA_UNAVAILABLE, "MPI cannot start: %s", text);
    }
    if ((size_t)rank == own->base.rank && (size_t)size == own->base.num_ranks) return LIANA_OK;
    return liana__fail(&own->error, LIANA_INVALID_CONFIG,
                       "the environment says that this is rank %zu of %zu, but the library %s says %d of %d: was the "
                       "process started by another MPI's mpirun? cluster.mpi names the one to use",
                       own->base.rank, own->base.num_ranks, own->module->library, rank, size);
}

static void *thread_main(void *user)
{
    transport *own = user;
    own->room = make_room();
    liana_status status = own->room ? join(own) : liana__fail_memory(&own->error, "messages of other processes");
    pthread_mutex_lock(&own->mutex);
    own->has_opened = true;
    bool abandoned = own->is_abandoned;
    pthread_cond_signal(&own->opened);
    pthread_mutex_unlock(&own->mutex);
    if (status == LIANA_OK && !abandoned) serve(own);
    const bool has_joined = status == LIANA_OK || own->error.status == LIANA_INVALID_CONFIG;
    if (has_joined && !own->has_death) own->module->finalize();
    free(own->room);
    own->room = NULL;
    if (abandoned) free_transport(own);
    return NULL;
}

/* ---- open and close ---- */

/* MPI's own start cannot be ended, so after the timeout its thread is left behind. */
static liana_status wait_for_start(transport *own, const liana__cluster_place *place, liana__error *error)
{
    double end = liana__clock_seconds() + place->timeout;
    struct timespec until = {.tv_sec = (time_t)end, .tv_nsec = (long)((end - (double)(time_t)end) * 1e9)};
    pthread_mutex_lock(&own->mutex);
    while (!own->has_opened && liana__clock_seconds() < end) pthread_cond_timedwait(&own->opened, &own->mutex, &until);
    bool opened = own->has_opened;
    own->is_abandoned = !opened;
    pthread_mutex_unlock(&own->mutex);
    if (opened && own->error.status == LIANA_OK) return LIANA_OK;
    if (opened) {
        pthread_join(own->thread, NULL);
        liana__fail(error, own->error.status, "%s", own->error.message);
        free_transport(own);
        return error->status;
    }
    pthread_detach(own->thread);
    return liana__fail(
        error, LIANA_UNAVAILABLE,
        "the cluster did not come together within %g s (cluster.timeout): not all of the %zu processes of %s "
        "have started MPI",
        place->timeout, place->num_workers + place->num_servers, place->source);
}

static liana_status make_parts(transport *own, const liana__cluster_place *place, liana__error *error)
{
    LIANA_TRY(liana__mpi_load(place->library ? place->library : "openmpi", &own->module, error));
    LIANA_TRY(liana__mailbox_create(own->base.num_ranks, place->max_kept, &own->base.mailbox, error));
    LIANA_TRY(liana__process_watch_create(own->base.num_ranks, &own->watch, error));
    own->left = calloc(own->base.num_ranks, sizeof *own->left);
    own->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!own->left || own->wake < 0) return liana__fail_memory(error, "the other processes");
    return liana__endpoint_start_thread(&own->thread, thread_main, own, error);
}

static liana_status open_transport(const liana__cluster_place *place, liana__transport_instance **instance,
                                   liana__error *error)
{
    *instance = NULL;
    transport *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "the other processes");
    own->base.rank = place->rank;
    own->base.num_ranks = place->num_workers + place->num_servers;
    own->wake = -1;
    pthread_mutex_init(&own->mutex, NULL);
    liana__mailbox_condition(&own->opened);
    liana_status status = make_parts(own, place, error);
    if (status != LIANA_OK) {
        free_transport(own);
        return status;
    }
    LIANA_TRY(wait_for_start(own, place, error));
    *instance = (liana__transport_instance *)(void *)own;
    return LIANA_OK;
}

static void close_transport(liana__transport_instance *instance)
{
    transport *own = own_of(instance);
    if (!own) return;
    own->closing = true;
    wake_thread(own);
    pthread_join(own->thread, NULL);
    free_transport(own);
}

/* ---- send ---- */

static liana_status send_kind(transport *own, size_t to, liana__frame_kind kind, const outgoing_piece *piece,
                              liana__error *error)
{
    liana__frame frame = {.kind = kind, .sender = (uint32_t)own->base.rank};
    if (piece) {
        frame.key = piece->whole->key;
        frame.size = piece->whole->size;
        frame.offset = piece->offset;
        frame.num_bytes = piece->size;
    }
    parcel *item = malloc(sizeof *item + LIANA__FRAME_HEADER + frame.num_bytes);
    if (!item) return liana__fail_memory(error, "a message to another process");
    item->next = NULL;
    item->to = to;
    item->size = LIANA__FRAME_HEADER + frame.num_bytes;
    liana__frame_write(&frame, item->bytes);
    if (piece) {
        liana__message_parts_copy(piece->whole->parts, piece->offset, piece->size, item->bytes + LIANA__FRAME_HEADER);
    }
    pthread_mutex_lock(&own->mutex);
    if (own->last) {
        own->last->next = item;
    } else {
        own->first = item;
    }
    own->last = item;
    pthread_mutex_unlock(&own->mutex);
    return LIANA_OK;
}

static liana_status send_piece(liana__endpoint *own, size_t to, const liana__outgoing *whole, size_t offset,
                               size_t size, liana__error *error)
{
    return send_kind((transport *)(void *)own, to, LIANA__FRAME_DATA, &(outgoing_piece){whole, offset, size}, error);
}

static liana_status send_message(liana__transport_instance *instance, size_t to, liana__message_key key,
                                 const liana__message_part *parts, size_t num_parts, liana__error *error)
{
    transport *own = own_of(instance);
    const liana__outgoing whole = liana__outgoing_of(key, parts, num_parts);
    LIANA_TRY(liana__endpoint_send(&own->base, to, &whole, LIANA__FRAME_PIECE, send_piece, error));
    wake_thread(own);
    return LIANA_OK;
}

/* Counts this thread as waiting, then wakes the transport's thread. In the other order that might pause again. */
static liana_status receive_message(liana__transport_instance *instance, size_t from, liana__message_key key,
                                    const liana__receipt *wanted, double deadline, liana__error *error)
{
    transport *own = own_of(instance);
    size_t found;
    atomic_fetch_add(&own->num_waiting, 1);
    if (!liana__endpoint_peek(instance, from, key, &found)) wake_thread(own);
    const liana_status status = liana__endpoint_receive(instance, from, key, wanted, deadline, error);
    atomic_fetch_sub(&own->num_waiting, 1);
    return status;
}

static void interrupt(liana__transport_instance *instance)
{
    transport *own = own_of(instance);
    liana__mailbox_interrupt(own->base.mailbox);
    own->interrupted = true;
    wake_thread(own);
}

const liana__transport liana__transport_mpi = {
    .name = "mpi",
    .doc = "Open MPI or MPICH: processes that mpirun or srun has started",
    .survives_death = false,
    .open = open_transport,
    .close = close_transport,
    .send = send_message,
    .interrupt = interrupt,
    .receive = receive_message,
    LIANA__ENDPOINT_QUESTIONS,
};
