/* bench_transport.c - messages between the processes of a cluster: whether they arrive, and how fast.
 *
 *   liana launch -n 4 --program build/bench_transport check      each sends to each, and looks at what has come
 *   mpirun -n 2 build/bench_transport measure                    latency and bandwidth between ranks 0 and 1
 *   liana launch -n 2 --program build/bench_transport wait       waits until another process is gone */
#include "base/clock.h"
#include "distribute/transport/cluster_read.h"
#include "distribute/transport/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct cluster {
    liana__cluster_place place;
    const liana__transport *transport;
    liana__transport_instance *instance;
    liana__error error;
} cluster;

static liana_status swap(cluster *own, size_t other, uint64_t step, void *bytes, size_t size, bool first)
{
    liana__message_key key = {0, step, 1, 0};
    const liana__transport *transport = own->transport;
    if (first) LIANA_TRY(liana__transport_send(transport, own->instance, other, key, bytes, size, &own->error));
    LIANA_TRY(liana__transport_receive(transport, own->instance, other, key, bytes, size, 0, &own->error));
    return first ? LIANA_OK : liana__transport_send(transport, own->instance, other, key, bytes, size, &own->error);
}

/* ---- check ---- */

static uint32_t value_of(size_t from, size_t to, size_t index)
{
    return (uint32_t)(from * 1000003 + to * 7919 + index);
}

static liana_status check(cluster *own)
{
    enum { COUNT = 700 * 1000 };
    size_t size = own->place.num_workers + own->place.num_servers, rank = own->place.rank, wrong = 0;
    uint32_t *numbers = malloc(COUNT * sizeof *numbers);
    if (!numbers) return liana__fail_memory(&own->error, "the messages");
    liana_status status = LIANA_OK;
    for (size_t to = 0; to < size && status == LIANA_OK; to++) {
        for (size_t i = 0; i < COUNT; i++) numbers[i] = value_of(rank, to, i);
        status = liana__transport_send(own->transport, own->instance, to, (liana__message_key){0, 1, 2, (uint32_t)rank},
                                       numbers, COUNT * sizeof *numbers, &own->error);
    }
    for (size_t from = 0; from < size && status == LIANA_OK; from++) {
        status =
            liana__transport_receive(own->transport, own->instance, from, (liana__message_key){0, 1, 2, (uint32_t)from},
                                     numbers, COUNT * sizeof *numbers, 0, &own->error);
        for (size_t i = 0; i < COUNT; i++) wrong += numbers[i] != value_of(from, rank, i);
    }
    free(numbers);
    if (status != LIANA_OK) return status;
    if (wrong) return liana__fail(&own->error, LIANA_INTERNAL, "%zu numbers are wrong", wrong);
    printf("rank %zu of %zu has heard all, over %s\n", rank, size, own->transport->name);
    return LIANA_OK;
}

/* ---- measure ---- */

static liana_status measure_size(cluster *own, uint64_t *step, size_t size, size_t turns)
{
    char *bytes = calloc(1, size);
    if (!bytes) return liana__fail_memory(&own->error, "the messages");
    liana_status status = LIANA_OK;
    double begun = 0;
    for (size_t i = 0; i < turns + turns / 4 && status == LIANA_OK; i++) {
        if (i == turns / 4) begun = liana__clock_seconds();
        status = swap(own, 1 - own->place.rank, (*step)++, bytes, size, own->place.rank == 0);
    }
    double one_way = (liana__clock_seconds() - begun) / (2 * (double)turns);
    if (own->place.rank == 0 && status == LIANA_OK) {
        printf("%10zu bytes  %10.1f us one way  %8.2f GB/s\n", size, 1e6 * one_way, 1e-9 * (double)size / one_way);
    }
    free(bytes);
    return status;
}

static liana_status measure(cluster *own)
{
    static const size_t sizes[] = {8, 4096, 65536, 1 << 20, 16 << 20}, turns[] = {2000, 2000, 1000, 200, 20};
    uint64_t step = 1000;
    if (own->place.rank > 1) return LIANA_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) LIANA_TRY(measure_size(own, &step, sizes[i], turns[i]));
    return LIANA_OK;
}

/* ---- wait ---- */

static liana_status wait_for_end(cluster *own)
{
    size_t other = own->place.rank == 0 ? 1 : 0;
    char byte;
    double begun = liana__clock_seconds();
    liana_status status = liana__transport_receive(own->transport, own->instance, other,
                                                   (liana__message_key){0, 1, 3, 0}, &byte, 1, 0, &own->error);
    if (status != LIANA_UNAVAILABLE) return status;
    printf("rank %zu, after %.1f s: %s\n", own->place.rank, liana__clock_seconds() - begun, own->error.message);
    return LIANA_OK;
}

/* ---- all ---- */

static void say(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "%s\n", line);
}

static liana_status run(cluster *own, const char *what, liana__arena *arena)
{
    double begun = liana__clock_seconds();
    LIANA_TRY(liana__cluster_place_read(NULL, liana__get_environment, NULL, arena, &own->place, &own->error));
    if (!own->place.transport) {
        return liana__fail(&own->error, LIANA_INVALID_CONFIG,
                           "this process is alone; start it with 'liana launch' or mpirun");
    }
    own->place.say = say;
    own->place.timeout = 30;
    own->place.heartbeat = 3;
    own->transport = liana__transport_find(own->place.transport, &own->error);
    if (!own->transport) return own->error.status;
    LIANA_TRY(own->transport->open(&own->place, &own->instance, &own->error));
    if (own->place.rank == 0) fprintf(stderr, "met after %.3f s\n", liana__clock_seconds() - begun);
    liana_status status = strcmp(what, "measure") == 0 ? measure(own)
                          : strcmp(what, "wait") == 0  ? wait_for_end(own)
                                                       : check(own);
    fflush(stdout);
    own->transport->close(own->instance);
    return status;
}

int main(int argc, char **argv)
{
    cluster own = {0};
    liana__arena arena = {0};
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "check") != 0 && strcmp(what, "measure") != 0 && strcmp(what, "wait") != 0) {
        fprintf(stderr, "usage: bench_transport check|measure|wait\n");
        return 2;
    }
    liana_status status = run(&own, what, &arena);
    if (status != LIANA_OK) fprintf(stderr, "bench_transport: %s\n", own.error.message);
    liana__arena_free(&arena);
    return status == LIANA_OK ? 0 : 1;
}
