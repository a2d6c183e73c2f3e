/* Two ends of a transport in one process send each other large and small messages, four ends small ones. */
#include "distribute/transport/message_cost.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scoped.h"
#include "distribute/transport/cluster_keys.h"
#include "distribute/transport/cluster_place.h"
#include "distribute/transport/transport.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 8 << 20, LARGE_TURNS = 6, SMALL_TURNS = 150, COPIED = 64 << 20, COPY_TURNS = 5, PORT_TEXT = 32 };
enum { FEW = 2, MORE = 4 /* ends */, PAUSE = 2000000 /* nanoseconds from one small message to the next */ };

/* One end, with a thread of its own. */
typedef struct side {
    liana__cluster_place place;
    liana__transport_instance *instance;
    const liana__transport *transport;
    char *bytes;           /* LARGE */
    double seconds[2];     /* of the large messages, of the small ones */
    double cpu_seconds[2]; /* the same, of the whole process */
    uint64_t step;
    liana_status status;
    liana__error error;
} side;

static double cpu_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- copies ---- */

liana_status liana__copy_cost_measure(double *copied, liana__error *error)
{
    LIANA__SCOPED_MEMORY char *from = malloc(COPIED), *to = malloc(COPIED);
    double best = 0;
    if (!from || !to) return liana__fail_memory(error, "measuring the memory");
    for (int i = 0; i < COPY_TURNS; i++) {
        memset(from, i, COPIED / 64);
        const double begin = liana__clock_seconds();
        memcpy(to, from, COPIED);
        const double seconds = liana__clock_seconds() - begin;
        /* The first turn also gets the memory from the system. */
        if (i == 1 || (i > 1 && seconds < best)) best = seconds;
    }
    *copied = best / COPIED;
    return LIANA_OK;
}

/* ---- messages ---- */

/* All ends send to all others, then receive: as the owners of slices do. */
static liana_status swap(side *own, size_t size)
{
    const size_t count = own->place.num_workers;
    const liana__message_key key = {.step = own->step++, .kind = 1};
    for (size_t i = 1; i < count; i++) {
        const size_t to = (own->place.rank + i) % count;
        LIANA_TRY(liana__transport_send(own->transport, own->instance, to, key, own->bytes, size, &own->error));
    }
    for (size_t i = 1; i < count; i++) {
        const size_t from = (own->place.rank + i) % count;
        LIANA_TRY(liana__transport_receive(own->transport, own->instance, from, key, own->bytes, size, 0, &own->error));
    }
    return LIANA_OK;
}

static liana_status swap_large(side *own)
{
    LIANA_TRY(swap(own, LARGE));
    const double begin = liana__clock_seconds(), cpu_begin = cpu_seconds();
    for (size_t i = 0; i < LARGE_TURNS; i++) LIANA_TRY(swap(own, LARGE));
    own->seconds[0] = (liana__clock_seconds() - begin) / LARGE_TURNS;
    own->cpu_seconds[0] = (cpu_seconds() - cpu_begin) / LARGE_TURNS;
    return LIANA_OK;
}

/* In a step small messages are rare: threads sleep when one comes, and caches hold other things. So there are pauses,
 * whose end is the same for all. */
static liana_status swap_small(side *own)
{
    struct timespec next;
    LIANA_TRY(swap(own, sizeof own->step));
    clock_gettime(CLOCK_MONOTONIC, &next);
    const double cpu_begin = cpu_seconds();
    for (size_t i = 0; i < SMALL_TURNS; i++) {
        next.tv_nsec = (next.tv_nsec / PAUSE + 1) * PAUSE;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        const double begin = liana__clock_seconds();
        LIANA_TRY(swap(own, sizeof own->step));
        own->seconds[1] += (liana__clock_seconds() - begin) / SMALL_TURNS;
        clock_gettime(CLOCK_MONOTONIC, &next);
    }
    own->cpu_seconds[1] = (cpu_seconds() - cpu_begin) / SMALL_TURNS;
    return LIANA_OK;
}

static liana_status swap_all(side *own)
{
    if (own->place.num_workers == FEW) LIANA_TRY(swap_large(own));
    return swap_small(own);
}

static void *run_side(void *user)
{
    side *own = user;
    own->status = own->transport->open(&own->place, &own->instance, &own->error);
    if (own->status == LIANA_OK) own->status = swap_all(own);
    if (own->instance) own->transport->close(own->instance);
    return NULL;
}

/* A port that nobody listens on. As long as *file is open the system gives its port to no process that asks for any
 * port. libzmq can listen on it, since both sockets may share the address. */
