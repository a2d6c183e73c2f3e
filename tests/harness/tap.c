/* A relay that keeps the bytes that it passes on. */
#include "harness/tap.h"

#include "harness/harness.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 32, PIECE = 1 << 16 };

/* One direction of a connection. */
typedef struct direction {
    int from, to; /* -1: closed */
    char *bytes;
    size_t size;
} direction;

struct liana__tap {
    int listener, port, target;
    int stop[2]; /* a pipe: a byte ends the thread */
    pthread_t thread;
    direction directions[2 * MOST_CONNECTIONS];
    size_t count;
};

static struct sockaddr_in name_of(int port)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    name.sin_port = htons((uint16_t)port);
    return name;
}

/* Nobody listens at the target yet: the caller hears the end of its connection, and tries again. */
static void join(liana__tap *tap, int here)
{
    const struct sockaddr_in name = name_of(tap->target);
    const int there = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (there < 0 || connect(there, (const struct sockaddr *)&name, sizeof name) != 0) {
        if (there >= 0) close(there);
        close(here);
        return;
    }
    if (tap->count + 2 > sizeof tap->directions / sizeof *tap->directions) abort();
    tap->directions[tap->count++] = (direction){.from = here, .to = there};
    tap->directions[tap->count++] = (direction){.from = there, .to = here};
}

static bool send_all(int to, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t sent = send(to, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Received bytes are kept, also if nobody takes them any more. */
static bool pass_on(direction *own)
{
    own->bytes = realloc(own->bytes, own->size + PIECE);
    if (!own->bytes) abort();
    const ssize_t received = recv(own->from, own->bytes + own->size, PIECE, 0);
    if (received <= 0) return false;
    own->size += (size_t)received;
    return send_all(own->to, own->bytes + own->size - received, (size_t)received);
}

static void close_pair(direction *one, direction *other)
{
    close(one->from);
    close(one->to);
    one->from = one->to = other->from = other->to = -1;
}

static void *run(void *user)
{
    liana__tap *tap = user;
    struct pollfd ready[2 * MOST_CONNECTIONS + 2];
    for (;;) {
        const size_t count = tap->count;
        for (size_t i = 0; i < count; i++) ready[i] = (struct pollfd){.fd = tap->directions[i].from, .events = POLLIN};
        ready[count] = (struct pollfd){.fd = tap->listener, .events = POLLIN};
        ready[count + 1] = (struct pollfd){.fd = tap->stop[0], .events = POLLIN};
        if (poll(ready, count + 2, -1) < 0) continue;
        if (ready[count + 1].revents) return NULL;
        for (size_t i = 0; i < count; i++) {
            direction *own = &tap->directions[i];
            if (ready[i].revents && own->from >= 0 && !pass_on(own)) close_pair(own, &tap->directions[i ^ 1]);
        }
        if (!ready[count].revents) continue;
        const int here = accept(tap->listener, NULL, NULL);
        if (here >= 0) join(tap, here);
    }
}

liana__tap *liana__tap_open(int port)
{
    liana__tap *tap = calloc(1, sizeof *tap);
    struct sockaddr_in name = name_of(0);
    socklen_t size = sizeof name;
    assert_non_null(tap);
    tap->target = port;
    tap->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(tap->listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(tap->listener, MOST_CONNECTIONS), 0);
    assert_int_equal(getsockname(tap->listener, (struct sockaddr *)&name, &size), 0);
    tap->port = ntohs(name.sin_port);
    assert_int_equal(pipe(tap->stop), 0);
    assert_int_equal(pthread_create(&tap->thread, NULL, run, tap), 0);
    return tap;
}

int liana__tap_port(const liana__tap *tap)
{
    return tap->port;
}

void liana__tap_stop(liana__tap *tap)
{
    assert_int_equal(write(tap->stop[1], "", 1), 1);
    pthread_join(tap->thread, NULL);
    for (size_t i = 0; i < tap->count; i += 2) {
        if (tap->directions[i].from >= 0) close_pair(&tap->directions[i], &tap->directions[i + 1]);
    }
    close(tap->listener);
    close(tap->stop[0]);
    close(tap->stop[1]);
}

size_t liana__tap_size(const liana__tap *tap)
{
    size_t sum = 0;
    for (size_t i = 0; i < tap->count; i++) sum += tap->directions[i].size;
    return sum;
}

bool liana__tap_has(const liana__tap *tap, const void *bytes, size_t size)
{
    for (size_t i = 0; i < tap->count; i++) {
        const direction *own = &tap->directions[i];
        if (own->size && memmem(own->bytes, own->size, bytes, size)) return true;
    }
    return false;
}

void liana__tap_free(liana__tap *tap)
{
    for (size_t i = 0; i < tap->count; i++) free(tap->directions[i].bytes);
    free(tap);
}
