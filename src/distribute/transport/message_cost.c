/* Two ends of a transport in one process send each other large and small messages. */
#include "distribute/transport/message_cost.h"

#include "base/clock.h"
#include "base/file.h"
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

enum { LARGE = 8 << 20, LARGE_TURNS = 6, SMALL_TURNS = 500, COPIED = 64 << 20, COPY_TURNS = 5, PORT_TEXT = 32 };

/* One end, with a thread of its own. */
typedef struct side {
    liana__cluster_place place;
    liana__transport_instance *instance;
    const liana__transport *transport;
    char *bytes;           /* LARGE */
    double seconds[2];     /* of the large messages, of the small ones */
    double cpu_seconds[2]; /* the same, of the whole process */
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
    char *from = malloc(COPIED), *to = malloc(COPIED);
    double best = 0;
    for (int i = 0; from && to && i < COPY_TURNS; i++) {
        memset(from, i, COPIED / 64);
        const double begin = liana__clock_seconds();
        memcpy(to, from, COPIED);
        const double seconds = liana__clock_seconds() - begin;
        /* The first turn also gets the memory from the system. */
        if (i == 1 || (i > 1 && seconds < best)) best = seconds;
    }
    const bool made = from && to;
    *copied = best / COPIED;
    free(from);
    free(to);
    return made ? LIANA_OK : liana__fail_memory(error, "measuring the memory");
}

/* ---- messages ---- */

/* Both ends send, then receive: as the owners of two slices do. */
static liana_status swap(side *own, uint64_t step, size_t size)
{
    const size_t other = 1 - own->place.rank;
    const liana__message_key key = {.step = step, .kind = 1};
    LIANA_TRY(own->transport->send(own->instance, other, key, own->bytes, size, &own->error));
    return own->transport->receive(own->instance, other, key, own->bytes, size, 0, &own->error);
}

static liana_status swap_all(side *own)
{
    static const size_t sizes[2] = {LARGE, sizeof(uint64_t)}, turns[2] = {LARGE_TURNS, SMALL_TURNS};
    uint64_t step = 0;
    for (int kind = 0; kind < 2; kind++) {
        LIANA_TRY(swap(own, step++, sizes[kind]));
        const double begin = liana__clock_seconds(), cpu_begin = cpu_seconds();
        for (size_t i = 0; i < turns[kind]; i++) LIANA_TRY(swap(own, step++, sizes[kind]));
        own->seconds[kind] = (liana__clock_seconds() - begin) / (double)turns[kind];
        own->cpu_seconds[kind] = (cpu_seconds() - cpu_begin) / (double)turns[kind];
    }
    return LIANA_OK;
}

static void *run_side(void *user)
{
    side *own = user;
    own->status = own->transport->open(&own->place, &own->instance, &own->error);
    if (own->status == LIANA_OK) own->status = swap_all(own);
    if (own->instance) own->transport->close(own->instance);
    return NULL;
}

/* A port that nobody listens on. */
static liana_status find_port(char text[PORT_TEXT], liana__error *error)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool found = file >= 0 && bind(file, (struct sockaddr *)&address, size) == 0;
    found = found && getsockname(file, (struct sockaddr *)&address, &size) == 0;
    if (file >= 0) close(file);
    if (!found) return liana__fail(error, LIANA_UNAVAILABLE, "no port of this machine can be used");
    snprintf(text, PORT_TEXT, "127.0.0.1:%d", ntohs(address.sin_port));
    return LIANA_OK;
}

static liana_status run_both(side sides[2], liana__error *error)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_side, &sides[1]) != 0) {
        return liana__fail(error, LIANA_OUT_OF_MEMORY, "no thread for messages can be started");
    }
    run_side(&sides[0]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) {
        if (sides[i].status == LIANA_OK) continue;
        *error = sides[i].error;
        return sides[i].status;
    }
    return LIANA_OK;
}

static liana_status measure_with(const char *keys, liana__message_cost *cost, liana__error *error)
{
    char ports[2][PORT_TEXT];
    const char *const addresses[2] = {ports[0], ports[1]};
    const liana__transport *zmq = liana__transport_find("zmq", error);
    if (!zmq) return LIANA_UNIMPLEMENTED;
    for (int i = 0; i < 2; i++) LIANA_TRY(find_port(ports[i], error));
    side sides[2] = {0};
    for (size_t i = 0; i < 2; i++) {
        sides[i].transport = zmq;
        sides[i].place = (liana__cluster_place){.transport = "zmq",
                                                .rank = i,
                                                .num_workers = 2,
                                                .addresses = addresses,
                                                .source = "the measurement of messages",
                                                .keys = keys,
                                                .timeout = 20,
                                                .heartbeat = 10};
        sides[i].bytes = calloc(1, LARGE);
    }
    liana_status status =
        sides[0].bytes && sides[1].bytes ? run_both(sides, error) : liana__fail_memory(error, "measuring messages");
    free(sides[0].bytes);
    free(sides[1].bytes);
    /* The process is both ends: half of its time is that of one. */
    cost->byte = sides[0].cpu_seconds[0] / (2.0 * LARGE);
    cost->one_way = sides[0].seconds[1];
    cost->one_more = sides[0].cpu_seconds[1] / 2;
    return status;
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
    liana__error ignored;
    const liana_status removed = liana__folder_remove(folder, &ignored);
    (void)removed; /* a folder that stays is in the way of nobody */
    return status;
}