static liana_status find_port(char text[PORT_TEXT], int *file, liana__error *error)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int shared = 1;
    *file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool found = *file >= 0 && setsockopt(*file, SOL_SOCKET, SO_REUSEADDR, &shared, sizeof shared) == 0;
    found = found && bind(*file, (struct sockaddr *)&address, size) == 0;
    found = found && getsockname(*file, (struct sockaddr *)&address, &size) == 0;
    if (!found) return liana__fail(error, LIANA_UNAVAILABLE, "no port of this machine can be used");
    snprintf(text, PORT_TEXT, "127.0.0.1:%d", ntohs(address.sin_port));
    return LIANA_OK;
}

/* Held until all is measured: no two ends get the same one, and no other process gets any. */
typedef struct held_ports {
    char texts[MORE][PORT_TEXT];
    int files[MORE];
    size_t count; /* of files, -1 among them where a port was not to be had */
} held_ports;

static liana_status hold_ports(held_ports *ports, size_t count, liana__error *error)
{
    while (ports->count < count) {
        const size_t i = ports->count++;
        LIANA_TRY(find_port(ports->texts[i], &ports->files[i], error));
    }
    return LIANA_OK;
}

static void held_ports_free(held_ports *ports)
{
    for (size_t i = 0; i < ports->count; i++) {
        if (ports->files[i] >= 0) close(ports->files[i]);
    }
}

static liana_status run_sides(side *sides, size_t count, liana__error *error)
{
    pthread_t threads[MORE];
    size_t started = 1;
    while (started < count && pthread_create(&threads[started], NULL, run_side, &sides[started]) == 0) started++;
    /* Where one is missing, the others give up when they have waited long enough. */
    run_side(&sides[0]);
    for (size_t i = 1; i < started; i++) pthread_join(threads[i], NULL);
    if (started < count) return liana__fail(error, LIANA_OUT_OF_MEMORY, "no thread for messages can be started");
    for (size_t i = 0; i < count; i++) {
        if (sides[i].status == LIANA_OK) continue;
        *error = sides[i].error;
        return sides[i].status;
    }
    return LIANA_OK;
}

static liana_status measure_at(const held_ports *ports, const char *keys, side sides[MORE], liana__error *error)
{
    const size_t count = ports->count;
    const char *const addresses[MORE] = {ports->texts[0], ports->texts[1], ports->texts[2], ports->texts[3]};
    const liana__transport *zmq = liana__transport_find("zmq", error);
    if (!zmq) return LIANA_UNIMPLEMENTED;
    bool enough = true;
    for (size_t i = 0; i < count; i++) {
        sides[i] = (side){.transport = zmq, .bytes = calloc(1, LARGE)};
        sides[i].place = (liana__cluster_place){.transport = "zmq",
                                                .rank = i,
                                                .num_workers = count,
                                                .addresses = addresses,
                                                .source = "the measurement of messages",
                                                .keys = keys,
                                                .timeout = 60,
                                                .heartbeat = 10};
        enough = enough && sides[i].bytes;
    }
    const liana_status status =
        enough ? run_sides(sides, count, error) : liana__fail_memory(error, "measuring messages");
    for (size_t i = 0; i < count; i++) free(sides[i].bytes);
    return status;
}

static liana_status measure_among(size_t count, const char *keys, side sides[MORE], liana__error *error)
{
    LIANA__SCOPED(held_ports) ports = {.count = 0};
    LIANA_TRY(hold_ports(&ports, count, error));
    return measure_at(&ports, keys, sides, error);
}

static liana_status measure_with(const char *keys, liana__message_cost *cost, liana__error *error)
{
    side few[MORE], more[MORE];
    LIANA_TRY(measure_among(FEW, keys, few, error));
    LIANA_TRY(measure_among(MORE, keys, more, error));
    /* The process is all ends: of its time each has its share. */
    const double few_cpu = few[0].cpu_seconds[1] / FEW, more_cpu = more[0].cpu_seconds[1] / MORE;
    cost->byte = few[0].cpu_seconds[0] / (FEW * (double)LARGE);
    cost->one_way = few[0].seconds[1];
    cost->one_more = more_cpu > few_cpu ? (more_cpu - few_cpu) / (MORE - FEW) : 0;
    return LIANA_OK;
}

liana_status liana__message_cost_measure(liana__message_cost *cost, liana__error *error)
{
    const char *temporary = getenv("TMPDIR");
    char folder[512];
    *cost = (liana__message_cost){0};
    LIANA_TRY(liana__copy_cost_measure(&cost->copied, error));
    snprintf(folder, sizeof folder, "%s/liana-plan-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder)) return liana__fail(error, LIANA_IO_ERROR, "cannot make a temporary folder '%s'", folder);
    liana_status status = liana__cluster_keys_make(folder, error);
    if (status == LIANA_OK) status = measure_with(folder, cost, error);
    (void)!liana__folder_remove(folder, NULL); /* one that stays is in the way of nobody */
    return status;
}
